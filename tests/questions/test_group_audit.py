"""A fairness audit of private rows: what it says, what it costs, what it refuses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from sfumato import ADD_REMOVE, Budget, Pure, Schema, booleans, categories, curate, integers
from sfumato.errors import BudgetExceeded, DomainTooLarge, ParameterError, SchemaError
from sfumato.fair import group_report
from sfumato.noise import Noise
from sfumato.questions import GroupAudit

PEOPLE = 4000


def applicants() -> dict[str, np.ndarray]:
    noise = Noise(insecure_seed=2)
    sex = np.array(["f", "m"])[noise.uniform(2, PEOPLE)]
    race = np.array(["a", "a", "b"])[noise.uniform(3, PEOPLE)]
    good = noise.uniform(2, PEOPLE) == 1
    hired = noise.uniform(100, PEOPLE) < np.where(sex == "f", 28, 46)
    return {"sex": sex, "race": race, "good": good, "hired": hired}


def described(**options: object) -> Schema:
    columns = {
        "sex": categories("f", "m", other="f", missing="f"),
        "race": categories("a", "b", other="a", missing="a"),
        "good": booleans(missing=False),
        "hired": booleans(missing=False),
    }
    return Schema(columns, **options)


def test_figures_are_near_those_of_the_rows():
    rows = applicants()
    plain = group_report(rows["hired"], {"sex": rows["sex"], "race": rows["race"]}, labels=rows["good"])
    with curate(pa.table(rows), described(), Pure(20)) as curator:
        report = curator.audit("hired", ["sex", "race"], "good", spend=Pure(10)).value
        again = curator.audit("hired", ["sex", "race"], "good", favourable=True, spend=Pure(10))
    assert again.reused, "the good value that is taken by default is the same question"
    assert [one.group for one in report.tallied.groups] == [one.group for one in plain.tallied.groups]
    for mine, truth in zip(report.tallied.groups, plain.tallied.groups, strict=True):
        assert abs(mine.people - truth.people) < 20
        for figure in ("chosen", "hits", "alarms", "right"):
            assert abs(getattr(mine, figure).value - getattr(truth, figure).value) < 0.03, (mine.group, figure)
    assert report.raised == plain.raised == ("FOUR-FIFTHS",)
    assert report.tallied.groups[0].chosen.cells == (4, 4), "two races, two labels"


@pytest.mark.parametrize(("relation", "person", "attribute"), [(None, 1, 1), (ADD_REMOVE, 1, 2)])
def test_what_it_costs(relation, person, attribute):
    options = {} if relation is None else {"relation": relation}
    with curate(pa.table(applicants()), described(), Pure(5), **options) as curator:
        answer = curator.audit("hired", "sex", spend=Pure(1))
    assert answer.loss.person.epsilon == Fraction(person)
    assert answer.loss.at("sex").epsilon == answer.loss.at("hired").epsilon == attribute
    assert answer.loss.at("race").is_zero


def test_a_limit_on_the_protected_column_is_charged_in_full():
    with curate(pa.table(applicants()), described(), Budget(Pure(5), each_attribute=Pure(1))) as curator:
        curator.audit("hired", "sex", spend=Pure(1))
        with pytest.raises(BudgetExceeded, match="sex"):
            curator.histogram("sex", spend=Pure("0.01"))


def test_tables_and_intervals():
    with curate(pa.table(applicants()), described(), Pure(5)) as curator:
        answer = curator.audit("hired", ["sex"], spend=Pure(1))
    narrow, wide = answer.interval(0.5), answer.interval(0.99)
    assert narrow.columns["rate, high"][0] < wide.columns["rate, high"][0]
    assert answer.to_pandas().shape[0] == len(answer.value.tallied.groups)
    assert "noise of privacy" in answer.value.model_card()


def test_people_with_several_rows_and_a_condition():
    rows = applicants()
    rows["id"] = np.arange(PEOPLE) // 2
    schema = described(person="id", rows_per_person=2)
    with curate(pa.table(rows), schema, Pure(10)) as curator:
        report = curator.audit("hired", "sex", where="race = 'a'", spend=Pure(5)).value
    truth = group_report(rows["hired"][rows["race"] == "a"], rows["sex"][rows["race"] == "a"])
    for mine, real in zip(report.tallied.groups, truth.tallied.groups, strict=True):
        assert abs(mine.chosen.value - real.chosen.value) < 0.05


def test_levels_of_missing_cells_are_the_unknown_group():
    rows = applicants()
    sex = rows["sex"].astype(object)
    sex[:400] = None
    schema = Schema({"sex": categories("f", "m"), "hired": booleans()})
    with curate(pa.table({"sex": pa.array(sex, pa.string()), "hired": rows["hired"]}), schema, Pure(9)) as curator:
        report = curator.audit("hired", "sex", spend=Pure(5)).value
    found = {one.group.name: one.people for one in report.tallied.groups}
    assert abs(found["unknown"] - 400) < 10
    assert all(not one.group.group.unknown for one in report.comparisons)


@pytest.mark.parametrize(
    ("question", "error", "words"),
    [
        (lambda: GroupAudit("hired", ()), ParameterError, "protected columns"),
        (lambda: GroupAudit("hired", ("hired",)), ParameterError, "each column once"),
        (lambda: GroupAudit("hired", "sex", intersections=9), ParameterError, "intersections"),
        (lambda: GroupAudit("hired", "sex", favourable="perhaps"), ParameterError, "no value 'perhaps'"),
        (lambda: GroupAudit("hired", "gender"), SchemaError, "gender"),
        (lambda: GroupAudit("hired", "age"), DomainTooLarge, "bins"),
    ],
)
def test_what_cannot_be_audited_says_what_to_write(question, error, words):
    schema = Schema({**dict(described().columns), "age": integers(0, 99_999)})
    rows = {**applicants(), "age": np.arange(PEOPLE)}
    with curate(pa.table(rows), schema, Pure(1)) as curator, pytest.raises(error, match=words):
        curator.ask(question(), Pure(1))
