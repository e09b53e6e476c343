"""The curve through noisy knots and the band around it: monotone, and wide enough for all knots at once."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, groupby

from sfumato.answer import Released
from sfumato.noise import Noise
from sfumato.questions.distribution.widths import sum_width
from sfumato.totals.rank_error import is_measured, stated_error

ZERO = Fraction(0)
FEWEST = 8
"""With fewer edges there is no next cell on both sides."""


@dataclass(frozen=True)
class Band:
    """At each edge, in rising order, the rows below it: about `rows`, and from `low` to `high`."""

    edges: tuple[int, ...]
    rows: tuple[Fraction, ...]
    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]

    def below(self, edge: int) -> Fraction:
        """Return about how many rows have a code below an edge, spread evenly inside of a cell."""
        place = min(max(bisect_right(self.edges, edge) - 1, 0), len(self.edges) - 2)
        start, end = self.edges[place], self.edges[place + 1]
        inside = Fraction(min(max(edge - start, 0), end - start), end - start)
        return self.rows[place] + inside * (self.rows[place + 1] - self.rows[place])

    def below_between(self, edge: int) -> tuple[Fraction, Fraction]:
        """Return the range of that number: at least what is known at the edge before, at most at the one after."""
        before = max(bisect_right(self.edges, edge) - 1, 0)
        after = min(bisect_left(self.edges, edge), len(self.edges) - 1)
        return self.low[before], self.high[after]

    def shown(self) -> tuple[int, ...]:
        """Return the edges to look at: a little more than from the first to the last place that was found."""
        if len(self.edges) <= 4:
            return self.edges
        inner = self.edges[1:-1]
        room = max(1, (inner[-1] - inner[0]) // 20)
        return max(self.edges[0], inner[0] - room), *inner, min(self.edges[-1], inner[-1] + room)

    def pulled_in(self) -> Band:
        """Return the same band with a curve whose two outermost cells hold their rows near the others.

        Of a wide range most is often empty. Where an outermost cell is far wider than its rows would be at the density
        of the next one, they are spread over twice the room that they would take there. The band does not change.
        """
        if len(self.edges) < FEWEST:
            return self
        return self._pulled()._mirrored()._pulled()._mirrored()

    def _pulled(self) -> Band:
        """Give the first cell an empty part, if it is wide enough."""
        outer, near = self.rows[1] - self.rows[0], self.rows[3] - self.rows[2]
        if near <= 0:
            return self
        room = math.ceil(2 * outer / near * (self.edges[3] - self.edges[2])) + 1
        if 2 * room >= self.edges[1] - self.edges[0]:
            return self
        edges = (self.edges[0], self.edges[1] - room, *self.edges[1:])
        rows = (self.rows[0], self.rows[0], *self.rows[1:])
        return Band(
            edges, rows, (self.low[0], self.low[0], *self.low[1:]), (self.high[0], self.high[1], *self.high[1:])
        )

    def _mirrored(self) -> Band:
        """Return the band seen from the other end: codes and rows count down."""

        def turned(rows: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
            return tuple(-number for number in reversed(rows))

        edges = tuple(-edge for edge in reversed(self.edges))
        return Band(edges, turned(self.rows), turned(self.high), turned(self.low))

    def share(self, edge: int) -> float:
        """Return the share of rows below an edge; without rows, that of the codes."""
        if self.rows[-1] <= 0:
            return (edge - self.edges[0]) / (self.edges[-1] - self.edges[0])
        return float(self.below(edge) / self.rows[-1])

    def share_between(self, edge: int) -> tuple[float, float]:
        """Return the range of that share, whatever the number of rows is."""
        low, high = self.below_between(edge)
        if edge >= self.edges[-1]:
            return 1.0, 1.0
        # Of `low` rows below and what is above at the most; of `high` below and what is above at the least.
        above_most, above_least = self.high[-1] - low, max(self.low[-1] - high, ZERO)
        least = float(low / (low + above_most)) if low + above_most > 0 else 0.0
        return least, float(high / (high + above_least)) if high + above_least > 0 else 1.0

    def code_at(self, probability: Fraction) -> int:
        """Return the smallest code up to which this part of the rows lies."""
        target = probability * self.rows[-1]
        place = bisect_left(self.rows, target, lo=1, hi=len(self.rows) - 1)
        start, end = self.edges[place - 1], self.edges[place]
        under, gained = self.rows[place - 1], self.rows[place] - self.rows[place - 1]
        part = (target - under) / gained if gained > 0 else probability
        return min(max(start + -(-(end - start) * part.numerator // part.denominator) - 1, start), end - 1)

    def codes_around(self, probability: Fraction) -> tuple[int, int]:
        """Return two codes between which the quantile lies wherever the band holds."""
        # The quantile is the smallest code c with #{x <= c} >= p·rows. It is above every edge below which fewer than
        # p·rows rows lie for sure, and not above one below which as many lie for sure.
        least, most = probability * self.low[-1], probability * self.high[-1]
        after = max((edge for edge, high in zip(self.edges, self.high, strict=True) if high < least), default=None)
        first = self.edges[0] if after is None else after
        until = next(
            (edge for edge, low in zip(self.edges, self.low, strict=True) if low >= most and edge > first), None
        )
        return first, (self.edges[-1] if until is None else until) - 1

    def draw(self, count: int, noise: Noise) -> list[int]:
        """Draw codes: a cell by its rows, then any code of it."""
        weights = [after - before for before, after in zip(self.rows, self.rows[1:], strict=False)]
        if not any(weights):
            weights = [Fraction(end - start) for start, end in zip(self.edges, self.edges[1:], strict=False)]
        shared = math.lcm(*(weight.denominator for weight in weights))
        whole = [int(weight * shared) for weight in weights]
        ends = list(accumulate(whole))
        cells = [bisect_right(ends, int(place)) for place in noise.uniform(ends[-1], count).tolist()]
        found = [0] * count
        order = sorted(range(count), key=cells.__getitem__)
        for cell, members in groupby(order, key=cells.__getitem__):
            drawn = list(members)
            inside = noise.uniform(self.edges[cell + 1] - self.edges[cell], len(drawn)).tolist()
            for member, place in zip(drawn, inside, strict=True):
                found[member] = self.edges[cell] + int(place)
        return found


def band_of(released: Released, confidence: Fraction) -> Band:
    """Return the curve and the band at this confidence, from the knots that were released."""
    edges, below, draws = (released.part(name) for name in ("edge", "below", "draws"))
    unit, facts = below.unit, released.facts
    rows = int(facts["rows"] / unit) if "rows" in facts else None
    widths = {count: int(_width(released, count, confidence) / unit) for count in set(draws.released)}
    low = [value - widths[count] for value, count in zip(below.released, draws.released, strict=True)]
    high = [value + widths[count] for value, count in zip(below.released, draws.released, strict=True)]
    if "radius" in facts:
        # A point says at least so many rows up to it (draws = 1), and at most so many below it (draws = -1).
        assert rows is not None
        low = [0 if count < 0 else end for end, count in zip(low, draws.released, strict=True)]
        high = [rows if count > 0 else end for end, count in zip(high, draws.released, strict=True)]
    places = [list(members) for _, members in groupby(range(len(low)), key=lambda place: edges.released[place])]
    lower = list(accumulate((max(low[place] for place in members) for members in places), max, initial=0))[1:]
    upper = list(accumulate((min(high[place] for place in members) for members in reversed(places)), min))[::-1]
    means = [Fraction(sum(below.released[place] for place in members), len(members)) for members in places]
    # Rows are not negative, and not more than there are.
    most = max(0, *upper) if rows is None else rows
    ends = [(min(max(one, 0), most), min(max(two, 0), most)) for one, two in zip(lower, upper, strict=True)]
    found = _fitted(tuple(edges.released[members[0]] for members in places), means, ends, unit)
    return found.pulled_in() if released.made["method"] == "medians" else found


def _width(released: Released, draws: int, confidence: Fraction) -> Fraction:
    """Return how far a knot with so many draws may be off while all of them hold."""
    facts, part = released.facts, released.part("below")
    if draws == 0:
        return ZERO
    if is_measured(released):
        return min(Fraction(stated_error(released, confidence)), facts["rows"])
    if part.law is None:
        return facts["radius"] if confidence <= 1 - facts["failure"] else facts["rows"]
    return sum_width(part.law, draws, (1 - confidence) / facts["union"]) * facts["grid"] * part.unit


def _fitted(edges: tuple[int, ...], raw: Sequence[Fraction], ends: Sequence[tuple[int, int]], unit: Fraction) -> Band:
    """Return the curve made to rise, inside of the band; where the noise was larger, the band is widened to it."""
    curve: list[Fraction] = []
    reached = ZERO
    for value, between in zip(rising(raw), ends, strict=True):
        reached = max(reached, min(max(value, Fraction(min(between))), Fraction(max(between))))
        curve.append(reached)
    low = tuple(min(value, Fraction(end)) * unit for value, (end, _) in zip(curve, ends, strict=True))
    high = tuple(max(value, Fraction(end)) * unit for value, (_, end) in zip(curve, ends, strict=True))
    return Band(edges, tuple(value * unit for value in curve), low, high)


def rising(values: Sequence[Fraction]) -> list[Fraction]:
    """Return the nearest sequence that never falls, by pooling neighbours; it is nowhere farther from a rising truth.

    >>> rising([Fraction(1), Fraction(3), Fraction(2), Fraction(5)])
    [Fraction(1, 1), Fraction(5, 2), Fraction(5, 2), Fraction(5, 1)]
    """
    pools: list[tuple[Fraction, int]] = []
    for value in values:
        total, count = value, 1
        while pools and pools[-1][0] * count >= total * pools[-1][1]:
            before, size = pools.pop()
            total, count = total + before, count + size
        pools.append((total, count))
    return [mean for total, count in pools for mean in [total / count] * count]
