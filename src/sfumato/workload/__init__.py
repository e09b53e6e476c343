"""Workloads: many linear queries about a table, answered together."""

from sfumato.workload.blocks import Block, Conjunction, Marginal, Parity
from sfumato.workload.condition import Predicate
from sfumato.workload.queries import Matrix, Prefixes, Ranges
from sfumato.workload.records import Records
from sfumato.workload.space import Space
from sfumato.workload.workload import Workload

__all__ = [
    "Block",
    "Conjunction",
    "Marginal",
    "Matrix",
    "Parity",
    "Predicate",
    "Prefixes",
    "Ranges",
    "Records",
    "Space",
    "Workload",
]
