"""A value safely inside the data, from an ordered domain of any size, without a delta."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, NamedTuple

from sfumato.errors import UnsupportedSpend
from sfumato.exact import Number, between_zero_and_one, positive_integer
from sfumato.mechanism import Event, Mechanism
from sfumato.noise import DiscreteGaussian, Noise, Priced
from sfumato.noise.laws.base import SMALLEST_SCALE
from sfumato.noise.laws.chosen import law_of
from sfumato.privacy import (
    EVERYTHING,
    REPLACE_ONE,
    Attributes,
    Bound,
    Concentrated,
    Everything,
    Loss,
    Truncated,
    attributes,
)
from sfumato.privacy.calibrate import Gaussians, choose
from sfumato.privacy.sensitivity import sensitivity
from sfumato.select.exponential_choice import Exponential, exponential
from sfumato.select.fit import positive_spend, settle, shortfall
from sfumato.select.quasiconcave.heaviest_cell import HeaviestCell
from sfumato.select.quasiconcave.tree import clamped, fullest, node_counts
from sfumato.select.scores import StepFunction

SHARES = (Fraction(1, 2), Fraction(2, 5), Fraction(1, 10))
"""What part of the spend level, node and end get."""
NODE_MOVES = sensitivity(largest=1, changed=2)
"""One person leaves a node of the level and enters another."""
END_MOVES = sensitivity(2)
"""#{below} - #{above} moves by two when a person goes from one side to the other."""


class InteriorPath(NamedTuple):
    """All that a run draws; the whole of it is within the loss."""

    level: int
    node: int
    answer: int


@dataclass(frozen=True, kw_only=True)
class InteriorPoint(Mechanism):
    """Choose a level of the binary tree, then its fullest node, then the end of the node on the fuller side.

    1. The level by `level_choice`, score min(F(l) - low, high - F(l-1)), F(l) being the largest number of people
       in one node of level l: a full node with children that are not too full. Moves by one.
    2. The node by `node_choice`, noise on all counts of the level. Two counts move by one.
    3. Its first value if #{below the node} - #{above it} plus noise of `end_law` is above 0, else its last one. This
       difference moves by two, not by one.

    Promise, for replace-one neighbours: the sum of the three losses for the whole path (TCDP-IP). The number of
    people is public. The node counts #{x in the node}, both ends included; as printed, leaves would count 0.

    Input: the values, one a person, whole numbers; those outside of [0, 2^bits) are moved into it. Answer: a value
    between the smallest and the largest, both included, except with the failure it was planned for.
    Time O(n·log(n) + bits), memory O(n).
    """

    spec: ClassVar[str] = "TCDP-IP"

    bits: int
    level_choice: Exponential
    node_choice: HeaviestCell
    end_law: Priced
    low: int
    high: int

    def loss(self) -> Loss:
        """Return the sum of the three losses."""
        end = Loss.flat(self.end_law.cost(END_MOVES), self.reads, self.relation)
        return self.level_choice.loss() + self.node_choice.loss() + end

    def run(self, exact: Sequence[int], noise: Noise) -> int:
        """Return the answer at the end of the path."""
        return self.path(exact, noise).answer

    def path(self, exact: Sequence[int], noise: Noise) -> InteriorPath:
        """Draw level, node and answer; releasing all of them costs no more than the answer alone."""
        ordered = clamped(exact, self.bits)
        level = self.level_choice.run(self._levels(fullest(ordered, self.bits)), noise)
        counts = node_counts(ordered, level)
        node = self.node_choice.run((counts, 1 << (self.bits - level)), noise)
        if level == 0:
            return InteriorPath(level, node, node)
        below = sum(count for place, count in counts.items() if place < node)
        above = sum(count for place, count in counts.items() if place > node)
        leans = below - above + noise.draw(self.end_law) > 0
        return InteriorPath(level, node, node << level if leans else ((node + 1) << level) - 1)

    def _levels(self, full: Sequence[int]) -> StepFunction:
        scores = [min(here - self.low, self.high - under) for here, under in zip(full, [0, *full], strict=False)]
        return StepFunction(range(len(scores)), scores, len(scores))

    def event(self) -> Event:
        """Return the public record, the noise by name and parameters."""
        stated = super().event()
        law = {"law": type(self.end_law).__name__, **vars(self.end_law)}
        return Event(stated.name, stated.spec, {**stated.parameters, "end_law": law}, stated.version)

    def needed(self, failure: Number) -> int:
        """Return how many people suffice for an interior value except with this probability."""
        level, node, end = _errors(self, between_zero_and_one(failure, "failure"))
        return math.ceil(4 * level) + 2 * node + end


