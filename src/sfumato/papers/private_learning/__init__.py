"""Private learning and sanitization over huge domains: the constructions as they were printed, repaired.

What the product uses of it (thresholds, boxes, quasi-concave choices, medians) is in the core.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfumato.moved import moved
from sfumato.papers.private_learning.deep_covers import deep_covers
from sfumato.papers.private_learning.faithful_points import SanPoints, san_points
from sfumato.papers.private_learning.faithful_sanitizers import (
    SanThresholds,
    SplitDatabases,
    san_thresholds,
    small_quantiles,
)
from sfumato.papers.private_learning.general_interior import GeneralInterior, general_interior
from sfumato.papers.private_learning.smooth_medians import SmoothMedian, smooth_median

if TYPE_CHECKING:
    from sfumato.papers.private_learning.bit_threshold import BitThreshold
    from sfumato.papers.private_learning.kearns_box import KearnsBox
    from sfumato.papers.private_learning.padded import PaddedClasses

HOMES = {"BitThreshold": "bit_threshold", "KearnsBox": "kearns_box", "PaddedClasses": "padded"}
"""What needs scikit-learn is loaded when it is first used, so that the sanitizers do without it."""


def __getattr__(name: str) -> Any:
    """Load a learner's module when it is first used."""
    if name not in HOMES:
        return moved(__name__, {"Blocks": f"{__name__}.SplitDatabases"})(name)
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "BitThreshold",
    "GeneralInterior",
    "KearnsBox",
    "PaddedClasses",
    "SanPoints",
    "SanThresholds",
    "SmoothMedian",
    "SplitDatabases",
    "deep_covers",
    "general_interior",
    "san_points",
    "san_thresholds",
    "small_quantiles",
    "smooth_median",
]
