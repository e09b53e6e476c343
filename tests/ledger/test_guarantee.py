"""Guarantees are limits or follow from limits; sums, later limits and caps play no part."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import ADD_REMOVE, EVERYTHING, Approximate, Concentrated, Cost, Event, Loss, Pure, Truncated
from sfumato.errors import ParameterError
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


def test_a_limit_on_people_who_come_and_go_counts_twice_for_attributes():
    with Ledger(None, Budget(Pure(1), secrets=Secrets(("sex", "age"))), relation=ADD_REMOVE) as ledger:
        assert ledger.guarantee() == Pure(1)
        assert ledger.guarantee(["sex"]) == Pure(2)
        assert ledger.guarantee(["sex"], 2) == Pure(4)
        assert ledger.guarantee(["sex", "age"]) == Pure(2)  # one record leaves, one enters
        assert "satisfies Pure(2) for sex of each person" in ledger.guarantee_text(["sex"])
    with Ledger(None, Budget(Pure(9), people={2: Pure(1)}), relation=ADD_REMOVE) as ledger:
        assert ledger.guarantee(["sex"]) == Pure(1)  # a pair of people is one who leaves and one who enters
        assert ledger.guarantee(["sex"], 2) == Pure(2)
    with Ledger(None, Budget(Concentrated(1), people={3: Concentrated(2)}), relation=ADD_REMOVE) as ledger:
        assert ledger.guarantee(["sex"]) == Concentrated(2)
        assert ledger.guarantee(["sex"], 2) == Concentrated(8)
    with Ledger(None, Budget(Truncated("1/10", 2)), relation=ADD_REMOVE) as ledger:
        assert ledger.guarantee() == Truncated("1/10", 2)
        assert ledger.guarantee(["sex"]) is UNBOUNDED


def test_the_meter_of_an_attribute_has_the_ceiling_that_is_guaranteed():
    with Ledger(None, Budget(Pure(1), secrets=Secrets(("sex", "age"))), relation=ADD_REMOVE) as ledger:
        ledger.reserve("first", EVENT, Loss.flat(Cost.pure(1), {"sex"}, ADD_REMOVE))
        assert ledger.spent("sex").text.startswith("Used so far 2 of 2.")
        assert ledger.spent("sex", 2).text.startswith("Used so far 4 of 4.")
        assert ledger.spent().text.startswith("Used so far 1 of 1.")
        assert ledger.spent("age").sums == (0, 0)
    with Ledger(None, Budget(Pure(9), people={2: Pure(1)}), relation=ADD_REMOVE) as ledger:
        ledger.reserve("first", EVENT, Loss.flat(Cost.pure("1/2"), {"sex"}, ADD_REMOVE))
        assert ledger.spent("sex").text.startswith("Used so far 1 of 1.")
    with (
        Ledger(None, Budget(Truncated("1/10", 2)), relation=ADD_REMOVE) as ledger,
        pytest.raises(ParameterError, match=r"reaches sex of each person.*people=\{2: …\}"),
    ):
        ledger.spent("sex")


def test_the_odometer_of_people_who_come_and_go_speaks_of_being_there():
    with Ledger(None, Budget(Pure(1)), relation=ADD_REMOVE) as ledger:
        ledger.reserve("first", EVENT, Loss.flat(Cost.pure("1/2"), {"sex"}, ADD_REMOVE))
        whole, one = ledger.odometer(), ledger.odometer("sex")
        assert whole is not None and one is not None and one.log_odds == 2 * whole.log_odds
        assert "whether they are in the data" in whole.text and "other record" not in whole.text
        assert "the true record over the other" in one.text
