"""Conversations over HTTP: opened and paid for once, then asked condition by condition; they go on after a restart."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from threading import BoundedSemaphore, Lock
from time import monotonic, sleep
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sa

from sfumato.ask.question import fits
from sfumato.curator.talking import both_losses, model_first
from sfumato.errors import BudgetExceeded, Overtaken, ParameterError, SfumatoError
from sfumato.ledger.wording import cost_text, refusal_text
from sfumato.model.base import Model, model_from_json
from sfumato.privacy import Bound, Loss
from sfumato.questions.conversation import Conversation, Prior
from sfumato.questions.conversation.keeping import plan_json
from sfumato.questions.conversation.opening import Proposal
from sfumato.questions.conversation.priors import start_of
from sfumato.questions.conversation.reply import Reply, draw_progress
from sfumato.serve.asked import planning, read_spend
from sfumato.serve.cautions import heard
from sfumato.serve.conditions import read_conditions
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
from sfumato.table.schema import Schema
from sfumato.workload.space import Space

T = TypeVar("T")

MOST_OPEN = 16
"""So many conversations are held in memory; others are opened again from the ledger when they are asked."""
AT_ONCE = 8
"""So many requests to conversations wait for a data set; further ones are asked to come again."""
MOST_QUERIES = 1_000_000
UNREADABLE = (
    'Open a conversation with {"columns": ["age", "sex"], "spend": "Approximate(1, 1e-6)"}, say; queries is optional.'
)
UNREADABLE_PRIOR = (
    'A prior is "model", "even", numbers by column such as {"sex": [3, 1]}, or a model as JSON; leave it out to begin '
    "from nothing."
)
OTHER = "This Idempotency-Key belongs to another conversation; give each a key of its own."
OPEN, OPENING, BEGUN = "open", "opening", "begun"
STANDS = {
    OPEN: "",
    OPENING: "It is being opened; open it once more under the same key, and it is there.",
    BEGUN: "It was not opened to its end; open it once more under the same key.",
}


@dataclass(frozen=True)
class Terms:
    """What a conversation is about: columns, how many conditions are expected, and what it may cost."""

    columns: tuple[str, ...] | None
    queries: int
    spend: Bound
    prior: Any = None
    """Where it starts, as JSON: nothing, "even", "model", a law by column, or a public model."""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `read_terms` reads back."""
        listed = None if self.columns is None else list(self.columns)
        found = {"columns": listed, "queries": self.queries, "spend": self.spend.to_json()}
        return found if self.prior is None else {**found, "prior": self.prior}

    def opens(self, other: Terms) -> bool:
        """Tell whether these terms open the same conversation as others: even is where it starts if nothing is said."""
        mine, theirs = ({**one.to_json(), "prior": one.prior or "even"} for one in (self, other))
        return mine == theirs

    def start(self, schema: Schema) -> Prior | str | None:
        """Return where it starts, as a curator takes it."""
        if not isinstance(self.prior, Mapping) or not isinstance(self.prior.get("model"), str):
            return self.prior  # type: ignore[no-any-return]
        try:
            return model_from_json(self.prior, schema)
        except SfumatoError:
            raise
        except Exception:
            raise ParameterError(UNREADABLE_PRIOR) from None

    @property
    def text(self) -> str:
        """What it is about, in a line."""
        about = "all columns" if self.columns is None else ", ".join(self.columns)
        begins = ", from a model that is bought first" if self.prior == "model" else ""
        return f"a conversation about {about}{begins}, {self.queries:,} conditions expected, for {self.spend}"


def read_terms(record: Any) -> Terms:
    """Return what a body opens."""
    if not isinstance(record, Mapping) or set(record) - {"columns", "queries", "spend", "prior"}:
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
    return Terms(None if columns is None else tuple(columns), queries, spend, _read_prior(record.get("prior")))


def _read_prior(given: Any) -> Any:
    laws = isinstance(given, Mapping) and all(isinstance(law, list) for law in given.values())
    model = isinstance(given, Mapping) and isinstance(given.get("model"), str)
    if given in (None, "even", "model") or ((laws or model) and _told_again(given)):
        return given
    raise ParameterError(UNREADABLE_PRIOR)


def _told_again(given: Any) -> bool:
    """Tell whether what came can be written in a response: no half characters, and numbers that JSON has."""
    try:
        return bool(json.dumps(given, ensure_ascii=False, allow_nan=False).encode())
    except (ValueError, RecursionError):
        return False


def proposed(desk: Desk, terms: Terms) -> Proposal:
    """Return what a conversation would be, from public facts alone."""
    if desk.several:
        raise ParameterError(f"{desk.name} has several tables; ask in SQL, conversations are about one table.")
    basis = desk.front.basis
    space = Space.of(basis.schema, terms.columns)
    gauge = basis.gauge(Rows(space.names))
    own, prior = terms.spend, terms.start(basis.schema)
    if prior == "model":
        own = model_first(desk.front, terms.columns, terms.spend)[2]
    # How far off a model is, is not known before it is bought; the plan of an even start counts on no more.
    start = start_of(space, None if isinstance(prior, str) else prior)
    return Proposal(gauge, space, gauge.priced(own), terms.queries, Fraction(1, 20), "auto", True, None, start)


