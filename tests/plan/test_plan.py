"""The planner: every number of the specification, monotone, consistent with the floors, and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from sfumato import Approximate, Concentrated, Pure, Truncated, bounds, learn, plan
from sfumato.errors import ParameterError, SfumatoError
from sfumato.plan.rates import solver_losses, stable_gap
from sfumato.select.quasiconcave.requirement import covering_requirement
from tests.imputed import booleans, integers

LEAKY = Approximate(1, 1e-6)


def needed(task, spend=LEAKY, accuracy=0.1):
    return {one.method: one for one in plan.sample_size(task, spend=spend, accuracy=accuracy).methods}


def test_the_crossover_table_of_the_specification():
    table = {
        16: (28, 462, 5870, 248),
        32: (50, 504, 6033, 256),
        64: (95, 548, 6171, 263),
        128: (183, 591, 6291, 271),
        256: (361, 636, 6396, 278),
        1024: (1426, 724, 6576, 292),
        65536: (90858, 990, 6966, 332),
    }
    for bits, (exponential, covers, deep, windows) in table.items():
        losses = solver_losses(LEAKY, 2**bits, 0.05)
        assert round(losses["exponential"]) == exponential
        assert losses["two-covers"] == pytest.approx(covers, abs=1)
        assert losses["shifted-windows"] == pytest.approx(windows, abs=2)
        assert covering_requirement(2**bits, 1 / 7, 1e-6 / 4, 0.05, 3) == pytest.approx(deep, rel=0.02)


def test_numbers_of_points():
    found = needed(plan.LearnPoint(64))
    assert found["stable"].people == 685
    assert round(found["stable"].printed) == 1456
    assert math.floor(found["exponential"].privacy) == 1922
    assert round(stable_gap(1, 1e-6, 0.05)) == 33


def test_points_cross_over_at_nineteen_bits():
    """The gap a stable choice needs against an exponential one: equal at e + ln(1/(4·delta)) = ln(candidates)."""
    assert plan.sample_size(plan.ChooseBest(2**19), spend=LEAKY, accuracy=0.1).best.method == "exponential"
    assert plan.sample_size(plan.ChooseBest(2**20), spend=LEAKY, accuracy=0.1).best.method == "stable"


def test_numbers_of_boxes_and_labels():
    """The specification shares a spend evenly with the count; the learner gives the count a quarter of a part."""
    for box, spend, method, printed in (
        (plan.LearnBox(2, 64), Pure(1), "exponential", 7.9e4),
        (plan.LearnBox(5, 64), Pure(1), "exponential", 4.4e5),
        (plan.LearnBox(2, 1024), LEAKY, "shifted-windows", 2.9e5),
    ):
        people = needed(box, spend)[method].privacy
        sides = 2 * box.dimensions
        assert people * (sides + 1) / (sides + 0.25) == pytest.approx(printed, rel=0.05)
    for dimension, people, printed in ((1, 8976, 1.28e6), (5, 30319, 3.26e6)):
        every, some = needed(plan.LearnLabels(dimension)).values()
        assert some.people == people
        assert some.printed == pytest.approx(printed, rel=0.01)
        assert every.people < people


def test_the_planner_says_what_the_learners_say():
    """One number for one thing: `needed` of a learner is the plan for its task."""
    key = integers(0, 2**64 - 1)
    for spend in (Pure(1), LEAKY, Concentrated("0.1")):
        goal = {"spend": spend, "accuracy": 0.1}
        pairs = [
            (plan.LearnPoint(64), learn.PrivatePoint(spend, key, (0, 1))),
            (plan.LearnThreshold(64), learn.PrivateThreshold(spend, key, (0, 1))),
            (
                plan.LearnFinite(3),
                learn.ExponentialLearner(["x0 > 3", "x0 > 4", "x0 > 5"], spend, integers(0, 9), (0, 1)),
            ),
        ]
        for task, learner in pairs:
            assert learner.needed(0.1, 0.05) == pytest.approx(plan.sample_size(task, **goal).people, rel=0.03)
        box = learn.PrivateBox(spend, key, (0, 1))
        assert box.needed(0.1, 0.05, features=2) == pytest.approx(
            plan.sample_size(plan.LearnBox(2, 64), **goal).people, rel=0.02
        )
        semi = learn.SemiPrivate("points", [[1]], spend, key, (0, 1))
        assert semi.needed(0.1, 0.05) <= plan.sample_size(plan.LearnLabels(1, pool=True), **goal).people * 1.01
        labels = learn.LabelPrivate("points", spend, integers(0, 2**64 - 1, public=True), (0, 1))
        assert labels.needed(0.1, 0.05) <= plan.sample_size(plan.LearnLabels(1), **goal).people
    robust = learn.RobustHalfspace(Pure(1).per_attribute(), booleans(), (0, 1), candidates=[[1] * 40, [-1] * 40])
    task = plan.LearnHalfspace(40, 2)
    assert robust.needed(0.1, 0.05, features=40) == pytest.approx(
        plan.sample_size(task, spend=Pure(1).per_attribute(), accuracy=0.1).people, rel=0.01
    )


def test_numbers_of_sanitizers():
    for accuracy, stability, rounds in ((0.1, 393, 7.7e5), (0.01, 4384, 3.0e7)):
        found = needed(plan.CountPoints(64), accuracy=accuracy)
        assert found["stability"].people == stability
        assert found["choosing in rounds"].people == pytest.approx(rounds, rel=0.02)
        assert found["choosing in rounds"].demonstrator
    for bits, printed in ((16, 1.4e13), (64, 1.5e14)):
        assert needed(plan.EstimateDistribution(bits))["as printed"].people == pytest.approx(printed, rel=0.02)
    totals = {16: 1113, 32: 1493, 64: 2254, 128: 3774, 256: 6816, 1024: 25068}
    for bits, records in totals.items():
        people = needed(plan.EstimateDistribution(bits), Pure(1), 0.05)["recursive medians"].privacy
        assert people * (0.05 - 1 / 64) == pytest.approx(records, abs=1)


def test_numbers_of_floors():
    assert bounds.sanitizer_people_pure(2**64, 1, 0.01, 0.05).value == 2316
    assert bounds.sanitizer_people_pure(2**16, 1, 0.01, 0.05).value == 652
    assert bounds.proper_learner_people_pure(64, 1, 0.01).value == 541
    assert bounds.proper_learner_people_pure(64, 1, 0.01, concept="threshold").value == 541
    assert bounds.proper_learner_people_pure(64, 1, 0.01, points=10).value > 541
    # The proof says nothing for coarse accuracies, few concepts, or failures of more than one half.
    assert bounds.proper_learner_people_pure(64, 1, 0.2).value == 0
    assert bounds.proper_learner_people_pure(4, 1, 0.01).value == 0
    assert bounds.proper_learner_people_pure(64, 1, 0.01, 0.6).value == 0
    # Randomized response on one record is good enough where log((K-1)(1-b)/b) <= epsilon: no floor may forbid it.
    assert bounds.sanitizer_people_pure(2, 3, 0.4, 0.05).value <= 1


def test_w_pack_holds_for_a_mechanism_that_meets_it():
    """An exponential choice among the packing's tables succeeds only from the floor on: the floor is no overclaim."""
    cells, epsilon, accuracy, failure = 8, 1.0, 0.1, 0.05
    floor = bounds.sanitizer_people_pure(cells, epsilon, accuracy, failure).value
    for people in range(1, int(floor)):
        copies = math.floor(2 * accuracy * people) + 1
        # The best that privacy allows: e^(copies·epsilon) odds for the true table against each of the others.
        success = 1 / (1 + (cells - 1) * math.exp(-copies * epsilon))
        assert success < 1 - failure


