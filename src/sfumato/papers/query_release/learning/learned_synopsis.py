"""A trained learner as a synopsis: it answers every query of its class, and says how well."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.answer import Frame
from sfumato.errors import ParameterError
from sfumato.papers.query_release.learning.learned import LearnedAnswers
from sfumato.questions.synopsis.base import Floats, Synopsis


class LearnedSynopsis(Synopsis):
    """All queries of a class from a learner that was trained on noisy shares of some of them.

    `stderr` is the error of a fresh random query, judged by queries left out; single queries may be off by more. Saved
    as JSON it is the labelled queries: `synopsis_from_json(record).fit(learner)` makes it again.
    """

    def __init__(self, labelled: Any, answers: LearnedAnswers) -> None:
        self.labelled, self.answers = labelled, answers
        self.columns, self.people = labelled.columns, labelled.people

    @property
    def repaired(self) -> bool:
        """Whether the learner failed and the mean of the noisy shares stands in for it."""
        return self.answers.repaired

    @cached_property
    def error(self) -> float:
        """About the root mean squared error of a fresh random query."""
        return self.answers.error

    def _shares(self, queries: Any) -> Floats:
        asked = self.labelled.features(queries)
        found = self.answers.raw(asked)
        places, known = self._known(asked)
        # A query that was answered itself is also known by its own noisy share; each counts by its precision.
        own, weight = self.answers.training.shares[places], self._trust
        return np.where(known, weight * own + (1 - weight) * found, found)

    @property
    def _trust(self) -> float:
        """How much the noisy share of a query counts beside what the learner says of it."""
        if not self.answers.judged:
            return 0.0
        return self.error**2 / (self.error**2 + self.answers.training.variance)

    def _known(self, asked: Floats) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return for every query the place of the labelled one that it equals, and whether there is one."""
        listed, order = self._sorted
        wanted = _names(asked)
        places = order[np.minimum(np.searchsorted(listed[order], wanted), len(order) - 1)]
        return places, np.asarray(listed[places] == wanted)

    @cached_property
    def _sorted(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        listed = _names(self.answers.training.features)
        return listed, np.argsort(listed)

    def stderr(self, queries: Any) -> Floats:
        """Return the error of a fresh random query, less for a query whose own noisy share is known."""
        asked = self.labelled.features(queries)
        _, known = self._known(asked)
        return np.where(known, self.error * math.sqrt(1 - self._trust), self.error)

    def to_frame(self) -> Frame:
        """Return the queries it was trained on, their noisy shares and what it answers."""
        frame: Frame = self.labelled.to_frame()
        shown = len(frame.columns["share"])
        found = self.answers.answer(self.answers.training.features[:shown])
        return Frame(frame.keys, {**frame.columns, "answer": tuple(found.tolist())})

    def to_json(self) -> dict[str, Any]:
        """Return the labelled queries as JSON."""
        record: dict[str, Any] = self.labelled.to_json()
        return record

    def _record(self) -> dict[str, Any]:
        return self.to_json()

    @classmethod
    def _read(cls, columns: tuple[str, ...], people: float, record: Any) -> Synopsis:
        raise ParameterError("Read the labelled queries by synopsis_from_json, and train the learner again by fit.")


def _names(features: Floats) -> NDArray[Any]:
    """Return one text of bytes for every row of features -1, 0 and 1; rows are equal if and only if their texts are."""
    shifted = np.ascontiguousarray(features + 1, dtype=np.uint8)
    return shifted.view(f"S{shifted.shape[1]}").ravel()
