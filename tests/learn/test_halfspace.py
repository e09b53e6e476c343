"""Robust halfspaces: distances as by brute force, sensitivities attained, agnostic data, wide data, refusals."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sfumato as sf
from sfumato import Approximate, Concentrated, Noise, Pure
from sfumato.errors import AccuracyWarning, DomainTooLarge, ParameterError
from sfumato.learn import RobustHalfspace, rule_from_json
from sfumato.papers.partial_dp import halfspace_classes as halfspaces
from sfumato.papers.partial_dp.halfspace import NEVER, distances
from tests import imputed
from tests.learn.estimator_checks import every_check, example

ATTRIBUTE = Pure(1).per_attribute()


def every_point(features: int) -> np.ndarray:
    return np.array(list(product((-1, 1), repeat=features)))


def by_brute_force(points: np.ndarray, weights: np.ndarray, offset: int) -> tuple[list[int], list[int]]:
    """Return the distance to the nearest point that is labelled no, and to the nearest that is labelled yes."""
    yes = points @ weights + offset >= 0
    far = (points[:, None, :] != points[None, :, :]).sum(axis=2)
    no_far = far[:, ~yes].min(axis=1) if (~yes).any() else np.full(len(points), NEVER)
    yes_far = far[:, yes].min(axis=1) if yes.any() else np.full(len(points), NEVER)
    return no_far.tolist(), yes_far.tolist()


@pytest.mark.parametrize(
    "candidates",
    [halfspaces.ternary(5, (-2, 0, 1, 7, -7)), halfspaces.drawn(6, 40, seed=3, largest=5), halfspaces.net(3, 0.4)],
    ids=lambda found: found.name,
)
def test_distances_are_those_of_brute_force(candidates):
    points = every_point(candidates.features)
    to_no, to_yes = distances(points, candidates, 0, len(candidates))
    for place in range(0, len(candidates), max(1, len(candidates) // 120)):
        expected = by_brute_force(points, candidates.weights[place], int(candidates.offsets[place]))
        assert (to_no[:, place].tolist(), to_yes[:, place].tolist()) == expected


@pytest.mark.parametrize(("kept", "debias"), [(0, True), (0.2, True), (0.2, False)])
def test_one_flip_moves_costs_by_the_stated_step_and_no_more(kept, debias):
    """Over all rows, labels and halfspaces of seven features; the step is attained, and so is the range."""
    learner = RobustHalfspace(ATTRIBUTE, imputed.booleans(), (False, True), kept=kept, margin=0.6, debias=debias)
    mechanism = learner.mechanism(100, features=6)
    points = every_point(6)
    one, none = np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    costs = {
        label: np.array([mechanism.costs(point[None], *((one, none) if label else (none, one))) for point in points])
        for label in (0, 1)
    }
    for found in costs.values():
        moved = 0
        for place in range(6):
            order = np.arange(len(points)) ^ (1 << (5 - place))
            moved = max(moved, int(np.abs(found - found[order]).max()))
        assert moved == mechanism.step
        assert int((found.max(axis=0) - found.min(axis=0)).max()) <= mechanism.range


def with_margin(people: int, features: int, seed: int, flips: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return rows far from the boundary of a majority vote, and its labels."""
    noise = Noise(insecure_seed=seed)
    truth = noise.uniform(2, size=people)
    rows = np.repeat(truth[:, None], features, axis=1)
    for row in rows:
        turned = noise.subset(features, flips)
        row[turned] = 1 - row[turned]
    return rows, truth == 1


def test_the_rule_is_right_and_stays_right_when_features_flip():
    rows, truth = with_margin(4000, 9, seed=2)
    learner = RobustHalfspace(
        ATTRIBUTE, imputed.booleans(), (False, True), margin=0.4, kept=0.1, accuracy=0.5, noise=Noise(insecure_seed=1)
    )
    learner.fit(rows, truth)
    assert learner.score(rows, truth) > 0.97
    noise = Noise(insecure_seed=9)
    for row in rows:
        place = noise.uniform(9)
        row[place] = 1 - row[place]
    assert learner.score(rows, truth) > 0.9
    again = rule_from_json(json.loads(json.dumps(learner.rule_.to_json())))
    assert again == learner.rule_ and "yes counts +1" in str(again)


