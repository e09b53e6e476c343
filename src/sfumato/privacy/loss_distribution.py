"""Certified privacy-loss distributions: where the log-ratio of a fixed list of releases can lie, rounded up (AC-PLAN).

Losses lie on a grid j·step. The masses of the first law are integers, multiples of 2^-128, always rounded up, with one
more integer for the loss that is infinite. Lists are composed by exact products of integer polynomials. Each operation
only raises masses or losses, and delta(e) = infinite + sum of m_j (1 - e^{e - j·step})_+ grows with both, so what comes
out is an upper bound by construction; there is no floating-point Fourier transform whose error would have to be argued.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sfumato.errors import CertificationError
from sfumato.exact import INFINITY, Extended, rational_ball, significant_up, unit_up
from sfumato.exact.enclosure import Ball, precision
from sfumato.privacy.pairs import Pair, SampledGauss, Spread, Tails, TwoPoint

MASS_BITS = 128
ONE = 1 << MASS_BITS
WORKING_BITS = 176
"""Enclosures of single cells; what cancels in a cell is about its width, far less than the 48 bits to spare."""

MOST_CELLS = 1 << 17


class TooWide(Exception):
    """The grid is too fine for the losses that it has to hold; take a coarser one."""


@dataclass(frozen=True)
class LossDistribution:
    """Masses at the losses (low + i)·step, in units of 2^-128, and the mass of the infinite loss.

    >>> fair = spread(TwoPoint(Fraction(1)), Fraction(1))
    >>> float(fair.delta(Fraction(0))) == math.tanh(0.5)
    True
    """

    step: Fraction
    low: int
    masses: Any  # flint.fmpz_poly
    infinite: int

    @property
    def cells(self) -> int:
        """How many losses of the grid are held."""
        return int(self.masses.length())

    def finite(self) -> int:
        """Return the sum of the finite masses."""
        return int(self.masses(1))

    def compose(self, other: LossDistribution, cut: int) -> LossDistribution:
        """Return the distribution of both releases together; at most `cut` of mass is moved at either end."""
        here, there = self.finite(), other.finite()
        infinite = _up(self.infinite * (there + other.infinite) + here * other.infinite)
        product = [_up(int(mass)) for mass in (self.masses * other.masses).coeffs()]
        return trimmed(self.step, self.low + other.low, product, infinite, cut)

    def power(self, count: int, cut: int) -> LossDistribution:
        """Return the distribution of the release run `count` times."""
        result: LossDistribution | None = None
        square = self
        while True:
            if count & 1:
                result = square if result is None else result.compose(square, cut)
            count >>= 1
            if not count:
                assert result is not None
                return result
            square = square.compose(square, cut)

    def delta(self, epsilon: Fraction) -> Fraction:
        """Return an upper bound on delta at this epsilon, rounded up."""
        first = max(math.floor(epsilon / self.step) + 1, self.low)
        masses = self._from_top(first)
        sure = Fraction(self.infinite, ONE)
        if not masses:
            return min(sure, Fraction(1))
        above = self.infinite + sum(masses)

        def evaluate() -> Ball:
            shrink, relative = (-rational_ball(self.step)).exp(), rational_ball(0)
            for mass in masses:
                relative = relative * shrink + mass
            return (above - rational_ball(epsilon - first * self.step).exp() * relative) / ONE

        found = significant_up(evaluate)
        return Fraction(1) if found is None else min(max(found, sure), Fraction(1))

    def epsilon(self, delta: Fraction) -> Extended:
        """Return the smallest epsilon of at least 0 with delta(epsilon) <= delta that the masses prove, rounded up.

        Scans the grid from the top. Between two of its points delta(e) = above - e^e·weighed with fixed sums, so the
        first point at which delta is too large gives the answer in closed form.
        """
        allowed = math.floor(delta * ONE)
        if self.infinite > allowed:
            return INFINITY
        last = max(self.low, 0)
        with precision(WORKING_BITS):
            shrink = (-rational_ball(self.step)).exp()
            above, relative = self.infinite, rational_ball(0)
            place = self.low + self.cells
            for mass in self._from_top(last):
                place -= 1
                relative = relative * shrink  # the sum of m_i e^{-(i - place)·step} over the cells i above this one
                if not above - relative <= allowed:
                    return self._within_cell(place, above - allowed, relative)
                above, relative = above + mass, relative + mass
            if self.low <= 0 or above <= allowed:
                return Fraction(0)
            return self._within_cell(0, above - allowed, relative * (-rational_ball(self.low * self.step)).exp())

    def _within_cell(self, place: int, above: int, relative: Ball) -> Fraction:
        start = place * self.step
        found = unit_up(lambda: rational_ball(start) + (above / relative).log())
        assert found is not None
        return max(found, start)

    def _from_top(self, first: int) -> list[int]:
        """Return the masses of the cells from the highest down to `first`."""
        return [int(mass) for mass in self.masses.coeffs()[max(first - self.low, 0) :][::-1]]


def _up(number: int) -> int:
    return -(-number >> MASS_BITS)


def trimmed(step: Fraction, low: int, masses: list[int], infinite: int, cut: int) -> LossDistribution:
    """Cut both ends by at most `cut` each: the top becomes infinite, the bottom moves up to the lowest cell kept."""
    import flint

    top, moved = len(masses), 0
    while top > 1 and moved + masses[top - 1] <= cut:
        top -= 1
        moved += masses[top]
    bottom, raised = 0, 0
    while bottom < top - 1 and raised + masses[bottom] <= cut:
        raised += masses[bottom]
        bottom += 1
    if top - bottom > MOST_CELLS:
        raise TooWide
    kept = masses[bottom:top]
    kept[0] += raised
    return LossDistribution(step, low + bottom, flint.fmpz_poly(kept), infinite + moved)


def spread(pair: Pair, step: Fraction, cut: int = 0, *, reverse: bool = False) -> LossDistribution:
    """Return a pair on the grid: each loss is spread to the two grid points around it, at equal mean of e^loss.

    That raises every convex function of the ratio, so the grid dominates the pair. `reverse` swaps the two laws. About
    `cut` of mass beyond the last cell counts as infinite.
    """
    with precision(WORKING_BITS):
        upper, lower = _halves(pair, step, cut)
        if reverse and isinstance(pair, SampledGauss) and pair.one_sided:
            upper, lower = _swapped(lower, step, 1), _swapped(upper, step, -1)
        low = len(lower.cells) - 1
        masses = list(lower.cells[::-1]) + list(upper.cells[1:])
        masses[low] += upper.cells[0] + (1 - upper.first - lower.first).max(rational_ball(0))
        masses[0] += lower.first_out  # what lies beyond the lowest cell is raised to it
        return trimmed(step, -low, [_ceiling(mass) for mass in masses], _ceiling(upper.first_out), cut)


@dataclass(frozen=True)
class _Half:
    """The losses on one side of 0, spread to 0, step, 2·step, … away from it.

    `cells` are masses of the first law. `first` and `second` are the laws' masses on this side in all, `first_out` and
    `second_out` what of them lies beyond the last cell.
    """

    cells: Sequence[Ball]
    first: Ball
    second: Ball
    first_out: Ball
    second_out: Ball


@lru_cache(maxsize=32)
def _halves(pair: Pair, step: Fraction, cut: int) -> tuple[_Half, _Half]:
    """Return the positive and the negative losses of a pair; kept, because the other direction needs the same."""
    match pair:
        case TwoPoint():
            upper = _two_points(pair, step)
        case Spread():
            upper = _density(pair.above(), _cells(pair, step, cut), step)
        case _:
            raise TypeError(f"{type(pair).__name__} has no losses to spread.")
    if isinstance(pair, SampledGauss) and pair.one_sided:
        return upper, _falling(pair, step)
    return upper, _swapped(upper, step, -1)


def _swapped(half: _Half, step: Fraction, sign: int) -> _Half:
    """Return the same losses with the two laws exchanged: they change sign, and the ratio turns the masses over.

    `sign` is -1 for losses that were positive.
    """
    factor, ratio, cells = (sign * rational_ball(step)).exp(), rational_ball(1), []
    for mass in half.cells:
        cells.append(mass * ratio)
        ratio *= factor
    return _Half(cells, half.second, half.first, half.second_out, half.first_out)


def _cells(pair: Spread, step: Fraction, cut: int) -> int:
    """Return how many cells hold all but about `cut` of the first law's positive losses."""
    deviations = math.sqrt(2 * (MASS_BITS - max(cut, 1).bit_length() + 1) * math.log(2))
    count = math.ceil(pair.largest(deviations) / float(step)) + 1
    if count > MOST_CELLS:
        raise TooWide
    return max(count, 1)


