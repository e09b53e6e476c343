"""Rényi curves: for every order a > 1 an upper bound tau(a) on the divergence of that order.

A curve is a named closed form with rational parameters. Its value at an order is computed with certified
enclosures and rounded up once, to a multiple of 2^-64.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from sfumato.errors import ParameterError
from sfumato.exact import INFINITY, Extended, Infinity, Number, exact, unit_up
from sfumato.exact.enclosure import Ball
from sfumato.registry import Registry

GRID_STEP = Fraction(1, 1000)
SHORTEST_STEP = Fraction(1, 1 << 18)


class Curve(ABC):
    """An upper bound on the Rényi divergence at every order; non-decreasing, infinite from `end` on."""

    form: ClassVar[str]
    """The name under which the closed form is stored."""

    @abstractmethod
    def ball(self, order: Fraction) -> Ball | None:
        """Return an enclosure of the bound at `order` at the precision in force, None if it is infinite."""

    @abstractmethod
    def supremum(self, omega: Extended) -> Extended:
        """Return an upper bound on tau(a)/a over 1 < a <= omega, proved in closed form; infinity if none is."""

    @property
    @abstractmethod
    def end(self) -> Extended:
        """The order beyond which the bound is infinite, rounded down."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return the parameters as JSON."""

    def group(self, people: int) -> Curve:
        """Return the curve for `people` people who change together (TCDP:C-GRP)."""
        from sfumato.privacy.derived import Group

        return self if people == 1 else Group(self, people)

    def float_at(self, order: float) -> float:
        """Return the bound approximately; only to look for a good order, never as a loss."""
        value = self.at(Fraction(order).limit_denominator(1 << 20))
        return float(value)

    def at(self, order: Number) -> Extended:
        """Return the bound at an order above 1, rounded up to a multiple of 2^-64.

        >>> from sfumato.privacy import Cost
        >>> Cost.concentrated(0.5).curve.at(4)
        Fraction(2, 1)
        """
        a = exact(order, "order")
        if a <= 1:
            raise ParameterError(f"A Rényi order must be above 1, and {a} is not.")
        return _value(self, a)

    def rho(self, omega: Number | Extended) -> Extended:
        """Return a proved upper bound on tau(a)/a over 1 < a <= omega."""
        limit = omega if isinstance(omega, Infinity) else exact(omega, "omega")
        closed = self.supremum(limit)
        if isinstance(limit, Infinity) or not isinstance(closed, Infinity):
            return closed
        return self.certified_rho(limit)

    def keeps(self, rho: Fraction, omega: Extended) -> bool:
        """Tell whether tau(a) <= rho·a is proved for all 1 < a <= omega.

        The same argument as `certified_rho`, with steps as long as they hold: tau(next) <= rho·below proves all
        orders between, so a curve with room needs a few dozen orders instead of thousands.
        """
        if self.supremum(omega) <= rho:
            return True
        if isinstance(omega, Infinity):
            return False
        below = step = Fraction(1)
        while below < omega:
            order = min(omega, Fraction(math.floor(below * (1 + step) * (1 << 40)), 1 << 40))
            if self.at(order) <= rho * below:
                below, step = order, 2 * step
            elif step < SHORTEST_STEP:
                return False
            else:
                step /= 2
        return True

    def certified_rho(self, omega: Number, step: Fraction = GRID_STEP, enough: Extended = INFINITY) -> Extended:
        """Bound tau(a)/a over 1 < a <= omega from finitely many orders (TCDP:D-GRIDCERT).

        Orders grow by a factor of at most 1 + step, and each value is divided by the order below it, so
        monotonicity of the divergence makes it a proof for all orders between. Whoever only asks whether a
        limit holds passes it as `enough`: the first order that breaks it ends the search, with infinity.
        """
        limit = exact(omega, "omega")
        worst: Extended = Fraction(0)
        below = Fraction(1)
        for order in orders(limit, step):
            value = self.at(order)
            if isinstance(value, Infinity) or value / below > enough:
                return INFINITY
            worst = max(worst, value / below)
            below = order
        return worst

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `curve_from_json` reads back exactly."""
        return {"form": self.form, **self.parameters()}

    def __add__(self, other: Curve) -> Curve:
        from sfumato.privacy.derived import total

        return total(((1, self), (1, other)))

    def __mul__(self, count: int) -> Curve:
        from sfumato.privacy.derived import total

        return total(((count, self),))

    __rmul__ = __mul__


@lru_cache(maxsize=1 << 16)
def _value(curve: Curve, order: Fraction) -> Extended:
    end = curve.end
    if not isinstance(end, Infinity) and order > end:
        return INFINITY
    infinite = False

    def evaluate() -> Ball:
        nonlocal infinite
        ball = curve.ball(order)
        if ball is None:
            import flint

            infinite = True
            return flint.arb(0)
        return ball

    value = unit_up(evaluate)
    return INFINITY if infinite or value is None else max(value, Fraction(0))


def orders(omega: Fraction, step: Fraction = GRID_STEP) -> Iterator[Fraction]:
    """Yield orders from just above 1 to omega, each at most 1 + step times the one before."""
    if omega <= 1:
        raise ParameterError(f"omega must be above 1, and {omega} is not.")
    order = Fraction(1)
    while order < omega:
        order = min(omega, Fraction(math.floor(order * (1 + step) * (1 << 40)), 1 << 40))
        yield order


def grid(omega: Fraction, step: Fraction = GRID_STEP) -> list[Fraction]:
    """Return orders from just above 1 to omega, each at most 1 + step times the one before.

    >>> [float(a) for a in grid(Fraction(2), Fraction(1, 2))]
    [1.5, 2.0]
    """
    return list(orders(omega, step))


_HOME = "sfumato.privacy."
FORMS: Registry[Callable[[dict[str, Any]], Curve]] = Registry(
    "Rényi curve",
    "curves",
    {
        **dict.fromkeys(("pure", "linear", "order", "sinh_normal"), _HOME + "forms"),
        **dict.fromkeys(("total", "least", "greatest", "group"), _HOME + "derived"),
        "smooth": _HOME + "smooth",
        "subsampled": _HOME + "subsample",
        "revealed": _HOME + "sampled",
    },
)


def register(form: str) -> Callable[[Callable[[dict[str, Any]], Curve]], Callable[[dict[str, Any]], Curve]]:
    """Name the function that reads a stored form."""

    def remember(read: Callable[[dict[str, Any]], Curve]) -> Callable[[dict[str, Any]], Curve]:
        FORMS.add(form, read)
        return read

    return remember


def curve_from_json(record: dict[str, Any]) -> Curve:
    """Read what `Curve.to_json` wrote."""
    form = record.get("form")
    if form not in FORMS:
        raise ParameterError(f"No Rényi curve is called {form!r}; it was stored by a newer version of sfumato.")
    return FORMS[form](record)
