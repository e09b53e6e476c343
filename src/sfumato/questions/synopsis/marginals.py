"""Every conjunction of a few columns, with a bound for the worst one, from sets of few columns (RL-AIE)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.questions.synopsis.base import INTEGERS, REAL, WHOLE, YES, Floats, Form
from sfumato.questions.synopsis.fourier import OfConjunctions
from sfumato.questions.synopsis.inclusion import Inclusion, Prior, inclusion
from sfumato.questions.synopsis.polynomials import evaluate, smallest_pair
from sfumato.questions.synopsis.sums import sets_up_to


@dataclass(frozen=True, eq=False, repr=False)
class MarginalSynopsis(OfConjunctions):
    """Answers every conjunction, of any width and with negations, from noisy counts of sets of at most `order` columns.

    For queries wider than the order inclusion and exclusion is cut off, and weighed so that bias and noise together are
    smallest: on average over rows whose columns have shares like those that were released, or with `worst` for any
    table. `bias` is how far a share can be off at worst whatever the data are, and `stderr` the deviation of the noise.
    """

    kind: ClassVar[str] = "marginals"
    unsaid: ClassVar[str] = (
        "stderr and interval cover the noise of a query, not how far the sketch is off without noise, which can be "
        "more: it leaves wide sets out and weighs noisy ones less; bias(queries) says how far that is at worst."
    )
    parts: ClassVar[Mapping[str, Form]] = {
        "order": WHOLE,
        "released": INTEGERS,
        "steps": (list, tuple),
        "deviation": REAL,
        "ones": YES,
        "worst": YES,
    }

    columns: tuple[str, ...]
    people: float
    order: int
    released: NDArray[np.int64]
    steps: tuple[int, ...]
    deviation: float
    ones: bool = False
    """Whether the counts are of rows in which all of a set are one, instead of zero."""
    worst: bool = False

    @cached_property
    def _levels(self) -> list[Floats]:
        size, scale = len(self.columns), 1 / max(self.people, 1.0)
        ends = [sets_up_to(size, width) - 1 for width in range(self.order + 1)]
        levels: list[Floats] = [np.ones(1)]
        for (start, stop), step in zip(pairwise(ends), self.steps, strict=True):
            levels.append(np.asarray(self.released[start:stop] * (scale / step), dtype=np.float64))
        return levels

    @cached_property
    def _deviations(self) -> tuple[float, ...]:
        """The noise in a share, by the number of columns; the share of all rows is 1."""
        return (0.0, *(self.deviation / (step * max(self.people, 1.0)) for step in self.steps))

    @cached_property
    def _prior(self) -> Prior | None:
        if self.worst:
            return None
        shares = np.clip(self._levels[1], 0.0, 1.0)
        return Prior.of(shares if self.ones else 1 - shares, self._deviations[1])

    def _inclusion(self, plain: int, negated: int) -> Inclusion:
        return inclusion(plain, negated, self.order, self._deviations, ones=self.ones, prior=self._prior)

    def _shares(self, queries: Any) -> Floats:
        asked = self.queries(queries)
        found = evaluate(self._levels, asked, self._padded)
        if self.ones and self.order > 1:
            # No more rows have all columns than have two of them: one-hot columns often show that none has.
            found = np.minimum(found, smallest_pair(self._levels[2], asked) + 2 * self._deviations[2])
        return found

    def _padded(self, plain: int, negated: int) -> Floats:
        """Return the factors; a query narrower than the order has no wider sets."""
        table = np.zeros((self.order + 1, self.order + 1))
        found = self._inclusion(plain, negated).factors
        table[: len(found), : len(found)] = found
        return table

    def stderr(self, queries: Any) -> Floats:
        """Return the standard deviation of the noise in each answer."""
        return self._each(queries, "noise")

    def bias(self, queries: Any) -> Floats:
        """Return how far each answer can be off, at worst over all tables, because wider sets are left out."""
        return self._each(queries, "bias")

    def _each(self, queries: Any, name: str) -> Floats:
        asked = self.queries(queries)
        found = np.empty(len(asked))
        for width, negated, rows in asked.by_shape():
            found[rows] = getattr(self._inclusion(width - negated, negated), name)
        return found

    def typical(self, width: float) -> float:
        """Return about the root mean squared error of queries of a width, with what is left out (RL-PLAN)."""
        found = self._inclusion(max(1, round(width)), 0)
        return math.hypot(found.noise, found.typical)
