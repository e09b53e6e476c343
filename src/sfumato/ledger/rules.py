"""The limits of a ledger as they stand, and the test that every reservation must pass (L5, L7).

Ceilings are fixed when a limit is made, stored with it and never computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from sfumato.ledger.amounts import ranges_from_text, remembered, sums_from_text, sums_to_text
from sfumato.ledger.budget import Budget, Limit
from sfumato.ledger.pricing import Prices
from sfumato.ledger.reservation import Break, Closing
from sfumato.privacy import Cost, Everything, Loss
from sfumato.privacy.bounds import Approximate, Bound
from sfumato.privacy.filters import Filter, Meter, Sums, filter_of
from sfumato.privacy.gauss import OnSample
from sfumato.privacy.settlement import Settlement, Shares, settled, widest

OPEN = Filter((), ())
"""The filter of a limit whose delta is not divided yet: it has no meters."""


@lru_cache(maxsize=1 << 12)
def gate_of(bound: Bound) -> Filter:
    """Return the filter of a bound, that without meters if its first question will decide; limits share a few."""
    return OPEN if isinstance(bound, Approximate) and not bound.divided else filter_of(bound)


@dataclass(frozen=True)
class LimitRule:
    """One limit in force.

    `analyst` makes it a quota of one analyst; `late` says that it was declared after answers may have been seen;
    `cap` says that it lowers an earlier limit. Only rules with none of the three are guarantees. `shares` says how the
    first question divided delta, None where it was written or is still open (AC-FIRST).
    """

    limit: Limit
    gate: Filter
    analyst: str | None = None
    late: bool = False
    cap: bool = False
    shares: Shares | None = None

    @property
    def settled(self) -> bool:
        """Whether the ceilings are fixed; otherwise the first question that costs something fixes them."""
        return self.gate is not OPEN and bool(self.gate.meters)

    def settle(self, found: Settlement) -> LimitRule:
        """Return the rule with its ceilings fixed for ever."""
        assert not self.settled
        return replace(self, gate=found.gate, shares=found.shares)

    @property
    def promises(self) -> bool:
        """Whether the limit is a guarantee: common to all, as first declared."""
        return self.analyst is None and not self.late and not self.cap

    @property
    def name(self) -> str:
        """The limit's name, with whose quota it is."""
        return self.limit.name if self.analyst is None else f"{self.analyst}: {self.limit.name}"

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back exactly, the ceilings included."""
        marks = {"analyst": self.analyst, "late": self.late, "cap": self.cap}
        shares = {} if self.shares is None else {"shares": self.shares.to_json()}
        return {"limit": self.limit.to_json(), "gate": self.gate.to_json(), **marks, **shares}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> LimitRule:
        """Read what `to_json` wrote."""
        limit, gate = Limit.from_json(record["limit"]), Filter.from_json(record["gate"])
        shares = Shares.from_json(record["shares"]) if "shares" in record else None
        return cls(limit, gate, record["analyst"], record["late"], record["cap"], shares)


def first_rules(budget: Budget, analysts: Mapping[str, Budget]) -> list[LimitRule]:
    """Return the rules of a new ledger: the common limits, then each analyst's quota."""
    rules = [LimitRule(limit, gate_of(limit.bound)) for limit in budget.limits()]
    for name, quota in analysts.items():
        rules += [LimitRule(limit, gate_of(limit.bound), name) for limit in quota.limits()]
    return rules


def rules_to_json(rules: Iterable[LimitRule]) -> dict[str, Any]:
    """Return first rules as JSON; each bound and its ceilings are written once."""
    gates: dict[Bound, int] = {}
    limits = []
    for rule in rules:
        place = gates.setdefault(rule.limit.bound, len(gates))
        record = rule.limit.to_json()
        limits.append([record["on"], rule.limit.people, place, rule.analyst])
    return {"gates": [[bound.to_json(), gate_of(bound).to_json()] for bound in gates], "limits": limits}


def rules_from_json(record: dict[str, Any]) -> list[LimitRule]:
    """Read what `rules_to_json` wrote: the ceilings are those stored."""
    gates = [(bound, Filter.from_json(gate)) for bound, gate in record["gates"]]
    rules = []
    for on, people, place, analyst in record["limits"]:
        bound, gate = gates[place]
        rules.append(LimitRule(Limit.from_json({"on": on, "people": people, "bound": bound}), gate, analyst))
    return rules


