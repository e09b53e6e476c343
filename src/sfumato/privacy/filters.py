"""Filters: whether a request still fits a limit, proved against every adaptive analyst (docs/theory/ledger.md).

A limit is a handful of meters. Every accepted request adds to every meter; a history is inside the limit as
long as all *required* meters are under their ceilings and at least one *route* is. Ceilings are fixed when
the limit is made and never computed again, because an order chosen from what has been spent would break the
promise. All sums and comparisons are exact; a test before adding, or a refund, would break it too.

Pure functions on exact numbers: no storage, no clock.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from sfumato.errors import CertificationError, ParameterError
from sfumato.exact import (
    INFINITY,
    Extended,
    Infinity,
    between_zero_and_one,
    float_log,
    from_text,
    rational_ball,
    to_text,
    unit_down,
    unit_up,
)
from sfumato.privacy.bounds import Approximate, Bound, Concentrated, Pure, Truncated
from sfumato.privacy.conversion import LARGEST_ORDER, best_order, float_price, nearby, price
from sfumato.privacy.cost import Cost
from sfumato.privacy.gaussian import gaussian_m

Kind = Literal["leak", "epsilon", "rho", "tau", "gauss"]

LONGEST_DENOMINATOR = 1024
"""Bits of a sum's denominator; a longer sum is replaced by the next multiple of 2^-128 above it."""


@dataclass(frozen=True)
class Meter:
    """One running sum of a limit and the ceiling that it must not pass.

    `order` is the Rényi order of a `tau` meter and the largest order of a `rho` meter; `reserve` is what a `gauss`
    meter keeps back, beside which releases that are not Gaussian are charged.
    """

    kind: Kind
    ceiling: Fraction
    order: Extended = INFINITY
    reserve: Fraction = Fraction(0)

    def reading(self, cost: Cost) -> Extended:
        """Return what a cost adds to this meter, rounded up."""
        match self.kind:
            case "leak":
                return cost.leak
            case "epsilon":
                return cost.epsilon
            case "rho":
                return cost.rho(self.order)
            case "tau":
                assert isinstance(self.order, Fraction)
                return cost.tau(self.order)
            case "gauss":
                return cost.gauss.at(self.reserve)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        record = {"kind": self.kind, "ceiling": to_text(self.ceiling), "order": to_text(self.order)}
        return {**record, "reserve": to_text(self.reserve)} if self.kind == "gauss" else record

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Meter:
        """Read what `to_json` wrote."""
        ceiling, reserve = from_text(record["ceiling"]), from_text(record.get("reserve", "0"))
        assert isinstance(ceiling, Fraction) and isinstance(reserve, Fraction)
        return cls(record["kind"], ceiling, from_text(record["order"]), reserve)


Sums = tuple[Extended, ...]
"""What the meters of a filter show, required ones first."""


