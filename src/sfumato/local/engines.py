"""Reports stored in tables become the same sketch where they lie: on DuckDB by default, on Spark for more.

A sketch is how often each value came, so an engine has to read, group and count only; what it hands back is at most
one row for each value. Every engine gives the same integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError, SketchError
from sfumato.local.collector.collection import Collected
from sfumato.local.collector.files import byte_rows
from sfumato.local.collector.ids import ID_BYTES
from sfumato.local.collector.intake import Intake
from sfumato.local.plan import Plan
from sfumato.local.server import Server
from sfumato.local.wire import TAG_BYTES, VERSION, Refused

if TYPE_CHECKING:
    from sfumato.table.engine import Source

# What a row is; in the order of the checks.
_ENVELOPE, _LENGTH, _GOOD, _VERSION, _PLAN, _VALUE = range(6)
_ENGINES = ("duckdb", "pyspark")


def aggregate(
    plan: Plan,
    source: Any,
    *,
    report: str = "report",
    id: str | None = "id",
    table: str | None = None,
) -> Collected:
    """Return the sketch of reports stored in a table: Parquet, a DuckDB file, an Arrow table, a Spark frame.

    `report` and `id` name columns of bytes; `id=None` says that the table has no ids and every row counts. An id counts
    once, with the smallest of its values, and what is no report of the plan is counted and refused: the same
    numbers to the last bit as a `Collector` gives for the same reports in any order, on every engine.

    >>> import pyarrow as pa
    >>> from sfumato import Pure, local
    >>> plan = local.plan(users=1000, spend=Pure(1), candidates=["red", "green", "blue"])
    >>> rows = pa.table({"id": [bytes(16), bytes(16), b"odd"], "report": [plan.client().report("red")] * 3})
    >>> print(local.aggregate(plan, rows).intake)
    1 report accepted, 1 duplicate dropped, 1 refused (envelope 1).
    """
    from sfumato.table.source import open_source

    opened = open_source(source, table=table)
    try:
        _require_bytes(opened, [name for name in (report, id) if name is not None])
        if opened.engine.name not in _ENGINES:
            raise ParameterError(
                f"Reports are counted on DuckDB or Spark, not on {opened.engine.name}; export them to Parquet."
            )
        opened = opened.loaded([name for name in (report, id) if name is not None])
        found = _run(opened, _query(plan, opened, report, id))
    finally:
        opened.close()
    return _collected(plan, found)


def _require_bytes(opened: Source, columns: list[str]) -> None:
    schema = opened.table.schema()
    for column in columns:
        if column not in schema.names or not schema[column].is_binary():
            raise ParameterError(
                f"The table needs a column {column!r} of bytes; name the columns by report= and id=, and write id=None "
                "if reports have no ids."
            )


def _query(plan: Plan, opened: Source, report: str, id: str | None) -> str:
    """Return the query: one row for each report that came, and one for each kind of row.

    Reports of one length sort as their numbers do. So a good report lies between two bytestrings, and of several under
    one id the smallest has the smallest value; no number is made of the bytes before they are back here.
    """
    quote = "`" if opened.engine.name == "pyspark" else '"'

    def column(name: str) -> str:
        return quote + name.replace(quote, 2 * quote) + quote

    sender = "NULL" if id is None else column(id)
    nobody = "FALSE" if id is None else f"sender IS NULL OR octet_length(sender) <> {ID_BYTES}"
    once = "report FROM judged" if id is None else "min(report) AS report FROM judged"
    per_id = "" if id is None else "GROUP BY sender"
    low, high = (plan.wire.pack(value).hex() for value in (0, plan.offsets[-1] - 1))
    return f"""
WITH stored AS ({opened.engine.compile(opened.table)}),
sent AS (SELECT {sender} AS sender, {column(report)} AS report FROM stored),
judged AS (
    SELECT sender, report, CASE
        WHEN ({nobody}) OR report IS NULL THEN {_ENVELOPE}
        WHEN octet_length(report) <> {plan.report_bytes} THEN {_LENGTH}
        WHEN report >= unhex('{low}') AND report <= unhex('{high}') THEN {_GOOD}
        WHEN substr(hex(report), 1, 2) <> '{VERSION:02X}' THEN {_VERSION}
        WHEN substr(hex(report), 3, {2 * TAG_BYTES}) <> '{plan.wire.tag.hex().upper()}' THEN {_PLAN}
        ELSE {_VALUE} END AS kind
    FROM sent)
SELECT report, {_GOOD} AS kind, count(*) AS times FROM (SELECT {once} WHERE kind = {_GOOD} {per_id}) AS counted
GROUP BY report
UNION ALL
SELECT NULL AS report, kind, count(*) AS times FROM judged GROUP BY kind
"""


def _run(opened: Source, query: str) -> Any:
    """Return the rows of the answer as an Arrow table."""
    if not opened.is_duckdb:
        return opened.engine.raw_sql(query).toArrow()
    with opened.turn:
        return opened.engine.con.sql(query).to_arrow_table()


def _collected(plan: Plan, found: Any) -> Collected:
    server = Server(plan)
    good = found.filter(found.column("report").is_valid())
    values, fine, _ = plan.wire.read_many(byte_rows(good.column("report"), plan.report_bytes))
    if not fine.all():
        raise SketchError("The engine compares bytes in an order of its own; count these reports with a Collector.")
    times = good.column("times").to_numpy()
    server.counts[values] = times
    server.accepted = int(times.sum())
    kinds = found.filter(found.column("report").is_null())
    count = dict(zip(kinds.column("kind").to_pylist(), kinds.column("times").to_pylist(), strict=True))
    server.refused = Refused(*(count.get(kind, 0) for kind in (_LENGTH, _VERSION, _PLAN, _VALUE)))
    duplicates = count.get(_GOOD, 0) - server.accepted
    return Collected(server, Intake(server.accepted, duplicates, count.get(_ENVELOPE, 0), refused=server.refused))
