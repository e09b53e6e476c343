"""Gauges: a measure bound to public facts, which alone knows unit, reads and sensitivity (SM-MEASURE).

What is read, in which unit it counts, who is charged for it and how far one person or one attribute moves it belong
together. A mechanism takes these facts from a gauge, and the gauge is the only door to the data: it reads exactly what
it charges for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sfumato.errors import SchemaError
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Attributes, Bound, Everything, Loss, Relation
from sfumato.privacy.bounds import for_each_of_two
from sfumato.privacy.calibrate import Gaussians
from sfumato.privacy.parallel import twice
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.table.bounding import SCALE, Bounding, Way, bounding_of
from sfumato.table.boxes import Box, box_moved, found_box_moved
from sfumato.table.database import IN_SQL, Database
from sfumato.table.measure import Boxed, FoundBoxes, Measure, Occurring, Ordered, People, Totals, most_groups
from sfumato.table.notes import NOTHING, notes_of
from sfumato.table.predicate import EVERY_ROW, Predicate
from sfumato.table.schema import Schema
from sfumato.table.sensitivity import (
    Shape,
    attributes_changed,
    mean_moved,
    people_moved,
    person_replaced,
    person_there_or_not,
)
from sfumato.table.statistics import COUNT, Part, check_fits
from sfumato.table.view import View

if TYPE_CHECKING:
    from sfumato.mechanism import Promise
    from sfumato.table.data import Table

_OF_TOTALS = (Totals, Occurring, People, Boxed)
"""Measures that add something up, so that it is known how far each attribute moves them."""


@dataclass(frozen=True)
class Basis:
    """What everybody may know before a question is asked: schema, number of people, relation.

    Where people are added and removed their number is private, so `people` is None there and no plan can see it.
    `order_key` chooses which rows are picked of people who have too many, `scale` how many units a weighed row counts,
    `gaussians` which Gaussian noise the ledger was made for, `exact_lists` whether lists share their exact total there,
    `rank_errors` whether quantiles measure how far off they are, `contrasts` whether tables of a workload may be added
    up from contrasts, `clamps` whether a CASE that is a clamp has its range: a draw of an earlier version is read
    without.
    """

    schema: Schema
    people: int | None
    relation: Relation = REPLACE_ONE
    order_key: str = ""
    scale: int = SCALE
    gaussians: Gaussians = "wide"
    exact_lists: bool = True
    rank_errors: bool = True
    contrasts: bool = True
    clamps: bool = True

    def __post_init__(self) -> None:
        if self.relation is not REPLACE_ONE:
            object.__setattr__(self, "people", None)

    def gauge(self, measure: Measure) -> Gauge:
        """Return what is known about a measure here."""
        given: object = self.schema
        if isinstance(given, Database):
            raise SchemaError(IN_SQL)
        return Gauge(self, measure)


@dataclass(frozen=True)
class Gauge:
    """A measure and what follows from the schema and the relation for it: make one with `Basis.gauge`.

    >>> from sfumato.domain import categories, integers
    >>> schema = Schema({"age": integers(0, 99), "sex": categories("Female", "Male")}, person="id", rows_per_person=3)
    >>> gauge = Basis(schema, 1000).gauge(Totals(("sex",)))
    >>> gauge.unit, gauge.sensitivity().l1 * gauge.unit, gauge.sensitivity(changed={"age"}).l1
    (Fraction(1, 1048576), Fraction(6, 1), Fraction(0, 1))
    """

    basis: Basis
    measure: Measure

    @cached_property
    def schema(self) -> Schema:
        """The public description of the table."""
        return self.basis.schema

    @cached_property
    def relation(self) -> Relation:
        """What neighbours are."""
        return self.basis.relation

    @property
    def gaussians(self) -> Gaussians:
        """Which Gaussian noise is drawn."""
        return self.basis.gaussians

    @property
    def people(self) -> int | None:
        """The number of people, where it is public."""
        return self.basis.people

    @cached_property
    def rule(self) -> Bounding:
        """How much of a person counts."""
        if isinstance(self.measure, (People, Boxed)):
            return Bounding(Way.ROWS, key=self.basis.order_key)
        rule = bounding_of(self.schema, whole=self.measure.whole, key=self.basis.order_key, scale=self.basis.scale)
        # Groups are chosen by keys; of rows and of ordered values they would let one attribute decide another's cell.
        return rule if isinstance(self.measure, (Totals, Occurring)) else replace(rule, groups=None)

    @cached_property
    def unit(self) -> Fraction:
        """What one integer of a reading is worth, in rows."""
        return Fraction(1, self.rule.scale)

    @cached_property
    def rows(self) -> int:
        """How many rows of a person count at most."""
        return self.rule.rows

    @property
    def weight(self) -> int:
        """How many units a person counts at most."""
        return self.rule.rows * self.rule.scale

    @cached_property
    def matched(self) -> bool:
        """Whether people who change an attribute keep their rows one by one: no cell decides which rows count."""
        return self.rule.way is not Way.PICK or self.schema.row_key is not None

    @property
    def total(self) -> int | None:
        """The number of rows that are read, where everybody knows it."""
        if self.rows != 1 or self.unit != 1 or self._where != EVERY_ROW:
            return None
        return self.people

    @property
    def _where(self) -> Predicate:
        return getattr(self.measure, "where", EVERY_ROW)

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns that a reading depends on."""
        return self.measure.columns()

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The private attributes that a reading may depend on."""
        if not self.matched:
            return frozenset(self.schema.attributes)
        named = self.schema.reads(self.columns)
        return named | self.schema.key_attributes if self.rule.way is Way.PICK else named

    @property
    def charged(self) -> Attributes:
        """The attributes to charge; what costs something and depends on none is charged to all."""
        return self.attributes or EVERYTHING

    @cached_property
    def _charged_apart(self) -> frozenset[str]:
        """The attributes that pay what a mechanism states for them; the others pay what a replaced person does."""
        if not self.matched:
            return frozenset()
        return self.attributes - self.schema.key_attributes if self.rule.way is Way.PICK else self.attributes

    # How far a reading moves

    def sensitivity(self, part: Part | Box = COUNT, changed: Any = None) -> Sensitivity:
        """Return how far one part of the totals moves, in units of the gauge.

        `changed` is None for the whole person, and else the attributes in which one person may differ.
        """
        names = None if changed is None else frozenset(changed)
        replaced = self.relation is REPLACE_ONE
        if isinstance(self.measure, FoundBoxes):
            assert isinstance(part, Box)
            read, most = sorted(self.columns), most_groups(self.schema, self.measure)
            return found_box_moved(self.schema, read, part, names, replaced=replaced, groups=most)
        if isinstance(self.measure, Boxed):
            assert isinstance(part, Box)
            measure = self.measure
            return box_moved(
                self.schema, measure.keys, measure.where, part, names, replaced=replaced, groups=measure.groups
            )
        assert isinstance(part, Part)
        if isinstance(self.measure, People):
            people = self.measure
            return people_moved(self.schema, people.keys, people.where, names, replaced=replaced, groups=people.groups)
        shape = self._shape(part)
        if names is None:
            return person_replaced(shape) if replaced else person_there_or_not(shape)
        if self.rule.way is Way.PICK and names & self.schema.key_attributes:
            return person_replaced(shape)
        return attributes_changed(shape, names, matched=self.matched)

    def mean_sensitivity(self, part: Part, factor: int, changed: Any = None) -> Sensitivity:
        """Return how far a sum around the middle of a column and `factor` times its count move, as one vector."""
        names = None if changed is None else frozenset(changed)
        replaced = self.relation is REPLACE_ONE
        return mean_moved(self._shape(part), factor, names, replaced=replaced)

    def by_attribute(self, part: Part | Box = COUNT) -> dict[str, Sensitivity]:
        """Return how far each attribute alone moves a part of the totals; those that move nothing are left out."""
        found = {name: self.sensitivity(part, {name}) for name in sorted(self.attributes)}
        return {name: moves for name, moves in found.items() if moves.l1}

    def public(self, part: Part | Box = COUNT) -> int | None:
        """Return a total that everybody knows: the number of rows, where each person has one that counts."""
        counts = isinstance(self.measure, (Totals, People))
        bare = counts and not getattr(self.measure, "keys", ()) and self._where == EVERY_ROW
        return self.people if bare and part == COUNT and self.rows == 1 else None

    @cached_property
    def _shapes(self) -> dict[Part, Shape]:
        return {}

    def _shape(self, part: Part) -> Shape:
        """Return the numbers behind the bounds of a part: the same ones for the person and for every attribute."""
        if part not in self._shapes:
            self._shapes[part] = self._shape_of(part)
        return self._shapes[part]

    def _shape_of(self, part: Part) -> Shape:
        if isinstance(self.measure, Ordered):
            return Shape(self.schema, self.rule, (self.measure.column,), COUNT, self.measure.where)
        assert isinstance(self.measure, (Totals, Occurring)), "Only totals have a sensitivity of their own."
        check_fits(part, self.schema, self.rule)
        return Shape(self.schema, self.rule, self.measure.keys, part, self.measure.where)

    # What a mechanism costs on this gauge

    def priced(self, spend: Bound, *, stated: bool = False) -> Bound:
        """Return the spend that a mechanism is made for, so that what it costs here is within the spend.

        Where some attribute can change every row, by their contents or as part of the row key, it costs what a replaced
        person does. Where people are added and removed, totals know what a changed attribute moves, and so does a
        mechanism that has `stated` it; for everything else it is a person who leaves and one who enters.
        """
        if spend.unit == "person":
            return spend
        totals = isinstance(self.measure, _OF_TOTALS) and not self.measure.whole
        keyed = self.rule.way is Way.PICK and bool(self.schema.key_attributes)
        if self.matched and not keyed and (totals or stated or self.relation is REPLACE_ONE):
            return spend
        return replace(spend if self.relation is REPLACE_ONE else for_each_of_two(spend), unit="person")

    def charge(self, loss: Loss) -> Loss:
        """Return what a mechanism costs when it is given this reading: its own loss, or more for some attributes.

        A mechanism speaks of rows that are matched one by one. Where they are picked by their contents every attribute
        costs what the person does; where they are picked by a row key, the attributes in that key do.
        """
        if loss.person.is_zero:
            return loss
        if not self.matched:
            return Loss.flat(loss.person, self.charged, self.relation)
        keyed = self.attributes - self._charged_apart
        if not keyed:
            return loss
        replaced = loss.person if self.relation is REPLACE_ONE else twice(loss.person)
        singles = {name: replaced if name in keyed else loss.at(name) for name in sorted(self.attributes)}
        return Loss.stated(loss.person, singles, self.relation)

    def require(self, mechanism: Promise) -> None:
        """Refuse a mechanism that was made for another reading: other neighbours, units, rows or attributes."""
        if mechanism.relation is not self.relation:
            raise TypeError(f"{type(mechanism).__name__} was made for other neighbours than its gauge.")
        if self.unit != 1 and not mechanism.weighed:
            raise TypeError(f"{type(mechanism).__name__} reads whole rows, and these are weighed.")
        if getattr(mechanism, "rows", self.rows) != self.rows:
            raise TypeError(f"{type(mechanism).__name__} was made for another number of rows a person.")
        if any(moves.l1 * grid < self._least_moved for moves, grid in mechanism.made_for()):
            raise TypeError(f"{type(mechanism).__name__} was made for numbers that move less than those of its gauge.")
        named = mechanism.reads
        if isinstance(named, Everything):
            return
        if not named <= self.attributes or any(self._moves(name) for name in self._charged_apart - named):
            raise TypeError(f"{type(mechanism).__name__} was made for other attributes than its gauge reads.")

    def _moves(self, name: str) -> bool:
        """Tell whether an attribute may move the reading; of totals it is known, and of everything else presumed.

        An attribute that is read through columns of one code each moves nothing: no cell of it reads differently.
        """
        read = [one for one in self.columns if self.schema.base(one) == name]
        if read and all(self.schema.domain(one).size == 1 for one in read):
            return False
        if not isinstance(self.measure, _OF_TOTALS):
            return True
        return any(self.sensitivity(part, {name}).l1 for part in self._parts)

    @cached_property
    def _least_moved(self) -> Fraction:
        """How far a person moves the total that moves least; nothing is presumed of other readings."""
        if not isinstance(self.measure, _OF_TOTALS):
            return Fraction(0)
        moved = [self.sensitivity(part).l1 for part in self._parts]
        return min((far for far in moved if far), default=Fraction(0))

    @property
    def _parts(self) -> tuple[Part | Box, ...]:
        """The totals that are read of every cell."""
        if isinstance(self.measure, Boxed):
            return self.measure.boxes
        return getattr(self.measure, "parts", (COUNT,))

    def notes(self, told: Mapping[str, str] = NOTHING) -> tuple[str, ...]:
        """Return the public rules by which cells and people are counted, in sentences; `told` by the question."""
        return notes_of(self, told)

    # The one door to the data

    def check(self, table: Table, holds: int = 0) -> None:
        """Refuse what the engine could not read, or what would not fit memory, from public facts and for nothing.

        `holds` is how many bytes every row of a reading takes besides, once whoever asked has arranged it.
        """
        from sfumato.table.planned import PlannedTable

        with table.source.turn:
            if (self, holds) not in table.planned:
                rows = PlannedTable(table.under(self.schema), self.people, holds)
                self.measure.query(View(rows, self.columns, self.rule))
                table.planned.add((self, holds))

    def read(self, table: Table) -> Any:
        """Return the exact integers of the measure, and of nothing else.

        A reading is several queries, and what they keep for each other; nobody else's come between them.
        """
        with table.source.turn:
            found = self.measure.query(table.under(self.schema).view(self.columns, self.rule))
        table.require_unchanged()  # or half of it may be of other files than those whose people were counted
        return found
