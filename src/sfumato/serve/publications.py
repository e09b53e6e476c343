"""Publications that a service shows: what is promised, the newest tables, and all files that were published.

Only what stands in the folder of published files is shown, and of it only what the publication itself lists. Running a
publication is the business of `sfumato publish run`: the service never reads its data.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from sfumato.publish import Publication, Verified
from sfumato.serve.house import Published

PACKAGE = "datapackage.json"
PAGE = "index.html"
KINDS = {
    ".csv": "text/csv; charset=utf-8",
    ".parquet": "application/vnd.apache.parquet",
    ".json": "application/json",
    ".yaml": "text/plain; charset=utf-8",
    ".html": "text/html; charset=utf-8",
}
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
        latest = [f"latest/{name}" for name in (*names, *(f"{unit}.json" for unit in self.publication.file.units()))]
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
        return Newest(PurePosixPath(path).stem, path, columns, few, len(rows) - len(few))

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
