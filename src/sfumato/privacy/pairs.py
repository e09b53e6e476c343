"""Dominating pairs: the two laws that are the worst case of a release, known exactly (AC-PLAN).

A release is *dominated* by a pair of laws if for every real e its H_e = sup(P - e^e Q)_+, in the given direction, is at
most that of the pair. Domination survives composition, so whoever fixes a list of releases before the data are touched
may account for the list by its pairs. A running ledger may not: an exact accountant is no filter.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from sfumato.errors import ParameterError
from sfumato.exact import rational_ball
from sfumato.exact.enclosure import Ball
from sfumato.privacy.relations import ADD_REMOVE, REPLACE_ONE, Relation

Tails = Callable[[Ball], tuple[Ball, Ball]]
"""From e^l, the ratio at a loss l, to the masses of the first and of the second law beyond that loss."""


class Pair(ABC):
    """Two laws, described by the law of their log-ratio under the first."""

    @abstractmethod
    def for_group(self, people: int) -> Pair | None:
        """Return the pair for people who change together, None if none is proved."""

    @abstractmethod
    def variance(self) -> float:
        """Return about the variance of the loss; only to choose a grid."""


def normal_above(z: Ball) -> Ball:
    """Enclose the mass of a standard normal law above z."""
    return (z / rational_ball(2).sqrt()).erfc() / 2


@dataclass(frozen=True)
class TwoPoint(Pair):
    """Randomized response: the worst case of every mechanism that is epsilon-private, whatever it is."""

    epsilon: Fraction

    def for_group(self, people: int) -> Pair:
        """Epsilons add over people."""
        return TwoPoint(people * self.epsilon)

    def variance(self) -> float:
        """Return e² sech²(e/2)."""
        half = float(self.epsilon) / 2
        return (2 * half / math.cosh(half)) ** 2 if half < 300 else 0.0

    def first_mass(self) -> Ball:
        """Enclose the first law's mass on the loss +epsilon; on -epsilon the second law has it."""
        return 1 / (1 + rational_ball(-self.epsilon).exp())


@dataclass(frozen=True)
class Leak(Pair):
    """With this probability everything is revealed, else nothing."""

    delta: Fraction

    def for_group(self, people: int) -> None:
        """Return None: a leak's growth depends on what it leaks with."""

    def variance(self) -> float:
        """Return 0: what is finite is 0."""
        return 0.0


@dataclass(frozen=True)
class Spread(Pair):
    """A pair with a density: Gaussian noise whose squared distance over variance is `m`, seen at a public rate."""

    m: Fraction
    rate: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if self.m <= 0 or not 0 < self.rate <= 1:
            raise ParameterError("A pair needs a positive squared distance and a rate above 0 and at most 1.")

    @property
    def mu(self) -> float:
        """The distance in standard deviations, approximately."""
        return math.sqrt(self.m)

    @abstractmethod
    def above(self) -> Tails:
        """Return the masses above a loss of at least 0, at the precision in force."""

    @abstractmethod
    def largest(self, deviations: float) -> float:
        """Return about the loss where a standard normal law is so many deviations out."""


