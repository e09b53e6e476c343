"""Answers as they leave the service: JSON, tables, pictures, and how to cite them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

from sfumato.answer import Answer, Frame
from sfumato.errors import ParameterError, SfumatoError
from sfumato.ledger import Ledger
from sfumato.ledger.wording import cost_text
from sfumato.model.base import Model
from sfumato.privacy import Loss
from sfumato.serve.asked import Meant
from sfumato.serve.desks import Desk
from sfumato.serve.identity import Identity
from sfumato.serve.jobs import Job
from sfumato.serve.problems import Denied
from sfumato.show.answers import draw_answer
from sfumato.show.titles import title_of

MOST_ROWS = 1_000_000
KINDS = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Shown:
    """A stored answer with everything that is shown of it; made from what was released, so it is free."""

    job: Job
    asked: Meant
    answers: tuple[Answer, ...]
    request: str
    """The request that it was drawn for, as far as its reader may know it."""

    @property
    def answer(self) -> Answer:
        """The answer that people look at."""
        return self.asked.shown(self.answers)

    @property
    def loss(self) -> Loss:
        """What it cost all together."""
        return reduce(add, (one.loss for one in self.answers))

    @property
    def cost(self) -> str:
        """What it cost, in words."""
        if self.loss.person.is_zero:
            return "nothing: it depends on nobody"
        return "nothing: the same question was answered before" if self.job.reused else cost_text(self.loss)

    @property
    def frame(self) -> Frame | None:
        """Its table, None for a model, a sketch or a rule."""
        return self.asked.frame(self.answers)

    @property
    def title(self) -> str:
        """What was asked, in a few words."""
        if self.asked.statement is not None:
            typed = " ".join(str(self.job.form.asked).split())
            return title_of({"question": "Select", "statement": typed})
        if self.is_model:
            return f"Synthetic data of {', '.join(self.answer.value.space.names)}"
        by = self.asked.request.by if self.asked.request is not None else ()
        return title_of(self.answers[0].question.to_json(), by, self.answers[0].notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know, once each."""
        by_group = self.asked.request is not None and self.asked.request.by
        told = (self.answer,) if by_group else self.answers
        return tuple(dict.fromkeys(note for one in told for note in one.notes))

    @property
    def is_model(self) -> bool:
        """Whether made-up rows can be drawn from it."""
        return isinstance(self.answer.value, Model)

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON: exact forms, and the table beside them."""
        frame = self.frame
        return {
            **self.job.to_json(),
            "request": self.request,
            "single": not isinstance(self.asked.asked, list),
            "title": self.title,
            "cost": self.cost,
            "notes": list(self.notes),
            "table": None if frame is None else frame.to_json(),
            "answers": [{**one.to_json(), "reused": self.job.reused} for one in self.answers],
        }

    def picture(self) -> str:
        """Return the picture as SVG."""
        if self.asked.statement is not None:
            frame = self.answer.interval()
            value = self.answer.value
            return draw_answer(self.title, value.keys, {**value.columns, **frame.columns}).svg()
        return self.answer.plot().svg()

    def has_picture(self) -> bool:
        """Tell whether there is a picture."""
        try:
            return bool(self.picture())
        except Exception:  # a model, a rule, or more rows than can be told apart
            return False

    def file(self, kind: str, rows: int | None = None) -> bytes:
        """Return the answer as a file: its table, or the made-up rows of a model."""
        if kind == "svg":
            return self._drawn()
        if kind == "json":
            import json

            return json.dumps(self.to_json(), ensure_ascii=False, indent=1).encode()
        return written(self._arrow(rows), kind)

    def _drawn(self) -> bytes:
        try:
            return self.picture().encode()
        except SfumatoError:
            raise
        except Exception:
            raise ParameterError("This answer has no picture; look at its table.") from None

    def _arrow(self, rows: int | None) -> Any:
        if isinstance(self.answer.value, Model):
            return rows_of(self.answer.value, rows)
        frame = self.frame
        if frame is None:
            raise ParameterError("This answer is no table; take it as JSON.")
        return frame.to_arrow()

    def citation(self, ledger: Ledger) -> str:
        """Return how to cite it: what ran, where the ledger has it, and the end of the chain that holds it.

        An answer that somebody had before is cited by its row: the ledger does not know the later request, and the
        earlier one would tell who asked.
        """
        event = self.answers[0].event
        entry = None if self.job.request == self.job.own_request else ledger.entry(self.job.request)
        place = f"request {self.request}" if entry is None else f"row {entry.number} of the ledger"
        return (
            f"{self.title}. Data set {self.job.dataset}, snapshot {event.parameters.get('snapshot', '')!r}; "
            f"{event.name} ({event.spec}, version {event.version}); {place}; ledger head {ledger.head}."
        )


def rows_of(model: Model, rows: int | None) -> Any:
    """Return made-up rows, by default as many as there are people, as far as one file has them."""
    count = min(MOST_ROWS, max(1, round(model.total))) if rows is None else rows
    if not 1 <= count <= MOST_ROWS:
        raise ParameterError(f"rows is a number of made-up rows, 1 to {MOST_ROWS:,}.")
    return model.sample(count)


def written(table: Any, kind: str) -> bytes:
    """Return a table as a file."""
    sink = io.BytesIO()
    if kind == "parquet":
        from pyarrow import parquet

        parquet.write_table(table, sink)
    else:
        from pyarrow import csv

        csv.write_csv(table, sink, csv.WriteOptions(quoting_style="needed"))
    return sink.getvalue()


def shown(desk: Desk, job: Job, who: Identity) -> Shown:
    """Return what is shown of a stored answer to somebody: other people's quotas are left out."""
    if job.state != "stored":
        raise Denied(409, f"There is no answer: {job.to_json()['said']}")
    own = [one.name for one in desk.readings(None if who.role == "curator" else who.name)]
    answers = [_for(one, own) for one in desk.stored(job.request)]
    return Shown(job, desk.meant(job.form), tuple(answers), _request(job, who))


def _request(job: Job, who: Identity) -> str:
    """Return the ledger's id of an answer; that of somebody else would tell who asked the same, and under which key."""
    theirs = job.reused and job.request != job.own_request and who.role != "curator"
    return job.own_request if theirs else job.request


def _for(answer: Answer, own: Sequence[str]) -> Answer:
    return replace(answer, remaining={name: said for name, said in answer.remaining.items() if name in own})
