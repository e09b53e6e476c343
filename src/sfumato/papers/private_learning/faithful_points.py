"""Points by repeated choosing: a demonstrator, kept because it is printed (PL-SAN-POINT).

`Popular(method="stability")` answers the same question with thousands of times fewer people; use that one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.exact import Number, between_zero_and_one, positive_integer
from sfumato.exact.search import halved
from sfumato.learn.sampling import smallest
from sfumato.mechanism import NOTHING, Mechanism
from sfumato.noise import DiscreteLaplace, Noise
from sfumato.papers.enough_people import named_from, said_before
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

    def needed(self, accuracy: Number, failure: Number = 0.05) -> int:
        """Return from how many people on every count is within `accuracy` of them, except with probability `failure`.

        A key of more than accuracy·people is then named, or one with at least half of that; there is room for
        ceil(2/accuracy) of those only, so none is left unnamed. A third of the failure goes to the tests, one to the
        choices, one to the counts. Fewer rounds than ceil(2/accuracy) prove nothing.
        """
        near = between_zero_and_one(accuracy, "accuracy")
        if self.rounds * near < 2:
            raise ParameterError(f"So few rounds prove nothing; write rounds={math.ceil(2 / near)} or more.")
        each = float(between_zero_and_one(failure, "failure")) / (3 * self.rounds)
        counting = float(self.scale) * math.log(2 / each)

        def enough(people: float) -> bool:
            share = float(near) * people
            return share >= max(counting, named_from(self.choice, each)) and share / 2 >= self.choice.error(
                1 - each, math.ceil(people)
            )

        return math.ceil(smallest(enough))


def san_points(spend: Bound, accuracy: Number, *, people: int, failure: Number = 0.05) -> SanPoints:
    """Return the sanitizer for counts within `accuracy` of the number of people: ceil(2/accuracy) rounds.

    The part of one round is the largest for which the sum of all rounds fits, found by halving; the printed
    eps/sqrt((32/accuracy) ln(5/delta)) leaves about half of the spend unused. Below `SanPoints.needed` people it warns,
    from these numbers alone: it stays private, and leaves heavy keys out.

    >>> mechanism = san_points(Approximate(1, 1e-6), 0.5, people=10_000)
    >>> mechanism.rounds, mechanism.loss().within(Approximate(1, 1e-6)), mechanism.needed(0.5)
    (4, True, 1668)
    """
    if not isinstance(spend, Approximate) or spend.epsilon == 0:
        raise UnsupportedSpend(f"Choosing keys needs a delta, and {spend!r} has none; write Approximate(1, 1e-6).")
    rounds = positive_integer(math.ceil(2 / between_zero_and_one(accuracy, "accuracy")), "rounds")

    def made(parts: Fraction) -> SanPoints:
        return _rounds(spend, rounds, parts * spend.epsilon / (2 * rounds))

    fits, _ = halved(Fraction(1), Fraction(rounds), lambda parts: not made(parts).loss().within(spend), HALVINGS)
    best = made(fits)
    said_before(
        best.needed(accuracy, failure),
        positive_integer(people, "people"),
        accuracy,
        'Histogram(column, keys="private")',
    )
    return best


def _rounds(spend: Approximate, rounds: int, epsilon: Fraction) -> SanPoints:
    """Return the sanitizer with this epsilon for each choice and each count; half of delta goes to the choices."""
    part = epsilon.limit_denominator(2**20)
    choice = choosing(Approximate(part, spend.delta / (2 * rounds)))
    return SanPoints(rounds=rounds, choice=choice, scale=1 / part)
