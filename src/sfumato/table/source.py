"""Where the data are: files, frames, databases, clusters; each becomes one Ibis table."""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.domain import nearest
from sfumato.errors import SchemaError
from sfumato.table.engine import Source, duckdb_engine, frame_source, fresh_name
from sfumato.table.frames import Frame, arrow_frame, open_frame

if TYPE_CHECKING:
    import ibis.expr.types as ir

_PARQUET = (".parquet", ".pq", ".parq")
_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_CSV_OPTIONS = {
    # Types and dialects guessed from cells would be facts about the data: the header names the columns, the ending
    # says what divides them, and every cell is text until the schema reads it.
    "auto_detect": False,
    "header": True,
    "quote": '"',
    "escape": '"',
    # A line that has too few cells or too many must not fail the others; one reader, because DuckDB's parallel one
    # refuses files with short lines and quoted line ends, which is a fact about the data.
    "null_padding": True,
    "ignore_errors": True,
    "strict_mode": False,
    "parallel": False,
}
_AS_UTF_8 = "save it as UTF-8: in Excel as 'CSV UTF-8', in a shell by iconv -f {} -t UTF-8 old.csv > new.csv."
_CHUNK = 1 << 20
_LONGEST_LINE = 2_000_000
"""Longer lines are errors to the reader."""
_PARQUET_SCAN = "read_parquet('{}', hive_types_autocast=false)"
"""The names of folders are texts: a type that is guessed from all of them would let one folder change the others."""
_DUCKDB = (".duckdb", ".ddb", ".db")
_POSTGRES = ("postgres://", "postgresql://")
_STORE_IT = "Its conversions would run before the clamps of the schema: store it as a table first, and open that one."
_WAYS = (
    "a Parquet, CSV or DuckDB file, a postgresql:// address, an Arrow table, a pandas or polars frame, a Spark frame, "
    "or an Ibis table"
)


def open_source(source: Any, *, table: str | None = None, among: str | None = None) -> Source:
    """Return any supported source as one Ibis table, by default on an in-process DuckDB.

    `table=` names the table of a database; `among=` the one to take where there are several and none is named.
    """
    if isinstance(source, Path) or (isinstance(source, str) and not source.startswith(_POSTGRES)):
        return _open_file(str(source), table, among)
    if isinstance(source, str):
        return _open_postgres(source, table, among=among)
    # Told apart by the module of their class, so that nothing is imported that the caller has not imported.
    family = type(source).__module__.split(".")[0]
    if family == "ibis":
        return _open_ibis(source)
    if family == "pyspark":
        return _open_spark(source)
    frame = _converted(source, family)
    if frame is not None:
        return frame_source(frame, family)
    raise SchemaError(f"A source is {_WAYS}, not {type(source).__name__}.")


def _open_file(path: str, table: str | None, among: str | None) -> Source:
    name = path.lower()
    if not any(mark in path for mark in "*?[") and not Path(path).exists():
        raise SchemaError(f"There is no file {path!r}; write the path of {_WAYS}.")
    if name.endswith(_DUCKDB):
        return _open_database(path, table, among)
    engine, scan, footers = duckdb_engine(), "", ""
    try:
        if name.endswith(_CSV):
            opened = _read_csv(engine, path, "\t" if ".tsv" in name[-7:] else ",")
        elif name.endswith(_PARQUET) or Path(path).is_dir():
            pattern = f"{path}/**/*.parquet" if Path(path).is_dir() else path
            files = pattern.replace("'", "''")
            scan, footers = _PARQUET_SCAN.format(files), f"parquet_schema('{files}')"
            engine.con.execute(f'CREATE TEMP VIEW "sfumato_source" AS SELECT * FROM {scan}')
            opened = engine.table("sfumato_source")
        else:
            raise SchemaError(_unknown_ending(path))
    except SchemaError:
        engine.disconnect()
        raise
    except Exception as error:
        engine.disconnect()
        raise SchemaError(f"{path!r} cannot be read as what its ending says ({type(error).__name__}).") from None
    kind = "parquet" if scan else "csv"
    return Source(opened, engine, kind, scan=scan, footers=footers, _closers=[engine.disconnect])


def _unknown_ending(path: str) -> str:
    ending = Path(path).suffix.lower()
    read = {
        ".xlsx": "read_excel",
        ".xls": "read_excel",
        ".ods": "read_excel",
        ".json": "read_json",
        ".sas7bdat": "read_sas",
    }
    read |= {".jsonl": "read_json", ".dta": "read_stata", ".sav": "read_spss", ".feather": "read_feather"}
    if ending in read:
        return f"{path!r} is no file that is read here; give the frame itself: pandas.{read[ending]}({path!r})."
    if ending in (".txt", ".dat", ".tab"):
        return f"The ending of {path!r} is unknown; if it is divided by commas, semicolons or tabs, name it .csv."
    return f"The ending of {path!r} is unknown; write the path of {_WAYS}."


