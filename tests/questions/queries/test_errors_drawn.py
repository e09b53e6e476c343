"""True against released answers, drawn for rows that are public."""

from __future__ import annotations

import numpy as np
import pyarrow
import pytest

from sfumato import ADD_REMOVE, Concentrated, Noise, Pure, Schema, curate, workloads
from sfumato.domain import bins
from sfumato.errors import ParameterError, SchemaError
from sfumato.model.factored import Factored
from sfumato.questions.queries.drawn import draw_errors
from sfumato.show.compared import ComparedChart, compared
from sfumato.workload.space import Space
from tests.imputed import booleans, integers

SCHEMA = Schema({"age": integers(0, 59), "decade": bins("age", step=10), "works": booleans()})
AGES = Noise(insecure_seed=1).uniform(60, 400)
PEOPLE = pyarrow.table({"age": AGES, "works": AGES > 20})
WORKLOAD = workloads.marginals(SCHEMA, sets=[("decade", "works"), ("decade",)])


def truth() -> np.ndarray:
    table = np.zeros((6, 2))
    np.add.at(table, (AGES // 10, (AGES > 20).astype(int)), 1)
    return np.concatenate([table.ravel(), table.sum(axis=1)])


def test_tables_are_drawn_against_public_rows() -> None:
    with curate(PEOPLE, SCHEMA, Concentrated(1)) as curator:
        tables = curator.answer(WORKLOAD, spend=Concentrated(0.1)).value
    drawing = draw_errors(tables, public=PEOPLE, schema=SCHEMA)
    assert isinstance(drawing, ComparedChart)
    assert drawing.true == tuple(truth()) and drawing.released == tuple(np.concatenate(tables.values))
    assert all(
        low <= value <= high for low, value, high in zip(drawing.low, drawing.released, drawing.high, strict=True)
    )
    assert tables.width(0) != tables.width(1) and drawing.width is None, "tables differ in the width of their noise"
    assert "of which" in drawing.title
    assert drawing.svg() == drawing.svg() and "<svg" in drawing.svg()


def test_one_noise_for_all_has_one_width() -> None:
    with curate(PEOPLE, SCHEMA, Pure(1)) as curator:
        tables = curator.answer(WORKLOAD, spend=Pure(1)).value
    assert draw_errors(tables, public=PEOPLE, schema=SCHEMA).width == tables.width(0) == tables.width(1)


def test_a_model_is_drawn_without_intervals() -> None:
    model = Factored.uniform(Space.of(SCHEMA, ["decade", "works"]), 400.0)
    drawing = draw_errors(model, public=PEOPLE, schema=SCHEMA, workload=WORKLOAD)
    assert isinstance(drawing, ComparedChart)
    assert drawing.low == () and drawing.true == tuple(truth())
    assert drawing.released == pytest.approx([400 / 12] * 12 + [400 / 6] * 6)
    assert "<svg" in drawing.svg()


def test_other_rows_than_those_asked_about_are_refused() -> None:
    with curate(PEOPLE, SCHEMA, Concentrated(1)) as curator:
        tables = curator.answer(WORKLOAD, spend=Concentrated(0.1)).value
    with pytest.raises(ParameterError, match="399 public rows; pass the rows"):
        draw_errors(tables, public=PEOPLE.slice(1), schema=SCHEMA)
    other = Schema({"age": integers(0, 69), "decade": bins("age", step=10), "works": booleans()})
    with pytest.raises(SchemaError, match="another schema"):
        draw_errors(tables, public=PEOPLE, schema=other)
    with pytest.raises(ParameterError, match="workload="):
        draw_errors(Factored.uniform(Space.of(SCHEMA, ["works"]), 1.0), public=PEOPLE, schema=SCHEMA)
    with pytest.raises(ParameterError, match="one released answer for each"):
        compared("Nothing", "people", [], [])


def test_a_private_number_of_people_is_not_compared() -> None:
    with curate(PEOPLE, SCHEMA, Concentrated(1), relation=ADD_REMOVE) as curator:
        tables = curator.answer(WORKLOAD, spend=Concentrated(0.1)).value
    assert tables.people is None
    assert "<svg" in draw_errors(tables, public=PEOPLE, schema=SCHEMA).svg()
