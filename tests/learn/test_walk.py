"""What somebody meets who learns a first model: figures that hold, and sentences that say what to write."""

from __future__ import annotations

import pytest

from sfumato import Noise, Pure, integers
from sfumato.errors import ParameterError
from sfumato.learn import PrivateLinearClassifier, PrivateLinearRegressor

PIXEL = integers(0, 16, missing=0)


@pytest.mark.parametrize(
    "made",
    [
        lambda domains: PrivateLinearClassifier(Pure(1), domains, (0, 1)),
        lambda domains: PrivateLinearRegressor(Pure(1), domains, integers(0, 9, missing=0)),
    ],
)
def test_one_domain_for_all_features_does_not_say_how_many_there_are(made):
    one, listed = made(PIXEL), made([PIXEL] * 64)
    with pytest.raises(ParameterError, match=r"all features; say how many: expected_quality\(people, features=64\)\.$"):
        one.expected_quality(1000)
    with pytest.raises(ParameterError, match=r"all features; say how many: needed\(features=64\)\.$"):
        one.needed()
    assert one.expected_quality(1000, features=64) == listed.expected_quality(1000)
    assert one.needed(features=64) == listed.needed()
    rows = Noise(insecure_seed=1).uniform(17, 6000).reshape(-1, 2)
    one.set_params(spend=Pure(50)).fit(rows, rows[:, 0] // 9)
    assert one.needed() == made([PIXEL] * 2).set_params(spend=Pure(50)).needed()
