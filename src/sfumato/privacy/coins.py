"""Exact coins (BERN-EXACT): a chance is an integer out of 2^63, fixed in the plan, and epsilon follows from it.

No client computes an exponential. The planner rounds the chance of pure noise up, so that the realised epsilon,
the logarithm of an exact fraction, is never above the requested one.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.exact import enclose_up, exact, positive_integer, rational_ball
from sfumato.exact.rational import show
from sfumato.privacy.bounds import Bound, Pure, require_bound

COIN = 1 << 63
"""Chances are counted in units of 2^-63."""
LEAST_EPSILON, MOST_EPSILON = Fraction(1, 10_000), Fraction(16)
LOSS_BITS = 128


def report_epsilon(spend: Bound) -> Fraction:
    """Return the epsilon of one report, refusing spends that a local randomizer cannot serve."""
    bound = require_bound(spend)
    if not isinstance(bound, Pure) or bound.unit != "person":
        raise UnsupportedSpend(f"A local report spends Pure(epsilon), not {bound!r}; write for example Pure(2).")
    return check_epsilon(bound.epsilon)


def check_epsilon(epsilon: Fraction) -> Fraction:
    """Refuse an epsilon for one report below which there is no signal, or above which there is no privacy."""
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise ParameterError(
            f"Each report may spend an epsilon from {show(LEAST_EPSILON)} to {show(MOST_EPSILON)}, and "
            f"{show(epsilon)} is outside: below there is no signal, above there is no privacy. Write for example "
            "Pure(2); with reports= each of them gets its part of the spend."
        )
    return epsilon


def noise_weight(epsilon: Fraction, spread: int) -> int:
    """Return the chance of pure noise, in units of 2^-63, that realises at most `epsilon`.

    `spread` is how many times likelier a signal makes the reports that it may send than pure noise does; the
    odds of a report are then 1 + spread · (1 - chance) / chance.

    >>> weight = noise_weight(Fraction(1), 2)
    >>> round(weight / COIN, 12), loss_of(weight, 2) <= 1
    (0.53788284274, True)
    """
    epsilon, spread = check_epsilon(exact(epsilon, "epsilon")), positive_integer(spread, "spread")
    chance = enclose_up(lambda: spread / (spread + rational_ball(epsilon).expm1()), 63)
    assert chance is not None
    weight = int(chance * COIN)
    while loss_of(weight, spread) > epsilon:
        weight += 1
    return weight


def odds(weight: int, spread: int) -> Fraction:
    """Return e^epsilon exactly: the largest ratio between the chances of one report under two items."""
    return 1 + Fraction(spread * (COIN - weight), weight)


def loss_of(weight: int, spread: int) -> Fraction:
    """Return the realised epsilon, rounded up to a multiple of 2^-128."""
    ratio = odds(weight, spread)
    loss = enclose_up(lambda: rational_ball(ratio).log(), LOSS_BITS)
    assert loss is not None
    return loss


def check_weight(weight: object) -> int:
    """Return a weight read from a plan, refusing what is no chance of noise."""
    if isinstance(weight, bool) or not isinstance(weight, int) or not 0 < weight < COIN:
        raise ParameterError("weight must be a whole number between 1 and 2^63 - 1; take it from noise_weight().")
    return weight
