"""How many of a number of independent draws do something."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, runtime_checkable

from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one, exact, positive_integer, rational_ball
from sfumato.exact.enclosure import Ball, precision
from sfumato.exact.rational import show
from sfumato.noise.laws.base import Law, Peaked

FEW = 256
"""Up to here binomial coefficients are exact integers, beyond they come from the gamma function."""
SUMMED = 10**6
"""Up to this count tails are summed to find a window, beyond it a bound does."""


@runtime_checkable
class Chance(Protocol):
    """A probability that need not be rational."""

    def yes(self) -> Ball:
        """Enclose the probability."""

    def no(self) -> Ball:
        """Enclose one minus the probability, without cancellation."""


@dataclass(frozen=True)
class Rational:
    """A rational probability."""

    probability: Fraction

    def yes(self) -> Ball:
        """Enclose the probability."""
        return rational_ball(self.probability)

    def no(self) -> Ball:
        """Enclose one minus the probability."""
        return rational_ball(1 - self.probability)


@dataclass(frozen=True)
class Above:
    """The probability that a law gives more than a threshold."""

    law: Law
    threshold: int

    def yes(self) -> Ball:
        """Enclose the probability of more than the threshold."""
        return self.law.tail(self.threshold)

    def no(self) -> Ball:
        """Enclose the probability of at most the threshold."""
        return self.law.head(self.threshold + 1)


@dataclass(frozen=True)
class Top:
    """The probability that a law gives exactly `value`, given that it gives no more."""

    law: Law
    value: int

    def yes(self) -> Ball:
        """Enclose P[Y = value] / P[Y <= value]."""
        return self.law.mass(self.value) / self.law.head(self.value + 1)

    def no(self) -> Ball:
        """Enclose P[Y < value] / P[Y <= value]."""
        return self.law.head(self.value) / self.law.head(self.value + 1)


@dataclass(frozen=True)
class Binomial(Law, Peaked):
    """The number of successes among `count` independent trials, given that there are at least `least`.

    `probability` is a rational number or a `Chance` such as `Above(law, threshold)`; `count` may be of
    any size, and `least` is 0 or 1.

    >>> from sfumato.noise import DiscreteLaplace, Noise
    >>> noise = Noise(insecure_seed=1)
    >>> noise.draw(Binomial(100, Fraction(1, 2)))
    42
    >>> noise.draw(Binomial(2**256, Above(DiscreteLaplace(1), 175)))
    3
    """

    count: int
    probability: Fraction | Chance
    least: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", positive_integer(self.count, "count"))
        if self.least not in (0, 1):
            raise ParameterError(f"least must be 0 or 1, and {self.least!r} is neither.")
        if not isinstance(self.probability, Chance):
            number = _probability(self.probability)
            if number == 0 and self.least:
                raise ParameterError("probability must be above 0 where at least one success is given.")
            object.__setattr__(self, "probability", number)

    def mass(self, j: int) -> Ball:
        """Enclose the probability of exactly `j` successes."""
        if not self.least <= j <= self.count:
            return rational_ball(0)
        with _wider(self.count):
            chance = self._chance()
            given = 1 - _power(chance.no(), self.count) if self.least else rational_ball(1)
            ways = _ways(self.count, j)
            return ways * _power(chance.yes(), j) * _power(chance.no(), self.count - j) / given

    def tail(self, j: int) -> Ball:
        """Enclose the probability of more than `j`; the time grows with the standard deviation."""
        if j < self.least:
            return rational_ball(1)
        if j < self.peak():
            return 1 - self._sum_outward(j, -1)
        return self._sum_outward(j + 1, 1)

    def window(self, tail: Number) -> range:
        """Return a range of values outside which at most the probability `tail` lies."""
        if self.count <= SUMMED:
            return super().window(tail)
        share = between_zero_and_one(tail, "tail")
        with precision(64 + 2 * self.count.bit_length()):
            chance = self._chance()
            mean = self.count * chance.yes()
            given = 1 - _power(chance.no(), self.count) if self.least else rational_ball(1)
            # Bernstein: P[|K - mean| >= t] <= 2 exp(-t² / (2 variance + 2t/3)).
            rate = (2 / (given * rational_ball(share))).log()
            radius = rate / 3 + (rate**2 / 9 + 2 * mean * chance.no() * rate).sqrt()
            first = int((mean - radius).lower().floor().unique_fmpz())
            last = int((mean + radius).upper().ceil().unique_fmpz())
        return range(max(first, self.least), min(last, self.count) + 1)

    def peak(self) -> int:
        """Return a value at most one away from the most likely one."""
        with precision(64 + 2 * self.count.bit_length()):
            middle = ((self.count + 1) * self._chance().yes()).mid().floor().unique_fmpz()
        return min(max(int(middle), self.least), self.count)

    def halving(self, start: int, direction: int) -> int:
        """Return a distance over which the masses from `start` on, up (1) or down (-1), surely halve."""
        distance = 1
        with _wider(self.count):
            while not self._ratio(start, start + direction * distance) <= rational_ball(1) / 2:
                distance *= 2
        return distance

    def _ratio(self, near: int, far: int) -> Ball:
        """Enclose mass(far) / mass(near); formed this way it stays sharp where both are next to nothing."""
        if not self.least <= far <= self.count:
            return rational_ball(0)
        chance = self._chance()
        odds = chance.yes() / chance.no() if far > near else chance.no() / chance.yes()
        return _ways(self.count, far) / _ways(self.count, near) * _power(odds, abs(far - near))

    def _sum_outward(self, start: int, step: int) -> Ball:
        """Enclose the sum of the masses from `start` on, away from the peak."""
        import flint

        term = first = self.mass(start)
        total = rational_ball(0)
        smallest = first * flint.arb(2) ** (-flint.ctx.prec)
        while True:
            total += term
            start += step
            after = self.mass(start)
            if after == 0:
                return total
            # Log-concave: ratios fall on the way out, so what is left is below a geometric series.
            ratio = after / term
            if ratio < 1 and after < smallest:
                rest = (after / (1 - ratio)).upper()
                return total + flint.arb(rest / 2, rest / 2)
            term = after

    def _chance(self) -> Chance:
        return self.probability if isinstance(self.probability, Chance) else Rational(self.probability)


def _probability(value: Number) -> Fraction:
    number = exact(value, "probability")
    if not 0 <= number <= 1:
        raise ParameterError(f"probability must lie between 0 and 1, and {show(number)} does not.")
    return number


def _wider(count: int) -> AbstractContextManager[None]:
    """Return a context with the precision that powers and factorials of size `count` use up."""
    import flint

    return precision(flint.ctx.prec + 2 * count.bit_length() + 32)


def _power(base: Ball, exponent: int) -> Ball:
    """Enclose base^exponent, with 0^0 = 1; a base that may be zero gives a ball that may be too."""
    if exponent == 0:
        return rational_ball(1)
    if base > 0:
        return (exponent * base.log()).exp()
    return base


def _ways(count: int, chosen: int) -> Ball:
    """Enclose the number of ways to choose."""
    import flint

    if min(chosen, count - chosen) <= FEW:
        return flint.arb(math.comb(count, chosen))
    whole, inside, outside = (flint.arb(part + 1).lgamma() for part in (count, chosen, count - chosen))
    return (whole - inside - outside).exp()
