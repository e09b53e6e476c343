"""The one door between a source and everything that is asked of it: after it, no cell can make an engine raise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sfumato.domain import Categories
from sfumato.errors import EngineError, SchemaError
from sfumato.show.progress import watched
from sfumato.table.cells import (
    FEW_LABELS,
    PERSON_TYPES,
    WHOLE,
    duckdb_cell,
    duckdb_identity,
    duckdb_label,
    spark_cell,
    spark_identity,
    spark_label,
)
from sfumato.table.engine import Source, quoted
from sfumato.table.failures import guarded
from sfumato.table.schema import Schema
from sfumato.table.unread import before_it_is_read, in_the_index, lacking_columns, whole_ids

_CHANGEABLE = ("csv", "pandas", "polars", "pyarrow", "ibis")
"""What is copied when it is opened. Who is there and what a person may count is worked out once, so later questions
must see the same cells: frames share memory with whoever made them, and others write into a table of a connection.
Which lines of a CSV file can be read depends on the columns that are asked for."""


OPENING = "Opening takes about {about}: every declared column is read once."
"""What is said of a long opening where nobody sees its bar."""


def readable(source: Source, schema: Schema) -> Source:
    """Return the declared columns, the person and the row key of a source as cells of safe types.

    Raises on public facts, which are names and types, and where a file breaks its own format: that is found here, by
    one pass over all declared columns, whatever will be asked, and before a ledger is touched. A connection that was
    handed in answers others too, so it is taken until all of this is done.
    """
    with source.turn:
        return _read(source, schema)


def _read(source: Source, schema: Schema) -> Source:
    names = list(dict.fromkeys(schema.base(name) for name in schema.names))
    wanted = list(dict.fromkeys([*names, *([schema.person] if schema.person else []), *(schema.row_key or ())]))
    _require_names(source, wanted)
    loaded = guarded(lambda: source.loaded(wanted, schema.person))
    if loaded.kind in _CHANGEABLE:
        loaded = replace(loaded, table=guarded(lambda: loaded.stored(loaded.table.select(*wanted))), scan="")
    if loaded.kind == "csv":
        _require_all_rows(loaded)
    if loaded.copies:
        loaded = replace(loaded, table=guarded(lambda: loaded.copied(wanted)))
    cells = _cells(loaded, wanted, schema)
    if loaded.footers and schema.person is not None:
        guarded(lambda: _require_one_kind_of_ids(loaded, str(schema.person)))
    if loaded.kind == "parquet" or not (loaded.is_duckdb or loaded.copies):
        _pass(loaded, wanted)
    return replace(loaded, table=guarded(lambda: loaded.selected(cells)))


def _require_all_rows(source: Source) -> None:
    """Refuse a CSV file of which the reader left a line out, or made two: who is there would depend on others."""
    rows = int(
        guarded(lambda: source.fetched(source.table.aggregate(rows=source.table.count()))).column("rows")[0].as_py()
    )
    if rows != source.rows:
        raise SchemaError(
            "The reader of CSV files did not return one row for each line of this one; end all its lines alike, "
            "the last one too, or write it as Parquet."
        )


def all_readable(source: Source, names: Sequence[str]) -> Source:
    """Return all columns of a source that have a safe type, for somebody who may look at them."""
    with source.turn:
        loaded = source.loaded(names)
        kinds, (cell, _, _) = _kinds(loaded), _DUCKDB if loaded.is_duckdb else _SPARK
        quote = '"' if loaded.is_duckdb else "`"
        cells = {name: cell(quoted(name, quote), kinds[name]) for name in names}
        return replace(loaded, table=loaded.selected({name: sql for name, sql in cells.items() if sql is not None}))


def _require_names(source: Source, wanted: Sequence[str]) -> None:
    found = (*source.table.columns, *source.refused)
    lacking = [name for name in sorted(wanted) if name not in found]
    if lacking:
        in_index = [name for name in lacking if name in source.index]
        if in_index:
            raise SchemaError(f"The schema names what is no column: {in_the_index(in_index)}")
        raise SchemaError(lacking_columns(lacking, found))
    for name in wanted:
        if name in source.refused:
            raise _unread(name, source.refused[name], source.kind)


def _unread(name: str, kind: str, source: str) -> SchemaError:
    todo = before_it_is_read(name, kind, source)
    return SchemaError(f"The column {name!r} is {kind}, a type that no domain reads; {todo}.")


def _kinds(source: Source) -> dict[str, str]:
    """Return the engine's own types of all columns."""
    if source.is_duckdb:
        described = source.engine.con.execute(f"DESCRIBE SELECT * FROM {source.relation}").fetchall()
        return {name: kind for name, kind, *_ in described}
    return dict(source.engine.raw_sql(source.engine.compile(source.table)).dtypes)


