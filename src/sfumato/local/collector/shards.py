"""Shards: what a collector has accepted, in files that are whole or not there.

A shard is a magic line, the length of its head in four bytes, the head as JSON, records of id and value sorted by id,
and the SHA-256 of all before. Shards are never changed. When many have gathered, one that holds all their records
takes their place: it names them in its head, so from the moment it is there they are void, whether or not the
process lives to delete them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import SketchError
from sfumato.local.collector.ids import ID_BYTES
from sfumato.local.collector.intake import Intake
from sfumato.local.durable import PART, UNREADABLE, sync_directory, why, write_durably

MAGIC = b"sfumato shard 1\n"
ENDING = ".shard"
_CHECKSUM_BYTES = 32


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

    def records(self, ids: Any, values: Any) -> Any:
        """Return records, sorted: nothing of the order in which they came is kept."""
        wide = np.asarray(values).astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - self.value_bytes :]
        rows = np.concatenate([ids, wide], axis=1) if self.ids else wide
        return sorted_rows(np.ascontiguousarray(rows))

    def ids_of(self, records: Any) -> Any:
        """Return the ids of records."""
        return records[:, : self.id_bytes]

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


def sorted_rows(rows: Any) -> Any:
    """Return rows of bytes in their order as text."""
    keys = rows.view(f"S{rows.shape[1]}").ravel()
    return rows[np.argsort(keys, kind="stable")]


def write_shard(path: Path, layout: Layout, shard: Shard) -> None:
    """Write a shard durably."""
    head = {
        "plan": layout.digest,
        "records": len(shard.records),
        "width": layout.width,
        "ids": layout.ids,
        "intake": shard.intake.to_json(),
        "batches": shard.batches,
        "replaces": shard.replaces,
        "tier": shard.tier,
    }
    text = json.dumps(head, sort_keys=True, separators=(",", ":")).encode()
    body = [MAGIC, len(text).to_bytes(4, "big"), text, shard.records.tobytes()]
    checksum = hashlib.sha256()
    for piece in body:
        checksum.update(piece)
    write_durably(path, [*body, checksum.digest()])


def read_shard(path: Path, layout: Layout) -> Shard:
    """Read a shard; one that is damaged or of another collection is refused by name."""
    data = path.read_bytes()
    if not data.startswith(MAGIC) or hashlib.sha256(data[:-_CHECKSUM_BYTES]).digest() != data[-_CHECKSUM_BYTES:]:
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


def _read_head(data: bytes, name: str, layout: Layout) -> Shard:
    start = len(MAGIC) + 4
    end = start + int.from_bytes(data[len(MAGIC) : start], "big")
    head = json.loads(data[start:end])
    if (head["plan"], head["width"], head["ids"]) != (layout.digest, layout.width, layout.ids):
        raise SketchError(f"The shard {name} belongs to another collection; move it to where it came from.")
    records = np.frombuffer(data, dtype=np.uint8, offset=end, count=head["records"] * layout.width)
    return Shard(
        records.reshape(-1, layout.width),
        Intake.from_json(head["intake"]),
        tuple(head["batches"]),
        tuple(head["replaces"]),
        head["tier"],
    )


def replace_shards(path: Path, layout: Layout, old: Sequence[Path]) -> Shard:
    """Write one shard that holds the records of all these, and delete them; return it."""
    parts = [read_shard(one, layout) for one in old]
    merged = Shard(
        sorted_rows(np.concatenate([part.records for part in parts])),
        sum((part.intake for part in parts), Intake()),
        tuple(batch for part in parts for batch in part.batches),
        tuple(one.name for one in old),
        max(part.tier for part in parts) + 1,
    )
    write_shard(path, layout, merged)
    delete([*old])
    return merged


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
