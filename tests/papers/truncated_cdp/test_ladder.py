"""The ladder of the obvious answer: the spec's numbers, its proofs, and that they fail when a rung is raised."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from sfumato import ADD_REMOVE, Approximate, Concentrated, Pure, Truncated
from sfumato.errors import AccuracyWarning, CertificationError, ParameterError, UnsupportedSpend
from sfumato.papers import truncated_cdp
from sfumato.papers.truncated_cdp.certificate import SLACK, close, orders
from sfumato.papers.truncated_cdp.ladder import optimal, round_down

SPENDS = (Pure(1), Concentrated("0.1"), Truncated("0.1", "2.236"), Approximate(1, 1e-6))


def renyi(order: float, first: float, second: float) -> float:
    heads = order * math.log(first) + (1 - order) * math.log(second)
    tails = order * math.log1p(-first) + (1 - order) * math.log1p(-second)
    return float(np.logaddexp(heads, tails)) / (order - 1)


def test_the_printed_sequence() -> None:
    pick = truncated_cdp.obvious(Truncated("0.1", "2.236"), candidates=2**10)
    assert len(repr(pick)) < 200, "shown without its hundred fractions"
    ladder = [1 / 1024, *(float(chance) for chance in pick.chances)]
    spec = [0.00098, 0.0135, 0.064, 0.176, 0.354, 0.574, 0.771, 0.906, 0.975]
    assert np.allclose(ladder[: len(spec)], spec, atol=7e-4)
    worst = max(
        max(renyi(a, low, high), renyi(a, high, low)) / a
        for low, high in pairwise(ladder)
        for a in np.linspace(1.0001, 2.236, 200)
    )
    assert 0.0998 < worst <= 0.1


@pytest.mark.parametrize(
    ("omega", "gaps"), [("2.24", {4: 12, 10: 16, 20: 18, 30: 20}), ("4.47", {4: 12, 10: 18, 20: 22, 30: 26})]
)
def test_the_table_of_gaps(omega: str, gaps: dict[int, int]) -> None:
    for bits, gap in gaps.items():
        assert truncated_cdp.obvious(Truncated("0.1", omega), candidates=2**bits).gap("0.95") == gap


def test_the_printed_curves_need_larger_gaps() -> None:
    # Section 6: sinh-OAM 16.3/23.3/29.8/33.1, Gaussian-OAM 16.2/23.2/30.7/36.2; whole gaps are rounded up.
    for bits, gap in {4: 17, 10: 24, 20: 31, 30: 37}.items():
        assert truncated_cdp.obvious(Concentrated("0.1"), candidates=2**bits, method="noise").gap("0.95") == gap
    for bits, gap in {4: 17, 10: 24, 20: 31, 30: 34}.items():
        pick = truncated_cdp.obvious(Truncated("0.1", "2.24"), candidates=2**bits, method="noise")
        assert pick.gap("0.95") == gap
    optimal_gap = truncated_cdp.obvious(Approximate(1, 1e-6), candidates=2**64).gap("0.95")
    assert optimal_gap < truncated_cdp.obvious(Approximate(1, 1e-6), candidates=2**64, method="noise").gap("0.95")


@pytest.mark.parametrize("spend", SPENDS)
@pytest.mark.parametrize("candidates", [2, 3, 1024, 2**70, 2**1024])
def test_every_number_of_candidates(spend: Any, candidates: int) -> None:
    start = time.process_time()
    pick = truncated_cdp.obvious(spend, candidates=candidates)
    assert time.process_time() - start < 10
    assert all(chance.denominator & (chance.denominator - 1) == 0 for chance in pick.chances)
    assert pick.chances[-1] >= 1 - Fraction(1, 10**9)
    assert pick.success(0) == Fraction(1, candidates)
    assert pick.success(10**9) == pick.chances[-1]


def test_the_reference_ladder_takes_less_than_a_second() -> None:
    optimal.cache_clear()
    start = time.process_time()
    optimal(2**10, Truncated("0.1", "2.236"), Fraction(1, 10**9))
    assert time.process_time() - start < 1


@pytest.mark.parametrize("spend", SPENDS)
def test_raising_any_rung_by_two_per_cent_breaks_the_proof(spend: Any) -> None:
    pick = truncated_cdp.obvious(spend, candidates=64, failure="0.01")
    for rung, chance in enumerate(pick.chances):
        raised = min(chance * 51 / 50, 1 - (1 - chance) * 49 / 50)
        broken = replace(pick, chances=(*pick.chances[:rung], raised, *pick.chances[rung + 1 :]))
        if raised > chance:
            with pytest.raises(CertificationError):
                broken.loss()


def test_rungs_that_do_not_fit_the_gap_are_not_certified() -> None:
    pick = truncated_cdp.obvious(Pure(1), candidates=4)
    for change in ({"start": -1}, {"unit": 1}, {"start": 1}, {"gap_sensitivity": 3}, {"chances": (Fraction(1, 5),)}):
        with pytest.raises(CertificationError):
            replace(pick, **change).loss()


@pytest.mark.parametrize("bound", [Concentrated("0.2"), Truncated("0.2", 3), Truncated("0.001", 40)])
def test_what_is_proved_close_is_close(bound: Any) -> None:
    last = float(getattr(bound, "omega", 400))
    rho = float(bound.rho)
    grid = 1 + np.exp(np.linspace(math.log(1e-4), math.log(last - 1), 300))
    accepted = 0
    for low in np.linspace(0.001, 0.98, 25):
        for ratio in (1.0001, 1.01, 1.03, 1.1, 1.3, 2, 5):
            high = 1 - (1 - low) / ratio
            proved = close(Fraction(low), Fraction(high), bound)
            worst = max(max(renyi(a, high, low), renyi(a, low, high)) / (rho * a) for a in grid)
            assert not (proved and worst > 1)
            assert proved or worst > float(1 - SLACK) * (1 - 1e-6)
            accepted += proved
    assert 10 < accepted < 170


def test_orders_are_as_dense_as_the_proof_needs() -> None:
    found = orders(Fraction(50))
    assert found[0] == 1 + SLACK
    assert found[-1] == 50
    for below, above in pairwise(found):
        assert (above - below) ** 2 <= 4 * SLACK * below * (below - 1)


def test_rounding_keeps_64_bits_of_the_smaller_side() -> None:
    tiny = Fraction(1, 3 * 2**200)
    assert 0 < round_down(tiny) <= tiny
    assert (tiny - round_down(tiny)) / tiny < Fraction(1, 2**63)
    large = 1 - tiny
    assert round_down(large) < large
    assert (large - round_down(large)) / tiny < Fraction(1, 2**62)
    assert round_down(Fraction(1)) == 1


def test_impossible_ladders_are_refused() -> None:
    with pytest.raises(UnsupportedSpend, match="steps of gap"):
        truncated_cdp.obvious(Pure("0.0001"), candidates=2**100)
    with pytest.raises(UnsupportedSpend, match="steps of gap"):
        truncated_cdp.obvious(Pure("0.0001"), candidates=2**100, method="noise")
    with pytest.raises(UnsupportedSpend, match="steps of gap"):
        optimal(2**10, Approximate("0.001", 1e-12), Fraction(1, 10**9))
    with pytest.raises(ParameterError):
        close(Fraction(1, 2), Fraction(1, 4), Pure(1))
    with pytest.raises(ParameterError):
        close(Fraction(1, 4), Fraction(1, 2), "pure")  # type: ignore[arg-type]


def test_monotone_scores_need_half_the_gap() -> None:
    usual = truncated_cdp.obvious(Pure(1), candidates=100)
    counts = truncated_cdp.obvious(Pure(1), candidates=100, monotone=True, relation=ADD_REMOVE)
    wide = truncated_cdp.obvious(Pure(1), candidates=100, sensitivity=5)
    assert usual.gap("0.95") == 2 * counts.gap("0.95")
    assert wide.gap("0.95") == 5 * usual.gap("0.95")


def test_too_few_people_to_be_obvious_are_told_before_any_score_is_seen() -> None:
    spend = Truncated("0.1", "2.24")
    needed = truncated_cdp.obvious(spend, candidates=2**10).gap("0.95")
    truncated_cdp.obvious(spend, candidates=2**10, people=needed)
    truncated_cdp.obvious(spend, candidates=2**10, sensitivity=3, people=needed)
    with pytest.warns(AccuracyWarning, match=f"a lead of {needed} does it in 19 of 20 runs"):
        truncated_cdp.obvious(spend, candidates=2**10, people=needed - 1)
    with pytest.warns(AccuracyWarning, match="no lead does it"):
        truncated_cdp.obvious(spend, candidates=2**10, failure="0.2", people=10**6)
    with pytest.raises(ParameterError, match="people"):
        truncated_cdp.obvious(spend, candidates=2**10, people=0)
