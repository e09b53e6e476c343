"""Blocks of general queries: prefixes and ranges of a column, and matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.workload.blocks import Block, moves
from sfumato.workload.moves import NOTHING, counted
from sfumato.workload.space import Space

LONGEST = 2048
"""All ranges of a column are asked for up to so many values: their number grows with the square."""


@dataclass(frozen=True)
class Prefixes(Block):
    """How many rows lie at or below each value of a column but the last code, where all do.

    Missing cells have the last code, so where there are any the largest value has its prefix too.
    """

    kind: ClassVar[str] = "prefixes"

    def __post_init__(self) -> None:
        _one_column(self, "Prefixes")

    @property
    def queries(self) -> int:
        """One for each value but the last."""
        return self.shape[0] - 1

    def evaluate(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return running totals."""
        return np.cumsum(np.asarray(table))[:-1]

    def transpose(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return for each code the sum of the weights of the prefixes that hold it."""
        given = np.asarray(weights)
        return np.append(np.cumsum(given[::-1])[::-1], np.zeros(1, given.dtype))

    def labels(self, space: Space) -> list[tuple[Any, ...]]:
        """Return the last value of each prefix."""
        return [(value,) for value in space.values(self.columns[0])[:-1]]

    @property
    def headings(self) -> tuple[str, ...]:
        """Up to which value."""
        return (f"{self.columns[0]} up to",)

    def added(self) -> Sensitivity:
        """A row at the first value is in every prefix."""
        return counted(self.queries)

    def replaced(self, moving: Sequence[bool]) -> Sensitivity:
        """A row that goes from the first value to the last leaves every prefix."""
        return counted(self.queries) if moves(self.shape, moving) else NOTHING

    def restricted(self, codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """One for each prefix that holds the code."""
        return (codes[0][None, :] <= np.arange(self.queries)[:, None]).astype(np.int64)


@dataclass(frozen=True)
class Ranges(Block):
    """How many rows lie between each two values of a column, both included.

    `present` is the number of values where the last code is that of missing cells, which lie in no range.
    """

    kind: ClassVar[str] = "ranges"
    present: int | None = None

    def __post_init__(self) -> None:
        _one_column(self, "Ranges")
        if self.present not in (None, self.shape[0] - 1):
            raise ParameterError("Only the last code of a column can be that of missing cells.")
        if self.values > LONGEST:
            raise ParameterError(
                f"All ranges of {self.columns[0]!r} would be {self.queries} queries; derive coarser bins, or ask for "
                "prefixes, whose differences are ranges."
            )

    @property
    def values(self) -> int:
        """How many values a range can begin or end at."""
        return self.shape[0] if self.present is None else self.present

    @property
    def queries(self) -> int:
        """One for each pair of ends."""
        return self.values * (self.values + 1) // 2

    @cached_property
    def ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first and the last code of every range."""
        low, high = np.triu_indices(self.values)
        return low.astype(np.int64), high.astype(np.int64)

    def evaluate(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return differences of running totals."""
        below = np.concatenate([np.zeros(1, np.asarray(table).dtype), np.cumsum(np.asarray(table))])
        low, high = self.ends
        return np.asarray(below[high + 1] - below[low])

    def transpose(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return for each code the sum of the weights of the ranges that hold it."""
        given = np.asarray(weights)
        steps = np.zeros(self.shape[0] + 1, given.dtype)
        low, high = self.ends
        np.add.at(steps, low, given)
        np.subtract.at(steps, high + 1, given)
        return np.cumsum(steps)[:-1]

    def labels(self, space: Space) -> list[tuple[Any, ...]]:
        """Return both ends of each range."""
        values = space.values(self.columns[0])
        return [(values[low], values[high]) for low, high in zip(*self.ends, strict=True)]

    @property
    def headings(self) -> tuple[str, ...]:
        """From which value, and up to which."""
        return (f"{self.columns[0]} from", f"{self.columns[0]} to")

    def added(self) -> Sensitivity:
        """A row in the middle is in most ranges."""
        size = self.values
        return counted(max((code + 1) * (size - code) for code in range(size)))

    def replaced(self, moving: Sequence[bool]) -> Sensitivity:
        """Count the ranges that hold one of two codes and not the other, over all pairs."""
        if not moves(self.shape, moving):
            return NOTHING
        size = self.values
        # The code of missing cells, if there is one, equals `size`: no range holds it.
        code = np.arange(self.shape[0], dtype=np.int64)
        holding = (code + 1) * (size - code)
        first, second = code[:, None], code[None, :]
        both = (np.minimum(first, second) + 1) * (size - np.maximum(first, second))
        return counted(int((holding[:, None] + holding[None, :] - 2 * both).max()))

    def restricted(self, codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """One for each range that holds the code."""
        low, high = (ends[:, None] for ends in self.ends)
        return ((low <= codes[0]) & (codes[0] <= high)).astype(np.int64)

    def extras(self) -> dict[str, Any]:
        """Return the number of values where it is not that of the codes."""
        return {} if self.present is None else {"present": self.present}


@dataclass(frozen=True, eq=False)
class Matrix(Block):
    """Any queries: an integer for every cell of the columns, divided by `steps`."""

    kind: ClassVar[str] = "matrix"
    values: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    steps: int = 1

    def __post_init__(self) -> None:
        values = np.ascontiguousarray(self.values, dtype=np.int64).copy()
        if values.ndim != 2 or values.shape[1] != self.cells or not len(values):
            raise ParameterError(
                f"A matrix of queries over {', '.join(self.columns)} has a row for each query and {self.cells} columns,"
                f" one for each combination of values; this one has the shape {values.shape}."
            )
        if (values < 0).any() or (values > self.steps).any():
            raise ParameterError("A query has values from 0 to 1; divide it by its largest value, or shift it.")
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matrix) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        return self.columns, self.shape, self.steps, self.values.tobytes()

    @property
    def queries(self) -> int:
        """One for each row of the matrix."""
        return len(self.values)

    @property
    def denominator(self) -> int:
        """The steps between 0 and 1."""
        return self.steps

    def evaluate(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return the product of the matrix and the counts."""
        found: NDArray[Any] = self.values @ np.asarray(table).ravel()
        return found

    def transpose(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return the product of the weights and the matrix."""
        found: NDArray[Any] = (np.asarray(weights) @ self.values).reshape(self.shape)
        return found

    def labels(self, space: Space) -> list[tuple[Any, ...]]:
        """Number the queries."""
        return [(number,) for number in range(self.queries)]

    @property
    def headings(self) -> tuple[str, ...]:
        """The number of the query."""
        return ("query",)

    def matrix(self, space: Space | None = None) -> NDArray[np.int64]:
        """Return the matrix itself."""
        return self.values

    def edges(self, axis: int) -> NDArray[np.int64]:
        """Where some query differs from one code to the next."""
        slices = np.moveaxis(self.values.reshape(-1, *self.shape), 1 + axis, 0).reshape(self.shape[axis], -1)
        return np.append(0, 1 + np.flatnonzero((slices[1:] != slices[:-1]).any(axis=1)))

    def extras(self) -> dict[str, Any]:
        """Return all numbers."""
        return {"values": self.values.tolist(), "steps": self.steps}


def _one_column(block: Block, what: str) -> None:
    if len(block.columns) != 1 or block.shape[0] < 2:
        raise ParameterError(f"{what} are about one column that has at least two values; name one.")
