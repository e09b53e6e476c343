"""What a frame of Spark reads in the end: read in place, copied once, or refused; by public facts alone.

In place are read: files whose format holds the types, and rows in the driver's own memory. Whatever can change, or can
be read differently for another question, is copied when it is opened. Types that Spark guesses from cells or from the
names of folders are refused: one row could change everybody's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sfumato.errors import SchemaError

_UNCHANGING = {"LocalRelation", "Range"}
_COPIED = {"LogicalRDD", "HiveTableRelation"}
_OF_SPARK = "org.apache.spark.sql."
_TYPED = ("ParquetFileFormat", "OrcFileFormat")
_TEXT = ("CSVFileFormat", "JsonFileFormat", "XmlFileFormat", "TextFileFormat")
_DECLARED = ("org.apache.spark.sql.delta.", "org.apache.spark.sql.avro.", "org.apache.iceberg.")
"""Tables whose types are stored with them; they can change, so they are copied."""
_GUESS_OFF = "spark.sql.sources.partitionColumnTypeInference.enabled"
_DECLARE = 'declare them by spark.read.schema("age INT, town STRING")'


class Computes(Exception):
    """Something is computed when a frame is read; says what."""


@dataclass(frozen=True)
class Leaf:
    """What a frame reads: `copied` says that its rows are kept when it is opened, `index` lists its files in place."""

    copied: bool = False
    index: Any = None


def require_relation(plan: Any, choices: list[Any], cached: bool, session: Any) -> Leaf:
    """Return how the last step of a plan is read, or refuse it; `choices` are the columns taken above it."""
    kind = str(plan.getClass().getSimpleName())
    if kind in _UNCHANGING:
        return Leaf()
    if kind in _COPIED:
        return Leaf(copied=True)
    if kind == "DataSourceV2Relation":
        if not str(plan.table().getClass().getName()).startswith(_DECLARED):
            raise Computes(str(plan.table().getClass().getSimpleName()))
        return Leaf(copied=True)
    if kind != "LogicalRelation":
        raise Computes(kind)
    relation = plan.relation()
    what = str(relation.getClass().getSimpleName())
    if what == "JDBCRelation":
        _require_stored_table(relation, session)
        return Leaf(copied=True)
    if what != "HadoopFsRelation":
        raise Computes(what)
    in_place = _require_files(relation, session)
    _require_folders(plan, relation, choices, session)
    # Rows that somebody cached may be older than the files, and are read from these again when the cache is short.
    return Leaf(index=relation.location()) if in_place and not cached else Leaf(copied=True)


# Files


def _require_files(relation: Any, session: Any) -> bool:
    """Refuse files whose types are guessed or whose lines are dropped; tell whether they can be read in place."""
    written = str(relation.fileFormat().getClass().getName())
    kind = written.rpartition(".")[2]
    options = _options(relation.options())
    mode = options.get("mode", "PERMISSIVE").upper()
    if mode != "PERMISSIVE":
        raise Computes(f"mode {mode}, by which one cell decides what becomes of a row")
    for option in ("ignorecorruptfiles", "ignoremissingfiles"):
        if _true(options.get(option)):
            raise Computes(f"the option {option}, by which rows are left out")
    if written.startswith(_DECLARED):
        return False
    if not written.startswith(_OF_SPARK) or kind not in (*_TYPED, *_TEXT):
        raise Computes(kind)
    if _given(relation.location()) is None and _is_catalogued(relation) is False:
        _require_types(kind, options, session)
    # How a line of text is read depends on the columns that are asked for, so it is read once.
    return kind in _TYPED


def _require_types(kind: str, options: dict[str, str], session: Any) -> None:
    """Refuse a reader that works out types from all cells or all files, where nobody declared them."""
    if kind in ("JsonFileFormat", "XmlFileFormat") or (kind == "CSVFileFormat" and _true(options.get("inferschema"))):
        raise SchemaError(
            "Spark guessed the types of this frame from its cells, so that one cell could change how all others are "
            f"read; {_DECLARE}."
        )
    if kind in _TYPED:
        setting = f"spark.sql.{'parquet' if kind.startswith('Parquet') else 'orc'}.mergeSchema"
        if _true(options.get("mergeschema", str(session.conf.get(setting)))):
            raise SchemaError(
                "Spark merged the types of this frame from all files (mergeSchema), so that one file could change how "
                f"all others are read; {_DECLARE}."
            )


def _require_folders(plan: Any, relation: Any, choices: list[Any], session: Any) -> None:
    """Refuse columns that folders name, unless their types are declared or they are texts as they stand there."""
    fields = relation.partitionSchema()
    if not fields.size() or _is_catalogued(relation):
        return
    declared = _given(relation.location()) or set()
    open_types = {name for one in each(fields) if (name := str(one.name())).lower() not in declared}
    texts = {str(one.name()) for one in each(fields) if str(one.dataType().typeName()) == "string"}
    # That the guess is off now does not say that it was when the frame was made; but a text is then what stands there.
    if not _true(str(session.conf.get(_GUESS_OFF))):
        open_types -= texts
    for name in sorted(open_types & _read(plan, choices)):
        raise SchemaError(
            f"Spark guesses the type of the column {name!r}, which folders name, from all of their names, so that one "
            f"row could change everybody's: name it in spark.read.schema(...), or set {_GUESS_OFF} to false before the "
            "frame is made, or drop the column."
        )


def _read(plan: Any, choices: list[Any]) -> set[str]:
    """Return which columns of a relation are read by the choices above it, the outermost first."""
    wanted: set[int] | None = None
    for choice in choices:
        found = set()
        for one in each(choice):
            if wanted is None or int(one.exprId().id()) in wanted:
                found.add(int(behind(one).exprId().id()))
        wanted = found
    return {str(one.name()) for one in each(plan.output()) if wanted is None or int(one.exprId().id()) in wanted}


def _is_catalogued(relation: Any) -> bool:
    """Tell whether a catalog lists the folders and their columns' types."""
    return str(relation.location().getClass().getName()) == f"{_OF_SPARK}execution.datasources.CatalogFileIndex"


