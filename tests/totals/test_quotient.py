"""The interval of a mean holds for every sum and count, is hardly wider than it must be, and never leaves the value out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sfumato import Noise
from sfumato.answer import NoisyPart
from sfumato.noise import DiscreteLaplace, Law, RoundedNormal
from sfumato.totals.quotient import _apart, _together, ratio_between

LEVEL = Fraction(95, 100)
ENDS = (Fraction(-1), Fraction(1))
LAWS: list[Law] = [DiscreteLaplace(3), DiscreteLaplace(40), RoundedNormal(Fraction(900))]


def drawn(law: Law, seed: int, runs: int) -> list[int]:
    return [int(one) for one in np.asarray(Noise(insecure_seed=seed).draw(law, runs)).tolist()]


def exceeds(one: Law, other: Law, times: Fraction, width: int) -> float:
    """Return P[|X - rY| > width], summed over all values that are likely at all."""
    reach = 700
    masses = [float(other.mass(place)) for place in range(-reach, reach + 1)]
    return 2 * sum(
        mass * float(one.tail(int((width + place * times) // 1)))
        for place, mass in zip(range(-reach, reach + 1), masses, strict=True)
    )


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize(("near", "far"), [(0, 0), (0, "1/8"), ("1/2", "5/8"), (1, 1), (2, 3)])
def test_a_width_holds_for_every_ratio_between_and_is_hardly_too_wide(law: Law, near: object, far: object) -> None:
    near, far = Fraction(str(near)), Fraction(str(far))
    width = _together(law, law, near, far, LEVEL)
    for place in range(5):
        assert exceeds(law, law, near + (far - near) * place / 4, width) <= 0.05 + 1e-12
    needed = next(one for one in range(width + 1) if exceeds(law, law, far, one) <= 0.05) if near == far else width
    assert width <= 1.03 * needed + 1, "bins and bisection cost little"
    assert width <= _apart(law, law, far, LEVEL)


def test_half_the_width_would_be_seen() -> None:
    law = DiscreteLaplace(40)
    assert exceeds(law, law, Fraction(1), _together(law, law, Fraction(1), Fraction(1), LEVEL) * 9 // 10) > 0.05


@pytest.mark.parametrize(
    ("total", "count"), [(0, 2000), (900, 1000), (-300, 300), (60, 120), (1, 1), (-100, 100), (5, 40)]
)
def test_the_true_ratio_is_covered_whatever_the_sum_and_the_count_are(total: int, count: int) -> None:
    runs, law = 1500, DiscreteLaplace(20)
    sums, counts = drawn(law, 3, runs), drawn(law, 4, runs)
    true, hits = Fraction(total, count), 0
    for one, other in zip(sums, counts, strict=True):
        parts = NoisyPart("s", (total + one,), law), NoisyPart("c", (count + other,), law)
        low, high = ratio_between(*parts, 0, LEVEL, ENDS)
        assert ENDS[0] <= low <= high <= ENDS[1]
        hits += low <= true <= high
    assert hits >= 0.95 * runs - 5.6 * (runs * 0.95 * 0.05) ** 0.5, f"{hits} of {runs}"
    if count >= 1000:
        assert hits <= 0.985 * runs, "where the count is known well, the interval is no wider than it states"


def test_units_of_sum_and_count_may_differ_and_a_large_count_leaves_the_noise_of_the_sum() -> None:
    fine, coarse = DiscreteLaplace(1000), DiscreteLaplace(10)
    parts = NoisyPart("s", (250_000,), fine, Fraction(1, 100)), NoisyPart("c", (10**6,), coarse)
    low, high = ratio_between(*parts, 0, LEVEL, ENDS)
    assert low < Fraction(25, 10_000) < high
    assert float(high - low) == pytest.approx(2 * 30 / 10**6, rel=0.05)


def test_where_no_ratio_is_left_it_is_an_end_and_as_far_from_there_as_noise_goes() -> None:
    law = DiscreteLaplace(2)
    count = NoisyPart("c", (100,), law)
    for number, end in ((5000, 1), (-5000, -1)):
        low, high = ratio_between(NoisyPart("s", (number,), law), count, 0, LEVEL, ENDS)
        assert end in (low, high)
        assert high - low == Fraction(_together(law, law, Fraction(1), Fraction(1), LEVEL), 100)
    nobody = NoisyPart("c", (-3,), law)
    assert ratio_between(NoisyPart("s", (5000,), law), nobody, 0, LEVEL, ENDS) == ENDS
