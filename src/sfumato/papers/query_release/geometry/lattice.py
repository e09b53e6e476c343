"""The integer points that answers can reach, and a basis in which noise is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.papers.query_release.geometry.generators import Vectors

CHUNK = 256
METRIC_BITS = 24


@dataclass(frozen=True)
class Lattice:
    """All whole combinations of the rows of `basis`; every coordinate of a point is a whole number.

    Whatever integer vector is measured, `coordinates` splits it into a lattice point and a remainder that depends
    on its coset alone. Vectors that differ by a lattice point have the same remainder, so a mechanism that throws
    the remainder away and puts a public one in its place never shows a direction without noise.
    """

    basis: Vectors

    @classmethod
    def whole(cls, dimension: int) -> Lattice:
        """Return all integer vectors of so many entries."""
        return cls(tuple(tuple(int(row == column) for column in range(dimension)) for row in range(dimension)))

    @classmethod
    def generated(cls, vectors: Sequence[Sequence[int]], metric: NDArray[np.float64] | None = None) -> Lattice:
        """Return the lattice of all whole combinations of some vectors, its basis short and nearly orthogonal.

        `metric` maps answers to the coordinates in which lengths are measured; the basis is reduced for it. Any
        basis gives the same lattice.

        >>> Lattice.generated([(1, 1), (1, -1), (3, 1)]).rank
        2
        """
        import flint

        echelon: list[list[int]] = []
        for start in range(0, len(vectors), CHUNK):
            stacked = [*echelon, *(list(map(int, vector)) for vector in vectors[start : start + CHUNK])]
            reduced = flint.fmpz_mat(stacked).hnf()
            echelon = [row for row in _rows(reduced) if any(row)]
        if not echelon:
            raise ParameterError("A lattice needs at least one vector that is not zero.")
        shown = np.array(echelon, dtype=float) @ (np.eye(len(echelon[0])) if metric is None else metric)
        # Rows of lengths next to their own numbers: reducing the lengths leaves the combinations behind.
        lengths = np.rint(shown * (2**METRIC_BITS / max(np.abs(shown).max(), 1e-300))).astype(object)
        marked = [[*map(int, lengths[place]), *_unit(place, len(echelon))] for place in range(len(echelon))]
        combined = [row[-len(echelon) :] for row in _rows(flint.fmpz_mat(marked).lll())]
        return cls(tuple(map(tuple, _rows(flint.fmpz_mat(combined) * flint.fmpz_mat(echelon)))))

    @property
    def rank(self) -> int:
        """The number of directions that carry noise."""
        return len(self.basis)

    @property
    def dimension(self) -> int:
        """The number of answers."""
        return len(self.basis[0])

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """The basis as floats, for predictions only."""
        return np.array(self.basis, dtype=np.float64)

    @cached_property
    def _echelon(self) -> tuple[list[list[int]], list[int], Any]:
        """The same lattice in echelon form, its pivots, and what turns its coordinates into those of the basis."""
        import flint

        rows = _rows(flint.fmpz_mat([list(row) for row in self.basis]).hnf())
        pivots = [next(place for place, entry in enumerate(row) if entry) for row in rows]
        combined = flint.fmpz_mat([_reduce(row, rows, pivots)[0] for row in self.basis])
        inverse = combined.inv()
        turn = [[int(inverse[i, j].p) for j in range(len(rows))] for i in range(len(rows))]
        return rows, pivots, turn

    def coordinates(self, vector: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the coordinates of the lattice point of a vector, and the remainder of its coset.

        >>> Lattice(((2, 0), (0, 2))).coordinates([5, 4])
        ([2, 2], [1, 0])
        """
        rows, pivots, turn = self._echelon
        whole, rest = _reduce(vector, rows, pivots)
        return [sum(whole[i] * turn[i][j] for i in range(len(rows))) for j in range(len(rows))], rest

    def contains(self, vector: Sequence[int]) -> bool:
        """Tell whether a vector is a lattice point."""
        return not any(self.coordinates(vector)[1])

    def points(self, vectors: Iterable[Sequence[int]]) -> Vectors:
        """Return the coordinates of vectors that all lie in the lattice."""
        found = []
        for vector in vectors:
            coordinates, rest = self.coordinates(vector)
            if any(rest):
                raise ParameterError("A generator lies outside of the lattice, so its moves would show without noise.")
            found.append(tuple(coordinates))
        return tuple(found)

    def answer(self, coordinates: Sequence[int]) -> list[int]:
        """Return the answers of a lattice point."""
        return [
            sum(amount * row[place] for amount, row in zip(coordinates, self.basis, strict=True))
            for place in range(self.dimension)
        ]


def _reduce(vector: Sequence[int], rows: list[list[int]], pivots: list[int]) -> tuple[list[int], list[int]]:
    rest, whole = [int(entry) for entry in vector], []
    for row, pivot in zip(rows, pivots, strict=True):
        times = rest[pivot] // row[pivot]
        whole.append(times)
        if times:
            rest = [entry - times * step for entry, step in zip(rest, row, strict=True)]
    return whole, rest


def _rows(matrix: Any) -> list[list[int]]:
    return [[int(entry) for entry in row] for row in matrix.tolist()]


def _unit(place: int, size: int) -> list[int]:
    return [int(place == other) for other in range(size)]