def _given(index: Any) -> set[str] | None:
    """Return the names of the columns whose types somebody declared, in small letters; None if nobody did.

    Spark keeps this with the list of files, and nothing that is set later changes it.
    """
    kind = index.getClass()
    while kind is not None:
        for field in kind.getDeclaredFields():
            if str(field.getName()) == "userSpecifiedSchema":
                field.setAccessible(True)
                schema = field.get(index)
                return {str(name).lower() for name in schema.get().fieldNames()} if schema.isDefined() else None
        kind = kind.getSuperclass()
    return None


def _options(listed: Any) -> dict[str, str]:
    iterator, found = listed.iterator(), {}
    while iterator.hasNext():
        one = iterator.next()
        found[str(one._1()).lower()] = str(one._2())
    return found


def _true(setting: str | None) -> bool:
    return str(setting).lower() == "true"


# Databases

_NAME = r'(?:"[^"]+"|`[^`]+`|\[[^\]]+\]|[^\W\d][\w$#]*)'
_STORED = {"TABLE", "BASE TABLE", "PARTITIONED TABLE", "MATERIALIZED VIEW"}


def _require_stored_table(relation: Any, session: Any) -> None:
    """Refuse what a database computes when Spark reads it: a query, a view, conditions, statements before it."""
    options = relation.jdbcOptions()
    named = str(options.tableOrQuery()).strip()
    if not re.fullmatch(rf"{_NAME}(\.{_NAME}){{0,2}}", named):
        raise Computes("a query of a database")
    given = _options(options.parameters())
    for option in ("sessioninitstatement", "preparequery"):
        if option in given:
            raise Computes(f"the option {option} of a database")
    if "partitioncolumn" not in given and any(part.whereClause() is not None for part in relation.parts()):
        raise Computes("conditions on a database")
    kinds = _kinds_of_table(options, re.findall(_NAME, named), session)
    if not kinds or not kinds <= _STORED:
        raise Computes("no stored table of a database that it lists; write schema.table, and no view")


def _kinds_of_table(options: Any, parts: list[str], session: Any) -> set[str]:
    """Return what a database says that a name is: a table, a view, something else; of all that are called so."""
    try:
        dialects = session._jvm.org.apache.spark.sql.jdbc.JdbcDialects
        connection = dialects.get(options.url()).createConnectionFactory(options).apply(-1)
        try:
            facts = connection.getMetaData()
            names = [_as_stored(part, facts) for part in parts]
            schema = _escaped(names[-2], facts) if len(names) > 1 else None
            rows, found = facts.getTables(None, schema, _escaped(names[-1], facts), None), set()
            while rows.next():
                found.add(str(rows.getString("TABLE_TYPE")).upper())
            return found
        finally:
            connection.close()
    except Exception as error:
        kind = type(error).__name__
    # What a driver says can hold an address with a password.
    raise SchemaError(f"The database behind this Spark frame could not be asked what the table is ({kind}).")


def _as_stored(part: str, facts: Any) -> str:
    if part[0] in '"`[':
        return part[1:-1]
    if facts.storesUpperCaseIdentifiers():
        return part.upper()
    return part.lower() if facts.storesLowerCaseIdentifiers() else part


def _escaped(name: str, facts: Any) -> str:
    mark = str(facts.getSearchStringEscape() or "")
    return re.sub(r"[_%]", lambda found: mark + found.group(), name)


def each(sequence: Any) -> list[Any]:
    """Return the members of a sequence of Scala."""
    return [sequence.apply(place) for place in range(sequence.size())]


def behind(chosen: Any) -> Any:
    """Return what a choice shows, whatever it is called there."""
    while str(chosen.getClass().getSimpleName()) == "Alias":
        chosen = chosen.child()
    return chosen
