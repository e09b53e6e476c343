"""Guarantees are limits or follow from limits; sums, later limits and caps play no part."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import EVERYTHING, Approximate, Concentrated, Cost, Event, Loss, Pure, Truncated
from sfumato.ledger import UNBOUNDED, Budget, Ledger, Limit
from sfumato.ledger.guarantee import guaranteed
from sfumato.privacy import Secrets
from sfumato.privacy.implied import bound_for_union

EVENT = Event("Laplace", "QR-LAP")
NAMES = ("a", "b", "c", "d")
SECRETS = Secrets(NAMES)


def test_own_limits_supersets_and_people():
    budget = Budget(
        Pure(5),
        attributes={"a": Pure(1), ("a", "b", "c"): Pure(2)},
        people={2: Pure(7), 5: Pure(20)},
        secrets=SECRETS,
    )
    with Ledger(None, budget) as ledger:
        assert ledger.guarantee() == Pure(5)
        assert ledger.guarantee("a") == Pure(1)
        assert ledger.guarantee(("b", "c")) == Pure(2)
        assert ledger.guarantee("d") == Pure(5)
        assert ledger.guarantee(people=2) == Pure(7)
        assert ledger.guarantee(people=3) == Pure(14)  # two groups of at most two, cheaper than 3 · 5 or 20
        assert ledger.guarantee(people=5) == Pure(20)
        assert ledger.guarantee("a", people=3) == Pure(3)


def test_unions_of_limits():
    budget = Budget(Pure(9), each_attribute=Pure(1), attributes={("a", "b"): Pure("6/5")}, secrets=SECRETS)
    with Ledger(None, budget) as ledger:
        assert ledger.guarantee(("a", "b")) == Pure("6/5")
        assert ledger.guarantee(("a", "b", "c")) == Pure("11/5")
        assert ledger.guarantee(NAMES) == Pure("16/5")
    budget = Budget(Concentrated(9), each_attribute=Concentrated("1/4"), secrets=SECRETS)
    with Ledger(None, budget) as ledger:
        assert ledger.guarantee(("a", "b")) == Concentrated(1)
        assert ledger.guarantee(("a", "b"), people=2) == Concentrated(4)


def test_kinds_are_compared_and_never_mixed():
    budget = Budget(Approximate(3, 1e-6), each_attribute=Concentrated("1/1000"), secrets=SECRETS)
    with Ledger(None, budget) as ledger:
        assert ledger.guarantee("a") == Concentrated("1/1000")
        assert ledger.guarantee() == Approximate(3, 1e-6)
        assert isinstance(ledger.guarantee(people=2), Approximate)


def test_where_no_limit_reaches():
    with Ledger(None, Budget(Truncated("1/10", 4))) as ledger:
        assert ledger.guarantee(people=3) == Truncated("9/10", Fraction(4, 3))
        assert ledger.guarantee(people=4) is UNBOUNDED
        assert not UNBOUNDED


def test_many_attributes_are_covered_greedily():
    names = [f"c{number}" for number in range(20)]
    limits = [
        Limit(EVERYTHING, Pure(100)),
        *(Limit(pair, Pure(1)) for pair in zip(names[::2], names[1::2], strict=True)),
    ]
    assert guaranteed(limits, frozenset(names), 1) == Pure(10)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.dictionaries(
        st.sampled_from([pair for size in (1, 2, 3) for pair in combinations(NAMES, size)]), st.integers(1, 9)
    ),
    st.lists(st.tuples(st.integers(1, 9), st.sampled_from(NAMES)), max_size=6),
    st.sets(st.sampled_from(NAMES), min_size=1),
)
def test_a_guarantee_is_a_limit_or_a_sum_of_limits_whatever_was_spent(named, asked, wanted):
    budget = Budget(Pure(20), attributes={names: Pure(bound) for names, bound in named.items()}, secrets=SECRETS)
    with Ledger(None, budget) as ledger:
        before = ledger.guarantee(wanted)
        for number, (tenths, name) in enumerate(asked):
            loss = Loss.flat(Cost.pure(Fraction(tenths, 10)), reads={name})
            if ledger.preview(loss).fits:
                ledger.reserve(str(number), EVENT, loss)
        ledger.add_limit(Limit(wanted, Pure(19)))
        if frozenset(wanted) in {frozenset(names) for names in named}:
            ledger.lower(wanted, Pure("1/1000"))
        assert ledger.guarantee(wanted) == before
        covers = [
            sum(named[names] for names in chosen)
            for size in range(1, len(named) + 1)
            for chosen in combinations(named, min(size, 4))
            if frozenset(wanted) <= frozenset().union(*map(frozenset, chosen))
        ]
        assert before == Pure(min([20, *covers]))


def test_every_union_is_the_proved_one():
    both = bound_for_union(Approximate(1, 1e-7), Approximate("1/2", 1e-7))
    limits = [
        Limit(EVERYTHING, Approximate(9, 1e-6)),
        Limit("a", Approximate(1, 1e-7)),
        Limit("b", Approximate("1/2", 1e-7)),
    ]
    assert guaranteed(limits, frozenset("ab"), 1) in (
        both,
        bound_for_union(Approximate("1/2", 1e-7), Approximate(1, 1e-7)),
    )


@pytest.mark.parametrize("people", [1, 2, 3, 7])
def test_a_guarantee_for_more_people_is_never_smaller(people):
    budget = Budget(Pure(2), people={3: Pure(5)})
    with Ledger(None, budget) as ledger:
        assert ledger.guarantee(people=people).epsilon <= ledger.guarantee(people=people + 1).epsilon
