"""Several exact totals of the cells that occur, for keys that nobody can list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.table.predicate import Predicate
from sfumato.table.statistics import COUNT, Measure, Power, sparse
from sfumato.table.view import View, with_counts


def sparse_totals(
    view: View, keys: Sequence[str], measures: Sequence[Measure], where: Predicate
) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Return for every cell that occurs the totals of some measures, in one pass, as Python integers."""
    asked = with_counts([*measures, COUNT])
    asked = list(dict.fromkeys(_bare(measure) for measure in asked))
    answer = view._ask(tuple(keys), asked, where, as_cells=False)
    domains = {name: view.table.schema.domain(name) for name in keys}
    found = {measure: sparse(answer, f"part_{place}", domains) for place, measure in enumerate(asked)}
    return {
        cell: tuple(_centred(measure, {part: totals[cell] for part, totals in found.items()}) for measure in measures)
        for cell in found[COUNT]
    }


def _bare(measure: Measure) -> Measure:
    """Return the measure as an engine adds it up: sums are centred afterwards."""
    return Measure(Power.SUM, measure.column) if measure.power is Power.SUM else measure


def _centred(measure: Measure, totals: dict[Measure, Any]) -> int:
    value = int(totals[_bare(measure)])
    if measure.power is not Power.SUM or not measure.center:
        return value
    return value - measure.center * int(totals[Measure(Power.PRESENT, measure.column)])
