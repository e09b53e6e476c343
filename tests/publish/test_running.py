"""Running totals: the matrix, what moves it, estimates, windows, differences and bands (PB-CONTINUAL, PB-BAND)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from sfumato import ADD_REMOVE, Noise
from sfumato.errors import ParameterError
from sfumato.noise import RoundedNormal
from sfumato.perturb import sensitivity
from sfumato.publish.file import TableSpec
from sfumato.publish.layout import series_frame
from sfumato.publish.matrix import Factor, candidates
from sfumato.publish.running import Claim, RunningTotals, least_noise
from sfumato.publish.segments import Segment, band_factor
from sfumato.publish.series import Series
from sfumato.publish.tree import PureTotals, least_scale


def test_the_matrix_is_that_of_the_page():
    assert Factor(8, 8).coefficients == [256, 128, 96, 80, 70, 63, 58, 54]
    assert Factor(4, 4).one_period == 97536
    assert [Factor(periods, periods).one_period for periods in (30, 365)] == [140829, 194049]
    assert Factor(365, 365, plain=True).one_period == 192976
    assert round(Factor(4, 4).error(), 4) == 1.7441
    assert round(Factor(365, 365).error(), 4) == 7.1965
    assert round(float(Factor(365, 365).spread().max()) * 194049, 4) == 7.6905
    assert round(Factor(365, 7).error(7), 2) == 3.41


@pytest.mark.parametrize(("periods", "most"), [(30, 0.92), (365, 0.94)])
def test_it_beats_the_square_root(periods, most):
    assert Factor(periods, periods).error() <= most * square_root(periods)


def square_root(periods: int) -> float:
    """The mean squared error of the square-root factorisation, from its coefficients."""
    a = np.cumprod([1, *[(2 * i - 1) / (2 * i) for i in range(1, periods)]])
    squares = np.cumsum(a**2)
    return float(squares[-1] * squares.mean())


@pytest.mark.parametrize("periods", [3, 4])
@pytest.mark.parametrize(("most", "gap"), [(1, 1), (2, 1), (2, 2), (3, 1)])
def test_whoever_comes_back_moves_it_no_further_than_the_formula(periods, most, gap):
    factor = Factor(periods, periods, plain=True, fineness=4)
    worst = 0
    for size in range(1, most + 1):
        for places in combinations(range(periods), size):
            if all(later - earlier >= gap for earlier, later in pairwise(places)):
                for signs in product((-1, 1), repeat=size):
                    moved = factor.matrix[:, places] @ np.array(signs)
                    worst = max(worst, int(moved @ moved))
    assert worst == factor.participations(most, gap)
    if most > 1:
        # The mutants: noise for so many single periods, and equal columns with the same formula.
        assert worst > factor.one_period
        with pytest.raises(ParameterError, match="plain=True"):
            Factor(periods, periods, fineness=4).participations(most, gap)


def test_a_month_costs_more_than_its_days_together():
    factor = Factor(4, 4)
    assert factor.shift([1, 1, 0, 0]) > 2 * factor.one_period
    assert factor.shift([1, 1, 1, 1]) == int((factor.matrix.sum(axis=1) ** 2).sum())


def test_noise_is_the_least_that_keeps_every_claim():
    one = Claim((1, 0, 0, 0), sensitivity(2), Fraction(1, 10))
    factor, variance = least_noise(4, [one])
    assert factor == Factor(4, 4) and variance == -(-97536 * 4 * 10 // 2)
    everybody = Claim((1, 1, 1, 1), sensitivity(2), Fraction(1, 10))
    factor, variance = least_noise(4, [one, everybody])
    kept = [Fraction(factor.shift([1] * 4) * 4, 2 * one) for one in (variance, variance - 1)]
    assert kept[0] <= Fraction(1, 10) < kept[1]
    assert least_noise(4, [one], window=2)[0].band == 2
    with pytest.raises(ParameterError, match="too small"):
        least_noise(4, [replace(one, most=Fraction(1, 10**30))])


def totals(periods=6, rho="1/2"):
    factor, variance = least_noise(periods, [Claim((1,) + (0,) * (periods - 1), sensitivity(1), Fraction(rho))])
    return RunningTotals(relation=ADD_REMOVE, factor=factor, variance=variance, moves=sensitivity(1))


def test_the_loss_is_within_the_spend_and_reaches_it():
    loss = totals().loss().person
    assert Fraction(99, 100) < loss.tau(Fraction(2)) <= 1


def test_without_noise_estimates_are_the_sums(monkeypatch):
    monkeypatch.setattr(Noise, "draw", lambda self, law, size=None: np.zeros(size, np.int64))
    running, read = totals(), [[3, 0], [1, 5], [0, 2], [4, 4], [0, 0], [7, 1]]
    released = [running.entry(read[: place + 1], Noise()) for place in range(6)]
    series = Series(tuple("abcdef"), (("x",), ("y",)), (Segment(running.factor, running.variance, np.array(released)),))
    assert np.allclose(series.totals().values, np.cumsum(read, axis=0))
    assert np.allclose(series.window(2).values[1:], np.array(read)[1:] + np.array(read)[:-1])
    found, half = series.between("b", "e")
    assert np.allclose(found, np.sum(read[2:5], axis=0)) and half > 0


def test_a_second_horizon_starts_at_the_last_total(monkeypatch):
    monkeypatch.setattr(Noise, "draw", lambda self, law, size=None: np.zeros(size, np.int64))
    first, second, read = totals(2), totals(4), [[3], [1], [4], [1], [5]]
    segments = []
    for running, part in ((first, read[:2]), (second, read[2:])):
        released = [running.entry(part[: place + 1], Noise()) for place in range(len(part))]
        segments.append(Segment(running.factor, running.variance, np.array(released)))
    series = Series(tuple("abcde"), ((),), tuple(segments), open_end=True)
    found = series.totals()
    assert np.allclose(found.values[:, 0], [3, 4, 8, 9, 14])
    spread = [first.variance * first.factor.spread()[1], second.variance * second.factor.spread()[0]]
    assert found.half[2] >= 1.96 * sum(spread) ** 0.5 > found.half[1] * 0.9
    assert series.between("b", "e")[0] == [10]
    windows = series.window(2)
    assert np.allclose(windows.values[:, 0], [3, 4, 5, 5, 6])
    # Inside of a horizon a window is made of that horizon alone; across, of both.
    alone = [first.variance * first.factor.spread(2)[1], second.variance * second.factor.spread(2)[1]]
    assert windows.half[1] == pytest.approx(1.96 * alone[0] ** 0.5, rel=0.03)
    assert windows.half[3] == pytest.approx(1.96 * alone[1] ** 0.5, rel=0.03)
    difference = first.factor.decoder()[1] - first.factor.decoder()[0]
    across = first.variance * (difference**2).sum() + second.variance * second.factor.spread()[0]
    assert windows.half[2] == pytest.approx(1.96 * across**0.5, rel=0.03)
    assert np.allclose(series.window(4).values[:, 0], [3, 4, 8, 9, 11])


@pytest.mark.parametrize("kind", ["gauss", "pure"])
@pytest.mark.parametrize("width", [1, 3, 5])
def test_windows_across_horizons_miss_as_often_as_they_say(kind, width):
    """The mutant takes the noise of the last horizon for that of the whole window."""
    keys, read, segments = 3000, [], []
    for number, periods in enumerate((2, 3, 4)):
        running = totals(periods) if kind == "gauss" else tree_totals(periods)
        part = [[place + number] * keys for place in range(periods)]
        drawn = [
            running.entry(part[: place + 1], Noise(insecure_seed=100 * number + place)) for place in range(periods)
        ]
        segments.append(running.segment(drawn, keys))
        read += part
    series = Series(tuple("abcdefghi"), tuple((one,) for one in range(keys)), tuple(segments), open_end=True)
    found, true = series.window(width), np.array(read)[:, 0]
    true = np.array([true[max(0, place + 1 - width) : place + 1].sum() for place in range(9)])
    hit = (abs(found.values - true[:, None]) <= found.half[:, None]).mean(axis=1)
    assert (hit > 0.935).all() and (kind == "pure" or (hit < 0.97).all())
    if kind == "gauss" and width > 1:
        row = series._row(2, width)
        pairs = list(zip([0 * row[0], *row[1:]], series.segments, strict=True))
        assert (abs(found.values[2] - true[2]) <= series.segments[0].width(pairs, 0.05, None)).mean() < 0.93


def tree_totals(periods):
    claims = [Claim((1,) + (0,) * (periods - 1), sensitivity(1), Fraction(1))]
    tree, scale = least_scale(periods, claims)
    return PureTotals(relation=ADD_REMOVE, tree=tree, scale=scale, moves=sensitivity(1))


def test_a_picture_marks_where_a_horizon_begins():
    segments = []
    for periods in (2, 4):
        running = totals(periods)
        drawn = [running.entry([[3]] * (place + 1), Noise(insecure_seed=place)) for place in range(periods)]
        segments.append(Segment(running.factor, running.variance, np.array(drawn)))
    chart = Series(tuple("abcdef"), ((),), tuple(segments)).plot(window=3)
    assert chart.begins == (2,) and chart.title.endswith("; a new horizon begins at c")
    lines = [line for line in chart.figure().axes[0].lines if line.get_label() == "a new horizon begins"]
    assert [line.get_xdata()[0] for line in lines] == [1.5]
    alone = Series(("a", "b"), ((),), tuple(segments[:1])).plot()
    assert alone.begins == () and "horizon" not in alone.title


def test_totals_beyond_all_rows_are_clamped():
    running = totals()
    assert np.abs(running.entry([[2**62], [-(2**62)]], Noise(insecure_seed=1))).max() < 2**63 - 1


def test_bands_are_those_of_sidak():
    assert [round(band_factor(periods, 0.05), 3) for periods in (30, 365, 1024)] == [3.137, 3.807, 4.055]
    assert candidates(10, 7) == [1, 2, 3, 4, 6, 7, 8, 10]


def test_a_picture_has_both_bands_and_says_what_is_hidden():
    running = totals()
    released = np.array([running.entry([[3]] * (place + 1), Noise(insecure_seed=place)) for place in range(6)])
    segment = Segment(running.factor, running.variance, released)
    series = Series(tuple("abcdef"), (("x",),), (segment,), promise="one day is hidden")
    assert "<svg" in series.plot().svg()
    assert "last" in series.plot(window=2).title
    with pytest.raises(ParameterError, match="no period"):
        series.between("a", "z")
    with pytest.raises(ParameterError, match="window"):
        series.window(0)


def simulated(periods: int, runs: int, seed: int):
    """Errors of the published totals, drawn with the house's sampler: runs by periods."""
    running = totals(periods)
    noise = Noise(insecure_seed=seed).draw(RoundedNormal(Fraction(running.variance)), periods * runs)
    drawn = noise.reshape(runs, periods)
    return running, drawn @ running.factor.decoder().T


