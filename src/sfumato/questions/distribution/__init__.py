"""Whole distributions of ordered columns: curves with bands, ranges, quantiles, made-up values."""

from sfumato.questions.distribution.medians import MedianTree
from sfumato.questions.distribution.nodes import NodeTree
from sfumato.questions.distribution.question import Distribution
from sfumato.questions.distribution.value import DistributionEstimate
from sfumato.questions.distribution.windows import RankWindows, rank_windows

__all__ = ["Distribution", "DistributionEstimate", "MedianTree", "NodeTree", "RankWindows", "rank_windows"]
