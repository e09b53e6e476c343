"""How an Approximate limit divides its delta: the first question that costs something decides (AC-FIRST).

Before anything about a relation was released, every choice of the filter is free: what came before has one law in both
worlds, so a filter chosen from the first request is a filter fixed in advance. Choosing after a look is not, so the
ledger stores the choice in the transaction that reserves that request, and never moves it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sfumato.errors import ParameterError
from sfumato.exact import Extended, Infinity, float_log, from_text, to_text
from sfumato.exact.search import halved
from sfumato.privacy.bounds import Approximate
from sfumato.privacy.conversion import LARGEST_ORDER, best_order, epsilon_order, float_price, nearby
from sfumato.privacy.cost import Cost
from sfumato.privacy.filters import RESERVE, Filter, Meter, filter_of, gauss_route, gaussian_order, order_route
from sfumato.privacy.gaussian import gaussian_m, keeps, short_down

VERSION = 1
"""Of the search below; what was settled is stored, so a better search changes new limits only."""
LEAST_ORDER = Fraction(9, 8)
EIGHTH = Fraction(1, 8)


@dataclass(frozen=True)
class Shares:
    """The parts of delta for leaks, for one Rényi order and for Gaussians, together 1; all public, stored for ever.

    `reserve` is the part of the Gaussian ceiling that is kept back, `at` the Rényi order, None where it has no share.
    """

    name: str
    leaks: Fraction
    order: Fraction
    gauss: Fraction
    reserve: Fraction = Fraction(0)
    at: Fraction | None = None

    def gate(self, limit: Approximate) -> Filter:
        """Return the filter: leaks, and the way of epsilons, of the order or of Gaussians (AC-GDP)."""
        delta = limit.delta
        routes = [
            None if self.at is None else order_route(limit.epsilon, self.at, self.order * delta),
            gauss_route(limit.epsilon, self.gauss * delta, self.reserve),
        ]
        first = Meter("epsilon", limit.epsilon)
        return Filter((Meter("leak", self.leaks * delta),), (first, *(route for route in routes if route)))

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back exactly."""
        parts = {part: to_text(getattr(self, part)) for part in ("leaks", "order", "gauss", "reserve")}
        return {"name": self.name, **parts, "at": None if self.at is None else to_text(self.at), "version": VERSION}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Shares:
        """Read what `to_json` wrote."""
        leaks, order, gauss, reserve = (_fraction(record[part]) for part in ("leaks", "order", "gauss", "reserve"))
        at = None if record["at"] is None else _fraction(record["at"])
        return cls(record["name"], leaks, order, gauss, reserve, at)

    def allowed(self, limit: Approximate, leak: Extended) -> bool:
        """Tell whether these are shares that some first request with this leak may settle a limit on."""
        if self.name in PRESETS:
            return (self.leaks, self.order, self.gauss, self.reserve) == PRESETS[self.name]
        kept = Fraction(leak) / limit.delta if isinstance(leak, Fraction) else Fraction(2)
        parts = {"G1": (0, 0, 1), "R1": (kept, 1 - kept, 0), "L1": (kept, 0, 1 - kept)}.get(self.name)
        return (self.leaks, self.order, self.gauss) == parts and self.reserve == 0 and kept <= 1

    def keeps(self, limit: Approximate, gate: Filter) -> bool:
        """Tell whether the ceilings of a stored filter are no larger than these shares allow; nothing is searched."""
        if [meter.ceiling for meter in gate.required] != [self.leaks * limit.delta]:
            return False
        return gate.required[0].kind == "leak" and all(self._route_kept(limit, meter) for meter in gate.routes)

    def _route_kept(self, limit: Approximate, meter: Meter) -> bool:
        match meter.kind:
            case "epsilon":
                return meter.ceiling <= limit.epsilon
            case "tau":
                if self.at is None or meter.order != self.at:
                    return False
                fresh = order_route(limit.epsilon, self.at, self.order * limit.delta)
                return fresh is not None and meter.ceiling <= fresh.ceiling
            case "gauss":
                # The search for it may end a digit elsewhere on another machine; that it keeps its share is a proof.
                return keeps(meter.ceiling + meter.reserve, limit.epsilon, self.gauss * limit.delta)
        return False


