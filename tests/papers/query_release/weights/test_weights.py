"""Multiplicative weights: the published columns again, the improved variant, the meter, and bad input."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from sfumato import ADD_REMOVE, REPLACE_ONE, Approximate, Concentrated, Noise, Pure, Schema
from sfumato.errors import CertificationError, DomainTooLarge, ParameterError, SfumatoError, UnsupportedSpend
from sfumato.model.factored import Factored
from sfumato.noise import DiscreteGaussian, DiscreteLaplace
from sfumato.papers.query_release.weights import Candidates, Fitting, MultiplicativeWeights, Options, plan_rounds
from sfumato.papers.query_release.weights.evidence import Evidence
from sfumato.papers.query_release.weights.meter import Metered
from sfumato.questions.synthesis.methods import METHODS
from sfumato.table.gauge import Basis
from sfumato.workload.builders import marginals, matrix, parities
from sfumato.workload.records import Records
from tests.imputed import booleans, integers
from tests.papers.query_release.weights.published import entropies, plain, published
from tests.promises.printed.weights import printed_step

PLAIN, STEP, REPLAY = (
    Fitting(step=0.5, output="average"),
    Fitting(),
    Fitting(step=2.0, passes=10, replay_step=2.0),
)

# Relative entropies of the reference runs: table, epsilon, rounds, fitting, mean.
REFERENCE = [
    ("czech", 1, 10, PLAIN, 0.364),
    ("czech", 0.2, 5, STEP, 0.098),
    ("czech", 1, 10, STEP, 0.056),
    ("czech", 2, 20, STEP, 0.037),
    ("czech", 1, 10, REPLAY, 0.047),
    ("rochdale", 0.2, 5, STEP, 1.38),
    ("rochdale", 1, 10, STEP, 0.600),
    ("rochdale", 1, 5, REPLAY, 0.676),
    ("mildew", 1, 3, STEP, 1.17),
    ("mildew", 2, 3, STEP, 0.69),
]

BEST = [
    ("czech", 0.1, 0.248),
    ("czech", 0.2, 0.098),
    ("czech", 0.5, 0.077),
    ("czech", 1, 0.056),
    ("rochdale", 0.1, 1.77),
    ("rochdale", 0.2, 1.38),
    ("rochdale", 0.5, 0.887),
    ("rochdale", 1, 0.600),
    ("rochdale", 2, 0.456),
    ("mildew", 1, 1.17),
    ("mildew", 2, 0.69),
    ("mildew", 5, 0.39),
]


@pytest.mark.parametrize(("name", "epsilon", "rounds", "fitting", "mean"), REFERENCE)
def test_the_reference_columns_come_out_again(
    name: str, epsilon: Any, rounds: int, fitting: Fitting, mean: float
) -> None:
    table = published(name)
    mechanism = plain(table, epsilon, rounds, fitting)
    found = entropies(table, lambda noise: mechanism.model_of(mechanism(table.records, noise)), 24)
    # The reference itself is a mean of 60 runs, 30 of them for replay, with about the same spread.
    error = found.std(ddof=1) * np.sqrt(1 / 24 + 1 / 60)
    assert abs(found.mean() - mean) <= 3 * error + 0.0006


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
@pytest.mark.parametrize(("name", "epsilon", "best"), BEST)
def test_the_improved_variant_is_not_worse_than_the_best_column(name: str, epsilon: Any, best: float) -> None:
    table = published(name)
    mechanism = improved(table, Pure(epsilon))
    found = entropies(table, lambda noise: mechanism.model_of(mechanism(table.records, noise)), 24)
    error = found.std(ddof=1) * np.sqrt(1 / 24 + 1 / 60)
    assert found.mean() <= best + 3 * error


def improved(table: Any, spend: Any, **options: Any) -> MultiplicativeWeights:
    return plan_rounds(
        Candidates(table.workload),
        spend,
        people=table.people,
        counted=True,
        relation=REPLACE_ONE,
        reads=table.workload.reads,
        options=Options(**options),
    )


@pytest.mark.parametrize(
    "options",
    [
        {"start": "histogram"},
        {"schedule": "doubling"},
        {"output": "best_fit"},
        {"output": "average"},
        {"replay": "plain"},
        {"replay": "none"},
    ],
)
def test_every_variant_learns_and_repeats_its_model_from_the_transcript(options: dict[str, Any]) -> None:
    table = published("czech")
    mechanism = improved(table, Pure(2), **options)
    transcript = mechanism(table.records, Noise(insecure_seed=3))
    model = mechanism.model_of(transcript)
    again = mechanism.model_of(replace(transcript))
    names = table.workload.space.names
    assert np.allclose(model.marginal(names), again.marginal(names), atol=1e-12)
    assert table.relative_entropy(model) < 0.5
    assert mechanism.loss().within(Pure(2))


def test_the_concentrated_and_the_approximate_spend() -> None:
    table = published("czech")
    for spend in (Concentrated(0.2), Approximate(1, 1e-6), Concentrated(0.2).per_attribute()):
        mechanism = improved(table, spend)
        assert mechanism.loss().within(spend)
        assert table.relative_entropy(mechanism.model_of(mechanism(table.records, Noise(insecure_seed=1)))) < 0.2
    assert isinstance(improved(table, Concentrated(0.2)).law, DiscreteGaussian)


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_rounds_follow_the_repaired_bound() -> None:
    table = published("czech")
    auto = [improved(table, Pure(epsilon), replay="none", split=Fraction(1, 2)).rounds for epsilon in (0.1, 1, 2)]
    assert auto == [4, 17, 27]


def ten_bits() -> tuple[Any, Records]:
    schema = Schema({f"b{place}": booleans() for place in range(10)})
    workload = parities(schema, sets=[*combinations(schema.names, 1), *combinations(schema.names, 2)])
    bits = Noise(insecure_seed=5).uniform(2, 3000 * 10).reshape(3000, 10)
    bits[:, 1] |= bits[:, 0]
    bits[:, 5] &= bits[:, 4]
    return workload, Records.from_rows(workload.space, bits)


@pytest.mark.parametrize("fitting", [Fitting(), Fitting(passes=5, slack=0.3)])
def test_the_dense_and_the_factored_model_are_equal(fitting: Fitting) -> None:
    workload, records = ten_bits()
    found = []
    for dense in (True, False):
        mechanism = MultiplicativeWeights(
            candidates=Candidates(workload),
            people=3000,
            rounds=15,
            rate=Fraction(1, 10),
            law=DiscreteLaplace(10),
            fitting=fitting,
            dense=dense,
            reads=workload.reads,
        )
        transcript = mechanism(records, Noise(insecure_seed=2))
        found.append((transcript.rounds, mechanism.model_of(transcript)))
    assert found[0][0] == found[1][0]
    assert len(found[0][1].components) == 1 < len(found[1][1].components)
    names = workload.space.names
    assert np.abs(found[0][1].marginal(names) - found[1][1].marginal(names)).max() < 1e-10


def test_candidates_that_would_need_too_large_a_component_are_left_out() -> None:
    workload, records = ten_bits()
    mechanism = MultiplicativeWeights(
        candidates=Candidates(workload),
        people=3000,
        rounds=30,
        rate=Fraction(1, 10),
        law=DiscreteLaplace(10),
        max_cells=8,
        reads=workload.reads,
    )
    model = mechanism.model_of(mechanism(records, Noise(insecure_seed=2)))
    assert max(component.log_weights.size for component in model.components) == 8


def test_queries_with_fractions_are_learned() -> None:
    schema = Schema({"x": integers(0, 4)})
    workload = matrix(schema, "x", [[0, 0.25, 0.5, 0.75, 1], [1, 0.5, 0, 0, 0]], steps=4)
    records = Records.from_rows(workload.space, [(code,) for code in [0] * 50 + [1] * 800 + [4] * 150])
    candidates = Candidates(workload)
    assert candidates.width == 4
    assert candidates.exact(records).tolist() == [1 * 800 + 4 * 150, 2 * (2 * 50 + 800)]
    mechanism = plan_rounds(candidates, Pure(5), people=1000, counted=True, relation=REPLACE_ONE, reads=workload.reads)
    model = mechanism.model_of(mechanism(records, Noise(insecure_seed=1)))
    found = np.concatenate(workload.evaluate(model))
    assert np.abs(found - [0.35, 0.45]).max() < 0.03


def test_signed_parities_are_the_same_queries() -> None:
    table = published("mildew")
    schema = table.schema
    signed, odd = parities(schema, width=2, signed=True), parities(schema, width=2)
    even = Candidates(signed).exact(table.records)
    assert (even + Candidates(odd).exact(table.records) == table.people).all()


def test_the_printed_update_learns_nothing() -> None:
    workload = parities(Schema({"a": booleans(), "b": booleans()}), width=2)
    model = Factored.uniform(workload.space, 10)
    columns, query = Candidates(workload).query(0)
    one = Evidence(columns, query, np.array([0.9]), 0.01, np.zeros(1))
    assert np.allclose(printed_step(model, one, 4.0).marginal(columns), model.marginal(columns))


def test_a_run_that_costs_something_else_is_withheld() -> None:
    table = published("mildew")
    mechanism = plain(table, 1, 3, Fitting())

    class Longer(MultiplicativeWeights):
        def charges(self) -> Any:
            return replace(mechanism, rounds=2).charges()

    longer = Longer(**{part.name: getattr(mechanism, part.name) for part in fields(mechanism)})
    with pytest.raises(CertificationError, match="did not cost what was stated"):
        longer(table.records, Noise(insecure_seed=1))


def test_the_meter_refuses_what_the_plan_does_not_cover() -> None:
    table = published("mildew")
    candidates = Candidates(table.workload)
    stage = plain(table, 1, 3, Fitting()).stage()
    metered = Metered(candidates, table.records, Noise(insecure_seed=1), limit=Fraction(1, 100))
    with pytest.raises(CertificationError, match="limit"):
        metered.choose(np.zeros(candidates.size), stage.chooser)
    free = Metered(candidates, table.records, Noise(insecure_seed=1))
    with pytest.raises(CertificationError, match="more than was planned"):
        free.measure((0, 1), (stage.noise, stage.noise), stage.moves, stage.measuring())


SETTING = Basis(Schema({"a": booleans(), "b": integers(0, 9)}), 100)


@pytest.mark.parametrize(
    ("method", "options", "error", "words"),
    [
        ("mwem", {"rounds": 0}, ParameterError, "at least 1"),
        ("mwem", {"split": 1.5}, ParameterError, "split"),
        ("mwem", {"output": "best"}, ParameterError, "output"),
        ("mwem", {"passses": 3}, ParameterError, "no option"),
        ("mwem", {"max_cells": 3}, DomainTooLarge, "cells"),
        ("mwem", {"max_cells": 0}, ParameterError, "max_cells"),
        ("mwem", {"expect": 0}, ParameterError, "expect"),
        ("mwem", {"expect": "many"}, ParameterError, "expect"),
        ("pdp-mwem", {"together": 9}, ParameterError, "together"),
        ("pdp-mwem", {"weights": {"c": 1}}, ParameterError, "no query reads"),
        ("pdp-mwem", {"weights": {"a": 2}}, ParameterError, "between 0 and 1"),
        ("pdp-mwem", {"step": "big"}, ParameterError, "step"),
    ],
)
def test_bad_options_are_refused(method: str, options: dict[str, Any], error: type[SfumatoError], words: str) -> None:
    workload = marginals(SETTING.schema, width=2)
    with pytest.raises(error, match=words):
        METHODS[method](SETTING, Pure(1), workload, options)


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_rounds_are_planned_for_the_expected_number_where_it_is_private() -> None:
    schema = Schema({name: booleans() for name in "abcd"})
    workload = marginals(schema, width=2)

    def planned(people: int, relation: Any, **options: Any) -> Any:
        setting = Basis(schema, people, relation)
        return METHODS["mwem"](setting, Pure(1), workload, {"replay": "none", **options}).mechanism

    guessed = [planned(10, ADD_REMOVE, expect=expected).rounds for expected in (246, 247, 5000)]
    assert guessed[0] < guessed[1] < guessed[2]
    assert planned(246, ADD_REMOVE).event() == planned(247, ADD_REMOVE).event()
    assert planned(10, ADD_REMOVE).event() == planned(10, ADD_REMOVE, expect=100_000).event()
    # The public number is better than any guess.
    assert planned(246, REPLACE_ONE, expect=5000).event() == planned(246, REPLACE_ONE).event()
    several = Basis(Schema(dict(schema.columns), "person", 2), 246)
    assert METHODS["mwem"](several, Pure(1), workload, {"rounds": "auto"}).mechanism.loss().within(Pure(1))


def test_what_costs_nothing_and_people_who_come_and_go() -> None:
    workload = marginals(SETTING.schema, width=1)
    with pytest.raises(UnsupportedSpend, match="above zero"):
        METHODS["mwem"](SETTING, Pure(0), workload, {})
    leaving = replace(SETTING, relation=ADD_REMOVE)
    with pytest.raises(UnsupportedSpend, match="method='mwem'"):
        METHODS["pdp-mwem"](leaving, Pure(1), workload, {})
    prepared = METHODS["mwem"](leaving, Pure(1), workload, {})
    assert prepared.mechanism.loss().within(Pure(1))
    empty = Records.from_rows(workload.space, [])
    made = prepared.finish(prepared.mechanism(empty, Noise(insecure_seed=1))).made
    assert made["model"]["total"] >= 1
