"""Is everybody treated like those who are similar: the Lipschitz audit (FA-LIP)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.fair.grid import Floats, Integers, check_probabilities
from sfumato.fair.metric.base import Metric
from sfumato.fair.pairs.certificate import ALL_PAIRS, SAMPLED, random_pairs
from sfumato.fair.pairs.divergence import check_distance
from sfumato.fair.pairs.emptiness import middle_spread, nothing_asked, said_of_emptiness
from sfumato.fair.pairs.scan import sampled_excess, scan_pairs

ALL_PAIRS_PEOPLE = 60_000
SAMPLED_PAIRS = 1_000_000
DRAWN_PAIRS = 200_000
NEIGHBOURS = 50
WORST = 50
RESOLUTION = 2.0**-29


@dataclass(frozen=True)
class UnfairPair:
    """Two people, how far apart they are, and how differently they are treated."""

    first: int
    second: int
    distance: float
    difference: float

    @property
    def excess(self) -> float:
        """Return how much more differently they are treated than their distance allows."""
        return self.difference - self.distance


@dataclass(frozen=True, eq=False)
class LipschitzReport:
    """How a mapping treats similar people.

    `kappa` is the Lipschitz constant (a lower bound if sampled), `violating` the share of pairs treated more
    differently than their distance, `violating_at_most` its upper confidence bound where pairs were sampled. `worst`
    lists the worst pairs, each person at most once as the first; `excess` and `partner` give everybody's most unfair
    comparison. `ratios` are difference over distance of random pairs, for the picture. `vacuous` is the share of pairs
    who may be treated in any way, `spread` within how much the chances of the middle half of people lie.
    """

    kappa: float
    coverage: str
    pairs: int
    violating: float
    violating_at_most: float
    worst: tuple[UnfairPair, ...]
    excess: Floats
    partner: Integers
    by_group: dict[str, float]
    ratios: Floats
    distance: str
    vacuous: float = 0.0
    spread: float = 0.0

    def empty(self) -> str:
        """Return that the metric asks for almost nothing, in a sentence; nothing where it asks for enough."""
        return said_of_emptiness(self.vacuous)

    def __str__(self) -> str:
        first = (
            f"{self.vacuous:.0%} of pairs may be treated in any way; the middle half of people is treated within "
            f"{self.spread:.3g}."
        )
        found = (
            f"{self.violating:.3%} of pairs are treated more differently than their distance allows ({self.coverage}: "
            f"{self.pairs}; Lipschitz constant {self.kappa:.6g})."
        )
        return " ".join(part for part in (self.empty(), first, found) if part)

    @property
    def ok(self) -> bool:
        """Return whether no pair that was looked at is treated too differently."""
        return self.violating == 0.0


def lipschitz_audit(
    probabilities: object, metric: Metric, *, groups: object = None, distance: str = "tv", tau: float = RESOLUTION
) -> LipschitzReport:
    """Audit a mapping under a metric: on all pairs of up to 60,000 people, else on neighbours and random pairs.

    `tau` is tolerated on top of every distance; by default what rounding to the metric's grid may take away.

    >>> report = lipschitz_audit([0.0, 1.0, 1.0], Metric.from_scores([0.0, 0.5, 1.0]))
    >>> round(report.kappa, 6), report.worst[0].first, report.worst[0].second, report.ok
    (2.0, 0, 1, False)
    """
    check_distance(distance)
    rows = check_probabilities(probabilities, metric.size)
    labels, names = _groups(groups, metric.size)
    first, second = random_pairs(metric.size, DRAWN_PAIRS)
    treated, apart = sampled_excess(metric, rows, distance, first, second)
    treated = np.maximum(treated - tau, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.nan_to_num(treated / apart, nan=0.0, posinf=np.inf)
    if metric.size <= ALL_PAIRS_PEOPLE:
        scan = scan_pairs(metric, rows, distance, labels, tau)
        share = scan.violating / max(1, scan.pairs)
        by_group = {
            _pair_name(names, key): bad / all_ if all_ else 0.0 for key, (all_, bad) in sorted(scan.by_group.items())
        }
        return LipschitzReport(
            scan.ratio, ALL_PAIRS, scan.pairs, share, share, _worst(metric, rows, distance, scan.excess, scan.partner),
            scan.excess, scan.partner, by_group, ratios, distance, scan.free / max(1, scan.pairs), middle_spread(rows),
        )  # fmt: skip
    return _sampled(metric, rows, distance, tau=tau, labels=labels, names=names, ratios=ratios)


def _sampled(
    metric: Metric, rows: Floats, distance: str, *, tau: float, labels: Integers, names: list[str], ratios: Floats
) -> LipschitzReport:
    near = metric.neighbours(NEIGHBOURS)
    first = np.repeat(np.arange(metric.size), near.shape[1])
    second = near.ravel()
    excess, partner = np.full(metric.size, -np.inf), np.arange(metric.size)
    treated, apart = sampled_excess(metric, rows, distance, first, second)
    treated = np.maximum(treated - tau, 0.0)
    over = (treated - apart).reshape(near.shape)
    place = over.argmax(axis=1)
    excess, partner = over[np.arange(metric.size), place], near[np.arange(metric.size), place]
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = float(np.nan_to_num(treated / apart, nan=0.0, posinf=np.inf).max(initial=0.0))
    one, two = random_pairs(metric.size, SAMPLED_PAIRS, insecure_seed=1)
    treated, apart = sampled_excess(metric, rows, distance, one, two)
    treated = np.maximum(treated - tau, 0.0)
    bad = treated > apart
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = max(kappa, float(np.nan_to_num(treated / apart, nan=0.0, posinf=np.inf).max(initial=0.0)))
    by_group = {}
    for key in sorted({(min(a, b), max(a, b)) for a in range(len(names)) for b in range(len(names))}):
        here = (np.minimum(labels[one], labels[two]) == key[0]) & (np.maximum(labels[one], labels[two]) == key[1])
        by_group[_pair_name(names, key)] = float(bad[here].mean()) if here.any() else 0.0
    return LipschitzReport(
        kappa, SAMPLED, len(bad), float(bad.mean()), clopper_pearson_upper(int(bad.sum()), len(bad)),
        _worst(metric, rows, distance, excess, partner), excess, partner, by_group, ratios, distance,
        float((apart >= nothing_asked(distance)).mean()), middle_spread(rows),
    )  # fmt: skip


def clopper_pearson_upper(found: int, count: int, confidence: float = 0.95) -> float:
    """Return an upper confidence bound of a share after `found` of `count`.

    >>> round(clopper_pearson_upper(0, 1000), 6)
    0.002991
    """
    from scipy.special import betaincinv

    return 1.0 if found >= count else float(betaincinv(found + 1, count - found, confidence))


def _worst(metric: Metric, rows: Floats, distance: str, excess: Floats, partner: Integers) -> tuple[UnfairPair, ...]:
    order = np.argsort(-excess, kind="stable")
    order = order[excess[order] > 0]
    found: dict[tuple[int, int], None] = {}
    for person in order.tolist():
        other = int(partner[person])
        found.setdefault((min(person, other), max(person, other)))
        if len(found) == WORST:
            break
    if not found:
        return ()
    first, second = (np.array(side) for side in zip(*found, strict=True))
    treated, apart = sampled_excess(metric, rows, distance, first, second)
    return tuple(
        UnfairPair(int(x), int(y), float(far), float(differ))
        for x, y, far, differ in zip(first, second, apart, treated, strict=True)
    )


def _groups(groups: object, people: int) -> tuple[Integers, list[str]]:
    if groups is None:
        return np.zeros(people, dtype=np.int64), ["all"]
    names, labels = np.unique(np.asarray(groups), return_inverse=True)
    return labels.astype(np.int64), [str(name) for name in names]


def _pair_name(names: list[str], key: tuple[int, int]) -> str:
    return f"{names[key[0]]} × {names[key[1]]}"
