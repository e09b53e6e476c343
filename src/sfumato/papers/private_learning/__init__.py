"""Private learning and sanitization over huge domains: the constructions as they were printed, repaired.

What the product recommends of it (thresholds, keys, lists of rules, quasi-concave choices, medians) is in the core. Its
other learners (boxes, private labels, pools, rows released first) are here, and found under `sfumato.learn`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.moved import later
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

HOMES = {
    "BitThreshold": f"{__name__}.bit_threshold",
    "KearnsBox": f"{__name__}.kearns_box",
    "PaddedClasses": f"{__name__}.padded",
}
"""What needs scikit-learn is loaded when it is first used, so that the sanitizers do without it."""

__getattr__, __dir__ = later(__name__, HOMES, {"Blocks": f"{__name__}.SplitDatabases"})

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
