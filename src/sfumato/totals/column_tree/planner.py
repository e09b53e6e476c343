"""Trees, thresholds and noise for frequent records, from public facts only.

Privacy never rests on what is planned here: the certificate is worked out on the final numbers. For every size of
block and a range of first clips, each threshold is set so that about as many rare pairs pass as there can be frequent
ones, the next clip is that threshold, and the noise is fitted to the spend; the plan that finds the rarest records
wins.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotProvable, UnsupportedSpend
from sfumato.exact import Number, between_zero_and_one, positive_integer
from sfumato.privacy import Bound, Loss, Pure
from sfumato.totals.column_tree.certificate import predicted_cost
from sfumato.totals.column_tree.histogram import PopularCounts
from sfumato.totals.column_tree.hitters import MOST, HeavyHitters
from sfumato.totals.column_tree.tree import LARGEST_BLOCK, ColumnTree, balanced, blocks_of, bottoms, caterpillar
from sfumato.workload.space import Space

BLOCKS = (2, 4, 16, 256, 4096, 65536)
"""The sizes of blocks that are tried, in cells."""
SHARE = Fraction(3, 4)
"""The part of a spend that goes to finding records; the rest counts them."""
LONGEST_SPINE = 48
"""Caterpillars of more blocks are not tried: their thresholds would rise too far."""
FIRST_CLIPS = 18
"""How many first clips are tried, from 1 to the number of people."""
LIFTS = (0, 2, 4)
"""How far a clip lies above the threshold below it: further up, a record pays less for the levels below."""
FINENESS = 64
"""Scales are whole multiples of one part in so many."""

Budget = Callable[[float, int], float]
"""How much all paths together may cost, given the scale of the search and the number of paths."""


@dataclass(frozen=True)
class Sketch:
    """Numbers in floating point: a tree, the scale, thresholds and clips, and what they reach."""

    tree: ColumnTree
    scale: float
    thresholds: NDArray[np.float64]
    clips: NDArray[np.float64]
    smallest: float
    error: float
    longest: float


@dataclass(frozen=True)
class SearchFacts:
    """What a plan is made from: the number of people, how often one record may be missed, how long lists may grow.

    `heavy` is the number of frequent strings in a node if that is known, `lowest` the least first clip, `smallest` a
    count that is to be found, `counting` the scale of the noise on counts, if there are any.
    """

    people: int
    failure: float
    most: int = MOST
    heavy: int | None = None
    lowest: int = 1
    smallest: int | None = None
    counting: float = 0.0

    def frequent(self, clip: float) -> float:
        """Return how many strings can occur more often than a clip."""
        return min(self.people / max(clip, 1), self.heavy if self.heavy is not None else math.inf)

    def gap(self, scale: float, clip: float, pairs: float, root: bool) -> int:
        """Return how far a threshold lies above its clip, so that not more rare pairs pass than frequent ones.

        At the root they are held below the number of records that the threshold itself allows.
        """
        spread, gap = math.log1p(math.exp(-1 / scale)), 1
        for _ in range(4 if root else 1):
            frequent = max(self.frequent(clip + gap if root else clip), 1e-9)
            gap = max(1, math.ceil(scale * (math.log(pairs / frequent) - spread)) - 1)
        return gap


@dataclass(frozen=True)
class Start:
    """The clip of the first level, and how far each further one lies above the threshold before it."""

    clip: float
    lift: int


def plan_hitters(
    space: Space,
    spend: Bound,
    people: int,
    *,
    failure: Number = Fraction(1, 20),
    heavy: int | None = None,
    lowest: int = 1,
    smallest: int | None = None,
    blocks: Sequence[int] = BLOCKS,
    most: int = MOST,
) -> HeavyHitters:
    """Return the search that finds the rarest records, or all that occur `smallest` times with shorter lists.

    `failure` is the chance that one given record of the smallest count is missed. `heavy` is how many strings of a
    node are taken to be frequent, by default as many as people allow: more of them cost time, never privacy. `lowest`
    is the least first clip.

    >>> from sfumato import Schema, booleans
    >>> space = Space.of(Schema({f"q{place}": booleans(missing=False) for place in range(64)}))
    >>> plan_hitters(space, Pure("3/4").per_attribute(), 20_000).smallest_found() < 90
    True
    """
    epsilon = require_pure(spend).epsilon
    missed = float(between_zero_and_one(failure, "failure"))
    facts = SearchFacts(positive_integer(people, "people"), missed, most, heavy, lowest, smallest)
    sketch = search(space, facts, spend.unit == "person", lambda scale, paths: float(epsilon), blocks)
    return fitted(sketch, most, lambda found: found.loss(), spend)[0]


def plan_popular(
    space: Space,
    spend: Bound,
    people: int,
    *,
    failure: Number = Fraction(1, 20),
    share: Number = SHARE,
    smallest: int | None = None,
    most: int = MOST,
) -> PopularCounts:
    """Return the search and the counts that together fit a pure spend, per person or per attribute."""
    epsilon = require_pure(spend).epsilon
    counting = 2 / ((1 - between_zero_and_one(share, "share")) * epsilon)
    each = float(1 / counting)

    def budget(scale: float, paths: int) -> float:
        # The sharper of the two bounds of PopularCounts, which holds for every path on its own.
        return float(epsilon) - min(2 * each, paths * max(each, 2 * each - 1 / scale))

    facts = SearchFacts(positive_integer(people, "people"), float(between_zero_and_one(failure, "failure")), most)
    facts = replace(facts, smallest=smallest, counting=float(counting))
    sketch = search(space, facts, spend.unit == "person", budget, BLOCKS)
    return fitted(sketch, most, lambda found: _counted(found, counting).loss(), spend, counting)[1]


def require_pure(spend: Bound) -> Pure:
    """Refuse other spends: the certificate is one of pure privacy."""
    if not isinstance(spend, Pure) or spend.epsilon == 0:
        raise UnsupportedSpend(
            f"Frequent records are searched along a tree with a pure spend, and {spend!r} is none; write Pure(1) or "
            "Pure(1).per_attribute()."
        )
    return spend


def _counted(found: HeavyHitters, scale: Fraction) -> PopularCounts:
    return PopularCounts(hitters=found, scale=scale)


def trees(space: Space, blocks: Iterable[int], person: bool) -> list[ColumnTree]:
    """Return the trees to try; for a whole person a caterpillar too, which is charged for one path only."""
    ways = {blocks_of(space, min(cells, LARGEST_BLOCK)): cells for cells in blocks}
    found = [balanced(space, cells) for cells in ways.values()]
    found += [caterpillar(space, cells) for way, cells in ways.items() if person and 3 < len(way) <= LONGEST_SPINE]
    return [tree for tree in found if tree.joins]


def search(space: Space, facts: SearchFacts, person: bool, budget: Budget, blocks: Sequence[int]) -> Sketch:
    """Return the best plan: the smallest count found, or the shortest lists that find a count asked for."""
    best: Sketch | None = None
    for tree in trees(space, blocks, person):
        paths = list(bottoms(tree)) if person else [max(bottoms(tree), key=len)]
        grid = np.unique(np.geomspace(facts.lowest, max(facts.people, facts.lowest + 1), FIRST_CLIPS).round())
        starts = [Start(float(clip), lift) for clip in grid for lift in LIFTS]
        sketches = [sketch(tree, paths, start, facts, budget) for start in starts]
        for found in sketches:
            if found is not None and (best is None or _better(found, best, facts.smallest)):
                best = found
    if best is None:
        raise NotProvable(
            "No tree over these columns keeps its lists short enough at this spend; spend more, ask for fewer columns, "
            "or raise most=.",
            {"people": facts.people, "most": facts.most},
        )
    return best


def _better(found: Sketch, best: Sketch, smallest: int | None) -> bool:
    if smallest is not None and max(found.smallest, best.smallest) <= smallest:
        return found.longest < best.longest
    return (found.error, found.smallest) < (best.error, best.smallest)


def sketch(
    tree: ColumnTree, paths: Sequence[tuple[int, ...]], start: Start, facts: SearchFacts, budget: Budget
) -> Sketch | None:
    """Return the plan of a tree and a first clip, or None if none fits."""
    scale = 4.0 / max(budget(math.inf, len(paths)), 1e-12)
    for _ in range(8):
        thresholds, clips, longest = levels(tree, scale, start, facts)
        allowed = budget(scale, len(paths))
        if allowed <= 0 or longest > facts.most or not clips[-1] < 2**50:
            return None
        cost = 0.0
        for path, count in Counter(paths).items():
            places = np.array(path) - 1
            cost += count * predicted_cost(scale, thresholds[places], clips[places])
        change, scale = cost / allowed, scale * cost / allowed
        if abs(change - 1) < 1e-3:
            break
    thresholds, clips, longest = levels(tree, scale, start, facts)
    smallest = _found_from(tree, scale, thresholds, facts.failure)
    # Counts of all that is listed are to be right together.
    listed = 2 * facts.frequent(thresholds[-1])
    error = max(smallest, facts.counting * math.log(2 * max(listed, 1) / facts.failure))
    return Sketch(tree, scale, thresholds, clips, smallest, error, longest)


def levels(
    tree: ColumnTree, scale: float, start: Start, facts: SearchFacts
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return thresholds and clips from the first level up, and the length of the longest list to expect."""
    lengths = [float(tree.cells(block)) for block in tree.blocks]
    spread, clip, longest = math.log1p(math.exp(-1 / scale)), start.clip, 0.0
    thresholds, clips = [], []
    for level in range(1, tree.height + 1):
        frequent = facts.frequent(clip)
        # Joins are numbered level by level, so the lists of the children are known here.
        pairs = [lengths[left] * lengths[right] for left, right in tree.rows[level - 1]]
        gap = facts.gap(scale, clip, max(pairs), level == tree.height)
        passing = math.exp(-(gap + 1) / scale - spread)
        lengths += [min(number, frequent + passing * number) for number in pairs]
        longest = max(longest, *lengths[-len(pairs) :])
        thresholds.append(clip + gap)
        clips.append(clip)
        clip = thresholds[-1] + start.lift
    return np.array(thresholds), np.array(clips), longest


def _found_from(tree: ColumnTree, scale: float, thresholds: NDArray[np.float64], failure: float) -> float:
    """Solve sum over joins of P[Z <= threshold - F] = failure for F."""
    used = thresholds[np.array([level for _, _, level in tree.joins]) - 1]
    weight = float(np.exp((used - used.max()) / scale).sum())
    return float(used.max()) + scale * math.log(max(weight / failure / (1 + math.exp(-1 / scale)), 1))


def fitted(
    found: Sketch, most: int, loss: Callable[[HeavyHitters], Loss], spend: Bound, counting: Fraction | None = None
) -> tuple[HeavyHitters, PopularCounts]:
    """Return the plan in whole numbers, with noise raised until the exact loss is within the spend."""
    units = max(1, math.floor(found.scale * FINENESS))
    first = HeavyHitters(
        tree=found.tree,
        scale=Fraction(units, FINENESS),
        thresholds=tuple(map(int, found.thresholds)),
        clips=tuple(map(int, found.clips)),
        most=most,
    )
    while not loss(first).within(spend):
        units += max(1, units // 1024)
        first = replace(first, scale=Fraction(units, FINENESS))
    return first, _counted(first, counting or Fraction(1))
