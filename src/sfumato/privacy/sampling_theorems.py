"""Theorems on subsampling as they are printed: one that holds under its condition, and those that are refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from sfumato.errors import NotProvable
from sfumato.exact import Infinity
from sfumato.exact.rational import show
from sfumato.privacy.curve import Curve
from sfumato.privacy.forms import LinearCurve
from sfumato.privacy.sampling import CONSTANT, LARGEST_RHO, admissible_orders


def theorem12(base: Curve, rate: Fraction) -> tuple[LinearCurve, dict[str, Any]]:
    """Return (13 s² rho, omega'/2) where Condition (5) allows an omega' that the base reaches (TCDP:C-SUB12)."""
    omega = base.end
    rho = base.rho(omega)
    numbers: dict[str, Any] = {"rho": rho, "omega": omega, "rate": rate}
    if isinstance(rho, Infinity) or rho > LARGEST_RHO:
        raise NotProvable(
            f"Theorem 12 needs rho of at most 1/10, and the base has {show(rho)}; write method='best'.", numbers
        )
    allowed = admissible_orders(rho, rate)
    numbers["admissible"] = allowed
    if allowed is None or omega < allowed[0]:
        wanted = "no order at all" if allowed is None else f"orders {show(allowed[0])} to {show(allowed[1])}"
        raise NotProvable(
            f"Theorem 12 does not apply: its Condition (5) allows {wanted} at rho {show(rho)} and rate {show(rate)}, "
            f"and the base reaches {show(omega)}; write method='best'.",
            numbers,
        )
    reached = allowed[1] if isinstance(omega, Infinity) else min(omega, allowed[1])
    numbers["omega used"] = reached
    return LinearCurve(CONSTANT * rate**2 * rho, reached / 2), numbers


def refuse(method: str, base: Curve, rate: Fraction) -> None:
    """Refuse what is printed but not proved, with the numbers."""
    if method == "lemma15":
        raise NotProvable(
            "Lemma 15 bounds one direction only (with the sample against without), so it is no promise by itself; "
            "write method='best'.",
            {"rate": rate},
        )
    rho = base.rho(base.end)
    numbers: dict[str, Any] = {"rho": rho, "rate": rate}
    if isinstance(rho, Fraction) and rho:
        numbers["claimed omega"] = math.log(1 / float(rate)) / (4 * float(rho))
        allowed = admissible_orders(rho, rate)
        numbers["provable omega"] = None if allowed is None else allowed[1] / 2
        numbers["admissible"] = allowed
    raise NotProvable(
        "Theorem 11 is not proved as printed: its preconditions do not imply Condition (5) of Theorem 12, on which "
        "it rests; write method='theorem12' or method='best'.",
        numbers,
    )
