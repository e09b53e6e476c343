"""How far exact totals of a table can move: derived here for all totals (SM-SENS); of workloads in `workload.moves`.

A person adds to a total the vector Σ w·m·e_k over their rows: w is the row's weight, m its value in [a, b] (1 for a
count), k its cell. The weights of a person sum to at most T = rows·scale, so for every norm the largest difference is T
times the largest move of one row. With M = max(|a|, |b|), s = max(b, 0) - min(a, 0):

| what differs | l1 | l2² | largest |
|---|---|---|---|
| a person is there or not | T·M | (T·M)² | T·M |
| one person for another, several cells | 2T·M | T²·max(2M², s²) | T·s |
| one person for another, one cell | the width of the possible sums | its square | itself |
| attributes that choose the cell | 2T·M | T²·max(2M², d²) | T·d |
| attributes of the filter only | T·d | (T·d)² | T·d |
| attributes of the value only | T·h | its square | itself |

d is s if the value changes too, else M; h is s if the value may be missing, else b - a. A filter, weights that may
vanish, or a value that may be missing let a person enter and leave, so zero is always a possible share; without any of
these a person of one row is always there. Attribute neighbours share the person, the number of rows and the row keys,
and are the same under both relations. Where rows are picked by their contents any attribute can change every row, and
an attribute that is part of the row key can change the person's rows as a replacement does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from math import prod

from sfumato.privacy.sensitivity import Sensitivity
from sfumato.table.bounding import Bounding, Way
from sfumato.table.boxes import kept_groups
from sfumato.table.predicate import EVERY_ROW, NO_ROW, Predicate, columns
from sfumato.table.schema import Schema
from sfumato.table.statistics import Part

NOTHING_MOVES = Sensitivity(Fraction(0), Fraction(0), Fraction(0), 0)


@dataclass(frozen=True)
class Shape:
    """The public numbers that all bounds on one total are made of."""

    schema: Schema
    rule: Bounding
    keys: tuple[str, ...]
    part: Part
    where: Predicate

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The smallest and the largest value of one row."""
        return self.part.range(self.schema)

    @property
    def size(self) -> int:
        """M: the largest size of one row's value."""
        return max(map(abs, self.ends))

    @property
    def spread(self) -> int:
        """How far a value lies from another one, or from none (s)."""
        low, high = self.ends
        return max(high, 0) - min(low, 0)

    @property
    def total(self) -> int:
        """T: how much a person may count."""
        return self.rule.rows * self.rule.scale

    @cached_property
    def cells(self) -> int | None:
        """How many cells there are; None if nobody can list them."""
        found = [self.schema.domain(name).size for name in self.keys]
        return None if any(size is None for size in found) else prod(size or 1 for size in found)

    @property
    def value_may_vanish(self) -> bool:
        """Whether a row may add nothing because its value is missing."""
        return self.part.may_be_missing(self.schema)

    @property
    def still(self) -> bool:
        """Whether nobody can move the total at all."""
        return self.where == NO_ROW or self.ends == (0, 0)

    def bounds(self, sides: int, l2_squared: int, largest: int, group_sides: int) -> Sensitivity:
        """Return bounds whose l1 is `sides` persons' worth of `largest`, or of `size` when two sides meet."""
        l1 = self.total * (largest if sides == 1 else 2 * self.size)
        # Each unit of weight sits in one cell, and each picked row does.
        places = self.total if self.rule.way is Way.WEIGH else self.rule.rows
        limits = [places * sides, l1]
        if self.cells is not None:
            limits.append(self.cells)
        if self.rule.groups is not None and self.keys:
            limits.append(self.rule.groups * group_sides)
        return Sensitivity(
            l1=Fraction(l1),
            l2_squared=Fraction(self.total**2 * l2_squared),
            largest=Fraction(self.total * largest),
            changed=min(limits),
        )


def person_there_or_not(shape: Shape) -> Sensitivity:
    """Return how far a total moves when a person with all rows is added or removed."""
    return NOTHING_MOVES if shape.still else shape.bounds(1, shape.size**2, shape.size, 1)


def person_replaced(shape: Shape) -> Sensitivity:
    """Return how far a total moves when one person is exchanged for another: enter, leave and change are all in it."""
    if shape.still:
        return NOTHING_MOVES
    if shape.cells != 1:
        return shape.bounds(2, max(2 * shape.size**2, shape.spread**2), shape.spread, 2)
    vanishes = shape.where != EVERY_ROW or shape.rule.way is Way.WEIGH or shape.value_may_vanish
    sums = [weight * end for weight in (0 if vanishes else 1, shape.total) for end in shape.ends]
    width = max(sums) - min(sums)
    return Sensitivity(Fraction(width), Fraction(width) ** 2, Fraction(width), min(width, 1))


