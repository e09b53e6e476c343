"""Linear models whose number of rows is private: filtered rows, several rows a person, people who come and go."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest

from sfumato import ADD_REMOVE, REPLACE_ONE, Approximate, Noise, Pure, Schema, curate
from sfumato.ask.question import fits
from sfumato.errors import AccuracyWarning, ParameterError, UnsupportedSpend
from sfumato.learn import PrivateLinearClassifier, PrivateLinearRegressor, PrivateThreshold
from sfumato.learn.facts import LearningFacts, Presence
from sfumato.learn.linear_moves import row_comes, scale_moves, step_moves, table_moves
from sfumato.learn.linear_rows import Grid, coordinates_of
from sfumato.learn.linear_shares import Shares
from sfumato.learn.linear_steps import counted_steps
from sfumato.learn.question import Learn
from sfumato.table.gauge import Basis
from tests.imputed import booleans, categories, integers
from tests.learn.linear_paths import FACTS, NAMES, TINY, Row, counted, parts_of, path_loss, rows_of, sample

COMES = Presence(ADD_REMOVE, 1, counted=True)
TWICE = Presence(ADD_REMOVE, 2, counted=True)
FILTERED = Presence(REPLACE_ONE, 1, counted=True, most=9, deciding=frozenset({"number"}))
SEVERAL = Presence(REPLACE_ONE, 2, counted=True, most=9)
WORLDS = {"add or remove": COMES, "two rows, add or remove": TWICE, "filter": FILTERED, "two rows": SEVERAL}
AIMS = ("two", "three", "number")
Rows = tuple[Row, ...]


def people(world: str, aim: str) -> list[tuple[Rows, Rows]]:
    """Return what one person may have in two neighbouring tables: rows that come, go or are exchanged."""
    presence, rows = WORLDS[world], rows_of(aim)
    alone: list[tuple[Rows, Rows]] = [((row,), ()) for row in rows]
    if presence.rows == 2:
        alone += [((row, row), ()) for row in rows] + [((rows[0], rows[-1]), ())]
    if presence.relation is ADD_REMOVE:
        return alone
    exchanged: list[tuple[Rows, Rows]] = [
        ((a,) * presence.rows, (b,) * presence.rows) for a, b in combinations(rows, 2)
    ]
    mixed = [((a, a), (b,)) for a, b in combinations(rows, 2)] if presence.rows == 2 else []
    return alone + exchanged + mixed[::5]


def changed(one: Row, two: Row) -> frozenset[str]:
    """Return the attributes in which two rows differ."""
    return frozenset(
        name for name, a, b in zip((*NAMES, "y"), (*one[0], one[1]), (*two[0], two[1]), strict=True) if a != b
    )


def worst(plan, pairs, others) -> tuple[Fraction, list[Fraction]]:
    """Return the largest loss over pairs of people, in all and part by part, with everybody near the mean and far."""
    total, parts = Fraction(0), [Fraction(0)] * len(parts_of(plan))
    for (one, two), far in product(pairs, (0, -1)):
        loss, each = path_loss(plan, sample(*one, *others), sample(*two, *others), far)
        total, parts = max(total, loss), [max(a, b) for a, b in zip(parts, each, strict=True)]
    return total, parts


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("aim", [AIMS[0], *(pytest.param(aim, marks=pytest.mark.audit) for aim in AIMS[1:])])
def test_no_person_moves_the_readings_further_than_is_charged(world, aim):
    plan, rows = counted(aim, WORLDS[world]), rows_of(aim)
    total, parts = worst(plan, people(world, aim), [rows[1], rows[-2]])
    claims = [part.loss().person.epsilon for part in parts_of(plan)]
    assert total <= plan.loss().person.epsilon and plan.loss().person.epsilon <= 900
    assert all(part <= claim for part, claim in zip(parts, claims, strict=True))
    assert all(part > claim * Fraction(7, 10) for part, claim in zip(parts, claims, strict=True)), (parts, claims)


@pytest.mark.parametrize("world", ["add or remove", "filter"])
def test_no_attribute_moves_them_further_either(world):
    aim = "two"
    plan, rows = counted(aim, WORLDS[world]), rows_of(aim)
    reached = dict.fromkeys((*NAMES, "y"), Fraction(0))
    pairs = [(((a,), (b,)), changed(a, b)) for a, b in combinations(rows, 2) if len(changed(a, b)) == 1]
    if world == "filter":  # the filter reads the number: whoever changes it may come or go
        pairs += [(((row,), ()), frozenset({"number"})) for row in rows]
    for pair, names in pairs:
        total, _ = worst(plan, [pair], [rows[1], rows[-2]])
        assert total <= plan.loss().at(names).epsilon, (names, pair)
        (name,) = names
        reached[name] = max(reached[name], total)
    assert reached["y"] > plan.loss().at("y").epsilon / 2
    if world == "add or remove":
        assert max(reached.values()) > plan.loss().person.epsilon, "an attribute costs more than who comes or goes"


def _halved(part):
    return replace(part, law=type(part.law)(part.law.scale / 2))


def _scale_without_count(plan, aim):
    facts = replace(FACTS[aim], presence=Presence(plan.relation))
    unpaid = row_comes(coordinates_of(facts), TINY, plan.aim).l1 - TINY.cell**2
    return replace(
        plan,
        scale=replace(plan.scale, law=type(plan.scale.law)(plan.scale.law.scale * unpaid / plan.scale.sensitivity.l1)),
    )


MUTANTS = {
    "rows counted for nothing": ("add or remove", _scale_without_count),
    "one row for two": ("two rows, add or remove", lambda plan, _: replace(plan, scale=_halved(plan.scale))),
    "steps of who comes for who is replaced": (
        "two rows", lambda plan, _: replace(plan, walks=(replace(plan.walks[0], step=_halved(plan.walks[0].step)),)),
    ),
    "a table of who comes for who is replaced": ("filter", lambda plan, _: replace(plan, table=_halved(plan.table))),
    "twice the clip": (
        "add or remove", lambda plan, _: replace(plan, walks=(replace(plan.walks[0], clip=2 * plan.walks[0].clip),)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_seen(name):
    world, broken = MUTANTS[name]
    plan, rows = counted("two", WORLDS[world]), rows_of("two")
    claims = [part.loss().person.epsilon for part in parts_of(plan)]
    _, parts = worst(broken(plan, "two"), people(world, "two"), [rows[1], rows[-2]])
    assert any(part > claim for part, claim in zip(parts, claims, strict=True)), name


def test_nothing_but_the_released_count_says_how_many_rows_there_are():
    """What follows the first reading is the same for any table, given what was released."""
    facts = replace(FACTS["two"], presence=COMES)
    plan = counted_steps(coordinates_of(facts), Pure(40), facts, least=1, enough=1)
    assert len({walk.steps for walk in plan.walks}) > 3 and plan.walks[0].people == 1
    assert [walk.people for walk in plan.walks] == sorted(walk.people for walk in plan.walks)
    assert len({walk.amount for walk in plan.walks}) == 1, "all paces cost the same"
    total = plan.grid.cell**2
    for rows in (1, 7, 60, 10**4, 10**9):
        found = plan.released(rows * total + total // 3)
        here, stated = plan.at(found).loss().person, plan.loss().person
        assert found == rows and plan.at(found).people == rows and here.epsilon == stated.epsilon
        assert all(here.tau(order) <= stated.tau(order) for order in (Fraction(3, 2), 4, 64))
    assert plan.released(-5 * total) == 1
    huge = counted_steps(coordinates_of(facts), Pure(10**9), facts, least=1, enough=1)
    assert len({walk.amount for walk in huge.walks}) == 1 and huge.walks[0].people == 1 < huge.walks[0].steps
    assert fits(huge.loss(), Pure(10**9))
    bounded = replace(facts, presence=FILTERED)
    short = counted_steps(coordinates_of(bounded), Pure(40), bounded, least=1, enough=1)
    assert short.released(10**6 * total) == 9 and all(walk.people <= 9 for walk in short.walks)
    assert plan.run(sample(), Noise(insecure_seed=1))[-1] >= 1, "nobody is there, and it is an answer"


def test_golden_numbers():
    names = tuple(f"x{place}" for place in range(8))
    plain = LearningFacts(names, (integers(0, 99),) * 8, booleans(), "y", frozenset({*names, "y"}))
    facts, square = replace(plain, presence=COMES), Grid().cell ** 2
    coordinates = coordinates_of(facts)
    moves = scale_moves(coordinates, Grid(), facts)
    assert (moves.l1, moves.l2_squared) == (18 * square, 18 * square**2)
    plan = counted_steps(coordinates, Pure(1), facts, least=1, enough=1)
    assert plan.loss().person.epsilon == 1 and plan.loss().at("x0").epsilon == Fraction(23, 16)  # 1.4375
    filtered = replace(plain, presence=Presence(REPLACE_ONE, 1, counted=True, deciding=frozenset({"x0"})))
    moves = scale_moves(coordinates, Grid(), filtered)
    assert (moves.l1, moves.l2_squared) == (20 * square, 36 * square**2)
    found = counted_steps(coordinates, Pure(1), filtered, least=1, enough=1).loss()
    assert found.person.epsilon == 1 and found.at("x0").epsilon == Fraction(3, 10) * Fraction(18, 20) + Fraction(7, 10)
    gaussian = counted_steps(coordinates, Approximate(1, "1e-6"), facts, least=1, enough=1)
    assert fits(gaussian.loss(), Approximate(1, "1e-6"))
    several = Presence(REPLACE_ONE, 3, counted=True)
    assert step_moves(10, 9, several, pure=False).l2_squared == 3600 and step_moves(10, 9, COMES, pure=True).l1 == 10
    assert table_moves(several).l2_squared == 18 and table_moves(COMES, exchanged=True).l1 == 2
    assert Shares(coordinates, Pure(1), facts).ratio(100) * 2 == Shares(coordinates, Pure(1), plain).ratio(100)


@pytest.mark.parametrize(
    ("wrong", "said"), [({"rows": 1}, "another number of rows"), ({"relation": REPLACE_ONE}, "other neighbours")]
)
def test_a_fit_made_for_other_people_than_its_gauge_is_refused(monkeypatch, wrong, said):
    plain, schema = Presence.of, Schema({"age": integers(0, 99), "rich": booleans()}, person="id", rows_per_person=2)
    asked, basis = Learn("PrivateLinearClassifier", ("age",), "rich").canonical(schema), Basis(schema, 900, ADD_REMOVE)
    assert asked.prepare(basis, Pure(1)).mechanism.rows == 2
    monkeypatch.setattr(Presence, "of", lambda gauge: replace(plain(gauge), **wrong))
    with pytest.raises(TypeError, match=said):
        asked.prepare(basis, Pure(1))


N = 3000
draw = Noise(insecure_seed=5)
AGE, HOURS = draw.uniform(60, N) + 20, draw.uniform(60, N)
CELLS = {
    "age": integers(0, 99),
    "hours": integers(0, 99),
    "rich": categories("no", "yes"),
    "ward": categories("n", "s"),
}
TABLE = pa.table(
    {
        "id": np.arange(N) // 2,
        "age": AGE,
        "hours": HOURS,
        "rich": np.where(AGE + HOURS > 80, "yes", "no"),
        "ward": np.where(AGE % 3 == 0, "n", "s"),
    }
)
ABOUT = {"features": ["age", "hours"], "target": "rich"}


@pytest.mark.parametrize(
    ("schema", "relation", "where", "rows"),
    [
        (Schema(CELLS), REPLACE_ONE, "ward = 's'", 2000),
        (Schema(CELLS), ADD_REMOVE, None, 3000),
        (Schema(CELLS, person="id", rows_per_person=2), REPLACE_ONE, None, 3000),
        (Schema(CELLS, person="id", rows_per_person=2), ADD_REMOVE, "age >= 50", 1500),
    ],
)
def test_a_curator_learns_from_filtered_rows_and_several_a_person(schema, relation, where, rows):
    spend = Pure(8)
    with curate(TABLE, schema, Pure(20), relation=relation) as curator:
        learner = PrivateLinearClassifier(spend=spend)
        with warnings.catch_warnings():
            warnings.simplefilter("error", AccuracyWarning)
            answer = curator.learn(learner, **ABOUT, where=where)
        again = curator.learn(PrivateLinearClassifier(spend=spend), **ABOUT, where=where)
        assert again.reused and again.value == answer.value
    assert abs(answer.value.rows - rows) < 150 and not answer.value.rows_wanted
    assert answer.loss.person.epsilon == 8 and answer.value.area > 0.9
    assert answer.value.predict([[30, 10], [75, 55]]).tolist() == ["no", "yes"] and learner.rule_ == answer.value
    assert "among the rows of the fit" in str(answer) and answer.value.score([[30, 10], [75, 55]], ["no", "yes"]) == 1
    assert f"about {answer.value.rows} rows" in str(answer) and answer.value.rows_each == schema.rows_per_person


def test_what_is_known_before_and_after_says_how_many_rows_there_are():
    with curate(TABLE, Schema(CELLS), Pure(20)) as curator:
        asked = Learn("PrivateLinearClassifier", ("age", "hours"), "rich", where="age = 20")
        assert "rows count, which is private: " in str(curator.preview(asked, Pure(1)))
        answer = curator.ask(asked, Pure(1))
        assert "With so few this spend buys much noise" in str(answer)
        number = curator.learn(
            PrivateLinearRegressor(spend=Pure(4)), features=["age"], target="hours", where="age > 30"
        )
        assert number.value.rows > 2000


def test_other_learners_say_that_linear_models_count_rows():
    with curate(TABLE, Schema(CELLS), Pure(4)) as curator, pytest.raises(UnsupportedSpend, match="take a linear model"):
        curator.learn(PrivateThreshold(spend=Pure(1)), features="age", target="rich", where="age > 30")


def test_a_question_without_a_condition_is_stored_as_before():
    plain = Learn("PrivateLinearClassifier", ("age",), "rich").canonical(Schema(CELLS))
    assert "where" not in plain.to_json() and "missing" not in plain.to_json()
    assert (
        Learn("PrivateLinearClassifier", ("age",), "rich", where="age > 3").canonical(Schema(CELLS)).to_json()["where"]
    )


def test_of_nobody_no_filtered_rows_are_learned_from():
    """It ended in a bare IndexError."""
    asked = Learn("PrivateLinearClassifier", ("age",), "rich", where="age > 3")
    with curate(TABLE[:0], Schema(CELLS), Pure(4)) as curator, pytest.raises(ParameterError, match="There is nobody"):
        curator.ask(asked, Pure(1))
