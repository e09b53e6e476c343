"""Tiny tables, a plain view of them, and the whole path of a question as one mechanism that can be enumerated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pyarrow

from sfumato.ask.prepared import Prepared
from sfumato.audit import Neighbours
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.privacy import ADD_REMOVE, Bound, Loss
from sfumato.questions import Question
from sfumato.table.bounding import Bounding
from sfumato.table.gauge import Basis
from sfumato.table.predicate import Predicate
from sfumato.table.schema import Schema
from sfumato.table.statistics import COUNT, Part, part_name
from sfumato.table.where import read_where
from tests.table.reference import share

Record = tuple[int, tuple[tuple[int, ...], ...]]
"""A person and their rows, each row a tuple of codes in the order of the schema's columns."""
People = tuple[Record, ...]


@dataclass(frozen=True)
class TinyView:
    """What `View` hands out, computed person by person in plain Python."""

    schema: Schema
    rule: Bounding
    people: People

    def _shares(self, keys: tuple[str, ...], measure: Part, where: Any) -> Any:
        schema, rule = self.schema, self.rule
        sizes = tuple(schema.domain(name).size or 1 for name in keys)
        total = np.zeros(sizes, np.int64)
        for who, rows in self.people:
            named = [dict(zip(schema.names, row, strict=True)) for row in rows]
            total += share(schema, rule, who, named, keys, measure, read_where(where, schema))
        return total

    def totals(self, keys: Any, measures: Any, where: Any = None) -> list[Any]:
        return [self._shares(tuple(keys), measure, where) for measure in measures]

    def sparse_counts(self, keys: Any, where: Any = None) -> dict[tuple[int, ...], int]:
        counts = self._shares(tuple(keys), COUNT, where)
        firsts = [self.schema.domain(name).first for name in keys]
        return {
            tuple(first + int(place) for first, place in zip(firsts, cell, strict=True)): int(counts[cell])
            for cell in np.ndindex(counts.shape)
            if counts[cell]
        }

    def distribution(self, column: str, where: Any = None) -> tuple[Any, Any]:
        found = self.sparse_counts((column,), where)
        codes = sorted(code for (code,) in found)
        return np.array(codes, np.int64), np.array([found[(code,)] for code in codes], np.int64)

    @property
    def table(self) -> Any:
        return SimpleNamespace(schema=self.schema)

    def _ask(self, keys: tuple[str, ...], measures: Any, where: Predicate, *, as_cells: bool) -> Any:
        assert not as_cells
        cells = list(self.sparse_counts(keys, where))
        columns: dict[str, Any] = {name: [cell[at] for cell in cells] for at, name in enumerate(keys)}
        for place, measure in enumerate(measures):
            totals = self._shares(keys, measure, where)
            firsts = [self.schema.domain(name).first for name in keys]
            columns[part_name(place)] = [
                int(totals[tuple(code - first for code, first in zip(cell, firsts, strict=True))]) for cell in cells
            ]
        return pyarrow.table({name: pyarrow.array(column, pyarrow.int64()) for name, column in columns.items()})


@dataclass(frozen=True)
class TinyTable:
    """What gauges read from, computed person by person in plain Python."""

    schema: Schema
    people: People
    source: ClassVar[Any] = SimpleNamespace(turn=nullcontext())

    def view(self, columns: Any, rule: Bounding) -> TinyView:
        return TinyView(self.schema, rule, self.people)

    def require_unchanged(self) -> None:
        """It never changes."""

    def under(self, schema: Schema) -> TinyTable:
        return self


