"""Limits that hold for each period on its own: a family of filters, one for every slot of a unit (PB-UNIT).

A *unit* is what is hidden: everything that one person did on one day, in one month, in one shop. A *slot* is one such
day, month or shop, by its name. All slots of a unit have the same ceilings, fixed when the ledger is made. A request
says for every unit which slots it reads and at which loss; it passes if every limit passes at every slot.

Sums are sparse: a slot that was never charged has none. They lie in buckets, one for each year, say, and what the chain
seals is a directory with the digest of every bucket, so that a check reads and writes only what it touches.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger.amounts import at_most, list_from_text, sums_from_text, sums_to_text
from sfumato.ledger.budget import Limit
from sfumato.ledger.chain import canonical, digest
from sfumato.ledger.readings import Reading
from sfumato.ledger.reservation import Break
from sfumato.ledger.rules import LimitRule, Verdict
from sfumato.ledger.units import Unit
from sfumato.privacy import EVERYTHING, Bound, Loss
from sfumato.privacy.filters import Filter, filter_of

Bucket = dict[str, str]
"""The sums of some slots, as text."""
Load = Callable[[str, str], Bucket]


@dataclass(frozen=True)
class SlotCharge:
    """The slots of one unit that a request reads, and what it costs in each of them."""

    unit: str
    slots: tuple[str, ...]
    losses: tuple[Loss, ...]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back."""
        return {"unit": self.unit, "slots": list(self.slots), "loss": [loss.to_json() for loss in self.losses]}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> SlotCharge:
        """Read what `to_json` wrote."""
        return cls(record["unit"], tuple(record["slots"]), tuple(map(Loss.from_json, record["loss"])))


@dataclass
class SlotVerdict:
    """What a request would do to the slots: their buckets afterwards, its charges, and what it would break."""

    fits: bool = True
    buckets: dict[tuple[str, str], Bucket] = field(default_factory=dict)
    charges: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    single: dict[str, bool] = field(default_factory=dict)
    breaks: list[Break] = field(default_factory=list)


class Directory:
    """The digest of every bucket, and for each unit whether every release so far read one slot of it."""

    def __init__(self, text: str | None = None) -> None:
        record = {"buckets": {}, "single": {}} if text is None else json.loads(text)
        self.buckets: dict[str, dict[str, str]] = record["buckets"]
        self.single: dict[str, bool] = record["single"]

    def text(self) -> str:
        """Return the one text of the directory."""
        return canonical({"buckets": self.buckets, "single": self.single})

    def take(self, verdict: SlotVerdict) -> None:
        """Enter what a request changed."""
        for (unit, bucket), content in verdict.buckets.items():
            self.buckets.setdefault(unit, {})[bucket] = digest(canonical(content))
        self.single.update(verdict.single)

    def check(self, unit: str, bucket: str, content: Bucket) -> Bucket:
        """Return a bucket if it is the one that the chain seals; refuse everything otherwise (SM-SEAL)."""
        sealed = self.buckets.get(unit, {}).get(bucket)
        if (digest(canonical(content)) if content else None) != sealed:
            raise LedgerError(
                f"The sums of {unit} {bucket} were changed outside the ledger; run ledger.verify(). Nothing was "
                "charged. Restore the newest copy."
            )
        return content


def with_slots(limits: str, directory: str | None) -> str:
    """Return the text that the chain seals: the sums of limits on people, and the directory of slots if any."""
    return limits if directory is None else f'{{"limits":{limits},"slots":{directory}}}'


def limit_sums(text: str) -> Sequence[str]:
    """Return the sums of limits on people out of the text that the chain seals."""
    return list(map(str, json.loads(text)["limits"])) if text.startswith("{") else list_from_text(text)


def slots_said(text: str) -> str | None:
    """Return the directory out of the text that the chain seals."""
    found = json.loads(text) if text.startswith("{") else None
    return None if found is None else canonical(found["slots"])


