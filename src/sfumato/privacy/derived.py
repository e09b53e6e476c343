"""Curves made of curves: sums, minima, maxima and groups of people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.errors import ParameterError
from sfumato.exact import INFINITY, Extended, Infinity, rational_ball
from sfumato.exact.enclosure import Ball
from sfumato.privacy.curve import Curve, curve_from_json, register
from sfumato.privacy.forms import ZERO, LinearCurve
from sfumato.privacy.parts import OfChoices, OfParts, summed


@dataclass(frozen=True)
class Total(OfParts, Curve):
    """The sum of curves, each with its multiplicity: adaptive composition (TCDP:C-COMP). Made by `total`."""

    form: ClassVar[str] = "total"
    parts: tuple[tuple[int, Curve], ...]

    def ball(self, order: Fraction) -> Ball | None:
        """Add the enclosures, so that the sum is rounded once."""
        amount = rational_ball(0)
        for count, curve in self.parts:
            if order > curve.end:
                return None
            ball = curve.ball(order)
            if ball is None:
                return None
            amount += count * ball
        return amount

    def float_at(self, order: float) -> float:
        """Add the parts in floats."""
        return sum(count * curve.float_at(order) for count, curve in self.parts)

    def supremum(self, omega: Extended) -> Extended:
        """Add the suprema, which bound the supremum of the sum."""
        amount: Extended = Fraction(0)
        for count, curve in self.parts:
            amount = amount + count * curve.supremum(omega)
        return amount

    @property
    def end(self) -> Extended:
        """The first order at which a part ends."""
        return min((curve.end for _, curve in self.parts), default=INFINITY)

    def group(self, people: int) -> Curve:
        """Add the group curves of the parts: each has its own best form."""
        return total((count, curve.group(people)) for count, curve in self.parts)


def total(parts: Iterable[tuple[int, Curve]]) -> Curve:
    """Add curves in a canonical form, so that equal histories in any order are equal.

    Multiplicity is handled here and nowhere else.
    """
    counts: dict[Curve, int] = {}
    slope = Fraction(0)
    omega: Extended = INFINITY
    pending = list(parts)
    while pending:
        count, curve = pending.pop()
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ParameterError(f"A curve is repeated a whole number of times, not {count!r} times.")
        if isinstance(curve, Total):
            pending.extend((count * inner, part) for inner, part in curve.parts)
        elif isinstance(curve, LinearCurve):
            if count and curve.slope:
                slope += count * curve.slope
                omega = min(omega, curve.omega)
        elif count:
            counts[curve] = counts.get(curve, 0) + count
    if slope:
        counts[LinearCurve(slope, omega)] = 1
    return summed(counts, ZERO, Total)


@dataclass(frozen=True)
class Least(OfChoices, Curve):
    """The smaller of several bounds on the same mechanism, order by order. Made by `least`."""

    form: ClassVar[str] = "least"
    choices: tuple[Curve, ...]

    def ball(self, order: Fraction) -> Ball | None:
        """Take the smallest enclosure among the bounds that reach this order."""
        smallest: Ball | None = None
        for curve in self.choices:
            ball = None if order > curve.end else curve.ball(order)
            if ball is not None:
                smallest = ball if smallest is None else smallest.min(ball)
        return smallest

    def float_at(self, order: float) -> float:
        """Take the smallest in floats."""
        return min(curve.float_at(order) for curve in self.choices)

    def supremum(self, omega: Extended) -> Extended:
        """Each bound alone bounds the minimum."""
        return min(curve.supremum(omega) for curve in self.choices)

    @property
    def end(self) -> Extended:
        """The last order that any bound reaches."""
        return max(curve.end for curve in self.choices)

    def group(self, people: int) -> Curve:
        """The minimum of the group bounds."""
        return least(curve.group(people) for curve in self.choices)


def least(choices: Iterable[Curve]) -> Curve:
    """Return the pointwise minimum of bounds on one mechanism."""
    return _combine(Least, choices)


@dataclass(frozen=True)
class Greatest(OfChoices, Curve):
    """The larger of several curves: one of several things happens, and it is not known which. Made by `greatest`."""

    form: ClassVar[str] = "greatest"
    choices: tuple[Curve, ...]

    def ball(self, order: Fraction) -> Ball | None:
        """Take the largest enclosure."""
        largest = rational_ball(0)
        for curve in self.choices:
            ball = None if order > curve.end else curve.ball(order)
            if ball is None:
                return None
            largest = largest.max(ball)
        return largest

    def supremum(self, omega: Extended) -> Extended:
        """The largest of the suprema."""
        return max(curve.supremum(omega) for curve in self.choices)

    @property
    def end(self) -> Extended:
        """The first order at which a choice ends."""
        return min(curve.end for curve in self.choices)


def greatest(choices: Iterable[Curve]) -> Curve:
    """Return the pointwise maximum of curves."""
    return _combine(Greatest, choices)


def _combine(shape: type[Least] | type[Greatest], choices: Iterable[Curve]) -> Curve:
    distinct: dict[str, Curve] = {}
    for curve in choices:
        for part in curve.choices if isinstance(curve, shape) else (curve,):
            distinct[json.dumps(part.to_json(), sort_keys=True)] = part
    kept = tuple(distinct[key] for key in sorted(distinct))
    return kept[0] if len(kept) == 1 else shape(kept)


@dataclass(frozen=True)
class Group(Curve):
    """Any curve for `people` people who change together (TCDP:C-GRP's recursion).

    tau_g(a) = (g a/(g a - 1)) · tau_{g-1}((g a - 1)/(g - 1)) + tau(g a).
    """

    form: ClassVar[str] = "group"
    base: Curve
    people: int

    def ball(self, order: Fraction) -> Ball | None:
        """Unroll the recursion; every order it asks for is at least g·a/(something below 1), hence rational."""
        amount = rational_ball(0)
        factor = Fraction(1)
        a = order
        for size in range(self.people, 0, -1):
            asked = size * a
            if asked > self.base.end:
                return None
            ball = self.base.ball(asked)
            if ball is None:
                return None
            amount += rational_ball(factor) * ball
            if size > 1:
                factor *= asked / (asked - 1)
                a = (asked - 1) / (size - 1)
        return amount

    def supremum(self, omega: Extended) -> Extended:
        """Use the linear bound where the base has one."""
        wider = omega if isinstance(omega, Infinity) else omega * self.people
        return self.people**2 * self.base.supremum(wider)

    @property
    def end(self) -> Extended:
        """The base is asked at most at people·a."""
        end = self.base.end
        return end if isinstance(end, Infinity) else max(Fraction(1), end / self.people)

    def parameters(self) -> dict[str, Any]:
        """Return the base curve and the number of people."""
        return {"base": self.base.to_json(), "people": self.people}

    def group(self, people: int) -> Curve:
        """A group of groups is a larger group."""
        return Group(self.base, self.people * people)


def _curves(records: Sequence[dict[str, Any]]) -> list[Curve]:
    return [curve_from_json(record) for record in records]


@register("total")
def _read_total(record: dict[str, Any]) -> Curve:
    return total((count, curve_from_json(part)) for count, part in record["parts"])


@register("least")
def _read_least(record: dict[str, Any]) -> Curve:
    return least(_curves(record["choices"]))


@register("greatest")
def _read_greatest(record: dict[str, Any]) -> Curve:
    return greatest(_curves(record["choices"]))


@register("group")
def _read_group(record: dict[str, Any]) -> Curve:
    return Group(curve_from_json(record["base"]), int(record["people"]))
