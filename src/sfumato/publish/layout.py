"""The files of a publication: tables with intervals for every period, running totals, metadata, one page (PB-PUBLISH).

Everything is a function of stored answers and of the public file, so it can be written again at any time, byte by byte
the same. A file is there as a whole or not at all.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato.answer import Answer
from sfumato.answer.frame import Frame
from sfumato.durable import make_directory, write_durably
from sfumato.errors import ParameterError
from sfumato.noise import Noise
from sfumato.publish.calendar import Slot
from sfumato.publish.file import PublicationFile, TableSpec
from sfumato.publish.means import MeanSeries
from sfumato.publish.metadata import csv_metadata, data_package, registry_record
from sfumato.publish.page import page
from sfumato.publish.series import PLACES, Estimates, Series

Released = Mapping[Slot, Callable[[], dict[str, Answer]]]
"""By period, what gives its answers by table."""


@dataclass(frozen=True)
class Layout:
    """What is written: `released` by period, `running` totals by table; `note` stands on every page of a preview."""

    file: PublicationFile
    promise: tuple[str, ...]
    released: Released
    running: Mapping[str, Series | MeanSeries]
    note: str = ""

    @property
    def home(self) -> Path:
        """The directory of the publication."""
        return self.file.to / self.file.name

    def write(self) -> None:
        """Write what is not there yet, and all that speaks of the whole."""
        for slot, answers in self.released.items():
            if not all((self.home / path).exists() for path in self._paths(slot)):
                self._put(self._period(slot, answers()))
        self._put(self._series_files())
        self._put(self._latest({}))
        self._put(self._about({}))

    def published(self, stored: Iterable[str] = ()) -> list[Path]:
        """Return the files of tables that are there, in a fixed order; not those that only speak of them.

        With what is `stored`, also those of it that are lost.
        """
        kinds, lost = (".parquet", ".csv", ".json"), {self.home / path for path in stored}
        written = (*self.home.glob("period=*/*"), *self.home.glob("period=*/revision=*/*"))
        periods = {*written, *(path for path in lost if path.parent != self.home)}
        found = [path for path in sorted(periods) if path.suffix in kinds]
        for name in self.running:
            own = {*self.home.glob(f"{name}.*"), *(path for path in lost if path.parent == self.home)}
            found += [path for path in sorted(own) if _is_table(path) and path.name.startswith(f"{name}.")]
        return found

    def differences(self) -> tuple[list[str], int]:
        """Return in which files something else stands than what was stored or which are not there, and of how many.

        Those that readers get of the whole, `latest` and what speaks of the tables, are compared with what would be
        written from what is stored.
        """
        stored: dict[str, bytes] = {}
        for slot, answers in self.released.items():
            stored |= self._period(slot, answers())
        stored |= self._series_files()
        found = self._unlike(stored, "is not what was stored; remove it and run sfumato publish run.")
        whole = self._latest(stored) | self._about(stored)
        if self.released or self.home.exists():  # before the first run nothing speaks of anything
            said = "is not what is written from what was stored; run sfumato publish run, which writes it again."
            found += self._unlike(whole, said)
        return found, len({*self.published(), *(self.home / path for path in whole)})

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
        return [kind for kind in ("parquet", "csv") if kind in self.file.formats]

    def _paths(self, slot: Slot) -> list[str]:
        listed = self.file.listed(slot)
        found = [f"{slot.path}/{spec.name}.{kind}" for spec in listed for kind in self._tables()]
        return found + ([f"{slot.path}/answer.json"] if "json" in self.file.formats else [])

    def _period(self, slot: Slot, answers: Mapping[str, Answer]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        specs = {spec.name: spec for spec in self.file.listed(slot)}
        for name, answer in answers.items():
            shown = published_frame(answer, specs[name])
            for kind, content in _written(shown, self._tables()).items():
                found[f"{slot.path}/{name}.{kind}"] = content
        if answers and "json" in self.file.formats:
            record = {
                "publication": self.file.name,
                "edition": self.file.edition,
                "period": slot.name,
                "first_day": slot.first.isoformat(),
                "last_day": slot.last.isoformat(),
                "promise": list(self.promise),
                "note": self.note,
                "tables": {name: _record(answer) for name, answer in answers.items()},
            }
            if slot.revision:
                record["revision"] = slot.revision
            if self.file.zone is not None:
                record["zone"] = self.file.zone.key
            found[f"{slot.path}/answer.json"] = _json(record)
        return found

    def _series_files(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for spec in self.file.running():
            shown = series_frame(self.running[spec.name], spec, self.keys_of(spec))
            for kind, content in _written(shown, self._tables()).items():
                found[f"{spec.name}.{kind}"] = content
        return found

    def keys_of(self, spec: TableSpec) -> tuple[str, ...]:
        """Return the columns of the groups of a running total."""
        from sfumato.publish.total import RunningTable

        return RunningTable(self.file, spec).measured.measure.keys

    def _content(self, path: str, stored: Mapping[str, bytes]) -> bytes | None:
        """Return what was stored for a file, or what stands in it, such as what another edition wrote."""
        place = self.home / path
        return stored[path] if path in stored else place.read_bytes() if place.exists() else None

    def _latest(self, stored: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return copies of the newest period of each table."""
        found: dict[str, bytes] = {}
        for slot in self.released:
            for path in () if slot.revision else self._paths(slot):
                name = path.rpartition("/")[2]
                content = self._content(path, stored)
                if content is not None:
                    found[f"latest/{name}" if name != "answer.json" else f"latest/{slot.unit}.json"] = content
        return found

    def _about(self, stored: Mapping[str, bytes]) -> dict[str, bytes]:
        files: dict[str, bytes] = {}
        for path in self.published(stored):
            name = path.relative_to(self.home).as_posix()
            content = self._content(name, stored)
            assert content is not None
            files[name] = content
        found = {
            "datapackage.json": _json(data_package(self.file, self.promise, files, self.note)),
            "registry.yaml": registry_record(self.file, self.promise).encode(),
        }
        for spec in self.file.tables:
            sample = next((content for path, content in files.items() if path.endswith(f"{spec.name}.csv")), None)
            if sample is not None:
                found[f"{spec.name}.csv-metadata.json"] = _json(csv_metadata(spec, sample))
        if "html" in self.file.formats:
            newest = {(slot.unit, slot.revision): (slot, answers) for slot, answers in self.released.items()}
            shown = [(slot, answers()) for slot, answers in newest.values()]
            found["index.html"] = page(self.file, self.promise, shown, self.running, self.note).encode()
        return found


