"""Which noise for which bound, and how much of it: exact rationals, rounded to more noise, never to less."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from sfumato.errors import CertificationError, UnsupportedSpend
from sfumato.exact import INFINITY, Number, float_log, to_text
from sfumato.privacy.bounds import Approximate, Bound, Concentrated, Pure, Truncated, require_bound
from sfumato.privacy.conversion import best_order, float_price
from sfumato.privacy.cost import Cost
from sfumato.privacy.forms import SinhNormalCurve
from sfumato.privacy.gaussian import gaussian_m, short_down
from sfumato.privacy.sensitivity import Sensitivity, sensitivity
from sfumato.privacy.sinh import SinhParameters, level, log_failure, predicted_deviation, sinh_normal

__all__ = [
    "GaussianParameters",
    "Gaussians",
    "LaplaceParameters",
    "Parameters",
    "RoundedParameters",
    "Sensitivity",
    "SinhParameters",
    "candidates",
    "choose",
    "concentrated_within",
    "gaussian_cost",
    "gaussian_variance",
    "laplace_cost",
    "laplace_scale",
    "rounded_cost",
    "rounded_variance",
    "sensitivity",
    "sinh_cost",
    "sinh_normal",
]

RHO_DIGITS = 9
ATTEMPTS = 8
WORTHWHILE = 0.99
"""Sinh-normal noise must bring the error below this part of what simpler noise reaches."""
WIDE = 4
"""From this variance on rounding adds at most 2.1 % to it, which its Gaussian charge is worth."""

Gaussians = Literal["wide", "rounded", "discrete"]
"""Which Gaussian noise is drawn; a public fact of a ledger, fixed when it is made.

