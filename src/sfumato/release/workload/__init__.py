"""Workloads: many linear queries about a table, answered together."""

from sfumato.release.workload.blocks import Block, Conjunction, Marginal, Parity
from sfumato.release.workload.condition import Predicate
from sfumato.release.workload.queries import Matrix, Prefixes, Ranges
from sfumato.release.workload.records import Records
from sfumato.release.workload.space import Space
from sfumato.release.workload.workload import Workload

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
