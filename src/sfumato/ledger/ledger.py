"""The ledger: reserve, start, commit; what is guaranteed and what has been used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import BudgetExceeded, LedgerError, ParameterError
from sfumato.ledger import lifecycle, running, statements, wording
from sfumato.ledger.budget import Budget, Limit
from sfumato.ledger.chain import Head, digest, new_mark
from sfumato.ledger.frozen import Directory, private_place
from sfumato.ledger.journal import Journal
from sfumato.ledger.keeping import Keep
from sfumato.ledger.largest import MakeLoss, largest, readable
from sfumato.ledger.meters import Meters
from sfumato.ledger.plan import PlannedReleases, planned
from sfumato.ledger.readings import Odometer
from sfumato.ledger.request import Losses, Request, asker_of, losses_of, request_of
from sfumato.ledger.reservation import Conversation, Preview, Reservation
from sfumato.ledger.rules import LimitRule, Verdict
from sfumato.ledger.running import Work
from sfumato.ledger.slots import SlotCharge, joined
from sfumato.ledger.statements import Names
from sfumato.ledger.stepping import Stepwise
from sfumato.ledger.terms import Opening
from sfumato.ledger.verify import Verification, verify
from sfumato.privacy import Bound, Loss, Relation
from sfumato.privacy.bounds import require_bound
from sfumato.privacy.calibrate import Gaussians

if TYPE_CHECKING:
    from sfumato.ledger.session import Session
    from sfumato.mechanism import Event


SlotsOf = Callable[[Sequence[Loss]], Sequence[SlotCharge]]
"""What a request of these losses is charged under each limit on periods."""


class Ledger(Meters):
    """A durable account of what everything answered about one population has cost.

    `place` is a path (SQLite), a PostgreSQL URL, or None for memory. A new ledger needs a budget; an existing one
    is opened with the same budget or with none. `schema` is a fingerprint of the public schema, `head` a head kept
    elsewhere, which shows whether the ledger was rolled back; `keep_head` keeps it by itself, in a file on another disk
    or by a function (`ledger.keeping`). `private` is a directory as secret as the data, where a draw in progress is
    kept, so that a kill does not lose it: beside a SQLite file by default, to be named for PostgreSQL.

    >>> from sfumato import Cost, Event, Loss, Pure
    >>> ledger = Ledger(None, Budget(person=Pure(1)))
    >>> event, loss = Event("Laplace", "QR-LAP"), Loss.flat(Cost.pure("1/10"))
    >>> ledger.run("first", event, loss, lambda: b"42").answer
    b'42'
    >>> ledger.guarantee(), ledger.spent().left[1]
    (Pure(1), Fraction(9, 10))
    """

    def __init__(
        self,
        place: str | Path | None = None,
        budget: Budget | Bound | None = None,
        *,
        population: str | None = None,
        relation: Relation | None = None,
        schema: str | tuple[str, ...] | None = None,
        analysts: Mapping[str, Budget] | None = None,
        odometer: Odometer | None = None,
        head: str | None = None,
        keep_head: Keep | None = None,
        private: str | Path | None = None,
    ) -> None:
        if place is not None and not isinstance(place, (str, PathLike)):
            raise ParameterError(
                f"A ledger is named by its path, not by {type(place).__name__}; write 'people.ledger'."
            )
        limits = Budget(person=budget) if isinstance(budget, Bound) else budget
        opening = Opening(limits, analysts, population, relation, schema, odometer)
        self._journal = Journal(place, opening, head, keep_head)
        self._private = private_place(self._journal.store, private, self._journal.mark)
        self._slots_of: SlotsOf | None = None
        running.made_by()  # looked up once a process, and not while somebody waits for an answer
        if isinstance(self._private, Directory):
            try:
                running.sweep(self._journal, self._private)
            except BaseException:
                self._journal.close()
                raise

    def reserve(
        self,
        request_id: str,
        event: Event,
        loss: Losses,
        question_key: str | None = None,
        analyst: str | None = None,
        *,
        spend: Bound | None = None,
        make_loss: MakeLoss | None = None,
        slots: Sequence[SlotCharge] | None = None,
    ) -> Reservation:
        """Charge a request to every limit, or refuse it and write nothing; the data are not touched.

        The same id with the same request returns the first reservation. A question that was answered before
        (same `question_key`) returns the stored answer, free, marked `reused`. With `spend` and `make_loss` a
        refusal also says the largest spend that would fit.
        """
        request = self._request(request_id, event, loss, slots, question=question_key, analyst=analyst, spend=spend)
        with self._journal.session(write=True) as session:
            found = self._charge(session, request)
        if isinstance(found, Verdict):
            raise self._refusal(found, spend, make_loss, analyst)
        return found

    def _request(
        self, request_id: str, event: Event, loss: Losses, slots: Sequence[SlotCharge] | None, **told: Any
    ) -> Request:
        """Check what is asked against public facts, and that it says what it reads of every limited period."""
        read = self._read(loss, slots)
        return request_of(self._journal.terms, request_id, event, loss, slots=read, **told)

    def reading(self, slots_of: SlotsOf) -> Ledger:
        """Return this ledger for somebody all of whose requests read the same periods: what they cost there follows."""
        found = copy(self)
        found._slots_of = slots_of
        return found

    def _read(self, loss: Losses, slots: Sequence[SlotCharge] | None) -> tuple[SlotCharge, ...]:
        """Return what a request reads of every limited period; refuse one that does not say it."""
        if slots is None and self._slots_of is not None:
            slots = self._slots_of(losses_of(self._journal.terms, loss))
        return self._journal.slots.require(slots)

    def _refusal(
        self, verdict: Verdict, spend: Bound | None, make_loss: MakeLoss | None, analyst: str | None
    ) -> BudgetExceeded:
        fit = self.to_type(make_loss, spend, analyst) if make_loss is not None and spend is not None else None
        return BudgetExceeded(wording.refusal_text(verdict.breaks, fit), verdict.breaks, fit)

    def _charge(
        self, session: Session, request: Request, resume: bool = False, starts: bool = False
    ) -> Reservation | Verdict:
        """Return the reservation, known or new, or the verdict that refuses it; then nothing was written.

        What has no answer yet `starts` in the same transaction, to freeze before it draws, and is returned as found.
        """
        asker_of(self._journal.terms, request.analyst)
        sums = self._journal.checked_sums(session)
        found = self._found(session, request, resume)
        if found is not None:
            if starts and found.state != "committed":
                lifecycle.begin(session, found)
            return found
        verdict = self._journal.book.weigh(sums, request.losses, request.analyst)
        by_slot = self._journal.slots.weigh(request.slots, session.slots)
        verdict = joined(verdict, by_slot)
        if not verdict.fits:
            return verdict
        if verdict.settles:
            self._journal.settle(session, request.id, verdict)
        return lifecycle.write(session, request, verdict, starts, by_slot)

    @staticmethod
    def _found(session: Session, request: Request, resume: bool) -> Reservation | None:
        """Return what was paid for before: the one look-up of whoever asks and of whoever looks beforehand."""
        found = lifecycle.known(session, request)
        return lifecycle.unfinished(session, request) if found is None and resume else found

    def start(self, request_id: str) -> Reservation:
        """Mark a reservation as started, once, or raise; only then may the data be opened."""
        with self._journal.session(write=True) as session:
            return lifecycle.start(session, request_id)

    def commit(self, request_id: str, answer: bytes) -> Reservation:
        """Store the answer of a started reservation; only then may it be shown."""
        with self._journal.session(write=True) as session:
            return lifecycle.commit(session, request_id, answer)

    def fail(self, request_id: str) -> Reservation:
        """Mark a reservation as dead: its charge stays, it never runs again, its cause is not stored."""
        return running.bury(self._journal, self._private, request_id)

    def run(
        self,
        request_id: str,
        event: Event,
        loss: Losses,
        draw: Callable[[], bytes],
        *,
        question_key: str | None = None,
        analyst: str | None = None,
        spend: Bound | None = None,
        make_loss: MakeLoss | None = None,
        slots: Sequence[SlotCharge] | None = None,
    ) -> Reservation:
        """Reserve and start in one transaction, call `draw` once, store its bytes and return them.

        What is stored already is returned, free. What `draw` raises goes to the log; the caller sees one fixed text.
        A kill inside `draw` loses what was paid: `run_sealed` does not.
        """
        request = self._request(request_id, event, loss, slots, question=question_key, analyst=analyst, spend=spend)
        found = self._begin(request, make_loss, sealed=False)
        if found.state == "committed":
            return found
        return self.commit(request_id, running.draw_once(self._journal, request_id, draw))

    def run_sealed(
        self,
        request_id: str,
        event: Event,
        loss: Losses,
        work: Work,
        *,
        question_key: str | None = None,
        analyst: str | None = None,
        spend: Bound | None = None,
        make_loss: MakeLoss | None = None,
        slots: Sequence[SlotCharge] | None = None,
    ) -> Reservation:
        """Reserve, read, freeze what was read with a key, draw from that, store the bytes and return them.

        What is stored already is returned, free. What a kill or an interrupt cut short is completed by the same request
        or the same question, with the same bytes, free; only without a private place it is lost once its draw began.
        """
        request = self._request(request_id, event, loss, slots, question=question_key, analyst=analyst, spend=spend)
        running.store_drawn(self._journal)
        found = self._begin(request, make_loss, sealed=True)
        if not found.reused:
            return running.complete(self._journal, self._private, found, work)
        if self._private is not None:
            self._private.erase(found.id)  # an interrupt between commit and erasing may have left something
        return found

    def _begin(self, request: Request, make_loss: MakeLoss | None, sealed: bool) -> Reservation:
        """Reserve and start in one transaction, unless there is an answer."""
        with self._journal.session(write=True) as session:
            found = self._charge(session, request, resume=sealed and self._private is not None, starts=sealed)
            if isinstance(found, Reservation) and found.state == "committed":
                found = replace(found, readings=tuple(statements.readings(self._journal, session)))
            elif isinstance(found, Reservation) and not sealed:
                lifecycle.start(session, found.id)
        if isinstance(found, Verdict):
            raise self._refusal(found, request.spend, make_loss, request.analyst)
        return found

    def open(
        self,
        request_id: str,
        event: Event,
        loss: Losses,
        *,
        analyst: str | None = None,
        spend: Bound | None = None,
        make_loss: MakeLoss | None = None,
        slots: Sequence[SlotCharge] | None = None,
    ) -> Stepwise:
        """Reserve and start a request that is answered in steps, or find it begun; its steps are not charged again."""
        request = self._request(request_id, event, loss, slots, question=None, analyst=analyst, spend=spend)
        with self._journal.session(write=True) as session:
            found = self._charge(session, request)
            if isinstance(found, Reservation) and found.state == "reserved":
                lifecycle.begin(session, found)
        if isinstance(found, Verdict):
            raise self._refusal(found, spend, make_loss, analyst)
        return Stepwise(self._journal, self._private, request_id)

    def stored(self, request_id: str) -> Reservation:
        """Return what became of a request; its answer is there once it is committed."""
        with self._journal.session(write=False) as session:
            return lifecycle.stage(session, request_id).reservation

    def knows(self, question_key: str) -> bool:
        """Tell whether a question has an answer."""
        with self._journal.session(write=False) as session:
            return session.answered(digest(question_key)) is not None

    def holds(self, request_id: str, event: Event, loss: Losses, slots: Sequence[SlotCharge] | None = None) -> bool:
        """Tell whether this is the request that was charged under an id."""
        request = self._request(request_id, event, loss, slots, question=None, analyst=None)
        with self._journal.session(write=False) as session:
            stored = session.reservation(request_id)
        return stored is not None and stored.request == request.fingerprint

    def finished(self, request_id: str) -> bytes | None:
        """Return what `keep_finished` kept for a request; it is a convenience, and nothing is promised about it."""
        with self._journal.session(write=False) as session:
            return session.finished(request_id)

    def keep_finished(self, request_id: str, content: bytes) -> None:
        """Keep what was computed from a stored answer, outside the chain, so that it is not computed again."""
        with self._journal.session(write=True) as session:
            session.keep_finished(request_id, lifecycle.as_bytes(content, "What was computed"))

    def plan(self, request_id: str, parts: Sequence[tuple[Event, Loss]], analyst: str | None = None) -> PlannedReleases:
        """Reserve a list of releases fixed before the data are touched, as one; its steps are not charged again.

        Its answers are given as those of a conversation: `start`, then `save_state` for each, then `commit`.
        """
        event, loss, without = planned(parts)
        return PlannedReleases(self.reserve(request_id, event, loss, None, analyst), loss, without)

    def save_state(self, request_id: str, step: int, state: bytes, answer: bytes | None = None) -> int:
        """Store a conversation's next state and its answer, before the answer is shown; return the next step.

        `step` is the step that this one follows, 0 for the first state: of two workers one wins.
        """
        with self._journal.session(write=True) as session:
            return lifecycle.save_state(session, request_id, step, state, answer)

    def load_state(self, request_id: str) -> Conversation:
        """Return where a conversation stands; one whose state is lost is dead, never restarted under its charge."""
        with self._journal.session(write=True) as session:
            found = lifecycle.load_state(session, request_id)
        if found is None:
            raise LedgerError(wording.DEAD)
        return found

    def preview(self, loss: Losses, analyst: str | None = None, slots: Sequence[SlotCharge] | None = None) -> Preview:
        """Say what a request would do; costs nothing and reserves nothing."""
        verdict = self._weigh(loss, analyst, slots)
        closes = self._journal.book.closings(verdict)
        said = wording.fits_text(closes) if verdict.fits else wording.refusal_text(verdict.breaks)
        return Preview(verdict.fits, tuple(verdict.breaks), tuple(closes), said)

    def foresee(self, event: Event, loss: Losses, question_key: str, analyst: str | None = None) -> Preview:
        """Say what `run_sealed` would do for a question: that it is free, where it was paid for before, or `preview`.

        It is looked for as `run_sealed` does, in what that would store first, too.
        """
        request = self._request(new_mark(), event, loss, None, question=question_key, analyst=analyst)
        running.store_drawn(self._journal)
        with self._journal.session(write=False) as session:
            asker_of(self._journal.terms, analyst)
            self._journal.checked_sums(session)
            found = self._found(session, request, resume=self._private is not None)
        if found is None:
            return self.preview(loss, analyst)
        return Preview(True, (), (), wording.FREE if found.state == "committed" else wording.BEGUN, free=True)

    def largest(self, make_loss: MakeLoss, spend: Bound, analyst: str | None = None) -> Bound | None:
        """Return the largest part of a spend whose loss would fit now, None if none does."""
        return largest(make_loss, require_bound(spend), lambda loss: self._weigh(loss, analyst))

    def to_type(self, make_loss: MakeLoss, spend: Bound, analyst: str | None = None) -> Bound | None:
        """Return the largest part of a spend that fits now and can be typed as it is shown, None if none does."""
        found = self.largest(make_loss, spend, analyst)
        return None if found is None else readable(make_loss, found, lambda loss: self._weigh(loss, analyst))

    def _weigh(self, loss: Losses, analyst: str | None, slots: Sequence[SlotCharge] | None = None) -> Verdict:
        losses, read = losses_of(self._journal.terms, loss), self._read(loss, slots)
        with self._journal.session(write=False) as session:
            who = asker_of(self._journal.terms, analyst)
            verdict = self._journal.book.weigh(self._journal.sums(session), losses, who)
            return joined(verdict, self._journal.slots.weigh(read, session.slots))

    def add_limit(self, limit: Limit) -> LimitRule:
        """Add a limit to a running ledger; it refuses, but it is declared late and never a guarantee."""
        with self._journal.session(write=True) as session:
            return statements.add_limit(self._journal, session, limit)

    def add_analyst(self, name: str, quota: Budget | Bound) -> list[LimitRule]:
        """Give somebody a quota under the limits of all; from the first quota on only those who have one may ask."""
        budget = quota if isinstance(quota, Budget) else Budget(person=require_bound(quota, "A quota"))
        with self._journal.session(write=True) as session:
            return statements.add_analyst(self._journal, session, name, budget)

    def lower(self, names: Names, bound: Bound, people: int = 1, analyst: str | None = None) -> LimitRule:
        """Lower a limit: a cap on what comes; the guarantee stays as first declared."""
        with self._journal.session(write=True) as session:
            limit = Limit(statements.closed(self._journal, names), bound, people)
            return statements.lower(self._journal, session, limit, analyst)

    def verify(self, head: str | None = None) -> Verification:
        """Work out the chain, the charges, the sums and the states again; `head` shows whether rows were lost."""
        with self._journal.session(write=False, to_look_at=True) as session:
            return verify(session, None if head is None else Head.from_text(head))

    @property
    def budget(self) -> Budget:
        """The budget that the ledger was made with."""
        return self._journal.terms.budget

    @property
    def gaussians(self) -> Gaussians:
        """Which Gaussian noise is drawn under this ledger, fixed when it was made."""
        return self._journal.terms.gaussians

    @property
    def exact_lists(self) -> bool:
        """Whether lists share their exact total; those of earlier versions share what fits one by one."""
        return self._journal.terms.exact_lists

    @property
    def rank_errors(self) -> bool:
        """Whether quantiles and curves measure how far off they are; those of earlier versions do not."""
        return self._journal.terms.rank_errors

    @property
    def analysts(self) -> frozenset[str]:
        """Everybody who has a quota; where anybody has one, only they may ask."""
        with self._journal.session(write=False):
            return self._journal.terms.askers

    @property
    def schema(self) -> str | None:
        """The fingerprint of the ledger's schema, None if none was named yet."""
        return self._journal.terms.schema

    def use_schema(self, fingerprint: str | tuple[str, ...]) -> None:
        """Name the schema that the ledger is about, once; another one is refused from then on.

        Of several fingerprints, as `Schema.fingerprints` has them, the ledger's may be any.
        """
        self._journal.use_schema(fingerprint)

    @property
    def relation(self) -> Relation:
        """The neighbours that the ledger speaks of."""
        return self._journal.terms.relation

    @property
    def limits(self) -> tuple[LimitRule, ...]:
        """All limits, quotas, later limits and caps that stand."""
        with self._journal.session(write=False):
            return tuple(self._journal.book.rules)

    @property
    def place(self) -> str:
        """Where the ledger lives."""
        return self._journal.place

    @property
    def private(self) -> Path | None:
        """The directory on the side of the data, None for a ledger in memory or one without."""
        return self._private.path if isinstance(self._private, Directory) else None

    @property
    def shares(self) -> bool:
        """Whether other ledgers may use the private directory too: one that was named, not the one beside the file."""
        return isinstance(self._private, Directory) and self._private.shared

    @property
    def head(self) -> str:
        """The end of the chain: keep it elsewhere, and a rolled-back ledger is noticed."""
        with self._journal.session(write=False, to_look_at=True) as session:
            return session.head.to_text()

    def close(self) -> None:
        """Let go of the database; a ledger in memory is gone."""
        with suppress(LedgerError):
            running.store_drawn(self._journal)
        self._journal.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
