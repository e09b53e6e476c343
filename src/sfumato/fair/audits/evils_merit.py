"""Checks that look at merit and at the metric itself: E5, E6, E8 and E9 of the catalogue (FA-AUDIT)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.fair.audits.case import Case
from sfumato.fair.audits.findings import Finding, lacking
from sfumato.fair.audits.nearby import contrast
from sfumato.fair.audits.significance import above, area_under_curve
from sfumato.fair.grid import Floats, Integers
from sfumato.noise import Noise

INVERSION = 0.05
FEWEST_ORDERED = 30
FEWEST_MATCHED = 20
ORDERED = 1000
TOP_MERIT = 0.95
TOKENS = 0.01
OUT_OF_LINE = 0.25
FEWEST_TOKENS = 3
BETTER = 0.01
PROXY = 0.7


def self_fulfilling(case: Case, noise: Noise) -> Finding:
    """E5 asks: are the less qualified chosen within the group, so that the group is bound to fail.

    With a metric, members are compared with similar people outside: a group with other skills may be ordered worse by
    a rule that treats everybody alike.
    """
    if case.merit is None:
        return lacking("E5", "no merit was given; write label='COLUMN', a column of what people deserved")
    members, others = np.flatnonzero(case.inside), np.flatnonzero(~case.inside)
    if case.metric is not None:
        members, others = case.matched.inside, case.matched.outside
        if len(members) < FEWEST_MATCHED:
            return lacking("E5", f"only {len(members)} members of the group have somebody similar outside")
    inside, outside = (_inversions(case, chosen, noise) for chosen in (members, others))
    if min(inside[2], outside[2]) < FEWEST_ORDERED:
        return lacking("E5", "too few pairs of different merit and different treatment within a group")
    more = inside[0] - outside[0]
    return Finding(
        "E5",
        f"Within {case.member} the less deserving of two who are treated differently is preferred in "
        f"{inside[0]:.1%} of cases, among {'similar people of ' if case.metric is not None else ''}{case.others} in "
        f"{outside[0]:.1%}; choosing at random would give 50%.",
        "more inversions of merit", more, INVERSION, above(more, INVERSION, float(np.hypot(inside[1], outside[1]))),
        {"inside": inside[0], "outside": outside[0], **_chosen_merit(case)}, case.member,
    )  # fmt: skip


def _chosen_merit(case: Case) -> dict[str, float]:
    """Return the mean merit of the members who are chosen, and of the best ones if as many were chosen by merit."""
    assert case.merit is not None
    merit, chance = np.sort(case.merit[case.inside])[::-1], case.favourable[case.inside]
    places = max(1, round(float(chance.sum())))
    got = float(chance @ case.merit[case.inside] / max(float(chance.sum()), 1e-12))
    return {"merit_of_chosen": got, "merit_of_best": float(merit[:places].mean())}


def _inversions(case: Case, chosen: Integers, noise: Noise) -> tuple[float, float, int]:
    """Return the share of pairs whose treatment contradicts merit, its jackknife error, and the number of pairs.

    Pairs treated alike say nothing: were they counted, a group that is rarely chosen would seem to be chosen blindly.
    """
    assert case.merit is not None
    if len(chosen) > ORDERED:
        chosen = chosen[np.argsort(noise.uniform(1 << 62, len(chosen)))[:ORDERED]]
    sign = np.sign(np.subtract.outer(case.merit[chosen], case.merit[chosen]))
    sign *= np.sign(np.subtract.outer(case.favourable[chosen], case.favourable[chosen]))
    wrong, ordered = (sign < 0).sum(axis=1), (sign != 0).sum(axis=1)
    total, count = float(wrong.sum()) / 2, float(ordered.sum()) / 2
    if count == 0:
        return 0.0, 0.0, 0
    without = (total - wrong) / np.maximum(count - ordered, 1.0)
    people = len(chosen)
    error = np.sqrt((people - 1) / people * ((without - without.mean()) ** 2).sum())
    return total / count, float(error), int(count)


def reverse_tokenism(case: Case) -> Finding:
    """E6 asks: are a few excellent people outside the group refused, to point at when members are refused.

    A refusal is out of line if people outside the group at the same place are treated better by more than their
    distance. Some are, under every rule that draws or that looks at more than the metric does; so the best are compared
    with people of less merit at the same place. With a label for merit, all who have the better label are the best.
    """
    if case.merit is None:
        return lacking("E6", "no merit was given; write label='COLUMN', a column of what people deserved")
    if case.metric is None:
        return lacking("E6", "a metric is needed to see whether a refusal is out of line")
    outside = ~case.inside
    top = outside & (case.merit >= np.quantile(case.merit[outside], TOP_MERIT))
    lesser = (outside & ~top)[case.near]
    weights = lesser.sum(axis=1)
    compared = np.flatnonzero(top & (weights >= 3))
    if len(compared) < FEWEST_TOKENS:
        return lacking("E6", "too few of the most deserving people outside the group have less deserving people nearby")
    token = _out_of_line(case, outside)
    share = np.zeros(case.size)
    share[compared] = 1 / len(compared)
    near = case.near[compared]
    np.add.at(share, near.ravel(), -(lesser[compared] / weights[compared, None] / len(compared)).ravel())
    effect, error = contrast(share, token.astype(np.float64), case.explained(token.astype(np.float64)))
    count = int(token[compared].sum())
    usual = count / len(compared) - effect
    covered = _covered(case, token & top)
    # Of two labels the better one is above everybody, so a token would 'explain' everything.
    graded = len(np.unique(case.merit)) > 2
    said = f"; they alone would 'explain' {covered:.1%} of the refusals of {case.member}" if graded else ""
    p_value = 1.0 if count < FEWEST_TOKENS else above(effect, TOKENS, error)
    return Finding(
        "E6",
        f"{count / len(compared):.1%} of the {len(compared)} most deserving of {case.others} are refused "
        f"although people like them are not, against {usual:.1%} of the less deserving beside them{said}.",
        "more out-of-line refusals of the best", effect, TOKENS, p_value,
        {"tokens": [] if case.only_decisions else case.rows_of(token & top)[:20].tolist(), "covered": covered},
        case.member,
    )  # fmt: skip


def _out_of_line(case: Case, outside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return who outside the group is refused although their own neighbours outside are not."""
    assert case.metric is not None
    peers = outside[case.near]
    weight = np.maximum(peers.sum(axis=1), 1)
    usual = (case.favourable[case.near] * peers).sum(axis=1) / weight
    everybody = np.repeat(np.arange(case.size), case.near.shape[1])
    far = np.minimum(case.metric.between(everybody, case.near.ravel()), 1.0).reshape(case.near.shape)
    allowed = np.maximum((far * peers).sum(axis=1) / weight, OUT_OF_LINE)
    enough = peers.sum(axis=1) >= 3
    return np.asarray(outside & enough & (case.favourable < 0.5) & (usual - case.favourable > allowed))


