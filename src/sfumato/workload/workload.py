"""Workloads: many linear queries over the columns of one space, and how far all of them together can move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, groupby
from math import comb, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.ask.question import READERS
from sfumato.errors import ParameterError, SchemaError
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Everything, Relation, attributes
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.table.schema import Schema
from sfumato.workload.blocks import BLOCKS, Block, Marginal, OneCell, Parity
from sfumato.workload.moves import PAIRED, added_to, odd_moves, repeated, replaced_in, stacked
from sfumato.workload.reach import MOST_BLOCKS, Reach
from sfumato.workload.records import Tabled
from sfumato.workload.space import Space

if TYPE_CHECKING:
    from sfumato.model.base import Model


@dataclass(frozen=True, repr=False)
class Workload:
    """Some blocks of queries over one space; make one with the builders in `sfumato.workloads`.

    >>> from sfumato import Schema, booleans, integers, workloads
    >>> schema = Schema({"age": integers(0, 9), "sex": booleans(), "works": booleans()})
    >>> workload = workloads.marginals(schema, width=2)
    >>> workload.queries, workload.sensitivity().l1, workload.by_attribute()["age"].l1
    (75, Fraction(6, 1), Fraction(4, 1))
    """

    space: Space
    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        if not self.blocks:
            raise ParameterError("A workload needs at least one query; write workloads.marginals(schema, width=2).")
        for block in self.blocks:
            if self.space.shape(block.columns) != block.shape:
                raise SchemaError(
                    f"A block over {', '.join(block.columns)} was made for {_sizes(block.shape)} values, and these "
                    f"columns have {_sizes(self.space.shape(block.columns))}; make all blocks from one schema, by the "
                    "builders in workloads."
                )

    def __repr__(self) -> str:
        return f"Workload({self.queries:,} numbers in {len(self.blocks):,} tables over {', '.join(self.columns)})"

    @property
    def queries(self) -> int:
        """How many numbers are asked for."""
        return sum(block.queries for block in self.blocks)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that some block sees, in the order of the space."""
        seen = frozenset(name for block in self.blocks for name in block.columns)
        return tuple(name for name in self.space.names if name in seen)

    @property
    def reads(self) -> frozenset[str]:
        """The private attributes that the answers depend on."""
        return self.space.reads(self.columns)

    def answers(self, records: Tabled) -> list[NDArray[np.int64]]:
        """Return the exact integers of every block; blocks over the same columns share one table."""
        found: list[NDArray[np.int64]] = []
        last: tuple[tuple[str, ...], NDArray[np.int64]] | None = None
        for block in self.blocks:
            if last is None or last[0] != block.columns:
                last = block.columns, records.table(block.columns)
            found.append(block.evaluate(last[1]))
        return found

    def evaluate(self, model: Model) -> list[NDArray[np.float64]]:
        """Return the value of every query under a model: the probability or mean that it gives."""
        return [model.expect(block) for block in self.blocks]

    # How far the stacked integers move

    def sensitivity(
        self,
        relation: Relation = REPLACE_ONE,
        rows: int = 1,
        changing: frozenset[str] | str | Everything = EVERYTHING,
    ) -> Sensitivity:
        """Return how far the stacked integer answers of neighbours lie apart.

        With several `rows` a person each of them may come, go or change. With `changing`, only these attributes of
        one person do: two columns of one attribute move together, public columns never. A whole person who is replaced
        takes public columns along.

        Exact for one row a person, over all pairs of combinations of codes:

        - where queries · cells² is at most 2^24;
        - for tables of counts and conjunctions of set bits, together too, and for parities of one kind, if they are
          all sets of a width or at most 20 bits hang together;
        - for blocks that share no column if each is exact, since they move independently;
        - for blocks over the same columns that tell some thousands of cells apart at most: cells that every query
          treats alike are one, so that many disjoint conditions over a large domain move like two;
        - for blocks over different columns that can be maximised over column by column within 2^24 numbers.

        What remains is an upper bound, the least of three, never below the truth: the sum over blocks, twice what one
        row can add to all of them, and the maximum column by column with blocks taken apart. Beyond 20,000 blocks, or
        1,000 sets of columns that hang together, it is the sum over blocks. Combinations of codes that no row has,
        such as an age of 34 in the decade 70, count as possible. Of several rows a person `changed` is a bound, since
        rows may move the same numbers.

        >>> from sfumato import Schema, integers, workloads
        >>> schema = Schema({"zip": integers(0, 99_999)})
        >>> thirds = ["zip < 30000", "zip >= 30000 AND zip < 60000", "zip >= 60000"]
        >>> workloads.predicates(schema, thirds).sensitivity().l1
        Fraction(2, 1)

        Spec: PDP-GAUSS, PDP-PROJ, QR-LAP.
        """
        changed = attributes(changing)
        whole = isinstance(changed, Everything)
        key = relation is REPLACE_ONE, rows, None if whole else changed
        if key not in self._known:
            if relation is not REPLACE_ONE:
                moves = self._added(changed)
            elif rows == 1 or not whole:
                moves = self._replaced(changed)
            else:
                moves = self._replaced(changed).cover(self._added(changed))
            self._known[key] = repeated(moves, rows)
        return self._known[key]

    @cached_property
    def _known(self) -> dict[Any, Sensitivity]:
        """What was worked out before; a noise, its loss and its error bars ask for the same numbers."""
        return {}

    def by_attribute(self, rows: int = 1) -> dict[str, Sensitivity]:
        """Return how far each attribute alone moves the stacked answers, for those that do."""
        found = {name: self.sensitivity(REPLACE_ONE, rows, frozenset((name,))) for name in sorted(self.reads)}
        return {name: moves for name, moves in found.items() if moves.l1}

    def _touched(self, changed: frozenset[str] | Everything) -> tuple[Block, ...]:
        if isinstance(changed, Everything):
            return self.blocks
        return tuple(block for block in self.blocks if not self.space.reads(block.columns).isdisjoint(changed))

    def _moving(self, columns: Sequence[str], changed: frozenset[str] | Everything) -> tuple[bool, ...]:
        if isinstance(changed, Everything):
            return (True,) * len(columns)
        shown = (self.space.attributes[place] for place in self.space.places(columns))
        return tuple(attribute in changed for attribute in shown)

    def _added(self, changed: frozenset[str] | Everything) -> Sensitivity:
        touched = self._touched(changed)
        odd = [block for block in touched if isinstance(block, Parity) and not block.signed]
        others = [block for block in touched if not (isinstance(block, Parity) and not block.signed)]
        bound = stacked([*(block.added() for block in others), *self._odd(odd, EVERYTHING)])
        if _additive(touched):
            return bound
        if self._small:
            return bound.narrow(added_to(self.matrix(touched)))
        return bound.narrow(self._reach(touched, EVERYTHING).added()) if len(touched) <= MOST_BLOCKS else bound

    def _replaced(self, changed: frozenset[str] | Everything) -> Sensitivity:
        touched = self._touched(changed)
        others = [block for block in touched if not isinstance(block, Parity)]
        parts = [block.replaced(self._moving(block.columns, changed)) for block in others]
        for signed in (False, True):
            parts += self._odd([b for b in touched if isinstance(b, Parity) and b.signed is signed], changed)
        bound = stacked(parts)
        if _additive(touched):
            return bound
        if self._small:
            moving = self._moving(self.columns, changed)
            return bound.narrow(replaced_in(self.matrix(touched), self.space.shape(self.columns), moving))
        return bound.narrow(self._reach(touched, changed).replaced()) if len(touched) <= MOST_BLOCKS else bound

    def _odd(self, blocks: Sequence[Parity], changed: frozenset[str] | Everything) -> list[Sensitivity]:
        """Return how far some parities of one kind move at once when these attributes may."""
        moving = dict(zip(self.columns, self._moving(self.columns, changed), strict=True))
        return [odd_moves([block.columns for block in blocks], moving, blocks[0].signed)] if blocks else []

    def _reach(self, blocks: Sequence[Block], changed: frozenset[str] | Everything) -> Reach:
        sizes = dict(zip(self.columns, self.space.shape(self.columns), strict=True))
        return Reach(blocks, sizes, dict(zip(self.columns, self._moving(self.columns, changed), strict=True)))

    @cached_property
    def _small(self) -> bool:
        """Whether all pairs of whole rows may be looked at."""
        cells = prod(self.space.shape(self.columns))
        return self.queries * cells**2 <= PAIRED

    def matrix(self, blocks: Sequence[Block] | None = None) -> NDArray[np.int64]:
        """Return all queries, or those of some blocks, as a matrix over the cells of `columns`; for small domains."""
        shape = self.space.shape(self.columns)
        rows = []
        for block in self.blocks if blocks is None else blocks:
            places = [self.columns.index(name) for name in block.columns]
            arranged = np.argsort(places)
            table = block.matrix().reshape(-1, *block.shape).transpose(0, *(1 + arranged))
            wide = [size if place in places else 1 for place, size in enumerate(shape)]
            rows.append(np.broadcast_to(table.reshape(-1, *wide), (block.queries, *shape)).reshape(block.queries, -1))
        return np.concatenate(rows)

    # JSON

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back; all sets of one width are one line."""
        runs = []
        for (kind, extras), blocks in groupby(self.blocks, key=lambda block: (block.kind, _frozen(block.extras()))):
            sets = [list(block.columns) for block in blocks]
            runs.append({"kind": kind, **_sets(sets, self.space.names), **extras.value})
        return {"workload": {**self.space.to_json(), "blocks": runs}}

    @classmethod
    def from_json(cls, record: Mapping[str, Any], schema: Schema) -> Workload:
        """Read what `to_json` wrote, checked against the schema."""
        inside = record.get("workload") if isinstance(record, Mapping) else None
        if not isinstance(inside, Mapping) or "columns" not in inside or not isinstance(inside.get("blocks"), list):
            raise ParameterError('A stored workload is {"workload": {"columns": […], "blocks": […]}}.')
        space = Space.from_json(inside, schema)
        return cls(space, tuple(block for run in inside["blocks"] for block in _read(run, space, schema)))


def _sizes(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape))


def _additive(blocks: Sequence[Block]) -> bool:
    """Tell whether the sum over blocks is exact: one pair of rows moves all of them as far as each can."""
    kinds = {type(block) for block in blocks}
    monotone = all(len(set(block.cell)) == 1 and block.cell[0] == 1 for block in blocks if isinstance(block, OneCell))
    signs = {block.signed for block in blocks if isinstance(block, Parity)}
    return (
        kinds <= {Marginal}
        or (kinds <= {Marginal, OneCell} and monotone and _bits(blocks))
        or (kinds == {Parity} and len(signs) == 1 and len({name for block in blocks for name in block.columns}) <= 20)
    )


def _bits(blocks: Sequence[Block]) -> bool:
    return all(set(block.shape) == {2} for block in blocks if isinstance(block, OneCell))


class _Frozen:
    """Extras of blocks, comparable so that equal ones are written once."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]


def _frozen(extras: dict[str, Any]) -> _Frozen:
    return _Frozen(extras)


def _sets(sets: list[list[str]], names: Sequence[str]) -> dict[str, Any]:
    """Return all sets of a width as that width, other lists of sets as they are."""
    widths = {len(members) for members in sets}
    if len(sets) > 1 and len(widths) == 1:
        width = widths.pop()
        listed = list(dict.fromkeys(name for members in sets for name in members))
        ordered = [name for name in names if name in set(listed)]
        if len(sets) == comb(len(ordered), width) and sets == [list(one) for one in combinations(ordered, width)]:
            return {"width": width, "of": ordered}
    return {"sets": sets}


def _read(run: Mapping[str, Any], space: Space, schema: Schema) -> list[Block]:
    values = dict(run)
    kind = BLOCKS[values.pop("kind", None)]
    if "width" in values:
        sets = [list(one) for one in combinations(values.pop("of"), values.pop("width"))]
    else:
        sets = values.pop("sets", [])
    return [kind.made(schema, space, members, values) for members in sets]


READERS.add("workload", Workload.from_json)
