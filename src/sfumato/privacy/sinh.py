"""Sinh-normal noise for a bound: the smallest error that the closed-form Rényi curve allows (TCDP-SINH).

A float search proposes parameters, short rationals are taken in the safe direction, and the exact curve of
those rationals decides: a wrong float costs utility or an exception, never privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from sfumato.errors import CertificationError, NotProvable, ParameterError, UnsupportedSpend
from sfumato.exact import INFINITY, Number, above_zero, between_zero_and_one, positive_integer, to_text
from sfumato.exact.rational import show
from sfumato.privacy.bounds import Approximate, Bound, Truncated, require_bound
from sfumato.privacy.cost import Cost
from sfumato.privacy.curve import GRID_STEP, Curve
from sfumato.privacy.forms import SinhNormalCurve
from sfumato.privacy.sinh_search import deviation, search

DIGITS = 5
ATTEMPTS = 8


@dataclass(frozen=True)
class SinhParameters:
    """Sinh-normal noise A·arsinh((sigma/A)·N(0,1)) with variance sigma² and bend A, certified for a shift.

    `sensitivity` is how far one coordinate moves, `copies` how many coordinates move that far.
    """

    variance: Fraction
    bend: Fraction
    sensitivity: Fraction
    copies: int = 1

    @property
    def curve(self) -> Curve:
        """The Rényi curve of all coordinates that change (TCDP:C-SINH)."""
        return self.copies * SinhNormalCurve(self.variance, self.bend, self.sensitivity)

    @property
    def cost(self) -> Cost:
        """What the noise costs: the curve, no epsilon, no leak."""
        return Cost(INFINITY, self.curve)

    def deviation(self, draws: int = 1, failure: Number = 0.05) -> float:
        """Return how far the largest of `draws` continuous draws strays except with probability `failure`.

        The rounded noise that is released strays at most 1/2 farther.
        """
        return deviation(float(self.bend), math.sqrt(self.variance), level(draws, failure))

    def to_json(self) -> dict[str, Any]:
        """Return the parameters, exact numbers as text."""
        return {
            "variance": to_text(self.variance),
            "bend": to_text(self.bend),
            "sensitivity": to_text(self.sensitivity),
            "copies": self.copies,
        }


def log_failure(draws: int, failure: Number) -> float:
    """Return log of the probability that each of `draws` independent draws may use up: 1 - (1 - failure)^(1/draws)."""
    count = positive_integer(draws, "draws")
    share = math.log1p(-float(between_zero_and_one(failure, "failure")))
    if count.bit_length() > 40:
        return math.log(-share) - math.log(count)
    return math.log(-math.expm1(share / count))


def level(draws: int, failure: Number) -> float:
    """Return z such that `draws` standard normals all stay within [-z, z] except with probability `failure`.

    >>> round(level(1, 0.05), 4)
    1.96
    """
    from scipy.special import ndtri_exp

    return float(-ndtri_exp(log_failure(draws, failure) - math.log(2)))


def sinh_normal(
    spend: Bound,
    sensitivity: Number,
    copies: int = 1,
    *,
    draws: int = 1,
    failure: Number = 0.05,
    method: Literal["tight", "paper"] = "tight",
) -> SinhParameters:
    """Return the sinh-normal noise with the smallest largest error of `draws` draws that fits the spend.

    Promise: D_a <= copies·tau(a; variance, bend, sensitivity), within `spend`, whichever relation the
    sensitivity was derived for. `copies` is how many coordinates change by `sensitivity` at most.
    `method="paper"` takes the constants of the paper's Theorem 17, for comparison.

    Spec: TCDP-SINH, TCDP:C-SINH, finished with D-GRIDCERT. Time: a tenth of a second and what the certificate
    needs, remembered by its arguments.

    >>> from sfumato.privacy import Truncated
    >>> noise = sinh_normal(Truncated(0.1, 2.24), sensitivity=1, copies=2, draws=2**64)
    >>> noise.cost.within(Truncated(0.1, 2.24)), noise.deviation(2**64) < 20
    (True, True)
    """
    bound = require_bound(spend)
    if not isinstance(bound, (Truncated, Approximate)):
        raise UnsupportedSpend(
            f"Sinh-normal noise has infinite Rényi divergence beyond some order, so {bound!r} cannot be served by it; "
            "write Truncated(rho, omega) or Approximate(epsilon, delta), or use Laplace or Gaussian noise."
        )
    if method not in ("tight", "paper"):
        raise ParameterError(f"method must be 'tight' or 'paper', and {method!r} is neither.")
    if (bound.rho if isinstance(bound, Truncated) else bound.epsilon) == 0:
        raise UnsupportedSpend(
            f"{bound!r} pays for nothing, and no noise is wide enough; write a spend above zero, such as Pure(0.1)."
        )
    step = above_zero(sensitivity, "sensitivity")
    many = positive_integer(copies, "copies")
    if method == "paper":
        return _printed(bound, step, many)
    return _calibrated(bound, step, many, level(draws, failure))


def _printed(bound: Truncated | Approximate, step: Fraction, copies: int) -> SinhParameters:
    """Return Theorem 17's parameters: (16 rho0, A/(8 Delta)) for 1 < 1/sqrt(rho0) <= A/Delta."""
    if isinstance(bound, Approximate):
        raise UnsupportedSpend("Theorem 17 speaks of Truncated spends only; write Truncated(rho, omega).")
    start = bound.rho / (16 * copies)
    if start >= 1 or 1 / start > (8 * bound.omega) ** 2:
        raise NotProvable(
            f"Theorem 17 needs 1 < 1/sqrt(rho0) <= 8·omega with rho0 = rho/(16·copies) = {show(start)} and omega = "
            f"{show(bound.omega)}, which does not hold; leave method= out.",
            {"rho0": start, "omega": bound.omega},
        )
    return SinhParameters(step**2 / (2 * start), 8 * bound.omega * step, step, copies)


