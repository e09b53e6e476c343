"""What no private mechanism can do for many queries: packings, random queries, sampling error, warnings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from sfumato.bounds.floors import ROUNDING, Floor, positive
from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one, positive_integer

WARNINGS = {
    "LB-RAND": (
        "For d random queries of ±1 over N cells every pure mechanism has an error of the order "
        "d/epsilon·min(sqrt(d), sqrt(log(N/d))): Laplace noise is of the right order while d is at most log N, and "
        "then still about twice as large as shaped noise at d = 6."
    ),
    "LB-RECON": (
        "Noise below the order min(sqrt(k), sqrt(n·log k)) on k queries about n people gives nearly everything away; "
        "for all marginals of width w over d columns the order is min(sqrt(n), d^(w/2)). The constants are not known; "
        "audit.reconstruct tries the attack."
    ),
    "LB-SEP": (
        "For d queries over N cells with d up to log N a pure spend pays about sqrt(d) times the error of an "
        "approximate one; write Approximate(epsilon, delta) if a delta is acceptable."
    ),
    "LB-CRYPTO": (
        "Under common assumptions of cryptography no method makes synthetic data for all queries, or even for all "
        "pairs of columns, in time polynomial in people and columns; hence methods that list the domain, models with "
        "factors, or answers without synthetic data."
    ),
}
"""Bounds that are known up to constants only: sentences for planners, never numbers."""


def packing_error(answers: Any, distance: int, epsilon: Number) -> Floor:
    """Return a largest error that no mechanism has beaten with probability 1/2 on all of these tables (LB-PACK).

    To a planner: `answers` holds one row of exact answers for each of some tables, any two of which differ in at
    most `distance` people. Among P tables whose answers are pairwise at least 2·a apart in some query, an error
    below a in every second run needs P <= 2·e^(epsilon·distance). The packing is found greedily.

    >>> packing_error(np.eye(100) * 6, distance=3, epsilon=1).value
    3.0
    """
    rows = np.asarray(answers, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < 2 or not np.isfinite(rows).all():
        raise ParameterError("answers must be a matrix with one row of finite answers for each of at least two tables.")
    most = 2 * math.exp(min(700.0, positive(epsilon, "epsilon") * positive_integer(distance, "distance")))
    gaps = np.unique(np.abs(rows[:, None] - rows[None]).max(axis=2))[::-1]
    for gap in gaps[gaps > 0]:
        if len(_packing(rows, float(gap))) > most * (1 + ROUNDING):
            return Floor(float(gap) / 2, "packing")
    return Floor(0.0, "too few tables")


def _packing(rows: Any, gap: float) -> list[int]:
    kept: list[int] = []
    for place in range(len(rows)):
        if all(np.abs(rows[place] - rows[other]).max() >= gap for other in kept):
            kept.append(place)
    return kept


def histogram_error(cells: int, epsilon: Number, people: int) -> Floor:
    """Return a largest count error that no pure mechanism beats with probability 1/2 (QR:LB-HIST).

    To a planner: all counts of a histogram over `cells` cells, D/2 where D is the largest whole number below
    ln(cells/2)/epsilon, and at most `people`.

    >>> histogram_error(2**20, epsilon=0.1, people=10**6).value
    65.5
    """
    count, size = positive_integer(cells, "cells"), positive_integer(people, "people")
    level = (math.log(count) - math.log(2)) / positive(epsilon, "epsilon")
    moved = min(size, max(0, math.ceil(level - ROUNDING * max(1.0, level)) - 1))
    return Floor(moved / 2, "packing of single cells")


def sampling_error(people: int, queries: int, failure: Number = 0.05) -> float:
    """Return the error that sampling people leaves in `queries` shares anyway: sqrt(ln(2k/failure)/(2n)) (LB-SAMPLE).

    >>> round(sampling_error(10_000, 1000), 4)
    0.023
    """
    share = float(between_zero_and_one(failure, "failure"))
    count = positive_integer(queries, "queries")
    return math.sqrt(math.log(2 * count / share) / (2 * positive_integer(people, "people")))


def random_queries_error(people: int, cells: int, queries: int, epsilon: Number) -> Floor:
    """Return an error, as a share of people, that some `queries` counting queries force on every pure mechanism.

    To a planner: queries exist for which nothing pure does better on all tables (LB-PACK-RAND, REPLACE_ONE). Tables
    of s different records, each repeated people/s times, are packed; random queries tell all pairs apart.

    >>> round(random_queries_error(1000, 10**6, 10**5, 0.1).value, 2)
    0.1
    """
    size, domain = positive_integer(people, "people"), positive_integer(cells, "cells")
    count, rate = positive_integer(queries, "queries"), positive(epsilon, "epsilon")
    best = 0.0
    for records in _divisors(size):
        if records <= domain // 2 and _packs(domain, records, rate * size):
            best = max(best, _separation(records, count, rate * size) / (2 * records))
    return Floor(best, "random queries" if best else "nothing: too few cells or queries")


def _divisors(number: int) -> Iterator[int]:
    return (part for part in range(1, number + 1) if number % part == 0)


def _packs(cells: int, records: int, exponent: float) -> bool:
    """Tell whether more than e^exponent sets of so many records exist, no two with more than 3/4 in common."""
    near = [
        _log_choose(records, same) + _log_choose(cells - records, records - same)
        for same in range(3 * records // 4 + 1, records + 1)
    ]
    top = max(near)
    together = top + math.log(math.fsum(math.exp(term - top) for term in near))
    return _log_choose(cells, records) - together >= math.log(3) + exponent


def _separation(records: int, queries: int, exponent: float) -> int:
    """Return the largest h such that random queries tell all pairs of the packing apart by h records."""
    needed = 2 * (exponent + math.log(3)) - math.log(2)
    low, high = 0, records
    while low < high:
        middle = (low + high + 1) // 2
        chance = min(_far(different, middle) for different in _tested(records))
        enough = -queries * math.log1p(-chance) > needed if chance < 1 else True
        low, high = (middle, high) if enough else (low, middle - 1)
    return low


def _tested(records: int) -> Iterator[int]:
    """Yield numbers of different records; the chance of a large difference grows with them, up to parity."""
    start = -(-records // 4)
    return iter(range(start, min(records, start + 64) + 1))


@cache
def _far(different: int, distance: int) -> float:
    """Return the probability that 2j fair coins show j heads up to at least `distance`."""
    from scipy.stats import binom

    if distance <= 0:
        return 1.0
    return min(1.0, 2 * float(binom.sf(different + distance - 1, 2 * different, 0.5)))


def _log_choose(total: int, part: int) -> float:
    if not 0 <= part <= total:
        return -math.inf
    if part <= 4096 and total > 2**40:
        # Differences of huge log-gammas would cancel.
        return math.fsum(math.log(total - place) - math.log(place + 1) for place in range(part))
    return math.lgamma(total + 1) - math.lgamma(part + 1) - math.lgamma(total - part + 1)
