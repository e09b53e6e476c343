"""Questions on their way: waiting for approval, queued, running, stored, refused. Their states survive restarts."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Lock
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote, unquote

import sqlalchemy as sa

from sfumato.errors import BudgetExceeded, ParameterError, SfumatoError
from sfumato.noise import new_key
from sfumato.serve.asked import Form, planning, read_form
from sfumato.serve.desks import Desk, Desks
from sfumato.serve.house import Service
from sfumato.serve.identity import Identity
from sfumato.serve.problems import Denied, busy
from sfumato.serve.store import Store, now
from sfumato.serve.store import jobs as table
from sfumato.serve.ticks import next_tick
from sfumato.serve.wire import told
from sfumato.show.progress import heard

_log = logging.getLogger("sfumato.serve")

KEY = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
WAITING, QUEUED, RUNNING, STORED, REFUSED, FAILED, CANCELLED, DECLINED = (
    "waiting",
    "queued",
    "running",
    "stored",
    "refused",
    "failed",
    "cancelled",
    "declined",
)
OPEN = (WAITING, QUEUED, RUNNING)
SAID = {
    WAITING: "It waits for a curator, who approves or declines it; nothing is spent until then.",
    QUEUED: "It is queued.",
    RUNNING: "It is being answered.",
    STORED: "It is answered and stored.",
    CANCELLED: "It was cancelled before anything was spent.",
    DECLINED: "A curator declined it; nothing was spent.",
}
STAGES = {
    "queued": "It is queued.",
    "drawing": "The data are read, and the answer is drawn.",
    "finishing": "It is drawn and stored; what is shown of it is being made.",
}
MOST_WAITING = 10
"""So many questions of one person wait for a curator at most, in each data set."""
TOO_MANY = f"{MOST_WAITING} of your questions wait for a curator; cancel one, or ask again when some are decided."
OTHER_QUESTION = "This Idempotency-Key belongs to another question; give every question a key of its own."


@dataclass(frozen=True)
class _Run:
    """A question that is queued or running here."""

    name: str
    future: Future[None]


@dataclass(frozen=True)
class Progress:
    """How far a question is, in public facts: a stage of the work, and how many questions are before it."""

    stage: str = ""
    before: int | None = None
    part: float | None = None
    """Which part of a fit is done; a fit knows noisy numbers only, that are released with it."""

    @property
    def said(self) -> str:
        """The stage in a sentence."""
        if not self.before:
            said = STAGES.get(self.stage, "")
            return said if self.part is None else f"{said} {self.part:.0%} of its fit is done."
        return f"It is queued behind {self.before} other question{'' if self.before == 1 else 's'}."

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return {"stage": self.stage or None, "before": self.before, "part": self.part}


@dataclass(frozen=True)
class Job:
    """A question on its way, as it is kept."""

    id: str
    dataset: str
    name: str
    key: str
    form: Form
    state: str
    said: str
    kind: str
    request: str
    reused: bool
    decided: str
    created: float
    changed: float

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state not in OPEN

    @property
    def own_request(self) -> str:
        """What the ledger knows it by; a name from elsewhere may hold a colon, and must not end up as another's."""
        return f"{self.dataset}:{quote(self.name, safe='@')}:{self.key}"

    def to_json(self) -> dict[str, Any]:
        """Return what its owner and curators see of it."""
        return {
            "job": self.id,
            "dataset": self.dataset,
            "name": self.name,
            "asked": self.form.to_json(),
            "state": self.state,
            "said": self.said or SAID.get(self.state, ""),
            "reused": self.reused,
            "decided_by": self.decided or None,
            "created": self.created,
            "changed": self.changed,
        }


def _job(row: Any) -> Job:
    values = dict(row._mapping)
    return Job(**{**values, "form": read_form(json.loads(values["form"]))})


def read_key(given: str | None) -> str:
    """Return the client's own id for a request; without one it gets a new one."""
    if given is None:
        return new_key()[:16].hex()
    if KEY.fullmatch(given) is None:
        raise ParameterError("An Idempotency-Key has 1 to 64 letters, digits or any of _ . : -; write ask-17, say.")
    return given


