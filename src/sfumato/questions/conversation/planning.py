"""What a conversation can promise before it begins: how many corrections, how much noise, how large an error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sfumato.errors import CertificationError, ParameterError, UnsupportedSpend
from sfumato.exact import Number, between_zero_and_one, positive_integer
from sfumato.noise.laws.base import LARGEST_SCALE
from sfumato.privacy import (
    EVERYTHING,
    REPLACE_ONE,
    Approximate,
    Attributes,
    Bound,
    Concentrated,
    Pure,
    Relation,
    Truncated,
)
from sfumato.privacy.calibrate import concentrated_within
from sfumato.questions.conversation.calibration import LARGEST_NOISE, near_borderline, near_scale, pay_as_you_go
from sfumato.questions.conversation.guesses import ApproximateChecking, Checking, PureChecking
from sfumato.questions.conversation.plan import ConversationPlan, Verdict
from sfumato.select.fit import drawable, positive_spend, pure_epsilon

Method = Literal["auto", "approximate", "pure"]

PRACTICAL = 1 / 32
"""The part of the largest possible surprise that data are expected to hold where nothing is guaranteed."""
COUNTS = sorted({round(10 ** (5.3 * step / 200)) for step in range(201)})
"""Numbers of corrections that are looked at."""
ANSWER_SHARES = (Fraction(1, 10), Fraction(1, 5), Fraction(3, 10))
USELESS = 0.5
"""An error of half of the people says next to nothing."""


@dataclass(frozen=True)
class _Wish:
    """What a plan is made for, checked."""

    spend: Bound
    people: int
    surprise: float
    queries: int
    failure: Fraction
    sensitivity: int
    slack: int
    practical: bool
    cells: int

    def lift(self, updates: int) -> float:
        """Return how far above the gain the threshold lies, in noise scales.

        In the worst case no guess is corrected by noise alone; in practice a quarter of the corrections may be.
        """
        return max(1.0, math.log(4 * self.queries / updates)) if self.practical else self.rate()

    def rate(self, times: float = 1.0) -> float:
        """Return ln(times·queries/failure)."""
        return math.log(times * self.queries / float(self.failure))


def plan_conversation(
    spend: Bound,
    people: int,
    cells: int,
    queries: int,
    failure: Number = 0.05,
    *,
    method: Method = "auto",
    practical: bool = False,
    surprise: float | None = None,
    worst: float | None = None,
    sensitivity: int = 1,
    slack: int = 0,
    relation: Relation = REPLACE_ONE,
    reads: Attributes = EVERYTHING,
) -> ConversationPlan:
    """Plan a conversation of `queries` queries about `people` people over `cells` possible rows; public facts only.

    With probability 1 - `failure` all errors are at most `plan.error` and the corrections suffice, whatever the data:
    each correction takes 2·gain² off the relative entropy between data and model, which is ln(cells) at most
    (QR:C-15). `practical=True` expects data less surprising than the worst, so that fewer corrections are paid for and
    the error is smaller; if they run out, later answers have no bound. `surprise` sets that entropy by hand, in
    nats. `worst` is the largest it can be where a public prior replaces the even start: the logarithm of 1 over the
    least probability that the prior gives. Privacy is the same in all cases.

    >>> from sfumato import Approximate
    >>> plan = plan_conversation(Approximate(1, 1e-6), people=10**5, cells=2**16, queries=10**5)
    >>> round(plan.error, 2), plan.verdict
    (0.19, 'answer')
    """
    if method not in ("auto", "approximate", "pure"):
        raise ParameterError(f"method is 'auto', 'approximate' or 'pure', not {method!r}.")
    count = positive_integer(cells, "cells")
    largest = math.log(count) if worst is None else float(worst)
    # A prior is given because it is expected to be nearer than the even start, however rare its rarest cell.
    expected = PRACTICAL * min(largest, math.log(count)) if practical else largest
    entropy = expected if surprise is None else _nats(surprise)
    if not entropy >= 0 or math.isinf(entropy):
        raise ParameterError("surprise is a number of nats, zero or more; leave it out for the worst case.")
    wish = _Wish(
        positive_spend(spend, "conversation"),
        positive_integer(people, "people"),
        max(entropy, 1e-3),
        positive_integer(queries, "queries"),
        between_zero_and_one(failure, "failure"),
        positive_integer(sensitivity, "sensitivity"),
        slack,
        practical,
        count,
    )
    return min(_candidates(wish, method, relation, reads), key=lambda plan: plan.error)


def _nats(surprise: object) -> float:
    """Return a surprise as a number; what is none becomes one that is refused."""
    try:
        return float(surprise)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def _candidates(wish: _Wish, method: Method, relation: Relation, reads: Attributes) -> Iterator[ConversationPlan]:
    if method != "pure" and isinstance(wish.spend, Approximate):
        yield _approximate(wish, relation, reads)
    elif method == "approximate":
        raise UnsupportedSpend(f"method='approximate' needs Approximate(epsilon, delta), not {wish.spend!r}.")
    if method != "approximate":
        yield _pure(wish, relation, reads)


def _gains(wish: _Wish) -> Iterator[tuple[float, int]]:
    """List gains, as parts of the people, and how many corrections each may take."""
    if wish.surprise > 2 * COUNTS[-1]:
        raise ParameterError(
            f"surprise is {wish.surprise:g} nats, and a conversation follows {2 * COUNTS[-1]} at most; leave it out "
            "for the worst case."
        )
    for updates in COUNTS:
        if (gain := math.sqrt(wish.surprise / (2 * updates))) <= 1:
            yield gain, updates


def _approximate(wish: _Wish, relation: Relation, reads: Attributes) -> ConversationPlan:
    spend = wish.spend
    assert isinstance(spend, Approximate)

    def error(pair: tuple[float, int]) -> tuple[bool, float]:
        borderline = near_borderline(pair[1], float(spend.delta) / 2)
        scale = near_scale(spend.epsilon, spend.delta, borderline, wish.sensitivity)
        # What cannot be drawn comes last, however many people there are: their number may be paid for already.
        return 2 * scale > LARGEST_NOISE, pair[0] * wish.people + scale * (wish.lift(pair[1]) + wish.rate())

    gain, updates = min(_gains(wish), key=error)
    paid = pay_as_you_go(spend, updates, wish.sensitivity)
    margin, worth = math.ceil(paid.scale * wish.rate()), math.ceil(gain * wish.people)
    # One count more: a guess is rounded to whole units.
    lift = math.ceil(paid.scale * wish.lift(updates))
    threshold = max(worth + lift + wish.slack + 1, 2 * paid.scale)
    checking = ApproximateChecking(
        updates=updates,
        threshold=threshold,
        sensitivity=wish.sensitivity,
        scale=paid.scale,
        delta=spend.delta,
        miss=paid.miss,
        relation=relation,
        reads=reads,
    )
    learning = 2 * paid.scale if wish.practical else margin
    return _plan(wish, checking, (worth, margin, learning), threshold + margin + 1)


def _pure(wish: _Wish, relation: Relation, reads: Attributes) -> ConversationPlan:
    epsilon = pure_epsilon(wish.spend)
    width = float(wish.sensitivity / epsilon)
    best: tuple[tuple[bool, float], float, int, Fraction] | None = None
    for gain, updates in _gains(wish):
        for share in ANSWER_SHARES:
            compared, lift, answered = _pure_margins(wish, updates, float(share), width)
            # What cannot be drawn comes last, however many people there are: their number may be paid for already.
            hidden = max(_pure_scales(wish, epsilon, updates, share)) > LARGEST_SCALE
            total = hidden, max(gain * wish.people + compared + lift, answered)
            if best is None or ((answered < gain * wish.people or best[0][0]) and total < best[0]):
                best = total, gain, updates, share
    assert best is not None
    _, gain, updates, share = best
    compared, lift, answered = (math.ceil(part) for part in _pure_margins(wish, updates, float(share), width))
    worth = math.ceil(gain * wish.people)
    threshold = worth + lift + wish.slack + 1
    scales = [drawable(scale) for scale in _pure_scales(wish, epsilon, updates, share)]
    checking = PureChecking(
        updates=updates,
        threshold=threshold,
        sensitivity=wish.sensitivity,
        threshold_scale=scales[0],
        query_scale=scales[1],
        answer_scale=scales[2],
        relation=relation,
        reads=reads,
    )
    learning = math.ceil(2 * checking.answer_scale) if wish.practical else answered
    return _plan(wish, checking, (worth, answered, learning), max(threshold + compared + 1, answered))


def _pure_scales(wish: _Wish, epsilon: Fraction, updates: int, share: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Return the noise of the threshold, of comparisons and of corrections."""
    first, compare, reach = _first_share(updates), epsilon * (1 - share), updates * wish.sensitivity
    return wish.sensitivity / (compare * first), 2 * reach / (compare * (1 - first)), reach / (epsilon * share)