def _shares(first: Ball, second: Ball, ratio: Ball, growth: Ball) -> tuple[Ball, Ball]:
    """Spread a cell's masses to its ends, whose ratios are `ratio` and `ratio·growth`; return the first law's."""
    lower = (second * ratio * growth - first) / (growth - 1)
    return lower, (first - second * ratio) * growth / (growth - 1)


def _density(tails: Tails, count: int, step: Fraction) -> _Half:
    growth, ratio = rational_ball(step).exp(), rational_ball(1)
    first, second = whole = tails(ratio)
    cells = [rational_ball(0)] * (count + 1)
    for place in range(count):
        first_next, second_next = tails(ratio * growth)
        lower, upper = _shares(first - first_next, second - second_next, ratio, growth)
        cells[place] += lower
        cells[place + 1] += upper
        first, second, ratio = first_next, second_next, ratio * growth
    return _Half(cells, *whole, first, second)


def _falling(pair: SampledGauss, step: Fraction) -> _Half:
    """Return the negative losses of a Poisson sample: the ratio never falls to 1 - q."""
    tails, floor = pair.below(), rational_ball(1 - pair.rate)
    growth, ratio = rational_ball(step).exp(), rational_ball(1)
    first, second = whole = tails(ratio)
    cells = [rational_ball(0)]
    while not first.is_zero():
        if len(cells) > MOST_CELLS:
            raise TooWide
        ratio /= growth
        if ratio > floor:
            first_next, second_next = tails(ratio)
        elif ratio <= floor:
            first_next = second_next = rational_ball(0)
        else:
            raise CertificationError("A loss of a sample cannot be placed on its grid; ask with another rate.")
        lower, upper = _shares(first - first_next, second - second_next, ratio, growth)
        cells[-1] += upper
        cells.append(lower)
        first, second = first_next, second_next
    return _Half(cells, *whole, first, second)


def _two_points(pair: TwoPoint, step: Fraction) -> _Half:
    place = math.floor(pair.epsilon / step)
    if place > MOST_CELLS:
        raise TooWide
    first = pair.first_mass()
    nothing = rational_ball(0)
    cells = [nothing] * place
    if pair.epsilon == place * step:
        cells.append(first)
    else:
        ratio = rational_ball(place * step).exp()
        cells += _shares(first, 1 - first, ratio, rational_ball(step).exp())
    return _Half(cells, first, 1 - first, nothing, nothing)


def _ceiling(mass: Ball) -> int:
    """Return the upper end of an enclosure in units of 2^-128, at least 0."""
    mantissa, exponent = (int(part) for part in mass.upper().man_exp())
    shift = exponent + MASS_BITS
    return max(0, mantissa << shift if shift >= 0 else -(-mantissa >> -shift))
