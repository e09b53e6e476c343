"""The shape of an answer: a value, how far noise may have moved it, what it cost, and what is left.

An answer never holds the true value or the noise. Its interval covers what the noise did, not the luck of who
is in the table; it says so wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, Protocol

from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one, from_text, rational_ball, to_text
from sfumato.exact.enclosure import precision
from sfumato.mechanism import Event
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Law, SinhNormal
from sfumato.noise.laws.search import smallest
from sfumato.privacy import Loss

_LAWS: Mapping[str, type[Law]] = {kind.__name__: kind for kind in (DiscreteLaplace, DiscreteGaussian, SinhNormal)}


def half_width(law: Law, confidence: Number) -> int:
    """Return the least t such that symmetric noise stays within -t … t with at least this probability.

    >>> half_width(DiscreteLaplace(10), 0.95)
    30
    """
    outside = (1 - between_zero_and_one(confidence, "confidence")) / 2
    with precision(128):
        return max(0, smallest(lambda bound: bool(law.tail(bound) <= rational_ball(outside))))


@dataclass(frozen=True)
class Measured:
    """Integers that were released, the law of the noise in each, and what one integer step is worth.

    Without a law the numbers are exact, because they are public or because they were chosen, not perturbed.
    """

    name: str
    released: tuple[int, ...]
    law: Law | None
    unit: Fraction = Fraction(1)

    def values(self) -> tuple[Fraction, ...]:
        """Return the released numbers in the unit of the question."""
        return tuple(number * self.unit for number in self.released)

    def width(self, confidence: Fraction) -> Fraction:
        """Return the half-width of an interval for one of the numbers; 0 if no noise was added."""
        return Fraction(0) if self.law is None else half_width(self.law, confidence) * self.unit

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object with exact numbers."""
        law = None
        if self.law is not None:
            numbers = {part.name: to_text(getattr(self.law, part.name)) for part in fields(self.law)}  # type: ignore[arg-type]
            law = {"name": type(self.law).__name__, **numbers}
        return {"name": self.name, "released": list(self.released), "law": law, "unit": to_text(self.unit)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Measured:
        """Read what `to_json` wrote."""
        law = None
        if record["law"] is not None:
            numbers = dict(record["law"])
            law = _LAWS[numbers.pop("name")](**{key: Fraction(value) for key, value in numbers.items()})
        return cls(record["name"], tuple(record["released"]), law, Fraction(record["unit"]))


@dataclass(frozen=True)
class Released:
    """All that left the house for one question: measured integers, one for each cell of its keys.

    `facts` are public numbers that reading needs, such as the range of a column.
    """

    parts: tuple[Measured, ...]
    keys: tuple[str, ...] = ()
    cells: tuple[tuple[Any, ...], ...] = ((),)
    facts: Mapping[str, Fraction] = field(default_factory=dict)

    def part(self, name: str) -> Measured:
        """Return the part of this name."""
        return next(part for part in self.parts if part.name == name)

    def frame(self, columns: Mapping[str, tuple[Any, ...]]) -> Frame:
        """Return a table with these columns beside the keys."""
        keyed = {name: tuple(cell[place] for cell in self.cells) for place, name in enumerate(self.keys)}
        return Frame(self.keys, {**keyed, **columns})

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object with exact numbers; key values are numbers, text or booleans."""
        return {
            "keys": list(self.keys),
            "cells": [[_key(value) for value in cell] for cell in self.cells],
            "parts": [part.to_json() for part in self.parts],
            "facts": {name: to_text(fact) for name, fact in self.facts.items()},
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Released:
        """Read what `to_json` wrote."""
        cells = tuple(tuple(_unkey(value) for value in cell) for cell in record["cells"])
        facts = {name: Fraction(fact) for name, fact in record["facts"].items()}
        return cls(tuple(map(Measured.from_json, record["parts"])), tuple(record["keys"]), cells, facts)


def _key(value: Any) -> Any:
    return {"fraction": to_text(value)} if isinstance(value, Fraction) else str(value) if _is_date(value) else value


def _is_date(value: Any) -> bool:
    return hasattr(value, "isoformat")


def _unkey(value: Any) -> Any:
    return from_text(value["fraction"]) if isinstance(value, dict) else value


class Reader(Protocol):
    """A question, as far as an answer needs it: it turns what was released into a value and an interval."""

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
        """Return an Arrow table; exact fractions become floats."""
        import pyarrow

        return pyarrow.table({name: [number(cell) for cell in column] for name, column in self.columns.items()})


def number(cell: Any) -> Any:
    """Return an exact fraction as an int or a float; anything else as it is."""
    if isinstance(cell, Fraction):
        return int(cell) if cell.denominator == 1 else float(cell)
    return cell


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
