"""What one person, or one attribute of one person, can make of a table: the extreme pairs, and any.

A statistic moves furthest when a person has as many equal rows as count and all of them make the best move of one row.
Which move is best differs from question to question, and opening a table costs more than reading it; so the pairs are
made for a whole world, and every question is asked about all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, count, product
from typing import Any

from sfumato.table.bounding import Way, bounding_of
from tests.replay.worlds import HIGH, LOW, PRIVATE, PUBLIC, Draws, Row, Rows, World, random_cell, random_row
from tests.table.reference import picked

PASSES = {**HIGH, "ward": "n"}
"""The other end of every range, inside of all filters that are asked about."""
LOWEST = {**LOW, **{name: PASSES[name] for name in ("ill", "scar", "job", "ward")}}
"""The low end of every range, inside of the same filters."""
ELSEWHERE = {**PASSES, "age": 0, "job": "a", "town": "A", "address": 0, "caller": 0, "called": 1}
"""The same values and filters as `PASSES`, in another cell of everything that is grouped."""
MIDDLE = {"age": 3, "pay": 0.5, "job": "zz"}
"""Between the ends: squares move furthest from there, and an unlisted category is a place of its own."""
MISSING = ("pay", "scar", "seen", "town")
"""Columns of which missing cells are left out: from an end to nothing."""


@dataclass(frozen=True)
class Neighbour:
    """Another table: the names of the attributes of one person that changed, or None where the person did."""

    name: str
    rows: Rows
    changed: frozenset[str] | None
    relation: str = "both"
    """"replace" or "add-remove" where only one of the relations calls the tables neighbours."""


def base(draw: Draws, world: World) -> Rows:
    """Return people of one to five rows: some have as many equal rows as count, one has more, and two of one key.

    A twin holds every key that one of them holds, so that keys are published whether that one is there or not.
    """
    equal = [*_equal("p", LOW, world), *_equal("h", PASSES, world), *_equal("t", PASSES, world)]
    many = [{**random_row(draw, "q"), "visit": visit} for visit in (0, 0, 1, 2, 3)]
    others = [random_row(draw, person) for person, rows in (("r", 1), ("s", 3)) for _ in range(rows)]
    return [*equal, *many, *others, *_everywhere(world), *torn(world).rows]


def neighbours(draw: Draws, world: World, rows: Rows, tries: int = 1) -> Iterator[Neighbour]:
    """Yield the extremes and, for every attribute, `tries` changes at random."""
    yield from _people(draw, world, rows)
    for name in PRIVATE:
        yield from _one_attribute(draw, world, rows, name, tries)
    low = _of(world, rows, "p")
    yield Neighbour("ill and scar of p", _with(rows, low, {"ill": True, "scar": True}), frozenset({"ill", "scar"}))
    yield from _cells(world, rows)
    for name, changed in torn(world).changes.items():
        yield Neighbour(f"{name} of z", [row for row in rows if row["id"][0] != "z"] + changed, frozenset({name}))


def pairs_of_attributes(draw: Draws, world: World, rows: Rows, tries: int = 2) -> Iterator[Neighbour]:
    """Yield changes of two attributes at once: all of one person's cells, to the other ends or at random."""
    low, many = _of(world, rows, "p"), _of(world, rows, "q")
    for pair in combinations(PRIVATE, 2):
        both = frozenset(pair)
        for attempt in range(tries):
            if attempt % 2 == 0:
                made = _with(rows, low, {name: HIGH[name] for name in pair})
            else:
                made = _drawn(draw, rows, many, pair)
            yield Neighbour(f"{' and '.join(pair)}, {attempt}", made, both)


