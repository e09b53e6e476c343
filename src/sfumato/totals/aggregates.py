"""Counts, sums, means and variances: each a formula over a few totals that are released with noise."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

from sfumato.answer import NoisyPart, Released
from sfumato.ask.expected import Expected, expected_of_totals
from sfumato.ask.prepared import Prepared
from sfumato.ask.question import Question, Where
from sfumato.domain import Booleans, Categories, Derived, FixedPoint, Integers
from sfumato.errors import SchemaError
from sfumato.privacy import Bound
from sfumato.table.flat import Grid
from sfumato.table.gauge import Basis
from sfumato.table.schema import Schema
from sfumato.table.statistics import COUNT, Part, Power
from sfumato.table.where import read_where
from sfumato.totals.quotient import has_law, ratio_between

Interval = tuple[Fraction, Fraction]
"""A number from the first to the second; a value without doubt is an interval of one point."""

ZERO, ONE = Fraction(0), Fraction(1)
USUAL = Fraction(95, 100)
"""The confidence at which sentences speak of what may be."""


@dataclass(frozen=True)
class Term:
    """One total that a formula needs: its name, what is added up, and what one unit of it is worth."""

    name: str
    part: Part
    step: Fraction = ONE


@dataclass(frozen=True)
class Aggregate(Question):
    """One number about the rows that a condition picks, or one for each group."""

    where: Where = None

    @property
    @abstractmethod
    def label(self) -> str:
        """The name of the number in a table."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the totals that the formula needs."""

    @abstractmethod
    def terms(self, schema: Schema) -> tuple[Term, ...]:
        """Return the totals that the formula needs, in the order of their names."""

    @abstractmethod
    def combine(self, totals: Mapping[str, Interval], facts: Mapping[str, Fraction]) -> Interval:
        """Return the interval of the number when every total lies in its own; points give the value itself."""

    def facts(self, schema: Schema) -> dict[str, Fraction]:
        """Return the public numbers that the formula needs."""
        return {}

    def plan(self, basis: Basis, spend: Bound) -> Prepared:
        """Prepare the totals without keys."""
        from sfumato.totals.totals import plan_totals

        return plan_totals((self,), basis, spend, (), read_where(self.where, basis.schema))

    def expected(self, basis: Basis, spend: Bound, prepared: Prepared | None = None) -> Expected | None:
        """Return how far noise of a known law will move the widest number."""
        return expected_of_totals(self, prepared or self.prepare(basis, spend), basis.people)

    def shown(self, value: Fraction) -> int | float:
        """Return a value of the formula as people expect it."""
        return plain(value)

    def between(self, ends: Interval) -> tuple[int | float, int | float]:
        """Return the ends of an interval as people expect them."""
        return plain(ends[0]), plain(ends[1])

    def possible(self, released: Released, cell: int, confidence: Fraction) -> Interval:
        """Return the formula's range in one cell while every total lies in its interval, the risk shared evenly."""
        return self.combine(intervals(released, self, cell, confidence), released.facts)

    def value(self, released: Released) -> Any:
        """Return the formula at the released totals."""
        return self.shown(self.combine(points(released, 0), released.facts)[0])

    def interval(self, released: Released, confidence: Fraction) -> Any:
        """Return the formula's range."""
        return self.between(self.possible(released, 0, confidence))

    def doubts(self, released: Released) -> tuple[str, ...]:
        """Return a sentence where there may be no row to average."""
        return doubts_of_means((self,), released)

    def unknown(self, released: Released) -> Mapping[str, tuple[bool, ...]]:
        """Mark the value where there may be no row to average, or where it may be anything in its range."""
        marks = unknown_cells((self,), released).get(self.label)
        return {} if marks is None else {"value": marks}

    def allowed(self, facts: Mapping[str, Fraction]) -> Interval | None:
        """Return between what the number lies whatever the rows are; None of what has no such range."""
        return None


def points(released: Released, cell: int) -> dict[str, Interval]:
    """Return the released totals of one cell as intervals of one point."""
    found = {part.name: part.released[cell] * part.unit for part in released.parts}
    return {name: (value, value) for name, value in found.items()}


