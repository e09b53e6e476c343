"""Medians with noise that follows the data, thresholds by choosing, blocks of small databases."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from sfumato import Approximate, Concentrated, Noise, Pure, Truncated
from sfumato.errors import DomainTooLarge, ParameterError, UnsupportedSpend
from sfumato.noise.laws import PrivateNormal
from sfumato.papers.private_learning.faithful_sanitizers import (
    SplitDatabases,
    fullest_window,
    san_thresholds,
    small_quantiles,
)
from sfumato.papers.private_learning.smooth_medians import SmoothMedian, smooth_median
from sfumato.privacy import Loss
from sfumato.privacy.smooth import SmoothCurve
from sfumato.questions.distribution.codes import Coded


def table_of(values: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.unique(np.asarray(values, dtype=np.int64), return_counts=True)


# A median with noise that follows the data


def normal_divergence(order: float, shift: float, one: float, two: float) -> float:
    """D_a of N(shift, one²) from N(0, two²)."""
    mixed = order * two**2 + (1 - order) * one**2
    if mixed <= 0:
        return math.inf
    logs = math.log(math.sqrt(mixed) / (one ** (1 - order) * two**order)) / (1 - order)
    return order * shift**2 / (2 * mixed) + logs


def test_the_curve_covers_all_pairs_of_widths_that_are_allowed() -> None:
    noise = Noise(insecure_seed=1)
    for _ in range(300):
        decay, variance = Fraction(1 + noise.uniform(999), 1000), Fraction(1 + noise.uniform(5000), 100)
        curve = SmoothCurve(variance, decay)
        ends = float(curve.end)
        order = 1 + (min(ends, 50) - 1) * (1 + noise.uniform(97)) / 100
        scale = math.sqrt(variance)
        ratio = float(decay) ** (noise.uniform(201) / 100 - 1)
        shift = min(1.0, ratio) * noise.uniform(101) / 100
        found = normal_divergence(order, shift, ratio * scale, scale)
        assert found <= float(curve.at(Fraction(order))) + 1e-9
    worst = normal_divergence(2.0, 1.0, 5.0 / 0.9, 5.0)
    assert float(SmoothCurve(Fraction(25), Fraction(9, 10)).at(2)) == pytest.approx(worst, rel=1e-9)


def test_the_ratio_of_the_curve_to_the_order_rises() -> None:
    curve = SmoothCurve(Fraction(30), Fraction(9, 10))
    orders = [Fraction(1) + (curve.end - 1) * Fraction(part, 100) for part in range(1, 100)]
    ratios = [float(curve.at(order) / order) for order in orders]
    assert ratios == sorted(ratios)


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_the_loss_is_stored_and_read_back() -> None:
    mechanism = smooth_median(Truncated("0.1", 4), 0, 10**6, people=99)
    assert mechanism.loss().within(Truncated("0.1", 4))
    assert not mechanism.loss().within(Truncated("0.09", 4))
    assert Loss.from_json(json.loads(json.dumps(mechanism.loss().to_json()))) == mechanism.loss()


def test_the_width_is_at_least_the_local_sensitivity_and_falls_slowly() -> None:
    noise = Noise(insecure_seed=3)
    for _ in range(60):
        values = noise.uniform(40, 5).tolist()
        other = [*values[1:], int(noise.uniform(40))]
        median = SmoothMedian(first=0, last=39, people=5, variance=Fraction(1), decay=Fraction(3, 4))
        widths = [median.width(median.neighbourhood(Coded.of(*table_of(rows)))) for rows in (values, other)]
        assert Fraction(3, 4) * widths[0] <= widths[1] <= Fraction(4, 3) * widths[0]
        moved = max(abs(sorted([*values[1:], new])[2] - sorted(values)[2]) for new in range(40))
        for place in range(5):
            rest = values[:place] + values[place + 1 :]
            moved = max(moved, *(abs(sorted([*rest, new])[2] - sorted(values)[2]) for new in (0, 39)))
        assert widths[0] >= moved


def test_it_beats_noise_for_the_whole_range_where_people_are_close_together() -> None:
    spend, values = Truncated("0.1", 4), 2**39 + np.arange(2001) * 3
    median = smooth_median(spend, 0, 2**40, people=2001)
    errors = [abs(median(table_of(values), Noise(insecure_seed=seed)) - int(values[1000])) for seed in range(20)]
    everywhere = 2**40 / math.sqrt(2 * 0.1)
    assert np.mean(errors) < everywhere / 10**6
    for rows in ([7] * 2001, [0] * 1000 + [2**40] * 1001, []):
        assert 0 <= median(table_of(rows), Noise(insecure_seed=1)) <= 2**40


def test_rounded_normal_draws_follow_their_law() -> None:
    law = PrivateNormal(Fraction(9))
    drawn = Noise(insecure_seed=2).draw(law, 2000)
    assert abs(drawn.mean()) < 0.4
    assert abs(drawn.var() - 9 - 1 / 12) < 1.6
    assert float(sum(law.mass(j) for j in range(-40, 41)).mid()) == pytest.approx(1)
    with pytest.raises(ParameterError, match="above 0"):
        PrivateNormal(Fraction(0))


@pytest.mark.parametrize("spend", [Pure(1), Concentrated(1), Approximate(1, 1e-6)], ids=str)
def test_other_spends_are_refused(spend: Any) -> None:
    with pytest.raises(UnsupportedSpend, match="Truncated"):
        smooth_median(spend, 0, 9, people=5)


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(ParameterError, match="first"):
        smooth_median(Truncated(1, 2), 9, 9, people=5)
    with pytest.raises(ParameterError, match="people"):
        smooth_median(Truncated(1, 2), 0, 9, people=0)
    with pytest.raises(ParameterError, match="decay"):
        SmoothMedian(first=0, last=9, people=5, variance=Fraction(1), decay=Fraction(1))


# Demonstrators


def test_thresholds_by_choosing_come_close_with_very_many_people() -> None:
    people, last = 650_000, 2**32 - 1
    values = 10**6 + Noise(insecure_seed=1).uniform(2000, people)
    mechanism = san_thresholds(Approximate(4, "1e-6"), 0, last, people=people, accuracy="0.5")
    cells = mechanism.run(table_of(values), Noise(insecure_seed=1))
    assert all(one[1] < two[0] for one, two in pairwise(cells))
    ordered = np.sort(values)
    for cut in range(10**6, 10**6 + 2000, 100):
        about = sum(count for _, end, count in cells if end <= cut)
        assert abs(about - np.searchsorted(ordered, cut, side="right")) < people / 2
    assert mechanism.run(table_of([]), Noise(insecure_seed=1))
    with pytest.raises(UnsupportedSpend, match="delta"):
        san_thresholds(Pure(1), 0, 9, people=5, accuracy="0.5")


def test_the_fullest_window_is_what_trying_all_gives() -> None:
    noise = Noise(insecure_seed=2)
    codes, counts = (part.tolist() for part in table_of(noise.uniform(60, 40)))
    for length in (1, 2, 4, 8, 64):
        tried = [sum(n for code, n in zip(codes, counts, strict=True) if s <= code < s + length) for s in range(60)]
        assert fullest_window(codes, counts, length) == max(tried)
    assert fullest_window([], [], 4) == 0


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_small_tables_of_quantiles_and_blocks_of_them() -> None:
    counts = np.array([100, 20, 5, 5, 20, 50])
    one = small_quantiles(Pure(1), 6, people=200, accuracy="1/4")
    chosen = one(counts, Noise(insecure_seed=1))
    shares = np.cumsum(chosen) / chosen.sum()
    assert np.abs(shares - np.cumsum(counts) / 200).max() < 0.3
    blocks = SplitDatabases(inner=small_quantiles(Pure(3), 6, people=50, accuracy="1/4"), blocks=4)
    assert blocks.loss().person.epsilon == 3
    together = blocks(counts, Noise(insecure_seed=1))
    assert together.sum() == 16
    assert np.abs(np.cumsum(together) / 16 - np.cumsum(counts) / 200).max() < 0.3
    with pytest.raises(DomainTooLarge):
        small_quantiles(Pure(1), 1000, people=200, accuracy="0.01")
