"""Points by repeated choosing: a demonstrator, kept because it is printed (PL-SAN-POINT).

`Popular(engine="stability")` answers the same question with thousands of times fewer people; use that one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.errors import UnsupportedSpend
from sfumato.exact import Number, between_zero_and_one, positive_integer
from sfumato.mechanism import NOTHING, Mechanism
from sfumato.noise import DiscreteLaplace, Noise
from sfumato.privacy import Approximate, Bound, Cost, Loss
from sfumato.select.heavy_cell import Choosing, choosing

HALVINGS = 12
"""How finely the part of one round is searched."""


@dataclass(frozen=True, kw_only=True)
class SanPoints(Mechanism):
    """Up to `rounds` heavy keys, one after the other by the choosing mechanism, each with a noisy count.

    Promise, replace-one: `rounds` times the loss of the choice and of one count, 1/scale, added up as losses are
    (PL-SAN-POINT). A chosen key is left out of the rounds that follow; the first round that chooses nothing ends the
    search, which costs nothing but is not given back.

    Input: a mapping from keys to counts. Output: pairs of key and noisy count, sorted by key.
    """

    spec: ClassVar[str] = "PL-SAN-POINT"

    rounds: int
    choice: Choosing
    scale: Fraction

    def loss(self) -> Loss:
        """Return the losses of all rounds."""
        counted = Loss.flat(Cost.pure(1 / self.scale), self.reads, self.relation)
        return self.rounds * (self.choice.loss() + counted)

    def run(self, exact: Mapping[Any, int], noise: Noise) -> tuple[tuple[Any, int], ...]:
        """Choose, count, leave out; again."""
        left = dict(sorted(exact.items()))
        found = {}
        for _ in range(self.rounds):
            key = self.choice.run(left, noise)
            if key is NOTHING:
                break
            found[key] = left.pop(key) + noise.draw(DiscreteLaplace(self.scale))
        return tuple(sorted(found.items()))


def san_points(spend: Bound, accuracy: Number) -> SanPoints:
    """Return the sanitizer for counts within `accuracy` of the number of people: ceil(2/accuracy) rounds.

    The part of one round is the largest for which the sum of all rounds fits, found by halving; the printed
    eps/sqrt((32/accuracy) ln(5/delta)) leaves about half of the spend unused.

    >>> mechanism = san_points(Approximate(1, 1e-6), 0.5)
    >>> mechanism.rounds, mechanism.loss().within(Approximate(1, 1e-6))
    (4, True)
    """
    if not isinstance(spend, Approximate) or spend.epsilon == 0:
        raise UnsupportedSpend(f"Choosing keys needs a delta, and {spend!r} has none; write Approximate(1, 1e-6).")
    rounds = positive_integer(math.ceil(2 / between_zero_and_one(accuracy, "accuracy")), "rounds")
    best = _rounds(spend, rounds, spend.epsilon / (2 * rounds))
    low, high = Fraction(1), Fraction(rounds)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        found = _rounds(spend, rounds, middle * spend.epsilon / (2 * rounds))
        if found.loss().within(spend):
            best, low = found, middle
        else:
            high = middle
    return best


def _rounds(spend: Approximate, rounds: int, epsilon: Fraction) -> SanPoints:
    """Return the sanitizer with this epsilon for each choice and each count; half of delta goes to the choices."""
    part = epsilon.limit_denominator(2**20)
    choice = choosing(Approximate(part, spend.delta / (2 * rounds)))
    return SanPoints(rounds=rounds, choice=choice, scale=1 / part)
