"""The threshold oracle: one draw a query, a hard cap, and answers that are right where the theorem says so."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sfumato import ADD_REMOVE, Approximate, Concentrated, Noise, Pure, Truncated
from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.papers.query_release.learning.oracle import OracleSession, canonical_name, threshold_oracle


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
        threshold_oracle(Pure(1), 2, people=100), lambda query: seen.append(query) or 50, Noise(insecure_seed=2)
    )
    for query in ("a", "b", "c", "a"):
        session.ask(query, 0.5)
    assert seen == ["a", "b"]
    assert session.ask("c", 0.5).share is None and session.ask("a", 0.1).share is not None


def test_a_query_that_fails_still_pays() -> None:
    session = OracleSession(threshold_oracle(Pure(1), 1, people=100), lambda query: 1 // 0, Noise(insecure_seed=2))
    verdict = session.ask("a", 0.5)
    assert session.left == 0 and verdict.share is not None
    session = OracleSession(
        threshold_oracle(Pure(9), 1, people=100), lambda query: float("nan"), Noise(insecure_seed=2)
    )
    assert abs(session.ask("a", 0.5).share or 0) < 0.1


def test_spellings_of_one_query_share_their_slot() -> None:
    session = OracleSession(threshold_oracle(Pure(1), 5, people=100), lambda query: 50, Noise(insecure_seed=2))
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
    oracle = threshold_oracle(spend, 20, people=100, move=2, relation=ADD_REMOVE)
    assert oracle.loss().within(spend)
    json.dumps(oracle.event().to_json())


def test_bad_input_is_refused_with_a_sentence() -> None:
    with pytest.raises(ParameterError, match="slots"):
        threshold_oracle(Pure(1), 0, people=10)
    with pytest.raises(ParameterError, match="tolerance"):
        threshold_oracle(Pure(1), 1, people=10, tolerance=0)
    with pytest.raises(UnsupportedSpend):
        threshold_oracle(Pure(0), 1, people=10)
    session = OracleSession(threshold_oracle(Pure(1), 1, people=10), lambda query: 5)
    with pytest.raises(ParameterError, match="threshold"):
        session.ask("a", 2)
    with pytest.raises(ParameterError, match="query"):
        session.ask(object(), 0.5)
