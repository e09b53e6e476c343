"""A person column that says what everybody knew, one row each, changes no answer, and no law."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import pytest

from sfumato import Pure, curate
from sfumato.ask.prepared import Several
from sfumato.errors import AccuracyWarning, ParameterError
from sfumato.perturb import AdditiveNoise
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE, Relation
from sfumato.questions import Count, Distribution, GroupBy, Histogram, Mean, Quantiles, Question, Sum, Variance
from sfumato.questions.distribution.medians import MedianTree
from sfumato.questions.quantiles import JointQuantiles
from sfumato.questions.quantiles.quantile_choice import QuantileChoice
from sfumato.table.bounding import SCALE
from sfumato.table.data import open_table
from tests.replay import seam
from tests.replay.losses import ratio
from tests.replay.worlds import HIGH, LOW, PRIVATE, World, arrow, worlds

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


@pytest.mark.parametrize("world", ["declared", "one row"])
def test_keys_that_are_found_are_found_in_rows_as_rows(world):
    """Of a billion keys that nobody holds one may be shown, as is said; those that are held are shown alike."""
    question = Histogram("address", keys="private")
    alone, person = (dict(zip(*asked(one, question).columns.values(), strict=True)) for one in (ALONE, WORLDS[world]))
    held = {row["address"] for row in ROWS} & alone.keys()
    assert held and {key: person[key] for key in held} == pytest.approx({key: alone[key] for key in held}, abs=0.1)


FINE = Pure(16)
"""Noise so narrow that weighed totals are not rounded to a coarser grid."""


def parts(world: World, question: Question, relation: Relation) -> tuple[seam.Plan, list[seam.Part]]:
    plan = seam.plan(question, world, len(ROWS), relation, FINE)
    with open_table(arrow(ROWS), world.schema) as table:
        return plan, plan.parts(plan.read(table))


def additive(mechanism: Any) -> list[AdditiveNoise]:
    """Return the additive noise in a mechanism."""
    if isinstance(mechanism, Several):
        return [noise for part in mechanism.mechanisms for noise in additive(part)]
    return [mechanism] if isinstance(mechanism, AdditiveNoise) else []


def choices(mechanism: Any) -> list[Fraction]:
    """Return how steep the choices of a mechanism are."""
    match mechanism:
        case QuantileChoice():
            return [mechanism.rate(chance) for chance in mechanism.probabilities]
        case JointQuantiles():
            return [mechanism.rate(node) for nodes in mechanism.levels() for node in nodes]
        case MedianTree():
            return [mechanism.rate]
    return []


WEIGHED: dict[str, Question] = {
    "Count(where)": Count("age > 3"),
    "Sum": Sum("pay"),
    "Mean": Mean("pay", "ill = true"),
    "Histogram": Histogram(("job", "ward")),
    "GroupBy": GroupBy("job", [Count(), Sum("pay")]),
    **{f"Quantiles {method}": Quantiles("age", ("0.3", "0.6"), method=method) for method in ("split", "joint")},
    "Distribution": Distribution("age", method="medians"),
}


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE], ids=lambda relation: relation.value)
@pytest.mark.parametrize("name", [name for name in WEIGHED if name != "Quantiles joint"])
def test_weighed_rows_of_one_row_a_person_are_the_same_in_finer_units(name, relation):
    """Integers and norms are 2^20 times as large, and what is lost and how choices are made is the same."""
    (whole, rows), (weighed, units) = (parts(WORLDS[w], WEIGHED[name], relation) for w in ("no person", "one row"))
    assert [{key: SCALE * count for key, count in part.vector.items()} for part in rows] == [
        dict(part.vector) for part in units
    ]
    for changed in (None, *(frozenset({column}) for column in PRIVATE)):
        costs = [plan.loss.person if changed is None else plan.loss.at(changed) for plan in (whole, weighed)]
        assert costs[0].is_zero == costs[1].is_zero
        assert ratio(costs[0], costs[1]) == pytest.approx(0 if costs[0].is_zero else 1, abs=1e-4)
    for one, other in zip(additive(whole.mechanism), additive(weighed.mechanism), strict=True):
        assert other.sensitivity.l1 == SCALE * one.sensitivity.l1
        assert other.sensitivity.l2_squared == SCALE**2 * one.sensitivity.l2_squared
        assert 1 <= other.law.scale / SCALE / one.law.scale <= 1 + 1e-4
    # What is paid for rounding the weights of cuts depends on the number of units, a little.
    steep = [float(rate * SCALE) for rate in choices(weighed.mechanism)]
    assert steep == pytest.approx([float(rate) for rate in choices(whole.mechanism)], rel=1e-4)


def test_rows_in_a_million_parts_are_not_drawn_one_by_one():
    with pytest.raises(ParameterError, match="method='split'"):
        parts(WORLDS["one row"], WEIGHED["Quantiles joint"], REPLACE_ONE)


@pytest.mark.parametrize("name", WEIGHED)
def test_one_declared_row_a_person_has_the_same_law(name):
    """The same integers, the same mechanism but for nothing, the same loss."""
    (whole, rows), (declared, others) = (
        parts(WORLDS[w], WEIGHED[name], REPLACE_ONE) for w in ("no person", "declared")
    )
    assert [dict(part.vector) for part in rows] == [dict(part.vector) for part in others]
    assert whole.mechanism == declared.mechanism and whole.loss == declared.loss


def test_finer_steps_cost_what_they_are_said_to():
    """The variance of a count at Pure(1): 1.8413 in whole rows, 2 in weighed ones; that is why `row_key=()` exists."""
    scales = [
        additive(seam.plan(Count("age > 3"), WORLDS[w], 40, ADD_REMOVE, Pure(1)).mechanism)[0].law.scale
        for w in ("no person", "one row")
    ]
    variances = [2 / (4 * math.sinh(1 / (2 * scale)) ** 2) for scale in scales]
    assert variances[0] == pytest.approx(1.8413, abs=1e-4)
    assert variances[1] / SCALE**2 == pytest.approx(2, abs=1e-4)
