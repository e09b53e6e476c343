"""Which two tables are neighbours."""

from __future__ import annotations

from enum import Enum

from sfumato.errors import RelationMismatch


class Relation(Enum):
    """What may differ between two neighbouring tables."""

    REPLACE_ONE = "replace_one"
    """Same public number of people; one person's record is exchanged for another."""
    ADD_REMOVE = "add_remove"
    """One person's record is present in one table and absent from the other; the number is private."""

    def require(self, other: Relation) -> Relation:
        """Return the relation both share, refusing to mix two."""
        if self is not other:
            raise RelationMismatch(
                f"One loss speaks of {self.value} neighbours and the other of {other.value}; "
                "build both with the same relation=, or restate one as a group of two people."
            )
        return self

    def __repr__(self) -> str:
        return self.name


REPLACE_ONE = Relation.REPLACE_ONE
ADD_REMOVE = Relation.ADD_REMOVE