def settlements(body: Mapping[str, Any]) -> Iterator[tuple[list[int], Settlement]]:
    """Read the row that fixed how limits divide their delta."""
    for places, shares, gate in body["limits"]:
        yield list(ranges_from_text(places)), Settlement(Shares.from_json(shares), Filter.from_json(gate))


@dataclass
class Verdict:
    """What a request would do: the sums before and after it, its charges, and what it would break."""

    before: Sequence[str]
    sums: list[str]
    fits: bool = True
    charges: dict[str, list[int]] = field(default_factory=dict)
    breaks: list[Break] = field(default_factory=list)
    settles: dict[int, Settlement] = field(default_factory=dict)
    """The limits whose delta the request divides, being the first that costs them something."""


@dataclass(slots=True)
class _Step:
    after: str
    charge: str
    fits: bool
    settles: Settlement | None = None


class Rulebook:
    """All rules of a ledger, found by the attributes that they speak of."""

    def __init__(self, rules: Sequence[LimitRule]) -> None:
        self.rules: list[LimitRule] = []
        self._alike: list[int] = []  # by place, a number that limits with the same filter share
        self._numbers: dict[Filter | Bound, int] = {}
        self._gates: dict[Filter, Filter] = {}
        self._everyone: list[int] = []
        self._by_name: dict[str, list[int]] = {}
        self.extend(rules)

    def extend(self, rules: Iterable[LimitRule]) -> None:
        """Add rules at the end; places never change, because stored charges name them."""
        for fresh in rules:
            # Equal gates become one object, so that equal work is recognised by identity.
            rule = replace(fresh, gate=self._gates.setdefault(fresh.gate, fresh.gate))
            place = len(self.rules)
            self.rules.append(rule)
            # Limits whose delta is not divided yet share a filter without meters, so their bounds tell them apart.
            self._alike.append(self._number(rule.gate if rule.settled else rule.limit.bound))
            if isinstance(rule.limit.on, Everything):
                self._everyone.append(place)
            else:
                for name in rule.limit.on:
                    self._by_name.setdefault(name, []).append(place)

    def zero(self) -> list[str]:
        """Return the sums of an empty history."""
        return [sums_to_text(rule.gate.zero()) for rule in self.rules]

    def weigh(self, sums: Sequence[str], losses: Sequence[Loss], analyst: str | None) -> Verdict:
        """Add a request to every limit that it touches and compare afterwards.

        Each limit takes the first of the alternative losses that fits it, whole. Nothing is stored here.
        """
        verdict = Verdict(sums, list(sums))
        offers = [Prices(loss) for loss in losses]
        # Limits with the same filter, the same sums and the same cost take the same step: it is worked out once.
        steps: dict[tuple[Any, ...], _Step | None] = {}
        charges: dict[tuple[int, int], tuple[Sums, str]] = {}
        for place in self._places(offers):
            rule = self.rules[place]
            if rule.analyst is not None and rule.analyst != analyst:
                continue
            on, people = rule.limit.on, rule.limit.people
            key = (self._alike[place], sums[place], *[offer.key(on, people) for offer in offers])
            if key not in steps:
                steps[key] = _first_that_fits(rule, sums[place], offers, charges)
            step = steps[key]
            if step is None:
                continue
            if not step.fits:
                verdict.fits = False
                verdict.breaks += _breaks(rule, sums_from_text(sums[place]), offers)
            elif step.settles is not None:
                verdict.settles[place] = step.settles
            verdict.sums[place] = step.after
            verdict.charges.setdefault(step.charge, []).append(place)
        return verdict

    def closings(self, verdict: Verdict) -> list[Closing]:
        """Return the routes that a request would close for good."""
        return [
            Closing(self.rules[place].name, meter)
            for places in verdict.charges.values()
            for place in places
            for meter in self._shut(verdict, place)
        ]

    def _shut(self, verdict: Verdict, place: int) -> list[Meter]:
        if place in verdict.settles:
            gate = verdict.settles[place].gate
            return _shut(gate, sums_to_text(gate.zero()), verdict.sums[place])
        gate = self.rules[place].gate
        return _shut(gate, verdict.before[place], verdict.sums[place]) if gate.meters else []

    def settle(self, places: Iterable[int], found: Settlement) -> None:
        """Fix the ceilings of limits that one request settles alike, once and for all; they share one filter."""
        shared = replace(found, gate=self._gates.setdefault(found.gate, found.gate))
        number = self._number(shared.gate)
        for place in places:
            self.rules[place] = self.rules[place].settle(shared)
            self._alike[place] = number

    def _number(self, what: Filter | Bound) -> int:
        return self._numbers.setdefault(what, len(self._numbers))

    def _places(self, offers: Sequence[Prices]) -> list[int]:
        found = set(self._everyone)
        for offer in offers:
            for name in offer.touched(self._by_name):
                found.update(self._by_name[name])
        return sorted(found)


