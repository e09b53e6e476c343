"""At most so many periods of a person: who counted is remembered from period to period (PB-MEMORY).

Who counts in a period follows from the rows of that period and from the lists of earlier periods, for each person on
their own. A list and the totals that were made with it are one frozen input: one without the other would let people
count once more. Lists are never made again from the source.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.mechanism import Interaction
from sfumato.moved import moved
from sfumato.privacy import Cost, Loss
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.publish.running import RunningTotals
from sfumato.publish.tree import PureTotals

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME_BYTES = 32
"""How long the keyed name of a person is: that of SHA-256, which is taken to tell all people apart."""


@dataclass(frozen=True)
class CountingRule:
    """A person counts in at most `most` periods, any two of them `gap` or more apart.

    >>> CountingRule(2, 3).pattern(8)
    (1, 0, 0, 1, 0, 0, 0, 0)
    """

    most: int
    gap: int = 1

    def counts(self, listed: Sequence[int], place: int) -> bool:
        """Tell whether somebody who is there in a period counts in it, from the periods in which they counted."""
        return len(listed) < self.most and (not listed or place - listed[-1] >= self.gap)

    def pattern(self, periods: int) -> tuple[int, ...]:
        """Return the periods of whoever counts as early and as often as may be: nobody moves a total further."""
        return tuple(int(place % self.gap == 0 and place // self.gap < self.most) for place in range(periods))

    def to_json(self) -> dict[str, int]:
        """Return both numbers."""
        return {"most": self.most, "gap": self.gap}


@dataclass(frozen=True, kw_only=True)
class Remembered(Interaction):
    """What running totals share in which a person counts in so many periods only: they cost a whole person."""

    spec: ClassVar[str] = "PB-MEMORY"

    rule: CountingRule

    def loss(self) -> Loss:
        """Return what a person costs over the whole conversation."""
        return Loss.flat(self.person(), self.reads, self.relation)

    @abstractmethod
    def person(self, moves: Sensitivity | None = None) -> Cost:
        """Return the price of a whole person, who moves the total of one period so far."""


@dataclass(frozen=True, kw_only=True)
class RememberedTotals(Remembered, RunningTotals):
    """Running totals in which a person counts in at most so many periods; its loss is that of the whole person."""

    def person(self, moves: Sensitivity | None = None) -> Cost:
        """Return the price of a whole person, by the furthest of all patterns."""
        pattern = self.rule.pattern(self.periods)
        return self.cost(pattern, moves) if sum(pattern) > 1 else self.single(moves)


@dataclass(frozen=True, kw_only=True)
class RememberedSums(Remembered, PureTotals):
    """Pure running totals in which a person counts in at most so many periods; its loss is that of the whole person."""

    def person(self, moves: Sensitivity | None = None) -> Cost:
        """Return the price of a whole person, who is in so many periods."""
        return self.cost(self.rule.pattern(self.periods), moves)


class Lists:
    """Who counted in which periods, by keyed names; made from the lists of earlier periods, one after the other."""

    def __init__(self, key: bytes, lists: Iterable[NDArray[np.uint8]] = ()) -> None:
        self.key = key
        self._counted: dict[bytes, list[int]] = {}
        self.periods = 0
        for listed in lists:
            for name in names_of(listed):
                self._counted.setdefault(name, []).append(self.periods)
            self.periods += 1

    def name(self, person: Any) -> bytes:
        """Return the keyed name of a person; a number is what its digits are."""
        return hashlib.sha256(self.key + str(person).encode()).digest()

    def chosen(self, people: Sequence[Any], rule: CountingRule) -> tuple[list[Any], NDArray[np.uint8]]:
        """Return who of those who are there counts in the next period, and their names as they will be kept."""
        import numpy as np

        found = [
            (name, person)
            for person in people
            if rule.counts(self._counted.get(name := self.name(person), ()), self.periods)
        ]
        names = b"".join(sorted(name for name, _ in found))
        return [person for _, person in found], np.frombuffer(names, np.uint8)


def names_of(listed: NDArray[np.uint8]) -> list[bytes]:
    """Return the names on a list as it was kept."""
    whole = listed.tobytes()
    return [whole[start : start + NAME_BYTES] for start in range(0, len(whole), NAME_BYTES)]


__getattr__ = moved(__name__, {"Rule": "sfumato.publish.memory.CountingRule"})
