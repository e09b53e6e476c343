"""The thesis's learners: polynomial thresholds are separable at the degree of the lemma, the sieve finds parities."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from sfumato import Noise, Pure
from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.exact.transform import walsh_hadamard
from sfumato.papers.query_release.learning.sieve import HarmonicSieve
from sfumato.papers.query_release.learning.thresholds import (
    PolynomialThreshold,
    monomial_sets,
    monomials,
    needed_queries,
)
from tests.papers.query_release.learning.test_learned import error, released, truth
from tests.papers.query_release.learning.test_trees import table

CUBE = np.array(list(product([0, 1], repeat=8)))
NARROW = CUBE[CUBE.sum(axis=1) <= 3]


def conjunction_shares(rows: Any, queries: Any) -> Any:
    return np.array([rows[:, query == 1].all(axis=1).mean() for query in queries])


@pytest.mark.parametrize("seed", range(3))
def test_thresholds_of_narrow_conjunctions_are_separable_at_the_witness_degree(seed: int) -> None:
    # Lemma 7.4.3: 1[j = 0] for j = 0 … 3 is a cubic in j, the number of columns of a query in which a row has a zero.
    rows = table(20, 8, seed)
    for level in (0.15, 0.35, 0.6):
        labels = (conjunction_shares(rows, NARROW) >= level).astype(int)
        found = PolynomialThreshold(3).fit(NARROW, labels)
        assert found.hinge_ == pytest.approx(0, abs=1e-3)
        assert (found.predict(NARROW) == labels).all()
        witness = _witness(rows, math.ceil(level * 20))
        assert ((witness >= 0) == (labels == 1)).all()


def _witness(rows: Any, needed: int) -> Any:
    """Return the polynomial of the lemma itself, with the exact indicator."""
    missing = NARROW @ (~rows).T.astype(int)
    indicator = 1 - missing * (11 / 6) + missing**2 - missing**3 / 6
    return indicator.sum(axis=1) - (needed - 0.5)


def test_monomials_are_products() -> None:
    sets = monomial_sets(3, 2)
    assert sets == [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    assert monomials(np.array([[1.0, 0.0, 1.0]]), sets).tolist() == [[1, 1, 0, 1, 0, 1, 0]]


def test_a_polynomial_threshold_learner_becomes_a_release() -> None:
    found = released(40_000).fit(PolynomialThreshold(1), accuracy=0.3, folds=1)
    assert error(found, 40_000) < truth(40_000).std()


def test_the_transform_is_its_own_inverse() -> None:
    values = Noise(insecure_seed=1).uniform(100, 64).astype(float)
    assert walsh_hadamard(walsh_hadamard(values)) / 64 == pytest.approx(values)


def test_the_sieve_learns_a_majority_of_parities() -> None:
    parities = (CUBE[:, :3].sum(axis=1) + CUBE[:, 7]) % 2, CUBE[:, 2:6].sum(axis=1) % 2, CUBE[:, 5:].sum(axis=1) % 2
    labels = (np.sum(parities, axis=0) >= 2).astype(int)
    found = HarmonicSieve(edge=0.3).fit(CUBE, labels)
    assert (found.predict(CUBE) == labels).all()
    assert len(found.parities_) < 200


def test_bad_input_is_refused_with_a_sentence() -> None:
    with pytest.raises(DomainTooLarge, match="degree=2"):
        PolynomialThreshold(5).fit(np.zeros((2, 60)), [0, 1])
    with pytest.raises(DomainTooLarge, match="20 columns"):
        HarmonicSieve().fit(np.zeros((2, 21)), [0, 1])
    with pytest.raises(ParameterError, match="edge"):
        HarmonicSieve(edge=2)
    with pytest.raises(ParameterError, match="degree"):
        PolynomialThreshold(0)
    assert needed_queries(5, 1, 0.5, 0.5) > 0 and Pure(1)
