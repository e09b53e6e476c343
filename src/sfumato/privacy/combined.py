"""Profiles made of profiles: releases one after the other, and several bounds on one release."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.errors import ParameterError
from sfumato.privacy.attributes import EVERYTHING, Attributes
from sfumato.privacy.cost import Cost
from sfumato.privacy.profile import Profile
from sfumato.privacy.relations import Relation


@dataclass(frozen=True)
class Sum(Profile):
    """Several releases one after the other, each with its multiplicity (PDP:C-7)."""

    shape: ClassVar[str] = "sum"
    parts: tuple[tuple[int, Profile], ...]

    def at(self, changed: Attributes) -> Cost:
        """Add what each release costs for these attributes."""
        amount = Cost.zero()
        for count, profile in self.parts:
            amount = amount + count * profile.at(changed)
        return amount

    def changing(self, changed: Attributes, relation: Relation) -> Cost:
        """Ask each release by its own rule: some state steps, some the whole change."""
        amount = Cost.zero()
        for count, profile in self.parts:
            amount = amount + count * profile.changing(changed, relation)
        return amount

    def map(self, people: int) -> Profile:
        """Return the group profile of every release."""
        return Sum(tuple((count, profile.map(people)) for count, profile in self.parts))

    def names(self) -> frozenset[str]:
        """Return what the releases mention."""
        return frozenset().union(*(profile.names() for _, profile in self.parts))

    def parameters(self) -> dict[str, Any]:
        """Return the releases."""
        return {"parts": [[count, profile.to_json()] for count, profile in self.parts]}


def add(parts: Iterable[tuple[int, Profile]]) -> Profile:
    """Add profiles in a flat list, equal ones counted once."""
    counts: dict[Profile, int] = {}
    pending = list(parts)[::-1]
    while pending:
        count, profile = pending.pop()
        if isinstance(profile, Sum):
            pending.extend((count * inner, part) for inner, part in profile.parts[::-1])
        elif count:
            counts[profile] = counts.get(profile, 0) + count
    if list(counts.values()) == [1]:
        return next(iter(counts))
    return Sum(tuple((count, profile) for profile, count in counts.items()))


def _merged(costs: Iterable[Cost]) -> Cost:
    first, *rest = costs
    for cost in rest:
        first = first.merge(cost)
    return first


@dataclass(frozen=True)
class Minimum(Profile):
    """Several bounds on the same release, none of which leaks: the smaller one holds, entry by entry."""

    shape: ClassVar[str] = "minimum"
    choices: tuple[Profile, ...]

    def __post_init__(self) -> None:
        if not self.choices or any(choice.at(EVERYTHING).leak for choice in self.choices):
            raise ParameterError(
                "Only profiles without leak may be minimised entry by entry: with leaks the minimum would lose one."
            )

    def at(self, changed: Attributes) -> Cost:
        """Merge what the bounds say."""
        return _merged(choice.at(changed) for choice in self.choices)

    def changing(self, changed: Attributes, relation: Relation) -> Cost:
        """Merge what the bounds say, each by its own rule."""
        return _merged(choice.changing(changed, relation) for choice in self.choices)

    def map(self, people: int) -> Profile:
        """Return the group profile of every bound."""
        return Minimum(tuple(choice.map(people) for choice in self.choices))

    def names(self) -> frozenset[str]:
        """Return what the bounds mention."""
        return frozenset().union(*(choice.names() for choice in self.choices))

    def parameters(self) -> dict[str, Any]:
        """Return the bounds."""
        return {"choices": [choice.to_json() for choice in self.choices]}
