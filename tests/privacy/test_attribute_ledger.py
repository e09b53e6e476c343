"""PDP-LEDGER's arithmetic: exact laws of several releases against the loss of every set of attributes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from sfumato.errors import ParameterError, SchemaError
from sfumato.exact import INFINITY
from sfumato.privacy import (
    EVERYTHING,
    ByCount,
    Concentrated,
    Cost,
    Cover,
    Flat,
    Loss,
    Pure,
    Secrets,
    Weighted,
    union,
)
from tests.privacy.laws import SLACK, largest_ratio

NAMES = ("a", "b", "c")
RELEASES = (({"a"}, Fraction("0.4")), ({"b"}, Fraction("0.7")), ({"a", "b"}, Fraction("0.5")))
ROWS = list(itertools.product((0, 1), repeat=3))
SETS = [frozenset(s) for size in (1, 2, 3) for s in itertools.combinations(NAMES, size)]


def answer(row: tuple[int, ...], reads: set[str]) -> int:
    """Return the exact bit of a release: the parity of what it reads."""
    return sum(bit for name, bit in zip(NAMES, row, strict=True) if name in reads) % 2


def joint_law(table) -> list[float]:
    """Return the law of randomized response by both people in all three releases, enumerated."""
    law = [1.0]
    for reads, epsilon in RELEASES:
        keep = 1 / (1 + math.exp(-float(epsilon)))
        for row in table:
            bit = answer(row, reads)
            law = [p * (keep if said == bit else 1 - keep) for p in law for said in (0, 1)]
    return law


def exact_losses() -> dict[frozenset[str], float]:
    worst = dict.fromkeys(SETS, 0.0)
    other = (0, 0, 0)
    for row, changed in itertools.product(ROWS, ROWS):
        moved = {name for name, x, y in zip(NAMES, row, changed, strict=True) if x != y}
        if moved:
            found = largest_ratio(joint_law((row, other)), joint_law((changed, other)))
            for names in SETS:
                if moved <= names:
                    worst[names] = max(worst[names], found)
    return worst


def ledger(releases=RELEASES) -> Loss:
    loss = Loss.flat(Cost.zero())
    for reads, epsilon in releases:
        loss = loss + Loss.flat(Cost.pure(epsilon), reads)
    return loss


def test_every_set_of_attributes_is_covered():
    loss, exact = ledger(), exact_losses()
    for names, found in exact.items():
        assert found <= float(loss.at(names).epsilon) + SLACK
    assert exact[frozenset("c")] == 0
    assert loss.at("c").is_zero
    assert exact[frozenset("a")] == pytest.approx(float(loss.at("a").epsilon))  # 0.4 + 0.5, attained
    assert loss.person.epsilon == Fraction("1.6")


def test_forgetting_an_overlapping_release_is_caught():
    exact = exact_losses()
    forgetful = ledger([(reads, epsilon) for reads, epsilon in RELEASES if len(reads) == 1])
    assert any(found > float(forgetful.at(names).epsilon) + SLACK for names, found in exact.items())


def test_overlapping_marginals_beat_group_privacy():
    """C-10: all 45 two-way marginals of ten columns; the union bound over columns says 900 rho."""
    names = [f"x{i}" for i in range(10)]
    rho = Fraction(1, 100)
    pairs = [frozenset(pair) for pair in itertools.combinations(names, 2)]
    loss = Loss(Cover(tuple((pair, Cost.concentrated(rho)) for pair in pairs)))
    assert loss.person.rho() == 45 * rho
    assert loss.at("x0").rho() == 9 * rho
    assert loss.at(names).rho() == 45 * rho
    singles = union(loss.at(name) for name in names)
    assert float(singles.rho() / rho) == pytest.approx(900, rel=1e-9)
    assert loss.at({"x0", "x1"}).rho() == 17 * rho


def test_the_union_bound_helps_where_the_profile_is_flat():
    """C-4 as a fallback: singles known well, the pair only through the whole person."""
    loss = Loss(ByCount((Cost.pure(1), Cost.pure(5)), frozenset(NAMES)))
    assert loss.at({"a", "b"}).epsilon == 2
    assert loss.at({"a", "b", "c"}).epsilon == 3
    assert loss.person.epsilon == 5


def test_calculus_rows():
    """C-1, C-2, C-3, C-7, C-8, C-11 as identities of the shapes."""
    assert Cost.pure(1).rho() <= Fraction(1, 2)  # C-1, with the better constant of C-PURE+
    weighted = Loss(Weighted(tuple((name, Fraction(1, 10)) for name in NAMES)))
    assert weighted.person.epsilon == Fraction(3, 10)  # C-2
    flat = Loss(Flat(Cost.pure(1)))
    assert flat.at("a") == flat.person  # C-3
    assert (flat + flat).at("a").epsilon == 2  # C-7
    columns = Loss(Cover(tuple((frozenset(name), Cost.pure(1)) for name in NAMES)))
    assert columns.at("a").epsilon == 1  # C-8
    assert columns.within(Pure(1).per_attribute())
    assert columns.person.epsilon == 3


def test_a_leak_is_a_leaf_of_everything_it_touches():
    """C-19: (epsilon, delta) adds to every set that it touches, and is no per-attribute bound."""
    loss = Loss.flat(Cost.approximate(1, 1e-6), {"a"}) + Loss.flat(Cost.concentrated("0.1"), {"a", "b"})
    assert loss.at("a").leak == Fraction(1, 10**6)
    assert loss.at("b").leak == 0
    assert loss.at("a").epsilon_at(1e-7) == INFINITY
    assert loss.at("a").epsilon_at(1e-5) > loss.at("b").epsilon_at(1e-5)
    assert not loss.within(Concentrated(10).per_attribute())
    with pytest.raises(ParameterError, match="leak"):
        union([Cost.approximate(1, 1e-6)])


def test_worst_sets():
    loss = ledger()
    names, epsilon = loss.worst(1, NAMES, 0)
    assert (names, epsilon) == (frozenset("b"), Fraction("1.2"))
    assert loss.worst(2, NAMES, 0)[1] == Fraction("1.6")
    many = [f"x{i}" for i in range(40)]
    assert loss.worst(20, many, 0) == (frozenset(), loss.person.epsilon)  # too many sets: a bound on all
    with pytest.raises(ParameterError):
        loss.worst(0, NAMES, 0)


def test_secrets_follow_links_both_ways():
    secrets = Secrets(("dob", "age", "zip", "state", "x"), {"place": ("zip", "state")}, (("dob", "age"),))
    assert secrets.closure("age") == {"dob", "age"}
    assert secrets.closure({"state", "x"}) == {"zip", "state", "x"}
    assert len(secrets.classes()) == 3
    with pytest.raises(SchemaError):
        secrets.closure("height")
    with pytest.raises(SchemaError):
        Secrets(("a", "a"))
    with pytest.raises(SchemaError):
        Secrets(("a",), dependencies=(("a", "b"),))
    assert Loss.flat(Cost.pure(1), {"a"}).at(EVERYTHING).epsilon == 1
