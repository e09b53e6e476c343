"""Small mechanisms of known loss, and broken versions of them, for the auditors' own tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.mechanism import NOTHING, Interaction, Mechanism
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Noise
from sfumato.privacy import Cost, Loss


@dataclass(frozen=True, kw_only=True)
class TruthOrCoin(Mechanism):
    """Randomized response on one bit: the truth with probability `truth`."""

    spec: ClassVar[str] = "TEST"
    truth: Fraction
    claimed: Fraction

    def loss(self) -> Loss:
        return Loss.flat(Cost.pure(self.claimed))

    def run(self, exact: int, noise: Noise) -> int:
        return exact if noise.bernoulli(self.truth) else 1 - exact


@dataclass(frozen=True, kw_only=True)
class Laplace(Mechanism):
    """A count with discrete Laplace noise."""

    spec: ClassVar[str] = "TEST"
    scale: Fraction

    def loss(self) -> Loss:
        return Loss.flat(Cost.pure(1 / self.scale))

    def run(self, exact: int, noise: Noise) -> int:
        return exact + noise.discrete_laplace(self.scale)


@dataclass(frozen=True, kw_only=True)
class Gaussian(Mechanism):
    """A count with discrete Gaussian noise."""

    spec: ClassVar[str] = "TEST"
    variance: Fraction

    def loss(self) -> Loss:
        return Loss.flat(Cost.concentrated(1 / (2 * self.variance)))

    def run(self, exact: int, noise: Noise) -> int:
        return exact + noise.draw(DiscreteGaussian(self.variance))


@dataclass(frozen=True, kw_only=True)
class Exponential(Mechanism):
    """An index by the exponential mechanism; `halved=False` is the version of QR:D1, which costs twice as much."""

    spec: ClassVar[str] = "QR-EM"
    epsilon: Fraction
    halved: bool = True

    def loss(self) -> Loss:
        return Loss.flat(Cost.range_bounded(self.epsilon))

    def run(self, exact: Sequence[int], noise: Noise) -> int:
        return noise.choose(exact, self.epsilon / 2 if self.halved else self.epsilon)


@dataclass(frozen=True, kw_only=True)
class NoisyCounts(Mechanism):
    """Counts by key with noise on each; `sorted_first` lists them in the order of the *true* counts."""

    spec: ClassVar[str] = "TEST"
    scale: Fraction
    sorted_first: bool = False

    def loss(self) -> Loss:
        return Loss.flat(Cost.pure(1 / self.scale))

    def run(self, exact: Mapping[str, int], noise: Noise) -> dict[str, int]:
        keys = sorted(exact, key=exact.__getitem__) if self.sorted_first else list(exact)
        return {key: exact[key] + noise.discrete_laplace(self.scale) for key in keys}


@dataclass(frozen=True, kw_only=True)
class OneColumn(Mechanism):
    """Randomized response on `age`; `peeks` lets the undeclared `sex` change the coin."""

    spec: ClassVar[str] = "TEST"
    reads: frozenset[str] = frozenset({"age"})
    peeks: bool = False

    def loss(self) -> Loss:
        return Loss.flat(Cost.pure("1.1"), reads=self.reads)

    def run(self, exact: Mapping[str, int], noise: Noise) -> int:
        truth = Fraction(7, 10) if self.peeks and exact["sex"] else Fraction(3, 4)
        return exact["age"] if noise.bernoulli(truth) else 1 - exact["age"]


@dataclass(frozen=True, kw_only=True)
class FirstAbove(Interaction):
    """Sparse vector with one positive: says for each query whether it is above a noisy threshold, until one is."""

    spec: ClassVar[str] = "TEST"
    epsilon: Fraction
    threshold: int = 0
    noisy_threshold: bool = True

    def loss(self) -> Loss:
        return Loss.flat(Cost.pure(self.epsilon))

    def start(self, noise: Noise) -> dict[str, Any]:
        shift = noise.draw(DiscreteLaplace(2 / self.epsilon)) if self.noisy_threshold else 0
        return {"threshold": self.threshold + shift, "open": True}

    def step(self, state: dict[str, Any], exact: int, noise: Noise) -> tuple[dict[str, Any], Any, bool]:
        if not state["open"]:
            return state, NOTHING, False
        above = exact + noise.draw(DiscreteLaplace(4 / self.epsilon)) >= state["threshold"]
        return {**state, "open": not above}, bool(above), bool(above)
