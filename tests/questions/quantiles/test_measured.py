"""Measured rank errors (MD-QBAR): what one row moves, what is stated, how often it holds, and what it costs."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import ADD_REMOVE, Approximate, Concentrated, Noise, Pure, Truncated
from sfumato.answer import NoisyPart, Released, one_sided_width
from sfumato.errors import ParameterError
from sfumato.noise import DiscreteLaplace
from sfumato.questions import Quantiles, question_from_json
from sfumato.questions.quantiles import JointQuantiles
from sfumato.questions.quantiles.values import HIGHEST, LOWEST, ROWS, between
from sfumato.table.gauge import Basis
from sfumato.table.schema import Schema
from sfumato.totals.rank_error import PART, MeasuredCuts, farthest, is_measured, stated_error
from tests.imputed import integers

DECILES = tuple(Fraction(tenth, 10) for tenth in range(1, 10))
LEVEL = Fraction(95, 100)
SCHEMA = Schema({"x": integers(0, 10**9)})
SPENDS = [Pure(1), Concentrated("0.1"), Truncated("0.1", 5), Approximate(1, "1e-6"), Pure(1).per_attribute()]


def table(values: Any) -> Any:
    return np.unique(np.asarray(values, np.int64), return_counts=True)


def test_one_row_moves_the_error_by_one_at_most_and_does_so() -> None:
    """All tables of up to three rows over three values, all pairs of cuts, replaced, added and removed."""
    chances = [(Fraction(1, 3), Fraction(2, 3)), (Fraction(0), Fraction(29, 100)), (Fraction(1, 2), Fraction(1))]
    most = {"replaced": 0, "more": 0}
    for parts, cuts in product(chances, combinations_with_replacement(range(3), 2)):
        found = {
            rows: farthest(*table(rows), cuts, parts)
            for count in range(5)
            for rows in combinations_with_replacement(range(3), count)
        }
        for rows, error in found.items():
            for place, value in product(range(len(rows)), range(3)):
                other = tuple(sorted((*rows[:place], *rows[place + 1 :], value)))
                most["replaced"] = max(most["replaced"], abs(found[other] - error))
            for place in range(len(rows)):
                most["more"] = max(most["more"], abs(found[rows[:place] + rows[place + 1 :]] - error))
    assert most == {"replaced": 1, "more": 1}


def test_probabilities_are_exact_and_no_rows_have_no_error() -> None:
    # In floating point 0.29 · 100 is a little less than 29.
    assert farthest(*table(range(100)), [28], [Fraction(29, 100)]) == 0
    assert farthest(*table(range(100)), [27], [Fraction(29, 100)]) == 1
    assert farthest(*table([]), [5], [Fraction(1, 2)]) == 0
    assert farthest(*table([7] * 10), [7], [Fraction(1, 2)]) == 0
    assert farthest(np.array([1, 9]), np.array([5, 6]), [9], [Fraction(0)], scale=4) == 2


def test_golden_margins() -> None:
    assert one_sided_width(DiscreteLaplace("12.5"), LEVEL) == 29
    assert one_sided_width(DiscreteLaplace("1.25"), LEVEL) == 3
    miss = float(DiscreteLaplace("12.5").tail(29))
    assert miss == pytest.approx(0.04717, abs=1e-5)
    assert float(DiscreteLaplace("12.5").tail(28)) > 0.05, "a margin of one less would fail"


@pytest.mark.parametrize("level", [LEVEL, 1 - (1 - LEVEL) / 5])
def test_no_luck_of_the_noise_states_less_than_the_noise_can_hide(level: Fraction) -> None:
    """A group of 44 rows with an error of 22 was shown with 0, because the noise had taken much away."""
    law = DiscreteLaplace("12.5")
    width = one_sided_width(law, level)

    def stated(measured: int) -> int:
        return stated_error(Released((NoisyPart(PART, (measured,), law),), (), ()), level)

    assert [stated(measured) for measured in (-400, -width, -1, 0, 1, 50)] == [width] * 4 + [width + 1, width + 50]
    for error in (0, 1, 22, 300):  # exactly, from the law: the statement fails no more often than it says
        fails = sum(float(law.mass(noise)) for noise in range(-800, 1) if stated(error + noise) < error)
        assert fails <= float(1 - level) + 1e-12


@pytest.mark.parametrize("relation", [sf.REPLACE_ONE, ADD_REMOVE])
@pytest.mark.parametrize("spend", SPENDS, ids=repr)
def test_cuts_and_measurement_together_fit_every_spend(spend: Any, relation: Any) -> None:
    prepared = Quantiles("x", DECILES).prepare(Basis(SCHEMA, 1000, relation), spend)
    mechanism = prepared.mechanism
    assert isinstance(mechanism, MeasuredCuts)
    assert prepared.loss().within(spend)
    assert not mechanism.cuts.loss().person.is_zero and not mechanism.error.loss().person.is_zero
    if spend == Pure(1):
        assert mechanism.error.loss().person.epsilon == Fraction(8, 100)
        assert mechanism.error.loss().at("x").epsilon == Fraction(8, 100), "one attribute is no two people here"
    whole = Quantiles("x", DECILES, measured=False).prepare(Basis(SCHEMA, 1000, relation), spend)
    assert isinstance(whole.mechanism, JointQuantiles)
    assert float(whole.mechanism.epsilon) < 1.12 * float(mechanism.cuts.epsilon)  # type: ignore[attr-defined]


@pytest.mark.audit
def test_what_is_stated_holds_as_often_as_it_says_whatever_the_data() -> None:
    question = Quantiles("x", DECILES)
    prepared = question.prepare(Basis(SCHEMA, 300), Pure(1))
    noise = Noise(insecure_seed=5)
    for values in ([4] * 300, [0] * 150 + [10**9] * 150, list(range(300))):
        exact = table(values)
        held, stated = 0, []
        for _ in range(120):
            raw = prepared.mechanism.run(exact, noise)
            (said,) = set(question.interval(prepared.finish(raw), LEVEL)["rank error"])
            held += farthest(*exact, raw[:-1], DECILES) <= said
            stated.append(said)
        assert held >= 102, "of 120 some 114 hold; 102 has a chance below 1e-6"
        assert max(stated) <= 300


def test_a_narrow_column_keeps_its_whole_spend() -> None:
    narrow = Quantiles("x", [0.5]).prepare(Basis(Schema({"x": integers(0, 99)}), 1000), Pure(1))
    assert not isinstance(narrow.mechanism, MeasuredCuts) and not is_measured(narrow.finish((50,)))
    wide = Quantiles("x", [0.5]).prepare(Basis(SCHEMA, 1000), Pure(1))
    assert isinstance(wide.mechanism, MeasuredCuts) and wide.mechanism.error.loss().person.epsilon == Fraction(1, 10)


def test_a_person_of_three_rows_moves_it_by_three_rows() -> None:
    schema = Schema({"x": integers(0, 10**9)}, person="id", rows_per_person=3)
    mechanism = Quantiles("x", [0.5]).prepare(Basis(schema, 1000), Pure(1)).mechanism
    assert isinstance(mechanism, MeasuredCuts)
    assert mechanism.error.sensitivity.l1 == 3 and mechanism.scale == 2**20


def test_a_ledger_of_an_earlier_version_goes_on_as_it_was() -> None:
    question = Quantiles("x", DECILES)
    before = question.prepare(Basis(SCHEMA, 1000, rank_errors=False), Pure(1))
    assert isinstance(before.mechanism, JointQuantiles) and before.mechanism.loss().person.epsilon <= 1
    assert "measured" not in question.to_json(), "what was asked before is found by the same form"
    unmeasured = Quantiles("x", DECILES, measured=False)
    assert question_from_json(unmeasured.to_json(), SCHEMA) == unmeasured.canonical(SCHEMA)


def test_through_a_curator_and_bad_input() -> None:
    rows = pyarrow.table({"x": [int(v) for v in Noise(insecure_seed=2).geometric(15_000, 2000)]})
    curator = sf.curate(rows, SCHEMA, Pure(4))
    answer = curator.quantiles("x", DECILES, spend=Pure(1))
    assert answer.interval()["rank error"][0] < 150
    assert curator.quantiles("x", DECILES, spend=Pure(1)).reused
    assert "more where many rows share a value" in answer.released.made["why"]
    with pytest.raises(ParameterError, match="True or False"):
        Quantiles("x", DECILES, measured="yes")  # type: ignore[arg-type]


def test_a_condition_that_few_rows_may_fulfil_says_from_how_many_on_a_value_means_anything():
    rows = pyarrow.table({"pay": list(range(5000)), "ward": ["a"] * 4990 + ["b"] * 10})
    schema = Schema({"pay": integers(0, 10_000), "ward": sf.categories("a", "b", missing="a")})
    with sf.curate(rows, schema, Pure(4)) as curator:
        few = curator.median("pay", "ward = 'b'", spend=Pure(2))
        (error,) = few.interval(0.95)["rank error"]
        assert f"Where fewer than {2 * error:,} rows fulfil the condition, the values tell nothing" in str(few)
        assert "tell nothing" not in str(curator.median("pay", spend=Pure(2))), "every cell counts"


@pytest.mark.parametrize("filled", [False, True])
def test_cells_that_may_be_unreadable_are_spoken_of_where_a_value_is_shown(filled: bool) -> None:
    """Not one cell can be read here, and a number stood there without a word."""
    pay = sf.integers(0, 10_000, missing=4) if filled else sf.integers(0, 10_000)
    with sf.curate(pyarrow.table({"pay": ["1,5"] * 5000}), Schema({"pay": pay}), Pure(4)) as curator:
        answer = curator.median("pay", spend=Pure(2))
        (error,) = answer.interval(0.95)["rank error"]
        said = f"Where fewer than {2 * error:,} of these cells can be read, the values tell nothing."
        assert (said in str(answer)) is not filled
        shown = str(curator.sql("SELECT MEDIAN(pay) FROM data", spend=Pure(2)))
        assert ("of these cells can be read, the values tell nothing." in shown) is not filled


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=40),
    st.lists(st.integers(0, 12), min_size=1, max_size=6),
    st.lists(st.fractions(0, 1, max_denominator=50), min_size=6, max_size=6, unique=True),
    st.integers(0, 3),
)
def test_true_quantiles_lie_between_the_values_whatever_data_and_cuts(values, cuts, chances, more):
    cuts, parts = sorted(cuts), sorted(chances[: len(cuts)])
    error = farthest(*table(values), cuts, parts) + more
    facts = {ROWS: Fraction(len(values)), LOWEST: Fraction(0), HIGHEST: Fraction(12)}
    found = between(list(zip(parts, cuts, strict=True)), facts, error)
    for place, chance in enumerate(parts):
        true = min(one for one in range(13) if sum(value <= one for value in values) >= chance * len(values))
        if found is not None:
            assert found[0][place] <= true <= found[1][place]


def test_values_have_an_interval_where_the_number_of_rows_is_public() -> None:
    rows = pyarrow.table({"x": [1000 * value for value in range(4000)]})
    with sf.curate(rows, SCHEMA, Pure(20)) as curator:
        answer = curator.quantiles("x", DECILES, spend=Pure(2))
        ends = answer.interval("0.9999")
        for low, high, chance in zip(ends["x, low"], ends["x, high"], DECILES, strict=True):
            assert low <= 1000 * (math.ceil(chance * 4000) - 1) <= high
        assert ends["x, low"][4] > 0 and ends["x, high"][4] < 10**9 and "rank error" in ends.columns
        assert "x, low" in answer.frame.columns and answer.plot().rows, "shown and drawn"
        assert "x, low" not in curator.median("x", spend=Pure(1)).interval().columns, "one cut says nothing of values"
        assert "x, low" not in curator.quantiles("x", DECILES, "x > 5", spend=Pure(1)).interval().columns
    basis = Basis(Schema({"x": sf.integers(0, 10**9)}), 1000)
    absent = Quantiles("x", DECILES).prepare(basis, Pure(1)).finish(tuple(range(1, 11)))
    assert ROWS not in absent.facts, "missing cells are no rows, so nobody knows how many there are"
    money = Schema({"x": sf.fixed(0, 10**6, step="0.01", missing=0)})
    priced = Quantiles("x", DECILES).prepare(Basis(money, 1000), Pure(1)).finish((*range(100, 1000, 100), 5))
    assert Quantiles("x", DECILES).interval(priced, LEVEL)["x, low"][8] > 0
