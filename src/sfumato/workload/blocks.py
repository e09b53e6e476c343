"""Blocks of queries: some numbers that are linear in the counts over a few columns, and see no others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import product
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.registry import Registry
from sfumato.table.schema import Schema
from sfumato.workload.moves import NOTHING, added_to, counted, replaced_in
from sfumato.workload.space import Space

MATRIX_ENTRIES = 2**26
"""A block is written out as a matrix up to so many numbers."""

BLOCKS: Registry[type[Block]] = Registry("block of queries", "blocks")


@dataclass(frozen=True)
class Block(ABC):
    """Some queries about the same columns: each row of a table adds integer/`denominator` to each of them.

    `shape` is the number of codes of each column. A block is handed the counts over its own columns, so it cannot
    depend on any other.
    """

    kind: ClassVar[str]

    columns: tuple[str, ...]
    shape: tuple[int, ...]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        BLOCKS.add(cls.kind, cls)

    @property
    @abstractmethod
    def queries(self) -> int:
        """How many numbers the block asks for."""

    @property
    def denominator(self) -> int:
        """What the integers are divided by to give the value of a query; 1 for counts."""
        return 1

    @property
    def cells(self) -> int:
        """How many combinations of codes its columns have."""
        return prod(self.shape)

    @abstractmethod
    def evaluate(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return the integers for the counts over the columns, one a query; probabilities give means of integers."""

    @abstractmethod
    def transpose(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return the sum over the queries of weight times query, a table over the columns: the adjoint."""

    @abstractmethod
    def labels(self, space: Space) -> list[tuple[Any, ...]]:
        """Return what each query is about, one value for each of `headings`."""

    @property
    def headings(self) -> tuple[str, ...]:
        """What the labels say: by default one value for each column."""
        return self.columns

    def matrix(self, space: Space | None = None) -> NDArray[np.int64]:
        """Return all queries as a matrix, one row a query and one column a cell; refused where it is too large."""
        if self.queries * self.cells > MATRIX_ENTRIES:
            raise DomainTooLarge(
                f"The block over {', '.join(self.columns)} has {self.queries} queries on {self.cells} cells, too many "
                "to write out; use evaluate and transpose, which do not.",
                method="evaluate",
            )
        found = np.zeros((self.queries, self.cells), dtype=np.int64)
        for place in range(self.queries):
            unit = np.zeros(self.queries, dtype=np.int64)
            unit[place] = 1
            found[place] = self.transpose(unit).ravel()
        return found

    def edges(self, axis: int) -> NDArray[np.int64]:
        """Return codes of a column, 0 among them, such that no query tells a code from the last of them below it."""
        return np.arange(self.shape[axis])

    def restricted(self, codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the queries on the cells of some codes of each column: one axis for queries, one for each column."""
        return self.matrix().reshape(self.queries, *self.shape)[np.ix_(np.arange(self.queries), *codes)]

    def added(self) -> Sensitivity:
        """Return how far the integers move when one row comes or goes."""
        return added_to(self.matrix())

    def replaced(self, moving: Sequence[bool]) -> Sensitivity:
        """Return how far the integers move when one row changes in the columns marked in `moving` only."""
        return replaced_in(self.matrix(), self.shape, moving)

    def extras(self) -> dict[str, Any]:
        """Return what JSON must say beside the columns."""
        return {}

    @classmethod
    def made(cls, schema: Schema, space: Space, columns: Sequence[str], extras: Mapping[str, Any]) -> Block:
        """Return the block of these columns from what `extras` wrote."""
        return cls(tuple(columns), space.listed(columns), **extras)


@dataclass(frozen=True)
class Marginal(Block):
    """How many rows have each combination of values of the columns: the whole table of counts."""

    kind: ClassVar[str] = "marginal"

    @property
    def queries(self) -> int:
        """One for each cell."""
        return self.cells

    def evaluate(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return the counts in one row."""
        return np.asarray(table).ravel()

    def transpose(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return the weights in the shape of the table."""
        return np.asarray(weights).reshape(self.shape)

    def labels(self, space: Space) -> list[tuple[Any, ...]]:
        """Return the values of every cell."""
        return _cells(space, self.columns)

    def added(self) -> Sensitivity:
        """A row is in one cell."""
        return counted(1)

    def replaced(self, moving: Sequence[bool]) -> Sensitivity:
        """A row leaves one cell for another."""
        return counted(2) if moves(self.shape, moving) else NOTHING


@dataclass(frozen=True)
class Parity(Block):
    """How many rows have an odd number of ones among the columns, which are bits; a missing cell is no one.

    With `signed`, every row counts +1 if that number is even and -1 if it is odd: the Fourier coefficient.
    """

    kind: ClassVar[str] = "parity"
    signed: bool = False

    def __post_init__(self) -> None:
        require_bits(self.columns, self.shape, "A parity")

    @property
    def queries(self) -> int:
        """One."""
        return 1

    def evaluate(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return the number of odd rows, or even ones less odd ones."""
        return np.array([(np.asarray(table) * _signs(self.shape, self.signed)).sum()])

    def transpose(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return the weight where the query counts."""
        return np.asarray(np.asarray(weights)[0] * _signs(self.shape, self.signed))

    def labels(self, space: Space) -> list[tuple[Any, ...]]:
        """Say which rows are counted."""
        return [("even less odd" if self.signed else "odd",)]

    @property
    def headings(self) -> tuple[str, ...]:
        """One word."""
        return ("parity",)

    def added(self) -> Sensitivity:
        """A row counts one at most."""
        return counted(1)

    def replaced(self, moving: Sequence[bool]) -> Sensitivity:
        """A row counts one more or less, or two if even and odd are told apart by sign."""
        return one_query(2 if self.signed else 1) if any(moving) else NOTHING

    def extras(self) -> dict[str, Any]:
        """Return the sign only where there is one."""
        return {"signed": True} if self.signed else {}


@dataclass(frozen=True)
class OneCell(Block):
    """How many rows have one given value in each column; by default every column, a bit, is 1."""

    kind: ClassVar[str] = "conjunction"
    cell: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.cell:
            require_bits(self.columns, self.shape, "A conjunction without values")
            object.__setattr__(self, "cell", (1,) * len(self.columns))
        object.__setattr__(self, "cell", tuple(int(code) for code in self.cell))
        if len(self.cell) != len(self.shape) or any(
            not 0 <= code < size for code, size in zip(self.cell, self.shape, strict=True)
        ):
            raise ParameterError("A conjunction needs one code below the size of each of its columns.")

    @property
    def queries(self) -> int:
        """One."""
        return 1

    def evaluate(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return the count of the cell."""
        return np.asarray(table[self.cell]).reshape(1)

    def transpose(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return the weight in the cell and zero elsewhere."""
        given = np.asarray(weights)
        table = np.zeros(self.shape, dtype=given.dtype)
        table[self.cell] = given[0]
        return table

    def labels(self, space: Space) -> list[tuple[Any, ...]]:
        """Return the values of the cell."""
        return [tuple(space.value(name, code) for name, code in zip(self.columns, self.cell, strict=True))]

    def added(self) -> Sensitivity:
        """A row counts one or nothing."""
        return counted(1)

    def replaced(self, moving: Sequence[bool]) -> Sensitivity:
        """A row comes to count, or counts no more."""
        return counted(1) if moves(self.shape, moving) else NOTHING

    def edges(self, axis: int) -> NDArray[np.int64]:
        """The value, and where it ends."""
        code = self.cell[axis]
        return np.unique([0, code, min(code + 1, self.shape[axis] - 1)])

    def restricted(self, codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """One where every column has its value."""
        inside = [listed == code for listed, code in zip(codes, self.cell, strict=True)]
        return reduce(np.multiply.outer, inside, np.ones(1, dtype=np.int64))

    def extras(self) -> dict[str, Any]:
        """Return the cell where it is not all ones."""
        return {} if self.cell == (1,) * len(self.cell) and set(self.shape) == {2} else {"cell": list(self.cell)}


def moves(shape: Sequence[int], moving: Sequence[bool]) -> bool:
    """Tell whether a row can leave its cell; a column of one value never moves."""
    return any(free and size > 1 for free, size in zip(moving, shape, strict=True))


def one_query(step: int) -> Sensitivity:
    """Return the bounds of a single number that moves so far."""
    return Sensitivity(Fraction(step), Fraction(step) ** 2, Fraction(step), 1)


def require_bits(columns: Sequence[str], shape: Sequence[int], what: str, *, exactly: bool = False) -> None:
    """Refuse columns that do not have two values, or, unless `exactly`, two and a level for missing cells."""
    for name, size in zip(columns, shape, strict=True):
        if size != 2 and (exactly or size != 3):
            raise ParameterError(
                f"{what} is about bits, and {name!r} has {size} values; ask for marginals, or derive a column of two "
                "parts by bins(…, edges=[low, middle, high])."
            )


@lru_cache(maxsize=64)
def _signs(shape: tuple[int, ...], signed: bool) -> NDArray[np.int64]:
    bits = (np.indices(shape) == 1).sum(axis=0) % 2
    found: NDArray[np.int64] = (1 - 2 * bits if signed else bits).astype(np.int64)
    found.setflags(write=False)
    return found


def _cells(space: Space, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    return list(product(*(space.values(name) for name in columns)))
