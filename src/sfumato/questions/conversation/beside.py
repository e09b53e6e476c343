"""What a model of the same columns at the same spend would miss, as far as noise goes; from public facts (SY-TALK)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import sqrt

import numpy as np

from sfumato.privacy import REPLACE_ONE, Approximate, Bound, Concentrated, Pure, Relation, Truncated
from sfumato.privacy.calibrate import concentrated_within

TYPICAL, SMOOTHED = 0.4, 0.7
"""Half of the mean size of a normal number, and what a fit leaves of the error of a pair."""
MOST_COLUMNS = 60
"""Of more columns no forecast is made: a conversation about them is another thing than a model of all their pairs."""


def model_error(sizes: Sequence[int], spend: Bound, people: float, rows: int, relation: Relation) -> float | None:
    """Return about the mean total variation that noise brings to tables of up to three columns of a model.

    All one- and two-way tables are measured in contrasts with one noise (SY-RES, SY-LOOK). What no pair shows is left
    out. None where nothing is forecast: a single value in every column, or too many columns.

    >>> round(model_error([8] * 6, Approximate(1, "1e-9"), 50_000, 1, REPLACE_ONE), 3)
    0.018
    """
    wide = [size for size in sizes if size > 1]
    if not wide or len(wide) > MOST_COLUMNS:
        return None
    kept = [1 - 1 / size for size in wide]
    places = list(combinations(range(len(wide)), 2))
    variance = _variance(sum(kept) + sum(kept[a] * kept[b] for a, b in places), len(places) or 1, spend, relation)
    variance *= rows**2
    singles = _held([TYPICAL * sqrt(size * (size - 1) * variance) / people for size in wide])
    if not places:
        return float(singles.mean())
    areas = [(wide[a] * wide[b], (wide[a] - 1) * (wide[b] - 1)) for a, b in places]
    pairs = _held([SMOOTHED * TYPICAL * sqrt(cells * free * variance) / people for cells, free in areas])
    width = min(3, len(wide))
    many = width * (width - 1) / 2
    return float(sqrt(width * np.mean(singles**2) + many * np.mean(pairs**2)))


def _variance(price: float, tables: int, spend: Bound, relation: Relation) -> float:
    """Return the variance of a centred cell where all contrasts have the same; a replaced row moves two cells."""
    moved = 2 if relation is REPLACE_ONE else 1
    match spend:
        case Pure():
            return 2 * (moved * tables / float(spend.epsilon)) ** 2
        case Concentrated() | Truncated():
            return moved * price / (2 * float(spend.rho))
        case Approximate():
            return moved * price / (2 * float(concentrated_within(spend.epsilon, spend.delta)))
    raise AssertionError("A conversation has one of these spends.")


def _held(errors: Sequence[float]) -> np.ndarray:
    """Return errors of total variation, which stay below 1."""
    found = np.array(errors)
    return np.asarray(found / (1 + found))
