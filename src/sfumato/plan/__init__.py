"""Plans before anything is spent: how many people a task takes, what so many people give, what nobody can do.

Everything here is public arithmetic. No data are read.
"""

from sfumato.moved import uncalled
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

uncalled(
    __name__,
    "write plan.sample_size(plan.LearnThreshold(bits=64), spend=Pure(1), accuracy=0.01), "
    "curator.preview(question, Pure(1)) for a question about your data, or "
    "local.plan(users=100_000, spend=Pure(1), candidates=['red', 'green'])",
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
