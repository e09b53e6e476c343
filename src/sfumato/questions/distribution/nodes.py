"""A distribution by a tree of noisy counts over the codes, grown where the counts are large: the baseline."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from numpy.typing import NDArray

from sfumato.answer import half_width
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise, Priced
from sfumato.perturb import AdditiveNoise
from sfumato.privacy import Loss
from sfumato.questions.distribution.codes import Coded, rounded

Node = tuple[int, int, int]
"""First code, last code, noisy count."""


@dataclass(frozen=True, kw_only=True)
class NodeTree(Mechanism):
    """Count the rows of `branching` equal parts of the range, with noise; then of the parts of those that seem large.

    All nodes of a level together move as one histogram, so a level costs the loss of `noise`, and `levels` of them
    their sum. What is published is a part of a tree with noise on every node, chosen by its own noisy counts, hence
    post-processing of it; the noise of the others is never drawn. A node is split if its noisy count is above
    `threshold` and it holds more than one code.

    Promise, for `relation` neighbours: levels·loss of `noise` (PDP:C-7 over PDP:C-13 or C-14).
    Input: the codes that occur, sorted, and what each counts. Output: for each level its nodes, from left to right.
    Time O(levels·nodes·log n), whatever the size of the domain.
    """

    spec: ClassVar[str] = "PDP:C-7"
    weighed: ClassVar[bool] = True

    first: int
    last: int
    branching: int
    levels: int
    threshold: int
    noise: AdditiveNoise
    grid: int = 1

    def loss(self) -> Loss:
        """Return the loss of one histogram for each level."""
        return self.noise.loss() * self.levels

    def run(self, exact: tuple[NDArray[Any], NDArray[Any]], noise: Noise) -> tuple[tuple[Node, ...], ...]:
        """Count level by level; only nodes that were split have parts."""
        coded = Coded.of(*exact)
        parents, found = [(self.first, self.last)], []
        for level in range(self.levels):
            width = self.branching ** (self.levels - 1 - level)
            starts, ends = _parts(parents, width)
            if not starts:
                break
            noisy = self.noise.run(rounded(coded.spans(starts, ends), self.grid), noise).tolist()
            nodes = tuple(zip(starts, ends, noisy, strict=True))
            found.append(nodes)
            parents = [(start, end) for start, end, count in nodes if count > self.threshold and start < end]
        return tuple(found)


def _parts(parents: list[tuple[int, int]], width: int) -> tuple[list[int], list[int]]:
    """Return the parts of `width` codes of all parents, the last one of each cut at its end."""
    starts = [start for low, high in parents for start in range(low, high + 1, width)]
    ends = [min(start + width - 1, high) for low, high in parents for start in range(low, high + 1, width)]
    return starts, ends


def calm_threshold(law: Priced, branching: int) -> int:
    """Return a threshold at which a node that holds less than half of it is split with chance 1/(2·branching)."""
    return 2 * half_width(law, 1 - Fraction(1, branching))


def drawn_at_most(levels: int, branching: int, rows: int, threshold: int) -> int:
    """Return a bound on how many nodes are drawn on average, for a threshold from `calm_threshold`.

    Of nodes with half the threshold or more there are at most 2·rows/threshold in a level; any other one is split
    with a probability of at most 1/(2·branching), so that it has half a part on average.
    """
    return levels * 2 * branching * (1 + -(-2 * rows // max(threshold - 1, 1)))


def levels_of(size: int, branching: int) -> int:
    """Return how many levels lead from the whole range to single codes.

    >>> levels_of(64, 4), levels_of(65, 4), levels_of(1, 4)
    (3, 4, 1)
    """
    levels, width = 1, branching
    while width < size:
        levels, width = levels + 1, width * branching
    return levels
