"""The limits of a ledger as they stand, and the test that every reservation must pass (L5, L7).

Ceilings are fixed when a limit is made, stored with it and never computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from sfumato.ledger.amounts import sums_from_text, sums_to_text
from sfumato.ledger.budget import Budget, Limit
from sfumato.ledger.pricing import Prices
from sfumato.ledger.reservation import Break, Closing
from sfumato.privacy import Cost, Everything, Loss
from sfumato.privacy.bounds import Bound
from sfumato.privacy.filters import Filter, Meter, Sums, filter_of


@lru_cache(maxsize=1 << 12)
def gate_of(bound: Bound) -> Filter:
    """Return the filter of a bound; thousands of limits share a few."""
    return filter_of(bound)


@dataclass(frozen=True)
class LimitRule:
    """One limit in force.

    `analyst` makes it a quota of one analyst; `late` says that it was declared after answers may have been seen;
    `cap` says that it lowers an earlier limit. Only rules with none of the three are guarantees.
    """

    limit: Limit
    gate: Filter
    analyst: str | None = None
    late: bool = False
    cap: bool = False

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
        return {"limit": self.limit.to_json(), "gate": self.gate.to_json(), **marks}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> LimitRule:
        """Read what `to_json` wrote."""
        limit, gate = Limit.from_json(record["limit"]), Filter.from_json(record["gate"])
        return cls(limit, gate, record["analyst"], record["late"], record["cap"])


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


@dataclass
class Verdict:
    """What a request would do: the sums before and after it, its charges, and what it would break."""

    before: Sequence[str]
    sums: list[str]
    fits: bool = True
    charges: dict[str, list[int]] = field(default_factory=dict)
    breaks: list[Break] = field(default_factory=list)


@dataclass(frozen=True)
class _Step:
    after: str
    charge: str
    fits: bool


class Rulebook:
    """All rules of a ledger, found by the attributes that they speak of."""

    def __init__(self, rules: Sequence[LimitRule]) -> None:
        self.rules: list[LimitRule] = []
        self._everyone: list[int] = []
        self._by_name: dict[str, list[int]] = {}
        self.extend(rules)

    def extend(self, rules: Iterable[LimitRule]) -> None:
        """Add rules at the end; places never change, because stored charges name them."""
        known: dict[Filter, Filter] = {rule.gate: rule.gate for rule in self.rules}
        for fresh in rules:
            # Equal gates become one object, so that equal work is recognised by identity.
            rule = replace(fresh, gate=known.setdefault(fresh.gate, fresh.gate))
            place = len(self.rules)
            self.rules.append(rule)
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
            key = (id(rule.gate), sums[place], *[offer.key(on, people) for offer in offers])
            if key not in steps:
                steps[key] = _first_that_fits(rule, sums[place], offers, charges)
            step = steps[key]
            if step is None:
                continue
            if not step.fits:
                verdict.fits = False
                verdict.breaks += _breaks(rule, sums_from_text(sums[place]), offers[0].at(on, people))
            verdict.sums[place] = step.after
            verdict.charges.setdefault(step.charge, []).append(place)
        return verdict

    def closings(self, verdict: Verdict) -> list[Closing]:
        """Return the routes that a request would close for good."""
        return [
            Closing(self.rules[place].name, meter)
            for places in verdict.charges.values()
            for place in places
            for meter in _shut(self.rules[place].gate, verdict.before[place], verdict.sums[place])
        ]

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
    return taken[0]


def _take(gate: Filter, sums: Sums, charge: Sums, said: str) -> _Step:
    after = gate.add(sums, charge)
    return _Step(sums_to_text(after), said, gate.fits(after))


def _shut(gate: Filter, before: str, after: str) -> list[Meter]:
    rows = zip(gate.meters, sums_from_text(before), sums_from_text(after), strict=True)
    return [meter for meter, was, now in rows if meter in gate.routes and was <= meter.ceiling < now]


def _breaks(rule: LimitRule, sums: Sums, cost: Cost) -> list[Break]:
    return [Break(rule.name, rule.limit, meter, asked, left) for meter, asked, left in rule.gate.broken(sums, cost)]