def predicted_deviation(
    bound: Truncated | Approximate, sensitivity: Fraction, copies: int, draws: int, failure: Number
) -> float:
    """Return what `deviation` the best sinh-normal noise will have, before any certificate; for choices only."""
    spread = level(draws, failure)
    try:
        ratio, start = search(bound, copies, spread, _first_target(bound))
    except NotProvable:
        return math.inf
    return float(sensitivity) * deviation(ratio, 1 / math.sqrt(2 * start), spread)


def _slack(bound: Truncated | Approximate) -> float:
    """Return the part of the spend that certificates use up: the steps of the walk, or the search for a Rényi order."""
    return float(GRID_STEP) if isinstance(bound, Truncated) else 1e-6


def _first_target(bound: Truncated | Approximate) -> float:
    return (1 - 1e-9) / (1 + _slack(bound))


@lru_cache(maxsize=512)
def _calibrated(bound: Truncated | Approximate, step: Fraction, copies: int, spread: float) -> SinhParameters:
    """Search, round, certify; aim lower if the certificate does not follow."""
    slack = _slack(bound)
    target = _first_target(bound)
    for attempt in range(ATTEMPTS):
        ratio, start = search(bound, copies, spread, target)
        bend = short_up(ratio * float(step))
        variance = short_up(float(step) ** 2 / (2 * start))
        found = SinhParameters(variance, bend, step, copies)
        if found.cost.within(bound):
            return found
        target *= 1 - slack * 2**attempt
    raise CertificationError(
        f"No sinh-normal noise could be certified for {bound!r} at sensitivity {show(step)}; use Gaussian noise."
    )


def short_up(value: float, digits: int = DIGITS) -> Fraction:
    """Return the least decimal of few digits that is at least a positive float.

    >>> short_up(7.1234567)
    Fraction(14247, 2000)
    """
    unit = Fraction(10) ** (math.floor(math.log10(value)) + 1 - digits)
    return -(-Fraction(value) // unit) * unit
