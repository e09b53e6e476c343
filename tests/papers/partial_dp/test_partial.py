"""Rounds per attribute: exact choice, losses by number of attributes, learned queries, and the baseline."""

from __future__ import annotations

from contextlib import nullcontext
from fractions import Fraction
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sfumato import ADD_REMOVE, REPLACE_ONE, Concentrated, Noise, Pure, Schema
from sfumato.errors import AccuracyWarning, DomainTooLarge, NotProvable, ParameterError
from sfumato.papers.partial_dp import AttributeWeights, people_needed
from sfumato.papers.query_release.weights import Barak, Candidates, Fitting
from sfumato.papers.query_release.weights.choosers import Disjoint, _Sums
from sfumato.papers.query_release.weights.planning import WIDE_CELLS
from sfumato.questions.synthesis.methods import METHODS
from sfumato.questions.synthesis.question import Synthesize
from sfumato.table.gauge import Basis
from sfumato.workload.builders import marginals
from sfumato.workload.records import Records
from sfumato.workload.workload import Workload
from tests.imputed import booleans, integers
from tests.papers.query_release.weights.published import entropies, published

EIGHT = Schema({f"x{place}": booleans() for place in range(8)})
PAIRS = marginals(EIGHT, width=2)
SETTING = Basis(EIGHT, 2000)


def correlated() -> Records:
    noise = Noise(insecure_seed=11)
    bits = noise.uniform(2, 2000 * 8).reshape(2000, 8)
    for place in range(0, 8, 2):
        flips = noise.uniform(20, 2000) == 0
        bits[:, place + 1] = bits[:, place] ^ flips
    return Records.from_rows(PAIRS.space, bits)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_sums_over_attributes_are_those_over_all_disjoint_sets(count: int) -> None:
    noise = Noise(insecure_seed=count)
    masks = tuple(noise.uniform(31, 14) + 1)
    weights = [int(number) + 1 for number in noise.uniform(1000, 14)]
    blocks: dict[int, int] = {}
    for mask, weight in zip(masks, weights, strict=True):
        blocks[int(mask)] = blocks.get(int(mask), 0) + weight
    expected = 0
    for chosen in combinations(range(14), count):
        union = 0
        for place in chosen:
            union = union | int(masks[place]) if union & int(masks[place]) == 0 else -1
            if union < 0:
                break
        if union > 0:
            expected += int(np.prod([weights[place] for place in chosen], dtype=object))
    assert _Sums(blocks).total(count, 31) == expected


def test_matchings_of_sixteen_attributes_are_counted() -> None:
    pairs = {(1 << a) | (1 << b): 1 for a, b in combinations(range(16), 2)}
    assert _Sums(pairs).total(8, 2**16 - 1) == 15 * 13 * 11 * 9 * 7 * 5 * 3


def test_drawn_sets_follow_their_weights() -> None:
    masks = (1, 2, 3, 4, 6, 8)
    chooser = Disjoint((Fraction(1, 2),) * 6, masks, 2, unit=1)
    scores = np.array([0, 2, 3, 1, 4, 2])
    chances = {
        frozenset(pair): float(np.exp(0.5 * scores[list(pair)].sum()))
        for pair in combinations(range(6), 2)
        if masks[pair[0]] & masks[pair[1]] == 0
    }
    total = sum(chances.values())
    noise = Noise(insecure_seed=4)
    found = [frozenset(chooser.draw(scores, noise, None)) for _ in range(500)]
    for pair, weight in chances.items():
        share = weight / total
        assert abs(found.count(pair) / 500 - share) < 5 * np.sqrt(share / 500)


@pytest.mark.parametrize("partition", [False, True])
def test_losses_by_number_of_attributes_are_those_of_the_spec(partition: bool) -> None:
    rate = Fraction(1, 20)
    mechanism = AttributeWeights(
        candidates=Candidates(PAIRS),
        people=2000,
        rounds=8,
        rates=tuple((name, rate) for name in EIGHT.names),
        together=4,
        partition=partition,
    )
    squared = 2 * 8 * rate**2  # eps0², since rate = eps0/√(2·rounds)
    for size in range(1, 9):
        c = min(size, 4)
        expected = c * squared / 2 if partition else (c * c + c) * squared / 4
        assert mechanism.loss().profile.at(frozenset(EIGHT.names[:size])).rho() == expected