class Jobs:
    """All questions of a house; each data set answers one at a time, in a thread of its own."""

    def __init__(self, store: Store, desks: Desks, service: Service) -> None:
        self.store = store
        self.desks = desks
        self.service = service
        self._lanes = {desk.name: ThreadPoolExecutor(1, f"ask-{desk.name}") for desk in desks}
        self._running: dict[str, _Run] = {}
        self._waiters: Counter[str] = Counter()
        self._looked: dict[str, tuple[int, Progress]] = {}
        self._parts: dict[str, float] = {}
        self._lock = Lock()

    @property
    def pending(self) -> int:
        """How many questions are queued or running here."""
        return len(self._running)

    @property
    def most_of_one(self) -> int:
        """How many places one person may take."""
        return max(1, self.service.waiting // 2)

    def resume(self) -> None:
        """Go on with what a stop cut short: what was charged is completed for nothing, what was not is asked."""
        for row in self.store.rows(sa.select(table).where(table.c.state.in_((QUEUED, RUNNING)))):
            if row.dataset in self.desks:
                self._enqueue(row.id, row.dataset, row.name)

    def submit(self, asker: Identity, desk: Desk, form: Form, key: str) -> Job:
        """Take a question on, or find it taken on before under the same key."""
        known = self._by_key(desk.name, asker.name, key)
        if known is None:
            asked = desk.meant(form)
            with planning():  # whatever is wrong with it is said before it is taken on
                waits = asker.role != "curator" and desk.needs_approval(asked)
                if waits:
                    desk.refuse_beyond(asked, asker.name)
            self._require_room(asker.name, desk.name, waits)
            known = self._insert(asker, desk, form, key, WAITING if waits else QUEUED)
        if known.form.to_json() != form.to_json():
            raise Denied(409, OTHER_QUESTION)
        if known.state in (QUEUED, FAILED):  # what failed is tried again: the ledger knows it by the same id
            if known.state == FAILED:
                self._require_room(known.name, desk.name, False)
            self._enqueue(known.id, desk.name, known.name)
        return known

    def _require_room(self, name: str, dataset: str, waits: bool) -> None:
        """Refuse what would have to wait behind too many others; nobody takes all places."""
        if waits:
            mine = sa.select(table.c.id).where(table.c.dataset == dataset, table.c.name == name)
            if len(self.store.rows(mine.where(table.c.state == WAITING).limit(MOST_WAITING))) == MOST_WAITING:
                raise Denied(409, TOO_MANY)
            return
        with self._lock:
            own = sum(run.name == name for run in self._running.values())
        if self.pending >= self.service.waiting or own >= self.most_of_one:
            raise busy()

    def _insert(self, asker: Identity, desk: Desk, form: Form, key: str, state: str) -> Job:
        moment = now()
        values = {
            "id": new_key()[:16].hex(),
            "dataset": desk.name,
            "name": asker.name,
            "key": key,
            "form": json.dumps(form.to_json()),
            "state": state,
            "said": "",
            "kind": "",
            "request": "",
            "reused": False,
            "decided": "",
            "created": moment,
            "changed": moment,
        }
        self.store.add_once(table, values)
        found = self._by_key(desk.name, asker.name, key)
        assert found is not None
        return found

    def _enqueue(self, job: str, dataset: str, name: str) -> None:
        with self._lock:
            if job not in self._running:
                self._running[job] = _Run(name, self._lanes[dataset].submit(self._run, job))

    def wait(self, job: Job, seconds: float) -> Job:
        """Return a job when it has ended, or as it stands after so many seconds; who waits too often, as it stands."""
        run = self._running.get(job.id)
        if run is not None and self._wait_begins(job.name):
            try:
                with suppress(NotYet):
                    run.future.result(timeout=seconds)
            finally:
                self._wait_ends(job.name)
        return self.get(job.id)

    def _wait_begins(self, name: str) -> bool:
        """Tell whether somebody may hold one more thread; the same question sent a hundred times must not take all."""
        with self._lock:
            if self._waiters[name] >= self.most_of_one or self._waiters.total() >= self.service.waiting:
                return False
            self._waiters[name] += 1
            return True

    def _wait_ends(self, name: str) -> None:
        with self._lock:
            self._waiters[name] -= 1
            if not self._waiters[name]:
                del self._waiters[name]

    def _run(self, name: str) -> None:
        try:
            job, began = self.get(name), monotonic()
            if self._change(name, RUNNING, (QUEUED, RUNNING, FAILED)):
                with heard(partial(self._parts.__setitem__, name)):
                    state, values = self._outcome(job, self.desks[job.dataset])
                elapsed = monotonic() - began
                # Whoever looks at the job all the time, or asks right behind it, learns whole ticks as well.
                sleep(max(0.0, next_tick(elapsed, self.service.tick) - elapsed))  # rounding may go below zero
                # Another process may have found it in use and given up on it; what is stored is stored.
                self._change(name, state, (RUNNING, FAILED) if state == STORED else (RUNNING,), **values)
        finally:
            with self._lock:
                self._running.pop(name, None)
                self._looked.pop(name, None)
                self._parts.pop(name, None)

    def _outcome(self, job: Job, desk: Desk) -> tuple[str, dict[str, Any]]:
        """Ask the curator, and return what became of it: where the answer is, or the sentence of the refusal."""
        try:
            first = desk.ask(desk.meant(job.form), job.name, job.own_request)[0]
        except BudgetExceeded as refusal:
            return REFUSED, {"said": str(refusal), "kind": type(refusal).__name__}
        except SfumatoError as problem:
            # Written for whoever asks: it names public facts only.
            return FAILED, {"said": told(problem), "kind": type(problem).__name__}
        except Exception as bug:
            _log.error(json.dumps({"failed": type(bug).__name__}))  # its text may quote what was read
            said = f"Something failed that should not have ({type(bug).__name__}); tell who runs the service."
            return FAILED, {"said": said, "kind": ""}
        return STORED, {"request": first.request, "reused": first.reused, "said": "", "kind": ""}

    def progress(self, job: Job) -> Progress:
        """Return how far a question is: what is before it, and then the stage that its ledger is in.

        It is looked at once in every second of its run, however often somebody asks: looking all the time would tell
        how long the data took to be read.
        """
        if job.state == QUEUED:
            return Progress("queued", self._before(job))
        if job.state != RUNNING:
            self._looked.pop(job.id, None)
            return Progress()
        second = int(now() - job.changed)
        with self._lock:
            known = self._looked.get(job.id)
        if known is not None and known[0] >= second:
            return known[1]
        part = self._parts.get(job.id)
        found = Progress("finishing" if self._drawn(job) else "drawing", part=None if part is None else round(part, 2))
        with self._lock:
            self._looked[job.id] = second, found
        return found

    def _before(self, job: Job) -> int:
        """Return how many questions of its data set come first, whichever process answers them."""
        first = sa.and_(table.c.dataset == job.dataset, table.c.state.in_((QUEUED, RUNNING)))
        query = sa.select(sa.func.count().label("jobs")).where(first, table.c.created < job.created)
        row = self.store.row(query)
        return 0 if row is None else int(row.jobs)

    def _drawn(self, job: Job) -> bool:
        """Tell whether the ledger holds the draw already."""
        try:
            return self.desks[job.dataset].front.ledger.stored(job.own_request).state == "committed"
        except SfumatoError:  # nothing is reserved yet
            return False

    def _change(self, job: str, state: str, before: tuple[str, ...], **values: Any) -> bool:
        """Compare and set a state."""
        changed = sa.update(table).where(table.c.id == job, table.c.state.in_(before))
        return self.store.run(changed.values(state=state, changed=now(), **values)) == 1

    # What people do with them

    def decide(self, job: Job, curator: Identity, approve: bool) -> Job:
        """Approve or decline what waits; of two curators the first decides."""
        state = QUEUED if approve else DECLINED
        if not self._change(job.id, state, (WAITING,), decided=curator.name):
            raise Denied(409, "This question does not wait for anybody any more.")
        if approve:
            self._enqueue(job.id, job.dataset, job.name)
        return self.get(job.id)

    def cancel(self, job: Job) -> Job:
        """Cancel what nothing was drawn for yet."""
        if not self._change(job.id, CANCELLED, (WAITING, QUEUED)):
            raise Denied(409, "It is too late to cancel: what is drawn stays drawn, and its answer is yours.")
        return self.get(job.id)

    def get(self, job: str) -> Job:
        """Return a job by its id."""
        row = self.store.row(sa.select(table).where(table.c.id == job))
        if row is None:
            raise KeyError(job)
        return _job(row)

    def of_request(self, dataset: str, request: str) -> Job | None:
        """Return the job of a request as the ledger names it, None if it was not asked here."""
        place, _, rest = request.partition(":")
        name, _, key = rest.partition(":")
        who = unquote(name)
        # Nobody is called so, and PostgreSQL takes no such text.
        return self._by_key(dataset, who, key) if place == dataset and "\0" not in who + key else None

    def _by_key(self, dataset: str, name: str, key: str) -> Job | None:
        mine = sa.select(table).where(table.c.dataset == dataset, table.c.name == name, table.c.key == key)
        row = self.store.row(mine)
        return None if row is None else _job(row)

    def listed(self, dataset: str, name: str | None, states: tuple[str, ...] = (), most: int = 200) -> list[Job]:
        """Return the newest jobs of a data set, of one person or of all."""
        query = sa.select(table).where(table.c.dataset == dataset)
        if name is not None:
            query = query.where(table.c.name == name)
        if states:
            query = query.where(table.c.state.in_(states))
        return [_job(row) for row in self.store.rows(query.order_by(table.c.created.desc()).limit(most))]

    def counts(self) -> dict[tuple[str, str], int]:
        """Return how many jobs there are by data set and state."""
        counted = sa.func.count().label("jobs")
        query = sa.select(table.c.dataset, table.c.state, counted).group_by(table.c.dataset, table.c.state)
        return {(row.dataset, row.state): int(row.jobs) for row in self.store.rows(query)}

    def close(self) -> None:
        """Finish what runs, and leave what is queued for the next start."""
        for lane in self._lanes.values():
            lane.shutdown(wait=True, cancel_futures=True)
