"""Frequent records of many columns: heavy hitters, succinct histograms, sparse distributions."""

from sfumato.questions.popular.question import Popular
from sfumato.questions.popular.value import SparseDistribution, SuccinctHistogram
from sfumato.totals.column_tree.histogram import Counted, PopularCounts
from sfumato.totals.column_tree.hitters import Found, HeavyHitters
from sfumato.totals.column_tree.planner import plan_hitters, plan_popular
from sfumato.totals.column_tree.points import pure_points, smallest_published
from sfumato.totals.column_tree.tree import ColumnTree, balanced, caterpillar

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
