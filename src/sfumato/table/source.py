"""Where the data are: files, frames, databases, clusters; each becomes one Ibis table."""

from __future__ import annotations

import csv
import glob
import gzip
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.domain import nearest
from sfumato.errors import SchemaError
from sfumato.table.frames import ARROW

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
    # A line that is too short, too long or no UTF-8 must not fail the others; one reader, because DuckDB's parallel
    # one refuses files with short lines and quoted line ends, which is a fact about the data.
    "null_padding": True,
    "ignore_errors": True,
    "strict_mode": False,
    "parallel": False,
}
_DUCKDB = (".duckdb", ".ddb", ".db")
_POSTGRES = ("postgres://", "postgresql://")
_names = itertools.count()
_WAYS = (
    "a Parquet, CSV or DuckDB file, a postgresql:// address, an Arrow table, a pandas or polars frame, a Spark frame, "
    "or an Ibis table"
)


@dataclass(frozen=True)
class Source:
    """One table of one engine: `engine` is the Ibis backend that runs it, `kind` says what it was made from."""

    table: ir.Table
    engine: Any
    kind: str
    _closers: list[Callable[[], Any]] = field(default_factory=list, repr=False)
    _kept: dict[str, Callable[[], Any]] = field(default_factory=dict, repr=False)

    @property
    def is_duckdb(self) -> bool:
        """Whether DuckDB runs it, in this process."""
        return bool(self.engine.name == "duckdb")

    def part_done(self) -> float | None:
        """Return how far the engine is with what it runs now, where it says so."""
        percent = self.engine.con.query_progress() if self.is_duckdb else -1.0
        return percent / 100 if percent >= 0 else None

    def stored(self, table: ir.Table) -> ir.Table:
        """Compute a table once and keep it next to the data, until it is forgotten or the source is closed."""
        name = _fresh_name()
        if self.is_duckdb:
            self.engine.create_table(name, table, temp=True)
            self._kept[name] = lambda: self.engine.con.execute(f'DROP TABLE IF EXISTS "{name}"')
        else:
            frame = self.engine.raw_sql(self.engine.compile(table)).persist()
            frame.createOrReplaceTempView(name)
            self._kept[name] = lambda: (frame.unpersist(), frame.sparkSession.catalog.dropTempView(name))
        return self.engine.table(name)

    def named(self, table: ir.Table) -> ir.Table:
        """Give a query a name inside DuckDB, so that Ibis does not write it out again for every question."""
        if not self.is_duckdb:
            return table
        name = _fresh_name()
        self.engine.con.execute(f'CREATE TEMP VIEW "{name}" AS {self.engine.compile(table)}')
        self._kept[name] = lambda: self.engine.con.execute(f'DROP VIEW IF EXISTS "{name}"')
        return self.engine.table(name)

    def registered(self, data: Any) -> ir.Table:
        """Show an Arrow table to DuckDB without copying it, until it is forgotten or the source is closed."""
        name = _fresh_name()
        self.engine.con.register(name, data)
        self._kept[name] = lambda: self.engine.con.unregister(name)
        return self.engine.table(name)

    def forget(self, table: ir.Table) -> None:
        """Let go of one table that was stored or registered."""
        self._kept.pop(table.get_name())()

    def close(self) -> None:
        """Let go of what was opened or kept for this source; what the caller handed in stays open."""
        for forget in [*self._kept.values(), *self._closers]:
            forget()
        self._kept.clear()
        self._closers.clear()


def open_source(source: Any, *, table: str | None = None) -> Source:
    """Return any supported source as one Ibis table, by default on an in-process DuckDB.

    `table=` names the table of a database that has several.
    """
    if isinstance(source, Path) or (isinstance(source, str) and not source.startswith(_POSTGRES)):
        return _open_file(str(source), table)
    if isinstance(source, str):
        return _open_postgres(source, table)
    # Told apart by the module of their class, so that nothing is imported that the caller has not imported.
    family = type(source).__module__.split(".")[0]
    if family == "ibis":
        return _open_ibis(source)
    if family == "pyspark":
        return _open_spark(source)
    if family in ARROW:
        return _open_arrow(ARROW[family](source), family)
    raise SchemaError(f"A source is {_WAYS}, not {type(source).__name__}.")


def _fresh_name() -> str:
    return f"sfumato_{next(_names)}"


def _duckdb(path: str | None = None) -> Any:
    import ibis

    engine = ibis.duckdb.connect(path, read_only=True) if path else ibis.duckdb.connect()
    # Time zones come from the surroundings; they may not reach an exact statistic.
    engine.raw_sql("SET TimeZone = 'UTC'")
    # The engine counts its own progress and prints nothing: `show.progress` draws the bar.
    engine.raw_sql("SET enable_progress_bar = true")
    engine.raw_sql("SET enable_progress_bar_print = false")
    return engine


