"""The planner of synopses: predictions are those of what runs, floors stand beside them, bad input is refused."""

from __future__ import annotations

import pytest

from sfumato import ADD_REMOVE, Concentrated, Pure, Synopsize
from sfumato.errors import ParameterError
from sfumato.questions.synopsis import plan_synopsis
from sfumato.questions.synopsis.designs import SynopsisFacts, fourier_design, marginal_design
from sfumato.questions.synopsis.plan import LISTED
from sfumato.table.gauge import Basis
from tests.questions.synopsis.tables import schema_of


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
