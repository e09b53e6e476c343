"""Whole distributions: errors as predicted, bands that cover, an answer for every table, bad questions refused."""

from __future__ import annotations

import json
import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest

import sfumato as sf
from sfumato import ADD_REMOVE, Approximate, Concentrated, Distribution, Noise, Pure, Truncated
from sfumato.ask.prepared import Prepared
from sfumato.ask.question import question_from_json
from sfumato.curator.typed import read_question
from sfumato.errors import AccuracyWarning, ParameterError, SchemaError, UnsupportedSpend
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, SinhNormal
from sfumato.perturb import AdditiveNoise, sensitivity
from sfumato.questions.distribution import DistributionEstimate, MedianTree, NodeTree, RankWindows, medians
from sfumato.questions.distribution.band import rising
from sfumato.questions.distribution.codes import Coded
from sfumato.questions.distribution.widths import sum_width
from sfumato.table.gauge import Basis
from sfumato.totals.rank_error import MeasuredCuts
from tests import imputed

WIDE = 2**62
SPENDS = [Pure(1), Concentrated("0.05"), Truncated("0.05", 10), Approximate(1, "1e-6")]


def table_of(values: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.unique(np.asarray(values, dtype=np.int64), return_counts=True)


def setting_of(last: int, people: int, relation: Any = sf.REPLACE_ONE) -> Basis:
    schema = sf.Schema({"x": imputed.integers(0, last)})
    return Basis(schema, people, relation)


def shapes(people: int, last: int) -> dict[str, np.ndarray]:
    noise = Noise(insecure_seed=5)
    spread = noise.uniform(last + 1, people).astype(np.int64)
    normal = noise.discrete_gaussian(10**6, people)
    centres = noise.uniform(last + 1, 5).astype(np.int64)
    return {
        "uniform": spread,
        "a long tail": np.minimum(np.exp(normal / 300 + math.log(last) / 2), last).astype(np.int64),
        "clusters": np.minimum(centres[noise.uniform(5, people)] + noise.uniform(1 + last // 2**20, people), last),
        "all equal": np.full(people, last // 3),
        "most equal": np.where(noise.uniform(10, people) < 7, last // 2, spread),
    }


def released(prepared: Prepared, values: Any, seed: int) -> DistributionEstimate:
    return DistributionEstimate(prepared.finish(prepared.mechanism.run(table_of(values), Noise(insecure_seed=seed))))


def curve_of(setting: Basis, spend: Any, values: Any, seed: int = 1, method: str = "auto") -> DistributionEstimate:
    return released(Distribution("x", method=method).prepare(setting, spend), values, seed)


def largest_error(curve: DistributionEstimate, values: np.ndarray) -> float:
    """How far off the curve is, in rows, just below and at some of the values."""
    ordered = np.sort(values)
    some = ordered[:: max(1, len(ordered) // 200)].tolist()
    places = [place for value in some for place in (value - 1, value)]
    truth = np.searchsorted(ordered, places, side="right")
    found = [curve.cdf(place) * len(values) for place in places]
    return float(np.abs(truth - found).max())


def covered(curve: DistributionEstimate, values: Any, confidence: str) -> bool:
    """Whether the band holds everywhere: the curve of the table rises, so the places that were measured decide."""
    band = curve._band(confidence)
    truth = np.searchsorted(np.sort(values), [edge - 1 for edge in band.edges], side="right").tolist()
    return all(low <= rows <= high for low, rows, high in zip(band.low, truth, band.high, strict=True))


@pytest.mark.parametrize("spend", SPENDS, ids=str)
@pytest.mark.parametrize("last", [99, 2**20, WIDE], ids=["100", "2^20", "2^62"])
def test_errors_stay_below_what_was_predicted(spend: Any, last: int) -> None:
    people = 4000
    setting = setting_of(last, people)
    prepared = Distribution("x").prepare(setting, spend)
    for place, values in enumerate(shapes(people, last).values()):
        curve = released(prepared, values, seed=place)
        predicted = float(curve.why.split("at most ")[1].split(" of")[0])
        assert largest_error(curve, values) <= predicted
        assert covered(curve, values, "0.99")


@pytest.mark.parametrize("method", ["medians", "tree", "windows"])
def test_every_method_is_good_where_it_was_not_the_best(method: str) -> None:
    people, last, spend = 6000, 2**20, Concentrated("0.2")
    prepared = Distribution("x", method=method).prepare(setting_of(last, people), spend)
    for place, values in enumerate(shapes(people, last).values()):
        curve = released(prepared, values, seed=place)
        assert curve.method == method
        assert covered(curve, values, "0.95")
        assert largest_error(curve, values) < 0.25 * people


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
@pytest.mark.parametrize("method", ["medians", "tree", "histogram"])
def test_the_band_covers_at_its_rate(method: str) -> None:
    """Of sixty releases the band must hold in the stated part, up to chance at 1e-6."""
    people, runs = 300, 60
    values = shapes(people, 299)["a long tail"]
    prepared = Distribution("x", method=method).prepare(setting_of(299, people), Pure(1))
    held = sum(covered(released(prepared, values, seed), values, "0.8") for seed in range(runs))
    assert held >= 0.8 * runs - 4.8 * math.sqrt(0.16 * runs)


@pytest.mark.audit
@pytest.mark.parametrize("method", ["medians", "tree", "histogram", "windows"])
@pytest.mark.parametrize("relation", [sf.REPLACE_ONE, ADD_REMOVE], ids=["replaced", "added"])
def test_the_band_covers_at_its_rate_many_times(method: str, relation: Any) -> None:
    if method == "windows" and relation is ADD_REMOVE:
        pytest.skip("Windows of ranks need a public number of rows.")
    people, runs, last = 1000, 60, 2**10 - 1
    question = Distribution("x", method=method)
    prepared = question.prepare(setting_of(last, people, relation), Concentrated("0.1"))
    drawn = shapes(people, last)
    for values in (drawn["a long tail"], drawn["clusters"], drawn["most equal"]):
        held = sum(covered(released(prepared, values, seed), values, "0.95") for seed in range(runs))
        assert held >= 0.95 * runs - 4.8 * math.sqrt(0.05 * 0.95 * runs)


def test_sums_of_noise_stay_within_their_width() -> None:
    for law, chance in [
        (DiscreteLaplace(3), lambda j: math.exp(-abs(j) / 3)),
        (DiscreteGaussian(9), lambda j: math.exp(-j * j / 18)),
    ]:
        one = np.array([chance(j) for j in range(-200, 201)])
        one /= one.sum()
        total = one
        for draws in range(1, 12):
            width = sum_width(law, draws, Fraction(1, 50))
            middle = len(total) // 2
            outside = total[: middle - width].sum() + total[middle + width + 1 :].sum()
            assert outside <= 1 / 50
            assert outside >= 1 / 5000  # a bound that says something
            total = np.convolve(total, one)
    rounded = Noise(insecure_seed=3).draw(SinhNormal(50, 10), 8 * 4000).reshape(4000, 8).sum(axis=1)
    assert (np.abs(rounded) > sum_width(SinhNormal(50, 10), 8, Fraction(1, 20))).mean() < 0.05


def test_a_median_drawn_from_wide_shells_has_the_exact_law(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = AdditiveNoise(law=DiscreteLaplace(1), sensitivity=sensitivity(largest=1, changed=2))
    tree = MedianTree(first=0, last=9, levels=1, epsilon=Fraction(1, 4), counts=counts)
    coded = Coded.of(*table_of([0, 1, 1, 2, 4, 4, 5, 7, 8, 9, 9]))
    scores = [coded.shells(0, 9, 1, 99).score(code) for code in range(10)]
    weights = np.exp(float(tree.rate) * np.array(scores))
    monkeypatch.setattr(medians, "FEW", 0)
    assert len(coded.shells(0, 9, 5, 0).scores) < 4
    noise, draws = Noise(insecure_seed=2), 1_500
    found = np.bincount([tree._median(coded, 0, 9, noise) for _ in range(draws)], minlength=10)
    expected = draws * weights / weights.sum()
    assert ((found - expected) ** 2 / expected).sum() < 52  # nine degrees of freedom, 1e-7


def test_shells_hold_every_code_once_and_none_above_its_score() -> None:
    coded = Coded.of(*table_of(Noise(insecure_seed=4).uniform(1000, 500)))
    for low, high, step, most in [(0, 999, 1, 1000), (0, 999, 7, 5), (100, 400, 30, 0), (997, 999, 1, 9), (3, 3, 1, 1)]:
        shells = coded.shells(low, high, step, most)
        lengths = shells.lengths
        found = [(shell, shells.code(shell, rank)) for shell, size in enumerate(lengths) for rank in range(size)]
        assert sorted(code for _, code in found) == list(range(low, high + 1))
        assert all(shells.score(code) <= shells.scores[shell] for shell, code in found)
        assert max(shells.score(code) for _, code in found) == shells.scores[0] >= 0
        if step == 1 and most >= 500:
            assert all(shells.score(code) == shells.scores[shell] for shell, code in found)


def test_domains_of_sixty_four_bits_and_more() -> None:
    noise = Noise(insecure_seed=6)
    for bits in (64, 100):
        values = sorted(2 ** (bits - 1) + int(part) for part in noise.uniform(2**20, 2000))
        codes = np.array(values, dtype=object if bits > 64 else np.uint64)
        counts = AdditiveNoise(law=DiscreteLaplace(4), sensitivity=sensitivity(largest=1, changed=2))
        tree = MedianTree(first=0, last=2**bits - 1, levels=4, epsilon=Fraction(1), counts=counts)
        found = tree.run((codes, np.ones(2000, dtype=np.int64)), Noise(insecure_seed=1))
        assert sum(values[200] <= cut <= values[-200] for cut in found.cuts) >= 10


def test_many_values_take_little_time() -> None:
    values = Noise(insecure_seed=7).uniform(2**60, 10**6)
    prepared = Distribution("x").prepare(setting_of(WIDE, 10**6), Pure(1))
    table = table_of(values)
    start = time.process_time()
    prepared.finish(prepared.mechanism.run(table, Noise(insecure_seed=1)))
    assert time.process_time() - start < 5


@pytest.mark.parametrize("values", [[5], [5] * 50, [0] * 25 + [99] * 25, [-7, 10**9]], ids=lambda v: f"{len(v)}")
@pytest.mark.parametrize("spend", SPENDS, ids=str)
@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_there_is_always_an_answer(values: list[int], spend: Any) -> None:
    schema = sf.Schema({"x": imputed.integers(0, 99), "group": imputed.categories("a", "b")})
    table = pyarrow.table({"x": pyarrow.array(values, pyarrow.int64()), "group": ["a"] * len(values)})
    curator = sf.curate(table, schema, sf.Budget(person=Approximate(100, "1e-5")))
    for where in (None, "group = 'b'"):
        curve = curator.distribution("x", where, spend=spend).value
        assert 0 <= curve.cdf(50) <= 1
        assert curve.cdf(99) == 1
        assert 0 <= curve.quantile("0.5") <= 99
        assert len(curve.synthetic(3)) == 3
        assert "<svg" in curve.plot().svg()


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_few_people_and_few_values_are_answered_by_every_method() -> None:
    for last in (1, 2, 3, 2**40):
        for people in (1, 2, 5):
            for method in ("auto", "medians", "tree")[: 2 if last < 2 else 3]:
                curve = curve_of(setting_of(last, people), Pure(1), [0] * people, method=method)
                assert 0 <= curve.cdf(0) <= curve.cdf(last) == 1
                assert 0 <= curve.quantile("0.5") <= last


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_a_curve_reads_dates_steps_and_bins() -> None:
    days = [f"2024-{1 + place % 12:02}-{1 + place % 28:02}" for place in range(2000)]
    columns = {
        "day": imputed.dates("2020-01-01", "2029-12-31"),
        "price": imputed.fixed(0, 100, step="0.01"),
        "band": sf.bins("price", step=10),
        "mark": imputed.categories(1, 2, 3),
        "level": imputed.categories("low", "middle", "high"),
    }
    schema = sf.Schema(columns)
    table = pyarrow.table(
        {
            "day": days,
            "price": [(place % 500) / 10 for place in range(2000)],
            "mark": [1 + place % 3 for place in range(2000)],
            "level": [("low", "middle", "high")[place % 3] for place in range(2000)],
        }
    )
    curator = sf.curate(table, schema, Pure(100))
    import datetime

    by_day = curator.distribution("day", spend=Pure(2)).value
    assert by_day.quantile("0.5").year == 2024
    assert by_day.cdf(datetime.date(2023, 12, 31)) < 0.1
    assert "<svg" in by_day.plot().svg()
    price = curator.distribution("price", spend=Pure(2)).value
    assert abs(price.cdf(25) - 0.5) < 0.1
    assert price.cdf(-3) == 0
    assert price.cdf(25.005) == price.cdf(25)
    assert abs(price.query(10, 20) - 400) < 200
    bands = curator.distribution("band", spend=Pure(2)).value
    assert abs(bands.cdf(Fraction(10)) - 0.4) < 0.1
    mark = curator.distribution("mark", spend=Pure(2))
    assert abs(mark.value.cdf(1) - 1 / 3) < 0.05
    assert "<svg" in mark.value.plot().svg()
    # The curve adds up: its heading says so, wherever it goes.
    assert list(mark.frame.columns) == ["mark", "share up to", "low", "high"]
    assert "share up to" in str(mark) and "share of rows up to it" in mark.value.plot().svg()
    before = curator.ledger.head
    for ask in (curator.distribution, curator.median):
        with pytest.raises(
            SchemaError, match=r"'level' lists categories, .* no order.*; ask for a histogram, Histogram"
        ):
            ask("level", spend=Pure(2))
    assert curator.ledger.head == before


def test_answers_and_questions_are_json_and_read_back() -> None:
    schema = sf.Schema({"age": imputed.integers(0, 99), "sex": imputed.categories("f", "m")})
    table = pyarrow.table({"age": list(range(100)) * 5, "sex": ["f", "m"] * 250})
    curator = sf.curate(table, schema, Pure(10))
    answer = curator.distribution("age", "sex = 'f'", spend=Pure(1), method="tree")
    assert question_from_json(json.loads(json.dumps(answer.question.to_json())), schema) == answer.question
    again = curator.answer_from_json(json.loads(json.dumps(answer.to_json())))
    assert again.value.cdf(50) == answer.value.cdf(50)
    assert DistributionEstimate.from_json(answer.value.to_json()).method == "tree"
    assert answer.frame.columns == answer.interval(0.95).columns
    assert answer.error(0.9).unit == "rank"
    assert curator.distribution("age", "sex = 'f'", spend=Pure(1), method="tree").reused
    assert read_question("distribution of age where sex = 'f'", schema).kind == "Distribution"
    noise = [Noise(insecure_seed=3), Noise(insecure_seed=3)]
    assert answer.value.synthetic(20, noise[0]) == answer.value.synthetic(20, noise[1])
    assert curator.rehearse(Distribution("age"), Pure(1)).value.rows == 500, "as many as in the table"


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_an_empty_table_is_a_table() -> None:
    for method in ("medians", "tree", "histogram"):
        curve = curve_of(setting_of(99, 0, ADD_REMOVE), Pure(1), [], method=method)
        assert covered(curve, np.array([], dtype=np.int64), "0.95")
        assert 0 <= curve.cdf(50) <= 1
        assert 0 <= curve.quantile("0.5") <= 99


def test_made_up_values_follow_the_curve() -> None:
    values = shapes(5000, 999)["clusters"]
    curve = curve_of(setting_of(999, 5000), Pure(2), values)
    made = np.array(curve.synthetic(20_000, Noise(insecure_seed=1)))
    for place in range(0, 1000, 50):
        assert abs((made <= place).mean() - curve.cdf(place)) < 0.02


def test_several_rows_a_person_and_people_who_come_and_go() -> None:
    schema = sf.Schema({"x": imputed.integers(0, 10**9)}, person="id", rows_per_person=3)
    noise = Noise(insecure_seed=8)
    rows = pyarrow.table({"id": noise.uniform(3000, 6000), "x": noise.uniform(10**6, 6000)})
    curator = sf.curate(rows, schema, Pure(10))
    answer = curator.distribution("x", spend=Pure(4))
    assert answer.loss.person.epsilon <= 4
    assert 3500 < answer.value.rows < 7000
    assert abs(answer.value.quantile("0.5") - 500_000) < 150_000
    prepared = Distribution("x").prepare(setting_of(WIDE, 1000, ADD_REMOVE), Pure(1))
    assert prepared.mechanism.loss().person.epsilon <= 1
    assert prepared.mechanism.loss().relation is ADD_REMOVE
    # The number of people is private, so that no plan may depend on it.
    assert prepared.mechanism == Distribution("x").prepare(setting_of(WIDE, 50, ADD_REMOVE), Pure(1)).mechanism


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_the_loss_is_that_of_the_parts() -> None:
    medians_ = Distribution("x", method="medians").prepare(setting_of(WIDE, 5000), Pure(1)).mechanism
    assert isinstance(medians_, MedianTree)
    stated = 2 * medians_.levels * medians_.epsilon + medians_.counts.loss().person.epsilon
    assert medians_.loss().person.epsilon == stated == 1
    tree = Distribution("x", method="tree").prepare(setting_of(WIDE, 5000), Pure(1)).mechanism
    assert isinstance(tree, NodeTree)
    assert tree.loss().person.epsilon == tree.levels * 2 / tree.noise.law.scale == 1
    windows = Distribution("x", method="windows").prepare(setting_of(2**20, 9000), Concentrated(1)).mechanism
    assert isinstance(windows, MeasuredCuts) and isinstance(windows.cuts, RankWindows)
    points = len(windows.cuts.ranks) * windows.cuts.point.loss().person.rho()
    assert windows.loss().person.rho() == points + windows.error.loss().person.rho() <= 1


def test_the_curve_through_noisy_knots_rises_and_is_nowhere_worse() -> None:
    noise = Noise(insecure_seed=9)
    truth = sorted(int(part) for part in noise.uniform(100, 40))
    noisy = [Fraction(value + int(noise.discrete_laplace(10))) for value in truth]
    smooth = rising(noisy)
    assert smooth == sorted(smooth)
    worst = max(abs(one - two) for one, two in zip(noisy, truth, strict=True))
    assert max(abs(one - two) for one, two in zip(smooth, truth, strict=True)) <= worst


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda c: c.distribution("town", spend=Pure(1)), SchemaError, "text"),
        (lambda c: c.distribution("nowhere", spend=Pure(1)), SchemaError, "nowhere"),
        (lambda c: c.distribution("one", spend=Pure(1)), UnsupportedSpend, "one value only"),
        (lambda c: c.distribution("x", spend=Pure(0)), UnsupportedSpend, "above zero"),
        (lambda c: c.distribution("x", spend=Pure(1), method="windows"), UnsupportedSpend, "auto"),
        (lambda c: c.distribution("x", spend=Pure(1), method="histogram"), UnsupportedSpend, "too many"),
        (lambda c: c.distribution("x", spend=1), ParameterError, "Pure"),
        (lambda c: Distribution("x", method="magic"), ParameterError, "medians"),
        (lambda c: Distribution(["x", "town"]), ParameterError, "one column"),
    ],
)
def test_bad_questions_are_refused_with_a_hint(ask: Any, error: type[Exception], words: str) -> None:
    columns = {"x": imputed.integers(0, WIDE), "town": imputed.text(max_bytes=20), "one": imputed.integers(7, 7)}
    table = pyarrow.table({"x": [1, 2], "town": ["a", "b"], "one": [7, 7]})
    curator = sf.curate(table, sf.Schema(columns), Pure(10))
    with pytest.raises(error, match=words):
        ask(curator)


def test_bad_looks_at_a_curve_are_refused_with_a_hint() -> None:
    curve = curve_of(setting_of(99, 500), Pure(1), list(range(100)) * 5)
    for look in (
        lambda: curve.quantile(2),
        lambda: curve.band(3, 1.5),
        lambda: curve.query(50, 10),
        lambda: curve.cdf(float("nan")),
        lambda: curve.synthetic(0),
        lambda: curve.cdf("fifty"),
    ):
        with pytest.raises(ParameterError):
            look()


def test_too_few_people_are_warned_of_and_answered() -> None:
    with pytest.warns(AccuracyWarning, match="private all the same"):
        curve = curve_of(setting_of(WIDE, 50), Pure("0.1"), list(range(50)))
    assert covered(curve, np.arange(50), "0.95")
