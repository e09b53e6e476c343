"""The profile of a release whose moves are known for the person and for each attribute apart (SM-MEASURE, R6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.errors import NotProvable, ParameterError
from sfumato.exact import INFINITY
from sfumato.privacy.attributes import Attributes, Everything
from sfumato.privacy.cost import Cost
from sfumato.privacy.parallel import twice
from sfumato.privacy.profile import Profile
from sfumato.privacy.relations import REPLACE_ONE, Relation
from sfumato.privacy.union import union

COMPARED_AT = Fraction(1, 10**6)
"""The delta at which whole certificates are compared where one of them leaks; any of them would be true."""


@dataclass(frozen=True)
class Stated(Profile):
    """A cost for the person and for each attribute alone, each meant literally under its relation.

    Other shapes say what one step costs, and under add-remove neighbours an attribute is charged two of them. Here
    an attribute's number is already that of a changed cell in a person who is there in both worlds. It may exceed the
    person's, which is then about being there at all: one row of a histogram that moves costs twice one that comes.

    `together` gives sets of attributes a cost of their own, which holds for each part of the set. A set costs the
    best whole certificate of: its own, the union of its single ones (PDP:C-4), and the person's (replace-one) or that
    of two people (add-remove). What is not named costs nothing.
    """

    shape: ClassVar[str] = "stated"
    person: Cost
    singles: tuple[tuple[str, Cost], ...]
    relation: Relation = REPLACE_ONE
    together: tuple[tuple[frozenset[str], Cost], ...] = ()

    def __post_init__(self) -> None:
        known = dict(self.singles)
        if len(known) != len(self.singles):
            raise ParameterError("Two costs were stated for one attribute; give each attribute one.")
        if not isinstance(self.relation, Relation):
            raise ParameterError("relation must be REPLACE_ONE or ADD_REMOVE.")
        moved = {name: cost for name, cost in known.items() if not cost.is_zero}
        if moved and self.person.is_zero:
            raise ParameterError(
                "A person who costs nothing has no attribute that costs something: state the person's cost too."
            )
        # Sorted and without zeros, so that what is read back from JSON is equal to what was stored.
        object.__setattr__(self, "singles", tuple(sorted(moved.items())))
        object.__setattr__(self, "together", tuple(sorted(self.together, key=lambda row: sorted(row[0]))))

    def at(self, changed: Attributes) -> Cost:
        """Return the best of what is stated, the union of the single attributes, and what the person implies."""
        if isinstance(changed, Everything):
            return self.person
        touched = {name: cost for name, cost in self.singles if name in changed}
        if not touched:
            return Cost.zero()
        found = [cost for names, cost in self.together if touched.keys() <= names]
        if len(touched) == 1:
            found = [*touched.values(), *found]
        elif not any(cost.leak for cost in touched.values()):
            found = [union(touched.values()), *found]
        return _best([*found, *self._whole()])

    def _whole(self) -> list[Cost]:
        """Return what the person's cost says of attributes, if anything."""
        if self.relation is REPLACE_ONE:
            return [self.person]
        try:
            return [twice(self.person)]
        except NotProvable:
            return []

    def changing(self, changed: Attributes, relation: Relation) -> Cost:
        """Return the cost as it is stated: it counts the steps already."""
        self.relation.require(relation)
        return self.at(changed)

    def map(self, people: int) -> Profile:
        """Return the group cost of every entry."""
        return Stated(
            self.person.for_group(people),
            tuple((name, cost.for_group(people)) for name, cost in self.singles),
            self.relation,
            tuple((names, cost.for_group(people)) for names, cost in self.together),
        )

    def names(self) -> frozenset[str]:
        """Return the attributes that cost something."""
        return frozenset(name for name, _ in self.singles)

    def parameters(self) -> dict[str, Any]:
        """Return the person's cost, the attributes' by name, those of sets, and what they are about."""
        return {
            "person": self.person.to_json(),
            "singles": {name: cost.to_json() for name, cost in self.singles},
            "together": [[sorted(names), cost.to_json()] for names, cost in self.together],
            "relation": self.relation.value,
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Stated:
        """Read what `to_json` wrote."""
        return cls(
            Cost.from_json(record["person"]),
            tuple((name, Cost.from_json(cost)) for name, cost in record["singles"].items()),
            Relation(record["relation"]),
            tuple((frozenset(names), Cost.from_json(cost)) for names, cost in record["together"]),
        )


def stated(
    person: Cost,
    attributes: Mapping[str, Cost],
    relation: Relation,
    together: Mapping[frozenset[str], Cost] | None = None,
) -> Stated:
    """Return the profile of a release whose costs are known apart."""
    rows = tuple((frozenset(names), cost) for names, cost in (together or {}).items())
    return Stated(person, tuple(attributes.items()), relation, rows)


def _best(certificates: Iterable[Cost]) -> Cost:
    """Return one certificate: without leaks all of them hold at once, with a leak only a whole one does.

    An epsilon and a curve without leak are statements about the same two laws, so their better entries may be joined.
    A leak belongs to the entries that it was proved with, so a certificate with one is taken whole or not at all.
    """
    rest = list(certificates)
    clean = [cost for cost in rest if not cost.leak]
    if clean:
        first, *others = clean
        for other in others:
            first = first.merge(other) if _adds(first, other) else first
        clean = [first]
    found = clean + [cost for cost in rest if cost.leak]
    if not found:
        raise NotProvable(
            "Several attributes with leaks of their own have no known loss together; state a cost for them together."
        )
    if len(found) == 1:
        return found[0]
    return min(found, key=lambda cost: (cost.epsilon_at(COMPARED_AT), cost.leak, cost.epsilon))


def _adds(known: Cost, other: Cost) -> bool:
    """Tell whether a certificate without leak says more than a known one, as far as a quick look shows."""
    if other.epsilon < known.epsilon or other.rho(INFINITY) < known.rho(INFINITY):
        return True
    return other.rho(2) < known.rho(2)
