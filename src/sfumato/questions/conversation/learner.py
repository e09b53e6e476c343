"""What a conversation has learned: multiplicative weights on what was corrected, replayed until they fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DomainTooLarge
from sfumato.model.factored import Component, Factored
from sfumato.questions.conversation.queries import LinearQuery
from sfumato.questions.conversation.support import SupportModel
from sfumato.questions.conversation.tables import QuickSums, Sums

PASSES, WORST, RECENT = 2, 6, 128
"""After a correction, in each of two passes, the six that fit worst of the last 128 are learned again."""


Tilting = Factored | SupportModel
"""A model whose log-weights take a table over some columns."""


@dataclass
class Lesson:
    """A query that was corrected, its corrected value between 0 and 1, and its weight in the model."""

    query: LinearQuery
    value: float
    theta: float = 0.0


class Learner:
    """A model that is tilted towards every correction (QR:C-15).

    A model that misses a corrected value by d, of which `margin` may be noise, is tilted by exp(4(|d| - margin)·f)
    up or down. If the noise is within the margin, this takes 2(|d| - margin)² at least off the relative entropy to
    the data, for a new correction and for an old one that is learned again. All of it is computed from what was
    answered: it costs nothing.
    """

    def __init__(self, model: Tilting, gain: float, margin: float) -> None:
        self.model: Tilting = model
        self.lessons: list[Lesson] = []
        self._gain, self._margin = gain, margin
        self._answers: QuickSums | None = None
        self._sums: dict[tuple[str, ...], tuple[Component, Sums]] = {}

    def expect(self, queries: Sequence[LinearQuery]) -> NDArray[np.float64]:
        """Return the model's value of each query, between 0 and 1."""
        if self._answers is None:
            self._answers = QuickSums(self.model.space, self._table)
        if len(queries) == 1:
            value = self._answers.one(queries[0]) / max(queries[0].unit, 1)
            return np.array([min(max(value, 0.0), 1.0)])
        units = np.array([max(query.unit, 1) for query in queries], dtype=np.float64)
        return np.clip(self._answers.of(queries) / units, 0.0, 1.0)

    def learn(self, query: LinearQuery, value: float) -> None:
        """Take in a correction, then learn again what the model now misses by more than noise."""
        lesson = Lesson(query, min(max(value, 0.0), 1.0))
        self.lessons.append(lesson)
        missed = lesson.value - float(self.expect([query])[0])
        size = max(self._gain, abs(missed) - self._margin)
        self._tilt(lesson, 4 * size if missed >= 0 else -4 * size)
        for _ in range(PASSES):
            recent = self.lessons[-RECENT:]
            missing = np.abs(self._missing(recent)) - self._margin
            for place in np.argsort(-missing)[:WORST].tolist():
                if missing[place] > 0:
                    self._replay(recent[place])

    def _replay(self, lesson: Lesson) -> None:
        """Learn a correction again by as much as the model now misses it beyond noise."""
        missed = float(self._missing([lesson])[0])
        if abs(missed) > self._margin:
            self._tilt(lesson, 4 * (missed - math.copysign(self._margin, missed)))

    def _missing(self, lessons: Sequence[Lesson]) -> NDArray[np.float64]:
        return np.array([one.value for one in lessons]) - self.expect([one.query for one in lessons])

    def restore(self, lessons: Sequence[Lesson]) -> None:
        """Take the weights of lessons that were learned before."""
        self.lessons = list(lessons)
        tables: dict[tuple[str, ...], NDArray[np.float64]] = {}
        for lesson in self.lessons:
            if lesson.theta:
                table = lesson.theta * self._numbers(lesson.query)
                tables[lesson.query.columns] = tables.get(lesson.query.columns, 0.0) + table
        for columns, table in tables.items():
            self.model = self.model.tilt(columns, table)
        self._answers = None

    def _table(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return the model's probabilities over some columns; of its parts, sums are kept until they change."""
        if not isinstance(self.model, Factored):
            return self.model.marginal(names)
        found: NDArray[np.float64] = np.ones(())
        order: list[str] = []
        for component in self.model.components:
            own = [place for place, name in enumerate(component.columns) if name in names]
            if own:
                found = np.multiply.outer(found, self._parts(component).over(own))
                order += [component.columns[place] for place in own]
        return np.transpose(found, [order.index(name) for name in names])

    def _parts(self, component: Component) -> Sums:
        known = self._sums.get(component.columns)
        if known is None or known[0] is not component:
            known = self._sums[component.columns] = component, Sums(component.probabilities)
        return known[1]

    def _tilt(self, lesson: Lesson, theta: float) -> None:
        columns = lesson.query.columns
        try:
            self.model = self.model.tilt(columns, theta * self._numbers(lesson.query))
        except DomainTooLarge:
            return  # The answer stands; a model of independent parts is too small to hold it.
        lesson.theta += theta
        self._answers = None

    def _numbers(self, query: LinearQuery) -> NDArray[np.float64]:
        shape = self.model.space.shape(query.columns)
        return query.table(shape) / max(query.unit, 1)
