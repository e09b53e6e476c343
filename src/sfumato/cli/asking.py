"""What `query`, `refit` and `ledger preview` do: open, read the question, preview, rehearse, ask or finish again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato.answer import Answer, Frame
from sfumato.ask.expected import Expected
from sfumato.cli.hints import in_shell
from sfumato.cli.opened import MACHINE, Opened
from sfumato.curator import Curator, curate
from sfumato.curator.grouped import divided
from sfumato.curator.typed import Request, read_request
from sfumato.errors import ParameterError
from sfumato.exact import Infinity
from sfumato.exact.written import rounded
from sfumato.ledger import Ledger
from sfumato.ledger.typed import read_bound
from sfumato.ledger.wording import cost_text
from sfumato.model.base import Model
from sfumato.privacy import Approximate, Bound, Loss
from sfumato.questions.synopsis import Synopsis
from sfumato.show.views import SHOWN_ROWS, View
from sfumato.table.database import accepted
from sfumato.table.schema import Schema

DELTA = Fraction(1, 10**6)
"""The delta at which a loss is told where neither the spend nor the limit names one."""


READ = ("snapshot", "same_data", "table", *MACHINE)
"""What says which rows are read, and how."""


@dataclass(frozen=True)
class Desk:
    """What a command opens: the data, their schema and their ledger, and who asks."""

    data: str
    schema: Path
    ledger: str
    opened: Opened

    @contextmanager
    def open(self, schema: Schema | None = None) -> Iterator[Curator]:
        """Open table and ledger, and close both."""
        self.opened.require_both()
        described = Schema.load(self.schema) if schema is None else schema
        kept, how = self.opened.named("private", "keep_head"), self.opened.named(*READ)
        with Ledger(self.ledger, schema=accepted(described), **kept) as book:
            curator = curate(self.data, described, ledger=book, **how)
            with curator.table:
                yield self.opened.period(curator)


@dataclass(frozen=True)
class Found:
    """What came out: answers, or what they would cost."""

    loss: Loss
    said: str
    fits: bool
    answers: tuple[Answer, ...] = ()
    request: Request | None = None
    schema: Schema | None = None
    rehearsed: bool = False
    together: bool = False
    notes: tuple[str, ...] = ()
    expected: Expected | None = None
    free: bool = False
    delta: Fraction = DELTA

    @property
    def answer(self) -> Answer:
        """The answer that people look at; of groups, the table of all."""
        return self.answers[0] if self.request is None else self.request.shown(self.answers)

    @property
    def frame(self) -> Frame:
        """The table of the answer; those of several groups below each other."""
        frame = self.answer.framed(self.together)
        return replace(frame, notes=(*map(in_shell, frame.notes), *self.notes))

    @property
    def all_notes(self) -> tuple[str, ...]:
        """What a reader should know, once each: of the answers, and of what was opened."""
        return tuple(dict.fromkeys([*map(in_shell, self.answer.notes), *self.notes]))

    @property
    def sketched(self) -> bool:
        """Whether it is something to read from, not a table."""
        return is_sketch(self.answers[0].value)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object; the table stands beside the exact form of the answer."""
        person = self._person()
        if not self.answers:
            error = None if self.expected is None else {"size": self.expected.size, "unit": self.expected.unit}
            told = {"fits": self.fits, "free": self.free, "text": self.said, "loss": self.loss.to_json()}
            return {**told, "expected_error": error, **person}
        records = [answer.to_json() for answer in self.answers]
        table = {} if is_sketch(self.answers[0].value) else {"table": self.frame.to_json()}
        known: dict[str, Any] = {} if self.schema is None else {"schema": self.schema.to_json()}
        known["notes"] = list(self.all_notes)
        exact = records[0] if len(records) == 1 else {"groups": records, "reused": self.answers[0].reused}
        return {
            **table,
            "rehearsed": self.rehearsed,
            "request": self.answers[0].request,
            **known,
            **person,
            **exact,
        }

    def _person(self) -> dict[str, Any]:
        """Return what the whole tells about a person, rounded up: without a delta where its loss has none."""
        cost = self.loss.person
        pure = not cost.leak and not isinstance(cost.epsilon, Infinity)
        delta = Fraction(0) if pure else max(self.delta, cost.leak)
        epsilon = cost.epsilon if pure else cost.epsilon_at(delta)
        told = None if isinstance(epsilon, Infinity) else float(rounded(epsilon, up=True, digits=6))
        return {"person_epsilon": told, "at_delta": float(rounded(delta, up=True, digits=6))}

    def text(self) -> str:
        """Return the answer for people: a table, its cost, what is left."""
        shown = in_shell(self._view().text())
        if not self.rehearsed:
            return "\n".join([shown, *self.notes])
        return "\n".join(
            [
                "On made-up rows: it shows the shape and the error, nothing else.",
                shown.split("\nIt cost ")[0],
                f"Nothing was spent. It would cost {cost_text(self.loss)}.",
            ]
        )

    def _view(self) -> View:
        answer = replace(self.answer, loss=self.loss)
        view = (replace(answer, remaining={}) if self.rehearsed else answer).view(self.together)
        return replace(view, before=(described(answer.value),)) if is_sketch(answer.value) else view


