"""Decision trees over sets: a set function that hardly moves within a leaf, public or private."""

from sfumato.release.synopsis.trees.coverage import Coverage
from sfumato.release.synopsis.trees.declared import Declared
from sfumato.release.synopsis.trees.grow import decompose, grow
from sfumato.release.synopsis.trees.planning import plan_tree, set_function_tree
from sfumato.release.synopsis.trees.question import TreeOptions
from sfumato.release.synopsis.trees.release import Grown, TreeRelease
from sfumato.release.synopsis.trees.synopsis import (
    Disjunctions,
    SetSynopsis,
    TreeSynopsis,
    tree_synopsis,
    typical_error,
)
from sfumato.release.synopsis.trees.tree import Leaf, SetTree

__all__ = [
    "Coverage",
    "Declared",
    "Disjunctions",
    "Grown",
    "Leaf",
    "SetSynopsis",
    "SetTree",
    "TreeOptions",
    "TreeRelease",
    "TreeSynopsis",
    "decompose",
    "grow",
    "plan_tree",
    "set_function_tree",
    "tree_synopsis",
    "typical_error",
]
