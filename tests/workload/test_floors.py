"""Floors beside the errors of answers: where they are proved, and nowhere else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow
import pytest

from sfumato import ADD_REMOVE, Approximate, Concentrated, Noise, Pure, Schema, curate, workloads
from sfumato.bounds import histogram_error, sampling_error
from sfumato.domain import bins
from sfumato.papers.query_release.geometry.choose import choose_additive
from sfumato.papers.query_release.geometry.question import Shaped
from sfumato.privacy import REPLACE_ONE, Bound, Relation
from sfumato.questions.queries.noisy import noisy_workload
from sfumato.questions.queries.question import Queries
from sfumato.table.gauge import Basis
from sfumato.table.measure import Rows
from sfumato.workload.floors import beside_model, beside_tables, possible_rows
from sfumato.workload.space import Space
from tests.imputed import booleans, integers

SCHEMA = Schema({"age": integers(0, 31), "decade": bins("age", step=8), "works": booleans(), "car": booleans()})
BITS = Schema({name: booleans() for name in ("smokes", "drinks", "sleeps")})
PEOPLE = pyarrow.table({name: [(row >> place) % 3 == 0 for row in range(200)] for place, name in enumerate(BITS.names)})


def setting(relation: Relation = REPLACE_ONE, people: int = 1000, rows: int = 1) -> Basis:
    schema = SCHEMA if rows == 1 else Schema(dict(SCHEMA.columns), "person", rows, row_key=("visit",))
    return Basis(schema, people, relation)


def beside(spend: Bound, relation: Relation = REPLACE_ONE, **options: Any) -> Any:
    workload, facts = (
        workloads.marginals(SCHEMA, width=2, columns=["age", "works", "car"]),
        setting(relation, **options),
    )
    gauge = facts.gauge(Rows(workload.columns))
    mechanism = noisy_workload(gauge, spend, workload)
    return beside_tables(workload, gauge, spend, mechanism.law, mechanism.error(0.95))


def test_an_answer_with_shaped_noise_says_how_near_it_is_to_the_best() -> None:
    workload = workloads.conjunctions(BITS, width=2)
    with curate(PEOPLE, BITS, Pure(9)) as curator:
        answer = curator.ask(Shaped(workload), Pure("1/5"))
        plain = curator.ask(Shaped(workload, method="laplace"), Pure("1/5"))
        again = curator.answer_from_json(answer.to_json())
        few = curator.ask(Shaped(workload), Pure("1/100"))
    choice = choose_additive(workload, Pure("1/5"), people=200)
    made = answer.released.made
    assert made["floor"] == choice.floor.value and made["ratio"] == choice.ratio
    assert choice.ratio is not None and choice.ratio > 1
    assert answer.released.made["notes"][0].startswith(
        f"Your error is within {choice.ratio:.1f} of the best any pure mechanism can do"
    )
    assert "of the best any pure mechanism can do" in answer._repr_html_()
    assert again.notes == answer.notes
    assert plain.released.made["floor"] == pytest.approx(made["floor"])
    assert plain.released.made["ratio"] > made["ratio"]
    assert choose_additive(workload, Pure(9), people=200).ratio is None, "noise may round to nothing"
    assert "floor" not in few.released.made  # 200 people cannot move the answers as far as the proof needs


def test_shapes_of_columns_that_determine_each_other_have_no_floor() -> None:
    # An age of 3 in the last decade exists in the matrix and in nobody's life.
    schema = Schema({"age": integers(0, 3), "half": bins("age", step=2)})
    with curate(pyarrow.table({"age": [0, 1, 2, 3] * 50}), schema, Pure(1)) as curator:
        answer = curator.ask(Shaped(workloads.conjunctions(schema, cells=[{"age": 1, "half": 0}])), Pure(1))
    assert "notes" not in answer.released.made and "floor" not in answer.released.made


def test_tables_stand_beside_a_packing_of_all_rows() -> None:
    found = beside(Pure("1/10"))
    assert found.floor == histogram_error(32 * 2 * 2, "1/10", 1000).value == math.floor(10 * math.log(64)) / 2
    assert found.ratio > 1 and "No pure mechanism with this spend stays below" in found.notes[0]
    assert f"moves them by {1000 * sampling_error(1000, 132):.3g} anyway" in found.notes[1]


@pytest.mark.parametrize("spend", [Concentrated("1/100"), Approximate("1/10", 1e-6), Pure("1/10").per_attribute()])
def test_no_floor_for_spends_without_one(spend: Bound) -> None:
    found = beside(spend)
    assert found.floor is found.ratio is None and not any("No pure" in note for note in found.notes)
    assert len(found.notes) == 1 and "anyway" in found.notes[0]


def test_nothing_comes_from_a_private_number_of_people() -> None:
    space = Space.of(SCHEMA, ["age", "works"])
    for options in ({"relation": ADD_REMOVE}, {"rows": 2}):
        said = {beside(Pure("1/10"), people=people, **options).notes for people in (7, 1000, 10**9)}
        assert said == {()}
        assert beside_model(space, 2, setting(**options).gauge(Rows(space.names)), Pure(1)).made() == {}
    workload = workloads.conjunctions(BITS, width=2)
    told = set()
    for people in (3, 200):
        with curate(PEOPLE.slice(0, people), BITS, Pure(1), relation=ADD_REMOVE) as curator:
            answer = curator.ask(Shaped(workload), Pure("1/5"))
        told.add((answer.released.made["floor"], answer.notes))
    assert len(told) == 1


def test_a_model_stands_beside_a_floor_and_the_luck_of_the_draw() -> None:
    space = Space.of(SCHEMA, ["age", "works", "car"])
    found = beside_model(space, 2, setting().gauge(Rows(space.names)), Pure("1/10"))
    assert found.floor == histogram_error(128, "1/10", 1000).value / 1000 and found.ratio is None
    assert "all tables of 2 columns" in found.notes[0] and "luck of the draw" in found.notes[1]
    assert beside_model(space, 2, setting().gauge(Rows(space.names)), Concentrated(1)).floor is None


def test_no_pure_noise_beats_its_floor() -> None:
    """Laplace noise on a histogram: the median of its largest error is above the floor, for any spend."""
    schema = Schema({"age": integers(0, 255)})
    workload = workloads.marginals(schema, width=1)
    for epsilon in ("1/10", "1/2", "2"):
        facts = Basis(schema, 10_000).gauge(Rows(workload.columns))
        law = noisy_workload(facts, Pure(epsilon), workload).law
        found = beside_tables(workload, facts, Pure(epsilon), law, 1)
        if found.floor is not None:
            draws = np.abs(Noise(insecure_seed=1).draw(law, 256 * 200)).reshape(200, 256).max(axis=1)
            assert found.floor < np.median(draws)
            assert found.ratio is not None and found.ratio > 1


def test_few_queries_over_many_cells_are_told_of_the_price_of_purity() -> None:
    wide = workloads.conjunctions(SCHEMA, cells=[{"age": 3, "works": True}, {"age": 5, "car": True}])
    with curate(pyarrow.table({"age": [1], "works": [True], "car": [False]}), SCHEMA, Pure(2)) as curator:
        answer = curator.ask(Queries(wide), Pure(1))
    assert any("sqrt(d) times" in note and "Here d is 2, N is 128" in note for note in answer.notes)


def test_an_age_and_its_decade_are_one() -> None:
    space = Space.of(SCHEMA)
    assert possible_rows(space, ["age", "decade", "works"]) == 64 and space.cells == 32 * 4 * 4
