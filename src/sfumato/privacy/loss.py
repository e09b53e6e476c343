"""Loss: what a mechanism costs, for a person and for every set of attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

from sfumato.errors import ParameterError
from sfumato.exact import Extended, Number
from sfumato.privacy.attributes import EVERYTHING, Everything, attributes
from sfumato.privacy.bounds import Bound, require_bound
from sfumato.privacy.combined import add
from sfumato.privacy.cost import Cost
from sfumato.privacy.parallel import twice
from sfumato.privacy.profile import Flat, Profile, profile_from_json
from sfumato.privacy.relations import REPLACE_ONE, Relation
from sfumato.privacy.stated import Stated, stated
from sfumato.privacy.union import better, union

ENUMERATED = 100_000
"""How many sets of attributes a report looks at one by one before it falls back to a bound."""


@dataclass(frozen=True)
class Loss:
    """A profile of costs and the neighbouring relation that it speaks of.

    >>> loss = Loss.flat(Cost.pure("1/10"), reads={"age"})
    >>> loss.at("age").epsilon, loss.at("sex").is_zero, (10 * loss).person.epsilon
    (Fraction(1, 10), True, Fraction(1, 1))
    """

    profile: Profile
    relation: Relation = REPLACE_ONE

    def __post_init__(self) -> None:
        if isinstance(self.profile, Stated):
            self.profile.relation.require(self.relation)

    def __repr__(self) -> str:
        return f"<Loss: {self}>"  # its parts are pages of fractions; .profile has them

    def __str__(self) -> str:
        parts = [f"{name} {self.at(name)}" for name in sorted(self.profile.names())]
        return "; ".join([f"a person {self.person}", *parts])

    @classmethod
    def flat(
        cls, cost: Cost, reads: Iterable[str] | str | Everything = EVERYTHING, relation: Relation = REPLACE_ONE
    ) -> Loss:
        """Return the loss of a release that reads these attributes and costs the same whichever change."""
        return cls(Flat(cost, attributes(reads)), relation)

    @classmethod
    def stated(
        cls,
        person: Cost,
        attributes: Mapping[str, Cost],
        relation: Relation = REPLACE_ONE,
        together: Mapping[frozenset[str], Cost] | None = None,
    ) -> Loss:
        """Return the loss of a release whose cost is known for the person and for each attribute, literally.

        What is not named costs nothing. `together` gives sets of attributes a cost of their own; without it a set
        costs the union of its attributes, and at most the person (replace-one) or two people (add-remove).

        >>> moves = Loss.stated(Cost.pure(1), {"age": Cost.pure(2)}, Relation.ADD_REMOVE)
        >>> moves.at("age").epsilon, moves.at({"age", "sex"}).epsilon, moves.person.epsilon
        (Fraction(2, 1), Fraction(2, 1), Fraction(1, 1))
        """
        return cls(stated(person, attributes, relation, together), relation)

    @cached_property
    def person(self) -> Cost:
        """The cost when the whole record of one person changes; added up once, however often it is asked."""
        return self.profile.at(EVERYTHING)

    def person_for(self, names: Iterable[str] | str | Everything) -> Cost:
        """Return the person's cost as far as it bounds that of these attributes (SM-ATTR).

        Under add-remove neighbours that is the cost of two people: `person` is about who is there, and a record
        that changes is one that leaves and one that enters.

        >>> loss = Loss.flat(Cost.pure(1), relation=Relation.ADD_REMOVE)
        >>> loss.person_for("age").epsilon, loss.person_for(EVERYTHING).epsilon
        (Fraction(2, 1), Fraction(1, 1))
        """
        whole = self.person
        doubled = self.relation.people_for(attributes(names)) == 2 and not whole.is_zero
        return twice(whole) if doubled else whole

    def at(self, names: Iterable[str] | str | Everything) -> Cost:
        """Return the cost when only these attributes of one person change.

        Where the profile lists what was read, any other name costs nothing, a misspelled one too: a loss does not know
        the schema.

        Never more than group privacy over the single attributes gives (PDP:C-4). Under add-remove neighbours a
        changed attribute is a record that leaves and another that enters, two steps, unless the profile states the
        change itself; then it may cost more than the person, whose cost is about being there.
        """
        changed = attributes(names)
        direct = self.profile.changing(changed, self.relation)
        if isinstance(changed, Everything) or len(changed) < 2 or direct.leak or direct.is_zero:
            return direct
        singles = [self.profile.changing(frozenset((name,)), self.relation) for name in sorted(changed)]
        return direct if any(cost.leak for cost in singles) else better(direct, union(singles))

    def for_group(self, people: int) -> Loss:
        """Return the loss for `people` people who change together."""
        return Loss(self.profile.map(people), self.relation)

    def together(self) -> Loss:
        """Return the loss of a list of releases that is fixed before the data are touched, as one (AC-PLAN).

        An (epsilon, delta) limit may then be charged by the list's exact total. Not for what is asked step by step.
        """
        from sfumato.privacy.together import Together

        return self if isinstance(self.profile, Together) else Loss(Together(self.profile), self.relation)

    def within(self, spend: Bound) -> bool:
        """Tell whether the loss satisfies a bound for its unit: the person, or each single attribute."""
        bound = require_bound(spend)
        if bound.unit == "person":
            return self.person.within(bound)
        return all(self.at(name).within(bound) for name in self.named())

    def named(self) -> list[str]:
        """Return the attributes that the profile mentions by name."""
        found = self.profile.names()
        if not found:
            raise ParameterError(
                "This loss names no attribute, so it has no per-attribute figure; give the mechanism reads={...}."
            )
        return sorted(found)

    def worst(self, size: int, names: Iterable[str], delta: Number) -> tuple[frozenset[str], Extended]:
        """Return the set of `size` attributes with the largest epsilon at this delta, and that epsilon.

        With too many sets to look at, the set returned is empty and the number is an upper bound on all.
        """
        every = sorted(names)
        if not 1 <= size <= len(every):
            raise ParameterError(f"size must lie between 1 and {len(every)}, the number of attributes.")
        if comb(len(every), size) > ENUMERATED:
            return frozenset(), self.person_for(every).epsilon_at(delta)
        sets = [frozenset(chosen) for chosen in combinations(every, size)]
        worst = max(sets, key=lambda chosen: (self.at(chosen).epsilon_at(delta), sorted(chosen)))
        return worst, self.at(worst).epsilon_at(delta)

    def __add__(self, other: Loss) -> Loss:
        if not isinstance(other, Loss):
            raise ParameterError(f"A loss is added to a loss, not to {other!r}; write Loss.flat(Cost.pure(0.1)).")
        return Loss(add(((1, self.profile), (1, other.profile))), self.relation.require(other.relation))

    def __radd__(self, other: int) -> Loss:
        # What sum() begins with.
        return self if type(other) is int and other == 0 else self + other  # type: ignore[operator]

    def __mul__(self, count: int) -> Loss:
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ParameterError(f"A loss is repeated a whole number of times, not {count!r} times.")
        return Loss(add(((count, self.profile),)), self.relation)

    __rmul__ = __mul__

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back exactly."""
        return {"relation": self.relation.value, "profile": self.profile.to_json()}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Loss:
        """Read what `to_json` wrote."""
        return cls(profile_from_json(record["profile"]), Relation(record["relation"]))
