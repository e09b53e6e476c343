"""Frequent records of many columns: heavy hitters, succinct histograms, sparse distributions."""

from sfumato.questions.popular.histogram import Counted, PopularCounts
from sfumato.questions.popular.hitters import Found, HeavyHitters
from sfumato.questions.popular.planner import plan_hitters, plan_popular
from sfumato.questions.popular.points import pure_points, smallest_published
from sfumato.questions.popular.question import Popular
from sfumato.questions.popular.tree import ColumnTree, balanced, caterpillar
from sfumato.questions.popular.value import SparseDistribution, SuccinctHistogram

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
