"""Against dp-accounting's numbers, frozen in oracle/dp_accounting.csv by oracle/make.py.

Conventions: Gaussian and Laplace noise for sensitivity 1 under add-remove, binary randomized response under
replace-one, composed event by event. Its PLD epsilon is close to the truth (rounded up by its discretisation),
its RDP epsilon is what Rényi orders give.
"""

from __future__ import annotations

import csv
import math
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato.privacy import ADD_REMOVE, Cost
from sfumato.privacy.subsample import subsample

ROWS = list(csv.DictReader((Path(__file__).parent / "oracle" / "dp_accounting.csv").read_text().splitlines()))


def cost_of(row) -> Cost:
    parameter, count = Fraction(row["parameter"]), int(row["count"])
    match row["mechanism"]:
        case "gaussian":
            return count * Cost.concentrated(1 / (2 * parameter**2))
        case "laplace":
            return count * Cost.pure(1 / parameter)
        case "randomized_response":
            epsilon = math.log((1 - parameter / 2) / (parameter / 2))
            return count * Cost.pure(Fraction(epsilon) + Fraction(1, 10**12))
        case _:
            rate = Fraction(row["rate"])
            base = Cost.concentrated(1 / (2 * parameter**2))
            drawn = subsample(base, rate.denominator, rate.numerator, "poisson", relation=ADD_REMOVE)
            return count * drawn.cost


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: "-".join((row["mechanism"], row["parameter"], row["count"], row["delta"]))
)
def test_against_dp_accounting(row):
    ours = float(cost_of(row).epsilon_at(row["delta"]))
    exact, renyi = float(row["pld_epsilon"]), float(row["rdp_epsilon"])
    # Never below the truth; one event's PLD is rounded up to its grid of 1e-4, for each event again.
    assert ours >= exact * (1 - 1e-3) - 1e-4 * int(row["count"])
    match row["mechanism"]:
        case "gaussian":
            assert ours == pytest.approx(renyi, rel=1e-3)
        case "randomized_response":
            assert ours <= renyi * (1 + 1e-3)
        case "laplace":
            # Laplace noise has a better curve than randomized response; here only epsilon is known.
            assert ours <= 1.2 * renyi
        case _:
            # Theirs is one for Gaussian noise; ours holds for every mechanism with this curve.
            assert ours <= 2.5 * max(renyi, exact)


def test_all_shapes_are_in_the_file():
    assert {row["mechanism"] for row in ROWS} == {"gaussian", "laplace", "randomized_response", "poisson_gaussian"}
    assert len(ROWS) == 48
