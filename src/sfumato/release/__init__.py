"""Questions about a table."""

from sfumato.release.aggregates import Aggregate, Count, Mean, Sum, Variance
from sfumato.release.distribution.question import Distribution
from sfumato.release.geometry.question import Shaped
from sfumato.release.groups import GroupBy, Histogram
from sfumato.release.people import People
from sfumato.release.popular.question import Popular
from sfumato.release.quantiles import Quantiles
from sfumato.release.question import Question, question_from_json
from sfumato.release.synopsis.question import Synopsize
from sfumato.release.synthesis.question import Synthesize
from sfumato.release.workload.question import Answers

__all__ = [
    "Aggregate",
    "Answers",
    "Count",
    "Distribution",
    "GroupBy",
    "Histogram",
    "Mean",
    "People",
    "Popular",
    "Quantiles",
    "Question",
    "Shaped",
    "Sum",
    "Synopsize",
    "Synthesize",
    "Variance",
    "question_from_json",
]
