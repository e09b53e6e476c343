"""Pure running totals: the tree, the exact law of sums, and a publication that is paid by Pure (PB-TREE, PB-BAND)."""

from __future__ import annotations

import math
from datetime import date
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato import ADD_REMOVE, Noise
from sfumato.errors import ParameterError
from sfumato.ledger import Ledger
from sfumato.perturb import sensitivity
from sfumato.publish.running import Claim
from sfumato.publish.segments import TreeSegment, laplace_sum_width
from sfumato.publish.series import Series
from sfumato.publish.tree import PureTotals, Tree, best_tree, least_scale
from tests.publish.sample import FILE, ROWS, prepare

FEBRUARY = date(2026, 2, 1)


@pytest.mark.parametrize(
    ("periods", "base", "levels", "error"), [(30, 31, 1, 31), (365, 20, 2, 144.7), (1024, 11, 3, 244.7)]
)
def test_the_tree_is_that_of_the_page(periods, base, levels, error):
    tree = best_tree(periods)
    assert (tree.base, tree.levels) == (base, levels)
    assert abs(2 * levels**2 * tree.sums() - error) < 0.05
    binary = Tree(periods, 2)
    assert binary.levels**2 * binary.sums() > 4 * levels**2 * tree.sums()


@pytest.mark.parametrize("periods", [1, 2, 7, 30, 100])
@pytest.mark.parametrize("window", [None, 3])
def test_no_other_base_has_less_noise_or_hardly_any(periods, window):
    tree = best_tree(periods, window)
    best = min(one.levels**2 * one.sums(window) for one in (Tree(periods, base) for base in range(2, periods + 2)))
    assert tree.levels**2 * tree.sums(window) <= 1.02 * best


@pytest.mark.parametrize(("periods", "base"), [(4, 2), (9, 3), (10, 4), (5, 6)])
def test_every_period_is_in_the_stated_number_of_sums_at_most(periods, base):
    tree = Tree(periods, base)
    covered = np.zeros(periods, int)
    for period in range(1, periods + 1):
        for level in range(tree.complete(period)):
            covered[period - base**level : period] += 1
    assert covered.max() == covered[0] == tree.levels
    for period in range(1, periods + 1):  # and every total is made of disjoint sums that cover it
        parts = [range(end - base**level, end) for level, end in tree.parts(period)]
        assert sorted(place for part in parts for place in part) == list(range(period))


def test_the_law_of_a_sum_is_the_convolution():
    for scale, draws, miss in [(2, 1, 0.05), (2, 7, 1e-3), (10, 3, 0.3), (Fraction(1, 2), 4, 1e-6)]:
        decay = math.exp(-1 / float(scale))
        reach = np.arange(-1500, 1501)
        one = (1 - decay) / (1 + decay) * decay ** np.abs(reach)
        law = np.ones(1)
        for _ in range(draws):
            law = np.convolve(law, one)
        middle = len(law) // 2
        width = laplace_sum_width(draws, Fraction(scale), miss)
        assert 2 * law[middle + width + 1 :].sum() <= miss < 2 * law[middle + width :].sum()


def test_more_noise_in_any_horizon_is_wider():
    """Peakedness: the widest scale for all draws covers draws of several scales."""
    narrow, wide = (
        np.array([0.5 ** abs(j) / 3 for j in range(-60, 61)]),
        np.array([0.8 ** abs(j) / 9 for j in range(-60, 61)]),
    )
    mixed, same = np.convolve(narrow, wide), np.convolve(wide, wide)
    inside = [[law[120 - j : 121 + j].sum() for j in range(60)] for law in (mixed, same)]
    assert all(one >= other for one, other in zip(*inside, strict=True))


def made(periods=9, epsilon="1", window=None):
    claims = [Claim((1,) + (0,) * (periods - 1), sensitivity(1), Fraction(epsilon))]
    tree, scale = least_scale(periods, claims, window)
    return PureTotals(relation=ADD_REMOVE, tree=tree, scale=scale, moves=sensitivity(1))


def test_the_loss_is_the_spend():
    assert made().loss().person.epsilon == 1
    assert made().cost([1, 1, 0]).epsilon == 2
    with pytest.raises(ParameterError, match="too small"):
        made(epsilon="1/100000000000")


