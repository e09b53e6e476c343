"""Running totals that a curator was asked for, on neighbouring tables: what is released moves as far as was charged.

Every period of both worlds is handed over as a dirty table. What would be released without noise is compared with the
loss that the ledger reserved, for the person and for each attribute; everything else must be the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
import pytest

from sfumato import Concentrated, Pure, curate
from sfumato.noise import Noise
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE, Bound, Loss, Relation
from sfumato.publish.curated import CuratedTotal
from sfumato.publish.measured import Measured
from sfumato.publish.memory import Lists
from sfumato.publish.running import RunningTotals
from sfumato.publish.tree import PureTotals
from tests.replay.extreme import base, neighbours
from tests.replay.frozen import PLENTY, differing, masked
from tests.replay.moves import applies
from tests.replay.seam import Changed
from tests.replay.worlds import Draws, Rows, World, arrow, worlds

WORLDS = {world.name: world for world in worlds()}
RHO, EPSILON = Concentrated("1/2"), Pure(1)
RELATIONS = (ADD_REMOVE, REPLACE_ONE)


class Silence(Noise):
    """Noise that adds nothing."""

    def __init__(self) -> None:
        super().__init__(insecure_seed=1)

    def draw(self, law: Any, size: Any = None) -> Any:
        return np.zeros(size, np.int64)


@dataclass
class Told:
    """What one conversation would release without noise, what it was charged, and all that anybody saw of it."""

    released: list[int] = field(default_factory=list)
    totals: Any = None
    loss: Loss | None = None
    seen: str = ""

    def beyond(self, other: Told, changed: Changed) -> float:
        """Return how far what is released moved, as a part of what was charged for that change."""
        assert self.loss is not None
        cost = self.loss.person if changed is None else self.loss.at(changed)
        moved = np.array(self.released, object) - np.array(other.released, object)
        if not moved.any():
            return 0.0
        if cost.is_zero:
            return float("inf")
        if isinstance(self.totals, RunningTotals):
            return float(int((moved**2).sum()) / self.totals.variance / cost.tau(2))
        return float(int(abs(moved).sum()) / self.totals.scale / cost.epsilon)


@contextmanager
def silent(told: Told) -> Iterator[None]:
    """Keep what every step would release, and release nothing but zeros."""
    patch = pytest.MonkeyPatch()
    for kind in (RunningTotals, PureTotals):

        def entry(totals: Any, read: Any, noise: Any, true: Any = kind.entry) -> Any:
            told.totals = totals
            exact = true(totals, read, Silence())
            told.released += np.ravel(exact).tolist()
            return np.zeros_like(exact)

        patch.setattr(kind, "entry", entry)
    try:
        yield
    finally:
        patch.undo()


def asked(
    world: World, periods: Sequence[Rows], question: str, spend: Bound, relation: Relation, **options: Any
) -> Told:
    """Hand over every period to a running total, through a curator of its own."""
    told = Told()
    limits = PLENTY.about(world.schema.secrets)
    with silent(told), curate(arrow(periods[0]), world.schema, limits, relation=relation, snapshot="one") as curator:
        total = curator.running(question, periods=len(periods), spend=spend, **options)
        steps = [total.step(arrow(rows)) for rows in periods]
        series = [np.round(one, 3).tolist() for one in (total.series().values, total.series(2).half)]
        told.loss = total.loss
        shown = [steps, series, repr(total), total.error, total.loss.to_json(), total.frame([2]).to_json()]
        shown += [curator.remaining(), [repr(entry) for entry in curator.ledger.history()], str(curator.ledger)]
        told.seen = masked(json.dumps(shown, sort_keys=True, default=repr))
    return told


def told(
    world: str, question: str, spend: Bound, relation: Relation, only: Sequence[str] | None = None, **options: Any
) -> tuple[list[str], float]:
    """Return what is wrong beside all neighbours, and how much of what is charged for a person is reached."""
    here = WORLDS[world]
    draw = Draws(list(WORLDS).index(world))
    rows = base(draw, here)
    first = asked(here, [rows, rows], question, spend, relation, **options)
    found, reached = [], 0.0
    for one in neighbours(draw, here, rows):
        if not applies(one, relation) or (only is not None and one.name not in only):
            continue
        other = asked(here, [one.rows, one.rows], question, spend, relation, **options)
        part, at = first.beyond(other, one.changed), f"{relation.value}, {one.name}"
        if part > 1:
            found.append(f"{at}: {part:.3g} of what is charged")
        if first.seen != other.seen:
            found.append(f"{at}: {differing(first.seen, other.seen)}")
        reached = max(reached, part if one.changed is None else 0)
    return found, reached


GATE = [
    ("two rows", "count by job", RHO, {}, ["high elsewhere", "without h", "job of h"]),
]
LONG = [
    (world, question, spend, options, None)
    for world in WORLDS
    for question in ("count by job", "sum of pay by scar", "mean of pay", "count where ill = true", "count by decade")
    for spend in (RHO, EPSILON)
    for options in ({}, {"periods_per_person": 1})
    if world != "no person" or not options
]
FULL = ("count by job",)
"""What a person reaches in full, who is there in every period."""


@pytest.mark.parametrize(
    ("world", "question", "spend", "options", "only"),
    [*GATE, *(pytest.param(*one, marks=pytest.mark.audit) for one in LONG)],
)
def test_nothing_moves_further_than_is_charged_and_nothing_else_moves(world, question, spend, options, only):
    for relation in RELATIONS:
        found, reached = told(world, question, spend, relation, only, **options)
        assert not found, "\n".join(found)
        assert reached > (0.97 if question in FULL and not options else 0)


def test_people_who_are_exchanged_at_the_price_of_those_who_come_are_found(monkeypatch):
    monkeypatch.setattr(Measured, "exchanged", lambda self, moves, *, at_other_times: moves)
    found, _ = told("two rows", "count by job", RHO, REPLACE_ONE, ["high elsewhere"])
    assert any("2 of what is charged" in one for one in found), found


def test_several_periods_at_the_price_of_one_are_found(monkeypatch):
    monkeypatch.setattr(CuratedTotal, "loss", lambda self: self.totals.loss())
    found, _ = told("two rows", "count by job", RHO, ADD_REMOVE, ["without h"])
    assert any("of what is charged" in one for one in found), found


def apart(question: str = "count") -> tuple[Told, Told]:
    """Two worlds of a table in which one period of a person counts, who is there first in one, and later in the other."""
    world = WORLDS["one row"]
    rows = base(Draws(3), world)
    others = [row for row in rows if row["id"] != "h"]
    pair = ([rows, others], [others, rows])
    return tuple(asked(world, one, question, RHO, REPLACE_ONE, periods_per_person=1) for one in pair)  # type: ignore


def test_who_counts_in_another_period_than_the_other_is_paid_for_twice(monkeypatch):
    one, other = apart()
    assert 0.5 < one.beyond(other, None) <= 1
    true = Measured.exchanged
    monkeypatch.setattr(
        Measured, "exchanged", lambda self, moves, *, at_other_times: true(self, moves, at_other_times=False)
    )
    one, other = apart()
    assert one.beyond(other, None) > 1


def test_lists_that_forget_are_found(monkeypatch):
    """The mutant: nobody is remembered, so that a person counts in both periods and was charged for one."""
    true = Lists.__init__
    monkeypatch.setattr(Lists, "__init__", lambda self, key, lists=(): true(self, key))
    found, _ = told("two rows", "count by job", RHO, ADD_REMOVE, ["without h"], periods_per_person=1)
    assert any("of what is charged" in one for one in found), found


@pytest.mark.parametrize("relation", [REPLACE_ONE, pytest.param(ADD_REMOVE, marks=pytest.mark.audit)])
def test_a_day_that_changes_is_charged_to_the_column_that_names_it(monkeypatch, relation):
    world = WORLDS["two rows"]
    rows = [{**row, "seen": date(2020, 2, 5)} for row in base(Draws(4), world)]
    later = [{**row, "seen": date(2020, 2, 12)} if row["id"] == "h" else row for row in rows]
    dated = {"stamp": "seen", "first": "2020-02-03", "period": "week"}
    one, other = (asked(world, [who, who], "count by job", RHO, relation, **dated) for who in (rows, later))
    assert 0 < one.beyond(other, frozenset({"seen"})) <= 1
    monkeypatch.setattr(CuratedTotal, "reads", property(lambda self: self.totals.reads))
    unpaid = asked(world, [rows, rows], "count by job", RHO, relation, **dated)
    assert unpaid.beyond(other, frozenset({"seen"})) == float("inf")
