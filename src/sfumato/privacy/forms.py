"""The elementary Rényi curves: of pure mechanisms, of Gaussian noise, of sinh-normal noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.exact import (
    INFINITY,
    Extended,
    Infinity,
    from_text,
    rational_ball,
    significant_up,
    to_text,
    unit_down,
    unit_up,
)
from sfumato.exact.enclosure import Ball
from sfumato.privacy.curve import Curve, register


@dataclass(frozen=True)
class PureCurve(Curve):
    """The curve of a pure mechanism, that of randomized response (TCDP:C-PURE+).

    tau(a) = log[cosh((a - 1/2) eps) / cosh(eps/2)] / (a - 1); tau(a)/a falls from eps·tanh(eps/2).
    """

    form: ClassVar[str] = "pure"
    epsilon: Fraction

    def ball(self, order: Fraction) -> Ball | None:
        """Enclose the closed form; written with exponentials that cannot overflow."""
        if self.epsilon == 0:
            return rational_ball(0)
        eps = rational_ball(self.epsilon)
        a = rational_ball(order)
        # log cosh y = y + log((1 + e^{-2y})/2): the difference of two of them loses nothing at large eps.
        upper = (-eps * (2 * a - 1)).exp().log1p()
        lower = (-eps).exp().log1p()
        return eps + (upper - lower) / (a - 1)

    def float_at(self, order: float) -> float:
        """Return the closed form in floats, or a·eps²/2 where it would cancel."""
        eps = float(self.epsilon)
        if eps * order < 1e-4:
            return order * eps * eps / 2
        return eps + (math.log1p(math.exp(-eps * (2 * order - 1))) - math.log1p(math.exp(-eps))) / (order - 1)

    def supremum(self, omega: Extended) -> Extended:
        """Return eps·tanh(eps/2), the value towards order 1."""
        if self.epsilon == 0:
            return Fraction(0)
        eps = self.epsilon
        value = unit_up(lambda: rational_ball(eps) * (rational_ball(eps) / 2).tanh())
        assert value is not None
        return value

    @property
    def end(self) -> Extended:
        """No order is infinite."""
        return INFINITY

    def parameters(self) -> dict[str, Any]:
        """Return epsilon as text."""
        return {"epsilon": to_text(self.epsilon)}

    def group(self, people: int) -> Curve:
        """A group of k multiplies epsilon by k."""
        return PureCurve(self.epsilon * people)


@dataclass(frozen=True)
class LinearCurve(Curve):
    """rho·a up to order omega: Gaussian noise (omega infinite) and truncated concentrated bounds."""

    form: ClassVar[str] = "linear"
    slope: Fraction
    omega: Extended = INFINITY

    def ball(self, order: Fraction) -> Ball | None:
        """Return the exact product."""
        return rational_ball(self.slope * order)

    def float_at(self, order: float) -> float:
        """Return the product in floats."""
        return float(self.slope) * order if order <= self.omega else math.inf

    def supremum(self, omega: Extended) -> Extended:
        """Return the slope, if the curve reaches that far."""
        if self.slope == 0:
            return Fraction(0)
        return self.slope if self.omega >= omega else INFINITY

    @property
    def end(self) -> Extended:
        """The bound holds at omega itself, because divergences are continuous from the left."""
        return self.omega

    def parameters(self) -> dict[str, Any]:
        """Return slope and omega as text."""
        return {"slope": to_text(self.slope), "omega": to_text(self.omega)}

    def group(self, people: int) -> Curve:
        """(k² rho, omega/k) for small groups, one order for large ones (TCDP:C-GRP, C-GRPBIG)."""
        if people == 1 or self.slope == 0:
            return self
        if isinstance(self.omega, Infinity):
            return LinearCurve(self.slope * people**2)
        from sfumato.privacy.derived import least

        large = _large_group(self.slope, self.omega, people)
        if self.omega / people <= 1:
            return large
        return least((LinearCurve(self.slope * people**2, self.omega / people), large))


LARGEST_SPREAD = 1 << 12
"""Beyond c_g = e^4096 a group's bound says nothing that anybody could use."""


