"""What no private mechanism can do for many queries: packings, random queries, sampling error, warnings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.bounds.floors import ROUNDING, Floor, positive
from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one, positive_integer
from sfumato.exact.search import smallest_between

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


MOST_RECORDS = 2**16
"""Tables of more different records give floors too small to be worth their time."""


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
    best, exponent = 0.0, rate * size
    for records in _divisors(size):
        # Few records tell most: h coins of 2·records/4 are far from their mean with probability 2·exp(-h²/(records/4)).
        if records > min(domain // 2, MOST_RECORDS) or _most(records, count, exponent) <= best:
            break
        if _packs(domain, records, exponent):
            best = max(best, _separation(records, count, exponent) / (2 * records))
    return Floor(best, "random queries" if best else "nothing: too few cells or queries")


def _divisors(number: int) -> list[int]:
    small = [part for part in range(1, math.isqrt(number) + 1) if number % part == 0]
    return sorted({*small, *(number // part for part in small)})


def _packs(cells: int, records: int, exponent: float) -> bool:
    """Tell whether more than e^exponent sets of so many records exist, no two with more than 3/4 in common."""
    different = -(-records // 4) - 1
    near = _log_chooses(records, different) + _log_chooses(cells - records, different)
    top = float(near.max())
    together = top + math.log(math.fsum(np.exp(near - top).tolist()))
    return float(_log_chooses(cells, records)[-1]) - together >= math.log(3) + exponent


def _needed(exponent: float) -> float:
    return 2 * (exponent + math.log(3)) - math.log(2)


def _most(records: int, queries: int, exponent: float) -> float:
    """Return a bound on what so many records can give; it falls with their number."""
    chance = -math.expm1(-_needed(exponent) / queries)
    return math.sqrt((records + 3) / 4 * math.log(2 / chance)) / (2 * records)


def _separation(records: int, queries: int, exponent: float) -> int:
    """Return the largest h such that random queries tell all pairs of the packing apart by h records."""
    from scipy.stats import binom

    # Two coins more spread a symmetric law with one peak, so the fewest different records are the worst pair.
    different = -(-records // 4)

    def too_far(apart: int) -> bool:
        chance = min(1.0, 2 * float(binom.sf(different + apart - 1, 2 * different, 0.5)))
        return chance < 1 and -queries * math.log1p(-chance) <= _needed(exponent)

    return smallest_between(0, different + 1, too_far) - 1


def _log_chooses(total: int, most: int) -> Any:
    """Return the logarithms of C(total, 0), …, C(total, most); sums of steps, as huge log-gammas would cancel."""
    steps = np.arange(most, dtype=np.float64)
    left = np.full(most, math.log(total)) if total > 2**1000 else np.log(np.maximum(float(total) - steps, 1e-300))
    return np.concatenate([[0.0], np.cumsum(left - np.log(steps + 1))])
