"""Public tables: everything about them may be read from them, and they may be refused for what they hold."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from sfumato.domain import Domain, booleans, categories, dates, fixed, integers
from sfumato.domain.calendar import day_number
from sfumato.errors import ParameterError, SchemaError
from sfumato.table.database import Database, PublicTable
from sfumato.table.flat import LINK, MOST_LABELS, PLACE
from sfumato.table.reading import all_readable
from sfumato.table.schema import Schema
from sfumato.table.source import open_source

KEY = "sfumato_key"
MOST_DIGITS = 9
_NUMBER = re.compile(r" *[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})? *")


@dataclass(frozen=True)
class PublicColumns:
    """A public table in codes: what its columns hold, a digest of all of it, its rows with their places and keys."""

    schema: Schema
    digest: str
    data: Any


def read_public_tables(sources: Mapping[str, Any], database: Database) -> dict[str, PublicColumns]:
    """Read all public tables; a key that is missing or there twice is refused."""
    raw = {
        name: _loaded(sources[name], name, table)
        for name, table in database.tables.items()
        if isinstance(table, PublicTable)
    }
    keys = {name: _keys(table, name, database.tables[name].key) for name, table in raw.items()}  # type: ignore[union-attr]
    return {name: _coded(name, table, keys, database) for name, table in raw.items()}


def _loaded(source: Any, name: str, table: PublicTable) -> Any:
    opened = open_source(source, among=name)
    try:
        columns = list(opened.table.columns)
        if table.key not in columns:
            raise SchemaError(f"The public table {name!r} has no key column {table.key!r}.")
        loaded = all_readable(opened, columns)
        found = loaded.fetched(loaded.table)  # in its turn: somebody else's answer on the connection is not public
        return found if loaded.kind != "csv" else _with_numbers(found)
    finally:
        opened.close()


def _with_numbers(table: Any) -> Any:
    """Read columns of a CSV file as numbers where every cell is one."""
    import pyarrow as pa

    columns = {}
    for name in table.column_names:
        cells = [None if cell in (None, "") else cell for cell in table.column(name).to_pylist()]
        whole = all(cell is None or _NUMBER.fullmatch(cell) for cell in cells) and any(cells)
        columns[name] = (
            pa.array([None if cell is None else Decimal(cell.strip()) for cell in cells])
            if whole
            else pa.array(cells, pa.string())
        )
    return pa.table(columns)


def _keys(table: Any, name: str, key: str) -> dict[Any, int]:
    column = table.column(key).combine_chunks()
    cells = column.to_pylist()
    if _is_plain(column.type) and not column.null_count:
        found = dict(zip(cells, range(len(cells)), strict=True))
        if len(found) == len(cells):
            return found
    whole = [int(cell) if isinstance(cell, Decimal) and cell == int(cell) else cell for cell in cells]
    if any(cell is None or not isinstance(cell, (int, str)) or isinstance(cell, bool) for cell in whole):
        raise SchemaError(f"The key {key!r} of {name!r} is missing in a row, or is neither a whole number nor text.")
    found = {cell: place for place, cell in enumerate(whole)}
    if len(found) != len(whole):
        raise SchemaError(f"The key {key!r} of {name!r} is there twice; a link would lead to two rows.")
    return found


def _is_plain(kind: Any) -> bool:
    """Tell whether cells of a type are whole numbers or texts as they stand."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _coded(name: str, table: Any, keys: Mapping[str, dict[Any, int]], database: Database) -> PublicColumns:
    import pyarrow as pa

    columns: dict[str, Any] = {PLACE: pa.array(np.arange(table.num_rows, dtype=np.int32))}
    columns[KEY] = pa.array(list(keys[name]), pa.string() if isinstance(next(iter(keys[name]), 0), str) else pa.int64())
    links = database.links_of(name)
    domains: dict[str, Domain] = {}
    for column in table.column_names:
        if column in links:
            partner = keys[links[column]]
            columns[LINK + column] = pa.array(
                [partner.get(cell) for cell in table.column(column).to_pylist()], pa.int32()
            )
            continue
        read = _column(table.column(column).combine_chunks())
        if read is not None:
            domains[column], codes = read
            columns[column] = pa.array(codes, pa.int64())
    lacking = [link for link in links if link not in table.column_names]
    if lacking:
        raise SchemaError(f"The public table {name!r} has no column {lacking[0]!r} for its link.")
    try:
        schema = Schema(domains)
    except (SchemaError, ParameterError) as refused:
        raise SchemaError(f"The public table {name!r} cannot be used: {refused}") from None
    data = pa.table(columns)
    return PublicColumns(schema, _digest(data, schema), data)


