"""What people read in place of where a bin begins: both of its ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.answer import Released
from sfumato.domain import Bins, Derived
from sfumato.table.schema import Schema

CLIPPED = (
    "The bins {name} begin and end with the range of {of}, as they did when this ledger was made: what lies beyond "
    "their edges is in the first and in the last one. For bins of what is beyond, add a column under a new name."
)
"""What an answer by bins says in a ledger of an earlier version."""


def labels_of(columns: Sequence[str], schema: Any) -> dict[str, dict[Any, str]]:
    """Return what people read in place of the values of columns whose values are only where their parts begin."""
    domains = {name: schema.domain(name) for name in columns if isinstance(schema, Schema) and name in schema.names}
    found = {name: domain.labels() for name, domain in domains.items() if isinstance(domain, Derived)}
    return {name: said for name, said in found.items() if said}


def clipped(released: Released, schema: Any) -> tuple[str, ...]:
    """Say of which columns the bins are those of an earlier version."""
    rules = {name: schema.columns.get(name) for name in released.keys if isinstance(schema, Schema)}
    return tuple(
        CLIPPED.format(name=name, of=rule.of) for name, rule in rules.items() if isinstance(rule, Bins) and rule.clipped
    )
