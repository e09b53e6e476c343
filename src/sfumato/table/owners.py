"""Whose rows they are, told apart once in memory: to count the people, and to weigh their rows later.

Telling people apart is most of what weighing costs. An engine that reads the same rows twice usually hands them over
in the same order; it promises that to nobody, so the ids are compared, which is cheap, and looked up again only where
they differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.table.repair import PERSON

SPREAD = 2
"""Numbers that lie so many times their rows apart at most are looked up in a list of all numbers between them."""


@dataclass(frozen=True, eq=False)
class Owners:
    """The ids of all people, each once, and the place among them of every row's person; both are Arrow arrays."""

    people: Any
    places: Any

    @cached_property
    def counts(self) -> Any:
        """How many rows each person has."""
        found = np.zeros(len(self.people), np.int64)
        np.add.at(found, self.places.to_numpy(), 1)  # as `bincount`, which copies the places to wider integers first
        return found

    def counted(self) -> Any:
        """Return how many rows each person has as an Arrow table: the twin of `bounding.rows_by_person`."""
        import pyarrow as pa

        return pa.table({PERSON: self.people, "sfumato_rows": self.counts})

    def own(self, ids: Any) -> bool:
        """Tell whether these are the ids of the same rows in the same order."""
        if len(ids) != len(self.places):
            return False
        start = 0
        # One part after the other: all ids a second time would be the largest thing in memory.
        for part in ids.chunks:
            if not self.people.take(self.places.slice(start, len(part))).equals(part):
                return False
            start += len(part)
        return True


def owners_of(ids: Any) -> Owners | None:
    """Return the owners of rows with these ids, an Arrow column; None where the ids are too long for one array."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if (first := _first_of_serial(ids)) is not None:
        return _owners_of_serial(ids, first)
    try:
        # Not in one piece: all rows' texts together may be too long where those of all people are not.
        encoded = pc.dictionary_encode(ids).chunks
    except pa.ArrowCapacityError:
        return None
    people = encoded[-1].dictionary if encoded else pa.array([], ids.type)
    return Owners(people, pa.chunked_array([part.indices for part in encoded], pa.int32()).combine_chunks())


def _first_of_serial(ids: Any) -> int | None:
    """Return the smallest id where ids are whole numbers that lie closely together, None elsewhere."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if ids.type not in (pa.int32(), pa.int64()) or not len(ids):
        return None
    ends = pc.min_max(ids).as_py()
    return int(ends["min"]) if ends["max"] - ends["min"] <= SPREAD * len(ids) else None


def _owners_of_serial(ids: Any, first: int) -> Owners:
    """Find people by their number itself, thrice as fast as by a table of ids."""
    import pyarrow as pa

    parts = [part.to_numpy() for part in ids.chunks]
    there = np.zeros(max(int(part.max()) for part in parts if len(part)) - first + 1, np.bool_)
    for part in parts:
        there[part.astype(np.int64) - first] = True
    places = np.cumsum(there, dtype=np.int32) - np.int32(1)
    people = pa.array(np.flatnonzero(there) + first, ids.type)
    return Owners(people, pa.array(np.concatenate([places[part.astype(np.int64) - first] for part in parts])))
