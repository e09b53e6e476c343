"""Ids in sorted records: putting rows in order, the smallest value under each id, merging sorted files.

Ids are compared as pairs of words of 64 bits, the highest byte first, which is the order of their bytes.
"""

from __future__ import annotations

import numba
import numpy as np

NONE = -1
"""In place of a value where an id is not there."""
DIGIT = 10
"""Bits of a digit when rows are put in order; three digits tell random ids apart, all but a few."""
FAR = 16
"""Ids that lie further on than so many records are guessed at."""
SHORT = 16
"""Rows that begin alike are put in order one by one if they are no more than this."""


@numba.njit(cache=True, inline="always")
def _word(rows, row, start):  # type: ignore[no-untyped-def]
    """Return eight bytes of a row as a number; the compiler makes one load of it."""
    word = np.uint64(0)
    for place in range(8):
        word = word << np.uint64(8) | np.uint64(rows[row, start + place])
    return word


@numba.njit(cache=True, inline="always")
def _value(rows, row, start):  # type: ignore[no-untyped-def]
    value = np.int64(0)
    for place in range(start, rows.shape[1]):
        value = value << 8 | np.int64(rows[row, place])
    return value


@numba.njit(cache=True, inline="always")
def _before(rows, row, other):  # type: ignore[no-untyped-def]
    """Return whether a row of bytes comes before another one."""
    for place in range(rows.shape[1]):
        if rows[row, place] != rows[other, place]:
            return rows[row, place] < rows[other, place]
    return False


@numba.njit(cache=True, nogil=True)
def order(rows, places, spare, heads, others):  # type: ignore[no-untyped-def]
    """Fill `places` with the order of rows of bytes, equal ones as they stand; return whether it could be done.

    By their first three digits, then one by one where these are equal. Somebody who chooses ids may make many that
    begin alike: then it gives up, and the caller compares whole rows. `spare`, `heads` and `others` are room to work.
    """
    size, wide = len(rows), 1 << DIGIT
    counts = np.zeros((3, wide), dtype=np.int64)
    for row in range(size):
        head = np.uint32(_word(rows, row, 0) >> np.uint64(64 - 3 * DIGIT))
        heads[row] = head
        places[row] = row
        for digit in range(3):
            counts[digit, (head >> np.uint32(DIGIT * digit)) & np.uint32(wide - 1)] += 1
    for digit in range(3):
        at = 0
        for place in range(wide):
            count = counts[digit, place]
            counts[digit, place] = at
            at += count
        for row in range(size):
            place = (heads[row] >> np.uint32(DIGIT * digit)) & np.uint32(wide - 1)
            to = counts[digit, place]
            counts[digit, place] = to + 1
            others[to] = heads[row]
            spare[to] = places[row]
        heads, others = others, heads
        places, spare = spare, places
    # After three digits the last ones were written to what the caller calls spare.
    return _order_ties(rows, heads, places, spare)


@numba.njit(cache=True, nogil=True)
def _order_ties(rows, heads, found, places):  # type: ignore[no-untyped-def]
    """Copy an order, with rows whose heads are equal compared one by one."""
    start = 0
    while start < len(rows):
        end = start + 1
        while end < len(rows) and heads[end] == heads[start]:
            end += 1
        if end - start > SHORT:
            return False
        for at in range(start, end):
            one, to = found[at], at
            while to > start and _before(rows, one, places[to - 1]):
                places[to] = places[to - 1]
                to -= 1
            places[to] = one
        start = end
    return True


@numba.njit(cache=True, nogil=True)
def distinct(ids, values, places, words, smallest, first):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Write the different ids as words, the smallest value under each, and which row was its first; return how many."""
    count = 0
    for place in places:
        high, low = _word(ids, place, 0), _word(ids, place, 8)
        if count and words[count - 1, 0] == high and words[count - 1, 1] == low:
            smallest[count - 1] = min(smallest[count - 1], values[place])
            continue
        words[count, 0], words[count, 1] = high, low
        smallest[count], first[count] = values[place], place
        count += 1
    return count


@numba.njit(cache=True, nogil=True)
def write_records(words, values, kept, records):  # type: ignore[no-untyped-def]
    """Write ids and values as records of bytes, those that are kept; return how many."""
    count, width = 0, records.shape[1]
    for row in range(len(words)):
        if not kept[row]:
            continue
        for half in range(2):
            word = words[row, half]
            for place in range(8):
                records[count, 8 * half + place] = (word >> np.uint64(56 - 8 * place)) & np.uint64(255)
        value = values[row]
        for place in range(16, width):
            records[count, place] = (value >> (8 * (width - 1 - place))) & 255
        count += 1
    return count


@numba.njit(cache=True, inline="always")
def _is_before(records, at, high, low):  # type: ignore[no-untyped-def]
    word = _word(records, at, 0)
    return word < high or (word == high and _word(records, at, 8) < low)


@numba.njit(cache=True, inline="always")
def _first(records, start, high, low):  # type: ignore[no-untyped-def]
    """Return the first place from `start` on whose id is not before this one, by growing steps."""
    size = len(records)
    bottom, top, step = start, start, 1
    while top < size and _is_before(records, top, high, low):
        bottom = top + 1
        top += step
        step *= 2
    top = min(top, size)
    while bottom < top:
        middle = (bottom + top) // 2
        if _is_before(records, middle, high, low):
            bottom = middle + 1
        else:
            top = middle
    return bottom


@numba.njit(cache=True, nogil=True)
def look_up(records, words, found):  # type: ignore[no-untyped-def]
    """Lower `found` to the smallest value that the records hold under each id; both are sorted.

    Honest ids are random, so the next one lies about as far on as its distance from the last one says: most of the way
    is skipped if that is right, and it costs one look if not.
    """
    size, at, last = len(records), 0, np.uint64(0)
    density = size / 2.0**64
    for row in range(len(words)):
        high, low = words[row, 0], words[row, 1]
        away = int((high - last) * density)
        last = high
        if away > FAR:
            skipped = at + away - 3 * int(np.sqrt(away))
            if skipped < size and _is_before(records, skipped, high, low):
                at = skipped + 1
        at = _first(records, at, high, low)
        if at == size:
            return
        if _word(records, at, 0) == high and _word(records, at, 8) == low:
            value = _value(records, at, 16)
            if found[row] == NONE or value < found[row]:
                found[row] = value


@numba.njit(cache=True, nogil=True)
def places(records, ids):  # type: ignore[no-untyped-def]
    """Return where each of some sorted ids begins, or would begin, in sorted records."""
    out = np.zeros(len(ids), dtype=np.int64)
    at = 0
    for row in range(len(ids)):
        at = _first(records, at, _word(ids, row, 0), _word(ids, row, 8))
        out[row] = at
    return out