def test_what_is_charged():
    learner = RobustHalfspace(ATTRIBUTE, imputed.booleans(), (False, True), margin=0.5, kept=0.1)
    loss = learner.mechanism(100, features=20).loss()
    assert loss.at("x3").epsilon == 1 and loss.at("y").epsilon <= 1
    assert loss.at({"x3", "x4"}).epsilon == 2
    # Eight flips make the whole range: more of them cost no more than that, and the label comes on top.
    assert loss.person.epsilon < 20 and loss.at({"x1", "y"}).epsilon <= 2
    person = RobustHalfspace(Pure(1), imputed.booleans(), (False, True), margin=0.5, kept=0.1).mechanism(
        100, features=20
    )
    assert person.loss().person.epsilon == person.loss().at("y").epsilon == 1
    assert person.loss().at("x0").epsilon == Fraction(1, 8)


def test_the_excess_does_not_grow_with_the_features():
    """2·s·ln(3^d)/(eps·n): constant in d per attribute, as the number of features cancels; it grows per person."""

    def lost(spend, features):
        learner = RobustHalfspace(spend, imputed.booleans(), (0, 1), margin=0.7, kept=0.2)
        mechanism = learner.mechanism(1500, features=features)
        unit = (mechanism.own - mechanism.other) * (mechanism.outer - mechanism.inner)
        return features * np.log(3) / float(mechanism.rate) / unit / 1500

    assert lost(ATTRIBUTE, 8) == pytest.approx(lost(ATTRIBUTE, 6), rel=0.4)
    assert lost(Pure(1), 8) > 1.3 * lost(Pure(1), 6)


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_wide_data_are_learned_per_attribute_where_per_person_fails():
    """A hundred features that vote, for or against, two thousand halfspaces of which one knows how, few people."""
    weights = np.where(np.array(halfspaces.drawn(100, 2000, seed=1).weights) >= 0, 1, -1)
    against = weights[17] < 0
    candidates = halfspaces.listed(weights)
    score = {}
    for spend in (Pure("0.5").per_attribute(), Pure("0.5")):
        right = []
        for seed in range(10):
            rows, truth = with_margin(24, 100, seed=seed, flips=20)
            rows[:, against] = 1 - rows[:, against]
            learner = RobustHalfspace(
                spend, imputed.booleans(), (False, True), candidates=candidates, margin=0.4, kept=0.01, debias=False,
                noise=Noise(insecure_seed=seed),
            )  # fmt: skip
            right.append(learner.fit(rows, truth).score(rows, truth))
        score[spend.unit] = np.mean(right)
    assert score["attribute"] > score["person"] + 0.1


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_debiased_costs_choose_the_best_halfspace_where_plain_ones_do_not():
    """A cluster near the boundary of the best halfspace is an error under both labels: plain costs blame it for coins."""
    near, far = [1, 1, 1, 0, 0, 0, 0], [1] * 7
    rows = np.array([far] * 350 + [[0] * 7] * 350 + [near] * 300)
    truth = np.array([True] * 350 + [False] * 350 + [False] * 300)
    candidates = halfspaces.listed([[1] * 7, [1, 0, 0, 0, 0, 0, 0]])
    errors = {}
    for debias in (True, False):
        learner = RobustHalfspace(
            Pure("0.5").per_attribute(), imputed.booleans(), (False, True), candidates=candidates, margin=0.6, kept=0.15,
            debias=debias,
        )  # fmt: skip
        mechanism = learner.mechanism(1000, features=7)
        points, ones, zeros = mechanism.responded(_sample(rows, truth), Noise(insecure_seed=5))
        costs = mechanism.costs(points, ones, zeros) / (
            (mechanism.own - mechanism.other) * (mechanism.outer - mechanism.inner)
        )
        plain = RobustHalfspace(
            Pure(1), imputed.booleans(), (False, True), candidates=candidates, margin=0.6, kept=0.15
        )
        honest = plain.mechanism(1000, features=7)
        points, ones, zeros = honest.responded(_sample(rows, truth), Noise(insecure_seed=5))
        true = honest.costs(points, ones, zeros) / (honest.outer - honest.inner)
        errors[debias] = np.abs(costs - true).max() / 1000
    assert errors[True] < 0.12
    assert errors[False] > 0.2


