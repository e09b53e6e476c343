"""The collector: takes reports as they come, and has them on the disk before it says so."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np

from sfumato.errors import ParameterError, SketchError
from sfumato.local.collector.collection import (
    Collection,
    State,
    is_collection,
    live_shards,
    most_records,
    open_collection,
)
from sfumato.local.collector.envelope import Parcel, open_envelopes
from sfumato.local.collector.intake import Intake
from sfumato.local.collector.shards import (
    Layout,
    Shard,
    delete,
    replace_shards,
    shard_name,
    shard_paths,
    unfinished,
    write_shard,
)
from sfumato.local.durable import lock, make_directory
from sfumato.local.plan import Plan
from sfumato.local.server import Server
from sfumato.local.wire import Refused

MANY = 64
"""So many shards of one tier become one of the next."""
LOCK = "collection.lock"


@dataclass(frozen=True)
class Batch:
    """Reports that came together; a batch with a name is counted once, however often it comes."""

    parcel: Parcel
    name: str | None = None


class Collector:
    """Collects reports into a directory; what was accepted survives a crash, and counts once.

    The directory is made if it does not exist, and continued if it does. One process writes into it at a time.
    `ids=False` makes a collection of reports without ids, which cannot tell a report that was sent twice.

    >>> from sfumato import Pure, local
    >>> plan = local.plan(users=1000, spend=Pure(1), candidates=["red", "green", "blue"])
    >>> line = local.envelope(plan.client().report("red"))
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place, local.Collector(place, plan) as collector:
    ...     print(collector.add(line + line + b"hello"))
    1 report accepted, 1 duplicate dropped, 1 refused (envelope 1).
    """

    def __init__(self, place: str | Path, plan: Plan | None = None, *, ids: bool = True) -> None:
        self.collection = _described(Path(place), plan, ids)
        self._lock = RLock()
        self._held: BinaryIO | None = _hold(self.collection.directory)
        try:
            self._load()
        except BaseException:
            self.close()
            raise

    @property
    def plan(self) -> Plan:
        """The plan of the collection."""
        return self.collection.plan

    @property
    def is_open(self) -> bool:
        """Whether it takes reports."""
        return self._held is not None

    @property
    def intake(self) -> Intake:
        """What became of all reports so far."""
        with self._lock:
            return self._state.intake

    def server(self) -> Server:
        """Return the sketch of all accepted reports, as it is now."""
        with self._lock:
            copy = Server(self.plan)
            copy.merge(self._state.server)
            return copy

    def add(self, data: bytes, format: str = "json", *, batch: str | None = None) -> Intake:
        """Add reports in their envelopes, and return when they are safe on the disk.

        `format` is "json", "binary" or "reports". A `batch` that was added before under this name is not counted
        again. No bytes in `data` can raise or harm: what is no report of this plan is counted and refused.
        """
        return self.add_batches([self.batch(data, format, batch)])[0]

    def batch(self, data: bytes, format: str = "json", name: str | None = None) -> Batch:
        """Open envelopes without counting them yet; any thread may do this."""
        if name is not None and not isinstance(name, str):
            raise ParameterError(f"The name of a batch is text, not {type(name).__name__}; write batch='monday'.")
        return Batch(open_envelopes(data, format, self.plan.report_bytes), name)

    def add_batches(self, batches: Sequence[Batch]) -> list[Intake]:
        """Add several batches by one write, and return what became of each."""
        with self._lock:
            self._require_open()
            before = self._number
            records: list[Any] = []
            names: list[str] = []
            said: list[Intake] = []
            try:
                for batch in batches:
                    said.append(self._count(batch, records, names))
                self._write(records, names, sum(said, Intake()))
                self._merge_shards()
            except BaseException:
                # Memory is ahead of the disk, or behind it: the disk is what counts.
                self._reload(before)
                raise
            return said

    def add_file(self, path: str | Path, format: str | None = None) -> Intake:
        """Add a file of reports: .jsonl, .parquet, or as `format` says; a file counts once, also after a crash."""
        from sfumato.local.collector.files import file_batches

        said = Intake()
        for batch in file_batches(path, format, self.collection):
            said += self.add_batches([batch])[0]
        return said

    def close(self) -> None:
        """Let another process write."""
        with self._lock:
            held, self._held = self._held, None
            if held is not None:
                held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _require_open(self) -> None:
        if self._held is None:
            raise SketchError("This collector is closed; open the collection again with Collector(place).")

    def _load(self) -> None:
        directory = self.collection.directory
        delete(unfinished(directory))
        state = State(self.plan, self.collection.ids, most_records(self.collection))
        tiers: dict[Path, int] = {}
        for path, shard in live_shards(self.collection):
            state.add(self._layout, shard)
            tiers[path] = shard.tier
        delete([path for path in shard_paths(directory) if path not in tiers])
        self._state, self._tiers = state, tiers
        self._number = 1 + max((int(path.stem) for path in tiers), default=0)

    def _reload(self, number: int) -> None:
        try:
            self._load()
            self._number = max(self._number, number)
        except BaseException:
            self.close()
            raise

    @property
    def _layout(self) -> Layout:
        return self.collection.layout

    def _count(self, batch: Batch, records: list[Any], names: list[str]) -> Intake:
        """Count one batch in memory, and set aside what must be written."""
        name = None if batch.name is None else _key(batch.name)
        if name is not None and (name in self._state.batches or name in names):
            return Intake(repeated=1)
        parcel, layout = batch.parcel, self._layout
        if layout.ids and parcel.ids is None:
            # Without its id a report could be counted twice.
            return Intake(envelope=parcel.envelope + parcel.length + len(parcel.reports))
        values, good, wrong = self.plan.wire.read_many(parcel.reports)
        ids: Any = parcel.ids[good] if layout.ids else None
        changed = self._state.apply(ids, values[good])
        kept = changed > 0
        records.append(layout.records(ids[kept] if layout.ids else None, values[good][kept]))
        if name is not None:
            names.append(name)
        accepted = int((changed == 1).sum())
        refused = wrong + Refused(length=parcel.length)
        return Intake(accepted, len(changed) - accepted, parcel.envelope, refused=refused)

    def _write(self, records: list[Any], names: list[str], intake: Intake) -> None:
        # That a batch came again is told to its sender, and is no fact about the collection.
        intake = replace(intake, repeated=0)
        if intake == Intake() and not names:
            return
        empty = np.zeros((0, self._layout.width), dtype=np.uint8)
        shard = Shard(np.concatenate([empty, *records]), intake, tuple(names))
        path = self._next_path()
        write_shard(path, self._layout, shard)
        self._tiers[path] = 0
        self._state.note(intake, names)

    def _merge_shards(self) -> None:
        for tier in sorted(set(self._tiers.values())):
            same = [path for path, other in self._tiers.items() if other == tier]
            if len(same) >= MANY:
                path = self._next_path()
                merged = replace_shards(path, self._layout, same)
                for old in same:
                    del self._tiers[old]
                self._tiers[path] = merged.tier

    def _next_path(self) -> Path:
        path = self.collection.directory / shard_name(self._number)
        self._number += 1
        return path


def _described(directory: Path, plan: Plan | None, ids: bool) -> Collection:
    """Return the collection of a directory, a new one if there is none."""
    if is_collection(directory):
        collection = open_collection(directory)
        if plan is not None and plan.digest != collection.plan.digest:
            raise SketchError(f"{str(directory)!r} collects for another plan; give this plan a directory of its own.")
        if collection.ids != ids:
            kind = "with" if collection.ids else "without"
            raise ParameterError(f"{str(directory)!r} is a collection {kind} ids; write ids={collection.ids}.")
        return collection
    if plan is None:
        raise ParameterError(f"{str(directory)!r} is no collection yet; give the plan to make one.")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise ParameterError(f"{str(directory)!r} holds other things; name a directory that is empty or new.")
    make_directory(directory)
    collection = Collection(directory, plan, ids)
    collection.write()
    return collection


def _hold(directory: Path) -> BinaryIO:
    """Take the lock of a collection."""
    held = lock(directory / LOCK, wait=False)
    if held is None:
        raise SketchError(
            f"Another process collects into {str(directory)!r}; give each its own directory and read them together."
        )
    return held


def _key(name: str) -> str:
    # A name may be any text, also one that is no UTF-8.
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