def _first_share(updates: int) -> Fraction:
    """Return the part of the comparing budget that the threshold gets: 1 : (2c)^(2/3)."""
    return Fraction(max(1, round(1024 / (1 + (2 * updates) ** (2 / 3)))), 1024)


def _pure_margins(wish: _Wish, updates: int, share: float, width: float) -> tuple[float, float, float]:
    """Return how far comparisons stray, how far the threshold is lifted, how far corrections stray; in counts."""
    first = float(_first_share(updates))
    level = math.log(3 / float(wish.failure)) / first
    scale = 2 * updates / (1 - first)
    compared = width * (level + scale * wish.rate(3)) / (1 - share)
    lift = width * scale * wish.lift(updates) / (1 - share) if wish.practical else compared
    return compared, lift, width * updates * math.log(3 * updates / float(wish.failure)) / share


def _plan(wish: _Wish, checking: Checking, counts: tuple[int, int, int], error: int) -> ConversationPlan:
    if not checking.loss().within(wish.spend):
        raise CertificationError(f"The conversation planned does not provably fit {wish.spend!r}; please report it.")
    part = (error + wish.slack) / wish.people
    direct = direct_error(wish.spend, wish.people, wish.queries, wish.failure, wish.sensitivity)
    best = min(direct, part)
    verdict: Verdict = "synthesize" if best >= USELESS else "answer" if direct < part else "converse"
    gain, margin, learning = counts
    return ConversationPlan(
        checking,
        wish.people,
        wish.queries,
        wish.failure,
        gain,
        margin,
        learning + wish.slack,
        wish.slack,
        part,
        direct,
        verdict,
        wish.practical,
        wish.cells,
        isinstance(wish.spend, Pure),
    )


def direct_error(spend: Bound, people: int, queries: int, failure: Fraction, sensitivity: int = 1) -> float:
    """Return the largest error of `queries` counts with noise on each, as a part of the people (QR-LAP).

    >>> from sfumato import Pure
    >>> round(direct_error(Pure(1), 1841, 42, Fraction(1, 20)), 3)
    0.154
    """
    found = []
    if not isinstance(spend, (Concentrated, Truncated)):
        scale = queries * sensitivity / float(spend.epsilon)  # type: ignore[attr-defined]
        found.append(scale * math.log(queries / float(failure)))
    if not hasattr(spend, "epsilon") or isinstance(spend, Approximate):
        rho = spend.rho if isinstance(spend, (Concentrated, Truncated)) else None
        if rho is None:
            assert isinstance(spend, Approximate)
            rho = concentrated_within(spend.epsilon, spend.delta)
        deviation = sensitivity * math.sqrt(queries / (2 * float(rho)))
        found.append(deviation * math.sqrt(2 * math.log(2 * queries / float(failure))))
    return min(found) / people
