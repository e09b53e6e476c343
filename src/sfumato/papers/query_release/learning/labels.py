"""Queries drawn publicly and counted privately: what any learner may be trained on (RL-PRIVLEARN)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import positive_integer
from sfumato.mechanism import Event, Mechanism
from sfumato.noise import Noise, Priced
from sfumato.papers.query_release.weights.meter import noise_cost
from sfumato.papers.query_release.weights.rounds import law_json, rows_move, shown
from sfumato.perturb.additive import AdditiveNoise, saturating_sum
from sfumato.privacy import Loss
from sfumato.questions.synopsis.binary import Flags, Rows
from sfumato.words import one_of

PREDICATES = ("conjunction", "disjunction", "parity", "at least")
CHUNK = 1 << 12


@dataclass(frozen=True, eq=False)
class BinaryQueries:
    """Queries about binary columns: which have to be one, which zero, and what is asked of them.

    "conjunction": all hold; "disjunction": some holds; "parity": an odd number holds; "at least": `least` hold.
    """

    ones: Flags = field(repr=False)
    zeros: Flags = field(repr=False)
    predicate: str = "conjunction"
    least: int = 1

    def __post_init__(self) -> None:
        one_of("predicate", self.predicate, PREDICATES)
        if isinstance(self.least, bool) or not isinstance(self.least, int) or self.least < 1:
            positive_integer(self.least, "least")

    @property
    def size(self) -> int:
        """How many queries there are."""
        return len(self.ones)

    @property
    def step(self) -> int:
        """A row counts or does not."""
        return 1

    def distinct(self) -> BinaryQueries:
        """Return every query once, sorted."""
        both = np.unique(np.concatenate((self.ones, self.zeros), axis=1), axis=0)
        columns = self.ones.shape[1]
        return BinaryQueries(both[:, :columns], both[:, columns:], self.predicate, self.least)

    def features(self) -> NDArray[np.float64]:
        """Return what a learner sees of the queries: 1 for a column that has to be one, -1 for zero, 0 elsewhere."""
        return self.ones.astype(np.float64) - self.zeros

    def counts(self, data: Rows) -> NDArray[np.int64]:
        """Return how many rows each query is true for; exact, because sums of so few ones are exact in floats."""
        found = np.zeros(self.size, dtype=np.int64)
        signs = (self.ones.astype(np.float32) - self.zeros).T
        shift = np.count_nonzero(self.zeros, axis=1)
        widths = np.count_nonzero(self.ones, axis=1) + shift
        for start in range(0, len(data.counts), CHUNK):
            hold = data.ones[start : start + CHUNK].astype(np.float32) @ signs + shift
            found += data.counts[start : start + CHUNK] @ self._true(hold, widths)
        return found

    def total(self, data: Rows) -> int:
        """Return how many rows there are."""
        return data.total

    def _true(self, hold: NDArray[np.float32], widths: NDArray[np.int64]) -> NDArray[np.int64]:
        match self.predicate:
            case "conjunction":
                return np.asarray(hold == widths, dtype=np.int64)
            case "disjunction":
                return np.asarray(hold > 0, dtype=np.int64)
            case "parity":
                return hold.astype(np.int64) & 1
        return np.asarray(hold >= self.least, dtype=np.int64)

    def to_json(self) -> dict[str, Any]:
        """Return what the queries are, shortly."""
        return {"queries": self.size, "columns": self.ones.shape[1], "predicate": self.predicate, "least": self.least}


@dataclass(frozen=True, eq=False)
class AnyQueries:
    """Queries of any kind, with a predicate of the user: `predicate(record, queries)` gives a number for each query.

    The numbers are clipped to 0 … 1 and rounded to `step` parts for every record on its own; a record for which the
    predicate raises, or gives something that is no row of numbers, counts as 0 everywhere. So one record moves a count
    by at most one, whatever the predicate does, as long as it looks at nothing but its record.
    """

    queries: tuple[Any, ...]
    predicate: Callable[[Any, tuple[Any, ...]], Any] = field(repr=False)
    step: int = 1 << 10

    @property
    def size(self) -> int:
        """How many queries there are."""
        return len(self.queries)

    def counts(self, data: Any) -> NDArray[np.int64]:
        """Return the sums over the records, in parts."""
        found = np.zeros(self.size, dtype=np.int64)
        # The predicate is the user's and sees private data: whatever it raises, or warns of, must not be seen.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for record in data:
                found += self._parts(record)
        return found

    def total(self, data: Any) -> int:
        """Return how many records there are."""
        return len(data)

    def _parts(self, record: Any) -> NDArray[np.int64]:
        try:
            values = np.asarray(self.predicate(record, self.queries), dtype=np.float64).reshape(self.size)
        except Exception:
            return np.zeros(self.size, dtype=np.int64)
        clipped = np.clip(np.nan_to_num(values, nan=0.0, posinf=1.0, neginf=0.0), 0, 1)
        return np.asarray(np.floor(clipped * self.step + 0.5), dtype=np.int64)

    def to_json(self) -> dict[str, Any]:
        """Return how many queries there are, and the name of the predicate."""
        return {"queries": self.size, "predicate": getattr(self.predicate, "__qualname__", "predicate")}


@dataclass(frozen=True)
class Counted:
    """What was released: the noisy number of rows where it is not public, and a noisy count for each query."""

    total: int | None
    counts: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Labels(Mechanism):
    """Noisy counts of public queries: all that a learner ever sees of the data.

    Promise, for `relation` neighbours of at most `rows` rows a person: the loss of one noisy count, times the number
    of queries (RL-TO without thresholds; `people` only divides), and that of the noisy number of rows. Whatever is
    learned from them afterwards, with any learner and any tuning, costs nothing more (RL-PRIVLEARN).
    """

    spec: ClassVar[str] = "RL-PRIVLEARN"

    about: BinaryQueries | AnyQueries
    law: Priced
    rows: int = 1
    people: int | None = None
    count_law: Priced | None = None

    def __post_init__(self) -> None:
        if (self.people is None) == (self.count_law is None):
            raise ParameterError("Give people= where their number is public, and count_law= where it is not.")

    def loss(self) -> Loss:
        """Return the loss of all counts."""
        total = self.about.size * self.one.loss()
        if self.count_law is None:
            return total
        return total + Loss.flat(noise_cost(self.count_law, rows_move(self.rows)), self.reads, self.relation)

    @property
    def one(self) -> AdditiveNoise:
        """The noise of one count."""
        move = self.about.step * self.rows
        return AdditiveNoise(law=self.law, sensitivity=move, relation=self.relation, reads=self.reads)  # type: ignore[arg-type]

    def run(self, exact: Any, noise: Noise) -> Counted:
        """Add one draw to each count."""
        total = None if self.count_law is None else max(1, self.about.total(exact) + noise.draw(self.count_law))
        drawn = noise.draw(self.law, self.about.size)
        return Counted(total, tuple(saturating_sum(self.about.counts(exact), drawn).tolist()))

    def divisor(self, found: Counted) -> int:
        """Return the number of rows that shares are of."""
        return self.people if self.people is not None else max(1, found.total or 1)

    def event(self) -> Event:
        """Return the public parameters, laws with their names."""
        return shown(super().event(), {"law": law_json(self.law), "count_law": law_json(self.count_law)})
