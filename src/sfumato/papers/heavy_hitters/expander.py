"""PES in practice: the expander sketch, what the devices are asked (the search is in `expander_search`).

Each device belongs to one coordinate of a code and reports one cell: the bucket of its item, its label, and its symbol
with the labels of the neighbouring coordinates. The last two parts report the whole item: one confirms, one estimates.
Changes against the paper, none of which touches privacy: devices are split between the parts instead of the spend,
so each device sends one report at the whole epsilon; sizes are powers of two; an entry names few neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.local.choice import MAKERS
from sfumato.local.confirm import (
    Shares,
    WholeItems,
    confirmed_with,
    even_shares,
    make_roles,
    smallest_share,
    split_reports,
)
from sfumato.local.hadamard import HadamardResponse, best_block_bits
from sfumato.local.items import Items
from sfumato.local.linear import LinearHash, linear_hash
from sfumato.local.memory import CANDIDATE
from sfumato.local.method import Method, Role
from sfumato.local.seed import Seed
from sfumato.local.whitening import whitening_of
from sfumato.papers.heavy_hitters.codes import DECODERS, UniqueListCode, best_offsets
from sfumato.privacy import Pure
from sfumato.privacy.coins import noise_weight, report_epsilon
from sfumato.words import one_of, understood

if TYPE_CHECKING:
    from sfumato.local.evidence import Find
    from sfumato.local.server import Server

LABEL_BITS = 2
MOST_SYMBOLS = 25
"""Longer items would need more coordinates than any number of devices can fill."""
MOST_CELLS = 1 << 22
BUCKET_BITS = range(6, 11)
ENTRY, SEED = 1.0, 0.2
"""How many cells of a row that nobody is in pass for an entry of a list, and for one that an item is grown from."""
ROOM = 4
"""How many buckets there are for each item that may be popular."""


@dataclass(frozen=True, kw_only=True)
class ExpanderMethod(Method):
    """Popular items of a large domain, by a code that weaves an expander graph.

    `cells` is the oracle of the coordinates, `whole` that of the devices that confirm and estimate; `bucket_bits`,
    `label_bits`, `symbol_bits` and `offsets` make up a cell. `method` is one of those of `UniqueListCode`.
    """

    kind: ClassVar[str] = "expander"

    cells: HadamardResponse
    whole: LinearHash
    item_bits: int
    coordinates: int
    bucket_bits: int
    offsets: tuple[int, ...]
    shares: Shares
    symbol_bits: int = 8
    label_bits: int = LABEL_BITS
    method: str = "votes"
    false_items: float = 0.05

    def __post_init__(self) -> None:
        one_of("method", self.method, DECODERS)
        if self.cells.block_bits > self.bucket_bits or self.cells.block_bits + self.cells.column_bits != self.cell_bits:
            raise ParameterError(f"cells= must have 2^{self.cell_bits} outcomes, and no more blocks than buckets.")

    @property
    def word_bits(self) -> int:
        """The bits of a symbol with the labels that it names."""
        return self.symbol_bits + len(self.offsets) * self.label_bits

    @property
    def cell_bits(self) -> int:
        """The bits of a cell: word, label, bucket."""
        return self.word_bits + self.label_bits + self.bucket_bits

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """One for each coordinate, one to confirm, one to estimate."""
        return make_roles(self.cells, self.whole, self.coordinates, self.shares)

    def code(self, key: bytes) -> UniqueListCode:
        """Return the code under a key."""
        return UniqueListCode(
            self.item_bits, self.symbol_bits, self.coordinates, self.label_bits, key, tuple(self.offsets)
        )

    def encoder(self, seed: Seed, items: Items) -> ExpanderEncoder:
        """Return whitening, code and hashes."""
        if items.bits != self.item_bits:
            raise ParameterError(
                f"This method is for items of {self.item_bits} bits, and these have {items.bits}; write "
                f"expander_method(spend, {items.bits}, reports)."
            )
        return ExpanderEncoder(self, seed, items)

    def search(self, server: Server, false_items: float) -> list[Find]:
        """Recover the code in every bucket."""
        from sfumato.papers.heavy_hitters.expander_search import search

        return search(server, self, false_items)

    def decoding_bytes(self, cell: int, row_bytes: int, reports: int) -> int:
        """Return the memory of one coordinate's estimates, twice as much to arrange them, and of all candidates."""
        return 3 * cell * self.largest_oracle + CANDIDATE * (1 << self.bucket_bits)

    def detectable(self, reports: int, probability: float) -> float:
        """Return the share found with this probability if every coordinate that goes wrong is an error."""
        return _detectable(self, reports, probability, rivals=False)

    def guaranteed(self, reports: int, probability: float) -> float:
        """Return the share found if all other devices hold rivals as popular: a label that is shared is an error."""
        return _detectable(self, reports, probability, rivals=True)

    def to_json(self) -> dict[str, Any]:
        """Return oracles and sizes."""
        names = ("item_bits", "coordinates", "bucket_bits", "symbol_bits", "label_bits", "false_items")
        return {
            "kind": self.kind,
            "cells": self.cells.to_json(),
            "whole": self.whole.to_json(),
            "offsets": list(self.offsets),
            "shares": list(self.shares),
            **{name: getattr(self, name) for name in names},
            "decoder": self.method,  # the word of plans that devices hold already
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ExpanderMethod:
        """Read what `to_json` wrote."""
        from sfumato.local.method import oracle_from_json

        rest = {name: value for name, value in record.items() if name not in ("kind", "cells", "whole", "decoder")}
        cells, whole = oracle_from_json(record["cells"]), oracle_from_json(record["whole"])
        if not isinstance(cells, HadamardResponse) or not isinstance(whole, LinearHash):
            raise ParameterError(
                "An expander sketch asks by Hadamard response, then by linear hashing; give it cells of the kind "
                '"hadamard" and whole of the kind "linear".'
            )
        rest["offsets"], rest["shares"] = tuple(rest["offsets"]), tuple(rest["shares"])
        return cls(cells=cells, whole=whole, method=record["decoder"], **rest)


class ExpanderEncoder:
    """Items as cells of their coordinate, or as hashes for the last two roles."""

    def __init__(self, method: ExpanderMethod, seed: Seed, items: Items) -> None:
        self.method = method
        self.code = method.code(seed.key("expander"))
        self.white = whitening_of(seed, items.bits)
        self.whole = WholeItems(seed, items)
        self._shift = method.label_bits, method.bucket_bits
        # The first row of a Hadamard matrix says nothing, so the cells of the last row share those of the one before.
        self._last = method.cells.cells

    def point(self, code: int, role: int) -> Any:
        """Return the cell of one item, or its hash."""
        if role >= self.method.coordinates:
            return self.whole.point(code, role - self.method.coordinates)
        white = self.white.apply(code)
        label, word, free = self.code.entry_and_word(white, role)
        bucket = free & ((1 << self.method.bucket_bits) - 1)
        cell = (word << self._shift[0] | label) << self._shift[1] | bucket
        return cell if cell < self._last else cell - (1 << self.method.cells.block_bits)

    def points(self, rows: Any, role: int) -> Any:
        """Return the cells of many items, or their hashes."""
        if role >= self.method.coordinates:
            return self.whole.points(rows, role - self.method.coordinates)
        label, word, free = self.code.entry_rows(self.white.apply_rows(rows), role)
        bucket = free.astype(np.int64) & ((1 << self.method.bucket_bits) - 1)
        cell = (word << self._shift[0] | label) << self._shift[1] | bucket
        return np.where(cell < self._last, cell, cell - (1 << self.method.cells.block_bits))

    def bucket(self, white: int) -> int:
        """Return the bucket of a whitened item."""
        return self.code.labels_and_word(white)[1] & ((1 << self.method.bucket_bits) - 1)


@lru_cache(maxsize=256)
def _detectable(method: ExpanderMethod, reports: int, probability: float, *, rivals: bool) -> float:
    from scipy.special import bdtrc

    each, checking = split_reports(reports, method.coordinates, method.shares)
    needed = math.ceil((method.coordinates + method.code(bytes(16)).outer.dimension) / 2)
    candidates = 1 << method.bucket_bits

    def recall(share: float) -> float:
        held = share * each
        right = _right(held / math.sqrt(method.cells.deviation(each, held) ** 2 + held), 1 << method.word_bits)
        if rivals:
            # One in 2^(bucket and label bits) of the 1/share rivals shares bucket and label at a coordinate.
            right *= math.exp(-1 / (max(share, 1e-12) * (1 << method.bucket_bits + method.label_bits)))
        decoded = float(bdtrc(needed - 1, method.coordinates, right))
        return decoded * confirmed_with(method.whole, checking, candidates, method.false_items, share)

    return smallest_share(recall, probability)


def _right(score: float, rivals: int) -> float:
    """Return the chance that a normal score passes for an entry and is above all rivals of mean zero."""
    from scipy.special import ndtr, ndtri

    entry = float(-ndtri(ENTRY / rivals))
    grid = entry + np.arange(0, max(score - entry, 0) + 8, 0.02) + 0.01
    density = np.exp(-((grid - score) ** 2) / 2) / math.sqrt(2 * math.pi)
    return min(1.0, float((density * ndtr(grid) ** (rivals - 1)).sum() * 0.02))


@understood
def expander_method(
    spend: Pure,
    bits: int,
    reports: int,
    *,
    max_cells: int = MOST_CELLS,
    method: str = "votes",
    false_items: float = 0.05,
) -> ExpanderMethod:
    """Return the expander sketch for items of so many bits and about so many reports.

    A server holds at most `max_cells` cells for each coordinate. With too few of them for symbols of 8 bits, symbols
    have 4, which limits items to about 32 bits.

    >>> from sfumato import Pure, domain, local
    >>> method = expander_method(Pure(4), bits=30, reports=1_000_000, max_cells=1 << 17)
    >>> method.coordinates, method.symbol_bits, method.cells.outcomes
    (14, 4, 131072)
    >>> plan = local.plan(users=1_000_000, spend=Pure(4), items=domain.integers(0, 2**30 - 1), method=method)
    >>> plan.method == method
    True
    """
    epsilon = report_epsilon(spend)
    smallest = LABEL_BITS * 3 + BUCKET_BITS[0]
    symbol_bits = 8 if max_cells >= 1 << (8 + smallest) else 4
    symbols = -(-bits // symbol_bits)
    # About 1.75 coordinates for each symbol, an even number of them to spare: two for each error.
    coordinates = max(5, symbols + 2 * round(0.375 * symbols))
    if symbols > MOST_SYMBOLS or coordinates >= 1 << symbol_bits or max_cells < 1 << (4 + smallest):
        raise DomainTooLarge(
            f"Items of {bits} bits are too long for the expander sketch with {max_cells} cells a coordinate; write "
            'method="soft", allow shorter items, or collect twice: first hashes, then a list of candidates.',
            method='method="soft"',
        )
    whole = linear_hash(spend, min(max((reports // 8).bit_length() + 1, 12), 18))

    def made(bucket_bits: int) -> ExpanderMethod:
        offsets = best_offsets(coordinates)
        cell_bits = symbol_bits + (1 + len(offsets)) * LABEL_BITS + bucket_bits
        blocks = min(best_block_bits(float(epsilon)), bucket_bits)
        weight = noise_weight(epsilon, 2 << blocks)
        cells = HadamardResponse(weight=weight, block_bits=blocks, column_bits=cell_bits - blocks)
        return ExpanderMethod(
            cells=cells,
            whole=whole,
            item_bits=bits,
            coordinates=coordinates,
            bucket_bits=bucket_bits,
            offsets=offsets,
            shares=even_shares(coordinates),
            symbol_bits=symbol_bits,
            method=method,
            false_items=false_items,
        )

    least = made(BUCKET_BITS[0])
    share = least.detectable(reports, 0.9)
    wanted = math.ceil(math.log2(ROOM / share))
    room = max_cells.bit_length() - 1 - least.cell_bits + BUCKET_BITS[0]
    return made(min(max(wanted, BUCKET_BITS[0]), BUCKET_BITS[-1], room))


MAKERS.add("expander", expander_method)
