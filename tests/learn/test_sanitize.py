"""Release rows, then learn: noisy labels, huge domains, many features, what is charged and refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from sfumato import Approximate, Concentrated, Noise, Pure, Truncated
from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.learn import SanitizeThenLearn, rule_from_json
from sfumato.learn.facts import Sample
from sfumato.papers.private_learning.padded import PaddedClasses
from sfumato.papers.private_learning.sanitize import released_sample
from sfumato.papers.private_learning.sanitized import median_rows
from tests import imputed
from tests.learn.estimator_checks import CELLS, every_check
from tests.promises.printed.sanitized import PlaceResponse

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
WIDE = imputed.integers(0, 2**64 - 1)


def noisy(people: int, size: int, cut: int, seed: int = 1, wrong: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Return even values, and labels of which one in `wrong` is turned round."""
    noise = Noise(insecure_seed=seed)
    rows = np.array([[int(value)] for value in noise.uniform(size, size=people)], dtype=object)
    turned = noise.uniform(wrong, size=people) == 0
    return rows, np.array([value >= cut for (value,) in rows]) ^ turned


def learner(concepts="cuts", spend=None, domains=WIDE, seed=1, **options):
    return SanitizeThenLearn(
        concepts, spend or Pure(1), domains, (False, True), noise=Noise(insecure_seed=seed), **options
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(
    ("estimator", "check"),
    every_check(
        SanitizeThenLearn(
            "points", Pure(50), CELLS, (0, 1), method="points", noise=Noise(insecure_seed=1), accuracy=0.9
        )
    ),
)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "spend",
    [Pure(1), Concentrated("0.1"), Approximate(1, 1e-6), Truncated("0.1", 3)],
    ids=lambda bound: type(bound).__name__,
)
def test_agnostic_cuts_over_a_huge_domain(spend):
    """One label in ten is wrong; the cut is nearly as good as the best one."""
    rows, labels = noisy(20_000, 2**64, 2**63)
    fitted = learner(spend=spend, accuracy=0.2).fit(rows, labels)
    assert fitted.loss_.within(spend)
    assert fitted.score(rows, labels) > 0.9 - 0.05


def test_the_excess_falls_with_the_people():
    errors = []
    for people in (1000, 30_000):
        rows, labels = noisy(people, 2**64, 2**63)
        best = np.mean((rows[:, 0] >= 2**63) == labels)
        errors.append(best - learner(accuracy=0.2).fit(rows, labels).score(rows, labels))
    assert errors[1] < errors[0] + 0.01 and errors[1] < 0.02


def test_the_cost_is_that_of_one_tree_and_not_three():
    facts = learner().facts(1)
    mechanism = median_rows(facts, Pure(1), 0.1)
    assert 0.99 < mechanism.loss().person.epsilon <= 1
    assert mechanism.tree.loss().person.epsilon <= 1


def test_cells_keep_their_signs_for_classes_and_lose_them_for_classifiers():
    rows, labels = noisy(3000, 50, 20)
    domain = imputed.integers(0, 49)
    cut = learner(domains=domain).fit(rows, labels)
    assert 17 <= cut.rule_.low <= 23
    tree = learner(DecisionTreeClassifier(max_depth=2), domains=domain).fit(rows, labels)
    assert tree.score(rows, labels) > 0.85
    assert min(tree.rule_.counts) > 0
    again = rule_from_json(json.loads(json.dumps(tree.rule_.to_json())))
    assert (again.predict(rows[:100]) == tree.predict(rows[:100])).all()


def test_points_of_a_huge_domain():
    words = np.array([[17]] * 900 + [[2**50]] * 600 + [[place * 10**6] for place in range(500)], dtype=object)
    labels = [True] * 900 + [False] * 1100
    fitted = learner("points", method="points", accuracy=0.5).fit(words, labels)
    assert fitted.rule_.key == (17,)


