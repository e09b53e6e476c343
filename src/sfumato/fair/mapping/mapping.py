"""The fair mapping: the best probabilities under the metric, with its certificate and its gap (FA-LP)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.errors import ParameterError, warn
from sfumato.fair.caution import FairnessWarning
from sfumato.fair.grid import Floats, Integers
from sfumato.fair.mapping.coin import decide
from sfumato.fair.mapping.exactness import make_exact
from sfumato.fair.mapping.extended import solve_extended
from sfumato.fair.mapping.extension import Interpolation, Landmarks, LipschitzRule, landmark_rate
from sfumato.fair.mapping.firstorder import solve_first_order
from sfumato.fair.mapping.problem import Parity, Problem, contract, make_problem
from sfumato.fair.mapping.rows import SUBSET_OUTCOMES, RowAnswer, solve_rows
from sfumato.fair.mapping.spanner import STRETCH, solve_spanner
from sfumato.fair.mapping.transport import solve_transport
from sfumato.fair.metric.base import Metric
from sfumato.fair.pairs.certificate import Certificate, certify

METHODS = ("auto", "transport", "rows", "first-order", "spanner")
ROW_TOLERANCE = 1e-9
ROW_SIZE = 4000
"""Above so many people × outcomes, with more than four outcomes, the first-order method is quicker."""
COLLAPSED = 1e-6


@dataclass(frozen=True, eq=False)
class FairMapping:
    """Probabilities of outcomes for each person, fair under the metric.

    `objective` is the expected loss and `bound` a proved lower bound of what any fair mapping can reach, so `gap` is at
    most what a better solver could save. `certificate` was computed from the probabilities alone. `constant` and
    `unconstrained` are the losses of treating all alike and of no fairness at all: the price of fairness lies between.
    """

    problem: Problem
    probabilities: Floats
    objective: float
    bound: float
    method: str
    certificate: Certificate
    finished: bool
    _first: Integers
    _second: Integers
    _prices: Floats

    @property
    def gap(self) -> float:
        """Return how far the objective is at most from the optimum."""
        return max(0.0, self.objective - self.bound)

    @property
    def constant(self) -> float:
        """Return the loss of the best distribution that is given to everybody."""
        return float(self.problem.best_constant() @ self.problem.costs.sum(axis=0))

    @property
    def unconstrained(self) -> float:
        """Return the loss if everybody got their cheapest outcome."""
        return float(self.problem.costs.min(axis=1).sum())

    def certify(self) -> Certificate:
        """Check all pairs again, from the probabilities alone."""
        return certify(self.problem.metric, self.probabilities, self.problem.distance)

    def active_pairs(self, most: int = 20) -> list[tuple[int, int, float]]:
        """Return the pairs whose similarity costs most: (person, person, loss saved per unit of distance)."""
        totals: dict[tuple[int, int], float] = {}
        for x, y, price in zip(self._first.tolist(), self._second.tolist(), self._prices.tolist(), strict=True):
            if price > 0:
                key = (min(x, y), max(x, y))
                totals[key] = totals.get(key, 0.0) + price
        ranked = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
        return [(x, y, price) for (x, y), price in ranked[:most]]

    def rule(self) -> LipschitzRule:
        """Return a rule for everybody, Lipschitz over seen and unseen people together (FA-EXT).

        With two outcomes under total variation it agrees with this mapping; else people, seen ones too, are drawn
        from these people as landmarks, and only the rule's own probabilities carry the promise together.
        """
        metric = self.problem.metric
        if self.problem.outcomes == 2 and self.problem.distance == "tv":
            return Interpolation(metric.capped(1.0), self.probabilities[:, 1], float(self.problem.best_constant()[1]))
        return Landmarks(metric, self.probabilities, landmark_rate(self.problem.distance), self.problem.distance)

    def predict_proba(self, people: Any) -> Floats:
        """Return the rule's probabilities for people given like those of the metric."""
        return self.rule().probabilities(self.problem.metric.of(people))

    def decide(self, people: Any, key: bytes) -> Integers:
        """Draw decisions with a coin from the key and the features, so that asking twice gives the same."""
        return decide(self.predict_proba(people), people, key)


