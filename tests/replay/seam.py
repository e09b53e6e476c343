"""The one module here that touches internals: how a question is planned, what its mechanism is given, what it claims.

A mechanism's input is laid out as *parts*: vectors of integers with a name for every coordinate, each with what the
mechanism claims about it. Everything else in this folder compares parts, so that another seam needs another adapter and
no other tests.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pytest
from ibis.backends.duckdb import Backend
from pyarrow import parquet

from sfumato.ask.prepared import Exact, Prepared, Several
from sfumato.ask.question import Question
from sfumato.errors import AccuracyWarning
from sfumato.learn.facts import Sample
from sfumato.papers.query_release.geometry.recursive import RecursiveNoise
from sfumato.papers.query_release.geometry.shaped import ShapedNoise
from sfumato.papers.query_release.synopses.hubs import Edges
from sfumato.perturb import AdditiveNoise
from sfumato.privacy import ADD_REMOVE, EVERYTHING, REPLACE_ONE, Bound, Cost, Loss, Relation
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.questions.distribution.medians import MedianTree
from sfumato.questions.distribution.nodes import NodeTree
from sfumato.questions.quantiles import JointQuantiles
from sfumato.questions.quantiles.quantile_choice import QuantileChoice
from sfumato.questions.synopsis.binary import Rows
from sfumato.table import engine
from sfumato.table.data import Table, open_table
from sfumato.table.engine import Source
from sfumato.table.gauge import Basis
from sfumato.table.view import View
from sfumato.table.where import read_where
from sfumato.totals.found_keys import FoundGroups
from sfumato.totals.private_keys import StableHistogram
from sfumato.totals.rank_error import MeasuredCuts
from sfumato.totals.sparse_noise import SparseNoise
from sfumato.totals.tables.stack import TableStack
from sfumato.workload.records import Margins, Records
from tests.replay.shared import Shared
from tests.replay.worlds import World, arrow

Changed = frozenset[str] | None
"""The attributes of one person that changed, or None where the person did."""
Vector = Mapping[Any, int]
NOTHING_MOVES = Sensitivity(Fraction(0), Fraction(0), Fraction(0), 0)

GROUP = 4
"""How many rows of a file share their statistics: cells of several people, and several groups a file."""
FAR = 10**9
"""Where the numbers in the names of tables begin; those of the process never come so far."""
WHOLE = "whole rows"
"""The payload of mechanisms that count rows one by one: they have no unit but the row."""


@dataclass(frozen=True)
class Part:
    """One vector that a mechanism is given, and how far it claims that a change moves it."""

    name: str
    vector: Vector
    claim: Callable[[Changed], Sensitivity]
    payload: str = "numbers"


@dataclass(frozen=True)
class Plan:
    """A question made ready at a spend."""

    prepared: Prepared
    world: World
    relation: Relation

    @property
    def mechanism(self) -> Any:
        """What will run."""
        return self.prepared.mechanism

    @property
    def loss(self) -> Loss:
        """What it states to cost."""
        return self.prepared.loss()

    def read(self, table: Table) -> Any:
        """Return exactly what the mechanism would be given."""
        return self.prepared.exact(table)

    def parts(self, exact: Any) -> list[Part]:
        """Lay out what was read."""
        return _parts(self, self.mechanism, exact)

    @property
    def matched(self) -> bool:
        """Whether rows are told apart by what no attribute decides."""
        return self.prepared.gauge.matched

    def cost_of(self, changed: Changed) -> Cost:
        """Return what is stated for a change; added up once, because every neighbour asks."""
        if changed not in self._costs:
            self._costs[changed] = self.loss.person if changed is None else self.loss.at(changed)
        return self._costs[changed]

    @cached_property
    def _costs(self) -> dict[Changed, Cost]:
        return {}

    def charged(self, name: str) -> bool:
        """Tell whether an attribute is stated to cost anything."""
        return not self.cost_of(frozenset({name})).is_zero


def open_rows(world: World, rows: list[dict[str, Any]], place: Path) -> Table:
    """Open a tiny table; what is kept in a file is written below `place`."""
    if world.source == "memory":
        return open_table(arrow(rows), world.schema)
    file = place / f"{len(list(place.iterdir()))}.parquet"
    parquet.write_table(arrow(rows), file, row_group_size=GROUP)
    return open_table(file, world.schema)


@contextmanager
def remembering(shared: bool = True) -> Iterator[None]:
    """Ask the engine the same query of the same table once only: questions, spends and relations share readings.

    What several tables share is asked once too, unless it is compared what different sources say of equal rows.
    """
    ask, counted = View._ask, View.people_in

    def once(view: View, keys: Any, measures: Any, where: Any, *, as_cells: bool) -> Any:
        kept = view.table.__dict__.setdefault("replayed", {})
        query = (view.rule, view.columns, keys, tuple(measures), read_where(where, view.table.schema), as_cells)
        if query not in kept:
            kept[query] = ask(view, keys, measures, where, as_cells=as_cells)
        return kept[query]

    def people_once(view: View, keys: Any, where: Any = None, groups: int | None = None) -> Any:
        kept = view.table.__dict__.setdefault("replayed", {})
        query = ("people", view.rule, view.columns, tuple(keys), read_where(where, view.table.schema), groups)
        if query not in kept:
            kept[query] = counted(view, keys, where, groups)
        return kept[query]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(View, "_ask", once)
        patch.setattr(View, "people_in", people_once)
        _write_queries_once(patch)
        if shared:
            Shared().patch(patch)
        yield


def _write_queries_once(patch: pytest.MonkeyPatch) -> None:
    """Let Ibis write equal queries of different tables as SQL once: that takes longer than to run them.

    Each table has an engine of its own, so that names need only differ inside of one; then what is equal is called
    equally everywhere. A query that depends on cells is another one, and is written by itself.
    """
    written: dict[Any, str] = {}
    columns: dict[Any, Any] = {}
    numbers: WeakKeyDictionary[Any, Iterator[int]] = WeakKeyDictionary()
    plain, apart = Backend.compile, engine._written

    def compiled(backend: Any, query: Any, /, **options: Any) -> str:
        asked = (query.op(), *sorted(options.items(), key=repr))
        if asked not in written:
            written[asked] = plain(backend, query, **options)
        return written[asked]

    def by_column(backend: Any, table: Any) -> Any:
        if table.op() not in columns:
            columns[table.op()] = apart(backend, table)
        return columns[table.op()]

    def numbered(method: Any) -> Any:
        def named(source: Source, *given: Any, **more: Any) -> Any:
            if not source.is_duckdb:
                return method(source, *given, **more)  # one cluster has the tables of all
            with pytest.MonkeyPatch.context() as inside:
                # Far from the numbers of what was there before, or comes after.
                inside.setattr(engine, "_names", numbers.setdefault(source.engine.con, itertools.count(FAR)))
                return method(source, *given, **more)

        return named

    patch.setattr(Backend, "compile", compiled)
    patch.setattr(engine, "_written", by_column)
    for name in ("stored", "planned", "registered", "_viewed"):
        patch.setattr(Source, name, numbered(getattr(Source, name)))


def people_of(table: Table) -> int:
    """Return the public number of people."""
    return table.people


def plan(question: Question, world: World, people: int, relation: Relation, spend: Bound) -> Plan:
    """Prepare a question from public facts, or raise its refusal."""
    basis = Basis(world.schema, people, relation, scale=world.scale)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)  # four people are too few for anything
        return Plan(question.canonical(world.schema).prepare(basis, spend), world, relation)


def _parts(plan: Plan, mechanism: Any, exact: Any) -> list[Part]:
    match mechanism:
        case Several():
            pairs = zip(mechanism.mechanisms, exact, strict=True)
            found = [_parts(plan, part, value) for part, value in pairs]
            return [
                Part(f"{at} {one.name}", one.vector, one.claim, one.payload)
                for at, all_ in enumerate(found)
                for one in all_
            ]
        case Exact():
            return [Part("public", {(): int(exact)} if np.ndim(exact) == 0 else _array(exact), lambda _: NOTHING_MOVES)]
        case AdditiveNoise():
            return [Part("noise", _array(exact), additive_claim(plan, mechanism))]
        case SparseNoise():
            return [Part("noise", dict(exact), additive_claim(plan, mechanism.noise))]
        case FoundGroups():
            people = {key: values[0] for key, values in exact.items()}
            counts = Part("keys", people, whole_claim(plan, mechanism.counts.rows), WHOLE)
            totals = [
                Part(f"total {at}", {key: values[at + 1] for key, values in exact.items()}, additive_claim(plan, one))
                for at, one in enumerate(mechanism.totals)
                if isinstance(one, AdditiveNoise)
            ]
            return [counts, *totals]
        case StableHistogram():
            return [Part("keys", dict(exact), whole_claim(plan, mechanism.rows), WHOLE)]
        case ShapedNoise() | RecursiveNoise():
            return [Part("answers", _array(exact), shaped_claim(plan, mechanism), WHOLE)]
        case TableStack():
            return [
                Part(f"table {part.columns}", _array(table), stacked_claim(plan, mechanism, part.columns), WHOLE)
                for part, table in zip(mechanism.parts, mechanism.exact(exact), strict=True)
            ]
    if isinstance(exact, (Records, Rows, Sample, Edges)):
        return [Part("rows", _rows(exact), whole_claim(plan), WHOLE)]
    if isinstance(exact, Margins):
        tables = exact.tables.items()
        return [Part(f"table {names}", _sparse(table), whole_claim(plan), WHOLE) for names, table in tables]
    places, counts = exact
    vector = {int(place): int(count) for place, count in zip(places, counts, strict=True)}
    return [Part("ordered", vector, ordered_claim(plan, mechanism))]


def _array(exact: Any) -> Vector:
    flat = np.asarray(exact, dtype=object)
    return {place: int(flat[place]) for place in np.ndindex(flat.shape)}


def _sparse(exact: Any) -> Vector:
    """Return the places of a large table that hold anything."""
    return {tuple(place): int(exact[tuple(place)]) for place in np.argwhere(exact).tolist()}


def _rows(exact: Any) -> Vector:
    """Return how often each record occurs."""
    match exact:
        case Records():
            keys = map(tuple, exact.codes.tolist())
        case Rows():
            keys = map(tuple, exact.ones.astype(int).tolist())
        case Sample():
            keys = (
                (*(int(code) for code in row), int(label))
                for row, label in zip(exact.codes.tolist(), exact.labels.tolist(), strict=True)
            )
        case _:
            keys = zip(exact.first.tolist(), exact.second.tolist(), strict=True)
    found: dict[Any, int] = {}
    for key, count in zip(keys, exact.counts.tolist(), strict=True):
        found[key] = found.get(key, 0) + int(count)
    return found


def whole_claim(plan: Plan, rows: int | None = None) -> Callable[[Changed], Sensitivity]:
    """Return what holds wherever rows are whole: a person has so many of them, and an attribute all that is charged.

    Of keys that are found, the mechanism says how many a person has: what it is priced for.
    """
    most = plan.world.rows if rows is None else rows

    def claim(changed: Changed) -> Sensitivity:
        if changed is not None and not any(plan.charged(name) for name in changed):
            return NOTHING_MOVES
        both = changed is not None or plan.relation is REPLACE_ONE
        moved = Fraction(most * (2 if both else 1))
        return Sensitivity(moved, moved**2, moved, int(moved))

    return claim


def additive_claim(plan: Plan, mechanism: AdditiveNoise) -> Callable[[Changed], Sensitivity]:
    """Return what noise was calibrated to."""

    def claim(changed: Changed) -> Sensitivity:
        person = mechanism.sensitivity
        if changed is None:
            return person
        replaced = person if mechanism.relation is REPLACE_ONE else person.times(2)
        if not plan.matched:
            return replaced  # any attribute may change every row, and is charged for it
        if mechanism.reads == EVERYTHING:
            return replaced if plan.charged(next(iter(changed))) else NOTHING_MOVES
        if not changed & frozenset(mechanism.reads):
            return NOTHING_MOVES
        known = dict(mechanism.by_attribute)
        return known.get(next(iter(changed)), replaced) if len(changed) == 1 else replaced

    return claim


def ordered_claim(plan: Plan, mechanism: Any) -> Callable[[Changed], Sensitivity]:
    """Return how far counts by code move when a person counts as much as the mechanism believes."""
    match mechanism:
        case MeasuredCuts(cuts=QuantileChoice() | JointQuantiles() as chosen):
            weight = chosen.weight
        case QuantileChoice() | JointQuantiles() | MedianTree():
            weight = mechanism.weight
        case NodeTree():
            parts = 2 if plan.relation is REPLACE_ONE else 1
            weight = int(mechanism.noise.sensitivity.l1 * mechanism.grid) // parts
        case _:
            weight = plan.world.rows  # a mechanism that says nothing about units counts rows

    def claim(changed: Changed) -> Sensitivity:
        if changed is not None and not any(plan.charged(name) for name in changed):
            return NOTHING_MOVES
        both = changed is not None or plan.relation is REPLACE_ONE
        l1 = Fraction(weight * (2 if both else 1))
        return Sensitivity(l1, l1**2, l1, int(l1))

    return claim


def shaped_claim(plan: Plan, mechanism: Any) -> Callable[[Changed], Sensitivity]:
    """Return how far answers move by the longest of the generators that the shape was made for."""
    first = mechanism.levels[0] if isinstance(mechanism, RecursiveNoise) else mechanism
    l1 = Fraction(max(sum(abs(step) for step in one) for one in first.generators))
    largest = Fraction(max(abs(step) for one in first.generators for step in one))

    def claim(changed: Changed) -> Sensitivity:
        if changed is not None and not any(plan.charged(name) for name in changed):
            return NOTHING_MOVES
        times = 2 if changed is not None and mechanism.relation is ADD_REMOVE else 1
        return Sensitivity(times * l1, (times * l1) ** 2, times * largest, int(times * l1))

    return claim


def stacked_claim(plan: Plan, mechanism: TableStack, columns: tuple[int, ...]) -> Callable[[Changed], Sensitivity]:
    """Return the claim of one table among several: an attribute that others show moves those only."""
    whole = whole_claim(plan)
    mine = {mechanism.shown[place] for place in columns}

    def claim(changed: Changed) -> Sensitivity:
        if changed is None or not plan.matched or not mechanism.attribute_prices:
            return grown(whole(changed))
        elsewhere = changed <= {*mechanism.shown} and not changed & mine
        return NOTHING_MOVES if elsewhere else grown(whole(changed))

    return claim


def grown(moves: Sensitivity) -> Sensitivity:
    """Return no bound but on the number of rows: contrasts of a table are weighed by public whole numbers."""
    far = Fraction(10**6)
    return Sensitivity(moves.l1 * far, moves.l2_squared * far, moves.largest * far, 10**6)
