"""The guide page runs, and the numbers in its comments are true."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato import Truncated
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, RoundedNormal
from sfumato.perturb import AdditiveNoise
from sfumato.privacy.calibrate import concentrated_within

PAGE = Path(__file__).parents[2] / "docs" / "noise-choice.md"


@pytest.fixture(scope="module")
def told() -> dict:
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    return names


def test_numbers_on_the_page(told):
    assert told["count"].error(0.95) == 6 and told["count"].loss().person.epsilon == Fraction(1, 2)
    cells = told["cells"]
    assert (told["bent"].error(0.95, cells), told["plain"].error(0.95, cells)) == (19, 30)
    assert told["single"].law == DiscreteLaplace(1) and isinstance(told["many"].law, RoundedNormal)
    rho = concentrated_within(Fraction(1), Fraction(1, 10**6))
    others = [AdditiveNoise(law=law, sensitivity=1) for law in (DiscreteGaussian(500 / rho), DiscreteLaplace(1000))]
    ours, gaussian, laplace = (noise.error(0.95, 1000) for noise in (told["many"], *others))
    # What the exact calibration saves against the one by rho: the root of 1.15.
    assert ours / gaussian == pytest.approx(0.933, abs=0.005) and laplace / ours == pytest.approx(18.3, abs=0.1)
    loss = told["columns"].loss()
    assert [loss.at(name).epsilon for name in ("smoker", "children")] == [Fraction(1, 4), Fraction(1, 2)]
    assert loss.person.epsilon == Fraction(3, 4)


def test_what_a_small_omega_costs(told):
    assert "epsilon 10.2" in Truncated("0.1", "2.24").explain() and "epsilon 2.15" in told["high"].explain()