def attributes_changed(shape: Shape, changed: frozenset[str], *, matched: bool) -> Sensitivity:
    """Return how far a total moves when one person keeps the rows, and these attributes differ in them.

    `matched` says that the rows that count are matched one by one, which picking by contents does not promise.
    """
    if shape.still or not changed:
        return NOTHING_MOVES
    schema = shape.schema

    def touched(names: Iterable[str]) -> bool:
        return not schema.reads(names).isdisjoint(changed)

    moves = touched(name for name in shape.keys if schema.domain(name).size != 1)
    enters = touched(columns(shape.where))
    value_changes = shape.part.column is not None and touched([shape.part.column])
    if not matched:
        moves, enters, value_changes = shape.cells != 1, shape.where != EVERY_ROW, shape.part.column is not None
    reach = shape.spread if value_changes else shape.size
    if moves:
        return shape.bounds(2, max(2 * shape.size**2, reach**2), reach, 2)
    if enters:
        return shape.bounds(1, reach**2, reach, 2)
    low, high = shape.ends
    width = shape.spread if shape.value_may_vanish else high - low
    return shape.bounds(1, width**2, width, 1) if value_changes and width else NOTHING_MOVES


def mean_moved(shape: Shape, factor: int, changed: frozenset[str] | None, *, replaced: bool) -> Sensitivity:
    """Return how far a sum and its count move as one vector: rows add (2x - a - b, factor), or nothing (SM-MISSING).

    A value that changes moves the sum alone, by at most 2(b - a). A row that enters or leaves moves the sum by at most
    b - a, because it is taken around the middle, and the count by `factor`; one that goes to another cell does both
    there. With factor b - a a count beside the sum costs nothing. `changed` is None for the whole person.
    """
    low, high = shape.ends
    width = high - low
    apart = Sensitivity(Fraction(2 * width), Fraction(4 * width**2), Fraction(2 * width), 1)
    enters = Sensitivity(Fraction(width + factor), Fraction(width**2 + factor**2), Fraction(max(width, factor)), 2)
    moves = Sensitivity(2 * enters.l1, 2 * enters.l2_squared, enters.largest, 4)
    schema = shape.schema

    def touched(names: Iterable[str]) -> bool:
        return changed is None or not schema.reads(names).isdisjoint(changed)

    found: list[Sensitivity] = []
    if changed is None:
        found = [enters] if not replaced else [apart, enters if shape.cells == 1 else moves]
    else:
        value = touched([shape.part.column or ""])
        found += [apart] if value else []
        if touched(name for name in shape.keys if schema.domain(name).size != 1):
            found.append(moves)
        elif touched(columns(shape.where)) or (value and shape.value_may_vanish):
            found.append(enters)
    if not found:
        return NOTHING_MOVES
    one = reduce(Sensitivity.cover, found)
    places = shape.total if shape.rule.way is Way.WEIGH else shape.rule.rows
    limits = [places * one.changed] + ([] if shape.cells is None else [2 * shape.cells])
    return replace(one.times(shape.total), changed=min(limits))


def people_moved(
    schema: Schema,
    keys: tuple[str, ...],
    where: Predicate,
    changed: frozenset[str] | None,
    *,
    replaced: bool,
    groups: int | None = None,
) -> Sensitivity:
    """Return how far numbers of people by cell move; `changed` is None for the whole person.

    Every coordinate moves by at most one, so that all sums of them are the number of cells that change.
    """
    sizes = [schema.domain(name).size for name in keys]
    cells = prod(size or 1 for size in sizes)
    limited = schema.groups_per_person if keys and schema.person is not None else None
    if groups is not None:
        limited = kept_groups(schema, keys, groups)
    most = min(cells, limited) if limited is not None else cells
    if schema.one_cell_each(keys):
        most = 1
    both = min(2 * most, cells)
    if where == NO_ROW:
        count = 0
    elif changed is None:
        alone = int(where != EVERY_ROW) if replaced else 1
        count = alone if cells == 1 else (both if replaced else most)
    elif not schema.reads(name for name in keys if schema.domain(name).size != 1).isdisjoint(changed):
        count = both
    elif not schema.reads(columns(where)).isdisjoint(changed):
        count = most if limited is None else both
    else:
        count = 0
    return Sensitivity(Fraction(count), Fraction(count), Fraction(min(count, 1)), count)
