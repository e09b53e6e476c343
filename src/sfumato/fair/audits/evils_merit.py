"""Checks that look at merit, subsets and the metric itself: E5 to E9 of the catalogue (FA-AUDIT)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.fair.audits.case import Case
from sfumato.fair.audits.evils import feature_segments
from sfumato.fair.audits.findings import Finding, lacking
from sfumato.fair.audits.significance import above, area_under_curve
from sfumato.fair.grid import Floats
from sfumato.fair.people import column, column_names
from sfumato.noise import Noise

INVERSION = 0.05
TOP_MERIT = 0.95
TOKENS = 0.01
SUBSET_GAP = 0.05
DEPTH = 3
PROXY = 0.7


def self_fulfilling(case: Case, noise: Noise) -> Finding:
    """E5 asks: are the less qualified chosen within the protected group, so that the group is bound to fail."""
    if case.merit is None:
        return lacking("E5", "no merit was given; write qualification='label'")
    inside = _inversions(case.favourable[case.inside], case.merit[case.inside], noise)
    outside = _inversions(case.favourable[~case.inside], case.merit[~case.inside], noise)
    if min(inside[1], outside[1]) < 30:
        return lacking("E5", "too few pairs of different merit within a group")
    more = inside[0] - outside[0]
    error = float(np.sqrt(sum(max(rate * (1 - rate), 0.01) / count for rate, count in (inside, outside))))
    return Finding(
        "E5",
        f"Within the protected group the less deserving of two is preferred in {inside[0]:.1%} of cases, outside it in "
        f"{outside[0]:.1%}; choosing at random would give 50%.",
        "more inversions of merit", more, INVERSION, above(more, 0.0, error),
        {"inside": inside[0], "outside": outside[0]},
    )  # fmt: skip


def _inversions(scores: Floats, merit: Floats, noise: Noise) -> tuple[float, int]:
    """Return the share of disjoint random pairs whose order by score contradicts merit, and their number."""
    order = np.argsort(noise.uniform(1 << 62, len(scores)))
    half = len(order) // 2
    one, two = order[:half], order[half : 2 * half]
    differ = merit[one] != merit[two]
    sign = np.sign(merit[one] - merit[two])[differ] * np.sign(scores[one] - scores[two])[differ]
    return float((sign < 0).mean() + (sign == 0).mean() / 2) if differ.any() else 0.0, int(differ.sum())


def reverse_tokenism(case: Case) -> Finding:
    """E6 asks: are a few excellent people outside the group refused, to point at when members are refused."""
    if case.merit is None:
        return lacking("E6", "no merit was given; write qualification='label'")
    if case.metric is None:
        return lacking("E6", "a metric is needed to see whether a refusal is out of line")
    outside = ~case.inside
    top = outside & (case.merit >= np.quantile(case.merit[outside], TOP_MERIT))
    peers = outside[case.near]
    weight = peers.sum(axis=1)
    usual = (case.favourable[case.near] * peers).sum(axis=1) / np.maximum(weight, 1)
    metric = case.metric
    far = metric.between(np.repeat(np.arange(case.size), case.near.shape[1]), case.near.ravel()).reshape(
        case.near.shape
    )
    allowed = (far * peers).sum(axis=1) / np.maximum(weight, 1)
    token = top & (weight >= 3) & (case.favourable < 0.5) & (usual - case.favourable > np.maximum(allowed, 0.25))
    count, among = int(token.sum()), int(top.sum())
    share = count / max(1, among)
    error = float(np.sqrt(TOKENS * (1 - TOKENS) / max(1, among)))
    covered = _covered(case, token)
    return Finding(
        "E6",
        f"{count} of the {among} most deserving people outside the group are refused although people like them are "
        f"not; they alone would 'explain' {covered:.1%} of the refusals inside it.",
        "share of out-of-line refusals", share, TOKENS, above(share, TOKENS, error) if count >= 3 else 1.0,
        {"tokens": np.flatnonzero(token)[:20].tolist(), "covered": covered},
    )  # fmt: skip


def _covered(case: Case, token: NDArray[np.bool_]) -> float:
    """Return the share of refused members whose merit is below a token's: whom a token seems to justify refusing."""
    refused = case.inside & (case.favourable < 0.5)
    if not token.any() or not refused.any() or case.merit is None:
        return 0.0
    return float((case.merit[refused] <= case.merit[token].max()).mean())


