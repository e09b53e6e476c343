"""SOFT-TREE and the prefix methods: what the devices are asked (the search is in `tree_search`).

Each device belongs to a level and reports the prefix of that many bits of its whitened item. The last two parts
report the whole item: one helps to verify, one is kept out of the search and gives the final estimates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import xor
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.errors import ParameterError
from sfumato.local.items import Items
from sfumato.local.linear import LinearHash, linear_hash
from sfumato.local.method import Method, Role
from sfumato.local.seed import Seed, words
from sfumato.local.whitening import whitening_of
from sfumato.privacy import Pure
from sfumato.words import one_of

if TYPE_CHECKING:
    from sfumato.local.evidence import Find
    from sfumato.local.server import Server

FIRST_BITS = 16
STEP_BITS = 6
FIRST_CHILD_BITS = 4
"""How many bits of the shortest prefix are hashed apart; every client counts on it."""
PREFIX_STEP_BITS = 8
FINAL_SHARE = 6
"""Hundredths of the devices that are kept for the final estimates."""
_LOOKED_AT = {"soft": 44, "prefix": 14, "treehist": 14}
"""Bytes for every prefix that a search looks at, measured."""
_KEPT = 24
"""Bytes for every level of every prefix that stays in a search, measured."""
SEARCHES = ("soft", "prefix", "treehist")
STEPS = {"soft": STEP_BITS, "prefix": PREFIX_STEP_BITS, "treehist": 1}
RIVALS = 20
"""How many places in the search an item may need for each rival as popular as itself: measured (LO-AUTO)."""
ZIPF = 12
"""Where popularity falls as 1/rank over 10^5 items, 1/(12·share) items are at least as popular as one of this share."""


def level_bits(bits: int, first: int = FIRST_BITS, step: int = STEP_BITS) -> tuple[int, ...]:
    """Return the lengths of the prefixes: `first` bits, then steps of at most `step` bits, as even as possible.

    >>> level_bits(64)
    (16, 22, 28, 34, 40, 46, 52, 58, 64)
    >>> level_bits(26), level_bits(9)
    ((16, 21, 26), (9,))
    """
    if bits <= first:
        return (bits,)
    steps = -(-(bits - first) // step)
    least, longer = divmod(bits - first, steps)
    lengths = [first]
    for place in range(steps):
        lengths.append(lengths[-1] + least + (place < longer))
    return tuple(lengths)


@dataclass(frozen=True, kw_only=True)
class TreeMethod(Method):
    """Popular items of a large domain, by growing prefixes of the whitened items.

    `levels` are the lengths of the prefixes, the last one that of a whole item; `shares` those of the levels, of the
    devices that verify and of those that estimate. `method` is "soft" (SOFT-TREE: evidence of all levels adds up),
    "prefix" (PEM: each level decides on its own) or "treehist" (TREEHIST: the same, one bit at a time).
    """

    kind: ClassVar[str] = "tree"

    levels: tuple[int, ...]
    shares: tuple[int, ...]
    oracle: LinearHash
    method: str = "soft"
    false_items: float = 0.05

    def __post_init__(self) -> None:
        if len(self.shares) != len(self.levels) + 2 or min(self.shares) < 1:
            raise ParameterError("shares= needs a positive number for each level, for verifying and for estimating.")
        if any(not 1 <= after - before <= 8 for before, after in pairwise(self.levels)):
            raise ParameterError("levels= must grow, by at most 8 bits at a time.")
        one_of("method", self.method, SEARCHES)

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """One for each level, one to verify, one to estimate."""
        return tuple(Role(share, self.oracle) for share in self.shares)

    @property
    def prefixes(self) -> tuple[int, ...]:
        """The length of the prefix that each role reports."""
        return (*self.levels, self.levels[-1], self.levels[-1])

    def encoder(self, seed: Seed, items: Items) -> TreeEncoder:
        """Return the whitening and the hashes."""
        return TreeEncoder(seed, items.bits, self.prefixes, self.oracle.symbol_bits)

    def decoding_bytes(self, cell: int, row_bytes: int, reports: int) -> int:
        """Return the memory of the tables of all roles, and of the prefixes that a search looks at and keeps."""
        from sfumato.local.tree_search import beam

        room = beam(self, reports)
        steps = [after - before for before, after in zip(self.levels, self.levels[1:], strict=False)]
        looked_at = max(1 << self.levels[0], room << max(steps, default=0))
        tables = cell * sum(role.oracle.outcomes for role in self.roles)
        return tables + _LOOKED_AT[self.method] * looked_at + room * (_KEPT * len(self.levels) + 4 * row_bytes)

    def detectable(self, reports: int, probability: float) -> float:
        """Return the share found with this probability, by the planner's model of the search."""
        from sfumato.local.tree_planner import detectable_share

        return detectable_share(self, reports, probability)

    def search(self, server: Server, false_items: float) -> list[Find]:
        """Grow prefixes."""
        from sfumato.local.tree_search import search

        return search(server, false_items)

    def guaranteed(self, reports: int, probability: float) -> float:
        """Return the share found among rivals that are all as popular: the search must have room for them."""
        return self._with_room(reports, probability, 1)

    def expected(self, reports: int, probability: float) -> float:
        """Return the share found where popularity falls as 1/rank: the search must have room for the rivals."""
        return self._with_room(reports, probability, ZIPF)

    def forgeable(self, reports: int) -> float:
        """Return the part of so many reports that reaches the first cut, if each of them speaks for one item."""
        from sfumato.local.cutoffs import tree_cutoffs

        whole = sum(self.shares)
        searching = tuple(reports * share // whole for share in self.shares[:-1])
        first = tree_cutoffs(self.oracle, self.levels, searching, self.false_items)[0]
        return min(1.0, self.oracle.signal * first / reports)

    def _with_room(self, reports: int, probability: float, fewer: int) -> float:
        from sfumato.local.tree_search import beam

        share = self.detectable(reports, probability)
        return share if len(self.levels) == 1 else max(share, min(1.0, RIVALS / (fewer * beam(self, reports))))

    def to_json(self) -> dict[str, Any]:
        """Return levels, shares, oracle and search."""
        return {
            "kind": self.kind,
            "levels": list(self.levels),
            "shares": list(self.shares),
            "oracle": self.oracle.to_json(),
            "search": self.method,
            "false_items": self.false_items,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> TreeMethod:
        """Read what `to_json` wrote."""
        from sfumato.local.method import oracle_from_json

        oracle = oracle_from_json(record["oracle"])
        if not isinstance(oracle, LinearHash):
            raise ParameterError("A tree asks by linear hashing.")
        return cls(
            levels=tuple(record["levels"]),
            shares=tuple(record["shares"]),
            oracle=oracle,
            method=record["search"],
            false_items=record["false_items"],
        )


class TreeEncoder:
    """Prefixes of whitened items, hashed in two parts: all but the last bits, and the last bits.

    The hash of a prefix is SHA-256(key + parent bytes) xor SHA-256(child key + last bits), word by word. So a search
    that tries all children of a prefix hashes it once.
    """

    def __init__(self, seed: Seed, bits: int, prefixes: tuple[int, ...], symbol_bits: int) -> None:
        self.white = whitening_of(seed, bits)
        self.bits = bits
        self.prefixes = prefixes
        self.symbol_bits = symbol_bits
        self.keys = [seed.key("level", role) for role in range(len(prefixes))]
        child_keys = [seed.key("child", role) for role in range(len(prefixes))]
        # The last bits of a prefix are those that its level adds.
        steps = [after - before for before, after in pairwise(prefixes[:-2])]
        added = [min(FIRST_CHILD_BITS, prefixes[0]), *steps]
        self.child_bits = [*added, added[-1], added[-1]]
        parents = [length - last for length, last in zip(prefixes, self.child_bits, strict=True)]
        self._cuts = [
            (bits - length, last, -parent % 8, -(-parent // 8))
            for length, last, parent in zip(prefixes, self.child_bits, parents, strict=True)
        ]
        self._children = [
            [words(key, bytes([child]))[:symbol_bits] for child in range(1 << last)]
            for key, last in zip(child_keys, self.child_bits, strict=True)
        ]

    def point(self, code: int, role: int) -> tuple[int, ...]:
        """Return the hash of the prefix of one item."""
        drop, last, pad, width = self._cuts[role]
        prefix = self.white.apply(code) >> drop
        parent = words(self.keys[role], ((prefix >> last) << pad).to_bytes(width, "big"))
        return tuple(map(xor, parent, self._children[role][prefix & ((1 << last) - 1)]))

    def points(self, rows: Any, role: int) -> Any:
        """Return the hashes of the prefixes of many items."""
        return self.prefix_points(self.white.apply_rows(rows), role)

    def prefix_points(self, whitened: Any, role: int) -> Any:
        """Return the hashes of prefixes given as whitened rows."""
        length, last = self.prefixes[role], self.child_bits[role]
        children = self.children(role)[take_bits(whitened, length - last, last)]
        return self.parents(whitened, role) ^ children

    def parents(self, whitened: Any, role: int) -> Any:
        """Return the first part of the hash of every row."""
        from sfumato.local.kernels.hashing import digest_rows

        parent = self.prefixes[role] - self.child_bits[role]
        return digest_rows(self.keys[role], first_bits(whitened, parent), self.symbol_bits)

    def children(self, role: int) -> Any:
        """Return the second part of the hash for every value of the last bits."""
        return np.array(self._children[role], dtype=np.uint32)


def first_bits(rows: Any, length: int) -> Any:
    """Return the bytes that hold the first bits of each row, the rest of the last byte cleared."""
    cut = np.ascontiguousarray(rows[:, : -(-length // 8)])
    if length % 8:
        cut = cut.copy()
        cut[:, -1] &= np.uint8(0xFF << (8 - length % 8) & 0xFF)
    return cut


def take_bits(rows: Any, start: int, count: int) -> Any:
    """Return `count` bits, at most 8, of each row as a number."""
    byte, offset = divmod(start, 8)
    pair = rows[:, byte].astype(np.int64) << 8
    if byte + 1 < rows.shape[1]:
        pair |= rows[:, byte + 1]
    return pair >> (16 - offset - count) & ((1 << count) - 1)


def verify_share(bits: int) -> int:
    """Return the hundredths of the devices that verify.

    Those who verify tell an item from all that begin like it, one step before its end; the levels have to find it
    among all others. The longer the items, the more levels there are, and the more they need. The rule is what the
    planner's model finds best for 20 to 200 bits.

    >>> [verify_share(bits) for bits in (16, 32, 64, 193)]
    [30, 28, 20, 12]
    """
    return min(max(round(160 / math.sqrt(bits)), 8), 30)


def even_shares(levels: int, verify: int) -> tuple[int, ...]:
    """Return integer shares: all levels alike, but the first, which has most to tell apart, half as much again.

    >>> even_shares(3, 20)
    (222, 148, 148, 140, 42)
    """
    parts = 2 * levels + 1
    discover = 100 - verify - FINAL_SHARE
    return (3 * discover, *[2 * discover] * (levels - 1), verify * parts, FINAL_SHARE * parts)


def tree_method(spend: Pure, bits: int, reports: int, *, method: str = "soft", false_items: float = 0.05) -> TreeMethod:
    """Return the tree for items of so many bits and about so many reports."""
    # Where each level decides on its own, few large levels are better.
    levels = level_bits(bits, step=STEPS[method])
    # A level's table is a little larger than its reports are many, within what a processor's cache holds: an item
    # of f devices adds about f / sqrt(table) to the estimates of others, until it is found and peeled.
    table_bits = min(max((reports // (len(levels) + 2)).bit_length() + 1, 16), 18)
    shares = even_shares(len(levels), verify_share(bits))
    return TreeMethod(
        levels=levels, shares=shares, oracle=linear_hash(spend, table_bits), method=method, false_items=false_items
    )
