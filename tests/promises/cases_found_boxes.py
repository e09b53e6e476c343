"""Promises of groups that are found among events: rows of tiny tables, read and released by the code that ships (SQ-FOUND).

The input is all visits of one database. Everybody else keeps theirs, and one person changes some: which groups of theirs
count, how they are clamped, and where texts become one as they are cut, is part of the law.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from sfumato import ADD_REMOVE, REPLACE_ONE, Approximate, Database, Loss, Noise, Relation, Schema
from sfumato.ask.prepared import Prepared
from sfumato.audit import Neighbours
from sfumato.domain import integers, text
from sfumato.mechanism import Mechanism
from sfumato.noise import DiscreteLaplace
from sfumato.perturb import AdditiveNoise
from sfumato.sql.select import Select
from sfumato.table import boxes
from sfumato.table.gauge import Basis
from sfumato.table.own import OpenDatabase, open_database
from sfumato.table.view import View
from sfumato.totals.found_keys import FoundGroups
from sfumato.totals.private_keys import StableHistogram, stable_histogram
from tests.promises.case import PromiseCase

DATABASE = Database(
    {
        "people": Schema({"age": integers(0, 1)}, person="id", row_key=()),
        "visits": Schema({"note": text(max_bytes=2), "cost": integers(0, 9)}, person="id", rows_per_person=2),
    },
    population="people",
)
SUMS = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = {}) note, "
    "SUM(cost, contribution_bounds_per_group => (0, 2)) FROM visits GROUP BY note"
)
SPEND = Approximate(6, "1/10")
"""Enough that few outcomes matter, and little enough that what a law leaves out does not hide the leak."""

Visit = tuple[int, str, int]
Visits = tuple[Visit, ...]
NOTE = frozenset({"visits.note"})


@cache
def opened(visits: Visits) -> OpenDatabase:
    """Return the database of some visits; who has none is nobody, or comes and goes."""
    ids, notes, costs = ([row[place] for row in visits] for place in range(3))
    rows = pa.table({"id": pa.array(ids, pa.int64()), "note": pa.array(notes, pa.string()), "cost": costs})
    there = sorted(set(ids))
    people = pa.table({"id": pa.array(there, pa.int64()), "age": pa.array([0] * len(there), pa.int64())})
    return open_database({"people": people, "visits": rows}, DATABASE)


@cache
def planned(groups: int, relation: Relation) -> Prepared:
    """Return what runs for the statement, planned from public facts."""
    return Select(SUMS.format(groups)).canonical(DATABASE).prepare(Basis(DATABASE, 9, relation), SPEND)


def as_read(patch: pytest.MonkeyPatch) -> None:
    """Read as the code that ships does."""


@dataclass(frozen=True, kw_only=True)
class FromRows(Mechanism):
    """Reads the visits of a database, and releases the groups that are found in them."""

    spec: ClassVar[str] = "SQ-FOUND"

    groups: int = 1
    released: FoundGroups
    reading: Callable[[pytest.MonkeyPatch], None] = as_read

    @classmethod
    def shipped(cls, groups: int, relation: Relation = REPLACE_ONE) -> FromRows:
        """Return what a statement is answered by."""
        mechanism = planned(groups, relation).mechanism
        assert isinstance(mechanism, FoundGroups)
        return cls(groups=groups, relation=relation, released=mechanism)

    def loss(self) -> Loss:
        """Return what is charged for the statement."""
        return planned(self.groups, self.relation).gauge.charge(self.released.loss())

    def run(self, exact: Visits, noise: Noise) -> Any:
        """Read and release."""
        return self.released.run(read(self.groups, self.relation, self.reading, exact), noise)


@cache
def read(groups: int, relation: Relation, reading: Callable[[pytest.MonkeyPatch], None], visits: Visits) -> Any:
    """Return people and totals of every group, as they are handed to the mechanism."""
    prepared = planned(groups, relation)
    with pytest.MonkeyPatch.context() as patch:
        reading(patch)
        return prepared.arrange(prepared.gauge.read(opened(visits)))


# Mutants of the reading


def every_group(patch: pytest.MonkeyPatch) -> None:
    """Count all groups of a person."""
    plain = View._first_cells
    patch.setattr(View, "_first_cells", lambda view, rows, keys, limit, *rest: plain(view, rows, keys, 99, *rest))


def unclamped(patch: pytest.MonkeyPatch) -> None:
    """Add up what a person has without bounds."""
    patch.setattr(boxes, "inside", lambda code, ends: code)


# Mutants of what is released


def with_counts(shipped: FromRows, counts: StableHistogram) -> FromRows:
    return replace(shipped, released=replace(shipped.released, counts=counts))


def lower(shipped: FromRows) -> FromRows:
    """Find groups from one person less on."""
    counts = shipped.released.counts
    return with_counts(shipped, replace(counts, threshold=counts.threshold - 1))


def half(shipped: FromRows) -> FromRows:
    """Make the noise of the totals for half of what a person adds."""
    (total,) = shipped.released.totals
    assert isinstance(total, AdditiveNoise) and isinstance(total.law, DiscreteLaplace)
    quieter = replace(total, law=DiscreteLaplace(total.law.scale / 2))
    return replace(shipped, released=replace(shipped.released, totals=(quieter,)))


ONE, TWO, COMING = FromRows.shipped(1), FromRows.shipped(2), FromRows.shipped(1, ADD_REMOVE)
OF_ONE = stable_histogram(SPEND.split(2), relation=REPLACE_ONE, reads=TWO.released.counts.reads)

MANY: Visits = tuple((who, "a", 1) for who in range(1, 9))

ALONE = (((1, "a", 2),), ((1, "b", 2),))
TWICE = (((1, "a", 2), (1, "a", 3)), ((1, "b", 2), (1, "b", 3)))
TWO_NOTES = (((1, "a", 2), (1, "b", 2)), ((1, "c", 2), (1, "d", 2)))
MERGED = (((1, "éa", 2), (1, "éb", 2)), ((1, "öa", 2), (1, "öb", 2)))
DEARER = ((*MANY, (99, "a", 0)), (*MANY, (99, "a", 9), (99, "a", 9)))

CASES = [
    PromiseCase(
        name="groups found among events, one a person",
        spec_ids=("SQ-FOUND", "SQ-BOX"),
        mechanism=ONE,
        pairs=[*(Neighbours(*pair, NOTE) for pair in (ALONE, TWICE, TWO_NOTES)), ALONE, DEARER],
        mutants={
            "groups are found from one person less on": lower(ONE),
            "no bounds on what a person adds": replace(ONE, reading=unclamped),
        },
        tail=1e-8,
    ),
    PromiseCase(
        name="groups found among events, two that become one",
        spec_ids=("SQ-FOUND",),
        mechanism=TWO,
        pairs=[Neighbours(*MERGED, NOTE), MERGED],
        mutants={
            "texts that become one as they are cut count once": with_counts(TWO, OF_ONE),
            "groups are found from one person less on": lower(TWO),
        },
        tail=1e-8,
    ),
    PromiseCase(
        name="groups found among events, a person comes or goes",
        spec_ids=("SQ-FOUND",),
        mechanism=COMING,
        pairs=[(((99, "c", 2),), ()), (((99, "c", 2), (99, "d", 2)), ()), ((*MANY, (99, "a", 9)), MANY)],
        mutants={
            "groups are found from one person less on": lower(COMING),
            "all groups of a person": replace(COMING, reading=every_group),
            "no bounds on what a person adds": replace(COMING, reading=unclamped),
            "noise for half a person": half(COMING),
        },
        tail=1e-8,
    ),
]