def test_losses_of_uneven_budgets_are_those_of_the_spec() -> None:
    rates = {name: Fraction(place + 1, 100) for place, name in enumerate(EIGHT.names)}
    mechanism = AttributeWeights(
        candidates=Candidates(PAIRS), people=2000, rounds=5, rates=tuple(sorted(rates.items())), together=3
    )
    loss = mechanism.loss()
    for chosen in (("x1",), ("x1", "x7"), ("x0", "x3", "x6")):
        found = [rates[name] for name in chosen]
        expected = 5 * (sum(found) ** 2 + sum(one**2 for one in found)) / 2
        # The union bound takes roots, which are rounded up.
        assert expected <= loss.at(chosen).rho() <= expected * (1 + Fraction(1, 10**12))
    assert loss.person.rho() <= 5 * (Fraction(21, 100) ** 2 + Fraction(36 + 49 + 64, 10**4)) / 2


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"together": 1, "rounds": 30, "step": "paper"}, 0.32),
        ({"together": 1, "rounds": 30, "step": "safe"}, 0.12),
        ({"together": 4, "rounds": 30, "step": "safe"}, 0.12),
        ({"together": 4, "rounds": 10}, 0.03),
        ({"together": 4, "rounds": 10, "selection": "partition"}, 0.1),
    ],
)
def test_rounds_per_attribute_learn_correlated_pairs(options: dict[str, Any], error: float) -> None:
    records = correlated()
    truth = np.concatenate(PAIRS.answers(records)) / 2000
    spend = Concentrated("0.125").per_attribute()  # eps0 = 1/2
    mechanism: Any = METHODS["pdp-mwem"](SETTING, spend, PAIRS, options).mechanism
    assert mechanism.loss().within(spend)
    model = mechanism.model_of(mechanism(records, Noise(insecure_seed=1)))
    assert np.abs(np.concatenate(PAIRS.evaluate(model)) - truth).max() < error


def test_spends_per_person_and_pure_ones_are_kept() -> None:
    for spend in (Pure(1), Concentrated(0.1), Pure("0.2").per_attribute()):
        prepared = METHODS["pdp-mwem"](SETTING, spend, PAIRS, {"rounds": 5})
        assert prepared.mechanism.loss().within(spend)
    weights = {"weights": {"x0": 0, "x1": "1/2"}}
    prepared = METHODS["pdp-mwem"](SETTING, Concentrated(0.1).per_attribute(), PAIRS, weights)
    loss = prepared.mechanism.loss()
    assert loss.at("x0").is_zero and loss.at("x1").rho() < loss.at("x2").rho()


def test_what_the_theorem_promises_is_the_repaired_bound() -> None:
    spend = Concentrated("0.125").per_attribute()
    planned: Any = METHODS["pdp-mwem"](SETTING, spend, PAIRS, {"rounds": 30, "together": 4, "step": "safe"}).mechanism
    people_times_rate = 2000 * np.sqrt(0.25 / (2 * 30))
    expected = np.sqrt(1 / people_times_rate**2 + np.log(256) / 60) + np.log(112) / people_times_rate
    assert planned.proved_error() == pytest.approx(expected, rel=1e-6)
    # A step of a half for one query is an eighth of the safe one: the learning takes eight times as many rounds.
    slow: Any = METHODS["pdp-mwem"](SETTING, spend, PAIRS, {"rounds": 30, "together": 1, "step": "paper"}).mechanism
    learned = np.sqrt(1 / people_times_rate**2 + 8 * np.log(256) / 60) + np.log(112) / people_times_rate
    assert slow.proved_error() == pytest.approx(learned, rel=1e-6)
    assert METHODS["pdp-mwem"](SETTING, spend, PAIRS, {}).mechanism.proved_error() is None  # replay has no bound


def test_replay_takes_few_rounds_and_the_steps_of_the_theorem_many() -> None:
    spend = Concentrated("0.125").per_attribute()
    replayed: Any = METHODS["pdp-mwem"](SETTING, spend, PAIRS, {}).mechanism
    stepped: Any = METHODS["pdp-mwem"](SETTING, spend, PAIRS, {"step": "safe"}).mechanism
    assert replayed.rounds * replayed.together == 4 * 8 < stepped.rounds * stepped.together
    records = correlated()
    model = replayed.model_of(replayed(records, Noise(insecure_seed=1)))
    truth = np.concatenate(PAIRS.answers(records)) / 2000
    assert np.abs(np.concatenate(PAIRS.evaluate(model)) - truth).mean() < 0.006


def test_too_few_people_for_the_theorem_are_told_before_anything_is_read() -> None:
    spend = Concentrated("0.125").per_attribute()
    needed = people_needed(PAIRS, spend, "1/4")
    proved = [
        METHODS["pdp-mwem"](Basis(EIGHT, people), spend, PAIRS, {"step": "safe"}).mechanism.proved_error()
        for people in (needed - 1, needed)
    ]
    assert proved[1] <= 0.25 < proved[0]
    with pytest.warns(AccuracyWarning, match="says nothing about shares at 50 people"):
        METHODS["pdp-mwem"](Basis(EIGHT, 50), spend, PAIRS, {"step": "safe"})


