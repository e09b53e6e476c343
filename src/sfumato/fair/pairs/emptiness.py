"""How much of a promise is empty: pairs who may be treated in any way, rules that treat everybody alike (MD-FAIR)."""

from __future__ import annotations

import numpy as np

from sfumato.fair.grid import Floats

MOSTLY_VACUOUS = 0.9


def nothing_asked(distance: str) -> float:
    """Return from which distance on two people may be treated in any way; log ratios have no largest one."""
    return 1.0 if distance == "tv" else np.inf


def said_of_emptiness(vacuous: float) -> str:
    """Return that a promise says almost nothing, and what to write; nothing where it says enough.

    >>> said_of_emptiness(0.5)
    ''
    """
    if vacuous <= MOSTLY_VACUOUS:
        return ""
    return (
        f"For {vacuous:.0%} of pairs of people this metric allows any difference at all, so the promise says almost "
        "nothing; write Metric.typical(X), or smaller weights."
    )


def middle_spread(probabilities: Floats) -> float:
    """Return within how much the chances of the middle half of people lie, of the outcome where that is most.

    >>> middle_spread(np.array([[0.5, 0.5], [0.5, 0.5], [0.0, 1.0], [1.0, 0.0]]))
    0.25
    """
    if not len(probabilities):
        return 0.0
    low, high = np.quantile(probabilities, [0.25, 0.75], axis=0)
    return float((high - low).max(initial=0.0))
