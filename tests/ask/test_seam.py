"""There is one door to the data, and what does not fit it cannot be made (SM-MEASURE)."""

from __future__ import annotations

import ast
from copy import copy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import sfumato
from sfumato import ADD_REMOVE, Concentrated, Count, GroupBy, Histogram, Mean, People, Pure, Quantiles, Sum
from sfumato.ask.prepared import Prepared
from sfumato.ask.question import Question
from sfumato.domain import integers
from sfumato.perturb import calibrate
from sfumato.privacy import EVERYTHING
from sfumato.questions import Synthesize
from sfumato.table.gauge import Basis
from sfumato.table.measure import Ordered, Rows, Totals
from sfumato.table.schema import Schema

SOURCE = Path(sfumato.__file__).parent
SCHEMA = Schema({"age": integers(0, 9, missing=0), "pay": integers(0, 9, missing=0)}, "id", 2)
BASIS = Basis(SCHEMA, 50)


def calls(name: str) -> list[str]:
    """Return the modules in which a method or function of this name is called, once for each call."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == name:
                arguments = ast.unparse(node)
                if name != "view" or "np." not in arguments:
                    found.append(str(path.relative_to(SOURCE)))
    return found


def test_views_of_tables_are_opened_by_gauges_only() -> None:
    tables = [
        place
        for place in calls("view")
        if place.split("/")[0] in ("table", "ask", "totals", "questions", "papers", "learn", "curator", "fair")
    ]
    numbers = {
        "table/frames.py",
        "papers/query_release/learning/labelled.py",
        "papers/query_release/learning/learned_synopsis.py",
        "questions/synopsis/queries.py",
        # What people look at, and no rows:
        "curator/curator.py",
        "curator/foreseen.py",
        "table/database.py",
        "questions/distribution/value.py",
        "questions/queries/tables.py",
    }
    assert set(tables) - numbers == {"table/gauge.py"}, "views of arrays are the only others"


def test_what_is_prepared_holds_a_gauge_and_nothing_that_reads_beside_it() -> None:
    assert set(Prepared.__dataclass_fields__) == {"gauge", "mechanism", "finish", "arrange", "told", "holds"}
    assert set(calls("read")) & {"learn/question.py", "totals/totals.py"} == set()


def test_a_mechanism_for_whole_rows_is_never_given_weighed_ones() -> None:
    prepared = Synthesize().prepare(BASIS, Pure(1))
    for measure in (Totals(("age",)), Ordered("age")):
        with pytest.raises(TypeError, match="whole rows"):
            Prepared(BASIS.gauge(measure), prepared.mechanism, prepared.finish)


@pytest.mark.parametrize(
    ("question", "spend"),
    [
        (Count("age > 3"), Pure(1)),
        (Histogram("age"), Concentrated("1/10")),
        (Sum("pay"), Pure("1/1000")),
        (Mean("pay", where="age > 3"), Pure(1)),
        (GroupBy("age", [Sum("pay")]), Pure(1)),
        (People("age > 3"), Pure(1)),
    ],
)
def test_noise_for_numbers_that_move_less_than_those_of_the_gauge_is_refused(question, spend) -> None:
    prepared = question.canonical(SCHEMA).prepare(BASIS, spend)
    noises = getattr(prepared.mechanism, "mechanisms", (prepared.mechanism,))
    assert all(list(noise.made_for()) for noise in noises), "every noise says what it was made for"
    for place, noise in enumerate(noises):
        smaller = replace(noise, sensitivity=replace(noise.sensitivity, l1=Fraction(1, 4)), by_attribute=())
        changed = (*noises[:place], smaller, *noises[place + 1 :])
        mutant = smaller if len(noises) == 1 else replace(prepared.mechanism, mechanisms=changed)
        with pytest.raises(TypeError, match="move less"):
            replace(prepared, mechanism=mutant)


def test_a_question_that_writes_a_sensitivity_by_hand_is_refused() -> None:
    gauge = BASIS.gauge(Totals(("age",)))
    by_hand = calibrate(Pure(1), sensitivity=1, reads=("age",))
    with pytest.raises(TypeError, match="move less"):
        Prepared(gauge, by_hand, Histogram("age").prepare(BASIS, Pure(1)).finish)


def test_a_mechanism_for_other_neighbours_or_other_rows_is_refused() -> None:
    prepared = Synthesize().prepare(BASIS, Pure(1))
    with pytest.raises(TypeError, match="neighbours"):
        Prepared(Basis(SCHEMA, None, ADD_REMOVE).gauge(Rows(("age",))), prepared.mechanism, prepared.finish)
    single = Basis(Schema(dict(SCHEMA.columns), "id"), 50).gauge(Rows(("age",)))
    with pytest.raises(TypeError, match="number of rows"):
        Prepared(single, prepared.mechanism, prepared.finish)


KEYED = Schema(dict(SCHEMA.columns), "id", 2, row_key=("visit",))
READ = {
    "rows": (Schema(dict(SCHEMA.columns)), Histogram("age"), "pay"),
    "a filter": (Schema(dict(SCHEMA.columns)), Count("age > 3"), "pay"),
    "weighed": (SCHEMA, Histogram("age"), "pay"),
    "ordered": (SCHEMA, Quantiles("age"), "pay"),
    "picked by a key": (KEYED, Synthesize(columns=("age",)), "pay"),
}


@pytest.mark.parametrize(("schema", "question", "other"), READ.values(), ids=READ)
def test_a_mechanism_for_other_attributes_is_refused(schema: Schema, question: Question, other: str) -> None:
    """One attribute that is read and not charged, one that is charged in its place, one more than is read."""
    prepared = question.canonical(schema).prepare(Basis(schema, 50), Pure(1))
    assert prepared.mechanism.reads == prepared.gauge.attributes == {"age"}
    for wrong in (frozenset(), frozenset({other}), frozenset({"age", other})):
        mutant = copy(prepared.mechanism)
        object.__setattr__(mutant, "reads", wrong)  # past the mechanism's own checks: this one stands alone
        with pytest.raises(TypeError, match="other attributes"):
            replace(prepared, mechanism=mutant)


def test_attributes_that_pay_what_a_person_does_need_not_be_named_and_everything_may_be() -> None:
    noise = calibrate(Pure(1), l1=2, reads={"age"})
    for row_key in (None, ("pay",)):
        gauge = Basis(Schema(dict(SCHEMA.columns), "id", row_key=row_key), 50).gauge(Rows(("age",)))
        assert gauge.attributes == {"age", "pay"}
        assert Prepared(gauge, noise, lambda raw: raw).loss().at("pay").epsilon == 1
    flat = replace(noise, reads=EVERYTHING)
    assert Prepared(Basis(KEYED, 50).gauge(Rows(("age",))), flat, lambda raw: raw).loss().at("pay").epsilon == 1


def test_what_the_mechanism_states_for_attributes_is_overruled_where_rows_are_picked_by_contents() -> None:
    noise = calibrate(Pure(1), l1=2, reads={"age"})
    gauge = Basis(Schema(dict(SCHEMA.columns), "id"), 50).gauge(Rows(("age",)))
    prepared = Prepared(gauge, noise, lambda raw: raw)
    assert noise.loss().at("pay").is_zero and prepared.loss().at("pay").epsilon == 1
    keyed = Basis(Schema(dict(SCHEMA.columns), "id", row_key=("pay",)), 50).gauge(Rows(("age",)))
    assert keyed.charge(noise.loss()).at("pay").epsilon == 1
    apart = Basis(Schema(dict(SCHEMA.columns), "id", row_key=("visit",)), 50).gauge(Rows(("age",)))
    assert apart.charge(noise.loss()).at("pay").is_zero


def test_where_people_come_and_go_no_plan_can_see_their_number() -> None:
    """Their number is not even there to be looked at; the replay finds what would show it all the same."""
    assert Basis(SCHEMA, 1000, ADD_REMOVE).people is None
    assert replace(BASIS, relation=ADD_REMOVE).people is None and BASIS.people == 50
    assert Basis(SCHEMA, 1000, ADD_REMOVE).gauge(Rows(("age",))).total is None
