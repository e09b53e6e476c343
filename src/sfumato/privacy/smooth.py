"""The Rényi curve of Gaussian noise whose width follows the data, but slowly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.exact import INFINITY, Extended, Infinity, from_text, rational_ball, to_text
from sfumato.exact.enclosure import Ball
from sfumato.privacy.curve import Curve, register


@dataclass(frozen=True)
class SmoothCurve(Curve):
    """q + g·s·N for N standard normal, s² = `variance`, and g at least the local sensitivity of q (TCDP:C-SMOOTH).

    `decay` = e^-b bounds how fast g falls: decay·g(x) <= g(x') for neighbours. With v = a - (a - 1)/decay²,
    tau(a) = a/(2·s²·v) - log(v)/(2(a - 1)) - b, infinite from order 1/(1 - decay²) on; tau(a)/a rises.
    """

    form: ClassVar[str] = "smooth"
    variance: Fraction
    decay: Fraction

    def ball(self, order: Fraction) -> Ball | None:
        """Enclose the closed form."""
        left = order - (order - 1) / self.decay**2
        if left <= 0:
            return None
        shift = rational_ball(order / (2 * self.variance * left))
        return shift - rational_ball(left).log() / rational_ball(2 * (order - 1)) + rational_ball(self.decay).log()

    def supremum(self, omega: Extended) -> Extended:
        """Return tau(omega)/omega, because that ratio rises."""
        if isinstance(omega, Infinity):
            return INFINITY
        value = self.at(omega)
        return value if isinstance(value, Infinity) else value / omega

    @property
    def end(self) -> Extended:
        """The order from which on nothing is bounded."""
        return 1 / (1 - self.decay**2)

    def parameters(self) -> dict[str, Any]:
        """Return both numbers as text."""
        return {"variance": to_text(self.variance), "decay": to_text(self.decay)}


@register("smooth")
def _read_smooth(record: dict[str, Any]) -> Curve:
    variance, decay = from_text(record["variance"]), from_text(record["decay"])
    assert isinstance(variance, Fraction) and isinstance(decay, Fraction)
    return SmoothCurve(variance, decay)
