"""Frames of Spark: which ones can be read without raising on a cell, and which are copied when they are opened."""

from __future__ import annotations

from typing import Any

from sfumato.errors import SchemaError
from sfumato.table.spark_files import SparkFiles
from sfumato.table.spark_relations import Computes, Leaf, behind, each, require_relation

_NAMES = {"SubqueryAlias", "View"}
_REBASE = ("spark.sql.parquet.datetimeRebaseModeInRead", "spark.sql.parquet.int96RebaseModeInRead")
_SETTINGS = {
    # How Spark must read the queries that are written here: otherwise every text is missing, or nothing can be grouped.
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.groupByOrdinal": "true",
    # Rows behind a damaged page would be there in some questions and not in others.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}


def require_plain(frame: Any) -> Leaf:
    """Refuse a frame that computes something before it is read, by its public plan; and a Spark that cannot be trusted.

    A filter or a cast of somebody else runs before the clamps of the schema, and in Spark's ANSI mode it raises; a
    window, a limit or a sample lets one row decide about another. Returns what the frame reads in the end.
    """
    if int(frame.sparkSession.version.split(".")[0]) < 4:
        raise SchemaError("Spark before 4.0 cannot tell text from other bytes; read the data with Spark 4.")
    require_settings(frame.sparkSession)
    try:
        plan = frame._jdf.queryExecution().analyzed()
        # Of a frame of its own: what was planned before somebody cached the rows still shows the table.
        cached = _holds_cache(frame.alias("sfumato")._jdf.queryExecution().withCachedData())
    except Exception:
        plan, cached = None, False
    try:
        if plan is None:
            raise Computes("unknown")
        return require_relation(*_leaf(plan), cached, frame.sparkSession)
    except Computes as found:
        raise SchemaError(
            f"A Spark source is a table or some of its columns, and this frame computes something ({found}) when it is "
            "read; write it to Parquet first, and open that."
        ) from None


def require_settings(session: Any) -> None:
    """Refuse a session that would raise on a cell, misread what is asked, or leave rows out."""
    if any(str(session.conf.get(mode)).upper() == "EXCEPTION" for mode in _REBASE):
        raise SchemaError(f"Spark would raise on old dates: set {' and '.join(_REBASE)} to CORRECTED.")
    for setting, wanted in _SETTINGS.items():
        if str(session.conf.get(setting)).lower() != wanted:
            raise SchemaError(f"Spark would misread what is asked, or leave rows out: set {setting} to {wanted}.")


class Watch:
    """Whether what a curator reads in place is still what was opened (SM-SOURCE)."""

    def __init__(self, session: Any, leaf: Leaf) -> None:
        self._session = session
        self._files = None if leaf.index is None else SparkFiles(session, leaf.index)
        self._before = self._now()

    def __call__(self) -> bool:
        """Tell whether the files are the same, and refuse a session that was set to read them otherwise."""
        require_settings(self._session)
        return self._files is None or (self._before != "" and self._now() == self._before)

    def _now(self) -> str:
        return "" if self._files is None else self._files.identity()


def _leaf(plan: Any) -> tuple[Any, list[Any]]:
    """Return what a plan reads, and the choices of columns on the way there; refuse every other step."""
    choices = []
    while plan.children().size():
        name = str(plan.getClass().getSimpleName())
        if name == "Project":
            choices.append(plan.projectList())
            if any(_column(one) is None for one in each(plan.projectList())):
                raise Computes("a computed column")
        elif name not in _NAMES or plan.children().size() > 1:
            raise Computes(name)
        plan = plan.children().apply(0)
    return plan, choices


def _column(chosen: Any) -> Any:
    """Return the column that a choice shows under its own or another name, None if it is computed."""
    found = behind(chosen)
    return found if str(found.getClass().getSimpleName()) == "AttributeReference" else None


def _holds_cache(plan: Any) -> bool:
    return str(plan.getClass().getSimpleName()) == "InMemoryRelation" or any(
        _holds_cache(child) for child in each(plan.children())
    )
