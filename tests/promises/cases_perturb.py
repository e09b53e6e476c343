"""Promises of additive noise: Laplace, Gaussian and sinh-normal, scalars and vectors, people and attributes.

The mutants that are not a change of a parameter are small mechanisms below: each is a mistake that real systems
have made. All of them are run against the claim of the unchanged mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sfumato import ADD_REMOVE, REPLACE_ONE, Approximate, Concentrated, Loss, Mechanism, Noise, Pure, Truncated
from sfumato.audit import Neighbours
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, RoundedNormal, SinhNormal
from sfumato.perturb import AdditiveNoise, calibrate, sensitivity
from tests.promises.case import PromiseCase


@dataclass(frozen=True, kw_only=True)
class Prepared(Mechanism):
    """A mechanism behind a step that turns what a program holds into exact integers, or spoils the noise."""

    spec: ClassVar[str] = "TCDP-SAMPLER"

    base: AdditiveNoise
    before: Callable[[Any], Any] = lambda exact: exact
    after: Callable[[Any], Any] = lambda value: value

    def loss(self) -> Loss:
        return self.base.loss()

    def run(self, exact: Any, noise: Noise) -> Any:
        return self.after(self.base.run(self.before(exact), noise))


@dataclass(frozen=True, kw_only=True)
class SharedDraw(AdditiveNoise):
    """One draw for all coordinates: their differences are released exactly."""

    def run(self, exact: Any, noise: Noise) -> Any:
        return exact + noise.draw(self.law)


@dataclass(frozen=True, kw_only=True)
class CutTails(AdditiveNoise):
    """Noise that is clipped: outcomes beyond the cut tell the inputs apart for certain."""

    cut: int = 4

    def run(self, exact: Any, noise: Noise) -> Any:
        return exact + max(-self.cut, min(self.cut, noise.draw(self.law)))


@dataclass(frozen=True, kw_only=True)
class CoarseNearTheTruth(AdditiveNoise):
    """Rounded to even numbers after it was clamped to where the truth lies: the clamp is no post-processing."""

    cut: int = 2

    def run(self, exact: Any, noise: Noise) -> Any:
        near = max(exact - self.cut, min(exact + self.cut, exact + noise.draw(self.law)))
        return near - near % 2


@dataclass(frozen=True, kw_only=True)
class FirstOnly(AdditiveNoise):
    """Noise on the first coordinate only."""

    def run(self, exact: Any, noise: Noise) -> Any:
        return [int(exact[0]) + noise.draw(self.law), *exact[1:].tolist()]


@dataclass(frozen=True, kw_only=True)
class Unrounded(Mechanism):
    """Rounded noise added to a number that is not whole: what is behind the point is released as it is."""

    spec: ClassVar[str] = "AC-GAUSS"

    base: AdditiveNoise

    def loss(self) -> Loss:
        return self.base.loss()

    def run(self, exact: Any, noise: Noise) -> Any:
        return exact + noise.draw(self.base.law)


def vector(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


def clamped(record: int) -> int:
    return max(0, min(2, record))


def round_half_up(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2))


COUNT = calibrate(Pure(0.5), sensitivity=1)
REMOVED = calibrate(Pure(0.5), sensitivity=1, relation=ADD_REMOVE)
WIDE = calibrate(Pure(1), sensitivity=3)
HISTOGRAM = calibrate(Pure(2), largest=1, changed=2, relation=REPLACE_ONE)
ADDED = calibrate(Pure(1), largest=1, changed=1, relation=ADD_REMOVE)
QUANTISED = Prepared(base=COUNT, before=round_half_up)
CLAMPED = Prepared(base=calibrate(Pure(1), sensitivity=2), before=lambda records: sum(map(clamped, records)))

GAUSSIAN = calibrate(Concentrated(0.125), sensitivity=1, gaussians="discrete")
GAUSSIAN_WIDE = calibrate(Concentrated(0.5), sensitivity=3, gaussians="discrete")
GAUSSIAN_PAIR = calibrate(Concentrated(0.5), largest=1, changed=2, gaussians="discrete")

ROUNDED = calibrate(Concentrated(0.125), sensitivity=1)
ROUNDED_NARROW = calibrate(Concentrated(2), sensitivity=1, gaussians="rounded")
ROUNDED_WIDE = calibrate(Concentrated(0.5), sensitivity=3)
ROUNDED_PAIR = calibrate(Concentrated(0.5), largest=1, changed=2, gaussians="rounded")
ROUNDED_APPROXIMATE = calibrate(Approximate(1, "0.01"), largest=1, changed=8)
ROUNDED_QUANTISED = Prepared(base=ROUNDED, before=round_half_up)

SINH = AdditiveNoise(law=SinhNormal(Fraction(9, 2), 6), sensitivity=1)
SINH_GENTLE = AdditiveNoise(law=SinhNormal(18, 40), sensitivity=3)
SINH_WIDE = AdditiveNoise(law=SinhNormal(20, 12), sensitivity=3)
SINH_PAIR = AdditiveNoise(law=SinhNormal(2, 4), sensitivity=sensitivity(largest=1, changed=2))
SINH_CALIBRATED = calibrate(Truncated(0.5, 2), sensitivity=1, draws=2**64)

TWO_COLUMNS = {"smoker": 1, "children": 2}
COLUMNS_LAPLACE = calibrate(Pure(1).per_attribute(), l1=3, l2_squared=5, largest=2, by_attribute=TWO_COLUMNS)
COLUMNS_GAUSSIAN = calibrate(Concentrated(0.5).per_attribute(), l1=3, l2_squared=5, by_attribute=TWO_COLUMNS)
COLUMN_PAIRS = [
    Neighbours(vector(0, 0), vector(1, 0), frozenset({"smoker"})),
    Neighbours(vector(0, 0), vector(0, 2), frozenset({"children"})),
    Neighbours(vector(0, 0), vector(1, 2), frozenset({"smoker", "children"})),
    Neighbours(vector(0, 0), vector(1, -2)),
]


def weights_exchanged(exact: Any) -> Any:
    """Let the first column count twice and the second once: the person's loss stays, the first column's doubles."""
    return vector(2 * exact[0], exact[1] // 2)


CASES = [
    PromiseCase(
        name="laplace-count",
        spec_ids=("QR-LAP", "PDP:C-14"),
        mechanism=COUNT,
        pairs=[(5, 6)],
        mutants={
            "half the scale": replace(COUNT, law=DiscreteLaplace(COUNT.law.scale / 2)),
            "half a per cent less": replace(COUNT, law=DiscreteLaplace(COUNT.law.scale * Fraction(995, 1000))),
            "tails cut": CutTails(law=COUNT.law, sensitivity=1),
            "Gaussian noise of the same spread": replace(COUNT, law=DiscreteGaussian(8)),
        },
    ),
    PromiseCase(
        name="laplace-count-add-remove",
        spec_ids=("QR-LAP",),
        mechanism=REMOVED,
        pairs=[(0, 1), (7, 8)],
        mutants={"half the scale": replace(REMOVED, law=DiscreteLaplace(1))},
    ),
    PromiseCase(
        name="laplace-sensitivity-3",
        spec_ids=("QR-LAP",),
        mechanism=WIDE,
        pairs=[(0, 1), (0, 2), (0, 3)],
        mutants={"sensitivity halved": calibrate(Pure(1), sensitivity="3/2")},
    ),
    PromiseCase(
        name="laplace-histogram-replace-one",
        spec_ids=("QR-LAP",),
        mechanism=HISTOGRAM,
        pairs=[(vector(3, 2), vector(2, 3))],
        tail=1e-7,
        mutants={
            "one changed cell only": replace(HISTOGRAM, law=calibrate(Pure(2), sensitivity=1).law),
            "one draw for both": SharedDraw(law=HISTOGRAM.law, sensitivity=HISTOGRAM.sensitivity),
            "no noise on the second": FirstOnly(law=HISTOGRAM.law, sensitivity=HISTOGRAM.sensitivity),
        },
    ),
    PromiseCase(
        name="laplace-histogram-add-remove",
        spec_ids=("QR-LAP",),
        mechanism=ADDED,
        pairs=[(vector(3, 2), vector(3, 3)), (vector(3, 2), vector(4, 2))],
        tail=1e-7,
        mutants={"half the scale": replace(ADDED, law=DiscreteLaplace(Fraction(1, 2)))},
    ),
    PromiseCase(
        name="quantised-by-floor-of-x-plus-half",
        spec_ids=("TCDP-SAMPLER",),
        mechanism=QUANTISED,
        pairs=[(Fraction(5, 2), Fraction(7, 2)), (Fraction(9, 4), Fraction(13, 4)), (Fraction(1, 2), Fraction(3, 2))],
        mutants={"round half to even": replace(QUANTISED, before=round)},
    ),
    PromiseCase(
        name="clamp-each-record-then-sum",
        spec_ids=("QR-LAP",),
        mechanism=CLAMPED,
        pairs=[((0, 1), (100, 1)), ((2, 2), (-5, 2))],
        mutants={
            "noise first, clamp after": replace(CLAMPED, before=sum, after=lambda value: max(0, min(4, value))),
        },
    ),
    PromiseCase(
        name="gaussian-count",
        spec_ids=("PDP:C-13",),
        mechanism=GAUSSIAN,
        pairs=[(5, 6)],
        tail=1e-12,
        mutants={
            "half the variance": replace(GAUSSIAN, law=DiscreteGaussian(GAUSSIAN.law.variance / 2)),
            "one per cent less": replace(GAUSSIAN, law=DiscreteGaussian(GAUSSIAN.law.variance * Fraction(99, 100))),
            "tails cut": CutTails(law=GAUSSIAN.law, sensitivity=1),
            "Laplace noise of the same spread": replace(GAUSSIAN, law=DiscreteLaplace("1.4")),
        },
    ),
    PromiseCase(
        name="gaussian-sensitivity-3",
        spec_ids=("PDP:C-13",),
        mechanism=GAUSSIAN_WIDE,
        pairs=[(0, 1), (0, 2), (0, 3)],
        tail=1e-12,
        mutants={"sensitivity halved": calibrate(Concentrated(0.5), sensitivity="3/2")},
    ),
    PromiseCase(
        name="gaussian-histogram-replace-one",
        spec_ids=("PDP:C-13",),
        mechanism=GAUSSIAN_PAIR,
        pairs=[(vector(3, 2), vector(2, 3))],
        mutants={
            "one changed cell only": replace(GAUSSIAN_PAIR, law=calibrate(Concentrated(0.5), sensitivity=1).law),
            "one draw for both": SharedDraw(law=GAUSSIAN_PAIR.law, sensitivity=GAUSSIAN_PAIR.sensitivity),
        },
    ),
    PromiseCase(
        name="rounded-gaussian-count",
        spec_ids=("AC-GAUSS",),
        mechanism=ROUNDED,
        pairs=[(5, 6)],
        tail=1e-12,
        mutants={
            "one per cent less": replace(ROUNDED, law=RoundedNormal(ROUNDED.law.variance * Fraction(99, 100))),
            "discrete noise of the same parameter": replace(ROUNDED, law=DiscreteGaussian(ROUNDED.law.variance)),
            "tails cut": CutTails(law=ROUNDED.law, sensitivity=1),
            "coarser after a clamp by data": CoarseNearTheTruth(law=ROUNDED.law, sensitivity=1),
        },
    ),
    PromiseCase(
        name="rounded-gaussian-narrow",
        spec_ids=("AC-GAUSS",),
        mechanism=ROUNDED_NARROW,
        pairs=[(5, 6)],
        tail=1e-15,
        mutants={
            "discrete noise of the same parameter": replace(ROUNDED_NARROW, law=DiscreteGaussian(Fraction(1, 4))),
            "five per cent less": replace(ROUNDED_NARROW, law=RoundedNormal(Fraction(95, 400))),
        },
    ),
    PromiseCase(
        name="rounded-gaussian-sensitivity-3",
        spec_ids=("AC-GAUSS",),
        mechanism=ROUNDED_WIDE,
        pairs=[(0, 1), (0, 2), (0, 3)],
        tail=1e-12,
        mutants={"sensitivity halved": calibrate(Concentrated(0.5), sensitivity="3/2", gaussians="rounded")},
    ),
    PromiseCase(
        name="rounded-gaussian-histogram",
        spec_ids=("AC-GAUSS",),
        mechanism=ROUNDED_PAIR,
        pairs=[(vector(3, 2), vector(2, 3))],
        mutants={
            "one changed cell only": replace(ROUNDED_PAIR, law=RoundedNormal(1)),
            "one draw for both": SharedDraw(law=ROUNDED_PAIR.law, sensitivity=ROUNDED_PAIR.sensitivity),
        },
    ),
    PromiseCase(
        name="rounded-gaussian-for-an-approximate-spend",
        spec_ids=("AC-GAUSS",),
        mechanism=replace(ROUNDED_APPROXIMATE, sensitivity=sensitivity(largest=1, changed=1)),
        pairs=[(5, 6)],
        tail=1e-12,
        mutants={
            "one per cent less": replace(
                ROUNDED_APPROXIMATE, law=RoundedNormal(ROUNDED_APPROXIMATE.law.variance * Fraction(99, 100))
            ),
        },
    ),
    PromiseCase(
        name="rounded-gaussian-on-integers-only",
        spec_ids=("AC-GAUSS",),
        mechanism=ROUNDED_QUANTISED,
        pairs=[(Fraction(5, 2), Fraction(7, 2)), (Fraction(9, 4), Fraction(3))],
        tail=1e-12,
        # A draw is rounded, so what it is added to must be whole: the parts of a number are never hidden.
        mutants={"noise added to parts of a number": Unrounded(base=ROUNDED)},
    ),
    PromiseCase(
        name="sinh-count",
        spec_ids=("TCDP-SINH", "TCDP-SAMPLER"),
        mechanism=SINH,
        pairs=[(5, 6)],
        tail=1e-15,
        mutants={
            "sigma halved": replace(SINH, law=SinhNormal(Fraction(9, 8), 6)),
            "bend halved": replace(SINH, law=SinhNormal(Fraction(9, 2), 3)),
            "tails cut": CutTails(law=SINH.law, sensitivity=1),
        },
    ),
    PromiseCase(
        name="sinh-gentle-bend",
        spec_ids=("TCDP-SINH",),
        mechanism=SINH_GENTLE,
        pairs=[(0, 3)],
        tail=1e-15,
        mutants={"a tenth less": replace(SINH_GENTLE, law=SinhNormal(Fraction(162, 10), 40))},
    ),
    PromiseCase(
        name="sinh-sensitivity-3",
        spec_ids=("TCDP-SINH", "TCDP-SAMPLER"),
        mechanism=SINH_WIDE,
        pairs=[(0, 1), (0, 2), (0, 3)],
        tail=1e-15,
        mutants={
            "sigma halved": replace(SINH_WIDE, law=SinhNormal(5, 12)),
            "bend halved": replace(SINH_WIDE, law=SinhNormal(20, 6)),
        },
    ),
    PromiseCase(
        name="sinh-histogram-replace-one",
        spec_ids=("TCDP-SINH",),
        mechanism=SINH_PAIR,
        pairs=[(vector(3, 2), vector(2, 3))],
        tail=1e-12,
        mutants={"sigma halved": replace(SINH_PAIR, law=SinhNormal(Fraction(1, 2), 4))},
    ),
    PromiseCase(
        name="sinh-calibrated",
        spec_ids=("TCDP-SINH",),
        mechanism=SINH_CALIBRATED,
        pairs=[(0, 1)],
        tail=1e-15,
        mutants={
            "sigma halved": replace(
                SINH_CALIBRATED, law=SinhNormal(SINH_CALIBRATED.law.variance / 4, SINH_CALIBRATED.law.bend)
            ),
        },
    ),
    PromiseCase(
        name="attributes-laplace",
        spec_ids=("PDP:C-14", "PDP:C-9"),
        mechanism=COLUMNS_LAPLACE,
        pairs=COLUMN_PAIRS,
        tail=1e-7,
        mutants={
            "half the scale": replace(COLUMNS_LAPLACE, law=DiscreteLaplace(1)),
            "the weights exchanged": Prepared(base=COLUMNS_LAPLACE, before=weights_exchanged),
        },
    ),
    PromiseCase(
        name="attributes-gaussian",
        spec_ids=("PDP:C-13", "PDP:C-9"),
        mechanism=COLUMNS_GAUSSIAN,
        pairs=COLUMN_PAIRS,
        mutants={
            "half the variance": replace(COLUMNS_GAUSSIAN, law=DiscreteGaussian(2)),
            "the weights exchanged": Prepared(base=COLUMNS_GAUSSIAN, before=weights_exchanged),
        },
    ),
]
