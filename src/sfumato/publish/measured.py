"""What a running total adds up in every period: rows, a column, or a column and its rows for a mean (SM-MISSING).

A mean is the sum around the middle of the column's range, and a multiple of the count beside it, as one vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sfumato.curator.typed import read_question
from sfumato.errors import ParameterError
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.publish.file import TableSpec
from sfumato.publish.means import MeanSeries
from sfumato.publish.series import NEVER_FALLS, PLACES, Series
from sfumato.questions import Count, GroupBy, Mean, Sum
from sfumato.table.gauge import Gauge
from sfumato.table.measure import Occurring, Totals
from sfumato.table.schema import Schema
from sfumato.table.statistics import DENSE_CELLS
from sfumato.table.where import read_where
from sfumato.totals.totals import all_cells, number_of_cells

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Measured:
    """One of `count`, `sum of pay` and `mean of pay`, in listed groups if any."""

    schema: Schema
    aggregate: Count | Sum | Mean
    measure: Totals | Occurring

    @cached_property
    def cells(self) -> tuple[tuple[Any, ...], ...]:
        """The groups, in the order of the numbers; one without a name where there are none."""
        if not self.measure.keys or self.found:
            return ((),)
        return tuple(map(tuple, all_cells(self.schema, self.measure.keys)))

    @property
    def found(self) -> bool:
        """Whether groups are found as it runs, and not listed."""
        return isinstance(self.measure, Occurring)

    @property
    def parts(self) -> int:
        """How many integers a group has in a period."""
        return len(self.measure.parts)

    @property
    def width(self) -> int:
        """How many integers are read in a period."""
        return len(self.cells) * self.parts

    @property
    def rows(self) -> bool:
        """Whether rows are counted."""
        return type(self.aggregate) is Count

    @cached_property
    def step(self) -> Fraction:
        """What one code of the column is worth."""
        return self.aggregate.terms(self.schema)[0].step

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The lowest and the highest code of the column."""
        assert not isinstance(self.aggregate, Count)
        domain = self.schema.domain(self.aggregate.column)
        assert domain.highest is not None
        return domain.first, domain.highest

    @property
    def factor(self) -> int:
        """By what the count beside a sum is multiplied: as far as the sum moves, so that it costs nothing more."""
        return max(self.ends[1] - self.ends[0], 1)

    def moves(self, gauge: Gauge) -> Sensitivity:
        """Return how far one person moves what is read in one period."""
        part = self.measure.parts[0]
        return (
            gauge.mean_sensitivity(part, self.factor) if isinstance(self.aggregate, Mean) else gauge.sensitivity(part)
        )

    def exchanged(self, moves: Sensitivity, *, at_other_times: bool) -> Sensitivity:
        """Return how far rows in place of others move a total, from how far they do if they come or go.

        What a person adds has one sign if no code is on the other side of zero. Then a difference is, squared, no
        longer than both together; and in a single number no longer than one of them, unless they count
        `at_other_times`. Otherwise lengths add up. Rounding and clamping keep order: what they leave is no longer.
        """
        low, high = self.measure.parts[0].range(self.schema)
        if isinstance(self.aggregate, Mean) or low < 0 < high:
            return moves.times(2)
        if self.width == 1 and not self.found and not at_other_times:
            return moves
        return Sensitivity(2 * moves.l1, 2 * moves.l2_squared, moves.largest, 2 * moves.changed)

    def exact(self, found: Sequence[Any], grid: int) -> NDArray[Any]:
        """Return what was read as one row of integers on the grid; halves go up, never to even."""
        import numpy as np

        if self.rows:
            return np.atleast_1d(np.asarray(found[0])).ravel()
        total = np.atleast_1d(np.asarray(found[0], object)).ravel()
        if isinstance(self.aggregate, Mean):
            number = np.atleast_1d(np.asarray(found[1], object)).ravel()
            center = self.measure.parts[0].center
            total = np.concatenate([2 * total + (2 * center - sum(self.ends)) * number, self.factor * number])
        return ((total + grid // 2) // grid).clip(-(2**62), 2**62).astype(np.int64)

    def series(self, series: Series, grid: int) -> Series | MeanSeries:
        """Return estimates of what was asked for, from a series of what was released; `series.unit` is that of rows."""
        if self.rows:
            return series
        places = PLACES + max(0, len(str(self.step.denominator)) - 1)
        unit = series.unit * grid
        found = replace(series, unit=unit * self.step, coarse=grid > 1, places=places, what=self.aggregate.label)
        if not isinstance(self.aggregate, Mean):
            return found
        cells = len(series.keys)
        sums = replace(found.columns(0, cells), unit=unit * self.step / 2, places=None)
        counts = replace(found.columns(cells, 2 * cells), unit=unit / self.factor, places=None)
        low, high = (end * self.step for end in self.ends)
        return MeanSeries(sums, counts, low, high, places)


def measured(spec: TableSpec, schema: Schema) -> Measured:
    """Read what a running total adds up, refusing what does not add up."""
    question = read_question(spec.phrase, schema).canonical(schema)
    keys: tuple[str, ...] = ()
    aggregates: Sequence[Any] = (question,)
    where = getattr(question, "where", None)
    if isinstance(question, GroupBy):
        keys, aggregates = question.by, question.aggregates
    adds = len(aggregates) == 1 and type(aggregates[0]) in (Count, Sum, Mean)
    if spec.monotone and adds and type(aggregates[0]) is not Count:
        raise ParameterError(f"{NEVER_FALLS} Leave monotone out of the table {spec.name!r}.")
    if spec.keys is not None and adds and keys:
        parts = tuple(term.part for term in aggregates[0].terms(schema))
        return Measured(schema, aggregates[0], Occurring(keys, parts, read_where(where, schema)))
    if not adds or spec.keys is not None or (isinstance(question, GroupBy) and question.keys != "schema"):
        raise ParameterError(
            f"The running total {spec.name!r} counts rows or adds up one column, in listed groups if any; write "
            "running = 'count by country', 'sum of pay by country' or 'mean of pay', or ask it anew in every period "
            "with question = …. Groups that nobody can list go with keys = 'pages', a table that finds them."
        )
    if number_of_cells(schema, keys) > DENSE_CELLS:
        raise ParameterError(f"The running total {spec.name!r} has too many groups; leave a column out.")
    (aggregate,) = aggregates
    parts = tuple(term.part for term in aggregate.terms(schema))
    return Measured(schema, aggregate, Totals(keys, parts, read_where(where, schema)))


def check_search(spec: TableSpec, table: TableSpec, wanted: Measured, schema: Schema) -> None:
    """Refuse a table that finds other groups than those that are counted."""
    question = read_question(table.phrase, schema).canonical(schema)
    if not isinstance(question, GroupBy) or question.by != wanted.measure.keys:
        raise ParameterError(
            f"The table {table.name!r} does not find the groups of {spec.name!r}; write question = 'count by "
            f"{', '.join(wanted.measure.keys)} found privately' there."
        )


def narrow(total: Any) -> NDArray[Any]:
    """Return exact integers in the smallest type that holds them: what is kept for a year is small then."""
    import numpy as np

    array = np.atleast_1d(np.asarray(total)).ravel().astype(np.int64)
    for kind in (np.int16, np.int32):
        if array.size and np.iinfo(kind).min <= array.min() and array.max() <= np.iinfo(kind).max:
            return array.astype(kind)
    return array
