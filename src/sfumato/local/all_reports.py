"""LO-ALL and LO-LIST: every report counts. Shares of found and of named items from all roles that speak of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.local.beginnings import Beginnings
from sfumato.local.cutoffs import cutoff
from sfumato.local.evidence import Law, linear_law
from sfumato.local.linear import PEEL_ROUNDS, LinearHash, LinearReader, crowded
from sfumato.local.tree import TreeEncoder, TreeMethod

if TYPE_CHECKING:
    from sfumato.local.server import Server

LIST_ROUNDS = 12
"""So often a list is read again after its popular items were peeled."""
CHUNK = 1 << 16
"""So many items are read at a time."""


class AllReports:
    """The tables of all roles whose reports speak of whole items or of their prefixes.

    A device draws its role without looking at its item, and a report speaks for an item with the same chance in every
    role. So the reports of all roles add up to one count, whatever the sizes of the roles. Where a role speaks of an
    item together with others that are known, what those have in the roles that speak of each alone is taken off.
    """

    def __init__(
        self,
        readers: Sequence[LinearReader],
        lengths: Sequence[int],
        points: Callable[[Any, int], Any],
        bits: int,
        everybody: int,
    ) -> None:
        self.readers = list(readers)
        self.lengths = tuple(lengths)
        self.points = points
        self.bits = bits
        self.everybody = everybody
        self.sizes = np.array([reader.reports for reader in readers], dtype=np.float64)
        self.oracle: LinearHash = readers[0].oracle
        # Over the seed, another item has the same prefix of so many bits with this chance.
        self.alike = np.array([((1 << (bits - length)) - 1) / max(1, (1 << bits) - 1) for length in lengths])

    @cached_property
    def counting(self) -> Any:
        """How many reports count for an item whose roles begin at each place; 0 for an item that has none."""
        return np.concatenate([np.cumsum(self.sizes[::-1])[::-1], [0.0]])

    def beginnings(self, rows: Any) -> Beginnings:
        """Return which of these different rows begin alike."""
        return Beginnings(rows, self.bits, self.lengths, self.sizes, self.oracle.spread)

    def read(self, rows: Any, first: Any) -> Any:
        """Return what is left in the tables for each item, as counts over the roles that count for it."""
        sums = np.zeros(len(rows))
        for start in range(0, len(rows), CHUNK):
            part = slice(start, start + CHUNK)
            for role, reader in enumerate(self.readers):
                mine = np.flatnonzero(first[part] <= role)
                if len(mine):
                    sums[start + mine] += reader.counts(self.points(rows[part][mine], role))
        return sums

    def settle(self, rows: Any, first: Any, shares: Any, chosen: Any) -> None:
        """Estimate all chosen items together, each with the others peeled, and leave all of them peeled.

        `shares` are what is peeled of each row, and are brought up to date. One share an item for all roles: a share
        for each role would add the noise of each role to the peeling.
        """
        places = np.flatnonzero(chosen)
        if not len(places):
            return
        points = [self.points(rows[places], role) for role in range(len(self.readers))]
        begin = first[places]
        counting = np.maximum(self.counting[begin], 1.0)
        step = 1.0
        for _ in range(PEEL_ROUNDS):
            left = np.zeros(len(places))
            for role, (reader, hashed) in enumerate(zip(self.readers, points, strict=True)):
                left += np.where(begin <= role, reader.counts(hashed), 0.0)
            moved = step * left / counting
            for reader, hashed, size in zip(self.readers, points, self.sizes, strict=True):
                reader.peel_many(hashed, moved * size)
            shares[places] += moved
            if np.abs(moved).max() * self.everybody < 0.5:
                break
            # Full steps would swing to and fro between hashes that overlap much.
            step = 0.6

    def put_back(self, rows: Any, shares: Any, chosen: Any) -> None:
        """Undo the peeling of some items."""
        places = np.flatnonzero(chosen)
        for role, (reader, size) in enumerate(zip(self.readers, self.sizes, strict=True)):
            if len(places):
                reader.peel_many(self.points(rows[places], role), -shares[places] * size)
        shares[places] = 0.0

    def completed(self, rows: Any, shared: Beginnings, alone: Any, peeled: Any) -> Any:
        """Return shares from all roles that are read, given those from the roles that speak of each item alone.

        In a role that several items share, what is left of them all is what they do not explain: each one's share
        moves by it in proportion to the size of the role. So a report weighs the same in whichever role it speaks, and
        no role has to be made up for by the others. `peeled` of each item is out of the tables.
        """
        counting = np.maximum(self.counting[shared.start], 1.0)
        shares = alone.copy()
        for role, (reader, size) in enumerate(zip(self.readers, self.sizes, strict=True)):
            places = shared.sharing(role)
            known: Any = size * shared.total(role, alone - peeled) if len(places) else None
            for start in range(0, len(places), CHUNK):
                part = places[start : start + CHUNK]
                left = reader.counts(self.points(rows[part], role)) - known[part]
                shares[part] += left / counting[part]
        return shares

    def mates(self, shared: Beginnings, alone: Any) -> Any:
        """Return the variance that mates add to each completed share.

        Of a mate its own share is uncertain, by the roles that speak of it alone, and how many of its holders drew a
        role that is shared.
        """
        absent, held = self.oracle.deviation(1.0, 0.0) ** 2, self.oracle.deviation(1.0, 1.0) ** 2
        share = np.clip(alone, 0.0, 1.0)
        drawn = share * (1 - share) + share * (held - absent)
        known = (absent + drawn) / np.maximum(self.counting[shared.alone], 1.0)
        known += np.array(self._spills(self.unpeeled()))[shared.alone]
        variance, read = np.zeros(len(alone)), np.zeros(len(alone))
        for role, size in enumerate(self.sizes):
            at = shared.sharing(role)
            if len(at):
                uncertain, spread = (shared.total(role, part)[at] - part[at] for part in (known, drawn))
                variance[at] += ((read[at] + size) ** 2 - read[at] ** 2) * uncertain + size * spread
                read[at] += size
        return variance / np.maximum(self.counting[shared.start], 1.0) ** 2

    def influence(self, shared: Beginnings) -> Any:
        """Return how many users one report counts for in each share, at most; a share is of all reports."""
        return shared.largest / self.oracle.signal * (self.everybody / max(float(self.counting[0]), 1.0))

    def background(self, peeled: float, first: Any) -> Any:
        """Return the share that devices with other items add by sharing prefixes, on average over the seed.

        `peeled` is the share of all items that are peeled.
        """
        others = self.alike * self.sizes * max(0.0, 1.0 - peeled)
        sums = np.concatenate([np.cumsum(others[::-1])[::-1], [0.0]])
        return sums[first] / np.maximum(self.counting[first], 1.0)

    def unpeeled(self) -> float:
        """Return the sum of the squared shares of all items that are still in the tables, measured on them.

        An item of share f adds (signal·reports·f)² to q - 1 cells; without any item a cell has the mean square of the
        number of reports.
        """
        signal, spread = self.oracle.signal, self.oracle.spread
        excess = weight = 0.0
        for reader, size in zip(self.readers, self.sizes, strict=True):
            cells = reader.table[1 << self.oracle.column_bits :]
            excess += float(np.square(cells, dtype=np.float64).mean()) - size
            weight += (signal * size) ** 2 * spread / self.oracle.outcomes
        return max(0.0, excess / weight) if weight else 0.0

    def laws(self, said: Readings, places: Any) -> list[Law]:
        """Return the laws of the shares of some items, given what is still in the tables."""
        made = self._laws(self.unpeeled())
        return [
            replace(made[start], base=made[start].base + more)
            for start, more in zip(said.shared.start[places].tolist(), said.variance[places].tolist(), strict=True)
        ]

    def role_laws(self) -> list[Law]:
        """Return the laws of the share that each role alone gives."""
        unpeeled = self.unpeeled()
        return [
            linear_law(self.oracle, size, math.inf, unpeeled * (self.overlap + alike))
            for size, alike in zip(self.sizes, self.alike, strict=True)
        ]

    @property
    def overlap(self) -> float:
        """The variance that one device with another item adds to an item's share, by overlapping hashes."""
        return self.oracle.spread / (self.oracle.spread - 1) / self.oracle.outcomes

    def _laws(self, unpeeled: float) -> list[Law]:
        return [
            linear_law(self.oracle, reports, self.everybody, spill)
            for reports, spill in zip(self.counting, self._spills(unpeeled), strict=True)
        ]

    def _spills(self, unpeeled: float) -> list[float]:
        """Return the variance that what is still in the tables adds to a share, by the role from which it is read."""
        found = []
        for place, reports in enumerate(self.counting):
            parts = self.sizes[place:] / max(reports, 1.0)
            found.append(unpeeled * float((parts**2 * (self.overlap + self.alike[place:])).sum()))
        return found

    def cuts(self, first: Any, taken: Any, chance: float, candidates: int) -> Any:
        """Return the count that a candidate which nobody holds reaches with at most `chance`, all of them together."""
        each = math.log(chance / max(1, candidates))
        needed = [
            # What is not peeled widens the cut as it widens the error.
            cutoff(self.oracle, int(reports), each) * math.sqrt(law.base / own.base) if reports else math.inf
            for reports, law, own in zip(self.counting, self._laws(self.unpeeled()), self._laws(0.0), strict=True)
        ]
        return np.array(needed)[first] * crowded(self.oracle, self.counting[first], taken)


