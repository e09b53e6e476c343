"""What a tree will find: a model of the search with normal noise, from public numbers only."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from sfumato.exact.search import narrowed
from sfumato.local.cutoffs import tree_cutoffs
from sfumato.local.tree import STEPS, TreeMethod
from sfumato.local.tree_search import BEAMS, PREFIX_KEEP, PREFIX_LEVEL
from sfumato.noise import Noise

DRAWS = 4000
PRECISION = 0.002


@lru_cache(maxsize=256)
def detectable_share(method: TreeMethod, reports: int, probability: float) -> float:
    """Return the smallest share whose items the model finds with this probability, or 1 if none is."""
    model = Model(method, reports)
    if model.recall(1.0) < probability:
        return 1.0
    found = narrowed(
        0.0, 1.0, lambda share: model.recall(share) >= probability, lambda low, high: high - low <= PRECISION * high
    )
    return found[1]


class Model:
    """An item of some share among so many reports, drawn again and again."""

    def __init__(self, method: TreeMethod, reports: int) -> None:
        whole = sum(method.shares)
        used = method.shares[:-1]
        self.method = method
        self.reports = np.array([max(1, reports * share // whole) for share in used])
        counts = tuple(int(count) for count in self.reports)
        self.cuts = np.array(tree_cutoffs(method.oracle, method.levels, counts, method.false_items))
        self.deviation = method.oracle.deviation(1.0)
        self.survivable = _survivable(method, self.reports, self.deviation)

    def recall(self, share: float) -> float:
        """Return how often the item survives every level and is accepted."""
        oracle = self.method.oracle
        held = share * self.reports
        # An item's own reports vary too, and so does the number of its devices in each part.
        errors = np.sqrt([oracle.deviation(n, f) ** 2 + f for n, f in zip(self.reports, held, strict=True)])
        evidence = held + errors * _normals(DRAWS, len(self.reports))
        levels = len(self.method.levels)
        alone = self.method.method != "soft"
        running = evidence[:, :levels] if alone else np.cumsum(evidence[:, :levels], axis=1)
        suffixes = np.cumsum(evidence[:, ::-1], axis=1)[:, ::-1]
        kept = (running >= self.survivable).all(axis=1)
        accepted = (suffixes[:, : len(self.cuts)] >= self.cuts).all(axis=1)
        return float((kept & accepted).mean())


def _survivable(method: TreeMethod, reports: Any, deviation: float) -> Any:
    """Return the evidence that a prefix needs at each level to stay among the best of pure noise."""
    from scipy.special import ndtri

    soft = method.method == "soft"
    count = len(method.levels)
    room = BEAMS[method.oracle.symbol_bits] if soft else PREFIX_KEEP
    spread = np.cumsum(reports[:count]) if soft else reports[:count]
    grown = 2.0 ** STEPS[method.method]
    rivals = [2.0**bits if soft else min(2.0**bits, grown * room) for bits in method.levels]
    needed = np.array([-ndtri(min(0.5, room / rival)) for rival in rivals])
    if not soft:
        needed = np.maximum(needed, PREFIX_LEVEL)
    return np.where(np.array(rivals) <= room, -np.inf, needed * deviation * np.sqrt(spread))


@lru_cache(maxsize=8)
def _normals(draws: int, count: int) -> Any:
    """Return the same normal draws for everybody, so that the same plan always promises the same."""
    from scipy.special import ndtri

    uniform = Noise(insecure_seed=0).uniform(1 << 53, draws * count)
    return ndtri((uniform + 0.5) / (1 << 53)).reshape(draws, count)
