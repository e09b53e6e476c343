"""Workloads: many linear queries about a table, answered together."""

from sfumato.moved import moved
from sfumato.workload.blocks import Block, Marginal, OneCell, Parity
from sfumato.workload.condition import Predicate
from sfumato.workload.queries import Matrix, Prefixes, Ranges
from sfumato.workload.records import Records
from sfumato.workload.space import Space
from sfumato.workload.workload import Workload

__all__ = [
    "Block",
    "Marginal",
    "Matrix",
    "OneCell",
    "Parity",
    "Predicate",
    "Prefixes",
    "Ranges",
    "Records",
    "Space",
    "Workload",
]

__getattr__ = moved(__name__, {"Conjunction": "sfumato.workload.OneCell"})
