"""The nearest point of the answers that distributions over an explicit domain can give."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.workload.workload import Workload

Floats = NDArray[np.float64]

MOST_STEPS = 400
FEWEST_STEPS = 12
WORK = 2**32
"""Steps over large domains are fewer, so that all of them together add up about so many numbers."""

TOGETHER = 8
"""How many corners are taken up in one step: looking for them costs more than adding them."""

LARGEST_ACTIVE = 1_000

MOST_MOVES = 5_000
"""So often weight is moved between two corners, where no active set settles."""


class Hull:
    """The answers of all distributions over the columns of a workload, times the number of people.

    Its corners are the answers of tables in which everybody is in one cell.
    """

    def __init__(self, workload: Workload, total: float) -> None:
        self.workload, self.total = workload, total
        self.columns = workload.columns
        self.shape = workload.space.shape(self.columns)
        self.cells = int(np.prod(self.shape, dtype=np.int64))
        self._axes = [[self.columns.index(name) for name in block.columns] for block in workload.blocks]

    def corner(self, cell: int) -> Floats:
        """Return the answers when everybody is in one cell."""
        place = np.unravel_index(cell, self.shape)
        found = []
        for block, axes in zip(self.workload.blocks, self._axes, strict=True):
            table = np.zeros(block.shape)
            table[tuple(place[axis] for axis in axes)] = self.total
            found.append(block.evaluate(table))
        return np.concatenate(found).astype(np.float64)

    def along(self, direction: Floats) -> Floats:
        """Return the inner product of a direction with every corner, one number for each cell."""
        found = np.zeros(self.shape)
        start = 0
        for block, axes in zip(self.workload.blocks, self._axes, strict=True):
            weights = direction[start : start + block.queries]
            start += block.queries
            arranged = np.argsort(axes)
            wide = [self.shape[axis] if axis in axes else 1 for axis in range(len(self.shape))]
            found += block.transpose(weights).transpose(arranged).reshape(wide)
        return np.asarray(found.ravel() * self.total)


def nearest_exactly(hull: Hull, target: Floats) -> tuple[Floats, float] | None:
    """Return the nearest point of the hull by an active-set method over all corners, and the gap that rounding left.

    None where the active set did not settle: then nothing exact is known, and `frank_wolfe` says how near it comes.
    """
    corners: Floats = hull.workload.matrix().astype(np.float64) * hull.total
    weights = _solved(corners, target)
    if weights is None:
        return None
    found = corners @ weights
    return found, _gap(corners.T @ (target - found), float((target - found) @ found))


def frank_wolfe(hull: Hull, target: Floats, tolerance: float) -> tuple[Floats, float]:
    """Return a point whose squared distance to the target is within a certified gap of the smallest.

    Every step takes up the corners that lie furthest along the residual, and solves exactly over all that were taken
    up and still carry weight. The gap max <residual, corner - point> bounds half of the squared distance that is left,
    and by how much the squared error of all answers together may exceed the bound of the nearest point (PDP-PROJ).
    """
    steps = int(np.clip(WORK // (hull.cells * max(1, len(hull.workload.blocks))), FEWEST_STEPS, MOST_STEPS))
    along = hull.along(target)
    active = _furthest(along, TOGETHER)
    corners = np.stack([hull.corner(cell) for cell in active], axis=1)
    best: tuple[Floats, float] | None = None
    for _ in range(steps):
        weights = _on_simplex(corners, target)
        found = corners @ weights
        residual = target - found
        along = hull.along(residual)
        gap = _gap(along, float(residual @ found))
        if best is None or gap < best[1]:
            best = found, gap
        kept = weights > 0
        known = {cell for cell, carries in zip(active, kept, strict=True) if carries}
        fresh = [cell for cell in _furthest(along, TOGETHER) if cell not in known]
        if gap <= tolerance or not fresh or len(known) > LARGEST_ACTIVE:
            break
        active = [cell for cell, carries in zip(active, kept, strict=True) if carries] + fresh
        corners = np.concatenate([corners[:, kept], np.stack([hull.corner(cell) for cell in fresh], axis=1)], axis=1)
    assert best is not None
    return best


def _on_simplex(corners: Floats, target: Floats) -> Floats:
    """Return weights, at least 0 and of sum 1, for which the mean of the corners is near to the target."""
    weights = _solved(corners, target)
    return _descended(corners, target) if weights is None else weights


def _solved(corners: Floats, target: Floats) -> Floats | None:
    """Return the weights for which the mean of the corners is nearest, None where the active set did not settle.

    With B the corners less the target, |B·s·q|² + (s - 1)² is least at s = 1/(1 + |Bq|²), where it is
    |Bq|²/(1 + |Bq|²): so the weights of a problem without the sum, scaled to sum 1, solve the one with it.
    """
    from scipy.optimize import nnls

    apart = corners - target[:, None]
    scale = max(float(np.sqrt((apart**2).sum(axis=0)).min()), 1e-12)
    apart = apart / scale
    if apart.shape[0] > apart.shape[1]:
        apart = np.asarray(np.linalg.qr(apart, mode="r"))
    system = np.concatenate([apart, np.ones((1, apart.shape[1]))])
    aim = np.zeros(len(system))
    aim[-1] = 1
    try:
        weights, _ = nnls(system, aim, maxiter=30 * system.shape[1])
    except RuntimeError:
        return None
    total = float(weights.sum())
    return np.asarray(weights / total) if total > 0 else None


def _descended(corners: Floats, target: Floats) -> Floats:
    """Return good weights without an active set: weight goes from the worst corner in use to the best, step by step."""
    apart = corners - target[:, None]
    products = apart.T @ apart
    weights = np.full(corners.shape[1], 1 / corners.shape[1])
    slope = products @ weights
    for _ in range(MOST_MOVES):
        best, worst = int(np.argmin(slope)), int(np.argmax(np.where(weights > 0, slope, -np.inf)))
        curve = products[best, best] - 2 * products[best, worst] + products[worst, worst]
        gain = slope[worst] - slope[best]
        if curve <= 0 or gain <= 1e-12 * products[best, best]:
            break
        step = min(weights[worst], gain / curve)
        weights[best] += step
        weights[worst] = weights[worst] - step if step < weights[worst] else 0.0
        slope += step * (products[:, best] - products[:, worst])
    return np.asarray(weights / weights.sum())


def _gap(along: Floats, here: float) -> float:
    return max(0.0, float(along.max()) - here)


def _furthest(along: Floats, count: int) -> list[int]:
    if len(along) <= count:
        return list(range(len(along)))
    found = np.argpartition(along, -count)[-count:]
    return [int(cell) for cell in found[np.argsort(-along[found], kind="stable")]]
