"""SHA-256 of many short messages at once.

The standard library hashes one message in about a microsecond, most of which is Python; a simulation asks for
millions.
"""

from __future__ import annotations

from math import isqrt
from typing import Any

import numba
import numpy as np

from sfumato.exact.search import smallest_between

LONGEST = 55
"""The longest message that fits one block of 64 bytes with its padding."""

_PRIMES = [number for number in range(2, 312) if all(number % small for small in range(2, number))]


def _cube_root(number: int) -> int:
    return smallest_between(0, 1 << (number.bit_length() // 3 + 1), lambda root: root**3 > number) - 1


# The constants of the standard: first bits of the fractions of the cube and square roots of the first primes.
_ROUNDS = np.array([_cube_root(prime << 96) & 0xFFFFFFFF for prime in _PRIMES], dtype=np.uint32)
_START = np.array([isqrt(prime << 64) & 0xFFFFFFFF for prime in _PRIMES[:8]], dtype=np.uint32)


@numba.njit(cache=True, inline="always")
def _turn(word, places):  # type: ignore[no-untyped-def]
    # Sums and shifts of 32-bit words are 64-bit words here unless they are cut at once.
    return np.uint32(word >> np.uint32(places)) | np.uint32(word << np.uint32(32 - places))


@numba.njit(cache=True, nogil=True)
def _compress(block, words, rounds, start):  # type: ignore[no-untyped-def]
    """Write SHA-256 of one padded block of 16 words into the first words; `block` has room for 64."""
    for place in range(16, 64):
        early, late = block[place - 15], block[place - 2]
        low = _turn(early, 7) ^ _turn(early, 18) ^ (early >> np.uint32(3))
        high = _turn(late, 17) ^ _turn(late, 19) ^ (late >> np.uint32(10))
        block[place] = np.uint32(block[place - 16] + low + block[place - 7] + high)
    a, b, c, d, e, f, g, h = start[0], start[1], start[2], start[3], start[4], start[5], start[6], start[7]
    for place in range(64):
        choice = (e & f) ^ (~e & g)
        moved = np.uint32(h + (_turn(e, 6) ^ _turn(e, 11) ^ _turn(e, 25)) + choice + rounds[place] + block[place])
        majority = (a & b) ^ (a & c) ^ (b & c)
        h, g, f, e, d, c, b = g, f, e, np.uint32(d + moved), c, b, a
        a = np.uint32(moved + (_turn(b, 2) ^ _turn(b, 13) ^ _turn(b, 22)) + majority)
    for place, word in enumerate((a, b, c, d, e, f, g, h)):
        if place < len(words):
            words[place] = np.uint32(word + start[place])


@numba.njit(cache=True, nogil=True)
def _digest_rows(key, rows, words, rounds, start):  # type: ignore[no-untyped-def]
    block = np.zeros(64, dtype=np.uint32)
    padded = np.zeros(64, dtype=np.uint8)
    padded[: len(key)] = key
    total = len(key) + rows.shape[1]
    padded[total] = 128
    for row in range(rows.shape[0]):
        padded[len(key) : total] = rows[row]
        for place in range(15):
            at = 4 * place
            block[place] = (
                np.uint32(padded[at]) << np.uint32(24)
                | np.uint32(padded[at + 1]) << np.uint32(16)
                | np.uint32(padded[at + 2]) << np.uint32(8)
                | np.uint32(padded[at + 3])
            )
        block[15] = np.uint32(8 * total)
        _compress(block, words[row], rounds, start)


def digest_rows(key: bytes, rows: Any, wanted: int) -> Any:
    """Return the first `wanted` 32-bit words of SHA-256(key + row) for every row of a table of bytes."""
    words = np.empty((len(rows), wanted), dtype=np.uint32)
    _digest_rows(np.frombuffer(key, dtype=np.uint8), np.ascontiguousarray(rows), words, _ROUNDS, _START)
    return words
