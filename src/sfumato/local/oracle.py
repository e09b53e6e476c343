"""The shape of a frequency oracle: a randomizer for one device, and a reader of the counts of all reports.

Every oracle here does the same thing. It draws a report uniformly. With the chance of noise it sends that one;
otherwise it moves it to the nearest way of saying its item: `place` maps a uniform report to a uniform member of
the set of reports that speak for the item. These sets have the same size for all items, so each report has one of
two chances, and their ratio is e^epsilon exactly. An item that does not fit sends the uniform report: one more
legal input at the same epsilon, which adds nothing to any estimate in expectation (C-NULL).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.privacy import Cost, Loss
from sfumato.privacy.coins import COIN, check_weight, loss_of, odds

Counts = NDArray[np.float64]
Tally = NDArray[np.int64]


class Reader(Protocol):
    """What the reports of one oracle say: unbiased estimates of how many devices hold an item."""

    @property
    def reports(self) -> int:
        """How many reports there are."""
        ...

    def counts(self, points: Any) -> Counts:
        """Return the unbiased estimate for each point; it may be below zero."""
        ...

    def errors(self, points: Any, counts: Counts) -> Counts:
        """Return the standard errors of these estimates, which count the noise of the reports."""
        ...


@dataclass(frozen=True)
class TallyReader:
    """An oracle with the counts of all its reports, to read them from."""

    oracle: Any
    tally: Tally

    @cached_property
    def reports(self) -> int:
        """How many reports there are."""
        return int(self.tally.sum())


@dataclass(frozen=True, kw_only=True)
class Randomizer(Mechanism):
    """What one device draws and what the counts of all reports say; reports are integers below `outcomes`.

    Promise: for all items x, x' and reports y, log P(y|x)/P(y|x') <= epsilon = log(1 + spread · (1-c)/c), where c is
    `weight` / 2^63, the chance of pure noise; the neighbouring relation replaces one device's whole item.
    """

    kind: ClassVar[str]
    """The word for it in a plan."""

    weight: int

    def __post_init__(self) -> None:
        check_weight(self.weight)

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """Reports are the integers below this."""

    @property
    @abstractmethod
    def spread(self) -> int:
        """How many of the sets of reports that speak for an item would cover all reports."""

    @abstractmethod
    def reader(self, tally: Tally) -> Reader:
        """Return what the tally says; `tally[y]` is how often report y came."""

    @abstractmethod
    def deviation(self, reports: float, count: float = 0) -> float:
        """Return the standard error of the estimate of an item that `count` of the devices hold."""

    @abstractmethod
    def shape(self) -> dict[str, int]:
        """Return the public sizes beside the weight, as they stand in a plan."""

    @cached_property
    def chance(self) -> Fraction:
        """The chance of pure noise, exactly."""
        return Fraction(self.weight, COIN)

    @property
    def signal(self) -> float:
        """The chance that a report speaks for its item on purpose."""
        return float(1 - self.chance)

    @property
    def odds(self) -> Fraction:
        """The exact e^epsilon."""
        return odds(self.weight, self.spread)

    def loss(self) -> Loss:
        """Return the realised epsilon, rounded up."""
        return Loss.flat(Cost.pure(loss_of(self.weight, self.spread)), self.reads, self.relation)

    @abstractmethod
    def run_many(self, points: Any, noise: Noise) -> Any:
        """Return the reports of many devices."""

    def tally(self, reports: Any) -> Tally:
        """Count reports; what is no report is left out."""
        found = np.asarray(reports, dtype=np.int64).ravel()
        return np.bincount(found[(found >= 0) & (found < self.outcomes)], minlength=self.outcomes).astype(np.int64)

    def to_json(self) -> dict[str, Any]:
        """Return the oracle for a plan; the weight is text, because not every language reads 63-bit numbers."""
        return {"kind": self.kind, **self.shape(), "weight": str(self.weight)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Read what `to_json` of this class wrote."""
        sizes = {name: value for name, value in record.items() if name not in ("kind", "weight")}
        return cls(weight=int(record["weight"]), **sizes)


@dataclass(frozen=True, kw_only=True)
class Oracle(Randomizer):
    """A randomizer that draws a uniform report, and moves it to one that speaks for its item or leaves it."""

    @abstractmethod
    def place(self, point: Any, drawn: int) -> int:
        """Return the report that speaks for the point, moved from a uniform one."""

    @abstractmethod
    def place_many(self, points: Any, drawn: Tally) -> Tally:
        """Do what `place` does, for many devices."""

    def run(self, exact: Any, noise: Noise) -> int:
        """Return the report of one device; `exact` is its point, or None."""
        return self.mix(exact, noise.uniform(self.outcomes), noise)

    def mix(self, point: Any, drawn: int, noise: Noise) -> int:
        """Return the uniform report `drawn`, or one that speaks for the point."""
        if noise.bernoulli(self.chance) or point is None:
            return drawn
        return self.place(point, drawn)

    def mix_many(self, points: Any, fits: NDArray[np.bool_], drawn: Tally, noise: Noise) -> Tally:
        """Do what `mix` does, for many devices at once; `points` are indexed by device."""
        speaks = np.flatnonzero((noise.uniform(COIN, len(drawn)) >= self.weight) & fits)
        drawn[speaks] = self.place_many(points(speaks) if callable(points) else points[speaks], drawn[speaks])
        return drawn

    def run_many(self, points: Any, noise: Noise) -> Tally:
        """Return the reports of many devices that all fit."""
        count = len(points)
        return self.mix_many(points, np.ones(count, dtype=np.bool_), noise.uniform(self.outcomes, count), noise)


def support_deviation(reports: float, count: float, *, own: float, inside: float) -> float:
    """Return the standard error of (supporting reports - reports·inside) / (own - inside).

    `own` is the chance that an item's report supports it, `inside` that the report of another one does. This is
    the variance of a sum of independent yes-or-no draws, divided by the squared slope.
    """
    variance = (reports - count) * inside * (1 - inside) + count * own * (1 - own)
    return math.sqrt(max(variance, 0.0)) / (own - inside)
