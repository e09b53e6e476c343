"""Products of independent components, each an explicit table of log-weights; one component is the dense model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.model.base import MOST_CELLS, Codes, Floats, Model, packed, unpacked
from sfumato.model.rows import shuffled, systematic
from sfumato.noise import Noise
from sfumato.workload.space import Space

if TYPE_CHECKING:
    from sfumato.workload.blocks import Block


@dataclass(frozen=True, eq=False, repr=False)
class Component:
    """Some columns and the logarithm of an unnormalised probability for each of their combinations."""

    columns: tuple[str, ...]
    log_weights: Floats

    @classmethod
    def of(cls, columns: tuple[str, ...], probabilities: Floats) -> Component:
        """Return the component with these probabilities; what is impossible gets a weight too small to matter."""
        return cls(columns, np.log(np.maximum(probabilities, 1e-300)))

    @cached_property
    def probabilities(self) -> Floats:
        """The probabilities, which add up to 1."""
        weights = np.exp(self.log_weights - self.log_weights.max())
        return np.asarray(weights / weights.sum())

    def over(self, names: Iterable[str]) -> Floats:
        """Return the probabilities over some of the columns, in the order given."""
        wanted = tuple(names)
        axes = [self.columns.index(name) for name in wanted]
        rest = tuple(axis for axis in range(len(self.columns)) if axis not in axes)
        summed = self.probabilities.sum(axis=rest)
        order = np.argsort(np.argsort(axes))
        return np.transpose(summed, order)

    def plus(self, columns: tuple[str, ...], table: Floats) -> Component:
        """Return the component with a table over some of its columns added to its log-weights."""
        axes = [self.columns.index(name) for name in columns]
        ordered = np.transpose(table, np.argsort(axes))
        sizes = self.log_weights.shape
        shape = [sizes[axis] if axis in axes else 1 for axis in range(len(sizes))]
        return Component(self.columns, self.log_weights + ordered.reshape(shape))


@dataclass(frozen=True, eq=False, repr=False)
class Factored(Model):
    """Independent components that together hold every column once (QR-MWEMF); one component is the dense model.

    Frozen: `update` and `merge` return another model. Time and memory of an update are those of the component that
    it touches, at most `max_cells` cells.

    >>> from sfumato import Schema, booleans
    >>> space = Space.of(Schema({"rain": booleans(missing=False), "wind": booleans(missing=False)}))
    >>> apart = Factored.product(space, 100, {"rain": np.array([0.75, 0.25]), "wind": np.array([0.5, 0.5])})
    >>> len(apart.components), len(apart.merge(["rain", "wind"]).components), apart.marginal("rain").round(2).tolist()
    (2, 1, [0.75, 0.25])
    """

    kind: ClassVar[str] = "factored"

    space: Space
    total: float
    components: tuple[Component, ...]
    max_cells: int = MOST_CELLS

    def __post_init__(self) -> None:
        listed = [name for component in self.components for name in component.columns]
        if sorted(listed) != sorted(self.space.names):
            raise ParameterError("The components of a factored model hold every column of its space exactly once.")
        for component in self.components:
            if component.log_weights.shape != tuple(self.space.shape(component.columns)):
                raise ParameterError("The log-weights of a component have one axis for each column, of its size.")

    @classmethod
    def uniform(
        cls,
        space: Space,
        total: float,
        groups: Iterable[Iterable[str]] | None = None,
        max_cells: int = MOST_CELLS,
    ) -> Factored:
        """Return the uniform model with one component for each group of columns; by default one for all columns."""
        listed = [space.names] if groups is None else [tuple(group) for group in groups]
        for names in listed:
            _refuse_large(space, names, max_cells)
        components = tuple(Component(names, np.zeros(space.shape(names))) for names in listed)
        return cls(space, float(total), components, max_cells)

    @classmethod
    def product(cls, space: Space, total: float, tables: Mapping[str, Floats]) -> Factored:
        """Return the model of independent columns with these probabilities."""
        components = tuple(Component.of((name,), tables[name]) for name in space.names)
        return cls(space, float(total), components)

    def _marginal(self, names: tuple[str, ...]) -> Floats:
        found: Floats = np.ones(())
        order: list[str] = []
        for component in self.components:
            own = [name for name in names if name in component.columns]
            if own:
                found = np.multiply.outer(found, component.over(own))
                order += own
        return np.transpose(found, [order.index(name) for name in names])

    def merge(self, names: Iterable[str]) -> Factored:
        """Return the same distribution with all components that hold one of these columns made into one."""
        wanted = set(names)
        self.space.places(tuple(wanted), "this model")
        touched = [component for component in self.components if wanted & set(component.columns)]
        if len(touched) < 2:
            return self
        columns = tuple(name for component in touched for name in component.columns)
        _refuse_large(self.space, columns, self.max_cells)
        joined: Floats = np.zeros(())
        for component in touched:
            joined = np.add.outer(joined, component.log_weights)
        rest = tuple(component for component in self.components if component not in touched)
        return replace(self, components=(*rest, Component(columns, joined)))

    def cells_after(self, names: Iterable[str]) -> int:
        """Return how many cells the component would have that a merge over these columns makes."""
        wanted = set(names)
        touched = [component for component in self.components if wanted & set(component.columns)]
        return prod(component.log_weights.size for component in touched)

    def update(self, block: Block, theta: Any) -> Factored:
        """Return the model with every cell x weighed by exp(Σ theta_q·q(x)), merging components where needed."""
        table = np.asarray(block.transpose(np.asarray(theta, dtype=np.float64)), dtype=np.float64)
        return self.tilt(tuple(block.columns), table / block.denominator)

    def tilt(self, columns: tuple[str, ...], table: Floats) -> Factored:
        """Return the model with a table over some columns added to its log-weights."""
        merged = self.merge(columns)
        shaped = np.asarray(table, dtype=np.float64).reshape(self.space.shape(columns))
        wanted = set(columns)
        changed = tuple(
            component.plus(columns, shaped) if wanted <= set(component.columns) else component
            for component in merged.components
        )
        return replace(merged, components=changed)

    def codes(self, rows: int, noise: Noise) -> Codes:
        """Return rows: each component's cells are filled systematically, then joined in random order."""
        found = np.empty((rows, len(self.space.names)), dtype=np.int64)
        for component in self.components:
            counts = systematic(component.probabilities.ravel(), rows, noise)
            cells = np.repeat(np.arange(counts.size), counts)[shuffled(rows, noise)]
            places = self.space.places(component.columns)
            for place, codes in zip(places, np.unravel_index(cells, component.log_weights.shape), strict=True):
                found[:, place] = codes
        return found

    def _record(self) -> dict[str, Any]:
        parts = [{"columns": list(one.columns), "log_weights": packed(one.log_weights)} for one in self.components]
        return {"components": parts, "max_cells": self.max_cells}

    @classmethod
    def _read(cls, space: Space, total: float, record: Mapping[str, Any]) -> Factored:
        parts = (Component(tuple(one["columns"]), unpacked(one["log_weights"])) for one in record["components"])
        return cls(space, total, tuple(parts), record["max_cells"])


def _refuse_large(space: Space, names: tuple[str, ...], most: int) -> None:
    cells = prod(space.shape(names))
    if cells > most:
        raise DomainTooLarge(
            f"All combinations of {', '.join(names)} are {cells} cells, and an explicit table holds at most {most}; "
            "choose fewer columns, derive coarser bins in the schema, or use method='auto', which needs no table.",
            method="auto",
        )