def test_floors_by_dimension_hold_for_the_failure_that_is_allowed():
    """W-VCSAN: randomized response of one record out of two errs by 0 except with probability 1/(1 + e^epsilon)."""
    for epsilon in ("0.1", 1, 3):
        lies = 1 / (1 + math.exp(float(epsilon)))
        assert bounds.sanitizer_people_by_dimension(2, epsilon, 1e-9, lies).value == 0
        assert bounds.sanitizer_people_by_dimension(2, epsilon, 1e-9, 0.99 * lies).value == 2
    # By the proved form: 0.1443 at epsilon 1/2 and failure 1/8, where print's 1/(4 + 16·epsilon) is 1/12.
    assert bounds.sanitizer_people_by_dimension(100, 0.5, 0.144, 0.125).value == 51
    assert bounds.sanitizer_people_by_dimension(100, 0.5, 0.1445, 0.125).value == 0

    def planned(bits, failure):
        found = plan.sample_size(plan.CountPoints(bits, 40), spend=Pure(1), accuracy=0.1, failure=failure)
        return {floor.spec: floor.people for floor in found.floors}

    assert planned(8, 0.05)["W-VCSAN"] == 21 and "W-VCSAN" not in planned(8, 0.3)
    # Sets of 40 out of four values are all sets: no more than four values can be shattered.
    assert planned(2, 0.05)["W-VCSAN"] == 3


def test_no_floor_of_proper_learners_is_stated_above_a_failure_of_one_half():
    for task in (plan.LearnPoint(64), plan.LearnThreshold(64)):
        for failure, floor in ((0.5, 541), (0.51, 0), (0.9, 0)):
            found = plan.sample_size(task, spend=Pure(1), accuracy=0.01, failure=failure)
            assert found.floor == floor, (task, failure)


