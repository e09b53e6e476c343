"""Checks of parts of the population: E4 and E7 of the catalogue (FA-AUDIT)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.fair.audits.case import Case
from sfumato.fair.audits.cuts import Leaves, declared_and_features, features, leaves
from sfumato.fair.audits.findings import Finding, oftener
from sfumato.fair.audits.nearby import Slope, slope_of
from sfumato.fair.audits.significance import above
from sfumato.fair.grid import Floats, Integers
from sfumato.noise import Noise

LIFT = 1.25
MEASURE = "lift of the group"
CUT_OFF = 0.5
SURE = 0.05
MOST_COMPARED = 40
COMPARED = 800
OUTSIDERS = 4000
NEAREST = 5
SUBSET_GAP = 0.05
DEPTH = 3
FEWEST_TESTED = 15


def cutting_off(case: Case) -> Finding:
    """E4 asks: is a segment that is refused as a whole a stand-in for the group.

    Segments are declared ones and features, cut once or twice. Both must be sure: that the group's share in the
    segment is lifted, and that its people are refused more than the most similar people outside of it, by more than
    their distance.
    """
    found = leaves(declared_and_features(case), case.size)
    size, rate = found.totals(np.ones(case.size)), float(case.favourable.mean())
    refused = np.flatnonzero(found.totals(case.favourable) <= CUT_OFF * rate * size) if rate > 0 else np.zeros(0, int)
    outcomes = _outcome_lifts(case)
    if not len(refused):
        nothing = "No sizeable segment gets the good outcome less than half as often as everybody."
        return Finding("E4", nothing, MEASURE, 1.0, LIFT, 1.0, {"outcomes": outcomes}, case.member)
    members = found.totals(case.inside.astype(np.float64))[refused]
    lifts, p_values = _lifts(float(case.inside.mean()), size[refused], members)
    p_values = np.minimum(1.0, p_values * found.repeats[refused])
    chosen, p_value = _worst(case, found, refused, lifts, p_values)
    leaf, lift = int(refused[chosen]), float(lifts[chosen])
    mask, name = found.mask(leaf), found.name(leaf)
    short, _ = _shortfall(case, mask)
    beside = (
        "without a metric nobody knows whether similar people outside are too" if case.metric is None
        else f"{max(0.0, short):.3f} less than similar people outside, beyond their distance"
    )  # fmt: skip
    return Finding(
        "E4",
        f"The segment {name} ({int(mask.sum())} people) gets the good outcome in {case.favourable[mask].mean():.1%} of "
        f"cases against {rate:.1%} overall ({beside}), and {case.member} is {lift:.2f} times as frequent there.",
        MEASURE, lift, LIFT, p_value,
        {
            "segment": name, "people": int(mask.sum()), "shortfall": short, "searched": len(found),
            "lift_at_least": _least_lift(case, mask), "outcomes": outcomes,
        },
        case.member,
    )  # fmt: skip


def _outcome_lifts(case: Case) -> list[float]:
    """Return for each outcome how many times their share the group has among those who get it."""
    shares = case.probabilities[case.inside].sum(axis=0) / np.maximum(case.probabilities.sum(axis=0), 1e-12)
    return [float(share) for share in shares / case.inside.mean()]


def _lifts(base: float, size: Floats, members: Floats) -> tuple[Floats, Floats]:
    """Return how much the group's share is lifted in segments, and the p-values of lifts no larger than tolerated."""
    from scipy.special import bdtrc

    least = np.maximum(members, 1.0) - 1.0
    chance = bdtrc(least, np.maximum(size, 1.0).astype(np.int64), min(1.0, LIFT * base))
    return members / size / base, np.where(members > 0, chance, 1.0)


def _least_lift(case: Case, mask: NDArray[np.bool_]) -> float:
    """Return the 95 % lower confidence bound of one segment's lift (Clopper and Pearson's)."""
    from scipy.special import betaincinv

    size, members = int(mask.sum()), int(case.inside[mask].sum())
    return float(betaincinv(members, size - members + 1, SURE) / case.inside.mean()) if members else 0.0


def _worst(case: Case, found: Leaves, refused: Integers, lifts: Floats, p_values: Floats) -> tuple[int, float]:
    """Return the refused segment that is surest a stand-in, and its p-value.

    Only the segments worst off among similar people are compared with those outside, forty at most: the p-values pay
    for all segments that there are, so it is free which of them are looked at.
    """
    left = found.totals(case.unexplained)[refused] / found.totals(np.ones(case.size))[refused]
    order = np.lexsort([left, p_values >= SURE])[:MOST_COMPARED]
    best = (1.0, 0.0, int(np.lexsort([-lifts, p_values])[0]))
    for place in order.tolist():
        if p_values[place] < best[0]:
            leaf = int(refused[place])
            against = _shortfall(case, found.mask(leaf))[1] * float(found.repeats[leaf])
            best = min(best, (min(1.0, max(float(p_values[place]), against)), -float(lifts[place]), place))
    return best[2], best[0]


