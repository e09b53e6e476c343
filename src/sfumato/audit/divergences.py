"""Certified divergences of two finite laws.

**From below.** The remainders of both laws may sit anywhere, so a divergence is proved only if it is there
wherever they sit. All worst cases are one: pour the remainder of the second law over the outcomes where the
first is relatively largest, until their ratio has sunk to a common level t, and the remainder of the first law
over the outcomes where it is relatively smallest, until their ratio has risen to a common level s. (By
convexity of p^a q^(1-a) in (p, q), whose tangents at the levels t and s bound every other way; the pair is
Huber's least favourable one.) Every divergence of the pair so filled is a lower bound, at every order; log t
is the one of the max divergence, and is found exactly as the largest P(E) / (Q(E) + remainder) over events E.

**From above.** With listed outcomes only (both laws complete) each mass is at most its lower bound plus the
remainder, which is rounding. Otherwise the max and Rényi divergences have no finite upper bound.

Masses, levels and hockey sticks are computed with exact integers. Rényi divergences are sums in floating
point, of terms p·(e^((a-1)L) - 1) so that nothing cancels near order 1; every rounding is bounded explicitly
and the bound is taken off (or added). The mathematical library is trusted to 4 units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.branching import ONE, SCALE
from sfumato.audit.laws import FiniteLaw
from sfumato.errors import ParameterError
from sfumato.exact import Number, at_least_zero, exact, rational_ball
from sfumato.exact.enclosure import enclose_up

Array = NDArray[np.float64]
Parts = tuple[Array, NDArray[np.int64]]
"""Mantissas and binary exponents of long integers."""

_SLACK = 2.0**-46
"""Bounds the relative rounding of the longest chain of operations below, with a factor of 2 to spare."""
_STEEP = 30.0
"""Above this exponent terms are summed as logarithms: they would overflow, and nothing cancels any more."""
_FACTOR_BITS = 512
_FAR_BELOW = 2.0**-20
"""By how much, and relative to it, a log-ratio lies below an epsilon that it cannot reach, whatever was rounded."""
_LARGE_BITS, _CUT_BITS = 960, 192


class Interval(NamedTuple):
    """Proved bounds on a number; `upper` is infinite where nothing better is proved."""

    lower: float
    upper: float


def max_divergence(first: FiniteLaw, second: FiniteLaw) -> Interval:
    """Return proved bounds on the largest log-ratio of the two laws.

    >>> fair, biased = FiniteLaw.of({0: "1/2", 1: "1/2"}), FiniteLaw.of({0: "3/4", 1: "1/4"})
    >>> max_divergence(fair, biased).lower <= math.log(2) <= max_divergence(fair, biased).upper
    True
    """
    return Comparison(first, second).max_divergence()


def renyi(first: FiniteLaw, second: FiniteLaw, order: Number) -> Interval:
    """Return proved bounds on the Rényi divergence of an order above 1 (TCDP:D-RENYI).

    >>> fair, biased = FiniteLaw.of({0: "1/2", 1: "1/2"}), FiniteLaw.of({0: "3/4", 1: "1/4"})
    >>> bounds = renyi(fair, biased, 2)
    >>> bounds.lower <= math.log(4 / 3) <= bounds.upper <= bounds.lower + 1e-12
    True
    """
    return Comparison(first, second).renyi([order])[0]


def hockey_stick(first: FiniteLaw, second: FiniteLaw, epsilon: Number) -> Interval:
    """Return proved bounds on the smallest delta at which the first law is within e^epsilon of the second.

    >>> fair, biased = FiniteLaw.of({0: "1/2", 1: "1/2"}), FiniteLaw.of({0: "3/4", 1: "1/4"})
    >>> hockey_stick(fair, biased, 0)
    Interval(lower=0.25, upper=0.25)
    """
    return Comparison(first, second).hockey_stick(epsilon)


class Comparison:
    """The first law against the second, ready to be measured at many orders."""

    def __init__(self, first: FiniteLaw, second: FiniteLaw) -> None:
        self.outcomes: list[Hashable] = list(dict.fromkeys([*first.units, *second.units]))
        self._p = [first.units.get(outcome, 0) for outcome in self.outcomes]
        self._q = [second.units.get(outcome, 0) for outcome in self.outcomes]
        self._rest_p = first.left_out
        self._rest_q = second.left_out
        self._complete = first.complete and second.complete
        # Masses are long integers: each is turned into floats once.
        self._parts_p, self._parts_q = _split(self._p), _split(self._q)
        self._ratio = _log_quotients(self._parts_p, self._parts_q)
        self._falling = np.argsort(-self._ratio, kind="stable")
        self._top, self._top_count = self._highest_level()
        self._below: _Sum | None = None
        self._above: _Sum | None = None

    def max_divergence(self) -> Interval:
        """Return proved bounds on the largest log-ratio."""
        upper = math.inf
        if self._complete:
            upper = _up(float(np.max(_log_ratios([p + self._rest_p if p else 0 for p in self._p], self._q))))
        return Interval(max(0.0, self._top), max(0.0, upper))

    def renyi(self, orders: Sequence[Number]) -> list[Interval]:
        """Return proved bounds on the Rényi divergences of these orders, each above 1."""
        return [self._renyi(_checked(order)) for order in orders]

    def hockey_stick(self, epsilon: Number) -> Interval:
        """Return proved bounds on delta at this epsilon; exact integers, rounded once."""
        value = at_least_zero(epsilon, "epsilon")
        dear, cheap = _factor(value)
        lower = upper = 0
        # What is surely below the factor adds nothing to either sum: logarithms here are right to far more than that.
        for place in np.flatnonzero(self._ratio > float(value) - _FAR_BELOW * (1 + float(value))).tolist():
            q = self._q[place]
            excess = (self._p[place] << _FACTOR_BITS) - dear * q
            lower += max(0, excess)
            upper += max(0, excess + (dear - cheap) * q)
        whole = ONE << _FACTOR_BITS
        least = Fraction(max(0, lower - dear * self._rest_q), whole)
        most = min(Fraction(1), Fraction(upper + (self._rest_p << _FACTOR_BITS), whole))
        return Interval(_float_down(least), _float_up(most))

    def witness(self, epsilon: float) -> list[Hashable]:
        """Return outcomes whose log-ratio is proved to be above epsilon, the heaviest first.

        If no single one is, the event of the largest proved ratio is returned instead.
        """
        proved = _log_ratios(self._p, [mass + self._rest_q for mass in self._q])
        telling = np.flatnonzero(proved > epsilon).tolist() or self._falling[: self._top_count].tolist()
        return [self.outcomes[place] for place in sorted(telling, key=lambda place: -self._p[place])]

    def _renyi(self, order: Fraction) -> Interval:
        if self._below is None:
            self._below, self._above = self._filled(), self._listed()
        # The divergence grows with its order, so an order that is no float is rounded to the safe side.
        upper = math.inf if self._above is None else self._above.divergence(_float_up(order), 1)
        return Interval(self._below.divergence(_float_down(order), -1), upper)

    def _highest_level(self) -> tuple[float, int]:
        """Return the level log t from below, and how many of the most telling outcomes reach it."""
        p = list(accumulate(self._p[place] for place in self._falling))
        q = [mass + self._rest_q for mass in accumulate(self._q[place] for place in self._falling)]
        levels = _log_ratios(p, q)
        best = int(np.argmax(levels))
        return _down(float(levels[best])), best + 1

    def _lowest_level(self) -> tuple[float, float]:
        """Return the level log s from below, and how much of the mass 1 its rounding may lose."""
        rising = self._falling[::-1]
        p = [mass + self._rest_p for mass in accumulate(self._p[place] for place in rising)]
        q = list(accumulate(self._q[place] for place in rising))
        levels = _log_ratios(p, q)
        best = int(np.argmin(levels))
        level = float(levels[best])
        lowered = _down(level)
        lost = 0.0 if math.isinf(level) else 2 * (level - lowered) * _float_up(Fraction(p[best], ONE))
        return lowered, lost

    def _filled(self) -> _Sum:
        """Return the pair in which both remainders sit where they hide most."""
        if self._top <= 0:
            return _Sum(np.zeros(1), np.zeros(1), np.zeros(1), 0.0)
        low, lost = self._lowest_level()
        level = np.clip(self._ratio, low, self._top)
        mass = _shifted(self._parts_p)
        raised = self._ratio < low
        mass[raised] = np.exp(low) * _shifted(self._parts_q)[raised]
        return _Sum(mass, _log_quotients(self._parts_p, _ONE_PARTS), level, -lost)

    def _listed(self) -> _Sum | None:
        """Return the pair with every mass of the first law at its upper bound."""
        if not self._complete:
            return None
        upper = [p + self._rest_p if p else 0 for p in self._p]
        excess = _float_up(Fraction(max(0, sum(upper) - ONE), ONE))
        ones = [ONE] * len(upper)
        return _Sum(_masses(upper), _log_ratios(upper, ones), _log_ratios(upper, self._q), excess)


class _Sum:
    """Masses and log-ratios of one pair, whose Rényi divergences are summed with a bound on all rounding."""

    def __init__(self, mass: Array, log_mass: Array, level: Array, beyond_one: float) -> None:
        heavy = log_mass > -math.inf
        self._mass = mass
        self._level = np.where(heavy | (mass > 0), level, 0.0)
        self._log_mass = log_mass[heavy]
        self._heavy_level = level[heavy]
        self._beyond_one = beyond_one
        self._steepest = float(np.max(self._level, initial=0.0))

    def divergence(self, order: float, side: int) -> float:
        """Return the divergence rounded down (side -1) or up (side 1)."""
        slope = order - 1
        if slope == 0:
            return 0.0
        if math.isinf(self._steepest):
            return math.inf
        if slope * self._steepest > _STEEP:
            logarithm = self._logarithm(slope, side)
        else:
            total = max(-1.0, self._excess(slope, side))
            logarithm = math.log1p(total) if total > -1 else -math.inf
        value = logarithm / slope
        return max(0.0, value + side * 8 * _SLACK * abs(value)) if math.isfinite(value) else 0.0

    def _excess(self, slope: float, side: int) -> float:
        """Return the sum of mass·ratio^slope less 1, with all rounding on the safe side."""
        exponent = slope * self._level
        grown = np.expm1(exponent)
        size = np.abs(grown)
        rounding = float(np.sum(self._mass * (size + (grown + 1) * (np.abs(exponent) + slope))))
        total = float(np.sum(self._mass * grown)) + self._beyond_one
        return total + side * (_SLACK * (rounding + abs(self._beyond_one)) + 1e-300)

    def _logarithm(self, slope: float, side: int) -> float:
        """Return the logarithm of the sum of mass·ratio^slope; small terms may be left out from below."""
        terms = self._log_mass + slope * self._heavy_level
        top = float(np.max(terms))
        near = terms > top - 60
        size = np.abs(self._log_mass[near]) + slope * (np.abs(self._heavy_level[near]) + 1) + 1
        rest = 0.0 if side < 0 else len(terms) * math.exp(-60)
        total = math.log(float(np.sum(np.exp(terms[near] - top))) + rest)
        return top + total + side * _SLACK * (float(np.max(size)) + abs(top))


def _checked(order: Number) -> Fraction:
    value = exact(order, "order")
    if value <= 1:
        raise ParameterError(f"A Rényi order must be above 1, and {value} is not; write for example 2.")
    return value


def _split(units: Sequence[int]) -> Parts:
    """Return mantissas and binary exponents of exact integers, which may be too large for a float."""
    large = [mass >> _LARGE_BITS > 0 for mass in units]
    floats = [float(mass >> _CUT_BITS if cut else mass) for mass, cut in zip(units, large, strict=True)]
    mantissas, exponents = np.frexp(np.array(floats, dtype=np.float64))
    return mantissas, exponents.astype(np.int64) + _CUT_BITS * np.array(large, dtype=np.int64)


def _log_ratios(over: Sequence[int], under: Sequence[int]) -> Array:
    """Return log(over/under), off by at most 2^-50·(1 + its size); 0/0 counts as no evidence."""
    return _log_quotients(_split(over), _split(under))


def _log_quotients(over: Parts, under: Parts) -> Array:
    (p, p_exponent), (q, q_exponent) = over, under
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(p / q) + (p_exponent - q_exponent) * math.log(2)
    return np.where((p == 0) & (q == 0), 0.0, logs)


def _masses(units: Sequence[int]) -> Array:
    return _shifted(_split(units))


def _shifted(parts: Parts) -> Array:
    """Return masses as floats."""
    mantissas, exponents = parts
    return np.ldexp(mantissas, exponents - SCALE)


_ONE_PARTS = _split([ONE])


def _factor(epsilon: Fraction) -> tuple[int, int]:
    """Return e^epsilon in units of 2^-512, from above and from below."""
    bound = enclose_up(lambda: rational_ball(epsilon).exp(), _FACTOR_BITS)
    assert bound is not None
    dear = int(bound * (1 << _FACTOR_BITS))
    return dear, dear if epsilon == 0 else dear - 1


def _down(logarithm: float) -> float:
    return logarithm - 2.0**-50 * (1 + abs(logarithm)) if math.isfinite(logarithm) else logarithm


def _up(logarithm: float) -> float:
    return -_down(-logarithm)


def _float_down(value: Fraction) -> float:
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def _float_up(value: Fraction) -> float:
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)
