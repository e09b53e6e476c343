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


def listed(people: int = 4000) -> sf.Curator:
    schema = sf.Schema({"age": sf.integers(0, 99), "sex": sf.categories("f", "m")})
    table = pyarrow.table({"age": [place % 100 for place in range(people)], "sex": ["f", "m"] * (people // 2)})
    return sf.curate(table, schema, sf.Approximate(3, "1e-6"))


def test_the_preview_of_a_list_says_the_error_of_each_question_in_plain_words() -> None:
    with listed() as curator:
        questions = [sf.Mean("age"), sf.Count("age > 30"), sf.Quantiles("age", 0.5), sf.Synthesize()]
        text = str(curator.preview(questions, Pure(1)))
        alone = [curator.preview(question, Pure("1/4")) for question in questions]
        twins = curator.preview([sf.Count("age > 30"), sf.Count("age > 60")], Pure(1))
        refused = str(curator.preview(questions, Pure(50)))
    lines = ["Mean of age", "Count, with a condition on age", "Quantiles of age", "Synthesize"]
    for title, one in zip(lines, alone, strict=True):
        assert f"{title}: {one.error}" in text
    assert "Together the 4 questions tell at most epsilon 1 about a person." in text
    assert twins.expected is not None and "Each of the 2: 95 % of the time the noise moves it" in str(twins)
    assert "fixed before" not in text + refused and "Together" not in refused


def test_the_error_of_a_long_list_is_that_of_the_noise_it_really_gets() -> None:
    questions = [sf.Count(f"age > {age}") for age in range(10, 90, 4)]
    spend = sf.Approximate(1, "1e-7")
    with listed() as curator:
        seen = curator.preview(questions, spend).expected
        low, high = curator.ask(questions, spend)[0].interval(0.95)
    assert seen is not None and abs(seen.size - (high - low) / 2) <= 1
