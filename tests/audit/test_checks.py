"""The auditor's own power: planted bugs that must be caught, and honest mechanisms that must pass."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from sfumato import Approximate, Concentrated, Pure, audit
from sfumato.audit import FiniteLaw, Neighbours
from sfumato.errors import ParameterError
from sfumato.exact import INFINITY
from sfumato.privacy import Cost, LinearCurve
from tests.audit.mechanisms import Exponential, FirstAbove, Gaussian, Laplace, NoisyCounts, OneColumn, TruthOrCoin

LAPLACE = Laplace(scale=Fraction(2))
GAUSSIAN = Gaussian(variance=Fraction(4))
EXPONENTIAL = Exponential(epsilon=Fraction(1))


def test_laplace_noise_keeps_and_reaches_its_promise() -> None:
    report = audit.check(LAPLACE, [(5, 6), (5, 4)])
    assert report.ok
    assert 0.999 < report.reach <= 1
    assert report.worst.measure in {"max divergence", "Rényi divergence"}


def test_gaussian_noise_keeps_and_reaches_its_promise() -> None:
    report = audit.check(GAUSSIAN, [(5, 6)])
    assert report.ok
    assert 0.99 < report.reach <= 1


def test_half_the_noise_is_caught() -> None:
    for honest, halved in [
        (LAPLACE, replace(LAPLACE, scale=Fraction(1))),
        (GAUSSIAN, replace(GAUSSIAN, variance=Fraction(1))),
    ]:
        report = audit.check(halved, [(5, 6)], claim=honest.loss())
        assert not report.ok
        assert report.reach > 1.9


def test_noise_one_percent_short_is_caught() -> None:
    assert not audit.check(replace(LAPLACE, scale=Fraction("1.98")), [(5, 6)], claim=LAPLACE.loss()).ok
    assert not audit.check(replace(GAUSSIAN, variance=Fraction("3.96")), [(5, 6)], claim=GAUSSIAN.loss()).ok


def test_the_unhalved_exponential_mechanism_is_caught() -> None:
    # QR:D1: scores (0, 0, ...) against (1, -1, -1, ...).
    size = 1000
    pair = ([0] * size, [1] + [-1] * (size - 1))
    assert audit.check(EXPONENTIAL, [pair]).ok
    report = audit.check(replace(EXPONENTIAL, halved=False), [pair], claim=EXPONENTIAL.loss(), orders=[2])
    assert not report.ok
    measured = audit.max_divergence(*(audit.law(replace(EXPONENTIAL, halved=False), side) for side in pair[::-1]))
    assert measured.lower == pytest.approx(1.994, abs=1e-3)


def test_a_leak_through_the_order_of_the_output_is_caught() -> None:
    honest = NoisyCounts(scale=Fraction(2))
    pair = ({"a": 1, "b": 1}, {"a": 1, "b": 0})
    assert audit.check(honest, [pair], tail=1e-5, orders=[2]).ok
    report = audit.check(replace(honest, sorted_first=True), [pair], claim=honest.loss(), tail=1e-5, orders=[2])
    assert not report.ok


def test_a_leak_through_an_undeclared_attribute_is_caught() -> None:
    pairs = [
        Neighbours({"age": 0, "sex": 0}, {"age": 1, "sex": 0}, frozenset({"age"})),
        Neighbours({"age": 0, "sex": 0}, {"age": 0, "sex": 1}, frozenset({"sex"})),
        Neighbours({"age": 0, "sex": 0}, {"age": 1, "sex": 1}),
    ]
    assert audit.check(OneColumn(), pairs).ok
    report = audit.check(OneColumn(peeks=True), pairs, claim=OneColumn().loss())
    assert not report.ok
    assert report.worst.claimed == 0
    assert math.isinf(report.reach)
    # The person as a whole is within the claim: only the attribute's own promise shows the leak.
    assert audit.check(OneColumn(peeks=True), pairs[2:], claim=OneColumn().loss()).ok


def test_a_law_that_breaks_in_one_direction_only_is_caught_in_either_order() -> None:
    first = FiniteLaw.of({"rare": Fraction(1, 100), "common": Fraction(99, 100)})
    second = FiniteLaw.of({"rare": Fraction(1, 1000), "common": Fraction(999, 1000)})
    assert audit.max_divergence(first, second).lower > 2 > audit.max_divergence(second, first).upper

    def two_points(world, noise):
        return noise.bernoulli(Fraction(1, 100) if world else Fraction(1, 1000))

    for pair in [(0, 1), (1, 0)]:
        report = audit.check(two_points, [pair], claim=Pure(1))
        assert not report.ok
        assert report.worst.inputs == (1, 0)
        assert report.worst.outcomes == (True,)


def test_leaks_are_compared_with_delta() -> None:
    def reveals(bit, noise):
        return ("seen", bit) if noise.bernoulli(Fraction(1, 1000)) else "hidden"

    assert audit.check(reveals, [(0, 1)], claim=Approximate(1, 1e-3)).ok
    report = audit.check(reveals, [(0, 1)], claim=Approximate(1, 9.9e-4))
    assert not report.ok
    assert report.worst.measure == "delta"
    assert report.reach == pytest.approx(1 / 0.99, rel=1e-9)
    assert not audit.check(reveals, [(0, 1)], claim=Concentrated(100)).ok


def test_a_curve_with_a_leak_is_compared_through_delta_at_several_epsilons() -> None:
    cost = Cost(INFINITY, LinearCurve(Fraction(1, 8)), Fraction(1, 10**6))
    assert audit.check(GAUSSIAN, [(0, 1)], claim=cost, tail=1e-12).ok
    assert not audit.check(replace(GAUSSIAN, variance=Fraction(1, 4)), [(0, 1)], claim=cost, tail=1e-12).ok


def test_the_tail_follows_the_claimed_leak() -> None:
    noisy = Laplace(scale=Fraction(1, 2))
    assert not audit.check(noisy, [(0, 1)], claim=Approximate(1, 1e-12)).ok
    # A remainder as large as the leak may hide it: nothing is proved then, and nothing is alleged.
    assert audit.check(noisy, [(0, 7)], claim=Approximate(10, "1e-4"), tail=0.3).ok


def test_conversations_are_checked() -> None:
    probe = FirstAbove(epsilon=Fraction(2))
    pairs = [([0, 0], [1, -1]), ([0, 0], [1, 1])]
    assert audit.check(probe, pairs, tail=1e-4, orders=[2, 8]).ok
    blunt = replace(probe, noisy_threshold=False)
    report = audit.check(blunt, [([0] * 3, [-1] * 3)], claim=probe.loss(), tail=1e-4, orders=[2, 8])
    assert report.reach > audit.check(blunt, [([0], [-1])], claim=probe.loss(), tail=1e-4, orders=[2, 8]).reach


def test_a_claim_of_nothing_is_broken_by_any_loss() -> None:
    coin = TruthOrCoin(truth=Fraction(500001, 1000000), claimed=Fraction(1))
    assert not audit.check(coin, [(0, 1)], claim=Cost.zero()).ok
    fair = replace(coin, truth=Fraction(1, 2))
    report = audit.check(fair, [(0, 1)], claim=Cost.zero())
    assert report.ok and report.reach == 0


def test_reports_show_what_was_found(tmp_path) -> None:
    report = audit.check(replace(LAPLACE, scale=Fraction(1)), [(5, 6)], claim=LAPLACE.loss())
    assert "breaks its promise" in report.title
    assert "broken" in report.table()
    assert "broken" in report._repr_html_()
    picture = report.plot(tmp_path / "promise.svg")
    assert picture.read_text().startswith("<?xml")
    assert picture.read_bytes() == report.plot(tmp_path / "again.svg").read_bytes()
    kept = audit.check(LAPLACE, [(5, 6)])
    assert "keeps its promise: 99.9 %" in repr(kept)
    assert "kept" in str(kept)


@pytest.mark.parametrize(
    ("pairs", "claim"), [([], None), ([5], None), ([(1, 2, 3)], None), ([(0, 1)], 1.0), ([(0, 1)], "Pure(1)")]
)
def test_bad_input_is_refused_with_a_sentence(pairs, claim) -> None:
    with pytest.raises(ParameterError, match=r"\.$"):
        audit.check(LAPLACE, pairs, claim=claim)


def test_a_plain_function_needs_a_claim() -> None:
    with pytest.raises(ParameterError, match="claim=Pure"):
        audit.check(lambda bit, noise: bit, [(0, 1)])


def test_an_outcome_that_only_one_input_has_is_called_that() -> None:
    report = audit.check(lambda count, noise: count + noise.uniform(4), [(5, 6)], claim=Pure(1))
    assert not report.ok
    assert report.title.endswith(
        "one input can give an outcome that the other never gives, which no finite loss allows"
    )
    nothing = audit.check(lambda bit, noise: bit if noise.bernoulli("3/4") else 1 - bit, [(0, 1)], claim=Pure(0))
    assert nothing.title.endswith("a loss where none is claimed")
