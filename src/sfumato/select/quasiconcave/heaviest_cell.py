"""The cell with the largest noisy count, out of a domain too large to list."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.mechanism import Event, Mechanism
from sfumato.noise import Noise, Priced
from sfumato.privacy import Loss
from sfumato.privacy.sensitivity import Sensitivity


@dataclass(frozen=True, kw_only=True)
class HeaviestCell(Mechanism):
    """Put noise on the count of every cell and return the cell with the largest; ties are broken uniformly.

    Promise, for `relation` neighbours whose vectors of counts differ by at most `moves`: that of `law` on the whole
    vector, because the place of the largest is post-processing (TCDP-HIST). Cells that nobody is in take part: of
    their noises only the largest is drawn, with its multiplicity, then a uniform cell to bear it. A public set of
    one cell is returned without noise.

    Input: the counts of the occupied cells and the public number of cells. Time O(occupied cells).
    """

    spec: ClassVar[str] = "TCDP-HIST"

    law: Priced
    moves: Sensitivity

    def loss(self) -> Loss:
        """Return the cost of the noise on the vector of all counts."""
        return Loss.flat(self.law.cost(self.moves), self.reads, self.relation)

    def run(self, exact: tuple[Mapping[int, int], int], noise: Noise) -> int:
        """Draw the noisy counts that matter."""
        counts, cells = exact
        if cells == 1:
            return 0
        occupied = sorted(cell for cell, count in counts.items() if count)
        drawn = noise.draw(self.law, len(occupied)).tolist() if occupied else []
        heights = [counts[cell] + draw for cell, draw in zip(occupied, drawn, strict=True)]
        empty = cells - len(occupied)
        top, crowd = noise.largest(self.law, empty, 1)[0] if empty else (0, 0)
        best = max([*heights, *([top] if empty else [])])
        tied = [cell for cell, height in zip(occupied, heights, strict=True) if height == best]
        total = len(tied) + (crowd if empty and top == best else 0)
        rank = noise.uniform(total) if total > 1 else 0
        return tied[rank] if rank < len(tied) else free_cell(occupied, noise.uniform(empty))

    def event(self) -> Event:
        """Return the public record, the noise by name and parameters."""
        stated = super().event()
        law: dict[str, Any] = {"law": type(self.law).__name__, **vars(self.law)}
        return Event(stated.name, stated.spec, {**stated.parameters, "law": law}, stated.version)


def free_cell(occupied: Sequence[int], rank: int) -> int:
    """Return the cell with this rank among those that are not occupied.

    >>> [free_cell([1, 2, 5], rank) for rank in range(4)]
    [0, 3, 4, 6]
    """
    free_before = [cell - place for place, cell in enumerate(occupied)]
    return rank + bisect_right(free_before, rank)
