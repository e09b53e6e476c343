"""The public facts that a question is prepared from, and what preparing gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sfumato.answer import Released
from sfumato.errors import UnsupportedSpend
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Attributes, Bound, Cost, Everything, Loss, Relation
from sfumato.table.bounding import Bounding, Way
from sfumato.table.schema import Schema


@dataclass(frozen=True)
class Setting:
    """What everybody may know before a question is asked: schema, number of people, rule, relation."""

    schema: Schema
    people: int
    rule: Bounding
    relation: Relation = REPLACE_ONE

    @property
    def counted(self) -> bool:
        """Whether the number of rows is the public number of people: one row a person, nobody left out."""
        return self.rule.rows == 1 and self.relation is REPLACE_ONE

    def picking(self) -> Setting:
        """Return the setting in which rows are picked, for questions that need whole rows."""
        if self.rule.way is Way.ROWS:
            return self
        return replace(self, rule=replace(self.rule, way=Way.PICK, scale=1))

    def reads(self, columns: Iterable[str]) -> frozenset[str]:
        """Return the private attributes that a question about these columns depends on.

        Picked rows are ordered by all of their contents, so there every attribute is read.
        """
        picked = self.rule.way is Way.PICK
        return frozenset(self.schema.attributes) if picked else self.schema.reads(columns)

    def charged(self, columns: Iterable[str]) -> Attributes:
        """Return the attributes to charge; a question that costs something and reads none is charged to all."""
        return self.reads(columns) or EVERYTHING

    def require_unit(self, spend: Bound) -> None:
        """Refuse a spend per attribute where it has no meaning."""
        if spend.unit == "person":
            return
        if self.relation is not REPLACE_ONE:
            raise UnsupportedSpend(
                "A spend per attribute speaks of people who change one attribute, and here people are added or "
                f"removed; write {replace(spend, unit='person')!r}."
            )
        if self.rule.rows > 1:
            raise UnsupportedSpend(
                "A spend per attribute needs one row a person: an attribute of several rows is not one fact; write "
                f"{replace(spend, unit='person')!r}, or rows_per_person=1 in the schema."
            )


@dataclass(frozen=True)
class Prepared:
    """A question made ready from public facts: what it reads, what it runs, how it reads what comes out."""

    columns: frozenset[str]
    mechanism: Mechanism
    read: Callable[[Any], Any]
    finish: Callable[[Any], Released]
    way: Way | None = None


@dataclass(frozen=True, kw_only=True)
class Exact(Mechanism):
    """Returns what it is given: for numbers that do not depend on anybody."""

    spec: ClassVar[str] = "PDP:C-11"

    def loss(self) -> Loss:
        """Return no loss at all."""
        return Loss.flat(Cost.zero(), self.reads, self.relation)

    def run(self, exact: Any, noise: Noise) -> Any:
        """Return the input."""
        return exact


@dataclass(frozen=True, kw_only=True)
class Several(Mechanism):
    """Runs several mechanisms, each on its own input with its own draws; losses add up (PDP:C-7, C-10, PDP-PAR).

    What the parts read may differ: an attribute is charged by the parts that read it and by no other.
    """

    spec: ClassVar[str] = "PDP:C-7"

    mechanisms: tuple[Mechanism, ...]

    def __post_init__(self) -> None:
        found: frozenset[str] = frozenset()
        for mechanism in self.mechanisms:
            if isinstance(mechanism.reads, Everything):
                object.__setattr__(self, "reads", EVERYTHING)
                return
            found |= mechanism.reads
        object.__setattr__(self, "reads", found)

    def loss(self) -> Loss:
        """Return the sum of the losses."""
        total = self.mechanisms[0].loss()
        for mechanism in self.mechanisms[1:]:
            total = total + mechanism.loss()
        return total

    def run(self, exact: Sequence[Any], noise: Noise) -> tuple[Any, ...]:
        """Run each on its own input."""
        return tuple(mechanism.run(part, noise) for mechanism, part in zip(self.mechanisms, exact, strict=True))
