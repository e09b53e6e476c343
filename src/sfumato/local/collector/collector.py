"""The collector: takes reports as they come, and has them on the disk before it says so."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np

from sfumato.durable import lock, make_directory
from sfumato.errors import ParameterError, SketchError
from sfumato.exact import positive_integer
from sfumato.local.collector.collection import (
    CLOSED,
    LANE,
    Collection,
    State,
    is_collection,
    lanes_of,
    live_shards,
    open_collection,
    read_collection,
)
from sfumato.local.collector.envelope import Parcel, open_envelopes
from sfumato.local.collector.ids import ID_BYTES, Sorted, fresh
from sfumato.local.collector.intake import Intake
from sfumato.local.collector.shards import (
    MAPPED,
    Layout,
    Shard,
    delete,
    read_shard,
    replace_shards,
    shard_name,
    shard_paths,
    unfinished,
    write_parts,
    write_shard,
)
from sfumato.local.plan import Plan
from sfumato.local.server import Server
from sfumato.local.wire import Refused

MANY = 8
"""So many shards of one tier become one of the next."""
MOST_LANES = 1000
LOCK = "collection.lock"
OPENING = "opening.lock"
"""Held while a lane is taken, and while an epoch is closed: no process begins to write when an epoch ends."""
NOTHING = np.zeros((0, ID_BYTES), dtype=np.uint8), np.zeros(0, dtype=np.int64)
"""Ids and values of no reports."""


@dataclass(frozen=True)
class Batch:
    """Reports that came together; a batch with a name is counted once, however often it comes."""

    parcel: Parcel
    name: str | None = None


class Collector:
    """Collects reports into a directory; what was accepted survives a crash, and counts once.

    The directory is made if it does not exist, and continued if it does. One process writes into it at a time; with
    `lanes=True` each process that opens it gets a lane of its own in it, and `read_collection` reads them together, an
    id that came to several of them once. `intake` and `server()` are then those of the lane. `ids=False` makes a
    collection of reports without ids, which cannot tell a report that was sent twice. `shuffled=80_000` makes one that
    takes whole batches of a relay only: without ids, of at least so many reports, each batch once; what comes otherwise
    is refused as an envelope that cannot be opened.

    >>> from sfumato import Pure, local
    >>> plan = local.plan(users=1000, spend=Pure(1), candidates=["red", "green", "blue"])
    >>> line = local.envelope(plan.client().report("red"))
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place, local.Collector(place, plan) as collector:
    ...     print(collector.add(line + line + b"hello"))
    1 report accepted, 1 duplicate dropped, 1 refused (envelope 1).
    """

    def __init__(
        self,
        place: str | Path,
        plan: Plan | None = None,
        *,
        ids: bool = True,
        lanes: bool = False,
        shuffled: int | None = None,
    ) -> None:
        self.place = Path(place)
        least = 0 if shuffled is None else positive_integer(shuffled, "shuffled")
        if least and lanes:
            raise ParameterError(
                "Shuffled batches are collected by one process, because two could each take the same batch; leave "
                "lanes= out."
            )
        self.collection = _described(self.place, plan, ids and not least, least)
        self._lock = RLock()
        self._held: BinaryIO | None
        if lanes:
            self.collection, self._held = _take_lane(self.collection)
        else:
            self._held = _hold(self.collection.directory)
            # Another process may have closed the epoch before this one had the lock.
            self.collection = open_collection(self.place)
        self._load_or_close()

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
            if self.collection.closed is not None:
                return self.collection.closed + self._late
            return self._state.intake + self._late

    def server(self) -> Server:
        """Return the sketch of all accepted reports, as it is now."""
        with self._lock:
            if self.collection.closed is not None:
                return read_collection(self.place).server
            copy = Server(self.plan)
            copy.merge(self._state.server)
            return copy

    def close_epoch(self) -> Server:
        """End the collection: keep the sketch, delete all ids, and count what comes later as late.

        A report that is sent again after that would count twice, so none is taken. Other processes must have let go of
        their lanes.
        """
        with self._lock:
            self._require_open()
            if self.collection.closed is None:
                self._end()
            return self.server()

    def _end(self) -> None:
        with ExitStack() as held:
            held.enter_context(_opening(self.place))
            whole = open_collection(self.place)
            for lane in lanes_of(whole):
                if lane.directory != self.collection.directory:
                    held.enter_context(_hold(lane.directory))
            found = read_collection(self.place)
            # The sketch is there before the description names it, and shards go after: a crash between loses nothing.
            found.server.save(self.place / CLOSED)
            closed = replace(whole, closed=found.intake)
            closed.write()
            self.collection = replace(self.collection, closed=closed.closed)
            for lane in lanes_of(whole):
                delete(shard_paths(lane.directory))

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
            if self.collection.closed is not None:
                return [self._too_late(batch) for batch in batches]
            before = self._number
            try:
                said, count, records, names = self._count(batches)
                self._write(count, records, names, sum(said, Intake()))
                # They are on the disk, and merging takes memory of its own.
                del records
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
        state = State(self.plan, self.collection.ids)
        tiers: dict[Path, int] = {}
        self._late = Intake()
        for path, shard in live_shards(self.collection) if self.collection.closed is None else ():
            state.add(path, shard)
            tiers[path] = shard.tier
        state.count(self._layout)
        delete([path for path in shard_paths(directory) if path not in tiers])
        self._state, self._tiers = state, tiers
        self._number = 1 + max((int(path.stem) for path in tiers), default=0)

    def _reload(self, number: int) -> None:
        self._load_or_close()
        self._number = max(self._number, number)

    def _load_or_close(self) -> None:
        try:
            self._load()
        except BaseException:
            self.close()
            raise

    @property
    def _layout(self) -> Layout:
        return self.collection.layout

    def _too_late(self, batch: Batch) -> Intake:
        parcel = batch.parcel
        said = Intake(late=len(parcel.reports), envelope=parcel.envelope, refused=Refused(length=parcel.length))
        self._late += said
        return said

    def _count(self, batches: Sequence[Batch]) -> tuple[list[Intake], int, Iterable[Any], list[str]]:
        """Count batches in memory; return what became of each, how many records are written, these, and names."""
        names: list[str] = []
        said: list[Intake] = []
        ids, values = [], []
        for batch in batches:
            found, good_ids, good_values = self._open(batch, names)
            said.append(found)
            ids.append(good_ids)
            values.append(good_values)
        owners = np.repeat(np.arange(len(batches), dtype=np.int32), [len(part) for part in values])
        counts, layout = self._state.server.counts, self._layout
        numbers = _together(values, NOTHING[1])
        if not layout.ids:
            np.add.at(counts, numbers, 1)
            written, accepted = len(numbers), owners
            records: Iterable[Any] = [layout.records(numbers)]
        else:
            new = fresh(_together(ids, NOTHING[0]), numbers, list(self._state.files.values()))
            new.count(counts)
            written, accepted = int(new.kept.sum()), owners[new.first[new.new]]
            records = new.records(layout.width)
        self._state.server.accepted += len(accepted)
        each, all_good = (np.bincount(part, minlength=len(batches)).tolist() for part in (accepted, owners))
        told = zip(said, each, all_good, strict=True)
        return (
            [Intake(took, good - took, one.envelope, one.repeated, one.refused) for one, took, good in told],
            written,
            records,
            names,
        )

    def _name(self, batch: Batch) -> str | None:
        """Return the name under which a batch counts once; shuffled ones are named by their bytes."""
        if self.collection.shuffled:
            return hashlib.sha256(np.ascontiguousarray(batch.parcel.reports).tobytes()).hexdigest()[:32]
        return None if batch.name is None else _key(batch.name)

    def _open(self, batch: Batch, names: list[str]) -> tuple[Intake, Any, Any]:
        """Return what is wrong with a batch, and the ids and values of its good reports."""
        name = self._name(batch)
        if name is not None and (name in self._state.batches or name in names):
            return Intake(repeated=1), *NOTHING
        parcel = batch.parcel
        strange = Intake(envelope=parcel.envelope + parcel.length + len(parcel.reports)), *NOTHING
        # With its id a report is not shuffled, and without it one could be counted twice where ids tell them apart.
        if (parcel.ids is None) == self._layout.ids and (self._layout.ids or self.collection.shuffled):
            return strange
        values, good, wrong = self.plan.wire.read_many(parcel.reports)
        if len(values) - wrong.total < self.collection.shuffled:
            # In a small batch a report does not hide; only those of this plan hide each other.
            return strange
        if name is not None:
            names.append(name)
        if wrong.total:
            values, ids = values[good], parcel.ids[good] if self._layout.ids else NOTHING[0]
        else:
            ids = parcel.ids if self._layout.ids else NOTHING[0]
        return Intake(envelope=parcel.envelope, refused=wrong + Refused(length=parcel.length)), ids, values

    def _write(self, count: int, records: Iterable[Any], names: list[str], intake: Intake) -> None:
        # That a batch came again is told to its sender, and is no fact about the collection.
        intake = replace(intake, repeated=0)
        if intake == Intake() and not names:
            return
        path, nothing = self._next_path(), np.zeros((0, self._layout.width), dtype=np.uint8)
        shard = Shard(nothing, intake, tuple(names))
        if count * self._layout.width > MAPPED:
            # A long one is mapped rather than kept, and never in memory as a whole.
            write_parts(path, self._layout, shard, count, records)
            kept = read_shard(path, self._layout, written=True).records
        else:
            kept = np.concatenate([nothing, *records])
            write_shard(path, self._layout, replace(shard, records=kept))
        self._tiers[path] = 0
        self._state.files[path] = Sorted(kept)
        self._state.note(intake, names)

    def _merge_shards(self) -> None:
        for tier in sorted(set(self._tiers.values())):
            same = [path for path, other in self._tiers.items() if other == tier]
            if len(same) >= MANY:
                path = self._next_path()
                joined = replace_shards(path, self._layout, same)
                for old in same:
                    del self._tiers[old], self._state.files[old]
                self._tiers[path], self._state.files[path] = joined.tier, Sorted(joined.records)

    def _next_path(self) -> Path:
        path = self.collection.directory / shard_name(self._number)
        self._number += 1
        return path


def _together(parts: list[Any], nothing: Any) -> Any:
    """Return tables end to end; a long one that is alone is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate([nothing, *parts])


