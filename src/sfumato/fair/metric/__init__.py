"""Who is similar to whom: build, check, repair and learn the metric."""

from sfumato.fair.metric.base import Metric
from sfumato.fair.metric.experts import Elicited, LearnedMetric, elicit_metric, learn_from_triplets, learn_metric
from sfumato.fair.metric.matrix import MatrixMetric
from sfumato.fair.metric.points import PointMetric
from sfumato.fair.metric.ranks import assign_counterparts
from sfumato.fair.metric.validation import MetricReport, metric_closure

__all__ = [
    "Elicited",
    "LearnedMetric",
    "MatrixMetric",
    "Metric",
    "MetricReport",
    "PointMetric",
    "assign_counterparts",
    "elicit_metric",
    "learn_from_triplets",
    "learn_metric",
    "metric_closure",
]