TASKS = [
    plan.ChooseBest(2**20),
    plan.LearnPoint(32),
    plan.LearnThreshold(32),
    plan.LearnThreshold(32, realizable=False),
    plan.LearnBox(3, 32),
    plan.LearnFinite(10**6, vc_dimension=7),
    plan.LearnLabels(3),
    plan.LearnLabels(3, pool=True),
    plan.LearnHalfspace(40, 1000),
    plan.CountPoints(32),
    plan.CountPoints(32, largest=8),
    plan.EstimateDistribution(32),
    plan.EstimateQuantiles(32, 9),
]
SPENDS = [Pure(1), LEAKY, Concentrated("0.1"), Truncated("0.1", "2.24")]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_plans_are_monotone_and_above_their_floors(task):
    for spend in SPENDS:
        sizes = [plan.sample_size(task, spend=spend, accuracy=accuracy) for accuracy in (0.2, 0.1, 0.02)]
        assert [one.people for one in sizes] == sorted(one.people for one in sizes)
        for found in sizes:
            assert found.people > found.floor
            assert found.formula.startswith(("n >=", "accuracy·n >="))
            assert all(one.people >= found.people for one in found.methods if not one.demonstrator)
        assert sizes[1].table().rows and str(sizes[1]) and sizes[1]._repr_html_()


@pytest.mark.parametrize("task", TASKS[:4] + TASKS[9:], ids=lambda task: task.name)
def test_comparing_undoes_planning(task):
    for spend in SPENDS[:2]:
        found = plan.sample_size(task, spend=spend, accuracy=0.1)
        back = plan.compare(task, int(found.people), spend)
        assert back.best.accuracy == pytest.approx(0.1, rel=0.07)
        assert back.best.accuracy > back.impossible
        assert str(back) and back._repr_html_()


def test_more_spend_needs_fewer_people():
    for task in TASKS:
        few, many = (plan.sample_size(task, spend=Pure(epsilon), accuracy=0.1).people for epsilon in (2, "0.1"))
        assert few <= many


def test_too_few_people_prove_nothing():
    found = plan.compare(plan.LearnBox(5, 64), 100, Pure("0.1"))
    assert found.best.accuracy is None
    assert "nothing" in str(found)


def test_frequent_records_by_person_and_by_attribute():
    task = plan.FindRecords(32)
    attribute = plan.sample_size(task, spend=Pure(1).per_attribute(), accuracy=0.05)
    person = plan.sample_size(task, spend=Pure(1), accuracy=0.05)
    leaky = plan.sample_size(task, spend=LEAKY, accuracy=0.05)
    assert attribute.people <= person.people
    assert attribute.floor < person.floor
    assert leaky.best.method == "stability"
    assert person.floors[0].people == person.floor
    assert "fewer than" in str(person.floors[0])


def test_per_attribute_plans_of_learners():
    spend = Pure(1).per_attribute()
    found = needed(plan.LearnHalfspace(200, 10**5), spend)
    assert found["robust"].privacy < needed(plan.LearnHalfspace(200, 10**5), Pure(1))["exponential"].privacy
    assert "frequent records" in needed(plan.LearnPoint(12), spend)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plan.sample_size("thresholds", spend=Pure(1), accuracy=0.1), "A task is one of"),
        (lambda: plan.sample_size(plan.LearnPoint(8), spend=1.0, accuracy=0.1), "Pure"),
        (lambda: plan.sample_size(plan.LearnPoint(8), spend=Pure(0), accuracy=0.1), "cannot cost nothing"),
        (lambda: plan.sample_size(plan.LearnPoint(8), spend=Pure(1), accuracy=1), "accuracy"),
        (lambda: plan.sample_size(plan.LearnPoint(8), spend=Pure(1), accuracy=0.1, failure=0), "failure"),
        (lambda: plan.compare(plan.LearnPoint(8), 0, Pure(1)), "people"),
        (lambda: plan.LearnPoint(0), "bits"),
        (lambda: plan.LearnThreshold(2**30), "bits"),
        (lambda: plan.LearnBox(0, 8), "dimensions"),
        (lambda: plan.LearnHalfspace(10, 10, margin=0.1, kept=0.1), "kept"),
        (lambda: plan.CountPoints(8, largest=0), "largest"),
        (lambda: bounds.proper_learner_people_pure(8, 1, 0.1, concept="box"), "concept"),
        (lambda: bounds.sanitizer_people_pure(8, 1, 0.6, 0.05), "accuracy"),
    ],
)
def test_refusals_say_what_to_write(call, message):
    with pytest.raises(SfumatoError, match=message) as caught:
        call()
    assert str(caught.value).rstrip().endswith((".", "…"))
    assert isinstance(caught.value, (ParameterError, SfumatoError))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (lambda: plan.LearnThreshold(64, accuracy=0.1), "accuracy"),
        (lambda: plan.LearnThreshold(), "bits"),
        (lambda: plan.sample_size(plan.LearnThreshold(64), Pure(1)), "spend"),
        (lambda: plan.sample_size(plan.LearnThreshold(64), spend=Pure(1)), "accuracy"),
        (lambda: plan.compare(plan.LearnThreshold(64), spend=Pure(1)), "people"),
    ],
)
def test_what_is_asked_in_other_words_is_a_sentence(typed: Callable[[], object], said: str) -> None:
    with pytest.raises(ParameterError, match=said) as caught:
        typed()
    assert "__init__" not in str(caught.value)
