"""Cut-offs that follow from a law: how large an estimate of an item that nobody holds may be.

A report of another item supports an absent one with chance 1/q, independently of all other reports, so the number of
supporting reports is binomial. Its tail is computed exactly where doubles reach, and bounded by Chernoff beyond.
"""

from __future__ import annotations

import math
from functools import lru_cache

from sfumato.exact.search import smallest_between
from sfumato.local.hadamard import HadamardResponse
from sfumato.local.linear import LinearHash
from sfumato.local.response import Response

_SMALLEST = 1e-280


def cutoff(oracle: LinearHash, reports: int, log_chance: float) -> float:
    """Return the estimate that an absent item reaches with a probability of at most exp(`log_chance`)."""
    if reports < 1:
        return 0.0
    inside = 1 / oracle.spread
    support = _support(reports, inside, log_chance)
    return (support - reports * inside) / (oracle.signal * (1 - inside))


def cell_cutoff(oracle: HadamardResponse, reports: int, log_chance: float) -> float:
    """Return the estimate that an empty cell reaches at most with this probability; `reports` are those of its block.

    Half of the columns of a block speak for a cell, so a report of its block does with chance 1/2.
    """
    return (2 * _support(reports, 0.5, log_chance) - reports) / oracle.signal if reports else math.inf


def answer_cutoff(oracle: Response, reports: int, log_chance: float) -> float:
    """Return the estimate that an answer which nobody holds reaches at most with this probability."""
    inside = float(oracle.chance) / oracle.answers
    return (_support(reports, inside, log_chance) - reports * inside) / oracle.signal if reports else math.inf


@lru_cache(maxsize=4096)
def _support(reports: int, inside: float, log_chance: float) -> int:
    """Return the smallest count that Bin(reports, inside) reaches with at most this probability."""
    return smallest_between(
        int(reports * inside), reports + 1, lambda count: _log_tail(count, reports, inside) <= log_chance
    )


def _log_tail(count: int, reports: int, inside: float) -> float:
    from scipy.special import betainc

    if count > reports:
        return -math.inf
    chance = float(betainc(count, reports - count + 1, inside))
    if chance > _SMALLEST:
        return math.log(chance)
    share = count / reports
    divergence = share * math.log(share / inside)
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - inside))
    return -reports * divergence


def listed_share(oracle: LinearHash, reports: int, log_chance: float, probability: float) -> float:
    """Return the smallest share whose items reach the cut-off with this probability: the law of LO-ALL, or 1.

    The reports that speak for an item of h holders are Bin(h, own) + Bin(reports - h, 1/q); for more than a million
    reports a normal law stands for it.
    """
    inside = 1 / oracle.spread
    own = inside + oracle.signal * (1 - inside)
    support = _support(reports, inside, log_chance)

    def reached(holders: int) -> float:
        return _two_binomials(holders, own, reports - holders, inside, support)

    if reached(reports) < probability:
        return 1.0
    return smallest_between(0, reports, lambda holders: reached(holders) >= probability, parts=2000) / reports


def _two_binomials(holders: int, own: float, others: int, inside: float, support: int) -> float:
    """Return P(Bin(holders, own) + Bin(others, inside) >= support)."""
    import numpy as np
    from scipy.special import ndtr
    from scipy.stats import binom

    if holders + others > 10**6 or holders > 10**5:
        mean = holders * own + others * inside
        deviation = math.sqrt(holders * own * (1 - own) + others * inside * (1 - inside))
        return float(ndtr((mean - support + 0.5) / max(deviation, 1e-9)))
    heard = np.arange(holders + 1)
    return float((binom.pmf(heard, holders, own) * binom.sf(support - heard - 1, others, inside)).sum())


def tree_cutoffs(
    oracle: LinearHash, levels: tuple[int, ...], reports: tuple[int, ...], false_items: float
) -> tuple[float, ...]:
    """Return the least estimate that the evidence from each level on must reach (ACCEPT of SOFT-TREE).

    `reports` are those of the levels and of the devices that verify. From level 1 on: all values together of which
    nobody holds a prefix pass with a probability of at most `false_items`. From level j on: the values that share the
    prefix of level j - 1, and no longer one, with one given item that was not found pass with at most the same, over
    all levels together, if nobody else holds their longer prefixes. Nothing is proved for all values of the domain at
    once, where every short prefix is held by somebody; simulations show no more false items than stated.
    """
    bits, count = levels[-1], len(levels)
    cuts = [cutoff(oracle, sum(reports), math.log(false_items) - bits * math.log(2))]
    for level in range(1, count):
        log_chance = math.log(false_items / count) - (bits - levels[level - 1]) * math.log(2)
        cuts.append(cutoff(oracle, sum(reports[level:]), log_chance))
    return tuple(cuts)
