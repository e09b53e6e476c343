"""How far below the promise the answers may lie: public arithmetic, no data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from sfumato.errors import ParameterError
from sfumato.exact import float_log, positive_integer

SHARES = 1 << 20
LARGEST_FACTOR = 1 << 40


def levels_of(size: int) -> int:
    """Return how many widths 2^0, 2^1, ... fit into a domain of this size."""
    return positive_integer(size, "size").bit_length()


def log_odds(failure: Fraction | float) -> float:
    """Return ln(1/failure)."""
    return -float_log(Fraction(failure))


def best_shares(weights: Sequence[float]) -> list[Fraction]:
    """Return shares of a spend proportional to the roots of the weights, exact and adding up to at most 1.

    Errors weight/share are smallest together where shares go by the roots.
    """
    roots = [math.sqrt(weight) for weight in weights]
    return [Fraction(max(1, math.floor(SHARES * root / sum(roots))), SHARES) for root in roots]


def shifted_weights(
    levels: int, delta: Fraction | float, failure: float, factor: int
) -> tuple[float, float, float] | None:
    """Return 4·ln(levels/b), 2·ln(1/(2 delta)) + 2·ln(1/(2b)), 2·ln(W/b) with 3b + 4/W = failure (PL-REC2)."""
    each = (failure - 4 / factor) / 3
    if each <= 0:
        return None
    clear = 2 * log_odds(2 * delta) + 2 * log_odds(2 * each)
    return 4 * math.log(levels / each), max(clear, 0.5), 2 * math.log(factor / each)


def best_factor(levels: int, delta: Fraction | float, failure: float) -> tuple[int, tuple[float, float, float]]:
    """Return the power of two W that makes the whole error smallest, and the three weights at it."""
    tried = 8
    found: list[tuple[float, int, tuple[float, float, float]]] = []
    while tried <= LARGEST_FACTOR:
        weights = shifted_weights(levels, delta, failure, tried)
        if weights is not None:
            found.append((sum(map(math.sqrt, weights)), tried, weights))
        tried *= 2
    if not found:
        raise ParameterError("failure must be above 1e-11 here; write for example 0.05.")
    _, factor, weights = min(found)
    return factor, weights


def covering_requirement(size: int, epsilon: float, delta: Fraction | float, failure: float, depth: int) -> float:
    """Return the D = alpha·r from which PL-REC of this depth answers within D, with its exact constants.

    `epsilon` and `delta` are what each single mechanism gets. At each recursive level the two stable choices need
    3·D/8 of lead and the last choice 3·D/8 of room; the level below works with D/8.

    >>> round(covering_requirement(2**64, 0.25, 5e-7, 0.05, 2))
    548
    """
    each = failure / (3 * depth - 2)
    needed, scale, range_size = 0.0, 1.0, size
    for _ in range(depth - 1):
        lead = 3 + 2 / epsilon * (log_odds(2 * delta) + log_odds(2 * each))
        room = 2 / epsilon * math.log(15 / each)
        needed = max(needed, scale * 8 / 3 * max(lead, room))
        scale, range_size = 8 * scale, levels_of(range_size)
    return max(needed, scale * 2 / epsilon * math.log(range_size / each))
