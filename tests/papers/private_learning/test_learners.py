"""The papers' own learners: private, correct, and hungry for people."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from sfumato import Approximate, Noise, Pure
from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.learn import PrivateBox, PrivateThreshold, rule_from_json
from sfumato.learn.facts import Sample
from sfumato.papers.private_learning.bit_threshold import BitThreshold, polarities
from sfumato.papers.private_learning.kearns_box import KearnsBox
from tests.imputed import booleans, integers
from tests.learn.estimator_checks import every_check, example


def bits_of(values: np.ndarray, bits: int) -> np.ndarray:
    return (values[:, None] >> np.arange(bits - 1, -1, -1)) & 1


def test_a_box_by_histograms_is_found_and_needs_far_more_people():
    noise = Noise(insecure_seed=1)
    codes = noise.uniform(1000, 60_000).reshape(30_000, 2).astype(np.int64)
    labels = ((codes >= 250) & (codes <= 750)).all(axis=1)
    learner = KearnsBox(Pure(40), integers(0, 999), (False, True), noise=noise)
    with pytest.warns(UserWarning, match="people on"):
        rule = learner.fit(codes, labels).rule_
    assert (rule.predict(codes) != labels).mean() < 0.1
    assert learner.needed() > 5 * PrivateBox(Pure(40), integers(0, 999), (False, True)).needed(features=2)
    assert learner.loss_.person.epsilon == 40
    with pytest.raises(UnsupportedSpend, match="pure spend"):
        KearnsBox(Approximate(1, "1e-6"), integers(0, 9), (0, 1)).mechanism(10)


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
@pytest.mark.parametrize("cut", [0, 90, 256])
def test_a_cut_on_bits_is_found_whatever_the_labels(cut):
    """Labels that are all equal come out right: the print has their two outputs swapped."""
    values = Noise(insecure_seed=3).uniform(256, 8_000).astype(np.int64)
    learner = BitThreshold(Pure(30).per_attribute(), booleans(), (False, True), noise=Noise(insecure_seed=1))
    learner.fit(bits_of(values, 8).astype(bool), values >= cut)
    assert (learner.predict(bits_of(values, 8).astype(bool)) != (values >= cut)).mean() <= 0.1
    assert rule_from_json(json.loads(json.dumps(learner.rule_.to_json()))) == learner.rule_
    for name in ("x0", "x7", "y"):
        assert learner.loss_.at(name).epsilon <= 30
    assert learner.loss_.person.epsilon > 30


def test_a_cut_on_bits_says_what_it_needs_and_refuses_the_rest():
    spend = Pure(10).per_attribute()
    few, many = (BitThreshold(spend, booleans(), (0, 1)).needed(features=bits) for bits in (4, 12))
    assert few <= many < 3 * few
    assert few > 10 * PrivateThreshold(Pure(10), integers(0, 255), (0, 1)).needed()
    with pytest.raises(UnsupportedSpend, match="per attribute"):
        BitThreshold(Pure(1), booleans(), (0, 1)).mechanism(10, 4)
    with pytest.raises(ParameterError, match="one bit"):
        BitThreshold(spend, integers(0, 3), (0, 1)).mechanism(10, 4)


def test_one_person_moves_no_polarity_by_more_than_one():
    noise = Noise(insecure_seed=5)
    for _ in range(60):
        values, labels = noise.uniform(8, 6).astype(np.int64), noise.uniform(2, 6).astype(np.int64)
        ones = np.ones(6, dtype=np.int64)
        before = polarities(values, labels, ones, 3)
        values[0], labels[0] = noise.uniform(8), noise.uniform(2)
        after = polarities(values, labels, ones, 3)
        assert max(abs(a - b) for a, b in zip(before, after, strict=True)) <= 1
        assert all(a >= b for a, b in pairwise(after))


def test_parts_run_alone_add_up_to_the_stated_loss():
    learner = BitThreshold(Pure(3).per_attribute(), booleans(), (0, 1))
    mechanism = learner.mechanism(1000, 4)
    parts = [1 / mechanism.count_scale, mechanism.lengths.loss().person.epsilon, mechanism.search_spend().epsilon]
    assert sum(parts) + mechanism.choice.loss().person.epsilon == mechanism.loss().at("y").epsilon == 3
    assert mechanism.loss().at("x0").epsilon == 2
    sample = Sample.of(bits_of(np.arange(16), 4), (np.arange(16) >= 5).astype(int), np.full(16, 60))
    assert 0 <= mechanism(sample, Noise(insecure_seed=1)) <= 16


@pytest.mark.audit
@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning", "ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("estimator", "check"), every_check(example(KearnsBox, accuracy=0.9)))
def test_scikit_learn_accepts(estimator, check):
    check(estimator)
