"""Answers by group whose groups are found in the data: plans for unknown keys, and for domains too large to list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from sfumato.answer import NoisyPart, Released
from sfumato.ask.prepared import Prepared
from sfumato.ask.question import flat
from sfumato.errors import UnsupportedSpend
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.privacy import Bound, Loss
from sfumato.table.gauge import Basis, Gauge
from sfumato.table.measure import Found, Occurring
from sfumato.table.predicate import Predicate
from sfumato.table.schema import Schema
from sfumato.table.sparse import Sparse, integers
from sfumato.table.statistics import COUNT
from sfumato.totals.aggregates import Aggregate
from sfumato.totals.noisy import Moves, Total, noise_on_grid, noisy_total
from sfumato.totals.private_keys import Key, StableHistogram, stable_histogram
from sfumato.totals.sparse_noise import cell_at, place_of, sparse_noise
from sfumato.totals.totals import shared_terms


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
        held = Sparse.of(exact, 1 + len(self.totals))
        places, counts = self.counts.found(held.totals[0], noise)
        released = [
            mechanism.run(total[places].astype(object), noise)
            for mechanism, total in zip(self.totals, held.totals[1:], strict=True)
        ]
        return tuple(held.keys_at(places)), tuple(counts), *released


def plan_found(
    aggregates: Sequence[Aggregate], basis: Basis, spend: Bound, keys: tuple[str, ...], where: Predicate
) -> Prepared:
    """Return what runs for aggregates over groups that are found in the data; the spend is split evenly.

    The rows of a person are picked, not weighed: a threshold counts whole rows.
    """
    terms = [term for term in shared_terms(aggregates, basis.schema) if term.part != COUNT]
    gauge = basis.gauge(Found(keys, (COUNT, *(term.part for term in terms)), where))
    bound = gauge.priced(spend)
    moves = [Moves.of(gauge, term.part, term.step) for term in terms]
    share = bound.split(1 + sum(not move.free for move in moves))
    rows, groups = gauge.rows, gauge.rule.groups
    counts = stable_histogram(
        share, groups=min(rows, groups or rows), rows=rows, relation=gauge.relation, reads=gauge.charged
    )
    totals = [noisy_total(share, move) for move in moves]
    facts = {name: fact for aggregate in aggregates for name, fact in aggregate.facts(basis.schema).items()}
    named = [(term.name, total) for term, total in zip(terms, totals, strict=True)]
    return found_groups(gauge, keys, ("count", counts), named, facts)


def found_groups(
    gauge: Gauge,
    keys: Sequence[str],
    counted: tuple[str, StableHistogram],
    totals: Sequence[tuple[str, Total]],
    facts: Mapping[str, Any] | None = None,
) -> Prepared:
    """Return what runs for named totals of groups that are found by how much is `counted` in them."""
    (called, counts), domains = counted, [gauge.schema.domain(name) for name in keys]

    def arrange(found: Sparse) -> Sparse:
        rounded = (on_grid(total, values) for (_, total), values in zip(totals, found.totals[1:], strict=True))
        return Sparse(found.codes, (found.totals[0], *rounded))

    def finish(raw: tuple[Any, ...]) -> Released:
        published, held, *released = raw
        cells = tuple(tuple(d.decode(code) for d, code in zip(domains, key, strict=True)) for key in published)
        parts = [NoisyPart(called, held, counts.law, threshold=counts.threshold)]
        for (name, total), values in zip(totals, released, strict=True):
            parts.append(NoisyPart(name, flat(values), total.law, total.unit))
        return Released(tuple(parts), tuple(keys), cells, dict(facts or {}))

    mechanism = FoundGroups(counts=counts, totals=tuple(total.mechanism for _, total in totals))
    return Prepared(gauge, mechanism, finish, arrange)


def on_grid(total: Total, values: Any) -> Any:
    """Return exact totals on the grid of their noise."""
    # In Python integers: half of a grid more may pass 64 bits.
    found = total.rounded(values.astype(object))
    return integers(np.broadcast_to(found, values.shape).tolist())


def plan_sparse(basis: Basis, spend: Bound, keys: tuple[str, ...], where: Predicate) -> Prepared:
    """Return what runs for counts over a large domain without a delta: keys that nobody holds may appear."""
    firsts, sizes = _places(basis.schema, keys, spend)
    cells = prod(sizes)
    gauge = basis.gauge(Occurring(keys, (COUNT,), where))
    moves = Moves.of(gauge)
    noise, grid = noise_on_grid(gauge.priced(spend), _charged(moves), cells)
    mechanism = sparse_noise(noise, cells)
    total = Total(noise, noise.law, grid, moves.unit * grid)
    domains = [basis.schema.domain(name) for name in keys]

    def arrange(found: Sparse) -> dict[int, int]:
        places = place_of([column.astype(object) for column in found.codes.T], firsts, sizes)
        return dict(zip(np.asarray(places).tolist(), on_grid(total, found.totals[0]).tolist(), strict=True))

    def finish(raw: Sequence[tuple[int, int]]) -> Released:
        codes = [cell_at(place, firsts, sizes) for place, _ in raw]
        published = tuple(tuple(d.decode(code) for d, code in zip(domains, key, strict=True)) for key in codes)
        counts = tuple(count for _, count in raw)
        part = NoisyPart("count", counts, total.law, total.unit, mechanism.threshold + 1)
        return Released((part,), keys, published)

    return Prepared(gauge, mechanism, finish, arrange)


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
