"""Synthetic data: the question from end to end, its accuracy, its JSON, and what it refuses."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from sfumato import ADD_REMOVE, REPLACE_ONE, Approximate, Concentrated, Noise, Pure, Schema, Truncated, curate
from sfumato.answer import Released
from sfumato.ask.prepared import Prepared
from sfumato.ask.question import question_from_json
from sfumato.errors import CertificationError, ParameterError, SchemaError, UnsupportedSpend
from sfumato.model import Factored, Mixture, Model
from sfumato.privacy import Bound, Relation
from sfumato.questions.synthesis import Synthesize
from sfumato.questions.synthesis.adaptive import ChosenTables, _Looks
from sfumato.questions.synthesis.check import CheckedTables
from sfumato.questions.synthesis.every_triple import EveryTriple
from sfumato.questions.synthesis.guarded import GuardedTables
from sfumato.questions.synthesis.looked import LookedTables
from sfumato.table.gauge import Basis
from sfumato.totals.tables.stack import TableStack
from sfumato.workload import Records, Space
from sfumato.workload.builders import marginals
from tests.imputed import booleans, categories, integers, text

PEOPLE = 20_000
BITS = Schema({f"x{place}": integers(0, 1) for place in range(8)})
WIDE = Schema({f"x{place}": integers(0, 5) for place in range(10)})
SPENDS: list[Bound] = [Pure(1), Concentrated("0.1"), Truncated("0.1", 20), Approximate(1, "1e-6")]


def chained(schema: Schema, people: int = PEOPLE, seed: int = 5) -> Records:
    """Return rows in which every column copies the one before it, with one in five cells drawn anew."""
    noise = Noise(insecure_seed=seed)
    space = Space.of(schema)
    columns: list[Any] = []
    for size in space.sizes:
        fresh = np.minimum(noise.uniform(size, people), noise.uniform(size, people))
        keep = noise.uniform(5, people) > 0
        columns.append(np.where(keep, columns[-1], fresh) if columns else fresh)
    return Records.from_rows(space, np.stack(columns, axis=1).tolist())


def setting_of(schema: Schema, relation: Relation = REPLACE_ONE, people: int = PEOPLE) -> Basis:
    return Basis(schema, people, relation)


def measuring(prepared: Prepared) -> Any:
    """Return what measures tables, without the check that comes after it."""
    assert isinstance(prepared.mechanism, CheckedTables)
    return prepared.mechanism.release


def released(question: Synthesize, records: Records, setting: Basis, spend: Bound, seed: int = 1) -> Released:
    prepared = question.prepare(setting, spend)
    raw = prepared.mechanism.run(records, Noise(insecure_seed=seed))
    return Released.from_json(json.loads(json.dumps(prepared.finish(raw).to_json())))


def distance(model: Model, records: Records, width: int = 3) -> float:
    apart = [
        0.5 * np.abs(model.marginal(names) - records.table(names) / records.total).sum()
        for names in combinations(records.space.names, width)
    ]
    return float(np.mean(apart))


def alone(records: Records) -> Model:
    tables = {name: records.table([name]) / records.total for name in records.space.names}
    return Factored.product(records.space, records.total, tables)


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE], ids=str)
@pytest.mark.parametrize("spend", SPENDS, ids=repr)
def test_every_spend_gives_a_model_of_bits(spend: Bound, relation: Relation) -> None:
    records = chained(BITS)
    found = released(Synthesize(), records, setting_of(BITS, relation), spend)
    model = Synthesize().value(found)
    assert isinstance(model, Factored)
    assert distance(model, records) < 0.05 < distance(alone(records), records)
    if relation is REPLACE_ONE:
        assert model.total == PEOPLE
    else:
        assert model.total != PEOPLE
        assert abs(model.total - PEOPLE) < 400


@pytest.mark.parametrize("spend", [Pure(2), Concentrated("0.1")], ids=repr)
def test_wide_tables_get_a_mixture(spend: Bound) -> None:
    records = chained(WIDE)
    found = released(Synthesize(), records, setting_of(WIDE), spend)
    model = Synthesize().value(found)
    assert isinstance(model, Mixture)
    assert distance(model, records) < 0.5 * distance(alone(records), records)
    low, high = Synthesize().interval(found, Fraction(95, 100))
    assert 0 < low < distance(model, records) < high < 0.3


def test_triples_are_learned_from_few_columns() -> None:
    schema = Schema({name: integers(0, 1) for name in ("a", "b", "c")})
    noise = Noise(insecure_seed=2)
    first, second = noise.uniform(2, PEOPLE), noise.uniform(2, PEOPLE)
    records = Records.from_rows(Space.of(schema), np.stack([first, second, first ^ second], axis=1).tolist())
    for spend in (Pure(1), Concentrated("0.02")):
        for relation in (REPLACE_ONE, ADD_REMOVE):
            setting = setting_of(schema, relation)
            model = Synthesize().value(released(Synthesize(), records, setting, spend))
            assert distance(model, records) < 0.05 < distance(alone(records), records)


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE], ids=str)
def test_what_is_looked_at_again_follows_from_what_stands_out(relation: Relation) -> None:
    looked, pairs = {}, 45
    for people in (100, 100_000):
        mechanism = measuring(Synthesize().prepare(setting_of(WIDE, relation, people), Concentrated("0.01")))
        assert isinstance(mechanism, LookedTables)
        raw = mechanism.run(chained(WIDE, people), Noise(insecure_seed=1))
        parts, numbers = mechanism.released(raw)
        assert [part.shape for part in parts] == [found.shape for found in numbers]
        again = mechanism.second.stack(*raw[1][:2])
        assert Fraction(99, 100) * mechanism.second.price < again.person_price <= mechanism.second.price
        looked[people] = Counter(len(part.columns) for part in again.parts)
    assert looked[100] == {1: 10}, "pairs drown, and one-way tables get everything"
    assert looked[100_000][2] == pairs


def test_little_data_falls_back_to_pairs_and_still_less_to_single_columns() -> None:
    question, setting = Synthesize(), setting_of(BITS, ADD_REMOVE, 50)
    mechanism = measuring(question.prepare(setting, Concentrated("0.01")))
    assert isinstance(mechanism, ChosenTables) and isinstance(mechanism.stack, GuardedTables)
    widths = {}
    for people in (50, 1000, 100_000):
        raw = mechanism.run(chained(BITS, people), Noise(insecure_seed=1))
        parts, numbers = mechanism.released(raw)
        assert [part.shape for part in parts] == [found.shape for found in numbers]
        widths[people] = Counter(len(part.columns) for part in parts)
    columns = 8
    assert max(widths[50]) == 1 and widths[50][1] == 3 * columns
    assert max(widths[1000]) == 2 and widths[1000][1] == 2 * columns
    assert max(widths[100_000]) == 3 and widths[100_000][1] == columns
    public = question.prepare(setting_of(BITS, REPLACE_ONE, 50), Concentrated("0.01"))
    assert isinstance(measuring(public), TableStack)


def test_triples_that_drown_leave_their_money_to_a_further_look() -> None:
    few = Schema({f"x{place}": integers(0, 2) for place in range(5)})
    mechanism = measuring(Synthesize().prepare(setting_of(few, ADD_REMOVE, 50), Concentrated("0.01")))
    assert isinstance(mechanism, EveryTriple) and isinstance(mechanism.stack, LookedTables)
    widths = {}
    for people in (50, 100_000):
        parts, numbers = mechanism.released(mechanism.run(chained(few, people), Noise(insecure_seed=1)))
        assert [part.shape for part in parts] == [found.shape for found in numbers]
        widths[people] = Counter(len(part.columns) for part in parts)
    assert max(widths[50]) < 3 == max(widths[100_000])


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_triples_that_stand_out_are_worth_more_than_pairs_with_a_little_less_noise(relation: Relation) -> None:
    # Laplace noise on the pairs of ten bits would be narrower here, but cannot pay for triples.
    schema = Schema({f"x{place}": integers(0, 1) for place in range(10)})
    mechanism = measuring(Synthesize().prepare(setting_of(schema, relation, 30_000), Approximate(1, 1e-9)))
    assert isinstance(mechanism, ChosenTables)
    assert len(mechanism.candidates[0].columns) == 3


def test_nobody_there_is_data_like_any_other() -> None:
    empty = Records.from_rows(Space.of(BITS), [])
    model = Synthesize().value(released(Synthesize(), empty, setting_of(BITS, ADD_REMOVE, 0), Pure(1)))
    assert model.marginal(["x0", "x1"]).sum() == pytest.approx(1)


@pytest.mark.parametrize("columns", [3, 10])
def test_a_column_of_one_value_is_carried_along(columns: int) -> None:
    schema = Schema({"only": integers(7, 7), **{f"x{place}": integers(0, 5) for place in range(columns)}})
    records = chained(schema, 2000)
    for spend in (Pure(1), Concentrated("0.1")):
        model = Synthesize().value(released(Synthesize(), records, setting_of(schema, people=2000), spend))
        assert model.marginal(["only", "x1"]).shape == (1, 6)
        assert set(model.sample(10)["only"].to_pylist()) == {7}


def test_a_workload_says_what_is_measured() -> None:
    workload = marginals(BITS, sets=[("x0", "x1"), ("x2",)])
    prepared = Synthesize(workload).prepare(setting_of(BITS), Concentrated("0.1"))
    stack = measuring(prepared)
    assert isinstance(stack, TableStack)
    assert sorted(part.columns for part in stack.parts) == [(0,), (0, 1), (1,), (2,)]
    assert prepared.gauge.measure.columns() == {"x0", "x1", "x2"}
    assert prepared.mechanism.loss().at("x5").is_zero


def test_attributes_are_charged_less_than_people() -> None:
    loss = Synthesize().prepare(setting_of(WIDE), Concentrated("0.1")).mechanism.loss()
    assert loss.person.rho() <= 0.1 < 1.001 * loss.person.rho()
    assert loss.at("x3").rho() < 0.35 * loss.person.rho()
    each = Synthesize().prepare(setting_of(WIDE), Concentrated("0.1").per_attribute()).mechanism.loss()
    assert 0.0999 < max(each.at(name).rho() for name in WIDE.names) <= 0.1 < each.person.rho()


def test_questions_round_trip() -> None:
    for question in (Synthesize(), Synthesize(columns=["x0", "x2"]), Synthesize(marginals(BITS, width=2))):
        stored = json.loads(json.dumps(question.canonical(BITS).to_json()))
        again = question_from_json(stored, BITS)
        assert again == question
        assert again.to_json() == question.to_json()


def test_the_curator_keeps_the_answer(tmp_path: Path) -> None:
    codes = chained(WIDE, 500)
    rows = np.repeat(codes.codes, codes.counts, axis=0)
    table = pyarrow.table({name: rows[:, place] for place, name in enumerate(WIDE.names)})
    question = Synthesize(columns=["x0", "x1", "x2"])
    with curate(table, WIDE, Pure(2)) as curator:
        answer = curator.ask(question, Pure(1))
        assert answer.value.sample(20).num_rows == 20
        assert answer.loss.person.epsilon <= 1
        again = curator.ask(question, Pure(1))
        assert again.reused
        np.testing.assert_array_equal(again.value.marginal(["x0"]), answer.value.marginal(["x0"]))
        restored = curator.answer_from_json(json.loads(json.dumps(answer.to_json())))
        np.testing.assert_array_equal(restored.value.marginal(["x0"]), answer.value.marginal(["x0"]))
        assert answer.error().unit == "total variation"
        assert "columns" in repr(answer.value)


def test_several_rows_a_person() -> None:
    schema = Schema({"x0": integers(0, 1), "x1": integers(0, 2), "x2": integers(0, 1)}, person="who", rows_per_person=3)
    for relation in (REPLACE_ONE, ADD_REMOVE):
        for spend in SPENDS:
            mechanism = Synthesize().prepare(setting_of(schema, relation), spend).mechanism
            assert mechanism.loss().within(spend)


def test_a_run_that_costs_more_than_stated_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = measuring(Synthesize().prepare(setting_of(BITS), Concentrated(1)))
    assert isinstance(mechanism, ChosenTables)
    look = _Looks.measure

    def twice(self: _Looks, place: int) -> Any:
        look(self, place)
        return look(self, place)

    monkeypatch.setattr(_Looks, "measure", twice)
    with pytest.raises(CertificationError, match="withheld"):
        mechanism.run(chained(BITS, 200), Noise(insecure_seed=1))


def test_what_cannot_be_done_is_said_before_it_costs() -> None:
    setting = setting_of(BITS)
    with pytest.raises(SchemaError, match="at least one column"):
        Synthesize(columns=[]).canonical(BITS)
    with pytest.raises(SchemaError, match="holds text"):
        Synthesize().canonical(Schema({"name": text(max_bytes=20), "x": integers(0, 1)}))
    with pytest.raises(SchemaError, match="x0"):
        Synthesize(columns=["x00"]).canonical(BITS)
    large = Schema({"x": integers(0, 10_000), "y": integers(0, 1)})
    assert Synthesize().prepare(setting_of(large), Pure(1)).loss().within(Pure(1)), "wide columns stand in bins"
    with pytest.raises(SchemaError, match="single value"):
        Synthesize().prepare(setting_of(Schema({"x": categories("only")})), Pure(1))
    with pytest.raises(ParameterError, match="no method"):
        Synthesize(method="magic")
    with pytest.raises(ParameterError, match="takes no options"):
        Synthesize(options={"rounds": 3})
    with pytest.raises(ParameterError, match="is a workload"):
        Synthesize(workload=3)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="leave columns"):
        Synthesize(marginals(BITS, width=2), columns=["x0"])
    with pytest.raises(UnsupportedSpend, match="wider than"):
        Synthesize().prepare(setting, Pure("1e-9"))
    with pytest.raises(UnsupportedSpend, match="wider than"):
        Synthesize().prepare(setting, Concentrated("1e-20"))
    with pytest.raises(UnsupportedSpend, match="above zero"):
        Synthesize().prepare(setting, Pure(0))
    with pytest.raises(SchemaError, match="other domains"):
        Synthesize(marginals(BITS, width=2)).canonical(WIDE)


def test_a_model_whose_error_is_not_known_says_so() -> None:
    table = pyarrow.table({"a": [True, False] * 50, "b": [True, True, False, False] * 25})
    schema = Schema({"a": booleans(missing=False), "b": booleans(missing=False)})
    curator = curate(table, schema, Pure(4))
    unknown = curator.synthesize(spend=Pure(1), method="mwem")
    assert unknown.error().between == (0.0, None)
    assert "no error is stated for it; method='auto' states one." in str(unknown)
    assert "no error is stated" not in str(curator.synthesize(spend=Pure(1)))
