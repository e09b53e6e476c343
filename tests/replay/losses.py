"""What one pair of runs with equal outputs loses: step by step, as the proof takes its steps."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.exact import Infinity
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Geometric, RoundedNormal, SinhNormal
from sfumato.papers.partial_dp.halfspace import HalfspaceChoice
from sfumato.papers.query_release.geometry.shaped import ShapedNoise
from sfumato.papers.query_release.weights.choosers import Disjoint
from sfumato.perturb import AdditiveNoise
from sfumato.privacy import Cost
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.questions.distribution.medians import MedianTree
from sfumato.questions.quantiles import JointQuantiles
from sfumato.questions.quantiles.cuts import LOG_2
from sfumato.questions.quantiles.quantile_choice import QuantileChoice
from sfumato.select.candidates import normalise
from sfumato.select.exponential_choice import Exponential
from sfumato.select.permute_flip import PermuteAndFlip
from sfumato.select.quasiconcave.heaviest_cell import HeaviestCell
from sfumato.select.scores import StepFunction, Unbounded
from sfumato.select.stable_choice import Stable, _open_winner
from sfumato.totals.private_keys import StableHistogram
from sfumato.totals.sparse_noise import SparseNoise
from tests.replay.choices import halfspace, joint, median, quantiles
from tests.replay.lost import DEAR, Lost, chosen, even
from tests.replay.tape import Step, Tape

ORDERS = (Fraction(11, 10), Fraction(2), Fraction(8))


def losses(first: Tape, second: Tape) -> Iterator[Lost]:
    """Yield what every step loses."""
    for one, two in zip(first.steps, second.steps, strict=True):
        found = _lost(one, two)
        if found is not None:
            yield found


def _lost(one: Step, two: Step) -> Lost | None:
    match one.kind:
        case "draw":
            moved = {
                place: abs(one.exact.get(place, 0) - two.exact.get(place, 0)) for place in {*one.exact, *two.exact}
            }
            steps = [Fraction(step) for step in moved.values() if step]
            return even("noise", noise_cost(one.asked[0], steps)) if steps else None
        case "choose":
            return _choice(one.asked, two.asked)
        case "bernoulli" | "bernoulli_exp":
            return _coin(one, two)
        case "leaf":
            found = _leaf(one, two)
            owned = found is not None and hasattr(one.asked[0], "loss") and not isinstance(one.asked[0], MedianTree)
            return replace(found, owner=one.asked[0]) if owned else found
    return None


def noise_cost(law: Any, steps: list[Fraction]) -> Cost:
    """Return what noise of a law loses about a vector that moves by these steps."""
    match law:
        case DiscreteLaplace():
            return Cost.pure(sum(steps, Fraction(0)) / law.scale)
        case DiscreteGaussian():
            return Cost.concentrated(sum((step**2 for step in steps), Fraction(0)) / (2 * law.variance))
        case RoundedNormal():
            return Cost.gaussian(sum((step**2 for step in steps), Fraction(0)) / law.variance)
        case Geometric():
            return Cost.pure(sum(steps, Fraction(0)) / law.scale)
        case SinhNormal():
            from sfumato.privacy.calibrate import sinh_cost

            total = Cost.zero()
            for step in steps:
                total = total + sinh_cost(law.variance, law.bend, Sensitivity(step, step**2, step, 1))
            return total
    return DEAR  # an unknown law is seen


def _choice(one: tuple[Any, ...], two: tuple[Any, ...]) -> Lost | None:
    """Return what a choice loses: the widest window of log-ratios over all places, on a common grid."""
    if one[1] is LOG_2 or one[1] == LOG_2:
        return None  # weights in floating point: their certificate is the exact law of the whole mechanism
    changes = _changes(one, two)
    if changes is None:
        return even("choice of other candidates", DEAR)
    rate = abs(Fraction(one[1]))
    width = rate * (max(changes) - min(changes))
    most = 2 * rate * max(map(abs, changes))
    if not most:
        return None
    return Lost("choice", Cost.range_bounded(width), Cost.range_bounded(most))


def _changes(one: tuple[Any, ...], two: tuple[Any, ...]) -> list[int] | None:
    """Return the changes of all scores; candidates are places, or stretches of a line of equal length."""
    if one[1] != two[1]:
        return None
    widths = [scores[2] if scores[2] is not None else (1,) * len(scores[0]) for scores in (one, two)]
    if sum(widths[0]) != sum(widths[1]):
        return None
    edges = sorted(
        {0, *np.cumsum(np.array(widths[0], object)).tolist(), *np.cumsum(np.array(widths[1], object)).tolist()}
    )
    ends = [np.cumsum(np.array(width, object)).tolist() for width in widths]
    places = edges[:-1]
    return [two[0][bisect_right(ends[1], at)] - one[0][bisect_right(ends[0], at)] for at in places]


def _coin(one: Step, two: Step) -> Lost | None:
    first, second = one.asked[0], two.asked[0]
    if first == second:
        return None
    chances = [math.exp(-float(p)) if one.kind == "bernoulli_exp" else float(p) for p in (first, second)]
    if not all(0 < chance < 1 for chance in chances):
        return even("coin", DEAR)
    ratio = max(abs(math.log(chances[0] / chances[1])), abs(math.log((1 - chances[0]) / (1 - chances[1]))))
    return even("coin", Cost.pure(Fraction(ratio)))


def _leaf(one: Step, two: Step) -> Lost | None:
    owner, exact, other = one.asked[0], one.asked[1], two.asked[1]
    if owner != two.asked[0]:
        return even("another mechanism", DEAR)
    match owner:
        case Exponential() | PermuteAndFlip():
            kind = Cost.range_bounded if isinstance(owner, Exponential) else Cost.pure
            return chosen(owner.rate, score_changes(exact, other), kind, 1 if owner.monotone else 2)
        case StableHistogram() | SparseNoise():
            law = owner.law if isinstance(owner, StableHistogram) else owner.noise.law
            return _noisy(law, [other.get(key, 0) - exact.get(key, 0) for key in {*exact, *other}])
        case HeaviestCell():
            cells = {*exact[0], *other[0]}
            return _noisy(owner.law, [other[0].get(cell, 0) - exact[0].get(cell, 0) for cell in cells])
        case ShapedNoise():
            step = [int(b) - int(a) for a, b in zip(exact.tolist(), other.tolist(), strict=True)]
            if not any(step):
                return None
            return even("shape", Cost.pure(owner.rate * owner.body.gauge(owner.lattice.points((tuple(step),)))))
        case JointQuantiles():
            return joint(owner, exact, other)
        case QuantileChoice():
            return quantiles(owner, exact, other)
        case AdditiveNoise():
            moved = [int(b) - int(a) for a, b in zip(_flat(exact), _flat(other), strict=True)]
            return _noisy(owner.law, moved)
        case MedianTree():
            return median(owner, one.asked[1:], two.asked[1:])
        case HalfspaceChoice():
            return halfspace(owner, exact, other)
        case Disjoint():
            changes = score_changes(exact, other)
            widths = sorted(
                (2 * rate * abs(step) / owner.unit for rate, step in zip(owner.rates, changes, strict=True))
            )
            width = sum(widths[-owner.count :], Fraction(0))
            return even("choice", Cost.range_bounded(width)) if width else None
        case Stable():
            return _stable(owner, exact, other)
    return even(type(owner).__name__, owner.loss().person) if any(score_changes(exact, other)) else None


def _noisy(law: Any, steps: list[int]) -> Lost | None:
    moved = [Fraction(abs(step)) for step in steps if step]
    return even("noise", noise_cost(law, moved)) if moved else None


def _flat(exact: Any) -> list[Any]:
    return exact.ravel().tolist() if hasattr(exact, "ravel") else [exact]


def _stable(owner: Stable, exact: Any, other: Any) -> Lost | None:
    (best, lead), (second, after) = (lead_of(one) for one in (exact, other))
    if best != second:
        # Different winners: both leads are small, and either is named by the leak only.
        return Lost("lead", Cost.zero(), Cost.pure(owner.gap_sensitivity / owner.scale))
    return even("lead", Cost.pure(Fraction(abs(lead - after)) / owner.scale)) if lead != after else None


def lead_of(exact: Any) -> tuple[Any, int]:
    """Return the winner and its lead, as the mechanism sees them."""
    if isinstance(exact, Unbounded):
        return _open_winner(exact)
    field = normalise(exact)
    place, lead = field.winner
    return field.name(place), lead


def score_changes(one: Any, two: Any) -> list[int]:
    """Return how far every score moves, over all candidates that either table has."""
    if isinstance(one, StepFunction) and isinstance(two, StepFunction):
        return [two(place) - one(place) for place in sorted({*one.starts, *two.starts})]
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        return [two.get(key, 0) - one.get(key, 0) for key in {*one, *two}]
    if isinstance(one, Unbounded) and isinstance(two, Unbounded):
        return score_changes(one.listed, two.listed)
    first, second = np.asarray(one, object).ravel(), np.asarray(two, object).ravel()
    if len(first) != len(second):
        return [-(10**12), 10**12]  # a list of candidates that differs is told at once
    return [int(after) - int(before) for before, after in zip(first, second, strict=True)]


def ratio(cost: Cost, claim: Cost) -> float:
    """Return which part of a claim a cost is, by the certificate that both have; above 1 it breaks it."""
    if cost.is_zero:
        return 0.0
    if claim.is_zero:
        return float("inf")
    if not isinstance(cost.epsilon, Infinity) and not isinstance(claim.epsilon, Infinity):
        return float(cost.epsilon / claim.epsilon) if claim.epsilon else float("inf")
    return max(_part(cost.tau(order), claim.tau(order)) for order in ORDERS)


def _part(one: Any, other: Any) -> float:
    if isinstance(other, Infinity):
        return 0.0
    if isinstance(one, Infinity):
        return float("inf")
    return float(one / other) if other else float("inf")
