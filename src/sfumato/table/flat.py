"""What a FROM clause means: the rows of one anchor with what each looks up (SQ-FLAT), and one row a person (SQ-PERSON).

A join follows the person or a declared link to at most one row, so that one row of the anchor gives at most one flat
row and nothing fans out. Whether a row is there at all is data: a JOIN that drops rows, a WHERE, and an anchor in which
not everybody has a row are one filter, and `presence` is what that filter reads. The sensitivities of such rows are
those of any totals with a filter, which `table/sensitivity.py` knows (Theorem SQ-FLAT).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from sfumato.domain import Booleans, Categories, Dates, Derived, Domain, FixedPoint, Integers, Text
from sfumato.domain.base import Ranged
from sfumato.domain.calendar import day_of_number
from sfumato.errors import SchemaError
from sfumato.table.bounding import WEIGHT
from sfumato.table.comparison import among, compare
from sfumato.table.expression import Expression
from sfumato.table.predicate import EVERY_ROW, Codes, Condition, Predicate
from sfumato.table.predicate import expression as predicate_expression
from sfumato.table.repair import PERSON
from sfumato.table.schema import Schema
from sfumato.table.statistics import DENSE_CELLS

if TYPE_CHECKING:
    import ibis.expr.types as ir

LINK = "sfumato_link_"
"""Before the name of a link: the place of its partner in the public table, null where there is none."""
PLACE = "sfumato_place"
"""The place of a row of a public table."""
MOST_LABELS = 2**16


class Holdings(Protocol):
    """Where stored tables are had: codes, the person of each row, its weight if it is an event, and its links."""

    def held(self, table: str) -> ir.Table:
        """Return a stored table."""
        ...


# Columns


class _Named:
    """The columns of one side under their bare names, as predicates read them."""

    def __init__(self, rows: Any, side: str) -> None:
        self.rows, self.side = rows, side

    def __getitem__(self, name: str) -> Any:
        return self.rows[f"{self.side}.{name}"]


@dataclass(frozen=True)
class Place:
    """Where a column stands: the side of the flat table, the schema that says what it holds, what reading it reads."""

    side: str
    schema: Schema
    reads: frozenset[str]
    absent: bool
    """Whether the side may be missing as a whole, after a LEFT JOIN."""


def leaf(place: Place, column: str, text: str) -> Expression:
    """Return a column of a stored table as an expression."""
    domain = place.schema.domain(column)
    name = f"{place.side}.{column}"
    nullable = domain.may_be_missing or place.absent
    facts: dict[str, Any] = {"nullable": nullable, "reads": place.reads, "columns": frozenset({name})}

    def stored(rows: Any) -> Any:
        return rows[name]

    def cell(rows: Any) -> Any:
        if isinstance(domain, Text):
            return rows[name]
        # Stored codes are as narrow as they can be; arithmetic on them would leave their type.
        code = rows[name].cast("int64")
        return code.nullif(domain.missing_code) if domain.may_be_missing else code

    def compares(how: str, values: Sequence[Any]) -> Expression:
        schema = place.schema
        found = among(schema, column, values) if how == "IN" else compare(schema, column, how, values[0])
        return _condition(found, place, facts)

    raw = None if place.absent else stored
    shaped = _shape(domain)
    if shaped is None:
        texts = domain if isinstance(domain, Text) else None
        kind = "time" if texts is None else "text"
        return Expression(text, kind, cell, compares=compares, texts=texts, **facts)  # type: ignore[arg-type]
    return Expression(
        text, **shaped(cell), raw=raw if domain.first == shaped(cell)["low"] else None, compares=compares, **facts
    )


def _shape(domain: Domain) -> Any:
    """Return what a domain's cells are as expressions, given how the code is had; None if they are only compared."""
    if isinstance(domain, (Integers, FixedPoint)):
        step = domain.step if isinstance(domain, FixedPoint) else Fraction(1)
        return lambda cell: {"kind": "number", "build": cell, "low": domain.first, "high": domain.highest, "step": step}
    if isinstance(domain, Dates):
        return lambda cell: {"kind": "date", "build": cell, "low": domain.first, "high": domain.highest}
    if isinstance(domain, Booleans):
        return lambda cell: {"kind": "truth", "build": lambda rows: cell(rows) == 1, "low": 0, "high": 1}
    if not isinstance(domain, (Categories, Derived)) or domain.present is None or len(domain.present) > MOST_LABELS:
        return None
    labels, first = tuple(domain.decode(code) for code in domain.present), domain.first
    return lambda cell: {
        "kind": "label",
        "build": (lambda rows: cell(rows) - first) if first else cell,
        "low": 0,
        "high": len(labels) - 1,
        "labels": labels,
    }


