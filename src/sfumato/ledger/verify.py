"""Verification: the chain, the charges, the sums and the states, all worked out again from what is stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.errors import BudgetExceeded, LedgerError
from sfumato.ledger import wording
from sfumato.ledger.amounts import at_most, ranges_from_text, sums_from_text, sums_to_text
from sfumato.ledger.budget import Budget
from sfumato.ledger.chain import FIRST, Head, Row, digest, sums_after
from sfumato.ledger.request import fingerprint_of
from sfumato.ledger.rules import LimitRule, Rulebook, rules_from_json, settlements
from sfumato.ledger.slots import Bucket, Directory, SlotBook, SlotCharge, limit_sums, slots_said, with_slots
from sfumato.privacy import Approximate, Loss
from sfumato.privacy.filters import Sums
from sfumato.privacy.settlement import Settlement

if TYPE_CHECKING:
    from sfumato.ledger.session import Session, Stored

NEXT: dict[str, dict[str | None, str]] = {
    "reserved": {None: "reserved"},
    "started": {"reserved": "started"},
    "committed": {"started": "committed"},
    "dead": {"reserved": "dead", "started": "dead"},
    "answered": {"started": "started"},
    "frozen": {"started": "started"},
}
"""For each kind of row the states in which it may find a reservation, and what it makes of them."""


@dataclass(frozen=True)
class Verification:
    """What a verification found; it is true if nothing is wrong."""

    rows: int
    reservations: int
    head: str
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __bool__(self) -> bool:
        return self.ok


@dataclass
class _Audit:
    """The ledger as its rows tell it."""

    book: Rulebook = field(default_factory=lambda: Rulebook([]))
    sums: list[str] = field(default_factory=list)
    slot_book: SlotBook = field(default_factory=lambda: SlotBook(()))
    directory: Directory | None = None
    slots: dict[tuple[str, str], Bucket] = field(default_factory=dict)
    past: list[tuple[tuple[Loss, ...], str | None]] = field(default_factory=list)
    states: dict[str, str] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    questions: dict[str, str | None] = field(default_factory=dict)
    asked: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Of each request its row, and the fingerprint of what that says."""
    memories: dict[str, str | None] = field(default_factory=dict)
    frozen: set[tuple[str, int | None]] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    sealed: str | None = None
    settling: dict[int, Settlement] = field(default_factory=dict)
    """The limits that the last row settled, until the request that it names is charged."""
    settler: str = ""

    def bucket(self, unit: str, bucket: str) -> Bucket:
        return self.slots.get((unit, bucket), {})

    def wrong(self, row: Row, what: str) -> None:
        self.problems.append(f"Row {row.number} ({row.kind}): {what}.")


def verify(session: Session, head: Head | None) -> Verification:
    """Work everything out again; `head`, kept elsewhere, shows whether the ledger was rolled back."""
    audit = _Audit()
    seal, number = FIRST, 0
    for row, stored_seal in session.rows():
        number += 1
        seal = row.seal(seal)
        if row.number != number or seal != stored_seal:
            audit.wrong(row, "the hash chain is broken here: a row was changed, removed or put in")
            break
        _replay(audit, row)
        _compare_seal(audit, row)
    if not audit.problems:
        if session.head != Head(number, seal):
            audit.problems.append("The chain does not end where the ledger says that it ends.")
        stored = session.sums_text()
        if audit.sealed is not None and digest(stored) != audit.sealed:
            audit.problems.append("The sums are not those that the last row sealed.")
        _compare_sums(audit, limit_sums(stored))
        _compare_slots(audit, session, slots_said(stored))
        _compare_states(audit, list(session.reservations()))
    audit.problems += [
        f"The file itself is damaged, so that rows may not be found: {found}." for found in session.damage()
    ]
    if head is not None and not session.holds(head):
        audit.problems.append(
            f"The ledger does not hold row {head.length} as {head.to_text()!r} says: it was rolled back to an older "
            "copy or written anew, or what was kept of it was mistyped."
        )
    return Verification(number, len(audit.states), session.head.to_text(), tuple(audit.problems))


def _replay(audit: _Audit, row: Row) -> None:
    body: dict[str, Any] = json.loads(row.body)
    if row.kind == "created":
        audit.book = Rulebook(rules_from_json(body["rules"]))
        audit.sums = audit.book.zero()
        units = Budget.from_json(body["budget"]).units
        audit.slot_book = SlotBook(units)
        audit.directory = Directory() if units else None
    elif row.kind in ("late", "cap"):
        _replay_rule(audit, row, body)
    elif row.kind == "settled":
        _replay_settling(audit, row, body)
    elif row.kind == "sealed":
        _replay_sealing(audit, row, body["sums"])
    elif row.kind in NEXT:
        _replay_state(audit, row, body)


