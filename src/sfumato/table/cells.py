"""Raw cells of an engine's own types to cells that nothing later can fail on.

An engine raises when it converts a cell that does not fit: bytes that are no text, a moment beyond its calendar, an
integer that is too wide. One such cell would fail everybody's question, which is a fact about one person. So every cell
is clamped in its own type before it is converted, text is read by a decoder that gives null, and the result has one of
few types: a truth value, an integer of at most 64 bits, a double, a text, a day, a moment. A type that is not on the
lists is refused when a table is opened; types are public.

A clamp is a CASE and no `least`: the engines' `least` and `greatest` pass over null, which would give a missing cell
the value of the bound.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from sfumato.domain.figures import Figures
from sfumato.table.engine import turn_of

LARGEST = 2**63 - 1
PERSON_TYPES = "integer or string: two numbers with a fraction may look alike; store it as one of these"
"""What a person column holds, in the words of a refusal."""
_FIRST_DAY, _LAST_DAY = "0001-01-01", "9999-12-31"
_FIRST_MOMENT, _LAST_MOMENT = f"{_FIRST_DAY} 00:00:00", f"{_LAST_DAY} 23:59:59"

WHOLE = frozenset(sign + size + "INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG"))
WHOLE |= {"INTEGER", "UINTEGER"}
"""DuckDB's types of whole numbers up to 64 bits, between which a cast keeps the number or fails."""
_PLAIN = {
    "BOOLEAN",
    *(WHOLE - {"UBIGINT"}),
    # Days that are no days of the calendar ('infinity') compare well, and are clamped before anything is made of them.
    "DATE",
}
# Each moment is compared with literals of its own type: another type would be converted first, and that raises.
_MOMENTS = {
    "TIMESTAMP_S": (_FIRST_MOMENT, _LAST_MOMENT),
    "TIMESTAMP_MS": (_FIRST_MOMENT, f"{_LAST_MOMENT}.999"),
    "TIMESTAMP": (_FIRST_MOMENT, f"{_LAST_MOMENT}.999999"),
    # Nanoseconds in 64 bits end in 1677 and 2262; these are the last whole days.
    "TIMESTAMP_NS": ("1677-09-22 00:00:00", "2262-04-10 23:59:59.999999999"),
    "TIMESTAMP WITH TIME ZONE": (f"{_FIRST_MOMENT}+00", f"{_LAST_MOMENT}.999999+00"),
}


def _clamped(cell: str, low: str, high: str) -> str:
    return f"CASE WHEN {cell} < {low} THEN {low} WHEN {cell} > {high} THEN {high} ELSE {cell} END"


NO_TEXT = "chr(0) || 'no text'"
"""What bytes that are no text become in a column of categories: none of them, and not null."""

FEW_LABELS = 4
"""Up to here a cell is compared with one label after the other; beyond, its place among them is looked up."""


# DuckDB


def duckdb_label(cell: str, kind: str) -> str | None:
    """Return SQL that reads a cell of a category: what is there and is no text is unlisted, and not missing."""
    if kind == "BLOB":
        return f"CASE WHEN {cell} IS NOT NULL THEN coalesce(TRY(decode({cell})), {NO_TEXT}) END"
    return duckdb_cell(cell, kind)


