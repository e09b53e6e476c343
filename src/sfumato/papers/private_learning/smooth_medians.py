"""A median with noise as wide as the data around it are: little where many people are close together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.exact import INFINITY, positive_integer
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.noise.laws import PrivateNormal
from sfumato.papers.enough_people import say_of_few
from sfumato.privacy import REPLACE_ONE, Bound, Cost, Loss, Truncated
from sfumato.privacy.smooth import SmoothCurve
from sfumato.questions.distribution.codes import Coded
from sfumato.select.fit import positive_spend, settle

DECAY_PARTS = 1024
"""Decays are whole parts of this, so that powers of them are exact."""
HALVINGS = 8
NARROWEST = 1
"""The noise is never narrower than for a sensitivity of one code."""


@dataclass(frozen=True, kw_only=True)
class SmoothMedian(Mechanism):
    """The median of whole numbers plus rounded normal noise of standard deviation g·s, moved into the range.

    g = max over k of decay^k·A(k), at least 1, where A(k) is how far the median can move when k + 1 people change:
    max over t of x[m + t] - x[m + t - k - 1], the range's ends beyond the data. g is at least the local sensitivity,
    and decay·g(x) <= g(x') for neighbours. Exact fractions throughout, and rounded to whole codes, a public grid.

    Promise, for replace-one neighbours: the curve `SmoothCurve(variance, decay)`, s² = variance (TCDP-SMOOTH). The
    number of people is public, one row each. The width of the noise is private: it is not released, and no table of it
    is kept. Input: the codes that occur, sorted, and their counts. Output: a code.
    Time O(log n + (log(size)/(1 - decay))²).
    """

    spec: ClassVar[str] = "TCDP-SMOOTH"

    first: int
    last: int
    people: int
    variance: Fraction
    decay: Fraction

    def __post_init__(self) -> None:
        if self.relation is not REPLACE_ONE:
            raise ParameterError("A median of so many people speaks of people who are replaced; leave relation= out.")
        if not 0 < self.decay < 1 or self.variance <= 0:
            raise ParameterError("decay lies between 0 and 1, and variance above 0; use smooth_median.")

    def loss(self) -> Loss:
        """Return the curve; it has no epsilon."""
        return Loss.flat(Cost(INFINITY, SmoothCurve(self.variance, self.decay)), self.reads, self.relation)

    def run(self, exact: tuple[NDArray[Any], NDArray[Any]], noise: Noise) -> int:
        """Add noise for the local sensitivity, smoothed."""
        around = self.neighbourhood(Coded.of(*exact))
        width = self.width(around)
        drawn = noise.draw(PrivateNormal(self.variance * width**2))
        return min(max(around[len(around) // 2] + drawn, self.first), self.last)

    @property
    def people_needed(self) -> int:
        """From how many people on the noise follows the people around the median alone, whatever the range.

        The ends of the range are seen when half of the people change, which then weighs less than the narrowest width.
        """
        return 2 * math.ceil(math.log(max(self.last - self.first, 1)) / -math.log(self.decay)) + 1

    @property
    def narrowest(self) -> float:
        """The smallest deviation of the noise, whatever the data: half of the range, seen when half of them change."""
        floor = float(self.decay) ** (self.people // 2) * (self.last - self.first) / 2
        return math.sqrt(self.variance) * max(float(NARROWEST), floor)

    @property
    def reach(self) -> int:
        """How many changed people matter: beyond them decay^k times the whole range is below the narrowest width."""
        wanted = math.log(max(self.last - self.first, 1)) / -math.log(self.decay)
        return min(self.people, math.ceil(wanted) + 1)

    def neighbourhood(self, coded: Coded) -> list[int]:
        """Return the values around the median in order, the median in the middle; beyond the data the range's ends."""
        middle, reach = (self.people - 1) // 2, self.reach + 1
        ranks = np.arange(middle - reach, middle + reach + 1)
        places = np.searchsorted(coded.up_to[1:], ranks, side="right").tolist()
        known = len(coded.codes)
        inside = [int(coded.codes[place]) if place < known else self.last for place in places]
        return [self.first if rank < 0 else value for rank, value in zip(ranks.tolist(), inside, strict=True)]

    def width(self, around: list[int]) -> Fraction:
        """Return g, exactly."""
        values, middle = np.array(around, dtype=object), len(around) // 2
        best, weight = Fraction(NARROWEST), Fraction(1)
        for changed in range(self.reach + 1):
            steps = values[middle : middle + changed + 2] - values[middle - changed - 1 : middle + 1]
            best = max(best, weight * int(steps.max()))
            weight *= self.decay
        return best


def smooth_median(spend: Bound, first: int, last: int, *, people: int) -> SmoothMedian:
    """Return the smoothed median for a Truncated spend, over whole numbers from first to last.

    It is private for any number of people; below `SmoothMedian.people_needed` it warns, from these numbers alone, how
    wide the noise is at least.

    >>> median = smooth_median(Truncated("0.1", 4), 0, 2**40, people=1001)
    >>> values = np.arange(1001) + 2**39
    >>> bool(abs(median((values, np.ones(1001, dtype=np.int64)), Noise(insecure_seed=1)) - values[500]) < 500)
    True
    """
    bound = positive_spend(spend, "smooth_median")
    if not isinstance(bound, Truncated):
        raise UnsupportedSpend(
            f"Noise that follows the data holds up to a finite Rényi order only, and {bound!r} asks for all of them; "
            "write Truncated(rho, omega), or ask for Quantiles."
        )
    if first >= last:
        raise ParameterError("first lies below last; write the smallest and the largest value that there may be.")
    highest = -math.log1p(-1 / float(bound.omega)) / 2
    fall = min(math.sqrt(bound.rho) / 2, 0.9 * highest)
    decay, variance = _least(bound, fall)
    median = SmoothMedian(
        first=first,
        last=last,
        people=positive_integer(people, "people"),
        variance=variance,
        decay=decay,
    )
    say_of_few(
        "Noise that follows the people around the median alone, whatever the range,",
        median.people_needed,
        median.people,
        "Write a narrower range, spend more, or ask for Quantiles, which needs far fewer people.",
        f"its deviation is at least {median.narrowest:.2g} beside a range of {last - first:,}, whatever the data",
    )
    return settle(median, bound)


def _least(bound: Truncated, fall: float) -> tuple[Fraction, Fraction]:
    """Return a decay of about e^-fall, or nearer to 1 where that fits no noise, and the least s² for it, rounded up.

    tau(a)/a rises, so that tau(omega) = rho·omega decides.
    """
    omega = bound.omega
    for halvings in range(HALVINGS):
        parts = math.ceil(math.exp(-fall / 2**halvings) * DECAY_PARTS)
        decay = Fraction(min(parts, DECAY_PARTS - 1), DECAY_PARTS)
        left = omega - (omega - 1) / decay**2
        if left > 0:
            room = float(bound.rho * omega) + math.log(left) / (2 * float(omega - 1)) - math.log(decay)
            if room > 0:
                return decay, Fraction(math.ceil(float(omega / (2 * left)) / room * (1 + 1e-9) * 2**20), 2**20)
    raise UnsupportedSpend(
        f"{bound!r} holds up to too high an order for noise that follows the data; write a smaller omega, or ask for "
        "Quantiles."
    )
