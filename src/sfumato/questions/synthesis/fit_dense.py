"""Engine D: maximum entropy on contrasts of few columns, over all cells at once (post-processing)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, reduce
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.questions.synthesis.evidence import Columns, Evidence
from sfumato.questions.synthesis.standing import Judged
from sfumato.totals.tables.contrasts import Floats

STEPS, LOOK_EVERY = 1500, 10
"""A fit ends when its gradient is small beside the noise, which is looked at now and then, or after so many steps."""
SMALL = 0.05
"""So many deviations of the noise the gradient may have left, as a root of its mean square."""
SLACK_OF_BITS, STEPS_OF_BITS = 1.5, 200
"""Tables of bits alone keep their own room, in deviations, and number of steps: fits to the end were a tenth worse."""
FREE = 1e-3
"""One-way tables are almost unpenalised: shrinking them towards uniform helps nothing."""


@lru_cache(maxsize=256)
def basis(size: int) -> Floats:
    """Return functions of a code, one a row: the constant 1, then contrasts, orthogonal and of mean square 1.

    >>> basis(2).tolist()
    [[1.0, 1.0], [1.0, -1.0]]
    """
    rows = [np.ones(size)]
    for step in range(1, size):
        row = np.zeros(size)
        row[:step], row[step] = 1.0, -float(step)
        rows.append(row * np.sqrt(size / (step * (step + 1))))
    return np.array(rows)


def transform(values: Floats, sizes: tuple[int, ...], *, back: bool = False) -> Floats:
    """Apply the basis along every axis, or its transpose; time cells × sum of the sizes."""
    found = values.reshape(sizes)
    for size in sizes:
        # The axis in front is consumed and comes back last, so that after one round all are in place.
        matrix = basis(size).T if back else basis(size)
        found = (matrix @ found.reshape(size, -1)).T
        found = np.ascontiguousarray(found)
    return found.reshape(sizes)


class _Moments(NamedTuple):
    """The moments of one table: where their parameters stand, what they should be, their noise, their curvature."""

    places: NDArray[np.int64]
    means: Floats
    deviations: Floats
    room: Floats
    curvature: Floats


class DenseFit:
    """Maximum entropy around the product of the one-way tables, with room in proportion to the noise (SY-DENSE).

    log m = Σ log o_a + theta·F - log Z, F being products of contrasts. Minimises log Z - theta·y + Σ room·theta²/2,
    whose gradient is what the model still misses; y are the measured moments, shrunk towards the product as far as
    noise explains them. Time: two transforms a step.
    """

    def __init__(self, evidence: Evidence, judged: Judged, group: Columns, total: float) -> None:
        self.sizes = tuple(evidence.sizes[place] for place in group)
        # A share of nothing at all would be a cell that no evidence can bring back.
        raised = [np.maximum(judged.ones[place], 1 / (2 * total)) for place in group]
        self.ones = [one / one.sum() for one in raised]
        # With one degree of freedom a table there is nothing to shrink, and a start at the even law lets few steps hold
        # the noise of many small tables back.
        self.bits = set(self.sizes) <= {1, 2}
        self.base: Floats = reduce(np.add.outer, [np.log(one) for one in self.ones])
        moments = list(self._moments(evidence, judged, group))
        self.places = np.concatenate([one.places for one in moments])
        self.means = np.concatenate([one.means for one in moments])
        self.deviations = np.concatenate([one.deviations for one in moments])
        self.room = np.concatenate([one.room for one in moments])
        # In units of their own curvature all parameters take steps alike.
        self.scale = 1 / np.sqrt(np.concatenate([one.curvature for one in moments]) + self.room)
        if self.bits:
            self.base = np.zeros_like(self.base)
            self.scale = np.ones_like(self.scale)

    def _moments(self, evidence: Evidence, judged: Judged, group: Columns) -> Iterator[_Moments]:
        at = {place: axis for axis, place in enumerate(group)}
        for axis, place in enumerate(group):
            if self.sizes[axis] > 1 and evidence.one_precisions[place] > 0:
                target = evidence.ones[place] if self.bits else self.ones[axis]
                yield self._moment((axis,), target, evidence.one_precisions[place])
        for columns, standing in judged.tables.items():
            if all(place in at for place in columns):
                axes = tuple(at[place] for place in columns)
                product = reduce(np.multiply.outer, [self.ones[axis] for axis in axes])
                target = evidence.centred[columns][0] if self.bits else product + standing.kept * standing.residual
                yield self._moment(axes, target, evidence.centred[columns][1])

    def _moment(self, axes: Columns, target: Floats, precision: float) -> _Moments:
        inner = tuple(slice(1, None) for _ in axes)
        cells = np.arange(prod(self.sizes), dtype=np.int64).reshape(self.sizes)
        where = cells[tuple(slice(1, None) if axis in axes else 0 for axis in range(len(self.sizes)))].ravel()
        functions = [basis(self.sizes[axis]) for axis in axes]
        mean = reduce(np.multiply.outer, [one @ self.ones[axis] for one, axis in zip(functions, axes, strict=True)])
        square = reduce(
            np.multiply.outer, [one**2 @ self.ones[axis] for one, axis in zip(functions, axes, strict=True)]
        )
        deviations = np.full(where.size, np.sqrt(target.size / precision))
        room = deviations * (SLACK_OF_BITS if self.bits else 1.0) * (FREE if len(axes) == 1 else 1.0)
        curvature = np.maximum(square - mean**2, 0)[inner].ravel()
        return _Moments(where, transform(target, target.shape)[inner].ravel(), deviations, room, curvature)

    def log_weights(self, theta: Floats) -> Floats:
        """Return the unnormalised log-probabilities of all cells."""
        full = np.zeros(prod(self.sizes))
        full[self.places] = theta
        found: Floats = self.base + transform(full, self.sizes, back=True)
        return found

    def objective(self, theta: Floats) -> tuple[float, Floats]:
        """Return the dual objective and its gradient."""
        logs = self.log_weights(theta)
        top = float(logs.max())
        raised = np.exp(logs - top)
        mass = float(raised.sum())
        found = transform(raised / mass, self.sizes).ravel()[self.places]
        value = np.log(mass) + top - theta @ self.means + 0.5 * float(self.room @ (theta * theta))
        return float(value), found - self.means + self.room * theta

    def run(self, progress: Callable[[float], None], steps: int = STEPS) -> Floats:
        """Return the parameters at which the gradient is small beside the noise, or those after so many steps."""
        from scipy.optimize import minimize

        steps = min(steps, STEPS_OF_BITS) if self.bits else steps
        done, left = [0], [np.inf]

        def scaled(theta: Floats) -> tuple[float, Floats]:
            value, gradient = self.objective(self.scale * theta)
            left[0] = float(np.sqrt(np.mean((gradient / self.deviations) ** 2)))
            return value, self.scale * gradient

        def look(_: Floats) -> None:
            done[0] += 1
            progress(max(done[0] / steps, min(1.0, SMALL / left[0])))
            if done[0] % LOOK_EVERY == 0 and left[0] < SMALL and not self.bits:
                raise StopIteration

        options = {"maxiter": steps, "maxfun": 2 * steps, "maxcor": 20, "ftol": 0.0, "gtol": 0.0}
        start = np.zeros(self.means.size)
        found = minimize(scaled, start, jac=True, method="L-BFGS-B", callback=look, options=options)
        return np.asarray(self.scale * found.x, dtype=np.float64)
