"""Checks of parts of the population: E4 and E7 of the catalogue (FA-AUDIT)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.fair.audits.case import Case
from sfumato.fair.audits.findings import Finding
from sfumato.fair.audits.nearby import Slope, contrast, slope_of
from sfumato.fair.audits.significance import above
from sfumato.fair.grid import Integers
from sfumato.fair.people import column, column_names, is_numeric
from sfumato.noise import Noise

LIFT = 1.25
CUT_OFF = 0.5
SMALLEST_SEGMENT = 30
COMPARED = 800
OUTSIDERS = 4000
NEAREST = 5
SUBSET_GAP = 0.05
DEPTH = 3
FEWEST_TESTED = 15

Segment = tuple[str, NDArray[np.bool_]]


def cutting_off(case: Case) -> Finding:
    """E4 asks: is a segment that is refused as a whole a stand-in for the protected group.

    Both must be sure: that the group's share in the segment is lifted, and that its people are refused more than the
    most similar people outside of it, by more than their distance.
    """
    rate = float(case.favourable.mean())
    candidates = [
        (name, mask) for name, mask in _segments(case)
        if max(SMALLEST_SEGMENT, 0.01 * case.size) <= mask.sum() < case.size
    ]  # fmt: skip
    best: tuple[float, float, Segment] | None = None
    for name, mask in candidates:
        if rate <= 0 or float(case.favourable[mask].mean()) > CUT_OFF * rate:
            continue
        lift, p_value = _lift(case, mask)
        if p_value * len(candidates) < 1:
            p_value = max(p_value, _shortfall(case, mask)[1])
        p_value = min(1.0, p_value * len(candidates))
        if best is None or (p_value, -lift) < best[:2]:
            best = p_value, -lift, (name, mask)
    if best is None:
        nothing = "No sizeable segment gets the good outcome less than half as often as everybody."
        return Finding("E4", nothing, "lift of the protected group", 1.0, LIFT, 1.0)
    (name, mask), lift = best[2], -best[1]
    short, _ = _shortfall(case, mask)
    beside = (
        "without a metric nobody knows whether similar people outside are too" if case.metric is None
        else f"{max(0.0, short):.3f} less than similar people outside, beyond their distance"
    )  # fmt: skip
    return Finding(
        "E4",
        f"The segment {name} ({int(mask.sum())} people) gets the good outcome in {case.favourable[mask].mean():.1%} of "
        f"cases against {rate:.1%} overall ({beside}), and holds {lift:.2f} times the protected group's share.",
        "lift of the protected group", lift, LIFT, best[0],
        {"segment": name, "people": int(mask.sum()), "shortfall": short},
    )  # fmt: skip


def _lift(case: Case, mask: NDArray[np.bool_]) -> tuple[float, float]:
    """Return how much the group's share is lifted in a segment, and the p-value of a lift no larger than tolerated."""
    from scipy.special import bdtrc

    base, size, members = float(case.inside.mean()), int(mask.sum()), int(case.inside[mask].sum())
    return members / size / base, float(bdtrc(members - 1, size, min(1.0, LIFT * base))) if members else 1.0


def _shortfall(case: Case, mask: NDArray[np.bool_]) -> tuple[float, float]:
    """Return how much less a segment gets than the nearest people outside beyond their distance, and its p-value."""
    inside, outside = np.flatnonzero(mask), np.flatnonzero(~mask)
    weights = np.zeros(case.size)
    if case.metric is None:
        allowed = 0.0
        np.add.at(weights, outside, 1 / len(outside))
    else:
        inside, outside = _even(inside, COMPARED), _even(outside, OUTSIDERS)
        block = case.metric.block(inside, outside)
        count = min(NEAREST, len(outside))
        near = np.argpartition(block, count - 1, axis=1)[:, :count]
        allowed = float(np.minimum(np.take_along_axis(block, near, axis=1), 1.0).mean())
        np.add.at(weights, outside[near].ravel(), 1 / near.size)
    np.add.at(weights, inside, -1 / len(inside))
    estimate, error = contrast(weights, case.favourable, case.smoothed)
    return estimate - allowed, above(estimate, allowed, error)


def _even(members: Integers, most: int) -> Integers:
    if len(members) <= most:
        return members
    return members[np.linspace(0, len(members) - 1, most).astype(np.int64)]


def subset_targeting(case: Case, noise: Noise) -> Finding:
    """E7 asks: is there a part of the protected group that is treated much worse than the whole.

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
        f"Where {' and '.join(names)}, the groups differ by {part.value:+.3f} on people kept aside, "
        f"against {whole.value:+.3f} overall.",
        measure, effect, SUBSET_GAP, above(effect, SUBSET_GAP, error),
        {"where": names, "gap": part.value, "overall": whole.value, "people": int(test.sum())},
    )  # fmt: skip


def _search(case: Case, half: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], list[str]]:
    """Return the part where the gap is largest on one half, found by up to three cuts, and the cuts' names."""
    least = max(50, int(0.02 * case.size / 2)) // 2
    segments = _features(case)
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


def _segments(case: Case) -> list[Segment]:
    """Return declared segments, and the quarters and categories of every feature."""
    if case.segments is None:
        return _features(case)
    return [(f"segment {label}", case.segments == label) for label in np.unique(case.segments)] + _features(case)


def _features(case: Case) -> list[Segment]:
    return [
        part for name in column_names(case.people) if name != case.protected_column
        for part in feature_segments(name, column(case.people, name))
    ]  # fmt: skip


def feature_segments(name: str | int, values: NDArray[Any]) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return the quarters of a number, or the common categories of a text column."""
    if is_numeric(values):
        numbers = values.astype(np.float64)
        cuts = np.unique(np.nanquantile(numbers, [0.25, 0.5, 0.75]))
        return [(f"{name} ≤ {cut:g}", numbers <= cut) for cut in cuts] + [
            (f"{name} > {cut:g}", numbers > cut) for cut in cuts
        ]
    text = np.array([str(value) for value in values.tolist()])
    labels, sizes = np.unique(text, return_counts=True)
    return [(f"{name} = {label}", text == label) for label in labels[np.argsort(-sizes)][:20]]
