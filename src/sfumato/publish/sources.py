"""Where the rows of a period are: files next to this process, frames of Spark, or what a function hands over."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

from sfumato.errors import ParameterError
from sfumato.publish.calendar import Slot
from sfumato.publish.file import NO_FILE, PublicationFile

Rows = Callable[[date, date], Any]
"""What hands over the rows from a day to another, as anything that can be asked; also others, which are left out."""


def source_of(file: PublicationFile, slot: Slot, rows: Rows | None = None) -> Any:
    """Return the rows of a slot; what is not there is a public fact, and said before anything is reserved."""
    if rows is not None:
        return rows(slot.first, slot.last)
    return spark_frame(file, slot) if file.engine == "spark" else file.source_of(slot)


def spark_frame(file: PublicationFile, slot: Slot) -> Any:
    """Return the Parquet files of a slot as a frame of the Spark that runs, or of one that is started."""
    try:
        from pyspark.errors import AnalysisException
        from pyspark.sql import SparkSession
    except ImportError:
        raise ParameterError("engine = 'spark' needs pyspark; install sfumato[spark], or leave engine out.") from None
    reader = SparkSession.builder.getOrCreate().read
    try:
        return reader.parquet(*file.paths_of(slot))
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise ParameterError(
                f"Spark cannot read the files of {slot.name} as Parquet ({error.getCondition()})."
            ) from None
    raise ParameterError(NO_FILE.format(day=slot.name, place=file.source))
