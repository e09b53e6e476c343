"""The bridge to differential privacy (FA-DP): a private mechanism is a Lipschitz mapping on databases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.errors import ParameterError
from sfumato.fair.grid import Floats
from sfumato.fair.mapping.mapping import FairMapping, fair_mapping
from sfumato.fair.metric.base import Metric
from sfumato.privacy import Pure


@dataclass(frozen=True, eq=False)
class PrivateMechanism:
    """The best epsilon-private mechanism for one loss and prior, and how it compares with the discrete Laplace one.

    Row s of `probabilities` is the law of the answer in state s. `objective` is its expected loss, `geometric` that of
    the discrete Laplace mechanism clamped to the states, and `post_processed` that of the same with every answer
    replaced by the best one given it.
    """

    mapping: FairMapping
    probabilities: Floats
    objective: float
    geometric: float
    post_processed: float


def optimal_dp_mechanism(
    states: int, epsilon: Pure, loss: object, *, prior: object = None, adjacency: object = None
) -> PrivateMechanism:
    """Return the epsilon-private mechanism of least expected loss on a small space of states.

    By default the states are counts 0 … states - 1, adjacent when they differ by one; `adjacency` is a symmetric 0/1
    matrix for other graphs. `loss[s, a]` is the loss of answering a in state s. Distances are epsilon times the
    number of steps in the graph, so rows for adjacent states would suffice (F12).

    >>> from fractions import Fraction
    >>> best = optimal_dp_mechanism(3, Pure(1), np.abs(np.subtract.outer(np.arange(3), np.arange(3))))
    >>> best.mapping.certificate.ok, round(best.objective - best.post_processed, 6)
    (True, 0.0)
    """
    if not isinstance(epsilon, Pure):
        raise ParameterError("epsilon must be a bound; write for example Pure(1).")
    steps = _steps(states, adjacency)
    size = float(epsilon.epsilon)
    weights = np.full(states, 1.0 / states) if prior is None else np.asarray(prior, dtype=np.float64)
    # Rounding distances down to the grid is stricter, hence safe.
    metric = Metric.from_matrix(np.floor(steps * size * 2.0**30) / 2.0**30, repair=True)
    mapping = fair_mapping(metric, loss, distance="inf", weights=weights)
    losses = mapping.problem.costs
    plain = _geometric(states, size) if adjacency is None else np.full((states, losses.shape[1]), np.nan)
    geometric = float((plain * losses).sum()) if plain.shape == losses.shape else float("nan")
    best = float((plain.T @ losses).min(axis=1).sum()) if len(plain) == len(losses) else float("nan")
    return PrivateMechanism(mapping, mapping.probabilities, mapping.objective, geometric, best)


def _steps(states: int, adjacency: object) -> Floats:
    from scipy.sparse.csgraph import shortest_path

    if states < 2:
        raise ParameterError("A mechanism needs at least two states to tell apart.")
    if adjacency is None:
        return np.abs(np.subtract.outer(np.arange(states), np.arange(states))).astype(np.float64)
    graph = np.asarray(adjacency)
    if graph.shape != (states, states) or not np.array_equal(graph, graph.T):
        raise ParameterError(f"adjacency must be a symmetric {states} × {states} matrix of 0 and 1.")
    return np.asarray(shortest_path(graph != 0, unweighted=True), dtype=np.float64)


def _geometric(states: int, epsilon: float) -> Floats:
    """Return the law of a count plus discrete Laplace noise, clamped to the states."""
    ratio = np.exp(-epsilon)
    apart = np.abs(np.subtract.outer(np.arange(states), np.arange(states)))
    rows = (1 - ratio) / (1 + ratio) * ratio**apart
    ends = ratio ** np.arange(states) / (1 + ratio)
    rows[:, 0], rows[:, -1] = ends, ends[::-1]
    return np.asarray(rows)
