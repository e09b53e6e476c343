"""What stands out of its noise: links between columns, how much of a table is kept, and fits that end."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.model import Factored
from sfumato.noise import Noise, RoundedNormal
from sfumato.questions.synthesis.evidence import Evidence
from sfumato.questions.synthesis.fit import fitted
from sfumato.questions.synthesis.fit_dense import SMALL, DenseFit
from sfumato.questions.synthesis.kept import not_kept
from sfumato.questions.synthesis.standing import judged
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
