"""One transaction on a ledger, and the tables that it works on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from sfumato.errors import LedgerError
from sfumato.ledger.chain import (
    FIRST,
    UNREADABLE_HISTORY,
    Head,
    Row,
    canonical,
    digest,
    sums_after,
    with_sums,
    without_sums,
)
from sfumato.ledger.slots import Directory, SlotVerdict, slots_said, with_slots

FORMAT = 7
"""Raised when an older version could not go on with what a newer one writes.

Since 2 answers may be raw draws; since 3 every row seals the sums after it; since 4 a step of a conversation is said
before it is drawn; since 5 the first question may decide how a limit divides its delta; since 6 limits may hold for
each period; since 7 a ledger has a mark of its own, and numbers of snapshots are handed out in it.
"""
SEALED = 3
"""The first format whose rows seal the sums."""
MARKED = 7
"""The first format whose ledgers have a mark."""

metadata = sa.MetaData()
head_table = sa.Table(
    "sfumato_head",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("format", sa.Integer, nullable=False),
    sa.Column("length", sa.BigInteger, nullable=False),
    sa.Column("seal", sa.String(64), nullable=False),
    sa.Column("rules", sa.Integer, nullable=False),
)
sums_table = sa.Table(
    "sfumato_sums",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("sums", sa.Text, nullable=False),
)
row_table = sa.Table(
    "sfumato_row",
    metadata,
    sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(16), nullable=False, index=True),
    sa.Column("reservation", sa.Text, index=True),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("seal", sa.String(64), nullable=False),
)
reservation_table = sa.Table(
    "sfumato_reservation",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("row", sa.BigInteger, nullable=False),
    sa.Column("request", sa.String(64), nullable=False),
    sa.Column("question", sa.String(64), index=True),
    sa.Column("step", sa.Integer, nullable=False),
    sa.Column("answer", sa.LargeBinary),
    sa.Column("memory", sa.LargeBinary),
)

finished_table = sa.Table(
    "sfumato_finished",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
"""What was computed from answers, kept to save the time; no part of the chain, and nothing is lost with it."""

step_table = sa.Table(
    "sfumato_step",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("asked", sa.LargeBinary, nullable=False),
    sa.Column("outcome", sa.LargeBinary),
    sa.Column("kept", sa.Boolean, nullable=False),
)
"""What the steps of a request asked, each said before its first coin, and what came of it once that is known."""


slot_table = sa.Table(
    "sfumato_slot",
    metadata,
    sa.Column("unit", sa.String(16), primary_key=True),
    sa.Column("bucket", sa.String(8), primary_key=True),
    sa.Column("content", sa.Text, nullable=False),
)
"""The sums of limits on each period, by unit and year; the directory that the chain seals names their digests."""

# Statements are built once: building them costs more than running them.
_ID: sa.BindParameter[Any] = sa.bindparam("wanted")
_READ_SUMS = sa.select(sums_table.c.sums)
_LAST = row_table.alias("last")
_BEFORE = row_table.alias("before")
# One look at the sums and at the two rows that say what they must be; a join costs less than a second statement.
_SUMS_AND_LAST = sa.select(
    sums_table.c.sums, _LAST.c.kind, _LAST.c.reservation, _LAST.c.body, _LAST.c.seal, _BEFORE.c.seal.label("previous")
).select_from(
    sums_table.outerjoin(_LAST, _LAST.c.number == _ID).outerjoin(_BEFORE, _BEFORE.c.number == sa.bindparam("previous"))
)
_ROWS = sa.select(row_table).where(row_table.c.number > sa.bindparam("after")).order_by(row_table.c.number)
_ROWS_OF = _ROWS.where(row_table.c.kind.in_(sa.bindparam("kinds", expanding=True)))
_WRITE_SUMS = sa.update(sums_table).values(sums=sa.bindparam("text"))
_ADD_ROW = sa.insert(row_table)
_ADD_RESERVATION = sa.insert(reservation_table)
_BODY = sa.select(row_table.c.body).where(row_table.c.number == _ID)
_SEAL = sa.select(row_table.c.seal).where(row_table.c.number == _ID)
_RESERVATION = sa.select(reservation_table).where(reservation_table.c.id == _ID)
_ANSWERED = (
    sa.select(reservation_table)
    .where(reservation_table.c.question == _ID, reservation_table.c.state == "committed")
    .order_by(reservation_table.c.row)
    .limit(1)
)
_BEGUN = (
    sa.select(reservation_table)
    .where(reservation_table.c.question == _ID, reservation_table.c.state == "started")
    .order_by(reservation_table.c.row)
)
_SAID = (
    sa.select(row_table.c.body)
    .where(row_table.c.reservation == _ID, row_table.c.kind == sa.bindparam("of_kind"))
    .order_by(row_table.c.number)
    .limit(1)
)
# Rows with the seal before them: what was stored is compared with what a row tells of it whenever it is shown.
_SEALED = sa.select(_LAST, _BEFORE.c.seal.label("previous")).select_from(
    _LAST.outerjoin(_BEFORE, _BEFORE.c.number == _LAST.c.number - 1)
)
_SEALED_ROWS = _SEALED.where(
    _LAST.c.kind.in_(sa.bindparam("kinds", expanding=True)), _LAST.c.number > sa.bindparam("after")
).order_by(_LAST.c.number)
_SEALED_SINCE = _SEALED.where(_LAST.c.number >= sa.bindparam("first")).order_by(_LAST.c.number)
_SEALED_OF = _SEALED.where(_LAST.c.reservation == _ID, _LAST.c.kind == sa.bindparam("of_kind"))
_SEALED_FIRST = _SEALED_OF.order_by(_LAST.c.number).limit(1)
_SEALED_LAST = _SEALED_OF.order_by(_LAST.c.number.desc()).limit(1)
_STATE_AND_FROZEN = sa.select(
    reservation_table.c.row,
    reservation_table.c.state,
    sa.exists().where(row_table.c.reservation == _ID, row_table.c.kind == "frozen"),
).where(reservation_table.c.id == _ID)
_LAST_FROZEN = (
    sa.select(row_table.c.body)
    .where(row_table.c.reservation == _ID, row_table.c.kind == "frozen")
    .order_by(row_table.c.number.desc())
    .limit(1)
)
_ASKED = sa.select(step_table).where(step_table.c.id == _ID).order_by(step_table.c.number)
_LAST_STEP = sa.select(sa.func.max(step_table.c.number)).where(step_table.c.id == _ID)
_DROP_STEPS = sa.delete(step_table).where(step_table.c.id == _ID)
_DROP_UNKEPT = _DROP_STEPS.where(step_table.c.kept.is_(False), step_table.c.number < sa.bindparam("before"))
_SETTLE_STEP = sa.update(step_table).where(step_table.c.id == _ID, step_table.c.number == sa.bindparam("at"))
_SLOTS = sa.select(slot_table.c.content).where(slot_table.c.unit == _ID, slot_table.c.bucket == sa.bindparam("of_year"))
_DROP_SLOTS = sa.delete(slot_table).where(slot_table.c.unit == _ID, slot_table.c.bucket == sa.bindparam("of_year"))
_FINISHED = sa.select(finished_table.c.content).where(finished_table.c.id == _ID)
_FORGET_FINISHED = sa.delete(finished_table).where(finished_table.c.id == _ID)
_STATES = sa.select(reservation_table.c.id, reservation_table.c.state)
_STEPS = sa.select(sa.func.count()).where(row_table.c.reservation == _ID, row_table.c.kind == "answered")
_CHANGE = sa.update(reservation_table).where(
    reservation_table.c.id == _ID,
    reservation_table.c.state == sa.bindparam("in_state"),
    reservation_table.c.step == sa.bindparam("at_step"),
)
_WRITE_HEAD = sa.update(head_table)


def _as_sealed(line: Any) -> tuple[Row, bool]:
    row = Row(line.number, line.kind, line.reservation, line.body)
    return row, row.seal(line.previous or FIRST) == line.seal


@dataclass(frozen=True)
class Stored:
    """A row of the table of reservations."""

    id: str
    state: Any
    row: int
    request: str
    question: str | None
    step: int
    answer: bytes | None
    memory: bytes | None


_ASKED_FOR = {"wanted": ""}
_MOVED = {"wanted": "", "in_state": "", "at_step": 0, "state": ""}
PAID: tuple[tuple[sa.Executable, Mapping[str, Any]], ...] = (
    (_SUMS_AND_LAST, {"wanted": 0, "previous": 0}),
    (_RESERVATION, _ASKED_FOR),
    (_ANSWERED, _ASKED_FOR),
    (_BEGUN, _ASKED_FOR),
    (_STATE_AND_FROZEN, _ASKED_FOR),
    (_SEALED_SINCE, {"first": 0}),
    (_SAID, {"wanted": "", "of_kind": ""}),
    (_BODY, _ASKED_FOR),
    (_SEALED_FIRST, {"wanted": "", "of_kind": ""}),
    (_SEAL, _ASKED_FOR),
    (_ADD_ROW, dict.fromkeys(row_table.c.keys())),
    (_ADD_RESERVATION, dict.fromkeys(reservation_table.c.keys())),
    (_WRITE_SUMS, {"text": ""}),
    (_WRITE_HEAD, dict.fromkeys(("length", "seal", "rules", "format"))),
    (_CHANGE, _MOVED),
    (_CHANGE, {**_MOVED, "answer": b"", "memory": None}),
)
"""The statements of a question that is paid, with the names that each is given: a ledger has them ready once open."""


class Session:
    """One transaction: what is read in it is the truth until it ends, what is written is durable or nothing."""

    def __init__(self, connection: sa.Connection, head: Head, rules: int, form: int, sealed: str | None = None) -> None:
        self.connection = connection
        self.head = head
        self.rules = rules
        self.form = form
        self._sealed = sealed  # the digest of the sums that the head vouches for, if it is known already
        self._saved: str | None = None
        self._unwritten: str | None = None
        self._before = (head, rules, form)
        self.directory: Directory | None = None  # of the sums by period, once the sums were read

    @property
    def sealed(self) -> str | None:
        """The digest of the sums that the last row sealed, None if this transaction never looked."""
        return self._sealed

    def trust(self, sealed: str | None) -> None:
        """Take the digest that belongs to this head from somebody who has read it."""
        self._sealed = sealed

    def sums_text(self) -> str:
        """Return the running sums of all limits, as JSON."""
        self._write_sums()
        text = str(self.connection.scalar(_READ_SUMS))
        self._read_directory(text)
        return text

    def _read_directory(self, text: str) -> None:
        said = slots_said(text)
        self.directory = None if said is None else Directory(said)

    def slots(self, unit: str, bucket: str) -> dict[str, str]:
        """Return the sums of the slots of one unit and year, if they are those that the chain seals."""
        assert self.directory is not None
        found = self.connection.scalar(_SLOTS, {"wanted": unit, "of_year": bucket})
        return self.directory.check(unit, bucket, {} if found is None else json.loads(found))

    def save_slots(self, verdict: SlotVerdict) -> None:
        """Replace the sums of the slots that a request changed; `save_sums` follows and seals them."""
        assert self.directory is not None
        self.directory.take(verdict)
        for (unit, bucket), content in verdict.buckets.items():
            at = {"wanted": unit, "of_year": bucket}
            self.connection.execute(_DROP_SLOTS, at)
            record = {"unit": unit, "bucket": bucket, "content": canonical(content)}
            self.connection.execute(sa.insert(slot_table), record)

    def sums_as_sealed(self) -> str | None:
        """Return the running sums if they are those that the last row sealed, None if somebody changed them (SM-SEAL).

        The stored end of the chain must be the last row's seal, that seal must be the row's, and the row must name
        the sums: three comparisons, whatever the length of the history.
        """
        self._write_sums()
        at = {"wanted": self.head.length, "previous": self.head.length - 1}
        sums, kind, reservation, body, seal, previous = self.connection.execute(_SUMS_AND_LAST, at).one()
        if seal is None or seal != self.head.seal:
            return None
        row, named = Row(self.head.length, kind, reservation, body), sums_after(body)
        if row.seal(previous or FIRST) != seal or digest(sums) != named:
            return None
        self._sealed = named
        self._read_directory(str(sums))
        return str(sums)

    def save_sums(self, limits: str) -> None:
        """Replace the running sums; the rows that are added after this seal them."""
        text = with_slots(limits, None if self.directory is None else self.directory.text())
        self._sealed = self._saved = digest(text)
        self._unwritten = text  # of several in one transaction the last is written

    def _write_sums(self) -> None:
        if self._unwritten is not None:
            self.connection.execute(_WRITE_SUMS, {"text": self._unwritten})
            self._unwritten = None

    def append(self, kind: str, reservation: str | None, body: str) -> int:
        """Add a row to the chain, with the digest of the sums after it, and return its number."""
        if self._sealed is None:
            # Handed on from row to row, never taken from the sums themselves: that would seal whatever they are now.
            self._sealed = sums_after(self.body(self.head.length))
            assert self._sealed is not None
        self._saved = None
        row = Row(self.head.length + 1, kind, reservation, with_sums(body, self._sealed))
        self.head = Head(row.number, row.seal(self.head.seal))
        self.connection.execute(_ADD_ROW, {**vars(row), "seal": self.head.seal})
        return row.number

    def rows(self, *kinds: str, after: int = 0) -> Iterator[tuple[Row, str]]:
        """Return the rows of these kinds, or all, after a number, in order, each with its seal."""
        found = _ROWS_OF if kinds else _ROWS
        for line in self.connection.execute(found, {"after": after, **({"kinds": kinds} if kinds else {})}):
            yield Row(line.number, line.kind, line.reservation, line.body), line.seal

    def body(self, number: int) -> str:
        """Return what a row says."""
        return str(self.connection.scalar(_BODY, {"wanted": number}))

    def row_of(self, kind: str, request_id: str, *, last: bool = False) -> Row | None:
        """Return the first or last row of a kind about a request; None if there is none, or it is not as sealed."""
        line = self.connection.execute(
            _SEALED_LAST if last else _SEALED_FIRST, {"wanted": request_id, "of_kind": kind}
        ).first()
        row, sealed = (None, False) if line is None else _as_sealed(line)
        return row if sealed else None

    def sealed_rows(self, kind: str) -> Iterator[Row]:
        """Return all rows of a kind in order; one that is not as it was sealed ends it."""
        for row, sealed in self.rows_and_whether_sealed(kind):
            if not sealed:
                raise LedgerError(UNREADABLE_HISTORY)
            yield row

    def rows_and_whether_sealed(self, *kinds: str, after: int = 0) -> Iterator[tuple[Row, bool]]:
        """Return the rows of these kinds after a number, in order, each with whether it is as it was sealed."""
        return map(_as_sealed, self.connection.execute(_SEALED_ROWS, {"kinds": kinds, "after": after}))

    def unchanged_since(self, number: int) -> bool:
        """Tell whether all rows from this one to the end are there and as they were sealed."""
        found = [_as_sealed(line) for line in self.connection.execute(_SEALED_SINCE, {"first": number})]
        return len(found) == self.head.length - number + 1 and all(sealed for _, sealed in found)

    def steps(self, request_id: str) -> int:
        """Return how many states of a conversation the chain has seen."""
        return int(self.connection.scalar(_STEPS, {"wanted": request_id}) or 0)

    def holds(self, head: Head) -> bool:
        """Tell whether a head seen earlier is still part of this chain."""
        if head.length == 0:
            return head.seal == FIRST
        found = self.connection.scalar(_SEAL, {"wanted": head.length})
        return head.length <= self.head.length and found == head.seal

    def damage(self) -> tuple[str, ...]:
        """Return where a SQLite file contradicts itself: rows are found by indexes, which no row seals."""
        if self.connection.dialect.name != "sqlite":
            return ()
        found = self.connection.exec_driver_sql("PRAGMA integrity_check(5)").scalars()
        return tuple(str(line) for line in found if line != "ok")

    def reservation(self, request_id: str) -> Stored | None:
        """Return a reservation by its id."""
        return self._one(_RESERVATION, request_id)

    def answered(self, question: str) -> Stored | None:
        """Return the first committed answer to a question."""
        return self._one(_ANSWERED, question)

    def begun(self, question: str) -> list[Stored]:
        """Return what was started for a question and has neither an answer nor died, first ones first."""
        return [Stored(*line) for line in self.connection.execute(_BEGUN, {"wanted": question})]

    def said(self, request_id: str, kind: str) -> str | None:
        """Return what the first row of a kind says about a request, None if there is none."""
        found = self.connection.scalar(_SAID, {"wanted": request_id, "of_kind": kind})
        return None if found is None else without_sums(str(found))

    def vouches(self, request_id: str, answer: bytes | None) -> bool:
        """Tell whether the chain's row of a committed answer is as it was sealed, and names these very bytes."""
        row = self.row_of("committed", request_id)
        named = None if row is None else json.loads(row.body).get("answer")
        return isinstance(answer, bytes) and named == digest(answer)  # a damaged file may hold anything

    def freezable(self, request_id: str) -> bool | None:
        """Tell whether a request was started and nothing was put beyond change for it yet, None if there is none.

        A row since it was charged that is not as it was sealed may say that it was drawn, so that it must not be again.
        """
        found = self.connection.execute(_STATE_AND_FROZEN, {"wanted": request_id}).first()
        if found is None:
            return None
        if not self.unchanged_since(found.row):
            raise LedgerError(UNREADABLE_HISTORY)
        return bool(found.state == "started" and not found[2])

    def last_frozen(self, request_id: str) -> str | None:
        """Return what the last frozen row says about a request: those that are answered in steps may have several."""
        found = self.connection.scalar(_LAST_FROZEN, {"wanted": request_id})
        return None if found is None else without_sums(str(found))

    def asked_steps(self, request_id: str) -> list[tuple[int, bytes, bytes | None]]:
        """Return number, question and outcome of the steps of a request that are kept, first ones first."""
        lines = self.connection.execute(_ASKED, {"wanted": request_id})
        return [(line.number, line.asked, line.outcome) for line in lines]

    def last_step(self, request_id: str) -> int:
        """Return the number of the last step that was said, 0 if there is none."""
        return int(self.connection.scalar(_LAST_STEP, {"wanted": request_id}) or 0)

    def add_step(self, request_id: str, number: int, asked: bytes, kept: bool) -> None:
        """Write what a step asks."""
        record = {"id": request_id, "number": number, "asked": asked, "outcome": None, "kept": kept}
        self.connection.execute(sa.insert(step_table), record)

    def settle_step(self, request_id: str, number: int, outcome: bytes) -> None:
        """Write what came of a step."""
        self.connection.execute(_SETTLE_STEP, {"wanted": request_id, "at": number, "outcome": outcome})

    def drop_steps(self, request_id: str, before: int | None = None) -> None:
        """Forget all steps of a request, or those before one that need not be kept."""
        if before is None:
            self.connection.execute(_DROP_STEPS, {"wanted": request_id})
        else:
            self.connection.execute(_DROP_UNKEPT, {"wanted": request_id, "before": before})

    def upgrade(self) -> None:
        """Make the tables that a ledger of an earlier version does not have."""
        step_table.create(self.connection, checkfirst=True)
        slot_table.create(self.connection, checkfirst=True)
        self.form = FORMAT

    def finished(self, request_id: str) -> bytes | None:
        """Return what was computed from an answer before, if it was kept."""
        if not sa.inspect(self.connection).has_table(finished_table.name):
            return None  # a ledger that an earlier version made
        return self.connection.scalar(_FINISHED, {"wanted": request_id})

    def keep_finished(self, request_id: str, content: bytes) -> None:
        """Keep what was computed from an answer."""
        finished_table.create(self.connection, checkfirst=True)
        self.connection.execute(_FORGET_FINISHED, {"wanted": request_id})
        self.connection.execute(sa.insert(finished_table), {"id": request_id, "content": content})

    def reservations(self) -> Iterator[Stored]:
        """Return all reservations in the order of their rows."""
        for line in self.connection.execute(sa.select(reservation_table).order_by(reservation_table.c.row)):
            yield Stored(*line)

    def states(self) -> dict[str, Any]:
        """Return the state of every reservation by its id, without answers."""
        return {line.id: line.state for line in self.connection.execute(_STATES)}

    def _one(self, query: sa.Select[Any], wanted: str) -> Stored | None:
        line = self.connection.execute(query, {"wanted": wanted}).first()
        return None if line is None else Stored(*line)

    def add_reservation(self, stored: Stored) -> None:
        """Write a new reservation."""
        self.connection.execute(_ADD_RESERVATION, vars(stored))

    def change(self, request_id: str, in_state: str, at_step: int, **values: Any) -> bool:
        """Compare and set: change a reservation only if it is in this state and at this step."""
        same = {"wanted": request_id, "in_state": in_state, "at_step": at_step}
        return self.connection.execute(_CHANGE, {**same, **values}).rowcount == 1

    def finish(self) -> None:
        """Write the new end of the chain, if anything was added."""
        assert self._saved is None, "sums are saved before the row that seals them"
        self._write_sums()
        if (self.head, self.rules, self.form) != self._before:
            now = {"length": self.head.length, "seal": self.head.seal, "rules": self.rules, "format": self.form}
            self.connection.execute(_WRITE_HEAD, now)
