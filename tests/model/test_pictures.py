"""The pictures of a model: which tables they hold, how wide columns are merged, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow
import pytest

from sfumato import Pure, Schema, bins, booleans, categories, curate, integers
from sfumato.errors import ParameterError, SchemaError
from sfumato.model import ColumnBins, Component, Factored, Model, Refined
from sfumato.model.pictures import BARS, SIDE, _bars, _heat, model_picture, strongest
from sfumato.model.refined import coarse_space
from sfumato.workload import Space

SCHEMA = Schema(
    {
        "age": integers(0, 99),
        "decade": bins("age", step=10),
        "ill": booleans(missing=False),
        "town": categories("Aa", "Bb", missing="Aa"),
    }
)


def model(*names: str) -> Factored:
    space = Space.of(SCHEMA, names)
    weights = np.zeros(space.sizes)
    if "ill" in names and "town" in names:
        weights[..., 0, 0] = weights[..., 1, 1] = 3.0
    return Factored(space, 200.0, (Component(space.names, weights),))


def test_charts_hold_the_tables_of_the_model() -> None:
    made = model("decade", "ill", "town")
    bars = _bars(made, "decade")
    assert bars.labels == (*(str(10 * one) for one in range(10)), "missing")
    assert np.allclose(bars.values, made.marginal(["decade"]) * 200)
    heat = _heat(made, ("town", "ill"))
    assert np.allclose(heat.values, made.marginal(["town", "ill"]) * 200)
    assert strongest(made, made.space.names)[0] == ("ill", "town")


def test_many_values_are_drawn_in_runs_and_missing_ones_apart() -> None:
    made = model("age", "ill")
    bars = _bars(made, "age")
    assert len(bars.values) == BARS + 1 and bars.labels[-1] == "missing" and abs(sum(bars.values) - 200) < 1e-9
    heat = _heat(made, ("age", "ill"))
    assert len(heat.labels[0]) == SIDE + 1 and np.isclose(np.sum(heat.values), 200)


def test_a_column_in_bins_is_drawn_in_runs_of_equal_width() -> None:
    space = Space.of(SCHEMA, ["age", "ill"])
    held = {"age": ColumnBins((0, 50, 100), (0, 10, 50, 100), 101)}
    inner = Factored.uniform(coarse_space(space, held), 90.0)
    made = Refined(space, 90.0, inner, held, {"age": np.array([1.0, 0.0, 1.0, 1.0])})
    bars = _bars(made, "age")
    assert len(bars.values) == BARS + 1 and np.isclose(bars.values[-1], 30) and np.isclose(sum(bars.values[:4]), 30)
    assert _heat(made, ("age", "ill")).labels[0] == ("0", "50", "missing")


def test_what_is_no_column_or_no_pair_is_refused() -> None:
    made: Model = model("decade", "ill")
    with pytest.raises(ParameterError, match=r"pairs=\[\('age', 'sex'\)\]"):
        made.plot(pairs=[("decade",)])
    with pytest.raises(SchemaError, match="no column 'sex'"):
        model_picture(made, columns=["sex"])


def test_an_answer_draws_its_model_with_the_stated_error(tmp_path: Path) -> None:
    rows = pyarrow.table({"age": list(range(100)) * 5, "ill": [True, False] * 250, "town": ["Aa", "Bb"] * 250})
    with curate(rows, SCHEMA, Pure(9)) as curator:
        answer = curator.synthesize(columns=["decade", "ill", "town"], spend=Pure(2))
        drawing = answer.plot(tmp_path / "model.svg", columns=["decade"], pairs=[("ill", "town")])
        assert "total variation" in drawing.caption and "clamped" not in drawing.caption  # type: ignore[attr-defined]
        assert (tmp_path / "model.svg").read_text(encoding="utf-8").count("<svg") == 1
        with pytest.raises(ParameterError, match="not overwritten"):
            answer.plot(tmp_path / "model.svg")
        with pytest.raises(ParameterError, match="no pairs="):
            curator.histogram("ill", spend=Pure(1)).plot(pairs=[("ill", "town")])
        frame = answer.to_pandas()
        assert list(frame) == ["age", "decade", "ill", "town"] and len(frame) == 500
        assert any("total variation" in note for note in frame.attrs["notes"])
        assert answer.to_polars().height == answer.to_arrow().num_rows == 500
        assert answer._repr_html_().count("<figure") == 1