def _shortfall(case: Case, mask: NDArray[np.bool_]) -> tuple[float, float]:
    """Return how much less a segment gets than the nearest people outside beyond their distance, and its p-value."""
    inside, outside = _even(np.flatnonzero(mask), COMPARED), np.flatnonzero(~mask)
    weights = np.zeros(case.size)
    if case.metric is None:
        allowed = 0.0
        weights[outside] = 1 / len(outside)
    else:
        outside = _even(outside, OUTSIDERS)
        block = case.metric.block(inside, outside)
        count = min(NEAREST, len(outside))
        near = np.argpartition(block, count - 1, axis=1)[:, :count]
        allowed = float(np.minimum(np.take_along_axis(block, near, axis=1), 1.0).mean())
        np.add.at(weights, outside[near].ravel(), 1 / near.size)
    spread = (case.favourable - case.smoothed) ** 2
    expected = float(weights @ case.favourable)
    within = float(spread[inside].mean())
    if case.only_decisions:
        # The segment was chosen because it is refused, so its own spread is too small: take that of its comparators.
        within = max(within, expected * (1 - expected))
    error = float(np.sqrt(weights**2 @ spread + within / len(inside)))
    short = expected - float(case.favourable[inside].mean())
    return short - allowed, above(short, allowed, error)


def _even(members: Integers, most: int) -> Integers:
    if len(members) <= most:
        return members
    return members[np.linspace(0, len(members) - 1, most).astype(np.int64)]


def subset_targeting(case: Case, noise: Noise) -> Finding:
    """E7 asks: is there a part of a group that is treated much worse than the whole group, beside the other one.

    A search on one half of the people chooses the part and the direction; the other half tests it. With a metric, the
    gaps are those among similar people.
    """
    half = noise.uniform(2, case.size) == 1
    chosen, names = _search(case, half)
    measure = "gap beyond the whole"
    if not names:
        return Finding("E7", "No part of the group is treated worse than the whole.", measure, 0.0, SUBSET_GAP, 1.0)
    test, rest = chosen & ~half, ~chosen & ~half
    if min((test & case.inside).sum(), (test & ~case.inside).sum()) < FEWEST_TESTED:
        return Finding("E7", "The parts that stand out are too small to test.", measure, 0.0, SUBSET_GAP, 1.0)
    direction = np.sign(_gap(case, chosen & half).value)
    part, other, whole = (_gap(case, mask) for mask in (test, rest, ~half))
    # The whole is a mean of part and rest, hence this is how far the part lies beyond the whole.
    apart = other.weight / max(part.weight + other.weight, 1e-12)
    effect = float(direction * apart * (part.value - other.value))
    error = float(apart * np.hypot(part.error, other.error))
    return Finding(
        "E7",
        f"Where {' and '.join(names)}, {case.member} gets the good outcome {oftener(part.value)} than "
        f"{case.others} (on people kept aside), against {oftener(whole.value)} overall.",
        measure, effect, SUBSET_GAP, above(effect, SUBSET_GAP, error),
        {"where": names, "gap": part.value, "overall": whole.value, "people": int(test.sum())},
        case.worse_off(part.value),
    )  # fmt: skip


def _search(case: Case, half: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], list[str]]:
    """Return the part where the gap is largest on one half, found by up to three cuts, and the cuts' names."""
    least = max(50, int(0.02 * case.size / 2)) // 2
    segments = features(case)
    chosen, names = np.ones(case.size, dtype=bool), []
    for _ in range(DEPTH):
        best, gain = None, _sure(_gap(case, chosen & half)) + 0.01
        for name, mask in segments:
            candidate = chosen & mask & half
            if min((candidate & case.inside).sum(), (candidate & ~case.inside).sum()) < least:
                continue
            here = _sure(_gap(case, candidate))
            if here > gain:
                best, gain = (name, mask), here
        if best is None:
            break
        chosen = chosen & best[1]
        names.append(best[0])
    return chosen, names


def _sure(gap: Slope) -> float:
    """Return how large a gap surely is: without the error, ever smaller parts would win by chance."""
    return abs(gap.value) - 2 * gap.error


def _gap(case: Case, mask: NDArray[np.bool_]) -> Slope:
    return slope_of(case.unexplained[mask], case.standing[mask])