def duckdb_cell(cell: str, kind: str) -> str | None:
    """Return SQL that reads a cell of a DuckDB type, null where it cannot be read; None refuses the type.

    >>> duckdb_cell("job", "BLOB")
    'TRY(decode(job))'
    >>> duckdb_cell("jobs", "VARCHAR[]") is None
    True
    """
    if kind in _PLAIN:
        return cell
    if kind == "VARCHAR":
        # A column that was stored with COLLATE NOCASE would show the spelling of whoever comes first, and mix up ids.
        return f'{cell} COLLATE "binary"'
    if kind == "UBIGINT":
        return f"CAST(CASE WHEN {cell} > {LARGEST}::UBIGINT THEN {LARGEST}::UBIGINT ELSE {cell} END AS BIGINT)"
    if kind == "HUGEINT":
        return f"CAST({_clamped(cell, f'{-LARGEST}::HUGEINT', f'{LARGEST}::HUGEINT')} AS BIGINT)"
    if kind == "UHUGEINT":
        return f"CAST(CASE WHEN {cell} > {LARGEST}::UHUGEINT THEN {LARGEST}::UHUGEINT ELSE {cell} END AS BIGINT)"
    if kind in ("FLOAT", "DOUBLE") or (kind.startswith("DECIMAL(") and kind.endswith(")")):
        return f"CAST({cell} AS DOUBLE)"
    if kind == "BLOB":
        return f"TRY(decode({cell}))"
    if kind == "UUID" or (kind.startswith("ENUM(") and kind.endswith(")")):
        return f"CAST({cell} AS VARCHAR)"
    if kind == '"NULL"':
        return "CAST(NULL AS VARCHAR)"  # which every domain reads, as a column of missing cells
    if kind in _MOMENTS:
        low, high = (f"{kind} '{end}'" for end in _MOMENTS[kind])
        clamped = _clamped(cell, low, high)
        return f"CAST({clamped} AS TIMESTAMP)" if kind in ("TIMESTAMP_S", "TIMESTAMP_MS") else clamped
    return None


def duckdb_identity(cell: str, kind: str) -> str | None:
    """Return SQL for an id that is compared and never shown: no two ids become one, whatever their bytes.

    Text stays text. Bytes that are no text, and the few texts that look like their spelling, are spelled in
    hexadecimal behind a zero character.
    """
    if kind == "BLOB":
        text = f"TRY(decode({cell}))"
        return f"CASE WHEN {text} IS NULL OR starts_with({text}, chr(0)) THEN chr(0) || hex({cell}) ELSE {text} END"
    if kind in ("HUGEINT", "UHUGEINT"):
        return f"CAST({cell} AS VARCHAR)"
    if kind.startswith("DECIMAL(") and kind.endswith(")"):
        # One number has one spelling, whatever its scale: 7, 7.00 and 0.5, where DuckDB writes .50 as well.
        text = f"regexp_replace(CAST({cell} AS VARCHAR), '^(-?)[.]', '\\10.')"
        return f"CAST({cell} AS VARCHAR)" if kind.endswith(",0)") else f"rtrim(rtrim({text}, '0'), '.')"
    if kind == "UBIGINT":
        return cell
    return None if kind in ("BOOLEAN", "FLOAT", "DOUBLE", "DATE", *_MOMENTS) else duckdb_cell(cell, kind)


# Spark

_SPARK_PLAIN = {"boolean", "tinyint", "smallint", "int", "bigint", "date"}
_SPARK_MOMENTS = {"timestamp_ntz": "TIMESTAMP_NTZ", "timestamp": "TIMESTAMP"}


def spark_cell(cell: str, kind: str) -> str | None:
    """Return SQL that reads a cell of a Spark type, null where it cannot be read; None refuses the type."""
    if kind in _SPARK_PLAIN:
        return cell
    if kind in ("float", "double") or kind.startswith("decimal("):
        return f"CAST({cell} AS DOUBLE)"
    if kind == "string" or kind.startswith(("varchar(", "char(")):
        return f"try_validate_utf8({cell})"
    if kind == "binary":
        return f"try_validate_utf8(CAST({cell} AS STRING))"
    if kind == "void":
        return "CAST(NULL AS STRING)"
    if kind in _SPARK_MOMENTS:
        # A moment without a zone is read as it is written; one with a zone in the zone of the session, as Spark does.
        literal = _SPARK_MOMENTS[kind]
        return _clamped(cell, f"{literal} '{_FIRST_MOMENT}'", f"{literal} '{_LAST_MOMENT}.999999'")
    return None


def spark_label(cell: str, kind: str) -> str | None:
    """Return SQL that reads a cell of a category, as `duckdb_label` does."""
    read = spark_cell(cell, kind)
    if read is None or not read.startswith("try_validate_utf8"):
        return read
    return f"CASE WHEN {cell} IS NOT NULL THEN coalesce({read}, {NO_TEXT}) END"