def intervals(released: Released, aggregate: Aggregate, cell: int, confidence: Fraction) -> dict[str, Interval]:
    """Return the intervals of the totals of one cell; together they hold with the given confidence."""
    own = [part for part in released.parts if part.name in aggregate.names]
    noisy = sum(part.law is not None for part in own)
    each = 1 - (1 - confidence) / max(1, noisy)
    return {part.name: part.between(cell, each) for part in own}


def doubts_of_means(aggregates: Sequence[Aggregate], released: Released) -> tuple[str, ...]:
    """Return sentences about cells with no row to average, or too few, and those whose mean noise took out of range."""
    marks = unknown_cells(aggregates, released)
    empty = [place for place in range(len(released.cells)) if any(cells[place] for cells in marks.values())]
    return (*_nothing_known(empty, released), *_at_an_end(aggregates, marks, released))


def _nothing_known(empty: Sequence[int], released: Released) -> tuple[str, ...]:
    if not empty:
        return ()
    if not released.keys:
        return (
            "There may be no row to average, or too few for this spend, so the value tells nothing; its interval says "
            "what is possible.",
        )
    return (
        f"In {len(empty)} of {len(released.cells)} groups there may be no row to average, or too few for this spend "
        f"({_cells_named(empty, released)}): what was drawn there tells nothing, and its interval is all that is "
        "known.",
    )


def _at_an_end(
    aggregates: Sequence[Aggregate], marks: Mapping[str, Sequence[bool]], released: Released
) -> tuple[str, ...]:
    """Say where a mean is shown as an end of its range because noise took it to there or beyond."""
    if all(part.law is None for part in released.parts):
        return ()
    found = []
    for place in range(len(released.cells)):
        for one in aggregates:
            allowed = one.allowed(released.facts) if isinstance(one, Mean) else None
            if allowed is None or marks[one.label][place]:
                continue
            if one.combine(points(released, place), released.facts)[0] in allowed:
                found.append(place)
    if not found:
        return ()
    named = f" in {len(found)} of {len(released.cells)} groups ({_cells_named(found, released)})"
    return (
        f"The noise took the mean to an end of the column's range or beyond{named if released.keys else ''}; that end "
        "is shown, and the interval says what is known.",
    )


def _cells_named(places: Sequence[int], released: Released) -> str:
    """Return the keys of the first cells, and how many more there are."""
    named = [
        ", ".join("missing" if value is None else str(value) for value in released.cells[place]) for place in places[:3]
    ]
    return "; ".join(named) + (f" and {len(places) - 3} more" if len(places) > 3 else "")


def unknown_cells(aggregates: Sequence[Aggregate], released: Released) -> dict[str, tuple[bool, ...]]:
    """Return in which cells nothing is known of a mean or a variance, by its label: from released numbers alone.

    There may be no row to average, or the interval is all that the schema allows. What was drawn there is noise.
    """
    return {
        one.label: released.once(f"unknown {one.label}", partial(_unknown, one, released))
        for one in aggregates
        if isinstance(one, (Mean, Variance)) and one.allowed(released.facts) is not None
    }


def _unknown(aggregate: ColumnAggregate, released: Released) -> tuple[bool, ...]:
    count = released.part(aggregate.count_name({part.name for part in released.parts}))
    allowed = aggregate.allowed(released.facts)
    assert allowed is not None
    # Where there may be no row, which is nearly everywhere in large tables, the interval need not be worked out.
    surely = math.ceil((ONE + count.width(USUAL)) / count.unit)

    def is_unknown(cell: int) -> bool:
        if count.released[cell] < surely or count.between(cell, USUAL)[0] < ONE:
            return True
        low, high = aggregate.possible(released, cell, USUAL)
        return low <= allowed[0] and high >= allowed[1]

    return tuple(map(is_unknown, range(len(released.cells))))


def plain(number: Fraction) -> int | float:
    """Return an exact number as an int where it is whole, as a float elsewhere."""
    return int(number) if number.denominator == 1 else float(number)


