"""What a model expects of all candidates at once; only what a changed component touches is computed again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.exact.transform import walsh_hadamard
from sfumato.model.factored import Component, Factored
from sfumato.papers.query_release.weights.candidates import Candidates, Floats

Pattern = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
"""For each component that a set of columns touches, the axes that it gives and their sizes."""

MANY = 32
"""From so many tables of one component of bits on, all of them are read from one Walsh-Hadamard transform."""


class Predictor:
    """Expectations of the candidates under a factored model, in one row, in units of persons times width per person."""

    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates
        self.sets = list(dict.fromkeys(block.columns for block in candidates.blocks))
        place = {columns: at for at, columns in enumerate(self.sets)}
        self.set_of = [place[block.columns] for block in candidates.blocks]
        self._tables: list[Floats] = [np.ones(())] * len(self.sets)
        self._made_of: list[tuple[Component, ...]] = [()] * len(self.sets)

    def __call__(self, model: Factored) -> Floats:
        """Return what the model expects of every candidate's numbers for one row."""
        self._refresh(model)
        answers: list[Any] = []
        for block, at in zip(self.candidates.blocks, self.set_of, strict=True):
            answers.append(np.asarray(block.evaluate(self._tables[at]), dtype=np.float64))
        return np.asarray(self.candidates.flat(answers, 1.0))

    def _refresh(self, model: Factored) -> None:
        owner = {name: component for component in model.components for name in component.columns}
        inside: dict[int, tuple[Component, list[int]]] = {}
        across: dict[Pattern, list[tuple[int, list[Floats]]]] = {}
        known: dict[tuple[str, ...], Floats] = {}
        for at, columns in enumerate(self.sets):
            made_of = tuple(owner[name] for name in columns)
            before = self._made_of[at]
            if before and all(new is old for new, old in zip(made_of, before, strict=True)):
                continue
            self._made_of[at] = made_of
            if all(component is made_of[0] for component in made_of):
                inside.setdefault(id(made_of[0]), (made_of[0], []))[1].append(at)
            else:
                pattern, pieces = _pieces(columns, made_of, known)
                across.setdefault(pattern, []).append((at, pieces))
        for pattern, found in across.items():
            self._multiplied(pattern, found)
        for component, places in inside.values():
            if len(places) >= MANY and set(component.log_weights.shape) == {2}:
                self._transformed(component, places)
            else:
                for at in places:
                    self._tables[at] = component.over(self.sets[at])

    def _multiplied(self, pattern: Pattern, found: list[tuple[int, list[Floats]]]) -> None:
        """Multiply the tables of independent components, all sets of one pattern at once."""
        letters = "abcdefghijklmnopqrstuvwxy"
        width = sum(len(axes) for axes, _ in pattern)
        terms = ",".join("z" + "".join(letters[axis] for axis in axes) for axes, _ in pattern)
        stacks = [np.stack([pieces[piece] for _, pieces in found]) for piece in range(len(pattern))]
        tables = np.einsum(f"{terms}->z{letters[:width]}", *stacks)
        for row, (at, _) in enumerate(found):
            self._tables[at] = tables[row]

    def _transformed(self, component: Component, places: Sequence[int]) -> None:
        """Read many small tables of bits from one transform: a table's parities are among the component's."""
        spectrum = _walsh(component.probabilities)
        bit = {name: 1 << (len(component.columns) - 1 - at) for at, name in enumerate(component.columns)}
        by_width: dict[int, list[int]] = {}
        for at in places:
            by_width.setdefault(len(self.sets[at]), []).append(at)
        for width, alike in by_width.items():
            masks = np.zeros((len(alike), 1), dtype=np.int64)
            for axis in range(width):
                bits = np.array([bit[self.sets[at][axis]] for at in alike], dtype=np.int64)[:, None]
                masks = np.stack((masks, masks + bits), axis=-1).reshape(len(alike), -1)
            tables = _walsh(spectrum.ravel()[masks].reshape(-1, *(2,) * width), first=1) / 2**width
            for row, at in enumerate(alike):
                self._tables[at] = np.maximum(tables[row], 0)


def _pieces(
    columns: Sequence[str], made_of: Sequence[Component], known: dict[tuple[str, ...], Floats]
) -> tuple[Pattern, list[Floats]]:
    """Return which axes come from the same component, with their sizes, and the table of each component."""
    axes: dict[int, list[int]] = {}
    for axis, component in enumerate(made_of):
        axes.setdefault(id(component), []).append(axis)
    pieces = []
    pattern = []
    for own_axes in axes.values():
        own = tuple([columns[axis] for axis in own_axes])
        table = known.get(own)
        if table is None:
            table = known[own] = made_of[own_axes[0]].over(own)
        pieces.append(table)
        pattern.append((tuple(own_axes), table.shape))
    return tuple(pattern), pieces


def _walsh(table: Floats, first: int = 0) -> Floats:
    """Return the Walsh-Hadamard transform over all axes of length 2 from `first` on."""
    rows = np.asarray(table, dtype=np.float64).reshape(*table.shape[:first], -1)
    return np.asarray(walsh_hadamard(rows).reshape(table.shape))
