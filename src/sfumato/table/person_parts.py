"""Aggregates of one person's rows, clamped to public ranges, inside an engine (SQ-PERSON).

All rows of a person are used, unweighed and unpicked. The range follows from that of one row and from how many rows a
person may have by declaration; who has more is clamped, so that nobody moves a total by more than the range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError
from sfumato.table.boxes import clamped_sum, inside, sums_of
from sfumato.table.expression import Expression, case, number
from sfumato.table.flat import Flat, Holdings, PersonPart
from sfumato.table.moments import small_quotient
from sfumato.table.repair import PERSON
from sfumato.table.statistics import MOST_ROWS
from sfumato.table.truths import present

if TYPE_CHECKING:
    import ibis.expr.types as ir

FINER = 1000
"""An average is rounded to this part of the step of what is averaged."""
ONLY_COMPARED = ("text", "time")
"""Kinds of values that have no codes to add up or to list: they are compared, and counted."""


def person_part(function: str, of: Expression | None, distinct: bool, rows: int, place: int) -> PersonPart:
    """Return one aggregate with its range: r rows of values between lo and hi (SQ-PERSON).

    >>> from sfumato.table.expression import number
    >>> from fractions import Fraction
    >>> person_part("SUM", number(Fraction(3)), False, 40, 0).value.ends
    (Fraction(3, 1), Fraction(120, 1))
    """
    name = f"part_{place}"

    def build(found: Any) -> Any:
        return found[name]

    inside = "*" if of is None else ("DISTINCT " if distinct else "") + of.text
    text = f"{function}({inside})"
    reads = frozenset[str]() if of is None else of.reads
    facts: dict[str, Any] = {"reads": reads, "columns": frozenset({name})}
    if function == "COUNT" and of is not None and not distinct and of.kind in ONLY_COMPARED:
        of = present(of)
    if function == "COUNT":
        low = 1 if of is None or (not of.nullable and not distinct) else 0
        listed = distinct and of is not None and of.kind not in ONLY_COMPARED
        size = min(rows, of.high - of.low + 1) if listed and of is not None else rows
        if distinct and of is not None and not of.nullable:
            low = 1
        value = Expression(text, "number", build, low, max(size, low), **facts)
        return PersonPart("COUNT DISTINCT" if distinct else "COUNT", of, value, name)
    assert of is not None
    if of.kind not in (("number",) if function in ("SUM", "AVG") else ("number", "date")):
        raise ParameterError(f"{text} needs numbers; write it of a number.")
    facts["nullable"] = of.nullable
    low, high, step = of.low, of.high, of.step
    if function == "SUM":
        low, high = min(low, rows * low), max(high, rows * high)
    if function == "AVG":
        if max(abs(low), abs(high)) * MOST_ROWS >= 2**62:
            raise ParameterError(f"The values of {of.text} are too large to be averaged exactly; write ROUND(…, 2).")
        low, high, step = low * FINER, high * FINER, step / FINER
    return PersonPart(function, of, Expression(text, of.kind, build, low, high, step, **facts), name)


def aggregated(flat: Flat, parts: Sequence[PersonPart], holdings: Holdings) -> ir.Table:
    """Return one row for each person who has a flat row: the person, and the code of each aggregate or null."""
    used = frozenset[str]().union(*(part.of.columns for part in parts if part.of is not None))
    rows = flat.rows(holdings, used)
    cells = {
        f"cell_{place}": part.of.build(rows) if part.of.kind == "text" else part.of.build(rows).cast("int64")
        for place, part in enumerate(parts)
        if part.of is not None
    }
    rows = rows.select({**cells, **{PERSON: rows[PERSON]}})
    found: dict[str, Any] = {"sfumato_rows": rows.count()}
    for place, part in enumerate(parts):
        found |= _aggregates(rows, part, f"cell_{place}", place)
    grouped = rows.group_by(PERSON).agg(**found)
    finished = {part.name: _finished(grouped, part, place) for place, part in enumerate(parts)}
    grouped = grouped.select(
        **{name: value for name, value in finished.items() if value is not None}, **{PERSON: grouped[PERSON]}
    )
    for place, part in enumerate(parts):
        if part.function == "MEDIAN":
            middle = _medians(rows, f"cell_{place}", part.name)
            grouped = grouped.left_join(middle, [grouped[PERSON] == middle.sfumato_other]).drop("sfumato_other")
    return grouped


def _aggregates(rows: ir.Table, part: PersonPart, cell: str, place: int) -> dict[str, Any]:
    """Return what is computed over the rows of a person."""
    if part.of is None or part.function == "MEDIAN":
        return {}
    value, name = rows[cell], f"found_{place}"
    if part.function == "COUNT":
        return {name: value.count()}
    if part.function == "COUNT DISTINCT":
        return {name: value.nunique()}
    if part.function in ("MIN", "MAX"):
        return {name: value.min() if part.function == "MIN" else value.max()}
    if part.function == "AVG":
        return {name: (value - part.of.low).sum(), f"{name}_count": value.count()}
    return sums_of(rows, value, max(abs(part.of.low), abs(part.of.high)), name)


def _finished(grouped: ir.Table, part: PersonPart, place: int) -> Any:
    """Return the aggregate as a code inside its range, null where it is missing; None for what is joined later."""
    if part.function == "MEDIAN":
        return None
    name, value = f"found_{place}", part.value
    if part.of is None:
        return inside(grouped.sfumato_rows.cast("int64"), value)
    if part.function == "AVG":
        return _mean(grouped[name].cast("int64"), grouped[f"{name}_count"].cast("int64"), part)
    return clamped_sum(grouped, name, value)


def _mean(total: Any, count: Any, part: PersonPart) -> Any:
    """Return an average to a thousandth of the step, half up, of a sum that is not negative."""
    import ibis

    assert part.of is not None
    many = ibis.ifelse(count > 0, count, ibis.literal(1, "int64"))
    rest = total % many
    whole = ((total - rest) / many).round().cast("int64")
    finer = ((rest * (2 * FINER) + many) / (many * 2)).floor().cast("int64")
    mean = whole * FINER + finer + part.of.low * FINER
    return ibis.ifelse(count > 0, inside(mean, part.value), ibis.null("int64"))


def _medians(rows: ir.Table, cell: str, name: str) -> ir.Table:
    """Return the lower median of each person's values."""
    import ibis

    there = rows.filter(rows[cell].notnull()).select(sfumato_cell=rows[cell], sfumato_other=rows[PERSON])
    window = ibis.window(group_by="sfumato_other", order_by="sfumato_cell")
    placed = there.mutate(
        sfumato_place=ibis.row_number().over(window),
        sfumato_rows=there.count().over(ibis.window(group_by="sfumato_other")),
    )
    middle = placed.filter(placed.sfumato_place == small_quotient(placed.sfumato_rows - 1, 2))
    return middle.select(sfumato_other=middle.sfumato_other, **{name: middle.sfumato_cell})


def filtered(of: Expression | None, where: Expression) -> Expression:
    """Return FILTER (WHERE …) as CASE without ELSE: what fails it is missing."""
    if of is not None and of.kind in ONLY_COMPARED:
        of = present(of)
    found = case([(where, number(Fraction(1)) if of is None else of)], None)
    return replace(found, text=f"{'*' if of is None else of.text} FILTER {where.text}")
