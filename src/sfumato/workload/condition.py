"""Blocks of one condition, worked out for the codes that it tells apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.table.predicate import All, Codes, Texts, columns, from_json, to_json
from sfumato.table.predicate import Predicate as Condition
from sfumato.table.schema import Schema
from sfumato.workload.blocks import Block
from sfumato.workload.moves import NOTHING, counted
from sfumato.workload.space import Space


@dataclass(frozen=True)
class Predicate(Block):
    """How many rows fulfil a condition on the columns; the condition is worked out for every cell beforehand."""

    kind: ClassVar[str] = "predicate"
    where: Condition = field(default_factory=All)
    firsts: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        hidden = sorted(columns(self.where) - set(self.columns))
        if hidden:
            raise ParameterError(f"The condition reads {', '.join(hidden)}, which the query does not declare; add it.")

    @cached_property
    def mask(self) -> NDArray[np.int64]:
        """Where the condition holds: 1 or 0 for every cell."""
        found: NDArray[np.int64] = self.restricted([np.arange(size) for size in self.shape])[0]
        found.setflags(write=False)
        return found

    def restricted(self, codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """One where the condition holds, worked out for these codes only."""
        return np.broadcast_to(self._holds(self.where, codes), [len(one) for one in codes]).astype(np.int64)[None]

    def edges(self, axis: int) -> NDArray[np.int64]:
        """Both ends of every interval of codes that the condition names."""
        ends = np.array([0, *_ends(self.where, self.columns[axis])], dtype=np.int64)
        ends[1:] -= self.firsts[axis]
        return np.unique(ends[(ends >= 0) & (ends < self.shape[axis])])

    @cached_property
    def _told_apart(self) -> NDArray[np.int64]:
        """Where the condition holds, for one code of each run that it does not tell apart."""
        found: NDArray[np.int64] = self.restricted([self.edges(axis) for axis in range(len(self.shape))])[0]
        return found

    def _holds(self, where: Condition, listed: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_]:
        if isinstance(where, Codes):
            axis = self.columns.index(where.column)
            codes = self.firsts[axis] + listed[axis]
            inside = np.zeros(len(codes), dtype=bool)
            for low, high in where.intervals:
                inside |= (codes >= low) & (codes <= high)
            return inside.reshape([-1 if place == axis else 1 for place in range(len(self.shape))])
        assert not isinstance(where, Texts), "A space has no text columns."
        every = isinstance(where, All)
        found = np.full((1,) * len(self.shape), every)
        for part in where.parts:
            found = found & self._holds(part, listed) if every else found | self._holds(part, listed)
        return found

    @property
    def queries(self) -> int:
        """One."""
        return 1

    def evaluate(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return the sum over the cells where the condition holds."""
        return np.array([(np.asarray(table) * self.mask).sum()])

    def transpose(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return the weight where the condition holds."""
        return np.asarray(np.asarray(weights)[0] * self.mask)

    def labels(self, space: Space) -> list[tuple[Any, ...]]:
        """Name the columns of the condition."""
        return [(", ".join(self.columns),)]

    @property
    def headings(self) -> tuple[str, ...]:
        """What the condition is about."""
        return ("condition on",)

    def added(self) -> Sensitivity:
        """A row counts one if the condition can hold at all."""
        return counted(int(self._told_apart.max()))

    def replaced(self, moving: Sequence[bool]) -> Sensitivity:
        """A row comes to count, or counts no more, if some moving column decides anywhere."""
        axes = tuple(axis for axis, free in enumerate(moving) if free)
        holds = self._told_apart
        return counted(int((holds.max(axis=axes) - holds.min(axis=axes)).max())) if axes else NOTHING

    def extras(self) -> dict[str, Any]:
        """Return the condition in its canonical form."""
        return {"where": to_json(self.where)}

    @classmethod
    def made(cls, schema: Schema, space: Space, columns: Sequence[str], extras: Mapping[str, Any]) -> Block:
        """Return the block of a stored condition."""
        return cls(
            tuple(columns),
            space.listed(columns),
            from_json(extras["where"], schema),
            tuple(space.domains[place].first for place in space.places(columns)),
        )


def _ends(where: Condition, column: str) -> list[int]:
    """Return the codes of a column at which a condition may begin to hold, or to hold no more."""
    if isinstance(where, Codes):
        return [end for low, high in where.intervals for end in (low, high + 1)] if where.column == column else []
    assert not isinstance(where, Texts), "A space has no text columns."
    return [end for part in where.parts for end in _ends(part, column)]
