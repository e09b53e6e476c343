"""Measured numbers, and how a model is moved towards them: post-processing, free of charge."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from sfumato.errors import ParameterError
from sfumato.model.factored import Component, Factored
from sfumato.papers.query_release.weights.candidates import Floats

Output = Literal["last", "average", "best_fit"]

FURTHEST = 1.0
"""The most that one Newton step changes a logarithm."""

SETTLED = 1e-3
"""Replay ends when no logarithm changes by more."""


@dataclass(frozen=True)
class Fitting:
    """How a model follows its measurements.

    `step` is the weight of a surprise in the plain update x̂(u) ∝ x̂(u)·exp(step·surprise·f(u)); 4 is the best that is
    proved for one query (QR:C-15), the thesis prints 1/2 and loses the factor f(u) (QR:D4). For whole tables half of it
    is used. `passes` is how often all past measurements are replayed after a round. With a `slack` replay is damped: it
    climbs to the maximum-entropy model in which a query with the parameter theta may miss its measurement by
    slack·theta noise deviations, so that noise is not fitted and nothing diverges; without, it repeats plain updates
    with `replay_step`, and stops early where `stop_at_noise` and every surprise is below the noise.
    `output` is the last model, the average of those before each round, or the one that fits all measurements best.
    """

    step: float = 4.0
    passes: int = 0
    replay_step: float = 2.0
    slack: float | None = None
    stop_at_noise: bool = False
    output: Output = "last"

    def __post_init__(self) -> None:
        if self.output not in ("last", "average", "best_fit"):
            raise ParameterError(f"output must be 'last', 'average' or 'best_fit', not {self.output!r}.")
        if not (0 < self.step < math.inf and 0 < self.replay_step < math.inf):
            raise ParameterError("step and replay_step must be positive numbers; write for example step=4.")
        if not isinstance(self.passes, int) or self.passes < 0:
            raise ParameterError("passes must be a whole number of replays, zero or more; write for example passes=10.")
        if self.slack is not None and not 0 < self.slack < math.inf:
            raise ParameterError("slack must be a positive number, or None for undamped replay.")

    @property
    def damped(self) -> bool:
        """Whether the model is fitted by damped replay instead of single steps."""
        return self.passes > 0 and self.slack is not None


@dataclass(frozen=True)
class Evidence:
    """What is known of one candidate: its columns, its query, the mean of its measurements, their variance.

    `query` is a table of values from 0 to 1, or None for the whole table; `theta` is its parameter in the model.
    """

    columns: tuple[str, ...]
    query: Floats | None
    mean: Floats
    variance: float
    theta: Floats

    @cached_property
    def counting(self) -> bool:
        """Whether the query counts rows: all of its values are 0 or 1."""
        return self.query is not None and bool(np.isin(self.query, (0, 1)).all())

    def again(self, mean: Floats, variance: float) -> Evidence:
        """Return the evidence of both measurements, each weighed by its precision."""
        total = 1 / (1 / self.variance + 1 / variance)
        return replace(self, mean=total * (self.mean / self.variance + mean / variance), variance=total)

    def surprise(self, table: Floats) -> Floats:
        """Return measured less expected; measurements count as probabilities."""
        return np.clip(self.mean, 0, 1) - expected(self.query, table)


def expected(query: Floats | None, table: Floats) -> Floats:
    """Return what a table of probabilities gives for a query, or for each of its cells."""
    return table.ravel() if query is None else np.array([float((query * table).sum())])


def step_towards(model: Factored, batch: Iterable[Evidence], step: float) -> Factored:
    """Return the model after one plain update with every surprise, all measured against the model before it."""
    moved = [(one, one.surprise(model.marginal(one.columns))) for one in batch]
    for one, surprise in moved:
        shape = model.space.shape(one.columns)
        table = step * surprise[0] * one.query if one.query is not None else (step / 2 * surprise).reshape(shape)
        model = model.tilt(one.columns, table)
    return model


def replayed(model: Factored, known: dict[int, Evidence], fitting: Fitting) -> Factored:
    """Return the model after replaying all measurements; each candidate's theta is kept for the next time."""
    for one in known.values():
        model = model.merge(one.columns)
    working = {id(component): _Tensor(component) for component in model.components}
    owner = {name: working[id(component)] for component in model.components for name in component.columns}
    for _ in range(fitting.passes):
        largest = 0.0
        for candidate, one in known.items():
            tensor = owner[one.columns[0]]
            table = tensor.over(one.columns)
            if fitting.slack is None:
                surprise = one.surprise(table)
                largest = max(largest, float(np.abs(surprise).max()) / math.sqrt(one.variance))
                factor = fitting.replay_step * (1.0 if one.query is not None else 0.5)
                change = factor * surprise
            else:
                change = _newton(one, table, fitting.slack * math.sqrt(one.variance))
                largest = max(largest, float(np.abs(change).max()) / SETTLED)
                known[candidate] = replace(one, theta=one.theta + change)
            tensor.tilt(one.columns, change[0] * one.query if one.query is not None else change.reshape(table.shape))
        if largest < 1 and (fitting.slack is not None or fitting.stop_at_noise):
            break
    return replace(model, components=tuple(working[id(component)].component() for component in model.components))