def _digest(data: Any, schema: Schema) -> str:
    found = hashlib.sha256(schema.fingerprint.encode())
    for name in data.column_names:
        column = data.column(name).combine_chunks()
        cells = column.fill_null("" if name == KEY and str(column.type) == "string" else -(2**31))
        found.update(
            repr(cells.to_pylist()).encode() if name == KEY else cells.to_numpy(zero_copy_only=False).tobytes()
        )
    return found.hexdigest()


def _column(cells: Any) -> tuple[Domain, Any] | None:
    """Return the domain that the cells of a column have, and their codes; None for what no expression can use."""
    import pyarrow as pa

    kind, absent = cells.type, np.asarray(cells.is_null())
    there = ~absent
    if pa.types.is_dictionary(kind):
        return _column(cells.dictionary_decode())
    if cells.null_count == len(cells):
        return None
    if pa.types.is_boolean(kind):
        return _filled(booleans(**_missing(absent, False)), np.asarray(cells.fill_null(False)).astype(np.int64), absent)
    if pa.types.is_integer(kind):
        values = np.asarray(cells.fill_null(0))
        values = values.astype(object if pa.types.is_uint64(kind) else np.int64)
        low, high = int(values[there].min()), int(values[there].max())
        return (
            _filled(integers(low, high, **_missing(absent, low)), values, absent) if max(-low, high) < 2**61 else None
        )
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _real(
            [
                None if cell is None else Decimal(repr(cell)) if isinstance(cell, float) else cell
                for cell in cells.to_pylist()
            ],
            absent,
        )
    if pa.types.is_date(kind):
        days = [None if cell is None else day_number(cell) for cell in cells.to_pylist()]
        known = [cell for cell in cells.to_pylist() if cell is not None]
        domain = dates(min(known), max(known), **_missing(absent, min(known)))
        return _filled(domain, np.array([0 if one is None else one for one in days], object), absent)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _labels(cells, absent)
    return None


def _missing(absent: Any, value: Any) -> dict[str, Any]:
    return {} if absent.any() else {"missing": value}


def _filled(domain: Domain, codes: Any, absent: Any) -> tuple[Domain, Any]:
    found = codes if codes.dtype == np.int64 else np.asarray(codes, object)
    if absent.any():
        found = found.copy()
        found[absent] = domain.missing_code
    return domain, found.astype(np.int64)


def _labels(cells: Any, absent: Any) -> tuple[Domain, Any] | None:
    encoded = cells.dictionary_encode()
    known = encoded.dictionary.to_pylist()
    if len(known) > MOST_LABELS:
        return None
    order = sorted(range(len(known)), key=known.__getitem__)
    places = np.empty(len(known), np.int64)
    places[order] = np.arange(len(known))
    values = [known[place] for place in order]
    domain = categories(*values, **_missing(absent, values[0]))
    return _filled(domain, places[np.asarray(encoded.indices.fill_null(0))], absent)


def _real(cells: list[Decimal | None], absent: Any) -> tuple[Domain, Any] | None:
    known = [cell for cell in cells if cell is not None]
    if not all(cell.is_finite() for cell in known):
        return None
    exponents = [cell.normalize().as_tuple().exponent for cell in known]
    digits = max(0, *(-int(exponent) for exponent in exponents), 0)
    if digits > MOST_DIGITS:
        return None
    codes = [0 if cell is None else int(cell.scaleb(digits)) for cell in cells]
    there = [code for code, gone in zip(codes, absent, strict=True) if not gone]
    low, high = min(there), max(there)
    if digits == 0:
        return _filled(integers(low, high, **_missing(absent, low)), np.array(codes, object), absent)
    step = f"1e-{digits}"
    try:
        domain = fixed(
            Decimal(low).scaleb(-digits),
            Decimal(high).scaleb(-digits),
            step=step,
            **_missing(absent, Decimal(low).scaleb(-digits)),
        )
    except ParameterError:
        return None
    return _filled(domain, np.array(codes, object), absent)