@pytest.mark.audit
def test_coverage_and_variance_are_those_claimed():
    running, errors = simulated(64, 100_000, 1)
    claimed = running.variance * running.factor.spread()
    assert np.all(np.abs(errors.var(axis=0) / claimed - 1) < 0.02)
    series = Series((), ((),), (Segment(running.factor, running.variance, np.zeros((64, 1), np.int64)),))
    full = replace(series, periods=tuple(map(str, range(64))))
    found = full.totals()
    assert 0.948 <= (np.abs(errors) <= found.half).mean() <= 0.953
    assert (np.abs(errors) <= found.band).all(axis=1).mean() >= 0.95


@pytest.mark.audit
def test_a_wrong_matrix_is_seen_in_the_variance():
    """Variances of single periods, on average over 64 of them; a coefficient two per cent off moves them by one."""

    class Off(Factor):
        @property
        def coefficients(self):
            found = super().coefficients
            return [found[0], round(found[1] * 1.02), *found[2:]]

    running = totals(64)
    drawn = Noise(insecure_seed=2).draw(RoundedNormal(Fraction(running.variance)), 64 * 100_000).reshape(-1, 64)
    found = (drawn @ running.factor.decoder(1).T).var(axis=0)
    assert abs((found / (running.variance * running.factor.spread(1))).mean() - 1) < 0.004
    assert abs((found / (running.variance * Off(64, 64).spread(1))).mean() - 1) > 0.004


