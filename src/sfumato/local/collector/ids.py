"""Which report came under which id: each id counts once, whatever the order in which its copies come.

Ids are kept sorted on the disk, in the shards themselves, and found there in mapped files, a part at a time, whose
memory is given back. So the memory of a collector does not grow with them. Of several numbers under one id the smallest
counts. That rule knows no order, so every split of the reports gives the same counts, on every engine. A device that
sends a report again sends the same one, so for honest devices it changes nothing.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

ID_BYTES = 16
WORD = 8
RANGE = 1 << 17
"""About so many records, of all files together, are merged at a time."""
WINDOW = 1 << 22
"""So many bytes of a mapped file are in memory at a time, about."""
FENCE = 512
"""Of so many records that follow each other in a file the first id is kept in memory."""


@dataclass(frozen=True)
class Fresh:
    """What new reports change: sorted different ids with their smallest numbers, and which of them are kept.

    Ids are pairs of words. `old` is the number that counted before, or -1; `first` tells which of the reports was the
    first under its id.
    """

    words: Any
    values: Any
    old: Any
    first: Any

    @cached_property
    def new(self) -> Any:
        """Which ids are new."""
        return self.old < 0

    @cached_property
    def kept(self) -> Any:
        """Which change anything: new ids, and smaller numbers."""
        return self.new | (self.values < self.old)

    def count(self, counts: Any) -> None:
        """Bring counts of numbers up to date."""
        np.add.at(counts, self.values[self.kept], 1)
        np.subtract.at(counts, self.old[self.kept & ~self.new], 1)

    def records(self, width: int) -> Iterator[Any]:
        """Yield what is kept as sorted records of so many bytes, a part at a time, so that little memory is needed."""
        from sfumato.local.kernels.ids import write_records

        for start in range(0, len(self.words), RANGE):
            part = slice(start, start + RANGE)
            made = np.empty((int(self.kept[part].sum()), width), dtype=np.uint8)
            write_records(self.words[part], self.values[part], self.kept[part], made)
            yield made


@dataclass(frozen=True)
class Sorted:
    """Sorted records in a file; of every few the first id is in memory, so that a few ids are found by a few reads."""

    records: Any

    @cached_property
    def _fences(self) -> Any:
        return _heads(_every(self.records, FENCE, 0))

    def parts(self, words: Any) -> Iterator[tuple[slice, Any]]:
        """Return parts of sorted ids, each with sorted records among which all those under these ids are."""
        mapped = isinstance(self.records, np.memmap)
        near = self._near(words) if mapped and len(words) * FENCE < len(self.records) // 4 else None
        if near is not None:
            yield slice(0, len(words)), near
            return
        # Ids are random, so a part of the sorted ones lies in about the same part of the file.
        step = max(1, len(words) * WINDOW // max(self.records.nbytes, WINDOW))
        for start in range(0, len(words), step):
            yield slice(start, start + step), self.records
            let_go(self.records)

    def _near(self, words: Any) -> Any:
        """Return the records that lie between the same fences as the ids; None if too many begin alike."""
        heads = np.ascontiguousarray(words[:, 0])
        low = np.maximum(np.searchsorted(self._fences, heads, side="left") - 1, 0)
        high = np.maximum(np.searchsorted(self._fences, heads, side="right") - 1, 0)
        if (high - low).max(initial=0) > 1:
            return None
        plain = np.asarray(self.records)
        blocks = np.unique(np.concatenate([low, high])).tolist()
        near = np.concatenate([plain[:0], *(plain[block * FENCE : (block + 1) * FENCE] for block in blocks)])
        let_go(self.records)
        return near


def fresh(ids: Any, values: Any, files: Sequence[Sorted]) -> Fresh:
    """Return what reports under these ids change, where `files` were there before."""
    from sfumato.local.kernels.ids import NONE, distinct, look_up

    ids = np.ascontiguousarray(ids)
    words = np.empty((len(ids), 2), dtype=np.uint64)
    smallest, first = np.empty(len(ids), dtype=np.int64), np.empty(len(ids), dtype=np.int32)
    # What is not filled yet is room to put the rows in order.
    places = by_rows(ids, (first, *smallest.view(np.uint32).reshape(2, -1)))
    count = distinct(ids, values, places, words, smallest, first)
    del ids, places  # what follows goes by words
    old = np.full(count, NONE, dtype=np.int64)
    for file in files:
        for part, records in file.parts(words[:count]):
            look_up(records, words[:count][part], old[part])
    return Fresh(words[:count], smallest[:count], old, first[:count])


def let_go(*files: Any) -> None:
    """Give the memory of mapped files back; the system keeps in its cache what it likes, and reads the rest again."""
    for records in files:
        mapped = getattr(records, "_mmap", None)
        if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)


def by_rows(rows: Any, room: Sequence[Any] | None = None) -> Any:
    """Return the order of rows of bytes as text; equal ones stay in the order in which they stand.

    `room` are three tables to work in, as long as the rows, of whole numbers of 32 bits: one with a sign, two without.

    >>> by_rows(np.array([[2, 0], [1, 9], [2, 0], [1, 3]], dtype=np.uint8)).tolist()
    [3, 1, 0, 2]
    """
    if rows.shape[1] <= WORD:
        return np.argsort(_heads(rows), kind="stable")
    from sfumato.local.kernels.ids import order

    found = np.empty(len(rows), dtype=np.int32)
    spare, heads, others = room or (np.empty(len(rows), dtype=kind) for kind in (np.int32, np.uint32, np.uint32))
    return found if order(np.ascontiguousarray(rows), found, spare, heads, others) else by_whole_rows(rows)


def by_whole_rows(rows: Any) -> Any:
    """Return the same order by a slower way, which takes no longer when many rows begin alike."""
    keys = _heads(rows)
    order = np.argsort(keys)
    ordered = keys[order]
    same = ordered[1:] == ordered[:-1]
    if same.any():
        # Only rows with equal heads have to be looked at as a whole.
        tied = np.flatnonzero(np.concatenate([[False], same]) | np.concatenate([same, [False]]))
        standing = np.sort(order[tied])
        whole = np.ascontiguousarray(rows[standing]).view(f"S{rows.shape[1]}").ravel()
        order[tied] = standing[np.argsort(whole, kind="stable")]
    return order


def _heads(rows: Any) -> Any:
    head = np.zeros((len(rows), WORD), dtype=np.uint8)
    head[:, : rows.shape[1]] = rows[:, :WORD]
    return head.view(">u8").ravel().astype(np.uint64)


def merged(files: Sequence[Any]) -> Iterator[Any]:
    """Return all records of sorted files in their order, a range of ids at a time, so that little memory is needed."""
    filled = [records for records in files if len(records)]
    if not filled:
        return
    longest = max(filled, key=len)
    step = max(1, RANGE // len(filled))
    bounds = _every(longest, step, step)
    ends = [[*_places(records, bounds), len(records)] for records in filled]
    starts = [0] * len(filled)
    for part in range(len(bounds) + 1):
        rows = np.concatenate(
            [records[start : end[part]] for records, start, end in zip(filled, starts, ends, strict=True)]
        )
        starts = [end[part] for end in ends]
        let_go(*filled)
        yield rows[by_rows(rows)]


def _every(records: Any, step: int, first: int) -> Any:
    """Return the ids of the first record and of each that is `step` after the last one."""
    wide = max(1, WINDOW // (step * records.shape[1]))
    found = [np.zeros((0, ID_BYTES), dtype=np.uint8)]
    for start in range(first, len(records), wide * step):
        found.append(np.array(records[start : start + wide * step : step, :ID_BYTES]))
        let_go(records)
    return np.concatenate(found)


def _places(records: Any, ids: Any) -> list[int]:
    """Return where each of some sorted ids begins, or would begin."""
    from sfumato.local.kernels.ids import places

    found: list[int] = []
    step = max(1, len(ids) * WINDOW // max(records.nbytes, WINDOW))
    for start in range(0, len(ids), step):
        before = found[-1] if found else 0
        found += (before + places(records[before:], ids[start : start + step])).tolist()
        let_go(records)
    return found


def in_parts(files: Sequence[Any]) -> Iterator[Any]:
    """Return the records of files as they stand, a few at a time."""
    for records in files:
        for start in range(0, len(records), RANGE):
            yield records[start : start + RANGE]
            let_go(records)


def first_of_each(rows: Any) -> Any:
    """Return the sorted rows that are the first under their id."""
    if not len(rows):
        return rows
    ids = rows[:, :ID_BYTES]
    return rows[np.concatenate([[True], (ids[1:] != ids[:-1]).any(axis=1)])]
