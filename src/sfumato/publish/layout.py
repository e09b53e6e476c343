"""The files of a publication: tables with intervals for every period, running totals, metadata, one page (PB-PUBLISH).

Everything is a function of stored answers and of the public file, so it can be written again at any time, byte by byte
the same. A file is there as a whole or not at all. What another edition wrote cannot be worked out from this file: the
ledger keeps its digest from when it was written, and only that is ever listed.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from sfumato.answer import Answer
from sfumato.answer.frame import Frame, called
from sfumato.durable import make_directory, write_durably
from sfumato.publish.bands import band_said, looks
from sfumato.publish.begun import Begun
from sfumato.publish.calendar import Slot, latest_of
from sfumato.publish.digests import Digests
from sfumato.publish.empties import empties_said, gaps_said
from sfumato.publish.file import PublicationFile, TableSpec
from sfumato.publish.means import MeanSeries
from sfumato.publish.metadata import (
    MEDIA,
    Resource,
    csv_metadata,
    data_package,
    hash_of,
    registry_record,
    resource_of,
)
from sfumato.publish.page import page
from sfumato.publish.pictures import PeriodChart, period_chart
from sfumato.publish.series import PLACES, Estimates, Series
from sfumato.publish.shown import published_frame, rounded
from sfumato.publish.words import in_short

Released = Mapping[Slot, Callable[[], dict[str, Answer]]]
"""By period, what gives its answers by table."""
_TRUTH = {None: None, True: "true", False: "false"}
TABLE_FORMATS = ("parquet", "csv")
TOGETHER = 200
"""So many files are written after what is said of them was kept at once."""


@dataclass(frozen=True)
class Layout:
    """What is written: `released` by period, `running` totals by table; `note` stands on every page of a preview."""

    file: PublicationFile
    promise: tuple[str, ...]
    released: Released
    running: Mapping[str, Series | MeanSeries]
    note: str = ""
    digests: Digests = field(default_factory=Digests)
    begun: Mapping[str, Begun] = field(default_factory=dict)
    """Running totals by table, as they were begun."""
    said_before: tuple[str, ...] = ()
    """The promise in the words of earlier versions, which stand in files that were published then."""
    empty: tuple[str, ...] = ()
    """Days without a file that were declared to be without rows."""
    dead: tuple[str, ...] = ()
    """Periods that were paid for and have no answer."""

    @property
    def home(self) -> Path:
        """The directory of the publication."""
        return self.file.to / self.file.name

    def write(self) -> None:
        """Write what is not there yet, and all that speaks of the whole."""
        kept = self._kept()
        digested = self.digests.load()
        pending: dict[str, bytes] = {}
        for slot, answers in self.released.items():
            paths = self._paths(slot)
            whole = not self.note and all((self.home / path).exists() for path in paths)
            if whole and all(path in (digested or ()) for path in paths):
                continue
            made = self._period(slot, answers())
            kept |= _resources(made)
            pending |= {} if whole else made
            if len(pending) >= TOGETHER:
                self._release(kept, pending)
        pending |= self._series_files()
        kept |= _resources(pending)
        self._release(kept, pending)
        self._put(self._latest({}, kept))
        self._put(self._about(kept))

    def _release(self, kept: Mapping[str, Resource], pending: dict[str, bytes]) -> None:
        """Keep what will be said of files, and only then write them: no file is there of which nothing is known."""
        self.digests.save(kept)
        self._put(pending)
        pending.clear()

    def _kept(self) -> dict[str, Resource]:
        """Return what is known of files that were written; of earlier versions, what they listed or left."""
        kept = self.digests.load()
        if kept is not None or not self.digests.knows:
            return dict(kept or {})
        found = {name: resource_of(name, (self.home / name).read_bytes()) for name in self._there()}
        try:
            listed = json.loads((self.home / "datapackage.json").read_bytes())["resources"]
            return found | {str(one["path"]): one for one in listed}
        except (OSError, ValueError, KeyError, TypeError):
            return found

    def _there(self) -> list[str]:
        """Return the files of tables that are there; not those that only speak of them."""
        written = [*self.home.glob("period=*/*"), *self.home.glob("period=*/revision=*/*")]
        written += [path for name in self.begun for path in self.home.glob(f"{name}.*") if _is_table(path)]
        return [path.relative_to(self.home).as_posix() for path in written if path.suffix in MEDIA]

    def _listed(self, kept: Mapping[str, Resource]) -> list[Resource]:
        """Return what is said of all files, in a fixed order; formats that are written no more may be removed."""
        names = list(self.begun)

        def place(path: str) -> tuple[int, PurePosixPath]:
            table = path.partition(".")[0]
            return (
                names.index(table) + 1 if table in names else len(names) + 1
            ) if "/" not in path else 0, PurePosixPath(path)

        return [kept[path] for path in sorted(kept, key=place) if self._wanted(path) or (self.home / path).exists()]

    def _wanted(self, path: str) -> bool:
        return PurePosixPath(path).suffix[1:] in self.file.formats

    def differences(self) -> tuple[list[str], int]:
        """Return in which files something else stands than what was stored or which are not there, and of how many.

        Those that readers get of the whole, `latest` and what speaks of the tables, are compared with what would be
        written from what is stored.
        """
        stored: dict[str, bytes] = {}
        for slot, answers in self.released.items():
            given, before = answers(), ({"by_letters": True}, {"by_letters": True, "marked": False})
            stored |= self._as_found(self._period(slot, given), [self._period(slot, given, **way) for way in before])
        stored |= self._as_found(self._series_files(), [self._series_files(marked=False)])
        found = self._unlike(stored, "is not what was stored; remove it and run sfumato publish run.")
        kept = self._kept()
        found += self._changed({path: one for path, one in kept.items() if path not in stored})
        found += [
            f"{path} is no file that was published, as far as this ledger knows: if it is an older copy or another "
            "one, put the newest back; otherwise remove the file."
            for path in sorted(self._there())
            if path not in kept and path not in stored
        ]
        kept |= _resources(stored)
        whole = self._latest(stored, kept) | self._about(kept)
        if self.released or self.home.exists():  # before the first run nothing speaks of anything
            said = "is not what is written from what was stored; run sfumato publish run, which writes it again."
            found += self._unlike(whole, said)
        return found, len({*self._there(), *(whole if self.home.exists() else ())})

    def _as_found(self, now: dict[str, bytes], before: Sequence[Mapping[str, bytes]]) -> dict[str, bytes]:
        """Return files as they are written now, and those as earlier versions wrote them that stand there like that."""
        there = {path: (self.home / path).read_bytes() for path in now if (self.home / path).exists()}
        return {
            path: there[path] if any(there.get(path) == one[path] for one in before) else content
            for path, content in now.items()
        }

    def _changed(self, kept: Mapping[str, Resource]) -> list[str]:
        """Return which files of other editions are not those that were written then."""
        found = []
        for path, one in kept.items():
            place = self.home / path
            if place.exists() and hash_of(place.read_bytes()) != one["hash"]:
                found.append(
                    f"{path} is of another edition and is not what was published then, by the digest that was kept of "
                    "it; put it back as it was, or remove it and run sfumato publish run with the file of that edition."
                )
            elif not place.exists() and self._wanted(path):
                found.append(
                    f"{path} is not there and is of another edition; put it back, or run sfumato publish run with the "
                    "file of that edition."
                )
        return found

    def _unlike(self, wanted: Mapping[str, bytes], said: str) -> list[str]:
        found = []
        for path, content in wanted.items():
            place = self.home / path
            if not place.exists():
                found.append(f"{path} is not there; run sfumato publish run, which writes it again.")
            elif place.read_bytes() != content:
                found.append(f"{path} {said}")
        return found

    def _put(self, files: Mapping[str, bytes]) -> None:
        for path, content in files.items():
            place = self.home / path
            if place.exists() and place.read_bytes() == content:
                continue
            if not place.parent.is_dir():
                make_directory(place.parent)
            write_durably(place, [content])

    def _tables(self) -> list[str]:
        return [kind for kind in TABLE_FORMATS if kind in self.file.formats]

    def _paths(self, slot: Slot) -> list[str]:
        listed = self.file.listed(slot)
        found = [f"{slot.path}/{spec.name}.{kind}" for spec in listed for kind in self._tables()]
        return found + ([f"{slot.path}/answer.json"] if "json" in self.file.formats else [])

    def _period(
        self, slot: Slot, answers: Mapping[str, Answer], *, marked: bool = True, by_letters: bool = False
    ) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        specs = {spec.name: spec for spec in self.file.listed(slot)}
        for name, answer in answers.items():
            spec = specs[name]
            times = looks(self.file, spec) if spec.band else None
            shown = published_frame(answer, spec, times, by_letters=by_letters)
            for kind, content in _written(shown, self._tables(), marked=marked).items():
                found[f"{slot.path}/{name}.{kind}"] = content
        if answers and "json" in self.file.formats:
            record = {
                "publication": self.file.name,
                "edition": self.file.edition,
                "period": slot.name,
                "first_day": slot.first.isoformat(),
                "last_day": slot.last.isoformat(),
                "promise": list(self.promise if marked else self.said_before or self.promise),
                "note": self.note,
                "tables": {name: _record(answer) for name, answer in answers.items()},
            }
            if slot.revision:
                record["revision"] = slot.revision
            if self.file.zone is not None:
                record["zone"] = self.file.zone.key
            found[f"{slot.path}/answer.json"] = _json(record)
        return found

    def _series_files(self, *, marked: bool = True) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for spec in self.file.running():
            if spec.name not in self.running:
                continue  # it cannot be worked out again: its files stay as they were published
            shown = series_frame(self.running[spec.name], spec, self.keys_of(spec), across=marked)
            for kind, content in _written(shown, self._tables(), marked=marked).items():
                found[f"{spec.name}.{kind}"] = content
        return found

    def keys_of(self, spec: TableSpec) -> tuple[str, ...]:
        """Return the columns of the groups of a running total."""
        from sfumato.publish.total import RunningTable

        found = self.begun.get(spec.name)
        table = RunningTable(self.file, spec) if found is None else RunningTable(found.file, found.spec)
        return table.measured.measure.keys

    def _content(self, path: str, stored: Mapping[str, bytes], kept: Mapping[str, Resource]) -> bytes | None:
        """Return what was stored for a file, or what stands in it if that is what was published."""
        if path in stored:
            return stored[path]
        place = self.home / path
        content = place.read_bytes() if place.exists() else None
        return content if content is not None and hash_of(content) == kept[path]["hash"] else None

    def _latest(self, stored: Mapping[str, bytes], kept: Mapping[str, Resource]) -> dict[str, bytes]:
        """Return copies of the newest period of each table; what is not what was published is not copied."""
        newest: dict[str, str] = {}
        for slot in self.released:
            for path in () if slot.revision else self._paths(slot):
                name = path.rpartition("/")[2]
                if path in kept:
                    newest[f"latest/{name}" if name != "answer.json" else latest_of(slot.unit)] = path
        found = {copy: self._content(path, stored, kept) for copy, path in newest.items()}
        return {copy: content for copy, content in found.items() if content is not None}

    def _about(self, kept: Mapping[str, Resource]) -> dict[str, bytes]:
        listed, facts = self._listed(kept), (empties_said(self.empty), gaps_said(self.dead))
        bands = [f"{one.name}: {band_said(self.file, one)}" for one in self.file.tables if one.band]
        found = {
            "datapackage.json": _json(data_package(self.file, self.promise, listed, self.note, [*facts, *bands])),
            "registry.yaml": registry_record(self.file, self.promise).encode(),
        }
        for spec in self.file.tables:
            # The newest: an earlier edition may have had other columns.
            own = [one for one in listed if PurePosixPath(one["path"]).name == f"{spec.name}.csv"]
            own = [one for one in own if "/revision=" not in one["path"]] or own
            if own:
                found[f"{spec.name}.csv-metadata.json"] = _json(csv_metadata(spec, own[-1], band_said(self.file, spec)))
        if "html" in self.file.formats:
            newest = {(slot.unit, slot.revision): (slot, answers) for slot, answers in self.released.items()}
            shown = [(slot, answers()) for slot, answers in newest.values()]
            found["index.html"] = page(
                self.file,
                self.promise,
                shown,
                self.running,
                note=self.note,
                begun=self.begun.values(),
                facts=facts,
                charts=self._charts(),
            ).encode()
        return found

    def _charts(self) -> dict[str, PeriodChart]:
        """Return the pictures of tables that are asked anew."""
        read: dict[Slot, Callable[[], dict[str, Answer]]] = {one: cache(give) for one, give in self.released.items()}
        promise = in_short(self.file.budget)
        drawn = {one.name: period_chart(self.file, one, read, self.dead, promise) for one in self.file.anew()}
        return {name: chart for name, chart in drawn.items() if chart is not None}


def series_frame(series: Series | MeanSeries, spec: TableSpec, keys: tuple[str, ...], *, across: bool = True) -> Frame:
    """Return a running total as a table: a row for each period and group, with both bands, and its windows.

    Without `across` it has no windows where it has several horizons, as earlier versions wrote it.
    """
    columns: dict[str, list[Any]] = {name: [] for name in ("period", *keys)}
    mean, places = isinstance(series, MeanSeries), PLACES if series.places is None else series.places
    shapes = {"mean" if mean else "total": series.totals()}
    marks = {"mean": series.unknown()} if isinstance(series, MeanSeries) else {}
    if across or len(series.segments) == 1:
        shapes |= {f"{'mean_' if mean else ''}last_{width}": series.window(width) for width in spec.windows}
        if isinstance(series, MeanSeries):
            marks |= {f"mean_last_{width}": series.unknown(width) for width in spec.windows}
    ends = {name: _ends_of(found) for name, found in shapes.items()}
    if spec.monotone and isinstance(series, Series):
        ends["total_monotone"] = {"": series.monotone()}
    for place, period in enumerate(series.periods):
        for number, cell in enumerate(series.keys):
            columns["period"].append(period)
            for name, value in zip(keys, cell, strict=True):
                columns[name].append(value.isoformat() if isinstance(value, date) else value)
            for name, made in ends.items():
                for ending, numbers in made.items():
                    # Values are rounded as Python does and ends as numpy does: stored files are compared byte by byte.
                    cell_value = numbers[place, number] if ending else float(numbers[place, number])
                    columns.setdefault(name + ending, []).append(round(cell_value, places))
    told = {name: [bool(mark) for row in found for mark in row] for name, found in marks.items()}
    for name, numbers in ends.items():
        _readable(columns, [name + ending for ending in numbers], spec, told.get(name, []))
    unknown: Any = {name: tuple(cells) for name, cells in told.items()}
    return Frame(("period", *keys), {name: tuple(cells) for name, cells in columns.items()}, unknown=unknown)


def _readable(columns: dict[str, list[Any]], names: Sequence[str], spec: TableSpec, marks: list[Any]) -> None:
    """Leave small values out, with their ends and marks, and round the others, where the file asks for it."""
    if spec.hide_below is not None:
        hidden = [cell < spec.hide_below for cell in columns[names[0]]]
        marks[:] = [None if out else mark for mark, out in zip(marks, hidden, strict=True)] if marks else []
        for name in names:
            columns[name] = [None if out else cell for cell, out in zip(columns[name], hidden, strict=True)]
    if spec.round_to is not None:
        for name in names:
            columns[name] = [rounded(cell, spec.round_to, name.rpartition("_")[2]) for cell in columns[name]]


def _ends_of(found: Estimates) -> dict[str, Any]:
    """Return the numbers of a column and of those with its ends, by what their names end with."""
    ends = {"_low": found.low, "_high": found.high, "_all_low": found.all_low, "_all_high": found.all_high}
    return {"": found.values} | ends


def _written(frame: Frame, kinds: list[str], *, marked: bool = True) -> dict[str, bytes]:
    """Return a table as files: a last column says which values are known, and CSV calls a missing key by that word.

    Without `marked` they are as earlier versions wrote them, who left values out that hold noise alone, and the word.
    """
    known: dict[str, tuple[Any, ...]] = {}
    if marked:
        known = {
            f"{name}_known": tuple(None if mark is None else not mark for mark in marks)
            for name, marks in frame.unknown.items()
        }
    frame = Frame(frame.keys, {**frame.columns, **known})
    found: dict[str, bytes] = {}
    if "csv" in kinds:
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(frame.columns)
        named = {
            name: called(cells) if marked and name in frame.keys else cells for name, cells in frame.columns.items()
        }
        named |= {name: tuple(_TRUTH[cell] for cell in cells) for name, cells in known.items()}
        rows = Frame(frame.keys, named).rows()
        writer.writerows([["" if cell is None else cell for cell in row] for row in rows])
        found["csv"] = text.getvalue().encode()
    if "parquet" in kinds:
        from pyarrow import BufferOutputStream, parquet

        stream = BufferOutputStream()
        parquet.write_table(frame.to_arrow(), stream)
        found["parquet"] = stream.getvalue().to_pybytes()
    return found


def _record(answer: Answer) -> dict[str, Any]:
    """Return what is said of one answer; what is left of limits changes with time and is left out."""
    record = answer.to_json()
    return {name: record[name] for name in ("question", "released", "loss", "event")}


def _json(record: Any) -> bytes:
    return (json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _resources(files: Mapping[str, bytes]) -> dict[str, Resource]:
    return {path: resource_of(path, content) for path, content in files.items()}


def _is_table(path: Path) -> bool:
    return path.suffix in (".csv", ".parquet")
