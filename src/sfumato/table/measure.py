"""Measures: what a question reads from a table, as public objects that hold no data and no spend.

A measure says which columns it depends on and which integers it wants. It does not say in which unit, who is charged,
or how far one person moves it: that follows from the schema and the relation, and only a gauge knows it
(`table/gauge.py`). There are two payloads: *weighed* totals and codes, whose integers count parts of a row, and
*whole* rows; nothing that reads rows ever gets weighed ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sfumato.table.boxes import Box
from sfumato.table.marginals import Binned
from sfumato.table.predicate import EVERY_ROW, Predicate
from sfumato.table.predicate import columns as predicate_columns
from sfumato.table.schema import Schema
from sfumato.table.sparse import Sparse, sparse_shares, sparse_totals
from sfumato.table.statistics import COUNT, Part
from sfumato.table.view import View


class Codes(NamedTuple):
    """The codes of one column that occur, or of several as one number, sorted, and how often, in units of the gauge."""

    codes: Any
    counts: Any


@dataclass(frozen=True, eq=False, repr=False)
class Distinct:
    """The distinct whole rows over some columns, sorted by their codes, and how often each occurs.

    Codes are a matrix of 64-bit integers, or of Python integers where a column holds text or is wider than that.
    """

    names: tuple[str, ...]
    codes: Any
    counts: Any

    def __repr__(self) -> str:
        return f"Distinct({', '.join(self.names)})"


@dataclass(frozen=True)
class Measure(ABC):
    """What is read from a table: frozen, public, without data."""

    whole: ClassVar[bool] = False
    """Whether it reads whole rows, which are picked, or parts of rows, which are weighed."""

    @abstractmethod
    def columns(self) -> frozenset[str]:
        """Return the columns that the reading depends on: keys, values, and those of the filter."""

    @abstractmethod
    def query(self, view: View) -> Any:
        """Return the exact integers."""


@dataclass(frozen=True)
class Totals(Measure):
    """Counts and sums over all cells of some keys: one array of integers for each part."""

    keys: tuple[str, ...] = ()
    parts: tuple[Part, ...] = (COUNT,)
    where: Predicate = EVERY_ROW

    def columns(self) -> frozenset[str]:
        """Return keys, columns that are added up, and those of the filter."""
        return _columns(self.keys, self.parts, self.where)

    def query(self, view: View) -> list[Any]:
        """Return an array over the cells for each part; without keys one integer for each."""
        found = view.totals(self.keys, self.parts, self.where)
        return found if self.keys else [int(array) for array in found]


@dataclass(frozen=True)
class Occurring(Measure):
    """The same totals over the cells that occur, for keys that nobody can list: weighed, by code."""

    keys: tuple[str, ...]
    parts: tuple[Part, ...] = (COUNT,)
    where: Predicate = EVERY_ROW

    def columns(self) -> frozenset[str]:
        """Return keys, columns that are added up, and those of the filter."""
        return _columns(self.keys, self.parts, self.where)

    def query(self, view: View) -> Sparse:
        """Return the totals of every cell that occurs, by its codes."""
        return sparse_totals(view, self.keys, self.parts, self.where)


@dataclass(frozen=True)
class Found(Occurring):
    """Totals over the cells that occur, of whole rows: for thresholds, which count whole rows."""

    whole: ClassVar[bool] = True


@dataclass(frozen=True)
class Ordered(Measure):
    """The codes of one column that occur, and how often each does."""

    column: str
    where: Predicate = EVERY_ROW

    def columns(self) -> frozenset[str]:
        """Return the column and those of the filter."""
        return frozenset({self.column}) | predicate_columns(self.where)

    def query(self, view: View) -> Codes:
        """Return codes and counts, sorted by code; texts come in the order of their bytes."""
        if view.table.schema.domain(self.column).last is not None:
            return Codes(*view.distribution(self.column, self.where))
        found = view.sparse_counts([self.column], self.where)
        codes = np.empty(len(found), dtype=object)
        codes[:] = [code for (code,) in found]
        return Codes(codes, np.array(list(found.values()), np.int64))


@dataclass(frozen=True)
class Rows(Measure):
    """Whole rows over some columns: the distinct ones, and how often each occurs."""

    names: tuple[str, ...]
    where: Predicate = EVERY_ROW
    whole: ClassVar[bool] = True

    def columns(self) -> frozenset[str]:
        """Return the columns shown and those of the filter."""
        return frozenset(self.names) | predicate_columns(self.where)

    def query(self, view: View) -> Distinct:
        """Return the distinct rows."""
        domains = [view.table.schema.domain(name) for name in self.names]
        if self.names and all(domain.last is not None for domain in domains):
            return Distinct(self.names, *view.distinct(self.names, self.where))
        found = view.sparse_counts(self.names, self.where)
        codes = np.empty((len(found), len(self.names)), dtype=object)
        for place, key in enumerate(found):
            codes[place, :] = key
        return Distinct(self.names, codes, np.array(list(found.values()), np.int64))


@dataclass(frozen=True)
class Numbered(Measure):
    """Whole rows over some columns: which combinations occur, each as one number, and how often."""

    names: tuple[str, ...]
    whole: ClassVar[bool] = True

    def columns(self) -> frozenset[str]:
        """Return the columns that are shown."""
        return frozenset(self.names)

    def query(self, view: View) -> Codes:
        """Return the places of the combinations in the flat table of all, sorted, and their counts."""
        return Codes(*view.places(self.names))


@dataclass(frozen=True)
class Marginals(Measure):
    """Whole rows, of which only the counts over some sets of columns are read: they are counted where the rows are."""

    sets: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    binned: tuple[Binned, ...] = ()
    """Columns in public bins that the sets may name beside those of the table."""
    whole: ClassVar[bool] = True

    def columns(self) -> frozenset[str]:
        """Return all columns that may be looked at."""
        return frozenset(self.names)

    def query(self, view: View) -> list[Any]:
        """Return an array of counts over the cells of each set."""
        return view.margins(self.sets, self.binned)


@dataclass(frozen=True)
class People(Measure):
    """In how many people's rows each cell of some keys occurs: COUNT(DISTINCT person)."""

    keys: tuple[str, ...] = ()
    where: Predicate = EVERY_ROW
    groups: int | None = None
    """In how many groups a person counts at most; None for what the schema says."""

    def columns(self) -> frozenset[str]:
        """Return keys and the columns of the filter."""
        return frozenset(self.keys) | predicate_columns(self.where)

    def query(self, view: View) -> list[Any]:
        """Return one array over the cells, or one integer."""
        found = view.people_in(self.keys, self.where, self.groups)
        return [found if self.keys else int(found)]


