"""Which report came under which id: each id counts once, whatever the order in which its copies come.

Ids are kept sorted on the disk, in the shards themselves, and found there by galloping search in mapped files. So the
memory of a collector does not grow with them. Of several numbers under one id the smallest counts. That rule knows no
order, so every split of the reports gives the same counts, on every engine. A device that sends a report again sends
the same one, so for honest devices it changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

ID_BYTES = 16
RANGE = 1 << 18
"""About so many records of each file are merged at a time."""


@dataclass(frozen=True)
class Fresh:
    """What new reports change: sorted different ids with their smallest numbers, and which of them are kept.

    `old` is the number that counted before, or -1; `first` tells which of the reports was the first under its id.
    """

    ids: Any
    values: Any
    old: Any
    first: Any

    @property
    def new(self) -> Any:
        """Which ids are new."""
        return self.old < 0

    @property
    def kept(self) -> Any:
        """Which change anything: new ids, and smaller numbers."""
        return self.new | (self.values < self.old)

    def count(self, counts: Any) -> None:
        """Bring counts of numbers up to date."""
        np.add.at(counts, self.values[self.kept], 1)
        np.subtract.at(counts, self.old[self.kept & ~self.new], 1)


def fresh(ids: Any, values: Any, files: Sequence[Any]) -> Fresh:
    """Return what reports under these ids change, where `files` are sorted records that were there before."""
    from sfumato.local.kernels.ids import look_up

    order = by_rows(ids)
    ids, values = ids[order], values[order]
    starts = np.flatnonzero(np.concatenate([[True], (ids[1:] != ids[:-1]).any(axis=1)])) if len(ids) else order
    unique = np.ascontiguousarray(ids[starts])
    smallest = np.minimum.reduceat(values, starts) if len(ids) else values
    old = np.full(len(unique), -1, dtype=np.int64)
    for records in files:
        look_up(records, unique, old)
    return Fresh(unique, smallest, old, order[starts] if len(ids) else order)


def by_rows(rows: Any) -> Any:
    """Return the order of rows of bytes as text; equal ones stay in the order in which they stand.

    >>> by_rows(np.array([[2, 0], [1, 9], [2, 0], [1, 3]], dtype=np.uint8)).tolist()
    [3, 1, 0, 2]
    """
    head = np.zeros((len(rows), 8), dtype=np.uint8)
    head[:, : rows.shape[1]] = rows[:, :8]
    keys = head.view(">u8").ravel().astype(np.uint64)
    if rows.shape[1] <= 8:
        return np.argsort(keys, kind="stable")
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
