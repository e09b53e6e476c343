"""Columns that are too wide for a model: their bins, and what lies inside, lose no more than is stated.

Real ones have thousands of bins, of which each pair of tables would be compared; here a model has so little room that a
column of eight values is wide. Constants of size are all that differs.
"""

from __future__ import annotations

import pyarrow
import pytest

from sfumato import Pure, Schema
from sfumato.domain import integers
from sfumato.ledger.largest import scaled
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from sfumato.questions.synthesis import coarse
from sfumato.questions.synthesis import question as synthesis
from sfumato.questions.synthesis.cuts import CutTables
from sfumato.questions.synthesis.question import Synthesize
from sfumato.table.data import open_table
from sfumato.table.gauge import Basis
from sfumato.workload import records
from tests.replay import harness
from tests.replay.exemptions import ENOUGH
from tests.replay.test_moves import WORLDS

ASKED = Synthesize(columns=("age", "ill"))


@pytest.fixture(autouse=True)
def _little_room(monkeypatch):
    monkeypatch.setattr(synthesis, "MOST_CODES", 4)
    monkeypatch.setattr(coarse, "FEWEST", 2)
    monkeypatch.setattr(records, "FEW_ROWS", 0)  # so that tables are counted where the data are


def _cells(world, relation, spends):
    with harness.opened(WORLDS[world], seed=31) as tables:
        cells = harness.survey("Synthesize wide", ASKED, tables, relation, spends)
        return cells, harness.shown(cells, tables)


LONG = [pytest.param(world, len(harness.SPENDS), marks=pytest.mark.audit) for world in ("one row", "two keyed")]


@pytest.mark.parametrize(
    "relation", [REPLACE_ONE, pytest.param(ADD_REMOVE, marks=pytest.mark.audit)], ids=lambda relation: relation.value
)
@pytest.mark.parametrize(("world", "spends"), [("no person", 1), *LONG])
def test_bins_and_their_inside_lose_what_is_stated(world, spends, relation):
    cells, told = _cells(world, relation, spends)
    assert not told, told
    assert cells
    if (
        WORLDS[world].rows == 1
    ):  # several rows of a person share what is charged; none of these people has all at the ends
        assert all(cell.worst("person") >= ENOUGH for cell in cells)


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE], ids=lambda relation: relation.value)
@pytest.mark.parametrize(("world", "spends"), [("no person", 1), *LONG])
def test_bins_that_are_cut_by_released_numbers_lose_what_is_stated(world, spends, relation, monkeypatch):
    """Eight values on a grid of four bins, of which two are made where the one-way table says."""
    monkeypatch.setattr(synthesis, "MOST_CODES", 8)
    for name, size in {"GRID": 4, "LEAST": 2, "UNCOUNTED": 2, "MOST": 2, "BEARABLE": 0}.items():
        monkeypatch.setattr(coarse, name, size)
    made = ASKED.prepare(Basis(WORLDS[world].schema, 4, relation), Pure(1)).mechanism
    assert isinstance(made, CutTables) and made.cutting.cut_space.sizes[0] == 2
    cells, told = _cells(world, relation, spends)
    assert cells and not told, told


def test_an_inside_with_too_little_noise_is_found(monkeypatch):
    """A tenth of the spend is charged, and noise is drawn as if it had been a half."""
    made = synthesis.inside_tables

    def careless(facts, finer, bins, spend):
        loose = made(facts, finer, bins, scaled(spend, 5))
        object.__setattr__(loose, "loss", made(facts, finer, bins, spend).loss)
        return loose

    monkeypatch.setattr(synthesis, "inside_tables", careless)
    _, told = _cells("no person", REPLACE_ONE, 1)
    assert "times what is stated" in told


def test_a_column_that_is_called_like_the_bins_of_another_is_read_itself():
    """It was read as the bins of the other one, which then cost twice what was stated for that attribute."""
    schema = Schema({"age": integers(0, 7, missing=0), "age in bins": integers(0, 1, missing=0)})
    data = pyarrow.table({"age": [0, 0, 7], "age in bins": [1, 1, 1]})
    prepared = Synthesize().prepare(Basis(schema, 3), Pure(1))
    with open_table(data, schema) as table:
        coarse_tables, _ = prepared.exact(table)
    assert coarse_tables.table(["age"]).tolist() == [2, 1]
    assert coarse_tables.table(["age in bins"]).tolist() == [0, 3]
