"""Candidates made from the reports of some devices, confirmed by others, estimated by yet others.

The candidates do not depend on the reports that confirm them. So an item that nobody holds is confirmed by chance
only, whatever it has in common with popular ones, and the cut-off pays for the number of candidates, not for the
size of the domain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.exact.search import narrowed
from sfumato.local.cutoffs import cutoff
from sfumato.local.evidence import Bar, Find
from sfumato.local.linear import LinearHash, crowded
from sfumato.local.method import Role
from sfumato.local.oracle import Oracle
from sfumato.local.seed import Seed, words

if TYPE_CHECKING:
    from sfumato.local.items import Items
    from sfumato.local.server import Server

VERIFY_SHARE, FINAL_SHARE = 12, 8
"""Hundredths of the devices that confirm, and that are kept for the final estimates."""
Shares = tuple[int, int, int]
"""The integer shares of a role that finds candidates, of the role that confirms them, and of the one that estimates."""


def even_shares(groups: int) -> Shares:
    """Return the shares for so many roles that find candidates."""
    return 100 - VERIFY_SHARE - FINAL_SHARE, VERIFY_SHARE * groups, FINAL_SHARE * groups


def make_roles(finding: Oracle, whole: LinearHash, groups: int, shares: Shares) -> tuple[Role, ...]:
    """Return so many roles that find candidates, one that confirms and one that estimates."""
    if len(shares) != 3 or min(shares) < 1:
        raise ParameterError("shares= needs three positive numbers: for finding, for confirming and for estimating.")
    return (*[Role(shares[0], finding)] * groups, Role(shares[1], whole), Role(shares[2], whole))


def split_reports(reports: float, groups: int, shares: Shares) -> tuple[float, float]:
    """Return how many reports to expect for each role that finds candidates, and for the one that confirms."""
    total = groups * shares[0] + shares[1] + shares[2]
    return reports * shares[0] / total, reports * shares[1] / total


class WholeItems:
    """Whole items, hashed for the devices that confirm (0) and for those that estimate (1)."""

    def __init__(self, seed: Seed, items: Items) -> None:
        self.keys = [seed.key("whole", number) for number in range(2)]
        self.row_bytes = items.row_bytes
        self.padding = 8 * items.row_bytes - items.bits

    def row(self, code: int) -> bytes:
        """Return the bytes of a code, filled from the left."""
        return (code << self.padding).to_bytes(self.row_bytes, "big")

    def point(self, code: int, number: int) -> tuple[int, ...]:
        """Return the hash of one item."""
        return words(self.keys[number], self.row(code))

    def points(self, rows: Any, number: int) -> Any:
        """Return the hashes of many items."""
        from sfumato.local.kernels.hashing import digest_rows

        return digest_rows(self.keys[number], rows, 8)


def confirm(
    server: Server, whole: WholeItems, oracle: LinearHash, codes: Iterable[int], false_items: float
) -> list[Find]:
    """Return the candidates that the last but one role confirms."""
    items = server.plan.items
    fitting = [code for code in dict.fromkeys(codes) if items.value(code) is not None]
    last = len(server.plan.method.roles) - 1
    checking = oracle.reader(server.tally(last - 1))
    if not fitting or not checking.reports:
        return []
    rows = np.frombuffer(b"".join(map(whole.row, fitting)), dtype=np.uint8).reshape(len(fitting), -1)
    cut = cutoff(oracle, checking.reports, math.log(false_items / len(fitting)))
    return [
        # Of the two roles that report whole items the first one confirms.
        Find(fitting[at], score, (Bar(0, 1, passed),))
        for at, (score, passed) in _passing(checking, whole.points(rows, 0), cut).items()
    ]


def share_of_all(count: float, error: float, part: int, everybody: int) -> tuple[float, float]:
    """Return the share among all reports and its error, from the count among a part of them that was drawn at random.

    The share in the part differs from that among all, the more so the more popular an item is.

    >>> share_of_all(250, 30, 1000, 1000), share_of_all(250, 0, 1000, 10_000)
    ((0.25, 0.03), (0.25, 0.01299038105676658))
    """
    reports = max(1, part)
    share = count / reports
    held = min(max(share, 0.0), 1.0)
    sampling = held * (1 - held) * (1 / reports - 1 / max(everybody, reports))
    return share, math.sqrt((error / reports) ** 2 + sampling)


def _passing(reader: Any, points: Any, cut: float) -> dict[int, tuple[float, float]]:
    """Return which candidates reach the cut, with their scores and what they had to reach.

    The largest is peeled before the others are read.
    """
    scores: dict[int, tuple[float, float]] = {}
    before = reader.counts(points)
    error = reader.oracle.deviation(reader.reports)
    left = np.ones(len(points), dtype=np.bool_)
    while left.any():
        now = reader.counts(points)
        needed = cut * crowded(reader.oracle, reader.reports, before - now)
        reaching = left & (now >= needed)
        if not reaching.any():
            break
        counts = np.where(reaching, now, -np.inf)
        best = int(np.argmax(counts))
        scores[best] = float(counts[best]) / error, float(needed[best])
        left[best] = False
        reader.peel(points[best], float(counts[best]))
    return scores


def confirmed_with(oracle: LinearHash, reports: float, candidates: int, false_items: float, share: float) -> float:
    """Return the probability that an item of this share is confirmed by so many reports."""
    from scipy.special import ndtr

    if reports < 1:
        return 0.0
    held = share * reports
    # The number of an item's devices among those that confirm varies, too.
    error = math.sqrt(oracle.deviation(reports, held) ** 2 + held)
    return float(ndtr((held - cutoff(oracle, int(reports), math.log(false_items / candidates))) / error))


def smallest_share(recall: Any, probability: float, precision: float = 0.002) -> float:
    """Return the smallest share at which a growing `recall` reaches a probability, or 1 if it never does."""
    low, high = 0.0, 1.0
    if recall(high) < probability:
        return 1.0
    return narrowed(
        low, high, lambda share: recall(share) >= probability, lambda low, high: high - low <= precision * high
    )[1]
