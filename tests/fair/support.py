"""Small random instances, and answers found in another way than the library finds them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import linprog

from sfumato import fair
from sfumato.noise import Noise


def normal(seed: int, rows: int, columns: int) -> np.ndarray:
    from scipy.special import ndtri

    draws = Noise(insecure_seed=seed).uniform(1 << 50, rows * columns).reshape(rows, columns)
    return ndtri((draws + 0.5) / 2.0**50)


def metric_of(seed: int, people: int, features: int = 3, scale: float = 0.3, norm: str = "sum") -> fair.Metric:
    return fair.Metric.from_features(normal(seed, people, features), [scale] * features, norm=norm)


def all_pairs_program(distances: np.ndarray, costs: np.ndarray, distance: str = "tv") -> float:
    """The fairness program with every row written out, on HiGHS: nothing lazy, nothing clever."""
    people, outcomes = costs.shape
    rows, right = [], []
    for x in range(people):
        for y in range(people):
            if x == y or not np.isfinite(distances[x, y]):
                continue
            if distance == "tv":
                for size in range(1, outcomes):
                    for chosen in combinations(range(outcomes), size):
                        row = np.zeros((people, outcomes))
                        row[x, list(chosen)], row[y, list(chosen)] = 1, -1
                        rows.append(row.ravel())
                        right.append(distances[x, y])
            else:
                for outcome in range(outcomes):
                    row = np.zeros((people, outcomes))
                    row[x, outcome], row[y, outcome] = 1, -np.exp(distances[x, y])
                    rows.append(row.ravel())
                    right.append(0.0)
    equal = np.kron(np.eye(people), np.ones((1, outcomes)))
    limits = {"A_ub": np.array(rows), "b_ub": right} if rows else {}
    return float(linprog(costs.ravel(), A_eq=equal, b_eq=np.ones(people), bounds=(0, 1), **limits).fun)


def exact_violations(distances: np.ndarray, probabilities: np.ndarray) -> int:
    """Count violated pairs in whole numbers: no float takes part in a comparison."""
    units = [[int(value * 2**52) for value in row] for row in probabilities.tolist()]
    assert all(sum(row) == 2**52 for row in units)
    bad = 0
    for x, y in combinations(range(len(units)), 2):
        moved = sum(abs(a - b) for a, b in zip(units[x], units[y], strict=True))
        bad += moved > 2 * int(min(distances[x, y], 2.0) * 2**52)
    return bad
