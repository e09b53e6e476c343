"""A statistical auditor for mechanisms that cannot be enumerated (PDP-AUDIT)."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.clues import Clue, Values, learn
from sfumato.audit.conversations import converse
from sfumato.audit.laws import Run
from sfumato.audit.outcomes import freeze
from sfumato.errors import ParameterError
from sfumato.exact import Infinity, Number, at_least_zero, between_zero_and_one, positive_integer
from sfumato.mechanism import Interaction
from sfumato.noise import Noise
from sfumato.privacy import Bound, Cost, Loss
from sfumato.show.progress import tracked

FEWEST_TRIALS = 100
_THRESHOLDS = 200
_LOOKS = 200

Array = NDArray[np.float64]
Samples = tuple[list[Any], list[Any]]


@dataclass(frozen=True)
class Attack:
    """How often one event happened under two inputs, and what that proves at the stated confidence.

    The event and its direction were fixed before the samples that count it were drawn. `likely` is a lower
    bound on its probability under the input where it is more likely, `unlikely` an upper bound under the
    other; both hold together with probability `confidence` at least.
    """

    event: str
    inputs: tuple[Any, Any]
    hits: tuple[int, int]
    trials: int
    confidence: float
    delta: float
    likely: float
    unlikely: float

    @property
    def epsilon(self) -> float:
        """A lower confidence bound on epsilon at this delta; 0 if nothing was shown."""
        surplus = self.likely - self.delta
        return max(0.0, math.log(surplus / self.unlikely)) if surplus > 0 else 0.0

    def delta_at(self, epsilon: Number) -> float:
        """Return a lower confidence bound on delta at this epsilon."""
        return max(0.0, self.likely - math.exp(float(at_least_zero(epsilon, "epsilon"))) * self.unlikely)

    def refutes(self, claim: Loss | Cost | Bound) -> bool:
        """Tell whether the samples contradict a claimed loss of a person."""
        cost = _cost(claim)
        levels = [Fraction(step, _LOOKS) * Fraction(self._ceiling()) for step in range(_LOOKS)]
        if not isinstance(cost.epsilon, Infinity):
            levels.append(cost.epsilon)
        return any(self.delta_at(level) > cost.delta_at(level) for level in levels)

    def _ceiling(self) -> float:
        """The epsilon at which the event shows no delta any more."""
        return max(0.0, math.log(self.likely / self.unlikely)) if self.likely > 0 else 0.0

    def __str__(self) -> str:
        return (
            f"epsilon >= {self.epsilon:.4g} at delta {self.delta:.3g} with confidence {self.confidence}: "
            f"{self.event}, {self.hits[0]} of {self.trials} times given {self.inputs[0]!r}, "
            f"{self.hits[1]} times given {self.inputs[1]!r}"
        )


def attack(
    mechanism: Run | Interaction,
    exact: Any,
    other: Any,
    trials: int = 100_000,
    *,
    confidence: Number = 0.999,
    delta: Number = 0,
    event: Callable[[Any], bool] | None = None,
    noise: Noise | None = None,
) -> Attack:
    """Try to tell two neighbouring inputs apart from samples; return a lower confidence bound on the loss.

    Half of `trials` samples of each input choose an event and its direction, the other half count it
    (Clopper–Pearson). A given `event` is counted in all samples, in both directions at half the error each.

    >>> def randomized_response(bit, noise):
    ...     return bit if noise.bernoulli("3/4") else 1 - bit
    >>> found = attack(randomized_response, 0, 1, trials=4_000, noise=Noise(insecure_seed=1))
    >>> from sfumato import Pure
    >>> 0.8 < found.epsilon < math.log(3), found.refutes(Pure(0.5)), found.refutes(Pure(1.1))
    (True, True, False)
    """
    count = positive_integer(trials, "trials")
    if count < FEWEST_TRIALS:
        raise ParameterError(f"{count} trials show nothing; write trials={FEWEST_TRIALS} or more.")
    test = _Test((exact, other), between_zero_and_one(confidence, "confidence"), at_least_zero(delta, "delta"))
    run = converse(mechanism) if isinstance(mechanism, Interaction) else mechanism
    samples = _samples(run, (exact, other), count, Noise() if noise is None else noise)
    return test.learnt(samples) if event is None else test.given(event, samples)


def _samples(run: Run, inputs: tuple[Any, Any], count: int, noise: Noise) -> Samples:
    first, second = [], []
    for _ in tracked(range(count), "Drawing samples", count):
        first.append(run(inputs[0], noise))
        second.append(run(inputs[1], noise))
    return first, second


@dataclass(frozen=True)
class _Test:
    """The question that samples are to answer."""

    inputs: tuple[Any, Any]
    confidence: Fraction
    delta: Fraction

    @property
    def error(self) -> float:
        return float(1 - self.confidence)

    def given(self, event: Callable[[Any], bool], samples: Samples) -> Attack:
        """Count an event that was named beforehand, in both directions."""
        hits = [sum(bool(event(value)) for value in world) for world in samples]
        name = f"the event {getattr(event, '__name__', 'given')}"
        # Two directions are looked at, so each may err half as often.
        sides = [self._count(name, hits, len(samples[0]), self.error / 2, backwards) for backwards in (False, True)]
        return max(sides, key=lambda found: (found.epsilon, found.delta_at(0)))

    def learnt(self, samples: Samples) -> Attack:
        """Choose an event on one half of the samples and count it on the other."""
        frozen = [[freeze(value) for value in world] for world in samples]
        half = len(frozen[0]) // 2
        plan = _best_plan(frozen[0][:half], frozen[1][:half], self.error, float(self.delta))
        hits = [int(np.sum(plan.happens(world[half:]))) for world in frozen]
        return self._count(plan.name, hits, len(frozen[0]) - half, self.error, plan.backwards)

    def _count(self, name: str, hits: list[int], trials: int, error: float, backwards: bool) -> Attack:
        order = -1 if backwards else 1
        inputs, (often, rarely) = self.inputs[::order], hits[::order]
        lower, upper = _clopper_pearson(np.array([often, rarely], dtype=np.float64), trials, error / 2)
        return Attack(
            event=name,
            inputs=(inputs[0], inputs[1]),
            hits=(often, rarely),
            trials=trials,
            confidence=float(self.confidence),
            delta=float(self.delta),
            likely=float(lower[0]),
            unlikely=float(upper[1]),
        )


@dataclass(frozen=True)
class _ChosenEvent:
    """An event with its direction, fixed before it is counted."""

    clue: Clue
    sign: int
    threshold: float
    backwards: bool

    @property
    def name(self) -> str:
        return f"{self.clue.name} {'>=' if self.sign > 0 else '<='} {self.sign * self.threshold:.6g}"

    def happens(self, values: Values) -> NDArray[np.bool_]:
        return np.asarray(self.sign * self.clue.score(values) >= self.threshold)


def _best_plan(first: list[Hashable], second: list[Hashable], error: float, leak: float) -> _ChosenEvent:
    """Return the event that looks best on the learning half; luck here only costs power."""
    best, found = -math.inf, None
    for clue in learn(first, second):
        scores = clue.score(first), clue.score(second)
        for sign in (1, -1):
            thresholds = _thresholds(sign * np.concatenate(scores))
            counts = [_at_least(sign * score, thresholds) for score in scores]
            for backwards in (False, True):
                likely, unlikely = (counts[1], counts[0]) if backwards else (counts[0], counts[1])
                shown = _shown(likely, unlikely, len(first), error, leak)
                place = int(np.argmax(shown))
                if shown[place] > best:
                    best, found = float(shown[place]), _ChosenEvent(clue, sign, float(thresholds[place]), backwards)
    assert found is not None
    return found


def _thresholds(scores: Array) -> Array:
    distinct = np.unique(scores)
    if len(distinct) <= _THRESHOLDS:
        return distinct
    return np.unique(np.quantile(scores, np.linspace(0, 1, _THRESHOLDS), method="nearest"))


def _at_least(scores: Array, thresholds: Array) -> Array:
    return np.asarray(len(scores) - np.searchsorted(np.sort(scores), thresholds, side="left"), dtype=np.float64)


def _shown(likely: Array, unlikely: Array, trials: int, error: float, leak: float) -> Array:
    """Return the bound on epsilon that each event would give; below zero it still ranks."""
    lower, _ = _clopper_pearson(likely, trials, error / 2)
    _, upper = _clopper_pearson(unlikely, trials, error / 2)
    return np.asarray(np.log(np.maximum(lower - leak, 1e-300) / upper))


def _clopper_pearson(hits: Array, trials: int, error: float) -> tuple[Array, Array]:
    """Return exact lower and upper bounds on a probability, each wrong with probability at most `error`."""
    from scipy.special import betaincinv

    some, missed = np.maximum(hits, 1), np.minimum(hits, trials - 1)
    lower = np.where(hits > 0, betaincinv(some, trials - some + 1, error), 0.0)
    upper = np.where(hits < trials, betaincinv(missed + 1, trials - missed, 1 - error), 1.0)
    return lower, upper


def _cost(claim: Loss | Cost | Bound) -> Cost:
    if isinstance(claim, Loss):
        return claim.person
    if isinstance(claim, Bound):
        return Cost.of(claim)
    if isinstance(claim, Cost):
        return claim
    raise ParameterError("What is claimed must be a Loss, a Cost or a bound; write for example Pure(1).")