@dataclass(frozen=True, kw_only=True)
class EndToEnd(Mechanism):
    """A question on a tiny table, from the people to the noise, through the code that ships.

    Mutants break one step: `planned` is asked for the noise instead of the question, `noise_setting` decides it, and
    `noise_spend` pays for it without proof.
    """

    spec: ClassVar[str] = "PDP:C-7"

    question: Question
    setting: Basis
    spend: Bound
    planned: Question | None = None
    noise_setting: Basis | None = None
    noise_spend: Bound | None = None

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self.__dict__:
            object.__setattr__(self, name, make())
        return self.__dict__[name]

    @property
    def prepared(self) -> Prepared:
        return self._once("_prepared", lambda: self.question.prepare(self.setting, self.spend))  # type: ignore[no-any-return]

    def _mechanism(self) -> Mechanism:
        planned, setting = self.planned or self.question, self.noise_setting or self.setting
        return self._once("_noise", lambda: planned.plan(setting, self.noise_spend or self.spend).mechanism)  # type: ignore[no-any-return]

    def exact(self, people: People) -> Any:
        known = self._once("_known", dict)
        if people not in known:
            known[people] = self.prepared.exact(TinyTable(self.setting.schema, people))  # type: ignore[arg-type]
        return known[people]

    def loss(self) -> Loss:
        return self.prepared.loss()

    def run(self, exact: People, noise: Noise) -> Any:
        return self._mechanism().run(self.exact(exact), noise)


def records(schema: Schema, most: int, who: Iterable[int] = (3,)) -> list[Record]:
    """Return every record of 1 to `most` rows."""
    rows = list(product(*(range(schema.domain(n).first, (schema.domain(n).last or 0) + 1) for n in schema.names)))
    return [(person, listed) for person in who for size in range(1, most + 1) for listed in product(rows, repeat=size)]


def neighbours(setting: Basis, others: Iterable[People], most: int) -> Iterator[Neighbours]:
    """Yield all tiny neighbours: one person is exchanged, or enters, or some of their attributes change."""
    schema = setting.schema
    found = records(schema, most, (3, 5) if schema.person is not None else (3,))
    for rest in others:
        if setting.relation is ADD_REMOVE:
            for record in found:
                yield Neighbours(rest, (*rest, record))
            continue
        for first, second in combinations(found, 2):
            yield Neighbours((*rest, first), (*rest, second))
            changed = _changed(schema, first, second)
            if changed:
                yield Neighbours((*rest, first), (*rest, second), changed)


def _changed(schema: Schema, first: Record, second: Record) -> frozenset[str] | None:
    if first[0] != second[0] or len(first[1]) != len(second[1]):
        return None
    pairs = list(zip(first[1], second[1], strict=True))
    differ = {name for at, name in enumerate(schema.names) if any(a[at] != b[at] for a, b in pairs)}
    return frozenset(differ) & frozenset(schema.attributes) or None


def distinct(mechanism: EndToEnd, pairs: Iterable[Neighbours], *, linear: bool) -> list[Neighbours]:
    """Keep one pair of each kind: of each two exact inputs, or of each difference where only that matters."""
    known: dict[People, Any] = {}
    kept: dict[Any, Neighbours] = {}
    for pair in pairs:
        for people in (pair.exact, pair.other):
            if people not in known:
                known[people] = plain(mechanism.exact(people))
        first, second = known[pair.exact], known[pair.other]
        if first == second:
            continue
        key = (minus(first, second) if linear else (first, second), pair.attributes)
        # Both orders of a pair are measured, so that a difference and its negative are one kind.
        mirrored = (minus(second, first) if linear else (second, first), pair.attributes)
        if mirrored not in kept:
            kept.setdefault(key, pair)
    return list(kept.values())


class Later(Sequence[Neighbours]):
    """Pairs that are found when they are first needed, so that collecting tests stays quick."""

    def __init__(self, find: Callable[[], list[Neighbours]]) -> None:
        self.find = cache(find)

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(self.find())

    def __getitem__(self, at: Any) -> Any:
        return self.find()[at]


def plain(exact: Any) -> Any:
    """Return exact numbers as nested tuples."""
    if isinstance(exact, np.ndarray):
        return tuple(exact.ravel().tolist())
    if isinstance(exact, Mapping):
        return tuple(sorted((key, plain(value)) for key, value in exact.items()))
    if isinstance(exact, (tuple, list)):
        return tuple(plain(part) for part in exact)
    return int(exact)


def minus(first: Any, second: Any) -> Any:
    if isinstance(first, tuple):
        return tuple(minus(one, two) for one, two in zip(first, second, strict=True))
    return first - second
