"""Mechanisms on a secret sample of the people."""

from __future__ import annotations

from dataclasses import replace

from sfumato.noise import DiscreteLaplace, RoundedNormal
from sfumato.perturb import AdditiveNoise
from sfumato.perturb.subsampled import Subsampled
from tests.promises.case import PromiseCase

count = AdditiveNoise(law=DiscreteLaplace(1), sensitivity=1)
one_of_three = Subsampled(mechanism=count, population=3, sample=1)
two_of_three = Subsampled(mechanism=count, population=3, sample=2)
half = AdditiveNoise(law=DiscreteLaplace("1/2"), sensitivity=1)
noisy = AdditiveNoise(law=RoundedNormal(2), sensitivity=1)
noisy_one_of_three = Subsampled(mechanism=noisy, population=3, sample=1)

CASES = [
    PromiseCase(
        name="subsampled-count-one-of-three",
        spec_ids=("TCDP-SUB", "TCDP:C-SUBDP"),
        mechanism=one_of_three,
        pairs=[([0, 0, 0], [1, 0, 0]), ([1, 1, 0], [1, 0, 0]), ([1, 1, 1], [1, 1, 0])],
        mutants={
            "two people sampled": replace(one_of_three, sample=2),
            "half the noise": replace(one_of_three, mechanism=half),
        },
    ),
    PromiseCase(
        name="subsampled-count-two-of-three",
        spec_ids=("TCDP-SUB", "TCDP:C-SUBDP"),
        mechanism=two_of_three,
        pairs=[([0, 0, 0], [1, 0, 0]), ([1, 1, 1], [1, 1, 0])],
        mutants={"everybody sampled": replace(two_of_three, sample=3)},
    ),
    PromiseCase(
        name="subsampled-gaussian-one-of-three",
        spec_ids=("AC-SAMPLE",),
        mechanism=noisy_one_of_three,
        pairs=[([0, 0, 0], [1, 0, 0]), ([1, 1, 0], [1, 0, 0]), ([1, 1, 1], [1, 1, 0])],
        mutants={
            "two people sampled": replace(noisy_one_of_three, sample=2),
            "half the variance": replace(noisy_one_of_three, mechanism=replace(noisy, law=RoundedNormal(1))),
        },
    ),
]
