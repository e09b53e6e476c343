"""Every cell to an integer code inside the engine, the same on every engine, without ever raising.

The order of work is fixed, because engines differ on everything else: null and NaN to some value of the range, clamp
in the cell's own type, floor(x·scale + 1/2), only then a cast, and at the end the code of missing cells where they are.
Python's `Domain.encode` does the same steps on one value; the tests hold the two together.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.domain import (
    Bins,
    Booleans,
    Categories,
    Dates,
    Derived,
    Domain,
    FixedPoint,
    Integers,
    Months,
    Text,
    Times,
    Weekdays,
    Years,
)
from sfumato.domain.labels import FALSE_TEXT, TRUE_TEXT
from sfumato.domain.numbers import double_ends
from sfumato.errors import SchemaError
from sfumato.table.cells import FEW_LABELS, PERSON_TYPES, place, real, written_number
from sfumato.table.days import calendar_code, day_code
from sfumato.table.moments import moment_code
from sfumato.table.order import key_text
from sfumato.table.schema import Schema
from sfumato.table.unread import lacking_columns, without_zone

if TYPE_CHECKING:
    import ibis.expr.types as ir

PERSON = "sfumato_person"
"""The column that says whose row it is, after repair."""

KEY = "sfumato_key"
"""The row key, after repair: one text for each combination of its columns."""

KEY_TYPES = ("integer", "string", "date", "timestamp", "boolean")


def repaired(table: ir.Table, schema: Schema, names: Sequence[str] | None = None) -> ir.Table:
    """Return the declared columns as codes (text stays text), and the person; rows without a person are left out.

    Raises on public facts only: a column that is not there, a type that its domain cannot read.
    """
    wanted = schema.names if names is None else tuple(names)
    check_columns(table, schema)
    cells: dict[str, Any] = {name: repaired_cell(table, schema, name) for name in wanted}
    if schema.person is None:
        return table.select(cells)
    person = table[schema.person]
    present = person.notnull()
    if person.type().is_string():
        present = present & (person != "")
    key = {KEY: key_text([table[name] for name in schema.row_key])} if schema.row_key else {}
    return table.filter(present).select({**cells, **{PERSON: person}, **key})


def check_columns(table: ir.Table, schema: Schema, source: str = "") -> None:
    """Refuse a schema that names columns or types that the table does not have; `source` is whose frame it was."""
    found = dict(table.schema().items())
    base = {schema.base(name) for name in schema.names}
    wanted = (*sorted(base), *([schema.person] if schema.person else []), *(schema.row_key or ()))
    lacking = [name for name in dict.fromkeys(wanted) if name not in found]
    if lacking:
        raise SchemaError(lacking_columns(lacking, found))
    wrong = []
    for name in sorted(base):
        readable = _readable(schema.domain(name))
        if not any(getattr(found[name], f"is_{kind}")() for kind in readable):
            wrong.append(f"{name!r} is {found[name]} and its domain reads {' or '.join(readable)}")
        elif _has_zone(found[name], schema.domain(name)):
            wrong.append(
                f"{name!r} is {found[name]}: it has a time zone, and its day depends on who looks; "
                f"{without_zone(name, source)}, or declare it as times(…, zone='UTC')"
            )
    if schema.person is not None:
        kind = found[schema.person]
        if not (kind.is_integer() or kind.is_string()):
            wrong.append(f"the person column {schema.person!r} is {kind} and must be {PERSON_TYPES}")
    for name in schema.row_key or ():
        if not any(getattr(found[name], f"is_{kind}")() for kind in KEY_TYPES):
            wrong.append(f"the row key {name!r} is {found[name]} and must be {', '.join(KEY_TYPES)}")
    if wrong:
        raise SchemaError(f"The schema does not match the types of the source: {'; '.join(wrong)}.")


def _readable(domain: Domain) -> tuple[str, ...]:
    if isinstance(domain, (Integers, FixedPoint)):
        return ("integer", "floating", "decimal", "boolean", "string")
    if isinstance(domain, Categories):
        return ("string", "binary") if domain.is_text else ("integer", "string", "binary")
    if isinstance(domain, Booleans):
        return ("boolean", "integer", "string")
    return ("date", "timestamp", "string") if isinstance(domain, (Dates, Times)) else ("string",)


def _has_zone(kind: Any, domain: Domain) -> bool:
    # The day of a moment depends on the zone in which somebody looks at it, so moments with zones are no dates.
    if isinstance(domain, Times) and domain.zone is not None:
        return False
    return bool(kind.is_timestamp() and kind.timezone is not None)


def repaired_cell(table: ir.Table, schema: Schema, name: str) -> Any:
    """Return the expression for the code of one column; a derived column is computed from its repaired base."""
    domain = schema.domain(name)
    cell = table[schema.base(name)]
    # Where rows are weighed or picked they are moved, and small codes move faster; DuckDB groups 32 bits faster.
    smallest = 8 if schema.person is not None else 32
    if isinstance(domain, Derived):
        return _narrow(_derived(cell, domain), domain, smallest)
    if isinstance(domain, Text):
        # The engine keeps as many characters as there may be bytes; the last bytes are cut in Python, cell by cell.
        filled = cell if domain.may_be_missing else cell.fill_null(domain.missing)
        return filled.substr(0, domain.max_bytes)
    return _narrow(_code(cell, domain), domain, smallest)


def _narrow(code: Any, domain: Domain, smallest: int) -> Any:
    """Cast to the smallest integer type, from `smallest` bits on, that holds every code; the range is public."""
    assert domain.last is not None
    for bits in (8, 16, 32):
        if bits >= smallest and -(2 ** (bits - 1)) <= domain.first and domain.last < 2 ** (bits - 1):
            return code.cast(f"int{bits}")
    return code.cast("int64")


def _code(cell: Any, domain: Domain) -> Any:
    if isinstance(domain, Integers):
        return _number(cell, domain, Fraction(1))
    if isinstance(domain, FixedPoint):
        return _number(cell, domain, domain.step)
    if isinstance(domain, Categories):
        return _category(cell, domain)
    if isinstance(domain, Booleans):
        return _boolean(cell, domain)
    if isinstance(domain, Times):
        return moment_code(cell, domain).fill_null(_literal(domain.missing_code))
    assert isinstance(domain, Dates)
    return day_code(cell, domain)


def _number(cell: Any, domain: Integers | FixedPoint, step: Fraction) -> Any:
    import ibis

    kind = cell.type()
    if kind.is_boolean():
        cell = ibis.ifelse(cell.isnull(), ibis.null("int64"), cell.cast("int64"))
        kind = cell.type()
    if kind.is_integer() and step == 1:
        return _whole(cell, domain)
    if kind.is_string():
        cell = written_number(cell, domain.figures)
    elif not kind.is_float64():
        cell = cell.cast("float64")
    least, most = double_ends(Fraction(domain.low), Fraction(domain.high))
    cell = real(cell)
    absent = cell.isnull()
    # NaN is replaced before the cast and not only behind a CASE: an optimiser may compute both branches.
    stand_in = float(domain.low if domain.missing is None else domain.missing)
    value = ibis.ifelse(absent, _double(stand_in), cell)
    clamped = ibis.greatest(ibis.least(value, _double(most)), _double(least))
    scaled = clamped if step.denominator == 1 else clamped * _double(float(step.denominator))
    scaled = scaled if step.numerator == 1 else scaled / _double(float(step.numerator))
    code = (scaled + _double(0.5)).floor().cast("int64")
    if domain.encode(stand_in) == domain.missing_code:
        return code
    return ibis.ifelse(absent, ibis.literal(domain.missing_code, "int64"), code)


def _double(value: float) -> Any:
    import ibis

    return ibis.literal(value, "float64")


def _whole(cell: Any, domain: Integers | FixedPoint) -> Any:
    """Clamp integers as integers: no rounding at any size, and in the cell's own type where that holds the ends."""
    import ibis

    kind = cell.type()
    smallest, greatest = kind.bounds
    low, high = max(domain.first, smallest), min(domain.highest, greatest)
    if low > high or not smallest <= domain.missing_code <= greatest:
        # The ends or the missing code lie outside the cell's type; half of the unsigned ones do not fit a signed
        # one, so they are clamped from above first.
        number = ibis.least(cell, ibis.literal(max(domain.highest, 0), kind)) if kind.is_uint64() else cell
        clamped = ibis.greatest(ibis.least(number.cast("int64"), _literal(domain.highest)), _literal(domain.first))
        return ibis.ifelse(cell.isnull(), _literal(domain.missing_code), clamped)
    if domain.may_be_missing:
        # The level of missing cells lies outside the range, so it is put in after the clamp.
        clamped = ibis.greatest(ibis.least(cell, ibis.literal(high, kind)), ibis.literal(low, kind))
        return ibis.ifelse(cell.isnull(), ibis.literal(domain.missing_code, kind), clamped)
    value = cell.fill_null(ibis.literal(domain.missing_code, kind))
    if high < greatest:
        value = ibis.least(value, ibis.literal(high, kind))
    return value if low == smallest else ibis.greatest(value, ibis.literal(low, kind))