def of_server(server: Server) -> AllReports:
    """Return the tables of a sketch: all roles of a tree or a list; of other methods those that know whole items."""
    plan = server.plan
    method, encoder, bits = plan.method, plan.encoder, plan.items.bits
    everything = range(len(method.roles))
    points: Callable[[Any, int], Any]
    if isinstance(method, TreeMethod) and isinstance(encoder, TreeEncoder):
        roles, lengths, points = everything, method.prefixes, encoder.prefix_points
    else:
        roles = everything[-2:]
        lengths = (bits,) * len(roles)

        def points(rows: Any, place: int) -> Any:
            return encoder.points(rows, roles[place])

    readers = [LinearReader(method.roles[role].oracle, server.tally(role)) for role in roles]  # type: ignore[arg-type]
    return AllReports(readers, lengths, points, bits, server.accepted)


def rows_of(server: Server, codes: Sequence[int]) -> Any:
    """Return the rows by which items are looked up: whitened ones for a tree."""
    items, encoder = server.plan.items, server.plan.encoder
    width, shift = items.row_bytes, 8 * items.row_bytes - items.bits
    packed = b"".join((code << shift).to_bytes(width, "big") for code in codes)
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(len(codes), width)
    return encoder.white.apply_rows(rows) if isinstance(encoder, TreeEncoder) else rows


