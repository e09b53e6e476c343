"""Profiles: a cost for every set of attributes, in a closed set of shapes that can be stored.

A profile is monotone: more attributes never cost less. `at(J)` is the loss against neighbours whose record
differs in the attributes J only, on the full product domain (PDP:C-9, C-10).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.errors import NotProvable, ParameterError
from sfumato.exact import at_least_zero, positive_integer, to_text
from sfumato.privacy.attributes import (
    EVERYTHING,
    Attributes,
    Everything,
    attributes_from_json,
    attributes_to_json,
    touches,
)
from sfumato.privacy.cost import Cost
from sfumato.privacy.parallel import twice
from sfumato.privacy.relations import Relation


class Profile(ABC):
    """A cost for every set of attributes."""

    shape: ClassVar[str]

    @abstractmethod
    def at(self, changed: Attributes) -> Cost:
        """Return the cost when only these attributes of one person change."""

    def changing(self, changed: Attributes, relation: Relation) -> Cost:
        """Return the cost when only these attributes of one person change, under a relation.

        `at` says what one step costs. Under add-remove neighbours a changed attribute is a record that leaves and
        another that enters: two steps. A shape whose numbers are meant literally says so itself.
        """
        direct = self.at(changed)
        return direct if direct.is_zero or relation.people_for(changed) == 1 else twice(direct)

    @abstractmethod
    def map(self, people: int) -> Profile:
        """Return the profile for a group of people."""

    @abstractmethod
    def names(self) -> frozenset[str]:
        """Return the attributes that are mentioned by name."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return the contents as JSON."""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `profile_from_json` reads back exactly."""
        return {"shape": self.shape, **self.parameters()}


def _cheaper(first: Cost, second: Cost) -> bool:
    """Tell whether the first cost is visibly below the second, in any of its entries."""
    if first == second:
        return False
    return first.epsilon < second.epsilon or first.leak < second.leak or first.rho(2) < second.rho(2)


@dataclass(frozen=True)
class Flat(Profile):
    """The same cost whichever of the attributes that are read change, nothing for the others (PDP:C-3, C-9)."""

    shape: ClassVar[str] = "flat"
    cost: Cost
    reads: Attributes = EVERYTHING

    def __post_init__(self) -> None:
        # What reads no attribute would be charged to nobody, although it costs something.
        if not self.cost.is_zero and not isinstance(self.reads, Everything) and not self.reads:
            raise ParameterError(
                "A release that costs something depends on somebody, so it cannot read nothing; name what it reads, or "
                "leave reads= out for the whole record."
            )

    def at(self, changed: Attributes) -> Cost:
        """Return the cost if something that is read changes."""
        return self.cost if touches(self.reads, changed) else Cost.zero()

    def map(self, people: int) -> Profile:
        """Return the group cost, flat as before."""
        return Flat(self.cost.for_group(people), self.reads)

    def names(self) -> frozenset[str]:
        """Return what is read, if it is listed."""
        return frozenset() if isinstance(self.reads, Everything) else self.reads

    def parameters(self) -> dict[str, Any]:
        """Return cost and attributes."""
        return {"cost": self.cost.to_json(), "reads": attributes_to_json(self.reads)}


@dataclass(frozen=True)
class ByCount(Profile):
    """A cost that depends on how many of the attributes that are read change: 1, 2, … (PDP-PROJ, PDP-MWEM)."""

    shape: ClassVar[str] = "by_count"
    costs: tuple[Cost, ...]
    reads: frozenset[str]

    def __post_init__(self) -> None:
        if not self.costs or len(self.costs) > len(self.reads):
            raise ParameterError("A profile by count needs between one cost and as many costs as attributes read.")
        for fewer, more in zip(self.costs, self.costs[1:], strict=False):
            if _cheaper(more, fewer):
                raise ParameterError("Costs by count must not fall: changing more attributes never costs less.")

    def at(self, changed: Attributes) -> Cost:
        """Return the cost for the number of read attributes that change."""
        count = len(self.reads) if isinstance(changed, Everything) else len(self.reads & changed)
        return self.costs[min(count, len(self.costs)) - 1] if count else Cost.zero()

    def map(self, people: int) -> Profile:
        """Return the group cost of every entry."""
        return ByCount(tuple(cost.for_group(people) for cost in self.costs), self.reads)

    def names(self) -> frozenset[str]:
        """Return what is read."""
        return self.reads

    def parameters(self) -> dict[str, Any]:
        """Return the costs in order of count."""
        return {"costs": [cost.to_json() for cost in self.costs], "reads": attributes_to_json(self.reads)}


@dataclass(frozen=True)
class Cover(Profile):
    """Independent parts, each reading its own attributes: those touched add up (PDP:C-8, C-10)."""

    shape: ClassVar[str] = "cover"
    parts: tuple[tuple[Attributes, Cost], ...]

    def at(self, changed: Attributes) -> Cost:
        """Add the costs of the parts that read something that changes."""
        amount = Cost.zero()
        for reads, cost in self.parts:
            if touches(reads, changed):
                amount = amount + cost
        return amount

    def map(self, people: int) -> Profile:
        """Return the group cost of every part."""
        return Cover(tuple((reads, cost.for_group(people)) for reads, cost in self.parts))

    def names(self) -> frozenset[str]:
        """Return what the parts read, as far as it is listed."""
        return frozenset().union(*(reads for reads, _ in self.parts if not isinstance(reads, Everything)))

    def parameters(self) -> dict[str, Any]:
        """Return the parts."""
        return {"parts": [[attributes_to_json(reads), cost.to_json()] for reads, cost in self.parts]}


@dataclass(frozen=True)
class Weighted(Profile):
    """A pure loss that adds up the weights of the attributes that change (D-WPDP, PDP:C-4)."""

    shape: ClassVar[str] = "weighted"
    weights: tuple[tuple[str, Fraction], ...]

    def __post_init__(self) -> None:
        if len({name for name, _ in self.weights}) != len(self.weights):
            raise ParameterError("Two weights have the same attribute; give each attribute one weight.")
        # Sorted, so that what is read back from JSON is equal to what was stored.
        ordered = tuple(sorted((name, at_least_zero(weight, f"the weight of {name}")) for name, weight in self.weights))
        object.__setattr__(self, "weights", ordered)

    def at(self, changed: Attributes) -> Cost:
        """Return the sum of the weights of what changes."""
        return Cost.pure(
            sum((w for name, w in self.weights if isinstance(changed, Everything) or name in changed), Fraction(0))
        )

    def map(self, people: int) -> Profile:
        """Multiply every weight."""
        return Weighted(tuple((name, weight * people) for name, weight in self.weights))

    def names(self) -> frozenset[str]:
        """Return the attributes that have a weight."""
        return frozenset(name for name, _ in self.weights)

    def parameters(self) -> dict[str, Any]:
        """Return the weights by name."""
        return {"weights": {name: to_text(weight) for name, weight in self.weights}}


@dataclass(frozen=True)
class Tree(Profile):
    """Nested nodes: what changes costs only at the smallest nodes that contain some of it (PDP-HH).

    The cost of a node covers its whole path to the root, so no node may be cheaper than one around it.
    """

    shape: ClassVar[str] = "tree"
    nodes: tuple[tuple[frozenset[str], Cost], ...]

    def __post_init__(self) -> None:
        for first, _ in self.nodes:
            for second, _ in self.nodes:
                if not (first <= second or second <= first or first.isdisjoint(second)):
                    raise ParameterError("The nodes of a tree must be nested or disjoint.")
        for inner, cost in self.nodes:
            for outer, above in self.nodes:
                if inner < outer and _cheaper(cost, above):
                    raise ParameterError(
                        "A node of a tree costs at least as much as every node around it: its cost is that of the "
                        "whole path from it to the root."
                    )

    def at(self, changed: Attributes) -> Cost:
        """Add the costs of the minimal nodes that are touched."""
        touched = [(names, cost) for names, cost in self.nodes if touches(names, changed)]
        amount = Cost.zero()
        for names, cost in touched:
            if not any(other < names for other, _ in touched):
                amount = amount + cost
        return amount

    def map(self, people: int) -> Profile:
        """Return the group cost of every node."""
        return Tree(tuple((names, cost.for_group(people)) for names, cost in self.nodes))

    def names(self) -> frozenset[str]:
        """Return the attributes of the nodes."""
        return frozenset().union(*(names for names, _ in self.nodes))

    def parameters(self) -> dict[str, Any]:
        """Return the nodes."""
        return {"nodes": [[attributes_to_json(names), cost.to_json()] for names, cost in self.nodes]}


def profile_from_json(record: dict[str, Any]) -> Profile:
    """Read what `Profile.to_json` wrote."""
    from sfumato.privacy.combined import Minimum, Sum

    match record["shape"]:
        case "flat":
            return Flat(Cost.from_json(record["cost"]), attributes_from_json(record["reads"]))
        case "by_count":
            return ByCount(tuple(map(Cost.from_json, record["costs"])), frozenset(record["reads"]))
        case "cover":
            return Cover(tuple((attributes_from_json(reads), Cost.from_json(cost)) for reads, cost in record["parts"]))
        case "weighted":
            return Weighted(tuple((name, Fraction(weight)) for name, weight in record["weights"].items()))
        case "tree":
            return Tree(tuple((frozenset(names), Cost.from_json(cost)) for names, cost in record["nodes"]))
        case "together":
            from sfumato.privacy.together import Together

            return Together(profile_from_json(record["base"]))
        case "sum":
            return Sum(
                tuple((positive_integer(count, "count"), profile_from_json(part)) for count, part in record["parts"])
            )
        case "per_attribute":
            from sfumato.privacy.per_attribute import PerAttribute

            return PerAttribute.from_json(record)
        case "stated":
            from sfumato.privacy.stated import Stated

            return Stated.from_json(record)
        case "minimum":
            return Minimum(tuple(map(profile_from_json, record["choices"])))
        case "sampled":
            from sfumato.privacy.sampled import sampled_from_json

            return sampled_from_json(record)
    raise NotProvable(f"No profile has the shape {record['shape']!r}; it was stored by a newer version of sfumato.")
