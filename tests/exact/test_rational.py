"""Numbers that people type: what is refused says what to write instead."""

from __future__ import annotations

import pytest

from sfumato.errors import ParameterError
from sfumato.exact.rational import above_zero, at_least_zero, between_zero_and_one, exact, positive_integer


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: positive_integer(0, "width"), "width must be at least 1, and 0 is not; write for example width=1."),
        (lambda: positive_integer(1.5, "rows"), "rows must be a whole number, not float; write for example 10."),
        (
            lambda: between_zero_and_one(2, "split"),
            "split must lie strictly between 0 and 1, and 2 does not; write for example split=0.5.",
        ),
        (
            lambda: between_zero_and_one(1, "delta"),
            "delta must lie strictly between 0 and 1, and 1 does not; write for example delta=1e-06.",
        ),
        (lambda: above_zero(0, "epsilon"), "epsilon must be above zero, and 0 is not; write for example epsilon=0.1."),
        (lambda: above_zero(-1, "a share"), "a share must be above zero, and -1 is not; write for example 0.1."),
        (
            lambda: at_least_zero("-1/2", "delta"),
            "delta must be zero or more, and -0.5 is below zero; write for example delta=0.",
        ),
        (
            lambda: exact(float("nan"), "epsilon"),
            "epsilon must be a finite number, and 'nan' is none; write for example 0.1 or '1/3'.",
        ),
    ],
)
def test_a_refusal_says_what_to_write(make, said):
    with pytest.raises(ParameterError) as refused:
        make()
    assert str(refused.value) == said
