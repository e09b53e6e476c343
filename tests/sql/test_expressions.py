from __future__ import annotations

import math
import random  # noqa: TID251  made-up expressions, and no noise
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import ibis
import pyarrow as pa
import pytest

from sfumato.table import expression as make
from sfumato.table import truths
from sfumato.table.expression import Expression

CELLS = list(product((-5, -1, 0, 2, 7, None), (-3, 1, 4)))


def column(name: str, low: int, high: int, step: Fraction, nullable: bool) -> Expression:
    return Expression(
        name, "number", lambda rows: rows[name], low, high, step, nullable=nullable, reads=frozenset({name})
    )


X = column("x", -5, 7, Fraction(1, 2), True)
Y = column("y", -3, 4, Fraction(1, 5), False)


def grown(rng: random.Random, depth: int) -> Expression:
    """Return a random expression of numbers."""
    if depth == 0:
        return rng.choice([X, Y, make.number(Fraction(rng.choice([0, 1, 3]))), make.number(Fraction(3, 4))])
    parts = [grown(rng, depth - 1) for _ in range(2)]
    how = rng.randrange(9)
    if how < 2:
        return make.add(parts, [rng.choice("+-")])
    if how == 2:
        return make.multiply(parts, ["*"])
    if how == 3:
        return make.multiply([parts[0], make.number(Fraction(2))], ["/"])
    if how == 4:
        return rng.choice([make.absolute, make.floored, make.negative])(parts[0])
    if how == 5:
        return make.rounded(parts[0], make.number(Fraction(rng.randrange(2))))
    if how == 6:
        return make.clamped(rng.choice(["LEAST", "GREATEST"]), [parts[0], make.number(Fraction(1))])
    if how == 7:
        return make.coalesced(parts)
    return make.case([(truths.compared(parts[0], "<", Y), parts[1])], rng.choice([None, Y]))


def codes(one: Expression) -> list[int | None]:
    rows = ibis.memtable(pa.table({"x": pa.array([x for x, _ in CELLS], pa.int64()), "y": [y for _, y in CELLS]}))
    cell = one.build(rows)
    return rows.select(c=cell.cast("int64")).to_pyarrow().column("c").to_pylist()


def _inside(one: Expression) -> bool:
    found = codes(one)
    return all((code is None and one.nullable) or (code is not None and one.low <= code <= one.high) for code in found)


def test_values_lie_inside_their_ranges_and_are_missing_only_where_it_is_announced() -> None:
    rng = random.Random(4)
    for _ in range(120):
        one = grown(rng, 3)
        assert _inside(one), one.text


def test_mutants_of_a_range_are_found() -> None:
    square = make.multiply([X, Y], ["*"])
    assert _inside(square)
    corners = sorted((X.low * Y.low, X.high * Y.high))
    assert not _inside(replace(square, low=corners[0], high=corners[1]))
    filled = make.coalesced([X, Y])
    assert not filled.nullable and _inside(filled)
    assert not _inside(replace(X, nullable=False))
    without = make.case([(truths.compared(Y, ">", make.number(Fraction(0))), Y)], None)
    assert without.nullable and not _inside(replace(without, nullable=False))
    either = make.coalesced([X, without])
    assert either.nullable and not _inside(replace(either, nullable=False))


def test_rounding_is_half_away_from_zero() -> None:
    halves = make.rounded(X, None)
    expected = [None if x is None else int(math.copysign(math.floor(abs(x) / 2 + 0.5), x)) for x, _ in CELLS]
    assert codes(halves) == expected
    # Half up would give -2 for -2.5, which is -5 halves.
    assert -3 in expected


def test_floors_of_negatives_go_down() -> None:
    assert codes(make.floored(Y)) == [math.floor(Fraction(y, 5)) for _, y in CELLS]


@pytest.mark.parametrize("part", ["YEAR", "QUARTER", "MONTH", "DAY"])
def test_parts_of_dates(part: str) -> None:
    from datetime import date, timedelta

    from sfumato.domain.calendar import day_number

    days = [date(1900, 2, 28) + timedelta(days=37 * step) for step in range(1500)] + [date(2000, 2, 29), date(1, 1, 1)]
    rows = ibis.memtable(pa.table({"d": [day_number(one) for one in days]}))
    born = Expression("d", "date", lambda table: table.d, day_number(min(days)), day_number(max(days)))
    found = rows.select(c=make.extracted(part, born).build(rows)).to_pyarrow().column("c").to_pylist()
    asked: Any = {
        "YEAR": lambda d: d.year,
        "QUARTER": lambda d: (d.month + 2) // 3,
        "MONTH": lambda d: d.month,
        "DAY": lambda d: d.day,
    }
    assert found == [asked[part](one) for one in days]
