"""Totals of one clamped number a person and group, with noise: SUM and COUNT with bounds of a contribution (SQ-BOX)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.answer import Released
from sfumato.answer.measured import NoisyPart
from sfumato.ask.prepared import Prepared, Several
from sfumato.ask.question import flat
from sfumato.privacy import Bound
from sfumato.table.boxes import Box
from sfumato.table.gauge import Basis
from sfumato.table.measure import Boxed, FoundBoxes, most_groups
from sfumato.table.predicate import Predicate
from sfumato.table.statistics import Power
from sfumato.totals.aggregates import Count, plain
from sfumato.totals.found_keys import found_groups
from sfumato.totals.noisy import Moves, noisy_total
from sfumato.totals.private_keys import stable_histogram
from sfumato.totals.totals import all_cells, number_of_cells


@dataclass(frozen=True)
class NamedBox:
    """One aggregate with bounds: its canonical text, what is added up, and what one step of it is worth."""

    name: str
    box: Box
    step: Fraction

    def shown(self, released: Released) -> tuple[int | float, ...]:
        """Return the released number of every cell."""
        found = released.part(self.name).values()
        return tuple(plain(value) if self._sums else Count().shown(value) for value in found)

    def between(self, released: Released, confidence: Fraction) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the ends of every cell; what the bounds cut is not in them."""
        part = released.part(self.name)
        pairs = [part.between(cell, confidence) for cell in range(len(released.cells))]
        shown = [(plain(low), plain(high)) if self._sums else Count().between((low, high)) for low, high in pairs]
        return tuple(low for low, _ in shown), tuple(high for _, high in shown)

    @property
    def _sums(self) -> bool:
        return self.box.part.power is Power.SUM


def plan_boxes(
    boxes: Sequence[NamedBox],
    basis: Basis,
    spend: Bound,
    keys: tuple[str, ...],
    where: Predicate,
    *,
    groups: int | None = None,
) -> Prepared:
    """Return what runs for some clamped totals over all cells of the keys; the spend is split over those that cost."""
    size = number_of_cells(basis.schema, keys, "declare the labels of the keys")
    cells = all_cells(basis.schema, keys)
    gauge = basis.gauge(Boxed(keys, tuple(one.box for one in boxes), where, groups))
    moves = [Moves.of(gauge, one.box, one.step) for one in boxes]
    share = gauge.priced(spend).split(max(1, sum(not one.free for one in moves)))
    totals = [noisy_total(share, one, size) for one in moves]

    def arrange(found: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(total.rounded(exact) for total, exact in zip(totals, found, strict=True))

    def finish(raw: Sequence[Any]) -> Released:
        parts = zip(boxes, totals, raw, strict=True)
        found = tuple(NoisyPart(one.name, flat(values), total.law, total.unit) for one, total, values in parts)
        return Released(found, keys, cells)

    mechanism = Several(mechanisms=tuple(total.mechanism for total in totals), relation=basis.relation)
    return Prepared(gauge, mechanism, finish, arrange)


PEOPLE = "people"
"""The number of people in a group that was found."""


def plan_found_boxes(boxes: Sequence[NamedBox], basis: Basis, spend: Bound, measure: FoundBoxes) -> Prepared:
    """Return what runs for clamped totals of groups that are found by how many people are in them."""
    gauge = basis.gauge(measure)
    moves = [Moves.of(gauge, one.box, one.step) for one in boxes]
    share = gauge.priced(spend).split(1 + sum(not one.free for one in moves))
    groups = most_groups(basis.schema, measure)
    # Texts that become one when they are cut put a person into a group several times, so that all rows may be in one.
    counts = stable_histogram(share, groups=groups, rows=groups, relation=gauge.relation, reads=gauge.charged)
    totals = [(one.name, noisy_total(share, move)) for one, move in zip(boxes, moves, strict=True)]
    return found_groups(gauge, measure.keys, (PEOPLE, counts), totals)
