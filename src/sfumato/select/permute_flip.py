"""Permute-and-flip: never worse than the exponential mechanism under a Pure spend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.noise import Geometric, Noise
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Bound, Cost, Everything, Loss, Relation, attributes
from sfumato.select.candidates import normalise
from sfumato.select.fit import RatedChoice, drawable, positive_spend, pure_epsilon, score_sensitivity, settle


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(RatedChoice):
    """Draw the candidate that permute-and-flip draws: go through them in random order, and take each one with
    probability exp(rate · (score - best)) until one is taken.

    Promise, for `relation` neighbours whose scores differ by at most `sensitivity`:
    log P(o)/P'(o) <= eps = 2·rate·sensitivity (rate·sensitivity if `monotone`) for every candidate o; at Rényi
    orders only the curve of a pure mechanism, not a·eps²/8 (QR-EM, QR:C-7).

    It is drawn in another form that takes domains of any size. Permute-and-flip is the candidate with the
    largest score plus exponential noise of that rate. The whole part of exponential noise is geometric, and its
    fraction is independent of the whole part and the same for all; scores are whole numbers, so the fractions
    only break ties, uniformly. Hence: each level of equal scores draws the largest of its geometric noises and
    how many members attain it, and the winner is uniform among all that attain the largest sum.

    Exact. Time O(pieces + levels), memory O(pieces), whatever the size of the domain.
    """  # noqa: D205

    spec: ClassVar[str] = "QR-EM"

    def loss(self) -> Loss:
        """Return the pure cost of the rate."""
        return Loss.flat(Cost.pure(self.epsilon), self.reads, self.relation)

    def run(self, exact: Any, noise: Noise) -> Any:
        """Draw the best noisy sum of each level, then one of those who attain the best of all."""
        field = normalise(exact)
        law = Geometric(1 / self.rate)
        peaks = []
        for value, count in field.levels:
            # One draw is its own largest, and much quicker.
            peak, attained = (noise.draw(law), 1) if count == 1 else noise.largest(law, count, 1)[0]
            peaks.append((value + peak, attained, value, count))
        best = max(height for height, *_ in peaks)
        tied = [peak for peak in peaks if peak[0] == best]
        rank = noise.uniform(sum(attained for _, attained, _, _ in tied))
        for _, attained, value, count in tied:
            if rank < attained:
                # Who attains a level's largest noise is uniform among its members.
                return field.name(field.member(value, noise.uniform(count)))
            rank -= attained
        raise AssertionError("unreachable: the rank lies below the number of those tied")


def permute_and_flip(
    spend: Bound,
    sensitivity: int = 1,
    *,
    monotone: bool = False,
    relation: Relation = REPLACE_ONE,
    reads: Iterable[str] | str | Everything = EVERYTHING,
) -> PermuteAndFlip:
    """Return permute-and-flip for a spend: the better choice under Pure, where its expected loss is never larger.

    Under Concentrated and Truncated the exponential mechanism buys about twice the rate.

    >>> from sfumato import Noise, Pure
    >>> permute_and_flip(Pure(1))([3, 90, 40], Noise(insecure_seed=7))
    1
    """
    bound = positive_spend(spend, "permute_and_flip")
    amount = score_sensitivity(sensitivity, monotone, relation)
    rate = 1 / drawable((amount if monotone else 2 * amount) / pure_epsilon(bound))
    mechanism = PermuteAndFlip(
        rate=rate, sensitivity=amount, monotone=monotone, relation=relation, reads=attributes(reads)
    )
    return settle(mechanism, bound)
