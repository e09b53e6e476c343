"""Exact tails of many randomized responses: the pair that dominates every group of independent local randomizers.

Every pair of laws whose ratios stay within e^epsilon comes from one randomized response by further processing. So
the reports of k devices tell a group apart no better than J, the number of k responses that are true: binomial with
chance e^epsilon/(1 + e^epsilon) under the one input and 1/(1 + e^epsilon) under the other. The loss of J is
epsilon·(2J - k), and the best test at any level asks whether J >= j for some j.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sfumato.exact import enclose_up, rational_ball, significant_up
from sfumato.exact.enclosure import Ball
from sfumato.exact.search import smallest, smallest_between

MOST_PEOPLE = 10**8
"""The time of a tail grows with the root of the number of people."""
LEAST_LEAK = Fraction(1, 10**300)
BITS = 128
"""Losses are rounded up to a multiple of 2^-128."""


@dataclass(frozen=True)
class Responses:
    """`people` randomized responses at `epsilon` each, under one input of all of them against the other."""

    epsilon: Fraction
    people: int

    def loss(self, count: int) -> Fraction:
        """Return the loss of seeing `count` true responses."""
        return self.epsilon * (2 * count - self.people)

    def first_above(self, loss: Fraction) -> int:
        """Return the smallest count whose loss is above `loss`."""
        return int((loss / self.epsilon + self.people) / 2 // 1) + 1

    def tails(self, count: int) -> tuple[Ball, Ball]:
        """Return P(J >= count) under the true input and under the other one, at the precision in force."""
        import flint

        size, power = flint.arb(self.people), rational_ball(self.epsilon)
        chosen = (size + 1).lgamma() - flint.arb(count + 1).lgamma() - (size - count + 1).lgamma()
        level = chosen - size * power.exp().log1p()
        own = _sum((level + power * count).exp(), power.exp(), count, self.people)
        other = _sum((level + power * (self.people - count)).exp(), (-power).exp(), count, self.people)
        return own, other

    def leak(self, loss: Fraction) -> Fraction:
        """Return the smallest delta at which `loss` holds as an epsilon, rounded up to 64 significant bits."""
        if self.first_above(loss) > self.people:
            return Fraction(0)
        found = significant_up(lambda: self._leak(loss))
        assert found is not None
        return max(Fraction(0), min(Fraction(1), found))

    def smallest_loss(self, delta: Fraction) -> Fraction:
        """Return the smallest epsilon that holds at `delta`, rounded up.

        The leak at epsilon' is the largest of own(j) - e^epsilon'·other(j) over all j, so epsilon' is the largest
        logarithm of (own(j) - delta)/other(j). It is taken at the smallest j whose own loss leaks at most delta.
        """
        first = self.first_above(Fraction(0))
        bits = 64 + (delta.denominator // delta.numerator).bit_length()

        def keeps(count: int) -> bool:
            if not first <= count < self.people:
                return count >= self.people  # everybody's own loss leaks nothing
            leak = enclose_up(lambda: self._leak(self.loss(count)), bits)
            assert leak is not None
            return leak <= delta

        # Floats say where to look, then the proof looks there: sums of balls are slow.
        low = smallest(keeps, self._nearby(float(delta)))
        found = self._loss_at(low, delta)
        # Leaks are rounded up, so j may lie too high, which shows: its epsilon' is then at most the loss of j - 1.
        while low > first and (found is None or found < self.loss(low - 1)):
            low -= 1
            found = self._loss_at(low, delta)
        return max(Fraction(0), min(found or Fraction(0), self.people * self.epsilon))

    def _nearby(self, delta: float) -> int:
        """Return about the smallest count whose own loss leaks at most delta, by floats."""
        from scipy.special import bdtrc

        rate = float(self.epsilon)
        false = 1 / (1 + math.exp(rate))

        def keeps(count: int) -> bool:
            own, other = bdtrc(count, self.people, 1 - false), bdtrc(count, self.people, false)
            least = math.log(other) + rate * (2 * count - self.people) if other > 0 else -math.inf
            return float(own) - (math.exp(least) if least < 0 else float(own)) <= delta

        return smallest_between(self.first_above(Fraction(0)) - 1, self.people, keeps)

    def _leak(self, loss: Fraction) -> Ball:
        count = self.first_above(loss)
        if count > self.people:
            return rational_ball(0)
        own, other = self.tails(count)
        return own - rational_ball(loss).exp() * other

    def _loss_at(self, count: int, delta: Fraction) -> Fraction | None:
        """Return the logarithm of (own - delta)/other at a count, rounded up, or None if own is not above delta."""

        def evaluate() -> Ball:
            own, other = self.tails(count)
            return ((own - rational_ball(delta)) / other).log()

        return enclose_up(evaluate, BITS)


def _sum(term: Ball, growth: Ball, count: int, people: int) -> Ball:
    """Return the sum of a binomial tail from its first term; the rest is enclosed by a geometric series."""
    import flint

    total = term
    faint = flint.arb(2) ** -flint.ctx.prec
    for place in range(count, people):
        ratio = growth * (people - place) / (place + 1)
        term = term * ratio
        total = total + term
        # Ratios fall from here on, so what is left is below a geometric series with the present one.
        if place % 64 == 0 and ratio < 1:
            rest = (term * ratio / (1 - ratio)).upper()
            if rest < total * faint:
                return total + flint.arb(rest / 2, rest / 2)
    return total
