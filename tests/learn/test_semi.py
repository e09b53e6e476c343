"""Learning from private people with a public pool beside them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from sfumato import Noise, Pure
from sfumato.errors import ParameterError
from sfumato.learn import SemiPrivate
from tests import imputed
from tests.learn.estimator_checks import every_check, example

WIDE = imputed.integers(0, 2**64 - 1)
POOL = [[step * 2**58] for step in range(64)]


def learner(concepts="cuts", pool=POOL, seed=1, **options):
    return SemiPrivate(concepts, pool, Pure(1), WIDE, (False, True), noise=Noise(insecure_seed=seed), **options)


def people(count: int, seed: int = 3) -> np.ndarray:
    return Noise(insecure_seed=seed).uniform(2**64, size=count).reshape(-1, 1)


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning", "ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("estimator", "check"), every_check(example(SemiPrivate, pool=[[0.0] * 2, [1.0] * 2])))
def test_scikit_learn_accepts(estimator, check):
    """The checks bring tables of many widths, and a pool has one of its own: those of other widths are refused."""
    try:
        check(estimator)
    except (ParameterError, AssertionError) as refused:
        if "rows of the pool have the features of X" not in f"{refused}{refused.__cause__}{refused.__context__}":
            raise


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_a_pool_makes_a_huge_domain_cheap():
    """64 values of the pool are told apart, not 2^64: a few hundred people are enough."""
    truth = 37 * 2**58
    for seed in range(5):
        rows = people(600, seed)
        fitted = learner(seed=seed).fit(rows, rows[:, 0] >= truth)
        fresh = people(2000, seed + 50)
        assert fitted.score(fresh, fresh[:, 0] >= truth) > 0.9
        assert fitted.loss_.at("x0").epsilon == fitted.loss_.at("y").epsilon == 1


def test_the_numbers_needed():
    fitted = learner()
    assert fitted.needed(0.1, 0.05) < 3000 < fitted.pool_needed(0.1, 0.05)
    assert fitted.needed(0.2) < fitted.needed(0.1)


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_a_classifier_is_listed_on_the_pool():
    rows = people(800)
    fitted = learner(DecisionTreeClassifier(max_depth=1), listing=8).fit(rows, rows[:, 0] >= 2**63)
    assert fitted.score(rows, rows[:, 0] >= 2**63) > 0.8


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_a_ledger_stores_the_pool():
    ages = Noise(insecure_seed=1).uniform(100, size=2000)
    table = pa.table({"age": ages.tolist(), "ill": (ages >= 60).tolist()})
    curator = sf.curate(table, sf.Schema({"age": imputed.integers(0, 99), "ill": imputed.booleans()}), Pure(2))
    pool = [[age] for age in range(0, 100, 10)]
    first, second = (
        curator.learn(SemiPrivate("cuts", pool, spend=Pure("0.5")), features="age", target="ill") for _ in range(2)
    )
    assert second.reused and first.value == second.value
    assert first.value.low in range(0, 100, 10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: learner(pool=None), "public rows"),
        (lambda: learner(pool=[[1, 2]]), "features of X"),
        (lambda: learner(pool=np.empty((0, 1))), "at least one row"),
        (lambda: learner("stumps"), "no class of rules"),
        (lambda: learner(listing=0), "listing"),
    ],
)
@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_refusals(make, message):
    with pytest.raises(ParameterError, match=message):
        make().fit([[1], [2]], [True, False])


POOLS = {"debt": [0, 400, 900] * 10, "ward": ["a"] * 30, "age": [*range(0, 90, 3)]}


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_a_pool_are_found_by_name(make):
    ages, debts = (Noise(insecure_seed=seed).uniform(size, size=2000) for seed, size in ((1, 100), (2, 1000)))
    domains = [imputed.integers(0, 99), imputed.integers(0, 999)]
    straight = list(zip(POOLS["age"], POOLS["debt"], strict=True))

    def fitted(pool):
        made = SemiPrivate("cuts", pool, Pure(5), domains, (False, True), noise=Noise(insecure_seed=1))
        return made.fit(pd.DataFrame({"age": ages, "debt": debts}), ages >= 60).rule_

    assert fitted(make(POOLS)) == fitted(straight)
    schema = sf.Schema({"age": domains[0], "debt": domains[1], "ill": imputed.booleans()})
    table = pa.table({"age": ages.tolist(), "debt": debts.tolist(), "ill": (ages >= 60).tolist()})
    lacking = make({"years": POOLS["age"], "debt": POOLS["debt"]})
    with sf.curate(table, schema, Pure(9)) as curator:

        def asked(pool):
            return curator.learn(SemiPrivate("cuts", pool, spend=Pure(1)), features=["age", "debt"], target="ill")

        asked(make(POOLS))
        assert asked(straight).reused, "the same pool is the same question"
        with pytest.raises(ParameterError, match=r"^The pool has no column 'age', and the rule looks at age, debt\.$"):
            asked(lacking)
    with pytest.raises(ParameterError, match=r"^The pool has no column 'age'"):
        fitted(lacking)
