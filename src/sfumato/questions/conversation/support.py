"""A model over a sampled support, for domains too large to write out and data that are spread out (QR-SMOOTH)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.exact import Number, above_zero, between_zero_and_one, positive_integer
from sfumato.exact.search import smallest_between
from sfumato.model.base import Codes, Floats, Model, packed, unpacked
from sfumato.model.rows import shuffled, systematic
from sfumato.noise import Noise
from sfumato.workload.space import Space

MOST_POINTS = 2**22
BAD_PART = 0.25
"""A sample of more than this part of the domain saves nothing worth its error."""


@dataclass(frozen=True, eq=False)
class SupportModel(Model):
    """A distribution over listed rows only: one row of `points` and one log-weight each.

    Time and memory of every operation: the number of points.
    """

    kind: ClassVar[str] = "support"

    space: Space
    total: float
    points: Codes
    log_weights: Floats

    @cached_property
    def probabilities(self) -> Floats:
        """The probabilities, which add up to 1."""
        weights = np.exp(self.log_weights - self.log_weights.max())
        return np.asarray(weights / weights.sum())

    def _cells(self, names: Sequence[str]) -> NDArray[np.int64]:
        places = self.space.places(names)
        if not places:
            return np.zeros(len(self.points), dtype=np.int64)
        shape = self.space.shape(names)
        return np.ravel_multi_index(tuple(self.points[:, place] for place in places), shape).astype(np.int64)

    def _marginal(self, names: tuple[str, ...]) -> Floats:
        shape = self.space.shape(names)
        cells = int(np.prod(shape, dtype=np.int64))
        found = np.bincount(self._cells(names), weights=self.probabilities, minlength=cells)
        return found.astype(np.float64).reshape(shape)

    def tilt(self, columns: tuple[str, ...], table: Floats) -> SupportModel:
        """Return the model with a table over some columns added to its log-weights."""
        return replace(self, log_weights=self.log_weights + np.asarray(table).ravel()[self._cells(columns)])

    def codes(self, rows: int, noise: Noise) -> Codes:
        """Return rows: points by systematic rounding, in random order."""
        counts = systematic(self.probabilities, rows, noise)
        return np.repeat(self.points, counts, axis=0)[shuffled(rows, noise)]

    def _record(self) -> dict[str, Any]:
        return {"points": self.points.tolist(), "log_weights": packed(self.log_weights)}

    @classmethod
    def _read(cls, space: Space, total: float, record: Mapping[str, Any]) -> SupportModel:
        return cls(space, total, np.array(record["points"], dtype=np.int64), unpacked(record["log_weights"]))


@dataclass(frozen=True)
class Support:
    """A public sample of a domain, and what it was drawn for.

    It is drawn without a look at the data, so it changes no promise. Queries fixed before it was drawn can be
    answered from it within `accuracy`, with probability 1 - `failure`, if no row holds more than `peak` times its
    share of the people; nobody may test that on the data for free.
    """

    peak: float
    accuracy: float
    failure: float
    draws: int
    seed: int
    whole: bool = False

    @property
    def warning(self) -> str:
        """Say what the sample relies on."""
        if self.whole:
            return "A sample would be as large as the domain, so the whole domain is used and nothing is assumed."
        return (
            f"This relies on data in which no combination of values holds more than {self.peak:g} times an even share. "
            "Where people crowd on a few combinations, answers from the model are wrong beyond their bound."
        )

    def to_json(self) -> dict[str, Any]:
        """Return all of it."""
        return dict(vars(self))

    def model(self, space: Space, total: float, prior: Mapping[str, Sequence[int]] | None = None) -> SupportModel:
        """Draw the sample again from its seed, equal points joined: the same model every time."""
        noise = Noise(insecure_seed=self.seed)
        columns = [_drawn(noise, size, self.draws, (prior or {}).get(name)) for name, size in _columns(space)]
        points, repeats = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
        return SupportModel(space, float(total), points, np.log(repeats.astype(np.float64)))


def reduce_support(
    space: Space,
    *,
    peak: Number,
    queries: int,
    accuracy: Number,
    failure: Number = 0.05,
    noise: Noise | None = None,
) -> Support:
    """Return a sample of a domain large enough for `queries` queries on data at most `peak` times as dense as even.

    Of M points drawn evenly, ln(4k/failure)/(2·accuracy²) must fall where the data are, which each does with
    probability 1/peak; M is the least number for which that fails with probability failure/2 at most.

    >>> from sfumato.domain import integers
    >>> from sfumato.table.schema import Schema
    >>> space = Space.of(Schema({"a": integers(0, 1023), "b": integers(0, 1023)}))
    >>> reduce_support(space, peak=8, queries=500, accuracy=0.1, noise=Noise(insecure_seed=1)).draws
    4585
    """
    dense, count = float(above_zero(peak, "peak")), positive_integer(queries, "queries")
    close, fails = float(between_zero_and_one(accuracy, "accuracy")), float(between_zero_and_one(failure, "failure"))
    if dense < 1:
        raise ParameterError("peak is at least 1: some combination always holds its even share; write for example 8.")
    needed = math.ceil(math.log(4 * count / fails) / (2 * close**2))
    draws = points_needed(needed, 1 / dense, fails / 2)
    whole = draws >= space.cells
    if not whole and draws > MOST_POINTS:
        raise DomainTooLarge(
            f"A sample for this accuracy would have {draws} points, more than {MOST_POINTS}; allow a larger accuracy=, "
            "name fewer columns in domain=, or write curator.synthesize(…).",
            method="synthesize",
        )
    seed = (noise or Noise()).uniform(1 << 62)
    return Support(dense, close, fails, min(draws, space.cells), seed, whole)


def points_needed(needed: int, chance: float, failure: float) -> int:
    """Return the least M with P[Bin(M, chance) < needed] <= failure.

    >>> points_needed(10, 1.0, 0.01), points_needed(10, 0.5, 0.01)
    (10, 33)
    """
    from scipy.special import bdtr

    if chance >= 1:
        return needed
    low, high = needed, 2 * needed
    while bdtr(needed - 1, high, chance) > failure:
        low, high = high, 2 * high
    return smallest_between(low - 1, high, lambda draws: bool(bdtr(needed - 1, draws, chance) <= failure))


def _columns(space: Space) -> list[tuple[str, int]]:
    return list(zip(space.names, space.sizes, strict=True))


def _drawn(noise: Noise, size: int, draws: int, weights: Sequence[int] | None) -> NDArray[np.int64]:
    """Draw codes of one column, evenly or by public whole-number weights."""
    if weights is None:
        return np.asarray(noise.uniform(size, draws), dtype=np.int64)
    listed = np.asarray(weights)
    if listed.shape != (size,) or listed.dtype.kind not in "iu" or (listed < 1).any():
        raise ParameterError(f"A public prior gives each of {size} codes a whole-number weight of at least 1.")
    ends = np.cumsum(listed.astype(np.int64))
    return np.searchsorted(ends, noise.uniform(int(ends[-1]), draws), side="right").astype(np.int64)
