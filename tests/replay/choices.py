"""What choices along a line, and among halfspaces, lose for one pair."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from sfumato.learn.facts import Sample
from sfumato.papers.partial_dp.halfspace import HalfspaceChoice, signs
from sfumato.privacy import Cost
from sfumato.privacy.coins import loss_of
from sfumato.questions.distribution.medians import MedianTree
from sfumato.questions.quantiles import JointQuantiles
from sfumato.questions.quantiles.quantile_choice import QuantileChoice
from tests.replay.lost import DEAR, Lost, chosen, even, total


def quantiles(owner: QuantileChoice, exact: Any, other: Any) -> Lost | None:
    """Return what choosing a code for each probability loses, over all codes."""
    lows, highs = [], []
    for chance in owner.probabilities:
        scores = [_rank_scores(chance, one, (exact, other)) for one in (exact, other)]
        found = chosen(owner.rate(chance), [b - a for a, b in zip(*scores, strict=True)], Cost.range_bounded)
        if found is not None:
            lows.append(found.cost)
            highs.append(found.stepped)
    return Lost("choice", total(lows), total(highs)) if lows else None


def _rank_scores(chance: Fraction, exact: Any, tables: Any) -> list[int]:
    """Return the score of every code at which one of the tables changes, and of those around it."""
    seen = {int(place) + step for places, _ in tables for place in places for step in (-1, 0, 1)}
    part, parts = chance.numerator, chance.denominator
    counts = sorted((int(place), int(count)) for place, count in zip(*exact, strict=True))
    rows = sum(count for _, count in counts)
    found = []
    for code in sorted(seen):
        below = sum(count for place, count in counts if place < code)
        upto = sum(count for place, count in counts if place <= code)
        found.append(min(parts * upto - part * rows, part * rows - parts * below))
    return found


def joint(owner: JointQuantiles, exact: Any, other: Any) -> Lost | None:
    """Return what cuts at the ends of values lose, level by level, in a range that holds all rows."""
    if dict(zip(*map(list, exact), strict=True)) == dict(zip(*map(list, other), strict=True)):
        return None
    found = []
    for nodes in owner.levels():
        node = nodes[0]
        most = max(abs(step) for step in _cut_changes(owner.between(node), owner.size, exact, other))
        found.append(Cost.range_bounded(2 * owner.rate(node) * most + _rounded(owner)))
    return even("cuts", total(found))


def _rounded(owner: JointQuantiles) -> Fraction:
    """Return by how much rounding may move a log-ratio, counted again: 4·6·k stages of (k+1)·(3·units + 30) each."""
    cuts = min(owner.fan, len(owner.probabilities))
    return Fraction(4 * 6 * cuts * (cuts + 1) * (3 * owner.capacity + 30), 1 << 53)


def _cut_changes(shares: list[int], size: int, *tables: Any) -> list[int]:
    below = []
    for places, counts in tables:
        sums = [0] * (size + 1)
        for place, count in zip(places, counts, strict=True):
            sums[int(place) + 1] += int(count)
        below.append(np.cumsum(np.array(sums, object)).tolist())
    found = []
    for cuts in combinations_with_replacement(range(size + 1), len(shares) - 1):
        scores = []
        for sums in below:
            edges = [0, *(sums[cut] for cut in cuts), sums[-1]]
            parts = zip(shares, edges, edges[1:], strict=False)
            scores.append(sum(abs(sum(shares) * (end - start) - share * sums[-1]) for share, start, end in parts))
        found.append(scores[1] - scores[0])
    return found


def median(owner: MedianTree, one: Any, two: Any) -> Lost | None:
    """Return what the choice of a median between two codes loses."""
    (first, low, high), second = one, two[0]
    seen = {int(code) + step for coded in (first, second) for code in coded.codes.tolist() for step in (0, 1)}
    codes = sorted({low, *(code for code in seen if low <= code <= high)})
    scores = []
    for coded in (first, second):
        base, rows = coded.below(low), coded.below(high + 1) - coded.below(low)
        scores.append([rows - 2 * max(coded.below(c) - base, base + rows - coded.below(c + 1)) for c in codes])
    return chosen(owner.rate, [after - before for before, after in zip(*scores, strict=True)], Cost.range_bounded)


def halfspace(owner: HalfspaceChoice, exact: Sample, other: Sample) -> Lost | None:
    """Return what a choice loses that sees labels through a response: the same response in both worlds.

    The response of one label costs what its coins do; whatever it was, the choice then sees other features only.
    """
    one, two = (_rows(sample) for sample in (exact, other))
    gone, come = list((one - two).elements()), list((two - one).elements())
    if not gone and not come:
        return None
    if len(gone) != 1 or len(come) != 1:
        return even("another number of people", DEAR)
    before, after = gone[0], come[0]
    if owner.weight is None:
        changes = _cost_of(owner, after, after[-1]) - _cost_of(owner, before, before[-1])
        return chosen(owner.rate, changes.tolist(), Cost.range_bounded)
    responses = [_cost_of(owner, after, label) - _cost_of(owner, before, label) for label in (0, 1)]
    found = [chosen(owner.rate, changes.tolist(), Cost.range_bounded) for changes in responses]
    worst = max((one for one in found if one), key=lambda one: one.stepped.epsilon, default=None)
    label = Cost.pure(loss_of(owner.weight, 2)) if before[-1] != after[-1] else Cost.zero()
    moved = (Cost.zero(), Cost.zero()) if worst is None else (worst.cost, worst.stepped)
    return Lost("response and choice", label + moved[0], label + moved[1])


def _rows(sample: Sample) -> Counter[tuple[int, ...]]:
    found: Counter[tuple[int, ...]] = Counter()
    for codes, label, count in zip(sample.codes.tolist(), sample.labels.tolist(), sample.counts.tolist(), strict=True):
        found[(*codes, int(label))] += int(count)
    return found


def _cost_of(owner: HalfspaceChoice, row: tuple[int, ...], label: int) -> Any:
    """Return what one person costs every halfspace when the response is this label."""
    point = signs(np.array([row[:-1]]), owner.cuts)
    yes, no = np.array([label]), np.array([1 - label])
    return owner.costs(point, yes, no)
