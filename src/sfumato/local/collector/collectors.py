"""Several plans at once: each report goes to the collection of its plan, by the tag that it carries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from sfumato.durable import UNREADABLE, lock, make_directory, write_durably
from sfumato.errors import ParameterError, SketchError
from sfumato.local.collector.collection import is_collection
from sfumato.local.collector.collector import Batch, Collector
from sfumato.local.collector.envelope import FORMATS, Parcel, open_envelopes, open_line, parcel_of, record_bytes
from sfumato.local.collector.ids import ID_BYTES
from sfumato.local.collector.intake import Intake
from sfumato.local.plan import Plan
from sfumato.local.trust import now
from sfumato.local.wire import TAG_BYTES, Refused
from sfumato.words import one_of

PLANS = "plans.json"
LOCK = "plans.lock"
FORMAT = 1


class CollectorSet:
    """Collects reports of several plans, each into a directory of its own that is named by the plan's digest.

    Plans are added as time goes on, and retired: reports of a retired plan that come after its last moment count as
    late and are not stored. Two plans whose reports carry the same tag cannot be told apart, so the second is refused.
    `shuffled=80_000` takes whole shuffled batches of one plan only; see `Collector`.

    >>> import tempfile
    >>> from sfumato import Pure, local
    >>> colours = {"users": 1000, "spend": Pure(1), "candidates": ["red", "green"]}
    >>> plans = [local.plan(**colours, seed=bytes([number] * 32)) for number in (1, 2)]
    >>> lines = b"".join(local.envelope(plan.client().report("red")) for plan in plans)
    >>> with tempfile.TemporaryDirectory() as place, local.CollectorSet(place, plans) as collectors:
    ...     print(collectors.add(lines + b"hello"))
    ...     [collectors.collector(plan.digest.hex()).intake.accepted for plan in plans]
    2 reports accepted, 0 duplicates dropped, 1 refused (envelope 1).
    [1, 1]
    """

    def __init__(
        self,
        place: str | Path,
        plans: Sequence[Plan] = (),
        *,
        ids: bool = True,
        lanes: bool = False,
        shuffled: int | None = None,
    ) -> None:
        self.place = Path(place)
        self.ids, self.lanes, self.shuffled = ids, lanes, shuffled
        if is_collection(self.place):
            raise ParameterError(f"{str(place)!r} is the collection of one plan; open it with Collector.")
        if isinstance(plans, Plan):
            raise ParameterError("plans= is a list; write CollectorSet(place, [plan]).")
        self._collectors: dict[str, Collector] = {}
        self._retired: dict[str, datetime] = {}
        self._seen: tuple[int, int] | None = None
        self.strange = Intake()
        """What belongs to no plan here, or came late, since this object was made."""
        make_directory(self.place)
        try:
            self._refresh()
            for plan in plans:
                self.add_plan(plan)
        except BaseException:
            self.close()
            raise

    @property
    def plans(self) -> tuple[Plan, ...]:
        """All plans, the newest last."""
        return tuple(collector.plan for collector in self._collectors.values())

    @property
    def intake(self) -> Intake:
        """What became of all reports so far; of those that belong to no plan, since this object was made."""
        return sum((collector.intake for collector in self._collectors.values()), self.strange)

    @property
    def is_open(self) -> bool:
        """Whether it takes reports."""
        return bool(self._collectors) and all(collector.is_open for collector in self._collectors.values())

    def collector(self, digest: str) -> Collector:
        """Return the collector of a plan, by its digest."""
        if digest not in self._collectors:
            raise ParameterError("No plan here has this digest; `plans` are those that there are.")
        return self._collectors[digest]

    def add_plan(self, plan: Plan) -> None:
        """Take reports of one more plan; one that is there already stays as it is."""
        digest = plan.digest.hex()
        if digest in self._collectors:
            return
        if any(other.wire.tag == plan.wire.tag for other in self.plans):
            raise ParameterError(
                "The reports of this plan carry the same tag as those of another one here; make the plan again, with "
                "another seed."
            )
        self._open(digest, plan)
        self._write()

    def retire_plan(self, digest: str, until: datetime) -> None:
        """Count reports of a plan that come after `until` as late."""
        self.collector(digest)
        if not isinstance(until, datetime) or until.tzinfo is None:
            raise ParameterError("until is a time with its zone; write datetime(2026, 12, 1, tzinfo=UTC).")
        self._retired[digest] = until.astimezone(UTC)
        self._write()

    def add(self, data: bytes, format: str = "json", *, batch: str | None = None) -> Intake:
        """Add reports of any of the plans, and return when they are safe on the disk; see `Collector.add`."""
        return self.add_batches([self.batch(data, format, batch)])[0]

    def batch(self, data: bytes, format: str = "json", name: str | None = None) -> list[tuple[str | None, Batch]]:
        """Open envelopes without counting them yet: a batch for each plan that occurs, and one for what has none.

        A body of a binary format is of one plan, the one of its first record.
        """
        self._refresh()
        if format != "json":
            digest = self._of_binary(data, format)
            width = self._collectors[digest].plan.report_bytes if digest else 1 + TAG_BYTES + 1
            return [(digest, Batch(open_envelopes(data, format, width), name))]
        by_plan: dict[str | None, list[Any]] = {}
        lines = (open_line(line) for line in bytes(data).split(b"\n") if line.strip())
        tags = {collector.plan.wire.tag: digest for digest, collector in self._collectors.items()}
        for pair in lines:
            tag = None if pair is None else pair[1][1 : 1 + TAG_BYTES]
            by_plan.setdefault(None if tag is None else tags.get(tag), []).append(pair)
        return [(digest, Batch(self._parcel(digest, pairs), name)) for digest, pairs in by_plan.items()]

    def _parcel(self, digest: str | None, pairs: list[Any]) -> Parcel:
        if digest is not None:
            return parcel_of(pairs, self._collectors[digest].plan.report_bytes)
        envelope = sum(pair is None for pair in pairs)
        return Parcel(None, np.zeros((len(pairs) - envelope, 1), dtype=np.uint8), envelope)

    def _of_binary(self, data: bytes, format: str) -> str | None:
        one_of("The format of reports", format, FORMATS)
        start = ID_BYTES + 1 if format == "binary" else 1
        tag = bytes(data[start : start + TAG_BYTES])
        for digest, collector in self._collectors.items():
            if collector.plan.wire.tag == tag and len(data) >= record_bytes(format, collector.plan.report_bytes):
                return digest
        return None

    def add_batches(self, batches: Sequence[list[tuple[str | None, Batch]]]) -> list[Intake]:
        """Add several batches, those of one plan by one write, and return what became of each."""
        said = [Intake() for _ in batches]
        by_plan: dict[str | None, list[tuple[int, Batch]]] = {}
        for place, parts in enumerate(batches):
            for digest, batch in parts:
                by_plan.setdefault(digest, []).append((place, batch))
        for digest, owned in by_plan.items():
            told = self._add(digest, [batch for _, batch in owned])
            for (place, _), intake in zip(owned, told, strict=True):
                said[place] += intake
        return said

    def _add(self, digest: str | None, batches: list[Batch]) -> list[Intake]:
        if digest is None:
            # No plan here made these, or they cannot be opened.
            told = [_strange(batch.parcel) for batch in batches]
            self.strange = sum(told, self.strange)
            return told
        if digest in self._retired and now() > self._retired[digest]:
            late = [Intake(late=len(batch.parcel.reports), envelope=batch.parcel.envelope) for batch in batches]
            self.strange = sum(late, self.strange)
            return late
        return self._collectors[digest].add_batches(batches)

    def close(self) -> None:
        """Let other processes write."""
        for collector in self._collectors.values():
            collector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _open(self, digest: str, plan: Plan | None) -> None:
        made = Collector(self.place / digest, plan, ids=self.ids, lanes=self.lanes, shuffled=self.shuffled)
        if made.plan.digest.hex() != digest:
            made.close()
            raise SketchError(f"The directory {digest} collects for another plan; move it to where it came from.")
        self._collectors[digest] = made

    def _write(self) -> None:
        """Write the plans, with those that other processes have added or retired since."""
        held = lock(self.place / LOCK, wait=True)
        assert held is not None
        with held:
            plans = _read(self.place / PLANS)
            for digest in self._collectors:
                until = self._retired.get(digest)
                plans[digest] = plans.get(digest) if until is None else until.isoformat()
            record = {"format": FORMAT, "plans": plans}
            write_durably(self.place / PLANS, [json.dumps(record, indent=1).encode() + b"\n"])

    def _refresh(self) -> None:
        """Follow what other processes have added or retired."""
        seen = _stamp(self.place / PLANS)
        if seen == self._seen:
            return
        self._seen = seen
        for digest, until in _read(self.place / PLANS).items():
            if digest not in self._collectors:
                self._open(digest, None)
            if until is not None:
                self._retired[digest] = datetime.fromisoformat(until)


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file is written again, or None if it is not there."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def _read(path: Path) -> dict[str, str | None]:
    """Return the digests of the plans in the order in which they came, with when they were retired."""
    if not path.exists():
        return {}
    try:
        record = json.loads(path.read_bytes())
        if record["format"] != FORMAT:
            raise ValueError(record["format"])
        return {str(digest): None if until is None else str(until) for digest, until in record["plans"].items()}
    except UNREADABLE:
        raise SketchError(f"{path.name} of {str(path.parent)!r} cannot be read; take another copy of it.") from None


def _strange(parcel: Parcel) -> Intake:
    return Intake(envelope=parcel.envelope, refused=Refused(length=parcel.length, plan=len(parcel.reports)))
