"""Which report came under which id: each id counts once, whatever the order in which its copies come.

Ids are kept sorted on the disk, in the shards themselves, and found there by galloping search in mapped files. So the
memory of a collector does not grow with them. Of several numbers under one id the smallest counts. That rule knows no
order, so every split of the reports gives the same counts, on every engine. A device that sends a report again sends
the same one, so for honest devices it changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

ID_BYTES = 16
WORD = 8
RANGE = 1 << 18
"""About so many records of each file are merged at a time."""


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

    def records(self, width: int) -> Any:
        """Return what is kept as sorted records of so many bytes."""
        from sfumato.local.kernels.ids import write_records

        made = np.empty((int(self.kept.sum()), width), dtype=np.uint8)
        write_records(self.words, self.values, self.kept, made)
        return made


def fresh(ids: Any, values: Any, files: Sequence[Any]) -> Fresh:
    """Return what reports under these ids change, where `files` are sorted records that were there before."""
    from sfumato.local.kernels.ids import NONE, distinct, look_up

    ids = np.ascontiguousarray(ids)
    words = np.empty((len(ids), 2), dtype=np.uint64)
    smallest, first = (np.empty(len(ids), dtype=np.int64) for _ in range(2))
    count = distinct(ids, values, by_rows(ids), words, smallest, first)
    old = np.full(count, NONE, dtype=np.int64)
    for records in files:
        look_up(records, words[:count], old)
    return Fresh(words[:count], smallest[:count], old, first[:count])


def by_rows(rows: Any) -> Any:
    """Return the order of rows of bytes as text; equal ones stay in the order in which they stand.

    >>> by_rows(np.array([[2, 0], [1, 9], [2, 0], [1, 3]], dtype=np.uint8)).tolist()
    [3, 1, 0, 2]
    """
    if rows.shape[1] <= WORD:
        return np.argsort(_heads(rows), kind="stable")
    from sfumato.local.kernels.ids import order

    found, spare = (np.empty(len(rows), dtype=np.int32) for _ in range(2))
    heads, others = (np.empty(len(rows), dtype=np.uint32) for _ in range(2))
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
    from sfumato.local.kernels.ids import places

    filled = [records for records in files if len(records)]
    if not filled:
        return
    longest = max(filled, key=len)
    bounds = np.ascontiguousarray(longest[RANGE::RANGE, :ID_BYTES])
    ends = [[*places(records, bounds).tolist(), len(records)] for records in filled]
    starts = [0] * len(filled)
    for part in range(len(bounds) + 1):
        rows = np.concatenate(
            [records[start : end[part]] for records, start, end in zip(filled, starts, ends, strict=True)]
        )
        starts = [end[part] for end in ends]
        yield rows[by_rows(rows)]


def first_of_each(rows: Any) -> Any:
    """Return the sorted rows that are the first under their id."""
    if not len(rows):
        return rows
    ids = rows[:, :ID_BYTES]
    return rows[np.concatenate([[True], (ids[1:] != ids[:-1]).any(axis=1)])]
