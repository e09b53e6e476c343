"""Models of disjoint columns that say nothing about each other, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from sfumato.errors import ParameterError
from sfumato.model.base import Codes, Floats, Model, read_model
from sfumato.noise import Noise
from sfumato.workload.space import Space


@dataclass(frozen=True, eq=False, repr=False)
class Joined(Model):
    """Independent models that together hold every column once: P(x) = Π P_i(x_i).

    >>> from sfumato import Schema, booleans
    >>> from sfumato.model import Factored
    >>> space = Space.of(Schema({"rain": booleans(missing=False), "wind": booleans(missing=False)}))
    >>> parts = [Factored.uniform(part_of(space, [name]), 100) for name in space.names]
    >>> Joined(space, 100, tuple(parts)).marginal(["wind", "rain"]).tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    """

    kind: ClassVar[str] = "joined"

    space: Space
    total: float
    parts: tuple[Model, ...]

    def __post_init__(self) -> None:
        if sorted(name for part in self.parts for name in part.space.names) != sorted(self.space.names):
            raise ParameterError("Joined models hold every column of their space exactly once.")

    def _marginal(self, names: tuple[str, ...]) -> Floats:
        own = [tuple(name for name in names if name in part.space.names) for part in self.parts]
        tables = [part.marginal(held) for part, held in zip(self.parts, own, strict=True) if held]
        order = [name for held in own for name in held]
        found: Floats = reduce(np.multiply.outer, tables, np.ones(()))
        return np.transpose(found, [order.index(name) for name in names])

    def codes(self, rows: int, noise: Noise) -> Codes:
        """Return rows: those of every part, each in a random order of its own."""
        found = np.empty((rows, len(self.space.names)), dtype=np.int64)
        for part in self.parts:
            found[:, list(self.space.places(part.space.names))] = part.codes(rows, noise)
        return found

    def _record(self) -> dict[str, Any]:
        return {"parts": [{"columns": list(part.space.names), **part.to_json()} for part in self.parts]}

    @classmethod
    def _read(cls, space: Space, total: float, record: Mapping[str, Any]) -> Joined:
        parts = (read_model(one, part_of(space, one["columns"])) for one in record["parts"])
        return cls(space, total, tuple(parts))


def part_of(space: Space, names: Sequence[str]) -> Space:
    """Return the space of some columns, in the order given; sizes are kept, so that bins stay bins."""
    places = space.places(names)

    def some(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(values[place] for place in places)

    return Space(tuple(names), some(space.sizes), some(space.attributes), some(space.domains))
