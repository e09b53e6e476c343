"""Proofs of truncated concentrated privacy from finitely many orders."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from sfumato.audit.divergences import Comparison
from sfumato.audit.laws import FiniteLaw
from sfumato.errors import CertificationError, ParameterError
from sfumato.exact import Extended, Infinity, Number, above_zero, at_least_zero, exact
from sfumato.exact.rational import show
from sfumato.privacy.curve import grid

STEP = Fraction(1, 1000)


@dataclass(frozen=True)
class Certificate:
    """A proof that every pair of laws is (rho, omega)-truncated concentrated, in both orders.

    `used` is the largest fraction of rho that the pairs need, the price of the grid included.
    """

    rho: Fraction
    omega: Extended
    orders: tuple[Fraction, ...]
    used: float


def certified_grid(omega: Number, eta: Number = STEP) -> tuple[Fraction, ...]:
    """Return orders 1 = a_0 < a_1 < ... <= omega whose ratios are at most 1 + eta (TCDP:D-GRIDCERT).

    >>> [float(order) for order in certified_grid(2, 0.5)]
    [1.0, 1.5, 2.0]
    """
    limit, step = exact(omega, "omega"), above_zero(eta, "eta")
    if limit <= 1:
        raise ParameterError(f"omega must be above 1, and {show(limit)} is not; write for example 20.")
    return (Fraction(1), *grid(limit, step))


def certify(
    pairs: Iterable[tuple[FiniteLaw, FiniteLaw]], rho: Number, omega: Number | Infinity, eta: Number = STEP
) -> Certificate:
    """Prove that these neighbouring laws are (rho, omega)-truncated concentrated, or raise CertificationError.

    Between two orders of the grid the divergence is at most the one at the upper end, so
    tau(a_{i+1}) <= rho·a_i at every step is a proof for all orders; a few integer orders would not be.
    The price is a factor 1 + eta. With `omega=INFINITY` the grid ends where the max divergence takes over.

    >>> low, high = FiniteLaw.of({0: "3/5", 1: "2/5"}), FiniteLaw.of({0: "2/5", 1: "3/5"})
    >>> certify([(low, high)], rho=0.1, omega=8).used < 1
    True
    """
    claimed = at_least_zero(rho, "rho")
    compared = [Comparison(*both) for pair in pairs for both in (pair, pair[::-1])]
    if not compared:
        raise ParameterError("There is nothing to certify; give at least one pair of laws.")
    end = _end(compared, claimed) if isinstance(omega, Infinity) else exact(omega, "omega")
    orders = certified_grid(end, eta)
    used = max(_used(comparison, claimed, orders) for comparison in compared)
    return Certificate(claimed, omega if isinstance(omega, Infinity) else end, orders, used)


def _end(compared: list[Comparison], rho: Fraction) -> Fraction:
    """Return the order from which the max divergence alone proves D_a <= rho·a."""
    largest = max(comparison.max_divergence().upper for comparison in compared)
    if math.isinf(largest) or rho == 0:
        raise CertificationError(
            "No bound holds at every order: the max divergence of these laws has no finite upper bound; "
            "certify up to a finite omega."
        )
    return max(Fraction(2), Fraction(largest) / rho)


def _used(comparison: Comparison, rho: Fraction, orders: tuple[Fraction, ...]) -> float:
    worst = 0.0
    for (below, order), bounds in zip(pairwise(orders), comparison.renyi(orders[1:]), strict=True):
        if math.isinf(bounds.upper) or Fraction(bounds.upper) > rho * below:
            found = "breaks it" if Fraction(bounds.lower) > rho * order else "is not proved to keep it"
            raise CertificationError(
                f"The laws are not certified to be ({show(rho)}, {show(orders[-1])})-truncated concentrated: the "
                f"divergence of order {show(order)}, between {bounds.lower:.6g} and {bounds.upper:.6g}, {found}."
            )
        worst = max(worst, bounds.upper / float(rho * below) if rho else 0.0)
    return worst