def losses_of(desk: Desk, terms: Terms, name: str) -> Sequence[Loss]:
    """Return what a conversation costs with the model that it starts from, as certificates of which one counts."""
    own = proposed(desk, terms).losses()
    if terms.prior != "model":
        return own
    desk.admit(name)
    question, first, rest = model_first(desk.front, terms.columns, terms.spend)
    return both_losses(desk.front, question, (first, rest), analyst=name)


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
        self._openers = ThreadPoolExecutor(AT_ONCE, "open-talk")
        self._opening: dict[str, tuple[str, Future[dict[str, Any]]]] = {}

    def foresee(self, desk: Desk, who: Identity, terms: Terms) -> dict[str, Any]:
        """Say what a conversation would cost and how far its replies would be off; free."""
        desk.admit(who.name)
        with planning(), heard() as said:
            proposal, losses = proposed(desk, terms), losses_of(desk, terms, who.name)
            seen = desk.front.ledger.preview(losses, who.name)
            # A private number of rows is counted at the opening; where that of people is public, each has one or more.
            total = desk.front.basis.people if proposal.gauge.total is None else proposal.gauge.total
            plan = None if total is None else proposal.plan(total)
        beside = "" if plan is None or terms.prior is not None else proposal.beside(plan)
        advice = [] if plan is None else [plan.advice if plan.verdict != "converse" else "", beside]
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
            losses = losses_of(desk, terms, who.name)
        if who.role != "curator" and _above(desk, losses):
            waiting = self._waiting(desk, Talk(desk.name, who.name, key, terms), losses)
            if waiting is not None:
                return waiting
        talk = self._kept(desk, who, terms, key)
        if not talk.terms.opens(terms):
            raise Denied(409, OTHER)
        return self._begin(desk, talk)

    def _begin(self, desk: Desk, talk: Talk) -> dict[str, Any]:
        """Open a conversation in a thread of its own: the model that it starts from may take longer than a request."""
        with self._lock:
            known = self._opening.get(talk.request)
            if known is None:
                own = sum(name == talk.name for name, _ in self._opening.values())
                if len(self._opening) >= AT_ONCE or own >= AT_ONCE // 2:
                    raise busy()
                known = self._opening[talk.request] = talk.name, self._openers.submit(self._open_once, desk, talk)
        try:
            return known[1].result(timeout=self.service.patience)
        except NotYet:
            return {**talk.to_json(), "state": OPENING, "said": STANDS[OPENING]}

    def _open_once(self, desk: Desk, talk: Talk) -> dict[str, Any]:
        try:
            return self._asked(desk, talk, ())
        except BudgetExceeded:
            self.store.run(sa.delete(table).where(*_is(talk)))  # nothing was opened
            raise
        finally:
            with self._lock:
                del self._opening[talk.request]

    def _waiting(self, desk: Desk, talk: Talk, losses: Sequence[Loss]) -> dict[str, Any] | None:
        """Return how a conversation stands that a curator decides about; None if it may be opened."""
        if desk.front.ledger.entry(talk.request) is not None:
            return None  # it was paid for
        form = json.dumps(talk.terms.to_json())
        found = self.openings.of(talk.dataset, talk.name, talk.key)
        if found is None:
            _refuse_beyond(desk, talk, losses)
            found = self.openings.add(talk.dataset, talk.name, talk.key, form)
        if not terms_of(found).opens(talk.terms):
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
        listed = read_conditions(conditions)
        return self._asked(desk, self._paid(desk, who, key), listed)

    def learn(self, desk: Desk, who: Identity, key: str, conditions: Any) -> dict[str, Any]:
        """Ask conditions again and again until the model passes all of them; free as asking is."""
        listed, talk = read_conditions(conditions), self._paid(desk, who, key)
        found, said = self._with(desk, talk, lambda one: self._standing_of(talk, one, one.learn(listed)))
        return {**found, "cautions": said}

    def learned(self, desk: Desk, who: Identity, key: str) -> dict[str, Any]:
        """Return what a conversation has learned: its model, and its corrections so far; free."""
        talk = self._paid(desk, who, key)
        return self._with(desk, talk, lambda one: self._standing_of(talk, one, one.model))[0]

    def model(self, desk: Desk, who: Identity, key: str) -> Model:
        """Return the model that a conversation has learned; free."""
        return self._with(desk, self._paid(desk, who, key), lambda one: one.model)[0]

    def picture(self, desk: Desk, who: Identity, key: str) -> str:
        """Return the picture of the corrections as SVG; free."""
        talk = self._paid(desk, who, key)
        plan, history, done = self._with(desk, talk, lambda one: (one.plan, one.history, one.progress))[0]
        drawn: str = draw_progress(talk.key, plan, history, done).svg()
        return drawn

    def _standing_of(self, talk: Talk, found: Conversation, model: Model) -> dict[str, Any]:
        return {**_opened_json(talk, found), "history": found.history, "model": model.to_json()}

    def _paid(self, desk: Desk, who: Identity, key: str) -> Talk:
        """Return somebody's own conversation, which was paid for."""
        talk = self.get(desk, who, key)
        if desk.front.ledger.entry(talk.request) is None:
            raise Denied(409, STANDS[self._state(desk, talk)])
        return talk

    def _state(self, desk: Desk, talk: Talk) -> str:
        if desk.front.ledger.entry(talk.request) is not None:
            return OPEN
        return OPENING if talk.request in self._opening else BEGUN

    def get(self, desk: Desk, who: Identity, key: str) -> Talk:
        """Return somebody's own conversation by its key."""
        row = self.store.row(self._mine(desk, who).where(table.c.key == key))
        if row is None:
            raise Denied(404, NOWHERE)
        return _talk(row)

    def listed(self, desk: Desk, who: Identity) -> list[dict[str, Any]]:
        """Return somebody's own conversations, newest first; those that wait or were declined before the others."""
        rows = self.store.rows(self._mine(desk, who).order_by(table.c.created.desc()).limit(200))
        opened = [{**_talk(row).to_json(), "state": OPEN, "said": ""} for row in rows]
        known = {one["conversation"] for one in opened}
        return [_standing(one) for one in self.openings.mine(desk.name, who.name) if one.key not in known] + opened

    def standing(self, desk: Desk, who: Identity, key: str) -> dict[str, Any]:
        """Return how somebody's own conversation stands; nothing is read for it."""
        row = self.store.row(self._mine(desk, who).where(table.c.key == key))
        if row is not None:
            talk = _talk(row)
            state = self._state(desk, talk)
            return {**talk.to_json(), "state": state, "said": STANDS[state]}
        waits = self.openings.of(desk.name, who.name, key)
        if waits is None:
            raise Denied(404, NOWHERE)
        return _standing(waits)

    @staticmethod
    def _mine(desk: Desk, who: Identity) -> sa.Select[Any]:
        return sa.select(table).where(table.c.dataset == desk.name, table.c.name == who.name)

    def _kept(self, desk: Desk, who: Identity, terms: Terms, key: str) -> Talk:
        form = json.dumps(terms.to_json())
        values = {"dataset": desk.name, "name": who.name, "key": key, "form": form, "created": now()}
        with suppress(sa.exc.IntegrityError):  # it was opened before, or twice at once: whoever was first counts
            self.store.run(sa.insert(table), values)
        return self.get(desk, who, key)

    def _asked(self, desk: Desk, talk: Talk, conditions: Sequence[Any]) -> dict[str, Any]:
        def ask(found: Conversation) -> dict[str, Any]:
            replies = found.ask_all(list(conditions)) if conditions else []
            return {**_opened_json(talk, found), "replies": [reply_json(one) for one in replies]}

        found, said = self._with(desk, talk, ask)
        return {**found, "cautions": said}

    def _with(self, desk: Desk, talk: Talk, work: Callable[[Conversation], T]) -> tuple[T, list[str]]:
        """Ask a conversation, holding the data set until the next tick: whoever asks behind it learns whole ticks."""
        if not self._places.acquire(blocking=False):
            raise busy()
        try:
            with desk.reading(), heard() as said:
                began = monotonic()
                try:
                    return self._worked(desk, talk, work), list(said)
                finally:
                    elapsed = monotonic() - began
                    sleep(max(0.0, next_tick(elapsed, self.service.tick) - elapsed))
        finally:
            self._places.release()

    def _worked(self, desk: Desk, talk: Talk, work: Callable[[Conversation], T]) -> T:
        try:
            return work(self._opened(desk, talk))
        except Overtaken:  # another worker has it; whoever is asked last goes on
            self._open.pop(talk.request, None)
            return work(self._opened(desk, talk))

    def _opened(self, desk: Desk, talk: Talk) -> Conversation:
        with self._lock:
            found = self._open.pop(talk.request, None)
        if found is None:
            desk.admit(talk.name)
            terms = talk.terms
            found = desk.curator.converse(
                terms.columns,
                queries=terms.queries,
                spend=terms.spend,
                prior=terms.start(desk.front.schema),
                name=talk.request,
                analyst=talk.name,
            )
        with self._lock:
            self._open[talk.request] = found
            while len(self._open) > MOST_OPEN:
                _let_go(self._open.popitem(last=False)[1])
        return found

    def close(self) -> None:
        """Let go of all of them; they go on when they are asked again."""
        self._openers.shutdown(wait=True, cancel_futures=True)
        for one in self._open.values():
            _let_go(one)
        self._open.clear()


def loss_of(desk: Desk, terms: Terms, name: str) -> Loss:
    """Return what a conversation would cost somebody."""
    with planning():
        return losses_of(desk, terms, name)[0]


def _opened_json(talk: Talk, found: Conversation) -> dict[str, Any]:
    return {
        **talk.to_json(),
        "state": OPEN,
        "error": min(found.plan.error, 1.0),
        "people": found.plan.people,
        "counted": found.plan.counted,
        "plan": plan_json(found.plan),
        "loss": found.loss.to_json(),
        "progress": found.progress._asdict(),
    }


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
