"""Decision trees over sets: a set function that hardly moves within a leaf, public or private."""

from sfumato.papers.query_release.learning.trees.coverage import Coverage
from sfumato.papers.query_release.learning.trees.declared import Declared
from sfumato.papers.query_release.learning.trees.grow import decompose, grow
from sfumato.papers.query_release.learning.trees.planning import plan_tree, set_function_tree
from sfumato.papers.query_release.learning.trees.question import TreeOptions
from sfumato.papers.query_release.learning.trees.release import Grown, TreeRelease
from sfumato.papers.query_release.learning.trees.synopsis import (
    Disjunctions,
    SetSynopsis,
    TreeSynopsis,
    tree_synopsis,
    typical_error,
)
from sfumato.papers.query_release.learning.trees.tree import Leaf, SetTree

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
