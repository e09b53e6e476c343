"""Groups that nobody can list: found among people with one row each, within a spend that has a delta."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato import ADD_REMOVE, Approximate, Pure
from sfumato.domain import integers, text
from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.sql.select import Select
from sfumato.table.gauge import Basis
from sfumato.table.own import open_database

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


FIRST = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = {}) note, "
BOUND = "contribution_bounds_per_group =>"


def events(people: int = 90) -> dict[str, pa.Table]:
    """Return people with two visits: one kind of their own, and one of two that many have."""
    notes = [(one, note, 5) for one in range(people) for note in ("ab"[one % 2], f"z{one}")]
    visits = pa.table(
        {"id": [a for a, _, _ in notes], "note": [b for _, b, _ in notes], "cost": [c for *_, c in notes]}
    )
    return {**sources(people), "visits": visits}


def test_groups_of_events_are_found_by_their_people() -> None:
    with sf.curate(events(), DATABASE, Approximate(1000, 1e-3)) as curator:
        asked = (
            f"{FIRST.format(2)}COUNT(DISTINCT id) AS n, SUM(cost, {BOUND} (0, 5)) AS s, COUNT(*, {BOUND} (0, 1)) AS m "
        )
        answer = curator.sql(asked + "FROM visits GROUP BY note ORDER BY note", spend=Approximate(60, 1e-5))
        assert answer.frame["note"] == ("a", "b")
        assert all(abs(n - 45) < 9 and abs(m - 45) < 9 and abs(s - 225) < 45 for _, n, s, m in _rows(answer, "nsm"))
        assert set(answer.loss.profile.names()) == {"visits.note", "visits.cost"} and answer.loss.person.leak > 0
        told = curator.explain(asked + "FROM visits GROUP BY note", spend=Approximate(60, 1e-5))
        assert len(told.noise) == 3 and any(rule.startswith("Groups are found") for rule in told.rules)
        # By a key of the person everybody is in one group, and nothing needs to be limited.
        towns = f"SELECT town, SUM(cost, {BOUND} (0, 5)) AS s FROM visits JOIN people ON people.id = visits.id GROUP BY town"
        assert {"Ayr", "Bath", None} == set(curator.sql(towns, spend=Approximate(60, 1e-5)).frame["town"])


def _rows(answer: Any, names: str) -> list[tuple[Any, ...]]:
    return list(zip(answer.frame["note"], *(answer.frame[name] for name in names), strict=True))


def test_texts_that_become_one_when_they_are_cut_are_within_what_is_claimed() -> None:
    """Three characters of two bytes each are cut to one: a person is then in one group twice."""
    visits = pa.table({"id": [7, 7], "note": ["éa", "éb"], "cost": [9, 9]})
    with open_database({**sources(9), "visits": visits}, DATABASE) as opened:
        statement = f"{FIRST.format(2)}SUM(cost, {BOUND} (0, 9)) FROM visits GROUP BY note"
        note = text(max_bytes=2)
        narrow = replace(
            DATABASE,
            tables={
                **DATABASE.tables,
                "visits": replace(DATABASE.tables["visits"], columns={"note": note, "cost": integers(0, 9)}),
            },
        )
        with open_database({**sources(9), "visits": visits}, narrow) as cut:
            prepared = Select(statement).canonical(cut.database).prepare(Basis(cut.database, 9), SPEND)
            ((people, total),) = prepared.gauge.read(cut).values()
            (box,) = prepared.gauge.measure.boxes
            claim = prepared.gauge.sensitivity(box)
            assert (people, total) == (2, 18) and claim.largest >= 18 and claim.l2_squared >= 18**2
            assert prepared.mechanism.counts.rows == 2
        assert (
            len(
                Select(statement)
                .canonical(opened.database)
                .prepare(Basis(opened.database, 9), SPEND)
                .gauge.read(opened)
            )
            == 2
        )


def test_groups_of_events_without_a_limit_are_refused(curator: Any) -> None:
    before = curator.remaining()
    for asked, said in (
        ("SELECT note, COUNT(DISTINCT id) FROM visits GROUP BY note", "max_groups_contributed = 3"),
        (f"{FIRST.format(2)}SUM(cost) FROM visits GROUP BY note", "numbers with bounds"),
    ):
        with pytest.raises(ParameterError) as refused:
            curator.sql(asked, spend=SPEND)
        assert said in str(refused.value)
    with pytest.raises(UnsupportedSpend):
        curator.sql(f"{FIRST.format(1)}COUNT(DISTINCT id) FROM visits GROUP BY note", spend=Pure(1))
    assert curator.remaining() == before


def test_an_attribute_is_a_replacement_where_people_come_and_go() -> None:
    with sf.curate(sources(), DATABASE, Approximate(100, 1e-3), relation=ADD_REMOVE) as curator:
        loss = curator.sql("SELECT town, COUNT(*) FROM people GROUP BY town", spend=SPEND).loss
        assert loss.at("people.town").epsilon > loss.person.epsilon
