"""The shape of a floor, and the numbers that floors are made of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from sfumato.errors import ParameterError
from sfumato.exact import Extended, Infinity, Number, above_zero, exact
from sfumato.exact.rational import show

ROUNDING = 1e-9
"""Floats may be off by this much; a floor is lowered by it, so that it never excludes what is possible."""


@dataclass(frozen=True)
class Floor:
    """A number below (or, for a ceiling, above) which nothing works, and the argument that binds."""

    value: float
    binding: str


def highest(floors: Iterable[Floor]) -> Floor:
    """Return the floor that excludes most."""
    return max(floors, key=lambda floor: floor.value)


def whole(value: float) -> float:
    """Return the smallest whole number that a real floor does not exclude."""
    return float(max(0, math.ceil(value - ROUNDING * max(1.0, abs(value))))) if math.isfinite(value) else value


def order_limit(omega: Number | Extended) -> float:
    """Return omega as a float, refusing 1 and below."""
    if isinstance(omega, Infinity):
        return math.inf
    limit = exact(omega, "omega")
    if limit <= 1:
        raise ParameterError(f"omega must be above 1, and {show(limit)} is not; write for example 20, or INFINITY.")
    return float(limit)


def positive(value: Number, name: str) -> float:
    """Return a number above zero as a float."""
    return float(above_zero(value, name))