def _condition(found: Condition, place: Place, facts: Mapping[str, Any]) -> Expression:
    """Return a comparison of a column with literals in its three values."""
    away = facts["columns"] if place.absent else ()

    def built(rows: Any) -> Any:
        import ibis

        named = _Named(rows, place.side)
        true = predicate_expression(found.true, named, place.schema)
        if not facts["nullable"]:
            return true
        false = predicate_expression(found.false, named, place.schema)
        unknown = ibis.null("boolean")
        known = ((true, ibis.literal(True)), (false, ibis.literal(False)))
        # What all values fulfil is a constant, also of a row that a LEFT JOIN did not find.
        return ibis.cases(*((rows[name].isnull(), unknown) for name in away), *known, else_=unknown)

    return Expression("", "truth", built, **facts)


def computed(side: str, column: str, of: Expression, text: str, *, absent: bool, reads: frozenset[str]) -> Expression:
    """Return a column of a table with one row a person: its range is that of what is behind it."""
    name = f"{side}.{column}"
    truth = of.kind == "truth"
    return Expression(
        text,
        of.kind,
        (lambda rows: rows[name] == 1) if truth else (lambda rows: rows[name]),
        of.low,
        of.high,
        of.step,
        of.labels,
        nullable=of.nullable or absent,
        reads=reads,
        columns=frozenset({name}),
    )


# Flat tables


@dataclass(frozen=True, eq=False)
class Side:
    """One table of a FROM clause under the name that it has there."""

    name: str
    table: str
    kind: str
    """people, event, public or person (a table of one row a person)."""
    presence: frozenset[str] = frozenset()
    """What decides whether a row is there."""
    person: PersonTable | None = None


@dataclass(frozen=True, eq=False)
class Joined:
    """A side that is looked up: by the person, or by the link of another side."""

    side: Side
    left: bool
    link: tuple[str, str] | None = None
    reads: frozenset[str] = frozenset()
    """What decides whether there is a partner."""
    drops: bool = True
    """Whether a JOIN may drop a row; people are always there."""


@dataclass(frozen=True, eq=False)
class Flat:
    """The flat table of a FROM clause and its WHERE."""

    anchor: Side
    joins: tuple[Joined, ...]
    rows_per_person: int
    everybody: bool
    """Whether the anchor has exactly one row for each person."""
    occurs: bool
    """Whether every person has a row in the anchor."""
    where: Expression | None = None

    @cached_property
    def presence(self) -> frozenset[str]:
        """The attributes that decide whether a row is there."""
        found = self.anchor.presence | (frozenset() if self.where is None else self.where.reads)
        return found.union(*(join.reads for join in self.joins if not join.left))

    @property
    def filtered(self) -> bool:
        """Whether a person may have no row here, or a row may be left out."""
        dropped = any(join.drops and not join.left for join in self.joins)
        return self.where is not None or dropped or not self.occurs

    @cached_property
    def of_persons(self) -> frozenset[str]:
        """The sides that are the same in all rows of a person: people, rows of WITH, and what these lead to."""
        found = {self.anchor.name} if self.anchor.kind in ("people", "person") else set()
        for join in self.joins:
            if join.side.kind in ("people", "person") or (join.link is not None and join.link[0] in found):
                found.add(join.side.name)
        return frozenset(found)

    def rows(self, holdings: Holdings, columns: Iterable[str], weighed: bool = False) -> ir.Table:
        """Return the flat rows with some columns, called side.column, and the person; with the weight if asked for."""
        wanted = set(columns) | (set() if self.where is None else self.where.columns)
        for join in self.joins:
            if join.link is not None:
                wanted.add(".".join((join.link[0], LINK + join.link[1])))
        rows = _renamed(
            _stored(self.anchor, holdings), self.anchor.name, wanted, [PERSON, WEIGHT] if weighed else [PERSON]
        )
        for join in self.joins:
            rows = _looked_up(rows, join, holdings, wanted)
        if self.where is not None:
            rows = rows.filter(self.where.build(rows))
        return rows


