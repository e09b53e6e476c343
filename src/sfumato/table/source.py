"""Where the data are: files, frames, databases, clusters; each becomes one Ibis table."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.domain import nearest
from sfumato.errors import SchemaError
from sfumato.table.csv_files import ENDINGS as CSV_ENDINGS
from sfumato.table.csv_files import look_through
from sfumato.table.engine import Source, duckdb_engine, frame_source, fresh_name, turn_of
from sfumato.table.frames import Frame, arrow_frame, open_frame
from sfumato.table.identity import listed

if TYPE_CHECKING:
    import ibis.expr.types as ir

_PARQUET = (".parquet", ".pq", ".parq")
_PARQUET_SCAN = "read_parquet([{}], hive_types_autocast=false)"
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
    pattern = any(mark in path for mark in "*?[")
    if not pattern and not Path(path).exists():
        raise SchemaError(f"There is no file {path!r}; write the path of {_WAYS}.")
    if name.endswith(_DUCKDB):
        return _open_database(path, table, among)
    folder = Path(path).is_dir()
    if not folder and not name.endswith((*CSV_ENDINGS, *_PARQUET)):
        raise SchemaError(_unknown_ending(path))
    paths = listed(path)
    if not paths:
        where = f"in the folder {path!r}, which is read as Parquet" if folder else f"that matches {path!r}"
        raise SchemaError(f"There is no file {where}; write the path of {_WAYS}.")
    engine = duckdb_engine()
    try:
        opened = _read_parquet(engine, paths) if folder or name.endswith(_PARQUET) else _read_csv(engine, path, paths)
    except SchemaError:
        engine.disconnect()
        raise
    except Exception as error:
        engine.disconnect()
        raise SchemaError(f"{path!r} cannot be read as what its ending says ({type(error).__name__}).") from None
    return opened


def _read_parquet(engine: Any, paths: Sequence[str]) -> Source:
    # The reader takes every path for a pattern.
    files = ", ".join("'" + glob.escape(path).replace("'", "''") + "'" for path in paths)
    scan, footers = _PARQUET_SCAN.format(files), f"parquet_schema([{files}])"
    engine.con.execute(f'CREATE TEMP VIEW "sfumato_source" AS SELECT * FROM {scan}')
    closers = [engine.disconnect]
    return Source(engine.table("sfumato_source"), engine, "parquet", scan=scan, footers=footers, _closers=closers)


def _read_csv(engine: Any, path: str, paths: Sequence[str]) -> Source:
    files = look_through(path, paths)
    return Source(files.read(engine), engine, "csv", rows=files.rows, _closers=[engine.disconnect])


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
        with turn_of(engine):  # or whoever else asks this connection is handed our answers, and errors quote theirs
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
