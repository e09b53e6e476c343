"""A collection on the disk: its plan, its shards, and what they say together."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.durable import UNREADABLE, why, write_durably
from sfumato.errors import ParameterError, SketchError
from sfumato.local.collector.ids import Sorted, first_of_each, in_parts, merged
from sfumato.local.collector.intake import Intake
from sfumato.local.collector.shards import Layout, Shard, read_shard, shard_paths
from sfumato.local.plan import Plan
from sfumato.local.server import Server
from sfumato.local.sketch import load

DESCRIPTION = "collection.json"
CLOSED = "closed.sketch"
LANE = "lane-"
FORMAT = 1
_TRIES = 20


@dataclass(frozen=True)
class Collected:
    """Reports that were put together: the sketch, and what became of all that came in.

    `read_collection` and `aggregate` return one.
    """

    server: Server
    intake: Intake


@dataclass(frozen=True)
class Collection:
    """A directory of shards under one plan."""

    directory: Path
    plan: Plan
    ids: bool
    shuffled: int = 0
    """The least number of reports of a batch, where only whole shuffled batches without ids are taken."""
    closed: Intake | None = None
    """What had come when its epoch was closed: then a sketch stands for all reports, and nothing more is taken."""

    @cached_property
    def layout(self) -> Layout:
        """How its records look."""
        return Layout(self.plan.digest.hex(), self.plan.wire.value_bytes, self.ids)

    def write(self) -> None:
        """Write the description of a new collection."""
        record: dict[str, Any] = {"format": FORMAT, "ids": self.ids, "plan": self.plan.to_record()}
        if self.shuffled:
            record["shuffled"] = self.shuffled
        if self.closed is not None:
            record["closed"] = self.closed.to_json()
        write_durably(self.directory / DESCRIPTION, [json.dumps(record, indent=1).encode() + b"\n"])


def is_collection(place: str | Path) -> bool:
    """Return whether a directory holds a collection."""
    return (Path(place) / DESCRIPTION).is_file()


def open_collection(place: str | Path) -> Collection:
    """Read the description of a collection."""
    path = Path(place) / DESCRIPTION
    if not path.is_file():
        raise ParameterError(f"{str(place)!r} is no collection; make one with Collector({str(place)!r}, plan).")
    try:
        record = json.loads(path.read_bytes())
        if record["format"] != FORMAT:
            raise SketchError(f"This collection has format {record['format']!r}, and this version reads {FORMAT}.")
        closed = Intake.from_json(record["closed"]) if "closed" in record else None
        shuffled = int(record.get("shuffled", 0))
        return Collection(Path(place), Plan.from_json(record["plan"]), bool(record["ids"]), shuffled, closed)
    except UNREADABLE as reason:
        raise SketchError(
            f"{path.name} of {str(place)!r} cannot be read; take another copy of it. The reason: {why(reason)}"
        ) from None


class State:
    """What some shards say together: counts, records on the disk, batches and numbers of reports."""

    def __init__(self, plan: Plan, ids: bool) -> None:
        self.server = Server(plan)
        self.ids = ids
        self.files: dict[Path, Sorted] = {}
        """The records of every shard, sorted, most of them mapped: where ids are found again."""
        self.batches: set[str] = set()
        self.good = 0
        self.wrong = Intake()

    def note(self, intake: Intake, batches: Sequence[str]) -> None:
        """Note what came besides the records."""
        self.good += intake.accepted + intake.duplicates
        self.wrong += replace(intake, accepted=0, duplicates=0)
        self.server.refused += intake.refused
        self.batches.update(batches)

    def add(self, path: Path, shard: Shard) -> None:
        """Add a shard; `count` counts the records of all."""
        self.files[path] = Sorted(shard.records)
        self.note(shard.intake, shard.batches)

    def count(self, layout: Layout) -> None:
        """Count the records of all shards, each id once."""
        files = [file.records for file in self.files.values()]
        for rows in map(first_of_each, merged(files)) if self.ids else in_parts(files):
            np.add.at(self.server.counts, layout.values_of(rows), 1)
            self.server.accepted += len(rows)

    @property
    def intake(self) -> Intake:
        """The numbers of all reports."""
        accepted = self.server.accepted
        return replace(self.wrong, accepted=accepted, duplicates=self.good - accepted)


def lanes_of(collection: Collection) -> list[Collection]:
    """Return the collection and its lanes, one for each process that has written into it."""
    if collection.closed is not None:
        return []
    lanes = sorted(path for path in collection.directory.glob(f"{LANE}*") if path.is_dir())
    return [collection, *(replace(collection, directory=lane) for lane in lanes)]


def _with_closed(state: State, collections: Sequence[Collection]) -> Collected:
    """Add what is left of collections whose epoch was closed: their sketches."""
    intake = state.intake
    for collection in collections:
        if collection.closed is not None:
            state.server.merge(load(collection.directory / CLOSED))
            intake += collection.closed
    return Collected(state.server, intake)


def live_shards(collection: Collection) -> Iterator[tuple[Path, Shard]]:
    """Return the shards that count, one at a time, the newest first: those that they replace are older and void."""
    void: set[str] = set()
    for path in reversed(_listed(collection.directory)):
        if path.name not in void:
            shard = read_shard(path, collection.layout)
            void.update(shard.replaces)
            yield path, shard


def _listed(directory: Path) -> list[Path]:
    """Return the files of all shards at one moment.

    A list that is made while a writer replaces shards may lack both the old ones and the new one. Two equal lists, one
    after the other, do not: a shard is there before those that it replaces go.
    """
    seen = shard_paths(directory)
    while (again := shard_paths(directory)) != seen:
        seen = again
    return seen


def read_collection(*places: str | Path) -> Collected:
    """Return the sketch of one or more collections of one plan, also while they are being written.

    An id that came to several of them counts once.

    >>> import tempfile
    >>> from sfumato import Pure, local
    >>> plan = local.plan(users=1000, spend=Pure(1), candidates=["red", "green"])
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with local.Collector(place, plan) as collector:
    ...         said = collector.add(local.envelopes(plan.client().reports(["red"] * 9)))
    ...     print(local.read_collection(place).intake)
    9 reports accepted, 0 duplicates dropped, 0 refused.
    """
    if not places:
        raise ParameterError("Name at least one collection to read.")
    if len({Path(place).resolve() for place in places}) < len(places):
        raise ParameterError("A collection is named twice, and its reports count once; name each one once.")
    collections = [open_collection(place) for place in places]
    first = collections[0]
    if any((one.plan.digest, one.ids) != (first.plan.digest, first.ids) for one in collections):
        raise SketchError("Only collections of the same plan, all with ids or all without, can be read together.")
    for _ in range(_TRIES):
        try:
            state = State(first.plan, first.ids)
            for collection in collections:
                _add_all(state, collection)
            state.count(first.layout)
            found = _with_closed(state, collections)
        except FileNotFoundError:
            found = None  # a writer replaced some shards while they were read
        # An epoch that was closed meanwhile has its reports in its sketch, and its shards are gone.
        before, collections = collections, [open_collection(place) for place in places]
        if found is not None and [one.closed for one in before] == [one.closed for one in collections]:
            return found
    raise SketchError("The shards of this collection change too quickly to be read; try again.")


def _add_all(state: State, collection: Collection) -> None:
    """Add the shards of a collection and its lanes; of shuffled reports nobody could tell which came twice."""
    others = frozenset(state.batches) if collection.shuffled else frozenset()
    for lane in lanes_of(collection):
        for path, shard in live_shards(lane):
            if not others.isdisjoint(shard.batches):
                raise SketchError(
                    "The same shuffled batch is in two of these collections, and its reports cannot be told apart; "
                    "leave one collection out, and have a relay send each batch to one collector."
                )
            state.add(path, shard)