def _large_group(slope: Fraction, omega: Fraction, people: int) -> Curve:
    """Bound one order close to 1 for a group of any size (TCDP:C-GRPBIG).

    c_g = (omega/(omega-1))^g - 1 is rounded up, which lowers the order and raises the value: both safe. It is
    kept instead of the order, which is so close to 1 that it would lose all digits.
    """
    if people > LARGEST_SPREAD * omega:
        return UNKNOWN
    spread = significant_up(lambda: (people * (1 / rational_ball(omega - 1)).log1p()).expm1())
    if spread is None:
        return UNKNOWN
    return OrderCurve(1 + 1 / spread, spread * (omega - 1) * omega * slope)


@dataclass(frozen=True)
class OrderCurve(Curve):
    """A divergence known at one order only, hence at every smaller one (TCDP:C-RDP)."""

    form: ClassVar[str] = "order"
    order: Fraction
    value: Fraction

    def ball(self, order: Fraction) -> Ball | None:
        """Return the value at the known order, which bounds all smaller orders."""
        return rational_ball(self.value)

    def supremum(self, omega: Extended) -> Extended:
        """Return the value itself: near order 1 nothing better is known."""
        return self.value if self.order >= omega else INFINITY

    @property
    def end(self) -> Extended:
        """Nothing is known beyond the order."""
        return self.order

    def parameters(self) -> dict[str, Any]:
        """Return order and value as text."""
        return {"order": to_text(self.order), "value": to_text(self.value)}


@dataclass(frozen=True)
class SinhNormalCurve(Curve):
    """Sinh-normal noise of the given variance parameter and bend on a query of this sensitivity (TCDP:C-SINH).

    Infinite from order 1/(1 - exp(-2·sensitivity/bend)) on.
    """

    form: ClassVar[str] = "sinh_normal"
    variance: Fraction
    bend: Fraction
    sensitivity: Fraction

    def ball(self, order: Fraction) -> Ball | None:
        """Enclose the closed form of C-SINH in its stable arrangement."""
        shift = rational_ball(self.sensitivity / self.bend)
        excess = rational_ball(order - 1)
        remaining = 1 - excess * (2 * shift).expm1()
        if not remaining > 0:
            return None
        root = (remaining * (1 - excess * (-2 * shift).expm1())).sqrt()
        start = rational_ball(self.sensitivity**2 / (2 * self.variance))
        curvature = 4 * rational_ball(order) * excess * shift.sinh() ** 2 / (1 + root)
        middle = rational_ball(order) - excess * (2 * shift).cosh()
        tilt = excess * (2 * shift).sinh()
        pull = excess * shift
        steepness = pull**2 * shift**2 / (2 * start)
        gaussian = start / (2 * shift**2) * curvature
        turn = (tilt**2 / ((middle + root) * 2 * root)).log1p() / 2
        capped = (2 * (pull / 2).sinh() ** 2).log1p() - root.log() / 2
        if root - steepness > 0:
            capped = capped.min(-(-(curvature + steepness)).log1p() / 2)
        return (gaussian + turn + capped) / excess

    def supremum(self, omega: Extended) -> Extended:
        """Return infinity: tau(a)/a is known to rise only numerically, so a grid has to prove it."""
        return INFINITY

    @property
    def end(self) -> Extended:
        """The order 1/(1 - exp(-2u)), rounded down."""
        twice = 2 * self.sensitivity / self.bend
        value = unit_down(lambda: -1 / rational_ball(-twice).expm1())
        assert value is not None
        return value

    def parameters(self) -> dict[str, Any]:
        """Return the three numbers as text."""
        return {
            "variance": to_text(self.variance),
            "bend": to_text(self.bend),
            "sensitivity": to_text(self.sensitivity),
        }


def _fraction(text: str) -> Fraction:
    number = from_text(text)
    assert isinstance(number, Fraction)
    return number


@register("pure")
def _read_pure(record: dict[str, Any]) -> Curve:
    return PureCurve(_fraction(record["epsilon"]))


@register("linear")
def _read_linear(record: dict[str, Any]) -> Curve:
    return LinearCurve(_fraction(record["slope"]), from_text(record["omega"]))


@register("order")
def _read_order(record: dict[str, Any]) -> Curve:
    return OrderCurve(_fraction(record["order"]), _fraction(record["value"]))


@register("sinh_normal")
def _read_sinh(record: dict[str, Any]) -> Curve:
    return SinhNormalCurve(*(_fraction(record[key]) for key in ("variance", "bend", "sensitivity")))


ZERO = LinearCurve(Fraction(0))
"""The curve of a release that does not look at the data."""

UNKNOWN = OrderCurve(Fraction(1), Fraction(0))
"""No order is bounded."""
