"""What stands out of its noise: from released tables to signals, links between columns and groups (post-processing)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod, sqrt

import numpy as np

from sfumato.questions.synthesis.evidence import Columns, Evidence
from sfumato.totals.tables.contrasts import Floats

FALSE_LINKS = 0.05
"""Of the tables that are taken for links, so large a part is expected to be noise."""
TOGETHER = 0.1
"""From so much evidence of all pairs together on, columns are kept in one group although few pairs stand out alone."""
LEAST_SHARE = 1e-12


@dataclass(frozen=True)
class Standing:
    """How far a table's residual from independence stands out of its noise.

    `residual` is the centred table less that of independent columns, `seen` its squared length, `noise` what noise
    alone would give it on average, `chance` what unrelated people would show beside it, and no more than the noise,
    `freedom` its degrees of freedom, `doubt` the share of false alarms among the tables that stand out at least as far
    (Benjamini and Hochberg).
    """

    residual: Floats
    seen: float
    noise: float
    chance: float
    freedom: int
    doubt: float

    @property
    def kept(self) -> float:
        """The part of the residual that is kept: what noise would explain is taken away (James and Stein)."""
        return max(0.0, 1 - self.noise / self.seen) if self.seen > 0 else 0.0


@dataclass(frozen=True)
class Judged:
    """One-way tables as probabilities, and every measured table of more columns beside what noise would do.

    `together` is the evidence of all pairs as one: many columns that share a factor show nothing pair by pair. `across`
    is that of the pairs whose columns lie in different groups: what stands out by itself is not in it.
    """

    ones: tuple[Floats, ...]
    tables: dict[Columns, Standing]
    together: float
    across: float

    @property
    def whole(self) -> bool:
        """Whether all pairs together say so much that columns should not be told apart by their own links."""
        return self.together > TOGETHER

    @property
    def falls_apart(self) -> bool:
        """Whether columns are likelier in groups of their own: none holds most of them, and nothing lies across."""
        return self.across <= TOGETHER and 2 * max(map(len, self.groups())) <= len(self.ones)

    def groups(self) -> list[Columns]:
        """Return the columns that tables which stand out by themselves link together."""
        return connected(len(self.ones), [places for places, one in self.tables.items() if one.doubt < FALSE_LINKS])


def judged(evidence: Evidence) -> Judged:
    """Return what stands out of its noise; spec SY-EVID."""
    ones = tuple(cleaned(one) for one in evidence.ones)
    apart = [one - 1 / one.size for one in ones]
    spreads = [1 / precision if precision > 0 else 0.0 for precision in evidence.one_precisions]
    found: dict[Columns, tuple[Floats, float, float, float, int]] = {}
    for columns, (table, precision) in evidence.centred.items():
        if precision <= 0:
            continue
        residual = table - reduce(np.multiply.outer, [apart[place] for place in columns])
        freedom = prod(size - 1 for size in table.shape)
        noise = freedom / precision
        # The product of noisy one-way tables is noisy too; without its part, columns of few codes make false links.
        for place in columns:
            others = prod(float((apart[other] ** 2).sum()) for other in columns if other != place)
            noise += (ones[place].size - 1) * spreads[place] * others
        found[columns] = residual, float((residual**2).sum()), noise, _chance(evidence, ones, columns, noise), freedom
    doubts = _doubts([(seen, noise + chance, freedom) for _, seen, noise, chance, freedom in found.values()])
    tables = {columns: Standing(*one, doubt) for (columns, one), doubt in zip(found.items(), doubts, strict=True)}
    pairs = {columns: one for columns, one in tables.items() if len(columns) == 2}
    linked = connected(len(ones), [columns for columns, one in tables.items() if one.doubt < FALSE_LINKS])
    owner = {place: group for group in linked for place in group}
    across = [one for (first, second), one in pairs.items() if owner[first] != owner[second]]
    return Judged(ones, tables, _together(list(pairs.values())), _together(across))


def _chance(evidence: Evidence, ones: Sequence[Floats], columns: Columns, noise: float) -> float:
    """Return how long the residual of unrelated people is by chance, squared, up to the noise.

    Where noise is larger, chance cannot be told from links, and a mixture that looks for it finds false ones; where
    noise is smaller, it is measured like anything else that a table says. A fit of all cells is shrunk table by table,
    and bears it.
    """
    if evidence.dense:
        return 0.0
    return min(noise, prod(1 - float((ones[place] ** 2).sum()) for place in columns) / evidence.people)


def _doubts(rows: Sequence[tuple[float, float, int]]) -> list[float]:
    """Return q-values of squared lengths under chi² of their degrees of freedom, scaled to their expected noise."""
    from scipy.stats import chi2

    if not rows:
        return []
    seen, noise, freedom = (np.array(column, np.float64) for column in zip(*rows, strict=True))
    chances = chi2.sf(seen * freedom / noise, freedom)
    order = np.argsort(chances)
    ranked = chances[order] * len(rows) / np.arange(1, len(rows) + 1)
    smallest = np.minimum.accumulate(ranked[::-1])[::-1]
    found = np.empty(len(rows))
    found[order] = np.minimum(smallest, 1.0)
    return [float(one) for one in found]


def _together(pairs: Sequence[Standing]) -> float:
    """Return how far all pairs stand out as one, in parts of what stands out at all."""
    expected = [one.noise + one.chance for one in pairs]
    heights = [(one.seen - mean) / (mean * sqrt(2 / one.freedom)) for one, mean in zip(pairs, expected, strict=True)]
    above = sum(max(height, 0.0) for height in heights)
    return max(0.0, sum(heights) - 2 * sqrt(len(heights))) / above if above > 0 else 0.0


def connected(columns: int, links: Sequence[Columns]) -> list[Columns]:
    """Return the connected parts of so many columns, each in rising order.

    >>> connected(5, [(0, 3), (3, 4)])
    [(0, 3, 4), (1,), (2,)]
    """
    owner = list(range(columns))
    for link in links:
        first, *others = sorted({owner[place] for place in link})
        owner = [first if one in others else one for one in owner]
    return [tuple(place for place in range(columns) if owner[place] == one) for one in sorted(set(owner))]


def cleaned(one: Floats) -> Floats:
    """Return the nearest probabilities to noisy ones.

    >>> cleaned(np.array([0.75, 0.5, -0.25])).tolist()
    [0.625, 0.375, 0.0]
    """
    falling = np.sort(one)[::-1]
    levels = (np.cumsum(falling) - 1) / np.arange(1, one.size + 1)
    kept = int((falling > levels).sum())
    found = np.maximum(one - levels[kept - 1], 0)
    return np.asarray(np.maximum(found, LEAST_SHARE) / np.maximum(found, LEAST_SHARE).sum() if kept == 0 else found)
