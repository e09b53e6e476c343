"""Questions as people write, store and read them, and the mechanisms behind them in the corners."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pyarrow
import pytest

import sfumato as sf
from sfumato import Approximate, Noise, Pure, Relation, audit
from sfumato.answer import Answer, Frame, NoisyPart, Released
from sfumato.domain import bins, months
from sfumato.errors import DomainTooLarge, ParameterError, SchemaError, UnsupportedSpend
from sfumato.mechanism import Mechanism
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, SinhNormal
from sfumato.perturb import AdditiveNoise, sensitivity
from sfumato.questions import Count, GroupBy, Histogram, Mean, Quantiles, Question, Sum, Variance, question_from_json
from sfumato.questions.quantiles.measure import Measure
from sfumato.questions.quantiles.quantile_choice import Pieces, QuantileChoice, rank_error
from sfumato.table.gauge import Basis
from sfumato.table.schema import Schema
from sfumato.totals.sparse_noise import SparseNoise, cell_at, place_of, sparse_noise
from tests.imputed import booleans, categories, dates, fixed, integers, text
from tests.questions.tiny import TinyTable

SCHEMA = Schema(
    {
        "age": integers(17, 90),
        "sex": categories("Female", "Male"),
        "gain": fixed(0, 100, step="0.25"),
        "born": dates("2000-01-01", "2000-01-03"),
        "note": text(max_bytes=10),
        "well": booleans(),
        "decade": bins("age", step=10),
        "month": months("born"),
    }
)
ONE = Basis(SCHEMA, 10)

QUESTIONS: list[Question] = [
    Count(),
    Count("age > 40 AND NOT sex = 'Male'"),
    Sum("gain", "well"),
    Mean("age"),
    Variance("gain"),
    Histogram(["sex", "decade"], "born >= DATE '2000-01-02'"),
    Histogram("note", keys="private"),
    Quantiles("gain", [0.5, 0.1], "note IN ('a', 'b')"),
    GroupBy("sex", [Count(), Mean("age"), Variance("gain")], "well"),
    GroupBy(["sex", "note"], [Sum("age")], keys="private"),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.kind)
def test_questions_round_trip_through_json(question: Question) -> None:
    asked = question.canonical(SCHEMA)
    stored = json.loads(json.dumps(asked.to_json()))
    again = question_from_json(stored, SCHEMA)
    assert again == asked
    assert again.to_json() == asked.to_json()


def test_equal_questions_have_equal_forms() -> None:
    pairs: list[tuple[Question, Question]] = [
        (Count("age > 40 AND sex = 'Male'"), Count("NOT (sex <> 'Male' OR age <= 40)")),
        (Count("age >= 0"), Count()),
        (Histogram("age"), Histogram(["age"])),
        (Quantiles("age", [0.5, "1/4", 0.5]), Quantiles("age", ("0.25", Fraction(1, 2)))),
        (Quantiles("age", 0.5), Quantiles("age", ["1/2"])),
        (GroupBy("sex", [Count()]), GroupBy(("sex",), (Count("TRUE").canonical(SCHEMA),))),
    ]
    for first, second in pairs:
        assert first.canonical(SCHEMA).to_json() == second.canonical(SCHEMA).to_json()
        assert first.canonical(SCHEMA) == second.canonical(SCHEMA)
    different = [question.canonical(SCHEMA).to_json() for question in QUESTIONS]
    assert len({json.dumps(one, sort_keys=True) for one in different}) == len(different)


def test_questions_that_cannot_be_asked_are_refused_with_what_to_write() -> None:
    for make, words in (
        (lambda: Histogram(()), "Histogram\\('age'\\)"),
        (lambda: Histogram("age", keys="public"), "neither"),
        (lambda: GroupBy("sex", []), "GroupBy\\('sex'"),
        (lambda: GroupBy("sex", [Count("age > 3")]), "where= once"),
        (lambda: GroupBy("sex", [3]), "write GroupBy"),
        (lambda: GroupBy("sex", [Quantiles("age")]), "once for each group"),
        (lambda: Quantiles("age", []), "six digits"),
        (lambda: Quantiles("age", [0.1234567]), "six digits"),
        (lambda: Quantiles("age", [1]), "between 0 and 1"),
        (lambda: question_from_json({"question": "Median"}, SCHEMA), "the questions are"),
        (lambda: question_from_json({"question": "Count", "column": "age"}, SCHEMA), "has no 'column'"),
        (lambda: question_from_json({"question": "Sum"}, SCHEMA), "needs column"),
        (lambda: question_from_json([], SCHEMA), "is an object"),
        (
            lambda: question_from_json({"question": "GroupBy", "by": "sex", "aggregates": [3]}, SCHEMA),
            "Count\\(\\)",
        ),
    ):
        with pytest.raises(ParameterError, match=words):
            make()
    for question, kind, words in (
        (Sum("agee"), SchemaError, "age"),
        (Mean("sex"), SchemaError, "histogram"),
        (Mean("decade"), SchemaError, "'age'"),
        (Histogram("note"), DomainTooLarge, "private"),
    ):
        with pytest.raises(kind, match=words):
            question.prepare(ONE, Pure(1))


def answers() -> list[Answer]:
    """Answer questions with all kinds of keys on a few people."""
    people = tuple((who, ((30 + who, 1, 10, SCHEMA.domain("born").first, 97, 1, 3, 360),)) for who in range(4))
    found = []
    for question, spend in (
        (Histogram("born"), Pure(1)),
        (Histogram(["well", "sex"]), Pure(1)),
        (Histogram("decade"), Pure(1)),
        (Histogram("month"), Pure(1)),
        (Histogram("gain"), Pure(1)),
        (Quantiles("gain"), Pure(1)),
        (Mean("age"), Pure(1)),
        (GroupBy("sex", [Count(), Mean("age"), Sum("gain")]), Pure(1)),
        (Histogram("age", keys="private"), Approximate(1, 1e-6)),
        (GroupBy("age", [Count(), Mean("gain")], keys="private"), Approximate(1, 1e-6)),
    ):
        asked = question.canonical(SCHEMA)
        prepared = asked.prepare(ONE, spend)
        raw = prepared.mechanism.run(prepared.exact(TinyTable(SCHEMA, people)), Noise(insecure_seed=3))
        mechanism = prepared.mechanism
        found.append(Answer(asked, prepared.finish(raw), prepared.loss(), mechanism.event()))
    return found


@pytest.mark.parametrize("answer", answers(), ids=lambda answer: json.dumps(answer.question.to_json())[13:60])
def test_answers_round_trip_and_become_tables(answer: Answer) -> None:
    stored = json.loads(json.dumps(answer.released.to_json()))
    again = Released.from_json(stored)
    assert again == answer.released
    assert again.to_json() == stored
    arrow = answer.to_arrow()
    assert arrow.num_rows == len(answer.to_pandas()) == len(answer.to_polars()) == len(answer.frame)
    assert json.dumps(answer.to_json())
    value = answer.value
    if isinstance(value, Frame):
        assert arrow.column_names[: len(value.columns)] == list(value.columns)


def test_answers_say_what_they_cost_and_in_which_unit_they_err() -> None:
    by_kind = {answer.question.to_json()["question"]: answer for answer in answers()}
    mean = by_kind["Mean"]
    assert mean.error().unit == "value" and mean.error(0.5).between == mean.interval(0.5)
    assert by_kind["Quantiles"].error().unit == "rank"
    assert {name: cost.epsilon for name, cost in mean.costs.items()} == {"person": 1, "age": 1}


def test_a_mean_of_what_may_be_no_row_says_so() -> None:
    law, facts = DiscreteLaplace(2), Mean("age").facts(SCHEMA)
    total, count = Mean("age").names[0], "count"

    def released(counts: tuple[int, ...], cells: tuple[Any, ...], keys: tuple[str, ...]) -> Released:
        sums = NoisyPart(total, tuple(10 * one for one in counts), law)
        return Released((sums, NoisyPart(count, counts, law)), keys, cells, facts)

    alone = Mean("age")
    assert alone.doubts(released((100,), ((),), ())) == ()
    assert "no row to average" in alone.doubts(released((3,), ((),), ()))[0]
    grouped = GroupBy("sex", [Count(), alone])
    (said,) = grouped.doubts(released((100, 2, -1), (("Female",), ("Male",), (None,)), ("sex",)))
    assert "In 2 of 3 groups" in said and "(Male; missing)" in said
    assert GroupBy("sex", [Count()]).doubts(released((100, 2), (("Female",), ("Male",)), ("sex",))) == ()


def test_a_number_that_only_whole_people_move_charges_no_attribute() -> None:
    several = replace(SCHEMA, person="id", rows_per_person=3)
    for relation in Relation:
        loss = Count().prepare(Basis(several, 10, relation), Pure(1)).loss()
        assert loss.person.epsilon == 1 and loss.at({"age", "sex"}).is_zero
        variance = Variance("age").prepare(Basis(several, 10, relation), Pure(1)).loss()
        assert variance.at("sex").is_zero and not variance.at("age").is_zero
        with pytest.raises(UnsupportedSpend, match="only whole people"):
            Count().prepare(Basis(several, 10, relation), Pure(1).per_attribute())


def test_keys_keep_their_types() -> None:
    by_kind = {name: answer for answer in answers() for name in answer.released.keys}
    assert by_kind["born"].value["born"][0] == date(2000, 1, 1)
    assert Released.from_json(by_kind["born"].released.to_json()).cells[0] == (date(2000, 1, 1),)
    assert Released.from_json(by_kind["well"].released.to_json()).cells[0] == (False, "Female")
    assert by_kind["gain"].value["gain"][0] in {SCHEMA.domain("gain").decode(code) for code in range(401)}


def test_a_key_called_count_is_not_lost() -> None:
    schema = Schema({"count": integers(0, 1), "probability": integers(0, 1)})
    setting = Basis(schema, 2)
    prepared = Histogram("count").prepare(setting, Pure(1))
    raw = prepared.mechanism.run((np.array([1, 1]),), Noise(insecure_seed=1))
    shown = Histogram("count").value(prepared.finish(raw))
    assert list(shown.columns) == ["count", "noisy count"] and shown["count"] == (0, 1)
    prepared = Quantiles("probability").prepare(setting, Pure(1))
    shown = Quantiles("probability").value(prepared.finish((0, 0, 1)))
    assert list(shown.columns) == ["probability", "quantile"]


def test_frames_of_mixed_numbers_become_one_type() -> None:
    frame = Frame((), {"value": (1, 2.5, Fraction(1, 3)), "big": (2**70, 1, 2), "word": ("a", "b", None)})
    arrow = frame.to_arrow()
    assert [str(kind) for kind in arrow.schema.types] == ["double", "double", "string"]
    with pytest.raises(ParameterError, match="different lengths"):
        Frame((), {"a": (1,), "b": ()})


def test_laws_and_thresholds_round_trip() -> None:
    for law in (DiscreteLaplace(3), DiscreteGaussian(7), SinhNormal(5, 20), None):
        for threshold in (None, 12):
            part = NoisyPart("count", (1, -2), law, Fraction(1, 4), threshold)
            assert NoisyPart.from_json(json.loads(json.dumps(part.to_json()))) == part


# Quantiles


def test_scores_never_wrap_around() -> None:
    """Six digits and ten million weighed rows pass 2^63; one row must move a score by one row's worth all the same."""
    choice = QuantileChoice(size=4, probabilities=(Fraction(500_001, 10**6),), epsilon=Fraction(1), weight=2**20)
    rows = 20_000_000
    for more in (0, 1):
        units = np.array([rows // 2 + more, rows // 2 - more], np.int64) * 2**20
        scores = Pieces.of(np.array([0, 3], object), units, 4).scores(choice.probabilities[0])
        # The pieces of length zero before 0 and after 3 are never chosen.
        assert [int(score) for score in scores][1:4] == [_score(units, place) for place in (0, 1, 3)]
    assert choice.run((np.array([0, 3], object), units), Noise(insecure_seed=1)) in {(0,), (1,), (2,), (3,)}


def _score(units: Any, place: int) -> int:
    below = int(units[0]) * (place > 0)
    up_to = int(units[0]) + int(units[1]) * (place == 3)
    count = int(units.sum())
    return min(10**6 * up_to - 500_001 * count, 500_001 * count - 10**6 * below)


def test_small_scores_agree_with_python_integers() -> None:
    draw = np.random.default_rng(4)  # noqa: TID251
    for _ in range(50):
        codes = np.unique(draw.integers(0, 30, draw.integers(0, 8)))
        counts = draw.integers(1, 9, len(codes))
        pieces = Pieces.of(codes, counts, 30)
        runs = [pieces.run(piece) for piece in range(2 * len(codes) + 1)]
        assert [place for run in runs for place in range(*run)] == list(range(30))
        for zero in (None, 0, 7):
            measure = Measure(30, zero)
            expected = [measure.weight_between(*run) for run in runs]
            assert pieces.weights(measure).tolist() == expected
            assert Pieces.of(codes.astype(object), counts, 30).weights(measure) == expected
        scores = pieces.scores(Fraction(1, 3))
        assert scores.tolist() == pieces._long_scores(int(counts.sum()), 3)
        for (start, stop), score in zip(runs, scores, strict=True):
            if start < stop:
                below, up_to = int(counts[codes < start].sum()), int(counts[codes <= start].sum())
                assert score == min(3 * up_to - int(counts.sum()), int(counts.sum()) - 3 * below)


def test_the_widest_column_has_quantiles() -> None:
    schema = Schema({"x": integers(-(2**62), 2**62)})
    prepared = Quantiles("x", [0.5]).prepare(Basis(schema, 9), Pure(100))
    exact = (np.array([2**63 - 5], object), np.array([100]))
    place, error = prepared.mechanism.run(exact, Noise(insecure_seed=1))
    assert (place, error) == (2**63 - 5, 0)
    assert prepared.finish((place, error)).cells == ((Fraction(1, 2), 2**62 - 5),)


def test_no_rows_one_row_and_equal_rows_have_quantiles() -> None:
    choice = QuantileChoice(size=8, probabilities=(Fraction(1, 2),), epsilon=Fraction(50))
    noise = Noise(insecure_seed=2)
    assert 0 <= choice.run((np.array([], np.int64), np.array([], np.int64)), noise)[0] < 8
    for code in (0, 7):
        assert choice.run((np.array([code]), np.array([1])), noise) == (code,)
        assert choice.run((np.array([code]), np.array([1_000])), noise) == (code,)


def test_rank_errors_fall_with_the_spend_and_rise_with_confidence() -> None:
    assert rank_error(100, Fraction(1), 1, 0.95) < rank_error(100, Fraction(1, 2), 1, 0.95)
    assert rank_error(100, Fraction(1), 1, 0.95) <= rank_error(100, Fraction(1), 3, 0.95)
    assert rank_error(100, Fraction(1), 1, 0.9) < rank_error(100, Fraction(1), 1, 0.999)


# Cells of a domain too large to list


class Dense(Mechanism):
    """Noise on every cell, then the threshold: what the sparse mechanism claims to be."""

    def __init__(self, sparse: SparseNoise) -> None:
        object.__setattr__(self, "sparse", sparse)

    def loss(self) -> Any:
        return self.sparse.loss()  # type: ignore[attr-defined]

    def run(self, exact: Any, noise: Noise) -> Any:
        sparse: SparseNoise = self.sparse  # type: ignore[attr-defined]
        counts = np.array([exact.get(place, 0) for place in range(sparse.cells)])
        noisy = sparse.noise.run(counts, noise).tolist()
        return tuple((place, count) for place, count in enumerate(noisy) if count > sparse.threshold)


@pytest.mark.parametrize("law", [DiscreteLaplace(1), DiscreteGaussian(1)], ids=["Laplace", "Gaussian"])
def test_the_sparse_law_is_the_dense_one(law: Any) -> None:
    noise = AdditiveNoise(law=law, sensitivity=sensitivity(largest=1, changed=2))
    sparse = SparseNoise(noise=noise, cells=3, threshold=1)
    for exact in ({}, {1: 2}, {0: 1, 2: 1}):
        first = audit.law(sparse, exact, tail=1e-5)
        second = audit.law(Dense(sparse), exact, tail=1e-5)
        outcomes: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for at, one in enumerate((first, second)):
            for outcome, mass in one.items():
                outcomes[outcome][at] = float(mass)
        slack = float(first.remainder + second.remainder)
        assert slack < 1e-3
        assert sum(abs(a - b) for a, b in outcomes.values()) <= 2 * slack


def test_astronomic_domains_take_no_time_and_show_few_cells_that_nobody_is_in() -> None:
    noise = AdditiveNoise(law=DiscreteLaplace(2), sensitivity=2)
    sparse = sparse_noise(noise, 2**200)
    exact = {2**150 + place: 10_000 for place in range(50)}
    draw = Noise(insecure_seed=1)
    spurious = 0
    for _ in range(40):
        found = sparse.run(exact, draw)
        assert list(found) == sorted(found)
        assert {place for place, _ in found} >= set(exact)
        spurious += len(found) - len(exact)
    assert spurious <= 12
    assert replace(sparse, cells=50).run(dict.fromkeys(range(50), 9), draw) is not None


def test_places_and_cells_are_inverse() -> None:
    firsts, sizes = (3, -1, 0), (2, 3, 4)
    for place in range(24):
        assert place_of(cell_at(place, firsts, sizes), firsts, sizes) == place
    ranges = [range(first, first + size) for first, size in zip(firsts, sizes, strict=True)]
    assert [cell_at(place, firsts, sizes) for place in range(24)] == list(product(*ranges))


def test_a_column_of_one_value_is_asked_about_like_any_other() -> None:
    """A year that everybody shares once stopped tables of all pairs with a bare TypeError."""
    schema = sf.Schema({"a": sf.categories("x", "y"), "year": sf.integers(2026, 2026, missing=2026)})
    rows = pyarrow.table({"a": ["x", "y"] * 20, "year": [2026] * 40})
    workload = sf.workloads.marginals(schema, width=2)
    with sf.curate(rows, schema, sf.Approximate(90, 1e-6)) as curator:
        for spend in (sf.Pure(9), sf.Pure(9).per_attribute(), sf.Concentrated(9)):
            tables = curator.answer(workload, spend=spend)
            assert abs(sum(tables.value.table(["a", "year"])["count"]) - 40) < 20
            assert not tables.loss.at("a").is_zero


@pytest.mark.parametrize("ask", ["answer", "synthesize"])
def test_nobody_is_no_sample_and_the_refusal_says_what_to_check(ask: str) -> None:
    schema = sf.Schema({"a": sf.categories("x", "y"), "b": sf.integers(0, 3)})
    nobody = pyarrow.table({"a": pyarrow.array([], pyarrow.string()), "b": pyarrow.array([], pyarrow.int64())})
    with sf.curate(nobody, schema, sf.Pure(9)) as curator:
        before = curator.ledger.head
        with pytest.raises(sf.errors.ParameterError, match=r"There is nobody in this table.*; check the source"):
            getattr(curator, ask)(sf.workloads.marginals(schema, width=2), spend=sf.Pure(1))
        assert curator.ledger.head == before