def _errors(mechanism: InteriorPoint, failure: Fraction) -> tuple[float, int, int]:
    """Return e1, e2 of all nodes plus that of one, and e3, each exceeded with a quarter of the failure at most."""
    each = failure / 4
    law = mechanism.node_choice.law
    nodes = _most(law, each / (1 << mechanism.bits)) + _most(law, each)
    return (
        shortfall(mechanism.level_choice.rate, 1 - each, mechanism.bits + 1),
        nodes,
        max(1, _most(mechanism.end_law, each)),
    )


def _most(law: Priced, failure: Fraction) -> int:
    """Return what noise of a symmetric law stays below, strictly, on one side except with this probability."""
    return law.window(min(2 * failure, Fraction(1, 2))).stop


def interior_point(
    spend: Bound,
    bits: int,
    people: int,
    *,
    failure: Number = 0.05,
    reads: Iterable[str] | str | Everything = EVERYTHING,
    gaussians: Gaussians = "wide",
) -> InteriorPoint:
    """Return the interior point for a Concentrated or Truncated spend, over whole numbers below 2^bits.

    `people` is the public number of values. It is private for any number, and promised to work from `needed(failure)`
    people on, which grows with the logarithm of the bits at Truncated.

    >>> from sfumato import Noise, Truncated
    >>> inside = interior_point(Truncated("0.1", "2.24"), bits=64, people=400, failure="0.1")
    >>> inside.needed("0.1")
    215
    >>> 2**40 <= inside([2**40 + 1000 * i for i in range(400)], Noise(insecure_seed=1)) <= 2**40 + 399_000
    True
    """
    bound = positive_spend(spend, "quasiconcave.interior_point")
    if not isinstance(bound, (Concentrated, Truncated)):
        raise UnsupportedSpend(
            f"The interior point needs Concentrated(rho) or Truncated(rho, omega), not {bound!r}; "
            "write solve_quasiconcave(...), which finds another method."
        )
    width, count = positive_integer(bits, "bits"), positive_integer(people, "people")
    chance = between_zero_and_one(failure, "failure")
    first, second, third = (part_of(bound, share) for share in SHARES)
    names: Attributes = attributes(reads)
    node_law = law_of(choose(second, NODE_MOVES, draws=1 << width, failure=chance / 4, gaussians=gaussians))
    draft = InteriorPoint(
        bits=width,
        level_choice=exponential(first, reads=names),
        node_choice=HeaviestCell(law=node_law, moves=NODE_MOVES, reads=names),
        end_law=DiscreteGaussian(max(SMALLEST_SCALE, 2 / third.rho)),
        low=0,
        high=0,
        relation=REPLACE_ONE,
        reads=names,
    )
    _, node, end = _errors(draft, chance)
    return settle(replace(draft, low=node, high=max(node, (count - end) // 2)), bound)


def part_of(bound: Concentrated | Truncated, share: Fraction) -> Concentrated | Truncated:
    """Return this share of a Rényi spend."""
    if isinstance(bound, Truncated):
        return Truncated(bound.rho * share, bound.omega)
    return Concentrated(bound.rho * share)
