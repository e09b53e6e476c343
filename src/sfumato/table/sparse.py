"""Several exact totals of the cells that occur, for keys that nobody can list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.table.predicate import Predicate
from sfumato.table.statistics import COUNT, Part, Power, sparse
from sfumato.table.view import View, with_counts


def sparse_totals(
    view: View, keys: Sequence[str], parts: Sequence[Part], where: Predicate
) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Return for every cell that occurs the totals of some parts, in one pass, as Python integers."""
    asked = list(dict.fromkeys(_bare(part) for part in with_counts([*parts, COUNT])))
    answer = view._ask(tuple(keys), asked, where, as_cells=False)
    domains = {name: view.table.schema.domain(name) for name in keys}
    found = {part: sparse(answer, f"part_{place}", domains) for place, part in enumerate(asked)}
    return {
        cell: tuple(_centred(part, {one: totals[cell] for one, totals in found.items()}) for part in parts)
        for cell in found[COUNT]
    }


def _bare(part: Part) -> Part:
    """Return the part as an engine adds it up: sums are centred afterwards."""
    return Part(Power.SUM, part.column) if part.power is Power.SUM else part


def _centred(part: Part, totals: dict[Part, Any]) -> int:
    value = int(totals[_bare(part)])
    if part.power is not Power.SUM or not part.center:
        return value
    return value - part.center * int(totals[Part(Power.PRESENT, part.column)])
