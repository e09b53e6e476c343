"""Mutants that are made, not written: the code that ships, with noise that is 5 % smaller than it asks for.

Every draw of a law is scaled down, and every choice is steeper by as much. Coins of a given chance are left alone: of
them nobody but the mechanism knows which side is the noise, so mechanisms that toss nothing else have mutants of their
own in their cases.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.mechanism import Interaction, Mechanism, Promise
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Law, Noise, SinhNormal
from sfumato.noise.laws.binomial import Binomial
from sfumato.noise.laws.derived import Between, Maximum
from sfumato.noise.laws.laplace import Geometric
from sfumato.noise.laws.normal import PrivateNormal, RoundedNormal
from sfumato.privacy import Loss

PART = Fraction(95, 100)


def scaled(law: Law) -> Law:
    """Return the law of noise that is 5 % smaller."""
    match law:
        case DiscreteLaplace():
            return DiscreteLaplace(law.scale * PART)
        case DiscreteGaussian():
            return DiscreteGaussian(law.variance * PART**2)
        case SinhNormal():
            return SinhNormal(law.variance * PART**2, law.bend * PART)
        case Geometric():
            return Geometric(law.scale * PART)
        case RoundedNormal():
            return RoundedNormal(law.variance * PART**2)
        case PrivateNormal():
            return PrivateNormal(law.variance * PART**2)
        case Between():
            return Between(scaled(law.law), law.least, law.most)
        case Maximum():
            return Maximum(scaled(law.law), law.count)
        case Binomial():
            return law  # how many of many draws lie beyond a point: it has no size of its own
    raise TypeError(f"Say what a {type(law).__name__} is that is 5 % smaller.")


class SmallerNoise(Noise):
    """Hands on what is asked for, 5 % smaller, and remembers in `seen` whether there was anything to change."""

    def __init__(self, noise: Noise, seen: set[str]) -> None:
        self._noise = noise
        self._seen = seen

    def draw(self, law: Law, size: int | None = None) -> Any:
        self._seen.add("draw")
        return self._noise.draw(scaled(law), size)

    def choose(self, scores: Any, rate: Any, lengths: Any = None) -> int:
        self._seen.add("choose")
        return self._noise.choose(scores, Fraction(rate) / PART, lengths)

    def bernoulli_exp(self, exponent: Any) -> bool:
        self._seen.add("bernoulli_exp")
        return self._noise.bernoulli_exp(Fraction(exponent) / PART)

    def uniform(self, bound: int, size: int | None = None) -> Any:
        return self._noise.uniform(bound, size)

    def bernoulli(self, probability: Any) -> bool:
        return self._noise.bernoulli(probability)

    def permutation(self, n: int) -> list[int]:
        return self._noise.permutation(n)

    def subset(self, population: int, size: int) -> list[int]:
        return self._noise.subset(population, size)


@dataclass(frozen=True, kw_only=True)
class SmallerMechanism(Mechanism):
    """A mechanism with too little noise, which claims what the shipped one does."""

    spec: ClassVar[str] = "SM-REPLAY"

    shipped: Mechanism
    seen: set[str] = field(default_factory=set)

    def loss(self) -> Loss:
        return self.shipped.loss()

    def run(self, exact: Any, noise: Noise) -> Any:
        return self.shipped.run(exact, SmallerNoise(noise, self.seen))


@dataclass(frozen=True, kw_only=True)
class SmallerInteraction(Interaction):
    """A conversation with too little noise, which claims what the shipped one does."""

    spec: ClassVar[str] = "SM-REPLAY"

    shipped: Interaction
    seen: set[str] = field(default_factory=set)

    def loss(self) -> Loss:
        return self.shipped.loss()

    def start(self, noise: Noise) -> dict[str, Any]:
        return self.shipped.start(SmallerNoise(noise, self.seen))

    def step(self, state: dict[str, Any], exact: Any, noise: Noise) -> tuple[dict[str, Any], Any, bool]:
        return self.shipped.step(state, exact, SmallerNoise(noise, self.seen))


def smaller(shipped: Promise) -> SmallerMechanism | SmallerInteraction:
    """Return the mutant of a mechanism or of an interaction."""
    if isinstance(shipped, Interaction):
        return SmallerInteraction(shipped=shipped)
    assert isinstance(shipped, Mechanism)
    return SmallerMechanism(shipped=shipped)