def test_steps_without_a_theorem_say_so() -> None:
    twenty = Schema({f"x{place}": booleans() for place in range(18)})
    ones = marginals(twenty, width=1)
    spend = Concentrated("0.125").per_attribute()
    for options in ({"step": "paper"}, {"step": "safe", "selection": "partition"}, {"step": "safe", "output": "last"}):
        with pytest.warns(AccuracyWarning, match="Nothing is proved"):
            METHODS["pdp-mwem"](Basis(twenty, 10**6), spend, ones, {"together": 18, "rounds": 2, **options})


def test_an_error_that_no_number_of_people_reaches_is_refused() -> None:
    spend = Concentrated("0.125").per_attribute()
    with pytest.raises(NotProvable, match="rounds bound it from below"):
        people_needed(PAIRS, spend, "1/20")
    with pytest.raises(NotProvable, match="Nothing is proved with weights"):
        people_needed(PAIRS, spend, "1/4", {"weights": {"x0": "1/2"}})


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_nobody_at_all_is_no_error() -> None:
    empty, nobody = Records.from_rows(PAIRS.space, []), Basis(EIGHT, 0)
    for method in ("mwem", "pdp-mwem", "barak"):
        prepared = METHODS[method](nobody, Pure(1), PAIRS, {})
        exact = prepared.exact(_Handing(empty)) if method == "barak" else empty
        assert prepared.finish(prepared.mechanism(exact, Noise(insecure_seed=1))).made["model"]["total"] == 1


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_rounds_per_attribute_take_wide_tables() -> None:
    schema = Schema({f"x{place}": integers(0, 7) for place in range(10)})
    workload, setting = marginals(schema, width=2), Basis(schema, 1000)
    spend = Concentrated("0.1").per_attribute()
    planned: Any = METHODS["pdp-mwem"](setting, spend, workload, {"rounds": 2}).mechanism
    assert planned.max_cells == WIDE_CELLS
    records = Records.from_rows(workload.space, [(0,) * 10] * 500 + [(7,) * 10] * 500)
    model = planned.model_of(planned(records, Noise(insecure_seed=1)))
    assert 1 < max(one.log_weights.size for one in model.components) <= WIDE_CELLS
    smaller: Any = METHODS["pdp-mwem"](setting, spend, workload, {"rounds": 1, "max_cells": 64}).mechanism
    assert smaller.max_cells == 64
    with pytest.raises(DomainTooLarge, match="output='last'"):
        METHODS["pdp-mwem"](setting, spend, workload, {"step": "safe"})
    with pytest.raises(ParameterError, match="max_cells"):
        METHODS["pdp-mwem"](setting, spend, workload, {"max_cells": 0})


class _Handing:
    """A table that hands out declared columns, and remembers which were asked for."""

    source = SimpleNamespace(turn=nullcontext())

    def __init__(self, records: Records) -> None:
        self.records = records
        self.asked: set[str] = set()

    def under(self, schema: Any) -> Any:
        return self

    def require_unchanged(self) -> None:
        """It never changes."""

    def view(self, columns: Any, rule: Any) -> Any:
        self.asked |= set(columns)
        return self

    @property
    def table(self) -> Any:
        return SimpleNamespace(schema=EIGHT)

    def distinct(self, names: Any, where: Any) -> Any:
        self.asked |= set(names)
        codes = self.records.codes[:, list(self.records.space.places(names))]
        return codes, self.records.counts


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
@pytest.mark.parametrize(
    ("method", "spend", "options", "columns"),
    [
        ("mwem", Pure(1), {"rounds": 2}, {"x0", "x1", "x2", "x3"}),
        ("mwem", Pure(1), {"rounds": 2, "start": "histogram"}, set(EIGHT.names)),
        ("barak", Pure(1), {}, {"x0", "x1", "x2", "x3"}),
        ("agnostic", Pure(1), {"rounds": 1}, {"x0", "x1", "x2", "x3"}),
        ("pdp-mwem", Pure(1).per_attribute(), {"rounds": 2}, {"x0", "x1", "x2", "x3"}),
        ("pdp-mwem", Pure(1).per_attribute(), {"rounds": 2, "weights": {"x3": 0}}, {"x0", "x1", "x2"}),
    ],
)
def test_only_columns_that_are_charged_are_read(
    method: str, spend: Any, options: dict[str, Any], columns: set[str]
) -> None:
    whole = marginals(EIGHT, width=2)
    workload = Workload(whole.space, marginals(EIGHT, sets=[("x0", "x1"), ("x1", "x2"), ("x2", "x3")]).blocks)
    prepared = METHODS[method](SETTING, spend, workload, options)
    handing = _Handing(correlated())
    found = prepared.finish(prepared.mechanism(prepared.exact(handing), Noise(insecure_seed=1)))
    assert handing.asked == prepared.gauge.measure.columns() == columns
    assert set(prepared.mechanism.loss().named()) == columns
    assert Synthesize(workload, method=method).value(found).space.names == EIGHT.names