def _sample(rows, truth):
    from sfumato.learn.facts import Sample

    return Sample.of(rows, truth)


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning", "ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("estimator", "check"), every_check(example(RobustHalfspace, margin=0.9, kept=0)))
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "spend", [Pure(1), Approximate(1, 1e-6), Concentrated("0.5"), Concentrated("0.5").per_attribute()]
)
def test_every_kind_of_spend(spend):
    rows, truth = with_margin(1500, 9, seed=4)
    learner = RobustHalfspace(
        spend, imputed.booleans(), (False, True), margin=0.4, kept=0.1, accuracy=0.9, noise=Noise(insecure_seed=1)
    )
    learner.fit(rows, truth)
    assert learner.loss_.within(spend)
    assert learner.score(rows, truth) > 0.8


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_a_ledger_stores_the_rule():
    import pyarrow as pa

    rows, truth = with_margin(1000, 5, seed=1, flips=1)
    names = [f"q{place}" for place in range(5)]
    table = pa.table(
        {**{name: (rows[:, place] == 1).tolist() for place, name in enumerate(names)}, "y": truth.tolist()}
    )
    schema = sf.Schema({name: imputed.booleans() for name in [*names, "y"]})
    curator = sf.curate(table, schema, Pure(9))
    for candidates in (None, halfspaces.sparse(5, 2, (0, 1)), [[1, 1, 1, 1, 1], [1, 0, 0, 0, 0]]):
        first, second = (
            curator.learn(
                RobustHalfspace(Pure(1), candidates=candidates, margin=0.6, kept=0.2), features=names, target="y"
            )
            for _ in range(2)
        )
        assert second.reused and first.value == second.value


def test_features_that_are_not_yes_or_no_are_cut_where_it_is_said():
    rows = [[age, age] for age in range(100)] * 40
    truth = [age >= 65 for age, _ in rows]
    learner = RobustHalfspace(
        Pure(4), imputed.integers(0, 99), (False, True), cuts=[65, 65], candidates=[[1, 1], [1, -1]], margin=1, kept=0,
        accuracy=0.9, noise=Noise(insecure_seed=1),
    )  # fmt: skip
    assert learner.fit(rows, truth).score(rows, truth) > 0.95


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: RobustHalfspace(ATTRIBUTE, imputed.booleans(), (0, 1), margin=0.1, kept=0.1), ParameterError, "kept"),
        (
            lambda: RobustHalfspace(ATTRIBUTE, imputed.booleans(), (0, 1), candidates=[[0.5, 0.5]]),
            ParameterError,
            "whole numbers",
        ),
        (
            lambda: RobustHalfspace(ATTRIBUTE, imputed.booleans(), (0, 1), candidates=[[1, 1, 1]]),
            ParameterError,
            "over 3 features",
        ),
        (lambda: RobustHalfspace(ATTRIBUTE, imputed.categories("a", "b", "c"), (0, 1)), ParameterError, "categories"),
        (lambda: RobustHalfspace(ATTRIBUTE, imputed.booleans(), (0, 1), cuts=[True]), ParameterError, "cuts"),
        (lambda: RobustHalfspace(None, imputed.booleans(), (0, 1)), ParameterError, "costs something"),
    ],
)
@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make().fit([[True, False], [False, True]], [0, 1])


def test_classes_that_are_too_large_are_refused():
    for call in (
        lambda: halfspaces.ternary(13),
        lambda: halfspaces.sparse(400, 3),
        lambda: halfspaces.net(9, 0.1),
        lambda: halfspaces.drawn(3, 10**7),
    ):
        with pytest.raises(DomainTooLarge, match="the most that are tried"):
            call()
    with pytest.raises(ParameterError, match="add up"):
        halfspaces.listed([[2**60, 1]])
    with pytest.raises(ParameterError, match="makes no halfspaces"):
        halfspaces.made_again(["import", "os"])


def test_a_net_comes_close_to_every_halfspace():
    """Every weight vector of sum 1 has one of the net within the fineness, after scaling."""
    net = halfspaces.net(3, 0.25)
    total = 6
    for place in range(50):
        drawn = np.array(halfspaces.drawn(3, 50, seed=place, largest=9).weights[place % 50], dtype=float)
        if not drawn.any():
            continue
        target = drawn / np.abs(drawn).sum()
        assert np.abs(net.weights / total - target).sum(axis=1).min() <= 0.25


def test_too_narrow_a_margin_is_said():
    with pytest.warns(AccuracyWarning, match="less than one feature"):
        RobustHalfspace(ATTRIBUTE, imputed.booleans(), (0, 1), margin=0.2, kept=0.15).mechanism(10, features=4)
