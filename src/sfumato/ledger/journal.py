"""An open ledger underneath its public face: opening, transactions, rules as they stand, the history."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from sfumato.errors import LedgerError, SfumatoError
from sfumato.exact.enclosure import load_enclosures
from sfumato.ledger.amounts import list_to_text, ranges_to_text, sums_to_text
from sfumato.ledger.chain import (
    CHANGED_RULES,
    CHANGED_SUMS,
    FIRST,
    ROLLED_BACK,
    UNREADABLE_HISTORY,
    Head,
    canonical,
    digest,
    new_mark,
)
from sfumato.ledger.keeping import Keep, Keeper
from sfumato.ledger.rules import LimitRule, Rulebook, Verdict, first_rules, rules_from_json, rules_to_json, settlements
from sfumato.ledger.slots import Directory, SlotBook, limit_sums, with_slots
from sfumato.ledger.sources import names_in_history
from sfumato.ledger.terms import Opening, Terms, with_schema
from sfumato.privacy import Loss
from sfumato.privacy.settlement import Settlement

if TYPE_CHECKING:
    from sfumato.ledger.session import Session

RULE_ROWS = ("created", "late", "cap", "schema", "settled", "marked")
"""The rows that change what the ledger is; the head counts them, so that other processes notice."""

_populations: dict[str, str] = {}


class Journal:
    """The rules, the place and the transactions of one ledger."""

    def __init__(
        self, place: str | Path | None, opening: Opening, head: str | None, keep_head: Keep | None = None
    ) -> None:
        from sfumato.ledger.store import Store

        self._lock = RLock()
        self._rules = self._last_rule = 0  # how many rows that change what the ledger is were read, and the last one
        self._as_made = True  # whether all of them are as they were sealed
        self._seen = Head(0, FIRST) if head is None else Head.from_text(head)
        self._sealed: tuple[Head, str | None] = (self._seen, None)
        self._keeper = Keeper(keep_head)
        self._mark: str | None = None
        self.unkept: set[str] = set()  # the snapshots of a ledger in memory
        self.drawn: dict[str, bytes] = {}  # answers without a seal, as long as the ledger could not take them
        self.book = Rulebook([])
        self.slots = SlotBook(())
        self.store = Store(place)
        self.place = self.store.name
        try:
            self._open(opening)
        except BaseException:
            self.store.close()
            raise

    def _open(self, opening: Opening) -> None:
        self.terms: Terms
        where = self.place if not self.store.memory else f"memory {id(self)}"
        _only_ledger(opening.population, where)
        if self.store.missing():
            self._create(opening.terms(self.place))
        kept = self._keeper.read()
        with self.session(write=False, to_look_at=True) as session:
            opening.compare(self.terms, self.place)
            self._require_held(session, kept)
        self._keeper.write(self._seen)
        if self.terms.population is not None:
            _populations[self.terms.population] = where
        if opening.schema is not None:
            self.use_schema(opening.schema)
        self.store.prepare()
        load_enclosures()
        self.book.foresee()

    def use_schema(self, fingerprint: str | tuple[str, ...]) -> None:
        """Name the schema, once and for all; refuse another one than the ledger was made for."""
        with self.session(write=False):
            Opening(schema=fingerprint).compare(self.terms, self.place)
        if self.terms.schema is None:
            with self.session(write=True) as session:
                if self.terms.schema is None:  # nobody else named one in between
                    self.append_rule(session, "schema", canonical({"schema": Opening(schema=fingerprint).schemas[0]}))
            self.use_schema(fingerprint)

    def _create(self, terms: Terms) -> None:
        from sfumato.ledger.session import FORMAT, Session

        rules = first_rules(terms.budget, terms.analysts)
        body = canonical({**terms.to_json(), "rules": rules_to_json(rules), "mark": new_mark()})
        with self.store.connection(write=True) as connection:
            zero = list_to_text(Rulebook(rules).zero())
            sums = with_slots(zero, Directory().text() if terms.budget.units else None)
            if self.store.create(connection, sums):
                session = Session(connection, Head(0, FIRST), 0, FORMAT, digest(sums))
                self.append_rule(session, "created", body)
                session.finish()
        self.store.renew()

    def append_rule(self, session: Session, kind: str, body: str) -> None:
        """Add a row that changes what the ledger is; every process reads it before its next transaction."""
        session.append(kind, None, body)
        session.rules += 1

    def settle(self, session: Session, request_id: str, verdict: Verdict) -> None:
        """Fix how limits divide their delta, in the transaction that reserves the first request that costs them."""
        sums = list(verdict.before)
        groups: dict[int, tuple[Settlement, list[int]]] = {}
        for place, found in verdict.settles.items():
            # Limits that take the same step share what it settles.
            groups.setdefault(id(found), (found, []))[1].append(place)
        for found, places in groups.values():
            zero = sums_to_text(found.gate.zero())
            for place in places:
                sums[place] = zero
        limits = [
            [ranges_to_text(places), found.shares.to_json(), found.gate.to_json()] for found, places in groups.values()
        ]
        session.save_sums(list_to_text(sums))
        self.append_rule(session, "settled", canonical({"by": request_id, "limits": limits}))

    @contextmanager
    def session(self, write: bool, to_look_at: bool = False) -> Iterator[Session]:
        """Open one transaction; a ledger that lost rows seen before is refused.

        So is one whose limits are not those that its chain seals, but `to_look_at`: somebody must say what is wrong.
        """
        with self._lock:
            kept = self._keeper.read() if write else None
            with self.store.session(write) as session:
                self._require_held(session, self._seen)
                self._require_held(session, kept)
                if session.rules != self._rules:
                    self._read_rules(session)
                if not self._as_made and not to_look_at:
                    raise LedgerError(CHANGED_RULES.format(place=self.place))
                if self._sealed[0] == session.head:
                    session.trust(self._sealed[1])
                if write:
                    self._upgrade(session)
                yield session
            self._seen = session.head
            self._sealed = (session.head, session.sealed)
            if write:
                self._keeper.write(session.head)

    def _require_held(self, session: Session, head: Head | None) -> None:
        if head is not None and session.head != head and not session.holds(head):
            raise LedgerError(ROLLED_BACK.format(place=self.place, row=head.length))

    def _upgrade(self, session: Session) -> None:
        """Make a ledger of an earlier version one of this version, in the transaction that first writes to it."""
        from sfumato.ledger.session import FORMAT, MARKED

        if session.form < FORMAT:
            self._seal_older(session)
            if session.form < MARKED:
                # Names that earlier versions gave were kept beside the data only: nobody is given them again.
                body = {"mark": new_mark(), "snapshots": names_in_history(session)}
                self.append_rule(session, "marked", canonical(body))
            session.upgrade()

    def _seal_older(self, session: Session) -> None:
        """Seal the sums of a ledger of a version that sealed none, once everything in it has been verified."""
        from sfumato.ledger.session import SEALED
        from sfumato.ledger.verify import verify

        if session.form >= SEALED:
            return
        found = verify(session, None)
        if not found.ok:
            raise LedgerError(
                f"The ledger at {self.place} was made by an older version and does not verify: {found.problems[0]} "
                "Nothing was charged; restore the newest copy."
            )
        sums = session.sums_text()
        session.trust(digest(sums))
        session.append("sealed", None, canonical({"sums": json.loads(sums)}))

    def _read_rules(self, session: Session) -> None:
        last, read = self._last_rule, self._rules
        try:
            for row, sealed in session.rows_and_whether_sealed(*RULE_ROWS, after=last):
                last, read = row.number, read + 1
                self._as_made &= sealed
                body = json.loads(row.body)
                if row.kind == "created":
                    self.terms = Terms.from_json(body)
                    self.slots = SlotBook(self.terms.budget.units)
                    self.book = Rulebook(rules_from_json(body["rules"]))
                    self._mark = body.get("mark")
                elif row.kind == "marked":
                    self._mark = body["mark"]
                elif row.kind == "settled":
                    for places, found in settlements(body):
                        self.book.settle(places, found)
                elif row.kind == "schema":
                    self.terms = with_schema(self.terms, body if isinstance(body, str) else body["schema"])
                else:
                    rule = LimitRule.from_json(body["rule"])
                    self.book.extend([rule])
                    if rule.analyst is not None:
                        self.terms = replace(self.terms, later=self.terms.later | {rule.analyst})
            _ = self.terms  # the first row has said them, or what follows it has nothing to stand on
        except (ValueError, LookupError, TypeError, AttributeError, AssertionError, SfumatoError) as problem:
            raise LedgerError(
                f"The rules of the ledger at {self.place} cannot be read; restore it from its newest copy."
            ) from problem
        self._as_made &= read == session.rules and self._has_sums_of_its_limits(session)
        self._rules, self._last_rule = session.rules, last

    def _has_sums_of_its_limits(self, session: Session) -> bool:
        """Tell whether the sums that the chain seals have the shape of the limits; of others `checked_sums` speaks."""
        from sfumato.ledger.session import SEALED

        text = session.sums_as_sealed() if session.form >= SEALED else None
        return text is None or self.book.could_have(limit_sums(text))

    def sums(self, session: Session) -> Sequence[str]:
        """Return the running sums that are shown; those of a version that sealed none wait for their first writer."""
        from sfumato.ledger.session import SEALED

        if session.form >= SEALED:
            return self.checked_sums(session)
        return limit_sums(session.sums_text())

    def checked_sums(self, session: Session) -> Sequence[str]:
        """Return the running sums, or refuse everything if they are not those that the chain seals (SM-SEAL)."""
        text = session.sums_as_sealed()
        if text is None:
            raise LedgerError(CHANGED_SUMS.format(place=self.place))
        return limit_sums(text)

    @staticmethod
    def history(session: Session, *, sealed: bool = False) -> list[tuple[tuple[Loss, ...], str | None]]:
        """Return all losses ever charged, for reports; `sealed` for later limits, which no edited row may decide."""
        rows = session.sealed_rows("reserved") if sealed else (row for row, _ in session.rows("reserved"))
        bodies = (json.loads(row.body) for row in rows)
        try:
            return [(tuple(map(Loss.from_json, body["loss"])), body["analyst"]) for body in bodies]
        except (KeyError, TypeError, ValueError) as problem:
            raise LedgerError(UNREADABLE_HISTORY) from problem

    def mark(self) -> str | None:
        """Return what no other ledger has, None in one of an earlier version that nobody has written to since."""
        if self._mark is None:
            # Of an earlier version: it is marked by whoever writes first, perhaps another process since.
            with self.session(write=False, to_look_at=True) as session:
                self._read_rules(session)
        return self._mark

    @property
    def head(self) -> Head:
        """The end of the chain as last seen."""
        return self._seen

    def close(self) -> None:
        """Let go of the database."""
        self.store.close()


def mark_at(path: Path) -> str | None:
    """Return the mark of the ledger in a file, None if there is none that can be read."""
    from sfumato.ledger.store import Store

    if not path.is_file():
        return None
    store = Store(path)
    try:
        with store.session(write=False) as session:
            bodies = [json.loads(row.body) for row, _ in session.rows("created", "marked")]
    except LedgerError:
        return None
    finally:
        store.close()
    return next((body["mark"] for body in reversed(bodies) if "mark" in body), None)


def _only_ledger(population: str | None, place: str) -> None:
    """Refuse a second ledger on a named population: two ledgers on the same people promise the sum of both."""
    first = place if population is None else _populations.get(population, place)
    if first != place:
        raise LedgerError(
            f"The population {population!r} already has a ledger at {first}; a second one at {place} would promise the "
            "sum of both budgets. Open the first one again, or name the other people differently."
        )