def test_queries_that_all_see_an_attribute_of_weight_zero_are_refused() -> None:
    workload = marginals(EIGHT, sets=[("x0", "x1"), ("x0", "x2")])
    with pytest.raises(ParameterError, match="weight 0"):
        METHODS["pdp-mwem"](SETTING, Pure(1).per_attribute(), workload, {"weights": {"x0": 0}})


def test_people_who_come_and_go_are_refused() -> None:
    with pytest.raises(ParameterError, match="REPLACE_ONE"):
        AttributeWeights(
            candidates=Candidates(PAIRS),
            people=10,
            rounds=1,
            rates=(("x0", Fraction(1)),),
            together=1,
            relation=ADD_REMOVE,
        )


def test_parities_without_noise_give_every_table_exactly() -> None:
    table = published("czech")
    plan = Barak(table.workload, REPLACE_ONE, table.people)
    exact = plan.read(table.records)
    assert len(exact) == 6 + 15 + 20
    for columns in [*combinations(table.schema.names, 3), *combinations(table.schema.names, 2)]:
        assert np.allclose(plan.table(columns, exact), table.records.table(columns))


@pytest.mark.parametrize(
    ("name", "epsilon", "mean"), [("czech", "0.5", 0.362), ("czech", 2, 0.036), ("rochdale", 2, 1.5)]
)
def test_the_fitted_baseline_is_that_of_the_reference(name: str, epsilon: Any, mean: float) -> None:
    table = published(name)
    plan = Barak(table.workload, REPLACE_ONE, table.people)
    noisy = plan.mechanism(Pure(epsilon), table.workload.reads)
    exact = plan.read(table.records)
    found = entropies(table, lambda noise: plan.model(noisy(exact, noise), noisy), 14)
    assert abs(found.mean() - mean) <= 3 * found.std(ddof=1) * np.sqrt(1 / 14 + 1 / 7) + 0.003


@pytest.mark.parametrize(
    ("schema", "width"),
    [
        # 364 tables of up to 4,096 cells, each number with a table of its own.
        ({f"x{place}": integers(0, 15) for place in range(14)}, 3),
        # 300 parities, but the model that they join has 2^24 cells.
        ({f"x{place}": booleans() for place in range(24)}, 2),
        # All parities of fourteen bits and more are not even listed.
        ({f"x{place}": booleans() for place in range(20)}, 20),
        # 1,561 parities would each be fitted to 2^21 cells.
        ({f"x{place}": booleans() for place in range(21)}, 3),
    ],
)
def test_a_baseline_that_cannot_be_fitted_is_refused_before_anything_is_spent(schema: Any, width: int) -> None:
    described = Schema(schema)
    question = Synthesize(marginals(described, width=width), method="barak")
    with pytest.raises(DomainTooLarge, match="method='auto'") as refused:
        question.prepare(Basis(described, 1000), Pure(1))
    assert refused.value.method == "auto"


def test_wide_tables_of_pairs_without_common_columns_are_fitted_piece_by_piece() -> None:
    schema = Schema({f"x{place}": integers(0, 3) for place in range(12)})
    workload = marginals(schema, sets=[(f"x{place}", f"x{place + 1}") for place in range(0, 12, 2)])
    plan = Barak(workload, REPLACE_ONE, 0)
    assert plan.fitted_cells == 16 < workload.space.cells
    mechanism = plan.mechanism(Pure(1), workload.reads)
    noisy = mechanism(plan.read(Records.from_rows(workload.space, [])), Noise(insecure_seed=1))
    assert max(one.log_weights.size for one in plan.model(noisy, mechanism).components) == 16


def test_columns_that_are_not_bits_are_measured_by_cells() -> None:
    schema = Schema({"a": integers(0, 2), "b": booleans()})
    workload = marginals(schema, width=2)
    plan = Barak(workload, ADD_REMOVE, None)
    records = Records.from_rows(workload.space, [(0, 0)] * 300 + [(2, 1)] * 700)
    mechanism = plan.mechanism(Pure(1), workload.reads)
    assert mechanism.sensitivity.l1 == 2
    model = plan.model(mechanism(plan.read(records), Noise(insecure_seed=1)), mechanism, Fitting(passes=40, slack=0.1))
    assert abs(model.marginal(["a", "b"])[2, 1] - 0.7) < 0.05
    assert abs(model.total - 1000) < 30
