"""Look at every pair of people in tiles: the worst treatment of each person, violations by group, the largest ratio.

Nothing of size people² is held. The tiles' arithmetic is the certificate's, whatever solver made the probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from sfumato.fair.grid import Floats, Integers, is_exact
from sfumato.fair.metric.base import Metric
from sfumato.fair.pairs.divergence import divergence_block, divergence_pairs, rounding_factor
from sfumato.fair.pairs.emptiness import nothing_asked
from sfumato.show.progress import tracked

TILE_ROWS = 128
TILE_COLUMNS = 1024


@dataclass
class Scan:
    """What all pairs together show.

    `ratio` is the largest divergence over distance (the Lipschitz constant; infinite where people at distance 0 are
    treated differently). `free` counts the pairs who may be treated in any way. `excess` and `partner` give for each
    person how much more than the distance allows they are treated differently from somebody, and from whom. `by_group`
    counts (pairs, violating pairs) for each unordered pair of groups.
    """

    people: int
    ratio: float = 0.0
    ratio_pair: tuple[int, int] = (0, 0)
    pairs: int = 0
    violating: int = 0
    free: int = 0
    excess: Floats = field(default_factory=lambda: np.zeros(0))
    partner: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    by_group: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    @property
    def worst(self) -> float:
        """Return the largest excess over all pairs; not above 0 if nobody is treated too differently."""
        return float(self.excess.max(initial=-np.inf))


def scan_pairs(
    metric: Metric,
    probabilities: Floats,
    distance: str,
    groups: Integers | None = None,
    tolerated: float = 0.0,
) -> Scan:
    """Return what all pairs show beyond a tolerated difference; time people² / 2, memory of one tile."""
    people = metric.size
    labels = np.zeros(people, dtype=np.int64) if groups is None else groups
    order = np.argsort(labels, kind="stable")
    metric, rows, labels = metric.subset(order), probabilities[order], labels[order]
    factor = rounding_factor(distance, rows.shape[1], is_exact(rows))
    out = Scan(people, excess=np.full(people, -np.inf), partner=np.arange(people))
    seen = _Treatment(metric, rows, distance, factor, tolerated)
    tiles = list(_tiles(labels))
    for left, right in tracked(tiles, "Comparing all pairs", len(tiles)):
        _look(out, seen, left, right, (int(labels[left.start]), int(labels[right.start])))
    return _restore(out, order)


def _tiles(labels: Integers) -> Iterator[tuple[slice, slice]]:
    """Yield tiles that cover every unordered pair once and never mix two groups on one side."""
    edges = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
    rows = [
        slice(start, min(start + TILE_ROWS, end))
        for begin, end in _runs(edges)
        for start in range(begin, end, TILE_ROWS)
    ]
    for left in rows:
        for begin, end in _runs(edges):
            for start in range(max(begin, left.start), end, TILE_COLUMNS):
                yield left, slice(start, min(start + TILE_COLUMNS, end))


def _runs(edges: list[int]) -> list[tuple[int, int]]:
    return [(begin, end) for begin, end in pairwise(edges) if end > begin]


@dataclass(frozen=True, eq=False)
class _Treatment:
    metric: Metric
    rows: Floats
    distance: str
    factor: float
    tolerated: float


def _look(out: Scan, seen: _Treatment, left: slice, right: slice, key: tuple[int, int]) -> None:
    apart = seen.metric.block(left, right)
    treated = divergence_block(seen.rows[left], seen.rows[right], seen.distance)
    if seen.factor != 1.0:
        treated *= seen.factor
    if seen.tolerated:
        np.maximum(np.subtract(treated, seen.tolerated, out=treated), 0.0, out=treated)
    pairs = apart.size
    enough = nothing_asked(seen.distance)
    out.free += int(np.count_nonzero(apart >= enough))
    if right.start < left.stop:
        # The tile meets the diagonal: keep each unordered pair once, by comparing the rest at an infinite distance.
        skip = np.arange(left.start, left.stop)[:, None] >= np.arange(right.start, right.stop)[None, :]
        out.free -= int(np.count_nonzero(apart[skip] >= enough))
        apart = np.where(skip, np.inf, apart)
        treated[skip] = 0.0
        pairs -= int(skip.sum())
    _keep_ratio(out, treated, apart, (left, right))
    with np.errstate(invalid="ignore"):
        over = np.subtract(treated, apart, out=treated)
    if np.isnan(over.max()):
        # Infinite on both sides is no violation: people who are not compared may be treated in any way.
        np.nan_to_num(over, copy=False, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    violating = int(np.count_nonzero(over > 0))
    out.pairs += pairs
    out.violating += violating
    before = out.by_group.get(key, (0, 0))
    out.by_group[key] = (before[0] + pairs, before[1] + violating)
    _keep_partner(out, over, left, right)
    _keep_partner(out, over.T, right, left)


def _keep_ratio(out: Scan, treated: Floats, apart: Floats, tile: tuple[slice, slice]) -> None:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = treated / apart
    place = int(ratio.argmax())
    largest = float(ratio.flat[place])
    if np.isnan(largest):
        # 0/0 and infinity/infinity are pairs without a complaint; argmax stops at them.
        np.nan_to_num(ratio, copy=False, nan=0.0, posinf=np.inf)
        place = int(ratio.argmax())
        largest = float(ratio.flat[place])
    if largest > out.ratio:
        row, column = divmod(place, ratio.shape[1])
        out.ratio, out.ratio_pair = largest, (tile[0].start + row, tile[1].start + column)


def _keep_partner(out: Scan, over: Floats, left: slice, right: slice) -> None:
    place = over.argmax(axis=1)
    value = over[np.arange(len(over)), place]
    better = value > out.excess[left]
    out.excess[left] = np.where(better, value, out.excess[left])
    out.partner[left] = np.where(better, place + right.start, out.partner[left])


def _restore(out: Scan, order: Integers) -> Scan:
    """Return the findings under the people's own numbers."""
    excess, partner = np.empty_like(out.excess), np.empty_like(out.partner)
    excess[order], partner[order] = out.excess, order[out.partner]
    out.excess, out.partner = excess, partner
    out.ratio_pair = (int(order[out.ratio_pair[0]]), int(order[out.ratio_pair[1]]))
    return out


def sampled_excess(
    metric: Metric, probabilities: Floats, distance: str, first: Integers, second: Integers
) -> tuple[Floats, Floats]:
    """Return divergence (rounded outward) and distance of the given pairs."""
    factor = rounding_factor(distance, probabilities.shape[1], is_exact(probabilities))
    treated = divergence_pairs(probabilities[first], probabilities[second], distance) * factor
    return treated, metric.between(first, second)
