"""The upper envelope max over y of (value(y) - d(x, y)): the closed form behind repair and extension.

By blocks where that is cheap; for many points a search tree finds, for each person, the few who can decide the maximum.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np

from sfumato.fair.grid import STEP, Floats, binary_rows
from sfumato.fair.metric.base import Metric
from sfumato.fair.metric.matrix import MatrixMetric
from sfumato.fair.metric.points import PointMetric
from sfumato.fair.pairs.certificate import certify

BLOCK_PAIRS = 30_000_000
"""Up to so many pairs, blocks are quicker than a tree."""
BLOCK_ROWS = 512
LEAF = 12
CHUNK = 4096


def upper_envelope(sources: Metric, values: Floats, queries: Metric) -> Floats:
    """Return max over sources y of values[y] - d(x, y) for each query x.

    >>> from sfumato.fair.metric import Metric
    >>> line = Metric.from_scores([0.0, 0.25, 1.0])
    >>> upper_envelope(line, np.array([1.0, 0.0, 0.5]), line)
    array([1.  , 0.75, 0.5 ])
    """
    small = sources.size * queries.size <= BLOCK_PAIRS
    if small or not isinstance(sources, PointMetric) or not isinstance(queries, PointMetric):
        return _by_blocks(sources, values, queries)
    found = _by_tree(sources, values, queries.coordinates)
    if np.isfinite(sources.cap):
        np.maximum(found, values.max() - sources.cap, out=found)
    return found


def lower_envelope(sources: Metric, values: Floats, queries: Metric) -> Floats:
    """Return min over sources y of values[y] + d(x, y) for each query x."""
    return -upper_envelope(sources, -values, queries)


def settled(metric: Metric, values: Floats) -> Floats:
    """Return the values after enough lower envelopes that no pair is too far apart.

    On a metric one envelope is enough. A large matrix, whose triangles nobody checked, may miss the triangle inequality
    by a last digit, and needs another pass.
    """
    if isinstance(metric, MatrixMetric):
        while not certify(metric, binary_rows(values)).ok:
            values = lower_envelope(metric, values, metric)
    return values


def _by_blocks(sources: Metric, values: Floats, queries: Metric) -> Floats:
    out = np.empty(queries.size)
    for start in range(0, queries.size, BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, queries.size))
        apart = queries.block(rows, other=sources)
        out[rows] = np.subtract(values[None, :], apart, out=np.array(apart)).max(axis=1)
    return out


def _by_tree(sources: PointMetric, values: Floats, queries: Floats) -> Floats:
    # Of people at one point only the largest value counts, and they share one answer.
    places, where = np.unique(sources.coordinates, axis=0, return_inverse=True)
    largest = np.full(len(places), -np.inf)
    np.maximum.at(largest, where.ravel(), values)
    queries, back = np.unique(queries, axis=0, return_inverse=True)
    tree = build_tree(places, largest)
    power = {"sum": 1, "euclidean": 2, "largest": 0}[sources.norm]
    search = _compiled()
    out = np.empty(len(queries))

    def run(start: int) -> None:
        search(*tree, np.ascontiguousarray(queries[start : start + CHUNK]), power, STEP, out[start : start + CHUNK])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run, range(0, len(queries), CHUNK)))
    return out[back.ravel()]


def build_tree(points: Floats, values: Floats) -> tuple[Any, ...]:
    """Return a tree of boxes over points and values: (points, values, low, high, top, left, right, start, stop).

    The value is one more coordinate to split by, because a box is discarded by its largest value as well as by place.
    """
    order = np.arange(len(points))
    both = np.hstack([points, values[:, None]])
    low: list[Floats] = []
    high: list[Floats] = []
    top: list[float] = []
    left: list[int] = []
    right: list[int] = []
    start: list[int] = []
    stop: list[int] = []
    waiting = [(0, len(points), -1, False)]
    while waiting:
        begin, end, parent, is_right = waiting.pop()
        here = both[order[begin:end]]
        node = len(start)
        floor, ceiling = here.min(axis=0), here.max(axis=0)
        low.append(floor[:-1])
        high.append(ceiling[:-1])
        top.append(ceiling[-1])
        start.append(begin)
        stop.append(end)
        left.append(-1)
        right.append(-1)
        if parent >= 0:
            (right if is_right else left)[parent] = node
        axis = int((ceiling - floor).argmax())
        if end - begin > LEAF and ceiling[axis] > floor[axis]:
            half = (end - begin) // 2
            order[begin:end] = order[begin:end][np.argpartition(here[:, axis], half)]
            waiting += [(begin, begin + half, node, False), (begin + half, end, node, True)]
    lists = (np.array(left), np.array(right), np.array(start), np.array(stop))
    return (np.ascontiguousarray(points[order]), values[order], np.array(low), np.array(high), np.array(top), *lists)


@lru_cache(maxsize=1)
def _compiled() -> Any:
    import numba

    # The helpers are compiled under their own names first, because the search refers to them.
    for helper in (_farther, _box_distance):
        globals()[helper.__name__] = numba.njit(nogil=True, cache=True)(helper)
    return numba.njit(nogil=True, cache=True)(_search)


def _farther(apart: float, gap: float, power: int) -> float:
    """Return a distance with the gap along one more axis: added, added squared (power 2), or the larger (power 0)."""
    if power == 1:
        return apart + gap
    if power == 2:
        return apart + gap * gap
    return max(apart, gap)


def _box_distance(low: Any, high: Any, box: int, queries: Any, query: int, power: int) -> float:  # noqa: PLR0917
    """Return the distance from a query to a box, without the certificate's rounding: a lower bound."""
    apart = 0.0
    for axis in range(low.shape[1]):
        gap = max(0.0, low[box, axis] - queries[query, axis], queries[query, axis] - high[box, axis])
        apart = _farther(apart, gap, power)
    return float(np.sqrt(apart)) if power == 2 else apart


def _search(  # noqa: PLR0917
    points: Any, values: Any, low: Any, high: Any, top: Any, left: Any, right: Any, start: Any, stop: Any,
    queries: Any, power: int, step: float, out: Any,
) -> None:  # fmt: skip
    """Fill `out` with the envelope at the queries: depth first, the more promising child first, hopeless boxes cut."""
    dimensions = points.shape[1]
    stack = np.empty(256, dtype=np.int64)
    bounds = np.empty(256)
    for query in range(queries.shape[0]):
        best = -np.inf
        depth = 1
        stack[0], bounds[0] = 0, np.inf
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if bounds[depth] <= best:
                continue
            if left[node] < 0:
                for person in range(start[node], stop[node]):
                    apart = 0.0
                    for axis in range(dimensions):
                        apart = _farther(apart, abs(points[person, axis] - queries[query, axis]), power)
                    if power == 2 and apart > 0:
                        # Two steps less than the certificate's own rounding: never above what it allows.
                        apart = np.ceil(np.sqrt(apart) / step) * step + 2 * step
                    best = max(best, values[person] - apart)
                continue
            first, second = left[node], right[node]
            near = top[first] - _box_distance(low, high, first, queries, query, power)
            far = top[second] - _box_distance(low, high, second, queries, query, power)
            if near < far:
                first, second, near, far = second, first, far, near
            if far > best:
                stack[depth], bounds[depth] = second, far
                depth += 1
            if near > best:
                stack[depth], bounds[depth] = first, near
                depth += 1
        out[query] = best
