"""Statements in SQL: asked, paid and stored as questions, and computed on from what was released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.answer import NOISE_ONLY, Answer, ErrorUnit, Frame, Released
from sfumato.ask.question import Question
from sfumato.curator.foreseen import weighed
from sfumato.curator.planning import key_of, planned
from sfumato.privacy import Bound
from sfumato.privacy.bounds import require_bound
from sfumato.sql.explanation import Explanation, explained
from sfumato.sql.statement import RANK_ERROR, Statement, read_statement
from sfumato.table.database import database_of

if TYPE_CHECKING:
    from sfumato.curator.curator import Curator

USUAL = Fraction(95, 100)


@dataclass(frozen=True, eq=False)
class Reading:
    """How the answers to a statement are read: its rows, and the ends of its numbers."""

    error_unit: ClassVar[ErrorUnit] = "value"
    covers: ClassVar[str] = NOISE_ONLY
    statement: Statement
    answers: tuple[Answer, ...]
    rows: Frame

    def value(self, released: Released) -> Frame:
        """Return the rows of the statement."""
        return self.rows

    def interval(self, released: Released, confidence: Fraction) -> Frame:
        """Return the ends of every number that is an aggregate, or + - * / of some; of quantiles, their rank error."""
        return self.statement.frame(self.answers, confidence)

    def separate_intervals(self, released: Released) -> int:
        """Every number of every row has its own."""
        return max(1, len(released.cells) * self.statement.numbers)

    def doubts(self, released: Released) -> tuple[str, ...]:
        """Return what a reader should know of rows that were chosen, and of means of nothing."""
        from sfumato.sql.select import Made

        found: list[str] = []
        if self.statement.private.having is not None or self.statement.private.limit is not None:
            found.append("Intervals hold for each row before HAVING or LIMIT chose it.")
        for select, answer in zip(self.statement.selects, self.answers, strict=True):
            found += Made.of(select.statement, self.statement.database).doubts(answer.released)
        return tuple(found)

    def unknown(self, released: Released) -> Mapping[str, tuple[bool, ...]]:
        """Return of which numbers nothing is known, in the order of the rows."""
        return self.statement.shown(self.answers, USUAL).unknown

    def to_json(self) -> dict[str, Any]:
        """Return the private part of the statement."""
        return {"question": "Select", "statement": self.statement.sql}


@dataclass(frozen=True, repr=False)
class SqlAnswer(Answer):
    """The rows of a statement with what they cost; `sql` is what was asked of the data, in canonical form."""

    question: Reading
    sql: str = field(default="")

    def framed(self, together: bool = False) -> Frame:
        """Return the items of the statement in their order, and behind them the ends of the numbers that have some."""
        frame = self.question.statement.shown(self.question.answers, self._chance(USUAL, together))
        told = tuple(note for note in (self._covers(frame, together), *self.notes) if note)
        return replace(frame, notes=told)

    def _covers(self, frame: Frame, together: bool) -> str:
        ranks = any(name.endswith(f", {RANK_ERROR}") for name in frame.columns)
        apart = self.question.statement.without_ends if self.question.statement.has_ends else ()
        said = []
        if any(name.endswith(", low") for name in frame.columns) or self.loss.person.is_zero:
            said.append(super()._covers(frame, together))
        if ranks:
            said.append(
                "Quantiles have an error of rank: of the rows in their order, each is at most so many away from where "
                "it should be, 95 % of the time (privacy noise only)."
            )
        if apart and not self.loss.person.is_zero:
            said.append(f"Without an interval: {', '.join(apart)}.")
        if said:
            return " ".join(one for one in said if one)
        if not self.question.statement.has_ends:
            return (
                "An outer select has no intervals; DP_INTERVAL_LOW('…') and DP_INTERVAL_HIGH('…') stand in the inner. "
                "Means and variances of which nothing is known are missing to it."
            )
        return ""


def statement_of(curator: Curator, text: str) -> Statement:
    """Return a statement made ready for a curator's tables."""
    return read_statement(text, database_of(curator.schema))


def answer_sql(
    curator: Curator, text: str, spend: Bound | None, analyst: str | None, request: str | None = None
) -> SqlAnswer | Explanation:
    """Answer a statement within a spend, or explain it if it says so."""
    statement = statement_of(curator, text)
    bound = statement.spend(spend)
    if statement.parsed.explain:
        return explain_sql(curator, text, bound, analyst)
    selects = asked_as(curator, statement, bound)
    return read_answers(statement, curator.ask(selects, bound, analyst=analyst, request=request))


def asked_as(curator: Curator, statement: Statement, bound: Bound | None) -> list[Question]:
    """Return the questions of a statement; as it was written where an earlier version stored the answer under that."""
    for before in statement.before:
        asked = planned(curator.basis, list(before.selects), bound)
        if curator.ledger.knows(key_of(curator.basis, asked, bound, curator.table.snapshot)):
            return list(before.selects)
    return list(statement.selects)


def read_answers(statement: Statement, answers: Sequence[Answer]) -> SqlAnswer:
    """Return the rows of a statement, computed from the answers to its questions."""
    first = answers[0]
    statement = statement.answered_by(answers)
    loss = reduce(add, (one.loss for one in answers))
    reading = Reading(statement, tuple(answers), statement.frame(answers))
    raw = tuple(one.raw for one in answers)
    return SqlAnswer(
        reading,
        first.released,
        loss,
        first.event,
        answers[-1].remaining,
        first.reused,
        raw,
        first.request,
        statement.sql,
        remarks=first.remarks,
    )


def explain_sql(curator: Curator, text: str, spend: Bound | None, analyst: str | None = None) -> Explanation:
    """Say what a statement reads, costs and can tell; from public facts alone, and free."""
    statement = statement_of(curator, text)
    bound = statement.spend(spend)
    if bound is None:
        asked = planned(curator.basis, list(statement.selects), None)
        return explained(statement, asked, None)
    asked = planned(curator.basis, list(statement.selects), require_bound(bound))
    stored = planned(curator.basis, asked_as(curator, statement, bound), bound)
    seen = weighed(curator.ledger, curator.basis, stored, bound, curator.table.snapshot, analyst=analyst)
    return explained(statement, asked, seen.text, seen.free, bound)
