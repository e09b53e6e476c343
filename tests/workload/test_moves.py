"""Sensitivities of workloads against all pairs of records of tiny spaces, both relations, every set of attributes."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations, product
from math import comb

import numpy as np
import pytest

from sfumato import ADD_REMOVE, EVERYTHING, REPLACE_ONE, Schema, bins, workloads
from sfumato.workload import Records, Workload
from sfumato.workload.moves import odd_overlaps
from tests.imputed import booleans, categories, integers

BITS = Schema({name: booleans() for name in "abcd"})
SIX = Schema({name: booleans() for name in "abcdef"})
MIXED = Schema(
    {
        "age": integers(0, 3),
        "half": bins("age", step=2),
        "sex": booleans(),
        "town": categories("x", "y", "z", public=True),
        "one": integers(5, 5),
    }
)


def stack(workload: Workload, row) -> np.ndarray:
    return np.concatenate(workload.answers(Records.from_rows(workload.space, [row])))


def brute(workload: Workload, changing=EVERYTHING) -> tuple:
    """The largest norms of the difference of two records that agree outside the attributes."""
    rows = list(product(*(range(size) for size in workload.space.sizes)))
    vectors = {row: stack(workload, row) for row in rows}
    free = [changing is EVERYTHING or shown in changing for shown in workload.space.attributes]
    best = [0, 0, 0, 0]
    for one, two in product(rows, rows):
        if all(moves or a == b for moves, a, b in zip(free, one, two, strict=True)):
            best = [max(pair) for pair in zip(best, norms(vectors[one] - vectors[two]), strict=True)]
    return tuple(best)


def norms(apart: np.ndarray) -> tuple:
    sizes = np.abs(apart)
    return int(sizes.sum()), int((sizes**2).sum()), int(sizes.max()), int((sizes > 0).sum())


def four(moves) -> tuple:
    return int(moves.l1), int(moves.l2_squared), int(moves.largest), moves.changed


def every_set(workload: Workload):
    names = sorted(workload.reads)
    return chain.from_iterable(combinations(names, size) for size in range(1, len(names) + 1))


EXACT = {
    "pairs of bits": workloads.marginals(BITS, width=2),
    "triples and single tables": workloads.marginals(BITS, sets=["a", ("a", "b", "c"), ("b", "d")]),
    "conjunctions of two": workloads.conjunctions(BITS, width=2),
    "conjunctions of three": workloads.conjunctions(BITS, width=3),
    "parities of two": workloads.parities(BITS, width=2),
    "parities of three": workloads.parities(BITS, width=3),
    "signed parities of two": workloads.parities(BITS, width=2, signed=True),
    "some parities": workloads.parities(BITS, sets=[("a",), ("a", "b"), ("b", "c", "d"), ("a", "b", "c", "d")]),
    "tables with a derived and a public column": workloads.marginals(MIXED, width=2),
    "prefixes": workloads.prefixes(MIXED, "age"),
    "ranges": workloads.ranges(MIXED, ["age", "sex"]),
    "conditions": workloads.predicates(MIXED, ["age > 1 AND sex = true", "half = 2 OR town = 'y'", "town <> 'x'"]),
    "cells": workloads.conjunctions(MIXED, cells=[{"age": 3, "sex": True}, {"age": 0}, {"town": "z", "sex": False}]),
    "a matrix": workloads.matrix(MIXED, ("age", "sex"), [[0, 1, 1, 0, 0.25, 0.5, 1, 1], [1, 1, 1, 0, 0, 0, 0, 0.125]]),
    "all kinds": workloads.together(
        workloads.marginals(MIXED, sets=[("age", "sex")]),
        workloads.prefixes(MIXED, "age"),
        workloads.predicates(MIXED, ["age > 1"]),
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_a_replaced_person_moves_the_answers_exactly_so_far(name):
    workload = EXACT[name]
    assert four(workload.sensitivity(REPLACE_ONE)) == brute(workload)


@pytest.mark.parametrize("name", EXACT)
def test_a_person_who_comes_moves_the_answers_exactly_so_far(name):
    workload = EXACT[name]
    rows = product(*(range(size) for size in workload.space.sizes))
    found = tuple(max(norm) for norm in zip(*(norms(stack(workload, row)) for row in rows), strict=True))
    assert four(workload.sensitivity(ADD_REMOVE)) == found


@pytest.mark.parametrize("name", EXACT)
def test_every_set_of_attributes_moves_the_answers_exactly_so_far(name):
    workload = EXACT[name]
    for names in every_set(workload):
        assert four(workload.sensitivity(changing=frozenset(names))) == brute(workload, frozenset(names)), names


def test_bounds_hold_where_pairs_are_too_many_to_look_at(monkeypatch):
    for name in ("all kinds", "a matrix", "conditions", "cells", "ranges"):
        workload = Workload(EXACT[name].space, EXACT[name].blocks)
        object.__setattr__(workload, "_small", False)
        for names in every_set(workload):
            found = four(workload.sensitivity(changing=frozenset(names)))
            assert all(bound >= true for bound, true in zip(found, brute(workload, frozenset(names)), strict=True))


def test_the_bound_of_a_large_matrix_holds(monkeypatch):
    from sfumato.workload import moves

    monkeypatch.setattr(moves, "PAIRED", 0)
    block = EXACT["a matrix"].blocks[0]
    for moving in ((True, False), (False, True), (True, True)):
        found = four(block.replaced(moving))
        names = frozenset(name for name, free in zip(("age", "sex"), moving, strict=True) if free)
        assert all(bound >= true for bound, true in zip(found, brute(EXACT["a matrix"], names), strict=True))


def test_closed_forms_of_the_spec():
    """PDP-PROJ, d = 6: conjunctions C(d,k) - C(d-c,k), tables twice that, parities by odd overlaps."""
    for width, changed in product((1, 2, 3, 4), (1, 2, 3, 6)):
        names = frozenset("abcdef"[:changed])
        touched = comb(6, width) - comb(6 - changed, width)
        assert workloads.conjunctions(SIX, width).sensitivity(changing=names).l2_squared == touched
        assert workloads.marginals(SIX, width).sensitivity(changing=names).l2_squared == 2 * touched
        odd = max(
            sum(comb(c, j) * comb(6 - c, width - j) for j in range(1, width + 1, 2) if j <= c)
            for c in range(changed + 1)
        )
        assert workloads.parities(SIX, width).sensitivity(changing=names).l2_squared == odd
        assert workloads.parities(SIX, width, signed=True).sensitivity(changing=names).l2_squared == 4 * odd
    assert workloads.parities(SIX, 2).sensitivity().l2_squared == 9  # printed: 15


def test_odd_overlaps_are_found_for_any_family():
    sets = [frozenset("ab"), frozenset("bc"), frozenset("ca"), frozenset("abc"), frozenset("d")]
    best = max(
        sum(len(members & frozenset(chosen)) % 2 for members in sets)
        for size in range(5)
        for chosen in combinations("abcd", size)
    )
    assert odd_overlaps(sets, "abcd") == best
    assert odd_overlaps(sets, [f"c{place}" for place in range(21)]) is None


def test_several_rows_a_person_add_their_norms():
    workload = EXACT["pairs of bits"]
    one, three = workload.sensitivity(), workload.sensitivity(rows=3)
    assert three.l1 == 3 * one.l1 and three.l2_squared == 9 * one.l2_squared and three.largest == 3 * one.largest
    # A row may also come or go, which moves a parity of even width further than a change does.
    parity = workloads.parities(BITS, sets=[("a",)], signed=True)
    assert parity.sensitivity(rows=2).l1 == 4 and parity.sensitivity(ADD_REMOVE, rows=2).l1 == 2


def test_by_attribute_leaves_out_what_moves_nothing():
    assert set(EXACT["tables with a derived and a public column"].by_attribute()) == {"age", "sex"}
    assert EXACT["prefixes"].by_attribute()["age"].l1 == Fraction(3)
