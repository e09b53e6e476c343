"""What is read from a released tree: a value for every set, and how far noise moved it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.answer import Frame
from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one
from sfumato.papers.query_release.learning.trees.release import Grown, TreeRelease
from sfumato.papers.query_release.learning.trees.tree import SetTree, read_sets
from sfumato.questions.synopsis.base import YES, Floats, Form, Synopsis
from sfumato.questions.synopsis.queries import Conjunctions, Subsets

PREDICATES = ("conjunction", "disjunction")


@dataclass(frozen=True, eq=False)
class Disjunctions(Subsets):
    """Queries that are true where at least one of their columns is one."""


@dataclass(frozen=True, eq=False, repr=False)
class TreeSynopsis(Synopsis):
    """All conjunctions, or all disjunctions, of binary columns from one tree: each leaf answers with its mean.

    Good on average over random queries, where the function hardly moves within a leaf; single queries may be off by
    more (RL-TREE-RELEASE).
    """

    kind: ClassVar[str] = "tree"
    unsaid: ClassVar[str] = (
        "stderr and interval cover the noise of a query's group, not how far the query is from the group's mean: a "
        "single column may be off by twenty times that."
    )
    parts: ClassVar[Mapping[str, Form]] = {
        "tree": (SetTree.to_json, SetTree.from_json),
        **dict.fromkeys(("values", "deviations"), (np.ndarray.tolist, np.array)),
        "predicate": (str, str),
        "negations": YES,
    }
    columns: tuple[str, ...]
    people: float
    tree: SetTree
    values: Floats
    deviations: Floats
    predicate: str = "conjunction"
    negations: bool = False

    def _shares(self, queries: Any) -> Floats:
        return np.asarray(self._leaf_shares[self.tree.find(self._sets(queries))])

    def stderr(self, queries: Any) -> Floats:
        """Return the standard deviation of the noise in the leaf of each query."""
        return np.asarray(self.deviations[self.tree.find(self._sets(queries))])

    def _sets(self, queries: Any) -> NDArray[np.bool_]:
        if self.predicate == "disjunction":
            if isinstance(queries, Conjunctions):
                raise ParameterError("This tree answers disjunctions; write Disjunctions.of(columns, [('a', 'b'), …]).")
            asked = queries if isinstance(queries, Subsets) else Disjunctions.of(self.columns, queries)
            return read_sets(asked.flags(), self.tree.size)
        named = queries if isinstance(queries, Conjunctions) else Conjunctions.of(self.columns, queries)
        ones, zeros = named.dense()
        if self.negations:
            return read_sets(np.concatenate((ones, zeros), axis=1), self.tree.size)
        if zeros.any():
            raise ParameterError(
                "This tree answers conjunctions of ones; ask for the tree with negations=True to ask for zeros too."
            )
        return read_sets(ones, self.tree.size)

    def to_frame(self) -> Frame:
        """Return one row for each leaf: which columns its queries hold, which they do not, and the share."""
        return self._frame({"share": np.clip(self._leaf_shares, 0, 1)})

    def leaf_interval(self, confidence: Number = Fraction(95, 100)) -> Frame:
        """Return about where the mean of each leaf lies without noise."""
        chance = float(between_zero_and_one(confidence, "confidence"))
        half = NormalDist().inv_cdf((1 + chance) / 2) * self.deviations
        ends = {"low": self._leaf_shares - half, "high": self._leaf_shares + half}
        return self._frame({name: np.clip(end, 0, 1) for name, end in ends.items()})

    @property
    def _leaf_shares(self) -> Floats:
        return 1 - self.values if self.predicate == "conjunction" else self.values

    def _frame(self, numbers: Mapping[str, Floats]) -> Frame:
        names = (*self.columns, *(f"not {name}" for name in self.columns)) if self.negations else self.columns
        inside = tuple(", ".join(names[place] for place in leaf.inside) for leaf in self.tree.leaves)
        outside = tuple(", ".join(names[place] for place in leaf.outside) for leaf in self.tree.leaves)
        columns = {name: tuple(float(value) for value in column) for name, column in numbers.items()}
        return Frame(("with", "without"), {"with": inside, "without": outside, **columns})


@dataclass(frozen=True, eq=False)
class SetSynopsis:
    """The values of a declared set function, from one tree: `answer(sets)`, one set a row of booleans."""

    tree: SetTree
    values: Floats
    deviations: Floats
    low: float
    high: float

    def answer(self, sets: Any) -> Floats:
        """Return about the mean of the function over the leaf of each set."""
        return np.asarray(np.clip(self.values[self.tree.find(sets)], self.low, self.high))

    def stderr(self, sets: Any) -> Floats:
        """Return the standard deviation of the noise in each value; how far the function varies comes on top."""
        return np.asarray(self.deviations[self.tree.find(sets)])

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back."""
        return {
            "tree": self.tree.to_json(),
            "values": self.values.tolist(),
            "deviations": self.deviations.tolist(),
            "low": self.low,
            "high": self.high,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> SetSynopsis:
        """Read what `to_json` wrote."""
        values, deviations = (np.array(record[name], dtype=np.float64) for name in ("values", "deviations"))
        return cls(SetTree.from_json(record["tree"]), values, deviations, record["low"], record["high"])


def leaf_numbers(mechanism: TreeRelease, grown: Grown) -> tuple[Floats, Floats]:
    """Return the value of every leaf and the standard deviation of its noise; unmeasured leaves take the middle."""
    scale = 1 / (mechanism.about.value_step * mechanism.divisor(grown.total))
    laws = mechanism.laws(grown.tree)
    known = [value * scale for value in grown.values if value is not None]
    default = float(np.mean(known)) if known else 0.0
    values = [default if value is None else value * scale for value in grown.values]
    spread = [math.inf if law is None else math.sqrt(law.spread()) * scale for law in laws]
    return np.array(values, dtype=np.float64), np.array(spread, dtype=np.float64)


def tree_synopsis(mechanism: TreeRelease, grown: Grown) -> SetSynopsis:
    """Return what can be read from the released tree of a declared set function; costs nothing."""
    about = mechanism.about
    low, high = Fraction(getattr(about, "low", 0)), Fraction(getattr(about, "high", 1))
    values, spread = leaf_numbers(mechanism, grown)
    return SetSynopsis(grown.tree, values + float(low), spread, float(low), float(high))


def typical_error(steepness: Number, bad_fraction: Number, *, monotone: bool = True) -> float:
    """Return how far a submodular function from 0 to 1 is from its mean in a leaf, for all but so many random sets.

    The function must move by at most `steepness` with every element, and elements must be drawn independently; then
    the deviation is at most steepness·t with t = 5L/6 + √(25L²/36 + 2L/steepness) and L = ln(2/bad_fraction) (RL:C10,
    RL:C11). That is proved for functions that never fall when elements are added; for others, `monotone=False`, what
    is proved has 4L/steepness in place of 2L/steepness. Noise comes on top.

    >>> round(typical_error(0.01, 0.1), 3), round(typical_error(0.01, 0.1, monotone=False), 3)
    (0.271, 0.372)
    """
    steep = float(steepness)
    level = math.log(2 / float(between_zero_and_one(bad_fraction, "bad_fraction")))
    mean = (2 if monotone else 4) * level / steep
    return steep * (5 * level / 6 + math.sqrt(25 * level**2 / 36 + mean))
