"""Models: marginals, updates, rows, files, JSON, and what they refuse."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from sfumato import Noise
from sfumato.domain import bins
from sfumato.errors import DomainTooLarge, ParameterError, SchemaError
from sfumato.model import Component, Factored, Mixture, Model, model_from_json
from sfumato.model.rows import systematic
from sfumato.table.schema import Schema
from sfumato.workload import Marginal, Parity, Space
from tests.imputed import booleans, categories, dates, fixed, integers

SCHEMA = Schema(
    {
        "age": integers(0, 99),
        "decade": bins("age", step=10),
        "sex": categories("Female", "Male"),
        "rain": booleans(),
        "height": fixed(0, 2, step="0.5"),
        "day": dates("2020-01-01", "2020-01-03"),
    }
)
SPACE = Space.of(SCHEMA, ["decade", "sex", "rain"])
WIDE = Space.of(SCHEMA, ["sex", "rain", "height", "day"])


def random_tensor(shape: tuple[int, ...], seed: int = 1) -> Any:
    return Noise(insecure_seed=seed).uniform(1000, int(np.prod(shape))).reshape(shape) / 500


def dense(space: Space = SPACE) -> Factored:
    return Factored(space, 100.0, (Component(space.names, random_tensor(space.sizes)),))


def mixture(space: Space = SPACE, classes: int = 5) -> Mixture:
    raised = np.exp(random_tensor((classes, sum(space.sizes))))
    starts = np.concatenate(([0], np.cumsum(space.sizes)[:-1]))
    sums = np.repeat(np.add.reduceat(raised, starts, axis=1), space.sizes, axis=1)
    weights = np.arange(1.0, classes + 1)
    return Mixture(space, 100.0, weights / weights.sum(), raised / sums)


MODELS: list[Model] = [
    dense(),
    mixture(),
    Factored.product(
        SPACE, 9, {name: np.full(SPACE.shape([name]), 1 / SPACE.shape([name])[0]) for name in SPACE.names}
    ),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
def test_marginals_agree_with_each_other(model: Model) -> None:
    whole = model.marginal(SPACE.names)
    assert whole.shape == SPACE.sizes
    assert whole.sum() == pytest.approx(1)
    np.testing.assert_allclose(model.marginal(["rain", "decade"]), whole.sum(axis=1).T)
    np.testing.assert_allclose(model.marginal(["sex"]), whole.sum(axis=(0, 2)))
    assert model.marginal([]) == pytest.approx(1)
    parity = Parity(("sex", "rain"), (2, 2))
    assert model.expect(parity).shape == (1,)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
def test_models_round_trip_through_json(model: Model) -> None:
    again = model_from_json(json.loads(json.dumps(model.to_json())), SCHEMA)
    assert type(again) is type(model)
    assert again.total == model.total
    np.testing.assert_allclose(again.marginal(SPACE.names), model.marginal(SPACE.names), rtol=1e-5)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
def test_rows_repeat_the_model(model: Model) -> None:
    rows = 20_000
    codes = model.codes(rows, Noise(insecure_seed=3))
    counts = np.zeros(SPACE.sizes)
    np.add.at(counts, tuple(codes.T), 1)
    apart = 0.5 * np.abs(counts / rows - model.marginal(SPACE.names)).sum()
    # Independent draws would be about 0.4·sqrt(cells/rows) = 0.018 apart; the dense model is far below that.
    assert apart < (0.002 if len(getattr(model, "components", "several")) == 1 else 0.025)
    # Every column on its own is as even as whole rows allow: a row for each class at most.
    assert np.abs(counts.sum(axis=(1, 2)) - model.marginal(["decade"]) * rows).max() < 6


def test_rounding_is_systematic() -> None:
    shares = np.array([0.15, 0.35, 0.5])
    for seed in range(20):
        counts = systematic(shares, 7, Noise(insecure_seed=seed))
        assert counts.sum() == 7
        assert (np.abs(counts - 7 * shares) < 1).all()


def test_values_are_decoded() -> None:
    table = dense(WIDE).sample(50, Noise(insecure_seed=1))
    assert table.column_names == list(WIDE.names)
    assert set(table["sex"].to_pylist()) <= {"Female", "Male"}
    assert set(table["rain"].to_pylist()) <= {False, True}
    assert set(table["height"].to_pylist()) <= {0.0, 0.5, 1.0, 1.5, 2.0}
    assert set(table["day"].to_pylist()) <= {date(2020, 1, day) for day in (1, 2, 3)}


def test_files_are_written_batch_by_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.model.base.BATCH", 30)
    model = mixture()
    model.to_parquet(tmp_path / "rows.parquet", 70, Noise(insecure_seed=1))
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == 70
    model.to_parquet(tmp_path / "people.parquet")
    assert pq.read_table(tmp_path / "people.parquet").num_rows == 100


def test_updates_weigh_cells_and_merge_components() -> None:
    model = Factored.uniform(SPACE, 10, [[name] for name in SPACE.names])
    block = Marginal(("rain", "sex"), (2, 2))
    theta = np.array([0.0, 1.0, 0.5, -1.0])
    changed = model.update(block, theta)
    assert sorted(len(one.columns) for one in changed.components) == [1, 2]
    expected = np.exp(theta.reshape(2, 2))
    np.testing.assert_allclose(changed.marginal(["rain", "sex"]), expected / expected.sum())
    np.testing.assert_allclose(changed.marginal(["decade"]), np.full(10, 0.1))
    whole = Factored.uniform(SPACE, 10).update(block, theta)
    np.testing.assert_allclose(whole.marginal(SPACE.names), changed.marginal(SPACE.names))
    merged = changed.merge(SPACE.names)
    assert len(merged.components) == 1
    np.testing.assert_allclose(merged.marginal(SPACE.names), changed.marginal(SPACE.names))
    assert changed.cells_after(["decade", "sex"]) == 40


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(DomainTooLarge, match="at most 16"):
        Factored.uniform(SPACE, 10, max_cells=16)
    with pytest.raises(DomainTooLarge, match="more than"):
        many = Space.of(Schema({f"x{i}": integers(0, 99) for i in range(4)}))
        Factored.uniform(many, 1, [[name] for name in many.names]).marginal(many.names)
    with pytest.raises(ParameterError, match="to_parquet"):
        dense().sample(10**15)
    with pytest.raises(ParameterError, match="rows"):
        dense().sample(0)


def test_unknown_and_repeated_columns_are_refused() -> None:
    with pytest.raises(SchemaError, match="in this model; did you mean 'sex'"):
        dense().marginal(["sxe"])
    with pytest.raises(ParameterError, match="twice"):
        dense().marginal(["sex", "sex"])
    with pytest.raises(ParameterError, match="exactly once"):
        Factored(SPACE, 1, (Component(("sex",), np.zeros(2)),))
    with pytest.raises(ParameterError, match="one row"):
        Mixture(SPACE, 1, np.ones(2) / 2, np.ones((3, 14)))
    with pytest.raises(ParameterError, match="no model"):
        model_from_json({"model": "oracle"}, SCHEMA)