def _stored(side: Side, holdings: Holdings) -> ir.Table:
    return side.person.rows(holdings) if side.person is not None else holdings.held(side.table)


def _renamed(table: ir.Table, side: str, wanted: set[str], kept: Sequence[str]) -> ir.Table:
    cells = {f"{side}.{name}": table[name] for name in table.columns if f"{side}.{name}" in wanted}
    return table.select({**cells, **{name: table[name] for name in kept}})


def _looked_up(rows: ir.Table, join: Joined, holdings: Holdings, wanted: set[str]) -> ir.Table:
    side = join.side
    used = any(name.startswith(f"{side.name}.") for name in wanted)
    if not used and (join.left or not join.drops):
        return rows  # at most one partner, of which nothing is read
    key = PERSON if join.link is None else PLACE
    other = _renamed(_stored(side, holdings), side.name, wanted, [key]).rename(sfumato_other=key)
    own = rows[PERSON] if join.link is None else rows[".".join((join.link[0], LINK + join.link[1]))]
    method = "left" if join.left else "inner"
    return rows.join(other, [own == other.sfumato_other], how=method).drop("sfumato_other")


# Tables with one row a person


@dataclass(frozen=True, eq=False)
class PersonPart:
    """One aggregate of a person's rows, clamped to its public range: `value` is what it is as an expression."""

    function: str
    of: Expression | None
    value: Expression
    name: str


@dataclass(frozen=True, eq=False)
class PersonTable:
    """One row for each person who has a row in `flat`: aggregates of all their rows, and what is computed of them."""

    flat: Flat
    parts: tuple[PersonPart, ...]
    items: Mapping[str, Expression] = field(default_factory=dict)

    def rows(self, holdings: Holdings) -> ir.Table:
        """Return the person and the code of each item, null where it is missing."""
        from sfumato.table.person_parts import aggregated

        found = aggregated(self.flat, self.parts, holdings)
        cells = {name: _stored_code(item, found) for name, item in self.items.items()}
        return found.select({**cells, **{PERSON: found[PERSON]}})


def _stored_code(item: Expression, rows: Any) -> Any:
    return item.build(rows).cast("int64")


# What a gauge sees of it


@dataclass(frozen=True)
class Grid(Ranged, Domain):
    """The codes of an expression: numbers in steps, days, truth values, or labels."""

    kind: ClassVar[str] = "grid"
    low: int
    high: int
    step: Fraction = Fraction(1)
    form: str = "number"
    labels: tuple[Any, ...] = ()

    def decode(self, code: int) -> Any:
        """Return the value of a code."""
        if self.is_missing(code):
            return None
        self._check_code(code)
        if self.form == "label":
            return self.labels[code]
        if self.form == "date":
            return day_of_number(code)
        return bool(code) if self.form == "truth" else code * self.step

    def encode(self, value: Any) -> int:
        """Refuse: codes of expressions are computed, never read."""
        raise SchemaError("An expression has no cells of its own.")

    def code(self, value: Any) -> int:
        """Return the code of the value that stands for missing ones, which none is."""
        return self.low

    def to_json(self) -> dict[str, Any]:
        """Return the range, for the fingerprint of a flat table."""
        shown = [one.isoformat() if isinstance(one, date) else str(one) for one in self.labels]
        return self._record(
            low=self.low, high=self.high, step=str(self.step), form=self.form, labels=shown, missing=self.may_be_missing
        )


