"""Builders of workloads, by the names that people use: `sfumato.workloads`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.exact import Number, exact, positive_integer
from sfumato.table.predicate import columns as predicate_columns
from sfumato.table.schema import Schema
from sfumato.table.where import read_where
from sfumato.workload.blocks import Block, Marginal, OneCell, Parity, require_bits
from sfumato.workload.condition import Predicate
from sfumato.workload.queries import Matrix, Prefixes, Ranges
from sfumato.workload.space import LISTED, Space, column_names, require_schema
from sfumato.workload.workload import Workload

MOST_BLOCKS = 200_000
"""More sets of columns than anybody reads."""

STEPS = 1024
"""Queries with fractional values are rounded to so many parts, unless told otherwise."""

_NOT_A_MATRIX = (
    "A matrix has a row of numbers for each query; for one query over two cells write matrix(schema, 'sex', [[0, 1]])."
)

Sets = Iterable[Sequence[str] | str]


def marginals(
    schema: Schema, width: int | None = None, columns: Iterable[str] | None = None, sets: Sets | None = None
) -> Workload:
    """All tables of counts over `width` columns at a time, or the tables over given `sets` of columns.

    >>> from sfumato.domain import booleans, integers
    >>> schema = Schema({"age": integers(0, 9), "sex": booleans(), "works": booleans()})
    >>> marginals(schema, width=2).queries, marginals(schema, sets=["age", ("sex", "works")]).queries
    (75, 20)
    """
    space, chosen = _chosen(schema, width, columns, sets)
    return Workload(space, tuple(Marginal(one, space.listed(one)) for one in chosen))


def conjunctions(
    schema: Schema,
    width: int | None = None,
    columns: Iterable[str] | None = None,
    sets: Sets | None = None,
    cells: Iterable[Mapping[str, Any]] | None = None,
) -> Workload:
    """How many rows have all of some bits set, for all sets of `width` bits, for given `sets`, or for given `cells`.

    A cell gives each of its columns a value, and its columns need not be bits.

    >>> from sfumato.domain import booleans, integers
    >>> schema = Schema({"age": integers(0, 9), "sex": booleans(), "works": booleans()})
    >>> conjunctions(schema, width=2, columns=["sex", "works"]).queries
    1
    >>> conjunctions(schema, cells=[{"age": 3, "sex": True}]).blocks[0].cell
    (3, 1)
    """
    if cells is None:
        space, chosen = _bits(*_chosen(schema, width, columns, sets))
        return Workload(space, tuple(OneCell(one, space.shape(one)) for one in chosen))
    if width is not None or sets is not None:
        raise ParameterError("Give width=, sets= or cells=, and not two of them.")
    listed = _cells(cells)
    space = _space(schema, columns, (name for cell in listed for name in cell))
    blocks = []
    for cell in listed:
        codes = tuple(schema.domain(name).code(value) - schema.domain(name).first for name, value in cell.items())
        blocks.append(OneCell(tuple(cell), space.listed(tuple(cell)), codes))
    return Workload(space, tuple(blocks))


def parities(
    schema: Schema,
    width: int | None = None,
    columns: Iterable[str] | None = None,
    sets: Sets | None = None,
    signed: bool = False,
) -> Workload:
    """How many rows have an odd number of ones, for all sets of `width` bits or for given `sets`.

    With `signed`, even rows less odd ones: the Fourier coefficients of the table.

    >>> from sfumato.domain import booleans
    >>> schema = Schema({"rain": booleans(), "wind": booleans(), "snow": booleans()})
    >>> parities(schema, width=2).sensitivity().l1  # of three pairs, two can change at once
    Fraction(2, 1)
    """
    space, chosen = _bits(*_chosen(schema, width, columns, sets))
    return Workload(space, tuple(Parity(one, space.shape(one), signed) for one in chosen))


def prefixes(schema: Schema, columns: Iterable[str] | str | None = None) -> Workload:
    """How many rows lie at or below each value, for each column.

    >>> from sfumato.domain import integers
    >>> prefixes(Schema({"age": integers(0, 9)}), "age").queries  # at or below the last one lie all but the missing
    10
    """
    return _lines(schema, columns, Prefixes)


def ranges(schema: Schema, columns: Iterable[str] | str | None = None) -> Workload:
    """How many rows lie between each two values, for each column.

    >>> from sfumato.domain import integers
    >>> ranges(Schema({"age": integers(0, 9)}), "age").queries
    55
    """
    return _lines(schema, columns, Ranges)


def predicates(schema: Schema, where: Iterable[Any] | str, columns: Iterable[str] | None = None) -> Workload:
    """How many rows fulfil each of some conditions; a condition sees the columns that it names and no others.

    >>> from sfumato.domain import categories, integers
    >>> schema = Schema({"age": integers(0, 99), "income": categories("<=50K", ">50K"), "zip": integers(0, 9999)})
    >>> predicates(schema, ["age > 40 AND income = '>50K'"]).blocks[0].columns
    ('age', 'income')
    """
    require_schema(schema)
    conditions = [read_where(one, schema) for one in (where if _several(where) else [where])]
    if not conditions:
        raise ParameterError('predicates needs a condition; write predicates(schema, ["age > 40"]).')
    seen = [tuple(name for name in schema.names if name in predicate_columns(one)) for one in conditions]
    for place, names in enumerate(seen):
        if not names:
            raise ParameterError(
                f"Condition number {place + 1} holds for every row or for none, so it asks nothing; leave it out."
            )
    space = _space(schema, columns, (name for names in seen for name in names))
    blocks = []
    for condition, names in zip(conditions, seen, strict=True):
        firsts = tuple(schema.domain(name).first for name in names)
        blocks.append(Predicate(names, space.listed(names, LISTED), condition, firsts))
    return Workload(space, tuple(blocks))


def matrix(schema: Schema, columns: Sequence[str] | str, queries: Any, steps: int | None = None) -> Workload:
    """Any linear queries over the cells of some columns: one row of numbers from 0 to 1 for each query.

    The cells are in the order of the codes, that of missing cells behind the values, the last column running fastest.
    The numbers are rounded to `steps` parts of one, before anything is counted: integers carry exact noise.

    >>> from sfumato.domain import integers
    >>> matrix(Schema({"age": integers(0, 3)}), "age", [[0, 0.5, 1, 1, 0]]).blocks[0].denominator
    1024
    """
    names = column_names(columns, "columns")
    space = Space.of(schema, names)
    values, parts = _integers(queries, steps)
    return Workload(space, (Matrix(names, space.listed(names), values, parts),))


def together(*workloads: Workload) -> Workload:
    """Several workloads over one schema as one, which is answered with one noise.

    >>> from sfumato.domain import booleans, integers
    >>> schema = Schema({"age": integers(0, 9), "sex": booleans()})
    >>> together(marginals(schema, width=2), prefixes(schema, "age")).queries
    43
    """
    if not workloads:
        raise ParameterError("together needs workloads; write together(marginals(…), prefixes(…)).")
    parts: dict[str, tuple[int, str | None, Any]] = {}
    for one in workloads:
        shown = zip(one.space.sizes, one.space.attributes, one.space.domains, strict=True)
        for name, facts in zip(one.space.names, shown, strict=True):
            if parts.setdefault(name, facts) != facts:
                raise ParameterError(f"The workloads mean different columns by {name!r}; make them from one schema.")
    sizes, attributes, domains = zip(*parts.values(), strict=True)
    return Workload(Space(tuple(parts), sizes, attributes, domains), tuple(b for one in workloads for b in one.blocks))


def _chosen(
    schema: Schema, width: int | None, columns: Iterable[str] | None, sets: Sets | None
) -> tuple[Space, list[tuple[str, ...]]]:
    """Return the sets of columns that are meant, and the space that they lie in."""
    if (width is None) == (sets is None):
        raise ParameterError("Give either width=, for all sets of so many columns, or sets=, a list of sets.")
    if sets is not None:
        if isinstance(sets, str) or not isinstance(sets, Iterable):
            raise ParameterError(
                f"sets= is a list of sets of columns, and {sets!r} is none; write for example "
                "sets=['age', ('age', 'sex')]."
            )
        chosen = [column_names(one, "sets") for one in sets]
        if not chosen or not all(chosen):
            raise ParameterError("sets= lists sets of columns, each with at least one; write sets=[('age', 'sex')].")
        if any(len(set(one)) != len(one) for one in chosen):
            raise ParameterError("A set of columns lists the same column twice; list each one once.")
        return _space(schema, columns, (name for one in chosen for name in one)), chosen
    space = Space.of(schema, columns)
    size = positive_integer(width, "width")
    if size > len(space.names):
        raise ParameterError(
            f"width is {size}, and there are only {len(space.names)} columns; write a width from 1 to that."
        )
    if comb(len(space.names), size) > MOST_BLOCKS:
        raise DomainTooLarge(
            f"There are {comb(len(space.names), size)} sets of {size} out of {len(space.names)} columns, more than "
            f"{MOST_BLOCKS}; write a smaller width, fewer columns=, or list sets=.",
            method="sets=",
        )
    return space, list(combinations(space.names, size))


def _bits(space: Space, chosen: list[tuple[str, ...]]) -> tuple[Space, list[tuple[str, ...]]]:
    """Refuse sets with a column that has not two values; a level for missing cells is none of them."""
    for names in chosen:
        present = [len(space.domains[place].present or ()) for place in space.places(names)]
        require_bits(names, present, "A query about ones", exactly=True)
    return space, chosen


def _space(schema: Schema, columns: Iterable[str] | None, used: Iterable[str]) -> Space:
    """Return the space of the columns that were named, or else of those that are used, in the schema's order."""
    if columns is not None:
        return Space.of(schema, columns)
    require_schema(schema)
    seen = set(used)
    for name in seen:
        schema.domain(name)
    return Space.of(schema, [name for name in schema.names if name in seen])


