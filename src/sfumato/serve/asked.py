"""What somebody asks, as it comes over the wire, and what that means to a curator; public facts only."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sfumato.answer import Answer, Frame
from sfumato.curator import Curator
from sfumato.curator.planning import planned
from sfumato.curator.statements import asked_as, read_answers, statement_of
from sfumato.curator.typed import Request, read_request
from sfumato.errors import ParameterError, SfumatoError
from sfumato.ledger.typed import read_bound
from sfumato.model.base import Model
from sfumato.privacy import Bound, Loss, Pure, bound_from_json
from sfumato.questions import Question, question_from_json
from sfumato.sql.statement import Statement

_log = logging.getLogger("sfumato.serve")

WAYS = ("question", "questions", "phrase", "sql")
COSTS = 'This depends on people, so it costs something; write beside it what it may cost, as in "spend": "Pure(0.1)".'
MOST_QUESTIONS = 1000
UNREADABLE = (
    'This question cannot be read; write {"question": {"question": "Count", "where": "age > 40"}, "spend": '
    '"Pure(0.1)"}, {"phrase": "mean of age by sex", …} or {"sql": "SELECT COUNT(*) FROM data", …}.'
)


@dataclass(frozen=True)
class Form:
    """A question as somebody wrote it: as JSON, several, as a phrase or in SQL; and what it may cost."""

    way: str
    asked: Any
    spend: Bound | None = None

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `read_form` reads back."""
        return {self.way: self.asked, "spend": None if self.spend is None else self.spend.to_json()}

    @property
    def text(self) -> str:
        """What was asked, in a line."""
        return self.asked if isinstance(self.asked, str) else json.dumps(self.asked, ensure_ascii=False)


def read_form(record: Any) -> Form:
    """Return what a body asks."""
    if not isinstance(record, Mapping) or not _is_text(record):
        raise ParameterError(UNREADABLE)
    given = [way for way in WAYS if way in record]
    if unknown := sorted(set(record) - {*WAYS, "spend"}):
        raise ParameterError(f"A body has no {unknown[0][:40]!r}; it has one of {', '.join(WAYS)}, and a spend.")
    if len(given) != 1:
        raise ParameterError(UNREADABLE)
    way: str = given[0]
    asked: Any = record[way]
    kinds: dict[str, Any] = {"question": Mapping, "questions": list, "phrase": str, "sql": str}
    if not isinstance(asked, kinds[way]) or not asked:
        raise ParameterError(UNREADABLE)
    if way == "questions" and len(asked) > MOST_QUESTIONS:
        raise ParameterError(f"A list has at most {MOST_QUESTIONS} questions; ask in several lists.")
    return Form(way, asked, read_spend(record.get("spend")))


def _is_text(record: Any) -> bool:
    """Tell whether everything in a body can be written down again: no half characters, no zero bytes."""
    try:
        return b"\x00" not in json.dumps(record, ensure_ascii=False).encode() and "\\u0000" not in json.dumps(record)
    except (UnicodeEncodeError, RecursionError):
        return False


def read_spend(given: Any) -> Bound | None:
    """Return a spend from a text such as Pure(0.1), or from the JSON of a bound."""
    if given is None or given == "":
        return None
    if isinstance(given, str):
        return read_bound(given, "spend")
    try:
        return bound_from_json(given)
    except SfumatoError:
        raise
    except Exception:
        raise ParameterError('A spend is a text; write "spend": "Pure(0.1)" or "Approximate(1, 1e-6)".') from None


@dataclass(frozen=True)
class Meant:
    """What a form means to a curator."""

    form: Form
    asked: Question | list[Question]
    spend: Bound | None
    request: Request | None = None
    statement: Statement | None = None

    @property
    def kind(self) -> str:
        """The kind of the question, of several that of the first."""
        first = self.asked if isinstance(self.asked, Question) else self.asked[0]
        return first.kind

    def loss(self, curator: Curator) -> Loss:
        """Return what it would cost; without a spend only what is free is planned."""
        return planned(curator.basis, self.asked, self.spend).loss()

    def to_ask(self, curator: Curator) -> Question | list[Question]:
        """Return what is asked and looked for: a statement as it was stored, where an earlier version wrote it so."""
        return self.asked if self.statement is None else asked_as(curator, self.statement, self.spend)

    def ask(self, curator: Curator, analyst: str, request: str) -> list[Answer]:
        """Ask the curator, who reserves, reads, draws, stores and finishes."""
        found = curator.ask(self.to_ask(curator), self.spend, analyst=analyst, request=request)
        return [found] if isinstance(found, Answer) else found

    def shown(self, answers: Sequence[Answer]) -> Answer:
        """Return the answer that people look at: of a statement its rows, of groups the table of all."""
        if self.statement is not None:
            return read_answers(self.statement, answers)
        return answers[0] if self.request is None else self.request.shown(answers)

    def frame(self, answers: Sequence[Answer]) -> Frame | None:
        """Return the table of an answer; None for a model, a sketch or a rule."""
        first = self.shown(answers)
        value = first.value
        tabled = isinstance(value, (Frame, int, float)) or hasattr(value, "numerator") or hasattr(value, "to_frame")
        return first.frame if tabled and not isinstance(value, Model) else None


@contextmanager
def planning() -> Iterator[None]:
    """Turn whatever goes wrong with somebody's question into a sentence, while only public facts are looked at.

    Wrong types deep inside of JSON fail in many ways; what failed is logged by its kind, because it may be our mistake.
    """
    try:
        yield
    except SfumatoError:
        raise
    except Exception as problem:
        _log.error(json.dumps({"unreadable": type(problem).__name__}))
        raise ParameterError(UNREADABLE) from None


def meant(form: Form, curator: Curator) -> Meant:
    """Return what a form means, from the schema alone; whatever it holds, the sender gets a sentence."""
    with planning():
        found = _meant(form, curator)
        if found.spend is None and not planned(curator.basis, found.asked, Pure(1)).loss().person.is_zero:
            raise ParameterError(COSTS)
        return found


def _meant(form: Form, curator: Curator) -> Meant:
    schema = curator.schema
    if form.way == "question":
        return Meant(form, question_from_json(form.asked, schema), form.spend)
    if form.way == "questions":
        return Meant(form, [question_from_json(one, schema) for one in form.asked], form.spend)
    if form.way == "phrase":
        request = read_request(form.asked, schema)
        asked = request.asked
        return Meant(form, asked if isinstance(asked, Question) else list(asked), form.spend, request)
    statement = statement_of(curator, form.asked)
    if statement.parsed.explain:
        raise ParameterError("EXPLAIN is what the preview does, for nothing; leave the word out.")
    return Meant(form, list(statement.selects), statement.spend(form.spend), statement=statement)
