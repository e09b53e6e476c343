"""Profiles whose numbers are literal: what an attribute costs where people come and go, and in sums with older shapes."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations, product

import pytest

from sfumato.errors import BudgetExceeded, NotProvable, ParameterError, RelationMismatch
from sfumato.exact import INFINITY
from sfumato.ledger import Budget, Ledger
from sfumato.ledger.pricing import Prices
from sfumato.mechanism import Event
from sfumato.privacy import (
    ADD_REMOVE,
    EVERYTHING,
    REPLACE_ONE,
    ByCount,
    Cost,
    Loss,
    Minimum,
    Pure,
    Secrets,
    Stated,
    Truncated,
)
from tests.privacy.laws import SLACK, largest_ratio

HALF, ONE, TWO = Cost.pure("1/2"), Cost.pure(1), Cost.pure(2)
MOVES = Loss.stated(HALF, {"age": ONE, "sex": ONE}, ADD_REMOVE)
"""A histogram: who comes moves one cell, who changes moves two."""


def test_what_is_stated_is_never_doubled():
    assert MOVES.at("age") == ONE and MOVES.person == HALF
    assert MOVES.at("job").is_zero and MOVES.at({"age", "job"}) == ONE
    assert (3 * MOVES).at("age").epsilon == 3
    assert MOVES.for_group(2).at("age").epsilon == 2 and MOVES.for_group(2).person.epsilon == 1
    assert Loss.flat(HALF, {"age"}, ADD_REMOVE).at("age").epsilon == 1  # an older shape says what one step costs


def test_a_sum_asks_each_part_by_its_own_rule():
    total = MOVES + Loss.flat(HALF, {"age"}, ADD_REMOVE)
    assert total.at("age").epsilon == 1 + 2 * Fraction(1, 2)
    assert total.at("sex").epsilon == 1 and total.person.epsilon == 1
    lower = Loss(Minimum((MOVES.profile, Loss.flat(Cost.pure("1/4")).profile)), ADD_REMOVE)
    assert lower.at("age").epsilon == Fraction(1, 2) and lower.person.epsilon == Fraction(1, 4)


def test_sets_cost_their_union_and_at_most_two_people_who_come_and_go():
    cheap = Loss.stated(ONE, {"age": HALF, "sex": HALF, "job": TWO}, ADD_REMOVE)
    assert cheap.at({"age", "sex"}).epsilon == 1
    assert cheap.at({"age", "job"}).epsilon == 2  # two people, never one
    assert Loss.stated(ONE, {"age": Cost.pure(5)}, ADD_REMOVE).at("age").epsilon == 2
    replaced = Loss.stated(ONE, {"age": HALF, "sex": Cost.pure("3/4")})
    assert replaced.at({"age", "sex"}).epsilon == 1  # the person
    known = Loss.stated(TWO, {"age": ONE, "sex": ONE, "job": ONE}, together={frozenset({"age", "sex"}): ONE})
    assert known.at({"age", "sex"}).epsilon == 1 and known.at({"age", "job"}).epsilon == 2
    assert known.at({"age", "sex", "job"}).epsilon == 2


def test_a_certificate_with_a_leak_is_taken_whole():
    leaking = Cost.approximate("1/10", "1e-7")
    loss = Loss.stated(Cost.pure(5), {"key": leaking, "value": Cost.pure(1)})
    assert loss.at("key") in (leaking, Cost.pure(5))  # never (1/10, no leak)
    assert loss.at({"key", "value"}) == Cost.pure(5)
    found = Loss.stated(leaking, {"key": leaking, "value": leaking}, ADD_REMOVE)
    both = found.at({"key", "value"})
    assert both.epsilon == Fraction(1, 5) and both.leak > 2 * leaking.leak
    lost = Cost(INFINITY, HALF.curve, Fraction(1, 10))
    with pytest.raises(NotProvable, match="state a cost for them together"):
        Loss.stated(lost, {"key": lost, "value": lost}, ADD_REMOVE).at({"key", "value"})
    assert Prices(Loss.stated(lost, {"key": lost, "value": lost}, ADD_REMOVE)).at(
        frozenset({"key", "value"}), 1
    ).epsilon == (INFINITY)


def test_a_truncated_cost_keeps_its_orders():
    small, large = Cost.truncated("1/40", 8), Cost.truncated("1/10", 8)
    loss = Loss.stated(large, {"age": small, "sex": small})
    assert loss.at("age").within(Truncated("1/40", 8)) and loss.at({"age", "sex"}).within(Truncated("1/10", 8))


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_it_is_stored_exactly(relation):
    loss = Loss.stated(TWO, {"sex": HALF, "age": ONE, "job": Cost.zero()}, relation, {frozenset({"age", "sex"}): ONE})
    for one in (loss, loss + Loss.flat(HALF, {"job"}, relation), loss.for_group(3)):
        stored = json.loads(json.dumps(one.to_json()))
        again = Loss.from_json(stored)
        assert again == one and again.at({"age", "sex"}) == one.at({"age", "sex"})
    assert "job" not in loss.profile.names()


def test_losses_written_before_keep_their_meaning():
    record = {
        "relation": "add_remove",
        "profile": {"shape": "flat", "cost": HALF.to_json(), "reads": ["age"]},
    }
    assert Loss.from_json(record).at("age").epsilon == 1 and Loss.from_json(record).person.epsilon == Fraction(1, 2)
    record["profile"] = {
        "shape": "per_attribute",
        "person": HALF.to_json(),
        "singles": {"age": Cost.pure("1/4").to_json()},
    }
    assert Loss.from_json(record).at("age").epsilon == Fraction(1, 2)


def test_bad_input():
    with pytest.raises(RelationMismatch):
        Loss(MOVES.profile, REPLACE_ONE)
    with pytest.raises(ParameterError, match="give each attribute one"):
        Stated(ONE, (("age", ONE), ("age", TWO)))
    with pytest.raises(ParameterError, match="costs nothing"):
        Loss.stated(Cost.zero(), {"age": ONE})
    with pytest.raises(RelationMismatch):
        MOVES + Loss.stated(HALF, {"age": ONE})
    assert Loss.stated(ONE, {}).at("age").is_zero  # a number that only whole people move


def test_the_ledgers_prices_are_those_of_the_loss():
    names = ("a", "b", "c", "d")
    costs = {"a": ONE, "b": ONE, "c": HALF}
    losses = [
        Loss.stated(TWO, costs, relation, together)
        for relation, together in product(
            (REPLACE_ONE, ADD_REMOVE), (None, {frozenset("ab"): ONE, frozenset("bc"): ONE})
        )
    ]
    losses += [losses[2] + Loss(ByCount((HALF, ONE), frozenset("ad")), ADD_REMOVE), losses[3] + 2 * losses[2]]
    for loss in losses:
        prices = Prices(loss)
        for size in (1, 2, 3, 4):
            for chosen in combinations(names, size):
                assert prices.at(frozenset(chosen), 1) == loss.at(chosen), (loss, chosen)
                assert prices.at(frozenset(chosen), 2) == loss.for_group(2).at(chosen)


def law(bits: tuple[int, ...], epsilon: float, times: int) -> list[float]:
    """Return the law of randomized response on each bit, repeated."""
    keep = 1 / (1 + math.exp(-epsilon))
    found = [1.0]
    for bit in bits * times:
        found = [p * (keep if said == bit else 1 - keep) for p in found for said in (0, 1)]
    return found


def test_a_limit_on_an_attribute_is_a_filter_where_people_come_and_go():
    """Randomized response on two cells: who comes moves one bit, who changes moves two, and the limit is attained."""
    budget = Budget(Pure(9), each_attribute=Pure(2), secrets=Secrets(("age", "sex")))
    event, accepted = Event("Laplace", "QR-LAP"), 0
    with Ledger(None, budget, relation=ADD_REMOVE) as ledger:
        while accepted < 9:
            try:
                ledger.run(str(accepted), event, Loss.stated(HALF, {"age": ONE}, ADD_REMOVE), lambda: b"bits")
            except BudgetExceeded as refused:
                assert [row.name for row in refused.breaks] == ["age"]
                break
            accepted += 1
        assert ledger.guarantee("age") == Pure(2) and ledger.spent("sex").sums == (0, 0)
        assert ledger.verify()
    here, changed, absent = (law(bits, 0.5, accepted) for bits in ((1, 0), (0, 1), (0, 0)))
    assert largest_ratio(here, changed) == pytest.approx(2, abs=SLACK)  # promised 2, and reached
    assert largest_ratio(here, absent) == pytest.approx(1, abs=SLACK)
    more = [law(bits, 0.5, accepted + 1) for bits in ((1, 0), (0, 1))]
    assert largest_ratio(*more) > 2  # one more would have broken it


def test_older_shapes_are_charged_twice_by_a_limit_on_attributes():
    budget = Budget(Pure(9), each_attribute=Pure(2), secrets=Secrets(("age", "sex")))
    with Ledger(None, budget, relation=ADD_REMOVE) as ledger:
        for number in range(2):
            ledger.reserve(str(number), Event("Laplace", "QR-LAP"), Loss.flat(HALF, {"age"}, ADD_REMOVE))
        assert ledger.spent("age").sums[1] == 2 and ledger.spent(EVERYTHING).sums[1] == 1
        with pytest.raises(BudgetExceeded):
            ledger.reserve("third", Event("Laplace", "QR-LAP"), Loss.flat(HALF, {"age"}, ADD_REMOVE))
        ledger.reserve("other", Event("Laplace", "QR-LAP"), Loss.flat(HALF, {"sex"}, ADD_REMOVE))
        ledger.reserve("free", Event("Laplace", "QR-LAP"), Loss.stated(HALF, {}, ADD_REMOVE))
