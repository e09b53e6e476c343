"""What only the local model offers: slow group privacy, honest adaptive tests, cheap vectors, pure few-bit reports.

>>> from sfumato import Pure
>>> from sfumato.papers.heavy_hitters import structure
>>> float(structure.group_privacy(Pure(0.1), people=100, delta=1e-6).epsilon) < 4.8
True
"""

from sfumato.papers.heavy_hitters.structure.floors import error_floor, least_users, tail_floor
from sfumato.papers.heavy_hitters.structure.groups import (
    Household,
    group_leak,
    group_privacy,
    largest_group,
    loss_quantile,
)
from sfumato.papers.heavy_hitters.structure.information import (
    AdaptiveLevel,
    Information,
    adaptive_p_value,
    add_information,
    max_information,
)
from sfumato.papers.heavy_hitters.structure.purify import PureReport, pure_report
from sfumato.papers.heavy_hitters.structure.references import (
    GaussianReference,
    Reference,
    TableReference,
    gaussian_reference,
)
from sfumato.papers.heavy_hitters.structure.vector import VectorResponse
from sfumato.papers.heavy_hitters.structure.vector_choice import independent_bits, vector_response
from sfumato.papers.heavy_hitters.structure.vector_estimates import VectorReader, read_vectors

__all__ = [
    "AdaptiveLevel",
    "GaussianReference",
    "Household",
    "Information",
    "PureReport",
    "Reference",
    "TableReference",
    "VectorReader",
    "VectorResponse",
    "adaptive_p_value",
    "add_information",
    "error_floor",
    "gaussian_reference",
    "group_leak",
    "group_privacy",
    "independent_bits",
    "largest_group",
    "least_users",
    "loss_quantile",
    "max_information",
    "pure_report",
    "read_vectors",
    "tail_floor",
    "vector_response",
]