def _read_csv(engine: Any, path: str, divider: str) -> Any:
    matches = sorted(glob.glob(path)) or [path]  # noqa: PTH207  a pattern from any directory
    opener = gzip.open if path.lower().endswith(".gz") else open
    with opener(matches[0], "rb") as content:
        _require_utf_8(path, content.read(_CHUNK))
    with opener(matches[0], "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
        first = file.readline()
        divider = divider_of(first, divider)
        names = next(csv.reader(chain([first], file), delimiter=divider), [])
    _require_header(path, names)
    for match in matches:
        with opener(match, "rb") as content:
            _require_lines(path, content)
    return engine.read_csv(path, delim=divider, columns=dict.fromkeys(names, "VARCHAR"), **_CSV_OPTIONS)


def _require_utf_8(path: str, start: bytes) -> None:
    """Refuse a file in two bytes a sign: by its mark, or by a zero byte in its first line, which names columns."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in start.split(b"\n")[0]:
        raise SchemaError(f"{path!r} is written in UTF-16; {_AS_UTF_8.format('UTF-16')}")


def _require_header(path: str, names: Sequence[str]) -> None:
    if not names:
        raise SchemaError(f"{path!r} is empty; its first line must name the columns, such as age,sex,town.")
    if any(not name.strip() for name in names):
        place = next(place for place, name in enumerate(names, 1) if not name.strip())
        raise SchemaError(
            f"Column {place} of {path!r} has no name: write one into the first line; from pandas, write "
            "frame.to_csv(path, index=False)."
        )
    spelled = [name.casefold() for name in names]
    twice = sorted({name for name in names if spelled.count(name.casefold()) > 1})
    if twice:
        raise SchemaError(
            f"The first line of {path!r} must name the columns, each one differently, and {', '.join(twice)} stand "
            "there for several, up to case; rename them."
        )


def divider_of(line: str, usual: str) -> str:
    """Return what divides the names in the first line, which is public: as the ending says, unless another has more."""

    def parts(divider: str) -> int:
        return len(next(csv.reader([line], delimiter=divider), []))

    return max((usual, *(one for one in ",;\t|" if one != usual)), key=parts)


def _require_lines(path: str, content: Any) -> None:
    """Refuse a CSV file of which the reader would leave lines out: one cell would then change who is there."""
    decoder, length = codecs.getincrementaldecoder("utf-8")(), 0
    try:
        while chunk := content.read(_CHUNK):
            decoder.decode(chunk)
            first, *others = chunk.split(b"\n")
            longest = max([length + len(first), *map(len, others[:-1])])
            length = len(others[-1]) if others else length + len(first)
            if max(longest, length) > _LONGEST_LINE:
                raise SchemaError(
                    f"{path!r} has a line of more than {_LONGEST_LINE} bytes, which the reader would leave out; is a "
                    "quote left open? Write the file again, or as Parquet."
                )
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise SchemaError(
            f"{path!r} holds bytes that are no UTF-8, and the reader would leave their lines out; "
            f"{_AS_UTF_8.format('WINDOWS-1252')}"
        ) from None


def _open_database(path: str, table: str | None, among: str | None = None) -> Source:
    import duckdb

    try:
        engine = duckdb_engine(path)
    except duckdb.Error as error:
        raise SchemaError(f"{path!r} is no DuckDB file that can be opened ({type(error).__name__}).") from None
    try:
        tables = [name for (name,) in engine.con.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        views = engine.con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        if (table,) in views or (table is None and not tables and views):
            raise SchemaError(f"{table or 'the only table'!r} of {path!r} is a view. {_STORE_IT}")
        opened = engine.table(_only_table(tables, table, path, among))
        _require_stored(engine, opened)
    except SchemaError:
        engine.disconnect()
        raise
    return Source(opened, engine, "duckdb", _closers=[engine.disconnect])


def _require_stored(engine: Any, table: ir.Table) -> None:
    """Refuse what DuckDB computes when it is read: somebody else's casts would run before ours, and can raise."""
    node = table.op()
    name, place = node.name, node.namespace
    database, schema = place.catalog or engine.current_catalog, place.database or engine.current_database
    where = "database_name IN (?, 'temp') AND schema_name = ? AND table_name = ?"
    asked = [database, schema, name]
    stored = engine.con.execute(
        "SELECT table_name FROM duckdb_tables() JOIN duckdb_databases() USING (database_name) "
        f"WHERE type = 'duckdb' AND {where}",
        asked,
    )
    if not stored.fetchall():
        raise SchemaError(f"{name!r} is no table that DuckDB stores. {_STORE_IT}")
    computed = engine.con.execute(f"SELECT column_name FROM duckdb_columns() WHERE is_generated AND {where}", asked)
    if columns := [column for (column,) in computed.fetchall()]:
        raise SchemaError(f"The columns {', '.join(columns)} of {name!r} are computed when they are read. {_STORE_IT}")


def _require_settings(engine: Any) -> None:
    """Refuse a connection that takes different texts for equal ones: whose spelling is shown would depend on others.

    And one whose totals could not be read, which would be noticed after they were paid for.
    """
    ((collation,),) = engine.con.execute("SELECT current_setting('default_collation')").fetchall()
    if str(collation).lower() not in ("", "binary"):
        raise SchemaError(
            f"This connection compares texts by the collation {collation!r}, so that different ones are equal; write "
            "connection.raw_sql(\"SET default_collation = ''\") first."
        )
    ((lossless,),) = engine.con.execute("SELECT current_setting('arrow_lossless_conversion')").fetchall()
    if lossless:
        raise SchemaError(
            "This connection hands over wide integers as bytes; write "
            'connection.raw_sql("SET arrow_lossless_conversion = false") first.'
        )


def _only_table(tables: list[str], table: str | None, place: str, among: str | None = None) -> str:
    if table is None and len(tables) == 1:
        return tables[0]
    table = among if table is None else table
    if table is None:
        raise SchemaError(f"{place!r} has {len(tables)} tables; say which one by table=, {nearest('', tables)}")
    if table not in tables:
        raise SchemaError(f"{place!r} has no table {table!r}; {nearest(table, tables)}")
    return table


def _open_postgres(address: str, table: str | None, schema: str | None = None, among: str | None = None) -> Source:
    from sfumato.table.postgres import connect

    opened = connect(address, schema)
    try:
        # An address can hold a password, so it is not shown.
        name = _only_table(opened.tables(), table, "the database", among)
        source = frame_source(opened.described(name), "postgres")
    except BaseException:
        opened.close()
        raise
    source._closers.append(opened.close)
    return source


def _open_ibis(source: Any) -> Source:
    import ibis

    if not isinstance(source, ibis.expr.types.Table):
        raise SchemaError(f"An Ibis source is a table, not {type(source).__name__}.")
    try:
        engine = source._find_backend(use_default=True)
    except ibis.common.exceptions.IbisError:
        raise SchemaError("This Ibis table belongs to no connection; make it with connection.table(...).") from None
    node = source.op()
    if isinstance(node, ibis.expr.operations.InMemoryTable):
        return frame_source(arrow_frame(node.data.to_pyarrow(node.schema)), "ibis")
    while _chooses(node):
        node = node.parent
    if not isinstance(node, ibis.expr.operations.DatabaseTable):
        raise SchemaError(f"An Ibis source is a table or some of its columns, not {type(node).__name__}. {_STORE_IT}")
    if engine.name == "pyspark":
        return _open_spark(engine.raw_sql(engine.compile(source)))
    if engine.name == "postgres":
        from sfumato.table.postgres import address_of

        if node is not source.op():
            raise SchemaError("An Ibis source in PostgreSQL is a whole table; declare the columns that are needed.")
        return _open_postgres(address_of(engine.con), node.name, node.namespace.database)
    if engine.name == "duckdb":
        _require_stored(engine, node.to_expr())
        _require_settings(engine)
        return Source(source, engine, "ibis")
    return Source(source, engine, engine.name, load=lambda names, _: _read_ibis(source, names))


def _chooses(node: Any) -> bool:
    """Tell whether a step only chooses columns."""
    import ibis.expr.operations as steps

    fields = node.values.values() if isinstance(node, steps.Project) else ()
    chosen = isinstance(node, steps.Project) and all(isinstance(value, steps.Field) for value in fields)
    return chosen or isinstance(node, steps.DropColumns)


def _read_ibis(table: ir.Table, names: Sequence[str]) -> Any:
    """Read columns of an engine that is neither DuckDB nor Spark."""
    # Exact decimals without a declared size have no Arrow type that holds every cell; a double always exists.
    kinds = {name: table[name].type() for name in names}
    cells = {name: table[name].cast("float64") if kind.is_decimal() else table[name] for name, kind in kinds.items()}
    data = arrow_frame(table.select(cells).to_pyarrow())
    return data.load(names, None)


def _converted(source: Any, family: str) -> Frame | None:
    try:
        return open_frame(source, family)
    except SchemaError:
        raise
    except Exception as error:
        kind = type(error).__name__
    raise SchemaError(f"{family} could not hand over what the frame holds ({kind}); write it to Parquet.")


def _open_spark(frame: Any) -> Source:
    """Return a Spark frame, if it is a table or some of its columns."""
    import ibis

    from sfumato.table.spark import Watch, require_plain

    if type(frame).__name__ != "DataFrame":
        raise SchemaError(f"A Spark source is a DataFrame, not {type(frame).__name__}.")
    leaf, session = require_plain(frame), frame.sparkSession
    watch = Watch(session, leaf)  # before the first byte is read
    engine = ibis.pyspark.connect(session)
    name = fresh_name()
    frame.createOrReplaceTempView(name)
    drop = [lambda: session.catalog.dropTempView(name)]
    return Source(engine.table(name), engine, "spark", copies=leaf.copied, unchanged=watch, _closers=drop)
