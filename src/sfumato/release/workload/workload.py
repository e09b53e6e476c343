"""Workloads: many linear queries over the columns of one space, and how far all of them together can move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, groupby
from math import comb, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError, SchemaError
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Everything, Relation, attributes
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.release.workload.blocks import KINDS, Block, Conjunction, Marginal, Parity
from sfumato.release.workload.moves import (
    PAIRED,
    added_to,
    counted,
    even_meeting,
    odd_overlaps,
    repeated,
    replaced_in,
    stacked,
)
from sfumato.release.workload.records import Records
from sfumato.release.workload.space import Space
from sfumato.table.schema import Schema

if TYPE_CHECKING:
    from sfumato.release.model.base import Model


@dataclass(frozen=True)
class Workload:
    """Some blocks of queries over one space; make one with the builders in `sfumato.workloads`."""

    space: Space
    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        if not self.blocks:
            raise ParameterError("A workload needs at least one query; write workloads.marginals(schema, width=2).")
        for block in self.blocks:
            if self.space.shape(block.columns) != block.shape:
                raise SchemaError(f"A block over {', '.join(block.columns)} does not fit the columns of its workload.")

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

    def answers(self, records: Records) -> list[NDArray[np.int64]]:
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

        Exact for marginals, parities and conjunctions of bits, and for whatever is small; a sum over blocks of
        what is exact for each elsewhere. With several `rows` a person each of them may come, go or change. With
        `changing`, only these attributes of one person do: two columns of one attribute move together, public
        columns never. A whole person who is replaced takes public columns along.

        Spec: PDP-GAUSS, PDP-PROJ, QR-LAP.
        """
        changed = attributes(changing)
        if relation is not REPLACE_ONE:
            return repeated(self._added(changed), rows)
        replaced = self._replaced(changed)
        if rows == 1 or not isinstance(changed, Everything):
            return repeated(replaced, rows)
        return repeated(replaced.cover(self._added(changed)), rows)

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
        odd = tuple(block for block in touched if isinstance(block, Parity) and not block.signed)
        others = [block.added() for block in touched if not (isinstance(block, Parity) and not block.signed)]
        bound = stacked([*others, *([counted(self._odd(odd, EVERYTHING))] if odd else [])])
        if _additive(touched) or not self._small:
            return bound
        return bound.narrow(added_to(self.matrix(touched)))

    def _replaced(self, changed: frozenset[str] | Everything) -> Sensitivity:
        touched = self._touched(changed)
        parities = {signed: _parities(touched, signed) for signed in (False, True)}
        others = [block for block in touched if not isinstance(block, Parity)]
        parts = [block.replaced(self._moving(block.columns, changed)) for block in others]
        for signed, blocks in parities.items():
            if blocks:
                parts.append(_scaled(counted(self._odd(blocks, changed)), 2 if signed else 1))
        bound = stacked(parts)
        if _additive(touched) or not self._small:
            return bound
        moving = self._moving(self.columns, changed)
        return bound.narrow(replaced_in(self.matrix(touched), self.space.shape(self.columns), moving))

    def _odd(self, blocks: Sequence[Parity], changed: frozenset[str] | Everything) -> int:
        """Return how many parities can change at once when these attributes may."""
        free = [name for name, moves in zip(self.columns, self._moving(self.columns, changed), strict=True) if moves]
        sets = [frozenset(block.columns) for block in blocks]
        every = _all_subsets(sets, self.columns)
        if every:
            return even_meeting(every, len(self.columns), len(free))
        found = odd_overlaps(sets, free)
        return sum(not members.isdisjoint(free) for members in sets) if found is None else found

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


def _additive(blocks: Sequence[Block]) -> bool:
    """Tell whether the sum over blocks is exact: one pair of rows moves all of them as far as each can."""
    kinds = {type(block) for block in blocks}
    monotone = all(
        len(set(block.cell)) == 1 and block.cell[0] == 1 for block in blocks if isinstance(block, Conjunction)
    )
    signs = {block.signed for block in blocks if isinstance(block, Parity)}
    return (
        kinds <= {Marginal}
        or (kinds <= {Marginal, Conjunction} and monotone and _bits(blocks))
        or (kinds == {Parity} and len(signs) == 1)
    )


def _bits(blocks: Sequence[Block]) -> bool:
    return all(set(block.shape) == {2} for block in blocks if isinstance(block, Conjunction))


def _parities(blocks: Sequence[Block], signed: bool) -> list[Parity]:
    return [block for block in blocks if isinstance(block, Parity) and block.signed is signed]


def _scaled(moves: Sensitivity, factor: int) -> Sensitivity:
    return Sensitivity(factor * moves.l1, factor**2 * moves.l2_squared, factor * moves.largest, moves.changed)


def _all_subsets(sets: Sequence[frozenset[str]], columns: Sequence[str]) -> int | None:
    """Return the width k if the sets are all sets of k columns, each once."""
    widths = {len(members) for members in sets}
    if len(widths) != 1:
        return None
    width = widths.pop()
    counts = Counter(sets)
    return width if len(counts) == len(sets) == comb(len(columns), width) else None


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
    kind = KINDS.get(str(values.pop("kind", None)))
    if kind is None:
        raise ParameterError(f"There is no block of queries {run.get('kind')!r}; there are {', '.join(sorted(KINDS))}.")
    if "width" in values:
        sets = [list(one) for one in combinations(values.pop("of"), values.pop("width"))]
    else:
        sets = values.pop("sets", [])
    return [kind.made(schema, space, members, values) for members in sets]