def _open_file(path: str, table: str | None) -> Source:
    name = path.lower()
    if not any(mark in path for mark in "*?[") and not Path(path).exists():
        raise SchemaError(f"There is no file {path!r}; write the path of {_WAYS}.")
    if name.endswith(_DUCKDB):
        return _open_database(path, table)
    engine = _duckdb()
    try:
        if name.endswith(_CSV):
            opened = _read_csv(engine, path, "\t" if ".tsv" in name[-7:] else ",")
        elif name.endswith(_PARQUET) or Path(path).is_dir():
            opened = engine.read_parquet(f"{path}/**/*.parquet" if Path(path).is_dir() else path)
        else:
            raise SchemaError(f"The ending of {path!r} is unknown; write the path of {_WAYS}.")
    except SchemaError:
        engine.disconnect()
        raise
    except Exception as error:
        engine.disconnect()
        raise SchemaError(f"{path!r} cannot be read as what its ending says ({type(error).__name__}).") from None
    return Source(opened, engine, "csv" if name.endswith(_CSV) else "parquet", [engine.disconnect])


def _read_csv(engine: Any, path: str, divider: str) -> Any:
    matches = sorted(glob.glob(path)) or [path]  # noqa: PTH207  a pattern from any directory
    opener = gzip.open if path.lower().endswith(".gz") else open
    with opener(matches[0], "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
        names = next(csv.reader(file, delimiter=divider), [])
    if not names or len({name.casefold() for name in names}) != len(names):
        raise SchemaError(f"The first line of {path!r} must name the columns, each one differently.")
    return engine.read_csv(path, delim=divider, columns=dict.fromkeys(names, "VARCHAR"), **_CSV_OPTIONS)


def _open_database(path: str, table: str | None) -> Source:
    import duckdb

    try:
        engine = _duckdb(path)
    except duckdb.Error as error:
        raise SchemaError(f"{path!r} is no DuckDB file that can be opened ({type(error).__name__}).") from None
    try:
        listed = engine.con.execute(
            "SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views() WHERE NOT internal"
        )
        opened = engine.table(_only_table([name for (name,) in listed.fetchall()], table, path))
    except SchemaError:
        engine.disconnect()
        raise
    return Source(opened, engine, "duckdb", [engine.disconnect])


def _only_table(tables: list[str], table: str | None, place: str) -> str:
    if table is None and len(tables) == 1:
        return tables[0]
    if table is None:
        raise SchemaError(f"{place!r} has {len(tables)} tables; say which one by table=, {nearest('', tables)}")
    if table not in tables:
        raise SchemaError(f"{place!r} has no table {table!r}; {nearest(table, tables)}")
    return table


def _open_postgres(address: str, table: str | None) -> Source:
    import ibis

    place = "the database"  # an address can hold a password
    try:
        from psycopg.conninfo import conninfo_to_dict

        parts = conninfo_to_dict(address)
        engine = ibis.postgres.connect(
            host=parts.get("host"),
            port=int(parts.get("port") or 5432),
            user=parts.get("user"),
            password=parts.get("password"),
            database=parts.get("dbname"),
        )
    except ImportError:
        raise SchemaError("PostgreSQL needs one more package; run pip install 'sfumato[postgres]'.") from None
    except Exception as error:
        raise SchemaError(f"{place} does not answer ({type(error).__name__}); check the address.") from None
    try:
        opened = engine.table(_only_table(engine.list_tables(), table, place))
    except SchemaError:
        engine.disconnect()
        raise
    return Source(opened, engine, "postgres", [engine.disconnect])


def _open_ibis(source: Any) -> Source:
    import ibis

    if not isinstance(source, ibis.expr.types.Table):
        raise SchemaError(f"An Ibis source is a table, not {type(source).__name__}.")
    try:
        engine = source._find_backend(use_default=True)
    except ibis.common.exceptions.IbisError:
        raise SchemaError("This Ibis table belongs to no connection; make it with connection.table(...).") from None
    return Source(source, engine, "ibis")


def _open_spark(frame: Any) -> Source:
    import ibis

    if type(frame).__name__ != "DataFrame":
        raise SchemaError(f"A Spark source is a DataFrame, not {type(frame).__name__}.")
    engine = ibis.pyspark.connect(frame.sparkSession)
    name = _fresh_name()
    frame.createOrReplaceTempView(name)
    return Source(engine.table(name), engine, "spark", [lambda: frame.sparkSession.catalog.dropTempView(name)])


def _open_arrow(data: Any, kind: str) -> Source:
    engine = _duckdb()
    engine.con.register("sfumato_source", data)
    return Source(engine.table("sfumato_source"), engine, kind, [engine.disconnect])


def copied_to_duckdb(source: Source, names: list[str]) -> Source:
    """Copy the declared columns of a table in another engine into DuckDB, so that all arithmetic is DuckDB's."""
    # Exact decimals without a declared size have no Arrow type that holds every cell; a double always exists.
    kinds = {name: source.table[name].type() for name in names}
    cells = {
        name: source.table[name].cast("float64") if kind.is_decimal() else source.table[name]
        for name, kind in kinds.items()
    }
    data = source.table.select(**cells).to_pyarrow()
    source.close()
    return _open_arrow(data, source.kind)
