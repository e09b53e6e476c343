"""Do draws follow a law? Chi-square against exact masses, in cells of enough expectation, tails included."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.stats import chi2

from sfumato.exact.enclosure import precision
from sfumato.noise import Law

MOST_CELLS = 200
LEAST_EXPECTED = 20
LOW_BITS = 6


def p_value(law: Law, draws: np.ndarray) -> float:
    """Return the chance of a deviation as large as this one, tested by cells and, if wide, by low bits too."""
    edges = cell_edges(law, len(draws))
    with precision(192):
        ends = [float(law.tail(edge)) for edge in edges]
        heads = float(law.head(edges[0] + 1))
    masses = np.array([heads, *(-np.diff(ends)), ends[-1]])
    counts = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=len(masses))
    cells, expected = merged(counts, masses * len(draws))
    found = [chi_square(cells, expected)] if len(cells) > 1 else [1.0]
    if len(law.window("1/2")) > 1 << (LOW_BITS + 6):
        # Far wider than the period, so the low bits are uniform to many more digits than draws can show.
        low = np.bincount(draws & ((1 << LOW_BITS) - 1), minlength=1 << LOW_BITS)
        found.append(chi_square(low, np.full(len(low), len(draws) / len(low))))
    return min(1.0, min(found) * len(found))


def cell_edges(law: Law, count: int) -> list[int]:
    """Return the last values of cells of equal width that reach as far as draws are expected."""
    window = law.window(Fraction(LEAST_EXPECTED, count))
    step = max(1, -(-len(window) // MOST_CELLS))
    return list(range(window.start - 1, window.stop + step, step))


def merged(counts: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge neighbours, from the left, until every cell expects enough draws."""
    cells, sums, count, total = [], [], 0, 0.0
    for c, e in zip(counts.tolist(), expected.tolist(), strict=True):
        count, total = count + c, total + e
        if total >= LEAST_EXPECTED:
            cells.append(count)
            sums.append(total)
            count, total = 0, 0.0
    if not cells:
        return np.array([count]), np.array([total])
    cells[-1] += count
    sums[-1] += total
    return np.array(cells), np.array(sums)


def chi_square(counts: np.ndarray, expected: np.ndarray) -> float:
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return float(chi2.sf(statistic, len(counts) - 1))
