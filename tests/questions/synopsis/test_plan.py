"""The planner of synopses: predictions are those of what runs, floors stand beside them, bad input is refused."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from sfumato import ADD_REMOVE, Concentrated, Noise, Pure, Synopsize, curate
from sfumato.errors import ParameterError
from sfumato.questions.synopsis import Conjunctions, plan_synopsis
from sfumato.questions.synopsis.designs import SynopsisFacts, fourier_design, marginal_design, with_negations
from sfumato.questions.synopsis.fourier import FourierSynopsis
from sfumato.questions.synopsis.fourier_weights import left_out
from sfumato.questions.synopsis.inclusion import Prior
from sfumato.questions.synopsis.plan import LISTED
from sfumato.table.gauge import Basis
from tests.questions.synopsis.tables import mixture, rms, schema_of, table_of, true_shares


def test_the_best_way_is_what_auto_runs() -> None:
    plan = plan_synopsis(32, 50_000, Concentrated("0.1"), width=3)
    schema = schema_of(32)
    mechanism = Synopsize(options={"width": 3}).prepare(Basis(schema, 50_000), Concentrated("0.1")).mechanism
    assert plan.best.name in (f"marginals, order={mechanism.degree}", f"fourier, degree={mechanism.degree}")  # type: ignore[attr-defined]
    assert [way.error for way in plan.ways] == sorted(way.error for way in plan.ways)
    assert plan.to_frame().columns["way"][0] == plan.ways[0].name


def test_rows_needed_give_the_wanted_error() -> None:
    plan = plan_synopsis(64, 100_000, Pure(1), width=3, accuracy="0.03")
    for way in plan.ways:
        if way.needs is None:
            assert way.bias >= 0.03
    listed = next(way for way in plan.ways if way.name == LISTED)
    again = plan_synopsis(64, round(listed.needs), Pure(1), width=3, accuracy="0.03")  # type: ignore[arg-type]
    assert next(way for way in again.ways if way.name == LISTED).error == pytest.approx(0.03, rel=0.01)


def test_floors_and_warnings() -> None:
    plan = plan_synopsis(20, 1000, Pure("0.01"), width=9, relation=ADD_REMOVE)
    words = " ".join(plan.warnings)
    assert "Synthesize" in words and "every width" in words and "as good as any" in words
    assert "No way reaches" in " ".join(plan_synopsis(64, 100, Pure("0.01"), width=1).warnings)
    assert dict(plan.floors)["rows for the wanted accuracy"] == pytest.approx(400)
    assert all(floor > 0 for _, floor in plan.floors)


def test_noise_falls_with_rows_and_grows_with_columns() -> None:
    def noise(size: int, rows: float) -> float:
        return fourier_design(SynopsisFacts(size, (0, size), True, 1, rows), Pure(1), 2, 3.0).noise

    assert noise(32, 1e4) == pytest.approx(10 * noise(32, 1e5))
    assert noise(64, 1e5) > 2 * noise(32, 1e5)


def test_sets_of_columns_beat_listed_queries_for_wide_ones() -> None:
    # RL-AIE against noise on every query: from five columns of twenty on.
    for width in (5, 6, 8):
        plan = plan_synopsis(20, 20_000, Concentrated("0.02"), width=width)
        listed = next(way for way in plan.ways if way.name == LISTED)
        assert plan.best.error < listed.error / 2
    worst = marginal_design(SynopsisFacts(20, (0, 20), True, 1, 2e4), Concentrated("0.02"), 2, 6, True)
    assert worst.worst == pytest.approx(0.25, abs=0.01)


def test_bad_input_says_what_to_write() -> None:
    with pytest.raises(ParameterError, match="from 1 to 8 wide"):
        plan_synopsis(8, 100, Pure(1), width=9)
    with pytest.raises(ParameterError):
        plan_synopsis(0, 100, Pure(1))


@pytest.mark.parametrize(("degree", "plain", "negated"), [(1, 2, 0), (2, 2, 1), (1, 0, 2), (2, 3, 2), (5, 2, 3)])
def test_what_is_left_out_is_that_of_columns_which_have_nothing_to_do_with_each_other(degree, plain, negated) -> None:
    size, probability = 5, 0.3

    def wider(zeros: tuple[float, ...]) -> float:
        """Return what powers above the degree add to the product of one factor a column."""
        terms = np.ones(1)
        for column, zero in enumerate(zeros):
            if column < plain:
                factor = [1 - probability * zero, -(1 - probability) * zero]
            elif column < plain + negated:
                factor = [0.0, zero]
            else:
                factor = [1 - probability * zero, probability * zero]
            terms = np.convolve(terms, factor)
        assert terms.sum() == pytest.approx(
            math.prod(1 - z for z in zeros[:plain]) * math.prod(zeros[plain:][:negated])
        )
        return float(terms[degree + 1 :].sum())

    # Half of the columns hold for 0.2 of the rows, half for 0.6.
    squares = [wider(zeros) ** 2 for zeros in product([0.8, 0.4], repeat=size)]
    found = left_out(size, degree, probability, (plain, negated), Prior(0.4, 0.04))
    assert found == pytest.approx(math.sqrt(np.mean(squares)), abs=1e-7)
    assert (found < 1e-7) == (degree == size)


def test_fourier_coefficients_are_not_taken_for_negations_that_they_answer_badly() -> None:
    # Of eight columns at Pure(0.1) single ones promise 0.03 for conjunctions without negations, and of others say 0.
    spend, people = Pure("0.1"), 10_000
    bits = mixture(people, 8, seed=4)
    queries = Conjunctions.random(8, 2, 200, negations=True, noise=Noise(insecure_seed=3))
    true, errors = true_shares(bits, queries), {}
    for method, options in (("fourier", {"degree": 1}), ("auto", {})):
        with curate(table_of(bits), schema_of(8), spend) as curator:
            found = curator.ask(Synopsize(method, options={"width": 2, **options}), spend).value
        errors[method] = rms(found.answer(queries) - true)
        assert isinstance(found, FourierSynopsis) == (method == "fourier")
    facts = SynopsisFacts(8, (0, 8), True, 1, float(people))
    design = fourier_design(facts, spend, 1, 2.0)
    promised = with_negations(facts, spend, design, 2)
    assert design.error < errors["fourier"] / 3, "what was promised before"
    assert errors["fourier"] / 2 < promised.error < 2 * errors["fourier"] and errors["auto"] < errors["fourier"] / 2


def test_coefficients_of_every_width_are_as_good_with_negations() -> None:
    facts = SynopsisFacts(4, (0, 4), True, 1, 1e6)
    design = fourier_design(facts, Pure(1), 4, 2.0)
    assert with_negations(facts, Pure(1), design, 2).bias < 1e-7
    assert with_negations(facts, Pure(1), design, 2).noise < 2 * design.noise
