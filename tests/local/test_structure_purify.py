"""From approximate to pure: the exact loss, outcomes as if the randomizer had sent them, and what breaks nothing."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest

from sfumato import Approximate, Concentrated, Noise, Pure
from sfumato.errors import NotProvable, ParameterError, UnsupportedSpend
from sfumato.local import Seed
from sfumato.local.coins import COIN
from sfumato.local.structure import GaussianReference, PureReport, TableReference, gaussian_reference, pure_report

SEED = Seed(bytes(range(32)))


def coin(chance: Fraction) -> TableReference:
    return TableReference({"no": [1 - chance, chance], "yes": [chance, 1 - chance]}, reference="no")


def chance_of(place, chances):
    """The chance that a place is sent, by running through all sets of kept outcomes."""
    total = 0.0
    for kept in product((0, 1), repeat=len(chances)):
        mass = math.prod(p if k else 1 - p for p, k in zip(chances, kept, strict=True))
        total += mass * (kept[place] / sum(kept) if any(kept) else 1 / len(chances))
    return total


@pytest.mark.parametrize("choices", [1, 2, 3, 5])
@pytest.mark.parametrize("epsilon", ["0.05", "0.2", "0.3"])
def test_the_loss_is_the_worst_ratio_over_all_chances_within_the_clamp(choices, epsilon):
    made = pure_report(coin(Fraction(1, 3)), Approximate(epsilon, 1e-9), 10, 0.1, seed=SEED)
    made = replace(made, choices=choices)
    edges = made.low / COIN, made.high / COIN
    found = [chance_of(0, chances) for chances in product(edges, repeat=choices)]
    loss = float(made.loss().person.epsilon)
    assert loss == pytest.approx(math.log(max(found) / min(found)), abs=1e-10)
    assert loss <= 8 * float(epsilon)


def test_the_loss_grows_to_eight_or_four_epsilons_and_not_above():
    approximate = pure_report(coin(Fraction(2, 5)), Approximate("0.2", 1e-12), 10**5, 1e-3, seed=SEED)
    pure = pure_report(coin(Fraction(2, 5)), Pure("0.2"), 10**5, 1e-3, seed=SEED)
    assert 1.59 < approximate.loss().person.epsilon <= 1.6
    assert 0.79 < pure.loss().person.epsilon <= 0.8


def test_the_number_of_choices_reaches_the_failure_where_print_does_not():
    claim = Approximate("0.25", 1e-15)
    made = pure_report(coin(Fraction(1, 2)), claim, 10**5, 1e-3, seed=SEED)
    assert made.choices == 53 and made.report_bits == 6
    assert made.distance(claim, 10**5) <= Fraction(1, 1000)
    printed = replace(made, choices=math.ceil(2 * math.log(2e5 / 1e-3)))
    assert printed.distance(claim, 10**5) > Fraction(5, 100)
    with pytest.raises(NotProvable, match="smaller delta"):
        made.distance(Approximate("0.25", 1e-6), 10**5)


def test_outcomes_of_a_table_are_as_if_its_randomizer_had_sent_them():
    epsilon = Fraction("0.34")
    chance = Fraction(math.ceil(1e9 / (1 + math.exp(0.34))), 10**9)
    made = pure_report(coin(chance), Pure(epsilon), 4000, 0.01, seed=SEED)
    noise = Noise(insecure_seed=4)
    for value, expected in (("yes", float(1 - chance)), ("no", float(chance))):
        ones = sum(made.outcome(user, made.run((user, value), noise)) for user in range(400))
        assert abs(ones / 400 - expected) < 3.5 * 0.5 / math.sqrt(400)
        # Signal and no signal lie nearly 7 standard errors apart, so this is a test of the ratios too.
    assert made.distance(Pure(epsilon), 4000) <= Fraction(1, 100)


def test_outcomes_of_normal_noise_are_normal_around_the_value():
    reference = GaussianReference(radius=1.0, deviation=5.0)
    made = pure_report(reference, Approximate("0.3", 1e-9), 1000, 0.01, seed=SEED)
    noise, count = Noise(insecure_seed=8), 700
    seen = np.sort([made.outcome(user, made.run((user, 3.0), noise))[0] for user in range(count)])
    steps = np.arange(1, count + 1) / count

    def gap(mean):
        law = NormalDist(mean, 5)
        return max(abs(law.cdf(float(x)) - step) for x, step in zip(seen, steps, strict=True))

    assert gap(1.0) < 1.5 / math.sqrt(count), "a value beyond the radius is shortened to it"
    assert gap(0.0) > 1.5 / math.sqrt(count)


def test_many_dimensions_fit_a_few_bits():
    claim = Approximate("0.2", 1e-12)
    made = pure_report(gaussian_reference(claim, radius=1, dimensions=64), claim, 10_000, 0.01, seed=SEED)
    report = made.run((5, [0.1] * 64), Noise(insecure_seed=1))
    assert 0 <= report < made.choices < 64
    assert len(made.outcome(5, report)) == 64 and made.outcome(5, report) == made.outcome(5, report)


@pytest.mark.parametrize("value", [None, "text", math.nan, math.inf, -math.inf, 1e308, [1, 2, 3], {}, object()])
def test_a_value_never_raises(value):
    made = replace(pure_report(GaussianReference(1.0, 5.0), Approximate("0.2", 1e-9), 10, 0.1, seed=SEED), choices=8)
    assert 0 <= made.run((0, value), Noise(insecure_seed=1)) < 8
    assert all(made.low <= made._chance(0, value, place) * COIN <= made.high for place in range(8))


def test_developers_see_what_devices_hide():
    made = pure_report(GaussianReference(1.0, 5.0, 2), Approximate("0.2", 1e-9), 10, 0.1, seed=SEED)
    made.check([0.1, 0.2])
    chances = [[made._chance(0, value, place) for place in range(9)] for value in ([0.3, 0.9], np.array([0.3, 0.9]))]
    assert chances[0] == chances[1] and len(set(chances[0])) > 1
    with pytest.raises(ValueError, match="zip"):
        made.check([0.1])
    with pytest.raises(ParameterError, match="finite"):
        made.check([math.nan, 0.0])


def test_a_ratio_at_the_edge_is_kept_and_one_beyond_is_not():
    made = pure_report(
        coin(Fraction(1, 3)), Pure(Fraction(math.ceil(math.log(2) * 1e12), 10**12)), 10, 0.1, base="1/3", seed=SEED
    )
    place = next(place for place in range(9) if made.outcome(0, place) == 1)
    assert made._chance(0, "yes", place) * COIN == pytest.approx(2 * made.base)
    narrow = replace(made, high=made.base + made.base // 2)
    assert narrow._chance(0, "yes", place) * COIN == made.base


def test_the_public_record_is_json():
    made = pure_report(coin(Fraction(1, 3)), Pure("0.2"), 10, 0.1, seed=SEED)
    assert json.loads(json.dumps(made.event().to_json()))["parameters"]["seed"] == SEED.value.hex()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: pure_report(coin(Fraction(1, 3)), Approximate(1, 1e-6), 10, 0.1), ParameterError, "base="),
        (lambda: pure_report(coin(Fraction(1, 3)), Concentrated(1), 10, 0.1), UnsupportedSpend, "Approximate"),
        (lambda: pure_report(coin(Fraction(1, 3)), Pure("0.1"), 0, 0.1), ParameterError, "at least 1"),
        (lambda: pure_report(coin(Fraction(1, 3)), Pure("0.1"), 10, 0), ParameterError, "strictly between"),
        (lambda: pure_report(object(), Pure("0.1"), 10, 0.1), ParameterError, "Reference"),
        (
            lambda: PureReport(reference=coin(Fraction(1, 3)), seed=SEED, choices=0, low=1, base=1, high=1),
            ParameterError,
            "at least 1",
        ),
        (
            lambda: PureReport(reference=coin(Fraction(1, 3)), seed=SEED, choices=2, low=3, base=1, high=1),
            ParameterError,
            "low",
        ),
        (lambda: TableReference({"a": [1]}, reference="b"), ParameterError, "reference"),
        (lambda: TableReference({"a": [1], "b": ["1/2", "1/2"]}, reference="a"), ParameterError, "add up to 1"),
        (lambda: GaussianReference(1.0, 0.0), ParameterError, "above zero"),
        (lambda: gaussian_reference(Pure(1), 1), UnsupportedSpend, "Approximate"),
    ],
)
def test_refusals_say_what_to_write(call, error, words):
    with pytest.raises(error, match=words):
        call()