PRESETS = {
    "G": (Fraction(5, 100), Fraction(10, 100), Fraction(85, 100), RESERVE),
    "R": (Fraction(5, 100), Fraction(95, 100), Fraction(0), Fraction(0)),
    "L": (Fraction(50, 100), Fraction(5, 100), Fraction(45, 100), RESERVE),
}
"""For Gaussian and many small questions, for Rényi curves, and for questions that leak."""
BY_COST = "R"
"""The one whose order is that of the first question; those of the others are of the limit alone."""


@dataclass(frozen=True)
class Settlement:
    """What a first question settles: the shares, and the filter whose ceilings are stored."""

    shares: Shares
    gate: Filter


@lru_cache(maxsize=1 << 12)
def settled(limit: Approximate, costs: Sequence[Cost]) -> Settlement | None:
    """Return how delta is divided if a request with these certificates comes first; None if none of them ever fits.

    The preset under which the request could be repeated most often, ties going to the first; if it fits none even
    once, the exact fit: all of delta for what it needs.

    >>> limit = Approximate(1, 1e-6)
    >>> settled(limit, (Cost.pure("1/100"),)).shares.name, settled(limit, (Cost.approximate(1, 1e-6),)).shares.name
    ('G', 'L1')
    """
    best: tuple[int | float, Settlement | None] = (0, None)
    for name in PRESETS:
        for cost in costs:
            found = _preset(limit, name, cost)
            times = repeated(found.gate, cost)
            if times > best[0]:
                best = (times, found)
    if best[1] is not None and best[0] >= 1:
        return best[1]
    for fit in (_gaussian_fit, _order_fits, _leaking_fit):
        for cost in costs:
            for shares in fit(limit, cost):
                gate = shares.gate(limit)
                if gate.accepts(gate.zero(), cost):
                    return Settlement(shares, gate)
    return None


def foresee(limit: Approximate) -> None:
    """Compute what dividing a limit needs of the limit alone, so that its first question does not wait for it."""
    for name in PRESETS:
        if name != BY_COST:
            _usual(limit, name)


def repeated(gate: Filter, cost: Cost) -> int | float:
    """Return how often a cost fits an empty filter, by exact division of ceilings by charges."""
    charges = gate.charge(cost)
    split = len(gate.required)
    times = [_times(meter, charge) for meter, charge in zip(gate.meters, charges, strict=True)]
    return min([*times[:split], max(times[split:])])


def _times(meter: Meter, charge: Extended) -> int | float:
    if isinstance(charge, Infinity):
        return 0
    return meter.ceiling // charge if charge else math.inf


def widest(limit: Approximate) -> Filter:
    """Return meters with all of delta each: what a first question may take at most. Shown, never a rule."""
    whole = gauss_route(limit.epsilon, limit.delta, Fraction(0))
    routes = (Meter("epsilon", limit.epsilon), *((whole,) if whole else ()))
    return Filter((Meter("leak", limit.delta),), routes)


def _preset(limit: Approximate, name: str, cost: Cost) -> Settlement:
    if name != BY_COST:
        return _usual(limit, name)
    leaks, order, gauss, reserve = PRESETS[name]
    at = own_order(limit.epsilon, order * limit.delta, cost)
    return _settlement(limit, Shares(name, leaks, order, gauss, reserve, at))


def _usual(limit: Approximate, name: str) -> Settlement:
    leaks, order, gauss, reserve = PRESETS[name]
    return _settlement(limit, Shares(name, leaks, order, gauss, reserve, _usual_order(limit, order)))


@lru_cache(maxsize=1 << 12)
def _settlement(limit: Approximate, shares: Shares) -> Settlement:
    return Settlement(shares, shares.gate(limit))


@lru_cache(maxsize=1 << 10)
def _usual_order(limit: Approximate, share: Fraction) -> Fraction:
    return gaussian_order(limit.epsilon, share * limit.delta)


