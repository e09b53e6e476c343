"""Whole distributions of ordered columns: curves with bands, ranges, quantiles, made-up values."""

from sfumato.release.distribution.medians import MedianTree
from sfumato.release.distribution.nodes import NodeTree
from sfumato.release.distribution.question import Distribution
from sfumato.release.distribution.value import DistributionEstimate
from sfumato.release.distribution.windows import RankWindows, rank_windows

__all__ = ["Distribution", "DistributionEstimate", "MedianTree", "NodeTree", "RankWindows", "rank_windows"]
