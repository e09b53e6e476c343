"""One world at a time: open its tables, ask every question at some spends, measure what the answers could tell."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sfumato import Approximate, Concentrated, Pure, Truncated
from sfumato.ask.question import Question
from sfumato.errors import SfumatoError
from sfumato.privacy import REPLACE_ONE, Bound, Cost, Relation
from tests.replay import losses, seam
from tests.replay.extreme import Neighbour, base, neighbours
from tests.replay.lost import Lost, total
from tests.replay.moves import applies, moves
from tests.replay.tape import Tape, recorded, replayed, taped
from tests.replay.worlds import Draws, Rows, World

SPENDS: tuple[Bound, ...] = (
    Pure(1),
    Pure("1/8"),
    Concentrated("1/10"),
    Truncated("1/10", 10),
    Approximate(1, "1e-6"),
    Pure(1).per_attribute(),
    Concentrated("1/10").per_attribute(),
)
Made = Callable[[Draws, World, Rows, int], Iterator[Neighbour]]
"""What makes the neighbours of a table."""
CROWD = 10_000
"""A public number of people for plans that refuse a handful; a reading does not depend on it."""
SEED = 7
SLACK = 1e-9
"""Ratios of floats that stand for exact numbers below 1."""


@dataclass
class Tables:
    """A base table and its neighbours, open."""

    world: World
    rows: Rows
    base: seam.Table
    others: list[tuple[Neighbour, seam.Table]]

    @property
    def people(self) -> int:
        """The public number of people."""
        return seam.people_of(self.base)

    def beside(self, relation: Relation) -> list[tuple[Neighbour, seam.Table]]:
        """Return the neighbours under a relation."""
        return [pair for pair in self.others if applies(pair[0], relation)]


@contextmanager
def opened(
    world: World, seed: int, tries: int = 1, only: Sequence[str] | None = None, made: Made = neighbours
) -> Iterator[Tables]:
    """Open a world's tables; all of them are closed again, because each holds an engine.

    `only` names the neighbours that are wanted; without it all are opened. `made` makes them.
    """
    draw = Draws(seed)
    rows = base(draw, world)
    found: Tables | None = None
    with seam.remembering(), TemporaryDirectory() as place:
        try:
            found = Tables(world, rows, seam.open_rows(world, rows, Path(place)), [])
            for one in made(draw, world, rows, tries):
                if only is None or one.name in only:
                    found.others.append((one, seam.open_rows(world, one.rows, Path(place))))
            yield found
        finally:
            for table in () if found is None else (found.base, *(other for _, other in found.others)):
                table.close()


def chosen_spends(name: str, world: World, relation: Relation, count: int) -> list[Bound]:
    """Return some of the seven spends, by a hash, so that every cell has its own."""
    order = sorted(
        SPENDS,
        key=lambda spend: hashlib.sha256(f"{name}, {world.name}, {relation.value}, {spend!r}".encode()).digest(),
    )
    return order[:count]


def live_plans(
    name: str, question: Question, tables: Tables, relation: Relation, count: int
) -> list[tuple[Bound, seam.Plan]]:
    """Return the plans at `count` spends; those that are refused give way to the next, and few people to a crowd."""
    for people in (tables.people, CROWD):
        found = []
        for spend in chosen_spends(name, tables.world, relation, len(SPENDS)):
            try:
                found.append((spend, seam.plan(question, tables.world, people, relation, spend)))
            except SfumatoError:
                continue
            if len(found) == count:
                break
        if found:
            return found
    return []


@dataclass
class Cell:
    """What was measured for one question at one spend in one world under one relation."""

    name: str
    mechanism: str
    breaches: list[str] = field(default_factory=list)
    reach: dict[str, dict[str, float]] = field(default_factory=dict)
    """For the person and for each attribute, and there for each primitive: the largest part of its claim measured."""
    charged: list[str] = field(default_factory=list)
    free: bool = False
    """Whether nobody moves the answer, so that there is nothing to reach."""
    matched: bool = True
    """Whether no cell decides which rows count."""
    unaligned: int = 0

    @property
    def question(self) -> str:
        """The name of the question."""
        return self.name.split(" | ")[0]

    @property
    def relation(self) -> str:
        """The name of the relation."""
        return self.name.split(" | ")[2]

    def reaches(self) -> dict[str, float]:
        """Return how far the claims are reached: for the person, and for that attribute which reaches least."""
        if self.free:
            return {}
        found = {"person": self.worst("person")}
        if self.charged:
            found["attribute"] = min(self.worst(name) for name in self.charged)
        return found

    def note(self, change: str, primitive: str, part: float) -> None:
        """Keep the largest part of a claim."""
        known = self.reach.setdefault(change, {})
        known[primitive] = max(known.get(primitive, 0.0), part)

    def worst(self, change: str) -> float:
        """Return how far the least exhausted primitive of a change reaches."""
        return min(self.reach.get(change, {"": 0.0}).values())


def survey(name: str, question: Question, tables: Tables, relation: Relation, count: int = 2) -> list[Cell]:
    """Measure a question at some spends."""
    found = []
    for spend, plan in live_plans(name, question, tables, relation, count):
        cell = Cell(f"{name} | {tables.world.name} | {relation.value} | {spend!r}", type(plan.mechanism).__name__)
        measure(cell, plan, tables)
        found.append(cell)
    return found


def measure(cell: Cell, plan: seam.Plan, tables: Tables) -> None:
    """Measure how far readings move, and what runs with equal outputs lose."""
    cell.charged = [name for name in plan.world.attributes if plan.charged(name)]
    cell.matched = plan.matched
    cell.free = plan.loss.person.is_zero
    beside = tables.beside(plan.relation)
    exact = plan.read(tables.base)
    read = ((one, plan.read(table)) for one, table in beside)
    # What is not told apart moves nowhere, and is not told; what two changes of one thing make alike is told once.
    readings: list[tuple[Neighbour, Any]] = []
    alike: dict[Any, list[Any]] = {}
    for one, reading in read:
        known = alike.setdefault(one.changed, [exact])
        if not any(same(other, reading) for other in known):
            known.append(reading)
            readings.append((one, reading))
    cell.breaches += [str(move) for move in moves(plan, exact, iter(readings)) if move.too_far]
    with taped():
        first = recorded(plan.mechanism, exact, SEED)
        for neighbour, reading in readings:
            try:
                second = replayed(plan.mechanism, reading, first)
            except (ArithmeticError, LookupError, TypeError, ValueError) as impossible:
                # What one table can give, the other cannot: their outputs are told apart.
                cell.breaches.append(f"{neighbour.name}: no such output, {type(impossible).__name__}")
                continue
            if second is None:
                cell.unaligned += 1
            else:
                _compare(cell, plan, neighbour, first, second)


def same(one: Any, other: Any) -> bool:
    """Tell whether a mechanism is given the same twice."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.shape == other.shape and bool((one == other).all())
    if is_dataclass(one) and type(one) is type(other):
        return all(same(getattr(one, part.name), getattr(other, part.name)) for part in fields(one))
    if isinstance(one, (tuple, list)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Mapping):
        return (
            isinstance(other, Mapping) and list(one) == list(other) and all(same(one[key], other[key]) for key in one)
        )
    return bool(one == other)


