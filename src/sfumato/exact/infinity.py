"""Infinity as a number that absorbs sums and is never subtracted."""

from __future__ import annotations

from fractions import Fraction
from typing import Final, final


@final
class Infinity:
    """Larger than every number, itself included: an infinite loss fits under no limit.

    >>> from fractions import Fraction
    >>> INFINITY + Fraction(1, 2) is INFINITY, INFINITY <= INFINITY, Fraction(3) < INFINITY
    (True, False, True)
    """

    __slots__ = ()

    def __add__(self, other: object) -> Infinity:
        return self

    __radd__ = __add__

    def __mul__(self, other: Fraction | int | Infinity) -> Infinity | Fraction:
        # Nothing happens zero times, so zero times an infinite loss is no loss.
        return Fraction(0) if other == 0 else self

    __rmul__ = __mul__

    def __lt__(self, other: object) -> bool:
        return False

    __le__ = __lt__

    def __gt__(self, other: object) -> bool:
        return not isinstance(other, Infinity)

    def __ge__(self, other: object) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Infinity)

    def __hash__(self) -> int:
        return hash(float("inf"))

    def __float__(self) -> float:
        return float("inf")

    def __repr__(self) -> str:
        return "∞"


INFINITY: Final = Infinity()

Extended = Fraction | Infinity
"""An exact number or infinity."""
