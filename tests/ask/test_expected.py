"""A preview's error against the interval of the answer that is paid for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
import pytest

import sfumato as sf
from sfumato import Count, GroupBy, Mean, Pure, Sum, Variance
from sfumato.ask.expected import Expected

PEOPLE = 4000
COLUMNS = {"pay": sf.integers(0, 1000), "ward": sf.categories("a", "b", "c", "d")}
QUESTIONS = {
    "count": Count("pay > 300"),
    "sum": Sum("pay"),
    "mean": Mean("pay"),
    "variance": Variance("pay"),
    "counts by ward": GroupBy("ward", [Count()]),
    "means by ward": GroupBy("ward", [Count(), Mean("pay")]),
}
SCHEMAS = {
    "no person": sf.Schema(COLUMNS),
    "one row": sf.Schema(COLUMNS, person="id", rows_per_person=1),
    "several rows": sf.Schema(COLUMNS, person="id", rows_per_person=3),
}


def half_width(between: Any) -> float:
    if isinstance(between, tuple):
        return float(between[1] - between[0]) / 2
    (low,) = [name for name in between.columns if name.endswith("low") and "count" not in name] or ["count, low"]
    pairs = zip(between[low], between[low.removesuffix("low") + "high"], strict=True)
    return max(float(high - low) / 2 for low, high in list(pairs)[:4])


@pytest.mark.parametrize("described", SCHEMAS)
def test_previews_say_how_wide_the_interval_will_be(described: str) -> None:
    places = np.arange(PEOPLE)
    rows = {"id": places, "pay": places * 7 % 1001, "ward": np.array(["a", "b", "c", "d"])[places % 4]}
    with sf.curate(pyarrow.table(rows), SCHEMAS[described], Pure(10)) as curator:
        for name, question in QUESTIONS.items():
            seen = curator.preview(question, Pure(1)).expected
            assert isinstance(seen, Expected), name
            real = half_width(curator.ask(question, Pure(1)).interval(0.95))
            assert real / 2 <= seen.size <= 2 * real, (name, seen.size, real)


def test_a_preview_does_not_depend_on_how_rows_are_weighed() -> None:
    one, several = (sf.Schema(COLUMNS, person="id", rows_per_person=rows) for rows in (1, 5))
    rows = pyarrow.table({"id": [*range(300)], "pay": [500] * 300, "ward": ["a"] * 300})
    sizes = []
    for schema in (one, several):
        with sf.curate(rows, schema, Pure(10)) as curator:
            halved = [curator.preview(Mean("pay"), Pure(spend)).expected for spend in ("1/2", 1)]
            sizes.append([seen.size for seen in halved if seen is not None])
    assert all(1.8 < rough / fine < 2.4 for rough, fine in sizes)  # half the spend, twice the error
    assert all(4 < many / single < 7 for single, many in zip(*sizes, strict=True))


def test_squares_of_a_wide_column_have_a_preview() -> None:
    columns = {"pay": sf.integers(0, 4_000_000), "ward": sf.categories("a", "b")}
    rows = pyarrow.table({"id": [*range(300)], "pay": [500] * 300, "ward": ["a"] * 300})
    with sf.curate(rows, sf.Schema(columns, person="id", rows_per_person=5), Pure(10)) as curator:
        for question in (Variance("pay"), GroupBy("ward", [Variance("pay")])):
            seen = curator.preview(question, Pure(1)).expected
            assert seen is not None and seen.size > 0
