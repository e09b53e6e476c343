"""Binary columns of a table: booleans as they are, values of other columns by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Booleans, Domain, nearest
from sfumato.errors import ParameterError, SchemaError
from sfumato.table import measure as measures
from sfumato.table.schema import Schema
from sfumato.workload.records import Records
from sfumato.workload.space import Space

Flags = NDArray[np.bool_]

MOST_VALUES = 2**16
"""So many values of a column are told apart by name."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The exact bits of a table: one row for each of `ones`, which occurs `counts` times. Rows may repeat."""

    ones: Flags
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]], width: int) -> Rows:
        """Count rows of zeros and ones, sorted; what is not 1 counts as 0.

        >>> Rows.of([(1, 0), (0, 1), (1, 0)], 2).counts
        array([1, 2])
        """
        listed = np.array([tuple(row) for row in rows], dtype=np.int64).reshape(-1, width) == 1
        ones, counts = np.unique(listed, axis=0, return_counts=True)
        return cls(ones, counts.astype(np.int64))

    @property
    def total(self) -> int:
        """How many rows there are, equal ones counted each."""
        return int(self.counts.sum())


@dataclass(frozen=True)
class Bits:
    """Binary columns in a fixed order, each a public set of codes of one column of the table.

    A bit is one where its condition is true, so it is zero where the cell is missing.

    >>> from sfumato.domain import booleans, categories, integers
    >>> schema = Schema({"smokes": booleans(), "job": categories("nurse", "clerk"), "age": integers(0, 99)})
    >>> bits = Bits.of(schema, ["smokes", "job=clerk", "age>=65"])
    >>> bits.names, bits.space.names, bits.ones
    (('smokes', 'job=clerk', 'age>=65'), ('smokes', 'job', 'age'), (0, 3))
    """

    space: Space
    names: tuple[str, ...]
    sources: tuple[int, ...]
    """The place of each bit's column in the space."""
    codes: tuple[frozenset[int], ...]
    """The codes, counted from 0, for which each bit is one."""

    @classmethod
    def of(cls, schema: Schema, columns: Iterable[str] | None = None) -> Bits:
        """Return the bits of these names, by default all boolean columns: "smokes", "job=clerk", "age>=65"."""
        if isinstance(columns, str):
            columns = (columns,)
        named = tuple(_booleans(schema) if columns is None else columns)
        if not named:
            raise SchemaError(
                "There is no boolean column to make a synopsis of; name values of other columns by "
                "columns=one_hot(schema, ['job', …])."
            )
        if len(set(named)) != len(named):
            raise SchemaError("The same binary column is listed twice; list each one once.")
        read = [_bit(schema, name) for name in named]
        space = Space.of(schema, dict.fromkeys(column for column, _ in read))
        places = {name: place for place, name in enumerate(space.names)}
        return cls(space, named, tuple(places[column] for column, _ in read), tuple(codes for _, codes in read))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def measure(self) -> measures.Rows:
        """What is read from a table: whole rows over the columns of the bits."""
        return measures.Rows(self.space.names)

    def read(self, found: measures.Distinct) -> Rows:
        """Return the bits of every row that was read."""
        return self.rows(Records.of(self.space, found))

    def rows(self, records: Records) -> Rows:
        """Return the bits of rows of codes."""
        ones = np.empty((len(records.counts), len(self)), dtype=np.bool_)
        for bit, (source, codes) in enumerate(zip(self.sources, self.codes, strict=True)):
            ones[:, bit] = np.isin(records.codes[:, source], list(codes))
        return Rows(ones, records.counts)

    @property
    def holds(self) -> int:
        """How many bytes a row of bits takes: as it is, turned round, packed, and as it is added up."""
        return 4 * len(self) + 256

    def places(self, attribute: str | None) -> tuple[int, ...]:
        """Return the places of the bits that show an attribute."""
        shown = self.space.attributes
        return tuple(bit for bit, source in enumerate(self.sources) if shown[source] == attribute)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The private attributes that some bit shows."""
        shown = {self.space.attributes[source] for source in self.sources}
        return tuple(sorted(name for name in shown if name is not None))

    @cached_property
    def patterns(self) -> tuple[Flags, ...]:
        """For every column of the space the distinct rows of bits that its values can give."""
        mine: list[list[frozenset[int]]] = [[] for _ in self.space.names]
        for source, codes in zip(self.sources, self.codes, strict=True):
            mine[source].append(codes)
        found = []
        for size, bits in zip(self.space.sizes, mine, strict=True):
            table = np.zeros((min(size, MOST_VALUES), len(bits)), np.bool_)
            for bit, codes in enumerate(bits):
                table[[code for code in codes if code < len(table)], bit] = True
            found.append(np.unique(table, axis=0))
        return tuple(found)

    @cached_property
    def ones(self) -> tuple[int, int]:
        """The least and the largest number of ones that any row can have, from the schema alone."""
        sums = [found.sum(axis=1) for found in self.patterns]
        return int(sum(found.min() for found in sums)), int(sum(found.max() for found in sums))

    @property
    def zeros(self) -> tuple[int, int]:
        """The least and the largest number of zeros that any row can have."""
        return len(self) - self.ones[1], len(self) - self.ones[0]


def one_hot(schema: Schema, columns: Iterable[str] | None = None) -> tuple[str, ...]:
    """Return the names of binary columns that say all of some columns: booleans, and one for each other value.

    >>> from sfumato.domain import booleans, categories
    >>> one_hot(Schema({"smokes": booleans(), "job": categories("nurse", "clerk")}))
    ('smokes', 'job=nurse', 'job=clerk', 'job=other')
    """
    listed = schema.names if columns is None else ((columns,) if isinstance(columns, str) else tuple(columns))
    found: list[str] = []
    for name in listed:
        domain = schema.domain(name)
        if isinstance(domain, Booleans):
            found.append(name)
            continue
        _check_listed(name, domain)
        found += [f"{name}={domain.decode(code)}" for code in _codes(domain)]
    return tuple(found)


def _booleans(schema: Schema) -> list[str]:
    return [name for name in schema.names if isinstance(schema.domain(name), Booleans)]


def _codes(domain: Domain) -> range:
    """Return the codes of cells that are there: a missing cell fulfils no condition, so all of its bits are 0."""
    assert domain.present is not None
    return domain.present


def _check_listed(name: str, domain: Domain) -> None:
    if domain.size is None or domain.size > MOST_VALUES:
        raise SchemaError(
            f"{name!r} has more values than binary columns are made of ({MOST_VALUES}); derive coarser bins in the "
            "schema, or leave it out."
        )


def _bit(schema: Schema, name: Any) -> tuple[str, frozenset[int]]:
    """Return the column of a bit and the codes, counted from 0, for which it is one."""
    if not isinstance(name, str):
        raise ParameterError(f"A binary column is named by text such as 'smokes' or 'job=clerk', not {name!r}.")
    if name in schema.names:
        domain = schema.domain(name)
        if not isinstance(domain, Booleans):
            raise SchemaError(
                f"{name!r} is not binary; name one of its values as {f'{name}={_some(domain)}'!r}, or all of them by "
                f"columns=one_hot(schema, [{name!r}])."
            )
        return name, frozenset((1,))
    for sign in (">=", "="):
        column, found, value = name.partition(sign)
        if found and column in schema.names:
            return column, _matching(column, schema.domain(column), sign, value)
    raise SchemaError(f"There is no column {name!r} in the schema; {nearest(name, schema.names)}")


def _some(domain: Domain) -> Any:
    return "…" if domain.highest is None else domain.decode(domain.highest)


def _matching(column: str, domain: Domain, sign: str, value: str) -> frozenset[int]:
    _check_listed(column, domain)
    codes = [code for code in _codes(domain) if str(domain.decode(code)) == value]
    if not codes:
        shown = ", ".join(str(domain.decode(code)) for code in list(_codes(domain))[:8])
        raise SchemaError(f"{column!r} has no value {value!r}; its values are {shown}, ….")
    if sign == "=":
        return frozenset(code - domain.first for code in codes)
    return frozenset(range(codes[0] - domain.first, len(_codes(domain))))
