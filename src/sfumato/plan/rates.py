"""What a spend buys, in floating point: planners predict, mechanisms prove."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from sfumato.exact import INFINITY, Extended
from sfumato.perturb import calibrate
from sfumato.privacy import Approximate, Bound, Concentrated, Pure, Truncated
from sfumato.privacy.sensitivity import sensitivity
from sfumato.select.fit import positive_spend, pure_epsilon, range_epsilon
from sfumato.select.quasiconcave.requirement import best_factor, covering_requirement, levels_of


@dataclass(frozen=True)
class Rates:
    """The epsilons that one spend buys: for noise of Laplace, for an exponential choice, and its delta if it has one.

    `stated` is the epsilon of the spend itself, which mechanisms that leak go by.
    """

    noise: float
    choice: float
    stated: float
    delta: float | None


@cache
def rates(spend: Bound, parts: int = 1) -> Rates:
    """Return what each of so many parts of a spend buys."""
    part = positive_spend(spend, "plan").split(parts)
    leak = float(part.delta) if isinstance(part, Approximate) else None
    noise = float(pure_epsilon(part))
    stated = float(part.epsilon) if isinstance(part, (Pure, Approximate)) else noise
    return Rates(noise, float(range_epsilon(part)), stated, leak)


def choice_loss(spend: Bound, log_candidates: float, failure: float, parts: int = 1) -> float:
    """Return how far below the best an exponential choice lies, in units of the score (PL:C-EM)."""
    return 2 / rates(spend, parts).choice * (log_candidates - math.log(failure))


def solver_losses(spend: Bound, size: int, failure: float, parts: int = 1) -> dict[str, float]:
    """Return how far below the promise each solver of quasi-concave scores lies, as `select.solve_quasiconcave` does.

    >>> {name: round(loss) for name, loss in solver_losses(Approximate(1, 1e-6), 2**256, 0.05).items()}
    {'exponential': 361, 'shifted-windows': 278, 'two-covers': 636}
    """
    bought = rates(spend, parts)
    losses = {"exponential": choice_loss(spend, math.log(size), failure, parts)}
    if bought.delta is not None and 2 * bought.delta < 1:
        _, weights = best_factor(levels_of(size), bought.delta, failure)
        losses["shifted-windows"] = sum(map(math.sqrt, weights)) ** 2 / bought.stated + 2
        losses["two-covers"] = covering_requirement(size, bought.stated / 4, bought.delta / 2, failure, 2)
    return losses


def stable_gap(epsilon: float, delta: float, failure: float) -> float:
    """Return the lead from which the clear winner is named except with probability `failure` (PL-ADIST).

    >>> round(stable_gap(1, 1e-6, 0.05))
    33
    """
    return 2 + 2 / epsilon * (-math.log(2 * delta) - math.log(2 * failure))


@cache
def cell_error(spend: Bound, cells: int, failure: float) -> int:
    """Return how far the noise on so many counts, of which a person moves two, goes at most."""
    noise = calibrate(spend, sensitivity(largest=1, changed=2))
    return int(noise.error(1 - failure, cells))


def curve(spend: Bound) -> tuple[float, Extended] | None:
    """Return (rho, omega) of a concentrated or truncated spend."""
    if isinstance(spend, Concentrated):
        return float(spend.rho), INFINITY
    return (float(spend.rho), spend.omega) if isinstance(spend, Truncated) else None
