"""The shape of an answer: a value, how far noise may have moved it, what it cost, and what is left.

An answer never holds the true value or the noise. Its interval covers what the noise did, not the luck of who
is in the table; it says so wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one, from_text, rational_ball, to_text
from sfumato.exact.enclosure import precision
from sfumato.mechanism import Event
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Law, SinhNormal
from sfumato.noise.laws.search import smallest
from sfumato.privacy import Cost, Loss

if TYPE_CHECKING:
    from sfumato.show import Drawing

_LAWS: Mapping[str, type[Law]] = {kind.__name__: kind for kind in (DiscreteLaplace, DiscreteGaussian, SinhNormal)}


def half_width(law: Law, confidence: Number) -> int:
    """Return the least t such that symmetric noise stays within -t … t with at least this probability.

    >>> half_width(DiscreteLaplace(10), 0.95)
    30
    """
    return _half_width(law, between_zero_and_one(confidence, "confidence"))


@lru_cache(maxsize=1024)
def _half_width(law: Law, confidence: Fraction) -> int:
    outside = (1 - confidence) / 2
    with precision(128):
        return max(0, smallest(lambda bound: bool(law.tail(bound) <= rational_ball(outside))))


@lru_cache(maxsize=4096)
def _lowest(law: Law, threshold: int, released: int, confidence: Fraction) -> int:
    """Return the least count, not below 0, for which so high a number among those published is no surprise.

    A number is published only from the threshold on, so that of small counts only those with large noise are seen:
    what counts is P[count + noise >= released | count + noise >= threshold].
    """
    outside = (1 - confidence) / 2

    def plausible(count: int) -> bool:
        with precision(128):
            rare = rational_ball(outside) * law.tail(threshold - 1 - count)
            return bool(law.tail(released - 1 - count) >= rare)

    # Far above the threshold nothing is hidden, and the plain interval is right to many digits.
    near = threshold + 8 * _half_width(law, confidence)
    if released > near:
        return max(0, _lowest(law, threshold, near, confidence) + released - near)
    low, high = -1, released
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if plausible(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class Measured:
    """Integers that were released, the law of the noise in each, and what one integer step is worth.

    Without a law the numbers are exact, because they are public or because they were chosen, not perturbed. With a
    threshold only numbers from there on were released, and counts are zero or more.
    """

    name: str
    released: tuple[int, ...]
    law: Law | None
    unit: Fraction = Fraction(1)
    threshold: int | None = None

    def values(self) -> tuple[Fraction, ...]:
        """Return the released numbers in the unit of the question."""
        return tuple(number * self.unit for number in self.released)

    def width(self, confidence: Fraction) -> Fraction:
        """Return the half-width of an interval for one of the numbers; 0 if no noise was added."""
        return Fraction(0) if self.law is None else half_width(self.law, confidence) * self.unit

    def between(self, cell: int, confidence: Fraction) -> tuple[Fraction, Fraction]:
        """Return an interval for one of the numbers without its noise, given that it was released."""
        number, width = self.released[cell], self.width(confidence)
        low = number * self.unit - width
        if self.law is not None and self.threshold is not None:
            low = min(low, _lowest(self.law, self.threshold, number, confidence) * self.unit)
        return low, number * self.unit + width

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object with exact numbers."""
        law = None
        if self.law is not None:
            numbers = {part.name: to_text(getattr(self.law, part.name)) for part in fields(self.law)}  # type: ignore[arg-type]
            law = {"name": type(self.law).__name__, **numbers}
        shown = {"name": self.name, "released": list(self.released), "law": law, "unit": to_text(self.unit)}
        return shown if self.threshold is None else {**shown, "threshold": self.threshold}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Measured:
        """Read what `to_json` wrote."""
        law = None
        if record["law"] is not None:
            numbers = dict(record["law"])
            law = _LAWS[numbers.pop("name")](**{key: Fraction(value) for key, value in numbers.items()})
        released, unit = tuple(record["released"]), Fraction(record["unit"])
        return cls(record["name"], released, law, unit, record.get("threshold"))


@dataclass(frozen=True)
class Released:
    """All that left the house for one question: measured integers, one for each cell of its keys.

    `facts` are public numbers that reading needs, such as the range of a column. `made` is JSON computed from what was
    released alone, such as a fitted model: it saves computing it again.
    """

    parts: tuple[Measured, ...]
    keys: tuple[str, ...] = ()
    cells: tuple[tuple[Any, ...], ...] = ((),)
    facts: Mapping[str, Fraction] = field(default_factory=dict)
    made: Mapping[str, Any] = field(default_factory=dict)

    def part(self, name: str) -> Measured:
        """Return the part of this name."""
        return next(part for part in self.parts if part.name == name)

    def frame(self, columns: Mapping[str, tuple[Any, ...]]) -> Frame:
        """Return a table with these columns beside the keys; a key of the same name keeps it."""
        keyed = {name: tuple(cell[place] for cell in self.cells) for place, name in enumerate(self.keys)}
        beside = {f"noisy {name}" if name in keyed else name: column for name, column in columns.items()}
        return Frame(self.keys, {**keyed, **beside})

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object with exact numbers; keys are numbers, text, booleans, or tagged fractions and dates."""
        shown = {
            "keys": list(self.keys),
            "cells": [[_key(value) for value in cell] for cell in self.cells],
            "parts": [part.to_json() for part in self.parts],
            "facts": {name: to_text(fact) for name, fact in self.facts.items()},
        }
        return {**shown, "made": dict(self.made)} if self.made else shown

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Released:
        """Read what `to_json` wrote."""
        cells = tuple(tuple(_unkey(value) for value in cell) for cell in record["cells"])
        facts = {name: Fraction(fact) for name, fact in record["facts"].items()}
        parts = tuple(map(Measured.from_json, record["parts"]))
        return cls(parts, tuple(record["keys"]), cells, facts, record.get("made", {}))


def _key(value: Any) -> Any:
    if isinstance(value, Fraction):
        return {"fraction": to_text(value)}
    return {"date": value.isoformat()} if isinstance(value, date) else value


def _unkey(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return from_text(value["fraction"]) if "fraction" in value else date.fromisoformat(value["date"])


ErrorUnit = Literal["value", "rank", "total variation"]
"""What an error is measured in: the unit of the value, how many rows it is off its rank, or a distance of laws."""


class Reader(Protocol):
    """A question, as far as an answer needs it: it turns what was released into a value and an interval."""

    error_unit: ClassVar[ErrorUnit]

    def value(self, released: Released) -> Any:
        """Return the value."""
        ...

    def interval(self, released: Released, confidence: Fraction) -> Any:
        """Return what the value would be without noise, with at least this probability."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return the question as JSON."""
        ...


