"""How far what a mechanism is given moves between two tables, against what it claims; exact integers throughout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.privacy import REPLACE_ONE, Relation
from sfumato.privacy.sensitivity import Sensitivity
from tests.replay.extreme import Neighbour
from tests.replay.seam import Changed, Part, Plan, Vector


@dataclass(frozen=True)
class Move:
    """How far one part moved, and how far it may."""

    part: str
    neighbour: str
    changed: Changed
    measured: Sensitivity
    claimed: Sensitivity

    @property
    def too_far(self) -> bool:
        """Whether any of the numbers is above its claim."""
        measured, claimed = self.measured, self.claimed
        return (
            measured.l1 > claimed.l1
            or measured.l2_squared > claimed.l2_squared
            or measured.largest > claimed.largest
            or measured.changed > claimed.changed
        )

    def __str__(self) -> str:
        whose = "the person" if self.changed is None else ", ".join(sorted(self.changed))
        shown = ", ".join(
            f"{name} {getattr(self.measured, name)} of {getattr(self.claimed, name)}"
            for name in ("l1", "l2_squared", "largest", "changed")
        )
        return f"{self.part} moves with {whose} ({self.neighbour}): {shown}"


def measured(one: Vector, other: Vector) -> Sensitivity:
    """Return the four norms of the difference of two vectors; a coordinate that is not there is 0."""
    steps = [abs(one.get(key, 0) - other.get(key, 0)) for key in {*one, *other}]
    moved = [Fraction(step) for step in steps if step]
    return Sensitivity(
        sum(moved, Fraction(0)), sum((s * s for s in moved), Fraction(0)), max(moved, default=Fraction(0)), len(moved)
    )


def applies(neighbour: Neighbour, relation: Relation) -> bool:
    """Tell whether a relation calls the tables neighbours."""
    return neighbour.relation in ("both", "replace" if relation is REPLACE_ONE else "add-remove")


def moves(plan: Plan, exact: Any, others: Iterator[tuple[Neighbour, Any]]) -> Iterator[Move]:
    """Yield how far every part moved to every neighbour."""
    before = plan.parts(exact)
    for neighbour, reading in others:
        for one, other in zip(before, plan.parts(reading), strict=True):
            yield move(one, other, neighbour)


def move(one: Part, other: Part, neighbour: Neighbour) -> Move:
    """Return how far one part moved."""
    return Move(
        one.name, neighbour.name, neighbour.changed, measured(one.vector, other.vector), one.claim(neighbour.changed)
    )
