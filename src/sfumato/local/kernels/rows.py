"""Tables of bytes: whitening, prefixes, reports."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def _whiten(rows, tables, offset, out):  # type: ignore[no-untyped-def]
    width = rows.shape[1]
    for row in range(rows.shape[0]):
        for at in range(width):
            out[row, at] = offset[at]
        for place in range(width):
            image = tables[place, rows[row, place]]
            for at in range(width):
                out[row, at] ^= image[at]


def whiten_rows(rows: Any, tables: Any, offset: Any) -> Any:
    """Return the images of rows under an affine map that is given by one table for each byte."""
    out = np.empty_like(rows)
    _whiten(np.ascontiguousarray(rows), tables, offset, out)
    return out


@numba.njit(cache=True, inline="always")
def _number(rows, row, header, cells):  # type: ignore[no-untyped-def]
    """Return the number in a report, or -1, -2 or -3 for one of a wrong version, plan or value."""
    if rows[row, 0] != header[0]:
        return np.int64(-1)
    for at in range(1, len(header)):
        if rows[row, at] != header[at]:
            return np.int64(-2)
    value = np.uint64(0)
    for at in range(len(header), rows.shape[1]):
        value = (value << np.uint64(8)) | np.uint64(rows[row, at])
    return np.int64(value) if value < cells else np.int64(-3)


@numba.njit(cache=True, nogil=True)
def _tally(rows, header, cells, counts, refused):  # type: ignore[no-untyped-def]
    for row in range(rows.shape[0]):
        value = _number(rows, row, header, cells)
        if value < 0:
            refused[-1 - value] += 1
        else:
            counts[value] += 1
    return rows.shape[0] - refused.sum()


@numba.njit(cache=True, nogil=True)
def _read(rows, header, cells, values, refused):  # type: ignore[no-untyped-def]
    for row in range(rows.shape[0]):
        values[row] = value = _number(rows, row, header, cells)
        if value < 0:
            refused[-1 - value] += 1


@numba.njit(cache=True, nogil=True)
def _tally_words(words, version, plan, value_bits, cells, counts, refused):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Do the same for reports of eight bytes, each read as one number."""
    accepted = 0
    mask = np.uint64((1 << value_bits) - 1)
    for row in range(len(words)):
        word = words[row]
        # The bytes came in the order of the wire; a processor reads them in its own.
        word = ((word & np.uint64(0x00FF00FF00FF00FF)) << np.uint64(8)) | (
            (word >> np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
        )
        word = ((word & np.uint64(0x0000FFFF0000FFFF)) << np.uint64(16)) | (
            (word >> np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
        )
        word = (word << np.uint64(32)) | (word >> np.uint64(32))
        value = word & mask
        if word >> np.uint64(56) != version:
            refused[0] += 1
        elif word >> np.uint64(value_bits) != plan:
            refused[1] += 1
        elif value >= cells:
            refused[2] += 1
        else:
            counts[value] += 1
            accepted += 1
    return accepted


def tally_rows(rows: Any, header: bytes, counts: Any) -> tuple[int, tuple[int, int, int]]:
    """Count reports of the right length; return how many were, and how many had a wrong version, plan or value."""
    refused = np.zeros(3, dtype=np.int64)
    cells = np.uint64(len(counts))
    if rows.shape[1] == 8:
        words = rows.view("<u8").ravel()
        plan = np.uint64(int.from_bytes(header, "big"))
        bits = 64 - 8 * len(header)
        accepted = _tally_words(words, np.uint64(header[0]), plan, bits, cells, counts, refused)
    else:
        accepted = _tally(rows, np.frombuffer(header, dtype=np.uint8), cells, counts, refused)
    return int(accepted), (int(refused[0]), int(refused[1]), int(refused[2]))


def read_rows(rows: Any, header: bytes, outcomes: int) -> tuple[Any, tuple[int, int, int]]:
    """Return the numbers of reports of the right length, negative ones where they are none, and how many are wrong."""
    values, refused = np.empty(len(rows), dtype=np.int64), np.zeros(3, dtype=np.int64)
    _read(rows, np.frombuffer(header, dtype=np.uint8), np.uint64(outcomes), values, refused)
    return values, (int(refused[0]), int(refused[1]), int(refused[2]))
