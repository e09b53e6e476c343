"""Every factory buys as much as the spend allows, never more, and refuses with a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sfumato import ADD_REMOVE, REPLACE_ONE, Approximate, Concentrated, Cost, Pure, Truncated, audit, select
from sfumato.errors import CertificationError, ParameterError, UnsupportedSpend
from sfumato.mechanism import Promise
from sfumato.papers import truncated_cdp
from sfumato.select.fit import settle

SPENDS = (Pure(1), Concentrated("0.1"), Truncated("0.1", 3), Approximate(1, 1e-6))

FACTORIES: dict[str, Callable[..., Promise]] = {
    "exponential": select.exponential,
    "permute_and_flip": select.permute_and_flip,
    "stable": select.stable,
    "choosing": select.choosing,
    "obvious": lambda spend, **more: truncated_cdp.obvious(spend, candidates=8, **more),
    "top": lambda spend, **more: select.top(spend, count=2, **more),
    "sparse_vector": lambda spend, **more: select.sparse_vector(spend, positives=2, **more),
}
NEED_DELTA = ("stable", "choosing")


def _served(name: str) -> list[Any]:
    return [Approximate(1, 1e-6)] if name in NEED_DELTA else list(SPENDS)


@pytest.mark.parametrize("name", FACTORIES)
def test_the_stated_loss_is_within_every_spend_served(name: str) -> None:
    for spend in _served(name):
        made = FACTORIES[name](spend, reads={"age"})
        assert made.loss().within(spend)
        assert made.loss().at("sex").is_zero
        assert made.loss().relation is REPLACE_ONE
        assert json.loads(json.dumps(made.event().to_json()))["name"] == type(made).__name__
        assert hash(made) == hash(FACTORIES[name](spend, reads={"age"}))


@pytest.mark.parametrize("name", NEED_DELTA)
@pytest.mark.parametrize("spend", SPENDS[:3])
def test_choices_with_certainty_need_a_delta(name: str, spend: Any) -> None:
    with pytest.raises(UnsupportedSpend, match="Approximate"):
        FACTORIES[name](spend)
    with pytest.raises(UnsupportedSpend, match="one half"):
        FACTORIES[name](Approximate(1, 0.5))


@pytest.mark.parametrize("name", FACTORIES)
@pytest.mark.parametrize("spend", [0.1, 1, "1", None, True])
def test_a_bare_number_is_no_spend(name: str, spend: Any) -> None:
    with pytest.raises(ParameterError, match="bound"):
        FACTORIES[name](spend)


@pytest.mark.parametrize("name", FACTORIES)
def test_nothing_is_free(name: str) -> None:
    for spend in (Pure(0), Concentrated(0), Truncated(0, 2), Approximate(0, 1e-6)):
        with pytest.raises(UnsupportedSpend):
            FACTORIES[name](spend)


@pytest.mark.parametrize("name", [name for name in FACTORIES if name != "choosing"])
@pytest.mark.parametrize("sensitivity", [0, -1, 1.5, True, "2", float("nan"), None])
def test_sensitivity_is_a_positive_whole_number(name: str, sensitivity: Any) -> None:
    with pytest.raises(ParameterError):
        FACTORIES[name](Approximate(1, 1e-6), sensitivity=sensitivity)


@pytest.mark.parametrize("name", [name for name in FACTORIES if name != "choosing"])
def test_monotone_scores_exist_only_when_people_are_added(name: str) -> None:
    with pytest.raises(ParameterError, match="ADD_REMOVE"):
        FACTORIES[name](Approximate(1, 1e-6), monotone=True)
    with pytest.raises(ParameterError):
        FACTORIES[name](Approximate(1, 1e-6), monotone=1)
    with pytest.raises(ParameterError):
        FACTORIES[name](Approximate(1, 1e-6), relation="add_remove")
    made = FACTORIES[name](Approximate(1, 1e-6), monotone=True, relation=ADD_REMOVE)
    assert made.loss().relation is ADD_REMOVE
    assert made.loss().within(Approximate(1, 1e-6))


@pytest.mark.parametrize(
    "call",
    [
        lambda: select.choosing(Approximate(1, 1e-6), growth=0),
        lambda: select.choosing(Approximate(1, 1e-6), growth=1.5),
        lambda: select.choosing(Approximate(1, 1e-6), relation="replace_one"),
        lambda: truncated_cdp.obvious(Pure(1), candidates=1),
        lambda: truncated_cdp.obvious(Pure(1), candidates=0),
        lambda: truncated_cdp.obvious(Pure(1), candidates=True),
        lambda: truncated_cdp.obvious(Pure(1), candidates=4, method="fast"),
        lambda: truncated_cdp.obvious(Pure(1), candidates=4, failure=0),
        lambda: truncated_cdp.obvious(Pure(1), candidates=4, failure=float("nan")),
        lambda: truncated_cdp.obvious(Truncated(1, 1), candidates=4),
        lambda: select.top(Pure(1), count=0),
        lambda: select.top(Pure(1), count=2.0),
        lambda: select.top(Pure(1), count=2, cut=1.5),
        lambda: select.top(Pure(1), count=3)([1, 2, 3]),
        lambda: truncated_cdp.obvious(Pure(1), candidates=4)([1, 2, 3]),
        lambda: select.sparse_vector(Pure(1), positives=0),
        lambda: select.sparse_vector(Pure(1), positives=True),
        lambda: select.sparse_vector(Pure(1), positives=1, threshold=0.5),
        lambda: select.sparse_vector(Pure(1), positives=1, answers=1),
        lambda: select.sparse_vector(Pure(1), positives=1, answers=-0.1),
        lambda: select.sparse_vector(Pure(1), positives=1, answers=float("inf")),
        lambda: select.exponential(Pure(1)).error(1, 10),
        lambda: select.exponential(Pure(1)).error(0.9, 0),
        lambda: truncated_cdp.obvious(Pure(1), candidates=4, failure="0.1").gap("0.99"),
        lambda: Approximate(1, 0),
        lambda: Approximate(1, 1),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(call: Callable[[], Any]) -> None:
    with pytest.raises(ParameterError) as refusal:
        call()
    assert len(str(refusal.value)) > 25
    assert str(refusal.value).rstrip().endswith(".")


def test_the_exponential_buys_as_much_as_is_proved() -> None:
    assert select.exponential(Pure(1)).rate == Fraction(1, 2)
    assert select.exponential(Pure(1), sensitivity=3).rate == Fraction(1, 6)
    assert select.exponential(Pure(1), monotone=True, relation=ADD_REMOVE).rate == 1
    assert select.exponential(Concentrated("1/8")).rate == Fraction(1, 2)  # eps = sqrt(8 rho), bounded range
    assert select.exponential(Truncated("1/8", 5)).rate == Fraction(1, 2)
    assert select.exponential(Approximate(1, 1e-6)).rate == Fraction(1, 2)
    for spend in (Concentrated("0.07"), Truncated(9, 2), Approximate(1, "0.2")):
        pick = select.exponential(spend)
        assert not replace(pick, rate=pick.rate * Fraction(1001, 1000)).loss().within(spend)
    # A large delta buys more than its epsilon through the Rényi curve.
    assert select.exponential(Approximate(1, "0.2")).rate > Fraction(1, 2)


def test_permute_and_flip_is_priced_as_pure() -> None:
    pick = select.permute_and_flip(Concentrated("1/8"))
    assert pick.rate < select.exponential(Concentrated("1/8")).rate
    # k = 2, equal scores against a gap of two: beyond what an exponential mechanism would cost (QR:C-7).
    flip = select.permute_and_flip(Pure(1))
    report = audit.check(flip, [([0, 0], [1, -1])], claim=Cost.range_bounded(1))
    assert not report.ok
    assert audit.check(flip, [([0, 0], [1, -1])]).ok


def test_a_mechanism_that_costs_too_much_is_withheld() -> None:
    with pytest.raises(CertificationError):
        settle(select.exponential(Pure(2)), Pure(1))


def test_the_largest_spends_get_the_narrowest_noise() -> None:
    for name, make in FACTORIES.items():
        spend = Approximate(5000, 1e-6)
        assert make(spend).loss().within(spend), name


def test_sparse_vector_splits_best() -> None:
    one = select.sparse_vector(Pure(1), positives=4)
    first, second = 1 / one.threshold_scale, 8 / one.query_scale
    assert first + second == 1
    assert abs(second / first - 4) < Fraction(1, 50)  # (2c)^(2/3) = 4
    told = select.sparse_vector(Pure(1), positives=4, answers="1/2")
    assert told.answer_scale == 8
    assert told.loss().person.epsilon == 1


def test_top_takes_the_better_noise() -> None:
    assert type(select.top(Pure(1), count=3).law).__name__ == "DiscreteLaplace"
    assert type(select.top(Concentrated("0.1"), count=3).law).__name__ == "RoundedNormal"
    assert type(select.top(Truncated("0.1", "2.24"), count=3, candidates=2**64).law).__name__ == "SinhNormal"
    assert type(select.top(Truncated("0.1", 30), count=3, candidates=4).law).__name__ == "RoundedNormal"
    assert type(select.top(Approximate(1, 1e-6), count=20).law).__name__ != "DiscreteLaplace"
    # Half of the printed price: eps = 2 count/scale, rho = 2 count/variance.
    assert select.top(Pure(1), count=3).law.scale == 6
    assert select.top(Concentrated("0.1"), count=3).law.variance == 60
    with pytest.raises(ParameterError, match="must be one of"):
        from sfumato.noise import Geometric

        select.Top(count=1, law=Geometric(2), gap_sensitivity=2)
