"""Which of some items begin alike: where a role reports only so many bits, it speaks of all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class Beginnings:
    """Different items and, for each role, those of them that have the same prefix of that length: their mates.

    `alone` is the first role that speaks of an item and of no mate. From `start` on roles are read for it; in those
    before `alone` what its mates have, by the roles that speak of each of them alone, is taken off. That costs noise,
    and lets a report about a mate count, against the item; to leave these roles out lets each report in the other roles
    count for more. `start` is where one report, whatever it says, counts least, and `largest` how much: in reports, of
    which `signal` is not yet said.
    """

    def __init__(self, rows: Any, bits: int, lengths: Sequence[int], sizes: Any, spread: int) -> None:
        self.order = np.lexsort(rows.T[::-1])
        self.near = _common(rows[self.order[:-1]], rows[self.order[1:]], bits)
        self.lengths = tuple(lengths)
        self.alone = np.searchsorted(np.array(self.lengths), self._longest(len(rows)), side="right")
        counting = np.concatenate([np.cumsum(sizes[::-1])[::-1], [0.0]])
        with np.errstate(divide="ignore"):
            self._choose(np.asarray(sizes), counting, 1 / (spread - 1))

    def _choose(self, sizes: Any, counting: Any, against: float) -> None:
        """Choose where reading starts; a report that is not for an item counts `against` it, by this part."""
        each = 1 / counting[self.alone]
        self.start, self.largest = self.alone.copy(), counting[0] * each
        weight = np.zeros(len(each))
        for role in reversed(range(len(sizes))):
            # Where nothing is known of an item or of a mate, no role before can be divided among them.
            at = np.flatnonzero((role < self.alone) & np.isfinite(each))
            if not len(at):
                continue
            known, unknown = np.where(np.isfinite(each), each, 0.0), ~np.isfinite(each)
            weight[at] += sizes[role] * (self.total(role, known)[at] - known[at])
            weight[at[self.total(role, unknown)[at] > 0]] = np.inf
            # A report for the item may be one against its mates; and one for them all is against the item.
            counts = np.maximum(1 + against * weight[at], against + weight[at]) * counting[0] / counting[role]
            less = counts <= self.largest[at]
            self.start[at[less]], self.largest[at[less]] = role, counts[less]

    def total(self, role: int, values: Any) -> Any:
        """Return for each item the sum of the values of all that have its prefix in a role, its own among them.

        >>> rows = np.array([[0b10110000], [0b10100000], [0b01100000]], dtype=np.uint8)
        >>> shared = Beginnings(rows, 8, (3, 8), np.array([10.0, 30.0]), 64)
        >>> shared.total(0, [1, 2, 4]).tolist(), shared.alone.tolist(), shared.start.tolist()
        ([3.0, 3.0, 4.0], [1, 1, 0], [0, 0, 0])
        """
        sums = np.zeros(len(self.order))
        if len(sums):
            groups = np.concatenate([[0], np.cumsum(self.near < self.lengths[role])])
            sums[self.order] = np.bincount(groups, weights=np.asarray(values, dtype=np.float64)[self.order])[groups]
        return sums

    def sharing(self, role: int) -> Any:
        """Return the places of the items for which a role is read that speaks of their mates as well."""
        return np.flatnonzero((self.start <= role) & (role < self.alone))

    def _longest(self, count: int) -> Any:
        """Return for each item how many first bits it has in common with the nearest other one."""
        longest = np.zeros(count, dtype=np.int64)
        if count > 1:
            longest[self.order[:-1]] = self.near
            longest[self.order[1:]] = np.maximum(longest[self.order[1:]], self.near)
        return longest


def _common(one: Any, other: Any, bits: int) -> Any:
    """Return how many first bits each two rows have in common."""
    differ = one ^ other
    byte = (differ != 0).argmax(axis=1)
    value = differ[np.arange(len(differ)), byte]
    common = 8 * byte + 7 - np.floor(np.log2(np.maximum(value, 1))).astype(np.int64)
    return np.where(value == 0, bits, np.minimum(common, bits))
