"""What a list of releases costs together if it is fixed before the data are touched: exactly, rounded up (AC-PLAN)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from typing import TYPE_CHECKING

from sfumato.exact import INFINITY, Extended, Infinity, rational_ball, significant_up
from sfumato.exact.enclosure import Ball
from sfumato.privacy.gauss import Added, Exactly, Gauss, OnSample, Randomized, Smallest
from sfumato.privacy.gaussian import gaussian_delta, gaussian_epsilon
from sfumato.privacy.loss_distribution import ONE, LossDistribution, TooWide, spread
from sfumato.privacy.pairs import GaussPair, Leak, Pair, Revealed, SampledGauss, Spread, TwoPoint

if TYPE_CHECKING:
    from sfumato.privacy.cost import Cost

PRECISION = 1000
"""The grid is chosen so that it raises the variance of the whole loss by about one part in so many."""

CELLS_OF_WIDTH = 250
CELLS_OF_PAIR = 6000
"""Short lists get so many cells for a standard deviation of their loss, unless one release needs more than these."""
FARTHEST = 12.0
"""Deviations out to which losses are held, about; only to choose a grid."""

CUT_BITS = 60
"""What is moved at the ends of a distribution is at most 2^-60 of delta in all."""

SMALLEST_DELTA = Fraction(1, 10**12)
"""Where no delta is given, ends are cut as for this one."""


@dataclass(frozen=True)
class FixedList:
    """The dominating pairs of releases that were fixed beforehand, each with how often it occurs.

    All Gaussian pairs are one with the sum of their squared distances. Order does not matter. What is said of the list
    holds for the list alone: sums of such lists, chosen after answers were seen, are no filter.

    >>> answers = FixedList.of([(100, TwoPoint(Fraction(1, 10)))])
    >>> round(float(answers.epsilon(Fraction(1, 10**6))), 6)
    4.774568
    """

    counts: tuple[tuple[Pair, int], ...]

    @classmethod
    def of(cls, parts: Iterable[tuple[int, Pair]]) -> FixedList:
        """Collect pairs with their multiplicities in a canonical form."""
        found: dict[Pair, int] = {}
        distance = Fraction(0)
        for count, pair in parts:
            if isinstance(pair, GaussPair) or (isinstance(pair, Spread) and pair.rate == 1):
                distance += count * pair.m
            elif count:
                found[pair] = found.get(pair, 0) + count
        if distance:
            found[GaussPair(distance)] = 1
        return cls(tuple(sorted(found.items(), key=repr)))

    def epsilon(self, delta: Fraction) -> Extended:
        """Return the smallest epsilon at this delta that the pairs prove, rounded up; the larger of both directions."""
        kept = self._left_of(delta)
        if kept is None:
            return INFINITY
        rest = self._finite()
        if not rest:
            return Fraction(0)
        alone = _gaussian(rest)
        if alone is not None:
            found = gaussian_epsilon(alone.m, kept) if kept else None
            return INFINITY if found is None else found
        return max(found.epsilon(kept) for found in self._distributions(kept))

    def delta(self, epsilon: Fraction) -> Fraction:
        """Return the smallest delta at this epsilon that the pairs prove, rounded up."""
        rest, leak = self._finite(), self._leak()
        if not rest:
            inner = Fraction(0)
        elif (alone := _gaussian(rest)) is not None:
            inner = gaussian_delta(alone.m, epsilon)
        else:
            inner = max(found.delta(epsilon) for found in self._distributions(SMALLEST_DELTA))
        return leak + (1 - leak) * inner

    def _finite(self) -> tuple[tuple[Pair, int], ...]:
        return tuple((pair, count) for pair, count in self.counts if not isinstance(pair, Leak))

    def _leak(self) -> Fraction:
        """Return 1 - prod(1 - d), rounded up: the chance that anything is revealed."""
        leaks = [(pair.delta, count) for pair, count in self.counts if isinstance(pair, Leak)]
        if not leaks:
            return Fraction(0)

        def evaluate() -> Ball:
            return -sum((count * rational_ball(-d).log1p() for d, count in leaks), rational_ball(0)).expm1()

        found = significant_up(evaluate)
        return Fraction(1) if found is None else min(found, Fraction(1))

    def _left_of(self, delta: Fraction) -> Fraction | None:
        """Return the delta that is left for the rest beside the leaks, None if nothing is."""
        leak = self._leak()
        return None if leak > delta or leak == 1 else (delta - leak) / (1 - leak)

    def _distributions(self, delta: Fraction) -> list[LossDistribution]:
        rest = FixedList(self._finite())
        directions = (False, True) if any(_one_sided(pair) for pair, _ in rest.counts) else (False,)
        return [_composed(rest, reverse, _level(delta))[0] for reverse in directions]


def _gaussian(rest: tuple[tuple[Pair, int], ...]) -> GaussPair | None:
    """Return the one Gaussian pair of a list that holds nothing else: its profile is known in closed form."""
    pair = rest[0][0]
    return pair if len(rest) == 1 and isinstance(pair, GaussPair) else None


def _one_sided(pair: Pair) -> bool:
    return isinstance(pair, SampledGauss) and pair.one_sided


def _level(delta: Fraction) -> int:
    """Return log2(1/delta) rounded up to a multiple of 16, so that the deltas which a limit tries share their work."""
    bits = delta.denominator.bit_length() - delta.numerator.bit_length() + 1 if delta else 96
    return 16 * -(-max(bits, 1) // 16)


def coarse(found: FixedList, delta: Fraction) -> bool:
    """Tell whether a list did not fit on its grid, so that what is said of it is safe but a little large."""
    kept, rest = found._left_of(delta), found._finite()
    if kept is None or not rest or _gaussian(rest) is not None:
        return False
    return _composed(FixedList(rest), False, _level(kept))[1] > 0


@lru_cache(maxsize=256)
def _composed(rest: FixedList, reverse: bool, level: int) -> tuple[LossDistribution, int]:
    """Compose the pairs of a list on the finest grid that fits; `level` is log2(1/delta)."""
    releases = sum(count for _, count in rest.counts)
    cut = (ONE >> (level + CUT_BITS)) // releases
    coarser = 0
    while True:
        step = chosen_step(rest.counts, coarser)
        try:
            parts = [spread(pair, step, cut, reverse=reverse).power(count, cut) for pair, count in rest.counts]
            return reduce(lambda left, right: left.compose(right, cut), parts), coarser
        except TooWide:
            coarser += 1


def chosen_step(counts: Iterable[tuple[Pair, int]], coarser: int = 0) -> Fraction:
    """Return the grid's step: sqrt(6 r V/n), V the variance of the whole loss and n the releases that are off the grid.

    Spreading adds about step²/6 to the variance of each. Short lists get a finer grid, which costs little. If the
    losses of all pure releases can lie on the grid they are exact, and the step is a whole part of theirs.
    """
    listed = list(counts)
    points = [pair.epsilon for pair, _ in listed if isinstance(pair, TwoPoint)]
    spread_out = sum(count for pair, count in listed if isinstance(pair, Spread))
    variance = sum(count * pair.variance() for pair, count in listed)

    longest = max((pair.largest(FARTHEST) for pair, _ in listed if isinstance(pair, Spread)), default=0.0)
    width = math.sqrt(max(variance, 1e-30))

    def wished(off_grid: int) -> float:
        cheap = max(width / CELLS_OF_WIDTH, longest / CELLS_OF_PAIR)
        return float(2 ** (coarser / 2) * min(width * math.sqrt(6 / (PRECISION * off_grid)), cheap))

    if points:
        common = reduce(_common, points)
        if not spread_out and not coarser:
            return common
        finest = wished(max(spread_out, 1))
        if spread_out and common > finest / 4:
            return common / math.ceil(common / Fraction(finest))
    everything = sum(count for _, count in listed)
    return _short(wished(everything))


def _short(number: float) -> Fraction:
    """Round down to three binary digits, so that lists of nearly the same length share a grid."""
    mantissa, exponent = math.frexp(number)
    return Fraction(math.floor(mantissa * 8), 8) * Fraction(2) ** exponent


def _common(first: Fraction, second: Fraction) -> Fraction:
    """Return the largest number of which both are multiples."""
    shared = math.lcm(first.denominator, second.denominator)
    return Fraction(math.gcd(int(first * shared), int(second * shared)), shared)


MOST_KINDS = 64
"""With more different pairs than this a list is not worth the time: its curve is used."""


def lists_of(cost: Cost) -> tuple[FixedList, ...]:
    """Return the lists of pairs that dominate what a cost was stated for; each is valid, so the best one counts.

    Empty if some part has no pair. A cost that was added up is the releases one after the other, each with its own.
    """
    if cost.leak:
        # One lost part for all entries: only randomized responses share it with their leak.
        if isinstance(cost.epsilon, Infinity):
            return ()
        found = _pure_pairs(cost.gauss) or [(1, TwoPoint(cost.epsilon))]
        return (FixedList.of([*found, (1, Leak(cost.leak))]),)
    options = _options(cost.gauss)
    if not options and isinstance(cost.epsilon, Fraction):
        options = [[(1, TwoPoint(cost.epsilon))]]
    lists = [FixedList.of(option) for option in options]
    return tuple(one for one in dict.fromkeys(lists) if len(one.counts) <= MOST_KINDS)


Parts = list[tuple[int, Pair]]


def _pure_pairs(gauss: Gauss) -> Parts:
    match gauss:
        case Randomized(epsilon=epsilon):
            return [(1, TwoPoint(epsilon))]
        case Added(parts=parts) if all(isinstance(part, Randomized) for _, part in parts):
            return [(count, TwoPoint(part.epsilon)) for count, part in parts if isinstance(part, Randomized)]
    return []


def _options(gauss: Gauss) -> list[Parts]:
    """Return the ways to dominate what a Gaussian coordinate describes, none if it is not known.

    Where several parts have several ways each, they are taken in step: all by the person's pair, or all told.
    """
    match gauss:
        case Exactly(amount=amount):
            return [[(1, GaussPair(amount))] if amount else []]
        case Randomized(epsilon=epsilon):
            return [[(1, TwoPoint(epsilon))]]
        case OnSample():
            kind = Revealed(gauss.amount, gauss.rate)
            return [[(1, kind if gauss.told else SampledGauss(gauss.amount, gauss.rate, gauss.relation))]]
        case Smallest(choices=choices):
            return [option for choice in choices for option in _options(choice)]
        case Added(parts=parts):
            ways = [(count, _options(part)) for count, part in parts]
            if not all(options for _, options in ways):
                return []
            return [
                [
                    (count * inner, pair)
                    for count, options in ways
                    for inner, pair in options[min(place, len(options) - 1)]
                ]
                for place in range(max(len(options) for _, options in ways))
            ]
    return []