def _category(cell: Any, domain: Categories) -> Any:
    import ibis

    known: list[tuple[Any, int]] = [(label, domain.code(label)) for label in domain.listed]
    if cell.type().is_string() and cell.get_backend().name == "duckdb":
        code = place(cell, [str(label) for label in domain.listed], domain.other_code)
        apart = domain.missing_code != domain.other_code
        return ibis.ifelse(cell.isnull(), ibis.literal(domain.missing_code, "int32"), code) if apart else code
    if cell.type().is_binary():
        known = sorted((str(label).encode("utf-8"), code) for label, code in known)
    elif cell.type().is_string():
        known = [(str(label), code) for label, code in known]
        # Halving needs the order in which engines compare text: by the bytes of UTF-8.
        known.sort(key=lambda pair: pair[0].encode("utf-8"))
    else:
        cell = cell if cell.type().is_uint64() else cell.cast("int64")
        known.sort()
        if cell.type().is_uint64():
            known = [(label, code) for label, code in known if label >= 0]
    return ibis.ifelse(cell.isnull(), _literal(domain.missing_code), _found(cell, known, domain.other_code))


def _literal(code: int) -> Any:
    import ibis

    return ibis.literal(code, "int64")


def _found(cell: Any, known: list[tuple[Any, int]], unknown: int) -> Any:
    """Find a cell among sorted categories by halving: as many comparisons as the logarithm of their number."""
    import ibis

    if len(known) <= FEW_LABELS:
        found = _literal(unknown)
        for label, code in known:
            found = ibis.ifelse(cell == label, _literal(code), found)
        return found
    middle = len(known) // 2
    below, above = _found(cell, known[:middle], unknown), _found(cell, known[middle:], unknown)
    return ibis.ifelse(cell < known[middle][0], below, above)


