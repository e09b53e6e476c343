"""Calibration, planner, support and learner: the numbers of the spec."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato import Approximate, Concentrated, Noise, Pure, errors
from sfumato.model import Factored
from sfumato.noise import DiscreteLaplace
from sfumato.questions.conversation import (
    ApproximateChecking,
    Box,
    ConversationPlan,
    Guesses,
    Weighted,
    pay_as_you_go,
    plan_conversation,
)
from sfumato.questions.conversation.calibration import certain_borderline, kappa_of
from sfumato.questions.conversation.guesses import checking_from_json
from sfumato.questions.conversation.learner import Learner
from sfumato.questions.conversation.tables import QuickSums, Sums, quick_counts, summed
from sfumato.workload.records import Records
from sfumato.workload.space import Space
from tests.questions.conversation.people import space


@pytest.mark.parametrize(
    ("people", "cells", "queries", "approximate", "pure", "laplace"),
    [
        (1841, 64, 42, 0.91, 0.71, 0.154),
        (21574, 2**16, 697, 0.34, 0.45, 0.31),
        (10**5, 2**16, 10**5, 0.19, 0.30, None),
        (10**6, 2**16, 10**6, 0.063, 0.145, None),
    ],
)
def test_planner_reaches_the_errors_of_the_spec(
    people: int, cells: int, queries: int, approximate: float, pure: float, laplace: float | None
) -> None:
    first = plan_conversation(Approximate(1, 1e-6), people, cells, queries, method="approximate")
    second = plan_conversation(Pure(1), people, cells, queries)
    assert first.error == pytest.approx(approximate, rel=0.03)
    assert second.error == pytest.approx(pure, rel=0.03)
    assert first.checking.loss().within(Approximate(1, 1e-6)) and second.checking.loss().within(Pure(1))
    if laplace is not None:
        assert second.direct == pytest.approx(laplace, rel=0.01) and second.verdict == "answer"
    else:
        assert second.direct > 1 and second.verdict == "converse"


def test_planner_knows_when_to_advise_something_else() -> None:
    few = plan_conversation(Approximate(1, 1e-6), 1841, 64, 42)
    assert few.verdict == "answer" and "curator.answer" in few.advice
    hopeless = plan_conversation(Pure(0.01), 500, 2**16, 10**6)
    assert hopeless.verdict == "synthesize" and "curator.synthesize" in hopeless.advice
    fine = plan_conversation(Approximate(1, 1e-6), 10**6, 2**16, 10**7, practical=True)
    assert fine.verdict == "converse" and "errs by" in fine.advice


def test_error_falls_with_the_root_of_the_number_of_people() -> None:
    sizes = [10**5, 10**6, 10**7, 10**8]
    errors_ = [plan_conversation(Approximate(1, 1e-6), n, 2**16, 10**5, method="approximate").error for n in sizes]
    slope = np.polyfit(np.log(sizes), np.log(errors_), 1)[0]
    assert -0.6 <= slope <= -0.4
    cubes = [plan_conversation(Pure(1), n, 2**16, 10**5).error for n in sizes]
    assert -0.4 <= np.polyfit(np.log(sizes), np.log(cubes), 1)[0] <= -0.27


def test_practical_plans_err_less_at_the_same_promise() -> None:
    for spend in (Approximate(1, 1e-6), Pure(1), Concentrated(0.1)):
        worst = plan_conversation(spend, 10**5, 2**16, 10**5)
        practical = plan_conversation(spend, 10**5, 2**16, 10**5, practical=True)
        assert practical.error < worst.error / 2 and practical.updates < worst.updates
        assert practical.checking.loss().within(spend)


def test_calibration_is_that_of_the_spec_and_sharp() -> None:
    assert abs(pay_as_you_go(Approximate(1, 1e-6), 10).scale - 66) <= 1
    assert abs(pay_as_you_go(Approximate(1, 1e-6), 200).scale - 197) <= 1
    for updates, epsilon in itertools.product((1, 10, 300), ("1/10", 1, 4)):
        spend = Approximate(epsilon, 1e-6)
        paid = pay_as_you_go(spend, updates)
        assert paid.core().within(spend)
        assert paid.scale <= 3 or not _smaller(paid, spend)
    assert [round(float(kappa_of(n, 1)), 4) for n in (50, 10)] == [0.0318, 0.1632]
    assert pay_as_you_go(Approximate(1, 1e-6), 10, sensitivity=3).scale == pytest.approx(3 * 65, abs=3)


def _smaller(paid: object, spend: Approximate) -> bool:
    from dataclasses import replace

    less = replace(paid, scale=paid.scale - 1, kappa=kappa_of(paid.scale - 1, 1))  # type: ignore[type-var,attr-defined]
    return less.core().within(spend)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("updates", "miss"), [(1, 0.005), (3, 0.005), (40, 1e-9)])
def test_borderline_guesses_are_counted_exactly(updates: int, miss: float) -> None:
    count = certain_borderline(updates, Fraction(miss))

    def too_few(size: int) -> float:
        chance = math.exp(-1)
        return sum(math.comb(size, j) * chance**j * (1 - chance) ** (size - j) for j in range(updates))

    assert too_few(count) <= miss < too_few(count - 1)


def test_kappa_is_attained_by_the_discrete_law() -> None:
    # A borderline guess whose noise grows towards the threshold loses its heaviest step.
    scale, law = 7, DiscreteLaplace(7)
    masses = [float(law.mass(j).mid()) for j in range(-400, 0)]
    inside = masses[-50 : -50 + scale]
    ratio = math.log(sum(inside) / sum(inside[:-1]))
    assert ratio == pytest.approx(float(kappa_of(scale, 1)), abs=1e-9)
    tail = [float(law.mass(j).mid()) for j in range(30, 900)]
    assert sum(tail[scale:]) / sum(tail) == pytest.approx(math.exp(-1), abs=1e-9)


@pytest.mark.parametrize("runs", [8, pytest.param(200, marks=pytest.mark.audit)])
def test_adaptive_worst_queries_stay_within_the_bound(runs: int) -> None:
    """QR-PMW test (b): each query is the one the model was worst at, among 200."""
    one = space(64)
    noise = Noise(insecure_seed=8)
    counts = np.bincount(np.minimum(noise.uniform(64, 10**6), noise.uniform(64, 10**6)), minlength=64)
    records = Records(one, np.arange(64)[:, None], counts.astype(np.int64))
    plan = plan_conversation(Approximate(1, 1e-6), 10**6, 64, 10**4, method="approximate")
    queries: list[Box | Weighted] = [Weighted.of(["c0"], noise.uniform(2, 64)) for _ in range(200)]
    exact = QuickSums(one, records.table).of(queries)
    good = sum(_worst_run(plan, one, queries, exact, seed) for seed in range(runs))
    assert good >= 0.95 * runs


def _worst_run(plan: ConversationPlan, one: Space, queries: list[Box | Weighted], exact: np.ndarray, seed: int) -> bool:
    noise = Noise(insecure_seed=seed)
    learner = Learner(Factored.uniform(one, plan.people), plan.gain / plan.people, plan.learning_margin / plan.people)
    state = plan.checking.start(noise)
    for _ in range(60):
        expected = learner.expect(queries)
        worst = int(np.abs(expected - exact / plan.people).argmax())
        guess = round(float(expected[worst]) * plan.people)
        state, checked, changed_ = plan.checking.step(state, Guesses((int(exact[worst]),), (guess,)), noise)
        told = guess if checked.answer is None else checked.answer
        if abs(told - exact[worst]) > plan.error * plan.people:
            return False
        if changed_ and checked.answer is not None:
            learner.learn(queries[worst], checked.answer / plan.people)
        elif abs(guess - exact[worst]) <= plan.gain:
            break
    return state["left"] > 0


def test_tilting_falls_as_the_potential_says() -> None:
    """QR:C-15: RE(x*|x) - RE(x*|x') >= eta·d - eta²/8 for queries in [0, 1]."""
    noise = Noise(insecure_seed=4)
    draws = noise.uniform(1000, 300 * 36).reshape(300, 3, 12) + 1
    for truth, model, query in draws:
        p, q, f = truth / truth.sum(), model / model.sum(), query / 1001
        d = float(f @ (p - q))
        eta = 4 * d
        tilted = q * np.exp(eta * f)
        tilted /= tilted.sum()
        drop = float((p * np.log(tilted / q)).sum())
        assert drop >= eta * d - eta**2 / 8 - 1e-12


def test_checking_round_trips_and_refuses() -> None:
    for spend in (Approximate(1, 1e-6), Pure(1)):
        checking = plan_conversation(spend, 10**5, 2**10, 100).checking
        assert checking_from_json(checking.to_json(), checking.reads) == checking
    with pytest.raises(errors.ParameterError, match="twice"):
        ApproximateChecking(updates=1, threshold=9, scale=5, delta=Fraction(1, 100), miss=Fraction(1, 200))
    with pytest.raises(errors.UnsupportedSpend):
        pay_as_you_go(Pure(1), 3)  # type: ignore[arg-type]
    with pytest.raises(errors.ParameterError):
        plan_conversation(Pure(1), 100, 10, 10, surprise=float("nan"))


def test_kept_sums_are_those_of_the_whole_table() -> None:
    noise = Noise(insecure_seed=7)
    shape = (2, 3, 2, 5, 2, 7, 2, 2, 3)
    table = noise.uniform(100, math.prod(shape)).reshape(shape)
    sums = Sums(table)
    for kept in itertools.combinations(range(9), 3):
        other = tuple(axis for axis in range(9) if axis not in kept)
        assert (sums.over(kept) == table.sum(axis=other)).all()
    bits = space(*(2,) * 12)
    records = Records.from_rows(bits, noise.uniform(2, 12 * 500).reshape(500, 12))
    counts = quick_counts(bits, records.table)
    for names in (("c11", "c0", "c5"), ("c3",), (), bits.names[::-1]):
        assert (counts(names) == records.table(names)).all()


def test_sums_over_blocks_of_axes_and_boxes_are_exact() -> None:
    noise = Noise(insecure_seed=6)
    shape = (2, 3, 2, 5, 2)
    table = noise.uniform(100, math.prod(shape)).reshape(shape)
    for kept in ([], [0], [1, 3], [0, 2, 4], [0, 1, 2, 3, 4]):
        other = tuple(axis for axis in range(5) if axis not in kept)
        assert (summed(table, kept) == table.sum(axis=other)).all()
    five = space(*shape)
    rows = np.stack(np.unravel_index(np.repeat(np.arange(table.size), table.ravel()), shape), axis=1)
    answers = QuickSums(five, Records.from_rows(five, rows).table)
    boxes = [
        Box(("c1", "c3"), (0, 1), (2, 4)),
        Box(("c0",), (1,), (2,)),
        Box(),
        Box(tuple(five.names), (0,) * 5, shape),
    ]
    found = answers.of(boxes)
    assert found.tolist() == [int(table[:, 0:2, :, 1:4].sum()), int(table[1].sum()), int(table.sum()), int(table.sum())]
    assert answers.of([Weighted.of(["c3"], [0, 1, 2, 3, 4])])[0] == (table * np.arange(5)[:, None]).sum()
