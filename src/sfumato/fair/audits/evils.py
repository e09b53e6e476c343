"""Checks of individual and segment treatment: E1 to E4 of the catalogue (FA-AUDIT)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.fair.audits.case import Case
from sfumato.fair.audits.findings import Finding, lacking
from sfumato.fair.audits.significance import (
    above,
    area_under_curve,
    cross_fitted,
    permutation_difference,
    permutation_slope,
)
from sfumato.fair.grid import Floats, Integers
from sfumato.fair.metric.points import PointMetric
from sfumato.fair.people import column, column_names, is_numeric
from sfumato.noise import Noise

MATCH_RADIUS = 0.1
SMALL = 0.02
LIFT = 1.25
CUT_OFF = 0.5
SMALLEST_SEGMENT = 30


def blatant(case: Case) -> Finding:
    """E1 asks: does the protected attribute itself change the outcome."""
    if case.model is not None and case.protected_column is not None:
        flipped = _flip(case)
        if flipped is not None:
            mean, largest = float(flipped.mean()), float(flipped.max())
            return Finding(
                "E1",
                f"Exchanging the protected value alone moves the outcome by {mean:.3f} on average, "
                f"{largest:.3f} at most.",
                "mean change of the outcome", mean, SMALL, 0.0 if mean > SMALL else 1.0, {"largest": largest},
            )  # fmt: skip
    if case.metric is None:
        return lacking("E1", "the model does not take the protected attribute, and matching people needs a metric")
    return _matched(case)


def _flip(case: Case) -> Floats | None:
    """Return how much outcomes change when everybody's protected value is exchanged, if the model reads it."""
    assert case.model is not None
    name = case.protected_column
    if not hasattr(case.people, "columns") or not hasattr(case.people, "assign"):
        return None
    values = column(case.people, name)  # type: ignore[arg-type]
    inside, outside = values[case.inside][0], values[~case.inside][0]
    turned = case.people.assign(**{str(name): np.where(case.inside, outside, inside)})
    changed = case.model(turned)
    if changed.ndim == 1:
        changed = np.stack([1 - changed, changed], axis=1)
    return np.asarray(np.abs(changed - case.probabilities).sum(axis=1) / 2)


def _matched(case: Case) -> Finding:
    first, second, apart = match(case)
    if len(first) < SMALLEST_SEGMENT:
        return lacking("E1", f"only {len(first)} pairs across the groups are within {MATCH_RADIUS} of each other")
    difference = case.favourable[first] - case.favourable[second]
    error = float(difference.std(ddof=1) / np.sqrt(len(difference)))
    allowed = float(apart.mean())
    mean = float(difference.mean())
    return Finding(
        "E1",
        f"{len(first)} matched pairs, {apart.mean():.3f} apart on average: the protected one gets the good outcome "
        f"{abs(mean):.3f} {'less' if mean < 0 else 'more'} often.",
        "mean difference of matched pairs", abs(mean), max(SMALL, allowed), above(abs(mean), allowed, error),
        {"pairs": len(first), "difference": mean},
    )  # fmt: skip


def match(case: Case) -> tuple[Integers, Integers, Floats]:
    """Return pairs across the groups, each person in one pair at most, nearest first, within the radius."""
    from scipy.spatial import cKDTree

    inside, outside = np.flatnonzero(case.inside), np.flatnonzero(~case.inside)
    metric = case.metric
    assert metric is not None
    if isinstance(metric, PointMetric):
        power = {"sum": 1.0, "euclidean": 2.0, "largest": np.inf}[metric.norm]
        count = min(8, len(outside))
        apart, place = cKDTree(metric.coordinates[outside]).query(metric.coordinates[inside], k=count, p=power)
        apart, place = apart.reshape(len(inside), -1), place.reshape(len(inside), -1)
    else:
        block = metric.block(inside, outside)
        place = np.argsort(block, axis=1)[:, :8]
        apart = np.take_along_axis(block, place, axis=1)
    taken: set[int] = set()
    used: set[int] = set()
    pairs: list[tuple[int, int, float]] = []
    for flat in np.argsort(apart, axis=None, kind="stable").tolist():
        row, rank = divmod(flat, apart.shape[1])
        if apart[row, rank] > MATCH_RADIUS:
            break
        other = int(place[row, rank])
        if row not in used and other not in taken:
            used.add(row)
            taken.add(other)
            pairs.append((int(inside[row]), int(outside[other]), float(apart[row, rank])))
    if not pairs:
        none = np.zeros(0, dtype=np.int64)
        return none, none, np.zeros(0)
    first, second, far = zip(*pairs, strict=True)
    return np.array(first), np.array(second), np.array(far)


