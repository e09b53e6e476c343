"""How much memory an engine may take, and where it puts what does not fit: facts about the machine, not the data."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError
from sfumato.exact import positive_integer
from sfumato.table.scratch import Scratch, sweep

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
STORAGE_LEVELS = ("MEMORY_AND_DISK", "DISK_ONLY", "MEMORY_ONLY")


@dataclass(frozen=True)
class Resources:
    """What may be used while questions are answered.

    `memory_limit` ("8GB") is what DuckDB may hold, and what a reading may need here; without it that is eight tenths of
    the machine's memory. `temp_directory` is where DuckDB puts what does not fit: a fresh directory below it, readable
    by this user alone, removed when the table is closed or the program ends, and after a kill by the next opening.
    Coded rows lie there in the clear, so it is as secret as the data. `storage` is how Spark keeps what it computed
    once: MEMORY_AND_DISK, DISK_ONLY or MEMORY_ONLY. `most_rows` is how many rows the table has at most, as
    everybody may know: where nothing else that is public bounds a reading, this does, and what would not fit memory is
    refused before it is charged.

    >>> Resources(memory_limit="2GB").memory
    2147483648
    """

    memory_limit: str | int | None = None
    temp_directory: str | Path | None = None
    storage: str = STORAGE_LEVELS[0]
    most_rows: int | None = None

    def __post_init__(self) -> None:
        if self.memory_limit is not None:
            object.__setattr__(self, "memory_limit", in_bytes(self.memory_limit))
        if self.most_rows is not None:
            positive_integer(self.most_rows, "most_rows")
        if self.storage not in STORAGE_LEVELS:
            raise ParameterError(f"storage is one of {', '.join(STORAGE_LEVELS)}, not {self.storage!r}.")
        if self.temp_directory is not None and not Path(self.temp_directory).is_dir():
            raise ParameterError(f"temp_directory {str(self.temp_directory)!r} is no directory; make it first.")

    @property
    def memory(self) -> int:
        """How many bytes a reading may take in this process."""
        if self.memory_limit is not None:
            return int(self.memory_limit)
        return machine_memory() * 8 // 10

    def apply(self, engine: Any) -> Any:
        """Tell a DuckDB of this process what it may use; return what removes its temporary files.

        What processes that were killed left in the same place is removed first.
        """
        sweep(self.temp_directory)
        scratch = Scratch(self.temp_directory)
        engine.con.execute("SET temp_directory = ?", [str(scratch.path)])
        if self.memory_limit is not None:
            engine.con.execute(f"SET memory_limit = '{self.memory_limit}B'")
        return scratch.close


def in_bytes(size: str | int) -> int:
    """Read a size such as "8GB", "512m" or a number of bytes.

    >>> in_bytes("16m"), in_bytes(1000)
    (16777216, 1000)
    """
    found = re.fullmatch(r"\s*(\d+)\s*([kmgt]?)(i?b)?\s*", str(size).lower())
    if found is None or isinstance(size, bool):
        raise ParameterError(f"{size!r} is no size of memory; write for example '8GB'.")
    return int(found[1]) * _UNITS[found[2]]


@cache
def machine_memory() -> int:
    """Return the memory that this process may have: the machine's, or what its container is allowed."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(name).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdigit():
            return min(whole, int(text))
    return whole


def shown(size: int) -> str:
    """Return a size for people.

    >>> shown(3 * 2**30), shown(5_000_000)
    ('3.0 GiB', '4.8 MiB')
    """
    for name, unit in (("GiB", 2**30), ("MiB", 2**20)):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