@dataclass(frozen=True)
class Frame:
    """A small released table: named columns of equal length, the first `keys` of which say what a row is about."""

    keys: tuple[str, ...]
    columns: Mapping[str, tuple[Any, ...]]

    def __post_init__(self) -> None:
        if len({len(column) for column in self.columns.values()}) > 1:
            raise ParameterError("The columns of a released table have different lengths.")

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> tuple[Any, ...]:
        return self.columns[name]

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows in order."""
        return list(zip(*self.columns.values(), strict=True))

    def to_arrow(self) -> Any:
        """Return an Arrow table; exact fractions become floats, and with one float in it a whole column does."""
        import pyarrow

        return pyarrow.table({name: _column(column) for name, column in self.columns.items()})


def _column(cells: tuple[Any, ...]) -> list[Any]:
    found = [number(cell) for cell in cells]
    numbers = [cell for cell in found if isinstance(cell, (int, float)) and not isinstance(cell, bool)]
    wide = any(isinstance(cell, float) or not -(2**63) <= cell < 2**63 for cell in numbers)
    return [float(cell) for cell in found] if numbers and wide else found


def number(cell: Any) -> Any:
    """Return an exact fraction as an int or a float; anything else as it is."""
    if isinstance(cell, Fraction):
        return int(cell) if cell.denominator == 1 else float(cell)
    return cell


@dataclass(frozen=True)
class Error:
    """How far noise may have moved an answer: its unit, the confidence, and the interval or table of it."""

    unit: ErrorUnit
    confidence: Fraction
    between: Any


@dataclass(frozen=True)
class Answer:
    """A value with its error, its loss and what is left.

    `reused` says that the same question had been answered before, and that this cost nothing.
    """

    question: Reader
    released: Released
    loss: Loss
    event: Event
    remaining: Mapping[str, str] = field(default_factory=dict)
    reused: bool = False

    @property
    def value(self) -> Any:
        """The private value: a number, or a `Frame` for questions with keys."""
        return self.question.value(self.released)

    def interval(self, confidence: Number = Fraction(95, 100)) -> Any:
        """Return an interval that covers the value without noise at least this often: a pair, or a `Frame`.

        It covers the privacy noise, not sampling error. For a table it holds for each row on its own.
        """
        return self.question.interval(self.released, between_zero_and_one(confidence, "confidence"))

    def error(self, confidence: Number = Fraction(95, 100)) -> Error:
        """Return the interval with its unit: a quantile has an error of rank, not one of value."""
        chance = between_zero_and_one(confidence, "confidence")
        return Error(self.question.error_unit, chance, self.interval(chance))

    @property
    def costs(self) -> dict[str, Cost]:
        """What it cost: for the whole person, and for each attribute that it depends on."""
        return {"person": self.loss.person, **{name: self.loss.at(name) for name in sorted(self.loss.profile.names())}}

    @property
    def frame(self) -> Frame:
        """The answer as a table with its 95 % interval, one row for a single number."""
        value, interval = self.value, self.interval()
        if not isinstance(value, Frame):
            return Frame((), {"value": (number(value),), "low": (interval[0],), "high": (interval[1],)})
        extra = {name: column for name, column in interval.columns.items() if name not in value.columns}
        return Frame(value.keys, {**value.columns, **extra})

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON, exact numbers as text."""
        return {
            "question": self.question.to_json(),
            "released": self.released.to_json(),
            "loss": self.loss.to_json(),
            "event": self.event.to_json(),
            "remaining": dict(self.remaining),
            "reused": self.reused,
        }

    def plot(self, path: str | Path | None = None) -> Drawing:
        """Return the picture of the answer with what the noise may have moved; with a path, also write it there."""
        from sfumato.show.answers import draw_answer, title_of

        drawing = draw_answer(title_of(self.question.to_json()), self.frame.keys, self.frame.columns)
        if path is not None:
            drawing.save(path)
        return drawing

    def _repr_html_(self) -> str:
        from sfumato.show.answers import answer_html, title_of

        return answer_html(title_of(self.question.to_json()), self.frame.columns)

    def to_arrow(self) -> Any:
        """Return the answer as an Arrow table."""
        return self.frame.to_arrow()

    def to_pandas(self) -> Any:
        """Return the answer as a pandas data frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return the answer as a polars data frame."""
        import polars

        return polars.from_arrow(self.to_arrow())
