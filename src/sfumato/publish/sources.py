"""Where the rows of a period are: files next to this process, frames of Spark, or what a function hands over."""

from __future__ import annotations

import glob
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError, Unfinished
from sfumato.publish.calendar import Slot
from sfumato.publish.checks import DATE
from sfumato.publish.empties import no_rows
from sfumato.publish.file import NO_FILE, PublicationFile
from sfumato.table.data import Table

Rows = Callable[[date, date], Any]
"""What hands over the rows from a day to another, as anything that can be asked; also others, which are left out."""

Lend = Callable[[], AbstractContextManager[Table]]
"""What hands over the opened rows of a period."""


@dataclass(frozen=True)
class FilesOfDays:
    """The files of several days, and the path in which {date} stands for each."""

    source: str
    paths: tuple[str, ...]


class Absent:
    """Rows that are not there, of a period that was begun: if they were frozen it is completed without them."""

    def __init__(self, reason: ParameterError) -> None:
        self.reason = reason
        self.wanted = False

    def open(self) -> AbstractContextManager[Table]:
        """Raise what lacks."""
        self.wanted = True
        raise self.reason

    @contextmanager
    def told(self) -> Iterator[None]:
        """Say what lacks where a reading could not be made for want of it."""
        try:
            yield
        except Unfinished:
            if self.wanted:
                raise self.reason from None
            raise


def source_of(
    file: PublicationFile, slot: Slot, rows: Rows | None = None, empty: Callable[[], Collection[str]] = tuple
) -> Any:
    """Return the rows of a slot; what is not there is a public fact, and said before anything is reserved.

    `empty` says which days were declared to be without rows, where they have no file.
    """
    if rows is not None:
        return rows(slot.first, slot.last)
    spark = file.engine == "spark"
    if DATE not in file.source:
        return spark_frame(file, slot, [file.source]) if spark else file.source
    files = [(path, slot.first + timedelta(days=place)) for place, path in enumerate(file.paths_of(slot))]
    # Where Spark reads, nobody looks for files here.
    lacking = {day for path, day in files if spark or not Path(path).exists()}
    out = lacking & set(map(date.fromisoformat, empty())) if lacking else set()
    kept = [(path, day) for path, day in files if day not in out]
    if not kept:
        return no_rows(file)
    return spark_frame(file, slot, [path for path, _ in kept]) if spark else files_of(file, kept)


def files_of(file: PublicationFile, files: Sequence[tuple[str, date]]) -> str | FilesOfDays:
    """Return the file of a slot, or those of its days."""
    paths = [path for path, _ in files]
    for path, day in files:
        if not Path(path).exists():
            raise ParameterError(NO_FILE.format(day=day, place=path))
    folders = [Path(path).is_dir() for path in paths]
    if any(folders) and len(paths) > 1:
        # One pattern reads them all, and would pass over what is of the other kind, or is empty, in silence.
        for place, path in enumerate(paths):
            if not folders[place]:
                raise ParameterError(f"{path} is a file, and other days are folders; write all of them alike.")
            if not any(Path(path).rglob("*.parquet")):
                raise ParameterError(NO_FILE.format(day=files[place][1], place=path))
    return paths[0] if len(paths) == 1 else FilesOfDays(file.source, tuple(paths))


@contextmanager
def gathered(source: Any) -> Iterator[Any]:
    """Hand over something that can be opened: of several files a pattern that these and no others match.

    A pattern in the directory itself would match the files of all days. Folders keep their names from the first on that
    has a date or a sign of equality, because a name such as country=CH is a column.
    """
    if not isinstance(source, FilesOfDays):
        yield source
        return
    parts = Path(source.source).parts
    first = next(place for place, part in enumerate(parts) if DATE in part or "=" in part)
    with tempfile.TemporaryDirectory(prefix="sfumato-") as place:
        for path in source.paths:
            link = Path(place, *Path(path).parts[first:])
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(Path(path).resolve())
        below = [glob.escape(part).replace(DATE, "*") for part in parts[first:]]
        folders = ["**", "*.parquet"] if Path(source.paths[0]).is_dir() else []
        yield str(Path(glob.escape(place), *below, *folders))


@contextmanager
def lent(opens: Lend) -> Iterator[Lend]:
    """Open a period when its rows are first wanted, for all that is asked of it, and close it at the end."""
    with ExitStack() as opened:
        found: list[Table] = []

        def lend() -> AbstractContextManager[Table]:
            if not found:
                found.append(opened.enter_context(opens()))
            return nullcontext(found[0])

        yield lend


def spark_frame(file: PublicationFile, slot: Slot, paths: Sequence[str]) -> Any:
    """Return the Parquet files of a slot as a frame of the Spark that runs, or of one that is started."""
    try:
        from pyspark.errors import AnalysisException
        from pyspark.sql import SparkSession
    except ImportError:
        raise ParameterError("engine = 'spark' needs pyspark; install sfumato[spark], or leave engine out.") from None
    reader = SparkSession.builder.getOrCreate().read
    try:
        return reader.parquet(*paths)
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise ParameterError(
                f"Spark cannot read the files of {slot.name} as Parquet ({error.getCondition()})."
            ) from None
    raise ParameterError(NO_FILE.format(day=slot.name, place=file.source))