def spark_identity(cell: str, kind: str) -> str | None:
    """Return SQL for an id, spelled as `duckdb_identity` spells it."""
    if kind in ("string", "binary") or kind.startswith(("varchar(", "char(")):
        text = f"try_validate_utf8(CAST({cell} AS STRING))"
        spelled = f"concat(char(0), hex(CAST({cell} AS BINARY)))"
        odd = f"{text} IS NULL OR startswith({text}, char(0))"
        return f"CASE WHEN {cell} IS NULL THEN NULL WHEN {odd} THEN {spelled} ELSE {text} END"
    if kind.startswith("decimal("):
        scale = int(kind[:-1].partition(",")[2])
        # A cast would keep zeros at the end, and in some sessions write 1E-9.
        return f"format_number({cell}, '0.{'#' * scale}')" if scale else f"CAST({cell} AS STRING)"
    return cell if kind in ("tinyint", "smallint", "int", "bigint") else None


# Expressions that both engines share


def within(cell: Any, low: Any, high: Any) -> Any:
    """Return a cell inside a range, null where it is null; on days this is faster than `least` and `greatest`."""
    import ibis

    return ibis.cases((cell < low, low), (cell > high, high), else_=cell)


def real(cell: Any) -> Any:
    """Return a double that is null where the cell is NaN, told apart in a way that no engine decides from statistics.

    DuckDB folds `isnan` of a Parquet column to false when the file's statistics, which leave NaN out, are finite. The
    reading of one person's NaN would then depend on whether somebody else's cell is infinite. `isfinite` is computed.
    """
    import ibis

    if cell.get_backend().name != "duckdb":
        return ibis.ifelse(cell.isnan(), ibis.null("float64"), cell)

    @ibis.udf.scalar.builtin(name="isfinite")  # type: ignore[untyped-decorator]
    def isfinite(number: float) -> bool: ...  # type: ignore[empty-body]

    return ibis.ifelse(isfinite(cell) | cell.isinf(), cell, ibis.null("float64"))


def written_number(cell: Any, figures: Figures) -> Any:
    """Return the double that a text says, null where it is written otherwise."""
    import ibis

    def numbers(patterns: Sequence[str]) -> list[Any]:
        found = [cell.re_extract(f"^{pattern}\\z", 1) for pattern in patterns]
        if figures.grouping:
            found = [text.re_replace(figures.grouping, "") for text in found]
        if figures.decimal != ".":
            found = [text.replace(figures.decimal, ".") for text in found]
        return [text.try_cast("float64") for text in found]

    return ibis.coalesce(*numbers(figures.patterns), *(-number for number in numbers(figures.below_zero)))


def place(cell: Any, labels: Sequence[str], unlisted: int) -> Any:
    """Return the place of a text among labels inside DuckDB, `unlisted` for every other text and for null.

    DuckDB reads a text as a member of an enumeration once for each distinct text of a Parquet page; comparisons are
    made for every row. The enumeration hides behind a macro, because Ibis has no such type.
    """
    import ibis

    listed = ", ".join("'" + label.replace("'", "''") + "'" for label in labels)
    name = f"sfumato_place_{hashlib.sha256(listed.encode()).hexdigest()[:32]}"
    engine = cell.get_backend()
    with turn_of(engine):
        engine.con.execute(
            f"CREATE OR REPLACE TEMP MACRO {name}(label) AS "
            f"CAST(enum_code(TRY_CAST(label AS ENUM({listed}))) AS INTEGER)"
        )

    @ibis.udf.scalar.builtin(name=name, signature=(("string",), "int32"))
    def found(label): ...  # type: ignore[no-untyped-def]

    unknown = ibis.literal(unlisted, "int32")
    # DuckDB's least and greatest pass over null, and are functions of distinct texts too; its coalesce is none.
    if unlisted >= len(labels) - 1:
        return ibis.least(found(cell), unknown)
    return ibis.greatest(found(cell), unknown) if unlisted == 0 else found(cell).fill_null(unknown)
