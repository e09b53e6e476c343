"""A public bijection of items that leaves no structure to stumble over.

Popular items share prefixes: addresses begin alike, small numbers begin with zeros. A search that grows prefixes
would drown in them. So every code is first sent through a random invertible affine map over the two-element
field, drawn from the seed. Any two different codes become a uniformly random pair of different ones, which is all
that the analysis needs; it takes one table look-up a byte and is easy to write in any language.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from sfumato.local.seed import Seed


class Whitening:
    """The bijection of codes of `bits` bits.

    >>> white = Whitening(Seed(bytes(32)), 12)
    >>> [white.invert(white.apply(code)) for code in (0, 1, 4095)]
    [0, 1, 4095]
    """

    def __init__(self, seed: Seed, bits: int) -> None:
        self.bits = bits
        self.row_bytes = -(-bits // 8)
        self.padding = 8 * self.row_bytes - bits
        attempt = 0
        while True:
            columns, self.offset = self._draw(seed, attempt)
            inverse = _inverse(columns, bits)
            if inverse is not None:
                break
            attempt += 1
        self.columns = columns
        self._inverse = inverse

    def _draw(self, seed: Seed, attempt: int) -> tuple[list[int], int]:
        """Return the images of the single bits, the highest first, and the image of zero."""
        width = self.row_bytes
        stream = seed.stream("whiten", attempt, (self.bits + 1) * width)
        numbers = [
            int.from_bytes(stream[at : at + width], "big") >> self.padding for at in range(0, len(stream), width)
        ]
        return numbers[:-1], numbers[-1]

    def apply(self, code: int) -> int:
        """Return the whitened code."""
        white = self.offset
        for table, byte in zip(self._tables, (code << self.padding).to_bytes(self.row_bytes, "big"), strict=True):
            white ^= table[byte]
        return white

    def invert(self, white: int) -> int:
        """Return the code that became `white`."""
        return _map(self._inverse, white ^ self.offset, self.bits)

    def apply_rows(self, rows: Any) -> Any:
        """Return the whitened codes of a table of bytes; codes fill their rows from the left."""
        from sfumato.local.kernels.rows import whiten_rows

        return whiten_rows(rows, self._byte_tables, np.frombuffer(self._row(self.offset), dtype=np.uint8))

    def _row(self, code: int) -> bytes:
        return (code << self.padding).to_bytes(self.row_bytes, "big")

    @cached_property
    def _tables(self) -> list[list[int]]:
        """For every byte of a code and every value of it, what it adds to the image."""
        columns = self.columns + [0] * self.padding
        tables = []
        for first in range(0, len(columns), 8):
            table = [0] * 256
            for value in range(1, 256):
                lowest = value & -value
                table[value] = table[value ^ lowest] ^ columns[first + 8 - lowest.bit_length()]
            tables.append(table)
        return tables

    @cached_property
    def _byte_tables(self) -> Any:
        packed = b"".join(self._row(image) for table in self._tables for image in table)
        return np.frombuffer(packed, dtype=np.uint8).reshape(self.row_bytes, 256, self.row_bytes)


@lru_cache(maxsize=16)
def whitening_of(seed: Seed, bits: int) -> Whitening:
    """Return the bijection of a seed, made once."""
    return Whitening(seed, bits)


def _map(columns: list[int], code: int, bits: int) -> int:
    image = 0
    for place, column in enumerate(columns):
        if code >> (bits - 1 - place) & 1:
            image ^= column
    return image


def _inverse(columns: list[int], bits: int) -> list[int] | None:
    """Return the columns of the inverse matrix, or None if there is none."""
    # Each pair is (image, which columns made it); elimination turns the images into single bits.
    pairs = [(column, 1 << (bits - 1 - place)) for place, column in enumerate(columns)]
    for place in range(bits):
        bit = 1 << (bits - 1 - place)
        pivot = next((at for at in range(place, bits) if pairs[at][0] & bit), None)
        if pivot is None:
            return None
        pairs[place], pairs[pivot] = pairs[pivot], pairs[place]
        image, made = pairs[place]
        for at in range(bits):
            if at != place and pairs[at][0] & bit:
                pairs[at] = (pairs[at][0] ^ image, pairs[at][1] ^ made)
    return [made for _, made in pairs]
