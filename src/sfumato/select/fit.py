"""How much of a mechanism a spend buys, and the refusals that all choices share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from sfumato.errors import CertificationError, ParameterError, UnsupportedSpend
from sfumato.exact import Number, between_zero_and_one, positive_integer
from sfumato.exact.rational import show
from sfumato.exact.search import narrowed
from sfumato.mechanism import Mechanism, Promise
from sfumato.noise.laws.base import LARGEST_SCALE, SMALLEST_SCALE
from sfumato.privacy import ADD_REMOVE, Approximate, Bound, Concentrated, Cost, Pure, Relation, Truncated, require_bound

Settled = TypeVar("Settled", bound=Promise)

DOUBLINGS = 32


@dataclass(frozen=True, kw_only=True)
class RatedChoice(Mechanism):
    """A choice by scores that weighs them by a rate: what the exponential mechanism and permute-and-flip share."""

    rate: Fraction
    sensitivity: int = 1
    monotone: bool = False

    @property
    def epsilon(self) -> Fraction:
        """How far one person moves the log-odds between two candidates, at most."""
        return self.rate * self.sensitivity * (1 if self.monotone else 2)

    def error(self, confidence: Number, candidates: int) -> float:
        """Return how far below the best score the answer may lie at this confidence (QR:C-11, PL:C-EM).

        Permute-and-flip lies nearer than the exponential mechanism, for which the bound is stated.
        """
        return shortfall(self.rate, confidence, candidates)


def positive_spend(spend: object, choice: str) -> Bound:
    """Return the spend, refusing what is no bound and what is zero."""
    bound = require_bound(spend)
    amount = bound.epsilon if isinstance(bound, (Pure, Approximate)) else _rho(bound)
    if amount == 0:
        raise UnsupportedSpend(
            f"select.{choice} looks at the data and cannot cost nothing; write for example Pure(0.1)."
        )
    return bound


def needs_delta(spend: object, choice: str) -> Approximate:
    """Return an Approximate spend of small delta, refusing the others with a sentence that names one that works."""
    bound = positive_spend(spend, choice)
    if not isinstance(bound, Approximate):
        raise UnsupportedSpend(
            f"select.{choice} answers with certainty where the winner is clear, so it needs a delta; write "
            f"Approximate(epsilon, delta), or use select.obvious or select.exponential with {bound!r}."
        )
    if bound.delta * 2 >= 1:
        raise UnsupportedSpend(f"select.{choice} needs a delta below one half; write for example 1e-6.")
    return bound


def score_sensitivity(sensitivity: int, monotone: bool, relation: Relation) -> int:
    """Return how far one person may move a score, refusing monotone scores where they cannot exist."""
    amount = positive_integer(sensitivity, "sensitivity")
    if not isinstance(relation, Relation):
        raise ParameterError("relation must be REPLACE_ONE or ADD_REMOVE.")
    if not isinstance(monotone, bool):
        raise ParameterError("monotone must be True or False.")
    if monotone and relation is not ADD_REMOVE:
        raise ParameterError(
            "Scores are monotone only when people are added or removed: replacing one raises some and lowers others; "
            "write relation=ADD_REMOVE, or leave monotone out."
        )
    return amount


def gap_sensitivity(sensitivity: int, monotone: bool, relation: Relation) -> int:
    """Return how far one person may move the lead of the best on the second best (PL:C-GAP)."""
    amount = score_sensitivity(sensitivity, monotone, relation)
    return amount if monotone else 2 * amount


def settle(mechanism: Settled, spend: Bound) -> Settled:
    """Return the mechanism once its own loss is proved to be within the spend."""
    if not mechanism.loss().within(spend):
        raise CertificationError(
            f"The loss of this {type(mechanism).__name__} could not be proved to be within {spend!r}."
        )
    return mechanism


def shortfall(rate: Fraction, confidence: Number, candidates: int) -> float:
    """Return how far below the best score a choice of this rate lies at most, at this confidence (QR:C-11, PL:C-EM)."""
    failure = 1 - between_zero_and_one(confidence, "confidence")
    size = float(rate)  # of a spend below 1e-320 nothing is left
    return (math.log(positive_integer(candidates, "candidates")) - math.log(failure)) / size if size else math.inf


def pure_epsilon(spend: Bound) -> Fraction:
    """Return the largest epsilon found such that a pure mechanism is within the spend."""
    match spend:
        case Pure():
            return spend.epsilon
        case Concentrated() | Truncated():
            # tau(a)/a falls with the order, so that a truncated bound asks as much as one for all orders.
            return _largest(Cost.pure, Concentrated(_rho(spend)), _root(2 * _rho(spend)))
    return _beyond(Cost.pure, spend)


def range_epsilon(spend: Bound) -> Fraction:
    """Return the largest epsilon found such that an exponential mechanism is within the spend (TCDP:C-EXPM)."""
    match spend:
        case Pure():
            return spend.epsilon
        case Concentrated() | Truncated():
            rho = _rho(spend)
            return max(_root(8 * rho), pure_epsilon(spend) if rho > 4 else Fraction(0))
    return _beyond(Cost.range_bounded, spend)


def drawable(scale: Fraction) -> Fraction:
    """Return the scale of Laplace noise, or the smallest that is drawn: more noise than was asked for.

    A spend that asks for more noise than can be drawn is refused here, before it is paid.
    """
    if scale > LARGEST_SCALE:
        raise UnsupportedSpend(
            f"This spend asks for noise of scale {show(scale, 2)}, beyond what is drawn; spend more."
        )
    return max(scale, SMALLEST_SCALE)


def _rho(bound: Bound) -> Fraction:
    assert isinstance(bound, (Concentrated, Truncated))
    return bound.rho


def _root(square: Fraction) -> Fraction:
    """Return the square root, rounded down to a multiple of 2^-40; exact where it is one."""
    return Fraction(math.isqrt(math.floor(square * (1 << 80))), 1 << 40)


def _beyond(cost: Callable[[Fraction], Cost], spend: Bound) -> Fraction:
    """Return at least the spend's own epsilon, more if its delta buys more by the Rényi curve."""
    assert isinstance(spend, Approximate)
    start = spend.epsilon
    return start if not cost(start * Fraction(65, 64)).within(spend) else _largest(cost, spend, start)


def _largest(cost: Callable[[Fraction], Cost], spend: Bound, start: Fraction) -> Fraction:
    """Return the largest amount found by bisection, from one that fits (or is halved until it does)."""
    low = start
    while not cost(low).within(spend):
        low /= 2
    high = 2 * low
    for _ in range(DOUBLINGS):
        if not cost(high).within(spend):
            break
        low, high = high, 2 * high
    gap = (high - low) / 2**20
    return narrowed(low, high, lambda amount: not cost(amount).within(spend), lambda low, high: high - low <= gap)[0]
