"""Tables of PostgreSQL, read once by COPY as the bytes that built-in output functions write, which never fail.

A cell that the client's encoding or Python's types cannot hold would make a driver raise. So the server converts
nothing (`client_encoding = SQL_ASCII`), and the bytes become Arrow columns here: 'infinity' and years before Christ are
the ends of the calendar, numbers of any length are doubles, and bytes that are no text stay bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from sfumato.errors import SchemaError
from sfumato.table.frames import Frame

_FIRST_DAY, _LAST_DAY, _EPOCH = -719_162, 2_932_896, date(1970, 1, 1).toordinal()
_A_DAY = 86_400_000_000
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
_ESCAPES = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_SETTINGS = (
    *("datestyle = 'ISO, YMD'", "timezone = 'UTC'", "extra_float_digits = 1", "bytea_output = 'hex'"),
    "client_encoding = 'SQL_ASCII'",
)
_CODECS = {
    **{"UTF8": "utf-8", "SQL_ASCII": "utf-8", "LATIN1": "latin-1", "LATIN2": "iso8859-2", "LATIN9": "iso8859-15"},
    **{"WIN1250": "cp1250", "WIN1251": "cp1251", "WIN1252": "cp1252", "KOI8R": "koi8-r"},
}
"""The encodings in which Python and the server read every byte alike, and no two of them as one sign.

