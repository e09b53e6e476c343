"""Frequent records with a pure spend: along a tree of columns, or noise on every cell, whichever finds rarer ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sfumato.answer import Measured, Released
from sfumato.errors import DomainTooLarge, NotProvable, UnsupportedSpend
from sfumato.privacy import Bound, Pure
from sfumato.release.found_keys import plan_sparse
from sfumato.release.popular.histogram import Counted, PopularCounts
from sfumato.release.popular.planner import plan_popular, require_pure
from sfumato.release.popular.points import smallest_published
from sfumato.release.setting import Prepared, Setting
from sfumato.release.sparse_noise import SparseNoise
from sfumato.release.workload.records import Records
from sfumato.release.workload.space import Space
from sfumato.select.threshold import exceedance
from sfumato.table.predicate import EVERY_ROW

CONFIDENCE = Fraction(95, 100)
"""How surely a record of the smallest count is found."""
FEW_CELLS = 2**32
"""Up to so many cells noise on each of them is the better way, whatever the tree."""


def plan_tree(setting: Setting, spend: Bound, columns: Sequence[str], smallest: int | None = None) -> Prepared:
    """Return what runs for a search along a tree of columns."""
    require_pure(spend)
    if not setting.counted:
        raise UnsupportedSpend(
            "A tree of columns needs a public number of rows: one row a person, and people who are replaced, not added "
            "or removed; write engine='laplace'."
        )
    space = Space.of(setting.schema, columns)
    if not space.reads(columns):
        raise UnsupportedSpend("All of these columns are public, so nothing has to be spent; count them directly.")
    mechanism = plan_popular(space, spend, max(setting.people, 1), failure=1 - CONFIDENCE, smallest=smallest)
    keep = max(1, mechanism.hitters.smallest_found(CONFIDENCE) // 2)
    found_from = shown_from(mechanism, keep)
    facts = {"people": Fraction(setting.people), "smallest": Fraction(found_from)}

    def read(view: Any) -> Records:
        return Records.read(view, space)

    def finish(raw: Counted) -> Released:
        # Most of what was listed by chance goes: a choice among released numbers, which intervals take into account.
        shown = [(r, count) for r, count in zip(raw.records, raw.counts, strict=True) if count >= keep]
        cells = tuple(
            tuple(space.value(name, code) for name, code in zip(space.names, record, strict=True))
            for record, _ in shown
        )
        part = Measured("count", tuple(count for _, count in shown), mechanism.law, threshold=keep)
        made = {"engine": "tree", "sizes": list(raw.sizes), "overflow": raw.overflow}
        return Released((part,), tuple(columns), cells, facts, made)

    return Prepared(frozenset(columns), mechanism, read, finish, setting.rule.way)


def shown_from(mechanism: PopularCounts, keep: int) -> int:
    """Return the count from which a record is found, and its noisy count is at least `keep`, at the confidence."""
    count = mechanism.hitters.smallest_found(CONFIDENCE)
    while mechanism.hitters.missed(count) + exceedance(mechanism.scale, count - keep + 1) > 1 - CONFIDENCE:
        count += 1
    return count


def plan_cells(setting: Setting, spend: Bound, columns: Sequence[str]) -> Prepared:
    """Return what runs for noise on every cell, with the number of people where it is public."""
    return with_people(plan_sparse(setting, spend, tuple(columns), EVERY_ROW), setting)


def with_people(prepared: Prepared, setting: Setting) -> Prepared:
    """Return the same, with the public number of people beside what is released."""
    if not setting.counted:
        return prepared

    def finish(raw: Any) -> Released:
        released = prepared.finish(raw)
        return replace(released, facts={**released.facts, "people": Fraction(setting.people)})

    return replace(prepared, finish=finish)


def predicted_error(prepared: Prepared, people: int) -> float:
    """Return how far counts may be off, listed or not, from public facts."""
    mechanism = prepared.mechanism
    if isinstance(mechanism, PopularCounts):
        found = mechanism.hitters.smallest_found(CONFIDENCE)
        listed = 2 * max(people / found, 1)
        return max(float(found), float(mechanism.scale) * math.log(2 * listed / float(1 - CONFIDENCE)))
    assert isinstance(mechanism, SparseNoise)
    return float(smallest_published(mechanism, CONFIDENCE))


def plan_pure(setting: Setting, spend: Bound, columns: Sequence[str], smallest: int | None = None) -> Prepared:
    """Return the one with the smaller predicted error; both are worked out from public facts, and only one runs."""
    cells = plan_cells(setting, spend, columns)
    if not (isinstance(spend, Pure) and setting.counted and len(columns) > 1):
        return cells
    if Space.of(setting.schema, columns).cells <= FEW_CELLS:
        return cells
    try:
        tree = plan_tree(setting, spend, columns, smallest)
    except (DomainTooLarge, NotProvable):
        return cells
    better = predicted_error(tree, setting.people) < predicted_error(cells, setting.people)
    return tree if better else cells
