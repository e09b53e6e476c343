"""The profile of one vector release whose attributes move it by different amounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.errors import ParameterError
from sfumato.privacy.attributes import Attributes, Everything
from sfumato.privacy.cost import Cost
from sfumato.privacy.profile import Profile
from sfumato.privacy.union import better, union


@dataclass(frozen=True)
class PerAttribute(Profile):
    """A cost for each attribute alone; several cost the person, or less by the union bound (PDP:C-4, PDP:C-9)."""

    shape: ClassVar[str] = "per_attribute"
    singles: tuple[tuple[str, Cost], ...]
    person: Cost

    def __post_init__(self) -> None:
        if not self.singles or len({name for name, _ in self.singles}) != len(self.singles):
            raise ParameterError("A profile per attribute needs at least one attribute, and one cost for each.")
        if self.person.leak or any(cost.leak for _, cost in self.singles):
            raise ParameterError("A profile per attribute has no leak: a delta does not add up over attributes.")
        object.__setattr__(self, "singles", tuple(sorted(self.singles, key=lambda single: single[0])))

    def at(self, changed: Attributes) -> Cost:
        """Return the attribute's own cost, or for several the better of the person's and the union's."""
        if isinstance(changed, Everything):
            return self.person
        touched = [cost for name, cost in self.singles if name in changed]
        if len(touched) < 2:
            return touched[0] if touched else Cost.zero()
        return better(self.person, union(touched))

    def map(self, people: int) -> Profile:
        """Return the group cost of every entry."""
        singles = tuple((name, cost.for_group(people)) for name, cost in self.singles)
        return PerAttribute(singles, self.person.for_group(people))

    def names(self) -> frozenset[str]:
        """Return the attributes that have a cost."""
        return frozenset(name for name, _ in self.singles)

    def parameters(self) -> dict[str, Any]:
        """Return the costs by name, and the person's."""
        return {"singles": {name: cost.to_json() for name, cost in self.singles}, "person": self.person.to_json()}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> PerAttribute:
        """Read what `to_json` wrote."""
        singles = tuple((name, Cost.from_json(cost)) for name, cost in record["singles"].items())
        return cls(singles, Cost.from_json(record["person"]))