def _boolean(cell: Any, domain: Booleans) -> Any:
    import ibis

    if cell.type().is_boolean():
        true, false = cell, ~cell
    elif cell.type().is_integer():
        true, false = cell == 1, cell == 0
    else:
        true, false = cell.re_search(f"^{TRUE_TEXT}\\z"), cell.re_search(f"^{FALSE_TEXT}\\z")
    # Null is neither, and both tests are then null, which a CASE passes over.
    return ibis.ifelse(true, _literal(1), ibis.ifelse(false, _literal(0), _literal(domain.missing_code)))


def _derived(cell: Any, domain: Derived) -> Any:
    rule, base = domain.rule, domain.base
    if isinstance(rule, (Months, Years, Weekdays)):
        return calendar_code(cell, rule, domain)
    assert isinstance(rule, Bins)
    code = _code(cell, base)
    if not base.may_be_missing:
        return _bin(code, rule, domain)
    import ibis

    absent = code == base.missing_code
    # The level of missing cells lies above the range: it is replaced before the bins are counted.
    there = ibis.ifelse(absent, _literal(base.first), code)
    return ibis.ifelse(absent, _literal(domain.missing_code), _bin(there, rule, domain))


def _bin(code: Any, rule: Bins, domain: Derived) -> Any:
    if rule.step is None:
        return bin_place(code, list(rule.edge_codes(domain.base)))
    width = rule.width(domain.base)
    # Engines round the quotient of negative numbers in different ways, so the dividend starts at zero.
    start = domain.first * width
    shifted = code - start
    return ((shifted - shifted % width) / width).cast("int64") + domain.first


def bin_place(code: Any, starts: Sequence[int], before: int = 0) -> Any:
    """Count the bins that start at or below a code, by halving."""
    import ibis

    if not starts:
        return _literal(before)
    middle = len(starts) // 2
    below = bin_place(code, starts[:middle], before)
    above = bin_place(code, starts[middle + 1 :], before + middle + 1)
    return ibis.ifelse(code < starts[middle], below, above)
