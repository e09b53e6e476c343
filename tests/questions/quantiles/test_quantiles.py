"""Several quantiles at once: always an answer, in order, near the ranks, for every bound and relation."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp, factorial
from typing import Any

import numpy as np
import pyarrow
import pytest

import sfumato as sf
from sfumato import ADD_REMOVE, Approximate, Concentrated, Noise, Pure, Truncated, audit
from sfumato.errors import ParameterError, SchemaError, UnsupportedSpend
from sfumato.questions import Quantiles
from sfumato.questions.quantiles import JointQuantiles, QuantileFacts, choose_quantiles
from sfumato.questions.quantiles.choice import joint_rank_error
from sfumato.questions.quantiles.cuts import Chain
from sfumato.questions.quantiles.measure import Measure
from sfumato.questions.quantiles.rows import pair, spread
from sfumato.questions.quantiles.text_order import TextOrder
from sfumato.table import open_table
from sfumato.table.bounding import SCALE
from sfumato.table.gauge import Basis
from sfumato.table.schema import Schema
from tests.imputed import dates, fixed, integers, text

DECILES = tuple(Fraction(tenth, 10) for tenth in range(1, 10))
SPENDS = [Pure(1), Concentrated("0.1"), Truncated("0.1", 5), Approximate(1, "1e-6")]


def table(values: Any) -> Any:
    return np.unique(np.asarray(values), return_counts=True)


def parts(count: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(part, count + 1) for part in range(1, count + 1))


def off(values: Any, found: Any, chances: tuple[Fraction, ...]) -> list[float]:
    below, up_to = np.searchsorted(values, found, "left"), np.searchsorted(values, found, "right")
    wanted = [float(chance) * len(values) for chance in chances]
    return [max(low - rank, rank - high, 0) for low, high, rank in zip(below, up_to, wanted, strict=True)]


# The law


def brute_force(mechanism: JointQuantiles, values: list[int]) -> dict[tuple[int, ...], float]:
    """Return the law of one level without ties broken, by listing all sets of cuts."""
    shares, rows = mechanism.shares, len(values)
    measure, rate = Measure(mechanism.size, mechanism.zero), float(mechanism.rate((0, len(mechanism.probabilities))))
    found = {}
    for cuts in combinations_with_replacement(range(mechanism.size), len(mechanism.probabilities)):
        below = [0, *(sum(value < cut for value in values) for cut in cuts), rows]
        apart = sum(abs(sum(shares) * (below[j + 1] - below[j]) - share * rows) for j, share in enumerate(shares))
        room = np.prod([float(measure.weight_between(cut, cut + 1)) for cut in cuts])
        found[cuts] = exp(-rate * apart) * room / np.prod([factorial(cuts.count(cut)) for cut in set(cuts)])
    total = sum(found.values())
    return {cuts: weight / total for cuts, weight in found.items()}


@pytest.mark.parametrize(
    ("size", "chances", "values", "zero"),
    [
        (4, parts(2), [0, 3, 3], None),
        (3, parts(3), [0, 1, 1, 2, 2, 2], None),
        (5, (Fraction(1, 10), Fraction(9, 10)), [], None),
        (4, parts(4), [1, 2, 3, 3, 3, 3, 0], None),
        (6, parts(2), [1, 2, 5], 2),
        (7, parts(3), list(range(7)) * 3, -1),
    ],
)
def test_the_law_is_that_of_all_sets_of_cuts(size: int, chances: Any, values: list[int], zero: int | None) -> None:
    mechanism = JointQuantiles(
        size=size, probabilities=chances, epsilon=Fraction(2), fan=9, capacity=64, shift=0, zero=zero
    )
    law = audit.law(mechanism, table(np.array(values, np.int64)))
    expected = brute_force(mechanism, values)
    for cuts, mass in expected.items():
        assert float(law[cuts]) == pytest.approx(mass, rel=1e-12)


def test_blocks_change_nothing() -> None:
    """Gaps are found by blocks of them where there are many rows: sums over blocks are those of their gaps."""
    from sfumato.questions.quantiles import chain

    draw = np.random.default_rng(3)  # noqa: TID251
    rows = spread(np.arange(40), draw.integers(0, 4, 40), 8, Noise(insecure_seed=1))
    held = range(len(rows.keys))
    room = rows.room(held, 0, 40 << 8, Measure(40, 7))
    made = Chain.of(room, [2, 1, 3, 1], Fraction(1, 30), block=7)
    for cut, before, start in ((1, 0, 0), (2, 5, 6), (3, 20, 21), (3, 0, 1)):
        sums, sums_e = chain.blocks(cut, before, start, made.shape, made.sums)
        one, one_e = chain.gaps(cut, before, (start, len(held) + 1), made.shape, made.sums)
        total = np.zeros(len(sums))
        for place, (mantissa, exponent) in enumerate(zip(one, one_e, strict=True)):
            total[(start + place) // 7] += mantissa * 2.0 ** (256 * exponent)
        np.testing.assert_allclose(sums * 2.0 ** (256.0 * sums_e), total, rtol=1e-12)
    # What lies right of a gap is the sum over the gaps there.
    for before in (0, 9, 30):
        one, one_e = chain.gaps(2, before, (before + 1, len(held) + 1), made.shape, made.sums)
        after = made.sums[0][2, before] * 2.0 ** (256.0 * made.sums[1][2, before])
        assert (one * 2.0 ** (256.0 * one_e)).sum() == pytest.approx(after, rel=1e-12)


def test_one_changed_row_moves_a_sum_by_two_shares_at_most() -> None:
    draw = np.random.default_rng(5)  # noqa: TID251
    for _ in range(200):
        shares = draw.integers(1, 9, 5)
        values, cuts = np.sort(draw.integers(0, 50, 30)), np.sort(draw.integers(0, 50, 4))
        other = values.copy()
        other[draw.integers(30)] = draw.integers(0, 50)
        moved = abs(_apart(values, cuts, shares) - _apart(np.sort(other), cuts, shares))
        assert moved <= 2 * shares.sum()
        more = np.sort(np.append(values, draw.integers(0, 50)))
        assert abs(_apart(values, cuts, shares) - _apart(more, cuts, shares)) <= 2 * (shares.sum() - shares.min())


def _apart(values: Any, cuts: Any, shares: Any) -> int:
    counts = np.diff([0, *np.searchsorted(values, cuts), len(values)])
    return int(np.abs(shares.sum() * counts - shares * len(values)).sum())


# Always an answer


@pytest.mark.parametrize("method", ["auto", "joint", "halving", "split"])
@pytest.mark.parametrize("values", [[], [5], [5] * 1000, [0, 0, 999], list(range(1000)), [999] * 50 + [0]])
def test_there_is_always_an_answer_in_order(values: list[int], method: Any) -> None:
    facts = QuantileFacts(size=1000, probabilities=DECILES, units=1000)
    for spend in SPENDS:
        mechanism = choose_quantiles(facts, spend, method).mechanism
        assert mechanism.loss().within(spend)
        found = mechanism.run(table(np.array(values, np.int64)), Noise(insecure_seed=4))
        assert list(found) == sorted(found) and all(0 <= place < 1000 for place in found)


@pytest.mark.parametrize("bits", [1, 8, 63, 64, 200, 1100])
def test_domains_of_any_width(bits: int) -> None:
    draw = Noise(insecure_seed=bits)
    values = sorted(draw.uniform(1 << bits) for _ in range(600))
    places = np.array([*sorted(set(values)), None], object)[:-1]
    counts = np.array([values.count(place) for place in places])
    mechanism = choose_quantiles(
        QuantileFacts(size=1 << bits, probabilities=parts(3), units=600), Pure(3), "joint"
    ).mechanism
    found = mechanism.run((places, counts), Noise(insecure_seed=1))
    ranks = [sum(value < place for value in values) for place in found]
    tied = [sum(value <= place for value in values) for place in found]
    assert all(low - 60 <= rank <= high + 60 for low, high, rank in zip(ranks, tied, (150, 300, 450), strict=True))


def test_unsigned_and_long_integers_agree() -> None:
    values = np.array([3, 2**63 + 5, 2**64 - 1], np.uint64)
    mechanism = choose_quantiles(
        QuantileFacts(size=1 << 64, probabilities=parts(2), units=900), Pure(1), "joint"
    ).mechanism
    counts = np.array([300, 300, 300])
    first = mechanism.run((values, counts), Noise(insecure_seed=2))
    assert first == mechanism.run((values.astype(object), counts), Noise(insecure_seed=2))


def test_a_value_that_most_rows_share_is_their_quantile() -> None:
    draw = np.random.default_rng(1)  # noqa: TID251
    values = np.sort(np.concatenate([np.full(7000, 123_456), draw.integers(0, 2**40, 3000)]))
    for method in ("joint", "halving"):
        facts = QuantileFacts(size=1 << 40, probabilities=DECILES, units=10_000)
        mechanism = choose_quantiles(facts, Pure(1), method).mechanism
        found = mechanism.run(table(values), Noise(insecure_seed=9))
        assert found[1:6] == (123_456,) * 5, method
        assert max(off(values, found, DECILES)) < 200


# Errors


@pytest.mark.parametrize(("method", "most"), [("joint", 5.1), ("halving", 14.5), ("split", 18)])
def test_errors_are_as_expected_on_spread_values(method: Any, most: float) -> None:
    values = np.arange(4000) * 1000
    chosen = choose_quantiles(QuantileFacts(size=4_000_000, probabilities=DECILES, units=4000), Pure(1), method)
    noise = Noise(insecure_seed=11)
    runs = 12 if method == "split" else 40
    errors = [off(values, chosen.mechanism.run(table(values), noise), DECILES) for _ in range(runs)]
    assert chosen.expected == pytest.approx(most, rel=0.1)
    assert np.mean(errors) == pytest.approx(chosen.expected, rel=0.3)


def test_errors_hold_together_for_hard_data() -> None:
    """Values at both ends of a wide domain: nothing is harder for the exponential mechanism."""
    question = Quantiles("x", DECILES)
    setting = Basis(Schema({"x": integers(0, 2**50)}), 20_000)
    prepared = question.prepare(setting, Pure(1))
    values = np.sort(np.concatenate([np.arange(10_000), 2**50 - np.arange(10_000)]))
    noise, worst = Noise(insecure_seed=3), []
    for _ in range(20):
        released = prepared.finish(prepared.mechanism.run(table(values), noise))
        worst.append(max(off(values, released.part("code").released, DECILES)))
    (allowed,) = set(question.interval(released, Fraction(95, 100))["rank error"])
    assert max(worst) <= allowed < 1500
    assert released.made["method"] == "joint" and "together" in released.made["why"]


def test_small_numbers_in_a_wide_domain_are_found() -> None:
    """Half of the public weight is that of magnitudes, so that a domain of 2^63 does not drown a thousand incomes."""
    draw = np.random.default_rng(2)  # noqa: TID251
    values = np.sort(np.exp(draw.normal(10, 1, 1000)).astype(np.int64))
    mechanism = choose_quantiles(QuantileFacts(size=2**63, probabilities=DECILES, units=1000), Pure(1)).mechanism
    noise = Noise(insecure_seed=8)
    errors = [np.mean(off(values, mechanism.run(table(values), noise), DECILES)) for _ in range(10)]
    assert np.mean(errors) < 20


@pytest.mark.audit
def test_a_million_rows_are_no_trouble() -> None:
    values = np.arange(1_000_000) * 7
    mechanism = choose_quantiles(QuantileFacts(size=2**40, probabilities=DECILES, units=1_000_000), Pure(1)).mechanism
    found = mechanism.run((values, np.ones(len(values), np.int64)), Noise(insecure_seed=1))
    assert max(off(values, found, DECILES)) < 100


# Choice


def test_the_method_is_chosen_by_public_numbers() -> None:
    def method(count: int, spend: Any, **options: Any) -> str:
        facts = {"size": 2**64, "units": 10_000, **options}
        return choose_quantiles(QuantileFacts(probabilities=parts(count), **facts), spend).method

    assert method(1, Pure(1)) == "split"
    assert method(9, Pure(1)) == method(99, Pure(1)) == method(9, Approximate(1, 1e-6)) == "joint"
    assert method(1000, Pure(1)) == method(99, Concentrated(0.1)) == "halving"
    assert method(9, Pure(1), units=2) == "split", "no method can do better than two rows"
    assert method(9, Pure("1e-12"), units=10**6) == "split", "rounding would cost more than there is"


def test_many_quantiles_cost_hardly_more_than_one() -> None:
    one = choose_quantiles(QuantileFacts(size=2**32, probabilities=parts(1), units=10**5), Pure(1)).expected
    nine = choose_quantiles(QuantileFacts(size=2**32, probabilities=DECILES, units=10**5), Pure(1)).expected
    assert nine < 3 * one


@pytest.mark.parametrize("spend", SPENDS)
@pytest.mark.parametrize("relation", [None, ADD_REMOVE])
def test_losses_are_within_every_spend(spend: Any, relation: Any) -> None:
    options = {"units": 5000} if relation is None else {"relation": relation}
    for count in (2, 9, 40):
        for weight, scale in ((1, 1), (6, 2)):
            facts = QuantileFacts(size=2**30, probabilities=parts(count), weight=weight, scale=scale, **options)
            for method in ("auto", "joint", "halving"):
                assert choose_quantiles(facts, spend, method).mechanism.loss().within(spend)


@pytest.mark.parametrize("units", [None, 5000 * SCALE])
def test_rows_in_a_million_parts_are_not_listed(units: int | None) -> None:
    """A few thousand rows would fill the memory, after they were paid for."""
    facts = QuantileFacts(size=100, probabilities=DECILES, weight=2 * SCALE, scale=SCALE, units=units)
    assert choose_quantiles(facts, Pure(1)).method == "split"
    for method in ("joint", "halving"):
        with pytest.raises(ParameterError, match="method='split'"):
            choose_quantiles(facts, Pure(1), method)


def test_more_rows_than_rounding_is_paid_for_are_not_drawn_from() -> None:
    mechanism = JointQuantiles(size=9, probabilities=parts(3), epsilon=Fraction(1), fan=3, capacity=4, shift=0)
    with pytest.raises(MemoryError):
        mechanism.run((np.array([1, 2]), np.array([3, 2])), Noise(insecure_seed=1))


def test_a_level_of_medians_costs_one_of_outer_quantiles_nearly_two() -> None:
    def cost(*chances: Fraction) -> Fraction:
        mechanism = JointQuantiles(size=9, probabilities=chances, epsilon=Fraction(1), fan=1, capacity=1, shift=0)
        return mechanism.loss().person.epsilon

    assert 2 <= cost(*parts(3)) < Fraction(2001, 1000)
    assert Fraction(28, 10) <= cost(Fraction(1, 20), Fraction(1, 2), Fraction(19, 20)) < Fraction(2801, 1000)


def test_bad_input_is_refused_with_what_to_write() -> None:
    with pytest.raises(ParameterError, match="'joint'"):
        Quantiles("x", method="best")  # type: ignore[arg-type]
    facts = QuantileFacts(size=10, probabilities=DECILES, units=10)
    with pytest.raises(ParameterError, match="no method"):
        choose_quantiles(facts, Pure(1), "best")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedSpend, match="above zero"):
        choose_quantiles(facts, Pure(0))
    with pytest.raises(UnsupportedSpend, match="split"):
        choose_quantiles(QuantileFacts(size=10, probabilities=DECILES, units=10**6), Pure("1e-12"), "joint")
    with pytest.raises(ParameterError, match="bare number"):
        choose_quantiles(facts, 1)  # type: ignore[arg-type]


# Pieces


def test_measures_weigh_magnitudes_alike() -> None:
    measure = Measure(2**40, 0)
    octaves = [measure.weight_between(1 << bit, 2 << bit) for bit in range(39)]
    assert max(octaves[:30]) < 2 * min(octaves[:30])
    assert measure.weight_between(0, 2**40) < 3 * 2**40
    for zero in (-5, 0, 3, 40):
        small = Measure(30, zero)
        assert sum(small.weight_between(place, place + 1) for place in range(30)) == small.weight_between(0, 30)
        assert small.weight_between(3, 17, 1) * 4 == small.weight_between(12, 68, 4)
        mirrored = Measure(30, 29 - zero)
        assert [small.weight_between(p, p + 1) for p in range(30)] == [
            mirrored.weight_between(29 - p, 30 - p) for p in range(30)
        ]
    drawn = [Measure(30, 3).draw(2, 9, Noise(insecure_seed=seed)) for seed in range(50)]
    assert set(drawn) <= set(range(2, 9)) and len(set(drawn)) > 3


def test_room_is_exact_for_every_width() -> None:
    draw = Noise(insecure_seed=6)
    for size in (50, 2**40, 2**63):
        values = np.unique(np.array([draw.uniform(size) for _ in range(30)], np.uint64)).astype(np.int64)
        measure = Measure(size, size // 3)
        rows = spread(values, np.full(len(values), 2), 20, Noise(insecure_seed=2))
        held = range(len(rows.keys))
        mantissas, exponents = rows.room(held, 0, size << 20, measure)
        for gap in range(len(held) + 1):
            exact = measure.weight_between(*rows.gap(held, gap, 0, size << 20), 1 << 20)
            assert mantissas[gap] == pytest.approx(exact / (1 << 256 * int(exponents[gap])), rel=1e-15)
    assert pair(0) == (0.0, 0)


def test_texts_keep_their_order() -> None:
    order = TextOrder(5)
    texts = sorted(["", "a", "aa", "ab", "b", "é", "zzzzz", "a\x00", "naï"], key=lambda word: word.encode())
    assert [order.text(order.place(word)) for word in texts] == texts
    assert [order.place(word) for word in texts] == sorted(order.place(word) for word in texts)
    for place in (0, order.size - 1, *(Noise(insecure_seed=seed).uniform(order.size) for seed in range(50))):
        assert order.place(order.text(place)) <= place


def test_columns_of_every_kind_have_quantiles() -> None:
    import pyarrow

    words = ["ant", "bee", "cat", "dog", None]
    frame = pyarrow.table(
        {
            "whole": [*range(400), None],
            "real": [place / 7 for place in range(400)] + [float("nan")],
            "day": [f"20{place % 30:02d}-01-01" for place in range(401)],
            "word": [words[place % 5] for place in range(401)],
        }
    )
    schema = Schema(
        {
            "whole": integers(0, 2**62),
            "real": fixed(0, 100, step="0.01"),
            "day": dates("2000-01-01", "2030-12-31"),
            "word": text(max_bytes=8),
        }
    )
    with open_table(frame, schema) as opened:
        setting = Basis(schema, opened.people)
        for column in schema.names:
            prepared = Quantiles(column, parts(3)).prepare(setting, Pure(20))
            raw = prepared.mechanism.run(prepared.exact(opened), Noise(insecure_seed=1))
            released = prepared.finish(raw)
            values = [cell[1] for cell in released.cells]
            assert values == sorted(values), column
            if column == "word":
                assert [value[:3] for value in values] == ["ant", "bee", "cat"]
            if column == "whole":
                assert all(abs(value - rank) < 30 for value, rank in zip(values, (100, 200, 300), strict=True))


def test_bounds_of_rank_grow_with_the_domain_and_never_pass_the_rows() -> None:
    bound = joint_rank_error(2**64, Fraction(1, 2), 10**6, [9], 0.95)
    assert joint_rank_error(2**32, Fraction(1, 2), 10**6, [9], 0.95) < bound
    assert joint_rank_error(2**64, Fraction(1, 2), 10**6, [9, 9], 0.95) > 1.9 * bound
    assert joint_rank_error(2**64, Fraction(1, 2), 100, [9], 0.95) == 100


def test_a_missing_compiler_is_noticed_before_anything_is_reserved():
    code = """
