"""Tiny tables with odd cells, and what one person, or one attribute of one person, can make of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import pyarrow

from sfumato import Schema
from sfumato.domain import bins, booleans, categories, dates, fixed, integers, months, text
from sfumato.noise import Noise

COLUMNS: dict[str, Any] = {
    "age": integers(0, 7, missing=0),
    "pay": fixed(-1, 2, step="0.5"),
    "job": categories("a", "b", other="c", missing="a"),
    "ill": booleans(missing=False),
    "scar": booleans(),
    "seen": dates("2020-01-01", "2020-03-31"),
    "town": text(max_bytes=4),
    "address": integers(0, 2**30 - 1, missing=0),
    "caller": integers(0, 3, missing=0),
    "called": integers(0, 3, missing=0),
    "ward": categories("n", "s", public=True),
    "level": integers(0, 3, missing=0, public=True),
    "decade": bins("age", step=2),
    "month": months("seen"),
}
"""Some columns say what a missing cell counts as, which learners ask for; of others missing cells are left out.

A column of every kind: whole and fixed-point numbers, categories, truth values, dates, text, derived and public."""

PRIVATE = ("age", "pay", "job", "ill", "scar", "seen", "town", "address", "caller", "called")
PUBLIC = ("ward", "level")

LOW = {
    "age": 0, "pay": -1.0, "job": "a", "ill": False, "scar": False, "seen": date(2020, 1, 1), "town": "A",
    "address": 0, "caller": 0, "called": 1, "ward": "n", "level": 0,
}  # fmt: skip
HIGH = {
    "age": 7, "pay": 2.0, "job": "b", "ill": True, "scar": True, "seen": date(2020, 3, 31), "town": "B",
    "address": 2**30 - 1, "caller": 3, "called": 2, "ward": "s", "level": 3,
}  # fmt: skip
ODD = {
    "age": (None, -5, 99), "pay": (None, float("nan"), float("inf"), -float("inf")), "job": (None, "zz", ""),
    "ill": (None,), "scar": (None,), "seen": (None, date(1, 1, 1), date(9999, 12, 31)),
    "town": (None, "", "far too long"), "address": (None, -1, 2**62), "caller": (None, 77), "called": (None, -1),
    "ward": (None,), "level": (None, 9),
}  # fmt: skip
"""Cells that no schema asked for: each becomes something by a public rule, on its own."""


class Draws:
    """Choices that a seed repeats."""

    def __init__(self, seed: int) -> None:
        self._noise = Noise(insecure_seed=seed)

    def below(self, bound: int) -> int:
        """Return a whole number from 0 to before the bound."""
        return int(self._noise.uniform(bound))

    def chance(self, probability: float) -> bool:
        """Return True as often as this."""
        return self.below(1 << 20) < probability * (1 << 20)

    def one_of(self, listed: Sequence[Any]) -> Any:
        """Return one of them."""
        return listed[self.below(len(listed))]


Row = dict[str, Any]
Rows = list[Row]


@dataclass(frozen=True)
class Neighbour:
    """Another table: the names of the attributes of one person that changed, or None where the person did."""

    name: str
    rows: Rows
    changed: frozenset[str] | None
    relation: str = "both"
    """"replace" or "add-remove" where only one of the relations calls the tables neighbours."""


@dataclass(frozen=True)
class World:
    """A schema and how its rows are read."""

    name: str
    schema: Schema
    rows: int

    @property
    def alone(self) -> bool:
        """Whether every row is a person of its own."""
        return self.schema.person is None


def worlds() -> list[World]:
    """Return the ways in which rows can belong to people."""
    made = {
        "no person": {},
        "declared": {"person": "id", "row_key": ()},
        "one row": {"person": "id"},
        "one keyed": {"person": "id", "row_key": ("visit",)},
        "two rows": {"person": "id", "rows_per_person": 2},
        "two keyed": {"person": "id", "rows_per_person": 2, "row_key": ("visit",)},
        "two groups": {"person": "id", "rows_per_person": 3, "groups_per_person": 2},
        "keyed groups": {"person": "id", "rows_per_person": 3, "groups_per_person": 2, "row_key": ("visit",)},
    }
    return [
        World(name, Schema(COLUMNS, **options), options.get("rows_per_person", 1)) for name, options in made.items()
    ]


def arrow(rows: Sequence[Mapping[str, Any]]) -> pyarrow.Table:
    """Return rows as a table; types are those of the columns and never of the cells."""
    kinds = {
        "id": pyarrow.string(), "visit": pyarrow.int64(), "age": pyarrow.int64(), "pay": pyarrow.float64(), "job": pyarrow.string(),
        "ill": pyarrow.bool_(), "scar": pyarrow.bool_(), "seen": pyarrow.date32(), "town": pyarrow.string(),
        "address": pyarrow.int64(), "caller": pyarrow.int64(), "called": pyarrow.int64(), "ward": pyarrow.string(),
        "level": pyarrow.int64(),
    }  # fmt: skip
    return pyarrow.table({name: pyarrow.array([row[name] for row in rows], kind) for name, kind in kinds.items()})


def random_cell(draw: Draws, name: str, odd: float) -> Any:
    """Return any cell of a column, now and then an odd one."""
    if draw.chance(odd):
        return draw.one_of(ODD[name])
    match name:
        case "seen":
            return date(2020, 1, 1) + timedelta(days=draw.below(91))
        case "pay":
            return draw.below(7) / 2 - 1
        case "job" | "ward":
            return draw.one_of(("a", "b", "c") if name == "job" else ("n", "s"))
        case "ill" | "scar":
            return draw.chance(0.5)
        case "town":
            return draw.one_of("ABC")
        case "address":
            return draw.one_of((0, 5, 2**30 - 1))
    return draw.below(8 if name == "age" else 4)


def random_row(draw: Draws, person: str, odd: float = 0.15) -> Row:
    """Return a row of somebody."""
    return {
        "id": person,
        "visit": draw.below(10),
        **{name: random_cell(draw, name, odd) for name in (*PRIVATE, *PUBLIC)},
    }


PASSES = {**HIGH, "ward": "n"}
"""The other end of every range, inside of all filters that are asked about."""
LOWEST = {**LOW, **{name: PASSES[name] for name in ("ill", "scar", "job", "ward")}}
"""The low end of every range, inside of the same filters."""


MIDDLE = {"age": 3, "pay": 0.5, "job": "c"}
"""Between the ends: squares move furthest from there, and a third category is its own place."""


def _equal(person: str, cells: Row, world: World) -> Rows:
    return [{"id": person, "visit": visit, **cells} for visit in range(world.rows)]


def base(draw: Draws, world: World) -> Rows:
    """Return people of one to five rows: two have as many equal rows as count, one has more than count."""
    equal = [*_equal("p", LOW, world), *_equal("h", PASSES, world)]
    many = [random_row(draw, "q") for _ in range(5)]
    others = [random_row(draw, person) for person, rows in (("r", 1), ("s", 3)) for _ in range(rows)]
    return [*equal, *many, *others]


def neighbours(draw: Draws, world: World, rows: Rows, tries: int = 1) -> Iterator[Neighbour]:
    """Yield what one person, or one attribute of one person, makes of a table: the extremes, and any."""
    low, high, many = (_of(world, rows, person) for person in "phq")
    for name, places, others in (
        ("low to high", low, _equal("p", HIGH, world)),
        ("low to inside", low, _equal("p", PASSES, world)),
        ("high to low", high, _equal("h", LOWEST, world)),
        ("middle to high", high, _equal("h", {**PASSES, "age": 3, "pay": 0.5}, world)),
        ("one row for many", many, [random_row(draw, "q")]),
        ("many others", many, [random_row(draw, "q", 0) for _ in many]),
        (
            "three places",
            high,
            [{**PASSES, "id": "h", "visit": v, "age": 2 * v, "job": "abc"[v], "town": "ABC"[v]} for v in range(3)],
        ),
    ):
        if not (world.alone and len(others) != len(places)):
            yield Neighbour(name, _exchanged(rows, places, others), None, "replace")
    for person, places in (("p", low), ("h", high), ("q", many)):
        yield Neighbour(f"without {person}", _exchanged(rows, places, []), None, "add-remove")
    for name in PRIVATE:
        one = frozenset({name})
        yield Neighbour(f"{name} of p", _with(rows, low, {name: lambda _, n=name: HIGH[n]}), one)
        yield Neighbour(f"{name} of h", _with(rows, high, {name: lambda _, n=name: LOW[n]}), one)
        if name in MIDDLE:
            yield Neighbour(f"{name} of h to the middle", _with(rows, high, {name: lambda _, n=name: MIDDLE[n]}), one)
        for attempt in range(tries):
            drawn = _with(rows, many, {name: lambda _, n=name: random_cell(draw, n, 0.15)})
            yield Neighbour(f"{name} of q, {attempt}", drawn, one)


def _of(world: World, rows: Rows, person: str) -> list[int]:
    """Return the places of a person's rows; where every row is a person, of the first of them."""
    found = [at for at, row in enumerate(rows) if row["id"] == person]
    return found[:1] if world.alone else found


def _exchanged(rows: Rows, places: Sequence[int], others: Sequence[Row]) -> Rows:
    kept = [row for at, row in enumerate(rows) if at not in set(places)]
    return [*kept, *others]


def _with(rows: Rows, places: Sequence[int], cells: Mapping[str, Any]) -> Rows:
    """Return the table in which some cells of some rows are others."""
    chosen = set(places)
    return [
        {**row, **{name: made(row) for name, made in cells.items()}} if at in chosen else row
        for at, row in enumerate(rows)
    ]
