"""Publications that a service shows: what is promised, the newest tables, and all files that were published.

Only what stands in the folder of published files is shown, and of it only what the publication itself lists. Running a
publication is the business of `sfumato publish run`: the service never reads its data.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from sfumato.publish import Publication, Verified
from sfumato.publish.calendar import latest_of
from sfumato.serve.house import Published
from sfumato.show.views import readable

PACKAGE = "datapackage.json"
PAGE = "index.html"
KINDS = {
    ".csv": "text/csv; charset=utf-8",
    ".parquet": "application/vnd.apache.parquet",
    ".json": "application/json",
    ".yaml": "text/plain; charset=utf-8",
    ".html": "text/html; charset=utf-8",
}
LEFT_OUT, UNKNOWN = "–", "not known"
SHOWN_ROWS = 30
"""So many rows of a table stand on the page; the file has all of them."""


@dataclass(frozen=True)
class Newest:
    """The newest table of a name, as it is shown."""

    name: str
    path: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    more: int


class Shelf:
    """The publications of a house, by name."""

    def __init__(self, listed: Sequence[Published]) -> None:
        self._shown = {terms.name: ShownPublication(terms) for terms in listed}

    def get(self, name: str) -> ShownPublication | None:
        """Return a publication by its name in the house."""
        return self._shown.get(name)

    def __iter__(self) -> Iterator[ShownPublication]:
        return iter(self._shown.values())


class ShownPublication:
    """One publication."""

    def __init__(self, terms: Published) -> None:
        self.terms = terms
        self.publication = Publication.load(terms.file)

    @property
    def name(self) -> str:
        """Its name in the house."""
        return self.terms.name

    @property
    def title(self) -> str:
        """What people call it."""
        return self.terms.title or self.publication.file.name

    @property
    def home(self) -> Path:
        """Where its published files are."""
        return self.publication.file.to / self.publication.file.name

    def promise(self) -> list[str]:
        """Return what is promised, in sentences."""
        return self.publication.words()

    def resources(self) -> list[dict[str, Any]]:
        """Return what was published: path, size and digest of every file; nothing before the first run."""
        try:
            found = json.loads((self.home / PACKAGE).read_bytes())["resources"]
            return [{name: one[name] for name in ("path", "bytes", "hash")} for one in found]
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def paths(self) -> list[str]:
        """Return all files that may be taken: those that the publication lists, copies of the newest, what is said."""
        listed = [str(one["path"]) for one in self.resources()]
        if not listed:
            return []
        names = dict.fromkeys(PurePosixPath(path).name for path in listed)
        tables = [spec.name for spec in self.publication.file.tables]
        about = [PACKAGE, "registry.yaml", PAGE, *(f"{name}.csv-metadata.json" for name in tables)]
        latest = [*(f"latest/{name}" for name in names), *map(latest_of, self.publication.file.units())]
        return [path for path in (*listed, *latest, *about) if (self.home / path).is_file()]

    def file(self, path: str) -> tuple[bytes, str] | None:
        """Return a published file and its kind, None if there is none of this name."""
        kind = KINDS.get(PurePosixPath(path).suffix)
        if kind is None or path not in self.paths():
            return None
        return (self.home / path).read_bytes(), kind

    def newest(self) -> list[Newest]:
        """Return the newest table of each name, and running totals as far as they run."""
        running = [f"{spec.name}.csv" for spec in self.publication.file.running()]
        wanted = [*(f"latest/{spec.name}.csv" for spec in self.publication.file.anew()), *running]
        there = self.paths()
        return [self._table(path, newest_last=path in running) for path in wanted if path in there]

    def _table(self, path: str, newest_last: bool) -> Newest:
        with (self.home / path).open(encoding="utf-8", newline="") as text:
            columns, *rows = csv.reader(text)
        # Newest periods first; the groups of each stay in their order.
        few = (sorted(rows, key=lambda row: row[0], reverse=True) if newest_last else rows)[:SHOWN_ROWS]
        shown, said = as_read(columns, few)
        return Newest(PurePosixPath(path).stem, path, shown, said, len(rows) - len(few))

    def to_json(self) -> dict[str, Any]:
        """Return what is public about it."""
        return {
            "name": self.name,
            "title": self.title,
            "edition": self.publication.file.edition,
            "promise": self.promise(),
            "files": self.resources(),
        }

    def verify(self) -> Verified | None:
        """Work everything out again, the ledger and every file; None before the first run, which makes the ledger."""
        return self.publication.verify() if self.resources() else None


def as_read(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """Return a published table for people: intervals beside the numbers, as many digits as these leave certain.

    >>> as_read(["sex", "n", "n_low", "n_high"], [["F", "20.2931", "15.51", "25.076"], ["M", "", "", ""]])
    (['sex', 'n', 'n, 95 %'], [['F', '20.3', '15.5 to 25.1'], ['M', '–', '']])
    """
    measured = [name for name in columns if {f"{name}_low", f"{name}_high"} <= {*columns}]
    beside = {f"{name}{ending}" for name in measured for ending in ("_low", "_high", "_all_low", "_all_high", "_known")}
    shown = {name: [name] for name in columns if name not in beside}
    for name in measured:
        everywhere = [f"{name}, 95 % everywhere"] if f"{name}_all_low" in columns else []
        shown[name] = [name, f"{name}, 95 %", *everywhere]
    said = []
    for row in rows:
        cells = dict(zip(columns, row, strict=True))
        said.append([one for name in shown for one in _cells(name, cells, name in measured)])
    return [one for names in shown.values() for one in names], said


def _cells(name: str, cells: Mapping[str, str], measured: bool) -> list[str]:
    """Return what stands in a row for a column: its text, or a number and its intervals."""
    if not measured:
        return [cells[name] or LEFT_OUT]
    spans = [_span(cells, f"{name}{ending}") for ending in ("", "_all") if f"{name}{ending}_low" in cells]
    if cells[name] == "":
        value = LEFT_OUT
    elif cells.get(f"{name}_known") == "false":
        value = UNKNOWN
    else:
        value = readable(_number(cells[name]), spans[0][1])
    return [value, *(text for text, _ in spans)]


def _span(cells: Mapping[str, str], name: str) -> tuple[str, float | None]:
    """Return an interval in words, and its width."""
    low, high = cells[f"{name}_low"], cells[f"{name}_high"]
    if low == "" or high == "":
        return "", None
    width = float(high) - float(low)
    return f"{readable(_number(low), width)} to {readable(_number(high), width)}", width


def _number(text: str) -> int | float:
    return int(text) if text.removeprefix("-").isdecimal() else float(text)