def _first_that_fits(
    rule: LimitRule, used: str, offers: Sequence[Prices], charges: dict[tuple[int, int], tuple[Sums, str]]
) -> _Step | None:
    """Return what the first certificate that fits adds, or else the first of all; None if nothing is read."""
    costs = [offer.at(rule.limit.on, rule.limit.people) for offer in offers]
    if any(cost.is_zero for cost in costs):
        return None
    if not rule.settled:
        return _first_ever(rule, costs, offers)
    taken = []
    for cost in costs:
        key = (id(rule.gate), id(cost))
        if key not in charges:
            charge = rule.gate.charge(cost)
            charges[key] = (charge, sums_to_text(charge))
        step = _take(rule.gate, sums_from_text(used), *charges[key])
        if step.fits:
            return step
        taken.append(step)
    return next(_by_total(rule, sums_from_text(used), offers), taken[0])


def _by_total(rule: LimitRule, sums: Sums, offers: Sequence[Prices]) -> Iterator[_Step]:
    """Yield the steps that fit if a list which was fixed beforehand is charged by its exact total (AC-PLAN)."""
    bound, left = rule.limit.bound, rule.gate.left(sums)[0]
    if not isinstance(bound, Approximate) or not left:
        return
    for offer in offers:
        for cost in offer.totals(rule.limit.on, rule.limit.people, bound.delta, left):
            charge = rule.gate.charge(cost)
            step = _take(rule.gate, sums, charge, sums_to_text(charge))
            if step.fits:
                yield step


def _first_ever(rule: LimitRule, costs: Sequence[Cost], offers: Sequence[Prices]) -> _Step:
    """Return what the first request of a limit adds, and how it divides delta (AC-FIRST).

    A list that no division takes by its sums is tried by its exact total, which may leak all of delta (AC-PLAN).
    """
    bound = rule.limit.bound
    assert isinstance(bound, Approximate)
    found = settled(bound, tuple(costs))
    if found is None:
        on, people = rule.limit.on, rule.limit.people
        costs = [cost for offer in offers for cost in offer.totals(on, people, bound.delta, bound.delta)]
        found = settled(bound, tuple(costs))
    if found is None:
        return _Step("", "", False)
    gate = found.gate
    cost = next(cost for cost in costs if gate.accepts(gate.zero(), cost))
    charge = gate.charge(cost)
    return replace(_take(gate, gate.zero(), charge, sums_to_text(charge)), settles=found)


def _take(gate: Filter, sums: Sums, charge: Sums, said: str) -> _Step:
    after = gate.add(sums, charge)
    return _Step(remembered(after), said, gate.fits(after))


def _shut(gate: Filter, before: str, after: str) -> list[Meter]:
    rows = zip(gate.meters, sums_from_text(before), sums_from_text(after), strict=True)
    return [meter for meter, was, now in rows if meter in gate.routes and was <= meter.ceiling < now]


def _breaks(rule: LimitRule, sums: Sums, offers: Sequence[Prices]) -> list[Break]:
    gate, on, people = rule.gate, rule.limit.on, rule.limit.people
    if not rule.settled:
        assert isinstance(rule.limit.bound, Approximate)
        gate = widest(rule.limit.bound)
        sums = gate.zero()
    cost = offers[0].at(on, people)
    sample = isinstance(cost.gauss, OnSample) and isinstance(rule.limit.bound, Approximate) and not _carries(gate, cost)
    left = gate.left(sums)[0]
    if isinstance(rule.limit.bound, Approximate) and left:
        # A list is refused by its exact total, the best that can be said of it.
        *_, cost = (
            cost,
            *(total for offer in offers for total in offer.totals(on, people, rule.limit.bound.delta, left)),
        )
    rows = gate.broken(sums, cost)
    return [Break(rule.name, rule.limit, meter, asked, rest, sample) for meter, asked, rest in rows]


def _carries(gate: Filter, cost: Cost) -> bool:
    """Tell whether some Rényi order of a limit would take a cost if nothing else were asked."""
    return any(meter.reading(cost) <= meter.ceiling for meter in gate.routes if meter.kind == "tau")