class SlotBook:
    """The limits of a ledger that hold slot by slot."""

    def __init__(self, units: Sequence[tuple[str, Bound]]) -> None:
        self.bounds = dict(units)
        self._gates: dict[str, Filter] = {unit: filter_of(bound) for unit, bound in units}

    def require(self, charges: Sequence[SlotCharge] | None) -> tuple[SlotCharge, ...]:
        """Refuse a request that does not say for every unit what it reads."""
        given = tuple(charges or ())
        named = {charge.unit for charge in given}
        if named != set(self.bounds):
            wanted = "; ".join(self.bounds) or "no unit of time"
            raise ParameterError(
                f"This ledger limits {wanted}, so a request must say for each which periods it reads, and this one "
                f"speaks of {'; '.join(sorted(named)) or 'none'}; write curator.of('2026-11', stamp='at').count(…), "
                "with the column that says when a row happened, or ask through a publication."
            )
        for unit in named:
            slots = [slot for charge in given if charge.unit == unit for slot in charge.slots]
            if len(set(slots)) != len(slots):
                raise ParameterError(f"A request names a {unit} twice; name each once.")
        return given

    def weigh(self, charges: Iterable[SlotCharge], load: Load) -> SlotVerdict:
        """Add a request to every slot that it reads and compare afterwards; nothing is stored here."""
        verdict = SlotVerdict()
        steps: dict[tuple[str, str, int], tuple[str, str, bool]] = {}
        for number, charge in enumerate(charges):
            if all(loss.person.is_zero for loss in charge.losses):
                continue
            read = sum(len(other.slots) for other in charges if other.unit == charge.unit)
            if read > 1:
                verdict.single[charge.unit] = False
            for slot in charge.slots:
                held = _bucket(verdict, load, charge.unit, slot)
                before = held.get(slot, "")
                key = (charge.unit, before, number)
                if key not in steps:
                    steps[key] = self._step(charge, before)
                after, said, fits = steps[key]
                if not fits:
                    verdict.fits = False
                    verdict.breaks += self._breaks(charge, slot, before)
                held[slot] = after
                verdict.charges.setdefault(charge.unit, {}).setdefault(said, []).append(slot)
        return verdict

    def _step(self, charge: SlotCharge, before: str) -> tuple[str, str, bool]:
        """Take the first of the alternative losses that fits, or else the first of all."""
        gate = self._gates[charge.unit]
        sums = sums_from_text(before) if before else gate.zero()
        taken = []
        for loss in charge.losses:
            added = gate.charge(loss.person)
            after = gate.add(sums, added)
            taken.append((sums_to_text(after), sums_to_text(added), gate.fits(after)))
            if taken[-1][2]:
                return taken[-1]
        return taken[0]

    def _breaks(self, charge: SlotCharge, slot: str, before: str) -> list[Break]:
        gate, bound = self._gates[charge.unit], self.bounds[charge.unit]
        sums = sums_from_text(before) if before else gate.zero()
        rows = gate.broken(sums, charge.losses[0].person)
        limit = Limit(EVERYTHING, bound)
        return [Break(f"{charge.unit} {slot}", limit, meter, asked, rest) for meter, asked, rest in rows]

    def reading(self, unit: str, slot: str, load: Load) -> Reading:
        """Return the meters of one slot: what is used of it so far, which is no guarantee."""
        if unit not in self.bounds:
            raise ParameterError(f"This ledger has no limit on each {unit}; it has {'; '.join(self.bounds) or 'none'}.")
        text, gate = load(unit, Unit.read(unit).bucket(slot)).get(slot, ""), self._gates[unit]
        rule = LimitRule(Limit(EVERYTHING, self.bounds[unit]), gate)
        return Reading(rule, sums_from_text(text) if text else gate.zero())

    def replay(self, charges: Sequence[SlotCharge], stored: Mapping[str, Any], load: Load) -> tuple[SlotVerdict, bool]:
        """Return what a stored request did by what its row says, and whether that covers what it costs."""
        fresh = self.weigh(charges, load)
        wanted = {
            (unit, slot): said for unit, by in fresh.charges.items() for said, slots in by.items() for slot in slots
        }
        given = {(unit, slot): said for unit, by in stored.items() for said, slots in by.items() for slot in slots}
        covered = set(wanted) <= set(given) and all(
            all(map(at_most, sums_from_text(wanted[key]), sums_from_text(given[key]))) for key in wanted
        )
        found = SlotVerdict(single=fresh.single)
        for (unit, slot), said in given.items():
            held = _bucket(found, load, unit, slot)
            gate = self._gates[unit]
            before = sums_from_text(held[slot]) if slot in held else gate.zero()
            held[slot] = sums_to_text(gate.add(before, sums_from_text(said)))
        return found, covered

    def passed(self, unit: str, bucket: Bucket) -> list[str]:
        """Return the slots of a bucket whose sums have passed their limit."""
        gate = self._gates[unit]
        return [slot for slot, text in bucket.items() if not gate.fits(sums_from_text(text))]


def joined(verdict: Verdict, by_slot: SlotVerdict) -> Verdict:
    """Return the verdict of all limits together."""
    return replace(verdict, fits=verdict.fits and by_slot.fits, breaks=[*verdict.breaks, *by_slot.breaks])


def _bucket(verdict: SlotVerdict, load: Load, unit: str, slot: str) -> Bucket:
    key = (unit, Unit.read(unit).bucket(slot))
    if key not in verdict.buckets:
        verdict.buckets[key] = dict(load(*key))
    return verdict.buckets[key]
