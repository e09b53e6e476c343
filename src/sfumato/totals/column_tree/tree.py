"""A tree over the columns of a table, fixed before anybody looks at the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.workload.space import Space

LARGEST_BLOCK = 2**30
"""Up to so many combinations of a block, two of which are numbered by 63 bits; none of them is ever listed."""

Join = tuple[int, int, int]
"""The left child, the right child, and the level, whose threshold and clip the join uses."""


@dataclass(frozen=True)
class ColumnTree:
    """Blocks of columns at the bottom, joined two by two up to the root.

    `blocks` are the places of columns in the space; `joins` name their children: blocks are numbered 0, 1, …, and the
    joins after them, so the last join is the root. Levels rise on every path to the root. Columns that show the same
    attribute lie in the same block, so that a changed attribute changes one path.

    >>> from sfumato.domain import booleans
    >>> from sfumato.table.schema import Schema
    >>> tree = balanced(Space.of(Schema({name: booleans() for name in "abcde"})), cells=2)
    >>> tree.joins
    ((0, 1, 1), (2, 3, 1), (5, 6, 2), (7, 4, 3))
    """

    space: Space
    blocks: tuple[tuple[int, ...], ...]
    joins: tuple[Join, ...]

    def __post_init__(self) -> None:
        if sorted(place for block in self.blocks for place in block) != list(range(len(self.space.names))):
            raise ParameterError("Every column belongs to exactly one block of the tree; list each place once.")
        if sorted(child for left, right, _ in self.joins for child in (left, right)) != list(range(self.root)):
            raise ParameterError("Every block and every join but the last is the child of exactly one join.")
        for place, (left, right, level) in enumerate(self.joins, start=len(self.blocks)):
            if max(left, right) >= place:
                raise ParameterError("The children of a join come before it; list the joins from the bottom up.")
            if level <= max(self.level(left), self.level(right)):
                raise ParameterError("Levels rise from a join to the one above it; start them at 1.")
        for block in self.blocks:
            if self.cells(block) > LARGEST_BLOCK:
                raise DomainTooLarge(
                    f"The columns {', '.join(self.space.names[place] for place in block)} have {self.cells(block)} "
                    f"combinations, more than {LARGEST_BLOCK}; derive coarser bins in the schema, or split them into "
                    "several columns.",
                    method="bins",
                )
        owners = [self.attributes(block) for block in range(len(self.blocks))]
        if sum(map(len, owners)) != len(frozenset().union(*owners)):
            raise ParameterError("Columns that show the same attribute belong to the same block of the tree.")

    @property
    def root(self) -> int:
        """The number of the root."""
        return len(self.blocks) + len(self.joins) - 1

    @property
    def height(self) -> int:
        """How many levels have a threshold."""
        return max((level for _, _, level in self.joins), default=0)

    def level(self, node: int) -> int:
        """Return the level of a node, 0 for a block."""
        return 0 if node < len(self.blocks) else self.joins[node - len(self.blocks)][2]

    def cells(self, block: Sequence[int]) -> int:
        """Return how many combinations the columns of a block have."""
        return prod(self.space.sizes[place] for place in block)

    @cached_property
    def rows(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """The pairs of children that are joined at each level, from the first up."""
        found: list[list[tuple[int, int]]] = [[] for _ in range(self.height)]
        for left, right, level in self.joins:
            found[level - 1].append((left, right))
        return tuple(map(tuple, found))

    def under(self, node: int) -> tuple[int, ...]:
        """Return the blocks below a node, from left to right."""
        return self._under[node]

    @cached_property
    def _under(self) -> tuple[tuple[int, ...], ...]:
        found: list[tuple[int, ...]] = [(block,) for block in range(len(self.blocks))]
        for left, right, _ in self.joins:
            found.append(found[left] + found[right])
        return tuple(found)

    def attributes(self, node: int) -> frozenset[str]:
        """Return the private attributes below a node."""
        return self.space.reads(self.space.names[place] for block in self.under(node) for place in self.blocks[block])

    @cached_property
    def _paths(self) -> tuple[tuple[int, ...], ...]:
        above: dict[int, tuple[int, ...]] = {}
        for place in range(self.root, len(self.blocks) - 1, -1):
            left, right, level = self.joins[place - len(self.blocks)]
            above[place] = above[left] = above[right] = (level, *above.get(place, ()))
        return tuple(above[place] for place in range(len(self.blocks), self.root + 1))

    def path(self, join: int) -> tuple[int, ...]:
        """Return the levels of the joins from one of them up to the root, its own one first."""
        return self._paths[join - len(self.blocks)]

    def charged(self) -> tuple[tuple[frozenset[str], tuple[int, ...]], ...]:
        """Return the attributes below each join and the levels from it to the root, one entry a set of attributes.

        Where a join adds public columns only, the lower one stands for both: its path is the longer one.
        """
        found: dict[frozenset[str], tuple[int, ...]] = {}
        for place in range(len(self.blocks), self.root + 1):
            found.setdefault(self.attributes(place), self.path(place))
        found.pop(frozenset(), None)
        return tuple(found.items())

    def to_json(self) -> dict[str, Any]:
        """Return columns, blocks and joins."""
        blocks = [[self.space.names[place] for place in block] for block in self.blocks]
        return {"blocks": blocks, "joins": [list(join) for join in self.joins]}


def blocks_of(space: Space, cells: int) -> tuple[tuple[int, ...], ...]:
    """Return consecutive columns in blocks of up to so many cells; columns of one attribute stay together."""
    units: dict[object, list[int]] = {}
    for place, attribute in enumerate(space.attributes):
        units.setdefault(place if attribute is None else attribute, []).append(place)
    blocks: list[list[int]] = []
    size = 0
    for unit in units.values():
        own = prod(space.sizes[place] for place in unit)
        if blocks and size * own <= cells:
            blocks[-1] += unit
            size *= own
        else:
            blocks.append(list(unit))
            size = own
    return tuple(map(tuple, blocks))


def balanced(space: Space, cells: int = 256) -> ColumnTree:
    """Return the tree that joins neighbours, level by level; the odd one out moves up without a join."""
    blocks = blocks_of(space, cells)
    row, joins, level = list(range(len(blocks))), list[Join](), 0
    while len(row) > 1:
        level += 1
        above = []
        for left, right in zip(row[::2], row[1::2], strict=False):
            above.append(len(blocks) + len(joins))
            joins.append((left, right, level))
        row = above + row[len(row) - len(row) % 2 :]
    return ColumnTree(space, blocks, tuple(joins))


def caterpillar(space: Space, cells: int = 256) -> ColumnTree:
    """Return the tree that adds one block after the other: one path for everybody, but a long one."""
    blocks = blocks_of(space, cells)
    joins = [(0 if place == 1 else len(blocks) + place - 2, place, place) for place in range(1, len(blocks))]
    return ColumnTree(space, blocks, tuple(joins))


def bottoms(tree: ColumnTree) -> Iterable[tuple[int, ...]]:
    """Return the paths that a change of the whole record is charged for: those of the lowest joins."""
    charged = tree.charged()
    return [path for names, path in charged if not any(other < names for other, _ in charged)]
