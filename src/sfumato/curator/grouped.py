"""Quantiles of every group of some columns: a question for each group, asked as one list and shown as one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, reduce
from itertools import product
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.answer import NOISE_ONLY, Answer, ErrorUnit, Frame, Released
from sfumato.curator.labels import labels_of
from sfumato.durable import require_new
from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.questions.quantiles.question import MOST_ROWS
from sfumato.show.answers import draw_groups
from sfumato.show.titles import ONLY
from sfumato.table.notes import in_words, missing_row
from sfumato.table.predicate import EVERY_ROW, NO_ROW, Predicate, codes_between, every
from sfumato.table.where import read_where

if TYPE_CHECKING:
    from sfumato.ask.expected import Expected
    from sfumato.ask.question import Where
    from sfumato.show import Drawing
    from sfumato.table.schema import Schema

MOST_GROUPS = 1000
"""Each group of quantiles is a question of its own, with a part of the spend."""
NEEDED = "rows needed"
"""The column that says how many rows a group must have for its values to tell something."""
Group = tuple[Any, ...]


def groups_of(by: Sequence[str], where: Where, schema: Schema) -> list[tuple[Group, Predicate]]:
    """Return every group that the schema lists, and the condition that its rows fulfil."""
    domains = [schema.domain(name) for name in by]
    size = 1
    for domain in domains:
        size *= MOST_GROUPS + 1 if domain.present is None else len(domain.present)
    if size > MOST_GROUPS:
        raise DomainTooLarge(
            f"The groups by {', '.join(by)} are more than {MOST_GROUPS}; derive coarser bins in the schema, or "
            "group by fewer columns.",
            method="bins",
        )
    condition = read_where(where, schema)
    found: list[tuple[Group, Predicate]] = []
    for codes in product(*(domain.present or () for domain in domains)):
        inside = [codes_between(schema, name, [(code, code)]) for name, code in zip(by, codes, strict=True)]
        both = every([condition, *inside], schema)
        if both != NO_ROW:  # what the condition rules out is not asked, so that nothing is spent on it
            found.append((tuple(domain.decode(code) for domain, code in zip(domains, codes, strict=True)), both))
    if not found:
        raise ParameterError("The condition leaves no group; write one that some group fulfils.")
    return found


@dataclass(frozen=True)
class Rules:
    """What is said of all groups in place of what is said of each: the condition that they share, and who is in none.

    `where` is that condition in words; `bases` are the columns from which groups are made.
    """

    where: str = ""
    bases: tuple[str, ...] = ()
    labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict, compare=False)
    """What people read in place of the values of the columns from which groups are made."""

    def of_all(self, notes: Sequence[str]) -> Iterator[str]:
        """Return the notes of one group as those of the whole table."""
        if self.where:
            yield f"{ONLY}{self.where}."
        for note in notes:
            if note.startswith(ONLY):
                continue
            base = next((name for name in self.bases if note == missing_row(name)), None)
            if base is None:
                yield note
            else:
                column = base if base.isidentifier() else f'"{base}"'
                yield f"Rows in which {base!r} is missing are in no group; where='{column} IS NULL' asks about them."


def rules_of(by: Sequence[str], where: Where, schema: Schema) -> Rules:
    """Return what is said of all groups of some columns under a condition."""
    condition = read_where(where, schema)
    said = "" if condition == EVERY_ROW else in_words(condition, schema)
    return Rules(said, tuple(schema.base(name) for name in by), labels_of(by, schema))


def divided(groups: int, expected: Expected | None = None) -> tuple[str, ...]:
    """Say that the groups of quantiles share the spend; counts, sums and means by group do not.

    A rank error that is expected is compared with the rows of a group, if all were equally large.
    """
    if groups < 2:
        return ()
    each = None if expected is None or expected.rows is None else expected.rows // groups
    nothing = each is not None and expected is not None and 2 * expected.size >= each
    told = ", and their values would tell nothing" if nothing else ""
    return (
        *(() if each is None else (f"If all groups were equally large, each had at most {each:,} rows{told}.",)),
        f"The spend is divided evenly over {groups} groups, because each group's quantiles are drawn on "
        "their own; counts, sums and means by group need no division. Fewer groups, or a larger spend, give smaller "
        "rank errors.",
    )


def _lost(groups: Sequence[Group], of: int, question: Any, by: Sequence[str]) -> tuple[str, ...]:
    """Say for which groups the values tell nothing, and what would say more."""
    if not groups:
        return ()
    named = "; ".join(", ".join("missing" if value is None else str(value) for value in one) for one in groups[:3])
    more = f" and {len(groups) - 3} more" if len(groups) > 3 else ""
    listed = ", ".join(map(repr, (*by, f"{question.column}_bins")))
    return (
        f"In {len(groups)} of {of} groups the rank error is as large as half of the rows that a group can have if all "
        f"are equally large ({named}{more}), so the values tell nothing; files keep what was drawn, for groups "
        f"that have the {NEEDED!r}. Spend more, ask for fewer quantiles or about fewer groups, or count bins, whose "
        f"counts all come at the full spend: bins({question.column!r}, edges=[…]) in the schema, and "
        f"histogram([{listed}]).",
    )


def _needed(groups: int) -> tuple[str, ...]:
    """Say that no group is shown to have the rows that its values need.

    How many these are stands in the table alone, which knows whether its errors hold one by one or together.
    """
    if not groups:
        return ()
    return (
        "No count is released with quantiles: this answer does not say how many rows a group has, if any. "
        f"Where a group has fewer than {NEEDED!r} says, its values may tell nothing, and may be anything in the "
        "range: a rank error reaches from the middle to both ends. Ask for a count by group.",
    )


def _marked(answer: Answer, groups: int) -> Mapping[str, tuple[bool, ...]]:
    found = answer.question.unknown(answer.released)
    most = answer.released.facts.get(MOST_ROWS)
    if most is None or not answer.released.cells:
        return found
    nothing = 2 * groups * answer.interval()["rank error"][0] >= most
    return {name: (nothing or any(marks),) * len(marks) for name, marks in found.items()}


@dataclass(frozen=True, eq=False)
class ByGroup:
    """How the answers about all groups are read: one below the other, each with its own rank error."""

    error_unit: ClassVar[ErrorUnit] = "rank"
    covers: ClassVar[str] = NOISE_ONLY
    by: tuple[str, ...]
    groups: tuple[Group, ...]
    answers: tuple[Answer, ...]
    rules: Rules

    def value(self, released: Released) -> Frame:
        """Return the quantiles of all groups."""
        return self._stacked([answer.value for answer in self.answers])

    def interval(self, released: Released, confidence: Fraction) -> Frame:
        """Return the rank error of every group, each of which holds with this confidence, and the rows it needs."""
        errors = self._stacked([answer.interval(confidence) for answer in self.answers])
        return replace(errors, columns={**errors.columns, NEEDED: tuple(2 * one for one in errors["rank error"])})

    def separate_intervals(self, released: Released) -> int:
        """Return how many groups there are: the quantiles of one hold together, those of different groups do not."""
        return len(self.answers)

    def doubts(self, released: Released) -> tuple[str, ...]:
        """Return of which groups nothing is known, how many rows the others need, and that the spend was divided."""
        marks = [any(map(any, one.values())) for one in self._marks]
        lost = [group for group, mark in zip(self.groups, marks, strict=True) if mark]
        question = self.answers[0].question
        return (*_lost(lost, len(marks), question, self.by), *_needed(marks.count(False)), *divided(len(self.answers)))

    def unknown(self, released: Released) -> Mapping[str, tuple[bool, ...]]:
        """Mark the values of the groups of which nothing is known."""
        marks = self._marks
        sizes = [len(answer.released.cells) for answer in self.answers]
        return {
            name: tuple(
                mark
                for one, size in zip(marks, sizes, strict=True)
                for mark in one.get(name, (False,) * size)
            )
            for name in dict.fromkeys(name for one in marks for name in one)
        }  # fmt: skip

    @cached_property
    def _marks(self) -> list[Mapping[str, tuple[bool, ...]]]:
        """Mark the values of a group where its rank error is as large as half of an even part of all rows.

        Groups share the rows, so if twice the errors of all are more rows than there can be, some of the values are
        noise, and nobody can say which: those beyond an even part are. All of it is public or was released.
        """
        return [_marked(answer, len(self.answers)) for answer in self.answers]

    def to_json(self) -> dict[str, Any]:
        """Return the question about the first group, and what the groups are of."""
        return {**self.answers[0].question.to_json(), "by": list(self.by)}

    def _stacked(self, frames: Sequence[Frame]) -> Frame:
        """Return the tables of all groups as one, with the columns of the groups in front."""
        columns: dict[str, list[Any]] = {name: [] for name in (*self.by, *frames[0].columns)}
        for group, frame in zip(self.groups, frames, strict=True):
            for name, value in zip(self.by, group, strict=True):
                columns[name] += [value] * len(frame)
            for name, cells in frame.columns.items():
                columns[name] += cells
        return Frame((*self.by, *frames[0].keys), {name: tuple(cells) for name, cells in columns.items()})


@dataclass(frozen=True, repr=False)
class GroupedAnswer(Answer):
    """The quantiles of all groups as one table, with what they cost together; `answers` are those of the groups."""

    question: ByGroup

    @property
    def notes(self) -> tuple[str, ...]:
        """What is so for all groups: rules, what is known of the errors, and what the ledger knows."""
        rules = self.question.rules.of_all(self.event.parameters.get("notes", ()))
        known = self.released.made.get("notes", ())
        return (*rules, *known, *self.question.doubts(self.released), *self.remarks)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers about the groups, in their order."""
        return self.question.answers

    def to_json(self) -> dict[str, Any]:
        """Return the answers about the groups as JSON, each of which can be read back."""
        return {"groups": [answer.to_json() for answer in self.answers], "reused": self.reused}

    def plot(
        self,
        path: str | Path | None = None,
        *,
        overwrite: bool = False,
        columns: Sequence[str] | None = None,
        pairs: Sequence[Sequence[str]] | None = None,
    ) -> Drawing:
        """Return a chart of the quantiles of every group, and with a path also write it there.

        A group of which nothing is known has its name and no dot: what was drawn there is noise.
        """
        self._require_choice(
            {name: one for name, one in (("columns", columns), ("pairs", pairs)) if one is not None}, ()
        )
        if path is not None:
            require_new(path, overwrite=overwrite, in_folder=True)
        quantiles: Any = self.question.answers[0].question
        drawing = draw_groups(self._title(), self.question.by, quantiles.shown, self.frame)
        if path is not None:
            drawing.save(path)
        return drawing

    def _title(self) -> str:
        from sfumato.show.titles import title_of

        return title_of(self.answers[0].question.to_json(), self.question.by)


def grouped_answer(
    by: Sequence[str], groups: Sequence[Group], answers: Sequence[Answer], rules: Rules
) -> GroupedAnswer:
    """Return the answers to the questions about all groups, which were one list, as one."""
    first = answers[0]
    return GroupedAnswer(
        ByGroup(tuple(by), tuple(groups), tuple(answers), rules),
        first.released,
        reduce(add, (answer.loss for answer in answers)),
        first.event,
        answers[-1].remaining,
        first.reused,
        tuple(answer.raw for answer in answers),
        first.request,
        remarks=tuple(dict.fromkeys(said for answer in answers for said in answer.remarks)),
        labels=rules.labels,
    )
