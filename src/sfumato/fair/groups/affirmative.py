"""Fair affirmative action (FA-AFF): the same outcomes for both groups, the metric kept inside each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.fair.grid import Floats, Integers, to_grid_rows
from sfumato.fair.groups.earth import earthmover
from sfumato.fair.mapping.mapping import fair_mapping, solve_problem
from sfumato.fair.mapping.problem import group_share, make_problem, zero_classes
from sfumato.fair.mapping.transport import _emd
from sfumato.fair.metric.base import Metric
from sfumato.fair.pairs.certificate import Certificate, certify
from sfumato.fair.pairs.divergence import divergence_block
from sfumato.words import one_of

EXACT_CELLS = 600
"""The exact program has as many variables as S × T, and rows for pairs of S."""


@dataclass(frozen=True, eq=False)
class AffirmativeMapping:
    """A mapping with parity between two groups that is fair inside each.

    `moved` is how far members of the first group are moved on average, `plain` the earthmover distance that no way can
    beat. `cross` is the mean over S of the worst D_tv(M(x), M(y)) - d(x, y) over T, never above `moved` (F10).
    """

    first: Integers
    second: Integers
    assignment: Floats
    first_probabilities: Floats
    second_probabilities: Floats
    parity: float
    moved: float
    plain: float
    cross: float
    inside_first: Certificate
    inside_second: Certificate
    objective: float


def affirmative_mapping(
    metric: Metric,
    loss: object,
    first: object,
    second: object,
    *,
    at_most: float = 0.0,
    distance: str = "tv",
    method: str = "auto",
    vendor_opinion_on_first: bool = True,
) -> AffirmativeMapping:
    """Move each member of the first group to a distribution over the second, then solve for the second.

    "exact" moves people as little as any such way can, by a linear program over S × T; "fast" blurs S by the
    exponential mechanism and transports that, keeps all promises and scales to thousands. `at_most` is the parity gap
    that is allowed.
    """
    index_one, index_two = two_groups(metric, first, second)
    problem = make_problem(metric, loss, distance)
    inner, outer = metric.subset(index_one), metric.subset(index_two)
    one_of("method", method, ("auto", "exact", "fast"))
    if not 0 <= at_most <= 1:
        raise ParameterError(f"A parity gap lies between 0 and 1, and {at_most} does not.")
    across = metric.block(index_one, index_two)
    assignment = _move(inner, outer, across, at_most=at_most, distance=distance, method=method)
    weight_one, weight_two = problem.weights[index_one], problem.weights[index_two]
    costs = problem.loss[index_two] * weight_two[:, None]
    if vendor_opinion_on_first:
        costs = costs + assignment.T @ (problem.loss[index_one] * weight_one[:, None])
    solved = fair_mapping(outer, costs * len(index_two), distance=distance)
    two = solved.probabilities
    one = assignment @ two
    one = to_grid_rows(one) if distance == "tv" else one
    objective = float((one * problem.costs[index_one]).sum() + (two * problem.costs[index_two]).sum())
    return AffirmativeMapping(
        index_one, index_two, assignment, one, two,
        parity=float(np.abs(one.mean(axis=0) - two.mean(axis=0)).sum() / 2),
        moved=float((assignment * across).sum(axis=1).mean()),
        plain=earthmover(metric, index_one, index_two).value,
        cross=float((divergence_block(one, two, "tv") - across).max(axis=1).mean()),
        inside_first=certify(inner, one, distance),
        inside_second=certify(outer, two, distance),
        objective=objective,
    )  # fmt: skip


def two_groups(metric: Metric, first: object, second: object) -> tuple[Integers, Integers]:
    """Return the members of two groups that do not overlap."""
    one, two = group_share(first, metric.size), group_share(second, metric.size)
    if np.any((one > 0) & (two > 0)):
        raise ParameterError("The two groups overlap; affirmative action needs every person in one of them at most.")
    return np.flatnonzero(one > 0), np.flatnonzero(two > 0)


def _move(inner: Metric, outer: Metric, across: Floats, *, at_most: float, distance: str, method: str) -> Floats:
    if method != "fast":
        try:
            return _exact_move(inner, outer, across, at_most, distance)
        except DomainTooLarge:
            if method == "exact":
                raise
    return _fast_move(inner, across, distance)


def _exact_move(inner: Metric, outer: Metric, across: Floats, at_most: float, distance: str) -> Floats:
    """Minimise the mean way so that S stays Lipschitz and the image is the second group, up to the gap (8.15).

    This is a fair mapping of S whose outcomes are the members of T, whose loss is the way, and whose outcomes together
    have a target. People at distance 0 are one person.
    """
    left, right = zero_classes(inner), zero_classes(outer)
    people, first_of = _sizes(left)
    places, place_of = _sizes(right)
    cells = len(people) * len(places)
    if cells > EXACT_CELLS:
        raise DomainTooLarge(
            f"The exact way has {cells} variables here and takes at most {EXACT_CELLS}; write method='fast'.", "fast"
        )
    target = places / places.sum()
    way = across[np.ix_(first_of, place_of)]
    if len(places) == 1:
        return np.full(across.shape, 1.0 / across.shape[1])
    problem = make_problem(inner.subset(first_of), way, distance, weights=people)
    rows = solve_problem(replace(problem, image=(target, at_most)), method="rows").probabilities
    rows = _within(rows, people / people.sum(), target, at_most)
    return rows[np.ix_(left, right)] / places[right]


def _sizes(classes: Integers) -> tuple[Floats, Integers]:
    return np.bincount(classes).astype(np.float64), np.unique(classes, return_index=True)[1]


def _within(rows: Floats, weights: Floats, target: Floats, at_most: float) -> Floats:
    """Return rows whose image is within the gap of the target, by moving outcomes: post-processing keeps fairness (F3).

    The solver meets the target up to its tolerance; what an image has beyond the gap goes where there is too little.
    """
    image = weights @ rows
    over = np.maximum(image - target, 0.0)
    lack = np.maximum(target - image, 0.0)
    total, missing = float(over.sum()), float(lack.sum())
    if total <= at_most or total == 0.0 or missing == 0.0:  # where nothing lacks, what is over is rounding
        return rows
    # Of what is over, so much must leave; it goes to the targets that lack, in proportion.
    leave = over * (1.0 - at_most / total)
    share = np.where(image > 0, leave / np.maximum(image, 1e-300), 0.0)
    return np.asarray(rows * (1.0 - share) + (rows @ share)[:, None] * (lack / missing))


def _fast_move(inner: Metric, across: Floats, distance: str) -> Floats:
    """Blur S by the exponential mechanism on S, then transport the blurred group onto T: Lipschitz by F3."""
    blur = exponential_rows(inner, np.arange(inner.size), 1.0 if distance == "tv" else 0.5)
    spread = blur.mean(axis=0)
    target = np.full(across.shape[1], 1.0 / across.shape[1])
    plan, _ = _emd(spread, target, np.ascontiguousarray(across))
    mass = plan.sum(axis=1, keepdims=True)
    conditional = np.where(mass > 0, plan / np.maximum(mass, 1e-300), target)
    return blur @ conditional


def exponential_rows(metric: Metric, chosen: Integers, rate: float) -> Floats:
    """Return probabilities proportional to exp(-rate · d(x, y)) over the chosen people."""
    apart = metric.block(slice(None), chosen)
    nearest = np.where(np.isfinite(apart), apart, np.inf).min(axis=1, keepdims=True)
    if not np.all(np.isfinite(nearest)):
        raise ParameterError("Somebody is infinitely far from everybody in the range; add a member of each component.")
    weight = np.exp(-rate * (apart - nearest))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))
