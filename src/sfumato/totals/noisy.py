"""One total with noise: how far it moves, the grid it is rounded to, the mechanism that a spend buys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from sfumato.ask.prepared import Exact
from sfumato.errors import UnsupportedSpend
from sfumato.mechanism import Mechanism
from sfumato.noise import Priced
from sfumato.perturb import AdditiveNoise, calibrate
from sfumato.privacy import Bound, Concentrated, Pure, Relation, Truncated
from sfumato.privacy.bounds import Approximate
from sfumato.privacy.calibrate import Gaussians
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.table.boxes import Box
from sfumato.table.gauge import Gauge
from sfumato.table.statistics import COUNT, Part

FINEST = 20
"""Noise is drawn on a grid of about 2^-20 of its own width: finer steps would show nothing but noise."""

WASTE = 128
"""Rounding may add this part of the sensitivity to it and no more, unless the noise would be too wide."""

WIDEST = 27
"""About 2^27 steps are as wide as noise gets; laws end at 10^9."""


@dataclass(frozen=True)
class Moves:
    """How far one total moves when a person changes, or one attribute of a person; `unit` is what one step is worth.

    Made from a gauge, which knows all of it. `public` is the total itself where everybody knows it.
    """

    person: Sensitivity
    attributes: Mapping[str, Sensitivity]
    unit: Fraction
    relation: Relation
    public: int | None = None
    gaussians: Gaussians = "wide"

    @classmethod
    def of(cls, gauge: Gauge, part: Part | Box = COUNT, step: Fraction = Fraction(1)) -> Moves:
        """Return how far a total moves, from public facts; everything that a reading would refuse is refused here."""
        person, public = gauge.sensitivity(part), gauge.public(part)
        if public is not None:
            return cls(person, {}, Fraction(1), gauge.relation, public)
        # An attribute that moves nothing is not charged; if none does, the person still is, who may come or have rows.
        singles = gauge.by_attribute(part)
        return cls(person, singles, step * gauge.unit, gauge.relation, gaussians=gauge.gaussians)

    @classmethod
    def of_mean(cls, gauge: Gauge, part: Part, factor: int, step: Fraction) -> Moves:
        """Return how far twice a sum around the middle and `factor` times its count move together."""
        found = {name: gauge.mean_sensitivity(part, factor, {name}) for name in sorted(gauge.attributes)}
        singles = {name: moves for name, moves in found.items() if moves.l1}
        person = gauge.mean_sensitivity(part, factor)
        return cls(person, singles, step * gauge.unit, gauge.relation, gaussians=gauge.gaussians)

    @property
    def free(self) -> bool:
        """Whether nobody moves the total, so that it costs nothing."""
        return self.public is not None or self.person.l1 == 0


@dataclass(frozen=True)
class Total:
    """One total that will be released with noise: its mechanism, the grid it is rounded to, its unit."""

    mechanism: Mechanism
    law: Priced | None
    grid: int
    unit: Fraction
    public: int | None = None

    def rounded(self, exact: Any) -> Any:
        """Round integers to the grid, upwards from the half; never half to even.

        >>> Total(Exact(), None, 4, Fraction(1)).rounded(6), Total(Exact(), None, 4, Fraction(1)).rounded(10)
        (2, 3)
        """
        if self.public is not None:
            return self.public
        if self.grid == 1:
            return exact
        half = self.grid // 2
        if isinstance(exact, np.ndarray):
            return (exact + half) // self.grid
        return (int(exact) + half) // self.grid


def noisy_total(spend: Bound, moves: Moves, draws: int = 1) -> Total:
    """Return the mechanism for one total: noise from the spend and the moves, a grid from both."""
    if moves.free:
        free = Exact(relation=moves.relation, reads=frozenset())
        return Total(free, None, 1, moves.unit, moves.public)
    mechanism, grid = noise_on_grid(spend, moves, draws)
    return Total(mechanism, mechanism.law, grid, moves.unit * grid)


def noise_on_grid(spend: Bound, moves: Moves, draws: int) -> tuple[AdditiveNoise, int]:
    """Return the noise for integers that move so far, and the grid to which they are rounded first."""
    singles = moves.attributes.values() if spend.unit == "attribute" else ()
    grid = _grid(spend, reduce(Sensitivity.cover, singles) if singles else moves.person)
    mechanism = calibrate(
        spend,
        moves.person.coarser(grid) if grid > 1 else moves.person,
        by_attribute={name: one.coarser(grid) if grid > 1 else one for name, one in moves.attributes.items()} or None,
        draws=draws,
        relation=moves.relation,
        reads=frozenset(moves.attributes),
        gaussians=moves.gaussians,
    )
    return mechanism.on_grid(grid), grid


def _grid(spend: Bound, moves: Sensitivity) -> int:
    """Return a power of two well below the width of any noise that the spend buys.

    Rounding moves every changed coordinate by up to one more step, so that the steps must also be small beside
    what a coordinate moves on average; but not so small that the noise is wider than what can be drawn.
    """
    amount = _amount(spend)
    invisible = min(float(moves.largest) / amount / 2**FINEST, float(moves.l1 / (WASTE * moves.changed)))
    step = max(invisible, float(moves.l1) / amount / 2**WIDEST)
    return 1 << max(0, math.floor(math.log2(step)))


def _amount(spend: Bound) -> float:
    """Return a number that noise is at least as wide as the inverse of: epsilon, or the root of 2·rho."""
    match spend:
        case Pure() | Approximate():
            amount = float(spend.epsilon)
        case Concentrated() | Truncated():
            amount = math.sqrt(2 * spend.rho)
        case _:
            raise AssertionError("There are four bounds.")
    if amount == 0:
        raise UnsupportedSpend(
            f"{spend!r} pays for nothing, and no noise is wide enough; write a spend above zero, such as Pure(0.1)."
        )
    return amount
