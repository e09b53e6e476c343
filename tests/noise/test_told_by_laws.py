"""What others ask of a law it says itself: its currency, about its variance and its size, quieter noise of its kind."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Noise, Priced, RoundedNormal
from sfumato.privacy.sensitivity import sensitivity

LAWS = [DiscreteLaplace(Fraction(30)), DiscreteGaussian(Fraction(900)), RoundedNormal(Fraction(900))]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_a_law_tells_its_currency_its_size_and_quieter_noise(law: Priced) -> None:
    moves = sensitivity(1)

    def price(one: Priced) -> Fraction:
        cost = one.cost(moves)
        return Fraction(cost.epsilon if one.pure else cost.rho())  # type: ignore[arg-type]

    assert law.pure == (type(law) is DiscreteLaplace)
    assert price(law.quieter(4)) == 4 * price(law) and type(law.quieter(4)) is type(law)
    assert math.sqrt(law.spread()) == pytest.approx(law.deviation(), rel=0.01)
    drawn = Noise(insecure_seed=1).draw(law, 40_000)
    assert abs(drawn).mean() == pytest.approx(law.size(), rel=0.03)