def _people(draw: Draws, world: World, rows: Rows) -> Iterator[Neighbour]:
    low, high, many = (_of(world, rows, person) for person in "phq")
    spread = [{**PASSES, "id": "h", "visit": v, "age": 2 * v, "job": "abc"[v], "town": "ABC"[v]} for v in range(3)]
    more = [{**PASSES, "id": "h", "visit": visit} for visit in range(world.rows + 1)]
    # So many rows that each weighs nothing; at the usual scale these would be millions.
    few = world.rows * world.scale < 100
    weightless = [{**PASSES, "id": "h", "visit": visit} for visit in range(world.rows * world.scale + 1 if few else 0)]
    for name, places, others in (
        ("low to high", low, _equal("p", HIGH, world)),
        ("low to inside", low, _equal("p", PASSES, world)),
        ("high to low", high, _equal("h", LOWEST, world)),
        ("high elsewhere", high, _equal("h", ELSEWHERE, world)),
        ("middle to high", high, _equal("h", {**PASSES, "age": 3, "pay": 0.5}, world)),
        ("one row for many", many, [random_row(draw, "q")]),
        ("many others", many, [random_row(draw, "q", 0) for _ in many]),
        ("three places", high, spread),
        ("one row more", high, more),
        ("repeated keys", high, [{**row, "visit": 0} for row in more]),
        ("weightless", high, weightless),
    ):
        if not (world.alone and len(others) != len(places)) and others:
            yield Neighbour(name, _exchanged(rows, places, others), None, "replace")
    for person, places in (("p", low), ("h", high), ("q", many)):
        yield Neighbour(f"without {person}", _exchanged(rows, places, []), None, "add-remove")
    between = {**PASSES, "age": 3, "job": "c", "pay": None}
    yield Neighbour("with m", [*rows, *_equal("m", between, world)], None, "add-remove")


def _one_attribute(draw: Draws, world: World, rows: Rows, name: str, tries: int) -> Iterator[Neighbour]:
    low, high, many = (_of(world, rows, person) for person in "phq")
    one = frozenset({name})
    yield Neighbour(f"{name} of p", _with(rows, low, {name: HIGH[name]}), one)
    yield Neighbour(f"{name} of h", _with(rows, high, {name: LOW[name]}), one)
    if name in MIDDLE:
        yield Neighbour(f"{name} of h to the middle", _with(rows, high, {name: MIDDLE[name]}), one)
    if name in MISSING:
        yield Neighbour(f"{name} of h to nothing", _with(rows, high, {name: None}), one)
    for attempt in range(tries):
        yield Neighbour(f"{name} of q, {attempt}", _drawn(draw, rows, many, [name]), one)


WARDS = ("n", "s", "zz", None)
JOBS = ("a", "b", "c")


def _everywhere(world: World) -> Rows:
    """Return somebody with two rows in a third of the cells of job and ward, and somebody in all of these cells.

    Where only some groups of a person count, half of the second one's rows pass a filter.
    """
    if world.alone or world.schema.row_key == ():
        return []
    third = [{**PASSES, "job": "a", "ward": ward} for ward in WARDS for _ in range(2)]
    passing = WARDS if world.schema.groups_per_person is None else WARDS[:2]
    every = [{**PASSES, "job": job, "ward": ward, "ill": ward in passing} for ward in WARDS for job in JOBS]
    return [
        {"id": person, "visit": visit, **row}
        for person, cells in (("e", third), ("f", every))
        for visit, row in enumerate(cells)
    ]


def _cells(world: World, rows: Rows) -> Iterator[Neighbour]:
    """Yield what moves numbers of people furthest: out of some cells into all others, into the filter and out of it."""
    some, every = _of(world, rows, "e"), _of(world, rows, "f")
    if not some:
        return
    elsewhere = dict(zip(some, ("b", "c") * len(WARDS), strict=True))
    yield Neighbour(
        "job of e", [{**row, "job": elsewhere.get(at, row["job"])} for at, row in enumerate(rows)], frozenset({"job"})
    )
    turned = [{**row, "ill": not row["ill"]} if at in set(every) else row for at, row in enumerate(rows)]
    yield Neighbour("ill of f", turned, frozenset({"ill"}))
    yield Neighbour("without f", _exchanged(rows, every, []), None, "add-remove")


