"""Linear queries as a conversation takes them: boxes of codes, or a whole number for every cell of some columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError, SchemaError
from sfumato.table.predicate import All, Codes, Predicate, columns
from sfumato.table.schema import Schema
from sfumato.table.where import read_where
from sfumato.workload.blocks import Block, Marginal, OneCell
from sfumato.workload.condition import Predicate as Condition
from sfumato.workload.queries import Prefixes, Ranges
from sfumato.workload.space import Space
from sfumato.workload.workload import Workload

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Box:
    """The part of the people whose code lies in a range in each of some columns: low included, high not.

    Codes start at 0. Without columns it is everybody.
    """

    columns: tuple[str, ...] = ()
    lows: tuple[int, ...] = ()
    highs: tuple[int, ...] = ()

    unit = 1
    offset = 0
    denominator = 1

    def table(self, shape: tuple[int, ...]) -> Integers:
        """Return 1 for every cell inside."""
        found = np.zeros(shape, dtype=np.int64)
        found[tuple(slice(low, high) for low, high in zip(self.lows, self.highs, strict=True))] = 1
        return found

    def check(self, space: Space) -> Box:
        """Refuse what is not in the space; nobody looks at the data for that."""
        shape = space.shape(self.columns)
        if not len(shape) == len(self.lows) == len(self.highs) or len(set(self.columns)) != len(shape):
            raise ParameterError("A box needs one low and one high end for each of its columns, each listed once.")
        for name, low, high, size in zip(self.columns, self.lows, self.highs, shape, strict=True):
            if not 0 <= low < high <= size:
                raise ParameterError(
                    f"The range {low} to {high} of {name!r} is none of its {size} codes; ends go from 0 to {size}, the "
                    "low one below the high one."
                )
        return self

    def to_json(self) -> list[Any]:
        """Return columns and ends."""
        return [list(self.columns), list(map(int, self.lows)), list(map(int, self.highs))]


@dataclass(frozen=True, eq=False)
class Weighted:
    """The mean over all people of a whole number between 0 and `unit` for every cell of some columns.

    Its value is (offset + that number)/denominator: any bounded query, moved and stretched to start at 0.
    """

    columns: tuple[str, ...]
    numbers: Integers
    unit: int
    offset: int = 0
    denominator: int = 1

    @classmethod
    def of(cls, columns: Sequence[str], numbers: Any, denominator: int = 1) -> Weighted:
        """Return the query of these whole numbers over a denominator; their range is found on the public domain."""
        table = np.asarray(numbers)
        if table.dtype.kind not in "iub" or not table.size:
            raise ParameterError(
                "A query gives a whole number to every cell; hold fractions as whole numbers over a denominator, and "
                "leave out NaN: Weighted.of(columns, numbers, denominator=1000)."
            )
        low, high = int(table.min()), int(table.max())
        if max(abs(low), abs(high), high - low) >= 2**16 or not 0 < denominator < 2**40:
            raise ParameterError(
                "The numbers of a query lie within 2^16, over a denominator above 0; take fewer steps."
            )
        found = np.ascontiguousarray(table.astype(np.int64) - low)
        found.setflags(write=False)
        return cls(tuple(columns), found, high - low, low, denominator)

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        return self.columns, self.unit, self.offset, self.denominator, self.numbers.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Weighted) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def table(self, shape: tuple[int, ...]) -> Integers:
        """Return the numbers."""
        return self.numbers.reshape(shape)

    def check(self, space: Space) -> Weighted:
        """Refuse a table that does not have one number for each cell."""
        if self.numbers.size != int(np.prod(space.listed(self.columns), dtype=np.int64)):
            raise ParameterError(
                f"A query about {', '.join(self.columns)} needs one number for each of the "
                f"{'×'.join(map(str, space.shape(self.columns)))} combinations, and this one has {self.numbers.size}."
            )
        return self

    def to_json(self) -> list[Any]:
        """Return columns, numbers and scaling."""
        return [list(self.columns), self.numbers.ravel().tolist(), self.unit, self.offset, self.denominator]


LinearQuery = Box | Weighted
"""A query that is linear in the counts, with values between two public ends."""


def query_from_json(record: Sequence[Any]) -> LinearQuery:
    """Read what `to_json` of a query wrote."""
    if len(record) == 3:
        return Box(*(tuple(part) for part in record))
    names, numbers, *rest = record
    return Weighted(tuple(names), np.array(numbers, dtype=np.int64), *rest)


def product_query(weights: Mapping[str, Sequence[int]], denominator: int = 1) -> Weighted:
    """Return the product of one whole-number weight for each code of each column, over a denominator.

    >>> product_query({"rain": [0, 1], "wind": [1, 3]}, denominator=3).numbers.tolist()
    [[0, 0], [1, 3]]
    """
    table: NDArray[Any] = np.ones((), dtype=np.int64)
    for numbers in weights.values():
        table = np.multiply.outer(table, np.asarray(numbers))
    return Weighted.of(tuple(weights), table, denominator)


def read_query(query: Any, space: Space, schema: Schema) -> LinearQuery:
    """Return the query that a person means: SQL text, an Ibis expression, a predicate, a query, a block of one."""
    if query is None:
        raise ParameterError('Nothing was asked; write ask("age > 40"), or ask(Box()) for everybody.')
    if isinstance(query, (Box, Weighted)):
        _require_talked_about(query.columns, space, schema)
        return query.check(space)
    if isinstance(query, Block):
        _require_talked_about(query.columns, space, schema)
        listed = list(queries_of(query, space))
        if len(listed) != 1:
            raise ParameterError(f"This block has {len(listed)} queries; write conversation.ask_all(block).")
        return listed[0]
    where = read_where(query, schema)
    _require_talked_about(sorted(columns(where)), space, schema)
    return _from_predicate(where, space)


def _require_talked_about(names: Sequence[str], space: Space, schema: Schema) -> None:
    """Refuse columns of the schema that the conversation was not opened with; others are refused by their query."""
    outside = [name for name in names if name in schema.names and name not in space.names]
    if not outside:
        return
    if any(schema.domain(name).size is None for name in outside):
        raise SchemaError(
            f"This conversation is about {', '.join(space.names)}, and no model lists the values of a text column; "
            f"declare {', '.join(map(repr, outside))} as categories with other=, or ask Popular about it."
        )
    domain = ", ".join(repr(name) for name in (*space.names, *outside))
    raise SchemaError(
        f"This conversation is about {', '.join(space.names)} only; to ask about {', '.join(map(repr, outside))} open "
        f"it with domain=[{domain}]."
    )


def read_queries(queries: Any, space: Space, schema: Schema) -> list[LinearQuery]:
    """Return the queries of a workload, of a block, or of a list of whatever `read_query` takes."""
    if isinstance(queries, Workload):
        _require_talked_about(queries.columns, space, schema)
        return [one for block in queries.blocks for one in queries_of(block, space)]
    if isinstance(queries, Block):
        _require_talked_about(queries.columns, space, schema)
        return list(queries_of(queries, space))
    if isinstance(queries, str) or not hasattr(queries, "__iter__"):
        raise ParameterError("ask_all takes a list of queries, a workload or a block; for one query write ask(…).")
    return [read_query(query, space, schema) for query in queries]


def queries_of(block: Block, space: Space) -> Iterator[LinearQuery]:
    """List the queries of a block; cells and ranges become boxes, which are the quickest."""
    shape = space.shape(block.columns)
    if shape != block.shape:
        raise SchemaError(f"The block over {', '.join(block.columns)} was made for other columns than this domain's.")
    match block:
        case Marginal():
            for cell in np.ndindex(*shape):
                yield Box(block.columns, cell, tuple(code + 1 for code in cell))
        case OneCell():
            yield Box(block.columns, block.cell, tuple(code + 1 for code in block.cell))
        case Prefixes():
            for high in range(1, shape[0]):
                yield Box(block.columns, (0,), (high,))
        case Ranges():
            for low, high in zip(*block.ends, strict=True):
                yield Box(block.columns, (int(low),), (int(high) + 1,))
        case Condition():
            yield _from_predicate(block.where, space)
        case _:
            for place in range(block.queries):
                unit = np.zeros(block.queries, dtype=np.int64)
                unit[place] = 1
                yield Weighted.of(block.columns, block.transpose(unit), block.denominator)


def _from_predicate(where: Predicate, space: Space) -> LinearQuery:
    names = tuple(name for name in space.names if name in columns(where))
    space.places(sorted(columns(where)))
    parts = where.parts if isinstance(where, All) else (where,)
    if all(isinstance(part, Codes) and len(part.intervals) == 1 for part in parts):
        ends = {part.column: part.intervals[0] for part in parts if isinstance(part, Codes)}
        firsts = [space.domains[place].first for place in space.places(names)]
        lows = tuple(ends[name][0] - first for name, first in zip(names, firsts, strict=True))
        return Box(names, lows, tuple(ends[name][1] - first + 1 for name, first in zip(names, firsts, strict=True)))
    shape = space.listed(names)
    mask = Condition(names, shape, where, tuple(space.domains[place].first for place in space.places(names))).mask
    return Weighted.of(names, mask)
