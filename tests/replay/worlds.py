"""Tiny tables with odd cells: columns of every kind, and the ways in which rows can belong to people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import pyarrow

from sfumato import Schema
from sfumato.domain import bins, booleans, categories, dates, fixed, integers, months, text
from sfumato.noise import Noise
from sfumato.table.bounding import SCALE

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
    "half": bins("age", step=4),
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
class World:
    """A schema and how its rows are read."""

    name: str
    schema: Schema
    rows: int
    source: str = "memory"
    """Where rows are kept: "memory", or "parquet" with statistics and several row groups."""
    scale: int = SCALE
    """How many units a weighed row counts."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """What limits may name."""
        return PRIVATE

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
    filed = ("two keyed", "two groups")  # one in four; at a small scale a person can have rows that weigh nothing
    return [
        World(
            name,
            Schema(COLUMNS, **options),
            options.get("rows_per_person", 1),
            "parquet" if name in filed else "memory",
            4 if name == "two groups" else SCALE,
        )
        for name, options in made.items()
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
