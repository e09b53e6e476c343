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
    alone would give it on average, `freedom` its degrees of freedom, `doubt` the share of false alarms among the tables
    that stand out at least as far (Benjamini and Hochberg).
    """

    residual: Floats
    seen: float
    noise: float
    freedom: int
    doubt: float

    @property
    def kept(self) -> float:
        """The part of the residual that is kept: what noise would explain is taken away (James and Stein)."""
        return max(0.0, 1 - self.noise / self.seen) if self.seen > 0 else 0.0


@dataclass(frozen=True)
class Judged:
    """One-way tables as probabilities, and every measured table of more columns beside what noise would do.

    `together` is the evidence of all pairs as one: many columns that share a factor show nothing pair by pair.
    """

    ones: tuple[Floats, ...]
    tables: dict[Columns, Standing]
    together: float

    @property
    def whole(self) -> bool:
        """Whether all pairs together say so much that columns should not be told apart by their own links."""
        return self.together > TOGETHER

    def groups(self) -> list[Columns]:
        """Return the columns that tables which stand out by themselves link together."""
        return connected(len(self.ones), [places for places, one in self.tables.items() if one.doubt < FALSE_LINKS])


def judged(evidence: Evidence) -> Judged:
    """Return what stands out of its noise; spec SY-EVID."""
    ones = tuple(cleaned(one) for one in evidence.ones)
    apart = [one - 1 / one.size for one in ones]
    spreads = [1 / precision if precision > 0 else 0.0 for precision in evidence.one_precisions]
    found: dict[Columns, tuple[Floats, float, float, int]] = {}
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
        found[columns] = residual, float((residual**2).sum()), noise, freedom
    doubts = _doubts([(seen, noise, freedom) for _, seen, noise, freedom in found.values()])
    tables = {columns: Standing(*one, doubt) for (columns, one), doubt in zip(found.items(), doubts, strict=True)}
    return Judged(ones, tables, _together([one for columns, one in tables.items() if len(columns) == 2]))


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
    heights = [(one.seen - one.noise) / (one.noise * sqrt(2 / one.freedom)) for one in pairs]
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