@dataclass(frozen=True)
class Readings:
    """What all roles say about some items, in their order.

    `shares` have `added` taken off, what others add on average by sharing prefixes; `peeled` of them is out of the
    tables. `cuts` are counts in the roles that speak of an item alone, for those of a list only. `variance` is what
    mates add.
    """

    shares: Any
    peeled: Any
    shared: Beginnings
    added: Any
    cuts: Any
    accepted: Any
    variance: Any


def read_list(tables: AllReports, rows: Any, count: int, chance: float, popular: Any = None) -> Readings:
    """Read different rows from untouched tables: the first `count` are a list, the others were found before.

    What was found is peeled first. Then what reaches its cut is accepted and peeled before the others are read again,
    until nothing changes; what was accepted is tested again every time. `popular` marks rows of the list that were
    found too. A candidate that nobody holds is accepted with at most `chance`, all of them together (LO-LIST).
    """
    shared = tables.beginnings(rows)
    first = shared.alone
    counting = np.maximum(tables.counting[first], 1.0)
    own, cuts = np.zeros(len(rows)), np.zeros(len(rows))
    accepted = np.ones(len(rows), dtype=np.bool_)
    accepted[:count] = False if popular is None else popular
    before = tables.read(rows[:count], first[:count])
    tables.settle(rows, first, own, accepted)
    for _ in range(LIST_ROUNDS if count else 0):
        counts = tables.read(rows[:count], first[:count]) + own[:count] * counting[:count]
        cuts[:count] = tables.cuts(first[:count], before - counts, chance, count)
        passing = accepted.copy()
        passing[:count] = counts >= cuts[:count]
        if (passing == accepted).all():
            break
        tables.put_back(rows, own, accepted & ~passing)
        accepted = passing
        tables.settle(rows, first, own, accepted)
    left = tables.read(rows[:count], first[:count]) / counting[:count]
    alone = own + np.concatenate([left, np.zeros(len(rows) - count)])
    shares = tables.completed(rows, shared, alone, own)
    added = tables.background(float(np.maximum(own, 0.0).sum()), shared.start)
    return Readings(shares - added, own, shared, added, cuts, accepted, tables.mates(shared, alone))
