"""Frequent records of many columns: heavy hitters, succinct histograms, sparse distributions."""

from sfumato.release.popular.histogram import Counted, PopularCounts
from sfumato.release.popular.hitters import Found, HeavyHitters
from sfumato.release.popular.planner import plan_hitters, plan_popular
from sfumato.release.popular.points import pure_points, smallest_published
from sfumato.release.popular.question import Popular
from sfumato.release.popular.tree import ColumnTree, balanced, caterpillar
from sfumato.release.popular.value import SparseDistribution, SuccinctHistogram

__all__ = [
    "ColumnTree",
    "Counted",
    "Found",
    "HeavyHitters",
    "Popular",
    "PopularCounts",
    "SparseDistribution",
    "SuccinctHistogram",
    "balanced",
    "caterpillar",
    "plan_hitters",
    "plan_popular",
    "pure_points",
    "smallest_published",
]
