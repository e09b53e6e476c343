"""The one form to which every choice brings its scores: levels of equal score, and the names of the candidates."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.select.scores import StepFunction, Unbounded, all_whole, canonical


@dataclass(frozen=True)
class Candidates:
    """A public, ordered set of candidates with their scores, grouped by score.

    Candidates are numbered from 0 in an order that carries no data. A level is all candidates of one score:
    choices draw a level first and a member of it afterwards, so that they cost O(pieces), not O(candidates).
    """

    scores: StepFunction
    names: tuple[Hashable, ...] | None = None

    @property
    def size(self) -> int:
        """The public number of candidates."""
        return self.scores.size

    def name(self, place: int) -> Any:
        """Return the candidate of this number as the caller knows it."""
        return self.scores.first + place if self.names is None else self.names[place]

    @cached_property
    def _runs(self) -> dict[int, list[tuple[int, int]]]:
        """For each score, the runs (first place, length) of candidates that have it, in order."""
        found: dict[int, list[tuple[int, int]]] = {}
        first = self.scores.first
        ends = (*self.scores.starts[1:], self.scores.end)
        for start, end, value in zip(self.scores.starts, ends, self.scores.values, strict=True):
            found.setdefault(value, []).append((start - first, end - start))
        return found

    @cached_property
    def levels(self) -> list[tuple[int, int]]:
        """Pairs (score, number of candidates), best score first."""
        runs = self._runs
        return [(value, sum(length for _, length in runs[value])) for value in sorted(runs, reverse=True)]

    def member(self, value: int, rank: int) -> int:
        """Return the place of the candidate of this rank within a level."""
        for start, length in self._runs[value]:
            if rank < length:
                return start + rank
            rank -= length
        raise IndexError("A level has no such rank.")

    def ranked(self) -> Iterator[tuple[int, int]]:
        """Yield (score, place), best score first, equal scores in the public order."""
        for value, _ in self.levels:
            for start, length in self._runs[value]:
                for offset in range(length):
                    yield value, start + offset

    @cached_property
    def winner(self) -> tuple[int, int]:
        """The place of the best candidate, the first one if several are, and its lead on the second best."""
        best, count = self.levels[0]
        place = self._runs[best][0][0]
        if count > 1 or len(self.levels) == 1:
            return place, 0
        return place, best - self.levels[1][0]


def normalise(scores: Any) -> Candidates:
    """Bring an array, a sequence, a mapping or a step function to the one form.

    >>> normalise({"tram": 3, "bus": 5}).names
    ('bus', 'tram')
    """
    if isinstance(scores, StepFunction):
        return Candidates(scores)
    if isinstance(scores, Mapping):
        keys = sorted(scores, key=canonical)
        return Candidates(_dense([scores[key] for key in keys]), tuple(keys))
    if isinstance(scores, np.ndarray):
        return Candidates(_array(scores))
    if isinstance(scores, Sequence) and not isinstance(scores, (str, bytes)):
        return Candidates(_dense(scores))
    if isinstance(scores, Unbounded):
        raise ParameterError(
            "This choice may have to name a candidate that nobody listed, so it needs a set with an end; "
            "write select.sparse(listed, end=...), or use select.stable or select.choosing."
        )
    raise ParameterError(
        f"Scores must be an integer array, a mapping from candidates to whole numbers or a StepFunction, "
        f"not {type(scores).__name__}."
    )


def normalise_listed(listed: Mapping[Hashable, Any]) -> Candidates | None:
    """Bring a mapping whose keys may be private to the one form, in its own order; None if it is empty.

    Only for choices whose law does not depend on the order: no key is compared with another, so that keys of
    any kind pass.
    """
    return Candidates(_dense(list(listed.values())), tuple(listed)) if listed else None


def checked_array(scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array of scores, refusing by its public shape and type what is none."""
    if scores.ndim != 1:
        raise ParameterError("An array of scores must have one dimension; number the candidates with ravel() first.")
    if scores.dtype.kind not in "iu":
        raise ParameterError(
            f"Scores must be whole numbers, not {scores.dtype}; quantise by floor first, for example "
            "np.floor(scores / step).astype(np.int64), and count sensitivity in steps."
        )
    if scores.size == 0:
        raise ParameterError("There are no candidates to choose from; the public list needs at least one.")
    return scores


def _array(scores: np.ndarray[Any, Any]) -> StepFunction:
    checked_array(scores)
    starts = np.append(0, np.flatnonzero(scores[1:] != scores[:-1]) + 1)
    return StepFunction(starts.tolist(), scores[starts].tolist(), scores.size)


def _dense(scores: Sequence[Any]) -> StepFunction:
    if len(scores) == 0:
        raise ParameterError("There are no candidates to choose from; the public list needs at least one.")
    values = all_whole(scores, "Scores")
    starts = [place for place, value in enumerate(values) if place == 0 or value != values[place - 1]]
    return StepFunction(starts, [values[start] for start in starts], len(values))