def table_of(answer: Answer) -> Frame:
    """Return an answer as a table; of a model made-up rows, as many as it says that there are.

    Their coins are public and the same every time: they say nothing that the released model does not.
    """
    value = answer.value
    if hasattr(value, "sample"):
        rows = value.sample(max(1, round(value.total)), Noise(insecure_seed=0))
        return Frame((), {name: tuple(rows.column(name).to_pylist()) for name in rows.column_names})
    if not isinstance(value, (Frame, int, float, Fraction)) and not hasattr(value, "to_frame"):
        raise ParameterError(
            f"The answer to {answer.question.to_json()['question']} is no table, so it cannot be published period by "
            "period; ask it by itself with sfumato query."
        )
    return answer.frame


def published_frame(answer: Answer, spec: TableSpec) -> Frame:
    """Return a table as it is published: values with their intervals, small ones left out and rounded if asked for.

    Both are functions of what was released, for readability and not for privacy.
    """
    frame = table_of(answer)
    if hasattr(answer.value, "sample"):
        return frame
    columns = {name: list(cells) for name, cells in frame.columns.items()}
    values = [name for name in columns if name not in frame.keys]
    if spec.hide_below is not None:
        shown = next((name for name in values if name in ("count", "value")), values[0])
        hidden = [isinstance(cell, (int, float)) and cell < spec.hide_below for cell in columns[shown]]
        for name in values:
            columns[name] = [None if out else cell for cell, out in zip(columns[name], hidden, strict=True)]
    if spec.round_to is not None:
        for name in values:
            columns[name] = [_rounded(cell, spec.round_to, name) for cell in columns[name]]
    return Frame(frame.keys, {_column(name): tuple(cells) for name, cells in columns.items()})


def _column(name: str) -> str:
    """Return the name of a column for programs: x, x_low and x_high."""
    return f"value_{name}" if name in ("low", "high") else name.replace(", ", "_").replace(" ", "_")


def _rounded(cell: Any, step: int, name: str) -> Any:
    """Round a value to a multiple, and the ends of its interval outward."""
    if not isinstance(cell, (int, float)) or isinstance(cell, bool):
        return cell
    if name.endswith("low"):
        return int(cell // step) * step
    if name.endswith("high"):
        return -int(-cell // step) * step
    return int((cell + step / 2) // step) * step


def series_frame(series: Series | MeanSeries, spec: TableSpec, keys: tuple[str, ...]) -> Frame:
    """Return a running total as a table: a row for each period and group, with both bands, and its windows."""
    columns: dict[str, list[Any]] = {name: [] for name in ("period", *keys)}
    mean, places = isinstance(series, MeanSeries), PLACES if series.places is None else series.places
    shapes = {"mean" if mean else "total": series.totals()}
    if len(series.segments) == 1:
        shapes |= {f"{'mean_' if mean else ''}last_{width}": series.window(width) for width in spec.windows}
    ends = {name: _ends_of(found) for name, found in shapes.items()}
    for place, period in enumerate(series.periods):
        for number, cell in enumerate(series.keys):
            columns["period"].append(period)
            for name, value in zip(keys, cell, strict=True):
                columns[name].append(value.isoformat() if isinstance(value, date) else value)
            for name in shapes:
                for ending, numbers in ends[name].items():
                    # Values are rounded as Python does and ends as numpy does: stored files are compared byte by byte.
                    cell_value = numbers[place, number] if ending else float(numbers[place, number])
                    columns.setdefault(name + ending, []).append(round(cell_value, places))
    return Frame(("period", *keys), {name: tuple(cells) for name, cells in columns.items()})


def _ends_of(found: Estimates) -> dict[str, Any]:
    """Return the numbers of a column and of those with its ends, by what their names end with."""
    ends = {"_low": found.low, "_high": found.high, "_all_low": found.all_low, "_all_high": found.all_high}
    return {"": found.values} | ends


def _written(frame: Frame, kinds: list[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    if "csv" in kinds:
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(frame.columns)
        writer.writerows([["" if cell is None else cell for cell in row] for row in frame.rows()])
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


def _is_table(path: Path) -> bool:
    return path.suffix in (".csv", ".parquet")
