"""Which two tables are neighbours."""

from __future__ import annotations

from enum import Enum

from sfumato.errors import RelationMismatch
from sfumato.privacy.attributes import Attributes, Everything


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

    def people_for(self, changed: Attributes, people: int = 1) -> int:
        """Return how many steps of a whole person it takes until these attributes of `people` people have changed.

        Under add-remove neighbours a person is there or not, so a changed attribute is a record that leaves and
        another that enters. What holds for one person therefore says something about attributes only for two.

        >>> ADD_REMOVE.people_for(frozenset({"age"})), REPLACE_ONE.people_for(frozenset({"age"}), 3)
        (2, 3)
        """
        twice = self is Relation.ADD_REMOVE and not isinstance(changed, Everything)
        return 2 * people if twice else people

    def __repr__(self) -> str:
        return self.name


REPLACE_ONE = Relation.REPLACE_ONE
ADD_REMOVE = Relation.ADD_REMOVE
