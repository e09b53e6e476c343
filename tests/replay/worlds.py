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
    "age": integers(0, 7),
    "pay": fixed(-1, 2, step="0.5"),
    "job": categories("a", "b", other="c"),
    "ill": booleans(),
    "scar": booleans(),
    "seen": dates("2020-01-01", "2020-03-31"),
    "town": text(max_bytes=4),
    "address": integers(0, 2**30 - 1),
    "caller": integers(0, 3),
    "called": integers(0, 3),
    "ward": categories("n", "s", public=True),
    "level": integers(0, 3, public=True),
    "decade": bins("age", step=2),
    "month": months("seen"),
}
"""A column of every kind: whole and fixed-point numbers, categories, truth values, dates, text, derived and public."""

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


def worlds(**options: Any) -> list[World]:
    """Return the ways in which rows can belong to people."""
    return [
        World("no person", Schema(COLUMNS), 1),
        World("one row", Schema(COLUMNS, person="id", rows_per_person=1, **options), 1),
        World("two rows", Schema(COLUMNS, person="id", rows_per_person=2, **options), 2),
    ]


def arrow(rows: Sequence[Mapping[str, Any]]) -> pyarrow.Table:
    """Return rows as a table; types are those of the columns and never of the cells."""
    kinds = {
        "id": pyarrow.string(), "age": pyarrow.int64(), "pay": pyarrow.float64(), "job": pyarrow.string(),
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
    return {"id": person, **{name: random_cell(draw, name, odd) for name in (*PRIVATE, *PUBLIC)}}


def base(draw: Draws, world: World) -> Rows:
    """Return four people of one to five rows; the first has as many equal rows as count, the second more."""
    equal = [{"id": "p", **LOW} for _ in range(world.rows)]
    many = [random_row(draw, "q") for _ in range(5)]
    others = [random_row(draw, person) for person, rows in (("r", 1), ("s", 3)) for _ in range(rows)]
    return [*equal, *many, *others]


def neighbours(draw: Draws, world: World, rows: Rows, tries: int = 3) -> Iterator[Neighbour]:
    """Yield what one person, or one attribute of one person, makes of a table: the extremes, and any."""
    first, rest = _of(world, rows, "p", 0), _of(world, rows, "q", 1)
    high = [{"id": "p", **HIGH} for _ in range(world.rows)]
    yield Neighbour("low to high", _exchanged(rows, first, high), None, "replace")
    yield Neighbour("one row for many", _exchanged(rows, rest, [random_row(draw, "q")]), None, "replace")
    yield Neighbour("others", _exchanged(rows, rest, [random_row(draw, "q", 0) for _ in rest]), None, "replace")
    yield Neighbour("without p", _exchanged(rows, first, []), None, "add-remove")
    yield Neighbour("without q", _exchanged(rows, rest, []), None, "add-remove")
    for name in PRIVATE:
        yield Neighbour(f"{name} low to high", _with(rows, first, {name: lambda _, n=name: HIGH[n]}), frozenset({name}))
        for attempt in range(tries):
            drawn = _with(rows, rest, {name: lambda _, n=name: random_cell(draw, n, 0.15)})
            yield Neighbour(f"{name} drawn {attempt}", drawn, frozenset({name}))


def _of(world: World, rows: Rows, person: str, place: int) -> list[int]:
    """Return the places of a person's rows; where every row is a person, of one of them."""
    if world.alone:
        return [place]
    return [at for at, row in enumerate(rows) if row["id"] == person]


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