@dataclass(frozen=True)
class Boxed(Measure):
    """Totals over the cells of some keys, to which a person adds one clamped number a cell, of all their rows in it."""

    keys: tuple[str, ...]
    boxes: tuple[Box, ...]
    where: Predicate = EVERY_ROW
    groups: int | None = None
    """To how many cells a person adds at most; None for all."""

    def columns(self) -> frozenset[str]:
        """Return keys, columns that are added up, and those of the filter."""
        return _columns(self.keys, [box.part for box in self.boxes], self.where)

    def query(self, view: View) -> list[Any]:
        """Return an array over the cells for each total; without keys one integer for each."""
        found = view.boxed(self.keys, self.boxes, self.where, self.groups)
        return found if self.keys else [int(array) for array in found]


@dataclass(frozen=True)
class FoundBoxes(Boxed):
    """For keys that nobody can list: the cells that occur, the people in each, and clamped totals beside their number.

    Of every person the first `groups` cells count; where the keys are the person's there is one.
    """

    whole: ClassVar[bool] = True

    def query(self, view: View) -> Any:
        """Return people and totals of every cell that occurs, by its codes."""
        return sparse_shares(view, self.keys, self.boxes, self.where, most_groups(view.table.schema, self))


def most_groups(schema: Schema, measure: Boxed) -> int:
    """Return in how many groups a person counts at most where the groups are found."""
    return 1 if schema.one_cell_each(measure.keys) else (measure.groups or 1)


def _columns(keys: Sequence[str], parts: Sequence[Part], where: Predicate) -> frozenset[str]:
    return frozenset(keys) | predicate_columns(where) | {part.column for part in parts if part.column is not None}
