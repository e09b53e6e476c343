"""Learning from a table: reserved first, stored, free when asked again."""

from __future__ import annotations

import json

import pyarrow
import pytest

from sfumato import ADD_REMOVE, Approximate, Budget, Pure, Schema, bins, curate
from sfumato.errors import BudgetExceeded, ParameterError, SchemaError, UnsupportedSpend
from sfumato.learn import ExponentialLearner, Learn, PrivateBox, PrivatePoint, PrivateThreshold
from tests.imputed import booleans, categories, integers, text

ROWS = range(4000)
PEOPLE = pyarrow.table(
    {
        "id": [row // 2 for row in ROWS],
        "age": [18 + row % 70 for row in ROWS],
        "town": ["Rome" if row % 70 >= 47 else "Bonn" for row in ROWS],
        "retired": [row % 70 >= 47 for row in ROWS],
        "state": ["old" if row % 70 >= 47 else "young" if row % 3 else "odd" for row in ROWS],
    }
)
SCHEMA = Schema(
    {
        "age": integers(0, 120),
        "decade": bins("age", step=10),
        "town": text(max_bytes=8),
        "retired": booleans(),
        "state": categories("young", "middle", "old", other="else"),
    }
)


@pytest.fixture
def curator():
    with curate(PEOPLE, SCHEMA, Budget(person=Approximate(20, "1e-5"))) as found:
        yield found


def test_a_rule_is_reserved_stored_and_free_when_asked_again(curator):
    learner = PrivateThreshold(spend=Pure(4))
    answer = curator.learn(learner, features="age", target="retired")
    assert answer.value == learner.rule_
    assert str(learner.rule_) == "True if age >= 65, otherwise False"
    assert learner.loss_.person.epsilon == 4 and learner.loss_.profile.names() == {"age", "retired"}
    assert learner.predict(PEOPLE.select(["age"])).tolist() == PEOPLE["retired"].to_pylist()
    again = curator.learn(PrivateThreshold(spend=Pure(4)), features="age", target="retired")
    assert again.reused and again.value == learner.rule_ and again.remaining == answer.remaining
    stored = json.loads(json.dumps(answer.to_json()))
    assert curator.answer_from_json(stored).value == learner.rule_
    assert answer.to_pandas()["if"].tolist() == ["age >= 65"]


def test_what_does_not_fit_is_refused_before_anything_is_read(curator):
    with pytest.raises(BudgetExceeded):
        curator.learn(PrivateThreshold(spend=Pure(40)), features="age", target="retired")
    question = Learn.of(PrivateThreshold(direction="below"), "age", "retired")
    assert not curator.preview(question, Pure(40)).fits
    assert curator.loss(question, Pure(2)).person.epsilon == 2
    assert curator.rehearse(question, Pure(2)).value.kind == "threshold"


def test_a_ledger_on_disk_replays_a_rule(tmp_path):
    rules = []
    for _ in range(2):
        with curate(PEOPLE, SCHEMA, Pure(4), ledger=tmp_path / "book.ledger", snapshot="may") as found:
            answer = found.learn(PrivateBox(spend=Pure(4)), features=["age"], target="retired")
            rules.append((answer.value, answer.reused))
    assert rules[0] == (rules[1][0], False) and rules[1][1]


def test_text_keys_and_lists_of_rules(curator):
    named = curator.learn(PrivatePoint(spend=Approximate(1, "1e-6")), features="town", target="retired")
    assert named.value.says() == "town is 'Rome'"
    rules = [
        "age >= 65",
        "town = 'Bonn'",
        curator.learn(PrivateThreshold(Pure(4)), features="age", target="retired").value,
    ]
    with pytest.raises(ParameterError, match="other domains"):
        curator.learn(ExponentialLearner(rules, Pure(1)), features=["age", "town"], target="retired")
    best = curator.learn(ExponentialLearner(rules[:2], Pure(1)), features=["age", "town"], target="retired")
    assert best.value.condition == "age >= 65"


def test_a_column_of_many_values_says_which_two_are_meant(curator):
    with pytest.raises(ParameterError, match="classes="):
        curator.learn(PrivateThreshold(Pure(1)), features="age", target="state")
    with pytest.raises(ParameterError, match="none of the categories"):
        curator.learn(PrivateThreshold(Pure(1), classes=("young", "ancient")), features="age", target="state")
    answer = curator.learn(PrivateThreshold(Pure(4), classes=("young", "old")), features="age", target="state")
    assert str(answer.value) == "'old' if age >= 65, otherwise 'young'"


def test_wrong_requests_are_refused_with_a_sentence(curator):
    for learner, hint in (
        (PrivateThreshold(), "spend="),
        (PrivateThreshold(Pure(1), domains=integers(0, 9)), "leave domains="),
        (object(), "learner of sfumato.learn"),
    ):
        with pytest.raises(ParameterError, match=hint):
            curator.learn(learner, features="age", target="retired")
    for features, target, error in (
        (["age"], "age", ParameterError),
        ([], "age", ParameterError),
        ("sex", "retired", SchemaError),
    ):
        with pytest.raises(error):
            curator.learn(PrivateThreshold(Pure(1)), features=features, target=target)
    with pytest.raises(SchemaError, match="derived from 'age'"):
        curator.learn(PrivateThreshold(Pure(1)), features="decade", target="retired")
    with pytest.raises(ParameterError, match="no learner"):
        Learn("PrivateOracle", "age", "retired")
    with pytest.raises(ParameterError, match="has no 'depth'"):
        curator.ask(Learn("PrivateThreshold", "age", "retired", options={"depth": 3}), Pure(1))


def test_people_must_be_counted_in_public():
    with (
        curate(PEOPLE, SCHEMA, Pure(4), relation=ADD_REMOVE) as found,
        pytest.raises(UnsupportedSpend, match="replaced"),
    ):
        found.learn(PrivateThreshold(Pure(1)), features="age", target="retired")
    twice = Schema(dict(SCHEMA.columns), person="id", rows_per_person=2)
    with curate(PEOPLE, twice, Pure(4)) as found, pytest.raises(UnsupportedSpend, match="one row a person"):
        found.learn(PrivateThreshold(Pure(1)), features="age", target="retired")


def test_a_public_column_is_not_charged():
    known = Schema(dict(SCHEMA.columns), public=("age",))
    with curate(PEOPLE, known, Pure(4)) as found:
        answer = found.learn(PrivateThreshold(Pure(4)), features="age", target="retired")
    assert answer.loss.profile.names() == {"retired"}
