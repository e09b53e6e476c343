"""Conversations over HTTP: opened and paid for once, then asked condition by condition; they go on after a restart."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from threading import BoundedSemaphore, Lock
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from sfumato.ask.question import fits
from sfumato.errors import BudgetExceeded, Overtaken, ParameterError
from sfumato.ledger.wording import cost_text, refusal_text
from sfumato.privacy import Bound, Loss
from sfumato.questions.conversation import Conversation
from sfumato.questions.conversation.opening import Proposal
from sfumato.questions.conversation.priors import start_of
from sfumato.questions.conversation.reply import Reply
from sfumato.serve.asked import planning, read_spend
from sfumato.serve.cautions import heard
from sfumato.serve.desks import Desk
from sfumato.serve.house import Service
from sfumato.serve.identity import Identity
from sfumato.serve.jobs import DECLINED
from sfumato.serve.openings import APPROVED, SAID, Opening, Openings
from sfumato.serve.problems import NOWHERE, Denied, busy
from sfumato.serve.store import Store, now
from sfumato.serve.store import talks as table
from sfumato.serve.ticks import next_tick
from sfumato.table.measure import Rows
from sfumato.workload.space import Space

MOST_OPEN = 16
"""So many conversations are held in memory; others are opened again from the ledger when they are asked."""
AT_ONCE = 8
"""So many requests to conversations wait for a data set; further ones are asked to come again."""
MOST_CONDITIONS = 1000
MOST_QUERIES = 1_000_000
UNREADABLE = (
    'Open a conversation with {"columns": ["age", "sex"], "spend": "Approximate(1, 1e-6)"}, say; queries is optional.'
)
OTHER = "This Idempotency-Key belongs to another conversation; give each a key of its own."


@dataclass(frozen=True)
class Terms:
    """What a conversation is about: columns, how many conditions are expected, and what it may cost."""

    columns: tuple[str, ...] | None
    queries: int
    spend: Bound

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `read_terms` reads back."""
        listed = None if self.columns is None else list(self.columns)
        return {"columns": listed, "queries": self.queries, "spend": self.spend.to_json()}

    @property
    def text(self) -> str:
        """What it is about, in a line."""
        about = "all columns" if self.columns is None else ", ".join(self.columns)
        return f"a conversation about {about}, {self.queries:,} conditions expected, for {self.spend}"


def read_terms(record: Any) -> Terms:
    """Return what a body opens."""
    if not isinstance(record, Mapping) or set(record) - {"columns", "queries", "spend"}:
        raise ParameterError(UNREADABLE)
    columns, queries = record.get("columns"), record.get("queries", 1000)
    if columns is not None and not (isinstance(columns, list) and all(isinstance(one, str) for one in columns)):
        raise ParameterError(UNREADABLE)
    if isinstance(queries, bool) or not isinstance(queries, int) or not 1 <= queries <= MOST_QUERIES:
        raise ParameterError(
            f"queries says how many conditions are expected; write a number from 1 to {MOST_QUERIES:,}."
        )
    spend = read_spend(record.get("spend"))
    if spend is None:
        raise ParameterError(UNREADABLE)
    return Terms(None if columns is None else tuple(columns), queries, spend)


def proposed(desk: Desk, terms: Terms) -> Proposal:
    """Return what a conversation would be, from public facts alone."""
    if desk.several:
        raise ParameterError(f"{desk.name} has several tables; ask in SQL, conversations are about one table.")
    basis = desk.front.basis
    space = Space.of(basis.schema, terms.columns)
    gauge = basis.gauge(Rows(space.names))
    spend, start = gauge.priced(terms.spend), start_of(space, None)
    return Proposal(gauge, space, spend, terms.queries, Fraction(1, 20), "auto", True, None, start)


@dataclass(frozen=True)
class Talk:
    """A conversation as it is kept: what it is about, and whose."""

    dataset: str
    name: str
    key: str
    terms: Terms

    @property
    def request(self) -> str:
        """What the ledger knows it by: no key of a question holds the stroke."""
        return f"{self.dataset}:{quote(self.name, safe='@')}/{self.key}"

    def to_json(self) -> dict[str, Any]:
        """Return what its owner sees of it."""
        return {"conversation": self.key, "request": self.request, **self.terms.to_json()}


