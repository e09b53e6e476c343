"""Between which values quantiles lie, from how far off their ranks all cuts are at most (MD-QBAR (d))."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from sfumato.domain import Domain, FixedPoint, Integers
from sfumato.table.gauge import Gauge

ROWS, LOWEST, HIGHEST = "rows", "lowest value", "highest value"
"""The facts that are needed: the public number of rows, and the ends of the range."""


def public_ends(domain: Domain, gauge: Gauge) -> dict[str, Fraction]:
    """Return the number of rows and the ends of the range; nothing where that number is private, or of no numbers.

    A missing cell is no row, so that where cells may be missing nobody knows how many rows there are.
    """
    if gauge.total is None or domain.may_be_missing or not isinstance(domain, (Integers, FixedPoint)):
        return {}
    assert domain.highest is not None
    low, high = domain.decode(domain.first), domain.decode(domain.highest)
    assert low is not None and high is not None
    return {ROWS: Fraction(gauge.total), LOWEST: Fraction(low), HIGHEST: Fraction(high)}


def between(
    cells: Sequence[tuple[Fraction, Any]], facts: Mapping[str, Fraction], error: int
) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """Return the ends of all quantiles, every cut being off by at most `error` rows; None where they say nothing.

    >>> cells = [(Fraction(1, 4), 10), (Fraction(1, 2), 20), (Fraction(3, 4), 30)]
    >>> facts = {ROWS: Fraction(100), LOWEST: Fraction(0), HIGHEST: Fraction(99)}
    >>> between(cells, facts, 20)
    ((0, 10, 20), (20, 30, 99))
    >>> between(cells, facts, 60) is None
    True
    """
    if not cells or not set(facts) >= {ROWS, LOWEST, HIGHEST}:
        return None
    rows, kind = facts[ROWS], int if isinstance(cells[0][1], int) else Fraction
    lowest, highest = kind(facts[LOWEST]), kind(facts[HIGHEST])
    low, high = [], []
    for chance, _ in cells:
        wanted = chance * rows
        # Fewer rows than wanted lie below such a cut, and at least as many up to such another.
        low.append(max((cut for part, cut in cells if math.ceil(part * rows) + error < wanted), default=lowest))
        high.append(min((cut for part, cut in cells if math.floor(part * rows) - error >= wanted), default=highest))
    told = any(one != lowest for one in low) or any(one != highest for one in high)
    return (tuple(low), tuple(high)) if told else None
