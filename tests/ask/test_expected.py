"""A preview's error against the interval of the answer that is paid for."""

from __future__ import annotations

import re
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


@pytest.mark.parametrize("each", [1, 20])
def test_a_preview_of_means_says_how_wide_it_is_for_one_row_and_for_all_rows_of_everybody(each: int) -> None:
    places = np.arange(PEOPLE * each)
    rows = pyarrow.table({"id": places // each, "pay": places * 7 % 1001, "ward": np.array([*"abcd"])[places % 4]})
    with sf.curate(rows, sf.Schema(COLUMNS, person="id", rows_per_person=20), Pure(10)) as curator:
        question = GroupBy("ward", [Mean("pay")])
        seen = curator.preview(question, Pure(2))
        (most,) = re.findall(r"by less if people have more rows \(by at most ([0-9.]+) if all have 20\)", seen.error)
        between = curator.ask(question, Pure(2)).interval(0.95)
        real = half_width(between)
    assert seen.expected is not None
    said = seen.expected.size if each == 1 else float(most)
    assert real / 2 <= said <= 2 * real, (said, real)


def test_squares_of_a_wide_column_have_a_preview() -> None:
    columns = {"pay": sf.integers(0, 4_000_000), "ward": sf.categories("a", "b")}
    rows = pyarrow.table({"id": [*range(300)], "pay": [500] * 300, "ward": ["a"] * 300})
    with sf.curate(rows, sf.Schema(columns, person="id", rows_per_person=5), Pure(10)) as curator:
        for question in (Variance("pay"), GroupBy("ward", [Variance("pay")])):
            seen = curator.preview(question, Pure(1)).expected
            assert seen is not None and seen.size > 0


def listed(people: int = 4000, limit: sf.Bound | None = None) -> sf.Curator:
    schema = sf.Schema({"age": sf.integers(0, 99), "sex": sf.categories("f", "m")})
    table = pyarrow.table({"age": [place % 100 for place in range(people)], "sex": ["f", "m"] * (people // 2)})
    return sf.curate(table, schema, sf.Approximate(3, "1e-6") if limit is None else limit)


def test_the_preview_of_a_list_says_the_error_of_each_question_in_plain_words() -> None:
    with listed() as curator:
        questions = [sf.Mean("age"), sf.Count("age > 30"), sf.Quantiles("age", 0.5), sf.Synthesize()]
        text = str(curator.preview(questions, Pure(1)))
        alone = [curator.preview(question, Pure("1/4")) for question in questions]
        twins = curator.preview([sf.Count("age > 30"), sf.Count("age > 60")], Pure(1))
        refused = str(curator.preview(questions, Pure(50)))
    lines = ["Mean of age", "Count, with a condition on age", "Quantiles of age", "Synthetic data"]
    for title, one in zip(lines, alone, strict=True):
        assert f"{title}: {one.error}" in text
    assert "Together the 4 questions tell at most epsilon 1 about a person." in text
    assert twins.expected is not None and "Each of the 2: 95 % of the time the noise moves it" in str(twins)
    assert "fixed before" not in text + refused and "Together" not in refused


def test_a_list_at_a_pure_spend_is_told_without_a_delta_first() -> None:
    questions = [sf.Count(f"age > {age}") for age in range(10, 90, 4)]
    with listed() as curator:
        text = curator.preview(questions, Pure(1)).text
        assert "Together the 20 questions tell at most epsilon 1 about a person, and epsilon 0." in text
        assert text.count(" at delta 1e-6") == 1
        wide = curator.preview(questions, sf.Approximate(1, "1e-6")).text
        assert "Together the 20 questions tell at most epsilon 1 at delta 1e-6 about a person" in wide
    with listed(limit=Pure(3)) as pure:
        text = pure.preview(questions, Pure(1)).text
        assert text.endswith("Together the 20 questions tell at most epsilon 1 about a person.")


def test_the_error_of_a_long_list_is_that_of_the_noise_it_really_gets() -> None:
    questions = [sf.Count(f"age > {age}") for age in range(10, 90, 4)]
    spend = sf.Approximate(1, "1e-7")
    with listed() as curator:
        seen = curator.preview(questions, spend).expected
        low, high = curator.ask(questions, spend)[0].interval(0.95)
    assert seen is not None and abs(seen.size - (high - low) / 2) <= 1


def test_a_preview_of_an_audit_says_how_well_rates_will_be_known() -> None:
    table = pyarrow.table(
        {"group": ["a", "b", "b", "b"] * 1000, "given": [True, False, True, True, False, True, True, True] * 500}
    )
    schema = sf.Schema({"group": sf.categories("a", "b", other="b", missing="b"), "given": sf.booleans(missing=False)})
    with sf.curate(table, schema, Pure(9)) as curator:
        audit = sf.questions.GroupAudit("given", "group", favourable=True)
        seen = curator.preview(audit, Pure("1/2"))
        rows = curator.ask(audit, Pure("1/2")).frame
        few, poor = (curator.preview(audit, Pure(one)) for one in ("1/25", "1/900"))
    assert "The selection rate of a group of 100 people is known to within 0.1" in seen.error
    assert ", and of 1,000 people to within 0.03" in seen.error
    assert "95 % of the time (privacy noise and the luck of who is in the table)" in seen.error
    width = (rows["rate, high"][0] - rows["rate, low"][0]) / 2
    assert seen.expected is not None and abs(seen.expected.size - width) < 0.006, "of 1,000 people, rate near one half"
    assert "; of a group of 100 people nothing will be known." in few.error
    assert "too much noise to say anything of a group of 1,000 people" in poor.error


def test_a_preview_of_popular_values_says_from_which_count_on_they_are_found() -> None:
    words = pyarrow.table({"word": ["tea"] * 600 + ["coffee"] * 390 + [f"w{row}" for row in range(10)]})
    schema = sf.Schema({"word": sf.text(max_bytes=8)})
    spend = sf.Approximate(1, "1e-6")
    with sf.curate(words, schema, sf.Approximate(3, "1e-5")) as curator:
        seen = curator.preview(sf.Popular("word"), spend)
        found = curator.ask(sf.Popular("word"), spend)
    least, share = found.value.smallest, found.value.smallest / 10
    assert (
        f"What at least {least} people have in common ({share:.2g} % of 1,000) is found 95 % of the time" in seen.error
    )
    low, high = found.interval(0.95)["count, low"][0], found.interval(0.95)["count, high"][0]
    assert seen.expected is not None and abs(seen.expected.size - (high - low) / 2) <= 1
    cells = sf.Schema({"word": sf.categories("tea", "coffee", "water", other="water", missing="water")})
    with sf.curate(words, cells, Pure(3)) as curator:
        least = curator.ask(sf.Popular("word"), Pure("1/10")).value.smallest
        assert f"What at least {least} people have in common" in curator.preview(sf.Popular("word"), Pure("1/10")).error
        assert "nothing may be found" in curator.preview(sf.Popular("word"), Pure("1/1000")).error


def test_a_preview_of_synthetic_rows_says_why_their_error_is_not_known() -> None:
    with listed() as curator:
        said = curator.preview(sf.Synthesize(), Pure(1)).error
    assert said == (
        "How wrong made-up rows will be is known only after paying, because it depends on how columns hang together in "
        "the data; the answer says it, and rehearse shows it for columns that do not."
    )


def test_noise_that_hardly_ever_moves_a_count_is_still_noise() -> None:
    with listed() as curator:
        assert (
            curator.preview(sf.Count("age > 3"), Pure(9)).error == "95 % of the time the noise does not move it at all."
        )
        assert curator.preview(sf.Count(), Pure(1)).error == "No noise is added."


def test_a_preview_tells_no_number_of_people_that_is_private() -> None:
    columns = {name: sf.categories("a", "b") for name in "pqr"}
    table = pyarrow.table({name: ["a", "b", "b", "a"] * 777 for name in columns})
    for relation in (sf.REPLACE_ONE, sf.ADD_REMOVE):
        with sf.curate(table, sf.Schema(columns), Pure(9), relation=relation) as curator:
            popular = curator.preview(sf.Popular(["p", "q", "r"]), Pure(1)).error
            audit = curator.preview(sf.questions.GroupAudit("p", "q", favourable="a"), Pure(1)).error
        assert ("3,108" in popular) is (relation is sf.REPLACE_ONE) and "is found 95 % of the time" in popular
        assert "3,108" not in audit and "of 1,000 people to within" in audit


def test_the_preview_of_a_search_along_columns_says_from_which_count_on_it_finds() -> None:
    columns = {name: sf.integers(0, 99) for name in "pqrstuv"}
    table = pyarrow.table({name: [7] * 3000 for name in columns})
    question = sf.Popular(list(columns), method="tree")
    with sf.curate(table, sf.Schema(columns), Pure(9)) as curator:
        said = curator.preview(question, Pure(2)).error
        assert f"What at least {curator.ask(question, Pure(2)).value.smallest:,} people have in common" in said
