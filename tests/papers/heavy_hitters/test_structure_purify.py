"""From approximate to pure: the exact loss, outcomes as if the randomizer had sent them, and what breaks nothing."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest

from sfumato import Approximate, Concentrated, Noise, Pure
from sfumato.errors import NotProvable, ParameterError, UnsupportedSpend
from sfumato.local import Seed
from sfumato.papers.heavy_hitters.structure import (
    GaussianReference,
    PureReport,
    TableReference,
    gaussian_reference,
    pure_report,
)
from sfumato.papers.heavy_hitters.structure.purify import MOST_CHOICES
from sfumato.privacy.coins import COIN

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


def test_the_number_of_choices_reaches_the_failure_and_is_below_that_in_print():
    for claim in (Pure("0.5"), Approximate("0.25", 1e-15)):
        made = pure_report(coin(Fraction(1, 2)), claim, 10**5, 1e-3, seed=SEED)
        assert made.choices == 28 == math.ceil(math.log2(2e5 / 1e-3)) and made.report_bits == 5
        assert made.distance(claim, 10**5) <= Fraction(1, 1000)
        assert replace(made, choices=26).distance(claim, 10**5) > Fraction(1, 1000)
        printed = replace(made, choices=math.ceil(2 * math.log(2e5 / 1e-3)))
        assert printed.choices == 39 and printed.distance(claim, 10**5) < Fraction(1, 10**6)


def test_a_large_delta_is_counted_and_only_a_hopeless_one_refused():
    made = pure_report(coin(Fraction(1, 2)), Approximate("0.25", 1e-7), 10**5, 1e-3, seed=SEED)
    assert Fraction(1, 10) < made.distance(Approximate("0.25", 1e-7), 10**5) < Fraction(1, 9)
    assert made.distance(Approximate("0.25", "0.01"), 10**5) == 1
    with pytest.raises(NotProvable, match="smaller delta"):
        pure_report(coin(Fraction(1, 2)), Approximate("0.25", "0.2"), 10, 0.1, seed=SEED)


def test_a_report_says_nothing_about_a_wider_claim_than_its_own():
    made = pure_report(coin(Fraction(1, 2)), Approximate("0.2", 1e-9), 10, 0.1, base="1/3", seed=SEED)
    assert made.distance(Pure("0.4"), 10) <= Fraction(1, 10)
    for claim in (Approximate("0.201", 1e-9), Pure("0.401")):
        with pytest.raises(NotProvable, match="smaller epsilon"):
            made.distance(claim, 10)


@dataclass(frozen=True, kw_only=True)
class Given(PureReport):
    """A report about a list that is given, in place of one from the seed."""

    outcomes: tuple[int, ...]

    def outcome(self, user, place):
        return self.outcomes[place]


def exact_law(made, value, alphabet):
    """The law of what the server reads, over all lists and kept sets: where something was kept, and where nothing."""
    reference = made.reference.chances[made.reference.reference]
    laws = [[Fraction(0)] * alphabet for _ in range(2)]
    parts = {part.name: getattr(made, part.name) for part in fields(PureReport)}
    for outcomes in product(range(alphabet), repeat=made.choices):
        listed = math.prod((reference[outcome] for outcome in outcomes), start=Fraction(1))
        here = Given(**parts, outcomes=outcomes)
        chances = [here._chance(0, value, place) for place in range(made.choices)]
        for kept in product((0, 1), repeat=made.choices):
            mass = math.prod((p if k else 1 - p for p, k in zip(chances, kept, strict=True)), start=listed)
            pool = [place for place in range(made.choices) if kept[place]] or range(made.choices)
            for place in pool:
                laws[not any(kept)][outcomes[place]] += mass / len(pool)
    return laws


def apart(first, second):
    return sum(abs(p - q) for p, q in zip(first, second, strict=True)) / 2


def leak(first, second, epsilon):
    return sum(max(Fraction(0), p - Fraction(math.exp(epsilon)) * q) for p, q in zip(first, second, strict=True))


TABLES = {
    "coin": {"no": ["0.55", "0.45"], "yes": ["0.45", "0.55"]},
    "three": {"a": ["0.5", "0.3", "0.2"], "b": ["0.45", "0.31", "0.24"], "c": ["0.56", "0.26", "0.18"]},
    "rare": {"a": ["0.6", "0.38", "0.02"], "b": ["0.58", "0.42", "0"], "c": ["0.52", "0.38", "0.1"]},
    "much": {"a": ["0.5", "0.4", "0.1"], "b": ["0.45", "0.35", "0.2"], "c": ["0.56", "0.4", "0.04"]},
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("choices", [1, 2, 3, 4])
@pytest.mark.parametrize("base", ["1/2", "1/5"])
def test_outcomes_are_as_close_as_stated_by_exact_enumeration(table, choices, base):
    """C-APX2PURE: every list, every set of kept outcomes, every input, in fractions; pure and approximate tables."""
    made = TableReference(TABLES[table], reference=next(iter(TABLES[table])))
    rows, reference = made.chances, made.chances[made.reference]
    for epsilon in (0.25, 0.3):
        delta = max(leak(*pair, epsilon) for row in rows.values() for pair in ((row, reference), (reference, row)))
        claim = Approximate(str(epsilon), delta * Fraction(10**9 + 1, 10**9)) if delta else Pure(str(epsilon))
        assert bool(delta) == (table in ("rare", "much"))
        report = replace(pure_report(made, claim, 10, 0.1, base=base, seed=SEED), choices=choices)
        endless = replace(report, choices=MOST_CHOICES).distance(claim, 1)
        for value, row in rows.items():
            some, none = exact_law(report, value, len(row))
            nothing = sum(none)
            assert sum(some) + nothing == 1
            assert apart([p + q for p, q in zip(some, none, strict=True)], row) <= report.distance(claim, 1)
            assert nothing <= report.distance(claim, 1)
            # What was kept has its law up to the delta, exactly without one, and nothing is kept as the base says.
            assert apart([p / (1 - nothing) for p in some], row) <= endless
            assert delta or abs(nothing - (1 - Fraction(report.base, COIN)) ** choices) <= Fraction(2 * choices, COIN)


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