def _replay_sealing(audit: _Audit, row: Row, sums: list[str]) -> None:
    """Go on from the sums that were found when a ledger of an older version was first sealed."""
    covered = len(sums) == len(audit.sums) and all(
        _covered(sums_from_text(added), sums_from_text(stored)) for added, stored in zip(audit.sums, sums, strict=True)
    )
    if not covered:
        audit.wrong(row, "the sums that were sealed are smaller than what was charged")
    audit.sums = list(sums)


def _compare_seal(audit: _Audit, row: Row) -> None:
    """From the first row on that seals the sums, every row must, and with what its charges add up to."""
    named = sums_after(row.body)
    if named is None and audit.sealed is not None:
        audit.wrong(row, "it seals no sums, although rows before it do")
    elif named is not None and named != audit.sealed and named != digest(_written(audit)):
        audit.wrong(row, "the sums that it seals are not what was charged so far")
    audit.sealed = named if named is not None else audit.sealed


def _replay_rule(audit: _Audit, row: Row, body: dict[str, Any]) -> None:
    rule = LimitRule.from_json(body["rule"])
    if not _covered(sums_from_text(past_sums(rule, audit.past)[1]), sums_from_text(body["sums"])):
        audit.wrong(row, "the sums of a later limit leave out some of the history")
    limit, shares = rule.limit.bound, rule.shares
    if shares is not None and isinstance(limit, Approximate) and not shares.keeps(limit, rule.gate):
        audit.wrong(row, f"the ceilings of {rule.name} are larger than its parts of delta allow")
    audit.book.extend([rule])
    audit.sums.append(body["sums"])


def past_sums(rule: LimitRule, past: list[tuple[tuple[Loss, ...], str | None]]) -> tuple[LimitRule, str]:
    """Return a limit and what it would show after a history; reads all of it, so never part of a check.

    A limit whose delta is not divided is settled by the first stored request that costs it something, never by one to
    come; if that one never fits, it stays open and has no sums although something was spent.
    """
    book = Rulebook([rule])
    sums = book.zero()
    for losses, analyst in past:
        verdict = book.weigh(sums, losses, analyst)
        if verdict.settles:
            book.settle([0], verdict.settles[0])
        elif not verdict.fits and not book.rules[0].settled:
            raise BudgetExceeded(wording.PASSED.format(bound=str(rule.limit.bound), name=rule.name))
        sums = verdict.sums
    return book.rules[0], sums[0]


def _replay_settling(audit: _Audit, row: Row, body: dict[str, Any]) -> None:
    """Fix what a row says, and remember it: the request that it names must be the next, and cost these limits."""
    audit.settler, audit.settling = body["by"], {}
    for place, found in ((place, found) for places, found in settlements(body) for place in places):
        if place >= len(audit.book.rules) or audit.book.rules[place].settled:
            audit.wrong(row, "it divides the delta of a limit for which that is fixed already")
            continue
        limit = audit.book.rules[place].limit.bound
        assert isinstance(limit, Approximate)
        if not found.shares.keeps(limit, found.gate):
            audit.wrong(row, f"the ceilings of {audit.book.rules[place].name} are larger than its parts of delta allow")
        audit.book.settle([place], found)
        audit.sums[place] = sums_to_text(found.gate.zero())
        audit.settling[place] = found


def _compare_settling(audit: _Audit, row: Row, stored: dict[int, Sums]) -> None:
    """A limit is settled by the first request that costs it something, in the same transaction, never later."""
    unsettled = [place for place in stored if not audit.book.rules[place].settled]
    if unsettled:
        audit.wrong(row, f"it is charged to {audit.book.rules[unsettled[0]].name}, whose delta was not divided yet")
    if audit.settling and str(row.reservation) != audit.settler:
        audit.wrong(row, "another request divided the delta of a limit than the one that was charged first")
    for place, found in audit.settling.items():
        name, limit = audit.book.rules[place].name, audit.book.rules[place].limit.bound
        assert isinstance(limit, Approximate)
        if place not in stored:
            audit.wrong(row, f"it divided the delta of {name}, which it costs nothing")
        elif not found.shares.allowed(limit, stored[place][0]):
            audit.wrong(row, f"the delta of {name} is divided as no first question divides it")
    audit.settling = {}


def _replay_state(audit: _Audit, row: Row, body: dict[str, Any]) -> None:
    name = str(row.reservation)
    state = audit.states.get(name)
    if state not in NEXT[row.kind]:
        audit.wrong(row, f"{name!r} was {state or 'unknown'}, so this must not have happened")
        return
    audit.states[name] = NEXT[row.kind][state]
    if row.kind == "reserved":
        audit.questions[name] = body["question"]
        audit.asked[name] = row.number, fingerprint_of(body)
        _replay_charges(audit, row, body)
    elif row.kind == "committed":
        audit.answers[name] = body["answer"]
    elif row.kind == "frozen":
        # What is answered in steps may be frozen once after each.
        at = (name, body.get("step"))
        if at in audit.frozen or at[1] not in (None, audit.steps.get(name, 0)):
            audit.wrong(row, f"{name!r} was frozen before, and one charge buys one draw")
        audit.frozen.add(at)
    elif row.kind == "answered":
        audit.steps[name] = audit.steps.get(name, 0) + 1
        if body["step"] != audit.steps[name]:
            audit.wrong(row, f"the conversation {name!r} skips or repeats an answer")
        audit.memories[name] = body.get("state")