_DUCKDB = (duckdb_cell, duckdb_label, duckdb_identity)
_SPARK = (spark_cell, spark_label, spark_identity)


def _cells(source: Source, names: Sequence[str], schema: Schema) -> dict[str, str]:
    """Return how each column is read, in SQL of the engine."""
    kinds = _kinds(source)
    cell, label, identity = _DUCKDB if source.is_duckdb else _SPARK
    quote = '"' if source.is_duckdb else "`"
    cells = {}
    for name in names:
        listed = name in schema.names and isinstance(schema.domain(name), Categories)
        read = identity if name == schema.person else label if listed else cell
        bare = listed and kinds[name] == "BLOB" and _compares_bytes(source, name, schema)
        sql = quoted(name, quote) if bare else read(quoted(name, quote), kinds[name])
        if sql is None and name == schema.person:
            todo = f" Here {whole_ids(name, source.kind)}." if kinds[name] in ("FLOAT", "DOUBLE") else ""
            raise SchemaError(f"The person column {name!r} is {kinds[name]} and must be {PERSON_TYPES}.{todo}")
        if sql is None:
            raise _unread(name, kinds[name], source.kind)
        cells[name] = sql
    return cells


def _compares_bytes(source: Source, name: str, schema: Schema) -> bool:
    """Tell whether a category's bytes are compared with those of its labels as they are, which no cell can fail.

    A file may answer a comparison from its statistics, which are other people's cells, so its bytes become text first.
    """
    domain = schema.domain(name)
    few = isinstance(domain, Categories) and len(domain.listed) <= FEW_LABELS
    return few and source.kind != "parquet" and name not in {schema.person, *(schema.row_key or ())}


# Several files


def _require_one_kind_of_ids(source: Source, person: str) -> None:
    """Refuse Parquet files that hold ids in different types: the engine reads all as the first file's.

    As a whole number 7.4 would be 7 and 08 would be 8, who are other people; as text a number may be 7 or 7.0.
    """
    kinds = {kind for name, kind in _first_level(source) if name.casefold() == person.casefold()}
    if len(kinds) > 1 and not kinds <= WHOLE:
        raise SchemaError(
            f"The person column {person!r} is {' in one file and '.join(sorted(kinds))} in another; write all files "
            "with ids of one type."
        )


def _first_level(source: Source) -> Iterator[tuple[str, str]]:
    """Yield the columns of every file and their types; what lies inside of a column is passed over."""
    query = f"SELECT name, duckdb_type, num_children FROM {source.footers} ORDER BY file_name, column_id"
    rows = source.engine.con.execute(query).fetchall()
    inside: list[int] = []  # how much of every open group is still to come
    for name, kind, children in rows:
        if len(inside) == 1 and not children:
            yield name, str(kind)
        if inside:
            inside[-1] -= 1
        inside.append(children or 0)
        while inside and inside[-1] == 0:
            inside.pop()


# The pass at opening


def _pass(source: Source, names: Sequence[str]) -> None:
    """Decode every cell of the declared columns once, so that later scans of the same bytes cannot fail.

    The hash is what makes an engine decode: it counts cells without looking at them, and takes ends from statistics.
    """
    with watched("Checking the columns", source.part_done, piped=OPENING):
        failure = _failure(source, names)
        damaged = failure is not None and failure.cause == "damaged"
        broken = [name for name in names if damaged and _failure(source, [name])]
    if broken:
        raise SchemaError(
            f"The column {broken[0]!r} breaks the format of its own file: it holds bytes that are no UTF-8, a moment "
            "beyond the calendar, a damaged page, or another type in another file; write the file again."
        )
    if failure:
        raise failure


def _failure(source: Source, names: Sequence[str]) -> EngineError | None:
    try:
        guarded(lambda: _hashed(source, names))
    except EngineError as error:
        return error.with_traceback(None)
    return None


def _hashed(source: Source, names: Sequence[str]) -> None:
    quote, digest = ('"', "hash") if source.is_duckdb else ("`", "xxhash64")
    columns = [quoted(name, quote) for name in names]
    hashes = ", ".join(f"bit_xor({digest}({column}))" for column in columns)
    # From a query and not from the file itself: then DuckDB reads the statistics of the columns too.
    query = f"SELECT {hashes} FROM (SELECT {', '.join(columns)} FROM {source.relation} AS raw) AS declared"
    if source.is_duckdb:
        source.engine.con.execute(query).fetchall()
    else:
        source.engine.raw_sql(query).collect()
