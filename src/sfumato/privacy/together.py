"""Lists that were fixed before the data were touched, as a limit may charge them: by their exact total (AC-PLAN)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.exact import Infinity
from sfumato.privacy.attributes import Attributes
from sfumato.privacy.cost import Cost
from sfumato.privacy.fixed_list import lists_of
from sfumato.privacy.profile import Profile
from sfumato.privacy.relations import Relation

SHARES = (Fraction(1, 1000), Fraction(1, 100))
"""Parts of a limit's delta that a list is offered to leak, before all that is left of its leaks."""


@dataclass(frozen=True)
class Together(Profile):
    """Releases that were fixed, with their parameters and their snapshot, before any of them touched the data.

    For every set of attributes the sum of their costs. Being one mechanism, the list also is (epsilon, delta)-private
    with the exact epsilon of all of them together, at any delta: an (epsilon, delta) limit may be charged by that.
    """

    shape: ClassVar[str] = "together"
    base: Profile

    def at(self, changed: Attributes) -> Cost:
        """Return the sum of the costs."""
        return self.base.at(changed)

    def changing(self, changed: Attributes, relation: Relation) -> Cost:
        """Return the sum of the costs, each by its own rule."""
        return self.base.changing(changed, relation)

    def map(self, people: int) -> Profile:
        """Return the list for a group of people."""
        return Together(self.base.map(people))

    def names(self) -> frozenset[str]:
        """Return what the releases mention."""
        return self.base.names()

    def parameters(self) -> dict[str, Any]:
        """Return the releases."""
        return {"base": self.base.to_json()}


def exact_totals(cost: Cost, delta: Fraction, left: Fraction) -> Iterator[Cost]:
    """Yield a list's cost as (epsilon, leak) releases, for leaks that a limit with this delta has left.

    One certificate each, with one lost part for all entries: the list is a post-processing of randomized response that
    reveals everything with the probability of the leak.
    """
    found = lists_of(cost)
    for leak in dict.fromkeys([*(share * delta for share in SHARES), left]):
        if not 0 < leak <= left:
            continue
        epsilon = min((one.epsilon(leak) for one in found), default=None)
        if epsilon is not None and not isinstance(epsilon, Infinity):
            yield Cost.leaking(epsilon, leak)