def test_without_noise_estimates_are_the_sums(monkeypatch):
    monkeypatch.setattr(Noise, "draw", lambda self, law, size=None: np.zeros(size, np.int64))
    read = [[place, 9 - place] for place in range(9)]
    running = PureTotals(relation=ADD_REMOVE, tree=Tree(9, 2), scale=Fraction(4), moves=sensitivity(1))
    released = [running.entry(read[: place + 1], Noise()) for place in range(9)]
    series = Series(tuple("abcdefghi"), (("x",), ("y",)), (running.segment(released, 2),))
    assert np.array_equal(series.totals().values, np.cumsum(read, axis=0))
    assert np.array_equal(series.window(2).values[1:], np.array(read)[1:] + np.array(read)[:-1])
    found, half = series.between("b", "e")
    assert np.array_equal(found, np.sum(read[2:5], axis=0)) and half > 0
    totals = series.totals()
    assert (totals.band > totals.half).all() and totals.half[7] < totals.half[6]  # 8 is one sum, 7 are three


def test_totals_beyond_all_rows_are_clamped():
    assert np.abs(made().entry([[2**62], [-(2**62)]], Noise(insecure_seed=1))).max() < 2**62


def test_coverage_is_what_is_claimed():
    """20,000 series of 9 periods with the house's sampler: intervals are exact but for whole numbers, the band holds."""
    running, runs = made(), 20_000
    drawn = Noise(insecure_seed=4).draw(running.law, running.tree.starts[-1] * runs).reshape(-1, runs)
    names = tuple(map(str, range(9)))
    found = Series(names, ((),), (TreeSegment(running.tree, running.scale, drawn[:, :1] * 0, 9),)).totals()
    errors = np.array([running.tree.row(period) @ drawn[: running.tree.starts[period]] for period in range(1, 10)])
    inside = (np.abs(errors) <= found.half[:, None]).mean(axis=1)
    assert (inside >= 0.95 - 0.005).all() and inside.mean() < 0.99
    assert (np.abs(errors) <= found.band[:, None]).all(axis=0).mean() >= 0.95


PURE = FILE.replace('day = "Concentrated(1)"', 'day = "Pure(2)"').replace("Concentrated(0.5)", "Pure(1)")


def test_a_publication_under_pure_spends(tmp_path):
    publication = sf.Publication.load(prepare(tmp_path, text=PURE))
    plan = publication.plan()
    assert plan.refused is None and "all periods at once" in plan.tables[1].error
    publication.run(today=FEBRUARY)
    with Ledger(tmp_path / "visits.ledger") as book:
        assert book.spent_in("day", "2026-01-02").percent == 100
        assert book.verify().ok
    found = publication.series("total").totals()
    truth = sum(row[2] == "CH" for row in ROWS)
    assert abs(found.values[-1, 0] - truth) <= 3 * found.band[-1]
    assert publication.verify()
    assert "PB-TREE" in (tmp_path / "out/visits/registry.yaml").read_text()


def test_a_month_is_charged_as_often_as_it_has_days(tmp_path):
    text = PURE.replace('person = "none"', 'month = "Pure(7.9)"\nperson = "none"').replace('Pure(1)"\nhide', 'Pure(1)"')
    publication = sf.Publication.load(prepare(tmp_path, text=text, days=[]))
    refused = publication.plan().refused
    assert refused is not None and "month 2026-01" in refused  # four days of the table and four of the total are 8
    publication = sf.Publication.load(prepare(tmp_path, text=text.replace("7.9", "8"), days=[]))
    assert publication.plan().refused is None


def test_an_end_that_nobody_knows(tmp_path):
    publication = sf.Publication.load(prepare(tmp_path, text=PURE.replace('last = "2026-01-04"', "horizon = 1")))
    publication.run(today=date(2026, 1, 5))
    series = publication.series("total")
    assert [one.known for one in series.segments] == [1, 2, 1]
    assert series.totals().half[3] > series.totals().half[0]


def test_pure_and_concentrated_do_not_mix(tmp_path):
    mixed = FILE.replace(
        'windows = [2]\nspend = "Concentrated(0.5)"', 'spend = { day = "Pure(1)", year = "Concentrated(9)" }'
    )
    with pytest.raises(ParameterError, match="Pure throughout"):
        sf.Publication.load(prepare(tmp_path, text=mixed, days=[]))
