"""The limits of a ledger as they stand, and the test that every reservation must pass (L5, L7).

Ceilings are fixed when a limit is made, stored with it and never computed again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import itemgetter
from typing import Any

from sfumato.ledger.amounts import ranges_from_text, remembered, sums_from_text, sums_to_text
from sfumato.ledger.budget import Budget, Limit
from sfumato.ledger.pricing import Prices
from sfumato.ledger.reservation import Break, Closing
from sfumato.privacy import EVERYTHING, Cost, Everything, Loss
from sfumato.privacy.bounds import Approximate, Bound
from sfumato.privacy.filters import Filter, Meter, Sums, filter_of
from sfumato.privacy.gauss import OnSample
from sfumato.privacy.settlement import Settlement, Shares, foresee, settled, widest

OPEN = Filter((), ())
"""The filter of a limit whose delta is not divided yet: it has no meters."""

MOST_FORESEEN = 8
"""Of so many different limits it is computed beforehand how they may be divided; usually there are two."""
MOST_PARTS = 64
"""For how many ways of reading all attributes it is remembered which limits they cost the same."""


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
        self._rules: list[LimitRule] = []
        self._settled: dict[int, Settlement] = {}  # what was fixed and is not in `_rules` yet
        self._alike: list[int] = []  # by place, a number that limits of one filter, size of groups and analyst share
        self._numbers: dict[tuple[Filter | Bound, int, str | None], int] = {}
        self._gates: dict[Filter, Filter] = {}
        self._everyone: list[int] = []
        self._by_name: dict[str, list[int]] = {}
        # By place, one name of the limit's, another one if there is, and those beyond two.
        self._first: list[str | Everything] = []
        self._second: list[str | None] = []
        self._further: dict[int, list[str]] = {}
        self._longest = 1
        self._known_parts: dict[tuple[int, ...], list[list[int]]] = {}
        self.extend(rules)

    @property
    def rules(self) -> list[LimitRule]:
        """All rules, by their places."""
        for place in list(self._settled):
            self._rule(place)
        return self._rules

    def _rule(self, place: int) -> LimitRule:
        """Return one rule: a first question may settle thousands, of which few are looked at one by one."""
        found = self._settled.pop(place, None)
        if found is not None:
            self._rules[place] = self._rules[place].settle(found)
        return self._rules[place]

    def extend(self, rules: Iterable[LimitRule]) -> None:
        """Add rules at the end; places never change, because stored charges name them."""
        self._known_parts.clear()
        for fresh in rules:
            # Equal gates become one object, so that equal work is recognised by identity.
            rule = replace(fresh, gate=self._gates.setdefault(fresh.gate, fresh.gate))
            place = len(self._rules)
            self._rules.append(rule)
            # Limits whose delta is not divided yet share a filter without meters, so their bounds tell them apart.
            self._alike.append(self._number(rule.gate if rule.settled else rule.limit.bound, rule))
            if isinstance(rule.limit.on, Everything):
                self._everyone.append(place)
                self._first.append(rule.limit.on)
                self._second.append(None)
                continue
            for name in rule.limit.on:
                self._by_name.setdefault(name, []).append(place)
            first, *further = rule.limit.on
            self._first.append(first)
            self._second.append(further.pop() if further else None)
            if further:
                self._further[place] = further
            self._longest = max(self._longest, len(rule.limit.on))

    def foresee(self) -> None:
        """Compute what dividing the open limits needs, so that their first question does not wait for it."""
        still = {rule.limit.bound: None for rule in self.rules if not rule.settled}
        for bound in list(still)[:MOST_FORESEEN]:
            assert isinstance(bound, Approximate)
            foresee(bound)

    def zero(self) -> list[str]:
        """Return the sums of an empty history."""
        return [sums_to_text(rule.gate.zero()) for rule in self.rules]

    def could_have(self, sums: Sequence[str]) -> bool:
        """Tell whether sums may be those of these limits: as many, and each has one for every meter of its filter.

        A limit whose delta was divided, and of which that is forgotten, has sums and no meters.
        """
        if len(sums) != len(self._rules):
            return False
        gates = (
            self._settled[place].gate if place in self._settled else rule.gate for place, rule in enumerate(self._rules)
        )
        kinds = {(text, len(gate.meters)) for text, gate in zip(sums, gates, strict=True)}
        return all(len(sums_from_text(text)) == meters for text, meters in kinds)

    def weigh(self, sums: Sequence[str], losses: Sequence[Loss], analyst: str | None) -> Verdict:
        """Add a request to every limit that it touches and compare afterwards.

        Each limit takes the first of the alternative losses that fits it, whole. Nothing is stored here.
        """
        verdict = Verdict(sums, list(sums))
        offers = [Prices(loss) for loss in losses]
        charges: dict[tuple[int, int], tuple[Sums, str]] = {}
        refused: list[int] = []
        for places in self._together(self._places(offers), sums, offers):
            rule, before = self._rule(places[0]), sums[places[0]]
            if rule.analyst is not None and rule.analyst != analyst:
                continue
            step = _first_that_fits(rule, before, offers, charges)
            if step is None:
                continue
            if not step.fits:
                refused += places
            elif step.settles is not None:
                verdict.settles.update(dict.fromkeys(places, step.settles))
            for place in places:
                verdict.sums[place] = step.after
            verdict.charges.setdefault(step.charge, []).extend(places)
        for listed in verdict.charges.values():
            listed.sort()
        verdict.fits = not refused
        for place in sorted(refused):
            verdict.breaks += _breaks(self._rule(place), sums_from_text(sums[place]), offers)
        return verdict

    def _together(self, places: Sequence[int], sums: Sequence[str], offers: Sequence[Prices]) -> list[Sequence[int]]:
        """Return places that take the same step, which is worked out once: of one filter, with the same sums and costs.

        A limit's costs follow from how many of its names mean what to the losses. With a weight for every meaning, the
        powers of a number that no limit has as many names as, this is the sum of the weights of its names.
        """
        base = self._longest + 1
        weights: dict[str | Everything | None, int] = {None: 0, EVERYTHING: 1}
        meanings: dict[tuple[int, ...], int] = {}
        for name in self._by_name:
            meaning = tuple([offer.kind(name) for offer in offers])
            weights[name] = base ** meanings.setdefault(meaning, len(meanings) + 1)
        found: list[Sequence[int]] = []
        for part in self._parts(places, weights):
            texts = [sums[place] for place in part]
            if texts.count(texts[0]) == len(texts):
                found.append(part)
                continue
            by_sums: dict[str, list[int]] = defaultdict(list)
            for place, text in zip(part, texts, strict=True):
                by_sums[text].append(place)
            found += by_sums.values()
        return sorted(found, key=itemgetter(0))

    def _parts(self, places: Sequence[int], weights: Mapping[str | Everything | None, int]) -> list[list[int]]:
        """Return places of one filter and with the same costs; what reads all attributes alike shares them."""
        if len(places) < len(self._alike):
            return self._parted(places, weights)
        asked = tuple(weights.values())
        found = self._known_parts.get(asked)
        if found is None:
            if len(self._known_parts) >= MOST_PARTS:
                self._known_parts.clear()
            found = self._known_parts[asked] = self._parted(places, weights)
        return found

    def _parted(self, places: Sequence[int], weights: Mapping[str | Everything | None, int]) -> list[list[int]]:
        found: dict[tuple[int, int], list[int]] = defaultdict(list)
        first, second, alike = self._first, self._second, self._alike
        for place in places:
            count = weights[first[place]] + weights[second[place]]
            if place in self._further:
                count += sum([weights[name] for name in self._further[place]])
            found[alike[place], count].append(place)
        return list(found.values())

    def closings(self, verdict: Verdict) -> list[Closing]:
        """Return the routes that a request would close for good."""
        return [
            Closing(self._rule(place).name, meter)
            for places in verdict.charges.values()
            for place in places
            for meter in self._shut(verdict, place)
        ]

    def _shut(self, verdict: Verdict, place: int) -> list[Meter]:
        if place in verdict.settles:
            gate = verdict.settles[place].gate
            return _shut(gate, sums_to_text(gate.zero()), verdict.sums[place])
        gate = self._rule(place).gate
        return _shut(gate, verdict.before[place], verdict.sums[place]) if gate.meters else []

    def settle(self, places: Iterable[int], found: Settlement) -> None:
        """Fix the ceilings of limits that one request settles alike, once and for all; they share one filter."""
        shared = replace(found, gate=self._gates.setdefault(found.gate, found.gate))
        self._known_parts.clear()
        numbers: dict[int, int] = {}
        for place in places:
            before = self._alike[place]
            if before not in numbers:
                assert not self._rule(place).settled
                numbers[before] = self._number(shared.gate, self._rules[place])
            self._alike[place] = numbers[before]
            self._settled[place] = shared

    def _number(self, what: Filter | Bound, rule: LimitRule) -> int:
        return self._numbers.setdefault((what, rule.limit.people, rule.analyst), len(self._numbers))

    def _places(self, offers: Sequence[Prices]) -> Sequence[int]:
        touched = {name for offer in offers for name in offer.touched(self._by_name)}
        if len(touched) == len(self._by_name):
            return range(len(self._rules))
        return sorted(set(self._everyone).union(*[self._by_name[name] for name in touched]))


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
