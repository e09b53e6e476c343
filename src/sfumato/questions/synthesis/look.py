"""Where a second look pays: predicted errors of tables, from what a first look released (post-processing, SY-LOOK)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from sfumato.questions.synthesis.evidence import MOST_CELLS, Columns, Evidence
from sfumato.questions.synthesis.shares import ones_share
from sfumato.questions.synthesis.standing import Judged, connected, judged
from sfumato.totals.tables.contrasts import Floats

HUNDREDTHS = (0, 10, 20, 30, 40, 50, 60, 80)
"""What one-way tables may get of a second look that also goes to pairs."""
STEPS, FIRST_COUNTS = 20, (1, 2, 3, 5, 8, 12, 20)
"""How many of the pairs, in the order of their promise, may be looked at again: few, or some twentieths of all."""
LEAST_PAIRS = 20
"""Hundredths that pairs get at least where they are looked at again."""
LEAST_ONES = 0.27
"""Single columns get at least this part of all that is spent: about twice the noise of single columns alone."""
LIKELY_LINKS = 0.3
"""Pairs that may well be links: a mixture of products, which smooths all pairs of a group together, needs them all."""
LIKELY_ALONE = 0.1
"""Above 2^18 cells, of the pairs that promise something by themselves so large a part may be noise, and no more."""
SPARED = 2
"""A mixture smooths single columns along with its pairs: of what they would get alone they need this part."""
TYPICAL, SMOOTHED = 0.4, 0.7
"""Half of the mean size of a normal number, and what a fit leaves of the error of a pair."""
LEAST = 1e-300
"""In place of nothing where something is divided by it."""


class Look(NamedTuple):
    """What is looked at again: hundredths of the money for all one-way tables, the rest for some pairs."""

    ones: int
    pairs: tuple[Columns, ...]


class Prices(NamedTuple):
    """What a look costs at unit variance of a centred cell, as it is predicted, and how much money there is."""

    ones: float
    pairs: dict[Columns, float]
    money: float
    total: float


def next_look(evidence: Evidence, prices: Prices) -> Look:
    """Return the look with the smallest predicted error of tables of one, two and three columns."""
    found = judged(evidence)
    pairs = [columns for columns in prices.pairs if columns in found.tables]
    if not pairs:
        return Look(100, ())
    signals = {columns: _signal(found, columns, 1.0 if evidence.dense else LIKELY_ALONE) for columns in pairs}
    large = [set(range(len(evidence.sizes)))] if found.whole else _large(evidence, found)
    together = {columns for columns in pairs if any(set(columns) <= group for group in large)}
    if together and evidence.dense:
        # A fit smooths all pairs of a group together, which no forecast pair by pair can see.
        return Look(_balanced(evidence, prices), tuple(columns for columns in prices.pairs if columns in together))

    def promise(columns: Columns) -> tuple[bool, float]:
        return columns not in together, -signals[columns] / (found.tables[columns].freedom * prices.pairs[columns])

    ordered = sorted(pairs, key=promise)
    forecast = _Forecast(evidence, prices, ordered, np.array([signals[columns] for columns in ordered]))
    steps = {-(-len(pairs) * step // STEPS) for step in range(1, STEPS + 1)} | set(FIRST_COUNTS)
    counts = sorted(count for count in steps if count <= len(pairs))
    # Pairs of a group that only a mixture can hold come all or, if there is no group, none.
    wanted = [(ones, max(count, len(together))) for ones in HUNDREDTHS for count in counts]
    options = wanted if together else [(100, 0), *wanted]
    ones, count = min(options, key=lambda option: forecast.error(*option))
    taken = set(ordered[:count])
    ones = ones // SPARED if together else ones
    return Look(ones, tuple(columns for columns in prices.pairs if columns in taken))


def _balanced(evidence: Evidence, prices: Prices) -> int:
    """Return the hundredths that bring one-way tables to their share of all that is spent, pairs having the rest."""
    people = prices.total**2
    wide = [place for place, size in enumerate(evidence.sizes) if size > 1]
    spent_ones = prices.ones * float(np.mean([evidence.one_precisions[place] for place in wide])) / people
    spent_pairs = sum(price * evidence.centred[columns][1] for columns, price in prices.pairs.items()) / people
    share = max(LEAST_ONES, ones_share([evidence.sizes[place] for place in wide]))
    wanted = share * (spent_ones + spent_pairs + prices.money)
    return min(100 - LEAST_PAIRS, max(0, round(100 * (wanted - spent_ones) / prices.money)))


def _signal(found: Judged, columns: Columns, likely: float) -> float:
    """Return about the squared length of what a pair says beyond its columns, less where it may be noise."""
    one = found.tables[columns]
    # Of many pairs that are nothing but noise the largest seems to promise much.
    alone = 1 - one.doubt if one.doubt < likely else 0.0
    return max(0.0, one.seen - one.noise) * max(alone, found.together)


def _large(evidence: Evidence, found: Judged) -> list[set[int]]:
    """Return the groups that only a mixture can hold."""
    columns = len(evidence.sizes)
    groups = connected(columns, [places for places, one in found.tables.items() if one.doubt < LIKELY_LINKS])
    return [set(group) for group in groups if prod(evidence.sizes[place] for place in group) > MOST_CELLS]


class _Forecast:
    """Predicted errors of tables for a share of one-way tables and a number of pairs."""

    def __init__(self, evidence: Evidence, prices: Prices, pairs: Sequence[Columns], signals: Floats) -> None:
        wide = [place for place, size in enumerate(evidence.sizes) if size > 1]
        at = {place: order for order, place in enumerate(wide)}
        self.sizes = np.array([evidence.sizes[place] for place in wide], np.float64)
        self.ones = np.array([evidence.one_precisions[place] for place in wide])
        self.ends = np.array([[at[place] for place in columns] for columns in pairs])
        self.pairs = np.array([evidence.centred[columns][1] for columns in pairs])
        self.signals, self.prices = signals, prices
        self.costs = np.cumsum([prices.pairs[columns] for columns in pairs])

    def error(self, ones: int, count: int) -> float:
        """Return the sum of the predicted mean errors of tables of one, two and three columns."""
        people = self.prices.total**2
        more = self.prices.money * ones / 100 / self.prices.ones * people
        singles = _held(TYPICAL * np.sqrt(self.sizes * (self.sizes - 1) / np.maximum(self.ones + more, LEAST)))
        precision = self.pairs.copy()
        if count:
            precision[:count] += self.prices.money * (1 - ones / 100) / self.costs[count - 1] * people
        first, second = self.sizes[self.ends].T
        noise = (first - 1) * (second - 1) / precision
        # What a table that is shrunk by its own noise has left: no more than its signal, no more than its noise.
        risk = noise * self.signals / np.maximum(self.signals + noise, LEAST)
        pairs = _held(SMOOTHED * TYPICAL * np.sqrt(first * second * risk))
        both = np.sqrt((singles[self.ends] ** 2).sum(axis=1) + pairs**2)
        triple = np.sqrt(3 * np.mean(singles**2) + 3 * np.mean(pairs**2))
        return float(np.mean(singles) + np.mean(both) + triple)


def _held(errors: Floats) -> Floats:
    """Return errors of total variation, which stay below 1."""
    return np.asarray(errors / (1 + errors))
