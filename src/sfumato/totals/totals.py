"""Several totals over the cells of some keys, released together: the way of every linear question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import Any, TypeVar

from sfumato.answer import Frame, NoisyPart, Released
from sfumato.ask.prepared import Prepared, Several
from sfumato.ask.question import flat
from sfumato.errors import DomainTooLarge
from sfumato.mechanism import Mechanism
from sfumato.privacy import Bound
from sfumato.table.gauge import Basis, Gauge
from sfumato.table.measure import Totals
from sfumato.table.predicate import Predicate
from sfumato.table.schema import Schema
from sfumato.table.statistics import DENSE_CELLS
from sfumato.totals.aggregates import Aggregate, Mean, Term, Variance, points
from sfumato.totals.means import MeanTotals, mean_totals, pairs_of
from sfumato.totals.noisy import Moves, Total, noisy_total

Made = TypeVar("Made")

MOST_MEANS = 50_000
"""Means and variances of more groups would take minutes to be worked out, each with its interval."""


def plan_totals(
    aggregates: Sequence[Aggregate], basis: Basis, spend: Bound, keys: tuple[str, ...], where: Predicate
) -> Prepared:
    """Return what runs for some aggregates over all cells of the keys.

    The cells are disjoint, so all of them together are one release with one sensitivity (TCDP:C-PAR). Totals that
    several aggregates share are released once, and a mean's sum and count as one vector. The spend is split evenly over
    what costs anything.
    """
    terms = shared_terms(aggregates, basis.schema)
    size = number_of_cells(basis.schema, keys)
    _check_means(aggregates, basis.schema, keys, size)
    cells = all_cells(basis.schema, keys)
    gauge = basis.gauge(Totals(keys, tuple(term.part for term in terms), where))
    blocks = _blocks(gauge, gauge.priced(spend), terms, _means(aggregates, basis.schema), size)
    facts = {name: fact for aggregate in aggregates for name, fact in aggregate.facts(basis.schema).items()}
    facts |= {f"center of {one.sum.part.column}": one.center for one in blocks if isinstance(one, MeanTotals)}
    places = {term.name: place for place, term in enumerate(terms)}

    def arrange(found: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(block.exact(*(found[places[name]] for name in block.names)) for block in blocks)

    def finish(raw: Sequence[Any]) -> Released:
        parts = [part for block, values in zip(blocks, raw, strict=True) for part in block.measured(values)]
        return Released(tuple(sorted(parts, key=lambda part: places[part.name])), keys, cells, facts)

    mechanism = Several(mechanisms=tuple(block.mechanism for block in blocks), relation=basis.relation)
    return Prepared(gauge, mechanism, finish, arrange)


@dataclass(frozen=True)
class OneTotal:
    """One total with noise of its own."""

    term: Term
    total: Total

    @property
    def names(self) -> tuple[str, ...]:
        """The total that it needs."""
        return (self.term.name,)

    @property
    def mechanism(self) -> Mechanism:
        """What runs."""
        return self.total.mechanism

    def exact(self, found: Any) -> Any:
        """Return the total on its grid."""
        return self.total.rounded(found)

    def measured(self, raw: Any) -> list[NoisyPart]:
        """Return the released total in its unit."""
        return [NoisyPart(self.term.name, flat(raw), self.total.law, self.total.unit)]


def _blocks(
    gauge: Gauge, spend: Bound, terms: Sequence[Term], means: Sequence[tuple[Term, Term]], size: int
) -> list[OneTotal | MeanTotals]:
    """Return what is released together, in the order of the totals."""
    moves = {term.name: Moves.of(gauge, term.part, term.step) for term in terms}
    free = [name for name, one in moves.items() if one.free]
    pairs = {sum_.name: (sum_, count) for sum_, count in pairs_of(means, free)}
    counted = {count.name for _, count in pairs.values()}
    share = spend.split(max(1, len(terms) - len(free) - len(pairs)))
    blocks: list[OneTotal | MeanTotals] = []
    for term in terms:
        if term.name in pairs:
            blocks.append(mean_totals(gauge, share, pairs[term.name], size))
        elif term.name not in counted:
            blocks.append(OneTotal(term, noisy_total(share, moves[term.name], size)))
    return blocks


def _means(aggregates: Sequence[Aggregate], schema: Schema) -> list[tuple[Term, Term]]:
    """Return the sums and counts of all means."""
    found = []
    for aggregate in aggregates:
        if isinstance(aggregate, Mean):
            total, count = aggregate.terms(schema)
            found.append((total, count))
    return found


def shared_terms(aggregates: Sequence[Aggregate], schema: Schema) -> list[Term]:
    """Return the totals of all aggregates, each once."""
    return list({term.name: term for aggregate in aggregates for term in aggregate.terms(schema)}.values())


PRIVATE_KEYS = "write keys='private', or derive coarser bins in the schema"


def number_of_cells(schema: Schema, keys: tuple[str, ...], instead: str = PRIVATE_KEYS) -> int:
    """Return how many combinations the keys have, refusing what is too large to list with what to do `instead`."""
    sizes = [schema.domain(name).size for name in keys]
    if any(size is None for size in sizes) or prod(size or 1 for size in sizes) > DENSE_CELLS:
        raise DomainTooLarge(
            f"There are too many possible values of {', '.join(keys)} to list them all; {instead}.",
            method="keys='private'" if instead == PRIVATE_KEYS else "bins",
        )
    return prod(size or 1 for size in sizes)


def _check_means(aggregates: Sequence[Aggregate], schema: Schema, keys: tuple[str, ...], size: int) -> None:
    """Refuse means and variances of so many groups that working out their intervals would take minutes and more."""
    if size <= MOST_MEANS or not any(aggregate.kind in (Mean.kind, Variance.kind) for aggregate in aggregates):
        return
    of = schema.base(max(keys, key=lambda name: schema.domain(name).size or 0))
    raise DomainTooLarge(
        f"There are {size:,} groups of {', '.join(keys)}, and means are worked out for at most {MOST_MEANS:,}; add "
        f"bins to the schema, schema.with_columns({of}_bins=bins({of!r}, step=…)), which its ledger takes, too, and "
        f"ask by='{of}_bins'.",
        method="bins",
    )


def all_cells(schema: Schema, keys: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
    """Return the values of all cells of the keys, in the order of their codes."""
    domains = [schema.domain(name) for name in keys]
    listed = [[domain.decode(code) for code in range(domain.first, (domain.last or 0) + 1)] for domain in domains]
    return tuple(product(*listed))


def table_of(released: Released, aggregates: Sequence[Aggregate]) -> Frame:
    """Return the aggregates of every cell as a table."""
    columns = {}
    for aggregate in aggregates:

        def value(cell: int, aggregate: Aggregate = aggregate) -> int | float:
            return aggregate.shown(aggregate.combine(points(released, cell), released.facts)[0])

        label, make = aggregate.label, partial(_for_all_cells, released, aggregate, value)
        columns[label] = tuple(released.once(f"value {label}", make))
    return released.frame(columns)


def _for_all_cells(released: Released, aggregate: Aggregate, make: Callable[[int], Made]) -> list[Made]:
    """Return what is made of every cell, worked out once for cells of equal released numbers: in large tables most."""
    own = [part.released for part in released.parts if part.name in aggregate.names]
    known: dict[tuple[int, ...], Made] = {}
    found = []
    for cell, numbers in enumerate(zip(*own, strict=True)):
        made = known.get(numbers)
        if made is None:
            made = known[numbers] = make(cell)
        found.append(made)
    return found


def table_between(released: Released, aggregates: Sequence[Aggregate], confidence: Any) -> Frame:
    """Return lower and upper ends of the aggregates of every cell; each row on its own has the confidence."""
    columns: dict[str, tuple[Any, ...]] = {}
    for aggregate in aggregates:

        def between(cell: int, aggregate: Aggregate = aggregate) -> tuple[int | float, int | float]:
            return aggregate.between(aggregate.possible(released, cell, confidence))

        found = _for_all_cells(released, aggregate, between)
        low, high = zip(*found, strict=True) if found else ((), ())
        columns[f"{aggregate.label}, low"], columns[f"{aggregate.label}, high"] = low, high
    return released.frame(columns)
