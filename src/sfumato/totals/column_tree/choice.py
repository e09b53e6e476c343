"""Frequent records with a pure spend: along a tree of columns, or noise on every cell, whichever finds rarer ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sfumato.answer import NoisyPart, Released
from sfumato.ask.prepared import Prepared
from sfumato.errors import DomainTooLarge, NotProvable, UnsupportedSpend
from sfumato.exact.search import smallest_between
from sfumato.privacy import Bound, Pure
from sfumato.select.threshold import exceedance
from sfumato.table.gauge import Basis
from sfumato.table.measure import Rows
from sfumato.table.predicate import EVERY_ROW
from sfumato.totals.column_tree.histogram import Counted, PopularCounts
from sfumato.totals.column_tree.planner import plan_popular, require_pure
from sfumato.totals.column_tree.points import smallest_published
from sfumato.totals.found_keys import plan_sparse
from sfumato.totals.sparse_noise import SparseNoise
from sfumato.workload.records import Records
from sfumato.workload.space import Space

CONFIDENCE = Fraction(95, 100)
"""How surely a record of the smallest count is found."""
FEW_CELLS = 2**32
"""Up to so many cells noise on each of them is the better way, whatever the tree."""


def plan_tree(basis: Basis, spend: Bound, columns: Sequence[str], smallest: int | None = None) -> Prepared:
    """Return what runs for a search along a tree of columns."""
    require_pure(spend)
    space = Space.of(basis.schema, columns)
    gauge = basis.gauge(Rows(space.names))
    if gauge.total is None:
        raise UnsupportedSpend(
            "A tree of columns needs a public number of rows: one row a person, and people who are replaced, not added "
            "or removed; write method='laplace'."
        )
    if not space.reads(columns):
        raise UnsupportedSpend("All of these columns are public, so nothing has to be spent; count them directly.")
    mechanism = plan_popular(space, spend, max(gauge.total, 1), failure=1 - CONFIDENCE, smallest=smallest)
    keep = max(1, mechanism.hitters.smallest_found(CONFIDENCE) // 2)
    found_from = shown_from(mechanism, keep)
    facts = {"people": Fraction(gauge.total), "smallest": Fraction(found_from)}

    def finish(raw: Counted) -> Released:
        # Most of what was listed by chance goes: a choice among released numbers, which intervals take into account.
        shown = [(r, count) for r, count in zip(raw.records, raw.counts, strict=True) if count >= keep]
        cells = tuple(
            tuple(space.value(name, code) for name, code in zip(space.names, record, strict=True))
            for record, _ in shown
        )
        part = NoisyPart("count", tuple(count for _, count in shown), mechanism.law, threshold=keep)
        made = {"engine": "tree", "sizes": list(raw.sizes), "overflow": raw.overflow}
        return Released((part,), tuple(columns), cells, facts, made)

    return Prepared(gauge, mechanism, finish, lambda found: Records.of(space, found))


def shown_from(mechanism: PopularCounts, keep: int) -> int:
    """Return the count from which a record is found, and its noisy count is at least `keep`, at the confidence."""

    def surely(count: int) -> bool:
        return mechanism.hitters.missed(count) + exceedance(mechanism.scale, count - keep + 1) <= 1 - CONFIDENCE

    low = mechanism.hitters.smallest_found(CONFIDENCE)
    if surely(low):
        return low
    high = 2 * low + 1
    while not surely(high):
        low, high = high, 2 * high
    return smallest_between(low, high, surely)


def plan_cells(basis: Basis, spend: Bound, columns: Sequence[str]) -> Prepared:
    """Return what runs for noise on every cell, with the number of people where it is public."""
    return with_people(plan_sparse(basis, spend, tuple(columns), EVERY_ROW))


def with_people(prepared: Prepared) -> Prepared:
    """Return the same, with the public number of people beside what is released, where each counts one row."""
    people = prepared.gauge.people
    if people is None or prepared.gauge.rows != 1:
        return prepared

    def finish(raw: Any) -> Released:
        released = prepared.finish(raw)
        return replace(released, facts={**released.facts, "people": Fraction(people)})

    return replace(prepared, finish=finish)


def predicted_error(prepared: Prepared, people: int) -> float:
    """Return how far counts may be off, listed or not, in rows, from public facts."""
    mechanism = prepared.mechanism
    if isinstance(mechanism, PopularCounts):
        found = mechanism.hitters.smallest_found(CONFIDENCE)
        listed = 2 * max(people / found, 1)
        return max(float(found), float(mechanism.scale) * math.log(2 * listed / float(1 - CONFIDENCE)))
    assert isinstance(mechanism, SparseNoise)
    # A person's share on the mechanism's own grid is what one row counts there.
    step = prepared.gauge.rows / mechanism.noise.sensitivity.largest
    return float(smallest_published(mechanism, CONFIDENCE) * step)


def plan_pure(basis: Basis, spend: Bound, columns: Sequence[str], smallest: int | None = None) -> Prepared:
    """Return the one with the smaller predicted error; both are worked out from public facts, and only one runs."""
    cells = plan_cells(basis, spend, columns)
    people = basis.gauge(Rows(tuple(columns))).total
    if not isinstance(spend, Pure) or people is None or len(columns) == 1:
        return cells
    if Space.of(basis.schema, columns).cells <= FEW_CELLS:
        return cells
    try:
        tree = plan_tree(basis, spend, columns, smallest)
    except (DomainTooLarge, NotProvable):
        return cells
    better = predicted_error(tree, people) < predicted_error(cells, people)
    return tree if better else cells