def fair_mapping(
    metric: Metric,
    loss: object,
    *,
    distance: str = "tv",
    weights: object = None,
    parity: Parity | Sequence[Parity] | None = None,
    capacity: object = None,
    method: str = "auto",
    gap: float = 1e-3,
    stretch: float = STRETCH,
    time_limit: float | None = None,
) -> FairMapping:
    """Return the mapping of least expected loss that treats similar people similarly: D(M(x), M(y)) <= d(x, y).

    `loss[x, a]` is what outcome a costs for person x. Two outcomes under total variation are solved by optimal
    transport; everything else by row generation on HiGHS, or for many outcomes by a first-order method that stops
    at the relative `gap`. `method="spanner"` solves on the edges of a graph whose paths are at most `stretch` times the
    distances, with distances divided by it: fewer rows, fair for all pairs, and dearer by at most (1 - 1/stretch) of
    what treating all alike would cost more (F13, total variation). Every answer is made exactly feasible and certified
    on all pairs without the solver. After `time_limit` seconds the best certified mapping so far is returned, with its
    gap and a warning.

    >>> metric = Metric.from_scores([0.0, 0.5, 1.0])
    >>> best = fair_mapping(metric, [[0, 1], [0, 1], [1, 0]])
    >>> best.probabilities[:, 1], best.objective == best.bound
    (array([0. , 0. , 0.5]), True)
    """
    if method not in METHODS:
        raise ParameterError(f"No method is called {method!r}; write one of {list(METHODS)}.")
    full = make_problem(metric, loss, distance, weights=weights, parity=parity, capacity=capacity)
    if not stretch > 1:
        raise ParameterError(f"stretch must be above 1, and {stretch} is not; write for example stretch=2.")
    return solve_problem(full, method, gap, time_limit, stretch)


def solve_problem(
    full: Problem,
    method: str = "auto",
    gap: float = 1e-3,
    time_limit: float | None = None,
    stretch: float = STRETCH,
) -> FairMapping:
    """Solve a checked program; see `fair_mapping`."""
    metric, distance = full.metric, full.distance
    small, classes = contract(full)
    if distance == "tv":
        small = replace(small, metric=small.metric.capped(1.0))
    deadline = None if time_limit is None else time.monotonic() + time_limit
    solved = _solve(small, _choose(small, method), gap, deadline, stretch)
    probabilities = solved.probabilities[classes]
    certificate = certify(metric, probabilities, distance).require()
    representative = np.unique(classes, return_index=True)[1]
    mapping = FairMapping(
        full, probabilities, full.objective(probabilities), solved.bound, solved.method, certificate, solved.finished,
        representative[solved.first], representative[solved.second], solved.prices,
    )  # fmt: skip
    _warn(mapping)
    return mapping


@dataclass(frozen=True, eq=False)
class _Solved:
    probabilities: Floats
    bound: float
    method: str
    finished: bool
    first: Integers
    second: Integers
    prices: Floats


def _choose(problem: Problem, method: str) -> str:
    binary = problem.outcomes == 2 and problem.distance == "tv" and problem.plain
    if method == "transport" and not binary:
        raise ParameterError(
            'method="transport" is for two outcomes under total variation without parity or capacity; write "auto".'
        )
    if method == "first-order" and (problem.distance != "tv" or not problem.plain):
        raise ParameterError('method="first-order" is for total variation without parity or capacity; write "auto".')
    if method != "auto":
        return method
    if binary:
        return "transport"
    big = problem.outcomes > 4 and problem.people * problem.outcomes > ROW_SIZE // 4
    return "first-order" if problem.distance == "tv" and problem.plain and big else "rows"


def _solve(problem: Problem, method: str, gap: float, deadline: float | None, stretch: float) -> _Solved:
    if method == "transport":
        rows, bound, flow = solve_transport(problem)
        real = (flow.giver >= 0) & (flow.taker >= 0)
        return _Solved(rows, bound, method, True, flow.giver[real], flow.taker[real], flow.amount[real])
    if method == "first-order":
        found = solve_first_order(problem, gap, deadline)
        return _Solved(
            found.probabilities, found.bound, method, found.finished, found.first, found.second, found.prices
        )
    if method == "spanner":
        return _exactly(problem, method, solve_spanner(problem, stretch, ROW_TOLERANCE, deadline))
    many = problem.distance == "tv" and problem.outcomes > SUBSET_OUTCOMES
    return _exactly(problem, method, (solve_extended if many else solve_rows)(problem, ROW_TOLERANCE, deadline))


def _exactly(problem: Problem, method: str, answer: RowAnswer) -> _Solved:
    """Return a solver's answer made exactly fair, or the best constant where that is better."""
    constant = np.tile(problem.best_constant(), (problem.people, 1))
    rows = make_exact(problem, constant if answer.probabilities is None else answer.probabilities)
    if problem.plain or answer.finished:
        candidates = [rows, make_exact(problem, constant)]
        rows = min(candidates, key=problem.objective)
    return _Solved(rows, answer.bound, method, answer.finished, answer.first, answer.second, answer.prices)


def _warn(mapping: FairMapping) -> None:
    if not mapping.finished:
        warn(
            f"The solver stopped before it was done: this mapping is certified fair, and its expected loss is at most "
            f"{mapping.gap:.3g} above the optimum. Allow more time for a smaller gap.",
            FairnessWarning,
        )
    if (
        mapping.problem.parity
        and mapping.constant - mapping.objective < COLLAPSED < mapping.constant - mapping.unconstrained
    ):
        warn(
            "Parity and the metric together leave nothing but one distribution for everybody (FL4); "
            "see affirmative_mapping, which keeps the metric inside each group.",
            FairnessWarning,
        )
