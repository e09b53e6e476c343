"""Learners are as good as their formulas say, and not ten times better: the formulas are worth reading."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import Approximate, Noise, Pure
from sfumato.learn import ExponentialLearner, PrivateBox, PrivatePoint, PrivateThreshold
from sfumato.learn.facts import Sample
from tests.imputed import booleans, integers

RUNS = 40
BITS = 2**62 - 1
ACCURACY = 0.1


def edges(people: int, low: int = BITS // 3) -> Sample:
    """Return the hard sample for a cut: a tenth of the people on each of two neighbours, the others at the ends."""
    near = people // 10 + 1
    rest = people - 2 * near
    counts = [rest // 2, near, near, rest - rest // 2]
    return Sample.of([[0], [low], [low + 1], [BITS]], [0, 0, 1, 1], counts)


def shares(sample: Sample, rule: object) -> float:
    """Return the share of people about whom a rule is wrong."""
    wrong = rule.holds(sample.codes) != (sample.labels == 1)  # type: ignore[attr-defined]
    return float(sample.counts[wrong].sum() / sample.counts.sum())


def successes(learner: object, sample: Sample, accuracy: float = ACCURACY, runs: int = RUNS) -> float:
    facts = learner.facts(sample.codes.shape[1])  # type: ignore[attr-defined]
    mechanism = learner.mechanism(sample.people, sample.codes.shape[1])  # type: ignore[attr-defined]
    noise = Noise(insecure_seed=7)
    errors = [shares(sample, learner.rule(facts, mechanism(sample, noise))) for _ in range(runs)]  # type: ignore[attr-defined]
    return float(np.mean(np.array(errors) <= accuracy))


@pytest.mark.parametrize("direction", ["above", "either"])
def test_a_cut_over_two_to_the_62_is_learned_from_as_many_people_as_predicted(direction):
    learner = PrivateThreshold(Pure(1), integers(0, BITS), (0, 1), direction=direction)
    needed = learner.needed(ACCURACY)
    assert successes(learner, edges(needed)) >= 0.95
    assert successes(learner, edges(needed // 10)) < 0.5


def test_the_error_of_a_cut_falls_with_the_number_of_people():
    learner = PrivateThreshold(Pure("0.1"), integers(0, 2**20 - 1), (0, 1))
    noise = Noise(insecure_seed=3)
    means = []
    for people in (400, 1600):
        codes = np.sort(noise.uniform(2**20, people)).astype(np.int64)
        sample = Sample.of(codes[:, None], (codes >= 2**19).astype(np.int64))
        mechanism = learner.mechanism(people)
        rules = [learner.rule(learner.facts(), mechanism(sample, noise)) for _ in range(RUNS // 2)]
        means.append(np.mean([shares(sample, rule) for rule in rules]))
    # Lost labels are a matter of the spend, so the share of them falls as 1/people: fourfold, within two.
    assert 2 < means[0] / means[1] < 8


@pytest.mark.parametrize("bits", [8, 64, 256])
def test_a_key_is_named_by_the_same_number_of_people_whatever_the_domain(bits):
    learner = PrivatePoint(Approximate(1, "1e-6"), integers(0, 2**bits - 1), (0, 1), method="stable")
    needed = learner.needed(ACCURACY)
    assert needed == 700
    for people, least, most in ((needed, 0.95, 1.0), (needed // 10, 0.0, 0.1)):
        heavy = round(2 * ACCURACY * people)
        codes = np.array([[5], [2**bits - 1]], dtype=object)
        sample = Sample.of(codes, [1, 0], [heavy, people - heavy])
        assert least <= successes(learner, sample) <= most


def test_a_key_without_a_delta_needs_people_for_every_bit():
    needed = [PrivatePoint(Pure(1), integers(0, 2**bits - 1), (0, 1)).needed(ACCURACY) for bits in (64, 128, 256)]
    assert needed[0] == 1923
    assert 1.8 < needed[1] / needed[0] < 2 and 1.9 < needed[2] / needed[1] < 2
    few = Approximate("0.1", "1e-6")
    assert PrivatePoint(few, integers(0, 2**10 - 1), (0, 1)).mechanism(9).choice.spec == "QR-EM"
    assert PrivatePoint(few, integers(0, 2**30 - 1), (0, 1)).mechanism(9).choice.spec == "PL-ADIST"


def corner(people: int, features: int, seed: int = 1) -> Sample:
    """Return people spread evenly over a cube, of whom about three in ten lie in a box in the middle."""
    noise = Noise(insecure_seed=seed)
    codes = noise.uniform(BITS, people * features).reshape(people, features).astype(np.int64)
    half = int(BITS * 0.3 ** (1 / features)) // 2
    inside = (np.abs(codes - BITS // 2) <= half).all(axis=1)
    return Sample.of(codes, inside.astype(np.int64))


def hard(people: int, features: int) -> Sample:
    """Return people of the second label at the corners of a box, all others one step outside of one of its sides."""
    low, high, noise = BITS // 3, BITS // 2, Noise(insecure_seed=2)
    codes = np.where(noise.uniform(2, people * features).reshape(people, features) == 1, high, low)
    labels = (noise.uniform(5, people) == 0).astype(np.int64)
    others, side = np.flatnonzero(labels == 0), noise.uniform(features, people)
    chosen = codes[others, side[others]]
    codes[others, side[others]] = np.where(chosen == low, low - 1, high + 1)
    return Sample.of(codes, labels)


@pytest.mark.parametrize("features", [1, 2])
def test_a_box_is_learned_from_as_many_people_as_predicted(features):
    learner = PrivateBox(Pure(4), integers(0, BITS), (0, 1))
    needed = learner.needed(ACCURACY, features=features)
    assert successes(learner, corner(needed, features), runs=10) >= 0.9
    assert successes(learner, hard(needed, features)) >= 0.95
    assert successes(learner, hard(needed // 10, features)) < 0.5


def test_the_error_of_a_box_falls_with_the_number_of_people():
    learner = PrivateBox(Pure(1), integers(0, 2**20 - 1), (0, 1), accuracy=0.001)
    proved = PrivateBox(Pure(1), integers(0, 2**20 - 1), (0, 1)).mechanism(10**9, 1)
    means = []
    for people in (4000, 16_000):
        sample = corner(people, 1)
        narrow = Sample.of(sample.codes >> 42, sample.labels)
        facts = learner.facts(1)
        errors = [shares(narrow, learner.rule(facts, proved(narrow, Noise(insecure_seed=run)))) for run in range(10)]
        means.append(np.mean(errors))
    # As many people are cut off as before, whatever their number: a fourth of the share.
    assert 3 < means[0] / means[1] < 5.5


def test_a_box_lies_inside_of_the_true_one_and_none_is_found_where_there_are_few():
    learner = PrivateBox(Pure(8), integers(0, BITS), (0, 1), noise=Noise(insecure_seed=1))
    sample = corner(20_000, 2)
    rule = learner.fit_sample(learner.facts(2), sample).rule_
    assert not (rule.holds(sample.codes) & (sample.labels == 0)).any()
    few = Sample.of(sample.codes, np.zeros(len(sample.labels), dtype=np.int64))
    assert learner.fit_sample(learner.facts(2), few).rule_.box is None


def test_the_best_of_a_list_is_found_whatever_the_labels():
    rules = [f"x0 >= {cut}" for cut in range(1, 100)]
    learner = ExponentialLearner(rules, Pure(1), integers(0, 99), (0, 1))
    needed = learner.needed(ACCURACY)
    noise = Noise(insecure_seed=2)
    codes = noise.uniform(100, needed).astype(np.int64)
    flipped = noise.uniform(10, needed) == 0
    labels = ((codes >= 37) ^ flipped).astype(np.int64)
    sample = Sample.of(codes[:, None], labels)
    best = flipped.mean()
    assert successes(learner, sample, best + ACCURACY / 2) >= 0.95
    assert successes(learner, sample, best + ACCURACY / 200) < 0.9


def test_a_record_of_many_bits_is_found_with_a_pure_spend_for_each_attribute():
    spend = Pure(2).per_attribute()
    learner = PrivatePoint(spend, booleans(), (0, 1), method="tree", noise=Noise(insecure_seed=1))
    needed = learner.needed(ACCURACY, features=12)
    rows = Noise(insecure_seed=2).uniform(2, 12 * needed).reshape(needed, 12)
    rows[: needed // 10 + 1] = rows[0]
    labels = (rows == rows[0]).all(axis=1)
    learner.fit(rows, labels)
    assert learner.score(rows, labels) == 1
    assert learner.loss_.within(spend) and learner.loss_.person.epsilon > 2
    # A flipped label is one changed attribute.
    assert learner.loss_.at("y").epsilon <= 2
    # Bits for attributes: the tree pays for the logarithm of their number, the exponential mechanism for all of them.
    plain = [PrivatePoint(spend, booleans(), (0, 1), method="exponential").needed(features=bits) for bits in (64, 512)]
    tree = [PrivatePoint(spend, booleans(), (0, 1), method="tree").needed(features=bits) for bits in (12, 24)]
    assert plain[1] > 5 * plain[0] and tree[1] < 1.5 * tree[0]


def test_the_numbers_of_the_guide_and_of_the_papers_page():
    wide = integers(0, 2**64 - 1)
    assert PrivateThreshold(Pure(1), wide, (0, 1)).needed(ACCURACY) == 1923
    assert [PrivateBox(Pure(1), wide, (0, 1)).needed(features=many) for many in (2, 5)] == [67_760, 414_200]
    assert PrivateBox(Approximate(1, "1e-6"), integers(0, 2**1024 - 1), (0, 1)).needed(features=2) == 251_920
