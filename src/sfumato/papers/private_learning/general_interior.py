"""The interior point of any rising function, recursively over the levels of the tree (TCDP-GIP-REC)."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.errors import UnsupportedSpend
from sfumato.exact import Number, between_zero_and_one, positive_integer
from sfumato.mechanism import Event, Mechanism
from sfumato.noise import DiscreteGaussian, Noise, Priced
from sfumato.noise.laws.base import SMALLEST_SCALE
from sfumato.noise.laws.chosen import law_of
from sfumato.papers.enough_people import said_of_promise
from sfumato.privacy import EVERYTHING, Attributes, Bound, Concentrated, Everything, Loss, Truncated, attributes
from sfumato.privacy.calibrate import choose
from sfumato.privacy.sensitivity import sensitivity
from sfumato.select.exponential_choice import Exponential, exponential
from sfumato.select.fit import positive_spend, settle, shortfall
from sfumato.select.quasiconcave.heaviest_cell import HeaviestCell
from sfumato.select.quasiconcave.interior_point import SHARES, part_of
from sfumato.select.quasiconcave.tree import clamped
from sfumato.select.scores import StepFunction

STRETCH = 10
"""How much more the stretched function of the levels moves than the function does."""
MOVED_NODES = 20
"""At most ten nodes hold more than a tenth, before and after."""


@dataclass(frozen=True, kw_only=True)
class GeneralInterior(Mechanism):
    """Find j of 1, ..., `last` with f(j) > 0 and f(j-1) < `total`, f rising from f(0) = 0 to f(last) = total.

    With F(l) the largest rise of f over a node of level l of the binary tree:
    1. the level by `level_choice` for the function clip(5·F - total, 0, total), which moves by ten times what f
       moves by: by the exponential mechanism, or by another GeneralInterior;
    2. the node by `node_choice`, noise on max(rise - total/10, 0): at most ten are not 0, so that at most twenty move,
       each by twice what f moves by;
    3. its first place if f before the node plus noise of `end_law` is above total/10, else its last one.

    Promise, for `relation` neighbours whose f differ by at most `step` at every place: the sum of the losses. An f that
    falls somewhere is repaired by its running maximum, which moves no further.

    Input: f as a StepFunction on [0, last]. Answer: j. Time O(pieces·log(last)).
    """

    spec: ClassVar[str] = "TCDP-GIP-REC"

    last: int
    total: int
    step: int
    level_choice: Mechanism
    node_choice: HeaviestCell
    end_law: DiscreteGaussian

    @property
    def bits(self) -> int:
        """The level of the root."""
        return (self.last - 1).bit_length()

    def loss(self) -> Loss:
        """Return the sum of the three losses."""
        end = Loss.flat(self.end_law.cost(sensitivity(self.step)), self.reads, self.relation)
        return self.level_choice.loss() + self.node_choice.loss() + end

    def run(self, exact: StepFunction, noise: Noise) -> int:
        """Draw level, node and end."""
        rises = self.rises(exact)
        level = self.level(rises, noise)
        tenth = self.total // 10
        nodes = {node: rise - tenth for node, rise in node_rises(rises, level).items() if rise > tenth}
        node = self.node_choice.run((nodes, 1 << (self.bits - level)), noise)
        first, final = (node << level) + 1, (node + 1) << level
        if level == 0:
            return min(first, self.last)
        before = sum(rise for cell, rise in rises.items() if cell < first - 1)
        leans = before + noise.draw(self.end_law) > tenth
        return min(first if leans else final, self.last)

    def level(self, rises: dict[int, int], noise: Noise) -> int:
        """Choose the level at which the fullest node is neither nearly empty nor nearly all."""
        stretched = [0, *self.stretched(rises)]
        if isinstance(self.level_choice, GeneralInterior):
            return self.level_choice.run(StepFunction(range(len(stretched)), stretched, len(stretched)), noise) - 1
        scores = [min(here, self.total - under) for here, under in zip(stretched[1:], stretched, strict=False)]
        chosen: int = self.level_choice.run(scores, noise)
        return chosen

    def stretched(self, rises: dict[int, int]) -> list[int]:
        """Return clip(5·F(l) - total, 0, total) for every level."""
        full = [max(node_rises(rises, level).values()) for level in range(self.bits + 1)]
        return [min(max(5 * largest - self.total, 0), self.total) for largest in full]

    def needed(self, failure: Number) -> int:
        """Return from which total on the answer is inside, except with this probability.

        The level has a score above 0 if its choice loses less than half of the total; the node then rises by more than
        a tenth of it if noise stays below a tenth, and both ends are right if that of the end does.
        """
        each = between_zero_and_one(failure, "failure") / 4
        law = self.node_choice.law
        nodes = _most(law, each / (1 << self.bits)) + _most(law, each)
        if isinstance(self.level_choice, GeneralInterior):
            level = self.level_choice.needed(each)
        else:
            assert isinstance(self.level_choice, Exponential)
            level = math.ceil(2 * shortfall(self.level_choice.rate, 1 - each, self.bits + 1)) + 1
        return max(level, 10 * (max(nodes, _most(self.end_law, each)) + 1))

    def rises(self, exact: StepFunction) -> dict[int, int]:
        """Return by how much the repaired f rises from j - 1 to j, for each cell j - 1 where it does."""
        found: dict[int, int] = {}
        reached = 0
        for start, end, value in zip(exact.starts, (*exact.starts[1:], exact.end), exact.values, strict=True):
            place = max(start, 1)
            if place < min(end, self.last) and value > reached:
                height = min(value, self.total)
                found[place - 1] = height - reached
                reached = height
        found[self.last - 1] = found.get(self.last - 1, 0) + self.total - reached
        return found

    def event(self) -> Event:
        """Return the public record, the noise by name and parameters."""
        stated = super().event()
        law: dict[str, Any] = {"law": type(self.end_law).__name__, **vars(self.end_law)}
        return Event(stated.name, stated.spec, {**stated.parameters, "end_law": law}, stated.version)


def _most(law: Priced, failure: Fraction) -> int:
    """Return what noise of a symmetric law stays below on one side, except with this probability."""
    return law.window(min(2 * failure, Fraction(1, 2))).stop


def node_rises(rises: dict[int, int], level: int) -> dict[int, int]:
    """Return by how much f rises over each node of a level that it rises over at all."""
    nodes: dict[int, int] = {}
    for cell, rise in rises.items():
        nodes[cell >> level] = nodes.get(cell >> level, 0) + rise
    return nodes


def ranks(values: Sequence[int], bits: int) -> StepFunction:
    """Return f(j) = #{x < j} on [0, 2^bits]: an interior j of it, less one, lies inside of the values.

    >>> f = ranks([2, 2, 5], bits=3)
    >>> [f(j) for j in range(9)]
    [0, 0, 0, 2, 2, 2, 3, 3, 3]
    """
    ordered = clamped(values, bits)
    starts = sorted({0, *(value + 1 for value in ordered)})
    return StepFunction(starts, [bisect_right(ordered, start - 1) for start in starts], (1 << bits) + 1)


def general_interior(
    spend: Bound,
    last: int,
    total: int,
    *,
    depth: int = 1,
    step: int = 1,
    failure: Number = 0.05,
    reads: Iterable[str] | str | Everything = EVERYTHING,
) -> GeneralInterior:
    """Return the general interior point for a Concentrated or Truncated spend.

    `step` is how far one person moves f at any place. Depth 1 ends in the exponential mechanism over the levels, and is
    best for every domain below 2^(2^1000); each further level costs a factor of ten. It warns where the total is below
    `needed(failure)`.

    >>> from sfumato import Concentrated, Noise
    >>> inside = general_interior(Concentrated(1), last=2**64, total=20000)
    >>> values = [2**40 + place for place in range(20000)]
    >>> values[0] <= inside(ranks(values, 64), Noise(insecure_seed=1)) - 1 <= values[-1]
    True
    """
    mechanism = _interior(spend, last, total, depth=depth, step=step, names=attributes(reads))
    said_of_promise(mechanism.needed(failure), total, "select.quasiconcave.interior_point(...)")
    return mechanism


def _interior(spend: Bound, last: int, total: int, *, depth: int, step: int, names: Attributes) -> GeneralInterior:
    bound = positive_spend(spend, "papers.private_learning.general_interior")
    if not isinstance(bound, (Concentrated, Truncated)):
        raise UnsupportedSpend(f"This needs Concentrated(rho) or Truncated(rho, omega), not {bound!r}.")
    end, height, moved = (
        positive_integer(last, "last"),
        positive_integer(total, "total"),
        positive_integer(step, "step"),
    )
    first, second, third = (part_of(bound, share) for share in SHARES)
    bits = (end - 1).bit_length()
    wider = STRETCH * moved
    moves = sensitivity(largest=2 * moved, changed=MOVED_NODES)
    level_choice: Mechanism
    if positive_integer(depth, "depth") == 1 or bits < 2:
        level_choice = exponential(first, wider, reads=names)
    else:
        level_choice = _interior(first, bits + 1, height, depth=depth - 1, step=wider, names=names)
    mechanism = GeneralInterior(
        last=end,
        total=height,
        step=moved,
        level_choice=level_choice,
        node_choice=HeaviestCell(law=law_of(choose(second, moves, draws=1 << bits)), moves=moves, reads=names),
        end_law=DiscreteGaussian(max(SMALLEST_SCALE, Fraction(moved**2) / (2 * third.rho))),
        reads=names,
    )
    return settle(mechanism, bound)
