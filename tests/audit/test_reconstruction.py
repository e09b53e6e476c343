"""Reconstruction: little noise gives all away, private answers do not (QR-RECON)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato import Noise, Pure
from sfumato.audit import reconstruct
from sfumato.perturb import calibrate

PEOPLE, QUERIES = 256, 1024


def little(sums: Any, noise: Noise) -> Any:
    """Add noise of at most sqrt(n)/10, without any budget."""
    return sums + (noise.uniform(2**20, len(sums)) / 2**19 - 1) * (PEOPLE**0.5 / 10)


def test_noise_well_below_the_root_of_n_gives_the_column_away() -> None:
    found = reconstruct(little, PEOPLE, QUERIES, trials=3, noise=Noise(insecure_seed=1))
    assert found.recovered >= 0.95 and not found.within(1) and found.largest <= 1.6
    assert found.bound <= found.recovered


def test_laplace_answers_with_total_epsilon_one_do_not() -> None:
    private = calibrate(Pure(1), l1=QUERIES, largest=1)
    found = reconstruct(private, PEOPLE, QUERIES, trials=5, noise=Noise(insecure_seed=2))
    assert found.within(1) and found.recovered < 0.6


def test_noise_for_one_query_on_every_query_is_caught() -> None:
    """The mutant: each answer has epsilon 1 of its own, 1024 in total."""
    found = reconstruct(calibrate(Pure(1), sensitivity=1), PEOPLE, QUERIES, trials=3, noise=Noise(insecure_seed=3))
    assert not found.within(1)


def test_exact_answers_are_certain() -> None:
    found = reconstruct(lambda sums, _: np.asarray(sums), 40, 160, trials=2, noise=Noise(insecure_seed=4))
    assert found.recovered == found.bound == 1.0
