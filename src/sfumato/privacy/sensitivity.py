"""How far a vector of integers can move when one person changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, TypeVar

from sfumato.errors import ParameterError
from sfumato.exact import Number, above_zero, positive_integer, to_text
from sfumato.exact.rational import show

Amount = TypeVar("Amount", int, Fraction)


@dataclass(frozen=True)
class Sensitivity:
    """Four bounds on the difference v of the exact integer vectors of any two neighbours (TCDP:D-SENS).

    `l1` bounds Σ|v_i|, `l2_squared` bounds Σ v_i², `largest` bounds max |v_i|, `changed` bounds how many v_i
    are not zero. Make one with `sensitivity`, which fills in what is not given.
    """

    l1: Fraction
    l2_squared: Fraction
    largest: Fraction
    changed: int

    @property
    def copies(self) -> int:
        """How many shifts by `largest` cost at least as much as any allowed difference, for sinh-normal noise.

        Its Rényi curve divided by the shift never falls as the shift grows (TCDP:C-SINH), so Σ tau(|v_i|) is at
        most (l1/largest)·tau(largest).
        """
        return min(self.changed, -int(-self.l1 // self.largest))

    def cover(self, other: Sensitivity) -> Sensitivity:
        """Return the bounds that hold for the differences of both."""
        return self._with(other, max)

    def narrow(self, other: Sensitivity) -> Sensitivity:
        """Return the bounds of differences for which both hold."""
        return self._with(other, min)

    def _with(self, other: Sensitivity, choose: Callable[..., Any]) -> Sensitivity:
        """Return the bounds that are chosen one by one."""
        return Sensitivity(
            choose(self.l1, other.l1),
            choose(self.l2_squared, other.l2_squared),
            choose(self.largest, other.largest),
            choose(self.changed, other.changed),
        )

    def times(self, count: int) -> Sensitivity:
        """Return the bounds of so many such differences after each other: norms add up.

        >>> Sensitivity(Fraction(1), Fraction(1), Fraction(1), 1).times(2).l2_squared
        Fraction(4, 1)
        """
        return Sensitivity(count * self.l1, count**2 * self.l2_squared, count * self.largest, count * self.changed)

    def coarser(self, step: int) -> Sensitivity:
        """Return the bounds after every coordinate x is rounded to floor(x/step + 1/2).

        |floor(a) - floor(b)| <= ceil|a - b|, so a coordinate that moves by v moves by at most v/step + 1. Rounding
        half to even would break this: 2.5 and 3.5 would land two apart (TCDP-SAMPLER).

        >>> Sensitivity(Fraction(20), Fraction(200), Fraction(10), 2).coarser(4).l1
        Fraction(6, 1)
        """
        largest = Fraction(-int(-self.largest // step))
        l1 = min(self.l1 / step + self.changed, self.changed * largest)
        squares = self.l2_squared / step**2 + 2 * self.l1 / step + self.changed
        return Sensitivity(l1, min(squares, l1 * largest), largest, self.changed)

    def to_json(self) -> dict[str, Any]:
        """Return the four bounds, exact numbers as text."""
        return {
            "l1": to_text(self.l1),
            "l2_squared": to_text(self.l2_squared),
            "largest": to_text(self.largest),
            "changed": self.changed,
        }


def sensitivity(
    scalar: Number | None = None,
    *,
    l1: Number | None = None,
    l2_squared: Number | None = None,
    largest: Number | None = None,
    changed: int | None = None,
) -> Sensitivity:
    """Return all four bounds from those that are known, each as small as the others allow.

    `scalar` alone is for one number. What is missing follows from the differences being integers:
    l1 <= changed·largest, l1 <= l2² <= l1·largest, largest <= l1, changed <= l1.

    >>> sensitivity(3)
    Sensitivity(l1=Fraction(3, 1), l2_squared=Fraction(9, 1), largest=Fraction(3, 1), changed=1)
    >>> sensitivity(largest=1, changed=2).l2_squared
    Fraction(2, 1)
    """
    if scalar is not None:
        if any(given is not None for given in (l1, l2_squared, largest, changed)):
            raise ParameterError(
                "sensitivity= speaks of one number; for a vector leave it out and give l1=, l2_squared=, largest= "
                "or changed=."
            )
        step = _units(scalar, "sensitivity")
        return Sensitivity(step, step**2, step, 1)
    if l1 is None and l2_squared is None and (largest is None or changed is None):
        raise ParameterError(
            "Nothing bounds how far the exact values can move; write sensitivity=1 for one number, or l1=, or "
            "l2_squared=, or both largest= and changed= for a vector."
        )
    return _closed(
        _units(l1, "l1"),
        _units(l2_squared, "l2_squared"),
        _units(largest, "largest"),
        None if changed is None else positive_integer(changed, "changed"),
    )


def _units(value: Number | None, name: str) -> Any:
    if value is None:
        return None
    number = above_zero(value, name)
    if number < 1:
        raise ParameterError(
            f"{name} is {show(number)}, but exact values are integers, and an integer that changes at all changes "
            f"by 1 or more; multiply by the steps of your fixed point, or write {name}=1."
        )
    return number


def _closed(
    l1: Fraction | None, l2_squared: Fraction | None, largest: Fraction | None, changed: int | None
) -> Sensitivity:
    """Tighten the four bounds by each other until nothing moves."""
    while True:
        before = (l1, l2_squared, largest, changed)
        if l2_squared is not None:
            largest = _least(largest, Fraction(isqrt(int(l2_squared))))
            l1 = _least(l1, l2_squared)
        if l1 is not None:
            largest = _least(largest, l1)
            changed = _least(changed, int(l1))
        if largest is not None and changed is not None:
            l1 = _least(l1, changed * largest)
        if l1 is not None and largest is not None:
            l2_squared = _least(l2_squared, l1 * largest)
        if before == (l1, l2_squared, largest, changed):
            assert l1 is not None and l2_squared is not None and largest is not None and changed is not None
            return Sensitivity(l1, l2_squared, largest, changed)


def _least(known: Amount | None, other: Amount) -> Amount:
    return other if known is None else min(known, other)
