"""Answers by group whose groups are found in the data: plans for unknown keys, and for domains too large to list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from sfumato.answer import Measured, Released
from sfumato.errors import UnsupportedSpend
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.privacy import Approximate, Bound, Loss, Pure
from sfumato.release.aggregates import Aggregate
from sfumato.release.noisy import Moves, Total, moves_of, noise_on_grid, noisy_total
from sfumato.release.private_keys import Key, StableHistogram, stable_histogram
from sfumato.release.question import flat
from sfumato.release.setting import Prepared, Setting
from sfumato.release.sparse_noise import cell_at, place_of, sparse_noise
from sfumato.release.totals import read_columns, shared_terms
from sfumato.table.predicate import EVERY_ROW, Predicate
from sfumato.table.predicate import columns as predicate_columns
from sfumato.table.schema import Schema
from sfumato.table.sparse import sparse_totals
from sfumato.table.statistics import COUNT


@dataclass(frozen=True, kw_only=True)
class FoundGroups(Mechanism):
    """Finds the groups by their noisy counts, then adds noise to the other totals of the groups it found.

    Promise: the losses add up, because the second stage is chosen by what the first one published (PDP:C-7). For
    groups that were not found nothing is drawn and nothing is published.

    Input: for every group that occurs its count and its other totals. Output: groups, counts, and one array a total.
    """

    spec: ClassVar[str] = "PL-SAN-POINT-STAB"

    counts: StableHistogram
    totals: tuple[Mechanism, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "reads", self.counts.reads)
        object.__setattr__(self, "relation", self.counts.relation)

    def loss(self) -> Loss:
        """Return the loss of finding the groups and of every total."""
        total = self.counts.loss()
        for mechanism in self.totals:
            total = total + mechanism.loss()
        return total

    def run(self, exact: Mapping[Key, tuple[int, ...]], noise: Noise) -> tuple[Any, ...]:
        """Find the groups, then draw the totals of those found."""
        found = self.counts.run({key: values[0] for key, values in exact.items()}, noise)
        keys = [key for key, _ in found]
        released = []
        for place, mechanism in enumerate(self.totals, start=1):
            column = np.empty(len(keys), dtype=object)
            column[:] = [exact[key][place] for key in keys]
            released.append(mechanism.run(column, noise))
        return tuple(keys), tuple(count for _, count in found), *released


def plan_found(
    aggregates: Sequence[Aggregate], setting: Setting, spend: Bound, keys: tuple[str, ...], where: Predicate
) -> Prepared:
    """Return what runs for aggregates over groups that are found in the data; the spend is split evenly.

    The rows of a person are picked, not weighed: a threshold counts whole rows.
    """
    setting = setting.picking()
    terms = [term for term in shared_terms(aggregates, setting.schema) if term.measure != COUNT]
    columns = read_columns(terms, keys, where)
    moves = [moves_of(setting, term.measure, keys, where, term.step) for term in terms]
    part = spend.split(1 + sum(not move.free for move in moves))
    rows, groups = setting.rule.rows, setting.rule.groups
    counts = stable_histogram(
        part, groups=min(rows, groups or rows), rows=rows, relation=setting.relation, reads=setting.charged(columns)
    )
    totals = [noisy_total(setting, part, move) for move in moves]
    domains = [setting.schema.domain(name) for name in keys]
    facts = {name: fact for aggregate in aggregates for name, fact in aggregate.facts(setting.schema).items()}

    def read(view: Any) -> dict[Key, tuple[int, ...]]:
        found = sparse_totals(view, keys, [COUNT, *(term.measure for term in terms)], where)
        return {key: (values[0], *_rounded(totals, values[1:])) for key, values in found.items()}

    def finish(raw: tuple[Any, ...]) -> Released:
        published, counted, *released = raw
        cells = tuple(tuple(d.decode(code) for d, code in zip(domains, key, strict=True)) for key in published)
        parts = [Measured("count", counted, counts.law, threshold=counts.threshold)]
        for term, total, values in zip(terms, totals, released, strict=True):
            parts.append(Measured(term.name, flat(values), total.law, total.unit))
        return Released(tuple(parts), keys, cells, facts)

    mechanism = FoundGroups(counts=counts, totals=tuple(total.mechanism for total in totals))
    return Prepared(columns, mechanism, read, finish, setting.rule.way)


def _rounded(totals: Sequence[Total], values: Sequence[int]) -> list[int]:
    return [total.rounded(value) for total, value in zip(totals, values, strict=True)]


def plan_private(
    aggregates: Sequence[Aggregate], setting: Setting, spend: Bound, keys: tuple[str, ...], where: Predicate
) -> Prepared:
    """Return what runs when the keys are not those of the schema: found, or drawn from a domain too large to list."""
    if isinstance(spend, Approximate):
        return plan_found(aggregates, setting, spend, keys, where)
    if any(term.measure != COUNT for term in shared_terms(aggregates, setting.schema)):
        raise UnsupportedSpend(
            f"Groups that are found in the data need a delta, and {spend!r} has none; write Approximate(epsilon, "
            "delta), or list the keys in the schema."
        )
    if where == EVERY_ROW and isinstance(spend, Pure) and len(keys) > 1:
        # Many columns: a search along a tree of them may find rarer records; it is built on this module.
        from sfumato.release.popular.choice import plan_pure

        return plan_pure(setting, spend, keys)
    return plan_sparse(setting, spend, keys, where)


def plan_sparse(setting: Setting, spend: Bound, keys: tuple[str, ...], where: Predicate) -> Prepared:
    """Return what runs for counts over a large domain without a delta: keys that nobody holds may appear."""
    firsts, sizes = _places(setting.schema, keys, spend)
    cells = prod(sizes)
    moves = moves_of(setting, COUNT, keys, where)
    noise, grid = noise_on_grid(setting, spend, _charged(moves), cells)
    mechanism = sparse_noise(noise, cells)
    total = Total(noise, noise.law, grid, moves.unit * grid)
    domains = [setting.schema.domain(name) for name in keys]

    def read(view: Any) -> dict[int, int]:
        found = view.sparse_counts(keys, where)
        return {place_of(key, firsts, sizes): total.rounded(count) for key, count in found.items()}

    def finish(raw: Sequence[tuple[int, int]]) -> Released:
        codes = [cell_at(place, firsts, sizes) for place, _ in raw]
        published = tuple(tuple(d.decode(code) for d, code in zip(domains, key, strict=True)) for key in codes)
        counts = tuple(count for _, count in raw)
        part = Measured("count", counts, total.law, total.unit, mechanism.threshold + 1)
        return Released((part,), keys, published)

    columns = frozenset(keys) | predicate_columns(where)
    return Prepared(columns, mechanism, read, finish, setting.rule.way)


def _charged(moves: Moves) -> Moves:
    if moves.free:
        raise UnsupportedSpend("These counts move for nobody, so they need no private keys; leave keys= out.")
    return moves


def _places(schema: Schema, keys: tuple[str, ...], spend: Bound) -> tuple[list[int], list[int]]:
    firsts, sizes = [], []
    for name in keys:
        domain = schema.domain(name)
        if domain.size is None:
            raise UnsupportedSpend(
                f"The keys of {name!r} are texts, which nobody can list, so finding them needs a delta, and {spend!r} "
                "has none; write Approximate(epsilon, delta)."
            )
        firsts.append(domain.first)
        sizes.append(domain.size)
    return firsts, sizes