import sys
sys.modules["numba"] = None
import pyarrow, sfumato as sf
rows = pyarrow.table({"age": list(range(100)) * 20})
with sf.curate(rows, sf.Schema({"age": sf.integers(0, 99)}), sf.Pure(9)) as curator:
    try:
        curator.quantiles("age", [0.1, 0.5, 0.9], method="joint", spend=sf.Pure(1))
    except ImportError as missing:
        print(missing.name, len(list(curator.ledger.history())))
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["numba", "0"]


def test_categories_have_no_median_and_nothing_is_paid_for_one() -> None:
    """A median of own, rent and free was answered with "own", and charged."""
    rows = pyarrow.table({"home": ["own", "rent"] * 50, "mark": [1, 5] * 50, "grade": [1, 3] * 50})
    columns = {
        "home": sf.categories("rent", "own", "free"),
        "mark": sf.categories(1, 5),
        "grade": sf.categories(1, 2, 3, other=1, missing=1),
    }
    with sf.curate(rows, sf.Schema(columns), Pure(5)) as curator:
        for asked in (
            lambda: curator.median("home", spend=Pure(1)),
            lambda: curator.quantiles("home", by="mark", spend=Pure(1)),
            lambda: curator.preview(Quantiles("home"), Pure(1)),
        ):
            with pytest.raises(SchemaError, match=r"'home' lists categories, which have no order.*ask for a histogram"):
                asked()
        with pytest.raises(SchemaError, match="declare it as whole numbers"):  # 'other' stands behind 1 and 5
            curator.median("mark", spend=Pure(1))
        assert not curator.ledger.history()
        assert curator.median("grade", spend=Pure(1)).value["grade"][0] in (1, 2, 3)
