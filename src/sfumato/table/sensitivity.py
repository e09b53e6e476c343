"""How far exact statistics of a table can move: the one place where it is derived.

A person adds to a statistic the vector Σ w·m·e_k over their rows: w is the row's weight, m its value in [a, b] (1 for
a count), k its cell. The weights of a person sum to at most T = rows·scale, so a person's vector lies in the convex
hull of 0 and the points T·m·e_k. Differences of two such vectors are largest at the corners:

| what differs | l1 | l2² | largest |
|---|---|---|---|
| a person is there or not | T·M | (T·M)² | T·M |
| one person for another, several cells | 2T·M | T²·max(2M², s²) | T·s |
| one person for another, one cell | the width of the possible sums | its square | itself |
| attributes that choose the cell | 2T·M | T²·max(2M², d²) | T·d |
| attributes of the filter only | T·d | (T·d)² | T·d |
| attributes of the value only | T·h | its square | itself |

with M = max(|a|, |b|), s = max(b, 0) - min(a, 0), d = s if the value changes too, else M, and h = s if the value may be
missing, else b - a. A filter, weights that may vanish, or a value that may be missing and then adds nothing, let a
person enter and leave, so zero is always a possible share; otherwise a person of one row is always there. Attribute
neighbours share the person and the number of rows. Picked rows are chosen by all of their
contents, so there any attribute can change every row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import prod
from typing import Any

from sfumato.domain import nearest
from sfumato.errors import SchemaError
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Everything, Relation, attributes
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.table.bounding import Bounding, Way
from sfumato.table.predicate import EVERY_ROW, NO_ROW, Predicate, columns
from sfumato.table.schema import Schema
from sfumato.table.statistics import COUNT, Measure
from sfumato.table.where import read_where

NOTHING_MOVES = Sensitivity(Fraction(0), Fraction(0), Fraction(0), 0)


def table_sensitivity(
    schema: Schema,
    rule: Bounding,
    *,
    keys: Sequence[str] = (),
    measure: Measure = COUNT,
    where: Any = None,
    relation: Relation = REPLACE_ONE,
    changing: Iterable[str] | str | Everything = EVERYTHING,
) -> Sensitivity:
    """Bound the difference of a statistic between neighbours, in its own units (1/scale of a row, steps of a column).

    `changing` is EVERYTHING for a whole person, or the attributes in which one person may differ.

    >>> from sfumato.domain import categories, integers
    >>> schema = Schema({"sex": categories("Female", "Male"), "age": integers(0, 99)})
    >>> rows = Bounding(Way.ROWS)
    >>> table_sensitivity(schema, rows).l1, table_sensitivity(schema, rows, keys=["sex"]).l1
    (Fraction(0, 1), Fraction(2, 1))
    >>> table_sensitivity(schema, rows, keys=["sex"], where="age > 40", changing="age").l1
    Fraction(1, 1)
    """
    predicate = read_where(where, schema)
    low, high = measure.range(schema)
    if predicate == NO_ROW or low == high == 0:
        return NOTHING_MOVES
    shape = _Shape(schema, rule, tuple(keys), measure, predicate)
    changed = attributes(changing)
    if not isinstance(changed, Everything):
        return _attributes(shape, measure, changed)
    if relation is not REPLACE_ONE:
        return shape.bounds(1, Fraction(shape.size) ** 2, shape.size, 1)
    return _person(shape)


class _Shape:
    """The public numbers that all bounds are made of."""

    def __init__(
        self, schema: Schema, rule: Bounding, keys: tuple[str, ...], measure: Measure, predicate: Predicate
    ) -> None:
        self.schema, self.rule, self.keys, self.predicate = schema, rule, keys, predicate
        self.low, self.high = measure.range(schema)
        self.may_be_missing = measure.may_be_missing(schema)
        self.total = rule.rows * rule.scale
        found = [schema.domain(name).size for name in keys]
        self.cells = None if any(size is None for size in found) else prod(size or 1 for size in found)
        # How many cells one person can be in: each unit of weight sits in one.
        self.places = self.total if rule.way is Way.WEIGH else rule.rows

    @property
    def size(self) -> int:
        return max(abs(self.low), abs(self.high))

    @property
    def spread(self) -> int:
        return max(self.high, 0) - min(self.low, 0)

    @property
    def filtered(self) -> bool:
        return self.predicate != EVERY_ROW

    def bounds(self, sides: int, l2_squared: Fraction, largest: int, group_sides: int) -> Sensitivity:
        """Return bounds whose l1 is `sides` persons' worth of `largest`, or of `size` when two sides meet."""
        l1 = self.total * (largest if sides == 1 else 2 * self.size)
        limits = [self.places * sides, self.cells, l1]
        if self.rule.groups is not None and self.keys:
            limits.append(self.rule.groups * group_sides)
        return Sensitivity(
            l1=Fraction(l1),
            l2_squared=self.total**2 * l2_squared,
            largest=Fraction(self.total * largest),
            changed=min(limit for limit in limits if limit is not None),
        )


def _person(shape: _Shape) -> Sensitivity:
    """One person is exchanged for another: enter, leave and change are all in it."""
    if shape.cells != 1:
        l2_squared = Fraction(max(2 * shape.size**2, shape.spread**2))
        return shape.bounds(2, l2_squared, shape.spread, 2)
    always = 0 if shape.filtered or shape.may_be_missing or shape.rule.way is Way.WEIGH else 1
    sums = [weight * end for weight in (always, shape.total) for end in (shape.low, shape.high)]
    width = max(sums) - min(sums)
    return Sensitivity(Fraction(width), Fraction(width) ** 2, Fraction(width), min(width, 1))


def _attributes(shape: _Shape, measure: Measure, changed: frozenset[str]) -> Sensitivity:
    """One person keeps the number of rows, and some attributes differ in them."""
    schema = shape.schema
    for name in changed:
        if name not in schema.attributes:
            raise SchemaError(f"{name!r} is no private attribute; {nearest(name, schema.attributes)}")

    def touched(names: Iterable[str]) -> bool:
        return not schema.reads(names).isdisjoint(changed)

    moves = touched(name for name in shape.keys if schema.domain(name).size != 1)
    enters = touched(columns(shape.predicate))
    value_changes = measure.column is not None and touched([measure.column])
    if shape.rule.way is Way.PICK and changed:
        moves, enters, value_changes = shape.cells != 1, shape.filtered, measure.column is not None
    reach = shape.spread if value_changes else shape.size
    if moves:
        return shape.bounds(2, Fraction(max(2 * shape.size**2, reach**2)), reach, 2)
    if enters:
        return shape.bounds(1, Fraction(reach) ** 2, reach, 2)
    width = shape.spread if shape.may_be_missing else shape.high - shape.low
    if value_changes and width:
        return shape.bounds(1, Fraction(width) ** 2, width, 1)
    return NOTHING_MOVES
