"""Batches of triples: planted ones are found, where nothing is there the money goes back, and choices cost what is said."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from sfumato import ADD_REMOVE, REPLACE_ONE, Approximate, Concentrated, Noise, Schema
from sfumato.domain import integers
from sfumato.errors import CertificationError
from sfumato.privacy import Bound, Cost, Relation
from sfumato.questions.synthesis import Synthesize
from sfumato.questions.synthesis.check import CheckedTables
from sfumato.questions.synthesis.looked import LookedTables
from sfumato.questions.synthesis.triples import BATCHES, WINDOW, TripleTables
from sfumato.table.gauge import Basis
from sfumato.workload import Records, Space

SIZES = (2, 3, 4, 3, 2, 3, 2, 3, 3)
SCHEMA = Schema({f"x{place}": integers(0, size - 1, missing=0) for place, size in enumerate(SIZES)})
SPACE = Space.of(SCHEMA)
PEOPLE = 20_000


def people(planted: bool, count: int = PEOPLE) -> Records:
    """Return even columns; the last one may follow from the two before it, as no pair of columns shows."""
    draw = Noise(insecure_seed=5)
    columns = [draw.uniform(size, count) for size in SIZES]
    if planted:
        columns[8] = (columns[6] + columns[7] + (draw.uniform(10, count) == 0)) % 3
    return Records.from_rows(SPACE, np.stack(columns, axis=1).tolist())


def batched(relation: Relation, spend: Bound, count: int = PEOPLE) -> TripleTables:
    mechanism: Any = Synthesize().prepare(Basis(SCHEMA, count, relation), spend).mechanism
    release = mechanism.release if isinstance(mechanism, CheckedTables) else mechanism
    assert isinstance(release, TripleTables)
    return release


def places(mechanism: TripleTables, raw: Any) -> list[tuple[int, ...]]:
    """Return the columns of all triples that were measured."""
    return [mechanism.units.parts[place].columns for chosen, _ in raw[1] for place in chosen]


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE], ids=str)
@pytest.mark.parametrize("spend", [Approximate(1, 1e-9), Concentrated("0.01")], ids=repr)
def test_a_planted_triple_is_found_and_the_rest_of_the_money_goes_back(spend: Bound, relation: Relation) -> None:
    mechanism = batched(relation, spend)
    raw = mechanism.run(people(planted=True), Noise(insecure_seed=1))
    assert (6, 7, 8) in places(mechanism, raw)
    assert len(raw[1]) < len(BATCHES) and raw[2] is not None, "one triple of many is no reason to go on"
    parts, numbers = mechanism.released(raw)
    assert [part.shape for part in parts] == [found.shape for found in numbers]


def test_where_nothing_is_there_no_money_is_lost() -> None:
    mechanism = batched(ADD_REMOVE, Approximate("0.1", 1e-9))
    raw = mechanism.run(people(planted=False), Noise(insecure_seed=2))
    assert len(raw[1]) == 1 and raw[2] is not None
    left = 1 - BATCHES[0]
    further = mechanism.released(raw)[0][-1]
    whole = type(mechanism.again)(mechanism.again.units, left * mechanism.price, mechanism.noise)
    assert further == whole.stack(*raw[2][:2]).parts[-1]


@pytest.mark.parametrize("count", [0, 1, PEOPLE])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE], ids=str)
def test_the_parts_of_every_way_cost_what_was_said(relation: Relation, count: int) -> None:
    spend = Approximate(1, 1e-9)
    mechanism = batched(relation, spend, max(1, count) if relation is REPLACE_ONE else 0)
    assert mechanism.loss().within(spend)
    assert isinstance(mechanism.stack, LookedTables)
    assert mechanism.loss().person == mechanism.stack.loss().person + Cost.gaussian(2 * mechanism.price)
    for planted in (True, False):
        raw = mechanism.run(people(planted, max(1, count) if mechanism.total else count), Noise(insecure_seed=3))
        spent = Fraction(0)
        for share, (chosen, _) in zip(BATCHES, raw[1], strict=False):
            money = mechanism.measuring(share, chosen, raw[1])
            assert money * Fraction(99, 100) < mechanism.measured(chosen, money).person_price <= money
            spent += share
        assert (raw[2] is None) == (spent == 1)


def test_a_batch_that_costs_more_than_it_has_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, own = batched(ADD_REMOVE, Approximate(1, 1e-9)), TripleTables.measured
    monkeypatch.setattr(TripleTables, "measured", lambda plan, some, money: own(plan, some, 2 * money))
    with pytest.raises(CertificationError, match="withheld"):
        mechanism.run(people(planted=True), Noise(insecure_seed=1))


def test_triples_of_a_workload_are_those_that_it_sees() -> None:
    from sfumato.workload.builders import marginals

    seen = marginals(SCHEMA, width=3, columns=[f"x{place}" for place in range(8)])
    mechanism: Any = Synthesize(seen).prepare(Basis(SCHEMA, PEOPLE, ADD_REMOVE), Approximate(1, 1e-9)).mechanism
    assert {len(part.columns) for part in mechanism.release.units.parts} == {3}
    pairs: Any = Synthesize(marginals(SCHEMA, width=2)).prepare(Basis(SCHEMA, PEOPLE), Approximate(1, 1e-9)).mechanism
    assert isinstance(pairs.release, LookedTables), "nobody asked for triples"


def _call(spread: float, value: float) -> float:
    """Return E(x·exp(√v·Z - v/2) - 1)_+, by which Gaussian releases are compared."""
    if spread == 0:
        return max(0.0, value - 1)
    middle, root = log(value) / sqrt(spread), sqrt(spread)
    return float(value * norm.cdf(middle + root / 2) - norm.cdf(middle - root / 2))


def _excess(charge: float, epsilon: float) -> float:
    """Return by how much choices among three exceed so large a charge, alone and before a Gaussian release."""
    worst = -1.0
    for scores in product((0, 1, 3), repeat=3):
        for shifts in product((-1, 0, 1), repeat=3):
            first = np.exp(epsilon / 2 * np.array(scores, float))
            second = np.exp(epsilon / 2 * (np.array(scores) + np.array(shifts)))
            first, second = first / first.sum(), second / second.sum()
            for before in (0.0, 0.3, 1.0):
                for value in np.exp((-1.5, -0.5, 0.0, 0.5, 1.5)):
                    after = sum(q * _call(before, value * p / q) for p, q in zip(first, second, strict=True))
                    worst = max(worst, float(after) - _call(before + charge, value))
    return worst


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_a_choice_costs_no_more_than_a_gaussian_of_its_charge(epsilon: float) -> None:
    charge = float(WINDOW) * epsilon**2
    assert _excess(charge, epsilon) <= 1e-12
    assert _excess(charge / 4, epsilon) > 1e-3 * epsilon, "a quarter of it is seen to be too little"
