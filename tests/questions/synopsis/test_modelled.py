"""Synopses made of a model of all rows: chosen by predicted error, answered from the model, saved and read back."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pyarrow
import pytest

from sfumato import ADD_REMOVE, Approximate, Concentrated, Noise, Pure, Schema, Synopsize, Synthesize, curate
from sfumato.questions.synopsis import Conjunctions, one_hot, plan_synopsis, synopsis_from_json
from sfumato.questions.synopsis.build import Asked, Modelled
from sfumato.questions.synopsis.modelled import ModelSynopsis, share_bias
from sfumato.questions.synopsis.plan import MODEL
from sfumato.table.gauge import Basis
from tests.imputed import booleans, categories, integers
from tests.questions.synopsis.tables import mixture, rms, schema_of, table_of, true_shares

SPENDS = (Pure("0.1"), Pure(1), Concentrated("0.1"), Approximate(1, "1e-6"))


@pytest.fixture(scope="module")
def fitted() -> ModelSynopsis:
    """A model of a column of three values, two bits and a number."""
    schema = Schema({"job": categories("nurse", "clerk"), "smokes": booleans(), "age": integers(0, 3)})
    rows = pyarrow.table(
        {"job": ["nurse", "clerk", "smith"] * 400, "smokes": [True, False] * 600, "age": [0, 1, 2, 3] * 300}
    )
    bits = ("smokes", *one_hot(schema, ["job"]), "age=3")
    with curate(rows, schema, Pure(1)) as curator:
        made = curator.ask(Synthesize(columns=("smokes", "job", "age")), Pure(1)).value
    return ModelSynopsis(bits, made.total, schema.to_json(), made.to_json(), pair=4.0)


def test_answers_are_those_of_the_model(fitted) -> None:
    rows = fitted.model.marginal(["job", "smokes", "age"])
    true = {
        "smokes": lambda job, smokes, age: smokes == 1,
        "job=nurse": lambda job, smokes, age: job == 0,
        "job=clerk": lambda job, smokes, age: job == 1,
        "age=3": lambda job, smokes, age: age == 3,
    }
    for asked in (
        ("smokes",), ("age=3", "smokes"), ("job=nurse", "job=clerk"), ("not job=nurse", "not job=clerk", "age=3"),
        ("not age=3", "job=clerk", "not smokes"), (),
    ):  # fmt: skip
        share = sum(
            rows[cell]
            for cell in product(*map(range, rows.shape))
            if all(true[name.removeprefix("not ")](*cell) != name.startswith("not ") for name in asked)
        )
        assert fitted.answer([asked])[0] == pytest.approx(share, abs=1e-9), asked


def test_it_is_a_value_that_can_be_written(fitted) -> None:
    again = synopsis_from_json(json.loads(json.dumps(fitted.to_json())))
    asked = Conjunctions.random(len(fitted.columns), 2, 20, negations=True, noise=Noise(insecure_seed=1))
    assert (again.answer(asked) == fitted.answer(asked)).all() and (again.stderr(asked) == fitted.stderr(asked)).all()
    assert again.model.sample(10, Noise(insecure_seed=1)).num_rows == 10  # type: ignore[attr-defined]
    low, high = fitted.interval(asked)
    assert (low <= fitted.answer(asked)).all() and (fitted.answer(asked) <= high).all()


@pytest.mark.parametrize("relation", [None, ADD_REMOVE])
@pytest.mark.parametrize("spend", SPENDS)
def test_auto_takes_a_model_where_it_promises_less_and_it_is_better(spend, relation) -> None:
    bits = mixture(20_000, 10, seed=4)
    queries = Conjunctions.random(10, 2, 60, negations=True, noise=Noise(insecure_seed=3))
    true = true_shares(bits, queries)
    chosen = {} if relation is None else {"relation": relation}
    errors = {}
    for method in ("auto", "marginals"):
        with curate(table_of(bits), schema_of(10), spend, **chosen) as curator:
            answer = curator.ask(Synopsize(method, options={"width": 2}), spend)
        errors[method] = rms(answer.value.answer(queries) - true)
        if method == "auto":
            assert isinstance(answer.value, ModelSynopsis) and 0 < answer.interval(0.95)[1] < 0.2
    assert errors["auto"] < errors["marginals"]


def test_auto_keeps_its_sketch_where_that_promises_less() -> None:
    # Sharp tables of three columns say what no table of two does, and a bit of many values adds up many cells.
    schema = Schema({**{f"c{place}": booleans() for place in range(8)}, "age": integers(0, 99)})
    basis, spend = Basis(schema, 100_000), Concentrated(1)
    names = tuple(f"c{place}" for place in range(8))

    def prepared(columns, **options):
        question = Synopsize(columns=columns, options=options)
        return question.prepare(basis, spend).mechanism.event().to_json()

    model = Synthesize(columns=names).prepare(basis, spend).mechanism.event().to_json()
    assert prepared(names, width=2) == model != prepared(names, width=4)
    asked = Asked.read(basis, spend, (*names, "age>=50"), {"width": 2})
    assert Modelled.of(asked, basis, spend) is None
    assert share_bias(2) == 0 < share_bias(3)


def test_a_plan_names_the_model_where_auto_takes_it() -> None:
    plan = plan_synopsis(16, 20_000, Pure(1), width=2)
    assert plan.best.name == MODEL
    asked = Asked.read(Basis(schema_of(16), 20_000), Pure(1), None, {"width": 2})
    found = Modelled.of(asked, Basis(schema_of(16), 20_000), Pure(1))
    assert found is not None and found.error(2) == pytest.approx(plan.best.error)
    assert MODEL not in [way.name for way in plan_synopsis(64, 20_000, Pure(1), width=2).ways]


def test_it_costs_what_a_model_costs() -> None:
    bits = mixture(2_000, 4, seed=2)
    with curate(table_of(bits), schema_of(4), Pure(1)) as curator:
        answer = curator.synopsis(spend=Pure(1), options={"width": 2})
    assert isinstance(answer.value, ModelSynopsis)
    assert answer.loss.person.epsilon <= 1 and answer.loss.at("c0").epsilon <= 1
    assert np.isclose(answer.value.people, 2_000)