EUC_JP is none of them: Python reads two spellings of ~ as one, so two ids would be one person, and seven signs as other
ones than the server does, so one person of two databases would be two.
"""
_RELATIONS = {"v": "a view", "f": "a foreign table"}

Cells = list[bytes | None]


def connect(address: str, schema: str | None = None) -> Database:
    """Connect, and start the one transaction in which everything is read."""
    try:
        import psycopg
    except ImportError:
        raise SchemaError("PostgreSQL needs one more package; run pip install 'sfumato[postgres]'.") from None
    try:
        connection = psycopg.connect(address, client_encoding="UTF8")
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        current = connection.execute("SELECT current_schema()").fetchall()
        return Database(connection, schema or current[0][0])
    except Exception as error:
        kind = type(error).__name__
    raise SchemaError(f"the database does not answer ({kind}); check the address.")


def address_of(connection: Any) -> str:
    """Return the address of a connection that somebody opened, so that reading it does not disturb them."""
    from psycopg.conninfo import make_conninfo

    return make_conninfo(**connection.info.get_parameters(), password=connection.info.password or None)


@dataclass(frozen=True)
class Database:
    """One schema of one server, inside one transaction."""

    connection: Any
    schema: str

    def tables(self) -> list[str]:
        """Return the names of what can be selected from."""
        return [name for name, _, _ in self._relations()]

    def described(self, name: str) -> Frame:
        """Return the types of a stored table, and how its columns are read; refuse what is computed when read."""
        import pyarrow

        identity, relation = next((oid, kind) for found, oid, kind in self._relations() if found == name)
        foreign = self._ask(
            "WITH RECURSIVE part(oid) AS (SELECT %s::oid UNION SELECT inhrelid FROM pg_inherits JOIN part ON "
            "inhparent = part.oid) SELECT oid FROM pg_class JOIN part USING (oid) WHERE relkind = 'f'",
            identity,
        )
        if relation in _RELATIONS or foreign:
            raise SchemaError(
                f"{name!r} is {_RELATIONS.get(relation, 'in part a foreign table')}, computed when it is read: what "
                "fails there would be a fact about a cell. Store it as a table or a materialized view first."
            )
        ((policed,),) = self._ask("SELECT row_security_active(%s::oid)", identity)
        if policed:
            raise SchemaError(
                f"{name!r} has row security, so that this user sees some rows only, chosen by their cells when they "
                "are read; read it as its owner, or store what may be read as a table first."
            )
        found = self._ask(
            "SELECT attname, atttypid, typtype, typname, attgenerated FROM pg_attribute JOIN pg_type ON "
            "pg_type.oid = atttypid WHERE attnum > 0 AND NOT attisdropped AND attrelid = %s ORDER BY attnum",
            identity,
        )
        stored = [(column, oid, kind) for column, oid, kind, _, made in found if made != "v"]
        kinds = {column: _TEXT if kind == "e" else _KINDS.get(oid) for column, oid, kind in stored}
        readable = {column: kind for column, kind in kinds.items() if kind is not None}
        refused = {column: str(type_name) for column, _, _, type_name, _ in found if column not in readable}
        shown = pyarrow.schema([(column, kind.shown()) for column, kind in readable.items()]).empty_table()

        def load(names: Sequence[str], person: str | None) -> Any:
            # As a double, two ids of many digits could become one.
            exact = {one: _DIGITS if one == person and readable[one] is _EXACT else readable[one] for one in names}
            return self._copied(name, exact)

        return Frame(shown, load, refused)

    def close(self) -> None:
        """End the transaction."""
        self.connection.close()

    def _relations(self) -> list[tuple[str, int, str]]:
        return self._ask(
            "SELECT relname, pg_class.oid, relkind FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
            "WHERE nspname = %s AND relkind = ANY('{r,p,m,v,f}') ORDER BY relname",
            self.schema,
        )

    def _ask(self, query: str, value: Any) -> list[Any]:
        return list(self.connection.execute(query, [value]).fetchall())

    def _copied(self, table: str, kinds: Mapping[str, Kind]) -> Any:
        import pyarrow

        encoding = self.connection.execute("SHOW server_encoding").fetchone()[0]
        codec = _CODECS.get(encoding)
        if codec is None:
            raise SchemaError(f"The database is encoded in {encoding}, which is not read here; export it to Parquet.")
        for setting in _SETTINGS:
            self.connection.execute(f"SET LOCAL {setting}")
        columns = ", ".join(kind.sql.format(_quoted(name)) for name, kind in kinds.items())
        query = f"COPY (SELECT {columns} FROM {_quoted(self.schema)}.{_quoted(table)}) TO STDOUT"
        with self.connection.cursor() as cursor, cursor.copy(query.encode(codec)) as copy:
            data = b"".join(bytes(block) for block in copy)
        texts = _split(data, len(kinds))
        cells = zip(kinds.items(), texts, strict=True)
        return pyarrow.table({name: kind.read(_unescaped(text), codec) for (name, kind), text in cells})


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _split(data: bytes, columns: int) -> list[Any]:
    """Return the columns of a COPY in text format as Arrow bytes, still escaped."""
    import numpy as np
    import pyarrow
    import pyarrow.csv

    if not data:
        return [pyarrow.chunked_array([], pyarrow.binary())] * columns
    names = [str(place) for place in range(columns)]
    # The reader takes a byte order mark off what comes first: that is a row of nothing, and nobody's cell.
    data = b"\t" * (columns - 1) + b"\n" + data
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    longest = int(np.diff(ends, prepend=-1).max())
    table = pyarrow.csv.read_csv(
        pyarrow.BufferReader(data),
        # A line that is longer than a block would raise.
        pyarrow.csv.ReadOptions(column_names=names, block_size=max(2**20, 2 * longest)),
        pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False, escape_char=False, ignore_empty_lines=False),
        pyarrow.csv.ConvertOptions(
            check_utf8=False,
            column_types=dict.fromkeys(names, pyarrow.binary()),
            null_values=["\\N"],
            strings_can_be_null=True,
        ),
    )
    return [table.column(name).slice(1) for name in names]


def _unescaped(column: Any) -> Cells:
    def whole(cell: bytes | None) -> bytes | None:
        if cell is None or b"\\" not in cell:
            return cell
        return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), cell)

    return [whole(cell) for cell in column.to_pylist()]


# How the text of each type is read


@dataclass(frozen=True)
class Kind:
    """What a type looks like to a schema, and how its text becomes an Arrow column."""

    shown: Callable[[], Any]
    read: Callable[[Cells, str], Any]
    sql: str = "{}"
    """What is copied: the cell, by its type's own output function. Casts are made by anybody, and can fail."""


