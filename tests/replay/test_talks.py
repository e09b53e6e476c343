"""Conversations: two tables that differ in one person give the same bytes, but for what is compared and paid for."""

from __future__ import annotations

import pytest

from sfumato import Approximate, Pure
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from sfumato.table.gauge import Gauge
from tests.replay import harness
from tests.replay.frozen import differing
from tests.replay.talks import talked
from tests.replay.worlds import worlds

WORLDS = {world.name: world for world in worlds()}
FEW = ((REPLACE_ONE, Pure(8)), (ADD_REMOVE, Approximate(8, "1e-6")))
ALL = (*FEW, (REPLACE_ONE, Approximate(8, "1e-6")), (ADD_REMOVE, Pure(8)))
SOME = ("low to high", "one row for many", "without h", "with m", "scar of h to nothing", "town of z")


def told(world, asked, only=None):
    """Return what moves further than is paid for or differs in anything else, and whether the claims are reached."""
    found, reached = [], set()
    with harness.opened(WORLDS[world], seed=list(WORLDS).index(world), only=only) as tables:
        for relation, spend in asked:
            first = talked(tables.base, spend, relation)
            assert first.loss is not None, first.seen
            for neighbour, table in tables.beside(relation):
                second = talked(table, spend, relation)
                at = f"{relation.value}, {spend!r}, {neighbour.name}"
                moved, most = first.moved(second), first.allowed(neighbour.changed)
                if first.seen != second.seen:
                    found.append(f"{at}: {differing(first.seen, second.seen)}")
                if moved > most:
                    found.append(f"{at}: {moved} rows move, and {most} are paid for")
                if most and moved == most and neighbour.changed is None:
                    reached.add(relation)
    return found, reached


@pytest.mark.parametrize(
    ("world", "asked", "only"),
    [("two rows", FEW, SOME), *(pytest.param(name, ALL, None, marks=pytest.mark.audit) for name in WORLDS)],
)
def test_what_is_compared_moves_as_little_as_is_paid_for_and_nothing_else_moves(world, asked, only):
    found, reached = told(world, asked, only)
    assert not found, "\n".join(found)
    assert reached == {REPLACE_ONE, ADD_REMOVE}


def test_an_attribute_that_decides_which_rows_count_and_is_not_charged_is_found(monkeypatch):
    monkeypatch.setattr(Gauge, "matched", True)
    found, _ = told("two rows", FEW[:1], ["town of z"])
    assert any("town of z" in one for one in found), found


def test_rows_of_several_that_are_paid_for_as_one_are_found(monkeypatch):
    monkeypatch.setattr(Gauge, "rows", 1)
    found, _ = told("two rows", FEW[:1], ["low to high"])
    assert any("2 rows move, and 1 are paid for" in one for one in found), found
