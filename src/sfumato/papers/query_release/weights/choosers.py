"""How a round chooses: one candidate, a set of candidates without a common attribute, or one in each part."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.exact import rational_ball
from sfumato.exact.enclosure import precision
from sfumato.noise import Noise
from sfumato.papers.query_release.weights.candidates import Integers
from sfumato.papers.query_release.weights.meter import GRID
from sfumato.privacy import Cost

SPARE = 30
"""The exponents of weights are lowered by 2^-30 of themselves, which pays for the rounding of the weights."""

MOST_STATES = 2**20
"""Exact sets without a common attribute are drawn while so many partial sums can be kept."""


@lru_cache(maxsize=4096)
def range_cost(epsilon: Fraction) -> Cost:
    """Return the cost of a choice whose log-ratios lie in a window of width epsilon."""
    return Cost.range_bounded(epsilon)


@dataclass(frozen=True)
class OneOfAll:
    """One candidate with probability proportional to exp(rate · score), score in units of a person (QR-EM).

    Promise: log-ratios in a window of width 2·rate·move, where `move` bounds how far a score moves. The thesis prints
    twice the rate for the same claim (QR:D1, D2). `unit` is how many parts of a person a score counts.
    """

    rate: Fraction
    move: Fraction
    unit: int = GRID

    def cost(self) -> Cost:
        """Return the bounded-range cost."""
        return range_cost(2 * self.rate * self.move)

    def draw(self, scores: Integers, noise: Noise, allowed: Integers | None) -> tuple[int, ...]:
        """Draw exactly, by integer scores."""
        if allowed is None:
            return (noise.choose(scores, self.rate / self.unit),)
        return (int(allowed[noise.choose(scores[allowed], self.rate / self.unit)]),)


@dataclass(frozen=True)
class ByAttribute:
    """Candidates with a rate and a set of attributes each; those of rate 0 and of no attribute are never chosen."""

    rates: tuple[Fraction, ...]
    masks: tuple[int, ...]
    count: int
    unit: int = GRID

    @cached_property
    def members(self) -> dict[int, list[int]]:
        """For each set of attributes the candidates that see exactly these."""
        found: dict[int, list[int]] = {}
        for place, (mask, rate) in enumerate(zip(self.masks, self.rates, strict=True)):
            if mask and rate > 0:
                found.setdefault(mask, []).append(place)
        return found

    @cached_property
    def every(self) -> int:
        """All attributes that some candidate sees."""
        found = 0
        for mask in self.members:
            found |= mask
        return found

    def by_attribute(self) -> list[Fraction]:
        """Return for each attribute the largest rate of a candidate that sees it, largest first."""
        best: dict[int, Fraction] = {}
        for mask, places in self.members.items():
            rate = max(self.rates[place] for place in places)
            for bit in _bits(mask):
                best[bit] = max(best.get(bit, Fraction(0)), rate)
        return sorted(best.values(), reverse=True)


@dataclass(frozen=True)
class Disjoint(ByAttribute):
    """A set of `count` candidates no two of which see the same attribute, drawn as one (PDP-MWEM, exact selection).

    P(set) is proportional to exp(Σ rate_q · score_q). Change c attributes of one person: at most min(c, count) scores
    of any set move, each by a person, so log-ratios lie in a window of width 2·Σ of the largest rates. Weights are
    the integers floor(2^bits · exp(…)): a relative error below 2^-bits a weight, paid for by rates that are lower by
    2^-30 of themselves (PDP:C-12). Sums over subsets of attributes are exact integers, so nothing else is rounded,
    and no set of positive weight is left out. Drawing greedily, one after the other, would change the law and cost
    `count` times more.
    """

    @cached_property
    def bits(self) -> int:
        """Bits of a weight after the point: 4·count·2^-bits is below 2^-30 of the smallest rate."""
        positive = [rate for rate in self.rates if rate > 0]
        return SPARE + 4 + self.count.bit_length() + max(0, int(1 / min(positive)).bit_length())

    def cost(self) -> Cost:
        """Return the cost for a whole person: the attribute with the largest rate in each of `count` candidates."""
        return range_cost(2 * top_sum(self.by_attribute(), self.count))

    def draw(self, scores: Integers, noise: Noise, allowed: Integers | None) -> tuple[int, ...]:
        """Sum the weights of all sets by attributes, then draw block by block, then inside each block."""
        weights = self._weights(scores.tolist())
        open_ = None if allowed is None else set(allowed.tolist())
        blocks = {
            mask: [place for place in places if open_ is None or place in open_]
            for mask, places in self.members.items()
        }
        sums = _Sums({mask: sum(weights[place] for place in places) for mask, places in blocks.items() if places})
        # What the model can still take in may leave fewer: a public fact, because weights are never zero.
        count = next(number for number in range(self.count, -1, -1) if sums.total(number, self.every) > 0)
        chosen = []
        for mask in sums.draw(count, self.every, noise):
            inside = blocks[mask]
            lengths = [weights[place] for place in inside]
            chosen.append(inside[noise.choose([0] * len(inside), 1, lengths)])
        return tuple(chosen)

    def possible(self) -> bool:
        """Tell whether there is a set of so many candidates at all: a public fact."""
        return _Sums(dict.fromkeys(self.members, 1)).total(self.count, self.every) > 0

    def _weights(self, scores: list[int]) -> list[int]:
        lowered = 1 - Fraction(1, 1 << SPARE)
        known: dict[tuple[Fraction, int], int] = {}
        found = []
        for rate, score in zip(self.rates, scores, strict=True):
            key = (rate, score)
            if key not in known:
                known[key] = _weight(rate * lowered * score / self.unit, self.bits)
            found.append(known[key])
        return found


class _Sums:
    """Sums of products of weights over sets of disjoint blocks, by number of blocks and attributes left."""

    def __init__(self, weights: dict[int, int]) -> None:
        self.by_lowest: dict[int, list[tuple[int, int]]] = {}
        for mask, weight in sorted(weights.items()):
            for bit in _bits(mask):
                self.by_lowest.setdefault(bit, []).append((mask, weight))
        self.known: dict[tuple[int, int], int] = {}

    def total(self, count: int, left: int) -> int:
        """Return the sum over all sets of `count` disjoint blocks inside `left`."""
        if count == 0:
            return 1
        if left == 0:
            return 0
        key = (count, left)
        found = self.known.get(key)
        if found is None:
            lowest = left & -left
            found = self.total(count, left ^ lowest)
            for mask, weight in self.by_lowest.get(lowest, ()):
                if mask & ~left == 0:
                    found += weight * self.total(count - 1, left ^ mask)
            self.known[key] = found
        return found

    def draw(self, count: int, left: int, noise: Noise) -> list[int]:
        """Draw a set in proportion to its product, deciding one attribute at a time."""
        chosen = []
        while count:
            lowest = left & -left
            options = [(0, self.total(count, left ^ lowest))]
            for mask, weight in self.by_lowest.get(lowest, ()):
                if mask & ~left == 0:
                    options.append((mask, weight * self.total(count - 1, left ^ mask)))
            drawn = noise.choose([0] * len(options), 1, [length for _, length in options]) if len(options) > 1 else 0
            mask = options[drawn][0]
            if mask:
                chosen.append(mask)
                count, left = count - 1, left ^ mask
            else:
                left ^= lowest
        return chosen


@dataclass(frozen=True)
class Partition(ByAttribute):
    """One candidate in each part of a random partition of the attributes, any number of them (PDP-MWEM, partition).

    The parts are drawn without data; a candidate belongs to the part that holds all of its attributes, and those that
    no part holds wait for another round. Changing c attributes moves min(c, count) independent choices, so costs add
    up over the parts instead of their roots.
    """

    def cost(self) -> Cost:
        """Return the cost for a whole person: one choice in each part."""
        amount = Cost.zero()
        for rate in self.by_attribute()[: self.count]:
            amount = amount + range_cost(2 * rate)
        return amount

    def draw(self, scores: Integers, noise: Noise, allowed: Integers | None) -> tuple[int, ...]:
        """Cut the attributes into parts of nearly equal size and choose in each; empty parts choose nothing."""
        bits = list(_bits(self.every))
        order = noise.permutation(len(bits))
        open_ = range(len(self.masks)) if allowed is None else allowed.tolist()
        chosen = []
        for part in range(self.count):
            held = sum(bits[place] for place in order[part :: self.count])
            inside = [q for q in open_ if self.rates[q] > 0 and self.masks[q] and self.masks[q] & ~held == 0]
            if inside:
                chosen.append(inside[self._one(inside, scores, noise)])
        return tuple(chosen)

    def _one(self, inside: list[int], scores: Integers, noise: Noise) -> int:
        """Draw with rates of their own: as integers in units of a common denominator."""
        common = np.lcm.reduce([self.rates[q].denominator for q in inside], dtype=object)
        products = [int(scores[q]) * int(self.rates[q] * common) for q in inside]
        return noise.choose(products, Fraction(1, int(common) * self.unit))

    def possible(self) -> bool:
        """Tell whether there are as many attributes as parts."""
        return bool(self.members) and self.every.bit_count() >= self.count


def top_sum(amounts: list[Fraction], count: int) -> Fraction:
    """Return the sum of the `count` largest of falling amounts."""
    return sum(amounts[:count], Fraction(0))


def states(attributes: int, count: int) -> int:
    """Return how many partial sums exact selection keeps at most."""
    return (count + 1) << attributes


def require_possible(chooser: Disjoint | Partition) -> None:
    """Refuse what has no set of so many candidates: a public fact."""
    if not chooser.possible():
        raise ParameterError(
            f"No {chooser.count} queries of this workload see different attributes; write a smaller together=."
        )


def _weight(exponent: Fraction, bits: int) -> int:
    """Return floor(2^bits · exp(exponent)), for an exponent of zero or more, or the integer just below it."""
    precise = bits + 64 + int(exponent * 3 / 2)
    with precision(precise):
        ball: Any = rational_ball(exponent).exp() * rational_ball(1 << bits)
        return int(ball.lower().floor().unique_fmpz())


def _bits(mask: int) -> list[int]:
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest)
        mask ^= lowest
    return found
