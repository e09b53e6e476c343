"""Query release: noise in the shape of the queries, multiplicative weights, release by learning, fairness."""

from sfumato.papers.query_release.geometry.question import Shaped

__all__ = ["Shaped"]