@dataclass(frozen=True)
class Filter:
    """The meters of one limit: all required ones and one of the routes must stay under their ceilings.

    >>> limit = filter_of(Pure(1))
    >>> sums = limit.add(limit.zero(), limit.charge(Cost.pure(1)))
    >>> limit.fits(sums), limit.fits(limit.add(sums, limit.charge(Cost.pure("1/10"))))
    (True, False)
    """

    required: tuple[Meter, ...]
    routes: tuple[Meter, ...]

    @cached_property
    def meters(self) -> tuple[Meter, ...]:
        """All meters, required ones first."""
        return self.required + self.routes

    def zero(self) -> Sums:
        """Return the sums of an empty history."""
        return tuple(Fraction(0) for _ in self.meters)

    def charge(self, cost: Cost) -> Sums:
        """Return what one request adds to every meter."""
        return tuple(meter.reading(cost) for meter in self.meters)

    def add(self, sums: Sums, charge: Sums) -> Sums:
        """Return the sums after a request; everything is always added to every meter."""
        # A list: a reservation under many limits adds hundreds of times, and a generator takes longer.
        return tuple([_tidy(left + right) if right else left for left, right in zip(sums, charge, strict=True)])

    def fits(self, sums: Sums) -> bool:
        """Tell whether a history with these sums is inside the limit; equality fits."""
        split = len(self.required)
        return all(map(_under, sums[:split], self.required)) and any(map(_under, sums[split:], self.routes))

    def accepts(self, sums: Sums, cost: Cost) -> bool:
        """Tell whether a request fits after these sums."""
        return self.fits(self.add(sums, self.charge(cost)))

    def left(self, sums: Sums) -> tuple[Fraction | None, ...]:
        """Return what each meter has left, None for a meter that is closed for good."""
        return tuple(
            meter.ceiling - used if isinstance(used, Fraction) and used <= meter.ceiling else None
            for used, meter in zip(sums, self.meters, strict=True)
        )

    def broken(self, sums: Sums, cost: Cost) -> list[tuple[Meter, Extended, Fraction | None]]:
        """Return the meters that refuse a request, with what is asked and what is left.

        If a required meter refuses, only those are listed; otherwise every route refused.
        """
        charge = self.charge(cost)
        after, left = self.add(sums, charge), self.left(sums)
        rows = list(zip(self.meters, charge, left, after, strict=True))
        failed = [(meter, asked, rest) for meter, asked, rest, total in rows if not _under(total, meter)]
        required = [row for row in failed if row[0] in self.required]
        if required:
            return required
        return failed if len(failed) == len(self.routes) else []

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back exactly."""
        return {"required": [m.to_json() for m in self.required], "routes": [m.to_json() for m in self.routes]}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Filter:
        """Read what `to_json` wrote."""
        return cls(tuple(map(Meter.from_json, record["required"])), tuple(map(Meter.from_json, record["routes"])))


def _under(used: Extended, meter: Meter) -> bool:
    ceiling = meter.ceiling
    if isinstance(used, Infinity):
        return used <= ceiling
    # What a comparison of fractions comes to, without its questions about types: a reservation makes hundreds.
    return used.numerator * ceiling.denominator <= ceiling.numerator * used.denominator


def _tidy(amount: Extended) -> Extended:
    if isinstance(amount, Infinity) or amount.denominator.bit_length() <= LONGEST_DENOMINATOR:
        return amount
    return Fraction(math.ceil(amount * (1 << 128)), 1 << 128)


def filter_of(limit: Bound) -> Filter:
    """Return the proved filter of a limit (LF-PURE, LF-CONC, LF-TRUNC, LF-APPROX, AC-GDP).

    That of an Approximate limit needs to know how delta is divided: `settlement.settled` decides by the first question.
    """
    no_leak = Meter("leak", Fraction(0))
    match limit:
        case Pure():
            return Filter((no_leak,), (Meter("epsilon", limit.epsilon),))
        case Concentrated():
            return Filter((no_leak,), (Meter("rho", limit.rho),))
        case Truncated():
            return Filter((no_leak,), (Meter("rho", limit.rho, limit.omega),))
        case Approximate():
            return _divided_filter(limit)
    raise ParameterError(f"{limit!r} is not a limit; write Pure, Concentrated, Truncated or Approximate.")


RESERVE = Fraction(1, 50)
"""The part of a Gaussian ceiling that is kept back, beside which pure releases are charged little more than eps²."""


def _divided_filter(limit: Approximate) -> Filter:
    if limit.leaks is None or limit.gauss is None:
        raise ParameterError(
            f"The first question decides how the delta of {limit!r} is divided, so it has no filter yet; write leaks= "
            "and gauss= to divide it."
        )
    kept = limit.delta - limit.leaks - limit.gauss
    chosen = limit.routes or (((gaussian_order(limit.epsilon, kept), Fraction(1)),) if kept else ())
    routes = [order_route(limit.epsilon, order, weight * kept) for order, weight in chosen]
    routes.append(gauss_route(limit.epsilon, limit.gauss, RESERVE))
    return Filter((Meter("leak", limit.leaks),), (Meter("epsilon", limit.epsilon), *(r for r in routes if r)))


def gauss_route(epsilon: Fraction, delta: Fraction, reserve: Fraction) -> Meter | None:
    """Return the meter of the Gaussian that keeps (epsilon, delta), less the reserve; None if it leaves no room."""
    if delta == 0:
        return None
    try:
        whole = gaussian_m(epsilon, delta)
    except CertificationError:
        return None
    return Meter("gauss", whole * (1 - reserve), reserve=whole * reserve)


def gaussian_order(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the order, a multiple of 1/8, at which Gaussian noise that fills (epsilon, delta) is best.

    >>> gaussian_order(Fraction(1), Fraction(1, 2_000_000))
    Fraction(93, 4)
    """
    eps, rest = nearby(epsilon), float_log(delta)
    order = best_order(lambda a: (float_price(a, rest) - eps) / a, INFINITY)
    eighths = math.ceil(order * 8 - Fraction(1, 2))
    return min(max(Fraction(eighths, 8), Fraction(9, 8)), Fraction(LARGEST_ORDER))


def order_route(epsilon: Fraction, order: Fraction, delta: Fraction) -> Meter | None:
    """Return the meter of one Rényi order at (epsilon, delta), None if its ceiling leaves no room."""
    if delta == 0:
        return None
    ceiling = unit_down(lambda: rational_ball(epsilon) - price(order, delta))
    return Meter("tau", ceiling, order) if ceiling is not None and ceiling > 0 else None


def odometer(epsilon: Extended, taus: Sequence[tuple[Fraction, Fraction, Extended]], delta: Fraction) -> Extended:
    """Return what this run's answers can have shifted the odds by, in logarithm (LF-ODO).

    `taus` lists (order, weight, running sum) with orders and weights fixed at the start. For one person and
    one other record fixed beforehand, with probability at least 1 - delta over the noise, at all times at
    once. It bounds a tail, so the sharper constant of the conversion must not be used here, and it is not an
    Approximate guarantee.
    """
    between_zero_and_one(delta, "delta")
    if sum(weight for _, weight, _ in taus) > 1:
        raise ParameterError("The weights of the orders must add up to at most 1.")
    best = epsilon
    for order, weight, used in taus:
        if isinstance(used, Infinity):
            continue
        share, a = weight * delta, order
        extra = unit_up(lambda share=share, a=a: -rational_ball(share).log() / rational_ball(a - 1))  # type: ignore[misc]
        if extra is not None:
            best = min(best, used + extra)
    return best
