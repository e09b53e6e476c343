"""The error of a model as it was measured: what is stored of a check, its interval, and its words."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import log, sqrt
from typing import Any

import numpy as np

from sfumato.answer import NoisyPart, Released, half_width
from sfumato.questions.synthesis.check import CheckedTables, Raw
from sfumato.questions.synthesis.gather import Gathered

UNKNOWN = 0.2
"""A measured error whose deviation is more than this part of it says little about its size."""
SMALL = 0.25
"""Up to this total variation a bound alone is worth saying."""
PART = "distance of tables of"


def distances_of(mechanism: CheckedTables, raw: Raw) -> list[NoisyPart]:
    """Return the noisy distances of all candidates as they were released, width by width."""
    noisy = np.array(raw[3], dtype=np.int64).reshape(-1, len(mechanism.lists))
    return [
        NoisyPart(f"{PART} {len(listed[0])}", tuple(int(one) for one in noisy[:, place]), mechanism.law(place))
        for place, listed in enumerate(mechanism.lists)
    ]


def stated_error(mechanism: CheckedTables, raw: Raw, gathered: Gathered) -> dict[str, Any]:
    """Return what is stored: the measured mean total variation of each width for the chosen model, and its noise."""
    _, _, place, numbers = raw
    total = gathered.total
    noisy = np.array(numbers, dtype=np.int64).reshape(-1, len(mechanism.lists))
    means = mechanism.means(noisy, total)[place]
    widths = [len(listed[0]) for listed in mechanism.lists]
    check = {
        "means": {str(width): float(mean) for width, mean in zip(widths, means, strict=True)},
        "tables": [len(listed) for listed in mechanism.lists],
        "steps": [2 * mechanism.grid * total * len(listed) for listed in mechanism.lists],
        "deviation": mechanism.deviation(total),
        "rows": gathered.total_deviation / total,
        "numbers": mechanism.models * len(mechanism.lists),
        "chosen": place,
    }
    return {"error": float(np.clip(means[-1], 0, 1)), "check": check}


def stated_interval(released: Released, check: Mapping[str, Any], confidence: Fraction) -> tuple[float, float]:
    """Return between which values the mean total variation of the widest tables lies.

    It holds for all candidates and widths at once, so that choosing among them does not spoil it; where the number of
    rows is private, half of what may fail is kept for its noise, which moves a mean by |n - n'|/(2n') at most.
    """
    width, mean = list(check["means"].items())[-1]
    part = next(one for one in released.parts if one.name == f"{PART} {width}")
    assert part.law is not None
    failing = (1 - confidence) / (2 if check["rows"] else 1)
    noise = half_width(part.law, 1 - failing / check["numbers"]) / check["steps"][-1]
    rows = check["rows"] / 2 * sqrt(2 * log(2 / float(failing))) if check["rows"] else 0.0
    return max(0.0, mean - noise - rows), min(1.0, max(0.0, mean) + noise + rows)


def stated_notes(check: Mapping[str, Any]) -> list[str]:
    """Say what was measured, and where that is too little to know the error."""
    width, mean = list(check["means"].items())[-1]
    count, deviation = check["tables"][-1], check["deviation"]
    spread = sqrt(deviation**2 + (check["rows"] / 2) ** 2)
    tables = f"{count} {'table' if count == 1 else 'tables'} of {width} columns"
    off = min(1.0, max(0.0, mean))  # no total variation lies elsewhere, whatever noise made of it
    most = off + 2 * spread
    if spread > UNKNOWN * off and most <= SMALL:
        return [
            f"Compared with the data, {tables} of the model {_is(count)} off by at most about {most:.1g} in total "
            "variation on average: less than its check can tell from nothing."
        ]
    if spread > UNKNOWN * off:
        return [
            f"The error of this model is not known: its check on {tables} gave {off:.2g} in total variation with "
            f"{_deviation(spread)}; do not read relations between columns from these rows, and spend more to know it."
        ]
    return [
        f"Compared with the data, {tables} of the model {_is(count)} off by {off:.2g} in total "
        f"variation on average, with {_deviation(spread)}."
    ]


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _deviation(spread: float) -> str:
    return "noise wider than its whole range" if spread > 1 else f"a standard deviation of {spread:.2g}"
