"""The choosing mechanism: a heavy cell of an astronomic set, or nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from sfumato.errors import CertificationError, UnsupportedSpend
from sfumato.exact import (
    Number,
    between_zero_and_one,
    float_log,
    positive_integer,
    rational_ball,
    significant_up,
    unit_up,
)
from sfumato.mechanism import NOTHING, Mechanism
from sfumato.noise import DiscreteLaplace, Noise
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Bound, Cost, Everything, Loss, Relation, attributes
from sfumato.select.candidates import Candidates, normalise, normalise_listed
from sfumato.select.fit import drawable, needs_delta, score_sensitivity, settle
from sfumato.select.scores import Unbounded
from sfumato.select.threshold import exceedance, rare_level

PARTS = 1024
"""The budget is split in multiples of epsilon/1024."""


@dataclass(frozen=True, kw_only=True)
class Choosing(Mechanism):
    """Test whether some cell is heavy; if so draw one with probability proportional to exp(rate · score).

    Only cells of score 1 or more can be drawn, so the set of cells needs no end. A score has growth k: it is 0
    without people, and adding a person raises at most k scores, by 1 each.

    Promise, for either relation and any number of people: P(E) <= e^eps·P'(E) + delta for every event E, with
    eps = 1/scale + 2·rate + log(1 + k·exp(-rate·theta)) and delta the larger of k·exp(-rate·(theta - 1)) and
    P[noise > threshold - theta] (PL-CHOOSE). Where the heaviest cell is below theta, something is named with
    probability delta or less. Where it is not, the at most k cells that one side alone can name have together
    the probability k·exp(-rate·(theta - 1)), and the normalisers differ by the factor
    exp(rate)·(1 + k·exp(-rate·theta)). The printed threshold alpha·m/2 is private only for large m; this one
    does not depend on m.

    Time O(pieces), memory O(pieces).
    """

    spec: ClassVar[str] = "PL-CHOOSE"

    growth: int
    rate: Fraction
    scale: Fraction
    theta: int
    threshold: int

    def loss(self) -> Loss:
        """Return (eps, delta) of the formula above, each part rounded up."""
        epsilon = 1 / self.scale + 2 * self.rate + _normaliser(self.growth, self.rate, self.theta)
        leak = max(
            new_weight(self.growth, self.rate, self.theta), exceedance(self.scale, self.threshold - self.theta + 1)
        )
        return Loss.flat(Cost.leaking(epsilon, leak), self.reads, self.relation)

    def run(self, exact: Any, noise: Noise) -> Any:
        """Draw the noise in every case, then the cell."""
        field = _cells(exact)
        levels = [] if field is None else [level for level in field.levels if level[0] >= 1]
        heaviest = levels[0][0] if levels else 0
        passed = heaviest + noise.draw(DiscreteLaplace(self.scale)) >= self.threshold
        if field is None or not levels or not passed:
            return NOTHING
        drawn = noise.choose([value for value, _ in levels], self.rate, [count for _, count in levels])
        value, count = levels[drawn]
        return field.name(field.member(value, noise.uniform(count)))

    def required(self, confidence: Number) -> int:
        """Return the score from which some cell is named with at least this probability."""
        failure = 1 - between_zero_and_one(confidence, "confidence")
        decay = math.exp(-1 / float(self.scale))
        return self.threshold + max(0, math.ceil(-float(self.scale) * math.log(failure * (1 + decay)))) - 1

    def error(self, confidence: Number, people: int) -> float:
        """Return how far below the heaviest the named cell may lie, given that one is named (PL-CHOOSE)."""
        failure = 1 - between_zero_and_one(confidence, "confidence")
        cells = self.growth * positive_integer(people, "people")
        return (math.log(cells) - math.log(failure)) / float(self.rate)


def _cells(exact: Any) -> Candidates | None:
    """Return the cells; of a mapping all that is not listed scores 0, and the keys may come from data."""
    if isinstance(exact, Unbounded):
        exact = exact.listed
    return normalise_listed(exact) if isinstance(exact, Mapping) else normalise(exact)


@lru_cache(maxsize=256)
def new_weight(growth: int, rate: Fraction, theta: int) -> Fraction:
    """Return growth·exp(-rate·(theta-1)), rounded up."""
    value = significant_up(lambda: growth * rational_ball(-rate * (theta - 1)).exp())
    if value is None:
        raise CertificationError("The weight of new cells could not be enclosed.")
    return value


@lru_cache(maxsize=256)
def _normaliser(growth: int, rate: Fraction, theta: int) -> Fraction:
    """Return log(1 + growth·exp(-rate·theta)), rounded up."""
    value = unit_up(lambda: (growth * rational_ball(-rate * theta).exp()).log1p())
    if value is None:
        raise CertificationError("The ratio of the normalisers could not be enclosed.")
    return value


def choosing(
    spend: Bound,
    growth: int = 1,
    *,
    relation: Relation = REPLACE_ONE,
    reads: Iterable[str] | str | Everything = EVERYTHING,
) -> Choosing:
    """Return the choosing mechanism for an Approximate spend, split so that its threshold is lowest (PL-CHOOSE).

    `growth` is the largest number of cells that one person is counted in. Takes a mapping whose keys may come
    from the data (a `Counter` of records), and also arrays and step functions.

    >>> from collections import Counter
    >>> from sfumato import Approximate, Noise
    >>> pick = choosing(Approximate(1, 1e-6), growth=1)
    >>> pick.threshold, pick.required(0.95)
    (80, 85)
    >>> pick(Counter({"dog": 200, "cat": 3, "cow": 1}), Noise(insecure_seed=1))
    'dog'
    """
    bound = needs_delta(spend, "choosing")
    score_sensitivity(1, False, relation)
    count = positive_integer(growth, "growth")
    plan = _plan(bound.epsilon, bound.delta, count)
    mechanism = Choosing(growth=count, relation=relation, reads=attributes(reads), **plan)
    return settle(mechanism, bound)


@lru_cache(maxsize=256)
def _plan(epsilon: Fraction, delta: Fraction, growth: int) -> dict[str, Any]:
    """Return the split of the budget with the lowest threshold; only public numbers enter."""
    best = min(range(1, PARTS - 1), key=lambda part: _rough_threshold(epsilon, delta, growth, part))
    plans = [plan for part in range(best - 16, best + 17) if (plan := _exact_plan(epsilon, delta, growth, part))]
    if not plans:
        raise UnsupportedSpend(
            "At this epsilon and delta the choosing mechanism has no split that fits; write a smaller delta."
        )
    return min(plans, key=lambda plan: (plan["threshold"], plan["scale"]))


def _rough_threshold(epsilon: Fraction, delta: Fraction, growth: int, part: int) -> float:
    """Return the threshold when part/1024 of epsilon goes to the draw; only to look for a good split."""
    rate = float(epsilon) * part / PARTS / 2
    rest = float(epsilon) - 2 * rate - math.log1p(float(delta) * math.exp(-rate))
    if rest <= 0:
        return math.inf
    level = float_log(delta) + math.log1p(math.exp(-rest))
    return (math.log(growth) - float_log(delta)) / rate + max(0.0, -level / rest)


def _exact_plan(epsilon: Fraction, delta: Fraction, growth: int, part: int) -> dict[str, Any] | None:
    if not 1 <= part < PARTS:
        return None
    rate = epsilon * part / PARTS / 2
    theta = max(1, math.floor((math.log(growth) - float_log(delta)) / float(rate)))
    while new_weight(growth, rate, theta) > delta:
        theta += 1
    left = epsilon - 2 * rate - _normaliser(growth, rate, theta)
    test = epsilon * math.floor(left * PARTS / epsilon) / PARTS
    if test <= 0:
        return None
    scale = drawable(1 / test)
    # A heaviest cell below theta is at most theta - 1, so the noise must reach threshold - theta + 1.
    return {"rate": rate, "scale": scale, "theta": theta, "threshold": theta - 1 + rare_level(scale, delta)}


def check_bounded_growth(
    score: Callable[[Sequence[Any]], Mapping[Any, int]],
    records: Sequence[Any],
    growth: int,
    trials: int = 200,
    *,
    noise: Noise | None = None,
) -> None:
    """Try to refute that one more record raises at most `growth` scores, each by at most 1 (PL-CHOOSE).

    `score` maps a table to the scores that are not 0; `records` are possible records, made up and not private.
    Random tables are grown one record at a time. A passed check is no proof; a failed one raises.

    >>> from collections import Counter
    >>> check_bounded_growth(Counter, ["a", "b", "c"], growth=1, noise=Noise(insecure_seed=1))
    """
    allowed = positive_integer(growth, "growth")
    coins = Noise() if noise is None else noise
    if dict(score([])):
        raise CertificationError("The score of an empty table is not 0 everywhere, so it has no bounded growth.")
    for _ in range(positive_integer(trials, "trials")):
        table: list[Any] = []
        before: dict[Any, int] = {}
        for place in coins.uniform(len(records), 1 + coins.uniform(8)).tolist():
            table.append(records[place])
            after = dict(score(table))
            steps = [after.get(key, 0) - before.get(key, 0) for key in {*before, *after}]
            if any(step not in (0, 1) for step in steps) or sum(steps) > allowed:
                raise CertificationError(
                    f"One more record moved a score by something other than 0 or 1, or raised more than {allowed} "
                    "scores; declare a larger growth, or bound what one record adds."
                )
            before = after
