"""Groups that nobody can list: found among people with one row each, within a spend that has a delta."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato import ADD_REMOVE, Approximate, Pure
from sfumato.domain import integers, text
from sfumato.errors import ParameterError, UnsupportedSpend

SPEND = Approximate(8, 1e-6)
DATABASE = sf.Database(
    {
        "people": sf.Schema({"town": text(max_bytes=8), "age": integers(0, 9)}, person="id", row_key=()),
        "visits": sf.Schema({"note": text(max_bytes=3), "cost": integers(0, 9)}, person="id", rows_per_person=2),
    },
    population="people",
)


def sources(people: int = 120) -> dict[str, pa.Table]:
    towns = ["Ayr", "Bath", None]
    rows = range(people)
    return {
        "people": pa.table(
            {
                "id": list(rows),
                "town": [f"only {one}" if one < 3 else towns[one % 3] for one in rows],
                "age": [9] * people,
            }
        ),
        "visits": pa.table({"id": list(rows), "note": ["x"] * people, "cost": [5] * people}),
    }


@pytest.fixture
def curator() -> Any:
    with sf.curate(sources(), DATABASE, Approximate(100, 1e-3)) as found:
        yield found


def test_towns_of_many_are_found_and_towns_of_one_are_not(curator: Any) -> None:
    answer = curator.sql("SELECT town, COUNT(*) AS n, SUM(age) AS s FROM people GROUP BY town ORDER BY n", spend=SPEND)
    assert set(answer.frame["town"]) == {"Ayr", "Bath", None}
    assert all(25 < n < 55 for n in answer.frame["n"]) and all(200 < s < 520 for s in answer.frame["s"])
    assert set(answer.loss.profile.names()) == {"people.town", "people.age"} and answer.loss.person.leak > 0
    ends = answer.interval(0.9)
    assert all(
        low <= n <= high for low, n, high in zip(ends["n, low"], answer.frame["n"], ends["n, high"], strict=True)
    )


def test_explain_says_from_where_on_groups_are_found(curator: Any) -> None:
    asked = "SELECT town, COUNT(*) AS n, SUM(age) AS s FROM people GROUP BY town"
    told = curator.explain(asked, spend=Approximate(1, 1e-6))
    assert set(told.noise) == {"count", "sum of people.age"} and all(told.noise.values())
    assert any(rule.startswith("Groups are found whose number of people") for rule in told.rules)


def test_conditions_decide_who_is_in_a_group_and_are_charged(curator: Any) -> None:
    per = "WITH p AS (SELECT id, MAX(cost) AS most FROM visits WHERE note = 'x' GROUP BY id) "
    asked = per + "SELECT town, COUNT(*) AS n FROM people JOIN p ON p.id = people.id WHERE age > 3 GROUP BY town"
    loss = curator.sql(asked, spend=SPEND).loss
    assert set(loss.profile.names()) == {"people.town", "people.age", "visits.note"}


def test_nothing_found_is_an_empty_table(curator: Any) -> None:
    empty = curator.sql(
        "SELECT town, COUNT(*) AS n, AVG(age) AS a FROM people WHERE age < 3 GROUP BY town HAVING n > 3 ORDER BY a, town",
        spend=Approximate("1/100", 1e-9),
    )
    assert empty.frame.rows() == []
    outer = "SELECT COUNT(*) AS groups FROM (SELECT town, COUNT(*) AS n FROM people WHERE age < 3 GROUP BY town) AS t"
    assert curator.sql(outer, spend=Approximate("1/100", 1e-9)).frame.rows() == [(0,)]


def test_what_cannot_be_found_is_refused_before_anything_is_paid(curator: Any) -> None:
    before = curator.remaining()
    for asked, spend, kind, said in (
        ("SELECT town, COUNT(*) FROM people GROUP BY town", Pure(1), UnsupportedSpend, "need a delta"),
        ("SELECT note, COUNT(*) FROM visits GROUP BY note", SPEND, ParameterError, "one row each"),
        ("SELECT town, COUNT(*) FROM visits JOIN people ON people.id = visits.id GROUP BY town", SPEND, ParameterError,
         "one row each"),
        ("SELECT town, COUNT(DISTINCT id) FROM people GROUP BY town", SPEND, ParameterError, "COUNT(*) for people"),
        ("SELECT town, SUM(age, contribution_bounds_per_group => (0, 3)) FROM people GROUP BY town", SPEND, ParameterError,
         "no bounds"),
    ):  # fmt: skip
        with pytest.raises(kind) as refused:
            curator.sql(asked, spend=spend)
        assert said in str(refused.value)
    assert curator.remaining() == before


def test_an_attribute_is_a_replacement_where_people_come_and_go() -> None:
    with sf.curate(sources(), DATABASE, Approximate(100, 1e-3), relation=ADD_REMOVE) as curator:
        loss = curator.sql("SELECT town, COUNT(*) FROM people GROUP BY town", spend=SPEND).loss
        assert loss.at("people.town").epsilon > loss.person.epsilon