def _newton(one: Evidence, table: Floats, slack: float) -> Floats:
    """Return the change of theta that solves expected + slack·theta = measured, on the small table alone."""
    if one.counting:
        return _logistic(one, float((one.query * table).sum()), slack)  # type: ignore[operator]
    change = np.zeros_like(one.theta)
    tilted = table
    for _ in range(8):
        now = expected(one.query, tilted)
        gap = one.mean - now - slack * (one.theta + change)
        if one.query is not None:
            spread = float((one.query**2 * tilted).sum()) - now[0] ** 2
            move = gap / (max(spread, 0.0) + slack)
        else:
            # The curvature diag(p + slack) - p·pᵀ is inverted by one division (Sherman and Morrison).
            inverse = 1 / (now + slack)
            lifted = float((now * inverse * gap).sum()) / max(1 - float((now**2 * inverse).sum()), 1e-12)
            move = inverse * (gap + now * lifted)
        move = np.clip(move, -FURTHEST, FURTHEST)
        change = change + move
        if float(np.abs(move).max()) < SETTLED / 10:
            break
        tilt = change[0] * one.query if one.query is not None else change.reshape(table.shape)
        tilted = table * np.exp(tilt - tilt.max())
        tilted = tilted / tilted.sum()
    return change


def _logistic(one: Evidence, chance: float, slack: float) -> Floats:
    """Solve the same for a counting query, whose probability alone decides: p·e^c/(1 - p + p·e^c)."""
    start, theta, change = math.log(max(chance, 1e-300) / max(1 - chance, 1e-300)), float(one.theta[0]), 0.0
    for _ in range(16):
        now = 0.5 * (1 + math.tanh((start + change) / 2))
        move = (float(one.mean[0]) - now - slack * (theta + change)) / (now * (1 - now) + slack)
        move = max(-FURTHEST, min(FURTHEST, move))
        change += move
        if abs(move) < SETTLED / 10:
            break
    return np.array([change])


class _Tensor:
    """A component that is changed in place while measurements are replayed."""

    def __init__(self, component: Component) -> None:
        self.before = component
        self.columns = component.columns
        self.logs = component.log_weights.copy()
        self.chances = component.probabilities.copy()
        self.changed = False
        self._axes: dict[tuple[str, ...], tuple[tuple[int, ...], list[int], list[int]]] = {}

    def over(self, columns: tuple[str, ...]) -> Floats:
        """Return the probabilities over some columns, in the order given."""
        rest, order, _ = self._layout(columns)
        return np.transpose(self.chances.sum(axis=rest), order)

    def tilt(self, columns: tuple[str, ...], table: Floats) -> None:
        """Add a table over some columns to the logarithms."""
        _, order, shape = self._layout(columns)
        wide = np.transpose(table, np.argsort(order)).reshape(shape)
        self.logs += wide
        self.chances *= np.exp(wide - wide.max())
        self.chances /= self.chances.sum()
        self.changed = True

    def component(self) -> Component:
        """Return the component as it is now."""
        return Component(self.columns, self.logs - self.logs.max()) if self.changed else self.before

    def _layout(self, columns: tuple[str, ...]) -> tuple[tuple[int, ...], list[int], list[int]]:
        found = self._axes.get(columns)
        if found is None:
            axes = [self.columns.index(name) for name in columns]
            rest = tuple(axis for axis in range(len(self.columns)) if axis not in axes)
            order = [sorted(axes).index(axis) for axis in axes]
            shape = [size if axis in axes else 1 for axis, size in enumerate(self.logs.shape)]
            found = self._axes[columns] = (rest, order, shape)
        return found