A rounded Gaussian costs exactly what a Gaussian costs; a discrete one is a little narrower where both are narrow.
"wide" rounds from a variance of 4 on; "rounded" rounds always, where a limit measures Gaussians; "discrete" is what
ledgers of earlier versions drew, always by rho. Approximate spends take the better one, except under "discrete".
"""


@dataclass(frozen=True)
class LaplaceParameters:
    """Discrete Laplace noise: probability proportional to exp(-|j|/scale)."""

    scale: Fraction

    def deviation(self, draws: int = 1, failure: Number = 0.05) -> float:
        """Return about how far the largest of `draws` draws strays except with probability `failure`."""
        return -float(self.scale) * log_failure(draws, failure)

    def to_json(self) -> dict[str, Any]:
        """Return the scale as text."""
        return {"scale": to_text(self.scale)}


@dataclass(frozen=True)
class _NormalParameters:
    """What noise from a normal number of some variance has in common, however it becomes an integer."""

    variance: Fraction

    @property
    @abstractmethod
    def _spread(self) -> float: ...

    def deviation(self, draws: int = 1, failure: Number = 0.05) -> float:
        """Return about how far the largest of `draws` draws strays except with probability `failure`."""
        return self._spread * level(draws, failure)

    def to_json(self) -> dict[str, Any]:
        """Return the variance as text."""
        return {"variance": to_text(self.variance)}


@dataclass(frozen=True)
class GaussianParameters(_NormalParameters):
    """Discrete Gaussian noise: probability proportional to exp(-j²/(2·variance))."""

    @property
    def _spread(self) -> float:
        return discrete_spread(self.variance)


@dataclass(frozen=True)
class RoundedParameters(_NormalParameters):
    """Rounded Gaussian noise: the nearest integer to a normal number of the variance."""

    @property
    def _spread(self) -> float:
        return rounded_spread(self.variance)


Parameters = LaplaceParameters | GaussianParameters | RoundedParameters | SinhParameters
"""The noise that a bound asks for."""


def laplace_cost(scale: Fraction, moves: Sensitivity) -> Cost:
    """Return what discrete Laplace noise costs: epsilon = l1/scale (PDP:C-14, QR:C-9)."""
    return Cost.pure(moves.l1 / scale)


def gaussian_cost(variance: Fraction, moves: Sensitivity) -> Cost:
    """Return what discrete Gaussian noise costs: rho = l2²/(2·variance), on integers exactly (PDP:C-13)."""
    return Cost.concentrated(moves.l2_squared / (2 * variance))


def rounded_cost(variance: Fraction, moves: Sensitivity) -> Cost:
    """Return what rounded Gaussian noise costs on integers: mu² = l2²/variance, exactly (AC-GAUSS)."""
    return Cost.gaussian(moves.l2_squared / variance)


def rounded_spread(variance: Fraction) -> float:
    """Return the standard deviation of a rounded normal number, about."""
    v = float(variance)
    if v >= 1:
        return math.sqrt(v + 1 / 12)
    # The mean of j² is the sum of (2j - 1) times the chance of j or more in absolute value.
    return math.sqrt(sum((2 * j - 1) * math.erfc((j - 0.5) / math.sqrt(2 * v)) for j in range(1, 12)))


def discrete_spread(variance: Fraction) -> float:
    """Return the standard deviation of a discrete Gaussian number, about: below the root of its parameter."""
    v = float(variance)
    if v >= 1:
        return math.sqrt(v)
    weights = [math.exp(-j * j / (2 * v)) for j in range(1, 12)]
    squares = sum((j + 1) ** 2 * weight for j, weight in enumerate(weights))
    return math.sqrt(2 * squares / (1 + 2 * sum(weights)))


def sinh_cost(variance: Fraction, bend: Fraction, moves: Sensitivity) -> Cost:
    """Return what rounded sinh-normal noise costs: copies·tau(a; largest) (TCDP:C-SINH, TCDP-SAMPLER)."""
    return Cost(INFINITY, moves.copies * SinhNormalCurve(variance, bend, moves.largest))


def laplace_scale(spend: Bound, moves: Sensitivity) -> Fraction:
    """Return the scale l1/epsilon, exactly, for a pure or an approximate spend.

    >>> laplace_scale(Pure(0.1), sensitivity(3))
    Fraction(30, 1)
    """
    bound = require_bound(spend)
    if not isinstance(bound, (Pure, Approximate)):
        raise UnsupportedSpend(f"Laplace noise is for Pure(epsilon) or Approximate(epsilon, delta), not for {bound!r}.")
    return moves.l1 / _positive(bound, bound.epsilon)


def gaussian_variance(spend: Bound, moves: Sensitivity) -> Fraction:
    """Return the variance l2²/(2·rho), exactly, with the largest rho that the spend allows.

    >>> gaussian_variance(Concentrated(0.02), sensitivity(3))
    Fraction(225, 1)
    """
    bound = require_bound(spend)
    match bound:
        case Concentrated() | Truncated():
            rho = bound.rho
        case Approximate():
            _positive(bound, bound.epsilon)
            rho = concentrated_within(bound.epsilon, bound.delta)
        case _:
            raise UnsupportedSpend(
                f"Gaussian noise has no finite epsilon, so {bound!r} cannot be served by it; write Concentrated(rho), "
                "Truncated(rho, omega) or Approximate(epsilon, delta), or use Laplace noise."
            )
    return moves.l2_squared / (2 * _positive(bound, rho))


def rounded_variance(spend: Bound, moves: Sensitivity) -> Fraction:
    """Return the variance l2²/m, exactly, with the largest m = mu² that the spend allows (AC-GAUSS).

    >>> round(float(rounded_variance(Approximate(1, 1e-6), sensitivity(1))), 9)
    17.847911726
    """
    bound = require_bound(spend)
    if isinstance(bound, Approximate):
        return moves.l2_squared / gaussian_m(_positive(bound, bound.epsilon), bound.delta)
    return gaussian_variance(bound, moves)


@lru_cache(maxsize=512)
def concentrated_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho, as large as can be proved, whose mechanisms are all (epsilon, delta)-private (TCDP:C-DP+).

    Every Rényi order a allows rho = (epsilon - price(a, delta))/a; the best order is looked for, the result is
    rounded down to a few digits and certified.

    >>> float(concentrated_within(Fraction(1), Fraction(1, 10**6)))
    0.0243559703
    """
    log_delta = float_log(delta)

    def objective(order: float) -> float:
        return (float_price(order, log_delta) - float(epsilon)) / order

    order = float(best_order(objective, INFINITY))
    value = Fraction(-objective(order))
    if value > 0:
        for attempt in range(ATTEMPTS):
            rho = short_down(value, RHO_DIGITS)
            if Cost.concentrated(rho).within(Approximate(epsilon, delta)):
                return rho
            value *= 1 - Fraction(1, 10**8) * 16**attempt
    raise CertificationError(
        f"No rho could be certified for epsilon {float(epsilon):g} and delta {float(delta):g}; use Laplace noise."
    )