def number_step(schema: Schema, column: str) -> Fraction:
    """Return what one code of a numeric column is worth, refusing columns that hold no numbers."""
    domain = schema.domain(column)
    if isinstance(domain, FixedPoint) or (isinstance(domain, Grid) and domain.form == "number"):
        return domain.step
    if isinstance(domain, (Integers, Booleans)):  # of truth values, 0 and 1, the mean is a share
        return ONE
    hint = f"; ask about {domain.rule.of!r}" if isinstance(domain, Derived) else "; ask for a histogram"
    hint += domain.scoring(column) if isinstance(domain, Categories) else ""
    raise SchemaError(f"{column!r} holds no numbers to add up, so it has no sum or mean{hint}.")


@dataclass(frozen=True)
class Count(Aggregate):
    """How many rows there are, or how many fulfil a condition; `Count("pay IS NOT NULL")` counts the cells of a column.

    Without a condition, and with one row a person, it is the public number of people and costs nothing.
    """

    kind: ClassVar[str] = "Count"

    @property
    def label(self) -> str:
        """The word itself."""
        return "count"

    @property
    def names(self) -> tuple[str, ...]:
        """One count."""
        return ("count",)

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        """Return the count."""
        return (Term("count", COUNT),)

    def combine(self, totals: Mapping[str, Interval], facts: Mapping[str, Fraction]) -> Interval:
        """Return the count itself; it may be below zero, because rounding up would bias sums of counts."""
        return totals["count"]

    def shown(self, value: Fraction) -> int | float:
        """Return the nearest whole number: weighed rows are counted in fractions that mean nothing to people."""
        return math.floor(value + Fraction(1, 2))

    def between(self, ends: Interval) -> tuple[int | float, int | float]:
        """Return whole numbers outside of both ends, so that the whole number shown lies between them."""
        return math.floor(ends[0]), math.ceil(ends[1])


@dataclass(frozen=True, init=False)
class ColumnAggregate(Aggregate):
    """An aggregate of one numeric column, each value clamped to the range of its column."""

    column: str = ""

    def __init__(self, column: str, where: Where = None) -> None:
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "where", where)

    @property
    def label(self) -> str:
        """The question and its column."""
        return f"{self.kind.lower()} of {self.column}"

    def facts(self, schema: Schema) -> dict[str, Fraction]:
        """Return the range of the column and its middle, around which sums are taken."""
        step = number_step(schema, self.column)
        domain = schema.domain(self.column)
        assert domain.highest is not None
        ends = {"low": domain.first, "high": domain.highest, "center": middle_code(schema, self.column)}
        return {f"{name} of {self.column}": code * step for name, code in ends.items()}

    @property
    def present(self) -> str:
        """The name of the count of cells that are there."""
        return f"count of {self.column}"

    def count_term(self, schema: Schema) -> Term:
        """Return what sums are divided by: the cells that are there, or the rows where no cell may be missing."""
        measure = Part(Power.PRESENT, self.column)
        return Term(self.present, measure) if measure.may_be_missing(schema) else Term("count", COUNT)

    def count_of(self, totals: Mapping[str, Interval]) -> Interval:
        """Return the released count that sums are divided by."""
        return totals[self.count_name(totals)]

    def count_name(self, names: Container[str]) -> str:
        """Return which of the released totals sums are divided by."""
        return self.present if self.present in names else "count"

    def range(self, facts: Mapping[str, Fraction]) -> tuple[Fraction, Fraction, Fraction]:
        """Return lowest, highest and middle value of the column."""
        low, high, center = (facts[f"{name} of {self.column}"] for name in ("low", "high", "center"))
        return low, high, center


def middle_code(schema: Schema, column: str) -> int:
    """Return the code in the middle of a numeric column's range."""
    number_step(schema, column)  # which says what to ask about where there are no numbers
    domain = schema.domain(column)
    assert domain.highest is not None
    return (domain.first + domain.highest) // 2


class Sum(ColumnAggregate):
    """The sum of a numeric column; a missing cell adds nothing."""

    kind: ClassVar[str] = "Sum"

    @property
    def names(self) -> tuple[str, ...]:
        """One sum."""
        return (f"sum of {self.column}",)

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        """Return the sum of the values themselves."""
        return (Term(self.names[0], Part(Power.SUM, self.column), number_step(schema, self.column)),)

    def combine(self, totals: Mapping[str, Interval], facts: Mapping[str, Fraction]) -> Interval:
        """Return the sum itself."""
        return totals[self.names[0]]


