"""Which files a source stands for, and whether they are still the same (SM-SOURCE).

Those that are read and those that are watched come from one list: two libraries understand a pattern differently.

Sizes and times depend on cells, so an identity is private: it is compared, kept beside the data, and never shown.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
from collections.abc import Callable
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
        return self._digest(lambda found: (found.st_size, found.st_mtime_ns))

    def state(self) -> str:
        """Return a text that stays equal while the files stay what they are on this machine.

        A file that another one of the same size and time is put in the place of is told by its number on the disk and
        by when that was done. An identity outlives this: a file that is copied back from a backup is the same.
        """
        return self._digest(
            lambda found: (found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev, found.st_ctime_ns)
        )

    def _digest(self, facts: Callable[[os.stat_result], tuple[int, ...]]) -> str:
        seen = sorted(_seen(path, facts) for path in self._paths())
        return hashlib.sha256(json.dumps([seen, self.table]).encode()).hexdigest()

    def _paths(self) -> list[Path]:
        # What a database has not yet written into its file lies beside it.
        beside = Path(f"{self.source}.wal")
        return [*map(Path, listed(self.source)), *([beside] if beside.exists() else [])]


def listed(source: str) -> list[str]:
    """Return the files that a path, a folder of Parquet files or a pattern stands for, each file once.

    A path at which something lies is no pattern, whatever signs it has. A pattern takes names that begin with a dot.
    """
    here = Path(source)
    if here.exists() and not here.is_dir():
        return [source]
    pattern = os.path.join(glob.escape(source), "**", "*.parquet") if here.is_dir() else source  # noqa: PTH118
    found = sorted(glob.glob(pattern, recursive=True, include_hidden=True))  # noqa: PTH207  from any directory
    # Through links between folders a file can be reached twice, and its rows would count twice.
    return list({os.path.realpath(one): one for one in reversed(found) if Path(one).is_file()}.values())[::-1]


def files_of(source: Any, table: str | None) -> Files | None:
    """Return the files behind a source, None for frames, clusters and servers, which have no identity to look at."""
    if isinstance(source, Path) or (isinstance(source, str) and ADDRESS not in source):
        return Files(str(source), table)
    return None


def _seen(path: Path, facts: Callable[[os.stat_result], tuple[int, ...]]) -> tuple[str | int, ...]:
    try:
        return (str(path.resolve()), *facts(path.stat()))
    except OSError:
        return (str(path), -1)  # gone: differs from whatever it was
