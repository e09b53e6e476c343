"""The search of SOFT-TREE and of the prefix method: from the counts of all reports to a list of items.

Everything here reads counts of reports only, so it costs no privacy (C-POST).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.local.cutoffs import cutoff, tree_cutoffs
from sfumato.local.evidence import Bar, Find
from sfumato.local.kernels.linear import thin_families
from sfumato.local.linear import LinearReader, crowded
from sfumato.local.tree import RIVALS, TreeEncoder, TreeMethod, first_bits

if TYPE_CHECKING:
    from sfumato.local.server import Server

BEAMS = {1: 1 << 17, 2: 1 << 17, 3: 1 << 17, 4: 1 << 16, 5: 1 << 16, 6: 1 << 16, 7: 1 << 15, 8: 1 << 14}
"""How many prefixes stay in the search at each level, by the bits of a symbol: a look-up costs 2^bits."""
FAMILIES = 64
"""Descendants of one prefix fill at most one part in so many of the search. Those of a true prefix that went astray
inherit its evidence; without this they would crowd out rarer items. Inside its family a true item is far ahead."""
GENERATIONS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
"""How many levels back families are told apart."""
PREFIX_KEEP = 1 << 10
"""How many prefixes the prefix methods keep."""
PREFIX_CHANCE = 0.0062
"""The prefix methods keep a prefix that nobody holds, at each level, at most with this probability (an exact binomial
tail). Of 2^16 first prefixes about 400 stay, well below the 1024 for which there is room."""
PREFIX_LEVEL = 2.5
"""The normal quantile of that chance, in standard errors: what the planner reckons with."""
PASSES = 6
CROWD = 8
SPILLED = 0.02
"""There is another pass if the families of the items just found fill more than 1/8 of the search, or if what they add
to the estimates of others has more than 0.02 of the variance of the noise. Less than that decides next to nothing."""
LEAVES = 600
"""So many whole items come through a search of the usual room, and more where there is more room."""
MOST_ROOM = 1 << 17
FOUND = 0.9
"""The room is for what is found with this probability."""
Passed = tuple[float, tuple[Bar, ...]]
"""The score of an item that was found, and the bars that it passed."""


def beam(method: TreeMethod, reports: int) -> int:
    """Return how many prefixes stay in the search, for a plan of so many reports.

    There is room for as many rivals as can be found at all, whatever the others hold, up to `MOST_ROOM` places.
    """
    if method.method != "soft":
        return PREFIX_KEEP
    from sfumato.local.tree_planner import detectable_share

    usual = BEAMS[method.oracle.symbol_bits]
    # The detectable share hardly depends on the room, so it is taken once.
    wanted = min(MOST_ROOM, math.ceil(RIVALS / detectable_share(method, reports, FOUND)))
    return max(usual, 1 << (wanted - 1).bit_length())


@dataclass(frozen=True)
class Leaves:
    """Whole whitened items that came through the search, with their hashes for every role of it."""

    rows: Any
    points: list[Any]

    def __len__(self) -> int:
        return len(self.rows)


class Search:
    """One decoding: tables that are peeled as items are found."""

    def __init__(self, server: Server, false_items: float) -> None:
        method = server.plan.method
        encoder = server.plan.encoder
        assert isinstance(method, TreeMethod) and isinstance(encoder, TreeEncoder)
        self.method, self.encoder, self.items = method, encoder, server.plan.items
        self.readers: list[LinearReader] = [
            method.oracle.reader(server.tally(role)) for role in range(len(method.levels) + 1)
        ]
        self.untouched = [reader.untouched() for reader in self.readers]
        self.reports = tuple(reader.reports for reader in self.readers)
        self.total = sum(self.reports)
        self.false_items = false_items
        self.room = beam(method, server.plan.users * server.plan.reports)
        usual = BEAMS[method.oracle.symbol_bits]
        self.leaves = LEAVES * max(self.room, usual) // usual
        self.cuts = np.array(tree_cutoffs(method.oracle, method.levels, self.reports, false_items))
        self.kept: list[Bar] = []
        """What prefixes had to reach to stay in the search, in the last descent."""

    def error(self, reports: float) -> float:
        """Return the standard error of the estimate of an absent item."""
        return self.method.oracle.deviation(max(reports, 1))

    def descend(self) -> Leaves:
        """Grow prefixes level by level and keep the best."""
        from sfumato.local.kernels.linear import look_up_children

        levels = self.method.levels
        first = levels[0] - self.encoder.child_bits[0]
        rows = _all_prefixes(first, self.items.row_bytes)
        history = np.zeros((len(rows), 0), dtype=np.float32)
        lineage = np.zeros((len(rows), 0), dtype=np.int32)
        self.kept = []
        for level, length in enumerate(levels):
            added = self.encoder.child_bits[level]
            reader = self.readers[level]
            sums = look_up_children(
                reader.table, self.encoder.parents(rows, level), self.encoder.children(level), reader.oracle.column_bits
            )
            here = sums / np.float32(reader.scale)
            kept = np.sort(self._keep(history, lineage, here, level))
            parents, children = np.divmod(kept, 1 << added)
            lineage = np.concatenate([lineage[parents], np.arange(len(kept), dtype=np.int32)[:, None]], axis=1)
            history = np.concatenate([history[parents], here.ravel()[kept][:, None]], axis=1)
            rows = _extend(rows[parents], children, length - added, added)
        return self._leaves(rows, history, lineage)

    def _keep(self, history: Any, lineage: Any, here: Any, level: int) -> Any:
        """Return the places, among all children in order, of those that stay."""
        if self.method.method != "soft":
            score = here.ravel()
            least = cutoff(self.method.oracle, max(1, self.reports[level]), math.log(PREFIX_CHANCE))
            good = np.flatnonzero(score >= least)
            kept = _largest(score, good, self.room)
            self.kept.append(Bar(level, level + 1, max(least, _least_kept(score, good, kept))))
            return kept
        score = (history.sum(axis=1, dtype=np.float32)[:, None] + here).ravel()
        room = self.room
        most = room // FAMILIES
        passes = np.ones(len(score), dtype=np.bool_)
        if level:
            # Families of the first level hold all others; with them thinned, few have to be looked at closely.
            thin_families(np.repeat(lineage[:, 0], here.shape[1]), score, passes, most)
        everyone = np.flatnonzero(passes)
        for considered in (4 * room, len(score)):
            among = np.sort(_largest(score, everyone, considered))
            parents, passes = among // here.shape[1], np.ones(len(among), dtype=np.bool_)
            for back in (back for back in GENERATIONS if back < level):
                thin_families(lineage[parents, level - back], score[among], passes, most)
            # If enough of them stay, all others would have been worse.
            if passes.sum() >= room or len(among) == len(everyone):
                break
        kept = _largest(score, among[passes], room)
        self.kept.append(Bar(0, level + 1, _least_kept(score, among[passes], kept)))
        return kept

    def _leaves(self, rows: Any, history: Any, lineage: Any) -> Leaves:
        verify = len(self.method.levels)
        points = self.encoder.prefix_points(rows, verify)
        total = history.sum(axis=1, dtype=np.float64) + self.readers[verify].counts(points)
        passes = np.ones(len(rows), dtype=np.bool_)
        for back in (back for back in (1, *GENERATIONS) if back < verify):
            thin_families(lineage[:, verify - 1 - back], total, passes, self.leaves // FAMILIES)
        best = _largest(total, np.flatnonzero(passes), self.leaves)
        self.kept.append(Bar(0, verify + 1, _least_kept(total, np.flatnonzero(passes), best)))
        chosen = rows[best]
        return Leaves(chosen, [self.encoder.prefix_points(chosen, role) for role in range(verify + 1)])

    def evidence(self, leaves: Leaves, readers: list[LinearReader]) -> Any:
        """Return the estimates of every leaf (row) from every part of the reports and all after it (column)."""
        columns = [reader.counts(points) for reader, points in zip(readers, leaves.points, strict=True)]
        return np.cumsum(np.stack(columns, axis=1)[:, ::-1], axis=1)[:, ::-1]

    def needed(self, suffixes: Any, before: Any) -> Any:
        """Return what every leaf has to reach from every part on; `before` is its evidence before all peeling."""
        count = len(self.cuts)
        reports = np.cumsum(self.reports[::-1])[::-1]
        return self.cuts * crowded(self.method.oracle, reports[:count], (before - suffixes)[:, :count])

    def accept(self, leaves: Leaves) -> list[tuple[bytes, Passed]]:
        """Take the best acceptable leaf, peel it from all tables, and look again, until none is left."""
        found: list[tuple[bytes, Passed]] = []
        before = self.evidence(leaves, self.untouched) if len(leaves) else None
        while len(leaves):
            suffixes = self.evidence(leaves, self.readers)
            needed = self.needed(suffixes, before)
            passing = np.flatnonzero((suffixes[:, : len(self.cuts)] >= needed).all(axis=1))
            if not len(passing):
                break
            best = passing[np.argmax(suffixes[passing, 0])]
            count = float(suffixes[best, 0])
            ends = len(self.readers)
            cuts = [Bar(start, ends, cut) for start, cut in enumerate(needed[best].tolist())]
            found.append((leaves.rows[best].tobytes(), (count / self.error(self.total), (*self.kept, *cuts))))
            for reader, points, reports in zip(self.readers, leaves.points, self.reports, strict=True):
                reader.peel(points[best], count * reports / self.total)
        return found

    def run(self) -> dict[bytes, Passed]:
        """Return whitened items with their scores, and all that they had to reach."""
        found: dict[bytes, Passed] = {}
        for _ in range(PASSES):
            new = [(row, passed) for row, passed in self.accept(self.descend()) if row not in found]
            found.update(new)
            if not self._worth_another_pass([score for _, (score, _) in new]):
                break
        return found

    def _worth_another_pass(self, scores: list[float]) -> bool:
        """Return whether the items just found may have hidden others: by their strays, or by sharing cells."""
        if not scores or self.method.method != "soft":
            return bool(scores)
        # An item adds its count / sqrt(cells) to the estimates of others; scores are counts over the noise of all.
        largest = max(self.reports) / self.total
        spilled = sum(score**2 for score in scores) * largest / self.method.oracle.outcomes
        return len(scores) * CROWD > FAMILIES or spilled > SPILLED


def search(server: Server, false_items: float) -> list[Find]:
    """Return the popular items that a sketch of a tree shows."""
    run = Search(server, false_items)
    found = run.run() if run.total else {}
    shift = 8 * run.items.row_bytes - run.items.bits
    finds = []
    for row, (score, bars) in found.items():
        code = run.encoder.white.invert(int.from_bytes(row, "big") >> shift)
        if run.items.value(code) is not None:
            finds.append(Find(code, score, bars))
    return finds


def _all_prefixes(bits: int, width: int) -> Any:
    rows = np.zeros((1 << bits, max(width, 8)), dtype=np.uint8)
    rows[:, :8] = (
        (np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)).astype(">u8").view(np.uint8).reshape(-1, 8)
        if bits
        else 0
    )
    return np.ascontiguousarray(rows[:, :width])


def _extend(rows: Any, children: Any, start: int, count: int) -> Any:
    """Write `count` bits, at most 8, into each row from bit `start` on, where it is zero."""
    rows = first_bits_kept(rows, start)
    byte, offset = divmod(start, 8)
    pair = children.astype(np.int64) << (16 - offset - count)
    rows[:, byte] |= (pair >> 8).astype(np.uint8)
    if byte + 1 < rows.shape[1]:
        rows[:, byte + 1] |= (pair & 0xFF).astype(np.uint8)
    return rows


def first_bits_kept(rows: Any, length: int) -> Any:
    """Return rows of full width in which all but the first bits are zero."""
    kept = np.zeros_like(rows)
    if length:
        head = first_bits(rows, length)
        kept[:, : head.shape[1]] = head
    return kept


def _least_kept(score: Any, among: Any, kept: Any) -> float:
    """Return the smallest score that stayed, or minus infinity if nothing had to go."""
    return float(score[kept].min()) if len(kept) < len(among) else -math.inf


def _largest(score: Any, among: Any, count: int) -> Any:
    """Return the places of the `count` largest scores among these places."""
    if len(among) <= count:
        return among
    return among[np.argpartition(score[among], len(among) - count)[len(among) - count :]]
