"""Several totals over the cells of some keys, released together: the way of every linear question."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

from sfumato.answer import Frame, Measured, Released
from sfumato.errors import DomainTooLarge
from sfumato.privacy import Bound
from sfumato.release.aggregates import Aggregate, Term, intervals, plain, points
from sfumato.release.noisy import Moves, noisy_total
from sfumato.release.prepared import Prepared, Several
from sfumato.release.question import flat
from sfumato.table.gauge import Basis
from sfumato.table.measure import Totals
from sfumato.table.predicate import Predicate
from sfumato.table.schema import Schema
from sfumato.table.statistics import DENSE_CELLS


def plan_totals(
    aggregates: Sequence[Aggregate], basis: Basis, spend: Bound, keys: tuple[str, ...], where: Predicate
) -> Prepared:
    """Return what runs for some aggregates over all cells of the keys.

    The cells are disjoint, so all of them together are one release with one sensitivity (TCDP:C-PAR). Totals that
    several aggregates share are released once. The spend is split evenly over the totals that cost anything.
    """
    terms = shared_terms(aggregates, basis.schema)
    size, cells = number_of_cells(basis.schema, keys), all_cells(basis.schema, keys)
    gauge = basis.gauge(Totals(keys, tuple(term.part for term in terms), where))
    bound = gauge.priced(spend)
    moves = [Moves.of(gauge, term.part, term.step) for term in terms]
    share = bound.split(max(1, sum(not move.free for move in moves)))
    totals = [noisy_total(share, move, size) for move in moves]
    facts = {name: fact for aggregate in aggregates for name, fact in aggregate.facts(basis.schema).items()}

    def arrange(found: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(total.rounded(exact) for total, exact in zip(totals, found, strict=True))

    def finish(raw: Sequence[Any]) -> Released:
        parts = [
            Measured(term.name, flat(values), total.law, total.unit)
            for term, total, values in zip(terms, totals, raw, strict=True)
        ]
        return Released(tuple(parts), keys, cells, facts)

    mechanism = Several(mechanisms=tuple(total.mechanism for total in totals), relation=basis.relation)
    return Prepared(gauge, mechanism, finish, arrange)


def shared_terms(aggregates: Sequence[Aggregate], schema: Schema) -> list[Term]:
    """Return the totals of all aggregates, each once."""
    return list({term.name: term for aggregate in aggregates for term in aggregate.terms(schema)}.values())


def number_of_cells(schema: Schema, keys: tuple[str, ...]) -> int:
    """Return how many combinations the keys have, refusing what is too large to list."""
    sizes = [schema.domain(name).size for name in keys]
    if any(size is None for size in sizes) or prod(size or 1 for size in sizes) > DENSE_CELLS:
        raise DomainTooLarge(
            f"There are too many possible values of {', '.join(keys)} to list them all; write keys='private', or "
            "derive coarser bins in the schema.",
            method="keys='private'",
        )
    return prod(size or 1 for size in sizes)


def all_cells(schema: Schema, keys: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
    """Return the values of all cells of the keys, in the order of their codes."""
    domains = [schema.domain(name) for name in keys]
    listed = [[domain.decode(code) for code in range(domain.first, (domain.last or 0) + 1)] for domain in domains]
    return tuple(product(*listed))


def table_of(released: Released, aggregates: Sequence[Aggregate]) -> Frame:
    """Return the aggregates of every cell as a table."""
    every = [points(released, cell) for cell in range(len(released.cells))]
    columns = {
        aggregate.label: tuple(aggregate.shown(aggregate.combine(cell, released.facts)[0]) for cell in every)
        for aggregate in aggregates
    }
    return released.frame(columns)


def table_between(released: Released, aggregates: Sequence[Aggregate], confidence: Any) -> Frame:
    """Return lower and upper ends of the aggregates of every cell; each row on its own has the confidence."""
    columns: dict[str, tuple[Any, ...]] = {}
    for aggregate in aggregates:
        found = [
            aggregate.combine(intervals(released, aggregate, cell, confidence), released.facts)
            for cell in range(len(released.cells))
        ]
        columns[f"{aggregate.label}, low"] = tuple(plain(low) for low, _ in found)
        columns[f"{aggregate.label}, high"] = tuple(plain(high) for _, high in found)
    return released.frame(columns)
