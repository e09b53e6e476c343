"""The exponential mechanism over small databases: the best there is on tiny domains, and an oracle for the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DomainTooLarge, ParameterError, UnsupportedSpend
from sfumato.exact import Number, between_zero_and_one, positive_integer
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.papers.enough_people import FAILURE, say_of_few
from sfumato.papers.query_release.geometry.generators import Vectors, matrix_of
from sfumato.privacy import Bound, Cost, Loss, Pure
from sfumato.privacy.bounds import require_bound

MOST_DATABASES = 10**6


@dataclass(frozen=True, kw_only=True)
class SmallDatabases(Mechanism):
    """A database of `size` records whose answers are near those of the table, chosen among all of that size.

    A candidate scores minus the largest |query on the table · size - query on the candidate · people|, in units of
    1/(size·people) of a person's share. Replacing one person moves every score by at most `size`, as queries are 0
    or 1, so a rate of epsilon/(2·size) is epsilon-private (QR-BLR, QR-EM). Input: the counts of the cells. Output:
    the counts of the cells of the chosen database, `size` in total. Time and memory: all candidates are listed.
    """

    spec: ClassVar[str] = "QR-BLR"

    queries: Vectors
    people: int
    size: int
    rate: Fraction

    def loss(self) -> Loss:
        """Return the bounded-range cost of the choice."""
        return Loss.flat(Cost.range_bounded(2 * self.rate * self.size), self.reads, self.relation)

    def run(self, exact: Any, noise: Noise) -> Any:
        """Score every small database and choose one."""
        counts = np.asarray(exact)
        cells = len(self.queries[0])
        if counts.shape != (cells,) or counts.dtype.kind not in "iu":
            raise ParameterError(f"The exact table is one whole number for each of the {cells} cells.")
        truth = np.array(self.queries, dtype=np.int64) @ counts.astype(np.int64)
        errors = np.abs(self._answers * self.people - truth * self.size).max(axis=1)
        return self._databases[noise.choose(-errors, self.rate)].copy()

    def people_needed(self, failure: Number = FAILURE) -> int:
        """Return from how many people on the choice misses as little as the best database of this size does."""
        return math.ceil(self._chosen(float(failure)) / self.nearest)

    @property
    def nearest(self) -> float:
        """The most that the best database of this size is off by, as a share: sqrt(ln(2·queries)/(2·size))."""
        return math.sqrt(math.log(2 * len(self.queries)) / (2 * self.size))

    def _chosen(self, failure: float) -> float:
        """Return by how much the choice misses the best database, except with this probability, in people."""
        candidates = math.comb(len(self.queries[0]) + self.size - 1, self.size)
        return math.log(candidates / failure) / float(self.rate) / self.size

    def error(self, confidence: Number = 0.95) -> float:
        """Return the largest error of a query, as a share of people, at this confidence: 2·ln(candidates/failure)/eps.

        To it comes how well the best database of this size does, sqrt(ln(2·queries)/(2·size)) at most.
        """
        failure = 1 - float(between_zero_and_one(confidence, "confidence"))
        return self._chosen(failure) / self.people + self.nearest

    @cached_property
    def _databases(self) -> NDArray[np.int64]:
        cells = len(self.queries[0])
        rows = [
            np.bincount(chosen, minlength=cells) for chosen in combinations_with_replacement(range(cells), self.size)
        ]
        return np.array(rows, dtype=np.int64)

    @cached_property
    def _answers(self) -> NDArray[np.int64]:
        return self._databases @ np.array(self.queries, dtype=np.int64).T


def small_databases(
    workload: Any, spend: Bound, *, people: int, accuracy: Number = "1/4", size: int | None = None
) -> SmallDatabases:
    """Return the mechanism over databases of ceil(ln(2·queries)/(2·accuracy²)) records (QR-BLR); REPLACE_ONE only.

    It is private for any number of people; below `SmallDatabases.people_needed` it warns, from these numbers alone.

    >>> choice = small_databases([[1, 1, 0, 0], [1, 0, 1, 0]], Pure(1), people=100)
    >>> choice.size, choice(np.array([60, 20, 10, 10]), Noise(insecure_seed=5)).sum()
    (12, np.int64(12))
    """
    made = databases_for(workload, spend, people=people, accuracy=accuracy, size=size)
    promised = 2 * made.nearest
    if promised < 1:
        say_of_few(
            f"An error of at most {promised:.2g} as a share, in 19 of 20 runs,",
            made.people_needed(),
            made.people,
            "Spend more, ask for a larger accuracy=, or for curator.synthesize, which needs far fewer people.",
        )
    else:
        say_of_few(
            f"An error below 1 as a share, where databases of {made.size} records promise {promised:.2g},",
            None,
            made.people,
            "Write a larger size=, or a smaller accuracy=.",
        )
    return made


def databases_for(
    workload: Any, spend: Bound, *, people: int, accuracy: Number = "1/4", size: int | None = None
) -> SmallDatabases:
    """Return the choice, whatever it promises to so many people."""
    bound = require_bound(spend)
    if not isinstance(bound, Pure) or bound.unit != "person":
        raise UnsupportedSpend("The choice among small databases is calibrated to Pure(epsilon) for whole persons.")
    matrix = matrix_of(workload)
    if not np.isin(matrix, (0, 1)).all():
        raise ParameterError("Queries must be counting queries, with coefficients 0 and 1.")
    near = float(between_zero_and_one(accuracy, "accuracy"))
    wanted = math.ceil(math.log(2 * len(matrix)) / (2 * near**2)) if size is None else positive_integer(size, "size")
    candidates = math.comb(matrix.shape[1] + wanted - 1, wanted)
    if candidates > MOST_DATABASES:
        raise DomainTooLarge(
            f"There are {candidates} databases of {wanted} records over {matrix.shape[1]} cells, and at most "
            f"{MOST_DATABASES} are listed; use curator.synthesize.",
            "curator.synthesize",
        )
    queries = tuple(map(tuple, matrix.tolist()))
    rate = bound.epsilon / (2 * wanted)
    return SmallDatabases(queries=queries, people=positive_integer(people, "people"), size=wanted, rate=rate)
