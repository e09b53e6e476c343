"""Answers to workloads: what they cost, what they cover, how they are read, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from math import comb

import numpy as np
import pyarrow
import pytest

from sfumato import (
    ADD_REMOVE,
    EVERYTHING,
    Approximate,
    Budget,
    Concentrated,
    Noise,
    Pure,
    Queries,
    Schema,
    Truncated,
    bins,
    curate,
    workloads,
)
from sfumato.answer import Frame
from sfumato.ask.question import question_from_json
from sfumato.errors import DomainTooLarge, ParameterError, SchemaError, UnsupportedSpend
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, RoundedNormal
from sfumato.privacy import REPLACE_ONE, Loss
from sfumato.questions.queries.noisy import NoisyWorkload, noisy_workload
from sfumato.table.gauge import Basis, Gauge
from sfumato.table.measure import Rows
from sfumato.totals.tables.stack import TableStack
from sfumato.workload import Marginal, Records, Space, Workload
from tests.imputed import booleans, categories, integers, text

SCHEMA = Schema(
    {
        "age": integers(0, 99),
        "decade": bins("age", step=10),
        "sex": categories("Female", "Male"),
        "works": booleans(),
        "town": categories("A", "B", public=True),
    }
)
PEOPLE = pyarrow.table(
    {
        "age": [34, 71, 25, 42, 58, 63, 19, 44] * 20,
        "sex": ["Male", "Female"] * 80,
        "works": [True, False, True, True] * 40,
        "town": ["A", "B", "B", "B"] * 40,
    }
)
BITS = Schema({name: booleans() for name in "abcdefgh"})


def setting(schema=BITS, people=100, **options) -> Basis:
    return Basis(schema, people, **options)


def gauge(workload, schema=BITS, **options) -> Gauge:
    return setting(schema, **options).gauge(Rows(workload.columns))


def test_a_curator_answers_a_workload():
    workload = workloads.marginals(SCHEMA, sets=[("decade", "sex"), ("sex", "works"), ("town",)])
    with curate(PEOPLE, SCHEMA, Budget(person=Concentrated(5), each_attribute=Concentrated(2))) as curator:
        answer = curator.ask(Queries(workload), Concentrated(0.5).per_attribute())
        tables = answer.value
        assert len(tables) == 3 and tables.method == "exact" and tables.people == 160
        frame = tables.table(["sex", "works"])
        assert frame.keys == ("sex", "works") and len(frame) == 4
        assert sum(frame["count"]) == pytest.approx(160)
        assert tables.array(("works", "sex")).shape == (2, 2)
        assert np.allclose(tables.array(("works", "sex")).sum(axis=0), tables.array(("decade", "sex")).sum(axis=0))
        assert answer.loss.at("sex").within(Concentrated(0.5)) and answer.loss.at("sex").rho(2) > Fraction(4999, 10_000)
        assert answer.costs["person"].rho(2) > answer.costs["age"].rho(2)
        again = curator.answer_from_json(json.loads(json.dumps(answer.to_json())))
        assert np.allclose(again.value.values[0], tables.values[0])
        assert len(answer.frame) == workload.queries and answer.to_pandas().shape == (26, 9)
        wide = answer.to_pandas()
        assert set(wide.columns) >= {"sex", "works", "decade", "town"}, "one column for each that a table is about"
        assert [*wide[wide["table"] == "town"]["sex"].isna()] == [True, True], "no part of that table"
        assert "cell" in str(answer) and "  sex  " not in str(answer), "in print the cell says it"
        assert tables.to_polars(["town"]).shape == (2, 4)
        assert curator.ask(Queries(workload), Concentrated(0.5).per_attribute()).reused
        assert "<svg" in answer.plot().svg() and "<svg" in tables.plot("town").svg()


def test_questions_round_trip_through_json():
    for workload in (
        workloads.marginals(SCHEMA, width=2),
        workloads.conjunctions(SCHEMA, cells=[{"sex": "Male", "decade": 30}]),
        workloads.parities(BITS, width=3),
        workloads.parities(BITS, sets=["a", ("a", "c")], signed=True),
        workloads.together(workloads.ranges(SCHEMA, "decade"), workloads.prefixes(SCHEMA, ["age", "decade"])),
        workloads.predicates(SCHEMA, ["age > 40 AND sex = 'Male'", "works = true OR town = 'A'"]),
        workloads.matrix(SCHEMA, ("sex", "works"), [[0, 0.5, 1, 0.25]]),
    ):
        schema = BITS if "a" in workload.space.names else SCHEMA
        question = Queries(workload, method="none")
        stored = json.loads(json.dumps(question.to_json()))
        assert question_from_json(stored, schema) == question
    assert len(json.dumps(workloads.marginals(BITS, width=4).to_json())) < 300


def test_the_loss_of_all_tables_of_a_width_is_that_of_the_spec():
    """rho(J) = (C(d,k) - C(d-c,k))/sigma², for tables of counts (PDP:C-10), and the noise that a spend buys."""
    for width in (1, 2, 3):
        workload = workloads.marginals(BITS, width=width)
        mechanism = noisy_workload(gauge(workload), Concentrated(Fraction(1, 2)).per_attribute(), workload)
        assert isinstance(mechanism.law, (DiscreteGaussian, RoundedNormal))
        assert mechanism.law.variance == 2 * comb(7, width - 1)
        loss = mechanism.loss()
        for count in (1, 2, 5, 8):
            touched = comb(8, width) - comb(8 - count, width)
            assert loss.at(frozenset("abcdefgh"[:count])).rho(2) == Fraction(touched) / mechanism.law.variance
        assert loss.person.rho(2) == Fraction(comb(8, width)) / mechanism.law.variance


def test_the_error_of_all_answers_together_is_known():
    workload = workloads.marginals(BITS, width=2)
    mechanism = noisy_workload(gauge(workload), Pure(1), workload)
    noise = Noise(insecure_seed=6)
    empty = Records.from_rows(mechanism.workload.space, [])
    largest = [max(np.abs(part).max() for part in mechanism.run(empty, noise)) for _ in range(200)]
    # 0.9 ± five standard deviations of a mean of 200.
    assert abs(np.mean(np.array(largest) <= mechanism.error(0.9)) - 0.9) < 0.106


def test_some_tables_are_charged_to_the_attributes_that_they_show():
    workload = workloads.marginals(BITS, sets=[("a", "b"), ("b", "c"), ("d",)])
    loss = NoisyWorkload(workload=workload, law=DiscreteGaussian(10), reads=workload.reads).loss()
    tenths = {"a": 1, "b": 2, "c": 1, "d": 1, "ac": 2, "ad": 2, "abcd": 3, "e": 0}
    for names, parts in tenths.items():
        assert loss.at(frozenset(names)).rho(2) == Fraction(parts, 10)
    assert Loss.from_json(loss.to_json()) == loss


def test_parities_are_charged_for_what_can_move_at_once():
    workload = workloads.parities(BITS, width=2)
    loss = NoisyWorkload(workload=workload, law=DiscreteGaussian(1), reads=workload.reads).loss()
    assert loss.person.rho(2) == Fraction(16, 2)  # 4·4 odd pairs; printed: all 28
    assert loss.at("a").rho(2) == Fraction(7, 2)


FOUR = Schema({name: booleans() for name in "abcd"})


@pytest.mark.parametrize(
    "bound",
    [
        Pure(1),
        Pure(1).per_attribute(),
        Concentrated(0.1),
        Concentrated(0.1).per_attribute(),
        Truncated(0.1, 2).per_attribute(),
        Approximate(1, 1e-6),
    ],
)
@pytest.mark.parametrize(
    "workload",
    [
        workloads.marginals(FOUR, width=2),
        workloads.parities(FOUR, width=2),
        workloads.together(workloads.conjunctions(FOUR, width=1), workloads.marginals(FOUR, sets=[("a", "b")])),
    ],
    ids=["tables", "parities", "together"],
)
def test_every_spend_buys_noise_that_fits(bound, workload):
    prepared = Queries(workload).prepare(setting(FOUR), bound)
    assert prepared.mechanism.loss().within(bound)


def test_noise_for_people_who_come_and_go_is_that_of_one_row():
    workload = workloads.marginals(BITS, width=2)
    mechanism = noisy_workload(gauge(workload, relation=ADD_REMOVE), Pure(1), workload)
    assert mechanism.law == DiscreteLaplace(28)
    assert mechanism.loss().person.epsilon == 1
    # Changing one attribute is a row that leaves and one that comes, in 7 of the 28 tables.
    assert mechanism.loss().at("a").epsilon == Fraction(1, 2)
    each = Queries(workload).prepare(setting(relation=ADD_REMOVE), Pure(1).per_attribute()).loss()
    assert each.at("a").epsilon <= 1 and each.person.epsilon == Fraction(1, 2), "an attribute is two people at most"


def test_several_rows_a_person_are_picked_and_paid_for():
    schema = Schema({"a": booleans(), "b": booleans(), "c": booleans()}, person="id", rows_per_person=3)
    table = pyarrow.table(
        {"id": [1, 1, 1, 1, 2, 3], **{name: [True, False, True, True, False, True] for name in "abc"}}
    )
    workload = workloads.marginals(schema, sets=[("a", "b")])
    with curate(table, schema, Pure(100)) as curator:
        answer = curator.ask(Queries(workload), Pure(6))
        assert answer.value.people is None
        assert answer.event.parameters["mechanism"]["parameters"]["rows"] == 3
        assert answer.loss.at("c").epsilon == 6  # rows are picked by all of their contents
        law = answer.value.law
        assert law == DiscreteLaplace(1)  # three rows, two cells each, epsilon 6


def test_public_columns_are_free_for_attributes_and_not_for_people():
    workload = workloads.marginals(SCHEMA, sets=[("town",), ("sex",)])
    loss = NoisyWorkload(workload=workload, law=DiscreteLaplace(2), reads=workload.reads).loss()
    assert loss.at("sex").epsilon == 1 and loss.person.epsilon == 2
    alone = workloads.marginals(SCHEMA, sets=[("town",)])
    with pytest.raises(UnsupportedSpend, match="only whole people"):
        Queries(alone).prepare(setting(SCHEMA), Pure(1).per_attribute())
    assert Queries(alone).prepare(setting(SCHEMA), Pure(1)).mechanism.loss().person.epsilon == 1


@pytest.mark.parametrize("projection", ["none", "exact", "frank-wolfe", "local"])
@pytest.mark.parametrize("spend", [Pure(2), Concentrated(0.05)])
def test_intervals_cover_the_exact_answers(projection, spend):
    workload = workloads.marginals(BITS, sets=[("a", "b"), ("b", "c", "d"), ("e",), ("f", "g")])
    noise = Noise(insecure_seed=11)
    records = Records.from_rows(workload.space, noise.uniform(2, 60 * 7).reshape(60, 7))
    exact = np.concatenate(workload.answers(records))
    question = Queries(workload, method=projection)
    prepared = question.prepare(setting(people=60), spend)
    covered, widths = [], []
    for _ in range(60):
        tables = question.value(prepared.finish(prepared.mechanism.run(records, noise)))
        ends = [tables.between(place, 0.9) for place in range(len(tables))]
        low, high = (np.concatenate(side) for side in zip(*ends, strict=True))
        covered.append(np.mean((low <= exact) & (exact <= high)))
        widths.append(np.mean(high - low))
        assert all(((a <= v) & (v <= b)).all() for (a, b), v in zip(ends, tables.values, strict=True))
    # 1080 numbers at 0.9: five standard deviations are 0.046.
    assert np.mean(covered) > 0.9 - 0.046
    assert np.mean(widths) <= 2.2 * tables.width(0, 0.9) + 1


@pytest.mark.parametrize(("spend", "part"), [(Pure(8), 0.5), (Concentrated(0.1), 0.99)])
def test_projected_tables_are_nearer_on_average(spend, part):
    """Contrasts agree before they are projected, so that less is left to win."""
    workload = workloads.marginals(BITS, width=3)
    noise = Noise(insecure_seed=12)
    records = Records.from_rows(workload.space, noise.uniform(2, 200 * 8).reshape(200, 8))
    exact = np.concatenate(workload.answers(records))
    errors = {}
    for projection in ("none", "exact", "local"):
        question = Queries(workload, method=projection)
        prepared = question.prepare(setting(people=200), spend)
        found = [question.value(prepared.finish(prepared.mechanism.run(records, noise))) for _ in range(4)]
        errors[projection] = np.mean([(np.concatenate(one.values) - exact) ** 2 for one in found])
    assert errors["exact"] < errors["local"] < part * errors["none"]


def test_a_person_who_is_not_public_in_number_is_not_counted_exactly():
    workload = workloads.marginals(BITS, width=2)
    prepared = Queries(workload).prepare(setting(relation=ADD_REMOVE), Pure(1))
    records = Records.from_rows(workload.space, [(0,) * 8] * 30)
    released = prepared.finish(prepared.mechanism.run(records, Noise(insecure_seed=1)))
    assert not released.facts
    empty = Records.from_rows(workload.space, [])
    assert (
        Queries(workload).value(prepared.finish(prepared.mechanism.run(empty, Noise(insecure_seed=1)))).people is None
    )


def test_records_hold_every_row_once():
    with curate(PEOPLE, SCHEMA, Pure(1)) as curator:
        space = Space.of(SCHEMA, ["decade", "sex", "works"])
        records = Records.of(space, Rows(space.names).query(curator.table.view(space.names)))
        assert records.total == 160
        assert records.codes.tolist() == sorted(records.codes.tolist())
        counted = curator.table.view(["sex", "works"]).counts(["sex", "works"])
        assert np.array_equal(records.table(["sex", "works"]), counted)
        assert np.array_equal(records.table(["works", "sex"]), counted.T)
        with pytest.raises(SchemaError, match="declared"):
            Rows(space.names).query(curator.table.view(["decade"]))


def test_a_query_sees_its_own_columns_only():
    workload = workloads.predicates(SCHEMA, ["age > 40 AND works = true"])
    (block,) = workload.blocks
    assert block.columns == ("age", "works") and workload.columns == ("age", "works")
    prepared = Queries(workload).prepare(setting(SCHEMA), Pure(1))
    assert prepared.gauge.measure.columns() == {"age", "works"} and prepared.mechanism.reads == {"age", "works"}
    with pytest.raises(ParameterError, match="does not declare"):
        type(block)(("age",), (100,), block.where, (0,))


NOTES = Schema({"note": text(max_bytes=9), "sex": booleans(), "id": integers(0, 2**40), "one": integers(3, 3)})


CROOKED = Marginal(("sex",), (3,))


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: workloads.marginals(NOTES, width=2), SchemaError, "holds text.*columns="),
        (lambda: workloads.predicates(NOTES, ["note = 'x'"]), SchemaError, "holds text"),
        (lambda: workloads.marginals(NOTES, sets=["id"]), DomainTooLarge, "coarser bins"),
        (lambda: workloads.predicates(NOTES, ["id > 5 AND sex = true"]), DomainTooLarge, "cells"),
        (lambda: workloads.marginals(BITS, width=0), ParameterError, "width"),
        (lambda: workloads.marginals(BITS, width=9), ParameterError, "only 8 columns"),
        (lambda: workloads.marginals(BITS), ParameterError, "either width="),
        (lambda: workloads.marginals(BITS, width=1, sets=["a"]), ParameterError, "either width="),
        (lambda: workloads.marginals(BITS, sets=[]), ParameterError, "at least one"),
        (lambda: workloads.marginals(BITS, sets=[("a", "a")]), ParameterError, "twice"),
        (lambda: workloads.marginals(BITS, sets=[("a", "bb")]), SchemaError, "did you mean"),
        (lambda: workloads.parities(SCHEMA, sets=["decade"]), ParameterError, "has 10 values"),
        (lambda: workloads.conjunctions(SCHEMA, width=2), ParameterError, "is about bits"),
        (lambda: workloads.conjunctions(SCHEMA, cells=[{"sex": "Mael"}]), ParameterError, "did you mean"),
        (lambda: workloads.matrix(BITS, "a", [[0, 1.5]]), ParameterError, "from 0 to 1"),
        (lambda: workloads.matrix(BITS, "a", [[0, -0.5]]), ParameterError, "from 0 to 1"),
        (lambda: workloads.matrix(BITS, "a", [[0, float("nan")]]), ParameterError, "value of a query"),
        (lambda: workloads.matrix(BITS, "a", [[0, 1, 1]]), ParameterError, "2 columns"),
        (lambda: workloads.matrix(BITS, "a", [[0, 1], [1]]), ParameterError, "equal length"),
        (lambda: workloads.matrix(BITS, "a", []), ParameterError, "equal length"),
        (lambda: workloads.matrix(BITS, "a", [0, 1]), ParameterError, r"matrix\(schema, 'sex', \[\[0, 1\]\]\)"),
        (lambda: workloads.matrix(BITS, "a", 3), ParameterError, "row of numbers for each query"),
        (lambda: workloads.matrix(BITS, "a", "01"), ParameterError, "row of numbers for each query"),
        (lambda: workloads.matrix(BITS, 3, [[0, 1]]), ParameterError, "no list of names"),
        (lambda: workloads.marginals(["a"], width=2), ParameterError, "curator.schema"),
        (lambda: workloads.predicates(["a"], ["a = true"]), ParameterError, "curator.schema"),
        (lambda: workloads.conjunctions(["a"], cells=[{"a": True}]), ParameterError, "curator.schema"),
        (lambda: workloads.marginals(SCHEMA, sets="sex"), ParameterError, r"write for example sets=\['age'"),
        (lambda: workloads.marginals(SCHEMA, sets=3), ParameterError, "list of sets"),
        (lambda: workloads.marginals(SCHEMA, sets=[3]), ParameterError, "no list of names"),
        (lambda: workloads.marginals(SCHEMA, width=1, columns=3), ParameterError, "no list of names"),
        (lambda: workloads.conjunctions(SCHEMA, cells={"sex": "Male"}), ParameterError, "each of which gives"),
        (lambda: workloads.conjunctions(SCHEMA, cells=[]), ParameterError, "each of which gives"),
        (lambda: workloads.predicates(BITS, 3), ParameterError, "SQL text"),
        (lambda: workloads.marginals(NOTES, sets=["note"]), SchemaError, r"ask about columns=\['sex', 'id', 'one'\]"),
        (
            lambda: workloads.marginals(Schema({"note": text(max_bytes=9)}), width=1),
            SchemaError,
            "listed; declare it as",
        ),
        (lambda: workloads.marginals(BITS, width=0), ParameterError, "0 is not; write for example width=1"),
        (
            lambda: Workload(Space.of(SCHEMA), (workloads.marginals(BITS, sets=["a"]).blocks[0], CROOKED)),
            SchemaError,
            "no column 'a'",
        ),
        (lambda: Workload(Space.of(SCHEMA), (CROOKED,)), SchemaError, "made for 3 values.*have 2; make all"),
        (lambda: workloads.predicates(BITS, []), ParameterError, "needs a condition"),
        (lambda: workloads.predicates(SCHEMA, ["age >= 0"]), ParameterError, "every row"),
        (lambda: workloads.predicates(SCHEMA, ["aeg > 40"]), SchemaError, "did you mean"),
        (lambda: workloads.ranges(SCHEMA, "income"), SchemaError, "no column"),
        (lambda: workloads.prefixes(NOTES, "one"), ParameterError, "at least two values"),
        (lambda: Queries("age"), ParameterError, "needs a workload"),
        (lambda: Queries(workloads.marginals(BITS, width=2), method="best"), ParameterError, "none of them"),
        (lambda: Workload(Space.of(BITS), ()), ParameterError, "at least one query"),
        (lambda: workloads.together(), ParameterError, "needs workloads"),
        (
            lambda: workloads.marginals(Schema({f"c{i}": booleans() for i in range(60)}), width=5),
            DomainTooLarge,
            "smaller width",
        ),
    ],
)
def test_bad_input_is_refused_in_a_sentence(make, error, said):
    with pytest.raises(error, match=said):
        make()


def test_a_workload_of_another_schema_is_refused_and_nothing_is_spent():
    other = workloads.marginals(BITS, width=2)
    with curate(PEOPLE, SCHEMA, Pure(1)) as curator:
        before = curator.remaining()
        with pytest.raises(SchemaError):
            curator.ask(Queries(other), Pure(0.5))
        changed = Schema({"sex": categories("Female", "Male", "Other"), "works": booleans()})
        with pytest.raises(SchemaError, match="other domains"):
            curator.ask(Queries(workloads.marginals(changed, width=2)), Pure(0.5))
        with pytest.raises(ParameterError, match="same value for everybody"):
            one = workloads.marginals(NOTES, sets=["one"])
            noisy_workload(gauge(one, schema=NOTES), Pure(1), one)
        assert curator.remaining() == before


def test_a_table_that_was_not_asked_for_is_not_made_up():
    question = Queries(workloads.marginals(BITS, sets=[("a", "b")]), method="none")
    prepared = question.prepare(setting(), Pure(1))
    records = Records.from_rows(Space.of(BITS, ["a", "b"]), [(0, 1)] * 100)
    tables = question.value(prepared.finish(prepared.mechanism.run(records, Noise(insecure_seed=1))))
    with pytest.raises(SchemaError, match="no block over"):
        tables.table("a")
    assert isinstance(tables.interval(), Frame) and next(iter(tables)).keys == ("a", "b")
    assert "1 blocks" in repr(tables)
    assert prepared.mechanism.loss().at(EVERYTHING).epsilon == 1


def test_the_gaussian_promise_holds_at_every_order_and_is_reached():
    """PDP-PROJ (a): d = 3 bits, k = 2, n = 2, sigma = 1; enumerated laws on a grid of ±60, all attribute neighbours."""
    schema = Schema({name: booleans() for name in "abc"})
    workload = workloads.conjunctions(schema, width=2)
    loss = NoisyWorkload(workload=workload, law=DiscreteGaussian(1), reads=workload.reads).loss()
    grid = np.arange(-60, 61).astype(float)
    here, beside = -(grid**2) / 2, -((grid - 1) ** 2) / 2
    scale = np.logaddexp.reduce(here)
    rows = [tuple(int(bit) for bit in f"{code:03b}") for code in range(8)]
    for order in (1.5, 2, 4, 8, 32):
        # Coordinates are independent, and a conjunction moves by one or not at all.
        step = (np.logaddexp.reduce(order * here + (1 - order) * beside) - scale) / (order - 1)
        worst = 0.0
        for other in rows:
            for one, two in ((a, b) for a in rows for b in rows if sum(x != y for x, y in zip(a, b, strict=True)) == 1):
                exact = [
                    np.concatenate(workload.answers(Records.from_rows(workload.space, [other, row])))
                    for row in (one, two)
                ]
                worst = max(worst, step * int(np.abs(exact[0] - exact[1]).sum()))
        claim = order * float(loss.at("a").rho(2))
        assert worst <= claim * (1 + 1e-9)
        assert worst >= 0.99 * claim


@pytest.mark.parametrize(
    "bound", [Pure(1), Concentrated("1/2"), Truncated("1/2", 10), Approximate(1, "1e-6")], ids=repr
)
@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_what_is_stated_is_what_the_noise_was_made_for(rows, relation, bound):
    """Rows of a person add up in one coordinate: Gaussian noise costs the square of their number."""
    schema = Schema(
        {name: booleans() for name in "abc"}, person="id", rows_per_person=rows, row_key=("n",) if rows > 1 else ()
    )
    built = [make(schema, width=2) for make in (workloads.marginals, workloads.conjunctions, workloads.parities)]
    for workload in [workloads.marginals(schema, width=1), *built]:
        prepared = Queries(workload).prepare(Basis(schema, 50, relation), bound)
        mechanism = prepared.mechanism
        assert prepared.loss().person.within(bound)
        if isinstance(mechanism, TableStack):
            assert all(isinstance(block, Marginal) for block in workload.blocks)
            continue
        person = mechanism.cost(workload.sensitivity(relation, rows))
        assert mechanism.loss().person.epsilon >= person.epsilon
        if not isinstance(mechanism.law, DiscreteLaplace):
            assert mechanism.loss().person.rho(2) >= person.rho(2)


def test_an_attribute_in_the_row_key_is_paid_for_by_a_spend_per_attribute():
    schema = Schema({"a": booleans(), "b": booleans(), "k": integers(0, 3)}, person="id", row_key=("k",))
    loss = (
        Queries(workloads.marginals(schema, width=1, columns=["a", "b"]))
        .prepare(Basis(schema, 50), Pure(1).per_attribute())
        .loss()
    )
    assert loss.at("k").epsilon == loss.person.epsilon == 1