def candidates(
    spend: Bound, moves: Sensitivity, draws: int = 1, failure: Number = 0.05, gaussians: Gaussians = "wide"
) -> list[Parameters]:
    """Return every noise that fits the spend, each as small as it can be, the simplest first.

    Pure: Laplace. Concentrated: Gaussian. Truncated: Gaussian and sinh-normal. Approximate: all of them.
    """
    bound = require_bound(spend)
    simple = _simple(bound, moves, gaussians)
    if isinstance(bound, (Truncated, Approximate)):
        return [*simple, sinh_normal(bound, moves.largest, moves.copies, draws=draws, failure=failure)]
    return list(simple)


def choose(
    spend: Bound, moves: Sensitivity, draws: int = 1, failure: Number = 0.05, gaussians: Gaussians = "wide"
) -> Parameters:
    """Return the noise whose largest error over `draws` draws is the smallest that the spend allows.

    The error is the one not exceeded except with probability `failure`. Sinh-normal noise is taken where it wins
    by a hundredth at least: the others hold at every Rényi order, which later sums may need. Everything is public
    arithmetic: the bound, the sensitivities and the number of draws decide, data never do.

    Spec: TCDP-SINH, AC-GAUSS, PDP:C-13, PDP:C-14, QR:C-9. Time: exact fractions for Pure and Concentrated; for the
    others a search, and a certificate where sinh-normal noise wins, remembered by its arguments.

    >>> choose(Pure(0.5), sensitivity(1))
    LaplaceParameters(scale=Fraction(2, 1))
    >>> type(choose(Approximate(1, 1e-6), sensitivity(largest=1, changed=100))).__name__
    'RoundedParameters'
    >>> type(choose(Truncated(0.1, 2.24), sensitivity(largest=1, changed=2), draws=2**64)).__name__
    'SinhParameters'
    """
    bound = require_bound(spend)
    best = min(_simple(bound, moves, gaussians), key=lambda found: found.deviation(draws, failure))
    if not isinstance(bound, (Truncated, Approximate)):
        return best
    enough = WORTHWHILE * best.deviation(draws, failure)
    if predicted_deviation(bound, moves.largest, moves.copies, draws, failure) >= enough:
        return best
    bent = sinh_normal(bound, moves.largest, moves.copies, draws=draws, failure=failure)
    return bent if bent.deviation(draws, failure) < enough else best


def _simple(bound: Bound, moves: Sensitivity, gaussians: Gaussians) -> list[Parameters]:
    found: list[Parameters] = []
    if isinstance(bound, (Pure, Approximate)):
        found.append(LaplaceParameters(laplace_scale(bound, moves)))
    if isinstance(bound, Pure):
        return found
    if isinstance(bound, Approximate):
        if gaussians != "discrete":
            found.append(RoundedParameters(rounded_variance(bound, moves)))
        return [*found, GaussianParameters(gaussian_variance(bound, moves))]
    variance = gaussian_variance(bound, moves)
    rounds = gaussians == "rounded" or (gaussians == "wide" and variance >= WIDE)
    return [RoundedParameters(variance) if rounds else GaussianParameters(variance)]


def _positive(bound: Bound, amount: Fraction) -> Fraction:
    if amount == 0:
        raise UnsupportedSpend(
            f"{bound!r} pays for nothing, and no noise is wide enough; write a spend above zero, such as Pure(0.1)."
        )
    return amount
