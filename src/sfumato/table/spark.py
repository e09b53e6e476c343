"""Frames of Spark: which ones can be read without raising on a cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sfumato.errors import SchemaError

_SCANS = {
    *("LogicalRelation", "HiveTableRelation", "DataSourceV2Relation", "DataSourceV2ScanRelation"),
    *("InMemoryRelation", "LocalRelation", "LogicalRDD", "Range"),
}
_NAMES = {"SubqueryAlias", "View"}
_REBASE = ("spark.sql.parquet.datetimeRebaseModeInRead", "spark.sql.parquet.int96RebaseModeInRead")
_PARSED = {"spark.sql.parser.escapedStringLiterals": "false", "spark.sql.groupByOrdinal": "true"}
"""How Spark must read the queries that are written here: otherwise every text is missing, or nothing can be grouped."""


def require_plain(frame: Any) -> None:
    """Refuse a frame that computes something before it is read, by its public plan; and a Spark that cannot be trusted.

    A filter or a cast of somebody else runs before the clamps of the schema, and in Spark's ANSI mode it raises.
    """
    if int(frame.sparkSession.version.split(".")[0]) < 4:
        raise SchemaError("Spark before 4.0 cannot tell text from other bytes; read the data with Spark 4.")
    if any(str(frame.sparkSession.conf.get(mode)).upper() == "EXCEPTION" for mode in _REBASE):
        raise SchemaError(f"Spark would raise on old dates: set {' and '.join(_REBASE)} to CORRECTED.")
    for setting, wanted in _PARSED.items():
        if str(frame.sparkSession.conf.get(setting)).lower() != wanted:
            raise SchemaError(f"Spark would misread what is asked: set {setting} to {wanted}.")
    try:
        plan = frame._jdf.queryExecution().analyzed()
    except Exception:
        plan = None
    found = "unknown" if plan is None else _computed(plan)
    if found:
        raise SchemaError(
            f"A Spark source is a table or some of its columns, and this frame computes something ({found}) when it is "
            "read; write it to Parquet first, and open that."
        )


def _computed(plan: Any) -> str | None:
    """Return the first step of a plan that is no scan and no choice of plain columns."""
    name = str(plan.getClass().getSimpleName())
    if name in _SCANS:
        return _strict(plan) if name == "LogicalRelation" else None
    if name == "Project":
        chosen = plan.projectList()
        if not all(_plain(chosen.apply(place)) for place in range(chosen.size())):
            return "a computed column"
    elif name not in _NAMES:
        return name
    children = plan.children()
    parts = (_computed(children.apply(place)) for place in range(children.size()))
    return next((part for part in parts if part), None)


def _strict(plan: Any) -> str | None:
    """Return how a reader of text treats a line that does not fit, unless it reads the cells that do not as missing."""
    try:
        options = plan.relation().options()
        listed = {str(one._1()).lower(): str(one._2()) for one in _each(options.iterator())}
    except Exception:
        return None  # no file, so that no line is read
    mode = listed.get("mode", "PERMISSIVE").upper()
    return None if mode == "PERMISSIVE" else f"mode {mode}, by which one cell decides what becomes of a row"


def _each(iterator: Any) -> Iterator[Any]:
    while iterator.hasNext():
        yield iterator.next()


def _plain(column: Any) -> bool:
    while str(column.getClass().getSimpleName()) == "Alias":
        column = column.child()
    return str(column.getClass().getSimpleName()) == "AttributeReference"
