"""The check that `choosing` leans on: scores that grow too fast are refuted."""

from __future__ import annotations

from collections import Counter

import pytest

from sfumato import Noise
from sfumato.errors import CertificationError
from sfumato.select import check_bounded_growth

NOISE = Noise(insecure_seed=3)


def pairs(table):
    return Counter(part for record in table for part in record)


@pytest.mark.parametrize(
    ("score", "records", "growth"),
    [
        (pairs, ["ab", "cd"], 1),
        (lambda table: {key: 2 * count for key, count in Counter(table).items()}, ["a"], 5),
        (lambda table: {"n": 1}, ["a"], 5),
        (lambda table: {key: -count for key, count in Counter(table).items()}, ["a"], 5),
    ],
)
def test_scores_that_grow_too_fast_are_refuted(score, records, growth):
    with pytest.raises(CertificationError):
        check_bounded_growth(score, records, growth, noise=NOISE)


def test_bounded_growth_passes():
    check_bounded_growth(pairs, ["ab", "cd"], 2, noise=NOISE)
