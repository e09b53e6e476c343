"""How many different people there are: COUNT(DISTINCT person), whatever the number of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.answer import NoisyPart, Released
from sfumato.ask.expected import Expected, expected_of_totals
from sfumato.ask.phrases import Phrase
from sfumato.ask.prepared import Prepared, Several
from sfumato.ask.question import Question, Where, as_columns, flat
from sfumato.errors import ParameterError
from sfumato.privacy import Bound
from sfumato.table import measure
from sfumato.table.gauge import Basis
from sfumato.table.schema import Schema
from sfumato.table.where import read_where
from sfumato.totals.aggregates import Count
from sfumato.totals.noisy import Moves, noisy_total
from sfumato.totals.totals import all_cells, number_of_cells


@dataclass(frozen=True, init=False)
class People(Question):
    """How many different people have a row that fulfils a condition, or one for each combination of the columns `by`.

    A person counts once in every group in which they have such a row, or in the first `groups_per_person` of them.
    Without a condition and without groups it is the public number of people and costs nothing (SM-PEOPLE).
    """

    kind: ClassVar[str] = "People"
    title: ClassVar[str] = "Number of people"
    typed: ClassVar[tuple[str, ...]] = ("people",)
    by: tuple[str, ...]
    where: Where

    def __init__(self, where: Where = None, by: str | Sequence[str] = ()) -> None:
        object.__setattr__(self, "by", as_columns(by))
        object.__setattr__(self, "where", where)

    @classmethod
    def of_phrase(cls, phrase: Phrase, schema: Schema) -> Question:
        """Read a condition and groups: nothing else is said of people."""
        if len(phrase.words) > 1 or phrase.private:
            raise ParameterError("people counts different people; write people where CONDITION, or people by COLUMN.")
        phrase.only("by", "where")
        return cls(phrase.where, phrase.by)

    def plan(self, basis: Basis, spend: Bound) -> Prepared:
        """Prepare noise for the number of people, or for all numbers by group together."""
        size = number_of_cells(basis.schema, self.by, "derive coarser bins in the schema")
        cells = all_cells(basis.schema, self.by)
        gauge = basis.gauge(measure.People(self.by, read_where(self.where, basis.schema)))
        total = noisy_total(gauge.priced(spend), Moves.of(gauge), size)
        mechanism = Several(mechanisms=(total.mechanism,), relation=basis.relation)

        def arrange(found: Sequence[Any]) -> tuple[Any, ...]:
            return (total.rounded(found[0]),)

        def finish(raw: Sequence[Any]) -> Released:
            part = NoisyPart("people", flat(raw[0]), total.law, total.unit)
            return Released((part,), self.by, cells)

        return Prepared(gauge, mechanism, finish, arrange)

    def expected(self, basis: Basis, spend: Bound, prepared: Prepared | None = None) -> Expected | None:
        """Return how far noise of a known law will move the widest number."""
        return expected_of_totals(self, prepared or self.prepare(basis, spend), basis.people)

    def value(self, released: Released) -> Any:
        """Return the number of people, or a table with one row for each combination."""
        (part,) = released.parts
        counted = tuple(Count().shown(value) for value in part.values())
        return released.frame({"people": counted}) if self.by else counted[0]

    def interval(self, released: Released, confidence: Fraction) -> Any:
        """Return the ends between which the number without noise lies, or a table of them."""
        (part,) = released.parts
        ends = [Count().between(part.between(cell, confidence)) for cell in range(len(released.cells))]
        if not self.by:
            return ends[0]
        low, high = zip(*ends, strict=True)
        return released.frame({"people, low": low, "people, high": high})

    def separate_intervals(self, released: Released) -> int:
        """Every group has its own."""
        return len(released.cells)