def is_sketch(value: Any) -> bool:
    """Tell whether a value is something to read from, not a table."""
    return isinstance(value, (Model, Synopsis))


def described(value: Any) -> str:
    """Say what a model or a synopsis is, and what can be done with it."""
    if isinstance(value, Model):
        columns = ", ".join(value.space.names)
        return (
            f"A model of {columns}, about {value.total:.0f} rows. --out rows.csv writes made-up rows; --out "
            'model.json keeps it, and `sfumato read model.json "table of COLUMN, …"` reads tables from it.'
        )
    return (
        f"A synopsis of {len(value.columns)} columns, about {value.people:.0f} rows: {', '.join(value.columns)}. --out "
        'synopsis.json keeps it, and `sfumato read synopsis.json "share of COLUMN, not COLUMN"` answers from it.'
    )


def drawn(frame: Frame, title: str) -> str:
    """Return a table for a terminal, with a sentence about rows that are left out."""
    more = " --out table.csv writes all of them." if len(frame) > SHOWN_ROWS else ""
    return f"{title}\n{frame.view().text()}{more}"


def preview_text(found: Found) -> str:
    """Say whether a question fits, and what it would cost, in the words in which its answer will say it."""
    return found.said if found.free else f"{found.said} It would cost {cost_text(found.loss)}."


def ask(
    desk: Desk,
    question: str,
    spend: str | None,
    *,
    preview: bool = False,
    rehearse: bool = False,
    together: bool = False,
) -> Found:
    """Answer a question; everything that can be wrong with it is said before the ledger is charged."""
    described = Schema.load(desk.schema)
    request = read_request(question, described)
    bound = None if spend is None else read_bound(spend)
    if bound is None and (preview or rehearse):
        raise ParameterError("A preview needs a spend to look at; write for example --spend 'Pure(0.1)'.")
    with desk.open(described) as curator:
        if bound is not None and preview:
            seen = curator.preview(request.asked, bound, analyst=desk.opened.analyst)
            said = " ".join([seen.text, in_shell(seen.error), *divided(len(request.groups), seen.expected)])
            loss = curator.loss(request.asked, bound)
            delta = told_at(curator, bound)
            return Found(loss, said, seen.fits, expected=seen.expected, free=seen.free, delta=delta)
        if bound is not None and rehearse:
            return replace(_rehearsed(curator, request, bound), together=together)
        answers = curator.ask(request.asked, bound, analyst=desk.opened.analyst)
        return replace(found_in(curator, request, answers), together=together, delta=told_at(curator, bound))


def _rehearsed(curator: Curator, request: Request, bound: Bound) -> Found:
    if request.by:
        raise ParameterError("--rehearse takes a single question; leave 'by' and its columns out.")
    played = curator.rehearse(request.questions[0], bound)
    return Found(
        played.loss, "", True, (played,), request, curator.schema, rehearsed=True, delta=told_at(curator, bound)
    )


def refit(desk: Desk, request: str) -> Found:
    """Compute again what is shown of a stored draw."""
    with desk.open() as curator:
        answers = curator.refit(request)
        if not isinstance(answers, Answer):
            raise ParameterError(
                f"The request {request!r} is a list of questions; ask it again as it was asked, which costs nothing."
            )
        return found_in(curator, Request(()), answers)


def found_in(curator: Curator, request: Request, answers: Answer | Sequence[Answer]) -> Found:
    """Return what a curator answered."""
    listed = (answers,) if isinstance(answers, Answer) else tuple(answers)
    loss = listed[0].loss
    for answer in listed[1:]:
        loss = loss + answer.loss
    return Found(loss, "", True, listed, request, curator.schema, notes=curator.notes, delta=told_at(curator, None))


def told_at(curator: Curator, spend: Bound | None) -> Fraction:
    """Return the delta at which a loss is told: that of the spend, or else of the limit on a person."""
    named = [bound.delta for bound in (spend, curator.ledger.budget.person) if isinstance(bound, Approximate)]
    return named[0] if named else DELTA