class Mean(ColumnAggregate):
    """The mean of a numeric column over the rows that a condition picks.

    Of a column of truth values it is the share of true. The sum is taken around the middle of the column's range and
    divided by a count that is paid for, unless it is
    the public number of people. Where cells may be missing, the mean is that of the others.
    """

    kind: ClassVar[str] = "Mean"

    @property
    def names(self) -> tuple[str, ...]:
        """The centred sum and the count of cells or of rows."""
        return (f"sum around the middle of {self.column}", self.present, "count")

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        """Return the centred sum and the count."""
        centred = Part(Power.SUM, self.column, middle_code(schema, self.column))
        return (Term(self.names[0], centred, number_step(schema, self.column)), self.count_term(schema))

    def combine(self, totals: Mapping[str, Interval], facts: Mapping[str, Fraction]) -> Interval:
        """Return center + sum/count inside the range of the column."""
        low, high, center = self.range(facts)
        ends = [center + part for part in quotient(totals[self.names[0]], self.count_of(totals))]
        return clamp(ends[0], low, high), clamp(ends[1], low, high)

    def possible(self, released: Released, cell: int, confidence: Fraction) -> Interval:
        """Return the means that the released sum and count allow together, and the one that is shown."""
        total, count = self.released_pair(released)
        if not has_law(total, count):
            return super().possible(released, cell, confidence)
        low, high, center = self.range(released.facts)
        ratios = ratio_between(total, count, cell, confidence, (low - center, high - center))
        shown = self.combine(points(released, cell), released.facts)[0]
        return min(shown, center + ratios[0]), max(shown, center + ratios[1])

    def released_pair(self, released: Released) -> tuple[NoisyPart, NoisyPart]:
        """Return the released sum and the released count that it is divided by."""
        names = {part.name for part in released.parts}
        return released.part(self.names[0]), released.part(self.count_name(names))

    def allowed(self, facts: Mapping[str, Fraction]) -> Interval | None:
        """Return the range of the column."""
        low, high, _ = self.range(facts)
        return (low, high) if low < high else None


class Variance(ColumnAggregate):
    """The variance of a numeric column over the rows that a condition picks: mean square less squared mean."""

    kind: ClassVar[str] = "Variance"

    @property
    def names(self) -> tuple[str, ...]:
        """The centred sum of squares, the centred sum and the count of cells or of rows."""
        middle = f"around the middle of {self.column}"
        return (f"squares {middle}", f"sum {middle}", self.present, "count")

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        """Return sums of squares and of values around the middle, and the count."""
        step, center = number_step(schema, self.column), middle_code(schema, self.column)
        squares = Part(Power.SQUARE, self.column, center)
        return (
            Term(self.names[0], squares, step**2),
            Term(self.names[1], Part(Power.SUM, self.column, center), step),
            self.count_term(schema),
        )

    def combine(self, totals: Mapping[str, Interval], facts: Mapping[str, Fraction]) -> Interval:
        """Return squares/count - (sum/count)², between 0 and a quarter of the squared range."""
        most = self._most(facts)
        squares = quotient(totals[self.names[0]], self.count_of(totals))
        mean = quotient(totals[self.names[1]], self.count_of(totals))
        largest = max(mean[0] ** 2, mean[1] ** 2)
        smallest = ZERO if mean[0] <= 0 <= mean[1] else min(mean[0] ** 2, mean[1] ** 2)
        return clamp(squares[0] - largest, ZERO, most), clamp(squares[1] - smallest, ZERO, most)

    def allowed(self, facts: Mapping[str, Fraction]) -> Interval | None:
        """Return 0 and a quarter of the squared range of the column."""
        return (ZERO, self._most(facts)) if self._most(facts) else None

    def _most(self, facts: Mapping[str, Fraction]) -> Fraction:
        low, high, _ = self.range(facts)
        return (high - low) ** 2 / 4


def quotient(total: Interval, count: Interval) -> Interval:
    """Return the range of total/count; a count below one is taken for one."""
    ends = [part / max(whole, ONE) for part in total for whole in count]
    return min(ends), max(ends)


def clamp(value: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """Return the value, or the end of the range that it passed."""
    return min(max(value, low), high)