class Talks:
    """All conversations of a house; one at a time looks at a data set, as questions do."""

    def __init__(self, store: Store, service: Service) -> None:
        self.store, self.service = store, service
        self.openings = Openings(store)
        self._open: OrderedDict[str, Conversation] = OrderedDict()
        self._lock = Lock()
        self._places = BoundedSemaphore(AT_ONCE)

    def foresee(self, desk: Desk, who: Identity, terms: Terms) -> dict[str, Any]:
        """Say what a conversation would cost and how far its replies would be off; free."""
        desk.admit(who.name)
        with planning(), heard() as said:
            proposal = proposed(desk, terms)
            losses = proposal.losses()
            seen = desk.front.ledger.preview(losses, who.name)
            total = proposal.gauge.total
            plan = None if total is None else proposal.plan(total)
        advice = [] if plan is None else [plan.advice if plan.verdict != "converse" else "", proposal.beside(plan)]
        cautions = [*said, *filter(None, advice)]
        error = None if plan is None else min(plan.error, 1.0)
        return {
            "fits": seen.fits,
            "text": seen.text,
            "cost": cost_text(losses[0]),
            "needs_approval": _above(desk, losses),
            "expected_error": error,
            "cautions": cautions,
        }

    def start(self, desk: Desk, who: Identity, terms: Terms, key: str) -> dict[str, Any]:
        """Open a conversation, or find it opened before under the same key; its whole spend is charged here, once.

        Above the threshold it waits for a curator first, and whoever asked for it opens it when it is approved.
        """
        with planning():
            losses = proposed(desk, terms).losses()
        if who.role != "curator" and _above(desk, losses):
            waiting = self._waiting(desk, Talk(desk.name, who.name, key, terms), losses)
            if waiting is not None:
                return waiting
        talk = self._kept(desk, who, terms, key)
        if talk.terms.to_json() != terms.to_json():
            raise Denied(409, OTHER)
        try:
            return self._with(desk, talk, ())
        except BudgetExceeded:
            self.store.run(sa.delete(table).where(*_is(talk)))  # nothing was opened
            raise

    def _waiting(self, desk: Desk, talk: Talk, losses: Sequence[Loss]) -> dict[str, Any] | None:
        """Return how a conversation stands that a curator decides about; None if it may be opened."""
        if desk.front.ledger.entry(talk.request) is not None:
            return None  # it was paid for
        form = json.dumps(talk.terms.to_json())
        found = self.openings.of(talk.dataset, talk.name, talk.key)
        if found is None:
            _refuse_beyond(desk, talk, losses)
            found = self.openings.add(talk.dataset, talk.name, talk.key, form)
        if found.form != form:
            raise Denied(409, OTHER)
        if found.state == DECLINED:
            raise Denied(409, SAID[DECLINED])
        return None if found.state == APPROVED else _standing(found)

    def withdraw(self, desk: Desk, who: Identity, key: str) -> None:
        """Take a conversation back that waits for a curator."""
        found = self.openings.of(desk.name, who.name, key)
        if found is None:
            raise Denied(404, NOWHERE)
        self.openings.withdraw(found)

    def ask(self, desk: Desk, who: Identity, key: str, conditions: Any) -> dict[str, Any]:
        """Answer conditions in their order; everything was paid for when it was opened."""
        listed = isinstance(conditions, list) and all(isinstance(one, str) for one in conditions)
        if not listed or not 1 <= len(conditions) <= MOST_CONDITIONS:
            said = f'Ask {{"conditions": ["age > 40"]}}: 1 to {MOST_CONDITIONS} texts, each as behind WHERE.'
            raise ParameterError(said)
        talk = self.get(desk, who, key)
        if desk.front.ledger.entry(talk.request) is None:
            raise Denied(409, "This conversation was not opened to its end; open it once more under the same key.")
        return self._with(desk, talk, conditions)

    def get(self, desk: Desk, who: Identity, key: str) -> Talk:
        """Return somebody's own conversation by its key."""
        row = self.store.row(self._mine(desk, who).where(table.c.key == key))
        if row is None:
            raise Denied(404, NOWHERE)
        return _talk(row)

    def listed(self, desk: Desk, who: Identity) -> list[dict[str, Any]]:
        """Return somebody's own conversations, newest first; those that wait or were declined before the others."""
        rows = self.store.rows(self._mine(desk, who).order_by(table.c.created.desc()).limit(200))
        opened = [{**_talk(row).to_json(), "state": "open", "said": ""} for row in rows]
        known = {one["conversation"] for one in opened}
        return [_standing(one) for one in self.openings.mine(desk.name, who.name) if one.key not in known] + opened

    def standing(self, desk: Desk, who: Identity, key: str) -> dict[str, Any]:
        """Return how somebody's own conversation stands; nothing is read for it."""
        found = next((one for one in self.listed(desk, who) if one["conversation"] == key), None)
        if found is None:
            raise Denied(404, NOWHERE)
        return found

    @staticmethod
    def _mine(desk: Desk, who: Identity) -> sa.Select[Any]:
        return sa.select(table).where(table.c.dataset == desk.name, table.c.name == who.name)

    def _kept(self, desk: Desk, who: Identity, terms: Terms, key: str) -> Talk:
        form = json.dumps(terms.to_json())
        values = {"dataset": desk.name, "name": who.name, "key": key, "form": form, "created": now()}
        with suppress(sa.exc.IntegrityError):  # it was opened before, or twice at once: whoever was first counts
            self.store.run(sa.insert(table), values)
        return self.get(desk, who, key)

    def _with(self, desk: Desk, talk: Talk, conditions: Sequence[str]) -> dict[str, Any]:
        """Ask a conversation, holding the data set until the next tick: whoever asks behind it learns whole ticks."""
        if not self._places.acquire(blocking=False):
            raise busy()
        try:
            with desk.reading(), heard() as said:
                began = monotonic()
                try:
                    return {**self._said(desk, talk, conditions), "cautions": list(said)}
                finally:
                    elapsed = monotonic() - began
                    sleep(max(0.0, next_tick(elapsed, self.service.tick) - elapsed))
        finally:
            self._places.release()

    def _said(self, desk: Desk, talk: Talk, conditions: Sequence[str]) -> dict[str, Any]:
        try:
            found = self._opened(desk, talk)
            replies = found.ask_all(list(conditions)) if conditions else []
        except Overtaken:  # another worker has it; whoever is asked last goes on
            self._open.pop(talk.request, None)
            found = self._opened(desk, talk)
            replies = found.ask_all(list(conditions)) if conditions else []
        return {
            **talk.to_json(),
            "state": "open",
            "error": min(found.plan.error, 1.0),
            "people": found.plan.people,
            "counted": found.plan.counted,
            "progress": found.progress._asdict(),
            "replies": [reply_json(one) for one in replies],
        }

    def _opened(self, desk: Desk, talk: Talk) -> Conversation:
        with self._lock:
            found = self._open.pop(talk.request, None)
        if found is None:
            desk.admit(talk.name)
            terms = talk.terms
            found = desk.curator.converse(
                terms.columns, queries=terms.queries, spend=terms.spend, name=talk.request, analyst=talk.name
            )
        with self._lock:
            self._open[talk.request] = found
            while len(self._open) > MOST_OPEN:
                _let_go(self._open.popitem(last=False)[1])
        return found

    def close(self) -> None:
        """Let go of all of them; they go on when they are asked again."""
        for one in self._open.values():
            _let_go(one)
        self._open.clear()


