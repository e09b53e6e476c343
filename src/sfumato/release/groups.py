"""Answers by group: aggregates for every combination of some keys, and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

from sfumato.answer import Measured, Released
from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.privacy import Bound
from sfumato.release.aggregates import Aggregate, Count
from sfumato.release.private_keys import stable_histogram
from sfumato.release.question import Question, Where
from sfumato.release.setting import Prepared, Setting
from sfumato.release.totals import prepare_totals, table_between, table_of
from sfumato.table.bounding import Way
from sfumato.table.predicate import columns as predicate_columns
from sfumato.table.where import read_where

Keys = Literal["schema", "private"]


@dataclass(frozen=True)
class GroupBy(Question):
    """Several aggregates for every combination of the keys; the keys are those of the schema.

    A person is in one group, or in a few: that is one release with one sensitivity, not one for each group.
    """

    kind: ClassVar[str] = "GroupBy"
    keys: tuple[str, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    where: Where = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", as_columns(self.keys))
        object.__setattr__(self, "aggregates", tuple(self.aggregates))
        if not self.keys or not self.aggregates:
            raise ParameterError("GroupBy needs keys and aggregates; write GroupBy(['sex'], [Count(), Mean('age')]).")
        for aggregate in self.aggregates:
            if not isinstance(aggregate, Aggregate) or aggregate.where is not None:
                raise ParameterError("The aggregates of a GroupBy have no condition of their own; write where= once.")

    def prepare(self, setting: Setting, spend: Bound) -> Prepared:
        """Prepare all totals over all cells."""
        where = read_where(self.where, setting.schema)
        return prepare_totals(self.aggregates, setting, spend, self.keys, where)

    def value(self, released: Released) -> Any:
        """Return a table with one row for each combination."""
        return table_of(released, self.aggregates)

    def interval(self, released: Released, confidence: Fraction) -> Any:
        """Return a table of lower and upper ends."""
        return table_between(released, self.aggregates, confidence)


@dataclass(frozen=True)
class Histogram(Question):
    """How many rows have each value of a column, or each combination of several.

    `keys="schema"` counts every value of the public domain. `keys="private"` finds the values in the data and
    publishes those that are surely not about one person, for text and for domains too large to list; it needs an
    Approximate spend.
    """

    kind: ClassVar[str] = "Histogram"
    columns: tuple[str, ...] = ()
    where: Where = None
    keys: Keys = "schema"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", as_columns(self.columns))
        if not self.columns:
            raise ParameterError("Histogram needs a column; write Histogram('age').")
        if self.keys not in ("schema", "private"):
            raise ParameterError(f"keys must be 'schema' or 'private', and {self.keys!r} is neither.")

    def prepare(self, setting: Setting, spend: Bound) -> Prepared:
        """Prepare counts of all cells, or of the cells that occur."""
        where = read_where(self.where, setting.schema)
        if self.keys == "schema":
            return prepare_totals((Count(),), setting, spend, self.columns, where)
        return self._private(setting.picking(), spend, where)

    def _private(self, setting: Setting, spend: Bound, where: Any) -> Prepared:
        rows, groups = setting.rule.rows, setting.rule.groups
        if spend.unit == "attribute":
            raise UnsupportedSpend(
                "Keys found in the data need a delta, which no attribute can have; spend per person."
            )
        columns = {*self.columns, *predicate_columns(where)}
        picked = setting.rule.way is Way.PICK
        reads = frozenset(setting.schema.attributes) if picked else setting.schema.reads(columns)
        mechanism = stable_histogram(
            spend, groups=min(rows, groups or rows), largest=rows, relation=setting.relation, reads=reads
        )
        domains = [setting.schema.domain(name) for name in self.columns]

        def finish(raw: Sequence[tuple[tuple[int, ...], int]]) -> Released:
            cells = tuple(tuple(d.decode(code) for d, code in zip(domains, key, strict=True)) for key, _ in raw)
            counts = tuple(count for _, count in raw)
            return Released((Measured("count", counts, mechanism.law),), self.columns, cells)

        return Prepared(
            frozenset(columns),
            mechanism,
            lambda view: view.sparse_counts(self.columns, where),
            finish,
            setting.rule.way,
        )

    def value(self, released: Released) -> Any:
        """Return a table with one row for each value."""
        return table_of(released, (Count(),))

    def interval(self, released: Released, confidence: Fraction) -> Any:
        """Return a table of lower and upper ends."""
        return table_between(released, (Count(),), confidence)


def as_columns(columns: Any) -> tuple[str, ...]:
    """Return a list of columns; one name stands for itself."""
    return (columns,) if isinstance(columns, str) else tuple(columns)