@dataclass(frozen=True)
class Torn:
    """Somebody who has too many rows, half of them at the low ends and half at the high ends.

    Where rows are picked by their contents, each attribute alone exchanges the ones for the others.
    """

    rows: Rows
    changes: Mapping[str, Rows]


def torn(world: World) -> Torn:
    """Return such a person; nobody where no cell decides which rows count."""
    if world.alone or world.schema.row_key is not None:
        return Torn([], {})
    known = (world.schema.fingerprint, world.rows)
    if known not in _TORN:
        _TORN[known] = _first_torn(world)
    return _TORN[known]


_TORN: dict[tuple[str, int], Torn] = {}
"""Who was found, by the schema: the search takes seconds."""


def _first_torn(world: World) -> Torn:
    for attempt in count():
        person = f"z{attempt}"
        rows = [*_equal(person, LOW, world), *_equal(person, HIGH, world)]
        changes = {name: _swapped(world, person, rows, name) for name in PRIVATE}
        if _is_picked(world, person, rows, LOW) and all(changes.values()):
            return Torn(rows, {name: found for name, found in changes.items() if found})
    raise AssertionError("Some identity serves.")


def _swapped(world: World, person: str, rows: Rows, name: str) -> Rows | None:
    """Return the rows with other cells in one column, so that the high rows are picked; None if none do that."""
    choices = _choices(name)
    for below, above in product(choices, choices):
        found = [{**row, name: below} for row in rows[: world.rows]]
        found += [{**row, name: above} for row in rows[world.rows :]]
        if _is_picked(world, person, found, {**HIGH, name: above}):
            return found
    return None


def _choices(name: str) -> tuple[Any, ...]:
    return {"age": tuple(range(8)), "caller": tuple(range(4)), "called": tuple(range(4)), "job": ("a", "b", "c")}.get(
        name, (LOW[name], HIGH[name])
    )


def _is_picked(world: World, person: str, rows: Rows, cells: Row) -> bool:
    rule = bounding_of(world.schema, whole=True)
    assert rule.way is Way.PICK
    wanted = _coded(world, cells)
    return all(row == wanted for row in picked(world.schema, rule, person, [_coded(world, row) for row in rows]))


def _coded(world: World, row: Row) -> Row:
    schema = world.schema
    return {
        name: row[name] if name == "town" else schema.domain(name).encode(row[schema.base(name)])
        for name in schema.names
        if schema.base(name) in (*PRIVATE, *PUBLIC)
    }


def _equal(person: str, cells: Row, world: World) -> Rows:
    return [{"id": person, "visit": visit, **cells} for visit in range(world.rows)]


def _of(world: World, rows: Rows, person: str) -> list[int]:
    """Return the places of a person's rows; where every row is a person, of the first of them."""
    found = [at for at, row in enumerate(rows) if row["id"] == person]
    return found[:1] if world.alone else found


def _exchanged(rows: Rows, places: Sequence[int], others: Sequence[Row]) -> Rows:
    kept = [row for at, row in enumerate(rows) if at not in set(places)]
    return [*kept, *others]


def _with(rows: Rows, places: Sequence[int], cells: Row) -> Rows:
    """Return the table in which some cells of some rows are others."""
    return _made(rows, places, {name: lambda cell=cell: cell for name, cell in cells.items()})


def _drawn(draw: Draws, rows: Rows, places: Sequence[int], names: Sequence[str]) -> Rows:
    """Return the table in which these cells of some rows are any."""
    return _made(rows, places, {name: lambda name=name: random_cell(draw, name, 0.15) for name in names})


def _made(rows: Rows, places: Sequence[int], cells: Mapping[str, Callable[[], Any]]) -> Rows:
    chosen = set(places)
    return [
        {**row, **{name: made() for name, made in cells.items()}} if at in chosen else row
        for at, row in enumerate(rows)
    ]