def _replay_charges(audit: _Audit, row: Row, body: dict[str, Any]) -> None:
    losses = tuple(Loss.from_json(record) for record in body["loss"])
    stored: dict[int, Sums] = {}
    for charge, places in body["charges"].items():
        for place in ranges_from_text(places):
            stored[place] = sums_from_text(charge)
    if any(place >= len(audit.sums) for place in stored):
        audit.wrong(row, "a charge names a limit that does not exist")
        return
    _compare_settling(audit, row, stored)
    if audit.problems:
        return
    verdict = audit.book.weigh(audit.sums, losses, body["analyst"])
    for charge, places_now in verdict.charges.items():
        fresh = sums_from_text(charge)
        for place in places_now:
            nothing = tuple(Fraction(0) for _ in fresh)
            if not _covered(fresh, stored.get(place, nothing)):
                audit.wrong(row, f"the charge stored for {audit.book.rules[place].name} is too small")
    if audit.directory is not None:
        _replay_slots(audit, row, body)
    for place, amount in stored.items():
        gate = audit.book.rules[place].gate
        audit.sums[place] = sums_to_text(gate.add(sums_from_text(audit.sums[place]), amount))
    audit.past.append((losses, body["analyst"]))


def _replay_slots(audit: _Audit, row: Row, body: dict[str, Any]) -> None:
    charges = [SlotCharge.from_json(record) for record in body.get("slots", [])]
    found, covered = audit.slot_book.replay(charges, body.get("slot_charges", {}), audit.bucket)
    if not covered:
        audit.wrong(row, "the charge stored for some period is too small")
    assert audit.directory is not None
    if found.buckets:
        audit.directory.take(found)
    audit.slots.update(found.buckets)


def _written(audit: _Audit) -> str:
    return with_slots(json.dumps(audit.sums), None if audit.directory is None else audit.directory.text())


def _compare_slots(audit: _Audit, session: Session, said: str | None) -> None:
    if said != (None if audit.directory is None else audit.directory.text()):
        audit.problems.append("The sums by period are not what was charged.")
        return
    for unit, bucket in audit.slots:
        try:
            stored = session.slots(unit, bucket)
        except LedgerError:
            audit.problems.append(f"The sums of {unit} {bucket} are not those that the chain seals.")
            continue
        audit.problems += [
            f"The sums of {unit} {slot} have passed its limit." for slot in audit.slot_book.passed(unit, stored)
        ]


def _covered(fresh: Sums, stored: Sums) -> bool:
    return len(fresh) == len(stored) and all(map(at_most, fresh, stored))


def _compare_sums(audit: _Audit, texts: Sequence[str]) -> None:
    if len(texts) != len(audit.sums):
        audit.problems.append("The ledger holds sums for another number of limits than it has.")
        return
    for rule, text, added in zip(audit.book.rules, texts, audit.sums, strict=True):
        stored = sums_from_text(text)
        if not _covered(sums_from_text(added), stored):
            audit.problems.append(f"The sums of {rule.name} are smaller than what was charged.")
        if rule.settled and not rule.cap and not rule.gate.fits(stored):
            audit.problems.append(f"The sums of {rule.name} have passed its limit.")


def _compare_states(audit: _Audit, reservations: list[Stored]) -> None:
    if {stored.id: stored.state for stored in reservations} != audit.states:
        audit.problems.append("The states of the reservations are not those that the chain tells.")
    for stored in reservations:
        question = audit.questions.get(stored.id)
        if (stored.row, stored.request) != audit.asked.get(stored.id):
            audit.problems.append(f"What is stored of {stored.id!r} belongs to another request.")
        named = audit.memories.get(stored.id)
        memory = stored.memory if isinstance(stored.memory, bytes) or stored.memory is None else b""
        if named is not None and memory is not None and digest(memory) != named:
            audit.problems.append(f"The state of the conversation {stored.id!r} is not the one that was stored.")
        if stored.question != (None if question is None else digest(question)):
            audit.problems.append(f"The question of {stored.id!r} is not the one that was asked.")
        if stored.step != audit.steps.get(stored.id, 0):
            audit.problems.append(f"The state of the conversation {stored.id!r} is not the one last answered from.")
        answer = stored.answer if isinstance(stored.answer, bytes) else b""
        if stored.state == "committed" and digest(answer) != audit.answers.get(stored.id):
            audit.problems.append(f"The answer of {stored.id!r} is not the one that was committed.")
