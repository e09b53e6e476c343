"""Scores of every shape come to one form, in an order that carries no data, in time that the domain does not set."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import select
from sfumato.errors import ParameterError
from sfumato.select.candidates import normalise, normalise_listed

small = st.lists(st.integers(-5, 5), min_size=1, max_size=12)


@given(small)
def test_all_shapes_have_one_form(scores: list[int]) -> None:
    forms = [
        normalise(scores),
        normalise(np.array(scores)),
        normalise(dict(enumerate(scores))),
        normalise(select.StepFunction(range(len(scores)), scores, end=len(scores))),
    ]
    for form in forms:
        assert form.size == len(scores)
        assert sum(count for _, count in form.levels) == len(scores)
        assert [value for value, _ in form.levels] == sorted(set(scores), reverse=True)
        assert list(form.ranked()) == sorted(
            ((v, i) for i, v in enumerate(scores)), key=lambda item: (-item[0], item[1])
        )
        best = max(scores)
        rest = sorted(scores)[-2] if len(scores) > 1 else best
        assert form.winner == (scores.index(best), best - rest)
        members = [form.member(value, rank) for value, count in form.levels for rank in range(count)]
        assert sorted(members) == list(range(len(scores)))
        assert all(scores[place] == value for value, place in form.ranked())


@given(st.dictionaries(st.integers(0, 30), st.integers(-3, 3), max_size=8), st.integers(-2, 2))
def test_sparse_lists_what_differs(listed: dict[int, int], default: int) -> None:
    score = select.sparse(listed, end=31, default=default)
    assert [score(place) for place in range(31)] == [listed.get(place, default) for place in range(31)]


def test_the_order_of_a_mapping_is_not_its_insertion_order() -> None:
    one = {"walk": 1, "bus": 1, "tram": 1}
    other = dict(reversed(one.items()))
    assert normalise(one).names == normalise(other).names == ("bus", "tram", "walk")
    assert normalise({2: 0, "a": 0, (1, "b"): 0, b"x": 0}).names == (b"x", 2, "a", (1, "b"))


def test_huge_domains_cost_nothing() -> None:
    score = select.sparse({2**200: 7, 5: 3}, end=2**256)
    form = normalise(score)
    assert form.winner == (2**200, 4)
    assert form.levels == [(7, 1), (3, 1), (0, 2**256 - 2)]
    assert form.member(0, 2**255) == 2**255 + 2
    assert form.name(form.member(0, 5)) == 6


def test_a_step_function_may_start_anywhere() -> None:
    score = select.StepFunction([-10, 0], [1, 2], end=5)
    assert (score.size, score(-10), score(4), normalise(score).name(0)) == (15, 1, 2, -10)


def test_unsigned_and_numpy_scores_are_exact() -> None:
    top = np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64)
    assert normalise(top).winner == (0, 1)
    assert normalise({"a": np.int64(3)}).levels == [(3, 1)]


def test_listed_scores_take_any_key() -> None:
    assert normalise_listed({}) is None
    form = normalise_listed({frozenset("a"): 2, None: 1})
    assert form is not None
    assert form.names == (frozenset("a"), None)


@pytest.mark.parametrize(
    "scores",
    [
        [],
        {},
        np.array([], dtype=np.int64),
        np.array([1.0, 2.0]),
        np.array([True, False]),
        np.array([[1, 2]]),
        [1.5, 2],
        [float("nan"), 1],
        [True, False],
        {"a": 1.0},
        {"a": float("inf")},
        {1.5: 3},
        "scores",
        7,
        None,
        select.Unbounded({"a": 1}),
    ],
)
def test_bad_scores_are_refused_in_a_sentence(scores: object) -> None:
    with pytest.raises(ParameterError) as refusal:
        normalise(scores)
    assert str(refusal.value).endswith((".", ")."))


def test_floats_are_told_to_quantise_by_floor() -> None:
    with pytest.raises(ParameterError, match="floor"):
        normalise(np.array([0.5]))
    with pytest.raises(ParameterError, match="floor"):
        normalise([0.5])


@pytest.mark.parametrize(
    ("starts", "values", "end"),
    [([], [], 3), ([0], [1, 2], 3), ([0, 0], [1, 2], 3), ([0, 3], [1, 2], 3), ([2, 1], [1, 2], 3), ([0.0], [1], 3)],
)
def test_bad_steps_are_refused(starts: list[int], values: list[int], end: int) -> None:
    with pytest.raises(ParameterError):
        select.StepFunction(starts, values, end)


def test_bad_sparse_scores_are_refused() -> None:
    for listed, end in (({"a": 1}, 5), ({}, 0)):
        with pytest.raises(ParameterError):
            select.sparse(listed, end)
    with pytest.raises(ParameterError, match="outside"):
        select.sparse({}, 5)(5)


def test_listed_keys_outside_of_the_domain_are_no_candidates() -> None:
    assert select.sparse({5: 1, -1: 7, 2: 3}, 5) == select.sparse({2: 3}, 5)
