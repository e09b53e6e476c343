"""Who is similar to whom: build, check, repair and learn the metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.moved import later

if TYPE_CHECKING:
    from sfumato.fair.metric.base import Metric
    from sfumato.fair.metric.experts import Elicited, LearnedMetric, elicit_metric, learn_from_triplets, learn_metric
    from sfumato.fair.metric.matrix import MatrixMetric
    from sfumato.fair.metric.points import PointMetric
    from sfumato.fair.metric.ranks import assign_counterparts
    from sfumato.fair.metric.validation import MetricReport, metric_closure

__getattr__, __dir__ = later(
    __name__,
    {
        "Elicited": "sfumato.fair.metric.experts",
        "LearnedMetric": "sfumato.fair.metric.experts",
        "MatrixMetric": "sfumato.fair.metric.matrix",
        "Metric": "sfumato.fair.metric.base",
        "MetricReport": "sfumato.fair.metric.validation",
        "PointMetric": "sfumato.fair.metric.points",
        "assign_counterparts": "sfumato.fair.metric.ranks",
        "elicit_metric": "sfumato.fair.metric.experts",
        "learn_from_triplets": "sfumato.fair.metric.experts",
        "learn_metric": "sfumato.fair.metric.experts",
        "metric_closure": "sfumato.fair.metric.validation",
    },
)
"""Each name's module is loaded when it is first used: whoever imports one module of the folder loads no other."""


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
