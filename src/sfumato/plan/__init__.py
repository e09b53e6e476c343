"""Plans before anything is spent: how many people a task takes, what so many people give, what nobody can do.

Everything here is public arithmetic. No data are read.
"""

from sfumato.plan.advice import Comparison, Predicted, SampleSize, compare, sample_size
from sfumato.plan.floors import Impossible
from sfumato.plan.requirement import Requirement
from sfumato.plan.tasks import (
    ChooseBest,
    CountPoints,
    EstimateDistribution,
    EstimateQuantiles,
    FindRecords,
    LearnBox,
    LearnFinite,
    LearnHalfspace,
    LearnLabels,
    LearnPoint,
    LearnThreshold,
    Task,
)

__all__ = [
    "ChooseBest",
    "Comparison",
    "CountPoints",
    "EstimateDistribution",
    "EstimateQuantiles",
    "FindRecords",
    "Impossible",
    "LearnBox",
    "LearnFinite",
    "LearnHalfspace",
    "LearnLabels",
    "LearnPoint",
    "LearnThreshold",
    "Predicted",
    "Requirement",
    "SampleSize",
    "Task",
    "compare",
    "sample_size",
]