def loss_of(desk: Desk, terms: Terms) -> Loss:
    """Return what a conversation would cost."""
    with planning():
        return proposed(desk, terms).losses()[0]


def _above(desk: Desk, losses: Sequence[Loss]) -> bool:
    """Tell whether a conversation costs more than what is asked without a curator."""
    above = desk.terms.approve_above
    return above is not None and not fits(losses[0], above)


def _refuse_beyond(desk: Desk, talk: Talk, losses: Sequence[Loss]) -> None:
    """Refuse what no limit has room for: a curator's approval would not change that."""
    desk.admit(talk.name)
    seen = desk.front.ledger.preview(losses, talk.name)
    if not seen.fits:
        raise BudgetExceeded(refusal_text(seen.breaks), seen.breaks)


def terms_of(opening: Opening) -> Terms:
    """Return what a conversation that had to wait is about."""
    return read_terms(json.loads(opening.form))


def _standing(opening: Opening) -> dict[str, Any]:
    talk = Talk(opening.dataset, opening.name, opening.key, terms_of(opening))
    return {**talk.to_json(), "state": opening.state, "said": SAID[opening.state]}


def _let_go(conversation: Conversation) -> None:
    """Close a conversation; if another process has it by now, its state is that one's to keep."""
    with suppress(Overtaken):
        conversation.close()


def _is(talk: Talk) -> tuple[sa.ColumnElement[bool], ...]:
    return table.c.dataset == talk.dataset, table.c.name == talk.name, table.c.key == talk.key


def reply_json(reply: Reply) -> dict[str, Any]:
    """Return a reply as JSON."""
    return {
        "value": reply.value,
        "count": reply.count,
        "error": reply.error,
        "source": reply.source,
        "progress": reply.progress._asdict(),
        "counted": reply.counted,
    }


def _talk(row: Any) -> Talk:
    return Talk(row.dataset, row.name, row.key, read_terms(json.loads(row.form)))
