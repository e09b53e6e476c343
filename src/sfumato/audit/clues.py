"""What an attacker may look at: scores of values, learnt from samples, that tell two inputs apart.

Nothing here is part of a proof. A badly learnt score costs power; whether an event is more likely under one
input is tested afterwards on samples that took no part in learning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Values = Sequence[Hashable]

_CELLS = 100
_COORDINATES = 32
_REPEATED = 20
"""A value is a category if it is seen this often on average."""


@dataclass(frozen=True)
class Clue:
    """A named score; large scores point to the first input, or small ones to the second."""

    name: str
    score: Callable[[Values], Array]


def learn(first: Values, second: Values) -> list[Clue]:
    """Return scores worth testing, from samples of both inputs."""
    clues = []
    seen_first, seen_second = Counter(first), Counter(second)
    if len(seen_first | seen_second) * _REPEATED <= len(first) + len(second):
        clues.append(_categories("the value", seen_first, seen_second, lambda values: values))
    numbers = numeric([*first, *second])
    if numbers is not None:
        half = len(first)
        for name, project in _projections(numbers[:half], numbers[half:]):
            clues += _scalar_clues(name, project, numbers[:half], numbers[half:])
    return clues or [Clue("any value", lambda values: np.zeros(len(values)))]


def numeric(values: Values) -> Array | None:
    """Return values as rows of numbers, or None if they are of another kind or of different lengths."""
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    width = len(rows[0])
    if width == 0 or any(len(row) != width for row in rows):
        return None
    if not all(isinstance(part, (int, float, Fraction)) for row in rows for part in row):
        return None
    return np.array([[float(part) for part in row] for row in rows], dtype=np.float64)


def _categories(name: str, first: Counter[Any], second: Counter[Any], key: Callable[[Any], Any]) -> Clue:
    scores = {value: np.log((first[value] + 1) / (second[value] + 1)) for value in {*first, *second}}
    return Clue(f"the odds by {name}", lambda values: np.array([scores.get(value, 0.0) for value in key(values)]))


def _projections(first: Array, second: Array) -> list[tuple[str, Callable[[Array], Array]]]:
    """Return ways to turn a row of numbers into one."""
    width = first.shape[1]
    if width == 1:
        return [("the value", lambda rows: rows[:, 0])]
    spread = np.var(np.concatenate([first, second]), axis=0) + 1e-12
    weights = (np.mean(first, axis=0) - np.mean(second, axis=0)) / spread
    found: list[tuple[str, Callable[[Array], Array]]] = [
        ("the direction of the means", lambda rows: rows @ weights),
        ("the sum", lambda rows: rows.sum(axis=1)),
        ("the maximum", lambda rows: rows.max(axis=1)),
        ("the minimum", lambda rows: rows.min(axis=1)),
        ("the joint odds of the coordinates", _joint_odds(first, second)),
    ]
    telling = np.argsort(-np.abs(weights))[:_COORDINATES]
    return found + [(f"coordinate {place}", _coordinate(int(place))) for place in telling]


def _coordinate(place: int) -> Callable[[Array], Array]:
    return lambda rows: rows[:, place]


def _joint_odds(first: Array, second: Array) -> Callable[[Array], Array]:
    """Add the log-odds of every coordinate as if they were independent."""
    odds = [_cell_odds(first[:, place], second[:, place]) for place in range(first.shape[1])]
    return lambda rows: np.sum([odd(rows[:, place]) for place, odd in enumerate(odds)], axis=0)


def _cell_odds(first: Array, second: Array) -> Callable[[Array], Array]:
    """Return smoothed log-odds by cells that hold about equally many samples."""
    edges = np.unique(np.quantile(np.concatenate([first, second]), np.linspace(0, 1, _CELLS + 1)[1:-1]))

    def cells(values: Array) -> NDArray[np.intp]:
        return np.searchsorted(edges, values, side="right")

    size = len(edges) + 1
    counts = [np.bincount(cells(values), minlength=size) + 1.0 for values in (first, second)]
    odds = np.log(counts[0] / counts[1])
    return lambda values: np.asarray(odds[cells(values)])


def _scalar_clues(name: str, project: Callable[[Array], Array], first: Array, second: Array) -> list[Clue]:
    odds = _cell_odds(project(first), project(second))

    def plain(values: Values) -> Array:
        rows = numeric(values)
        return np.zeros(len(values)) if rows is None else project(rows)

    return [Clue(name, plain), Clue(f"the odds by {name}", lambda values: odds(plain(values)))]