def _covered(case: Case, token: NDArray[np.bool_]) -> float:
    """Return the share of refused members whose merit is below a token's: whom a token seems to justify refusing."""
    refused = case.inside & (case.favourable < 0.5)
    if not token.any() or not refused.any() or case.merit is None:
        return 0.0
    return float((case.merit[refused] <= case.merit[token].max()).mean())


def reduced_utility(case: Case) -> Finding:
    """E8 asks: do the features mean something else inside the group, so that one blind rule serves it badly.

    The blind rule may bend: a group elsewhere on a curve has another slope without meaning anything else.
    """
    from scipy.special import chdtrc

    if case.merit is None:
        return lacking("E8", "no merit was given; write label='COLUMN', a column of what people deserved")
    blind = _bent(case)
    turned = case.features * case.inside[:, None]
    left = case.merit - blind @ _fit(blind, case.merit)
    fresh = turned - blind @ _fit(blind, turned)
    fresh = fresh[:, fresh.std(axis=0) > 1e-6]
    spare = case.size - blind.shape[1] - fresh.shape[1]
    if not fresh.shape[1] or spare <= fresh.shape[1]:
        return lacking("E8", "there are too few people for the number of features")
    # A score test that allows everybody a variance of their own: labels have other variances at other places.
    scores = fresh.T @ left
    values, vectors = np.linalg.eigh((fresh * left[:, None] ** 2).T @ fresh)
    kept = values > 1e-9 * values.max(initial=0.0)
    statistic = float((((vectors.T @ scores)[kept] ** 2) / values[kept]).sum())
    after = left - fresh @ _fit(fresh, left)
    total = max(float(((case.merit - case.merit.mean()) ** 2).sum()), 1e-300)
    gained = float(left @ left - after @ after)
    by_chance = float(kept.sum() / spare * (after @ after))
    share = max(0.0, gained - by_chance) / total
    better = _ranking(case, np.hstack([blind, turned])) - _ranking(case, blind)
    return Finding(
        "E8",
        f"A rule that knows the group explains {share:.1%} more of merit, and ranks {case.member} better by "
        f"{better:+.3f} (rank correlation).",
        "merit explained by knowing the group", share, BETTER, float(chdtrc(int(kept.sum()), statistic)),
        {"ranking": better},
    )  # fmt: skip


def _bent(case: Case) -> Floats:
    """Return a constant, the group, all features, the curves of those with many values, and of their best sum."""
    assert case.merit is not None
    ones = np.ones((case.size, 1))
    many = [place for place, values in enumerate(case.features.T) if len(np.unique(values)) > 5]
    # The sum must not know the group: the square of one that does would hold what the group changes.
    blind = np.hstack([ones, case.features])
    best = blind @ _fit(blind, case.merit)
    best = (best - best.mean()) / max(float(best.std()), 1e-9)
    curved = np.hstack([np.clip(case.features[:, many], -6, 6), np.clip(best, -6, 6)[:, None]])
    return np.hstack([ones, case.inside.astype(np.float64)[:, None], case.features, curved**2, curved**3])


def _fit(design: Floats, target: Floats) -> Floats:
    """Return least squares by the normal equations: much quicker than a decomposition for many people."""
    gram = design.T @ design
    return np.linalg.solve(gram + 1e-9 * np.trace(gram) / len(gram) * np.eye(len(gram)), design.T @ target)


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
    area, error = area_under_curve(case.explained(case.inside.astype(np.float64)), case.inside)
    first = np.flatnonzero(case.inside)
    second = np.flatnonzero(~case.inside)
    noise = Noise(insecure_seed=3)
    pick = (first[noise.uniform(len(first), 20_000)], second[noise.uniform(len(second), 20_000)])
    apart = float((case.metric.between(*pick) >= 1).mean())
    return Finding(
        "E9",
        f"Neighbours under the metric guess the group with AUC {area:.2f}; {apart:.0%} of the pairs across the groups "
        "are at distance 1 or more, where nothing is promised.",
        "AUC of the group from neighbours", area, PROXY, above(area, PROXY, error), {"unconstrained": apart},
    )  # fmt: skip
