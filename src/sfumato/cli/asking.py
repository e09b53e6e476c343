"""What `query`, `refit` and `ledger preview` do: open, read the question, preview, rehearse, ask or finish again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.answer import Answer, Frame, number
from sfumato.cli.questions import Request, read_request
from sfumato.cli.spends import read_bound
from sfumato.curator import Curator, curate
from sfumato.errors import ParameterError
from sfumato.exact import to_text
from sfumato.ledger import Ledger
from sfumato.ledger.wording import shown
from sfumato.model.base import Model
from sfumato.privacy import Bound, Loss
from sfumato.questions.synopsis import Synopsis
from sfumato.show import table as draw
from sfumato.table.schema import Schema

DELTA = "1e-6"
SHOWN = 60
"""Of a longer table only so many rows are printed; files have all."""


@dataclass(frozen=True)
class Desk:
    """What a command opens: the data, their schema and their ledger, and who asks."""

    data: str
    schema: Path
    ledger: str
    snapshot: str = ""
    same_data: bool = False
    analyst: str | None = None
    table: str | None = None
    private: Path | None = None
    keep_head: Path | None = None

    @contextmanager
    def open(self, schema: Schema | None = None) -> Iterator[Curator]:
        """Open table and ledger, and close both."""
        described = Schema.load(self.schema) if schema is None else schema
        with Ledger(self.ledger, schema=described.fingerprint, private=self.private, keep_head=self.keep_head) as book:
            curator = curate(
                self.data, described, ledger=book, snapshot=self.snapshot, same_data=self.same_data, table=self.table
            )
            with curator.table:
                yield curator


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
    notes: tuple[str, ...] = ()

    @property
    def answer(self) -> Answer | None:
        """The answer, of several the first; None for a preview."""
        return self.answers[0] if self.answers else None

    @property
    def frame(self) -> Frame:
        """The table of the answer; those of several groups below each other."""
        if self.request is None or not self.request.by:
            return self.answers[0].frame
        return stacked(self.request, [answer.frame for answer in self.answers])

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object; the table stands beside the exact form of the answer."""
        person = {"person_epsilon": to_text(self.loss.person.epsilon_at(DELTA)), "at_delta": DELTA}
        if not self.answers:
            return {"fits": self.fits, "text": self.said, "loss": self.loss.to_json(), **person}
        records = [answer.to_json() for answer in self.answers]
        table = {} if is_sketch(self.answers[0].value) else {"table": columns_json(self.frame)}
        known = {} if self.schema is None else {"schema": self.schema.to_json()}
        exact = records[0] if len(records) == 1 else {"groups": records, "reused": self.answers[0].reused}
        return {**table, "rehearsed": self.rehearsed, "request": self.answers[0].request, **known, **person, **exact}

    def text(self) -> str:
        """Return the answer for people: a table, its cost, what is left."""
        answer = self.answers[0]
        title = "On made-up rows: it shows the shape and the error, nothing else" if self.rehearsed else "Answer"
        lines = [described(answer.value)] if is_sketch(answer.value) else [drawn(self.frame, title)]
        lines += dict.fromkeys(note for one in self.answers for note in one.notes)
        if self.rehearsed:
            return "\n".join([*lines, "", f"Nothing was spent. It would cost: {cost_text(self.loss)}."])
        cost = "nothing: the same question was answered before" if answer.reused else cost_text(self.loss)
        lines += ["", f"It cost {cost}.", *(f"  {name}: {said}" for name, said in _left(answer))]
        return "\n".join([*lines, *self.notes])


def _left(answer: Answer) -> list[tuple[str, str]]:
    # The sentence that a meter is no promise is said once, at the end.
    brief = [(name, text.split(" A meter, not a promise")[0]) for name, text in answer.remaining.items()]
    return [*brief, ("guarantee", "the limits; what is used is a meter, not a promise")]


def is_sketch(value: Any) -> bool:
    """Tell whether a value is something to read from, not a table."""
    return isinstance(value, (Model, Synopsis))


