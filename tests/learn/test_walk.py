"""What somebody meets who learns a first model: figures that hold, and sentences that say what to write."""

from __future__ import annotations

import numpy as np
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


@pytest.mark.parametrize("law", ["normal", "laplace"])
@pytest.mark.parametrize("deviation", [50, 200, 500])
def test_an_interval_covers_as_many_people_as_it_says_however_wide_the_bins_of_its_table_are(law, deviation):
    draw = np.random.default_rng(deviation)
    rows = draw.integers(0, 100, (30_000, 2))
    off = getattr(draw, law)(0, deviation if law == "normal" else deviation / 2**0.5, len(rows))
    pay = np.rint(1000 + 20 * rows[:, 0] + 10 * rows[:, 1] + off).astype(int)
    domains = [integers(0, 99, missing=0)] * 2
    model = PrivateLinearRegressor(Pure(2), domains, integers(0, 5000, missing=0), noise=Noise(insecure_seed=1))
    rule = model.fit(rows[:20_000], pay[:20_000]).rule_
    for share in (0.5, 0.8, 0.9, 0.95):
        low, high = model.predict_interval(rows[20_000:], share).T
        inside = ((low <= pay[20_000:]) & (pay[20_000:] <= high)).mean()
        # Of people who are nearly all within one bin to either side the table does not tell another law from a normal one.
        most = 0.03 if law == "normal" else 0.2 if deviation == 50 else 0.06
        assert abs(inside - share) < most, (share, inside)
        assert (rule.predict_interval(rows[20_000:], share).T == (low, high)).all()