@dataclass(frozen=True)
class GaussPair(Spread):
    """N(mu, 1) and N(0, 1), mu² = m: a release with rounded Gaussian noise of public variance."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rate != 1:
            raise ParameterError("A Gaussian pair has no rate; write SampledGauss or Revealed.")

    def for_group(self, people: int) -> Pair:
        """Distances add over people."""
        return GaussPair(people**2 * self.m)

    def variance(self) -> float:
        """Return m."""
        return float(self.m)

    def above(self) -> Tails:
        """Return the masses of normal laws."""
        half, mu = rational_ball(self.m) / 2, rational_ball(self.m).sqrt()

        def tails(ratio: Ball) -> tuple[Ball, Ball]:
            loss = ratio.log()
            return normal_above((loss - half) / mu), normal_above((loss + half) / mu)

        return tails

    def largest(self, deviations: float) -> float:
        """Return m/2 + mu·z."""
        return float(self.m) / 2 + self.mu * deviations


@dataclass(frozen=True)
class Revealed(Spread):
    """A sampled Gaussian release of which it is told whether the person was drawn (AC-SAMPLE).

    The pair for a set of attributes: in and out of the sample differ by a whole record, whose distance is not that of
    the attributes, so nothing more than this is gained from the sample.
    """

    def for_group(self, people: int) -> Pair:
        """Forget the sample: two people are drawn or not in several ways."""
        return GaussPair(people**2 * self.m)

    def variance(self) -> float:
        """Return the variance of a loss that is 0 most of the time."""
        q, m = float(self.rate), float(self.m)
        return q * m + q * (1 - q) * m**2 / 4

    def above(self) -> Tails:
        """Return the Gaussian masses times the rate."""
        inner, rate = GaussPair(self.m).above(), rational_ball(self.rate)

        def tails(ratio: Ball) -> tuple[Ball, Ball]:
            first, second = inner(ratio)
            return rate * first, rate * second

        return tails

    def largest(self, deviations: float) -> float:
        """Return that of the Gaussian."""
        return GaussPair(self.m).largest(deviations)


@dataclass(frozen=True)
class SampledGauss(Spread):
    """A Gaussian release on a fresh, secret sample of the people, for a whole person (AC-SAMPLE).

    Under add-remove neighbours: (1-q) N(0, 1) + q N(mu, 1) against N(0, 1) for Poisson samples, two directions. Under
    replace-one neighbours: the pair with the profile H*(e) = q delta_mu(log(1 + (e^e - 1)/q)) for e >= 0, the same in
    both, for samples of a public size and for Poisson samples. Never for a smaller set of attributes: see `Revealed`.
    """

    relation: Relation = REPLACE_ONE

    @property
    def one_sided(self) -> bool:
        """Whether the two directions differ."""
        return self.relation is ADD_REMOVE

    def for_group(self, people: int) -> Pair:
        """Forget the sample: two people are drawn or not in several ways."""
        return GaussPair(people**2 * self.m)

    def variance(self) -> float:
        """Return the variance of the loss of the first law, by a sum over 400 points."""
        q, mu, points = float(self.rate), self.mu, 400
        weights, losses = [], []
        for place in range(points + 1):
            x = -9 + (18 + mu) * place / points
            weights.append((1 - q) * math.exp(-(x**2) / 2) + q * math.exp(-((x - mu) ** 2) / 2))
            losses.append(math.log(1 - q + q * math.exp(min(mu * x - mu**2 / 2, 700.0))))
        if not self.one_sided:
            losses = [max(loss, 0.0) for loss in losses]
        total = sum(weights)
        mean = sum(w * loss for w, loss in zip(weights, losses, strict=True)) / total
        found = sum(w * (loss - mean) ** 2 for w, loss in zip(weights, losses, strict=True)) / total
        return found if self.one_sided else 2 * found

    def above(self) -> Tails:
        """Return the masses where the mixture is at least e^l times the narrow law: there both pairs agree."""
        point, rate = self._point(), rational_ball(self.rate)
        mu = rational_ball(self.m).sqrt()

        def tails(ratio: Ball) -> tuple[Ball, Ball]:
            x = point(ratio)
            second = normal_above(x)
            return (1 - rate) * second + rate * normal_above(x - mu), second

        return tails

    def below(self) -> Tails:
        """Return the masses under a negative loss above log(1 - q), for add-remove neighbours."""
        point, rate = self._point(), rational_ball(self.rate)
        mu = rational_ball(self.m).sqrt()

        def tails(ratio: Ball) -> tuple[Ball, Ball]:
            x = point(ratio)
            second = normal_above(-x)
            return (1 - rate) * second + rate * normal_above(mu - x), second

        return tails

    def _point(self) -> Callable[[Ball], Ball]:
        """Return where the ratio of the two laws has a given value."""
        rate, half, mu = rational_ball(self.rate), rational_ball(self.m) / 2, rational_ball(self.m).sqrt()
        return lambda ratio: (((ratio - 1 + rate) / rate).log() + half) / mu

    def largest(self, deviations: float) -> float:
        """Return log(1 - q + q e^b) for the loss b of the Gaussian."""
        q, b = float(self.rate), GaussPair(self.m).largest(deviations)
        return b + math.log(q + (1 - q) * math.exp(-b))
