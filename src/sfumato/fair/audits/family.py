"""What is compared with one group, and what other data would have compared: how sure each comparison has to be.

The group with the largest rate is picked by the data, and chance helps it to be picked. So a comparison with it counts
as one of all pairs of groups that could have been shown (MD-AUDIT (e)); with a group that was named before, as itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from sfumato.fair.audits.group_counts import GroupCounts

Judged = Callable[[GroupCounts], bool]


@dataclass(frozen=True, eq=False)
class Family:
    """One figure of the groups of some columns beside that of one of them.

    `pairs` is how many pairs of groups the data could have shown, `verdicts` how many of them could have got a verdict.
    """

    figure: str
    reference: GroupCounts
    compared: tuple[GroupCounts, ...]
    pairs: int
    verdicts: int

    @property
    def widened(self) -> bool:
        """Whether the data could have shown more than they have."""
        return self.pairs > len(self.compared)

    def each(self, confidence: float) -> float:
        """Return how sure each interval must be, so that of those that are shown so many hold."""
        return 1 - (1 - confidence) * len(self.compared) / self.pairs if self.widened else confidence


def named_before(figure: str, reference: GroupCounts, known: Sequence[GroupCounts], judged: Judged) -> Family:
    """Return the comparisons with a group that was named before anybody looked."""
    compared = _others(known, reference)
    return Family(figure, reference, compared, len(compared), sum(judged(one) for one in compared))


def picked_by_data(
    figure: str, reference: GroupCounts, known: Sequence[GroupCounts], might: Sequence[GroupCounts], judged: Judged
) -> Family:
    """Return the comparisons with a group that was picked among those that might have been."""
    able = {id(one) for one in might}
    ways = [[other for one, other in (pair, pair[::-1]) if id(one) in able] for pair in combinations(known, 2)]
    return Family(
        figure, reference, _others(known, reference), sum(bool(way) for way in ways),
        sum(any(judged(other) for other in way) for way in ways),
    )  # fmt: skip


def _others(known: Sequence[GroupCounts], reference: GroupCounts) -> tuple[GroupCounts, ...]:
    return tuple(one for one in known if one is not reference)
