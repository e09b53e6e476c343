"""An open ledger underneath its public face: opening, transactions, rules as they stand, the history."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from sfumato.errors import LedgerError, SfumatoError
from sfumato.ledger.chain import FIRST, ROLLED_BACK, Head, canonical
from sfumato.ledger.rules import Rule, Rulebook, first_rules, rules_from_json, rules_to_json
from sfumato.ledger.terms import Opening, Terms, with_schema
from sfumato.privacy import Loss

if TYPE_CHECKING:
    from sfumato.ledger.session import Session

RULE_ROWS = ("created", "late", "cap", "schema")
"""The rows that change what the ledger is; the head counts them, so that other processes notice."""

_populations: dict[str, str] = {}


class Journal:
    """The rules, the place and the transactions of one ledger."""

    def __init__(self, place: str | Path | None, opening: Opening, head: str | None) -> None:
        from sfumato.ledger.store import Store

        self._lock = RLock()
        self._rules = 0
        self._seen = Head(0, FIRST) if head is None else Head.from_text(head)
        self.book = Rulebook([])
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
        with self.session(write=False):
            opening.compare(self.terms, self.place)
        if self.terms.population is not None:
            _populations[self.terms.population] = where
        if opening.schema is not None:
            self.use_schema(opening.schema)

    def use_schema(self, fingerprint: str) -> None:
        """Name the schema, once and for all; refuse another one than the ledger was made for."""
        with self.session(write=False):
            Opening(schema=fingerprint).compare(self.terms, self.place)
        if self.terms.schema is None:
            with self.session(write=True) as session:
                if self.terms.schema is None:  # nobody else named one in between
                    self.append_rule(session, "schema", canonical(fingerprint))
            self.use_schema(fingerprint)

    def _create(self, terms: Terms) -> None:
        from sfumato.ledger.session import Session

        rules = first_rules(terms.budget, terms.analysts)
        body = canonical({**terms.to_json(), "rules": rules_to_json(rules)})
        with self.store.connection(write=True) as connection:
            if self.store.create(connection, json.dumps(Rulebook(rules).zero())):
                session = Session(connection, Head(0, FIRST), 0)
                self.append_rule(session, "created", body)
                session.finish()
        self.store.renew()

    def append_rule(self, session: Session, kind: str, body: str) -> None:
        """Add a row that changes what the ledger is; every process reads it before its next transaction."""
        session.append(kind, None, body)
        session.rules += 1

    @contextmanager
    def session(self, write: bool) -> Iterator[Session]:
        """Open one transaction; a ledger that lost rows seen before is refused."""
        with self._lock:
            with self.store.session(write) as session:
                if session.head != self._seen and not session.holds(self._seen):
                    raise LedgerError(ROLLED_BACK.format(place=self.place, row=self._seen.length))
                if session.rules != self._rules:
                    self._read_rules(session)
                yield session
            self._seen = session.head

    def _read_rules(self, session: Session) -> None:
        try:
            for number, (row, _) in enumerate(session.rows(*RULE_ROWS)):
                if number < self._rules:
                    continue
                body = json.loads(row.body)
                if row.kind == "created":
                    self.terms = Terms.from_json(body)
                    self.book = Rulebook(rules_from_json(body["rules"]))
                elif row.kind == "schema":
                    self.terms = with_schema(self.terms, body)
                else:
                    self.book.extend([Rule.from_json(body["rule"])])
        except (ValueError, KeyError, TypeError, SfumatoError) as problem:
            raise LedgerError(
                f"The rules of the ledger at {self.place} cannot be read; restore it from its newest copy."
            ) from problem
        self._rules = session.rules

    @staticmethod
    def sums(session: Session) -> list[str]:
        """Return the running sums of all limits."""
        return list(map(str, json.loads(session.sums_text())))

    @staticmethod
    def history(session: Session) -> list[tuple[tuple[Loss, ...], str | None]]:
        """Return all losses ever charged; for reports and later limits, never for a check."""
        bodies = (json.loads(row.body) for row, _ in session.rows("reserved"))
        return [(tuple(map(Loss.from_json, body["loss"])), body["analyst"]) for body in bodies]

    @property
    def head(self) -> Head:
        """The end of the chain as last seen."""
        return self._seen

    def close(self) -> None:
        """Let go of the database."""
        self.store.close()


def _only_ledger(population: str | None, place: str) -> None:
    """Refuse a second ledger on a named population: two ledgers on the same people promise the sum of both."""
    first = place if population is None else _populations.get(population, place)
    if first != place:
        raise LedgerError(
            f"The population {population!r} already has a ledger at {first}; a second one at {place} would promise the "
            "sum of both budgets. Open the first one again, or name the other people differently."
        )