def _lines(schema: Schema, columns: Iterable[str] | str | None, kind: type[Prefixes] | type[Ranges]) -> Workload:
    space = Space.of(schema, columns)
    blocks: list[Block] = []
    for name, domain in zip(space.names, space.domains, strict=True):
        # In a range there are no missing cells; in the order of codes they stand behind all prefixes.
        extra = {"present": len(domain.present or ())} if kind is Ranges and domain.may_be_missing else {}
        blocks.append(kind((name,), space.listed((name,)), **extra))
    return Workload(space, tuple(blocks))


def _integers(queries: Any, steps: int | None) -> tuple[NDArray[np.int64], int]:
    """Return numbers from 0 to 1 as whole steps; floor(x·steps + 1/2), so that no half is rounded to even."""
    if not isinstance(queries, Iterable) or isinstance(queries, str):
        raise ParameterError(_NOT_A_MATRIX)
    listed: list[Any] = [*np.atleast_1d(queries)] if isinstance(queries, np.ndarray) else list(queries)
    if any(isinstance(row, str) or not isinstance(row, Iterable) or getattr(row, "ndim", 1) == 0 for row in listed):
        raise ParameterError(_NOT_A_MATRIX)
    given = [list(row) for row in listed]
    if not given or any(len(row) != len(given[0]) for row in given):
        raise ParameterError("A matrix of queries has rows of equal length, one number for each cell.")
    rows = [[_unit(value) for value in row] for row in given]
    whole = all(value.denominator == 1 for row in rows for value in row)
    parts = positive_integer(steps, "steps") if steps is not None else (1 if whole else STEPS)
    if parts > 2**20:
        raise ParameterError(f"steps is {parts}; write at most {2**20}, because noise grows with it.")
    values = [[int((value * parts + Fraction(1, 2)) // 1) for value in row] for row in rows]
    return np.array(values, dtype=np.int64), parts


def _several(where: object) -> bool:
    return isinstance(where, Iterable) and not isinstance(where, (str, Mapping))


def _cells(cells: object) -> list[dict[str, Any]]:
    listed: list[Any] = list(cells) if isinstance(cells, Iterable) else [cells]
    if not listed or not all(isinstance(cell, Mapping) and cell for cell in listed):
        raise ParameterError(
            "cells= lists cells, each of which gives some columns a value; write for example "
            "cells=[{'age': 34, 'sex': 'Male'}]."
        )
    return [dict(cell) for cell in listed]


def _unit(value: Number) -> Fraction:
    number = exact(value.item() if isinstance(value, np.generic) else value, "the value of a query")
    if not 0 <= number <= 1:
        raise ParameterError(
            f"A query has values from 0 to 1, and {float(number):g} lies outside; divide it by its largest value, or "
            "shift it, and undo that on the answer."
        )
    return number
