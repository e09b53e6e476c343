"""Queries as compact arrays: conjunctions with negations, parities, cuts; a million of them fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import nearest
from sfumato.errors import ParameterError
from sfumato.exact import positive_integer
from sfumato.noise import Noise

Places = NDArray[np.int32]
Flags = NDArray[np.bool_]
Words = NDArray[np.uint64]

MOST_LISTED = 2**24
"""More queries than are written out at once."""

NOT = "not "
"""What stands before the name of a column that has to be false."""


@dataclass(frozen=True, eq=False)
class Conjunctions:
    """Queries that are true where all columns of `places` are one, and zero where `negated`; one query a row.

    Shorter queries are filled up with -1. Rows are sorted, and no place stands twice in one.

    >>> asked = Conjunctions.of(["smokes", "drives", "sings"], [("sings", "smokes"), ("not drives",)])
    >>> asked.places.tolist(), asked.negated.tolist()
    ([[0, 2], [1, -1]], [[False, False], [True, False]])
    """

    places: Places
    negated: Flags
    size: int
    """How many columns there are to speak of."""

    @classmethod
    def make(cls, places: Any, size: int, negated: Any = None) -> Conjunctions:
        """Return queries from arrays of any order: one row a query, -1 where a query is shorter."""
        found = np.asarray(places, dtype=np.int32)
        if found.ndim != 2:
            raise ParameterError("Conjunctions are a matrix of places, one query a row; write [[0, 3], [2, -1]].")
        flags = np.zeros(found.shape, np.bool_) if negated is None else np.asarray(negated, np.bool_)
        if flags.shape != found.shape:
            raise ParameterError("negated has one flag for each place; give both the same shape.")
        if found.size and (found.min() < -1 or found.max() >= size):
            raise ParameterError(f"Places run from 0 to {size - 1}, and -1 fills up shorter queries.")
        key = np.where(found < 0, size, found)
        order = np.argsort(key, axis=1, kind="stable")
        ranked = np.take_along_axis(key, order, axis=1)
        if (np.diff(ranked, axis=1) == 0)[ranked[:, 1:] < size].any():
            raise ParameterError("A conjunction names the same column twice; name each one once.")
        absent = ranked == size
        return cls(
            np.where(absent, -1, ranked).astype(np.int32), np.take_along_axis(flags, order, axis=1) & ~absent, size
        )

    @classmethod
    def of(cls, columns: Sequence[str], queries: Iterable[Sequence[str] | str]) -> Conjunctions:
        """Return queries that name columns; "not smokes" asks for a column that is zero."""
        places = {name: place for place, name in enumerate(columns)}
        listed = [tuple(_literal(name, places) for name in _names(query)) for query in queries]
        width = max(map(len, listed), default=0)
        table = np.full((len(listed), width), -1, dtype=np.int32)
        flags = np.zeros((len(listed), width), dtype=np.bool_)
        for row, literals in enumerate(listed):
            for column, (place, negated) in enumerate(literals):
                table[row, column], flags[row, column] = place, negated
        return cls.make(table, len(columns), flags)

    @classmethod
    def every(cls, size: int, width: int) -> Conjunctions:
        """Return all conjunctions of `width` columns out of `size`, none negated."""
        _check_width(width, size)
        if comb(size, width) > MOST_LISTED:
            raise ParameterError(
                f"There are {comb(size, width)} conjunctions of {width} columns; ask for some of them by "
                "Conjunctions.random."
            )
        listed = np.array(list(combinations(range(size), width)), dtype=np.int32).reshape(-1, width)
        return cls(listed, np.zeros(listed.shape, np.bool_), size)

    @classmethod
    def random(
        cls, size: int, width: int, count: int, *, negations: bool = False, noise: Noise | None = None
    ) -> Conjunctions:
        """Return conjunctions of `width` columns drawn evenly; with `negations` each literal is negated by a coin."""
        _check_width(width, size)
        source = Noise() if noise is None else noise
        places = _random_sets(size, width, positive_integer(count, "count"), source)
        flags = np.zeros(places.shape, np.bool_)
        if negations and width:
            flags = source.uniform(2, places.size).astype(np.bool_).reshape(places.shape)
        return cls(places, flags, size)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def widths(self) -> NDArray[np.int64]:
        """How many columns each query names."""
        return np.asarray(np.count_nonzero(self.places >= 0, axis=1), dtype=np.int64)

    def by_shape(self) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
        """Yield width, number of negations, and which queries have them."""
        shapes = self.widths * (self.size + 1) + np.count_nonzero(self.negated, axis=1)
        for shape in np.unique(shapes).tolist():
            yield shape // (self.size + 1), shape % (self.size + 1), np.flatnonzero(shapes == shape)

    def dense(self) -> tuple[Flags, Flags]:
        """Return for every query which columns have to be one, and which zero, as two matrices of flags."""
        ones = np.zeros((len(self), self.size), np.bool_)
        zeros = np.zeros((len(self), self.size), np.bool_)
        rows, cells = np.nonzero(self.places >= 0)
        flags = self.negated[rows, cells]
        columns = self.places[rows, cells]
        ones[rows[~flags], columns[~flags]] = True
        zeros[rows[flags], columns[flags]] = True
        return ones, zeros


@dataclass(frozen=True, eq=False)
class Subsets:
    """Queries that are subsets of `size` columns or vertices, 64 members to a word, one query a row."""

    words: Words
    size: int

    @classmethod
    def make(cls, members: Any) -> Self:
        """Return queries from a matrix of flags, one query a row.

        >>> Parities.make([[True, False, True]]).words.tolist()
        [[5]]
        """
        flags = np.asarray(members, dtype=np.bool_)
        if flags.ndim != 2:
            raise ParameterError("Subsets are a matrix of flags, one query a row; write [[True, False], …].")
        return cls(pack(flags), flags.shape[1])

    @classmethod
    def of(cls, columns: Sequence[str], queries: Iterable[Sequence[str] | str]) -> Self:
        """Return queries that name their members."""
        places = {str(name): place for place, name in enumerate(columns)}
        listed = [[_place(name, places) for name in _names(query)] for query in queries]
        flags = np.zeros((len(listed), len(places)), np.bool_)
        for row, members in enumerate(listed):
            flags[row, members] = True
        return cls.make(flags)

    @classmethod
    def random(cls, size: int, count: int, *, noise: Noise | None = None) -> Self:
        """Return subsets in which every member stands with probability one half."""
        source = Noise() if noise is None else noise
        rows, words = positive_integer(count, "count"), -(-positive_integer(size, "size") // 64)
        drawn = source.uniform(2**32, 2 * rows * words).astype(np.uint64)
        found = (drawn[0::2] | (drawn[1::2] << np.uint64(32))).reshape(rows, words)
        if size % 64:
            found[:, -1] &= np.uint64(2 ** (size % 64) - 1)
        return cls(found, size)

    def __len__(self) -> int:
        return len(self.words)

    def flags(self, start: int = 0, stop: int | None = None) -> Flags:
        """Return some of the queries as a matrix of flags."""
        return unpack(self.words[start:stop], self.size)


@dataclass(frozen=True, eq=False)
class Parities(Subsets):
    """Queries that are true where an odd number of their columns are one."""


@dataclass(frozen=True, eq=False)
class Cuts(Subsets):
    """Queries that are true for edges with exactly one end among their vertices."""


Asked = TypeVar("Asked", Conjunctions, Parities, Cuts)


def read_queries(kind: type[Asked], queries: Any, columns: tuple[str, ...], members: str, example: str) -> Asked:
    """Return queries of a kind over these columns or vertices: as they are, or read from lists of names."""
    if isinstance(queries, kind):
        if queries.size != len(columns):
            raise ParameterError(
                f"The {kind.__name__.lower()} speak of {queries.size} {members}, and the synopsis has {len(columns)}; "
                f"make them by {kind.__name__}.of(synopsis.columns, …)."
            )
        return queries
    if isinstance(queries, (str, bytes)) or not hasattr(queries, "__iter__"):
        raise ParameterError(f"Queries are a list of lists of {members}; write [{example}].")
    return kind.of(columns, queries)


def pack(flags: Flags) -> Words:
    """Return flags as words of 64, the first flag in the lowest bit."""
    rows, size = flags.shape
    bytes_ = np.zeros((rows, 8 * -(-size // 64)), np.uint8)
    found = np.packbits(flags, axis=1, bitorder="little")
    bytes_[:, : found.shape[1]] = found
    return bytes_.view("<u8").astype(np.uint64)


def unpack(words: Words, size: int) -> Flags:
    """Read what `pack` wrote."""
    bytes_ = np.ascontiguousarray(words.astype("<u8")).view(np.uint8)
    return np.unpackbits(bytes_, axis=1, count=size, bitorder="little").astype(np.bool_)


def _names(query: Sequence[str] | str) -> tuple[str, ...]:
    return (query,) if isinstance(query, str) else tuple(query)


def _place(name: str, places: dict[str, int]) -> int:
    if name not in places:
        raise ParameterError(f"There is no {name!r} in this synopsis; {nearest(str(name), tuple(places))}")
    return places[name]


def _literal(name: str, places: dict[str, int]) -> tuple[int, bool]:
    if name not in places and isinstance(name, str) and name.startswith(NOT):
        return _place(name.removeprefix(NOT), places), True
    return _place(name, places), False


def _check_width(width: int, size: int) -> None:
    if not isinstance(width, int) or not 0 <= width <= size:
        raise ParameterError(f"A conjunction of {size} columns is from 0 to {size} wide, and {width!r} is not.")


def _random_sets(size: int, width: int, count: int, noise: Noise) -> Places:
    """Return sorted sets, evenly drawn: whole rows are drawn again while they repeat a member."""
    if width * width > 2 * size:  # too many repetitions; the smallest of so many random keys are as even
        keys = noise.uniform(2**62, count * size).reshape(count, size)
        return np.sort(np.argsort(keys, axis=1)[:, :width], axis=1).astype(np.int32)
    found = np.sort(noise.uniform(size, count * width).reshape(count, width), axis=1)
    while True:
        again = np.flatnonzero((np.diff(found, axis=1) == 0).any(axis=1)) if width > 1 else np.empty(0, np.int64)
        if not len(again):
            return found.astype(np.int32)
        found[again] = np.sort(noise.uniform(size, len(again) * width).reshape(-1, width), axis=1)
