"""Disjunctions of binary columns as a set function: how many rows have a one in some column of a set."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import positive_integer
from sfumato.papers.query_release.learning.trees.tree import Leaf, SetTree, chances_of
from sfumato.privacy import ADD_REMOVE, Relation
from sfumato.questions.synopsis.binary import Rows

FINE = 1 << 24
"""Logarithms of chances are kept in such parts of one, so that a row's share is a function of the row alone."""


@dataclass(frozen=True)
class Coverage:
    """The number of rows that a disjunction of columns counts, for every set of columns (RL-TREE-RELEASE).

    `chances` is how likely a random query is to hold each column, one for all or one for each; with `width` queries
    are uniform among the sets of exactly so many columns instead. `negated` counts zeros in place of ones, which makes
    conjunctions of it: a row fulfils one unless it has a zero in some of its columns. With `both` every column stands
    twice, the second time negated, and `size` is twice as large: conjunctions may then ask for zeros too.

    A marginal is one count, of the rows with a one in the new column and none in those before, so a person moves it by
    their rows and no more. The mean over a leaf is one count too, of what each row adds on average: a number from 0 to
    1, written in `grid` parts.
    """

    size: int
    chances: Any = Fraction(1, 2)
    width: int | None = None
    negated: bool = False
    both: bool = False
    grid: int = 1 << 12
    rows: int = 1

    def __post_init__(self) -> None:
        positive_integer(self.size, "size")
        if self.width is None:
            object.__setattr__(self, "chances", chances_of(self.chances, self.size))
        elif not 1 <= positive_integer(self.width, "width") <= self.size:
            raise ParameterError(
                f"width is {self.width}, and there are {self.size} columns; write a width from 1 to that."
            )
        else:
            object.__setattr__(self, "chances", (Fraction(self.width, self.size),) * self.size)

    @property
    def value_step(self) -> int:
        """How many parts make one person's whole share of a mean."""
        return self.grid

    @property
    def value_move(self) -> int:
        """How far a person moves the mean of a leaf, in parts."""
        return self.grid * self.rows

    @property
    def marginal_move(self) -> int:
        """How far a person moves a marginal."""
        return self.rows

    @property
    def marginal_step(self) -> int:
        """Marginals are counts."""
        return 1

    @property
    def second_stage(self) -> bool:
        """A disjunction never falls when columns are added."""
        return False

    def monotone(self, relation: Relation) -> bool:
        """Tell whether a person moves all marginals in one direction: rows that come only add to counts."""
        return relation is ADD_REMOVE

    def reach(self, tree: SetTree) -> NDArray[np.float64]:
        """Return how likely a random query is to fall into each leaf."""
        if self.width is None:
            return tree.reach([float(chance) for chance in self.chances])
        whole = math.comb(self.size, self.width)
        found = []
        for leaf in tree.leaves:
            free, rest = len(tree.free(leaf)), self.width - len(leaf.inside)
            found.append(math.comb(free, rest) / whole if 0 <= rest <= free else 0.0)
        return np.array(found)

    def bind(self, rows: Rows) -> BoundCoverage:
        """Return the exact answers about some rows."""
        ones = np.concatenate((rows.ones, ~rows.ones), axis=1) if self.both else rows.ones
        return BoundCoverage(self, ~ones if self.negated else ones, rows.counts)

    def to_json(self) -> dict[str, Any]:
        """Return the public facts."""
        chances = sorted(set(map(str, self.chances))) if len(set(self.chances)) == 1 else [str(c) for c in self.chances]
        return {
            "size": self.size,
            "chances": chances,
            "width": self.width,
            "negated": self.negated,
            "both": self.both,
            "grid": self.grid,
            "rows": self.rows,
        }

    @cached_property
    def _weights(self) -> NDArray[np.int64]:
        """Return -log(1 - chance) of every column in parts of FINE, at least one part."""
        logs = [-math.log1p(-float(chance)) for chance in self.chances]
        return np.array([max(1, round(log * FINE)) for log in logs], dtype=np.int64)

    def missed(self, leaf: Leaf, free: NDArray[np.int64]) -> tuple[NDArray[np.int64], Callable[[int], int]]:
        """Return a weight for every free column, and the share that a row of some total weight misses, in parts.

        The share is how likely a random query of the leaf is to hold none of the free columns in which the row has a
        one. It is a function of the total alone, evaluated one number at a time: no row depends on another.
        """
        if self.width is None:
            return self._weights[free], lambda total: math.floor(self.grid * math.exp(-total / FINE) + 0.5)
        rest = self.width - len(leaf.inside)
        whole = math.comb(len(free), rest) if 0 <= rest <= len(free) else 0

        def share(ones: int) -> int:
            if whole == 0 or len(free) - ones < rest:
                return 0
            return int(Fraction(self.grid * math.comb(len(free) - ones, rest), whole) + Fraction(1, 2))

        return np.ones(len(free), dtype=np.int64), share


@dataclass(frozen=True, eq=False)
class BoundCoverage:
    """Exact answers about private rows. Sums are taken in floats, which are exact for whole numbers of this size."""

    about: Coverage
    ones: NDArray[np.bool_]
    counts: NDArray[np.int64]

    @cached_property
    def _floats(self) -> NDArray[Any]:
        """The bits as floats in which every sum of rows is exact, for fast products."""
        return self.ones.astype(np.float32 if self.total < 2**24 else np.float64)

    @cached_property
    def total(self) -> int:
        """How many rows there are."""
        return int(self.counts.sum())

    def _missed(self, leaf: Leaf) -> NDArray[np.bool_]:
        return np.asarray(~self.ones[:, list(leaf.inside)].any(axis=1))

    def rises(self, leaf: Leaf) -> NDArray[np.int64]:
        """Return for each column how many rows have a one there and none in the columns of the leaf."""
        counted = np.where(self._missed(leaf), self.counts, 0).astype(self._floats.dtype)
        return np.asarray(counted @ self._floats).astype(np.int64)

    def falls(self, leaf: Leaf) -> NDArray[np.int64]:
        """Return nothing: a disjunction never falls."""
        return np.zeros(self.about.size, dtype=np.int64)

    def mean(self, leaf: Leaf, free: NDArray[np.int64]) -> int:
        """Return the sum over the rows of the share of the leaf's queries that each fulfils, in parts."""
        missed = self._missed(leaf)
        weights, share = self.about.missed(leaf, free)
        totals, where = np.unique(self._weighed(free, weights)[missed], return_inverse=True)
        shares = np.array([share(int(total)) for total in totals], dtype=np.int64)
        short = int(self.counts[missed] @ shares[where]) if len(totals) else 0
        return self.about.grid * self.total - short

    def _weighed(self, free: NDArray[np.int64], weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the total weight of the ones of every row among some columns: exact whole numbers below 2^53."""
        found = np.zeros(len(self.counts), dtype=np.int64)
        for weight in np.unique(weights).tolist():
            chosen = np.zeros(self.about.size, dtype=self._floats.dtype)
            chosen[free[weights == weight]] = 1
            found += weight * (self._floats @ chosen).astype(np.int64)
        return found