def described(value: Any) -> str:
    """Say what a model or a synopsis is, and what can be done with it."""
    if isinstance(value, Model):
        columns = ", ".join(value.space.names)
        return (
            f"A model of {columns}, about {value.total:.0f} people. --out rows.csv writes made-up rows; --out "
            'model.json keeps it, and `sfumato read model.json "table of COLUMN, …"` reads tables from it.'
        )
    return (
        f"A synopsis of {len(value.columns)} columns, about {value.people:.0f} rows: {', '.join(value.columns)}. --out "
        'synopsis.json keeps it, and `sfumato read synopsis.json "share of COLUMN, not COLUMN"` answers from it.'
    )


def drawn(frame: Frame, title: str) -> str:
    """Return a table for a terminal, with a sentence about rows that are left out."""
    rows = [[cell_text(cell) for cell in row] for row in frame.rows()[:SHOWN]]
    ends = any(name in ("low", "high") or name.endswith((", low", ", high")) for name in frame.columns)
    about = f"{title} (low and high: 95 % interval, privacy noise only)" if ends else title
    more = len(frame) - len(rows)
    cut = f"\n… and {more} more rows; --out table.csv writes all of them." if more else ""
    return draw(about, list(frame.columns), rows).text() + cut


def stacked(request: Request, frames: Sequence[Frame]) -> Frame:
    """Return the tables of all groups as one, with the columns of the groups in front."""
    columns: dict[str, list[Any]] = {name: [] for name in (*request.by, *frames[0].columns)}
    for group, frame in zip(request.groups, frames, strict=True):
        for name, value in zip(request.by, group, strict=True):
            columns[name] += [value] * len(frame)
        for name, cells in frame.columns.items():
            columns[name] += cells
    return Frame((*request.by, *frames[0].keys), {name: tuple(cells) for name, cells in columns.items()})


def cost_text(loss: Loss) -> str:
    """Return a loss in a few words, the person first.

    >>> from sfumato import Cost
    >>> cost_text(Loss.flat(Cost.pure("1/10"), reads={"age"}))
    'a person epsilon 0.1 at delta 1e-6; it reads age'
    """
    person = shown(loss.person.epsilon_at(DELTA), up=True)
    names = sorted(loss.profile.names())
    return f"a person epsilon {person} at delta {DELTA}" + (f"; it reads {', '.join(names)}" if names else "")


def preview_text(found: Found) -> str:
    """Say whether a question fits, and what it would cost."""
    return f"{found.said} It would cost {cost_text(found.loss)}."


def ask(desk: Desk, question: str, spend: str | None, *, preview: bool = False, rehearse: bool = False) -> Found:
    """Answer a question; everything that can be wrong with it is said before the ledger is charged."""
    described = Schema.load(desk.schema)
    request = read_request(question, described)
    bound = None if spend is None else read_bound(spend)
    if bound is None and (preview or rehearse):
        raise ParameterError("A preview needs a spend to look at; write for example --spend 'Pure(0.1)'.")
    with desk.open(described) as curator:
        if bound is not None and preview:
            seen = curator.preview(request.asked, bound, analyst=desk.analyst)
            return Found(curator.loss(request.asked, bound), seen.text, seen.fits)
        if bound is not None and rehearse:
            return _rehearsed(curator, request, bound)
        answers = curator.ask(request.asked, bound, analyst=desk.analyst)
        return found_in(curator, request, answers)


def _rehearsed(curator: Curator, request: Request, bound: Bound) -> Found:
    if request.by:
        raise ParameterError("--rehearse takes a single question; leave 'by' and its columns out.")
    played = curator.rehearse(request.questions[0], bound)
    return Found(played.loss, "", True, (played,), request, curator.schema, rehearsed=True)


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
    return Found(loss, "", True, listed, request, curator.schema, notes=curator.notes)


def cell_text(cell: Any) -> str:
    """Return a cell for people."""
    plain = number(cell)
    return f"{plain:.6g}" if isinstance(plain, float) else str(plain)


def columns_json(frame: Frame) -> dict[str, list[Any]]:
    """Return the columns of a table as JSON."""
    return {name: [_json(cell) for cell in column] for name, column in frame.columns.items()}


def _json(cell: Any) -> Any:
    plain = number(cell)
    return plain if isinstance(plain, (int, float, str, bool)) else json.loads(json.dumps(plain, default=str))
