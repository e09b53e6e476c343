"""Scores of candidates: whole numbers over a public set, written as an array, a mapping or a step function."""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, cast

from sfumato.errors import ParameterError


def whole(value: object, name: str) -> int:
    """Return `value` as a Python int, refusing all that is no whole number; the message never shows a value."""
    if type(value) is int:
        return value
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ParameterError(
            f"{name} must be whole numbers, not {type(value).__name__}; "
            "quantise by floor first, for example math.floor(score / step), and count sensitivity in steps."
        )
    return int(value)


def all_whole(values: Iterable[object], name: str) -> tuple[int, ...]:
    """Return all values as Python ints; quick where they are already."""
    numbers = tuple(values)
    if set(map(type, numbers)) <= {int}:
        return cast(tuple[int, ...], numbers)
    return tuple(whole(number, name) for number in numbers)


@dataclass(frozen=True)
class StepFunction:
    """A whole-number score on the integers of `[starts[0], end)` that is constant from each start to the next.

    Python ints throughout, so that domains of 2^64 and beyond are exact; time and memory depend on the number
    of pieces, never on the size of the domain (spec INF-STEP). Starts and values may come from private data;
    the domain `[starts[0], end)` is public.

    >>> score = StepFunction([0, 10, 2**40], [0, 25, 3], end=2**64)
    >>> score(9), score(10), score.size == 2**64
    (0, 25, True)
    """

    starts: tuple[int, ...]
    values: tuple[int, ...]
    end: int

    def __init__(self, starts: Iterable[int], values: Iterable[int], end: int) -> None:
        begins = all_whole(starts, "The starts of a step function")
        heights = all_whole(values, "The values of a step function")
        stop = whole(end, "The end of a step function")
        if not begins or len(begins) != len(heights):
            raise ParameterError(
                "A step function has one value for each start, and at least one; "
                "write for example StepFunction([0, 10], [3, 7], end=100)."
            )
        if not all(map(operator.lt, begins, (*begins[1:], stop))):
            raise ParameterError("The starts of a step function must increase and stay below its end.")
        object.__setattr__(self, "starts", begins)
        object.__setattr__(self, "values", heights)
        object.__setattr__(self, "end", stop)

    @property
    def first(self) -> int:
        """The smallest candidate."""
        return self.starts[0]

    @property
    def size(self) -> int:
        """The number of candidates; `len` could not hold it."""
        return self.end - self.starts[0]

    def __call__(self, candidate: int) -> int:
        """Return the score of one candidate of the domain."""
        place = whole(candidate, "Candidates of a step function")
        if not self.first <= place < self.end:
            raise ParameterError("This candidate lies outside of the domain of the step function.")
        return self.values[bisect_right(self.starts, place) - 1]


def sparse(listed: Mapping[int, int], end: int, default: int = 0) -> StepFunction:
    """Return the scores on `[0, end)` that are `default` except for the listed candidates.

    The listed candidates may come from private data; `end` is public. A key outside of `[0, end)` is no candidate
    and is left out, silently: refusing it would tell that somebody holds it.

    >>> score = sparse({7: 12, 2**63: 40, -1: 5}, end=2**64)
    >>> score(7), score(8), score(2**63), len(score.values)
    (12, 0, 40, 5)
    """
    stop = whole(end, "The end of a step function")
    level = whole(default, "Scores")
    if stop < 1:
        raise ParameterError("end must be at least 1; candidates are the whole numbers of [0, end).")
    starts: list[int] = []
    values: list[int] = []
    reached = 0
    for key in sorted(
        place for place in (whole(key, "Candidates of a sparse score") for key in listed) if 0 <= place < stop
    ):
        if key > reached:
            starts.append(reached)
            values.append(level)
        starts.append(key)
        values.append(listed[key])
        reached = key + 1
    if reached < stop:
        starts.append(reached)
        values.append(level)
    return StepFunction(starts, values, stop)


@dataclass(frozen=True)
class Unbounded:
    """Scores on a candidate set without end, such as all texts: those not listed score 0.

    The listed keys may come from private data, for example a `collections.Counter` of the records. Taken by
    `stable` and `choosing` only: every other choice may have to name a candidate that nobody listed.
    """

    listed: Mapping[Hashable, int]


def canonical(key: Hashable) -> tuple[str, Any]:
    """Return what candidates are sorted by: the same whatever the data and the order of insertion."""
    if isinstance(key, tuple):
        return ("tuple", tuple(canonical(part) for part in key))
    if isinstance(key, (str, bytes, int)):
        return (type(key).__name__, key)
    raise ParameterError(
        f"Candidates of a mapping must be text, whole numbers or tuples of these, not {type(key).__name__}, so that "
        "their order is public; use text for the keys and look the rest up afterwards."
    )
