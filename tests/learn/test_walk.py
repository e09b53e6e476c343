"""What somebody meets who learns a first model: figures that hold, and sentences that say what to write."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from sfumato import Noise, Pure, Schema, booleans, fixed, integers
from sfumato.errors import AccuracyWarning, ParameterError
from sfumato.learn import Learn, PrivateLinearClassifier, PrivateLinearRegressor

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
    draw = Noise(insecure_seed=deviation)
    rows = draw.uniform(100, 60_000).reshape(-1, 2)
    part = (draw.uniform(10**6, 30_000) + 0.5) / 10**6
    if law == "normal":
        off = deviation * np.array([NormalDist().inv_cdf(one) for one in part])
    else:
        off = deviation / 2**0.5 * np.sign(part - 0.5) * -np.log(1 - 2 * np.abs(part - 0.5))
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
        assert ((low, high) == rule.predict_interval(rows[20_000:], share).T).all()


def test_a_fit_that_may_be_no_better_than_a_guess_warns_as_the_answer_does():
    rows = Noise(insecure_seed=2).uniform(100, 8000).reshape(-1, 2)
    coins = Noise(insecure_seed=3).uniform(2, 4000)
    learner = PrivateLinearClassifier(Pure(20), [integers(0, 99, missing=0)] * 2, (0, 1), noise=Noise(insecure_seed=4))
    with pytest.warns(AccuracyWarning, match="by this the model may be no better than a guess") as said:
        learner.fit(rows, coins)
    (found,) = (str(one.message) for one in said)
    assert found == f"{' '.join(learner.rule_.figures())} Compare classes=(0, 1) with what stands in y."


def test_where_a_label_is_not_seen_nothing_is_said_of_how_good_the_rule_is():
    rows = Noise(insecure_seed=2).uniform(100, 8000).reshape(-1, 2)
    learner = PrivateLinearClassifier(Pure(20), [integers(0, 99, missing=0)] * 2, (0, 7), noise=Noise(insecure_seed=4))
    with pytest.warns(
        AccuracyWarning, match="nothing is known of how good the rule is: either y holds none of"
    ) as said:
        learner.fit(rows, (rows[:, 0] > 40).astype(int))
    assert len(said) == 1 and "or the noise of that table is too large" in str(said[0].message)
    assert "hardly better than a guess" not in str(said[0].message) and np.isnan(learner.auc_)


def test_arrays_have_no_dictionary_of_missing_cells():
    cells = [integers(0, 9, missing=0), fixed(5, 30, step=0.01)]
    with pytest.raises(
        ParameterError, match=r"here of x1; write it in the domain: fixed\(5, 30, step=0.01, missing=17.5\)"
    ):
        PrivateLinearClassifier(Pure(1), cells, (0, 1)).fit([[1, 2]], [0])
    with pytest.raises(ParameterError, match=r"here of y; write it in the domain: integers\(0, 90, missing=45\)"):
        PrivateLinearRegressor(Pure(1), cells[:1], integers(0, 90)).fit([[1]], [0])
    with pytest.raises(ParameterError, match=r"missing=\{'bmi': 17.5\} where it is learned"):
        Learn("PrivateThreshold", "bmi", "ill").canonical(Schema({"bmi": cells[1], "ill": booleans()}))
    assert Learn("PrivateThreshold", "bmi", "ill", missing={"bmi": 17.5}).canonical(
        Schema({"bmi": cells[1], "ill": booleans()})
    )
