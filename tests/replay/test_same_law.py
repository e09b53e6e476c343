"""A person column that says what everybody knew, one row each, changes no answer."""

from __future__ import annotations

import warnings

import pytest

from sfumato import Pure, curate
from sfumato.errors import AccuracyWarning
from sfumato.release import Count, Distribution, GroupBy, Histogram, Mean, Quantiles, Sum, Variance
from tests.replay.worlds import HIGH, LOW, World, arrow, worlds

ROWS = [
    {**(HIGH if place % 3 == 0 else LOW), "id": f"p{place}", "visit": 0, "age": place % 8, "pay": place % 7 / 2 - 1}
    for place in range(40)
]
PLENTY = Pure(1000)
"""So much that noise is far below one row: what is left is what was read."""

WORLDS = {world.name: world for world in worlds()}
ALONE = WORLDS["no person"]


def asked(world: World, question: object) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        with curate(arrow(ROWS), world.schema, Pure(10_000)) as curator:
            return curator.ask(question, PLENTY).value


@pytest.mark.parametrize("world", ["declared", "one row", "two keyed"])
@pytest.mark.parametrize("method", ["auto", "medians", "tree", "histogram"])
def test_a_distribution_reads_rows_as_rows(method, world):
    question = Distribution("age", method=method)
    alone, person = asked(ALONE, question), asked(WORLDS[world], question)
    assert person.rows == pytest.approx(alone.rows, abs=0.1)
    for age in range(8):
        assert person.cdf(age) == pytest.approx(alone.cdf(age), abs=0.01)
        assert person.query(age, age) == pytest.approx(alone.query(age, age), abs=0.1)
    for part in (0.1, 0.4, 0.9):
        assert person.quantile(part) == alone.quantile(part)


@pytest.mark.parametrize("world", ["declared", "one row"])
@pytest.mark.parametrize(
    "question",
    [
        Count("age > 3"),
        Sum("pay"),
        Mean("pay", "ill = true"),
        Variance("age"),
        Histogram("age"),
        Histogram("address", keys="private"),
        GroupBy("job", [Count(), Mean("age")]),
        Quantiles("age", ("0.3", "0.6")),
    ],
    ids=lambda question: question.kind,
)
def test_totals_and_quantiles_read_rows_as_rows(question, world):
    alone, person = asked(ALONE, question), asked(WORLDS[world], question)
    if not hasattr(alone, "columns"):
        assert float(person) == pytest.approx(float(alone), abs=0.1)
        return
    for name, column in alone.columns.items():
        shown = list(person.columns[name])
        numbers = all(isinstance(cell, (int, float)) for cell in column)
        assert shown == (pytest.approx(list(column), abs=0.1) if numbers else list(column))