def _each(kind: Callable[[], Any], read: Callable[[bytes], Any]) -> Kind:
    def column(cells: Cells, _: str) -> Any:
        import pyarrow

        return pyarrow.array([None if cell is None else read(cell) for cell in cells], kind())

    return Kind(kind, column)


def _arrow(name: str) -> Callable[[], Any]:
    def kind() -> Any:
        import pyarrow

        return pyarrow.type_for_alias(name)

    return kind


def _text(cells: Cells, codec: str) -> Any:
    import pyarrow

    def utf8(cell: bytes | None) -> bytes | None:
        if cell is None or codec == "utf-8" or cell.isascii():
            return cell
        try:
            return cell.decode(codec).encode()
        except UnicodeDecodeError:
            return b"\xff" + cell  # no text in any case, and no two of them become one

    return pyarrow.array([utf8(cell) for cell in cells], pyarrow.large_binary())


def _digits(cells: Cells, codec: str) -> Any:
    """Return exact numbers as `ids.number_identity` spells them: 1, 1.0 and 1.00 are one, and NaN is nobody."""

    def short(cell: bytes | None) -> bytes | None:
        if cell is None or cell == b"NaN":
            return None
        return cell.rstrip(b"0").rstrip(b".") if b"." in cell else cell

    return _text([short(cell) for cell in cells], codec)


def _outside(cell: bytes) -> bool | None:
    """Tell whether a day lies after the year 9999 (True) or before the year 1 (False); None for all others."""
    if cell.endswith(b" BC") or cell == b"-infinity":
        return False
    return True if cell == b"infinity" or cell.index(b"-") > 4 else None


def _day(cell: bytes) -> int:
    outside = _outside(cell)
    if outside is not None:
        return _LAST_DAY if outside else _FIRST_DAY
    return date.fromisoformat(cell.decode()).toordinal() - _EPOCH


def _moment(cell: bytes) -> int:
    outside = _outside(cell)
    if outside is not None:
        return (_LAST_DAY + 1) * _A_DAY - 1 if outside else _FIRST_DAY * _A_DAY
    moment = datetime.fromisoformat(cell.decode().removesuffix("+00")).replace(tzinfo=UTC)
    days, second = moment.toordinal() - _EPOCH, (moment.hour * 60 + moment.minute) * 60 + moment.second
    return days * _A_DAY + second * 1_000_000 + moment.microsecond


def _zoned() -> Any:
    import pyarrow

    return pyarrow.timestamp("us", tz="UTC")


_WHOLE = _each(_arrow("int64"), int)
_REAL = _each(_arrow("float64"), float)
_EXACT = _each(_arrow("float64"), float)
_TEXT = Kind(_arrow("string"), _text)
_DIGITS = Kind(_arrow("string"), _digits)
_PADDED = Kind(_arrow("string"), _text, "CAST({} AS pg_catalog.text)")
"""Blanks at the end of char(n) are no part of it, by PostgreSQL's own cast, which nobody can replace."""
_KINDS: dict[int, Kind] = {
    16: _each(_arrow("bool"), lambda cell: cell == b"t"),
    **dict.fromkeys((20, 21, 23, 26), _WHOLE),
    **dict.fromkeys((700, 701), _REAL),
    1700: _EXACT,
    **dict.fromkeys((18, 19, 25, 1043, 2950), _TEXT),
    1042: _PADDED,
    17: _each(_arrow("binary"), lambda cell: bytes.fromhex(cell[2:].decode())),
    1082: _each(_arrow("date32"), _day),
    1114: _each(_arrow("timestamp[us]"), _moment),
    1184: _each(_zoned, _moment),
}
"""The types that are read, by the numbers of PostgreSQL's catalogue: all others are refused, domains among them."""
