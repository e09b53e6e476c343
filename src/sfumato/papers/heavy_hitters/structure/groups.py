"""Group privacy in the local model: the loss of k devices that change together grows like the root of k (GRP).

This holds because devices draw their reports independently. It does not hold for answers of a curator, nor for
devices whose randomizer was chosen after reports of others were seen: there a group of k loses k times epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sfumato.errors import NotProvable, ParameterError, UnsupportedSpend
from sfumato.exact import Number, above_zero, at_least_zero, between_zero_and_one, enclose_up, rational_ball
from sfumato.exact.enclosure import Ball
from sfumato.exact.rational import positive_integer, show
from sfumato.exact.search import smallest
from sfumato.papers.heavy_hitters.structure.tails import BITS, LEAST_LEAK, MOST_PEOPLE, Responses
from sfumato.privacy import Approximate, Bound, Pure, require_bound
from sfumato.words import one_of

Method = Literal["exact", "paper", "basic"]
METHODS = ("exact", "paper", "basic")


def group_privacy(
    spend: Bound, people: int, delta: Number, *, method: Method = "exact", interactive: bool = False
) -> Approximate:
    """Return what holds for `people` devices that change together, each of which spends `spend`: (epsilon, delta).

    `exact` is the smallest epsilon that holds for all randomizers (C-GRP-X), rounded up; with an Approximate spend
    it covers the deltas of the devices too (C-GRP-A). `paper` is k·epsilon²/2 + epsilon·√(2k·log(1/delta)), cut at
    `basic`, which is k·epsilon (Theorems 4.2 and 4.3).

    >>> from sfumato import Pure
    >>> float(group_privacy(Pure(0.1), people=100, delta=1e-6).epsilon)
    4.7745675881079865
    >>> float(group_privacy(Pure(0.1), people=100, delta=1e-6, method="basic").epsilon)
    10.0
    """
    one_of("method", method, METHODS)
    if interactive and method != "basic":
        raise NotProvable(
            "The root of the group size holds only if no device's randomizer depends on reports of others; "
            "write method='basic' for an interactive protocol."
        )
    responses, own = _responses(spend, people)
    total = _leak(delta)
    most = responses.people * responses.epsilon
    if method == "basic":
        if own:
            raise UnsupportedSpend("method='basic' is for Pure spends; write method='exact' or method='paper'.")
        return Approximate(most, total)
    if method == "paper":
        rest = total - responses.people * own
        if rest <= 0:
            raise _too_leaky(responses.people, own)
        return Approximate(min(most, _moments(responses, rest, squared=True)), total)
    return Approximate(responses.smallest_loss(_left(total, own, responses.people)), total)


def group_leak(spend: Bound, people: int, epsilon: Number) -> Fraction:
    """Return the smallest delta at which `epsilon` holds for `people` devices that change together, rounded up.

    >>> from sfumato import Pure
    >>> float(group_leak(Pure(1), people=2, epsilon=2))
    0.0
    >>> f"{float(group_leak(Pure(1), people=2, epsilon=1)):.6f}"
    '0.337835'
    """
    responses, own = _responses(spend, people)
    leak = responses.leak(at_least_zero(epsilon, "epsilon"))
    if not own:
        return leak
    total = enclose_up(lambda: 1 - rational_ball(1 - own) ** responses.people * rational_ball(1 - leak), 256)
    assert total is not None
    return min(Fraction(1), total)


def loss_quantile(spend: Pure, people: int, delta: Number) -> Fraction:
    """Return a loss that the reports of `people` devices exceed with probability at most `delta` (C-GRP-T).

    This bounds the loss itself, log P(reports | x)/P(reports | x'), when the reports come from x. It is more than
    (epsilon, delta), and larger: k·epsilon·tanh(epsilon/2) + epsilon·√(2k·log(1/delta)), at most k·epsilon.

    >>> from sfumato import Pure
    >>> f"{float(loss_quantile(Pure(0.1), people=100, delta=1e-6)):.4f}"
    '5.7561'
    """
    responses, own = _responses(spend, people)
    if own:
        raise UnsupportedSpend("The loss itself is bounded for Pure spends only; write for example Pure(0.1).")
    found = _moments(responses, _leak(delta), squared=False)
    return min(found, responses.people * responses.epsilon)


@dataclass(frozen=True)
class Household:
    """How many devices of one group are covered, and by what; see `largest_group`.

    >>> from sfumato import Approximate, Pure
    >>> covered = largest_group(Pure(0.1), within=Approximate(1, 1e-6))
    >>> covered.people, float(covered.bound.epsilon)
    (10, 1.0)
    """

    people: int
    bound: Approximate


def largest_group(spend: Bound, within: Approximate) -> Household:
    """Return the largest group of devices that a bound covers, if each of them spends `spend`.

    >>> from sfumato import Approximate, Pure
    >>> largest_group(Pure(0.1), within=Approximate(1, 1e-6)).people
    10
    >>> largest_group(Pure("0.01"), within=Approximate(1, 1e-6)).people
    562
    """
    if not isinstance(within, Approximate):
        raise UnsupportedSpend("A group is covered by an Approximate bound; write for example Approximate(1, 1e-6).")

    def covered(people: int) -> bool:
        return people <= MOST_PEOPLE and group_leak(spend, people, within.epsilon) <= within.delta

    if not covered(1):
        raise NotProvable("Not even one device is covered; ask for a larger bound or spend less on each report.")
    return Household(smallest(lambda people: not covered(people), start=2) - 1, within)


def _responses(spend: Bound, people: int) -> tuple[Responses, Fraction]:
    """Return the dominating pair of the group, and the delta of each device."""
    bound = require_bound(spend)
    count = positive_integer(people, "people")
    if count > MOST_PEOPLE:
        raise ParameterError(f"people must be at most {MOST_PEOPLE}, and {count} is above.")
    if not isinstance(bound, (Pure, Approximate)) or bound.unit != "person":
        raise UnsupportedSpend(
            f"A local report spends Pure or Approximate, not {bound!r}; write for example Pure(0.1)."
        )
    above_zero(bound.epsilon, "epsilon")
    return Responses(bound.epsilon, count), bound.delta if isinstance(bound, Approximate) else Fraction(0)


def _leak(delta: Number) -> Fraction:
    total = between_zero_and_one(delta, "delta")
    if total < LEAST_LEAK:
        raise ParameterError("delta must be at least 1e-300; write for example 1e-9, or method='basic' and any delta.")
    return total


def _left(total: Fraction, own: Fraction, people: int) -> Fraction:
    """Return the delta that is left for the dominating pair, rounded down: 1 - (1 - total)/(1 - own)^people."""
    if not own:
        return total
    used = enclose_up(lambda: rational_ball(1 - total) / rational_ball(1 - own) ** people, 1152)
    if used is None or used >= 1:
        raise _too_leaky(people, own)
    return 1 - used


def _too_leaky(people: int, own: Fraction) -> NotProvable:
    return NotProvable(
        f"The deltas of {people} devices, {show(own)} each, use up the whole delta; ask for a larger delta.",
        {"people": people, "delta": own},
    )


def _moments(responses: Responses, delta: Fraction, squared: bool) -> Fraction:
    """Return mean + epsilon·√(2k·log(1/delta)), rounded up; the mean loss is k·epsilon²/2, or sharper with tanh."""

    def evaluate() -> Ball:
        epsilon = rational_ball(responses.epsilon)
        mean = epsilon**2 / 2 if squared else epsilon * (epsilon / 2).tanh()
        return responses.people * mean + epsilon * (-2 * responses.people * rational_ball(delta).log()).sqrt()

    found = enclose_up(evaluate, BITS)
    assert found is not None
    return found
