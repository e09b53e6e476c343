"""The exponential mechanism: the best of a public set of candidates, or one that is nearly as good."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.noise import Noise
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Bound, Cost, Everything, Loss, Relation, attributes
from sfumato.select.candidates import checked_array, normalise
from sfumato.select.fit import RatedChoice, positive_spend, range_epsilon, score_sensitivity, settle


@dataclass(frozen=True, kw_only=True)
class Exponential(RatedChoice):
    """Draw a candidate with probability proportional to exp(rate · score).

    Promise, for `relation` neighbours whose scores differ by at most `sensitivity`: with
    eps = 2·rate·sensitivity (rate·sensitivity if `monotone`), log P(o)/P'(o) <= eps for every candidate o,
    and D_a <= a·eps²/8 at every order, because the log-ratios lie in a window of width eps (QR-EM, QR:C-10,
    PDP:C-12, TCDP:C-EXPM). The printed weights exp(eps·score/sensitivity) cost twice what is said of them (QR:D1).

    Exact: no floating point takes part. Time O(pieces), memory O(pieces), whatever the size of the domain.
    """

    spec: ClassVar[str] = "QR-EM"

    def loss(self) -> Loss:
        """Return the bounded-range cost of the rate."""
        return Loss.flat(Cost.range_bounded(self.epsilon), self.reads, self.relation)

    def run(self, exact: Any, noise: Noise) -> Any:
        """Draw a level of equal scores first, then a member of it; of a plain array an index at once."""
        if isinstance(exact, np.ndarray):
            return noise.choose(checked_array(exact), self.rate)
        field = normalise(exact)
        levels = field.levels
        drawn = noise.choose([value for value, _ in levels], self.rate, [count for _, count in levels])
        value, count = levels[drawn]
        return field.name(field.member(value, noise.uniform(count)))


def exponential(
    spend: Bound,
    sensitivity: int = 1,
    *,
    monotone: bool = False,
    relation: Relation = REPLACE_ONE,
    reads: Iterable[str] | str | Everything = EVERYTHING,
) -> Exponential:
    """Return the exponential mechanism for a spend: the default choice, at any kind of spend.

    `monotone=True` says that all scores move the same way when a person is added (counts); it needs
    `relation=ADD_REMOVE` and halves the error.

    >>> from sfumato import Noise, Pure
    >>> pick = exponential(Pure(1))
    >>> pick({"bus": 120, "tram": 340, "walk": 80}, Noise(insecure_seed=7))
    'tram'
    >>> round(pick.error(0.95, candidates=3), 2)
    8.19
    """
    bound = positive_spend(spend, "exponential")
    amount = score_sensitivity(sensitivity, monotone, relation)
    rate = range_epsilon(bound) / (amount if monotone else 2 * amount)
    mechanism = Exponential(
        rate=rate, sensitivity=amount, monotone=monotone, relation=relation, reads=attributes(reads)
    )
    return settle(mechanism, bound)
