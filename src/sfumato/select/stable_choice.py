"""Stable choice: the clear winner exactly, or nothing, at a price that does not depend on the number of candidates."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.exact import Number, between_zero_and_one
from sfumato.mechanism import NOTHING, Mechanism
from sfumato.noise import DiscreteLaplace, Noise
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Bound, Cost, Everything, Loss, Relation, attributes
from sfumato.select.candidates import normalise
from sfumato.select.fit import drawable, gap_sensitivity, needs_delta, settle
from sfumato.select.scores import Unbounded, whole
from sfumato.select.threshold import exceedance, rare_level


@dataclass(frozen=True, kw_only=True)
class Stable(Mechanism):
    """Return the best candidate if its lead plus noise reaches a threshold, else NOTHING.

    Promise, for `relation` neighbours whose leads differ by at most g = `gap_sensitivity`: P(E) <= e^eps·P'(E) +
    delta for every event E, with eps = g/scale and delta = P[noise >= threshold - g] (PL-ADIST, repaired). The
    same winner on both sides costs eps by the noise; with different winners both leads are at most g, and either
    is named with probability delta or less. The printed version takes noise of scale 1/eps and no g in the
    threshold; the lead moves by two when a person goes from the second best to the best, and its true delta at
    (1, 1e-6) is 0.36.

    Ties go to the first candidate of the public order; the proof holds for any rule. Candidates are the public
    set: those of a sparse score that are not listed count as second best. A public set of one candidate is
    returned without noise. Time O(pieces), memory O(pieces).
    """

    spec: ClassVar[str] = "PL-ADIST"

    gap_sensitivity: int
    scale: Fraction
    threshold: int

    def loss(self) -> Loss:
        """Return (g/scale, P[noise >= threshold - g]), the tail rounded up."""
        leak = exceedance(self.scale, self.threshold - self.gap_sensitivity)
        return Loss.flat(Cost.leaking(self.gap_sensitivity / self.scale, leak), self.reads, self.relation)

    def run(self, exact: Any, noise: Noise) -> Any:
        """Compare the noisy lead with the threshold."""
        if isinstance(exact, Unbounded):
            best, lead = _open_winner(exact)
        else:
            field = normalise(exact)
            place, lead = field.winner
            best = field.name(place)
            if field.size == 1:
                return best
        passed = lead + noise.draw(DiscreteLaplace(self.scale)) >= self.threshold
        return best if passed else NOTHING

    def release_probability(self, lead: int) -> float:
        """Return the probability that a candidate with this lead is named."""
        return float(exceedance(self.scale, self.threshold - lead))

    def gap(self, confidence: Number) -> int:
        """Return the lead from which the winner is named with at least this probability (up to one unit)."""
        failure = 1 - between_zero_and_one(confidence, "confidence")
        decay = math.exp(-1 / float(self.scale))
        return self.threshold + max(0, math.ceil(-float(self.scale) * math.log(failure * (1 + decay)))) - 1


def _open_winner(scores: Unbounded) -> tuple[Any, int]:
    """Return the best listed candidate and its lead; no candidate at all if none is above the unlisted ones."""
    best: Any = NOTHING
    first = second = 0
    for key, listed in scores.listed.items():
        score = whole(listed, "Scores")
        if score > first:
            best, first, second = key, score, first
        elif score > second:
            second = score
    return best, first - second


def stable(
    spend: Bound,
    sensitivity: int = 1,
    *,
    monotone: bool = False,
    relation: Relation = REPLACE_ONE,
    reads: Iterable[str] | str | Everything = EVERYTHING,
) -> Stable:
    """Return the stable choice for an Approximate spend of delta below one half (PL-ADIST).

    >>> from sfumato import Approximate, Noise, select
    >>> pick = stable(Approximate(1, 1e-6))
    >>> pick.threshold, pick.gap(0.95)
    (29, 34)
    >>> pick(select.sparse({7: 90, 2**40: 12}, end=2**64), Noise(insecure_seed=1))
    7
    >>> pick(select.Unbounded({"dog": 41, "cat": 40}), Noise(insecure_seed=1))
    NOTHING
    """
    bound = needs_delta(spend, "stable")
    gap = gap_sensitivity(sensitivity, monotone, relation)
    scale = drawable(gap / bound.epsilon)
    mechanism = Stable(
        gap_sensitivity=gap,
        scale=scale,
        threshold=gap + rare_level(scale, bound.delta),
        relation=relation,
        reads=attributes(reads),
    )
    return settle(mechanism, bound)
