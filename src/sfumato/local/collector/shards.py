"""Shards: what a collector has accepted, in files that are whole or not there.

A shard is a magic line, the length of its head in four bytes, the head as JSON, records of id and value sorted by id,
and the SHA-256 of all before. Shards are never changed. When many have gathered, one that holds all their records
takes their place: it names them in its head, so from the moment it is there they are void, whether or not the
process lives to delete them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.durable import PART, UNREADABLE, sync_directory, why, write_durably
from sfumato.errors import SketchError
from sfumato.local.collector.ids import ID_BYTES, WINDOW, by_rows, let_go, merged
from sfumato.local.collector.intake import Intake

MAGIC = b"sfumato shard 1\n"
ENDING = ".shard"
_CHECKSUM_BYTES = 32
MAPPED = 1 << 20
"""Shards of more bytes than this are mapped, and the system keeps of them in memory what it likes."""


@dataclass(frozen=True)
class Layout:
    """How the records of a collection look: the digest of its plan, and how long ids and values are."""

    digest: str
    value_bytes: int
    ids: bool

    @property
    def id_bytes(self) -> int:
        """The length of an id, 0 where there are none."""
        return ID_BYTES if self.ids else 0

    @property
    def width(self) -> int:
        """The length of a record."""
        return self.id_bytes + self.value_bytes

    def records(self, values: Any) -> Any:
        """Return records without ids, sorted: nothing of the order in which they came is kept."""
        wide = np.asarray(values).astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - self.value_bytes :]
        rows = np.ascontiguousarray(wide)
        return rows[by_rows(rows)]

    def values_of(self, records: Any) -> Any:
        """Return the values of records."""
        values = np.zeros(len(records), dtype=np.int64)
        for place in range(self.id_bytes, self.width):
            values = values << 8 | records[:, place]
        return values


@dataclass(frozen=True)
class Shard:
    """A part of a collection: its records, what came with them, the batches in it, the shards that it replaces."""

    records: Any
    intake: Intake
    batches: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    tier: int = 0


def write_shard(path: Path, layout: Layout, shard: Shard) -> None:
    """Write a shard durably."""
    write_parts(path, layout, shard, len(shard.records), [shard.records])


def write_parts(path: Path, layout: Layout, shard: Shard, count: int, parts: Iterable[Any]) -> None:
    """Write a shard durably whose records come in parts, and are so many together."""
    head = {
        "plan": layout.digest,
        "records": count,
        "width": layout.width,
        "ids": layout.ids,
        "intake": shard.intake.to_json(),
        "batches": shard.batches,
        "replaces": shard.replaces,
        "tier": shard.tier,
    }
    text = json.dumps(head, sort_keys=True, separators=(",", ":")).encode()
    checksum = hashlib.sha256()

    def pieces() -> Iterator[Any]:
        for piece in (MAGIC, len(text).to_bytes(4, "big"), text):
            checksum.update(piece)
            yield piece
        for part in parts:
            table = np.ascontiguousarray(part).data  # seen, and not copied
            checksum.update(table)
            yield table
        yield checksum.digest()

    write_durably(path, pieces())


def read_shard(path: Path, layout: Layout, *, written: bool = False) -> Shard:
    """Read a shard; one that is damaged or of another collection is refused by name. Long ones are mapped, not read.

    One that was `written` just now by this process is not summed up again: that would read the same memory.
    """
    data = _bytes_of(path)
    if bytes(data[: len(MAGIC)]) != MAGIC or not (written or _is_whole(data)):
        raise SketchError(
            f"The shard {path.name} is damaged: its checksum is wrong. Take another copy of it, or move it away to "
            "read the collection without its reports."
        )
    try:
        return _read_head(data, path.name, layout)
    except SketchError:
        raise
    except UNREADABLE as reason:
        raise SketchError(
            f"The shard {path.name} cannot be read; take another copy of it, or move it away to read the collection "
            f"without its reports. The reason: {why(reason)}"
        ) from None


def _bytes_of(path: Path) -> Any:
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size <= MAPPED:
            return np.frombuffer(file.read(), dtype=np.uint8)
        return np.memmap(file, dtype=np.uint8, mode="r")


def _is_whole(data: Any) -> bool:
    checksum, end = hashlib.sha256(), len(data) - _CHECKSUM_BYTES
    for start in range(0, max(end, 0), MAPPED):
        checksum.update(data[start : min(start + MAPPED, end)])
        if start % WINDOW == 0:
            let_go(data)
    found = bytes(data[max(end, 0) :])
    let_go(data)
    return checksum.digest() == found


def _read_head(data: Any, name: str, layout: Layout) -> Shard:
    start = len(MAGIC) + 4
    end = start + int.from_bytes(bytes(data[len(MAGIC) : start]), "big")
    head = json.loads(bytes(data[start:end]))
    if (head["plan"], head["width"], head["ids"]) != (layout.digest, layout.width, layout.ids):
        raise SketchError(f"The shard {name} belongs to another collection; move it to where it came from.")
    records = data[end : end + head["records"] * layout.width]
    return Shard(
        records.reshape(head["records"], layout.width),
        Intake.from_json(head["intake"]),
        tuple(head["batches"]),
        tuple(head["replaces"]),
        head["tier"],
    )


def replace_shards(path: Path, layout: Layout, old: Sequence[Path]) -> Shard:
    """Write one shard that holds the records of all these, and delete them; return it."""
    parts = [read_shard(one, layout) for one in old]
    files = [part.records for part in parts]
    empty = np.zeros((0, layout.width), dtype=np.uint8)
    joined = Shard(
        empty,
        sum((part.intake for part in parts), Intake()),
        tuple(batch for part in parts for batch in part.batches),
        tuple(one.name for one in old),
        max(part.tier for part in parts) + 1,
    )
    if layout.ids:
        write_parts(path, layout, joined, sum(map(len, files)), merged(files))
    else:
        everything = np.concatenate([empty, *files])
        write_shard(path, layout, replace(joined, records=everything[by_rows(everything)]))
    delete([*old])
    return read_shard(path, layout, written=True)


def delete(paths: Sequence[Path]) -> None:
    """Delete files that mean nothing any more."""
    for path in paths:
        path.unlink(missing_ok=True)
    if paths:
        sync_directory(paths[0].parent)


def shard_paths(directory: Path) -> list[Path]:
    """Return the files of all shards, void ones among them, in the order of their numbers."""
    return sorted(path for path in directory.iterdir() if path.name.endswith(ENDING))


def unfinished(directory: Path) -> list[Path]:
    """Return what a crash left half written."""
    return [path for path in directory.iterdir() if path.name.endswith(ENDING + PART)]


def shard_name(number: int) -> str:
    """Return the name of the shard of a number."""
    return f"{number:012d}{ENDING}"