def series_of(seed, periods=12):
    """A count that runs on of two groups, with its true totals."""
    running, read = totals(periods), [[1, period % 3] for period in range(periods)]
    noise = Noise(insecure_seed=seed)
    released = np.array([running.entry(read[: place + 1], noise) for place in range(periods)])
    names = tuple(f"p{period:02}" for period in range(periods))
    return Series(names, (("x",), ("y",)), (Segment(running.factor, running.variance, released),)), np.cumsum(read, 0)


def test_a_curve_that_never_falls_is_no_further_off_than_the_totals_are():
    fell = 0
    for seed in range(20):
        series, true = series_of(seed)
        found, shown = series.totals(), series.monotone()
        assert shown.shape == found.values.shape and (np.diff(shown, axis=0) >= 0).all() and (shown >= 0).all()
        assert (np.abs(shown - true).max(axis=0) <= np.abs(found.values - true).max(axis=0) + 1e-9).all()
        fell += int((np.diff(found.values, axis=0) < 0).any())
    assert fell > 10  # the totals themselves do fall
    assert replace(
        series, periods=(), segments=(replace(series.segments[0], released=np.zeros((0, 2), np.int64)),)
    ).monotone().shape == (0, 2)
    with pytest.raises(ParameterError, match="surely never falls"):
        replace(series, what="sum of pay").monotone()


def test_files_show_that_curve_and_leave_out_and_round_what_was_asked_for():
    series, _ = series_of(1)
    spec = TableSpec("total", "count by country", {}, True, monotone=True, hide_below=5, round_to=2)
    assert spec.to_json() == replace(spec, monotone=False).to_json()  # how it is shown is no part of the edition
    frame = series_frame(series, spec, ("country",))
    plain = series_frame(series, replace(spec, monotone=False, hide_below=None, round_to=None), ("country",))
    assert [name for name in frame.columns if "monotone" in name] == ["total_monotone"]
    assert "total_monotone" not in plain.columns
    shown = [cell for cell in frame["total_monotone"] if cell is not None]
    assert shown and all(cell % 2 == 0 and cell >= 4 for cell in shown)
    for name in ("total", "total_low", "total_high", "total_all_low", "total_all_high"):
        for true, cell, rounded in zip(plain["total"], plain[name], frame[name], strict=True):
            assert (rounded is None) == (true < 5)
            if rounded is not None:
                assert rounded % 2 == 0 and abs(rounded - cell) <= (1 if name == "total" else 2)
                assert rounded <= cell if name.endswith("low") else name == "total" or rounded >= cell
