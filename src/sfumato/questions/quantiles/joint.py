"""Several quantiles of an ordered column, drawn together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import pairwise
from operator import add
from typing import ClassVar

from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.privacy import Cost, Loss
from sfumato.privacy.parallel import parallel
from sfumato.questions.quantiles.cuts import Chain
from sfumato.questions.quantiles.measure import Measure
from sfumato.questions.quantiles.quantile_choice import Distribution
from sfumato.questions.quantiles.rows import Rows, spread

Node = tuple[int, int]
"""The quantiles from one number to before another, all inside of one range."""


@dataclass(frozen=True, kw_only=True)
class JointQuantiles(Mechanism):
    """Return one place of the ordered domain for each probability, in rising order, all drawn together.

    Rows are sorted, ties at random: every row draws a position inside of its value, so that a value that most rows
    share has a rank at each of them. Cuts that leave c_0, …, c_k rows before, between and after them weigh
    exp(-rate · sum |b·c_j - w_j·m|), where w_j/b is the part wanted there and m the number of rows. One changed row
    moves one c_j down and another up: the sum by 2b at most. One row more moves it by 2·(b - w_j) at most. So a cut
    that is d rows off costs as much as in a choice of one quantile alone at the whole spend, however many there are.

    With more quantiles than `fan`, some are drawn first, and those between two of them from the rows between them.
    The ranges are public once drawn: each level is charged by the one parallel rule.

    Promise, for `relation` neighbours: every level is one exponential mechanism inside of a range, of width `epsilon`,
    and two where a person moves from one range to another (PL-QUANTILE, PL:C-PAR, TCDP:C-EXPM). Weights are computed
    in floating point, without subtraction; what rounding may have changed (`slack`) is part of the width.

    Always an answer: of equal values, of one row, of none. Time O(rows · fan²), whatever the domain.
    """

    spec: ClassVar[str] = "PL-QUANTILE"
    weighed: ClassVar[bool] = True

    size: int
    probabilities: tuple[Fraction, ...]
    epsilon: Fraction
    fan: int
    capacity: int
    """The most units there are, a public number: rounding errors grow with it."""
    shift: int
    """Every value has 2^shift positions for its rows."""
    zero: int | None = None
    weight: int = 1
    scale: int = 1

    @cached_property
    def shares(self) -> tuple[int, ...]:
        """The parts of the rows before, between and after the quantiles, over one denominator."""
        parts = math.lcm(*(chance.denominator for chance in self.probabilities))
        edges = [0, *(int(chance * parts) for chance in self.probabilities), parts]
        return tuple(after - before for before, after in pairwise(edges))

    def pivots(self, node: Node) -> list[int]:
        """Return which quantiles of a node are drawn first."""
        first, end = node
        count = end - first
        if count <= self.fan:
            return list(range(first, end))
        return [first + round(Fraction(turn * (count + 1), self.fan + 1)) - 1 for turn in range(1, self.fan + 1)]

    def children(self, node: Node) -> list[Node]:
        """Return what is left between the pivots, one node for each range; some are empty."""
        edges = [node[0] - 1, *self.pivots(node), node[1]]
        return [(before + 1, after) for before, after in pairwise(edges)]

    def between(self, node: Node) -> list[int]:
        """Return the parts of the rows of a node's range before, between and after its pivots."""
        edges = [node[0], *(pivot + 1 for pivot in self.pivots(node)), node[1] + 1]
        return [sum(self.shares[before:after]) for before, after in pairwise(edges)]

    def levels(self) -> Iterator[list[Node]]:
        """Yield the nodes of every level; they depend on the probabilities only."""
        nodes = [(0, len(self.probabilities))]
        while nodes:
            yield nodes
            nodes = [child for node in nodes for child in self.children(node) if child[0] < child[1]]

    @property
    def slack(self) -> Fraction:
        """By how much rounding may have moved a log-ratio: 4 · 6·k stages of (k+1)·(3·rows + 30) roundings each."""
        cuts = min(self.fan, len(self.probabilities))
        return Fraction(72 * cuts * (cuts + 1) * (self.capacity + 10), 1 << 53)

    def rate(self, node: Node) -> Fraction:
        """Return how steeply weights fall with the sum of a node."""
        return (self.epsilon - self.slack) / (4 * sum(self.between(node)) * self.weight)

    def _entering(self, node: Node) -> Fraction:
        """Return the width of a node's log-ratios when a person enters or leaves its range."""
        between = self.between(node)
        return (self.epsilon - self.slack) * (1 - Fraction(min(between), sum(between))) + self.slack

    def loss(self) -> Loss:
        """Return the cost of all levels, each by the parallel rule over its ranges."""
        return self._loss

    @cached_property
    def _loss(self) -> Loss:
        costs = []
        for nodes in self.levels():
            entering = [Cost.range_bounded(self._entering(node)) for node in nodes]
            costs.append(parallel(entering, self.relation, [Cost.range_bounded(self.epsilon)] * len(nodes)))
        return Loss.flat(reduce(add, costs), self.reads, self.relation)

    def run(self, exact: Distribution, noise: Noise) -> tuple[int, ...]:
        """Draw the cuts level by level, and return the values they lie in."""
        if int(exact[1].sum()) > self.capacity:
            raise MemoryError  # rounding is paid for so many units and no more
        rows = spread(*exact, self.shift, noise)
        cuts = [0] * len(self.probabilities)
        waiting = [((0, len(cuts)), 0, self.size << self.shift)]
        while waiting:
            node, low, high = waiting.pop()
            found = self.place(node, rows, low, high, noise)
            for pivot, cut in zip(self.pivots(node), found, strict=True):
                cuts[pivot] = cut
            ends = [low, *found, high]
            inner = zip(self.children(node), ends, ends[1:], strict=False)
            waiting += [piece for piece in inner if piece[0][0] < piece[0][1]]
        return tuple(cut >> self.shift for cut in cuts)

    def place(self, node: Node, rows: Rows, low: int, high: int, noise: Noise) -> list[int]:
        """Draw the pivots of a node inside of its range; a range without room has one cut only."""
        shares = self.between(node)
        if high <= low:
            return [low] * (len(shares) - 1)
        held = range(rows.below(low), rows.below(high))
        measure = self._measure
        room = rows.room(held, low, high, measure)
        gaps = Chain.of(room, shares, self.rate(node)).draw(noise)
        edges = [rows.gap(held, gap, low, high) for gap in gaps]
        return sorted(measure.draw(start, end, noise, 1 << self.shift) for start, end in edges)

    @cached_property
    def _measure(self) -> Measure:
        return Measure(self.size, self.zero)

    def steepness(self) -> Fraction:
        """Return by how much the log-weight of a set of cuts falls when one of them is a row further off."""
        return (self.epsilon - self.slack) * self.scale / (2 * self.weight)
