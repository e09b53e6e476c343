"""All conjunctions from their low-degree Fourier coefficients: best for queries drawn at random (RL-FOUR)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.answer import Frame
from sfumato.questions.synopsis.base import INTEGERS, REAL, WHOLE, Floats, Form, Synopsis
from sfumato.questions.synopsis.fourier_weights import noise_steps
from sfumato.questions.synopsis.polynomials import evaluate
from sfumato.questions.synopsis.queries import Conjunctions, read_queries
from sfumato.questions.synopsis.sums import downward, sets_up_to

TYPICAL_TAIL = 0.01
"""The part of the worst mean squared error of truncation that tables of many different people have, about."""


class OfConjunctions(Synopsis):
    """A synopsis that is asked about conjunctions of its columns."""

    def queries(self, queries: Any) -> Conjunctions:
        """Read queries: `Conjunctions`, or lists of names such as [("smokes", "not drives")]."""
        return as_conjunctions(queries, self.columns)

    def to_frame(self) -> Frame:
        """Return the share of every column on its own, and the standard deviation of the noise in it."""
        return column_shares(self)


@dataclass(frozen=True, eq=False, repr=False)
class FourierSynopsis(OfConjunctions):
    """Answers every conjunction of binary columns from noisy Fourier coefficients of at most `degree` columns.

    The coefficients belong to queries in which every column stands with `probability`, independently; on average over
    these queries the noise is as small as `predicted()` says, and what wider coefficients would have added is at most
    `left_out` in root mean square. Queries that are much wider or narrower than probability·columns have larger
    errors; `stderr` knows the noise of each. A query with more negations than `degree` is answered by 0.
    """

    kind: ClassVar[str] = "fourier"
    unsaid: ClassVar[str] = (
        "stderr and interval cover the noise of a query, not what the sketch leaves out of it, which is much more for "
        "queries that are wider or narrower than those it was made for."
    )
    parts: ClassVar[Mapping[str, Form]] = {
        "degree": WHOLE,
        "probability": REAL,
        "released": INTEGERS,
        "units": (list, tuple),
        "deviation": REAL,
        "left_out": REAL,
    }

    columns: tuple[str, ...]
    people: float
    degree: int
    probability: float
    released: NDArray[np.int64]
    units: tuple[float, ...]
    deviation: float
    left_out: float

    @property
    def _basis(self) -> tuple[float, float]:
        """The basis function of a column that a query leaves out, and of one that it names."""
        odds = math.sqrt(self.probability / (1 - self.probability))
        return -odds, 1 / odds

    @cached_property
    def _levels(self) -> list[Floats]:
        """The polynomial in the columns of a query: what each set of them adds to the share."""
        size, (absent, named) = len(self.columns), self._basis
        ends = [0, *(sets_up_to(size, width) for width in range(self.degree + 1))]
        scale = 1 / max(self.people, 1.0)
        found: list[Floats] = [
            np.asarray(self.released[start:stop] * (unit * scale * (-1.0) ** width), dtype=np.float64)
            for width, ((start, stop), unit) in enumerate(zip(pairwise(ends), self.units, strict=True))
        ]
        levels: list[Floats] = []
        for width in range(self.degree + 1):
            total = found[width].copy()
            for above in range(width + 1, self.degree + 1):
                total += absent ** (above - width) * self._narrowed(found[above], above, width)
            levels.append((named - absent) ** width * total)
        return levels

    def _narrowed(self, level: Floats, above: int, width: int) -> Floats:
        """Return for every set of `width` the sum of a level over the sets of `above` that contain it."""
        found = level
        for wide in range(above, width, -1):
            found = downward(found, len(self.columns), wide)
        return found / math.factorial(above - width)

    def _shares(self, queries: Any) -> Floats:
        asked = self.queries(queries)
        return evaluate(self._levels, asked, self._factors)

    def _factors(self, plain: int, negated: int) -> Floats:
        """Not-a is everything less a: only sets with all negated columns stay, with the sign of their number."""
        table = np.zeros((self.degree + 1, self.degree + 1))
        if negated <= self.degree:
            table[:, negated] = (-1.0) ** negated
        return table

    def stderr(self, queries: Any) -> Floats:
        """Return the standard deviation of the noise in each answer; it depends on the numbers of columns alone."""
        asked = self.queries(queries)
        found = np.empty(len(asked))
        for width, negated, rows in asked.by_shape():
            found[rows] = self._noise(width - negated, negated)
        return found

    def _noise(self, plain: int, negated: int) -> float:
        steps = noise_steps(len(self.columns), self.probability, self.units, plain, negated)
        return self.deviation * steps / max(self.people, 1.0)

    def predicted(self) -> float:
        """Return the root mean squared noise over the queries that the coefficients belong to."""
        numbers = [math.comb(len(self.columns), width) for width in range(self.degree + 1)]
        total = sum(number * unit**2 for number, unit in zip(numbers, self.units, strict=True))
        return self.deviation * math.sqrt(total) / max(self.people, 1.0)

    def typical(self, width: float) -> float:
        """Return about the root mean squared error of queries as they were meant, with what is left out (RL-PLAN)."""
        return math.hypot(self.predicted(), math.sqrt(TYPICAL_TAIL) * self.left_out)


def as_conjunctions(queries: Any, columns: tuple[str, ...]) -> Conjunctions:
    """Read conjunctions over these columns: as arrays, or as lists of names."""
    return read_queries(Conjunctions, queries, columns, "columns", "('smokes', 'not drives')")


def column_shares(synopsis: Synopsis) -> Frame:
    """Return the share of every column, and the standard deviation of the noise in it."""
    singles = Conjunctions.every(len(synopsis.columns), 1)
    shares, errors = synopsis.answer(singles), synopsis.stderr(singles)
    return Frame(
        ("column",),
        {"column": synopsis.columns, "share": tuple(shares.tolist()), "deviation": tuple(errors.tolist())},
    )