def _described(directory: Path, plan: Plan | None, ids: bool, shuffled: int) -> Collection:
    """Return the collection of a directory, a new one if there is none."""
    if is_collection(directory):
        collection = open_collection(directory)
        if plan is not None and plan.digest != collection.plan.digest:
            raise SketchError(f"{str(directory)!r} collects for another plan; give this plan a directory of its own.")
        if collection.shuffled != shuffled:
            raise ParameterError(
                f"{str(directory)!r} was made with shuffled={collection.shuffled or None}; write the same."
            )
        if collection.ids != ids:
            kind = "with" if collection.ids else "without"
            raise ParameterError(f"{str(directory)!r} is a collection {kind} ids; write ids={collection.ids}.")
        return collection
    if plan is None:
        raise ParameterError(f"{str(directory)!r} is no collection yet; give the plan to make one.")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise ParameterError(f"{str(directory)!r} holds other things; name a directory that is empty or new.")
    make_directory(directory)
    collection = Collection(directory, plan, ids, shuffled)
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


def _opening(place: Path) -> BinaryIO:
    """Wait until no other process takes a lane or closes the epoch."""
    held = lock(place / OPENING, wait=True)
    assert held is not None
    return held


def _take_lane(collection: Collection) -> tuple[Collection, BinaryIO]:
    """Return the first lane of a collection that no other process holds, and its lock."""
    with _opening(collection.directory):
        # As it is now: its epoch may have been closed since it was read.
        collection = open_collection(collection.directory)
        for number in range(MOST_LANES):
            directory = collection.directory / f"{LANE}{number:03d}"
            make_directory(directory)
            held = lock(directory / LOCK, wait=False)
            if held is not None:
                return replace(collection, directory=directory), held
    raise SketchError(f"{MOST_LANES} processes collect into {str(collection.directory)!r} already; close some of them.")


def _key(name: str) -> str:
    # A name may be any text, also one that is no UTF-8.
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
