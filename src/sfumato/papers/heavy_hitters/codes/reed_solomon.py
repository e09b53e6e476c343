"""Reed–Solomon in evaluation form over a field of 16 or 256 elements, with errors and erasures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from sfumato.errors import ParameterError

POLYNOMIALS = {4: 0x13, 8: 0x11D}
"""The polynomials that define the fields; in both, the element 2 generates all others but zero."""


class Field:
    """The field of 2^`bits` elements; addition is xor.

    >>> field = Field(8)
    >>> field.times(7, field.inverse(7)), field.powers[8]
    (1, 29)
    """

    def __init__(self, bits: int) -> None:
        if bits not in POLYNOMIALS:
            raise ParameterError(f"Symbols have 4 or 8 bits, and {bits!r} is neither.")
        self.bits = bits
        self.size = 1 << bits
        self.powers = [1]
        for _ in range(self.size - 2):
            doubled = self.powers[-1] << 1
            self.powers.append(doubled ^ POLYNOMIALS[bits] if doubled >= self.size else doubled)
        self.logs = {power: place for place, power in enumerate(self.powers)}

    def times(self, one: int, other: int) -> int:
        """Return the product."""
        if not one or not other:
            return 0
        return self.powers[(self.logs[one] + self.logs[other]) % (self.size - 1)]

    def inverse(self, one: int) -> int:
        """Return the inverse of an element that is not zero."""
        return self.powers[-self.logs[one] % (self.size - 1)]

    @cached_property
    def products(self) -> Any:
        """All products, as a table."""
        table = [[self.times(one, other) for other in range(self.size)] for one in range(self.size)]
        return np.array(table, dtype=np.uint8)

    def solve(self, matrix: Any) -> Any:
        """Return a solution of a linear system, whose last column is its right side, or None; free unknowns are 0."""
        rows = np.array(matrix, dtype=np.uint8)
        unknowns = rows.shape[1] - 1
        pivots: list[int] = []
        for column in range(unknowns):
            top = len(pivots)
            found = np.flatnonzero(rows[top:, column])
            if not len(found):
                continue
            rows[[top, top + found[0]]] = rows[[top + found[0], top]]
            rows[top] = self.products[self.inverse(int(rows[top, column])), rows[top]]
            factors = rows[:, column].copy()
            factors[top] = 0
            rows ^= self.products[factors[:, None], rows[top][None, :]]
            pivots.append(column)
            if len(pivots) == len(rows):
                break
        if rows[len(pivots) :, -1].any():
            return None
        solution = np.zeros(unknowns, dtype=np.uint8)
        solution[pivots] = rows[: len(pivots), -1]
        return solution


@lru_cache(maxsize=4)
def field_of(bits: int) -> Field:
    """Return the field, made once."""
    return Field(bits)


class ReedSolomon:
    """Words of `length` symbols: the values of a polynomial with `dimension` coefficients at the powers of 2.

    Any two words differ in more than length - dimension symbols; a word is recovered when twice its errors and
    its erasures together are at most length - dimension.

    >>> code = ReedSolomon(field_of(8), length=6, dimension=2)
    >>> word = code.encode((7, 9))
    >>> code.decode([None, 1, *word[2:]])
    (7, 9)
    """

    def __init__(self, field: Field, length: int, dimension: int) -> None:
        if not 1 <= dimension <= length < field.size:
            raise ParameterError(
                f"A code over {field.size} symbols has a length from its dimension {dimension} to {field.size - 1}, "
                f"and {length} is outside."
            )
        self.field = field
        self.length = length
        self.dimension = dimension
        self.points = field.powers[:length]

    def symbol(self, message: Sequence[int], place: int) -> int:
        """Return one symbol of the word of a message, whose first entry is the highest coefficient."""
        value, point = 0, self.points[place]
        for coefficient in message:
            value = self.field.times(value, point) ^ coefficient
        return value

    def encode(self, message: Sequence[int]) -> list[int]:
        """Return the word of a message."""
        return [self.symbol(message, place) for place in range(self.length)]

    def symbols(self, messages: Any, place: int) -> Any:
        """Return one symbol of the words of many messages, given as rows."""
        values = np.zeros(len(messages), dtype=np.uint8)
        by_point = self.field.products[self.points[place]]
        for column in range(self.dimension):
            values = by_point[values] ^ messages[:, column]
        return values

    def decode(self, received: Sequence[int | None]) -> tuple[int, ...] | None:
        """Return the message of the nearest word, if it is near enough; None marks an erasure."""
        known = [(place, value) for place, value in enumerate(received) if value is not None]
        errors = (len(known) - self.dimension) // 2
        if errors < 0:
            return None
        message = self._located(known, errors)
        if message is None:
            return None
        agreeing = sum(self.symbol(message, place) == value for place, value in known)
        return message if agreeing >= len(known) - errors else None

    def _located(self, known: list[tuple[int, int]], errors: int) -> tuple[int, ...] | None:
        """Berlekamp–Welch: N(point) = value · E(point), where E is zero at the errors; the message is N / E."""
        degrees = self.dimension + errors
        matrix = np.zeros((len(known), degrees + errors + 1), dtype=np.uint8)
        table = self.field.products
        points = np.array([self.points[place] for place, _ in known], dtype=np.uint8)
        values = np.array([value for _, value in known], dtype=np.uint8)
        power = np.ones(len(known), dtype=np.uint8)
        for degree in range(degrees):
            matrix[:, degree] = power
            if degree <= errors:
                # The column of E's highest coefficient, which is one, is the right side.
                matrix[:, degrees + degree] = table[values, power]
            power = table[power, points]
        solution = self.field.solve(matrix)
        if solution is None:
            return None
        top = solution[:degrees].tolist()
        return self._quotient(top, [*solution[degrees:].tolist(), 1])

    def _quotient(self, top: list[int], bottom: list[int]) -> tuple[int, ...] | None:
        """Divide polynomials, lowest coefficient first, by one whose highest is one; None if a rest is left."""
        quotient: list[int] = []
        for place in range(len(top) - 1, len(bottom) - 2, -1):
            factor = top[place]
            quotient.append(factor)
            for at, coefficient in enumerate(bottom):
                top[place - len(bottom) + 1 + at] ^= self.field.times(factor, coefficient)
        return None if any(top) else tuple(quotient)