def grid_of(value: Expression) -> Domain:
    """Return the domain of an expression's codes; of a column of texts, the column's own."""
    if value.texts is not None:
        return value.texts
    return Grid(
        value.low, value.high, value.step, value.kind, value.labels, missing=None if value.nullable else value.low
    )


HERE = "here"
"""The column of a flat table that says that a row is there: what its filter reads."""


@dataclass(frozen=True, eq=False)
class FlatSchema(Schema):
    """A flat table as gauges see one: named columns, each of which may read several attributes."""

    flat: Flat | None = None
    values: Mapping[str, Expression] = field(default_factory=dict)
    secret: tuple[str, ...] = ()
    text: str = ""
    rules: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        flat: Flat,
        values: Mapping[str, Expression],
        attributes: Sequence[str],
        text: str,
        rules: tuple[str, ...] = (),
    ) -> FlatSchema:
        """Return the schema of some keys and values of a flat table."""
        columns: dict[str, Domain] = {name: grid_of(value) for name, value in values.items()}
        columns[HERE] = Grid(0, 1, form="truth", missing=0)
        rows = {"row_key": ()} if flat.everybody else {"rows_per_person": flat.rows_per_person}
        return cls(
            columns,
            person="person",
            flat=flat,
            values=dict(values),
            secret=tuple(attributes),
            text=text,
            rules=rules,
            **rows,
        )

    @property
    def where(self) -> Predicate:
        """The one filter: the rows that are there."""
        assert self.flat is not None
        return Codes(HERE, ((1, 1),)) if self.flat.filtered else EVERY_ROW

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The private attributes of the whole database."""
        return self.secret

    def base(self, name: str) -> str:
        """Return the column itself: what it reads is a set."""
        return name

    def reads(self, names: Iterable[str]) -> frozenset[str]:
        """Return the private attributes that these columns reveal something about."""
        assert self.flat is not None
        found: frozenset[str] = frozenset()
        for name in names:
            found |= self.flat.presence if name == HERE else self.values[name].reads
        return found & frozenset(self.secret)

    def one_cell_each(self, keys: Iterable[str]) -> bool:
        """Tell whether all rows of a person are in one cell: they have one row, or the keys are the person's."""
        assert self.flat is not None
        own = self.flat.of_persons
        sides = {column.split(".", 1)[0] for key in keys for column in self.values[key].columns}
        return super().one_cell_each(keys) or sides <= own

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the statement and of the codes that it is read in."""
        import hashlib
        import json

        shown = {name: domain.to_json() for name, domain in self.columns.items()}
        facts = [self.text, shown, list(self.secret), self.rows_per_person, self.row_key is None]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def codes(self, holdings: Holdings, names: Iterable[str], *, weighed: bool) -> ir.Table:
        """Return the codes of some columns for every row that is there, with its person and perhaps its weight."""
        import ibis

        assert self.flat is not None
        listed = [name for name in names if name != HERE]
        used = frozenset[str]().union(*(self.values[name].columns for name in listed))
        rows = self.flat.rows(holdings, used, weighed)
        cells = {name: self.values[name].code(rows) for name in listed}
        more = {name: rows[name] for name in ([PERSON, WEIGHT] if weighed else [PERSON])}
        return rows.select({**cells, **{HERE: ibis.literal(1, "int8")}, **more})


def listable(keys: Sequence[Expression]) -> bool:
    """Tell whether all combinations of some keys can be listed; others are found in the data."""
    if any(key.texts is not None for key in keys):
        return False
    return prod(key.high - key.low + 1 + key.nullable for key in keys) <= DENSE_CELLS