def own_order(epsilon: Fraction, delta: Fraction, cost: Cost) -> Fraction | None:
    """Return the multiple of 1/8 at which a cost fits (epsilon, delta) most often, about; None if it has no order.

    Floats only look for it; whatever is found is stored and used exactly.
    """
    known, end = cost.curve.end, Fraction(LARGEST_ORDER)
    end = end if isinstance(known, Infinity) else min(known, end)
    if end < LEAST_ORDER or delta == 0:
        return None
    worth = _worth(epsilon, delta, cost)
    near = best_order(lambda a: -worth(a), end) // EIGHTH * EIGHTH
    last = end // EIGHTH * EIGHTH
    allowed = [min(max(near + step * EIGHTH, LEAST_ORDER), last) for step in (0, 1)]
    return max(allowed, key=lambda a: worth(float(a)))


def _worth(epsilon: Fraction, delta: Fraction, cost: Cost) -> Callable[[float], float]:
    room, chance, most = nearby(epsilon), float_log(delta), nearby(cost.epsilon)

    def worth(order: float) -> float:
        charge = min(cost.curve.float_at(order), most)
        rest = room - float_price(order, chance)
        # Where nothing fits the search still needs a slope, and where the charge is nothing a limit.
        return rest / max(charge, 1e-300) if rest > 0 and math.isfinite(charge) else min(rest, 0.0) - (charge > 1e300)

    return worth


def _gaussian_fit(limit: Approximate, cost: Cost) -> Iterator[Shares]:
    if cost.leak == 0:
        yield Shares("G1", Fraction(0), Fraction(0), Fraction(1))


def _leaking_fit(limit: Approximate, cost: Cost) -> Iterator[Shares]:
    if cost.leak <= limit.delta:
        kept = cost.leak / limit.delta
        yield Shares("L1", kept, Fraction(0), 1 - kept)


def _order_fits(limit: Approximate, cost: Cost) -> Iterator[Shares]:
    """Yield the order on the grid, its neighbours, and the one at which calibration proves a curve, which is exact."""
    if cost.leak >= limit.delta:
        return
    kept = cost.leak / limit.delta
    delta = limit.delta - cost.leak
    near = own_order(limit.epsilon, delta, cost)
    if near is None:
        return
    for order in (near, near - EIGHTH, near + EIGHTH, epsilon_order(cost.tau, cost.curve.end, delta)):
        if 1 < order <= cost.curve.end:
            yield Shares("R1", kept, 1 - kept, Fraction(0), at=order)


def largest_part(limit: Approximate, count: int) -> tuple[Fraction, Fraction]:
    """Return the (epsilon, delta) that fits `count` times with an even part of the leaks, the largest of all routes."""
    if limit.divided:
        assert limit.leaks is not None
        return _largest_repeated(limit, lambda _: filter_of(limit), limit.leaks / count, count), limit.leaks / count
    parts = []
    for name, (leaks, *_) in PRESETS.items():
        leak = leaks * limit.delta / count

        def gate(cost: Cost, name: str = name) -> Filter:
            return _preset(limit, name, cost).gate

        parts.append((_largest_repeated(limit, gate, leak, count), leak))
    return max(parts)


def _largest_repeated(limit: Approximate, gate: Callable[[Cost], Filter], leak: Fraction, count: int) -> Fraction:
    """Return the largest epsilon, to six digits, of which `count` fit with this leak each."""

    def fits(epsilon: Fraction) -> bool:
        cost = Cost.leaking(epsilon, leak)
        return repeated(gate(cost), cost) >= count

    low, high = limit.epsilon / count, limit.epsilon
    if not low or fits(high):
        return high
    short = short_down(halved(low, high, lambda epsilon: not fits(epsilon), 24)[0], 6)
    return max(short, limit.epsilon / count) if fits(short) else limit.epsilon / count


def gaussian_share(limit: Approximate) -> Fraction:
    """Return the ceiling of the Gaussian route: what all Gaussian questions together may use of mu²."""
    if limit.divided:
        for meter in filter_of(limit).routes:
            if meter.kind == "gauss":
                return meter.ceiling
        raise ParameterError(f"{limit!r} keeps no part of delta for Gaussians; write gauss= with the part.")
    _, _, gauss, reserve = PRESETS["G"]
    return gaussian_m(limit.epsilon, gauss * limit.delta) * (1 - reserve)


def _fraction(text: str) -> Fraction:
    value = from_text(text)
    assert isinstance(value, Fraction)
    return value
