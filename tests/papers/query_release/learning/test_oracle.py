"""The threshold oracle: one draw a query, a hard cap, and answers that are right where the theorem says so."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest

from sfumato import (
    ADD_REMOVE,
    Approximate,
    Concentrated,
    Noise,
    Pure,
    Schema,
    Truncated,
    booleans,
    curate,
)
from sfumato.errors import AccuracyWarning, BudgetExceeded, ParameterError, UnsupportedSpend
from sfumato.papers.query_release.learning.oracle import OracleSession, canonical_name, threshold_oracle
from sfumato.papers.query_release.learning.table_oracle import open_oracle


class Counting(Noise):
    """Counts draws."""

    def __init__(self) -> None:
        super().__init__(insecure_seed=1)
        self.drawn = 0

    def draw(self, law: Any, size: Any = None) -> Any:
        self.drawn += 1
        return super().draw(law, size)


def test_fifty_thresholds_of_one_query_are_one_draw() -> None:
    noise = Counting()
    session = OracleSession(threshold_oracle(Pure(1), 2, people=1000), lambda query: 300, noise)
    found = [session.ask("a", Fraction(place, 50)) for place in range(50)]
    assert noise.drawn == 1 and session.left == 1
    assert len({verdict.share for verdict in found}) == 1
    assert [verdict.above for verdict in found] == sorted(
        (v.above for v in found), key=lambda one: {True: 0, None: 1, False: 2}[one]
    )


def test_after_the_last_slot_new_queries_get_nothing_and_old_ones_go_on() -> None:
    seen = []
    session = OracleSession(
        threshold_oracle(Pure(1), 2, people=1000), lambda query: seen.append(query) or 500, Noise(insecure_seed=2)
    )
    for query in ("a", "b", "c", "a"):
        session.ask(query, 0.5)
    assert seen == ["a", "b"]
    assert session.ask("c", 0.5).share is None and session.ask("a", 0.1).share is not None


def test_a_query_that_fails_still_pays() -> None:
    session = OracleSession(threshold_oracle(Pure(1), 1, people=1000), lambda query: 1 // 0, Noise(insecure_seed=2))
    verdict = session.ask("a", 0.5)
    assert session.left == 0 and verdict.share is not None
    session = OracleSession(
        threshold_oracle(Pure(9), 1, people=100), lambda query: float("nan"), Noise(insecure_seed=2)
    )
    assert abs(session.ask("a", 0.5).share or 0) < 0.1


def test_spellings_of_one_query_share_their_slot() -> None:
    session = OracleSession(threshold_oracle(Pure(1), 5, people=5000), lambda query: 2500, Noise(insecure_seed=2))
    for query in (["b", "a"], ("a", "b", "a"), {"a", "b"}, frozenset(("b", "a"))):
        session.ask(query, 0.5)
    assert session.left == 4
    assert canonical_name(np.array([True, False, True])) == canonical_name([0, 2]) == canonical_name(np.array([2, 0]))
    assert json.loads(json.dumps(session.state)) == session.state


def test_clear_answers_are_right_at_the_size_of_the_lemma() -> None:
    slots, failure, tolerance = 50, 0.01, 0.1
    people = math.ceil(3 * slots * math.log(slots / failure) / tolerance)
    oracle = threshold_oracle(Pure(1), slots, people=people, tolerance=tolerance)
    counts = [people * place // slots for place in range(slots)]
    for seed in range(5):
        session = OracleSession(oracle, lambda place: counts[place], Noise(insecure_seed=seed))
        for place in range(slots):
            for threshold in (0.2, 0.5, 0.8):
                verdict = session.ask(place, threshold).above
                gap = counts[place] / people - threshold
                assert verdict is None or verdict == (gap >= 0)
                assert verdict is not None or abs(gap) < tolerance


@pytest.mark.parametrize("spend", [Pure(1), Concentrated("0.1"), Truncated("0.1", 20), Approximate(1, 1e-6)])
def test_every_spend_fits(spend: Any) -> None:
    oracle = threshold_oracle(spend, 20, people=100_000, move=2, relation=ADD_REMOVE)
    assert oracle.loss().within(spend)
    json.dumps(oracle.event().to_json())


def test_bad_input_is_refused_with_a_sentence() -> None:
    with pytest.raises(ParameterError, match="slots"):
        threshold_oracle(Pure(1), 0, people=10)
    with pytest.raises(ParameterError, match="tolerance"):
        threshold_oracle(Pure(1), 1, people=10, tolerance=0)
    with pytest.raises(UnsupportedSpend):
        threshold_oracle(Pure(0), 1, people=10)
    session = OracleSession(threshold_oracle(Pure(1), 1, people=1000), lambda query: 500)
    with pytest.raises(ParameterError, match="threshold"):
        session.ask("a", 2)
    with pytest.raises(ParameterError, match="query"):
        session.ask(object(), 0.5)


def test_it_says_how_many_people_the_theorem_needs() -> None:
    with pytest.warns(AccuracyWarning, match="needs 180 people, and there are 179"):
        threshold_oracle(Pure(1), 1, people=179)
    oracle = threshold_oracle(Pure(1), 1, people=180)
    assert oracle.people_needed() == 180 < oracle.people_needed(failure=0.001)


HABITS = pyarrow.table({"smokes": [True, False] * 2000, "drinks": [True, True, True, False] * 1000})
SCHEMA = Schema({"smokes": booleans(), "drinks": booleans()})


def test_an_oracle_over_a_table_books_every_distinct_condition() -> None:
    with curate(HABITS, SCHEMA, Pure(1)) as curator:
        oracle = open_oracle(curator, Pure(1), slots=4)
        assert not curator.ledger.spent().sums[1]
        assert oracle.ask("drinks = true AND smokes = true", 0.25).left == 3
        for level in (0.1, 0.9):
            verdict = oracle.ask("smokes = true AND drinks = true", level)
            assert verdict.above is (level == 0.1) and verdict.left == 3
        assert curator.ledger.spent().sums[1] == Fraction(1, 4)


def test_what_the_ledger_holds_is_free_in_another_session() -> None:
    with curate(HABITS, SCHEMA, Pure(1)) as curator:
        first = open_oracle(curator, Pure(1), slots=2).ask("smokes = true", 0.2)
        again = open_oracle(curator, Pure(1), slots=2)
        second = again.ask("smokes = true", 0.2)
        assert second.share == first.share and again.left == 2
        assert curator.ledger.spent().sums[1] == Fraction(1, 2)


def test_after_the_last_slot_and_without_a_budget_nothing_is_read() -> None:
    with curate(HABITS, SCHEMA, Pure("1/2")) as curator:
        oracle = open_oracle(curator, Pure("1/2"), slots=1)
        oracle.ask("smokes = true", 0.2)
        assert oracle.ask("drinks = true", 0.2).share is None and oracle.ask("smokes = true", 0.9).above is False
        with pytest.raises(BudgetExceeded):
            open_oracle(curator, Pure(1), slots=1).ask("drinks = true", 0.2)
        with pytest.raises(ParameterError, match="threshold"):
            oracle.ask("smokes = true", 2)


def test_a_private_number_of_people_is_paid_for() -> None:
    with curate(HABITS, SCHEMA, Pure(1), relation=ADD_REMOVE) as curator:
        oracle = open_oracle(curator, Pure(1), slots=4)
        assert curator.ledger.spent().sums[1] == Fraction(1, 5)
        assert oracle.ask("drinks = true", 0.5).above is True
        assert curator.ledger.spent().sums[1] == Fraction(2, 5)


def test_few_people_are_said_before_anything_is_spent() -> None:
    with curate(HABITS, SCHEMA, Pure(1)) as curator:
        with pytest.warns(AccuracyWarning, match="there are 4000"):
            open_oracle(curator, Pure(1), slots=40)
        assert not curator.ledger.history()
