"""Which files a table was read from, and whether they are still the same (SM-SOURCE).

Sizes and times depend on cells, so an identity is private: it is compared, kept beside the data, and never shown.
"""

from __future__ import annotations

import glob
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ADDRESS = "://"


@dataclass(frozen=True)
class Files:
    """The files behind a source: what the caller wrote, and the table inside a database file."""

    source: str
    table: str | None = None

    def identity(self) -> str:
        """Return a text that is equal for equal files: their places, sizes and times of change, and the table."""
        seen = sorted(_facts(path) for path in self._paths())
        return hashlib.sha256(json.dumps([seen, self.table]).encode()).hexdigest()

    def _paths(self) -> list[Path]:
        here = Path(self.source)
        if here.is_dir():
            return list(here.rglob("*.parquet"))
        if here.exists():
            # What a database has not yet written into its file lies beside it.
            beside = Path(f"{self.source}.wal")
            return [here, beside] if beside.exists() else [here]
        return [Path(found) for found in glob.glob(self.source, recursive=True)]  # noqa: PTH207  from any directory


def files_of(source: Any, table: str | None) -> Files | None:
    """Return the files behind a source, None for frames, clusters and servers, which have no identity to look at."""
    if isinstance(source, Path) or (isinstance(source, str) and ADDRESS not in source):
        return Files(str(source), table)
    return None


def _facts(path: Path) -> tuple[str, int, int]:
    try:
        found = path.stat()
    except OSError:
        return str(path), -1, -1  # gone: differs from whatever it was
    return str(path.resolve()), found.st_size, found.st_mtime_ns