def _compare(cell: Cell, plan: seam.Plan, neighbour: Neighbour, first: Tape, second: Tape) -> None:
    """Compare what a pair loses with what is stated; where people are replaced, whoever changes an attribute is one."""
    lost = list(losses.losses(first, second))
    cost = total([one.cost for one in lost])
    _against(cell, plan, neighbour, lost, cost, first)
    if neighbour.changed is not None and plan.relation is REPLACE_ONE:
        _against(cell, plan, replace(neighbour, changed=None), lost, cost, first)


def _against(cell: Cell, plan: seam.Plan, neighbour: Neighbour, lost: list[Lost], cost: Cost, first: Tape) -> None:
    claim = claimed(plan, neighbour)
    change = "person" if neighbour.changed is None else ", ".join(sorted(neighbour.changed))
    whole = losses.ratio(cost, claim)
    if whole > 1 + SLACK:
        cell.breaches.append(f"{change} loses {whole:.4g} times what is stated ({neighbour.name})")
    # What draws once in a run has a share of its own; what draws again and again shares the loss of the whole.
    draws = Counter(id(step.asked[0]) for step in first.steps if step.kind == "leaf")
    if lost and all(one.owner is not None and draws[id(one.owner)] == 1 for one in lost):
        for one in lost:
            cell.note(change, one.step + str(_place(first, one.owner)), min(1.0, _share(one, neighbour)))
    elif lost:
        stepped = losses.ratio(total([one.stepped for one in lost]), claim)
        cell.note(change, "whole", whole if stepped > 1 + SLACK else stepped)


def _place(tape: Tape, owner: object) -> int:
    """Return which of the steps of a run a mechanism is."""
    return next(at for at, step in enumerate(tape.steps) if step.kind == "leaf" and step.asked[0] is owner)


def _share(lost: Lost, neighbour: Neighbour) -> float:
    """Return which part of a primitive's own loss a step reaches."""
    own = lost.owner.loss()
    claim = own.person if neighbour.changed is None else own.at(neighbour.changed)
    part = losses.ratio(lost.stepped, claim)
    return part if part <= 1 + SLACK else losses.ratio(lost.cost, claim)


def claimed(plan: seam.Plan, neighbour: Neighbour) -> Cost:
    """Return what is stated for a change."""
    return plan.cost_of(neighbour.changed)


def miscounted(tables: Tables) -> list[str]:
    """Return the neighbours with another number of people where that number is public."""
    return [one.name for one, table in tables.beside(REPLACE_ONE) if seam.people_of(table) != tables.people]


def shown(cells: Sequence[Cell], tables: Tables) -> str:
    """Return the breaches of some cells, and the table that shows them as Python literals."""
    broken = [f"{cell.name} ({cell.mechanism}): {breach}" for cell in cells for breach in cell.breaches[:2]]
    return "\n".join([*broken[:20], "the base table:", *(repr(row) for row in tables.rows)]) if broken else ""
