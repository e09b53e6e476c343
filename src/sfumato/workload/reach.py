"""How far the answers of several blocks move together: over the best pair of rows for all of them at once.

Stacked answers move by Σ_b d_b(x, x'), where d_b sees the columns of block b only. Blocks that share no column move
independently; codes that no block tells apart are one; what is left is maximised column by column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DomainTooLarge
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.workload.blocks import Block, Marginal, Parity
from sfumato.workload.elimination import Factor, Table, largest_sums
from sfumato.workload.moves import (
    AT_ONCE,
    PAIRED,
    apart,
    counted,
    odd_moves,
    pairing_work,
    replaced_in,
    stacked,
    twice,
)

ENTRIES = 2**24
"""Queries are written out up to so many numbers."""

MOST_BLOCKS = 20_000
MOST_TABLES = 1_000
"""So many blocks, over so many different sets of columns that hang together, are looked at as one."""


class Reach:
    """The largest differences of the answers of some blocks, when some of the columns may change.

    `sizes` is the number of codes of each column, `moving` says which of them may change.
    """

    def __init__(self, blocks: Sequence[Block], sizes: Mapping[str, int], moving: Mapping[str, bool]) -> None:
        self.sizes, self.moving = sizes, moving
        self.blocks = tuple(blocks)

    def replaced(self) -> Sensitivity:
        """Return how far one row that changes in the moving columns moves all blocks together."""
        always, rest = self._always_moved(self.blocks)
        codes = self._told_apart(rest)
        parts = [self._replaced_component(component, codes) for component in _components(rest, codes)]
        return stacked([counted(2 * always), *parts])

    def added(self) -> Sensitivity:
        """Return how far one row that comes or goes moves all blocks together."""
        tables = sum(isinstance(block, Marginal) for block in self.blocks)
        rest = [block for block in self.blocks if not isinstance(block, Marginal)]
        codes = self._told_apart(rest)
        return stacked([counted(tables), *(self._added_component(part, codes) for part in _components(rest, codes))])

    def _always_moved(self, blocks: Sequence[Block]) -> tuple[int, list[Block]]:
        """Return how many tables every pair can be made to move, and the other blocks.

        A column that only tables of counts see is given two different codes: that moves all of these tables as far as
        they can go, whatever the other columns do.
        """
        seen = {name for block in blocks if not isinstance(block, Marginal) for name in block.columns}
        free = {name for name, moves in self.moving.items() if moves and self.sizes[name] > 1} - seen
        rest = [block for block in blocks if not (isinstance(block, Marginal) and free.intersection(block.columns))]
        return len(blocks) - len(rest), rest

    def _told_apart(self, blocks: Sequence[Block]) -> dict[str, NDArray[np.int64]]:
        """Return for each column one code of each run that no block tells apart."""
        found: dict[str, list[NDArray[np.int64]]] = {}
        for block in blocks:
            for axis, name in enumerate(block.columns):
                found.setdefault(name, []).append(block.edges(axis))
        return {name: np.unique(np.concatenate(edges)) for name, edges in found.items()}

    # One component: blocks that hang together by their columns

    def _replaced_component(self, blocks: Sequence[Block], codes: Mapping[str, NDArray[np.int64]]) -> Sensitivity:
        single = [block.replaced([self.moving[name] for name in block.columns]) for block in blocks]
        bound = stacked(single)
        if len(blocks) == 1 or not bound.l1:
            return bound
        groups = _by_columns(blocks)
        if parities := same_parities(blocks):
            return odd_moves([block.columns for block in parities], self.moving, parities[0].signed)
        if len(groups) > MOST_TABLES:
            return bound
        signed = any(isinstance(block, Parity) and block.signed for block in blocks)
        # The largest coordinate of each block is reached by some pair, so it is exact in the bound already.
        bound = bound.narrow(twice(self._added_component(blocks, codes), signed))
        if len(groups) == 1:
            return bound.narrow(self._one_table(blocks, codes) or bound)
        factors: list[Factor] = []
        loose: list[Sensitivity] = []
        for names, members in groups.items():
            factor = self._pairs(names, members, codes)
            if factor is None:
                loose.extend(block.replaced([self.moving[name] for name in block.columns]) for block in members)
            else:
                factors.append(factor)
        return bound.narrow(_with(stacked(loose), largest_sums(factors), bound.largest))

    def _added_component(self, blocks: Sequence[Block], codes: Mapping[str, NDArray[np.int64]]) -> Sensitivity:
        bound = stacked(block.added() for block in blocks)
        groups = _by_columns(blocks)
        if len(blocks) == 1 or len(groups) > MOST_TABLES:
            return bound
        if parities := same_parities(blocks):
            everywhere = dict.fromkeys(self.moving, True)
            return bound if parities[0].signed else odd_moves([one.columns for one in parities], everywhere, False)
        factors: list[Factor] = []
        loose: list[Sensitivity] = []
        for names, members in groups.items():
            if prod(len(codes[name]) for name in names) > ENTRIES:
                loose.extend(block.added() for block in members)
                continue
            sums = np.zeros((3, *(len(codes[name]) for name in names)), dtype=np.int64)
            for block in members:
                written = self._written(block, names, codes)
                if written is None:
                    loose.append(block.added())
                else:
                    sizes = np.abs(written)
                    sums += np.stack([sizes.sum(axis=0), (sizes**2).sum(axis=0), (sizes > 0).sum(axis=0)])
            factors.append(Factor(names, (sums[0], sums[1], sums[2])))
        return bound.narrow(_with(stacked(loose), largest_sums(factors), bound.largest))

    def _one_table(self, blocks: Sequence[Block], codes: Mapping[str, NDArray[np.int64]]) -> Sensitivity | None:
        """Return the bounds of blocks over the same columns, whose queries are one matrix."""
        names = _order(blocks[0])
        written = self._stack(blocks, names, codes)
        if written is None:
            return None
        return replaced_in(written.reshape(len(written), -1), written.shape[1:], [self.moving[name] for name in names])

    def _pairs(
        self, names: tuple[str, ...], blocks: Sequence[Block], codes: Mapping[str, NDArray[np.int64]]
    ) -> Factor | None:
        """Return how far some blocks over the same columns move for every pair of rows, None where that is too much.

        A column that may change has a state for each pair of codes, another one for each code.
        """
        shape = [len(codes[name]) for name in names]
        still = [axis for axis, name in enumerate(names) if not self.moving[name]]
        free = [axis for axis, name in enumerate(names) if self.moving[name]]
        fixed, cells = prod(shape[axis] for axis in still), prod(shape[axis] for axis in free)
        if fixed * cells**2 > AT_ONCE:
            return None
        tables = [block for block in blocks if isinstance(block, Marginal)]
        others = [block for block in blocks if not isinstance(block, Marginal)]
        sums = np.zeros((3, fixed, cells, cells), dtype=np.int64)
        sums += 2 * len(tables) * (1 - np.eye(cells, dtype=np.int64))
        if others:
            written = self._stack(others, names, codes)
            if written is None:
                return None
            fibres = written.transpose(*(1 + axis for axis in (*still, *free)), 0).reshape(fixed, cells, -1)
            if fixed * pairing_work(fibres[0]) > 4 * PAIRED:
                return None
            sums += np.stack([np.stack(apart(fibre, fibre)) for fibre in fibres], axis=1)
        l1, squares, changed = (_by_state(one, shape, still, free) for one in sums)
        return Factor(names, (l1, squares, changed))

    def _stack(
        self, blocks: Sequence[Block], names: tuple[str, ...], codes: Mapping[str, NDArray[np.int64]]
    ) -> NDArray[np.int64] | None:
        if sum(block.queries for block in blocks) * prod(len(codes[name]) for name in names) > ENTRIES:
            return None
        found = [self._written(block, names, codes) for block in blocks]
        written = [one for one in found if one is not None]
        return np.concatenate(written) if len(written) == len(found) else None

    def _written(
        self, block: Block, names: tuple[str, ...], codes: Mapping[str, NDArray[np.int64]]
    ) -> NDArray[np.int64] | None:
        """Return a block on one code of each run, an axis for queries and one for each name; None if it is large."""
        if block.queries * prod(len(codes[name]) for name in names) > ENTRIES:
            return None
        try:
            found = block.restricted([codes[name] for name in block.columns])
        except DomainTooLarge:
            return None
        return found.transpose(0, *(1 + block.columns.index(name) for name in names))


def same_parities(blocks: Sequence[Block]) -> list[Parity]:
    """Return the blocks where all of them are parities of one kind, nothing otherwise."""
    found = [block for block in blocks if isinstance(block, Parity)]
    return found if len(found) == len(blocks) and len({block.signed for block in found}) == 1 else []


def _order(block: Block) -> tuple[str, ...]:
    return tuple(sorted(block.columns))


def _by_columns(blocks: Sequence[Block]) -> dict[tuple[str, ...], list[Block]]:
    found: dict[tuple[str, ...], list[Block]] = {}
    for block in blocks:
        found.setdefault(_order(block), []).append(block)
    return found


def _components(blocks: Sequence[Block], codes: Mapping[str, NDArray[np.int64]]) -> list[list[Block]]:
    """Return the blocks in groups that share no column; a column whose codes nobody tells apart joins nothing."""
    leader = {name: name for name in codes}

    def led(name: str) -> str:
        while leader[name] != name:
            leader[name] = name = leader[leader[name]]
        return name

    shown = [[name for name in block.columns if len(codes[name]) > 1] for block in blocks]
    for names in shown:
        for name in names[1:]:
            leader[led(name)] = led(names[0])
    groups: dict[str, list[Block]] = {}
    for block, names in zip(blocks, shown, strict=True):
        if names:  # a block that tells nothing apart never moves, but a row that comes may count in it
            groups.setdefault(led(names[0]), []).append(block)
    return [*groups.values(), *([block] for block, names in zip(blocks, shown, strict=True) if not names)]


def _by_state(table: Table, shape: Sequence[int], still: Sequence[int], free: Sequence[int]) -> Table:
    """Turn fixed cells × moving cells × moving cells into one axis a column, of its codes or its pairs of codes."""
    sizes = [shape[axis] for axis in still] + 2 * [shape[axis] for axis in free]
    wide = table.reshape(sizes)
    places = {axis: [place] for place, axis in enumerate(still)}
    for place, axis in enumerate(free):
        places[axis] = [len(still) + place, len(still) + len(free) + place]
    order = [place for axis in range(len(shape)) for place in places[axis]]
    return wide.transpose(order).reshape([shape[axis] ** len(places[axis]) for axis in range(len(shape))])


def _with(loose: Sensitivity, sums: tuple[int, int, int], largest: Fraction) -> Sensitivity:
    return Sensitivity(loose.l1 + sums[0], loose.l2_squared + sums[1], largest, loose.changed + sums[2])