def subset_targeting(case: Case, noise: Noise) -> Finding:
    """E7 asks: is there a part of the protected group that is treated much worse than the whole."""
    half = noise.uniform(2, case.size) == 1
    least = max(50, int(0.02 * case.size / 2))
    segments = [
        part for name in column_names(case.people) if name != case.protected_column
        for part in feature_segments(name, column(case.people, name))
    ]  # fmt: skip
    chosen = np.ones(case.size, dtype=bool)
    names: list[str] = []
    for _ in range(DEPTH):
        best, gain = None, abs(_gap(case, chosen & half)) + 0.01
        for name, mask in segments:
            candidate = chosen & mask & half
            if min((candidate & case.inside).sum(), (candidate & ~case.inside).sum()) < least // 2:
                continue
            here = abs(_gap(case, candidate))
            if here > gain:
                best, gain = (name, mask), here
        if best is None:
            break
        chosen = chosen & best[1]
        names.append(best[0])
    if not names:
        return Finding(
            "E7", "No part of the group is treated worse than the whole.", "gap beyond the whole", 0.0, SUBSET_GAP, 1.0
        )
    test = chosen & ~half
    if min((test & case.inside).sum(), (test & ~case.inside).sum()) < 2:
        return Finding(
            "E7", "The parts that stand out are too small to test.", "gap beyond the whole", 0.0, SUBSET_GAP, 1.0
        )
    found, whole = abs(_gap(case, test)), abs(_gap(case, ~half))
    error = np.sqrt(
        sum(case.favourable[test & side].var(ddof=1) / (test & side).sum() for side in (case.inside, ~case.inside))
    )
    return Finding(
        "E7",
        f"Where {' and '.join(names)}, the groups differ by {found:.3f} on people kept aside, "
        f"against {whole:.3f} overall.",
        "gap beyond the whole", found - whole, SUBSET_GAP, above(found, whole, float(error)),
        {"where": names, "gap": found, "overall": whole, "people": int(test.sum())},
    )  # fmt: skip


def _gap(case: Case, mask: NDArray[np.bool_]) -> float:
    one, two = mask & case.inside, mask & ~case.inside
    return float(case.favourable[one].mean() - case.favourable[two].mean()) if one.any() and two.any() else 0.0


def reduced_utility(case: Case) -> Finding:
    """E8 asks: do the features mean something else inside the group, so that one blind rule serves it badly."""
    if case.merit is None:
        return lacking("E8", "no merit was given; write qualification='label'")
    inside = case.inside.astype(np.float64)[:, None]
    ones = np.ones((case.size, 1))
    blind = np.hstack([ones, inside, case.features])
    aware = np.hstack([blind, case.features * inside])
    small, large = (_explained(design, case.merit) for design in (blind, aware))
    extra, left = large[1] - small[1], case.size - large[1]
    if extra <= 0 or left <= 0:
        return lacking("E8", "there are too few people for the number of features")
    from scipy.special import fdtrc

    total = float(((case.merit - case.merit.mean()) ** 2).sum())
    ratio = ((small[0] - large[0]) / extra) / max(large[0] / left, 1e-300)
    better = _ranking(case, aware) - _ranking(case, blind)
    share = (small[0] - large[0]) / max(total, 1e-300)
    return Finding(
        "E8",
        f"A rule that knows the group explains {share:.1%} more of merit, and ranks people inside the group better by "
        f"{better:+.3f} (rank correlation).",
        "merit explained by knowing the group", share, 0.01, float(fdtrc(extra, left, max(ratio, 0.0))),
        {"ranking": better},
    )  # fmt: skip


def _fit(design: Floats, target: Floats) -> Floats:
    """Return least squares by the normal equations: much quicker than a decomposition for many people."""
    gram = design.T @ design
    return np.linalg.solve(gram + 1e-9 * np.trace(gram) / len(gram) * np.eye(len(gram)), design.T @ target)


def _explained(design: Floats, target: Floats) -> tuple[float, int]:
    fit = _fit(design, target)
    rank = np.linalg.matrix_rank(design.T @ design, hermitian=True)
    return float(((target - design @ fit) ** 2).sum()), int(rank)


def _ranking(case: Case, design: Floats) -> float:
    from scipy.stats import rankdata

    assert case.merit is not None
    fit = _fit(design, case.merit)
    here = case.inside
    one, two = rankdata(design[here] @ fit), rankdata(case.merit[here])
    return float(np.corrcoef(one, two)[0, 1]) if one.std() > 0 and two.std() > 0 else 0.0


def metric_abuse(case: Case) -> Finding:
    """E9 asks: does the metric itself tell the groups apart, so that fairness under it says little."""
    if case.metric is None:
        return lacking("E9", "no metric was given")
    share = case.inside[case.near].mean(axis=1)
    area, error = area_under_curve(share, case.inside)
    first = np.flatnonzero(case.inside)
    second = np.flatnonzero(~case.inside)
    noise = Noise(insecure_seed=3)
    pick = (first[noise.uniform(len(first), 20_000)], second[noise.uniform(len(second), 20_000)])
    apart = float((case.metric.between(*pick) >= 1).mean())
    return Finding(
        "E9",
        f"Neighbours under the metric guess the group with AUC {area:.2f}; {apart:.0%} of the pairs across the groups "
        "are at distance 1 or more, where nothing is promised.",
        "AUC of the group from neighbours", area, PROXY, above(area, 0.5, error), {"unconstrained": apart},
    )  # fmt: skip
