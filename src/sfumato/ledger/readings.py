"""Meters and odometers: what has been used. Neither is a guarantee, and both say so (LF-ODO)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.errors import ParameterError
from sfumato.exact import Extended, Infinity, Number, above_zero, between_zero_and_one, exact, from_text, to_text
from sfumato.ledger import wording
from sfumato.ledger.rules import LimitRule
from sfumato.privacy import Approximate, Cost
from sfumato.privacy.filters import Filter, Meter, Sums, odometer
from sfumato.privacy.settlement import widest


@dataclass(frozen=True)
class Reading:
    """What the meters of one limit show: used so far, which is no guarantee of its own.

    `own` is False where the set of attributes has no limit of its own: the ceiling is then that of a limit on
    more attributes. `cap` is the lowest later, lower limit on the same attributes, if there is one.
    """

    rule: LimitRule
    sums: Sums
    own: bool = True
    cap: LimitRule | None = None

    @property
    def name(self) -> str:
        """The name of the limit."""
        return self.rule.name

    def __post_init__(self) -> None:
        if not self.rule.settled:
            object.__setattr__(self, "sums", self.gate.zero())

    @property
    def gate(self) -> Filter:
        """The meters of the limit; before its first question those that it may take at most."""
        bound = self.rule.limit.bound
        return widest(bound) if isinstance(bound, Approximate) and not self.rule.settled else self.rule.gate

    @property
    def meters(self) -> tuple[Meter, ...]:
        """The meters, in the order of `sums` and `left`: leaks first."""
        return self.gate.meters

    @property
    def left(self) -> tuple[Fraction | None, ...]:
        """What each meter has left, None if it is closed for good."""
        return self.gate.left(self.sums)

    @property
    def percent(self) -> int:
        """How much of the limit is used, in per cent, rounded up: leaks, or the best of the open routes."""
        return wording.percent_used(self.meters, self.sums)

    @property
    def numbers(self) -> str:
        """How much of how much is used: '0.4 of 0.5'."""
        return wording.in_numbers(self.meters, self.sums)

    @property
    def experts(self) -> str:
        """What every way of counting shows, empty where nothing is used or there is one way only."""
        _, mark, said = wording.used_text(self.meters, self.sums).partition(f"{wording.EXPERTS} ")
        return said if mark and self.percent else ""

    @property
    def brief(self) -> str:
        """What is used so far, in a few words; of a limit with several routes, the part of the best open one."""
        if sum(meter.kind != "leak" or meter.ceiling > 0 for meter in self.meters) == 1:
            return wording.used_text(self.meters, self.sums)
        return f"Used so far {self.percent} % of {self.rule.limit.bound!s}."

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"

    @property
    def text(self) -> str:
        """The exact wording of a meter."""
        bound, settled = self.rule.limit.bound, self.rule.settled
        said = wording.spent_text(self.meters, self.sums) if settled else wording.undivided_text(bound, self.meters)
        if self.cap is None:
            return said
        return f"{said} A cap of {self.cap.limit.bound!s} was set later; it is not a guarantee."

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object with exact numbers as text."""
        return {
            "limit": self.name,
            "bound": self.rule.limit.bound.to_json(),
            "meters": [meter.to_json() for meter in self.meters],
            "used": [to_text(used) for used in self.sums],
            "left": [None if rest is None else to_text(rest) for rest in self.left],
            "percent": self.percent,
            "declared_late": self.rule.late,
            "divided": None if self.rule.shares is None else self.rule.shares.to_json(),
            "cap": None if self.cap is None else self.cap.limit.bound.to_json(),
            "text": self.text,
        }


@dataclass(frozen=True, init=False)
class Odometer:
    """The orders and weights of an odometer, fixed when the ledger is made and never chosen afterwards.

    >>> Odometer().delta
    Fraction(1, 1000000)
    """

    delta: Fraction
    orders: tuple[tuple[Fraction, Fraction], ...]

    def __init__(self, delta: Number = "1e-6", orders: tuple[tuple[Number, Number], ...] | None = None) -> None:
        chosen = orders or tuple((2**power, Fraction(1, 8)) for power in range(1, 9))
        pairs = tuple((exact(order, "order"), above_zero(weight, "weight")) for order, weight in chosen)
        if any(order <= 1 for order, _ in pairs) or sum(weight for _, weight in pairs) > 1:
            raise ParameterError(
                "An odometer needs pairs of an order above 1 and a weight, the weights at most 1 together; "
                "write for example Odometer(1e-6, orders=((8, 0.5), (64, 0.5)))."
            )
        object.__setattr__(self, "delta", between_zero_and_one(delta, "delta"))
        object.__setattr__(self, "orders", pairs)

    def read(self, costs: list[Cost]) -> Statement | None:
        """Return the statement about a history, None after a leak or when nothing finite is known."""
        if any(cost.leak for cost in costs):
            return None
        epsilon: Extended = sum((cost.epsilon for cost in costs), Fraction(0))
        taus: list[tuple[Fraction, Fraction, Extended]] = [
            (order, weight, sum((cost.tau(order) for cost in costs), Fraction(0))) for order, weight in self.orders
        ]
        value = odometer(epsilon, taus, self.delta)
        if isinstance(value, Infinity):
            return None
        return Statement(value, self.delta)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back exactly."""
        return {"delta": to_text(self.delta), "orders": [[to_text(a), to_text(w)] for a, w in self.orders]}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Odometer:
        """Read what `to_json` wrote."""
        return cls(record["delta"], tuple((str(from_text(a)), str(from_text(w))) for a, w in record["orders"]))


@dataclass(frozen=True)
class Statement:
    """What this run's answers can have shifted the odds by: a fact about this run, not a guarantee.

    `presence` says that the odds are those of being in the data, not those of one record over another.
    """

    log_odds: Fraction
    delta: Fraction
    presence: bool = False

    @property
    def text(self) -> str:
        """The exact wording of an odometer."""
        return wording.odometer_text(self.log_odds, self.delta, self.presence)
