"""What stands out of its noise: links between columns, how much of a table is kept, and fits that end."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
import pytest

from sfumato.model import Factored
from sfumato.noise import Noise, RoundedNormal
from sfumato.questions.synthesis.evidence import Evidence
from sfumato.questions.synthesis.fit import fitted
from sfumato.questions.synthesis.fit_dense import SMALL, DenseFit
from sfumato.questions.synthesis.kept import not_kept
from sfumato.questions.synthesis.look import Look, Prices, next_look
from sfumato.questions.synthesis.standing import Judged, judged
from sfumato.show.progress import quiet
from sfumato.table.schema import Schema
from sfumato.totals.tables.contrasts import centred
from sfumato.workload import Space
from tests.imputed import integers

SIZES = (6, 5, 4, 3)
SPACE = Space.of(Schema({name: integers(0, size - 1) for name, size in zip("abcd", SIZES, strict=True)}))


def joint(linked: bool) -> np.ndarray:
    """Return a distribution in which the first two columns go together, or none do."""
    ones = [np.linspace(1, 2, size) / np.linspace(1, 2, size).sum() for size in SIZES]
    table = np.einsum("a,b,c,d->abcd", *ones)
    if linked:
        near = np.exp(-np.abs(np.arange(6)[:, None] / 5 - np.arange(5) / 4) * 3)[:, :, None, None]
        table = table * near / (table * near).sum()
    return np.asarray(table)


def measured(table: np.ndarray, deviation: float, seed: int = 1) -> Evidence:
    """Return noisy one- and two-way tables of a distribution, as a release of contrasts gives them."""
    noise = Noise(insecure_seed=seed)

    def noisy(*kept: int) -> np.ndarray:
        found = table.sum(axis=tuple(axis for axis in range(4) if axis not in kept))
        return centred(found + deviation / 100 * np.reshape(noise.draw(RoundedNormal(10_000), found.size), found.shape))

    ones = tuple(noisy(place) + 1 / SIZES[place] for place in range(4))
    pairs = {(a, b): (noisy(a, b), deviation**-2) for a in range(4) for b in range(a + 1, 4)}
    return Evidence(SIZES, ones, (deviation**-2,) * 4, pairs)


def test_only_what_stands_out_is_a_link() -> None:
    assert judged(measured(joint(linked=True), 0.003)).groups() == [(0, 1), (2,), (3,)]
    alone = [judged(measured(joint(linked=False), 0.003, seed)).groups() for seed in range(40)]
    assert sum(len(groups) < 4 for groups in alone) <= 8, "false links are a few in a hundred"


def test_a_drowned_table_is_given_back_to_the_one_way_tables() -> None:
    standing = judged(measured(joint(linked=True), 0.5)).tables[0, 1]
    assert standing.kept < 0.5 < judged(measured(joint(linked=True), 0.001)).tables[0, 1].kept
    assert judged(measured(joint(linked=True), 0.001)).tables[2, 3].kept < 0.5


@pytest.mark.parametrize(("deviation", "drowned"), [(0.5, True), (0.003, False)])
def test_of_a_drowned_table_nothing_is_said_to_be_known(deviation: float, drowned: bool) -> None:
    """Noise may hide a relation of any strength: no figure says from which correlation on it would have shown."""
    evidence = measured(joint(linked=True), deviation)
    alone = Factored.product(SPACE, 1e6, dict(zip("abcd", judged(evidence).ones, strict=True)))
    said = " ".join(not_kept(alone, evidence, [(0, 1)]))
    assert ("however strongly they are related in the data" in said) is drowned
    assert said.startswith("Not kept: how columns go together ('a' with 'b'). ")
    assert "correlation" not in said
    assert "spend more, or ask for fewer columns" in said or not drowned


@pytest.mark.parametrize("deviation", [0.02, 0.001, 1e-5])
def test_fits_end_when_they_miss_less_than_the_noise(deviation: float) -> None:
    evidence = measured(joint(linked=True), deviation)
    fit = DenseFit(evidence, judged(evidence), (0, 1, 2, 3), 1e6)
    short, long = fit.run(quiet, 3), fit.run(quiet)

    def left(theta: np.ndarray) -> float:
        return float(np.sqrt(np.mean((fit.objective(theta)[1] / fit.deviations) ** 2)))

    assert left(long) < SMALL
    assert left(short) > SMALL or deviation > 0.01, "three steps do not suffice where there is little noise"


def test_less_noise_gives_less_error_down_to_none() -> None:
    truth = joint(linked=True)

    def error(deviation: float) -> float:
        model = fitted(measured(truth, deviation), SPACE, 1e6)
        return float(0.5 * np.abs(model.marginal(["a", "b"]) - truth.sum(axis=(2, 3))).sum())

    assert error(1e-5) < 0.001 < error(1e-2) < 0.2


MANY = (8,) * 7
"""More than 2^18 cells: only a mixture holds all columns."""


def unrelated(
    people: int, *, known: bool, deviation: float, blocks: Sequence[Sequence[int]] = (), seed: int = 1
) -> Evidence:
    """Return noisy tables of even columns of unrelated people; columns of a block are equal for most of them."""
    noise = Noise(insecure_seed=seed)
    codes = [noise.uniform(8, people) for _ in MANY]
    for first, *others in blocks:
        for other in others:
            codes[other] = np.where(noise.uniform(4, people) > 0, codes[first], codes[other])

    def noisy(*kept: int) -> np.ndarray:
        found = np.zeros((8,) * len(kept))
        np.add.at(found, tuple(codes[place] for place in kept), 1 / people)
        drawn = np.reshape(noise.draw(RoundedNormal(10_000), found.size), found.shape)
        return centred(found + deviation / 100 * drawn)

    ones = tuple(noisy(place) + 1 / 8 for place in range(7))
    pairs = {(a, b): (noisy(a, b), deviation**-2) for a in range(7) for b in range(a + 1, 7)}
    return Evidence(MANY, ones, (deviation**-2,) * 7, pairs, people if known else inf)


def test_chance_is_not_taken_for_links_where_noise_is_larger() -> None:
    # The squared residuals of 2,000 unrelated people are about half as long as those of the noise.
    unaware = [judged(unrelated(2000, known=False, deviation=0.004, seed=seed)) for seed in range(1, 9)]
    aware = [judged(unrelated(2000, known=True, deviation=0.004, seed=seed)) for seed in range(1, 9)]
    assert all(found.whole for found in unaware)
    assert sum(found.whole for found in aware) <= 2, "all pairs of unrelated columns stand out in one of forty tables"
    ratios = [one.seen / (one.noise + one.chance) for found in aware for one in found.tables.values()]
    assert abs(np.mean(ratios) - 1) < 0.06
    assert all(0 < one.chance < one.noise for one in aware[0].tables.values())
    exact = judged(unrelated(2000, known=True, deviation=1e-5))
    assert exact.tables[0, 1].chance == exact.tables[0, 1].noise, "what is measured well is fitted, chance or not"
    assert exact.whole or len(exact.groups()) == 1


def test_blocks_of_columns_come_before_one_group_and_a_large_group_does_not() -> None:
    def several(*blocks: Sequence[int]) -> list[Judged]:
        return [
            judged(unrelated(20_000, known=True, deviation=0.004, blocks=blocks, seed=seed)) for seed in range(1, 9)
        ]

    apart, one = several((0, 1, 2), (3, 4)), several((0, 1, 2, 3, 4))
    assert all(found.whole for found in apart), "strong links alone make all pairs stand out together"
    # Of the links one in twenty is false, and may join two blocks.
    assert sum(found.falls_apart for found in apart) >= 5
    assert not any(found.falls_apart for found in one)


def test_a_second_look_at_many_columns_leaves_something_to_single_ones_and_nothing_to_noise() -> None:
    people, pairs = 20_000, [(a, b) for a in range(7) for b in range(a + 1, 7)]

    def looked(deviation: float, blocks: Sequence[Sequence[int]]) -> Look:
        # As much money again as the tables have had, of which single columns had a tenth.
        price = 1 / (deviation * people) ** 2
        prices = Prices(7 * 7 / 8, dict.fromkeys(pairs, 49 / 64), price * (7 * 7 / 8 + 21 * 49 / 64), people)
        return next_look(unrelated(people, known=True, deviation=deviation, blocks=blocks), prices)

    together = looked(0.004, [(0, 1, 2), (3, 4)])
    assert set(together.pairs) == set(pairs) and 10 <= together.ones <= 40
    assert looked(0.02, []) == Look(100, ())
