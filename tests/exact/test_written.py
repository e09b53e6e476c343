"""Numbers for people: losses are rounded up, what is left is rounded down."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato import Cost
from sfumato.exact import INFINITY
from sfumato.exact.written import rounded


@pytest.mark.parametrize("digits", [1, 3, 6])
def test_a_rounded_loss_is_never_too_small_and_what_is_left_never_too_large(digits):
    numbers = [Fraction(3**high, 7**low) for high in range(0, 60, 3) for low in range(0, 60, 3)]
    numbers += [
        Fraction("1.9945"),
        Fraction(999_999, 1_000_000),
        Fraction(1, 10**3000),
        Fraction(10) ** 20,
        Fraction(0),
    ]
    for number in numbers:
        above, below = (
            Fraction(rounded(number, up=True, digits=digits)),
            Fraction(rounded(number, up=False, digits=digits)),
        )
        assert below <= number <= above, number
        assert (above == 0) == (below == 0) == (number == 0), "nothing is shown as 0 that is not 0"
        assert above - below <= number / 10 ** (digits - 1), "no more is rounded than the digits ask for"
    for typed_in in ("0.1", "0.5", "20", "1e-6"):
        assert rounded(Fraction(typed_in), up=True) == rounded(Fraction(typed_in), up=False) == typed_in
    assert rounded(INFINITY, up=True) == rounded(INFINITY, up=False) == "infinity"


def test_a_cost_is_never_told_as_less_than_it_is():
    assert str(Cost.pure("1.9945")) == "epsilon 2" and str(Cost.pure("0.33301")) == "epsilon 0.334"
    assert str(Cost.approximate("1.0001", "1.2301e-9")) == "epsilon 1.01, delta 1.24e-9"
    for rho in ("1/10", "1/37", "3"):
        cost = Cost.concentrated(rho)
        told = Fraction(str(cost).removeprefix("epsilon ").removesuffix(" at delta 1e-6"))
        assert told >= cost.epsilon_at("1e-6"), rho
