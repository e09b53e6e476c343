"""The aggregates of SQL as formulas over released totals: those of the house, and the few that only SQL has.

These few are no questions of their own and have no kind: what is asked is the statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from sfumato.answer import Released
from sfumato.table.schema import Schema
from sfumato.table.statistics import Part, Power
from sfumato.totals.aggregates import (
    ONE,
    Aggregate,
    ColumnAggregate,
    Count,
    Interval,
    Mean,
    Sum,
    Term,
    Variance,
    points,
)
from sfumato.totals.quotient import has_law, sum_width

_GRID = 10**12


class Present(ColumnAggregate):
    """How many values are there."""

    @property
    def names(self) -> tuple[str, ...]:
        """One count."""
        return (self.present,)

    def facts(self, schema: Schema) -> dict[str, Fraction]:
        """Return nothing: labels have no range."""
        return {}

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        """Return the count of values that are there."""
        return (Term(self.present, Part(Power.PRESENT, self.column)),)

    def combine(self, totals: Mapping[str, Interval], facts: Mapping[str, Fraction]) -> Interval:
        """Return the count itself."""
        return totals[self.present]

    def shown(self, value: Fraction) -> int | float:
        """Return the nearest whole number."""
        return Count().shown(value)

    def between(self, ends: Interval) -> tuple[int | float, int | float]:
        """Return whole numbers outside of both ends."""
        return Count().between(ends)


class SumOfMean(Mean):
    """A sum beside a mean of the same values: a formula over what the mean released, which costs nothing more."""

    def combine(self, totals: Mapping[str, Interval], facts: Mapping[str, Fraction]) -> Interval:
        """Return the sum around the middle, and the middle once for every value."""
        center = self.range(facts)[2]
        around, count = totals[self.names[0]], self.count_of(totals)
        ends = [center * end for end in count]
        return around[0] + min(ends), around[1] + max(ends)

    def possible(self, released: Released, cell: int, confidence: Fraction) -> Interval:
        """Return what the sum may be: it and so many counts are one number, with both noises."""
        total, count = self.released_pair(released)
        if not has_law(total, count):
            return Aggregate.possible(self, released, cell, confidence)
        value = self.combine(points(released, cell), released.facts)[0]
        width = sum_width(total, count, self.range(released.facts)[2], confidence)
        return value - width, value + width


class SampleVariance(Variance):
    """The variance times n/(n - 1), with the released n."""

    def combine(self, totals: Mapping[str, Interval], facts: Mapping[str, Fraction]) -> Interval:
        """Return the variance, larger by n/(n - 1); a count below two is taken for two."""
        low, high = super().combine(totals, facts)
        least, most = (max(end, 2 * ONE) for end in self.count_of(totals))
        return low * most / (most - 1), high * least / (least - 1)


class Deviation(Variance):
    """The root of the variance."""

    def combine(self, totals: Mapping[str, Interval], facts: Mapping[str, Fraction]) -> Interval:
        """Return the roots of both ends."""
        return _roots(super().combine(totals, facts))


class SampleDeviation(SampleVariance):
    """The root of the sample variance."""

    def combine(self, totals: Mapping[str, Interval], facts: Mapping[str, Fraction]) -> Interval:
        """Return the roots of both ends."""
        return _roots(super().combine(totals, facts))


def _roots(ends: Interval) -> Interval:
    low, high = (Fraction(isqrt(int(end * _GRID**2)), _GRID) for end in ends)
    return low, high


_MADE: dict[str, type[ColumnAggregate]] = {
    "SUM": Sum,
    "AVG": Mean,
    "VAR_POP": Variance,
    "VAR_SAMP": SampleVariance,
    "STDDEV_POP": Deviation,
    "STDDEV_SAMP": SampleDeviation,
}


@dataclass(frozen=True)
class Formula:
    """One aggregate of a statement: its canonical text, and how its value follows from released totals."""

    text: str
    aggregate: Aggregate


def formula(text: str, function: str, column: str | None, *, counts_rows: bool, averaged: bool) -> Formula:
    """Return the formula of an aggregate over a flat column; `averaged` says that its mean is asked too."""
    if function == "COUNT" and (counts_rows or column is None):
        return Formula(text, Count())
    assert column is not None
    if function == "COUNT":
        return Formula(text, Present(column))
    if function == "SUM" and averaged:
        return Formula(text, SumOfMean(column))
    return Formula(text, _MADE[function](column))
