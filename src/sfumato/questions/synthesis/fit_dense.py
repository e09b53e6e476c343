"""Engine D: maximum entropy on contrasts of few columns, over all cells at once (post-processing)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.questions.synthesis.contrasts import Floats
from sfumato.questions.synthesis.evidence import Columns, Evidence

MOST_CELLS = 2**18
STEPS = 200
SLACK = 1.5
"""How many deviations of the noise a parameter of size 1 may leave between the model and what was measured."""
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


def _kept(table: Floats, precision: float, freedom: int) -> float:
    """Return by how much to shrink a table that is hardly larger than its noise (James and Stein, positive part)."""
    seen = precision * float((table**2).sum())
    return max(0.0, 1 - max(0, freedom - 2) / seen) if seen > 0 else 0.0


class DenseFit:
    """Minimises log Z(theta) - theta·y + Σ slack·sd·theta²/2: maximum entropy with room in proportion to the noise.

    Each y is a contrast's mean, so theta = 0 is the uniform law. Time: two transforms a step.
    """

    def __init__(self, evidence: Evidence) -> None:
        self.sizes = tuple(evidence.sizes)
        flat: list[Floats] = []
        places: list[NDArray[np.int64]] = []
        room: list[Floats] = []
        cells = np.arange(int(np.prod(self.sizes, dtype=np.int64)), dtype=np.int64).reshape(self.sizes)
        tables: dict[Columns, tuple[Floats, float]] = {**self._ones(evidence), **evidence.centred}
        for columns, (table, precision) in tables.items():
            shape = tuple(self.sizes[place] for place in columns)
            inner = tuple(slice(1, None) for _ in columns)
            where = cells[tuple(slice(1, None) if at in columns else 0 for at in range(len(self.sizes)))]
            means = transform(np.asarray(table, np.float64), shape)[inner]
            means = means * (1.0 if len(columns) == 1 else _kept(table, precision, means.size))
            deviation = float(np.sqrt(np.prod(shape) / precision))
            flat.append(means.ravel())
            places.append(where.ravel())
            penalty = SLACK * deviation * (FREE if len(columns) == 1 else 1.0)
            room.append(np.full(means.size, penalty))
        self.means = np.concatenate(flat) if flat else np.zeros(0)
        self.places = np.concatenate(places).astype(np.int64) if places else np.zeros(0, np.int64)
        self.room = np.concatenate(room) if room else np.zeros(0)

    @staticmethod
    def _ones(evidence: Evidence) -> dict[Columns, tuple[Floats, float]]:
        pairs = enumerate(zip(evidence.ones, evidence.one_precisions, strict=True))
        return {(place,): (table, precision) for place, (table, precision) in pairs if table.size > 1 and precision > 0}

    def log_weights(self, theta: Floats) -> Floats:
        """Return the unnormalised log-probabilities of all cells."""
        full = np.zeros(int(np.prod(self.sizes, dtype=np.int64)))
        full[self.places] = theta
        return transform(full, self.sizes, back=True)

    def objective(self, theta: Floats) -> tuple[float, Floats]:
        """Return the dual objective and its gradient."""
        logs = self.log_weights(theta)
        top = float(logs.max())
        raised = np.exp(logs - top)
        mass = float(raised.sum())
        found = transform(raised / mass, self.sizes).ravel()[self.places]
        value = np.log(mass) + top - theta @ self.means + 0.5 * float(self.room @ (theta * theta))
        return float(value), found - self.means + self.room * theta

    def run(self, progress: Callable[[float], None], start: Floats | None = None, steps: int = STEPS) -> Floats:
        """Return the parameters at the minimum, or near it after so many steps."""
        from scipy.optimize import minimize

        done = [0]

        def count(_: Floats) -> None:
            done[0] += 1
            progress(done[0] / steps)

        first = np.zeros(self.means.size)
        if start is not None:
            first[: start.size] = start
        options = {"maxiter": steps, "maxcor": 20, "ftol": 1e-12, "gtol": 1e-8}
        found = minimize(self.objective, first, jac=True, method="L-BFGS-B", callback=count, options=options)
        return np.asarray(found.x, dtype=np.float64)
