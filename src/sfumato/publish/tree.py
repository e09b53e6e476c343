"""Running totals under pure spends: a tree of sums, each released with discrete Laplace noise (PB-TREE).

A tree of base b has sums over 1, b, b², … periods. Each is released in the period in which it is complete. The total of
the first t periods is the sum of as many of them as the digits of t in base b add up to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.errors import ParameterError
from sfumato.noise import DiscreteLaplace, Noise
from sfumato.noise.laws.base import LARGEST_SCALE, SMALLEST_SCALE
from sfumato.privacy import Cost
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.publish.matrix import EXACT, MOST_PERIODS
from sfumato.publish.running import Claim, Continual
from sfumato.publish.segments import TreeSegment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Tree:
    """Which sums are released: over 1, b, b², … periods, as long as they fit.

    >>> Tree(5, 2).levels, [Tree(5, 2).complete(period) for period in (1, 2, 3, 4)], Tree(5, 2).parts(3)
    (3, [1, 2, 1, 3], ((1, 2), (0, 3)))
    """

    periods: int
    base: int

    def __post_init__(self) -> None:
        if not 1 <= self.periods <= MOST_PERIODS:
            raise ParameterError(
                f"A running total spans 1 to {MOST_PERIODS} periods, not {self.periods}; split it into several."
            )
        if self.base < 2:
            raise ParameterError(f"A tree has a base from 2 on, not {self.base}.")

    def to_json(self) -> dict[str, int]:
        """Return the two numbers that it follows from."""
        return {"periods": self.periods, "base": self.base}

    @cached_property
    def levels(self) -> int:
        """In how many sums a period is at most."""
        found, length = 1, self.base
        while length <= self.periods:
            found, length = found + 1, length * self.base
        return found

    def complete(self, period: int) -> int:
        """Return how many sums are complete with a period, counted from 1: those of the first so many levels."""
        found = 1
        while found < self.levels and period % self.base**found == 0:
            found += 1
        return found

    @cached_property
    def starts(self) -> list[int]:
        """Where the sums of each period begin among all that are released; and, last, how many there are."""
        found = [0]
        for period in range(1, self.periods + 1):
            found.append(found[-1] + self.complete(period))
        return found

    def parts(self, period: int) -> tuple[tuple[int, int], ...]:
        """Return the sums that make the total of the first so many periods, as (level, last period)."""
        found, end = [], 0
        for level in reversed(range(self.levels)):
            for _ in range((period - end) // self.base**level):
                end += self.base**level
                found.append((level, end))
        return tuple(found)

    def row(self, period: int, window: int | None = None) -> NDArray[np.float64]:
        """Return by what all sums released so far are multiplied, for a total since the start or over a window."""
        import numpy as np

        found = np.zeros(self.starts[period])
        for level, end in self.parts(period):
            found[self.starts[end - 1] + level] += 1
        if window is not None and period > window:
            for level, end in self.parts(period - window):
                found[self.starts[end - 1] + level] -= 1
        return found

    def sums(self, window: int | None = None) -> float:
        """Return how many sums an estimate adds up, on average over the periods."""
        parts: list[frozenset[tuple[int, int]]] = []
        found = 0
        for period in range(1, self.periods + 1):
            parts.append(frozenset(self.parts(period)))
            far = window is not None and period > window
            found += len(parts[-1] ^ parts[-1 - (window or 0)]) if far else len(parts[-1])
        return found / self.periods


def best_tree(periods: int, window: int | None = None) -> Tree:
    """Return the tree with the least mean variance, of the narrowest with one level, two, three, …: public arithmetic.

    >>> best_tree(30).base, best_tree(365).base, best_tree(365).levels
    (31, 20, 2)
    """
    offers = []
    for levels in range(1, periods.bit_length() + 1):
        base = 2
        while base**levels <= periods:
            base += 1
        offers.append(Tree(periods, base))
    return min(offers, key=lambda tree: tree.levels**2 * tree.sums(window))


def least_scale(periods: int, claims: Sequence[Claim], window: int | None = None) -> tuple[Tree, Fraction]:
    """Return the tree and the least scale that keep every claim; which tree does not depend on the claims."""
    tree = best_tree(periods, window)
    scale = max(tree.levels * claim.moves.l1 * sum(claim.counts) / claim.most for claim in claims)
    if scale > LARGEST_SCALE:
        raise ParameterError(
            "The spend of this running total is too small for noise that can be drawn exactly; write a spend "
            f"{math.ceil(scale / LARGEST_SCALE)} times as large, or allow fewer rows a person."
        )
    return tree, max(scale, Fraction(SMALLEST_SCALE))


@dataclass(frozen=True, kw_only=True)
class PureTotals(Continual):
    """Totals that run on, under a pure spend: the sums of a tree, each with discrete Laplace noise of one scale.

    A period is in at most L sums, so one unit in one period costs L · l1 / scale over the whole conversation, whatever
    the data do in answer to earlier releases; `cost(counts)` is the price of one that spans several periods. Time: as
    many additions a step as the longest sum has periods.
    """

    spec: ClassVar[str] = "PB-TREE"
    weighed: ClassVar[bool] = True

    tree: Tree
    scale: Fraction
    moves: Sensitivity

    @property
    def law(self) -> DiscreteLaplace:
        """The noise of every sum."""
        return DiscreteLaplace(self.scale)

    @property
    def periods(self) -> int:
        """How many periods it spans."""
        return self.tree.periods

    def single(self, moves: Sensitivity | None = None) -> Cost:
        """Return the price of whoever is there in one period."""
        return self.cost([1], moves)

    def cost(self, counts: Sequence[int], moves: Sensitivity | None = None) -> Cost:
        """Return the price of whoever has up to `counts[t]` units in period t: L · l1 · Σ counts / scale."""
        far = self.moves if moves is None else moves
        return self.law.cost(far.times(self.tree.levels * sum(counts)))

    def entries(self, period: int) -> int:
        """Return how many numbers a key has in a period, counted from 1."""
        return self.tree.complete(period)

    @cached_property
    def most(self) -> int:
        """What a total of one period is clamped to, in its units: far above any number of rows."""
        return EXACT // self.tree.periods

    def entry(self, read: Sequence[Any], noise: Noise) -> NDArray[np.int64]:
        """Return the sums that are complete with the period that was read last, one row a sum."""
        import numpy as np

        period = len(read)
        added = np.zeros(np.size(read[period - 1]), np.int64)
        found, length = [], 0
        for level in range(self.tree.complete(period)):
            for _ in range(length, self.tree.base**level):
                length += 1
                added = added + np.clip(np.ravel(read[period - length]).astype(np.int64), -self.most, self.most)
            found.append(added)
        exact = np.array(found)
        return exact + noise.draw(self.law, exact.size).reshape(exact.shape)

    def segment(self, released: Sequence[Any], keys: int) -> TreeSegment:
        """Return what was released so far, as something that estimates can be made of."""
        import numpy as np

        shaped = [np.asarray(one).reshape(self.entries(place + 1), keys) for place, one in enumerate(released)]
        rows = np.concatenate([np.zeros((0, keys), np.int64), *shaped])
        return TreeSegment(self.tree, self.scale, rows.astype(np.int64), len(released))
