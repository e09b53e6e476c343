"""Checks of individual treatment and of places: E1 to E3 of the catalogue (FA-AUDIT).

Every p-value is that of an effect no larger than tolerated, not of no effect at all.
"""

from __future__ import annotations

import numpy as np

from sfumato.fair.audits.case import Case
from sfumato.fair.audits.findings import Finding, lacking, oftener
from sfumato.fair.audits.nearby import MATCH_RADIUS, slope_of
from sfumato.fair.audits.significance import area_under_curve, beyond, cross_fitted, flipped_below
from sfumato.fair.grid import Floats
from sfumato.fair.people import column
from sfumato.noise import Noise

SMALL = 0.02
FEWEST_PAIRS = 30
FEWEST_SEGMENTS = 5


def blatant(case: Case) -> Finding:
    """E1 asks: does the protected attribute itself change the outcome."""
    if case.model is not None and case.protected_column is not None:
        flipped = _flip(case)
        if flipped is not None:
            moved = np.abs(flipped).sum(axis=1) / 2
            mean, largest = float(moved.mean()), float(moved.max())
            gain = float(np.where(case.inside, -1, 1) @ flipped[:, case.place] / case.size)
            return Finding(
                "E1",
                f"Exchanging the protected value alone moves the outcome by {mean:.3f} on average, {largest:.3f} at "
                f"most; for it {case.member} gets the good one {oftener(gain)} than {case.others}.",
                "mean change of the outcome", mean, SMALL, 0.0 if mean > SMALL else 1.0, {"largest": largest},
                case.worse_off(gain),
            )  # fmt: skip
    if case.metric is None:
        return lacking("E1", "the model does not take the protected attribute, and matching people needs a metric")
    return _matched(case)


def _flip(case: Case) -> Floats | None:
    """Return how everybody's outcomes change when the protected value is exchanged, if the model reads it."""
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
    return np.asarray(changed - case.probabilities)


def _matched(case: Case) -> Finding:
    pairs = case.matched
    if len(pairs) < FEWEST_PAIRS:
        return lacking("E1", f"only {len(pairs)} pairs across the groups are within {MATCH_RADIUS} of each other")
    difference = case.favourable[pairs.inside] - case.favourable[pairs.outside]
    mean, apart = float(difference.mean()), float(pairs.apart.mean())
    error = float(difference.std(ddof=1) / np.sqrt(len(difference)))
    tolerated = max(SMALL, apart)
    return Finding(
        "E1",
        f"{len(pairs)} matched pairs, {apart:.3f} apart on average: {case.member} gets the good outcome "
        f"{oftener(mean)} than {case.others}.",
        "mean difference of matched pairs", abs(mean), tolerated, beyond(mean, tolerated, error),
        {"pairs": len(pairs), "difference": mean}, case.worse_off(mean),
    )  # fmt: skip


def redundant_encoding(case: Case) -> Finding:
    """E2 asks: do other features stand in for the protected one, beyond what the metric explains."""
    gap = abs(float(case.favourable[case.inside].mean() - case.favourable[~case.inside].mean()))
    if case.metric is None:
        return lacking("E2", f"a metric is needed to say what part of the gap {gap:.3f} similarity explains")
    area, _ = area_under_curve(cross_fitted(case.features, case.inside.astype(np.float64)), case.inside)
    left = slope_of(case.unexplained, case.standing)
    return Finding(
        "E2",
        f"The outcome tells the groups apart by {gap:.3f}; among similar people {case.member} gets the good outcome "
        f"{oftener(left.value)} than {case.others}. The other features guess the group with AUC {area:.2f}.",
        "gap that similar people do not explain", abs(left.value), SMALL, beyond(left.value, SMALL, left.error),
        {"gap": gap, "auc": area, "unexplained": left.value}, case.worse_off(left.value),
    )  # fmt: skip


def redlining(case: Case, noise: Noise) -> Finding:
    """E3 asks: are segments where the group lives treated worse than similar people elsewhere."""
    if case.segments is None:
        return lacking("E3", "no segments were given; write segments='COLUMN', a column of places")
    if case.metric is None:
        return lacking("E3", "a metric is needed to find similar people elsewhere")
    labels, codes = np.unique(case.segments, return_inverse=True)
    if len(labels) < FEWEST_SEGMENTS:
        return lacking("E3", f"there are only {len(labels)} segments, too few for a slope")
    share = np.bincount(codes, case.inside, len(labels)) / np.bincount(codes)
    local = share[codes] - case.explained(share[codes])
    slope = slope_of(case.unexplained, local).value
    # People of one segment share its fate, so whole segments are flipped, around a loss as large as tolerated.
    scores = np.zeros(len(labels))
    np.add.at(scores, codes, local * (case.unexplained + SMALL * local))
    count = np.bincount(codes)
    residual = np.bincount(codes, case.unexplained, len(labels)) / count
    worst = np.argsort(np.where(count >= FEWEST_PAIRS, residual, np.inf))[:5]
    return Finding(
        "E3",
        f"From a segment without {case.member} to one with nobody else, the good outcome changes by {slope:+.3f} among "
        "similar people.",
        "loss over the range of segments", max(0.0, -slope), SMALL, flipped_below(scores, noise),
        {"slope": slope, "worst": [str(labels[place]) for place in worst]}, case.member,
    )  # fmt: skip