def test_a_model_of_many_features_teaches_any_classifier():
    noise = Noise(insecure_seed=3)
    rows = noise.uniform(4, size=4000 * 5).reshape(-1, 5)
    labels = rows[:, 0] + rows[:, 1] >= 4
    fitted = learner(LogisticRegression(), domains=imputed.integers(0, 3), spend=Pure(2), accuracy=0.2)
    assert fitted._method(fitted.facts(5)) == "cells"
    fitted = learner(LogisticRegression(), domains=imputed.integers(0, 3), spend=Pure(2), method="model").fit(
        rows, labels
    )
    assert fitted.score(rows, labels) > 0.9
    assert fitted.loss_.within(Pure(2))


def test_which_release_is_decided_by_domains():
    facts = learner(domains=[imputed.integers(0, 999)] * 2).facts(2)
    assert learner(domains=imputed.integers(0, 999))._method(facts) == "model"
    assert learner()._method(learner().facts(1)) == "medians"
    short = learner(domains=imputed.integers(0, 99))
    assert short._method(short.facts(1)) == "cells"


def test_nothing_released_is_a_rule_too():
    rows = np.array([[5], [7]], dtype=object)
    fitted = learner("points", spend=Pure("0.01"), method="points", accuracy=0.9).fit(rows, [True, False])
    assert fitted.predict(rows).shape == (2,)
    assert released_sample(fitted.facts(1), ((), (), ())).people == 1
    tree = learner(DecisionTreeClassifier(), spend=Pure("0.01"), method="points", accuracy=0.9)
    assert tree.fit(rows, [True, False]).predict(rows).shape == (2,)


def test_a_ledger_stores_the_rule():
    import pyarrow as pa

    rows, labels = noisy(2000, 50, 20)
    table = pa.table({"age": [int(value) for (value,) in rows], "ill": labels.tolist()})
    curator = sf.curate(table, sf.Schema({"age": imputed.integers(0, 49), "ill": imputed.booleans()}), Pure(3))
    for concepts in ("cuts", DecisionTreeClassifier(max_depth=1)):
        first, second = (
            curator.learn(SanitizeThenLearn(concepts, spend=Pure(1)), features="age", target="ill") for _ in range(2)
        )
        assert second.reused and first.value == second.value


def test_the_printed_reduction_costs_three_times():
    sanitizer = PlaceResponse(weight=2**62)
    padded = PaddedClasses(people=100, scale=1 / sanitizer.loss().person.epsilon, sanitizer=sanitizer, dummy=(0,))
    assert padded.loss().person.epsilon == 3 * sanitizer.loss().person.epsilon
    size, first, second = padded(Sample.of([[1], [0]], [0, 1], [60, 40]), Noise(insecure_seed=1))
    assert len(first) == size and len(second) == 100 - size


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: learner(method="dust"), ParameterError, "method is one of"),
        (lambda: learner(method="medians", domains=imputed.booleans()), ParameterError, "ordered"),
        (lambda: learner(method="cells"), DomainTooLarge, "one by one"),
        (lambda: learner("stumps"), ParameterError, "no class"),
        (lambda: learner(domains=imputed.text(max_bytes=5)), ParameterError, "text"),
    ],
)
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make().fit([[1], [2]], [True, False])


def test_numbers_needed_follow_the_width_of_gaussian_noise_also_where_it_is_small():
    few, many = (
        learner(spend=Concentrated(rho), domains=imputed.integers(0, 99), method="cells").needed()
        for rho in ("1/2", "1/100")
    )
    assert few * math.sqrt(50) == pytest.approx(many, rel=0.01)  # the deviations are 1.4 and 10


def test_numbers_needed_are_finite_and_fall_with_the_accuracy():
    for options in ({}, {"domains": imputed.integers(0, 99)}, {"method": "points"}):
        few, many = (learner(**options).needed(accuracy) for accuracy in (0.2, 0.05))
        assert math.isfinite(many) and few < many
