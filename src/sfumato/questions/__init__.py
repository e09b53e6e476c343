"""Questions about a table."""

from sfumato.ask.question import Question, question_from_json
from sfumato.moved import moved
from sfumato.questions.counts.groups import GroupBy, Histogram
from sfumato.questions.counts.people import People
from sfumato.questions.distribution.question import Distribution
from sfumato.questions.group_audit.question import GroupAudit
from sfumato.questions.popular.question import Popular
from sfumato.questions.quantiles import Quantiles
from sfumato.questions.queries.question import Queries
from sfumato.questions.synopsis.question import Synopsize
from sfumato.questions.synthesis.question import Synthesize
from sfumato.totals.aggregates import Aggregate, Count, Mean, Sum, Variance

__all__ = [
    "Aggregate",
    "Count",
    "Distribution",
    "GroupAudit",
    "GroupBy",
    "Histogram",
    "Mean",
    "People",
    "Popular",
    "Quantiles",
    "Queries",
    "Question",
    "Sum",
    "Synopsize",
    "Synthesize",
    "Variance",
    "question_from_json",
]

__getattr__ = moved(__name__, {"Answers": "sfumato.Queries"})