def redundant_encoding(case: Case, noise: Noise) -> Finding:
    """E2 asks: do other features stand in for the protected one, beyond what the metric explains."""
    area, _ = area_under_curve(cross_fitted(case.features, case.inside.astype(np.float64)), case.inside)
    gap = abs(float(case.favourable[case.inside].mean() - case.favourable[~case.inside].mean()))
    if case.metric is None:
        return lacking("E2", f"a metric is needed to say what part of the gap {gap:.3f} similarity explains")
    residual = case.favourable - case.smoothed
    left = float(residual[case.inside].mean() - residual[~case.inside].mean())
    return Finding(
        "E2",
        f"The outcome tells the groups apart by {gap:.3f}; {abs(left):.3f} of it is not explained by similar people. "
        f"The features guess the group with AUC {area:.2f}.",
        "gap that similar people do not explain", abs(left), SMALL,
        permutation_difference(residual, case.inside, noise),
        {"gap": gap, "auc": area, "unexplained": left},
    )  # fmt: skip


def redlining(case: Case, noise: Noise) -> Finding:
    """E3 asks: are segments where the protected group lives treated worse than similar people elsewhere."""
    if case.segments is None:
        return lacking("E3", "no segments were given; write segments='zip_code'")
    if case.metric is None:
        return lacking("E3", "a metric is needed to find similar people elsewhere")
    labels, codes = np.unique(case.segments, return_inverse=True)
    if len(labels) < 5:
        return lacking("E3", f"there are only {len(labels)} segments, too few for a slope")
    elsewhere = codes[case.near] != codes[:, None]
    total = elsewhere.sum(axis=1)
    reference = (case.favourable[case.near] * elsewhere).sum(axis=1) / np.maximum(total, 1)
    known = total > 0
    count = np.bincount(codes[known], minlength=len(labels)).astype(np.float64)
    residual = np.bincount(codes[known], (case.favourable - reference)[known], len(labels)) / np.maximum(count, 1)
    share = np.bincount(codes, case.inside, len(labels)) / np.bincount(codes)
    slope, p_value = permutation_slope(share, residual, count, noise)
    worst = np.argsort(residual)[:5]
    return Finding(
        "E3",
        f"From a segment without the protected group to one with nobody else, the good outcome changes by {slope:+.3f} "
        "against similar people elsewhere.",
        "loss over the range of segments", max(0.0, -slope), SMALL, p_value if slope < 0 else 1.0,
        {"slope": slope, "worst": [str(labels[place]) for place in worst]},
    )  # fmt: skip


def cutting_off(case: Case) -> Finding:
    """E4 asks: is a segment that is refused as a whole a stand-in for the protected group."""
    rate, base = float(case.favourable.mean()), float(case.inside.mean())
    best: tuple[float, float, str, int] | None = None
    smallest = 1.0
    candidates = list(_segments(case))
    for name, mask in candidates:
        size = int(mask.sum())
        if size < max(SMALLEST_SEGMENT, 0.01 * case.size) or size == case.size:
            continue
        refused = float(case.favourable[mask].mean())
        if rate <= 0 or refused > CUT_OFF * rate:
            continue
        share = float(case.inside[mask].mean())
        lift = share / base
        error = np.sqrt(base * (1 - base) / size) / base
        p_value = min(1.0, above(lift, 1.0, float(error)) * len(candidates))
        if best is None or p_value < smallest or (p_value == smallest and lift > best[0]):
            best, smallest = (lift, refused, name, size), p_value
    if best is None:
        return Finding(
            "E4",
            "No sizeable segment gets the good outcome less than half as often as everybody.",
            "lift",
            1.0,
            LIFT,
            1.0,
        )
    lift, refused, name, size = best
    return Finding(
        "E4",
        f"The segment {name} ({size} people) gets the good outcome in {refused:.1%} of cases against {rate:.1%} "
        f"overall, and holds {lift:.2f} times the protected group's share.",
        "lift of the protected group", lift, LIFT, smallest, {"segment": name, "people": size},
    )  # fmt: skip


def _segments(case: Case) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return declared segments, and the quarters and categories of every feature."""
    found: list[tuple[str, NDArray[np.bool_]]] = []
    if case.segments is not None:
        found += [(f"segment {label}", case.segments == label) for label in np.unique(case.segments)]
    for name in column_names(case.people):
        if name != case.protected_column:
            found += feature_segments(name, column(case.people, name))
    return found


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
