"""Private learning and sanitization over huge domains: the constructions as they were printed, repaired.

What the product uses of it (thresholds, boxes, quasi-concave choices, medians) is in the core.
"""

from sfumato.papers.private_learning.deep_covers import deep_covers
from sfumato.papers.private_learning.faithful_points import SanPoints, san_points
from sfumato.papers.private_learning.faithful_sanitizers import SanThresholds, san_thresholds, small_quantiles
from sfumato.papers.private_learning.general_interior import GeneralInterior, general_interior
from sfumato.papers.private_learning.smooth_medians import SmoothMedian, smooth_median

__all__ = [
    "GeneralInterior",
    "SanPoints",
    "SanThresholds",
    "SmoothMedian",
    "deep_covers",
    "general_interior",
    "san_points",
    "san_thresholds",
    "small_quantiles",
    "smooth_median",
]
