"""The shape of an answer: a value, how far noise may have moved it, what it cost, and what is left.

An answer never holds the true value or the noise. Its interval covers what the noise did, not the luck of who
is in the table; it says so wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one, from_text, to_text
from sfumato.exact.enclosure import precision
from sfumato.mechanism import Event
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Law, SinhNormal
from sfumato.privacy import Loss

_LAWS: Mapping[str, type[Law]] = {kind.__name__: kind for kind in (DiscreteLaplace, DiscreteGaussian, SinhNormal)}


def half_width(law: Law, confidence: Number) -> int:
    """Return the least t such that symmetric noise stays within -t … t with at least this probability.

    >>> half_width(DiscreteLaplace(10), 0.95)
    30
    """
    outside = (1 - between_zero_and_one(confidence, "confidence")) / 2
    from sfumato.exact import rational_ball

    def reaches(bound: int) -> bool:
        with precision(128):
            return bool(law.tail(bound) <= rational_ball(outside))

    high = 1
    while not reaches(high):
        high *= 2
    low = -1
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class Measured:
    """Integers that were released, the law of the noise in each, and what one integer step is worth."""

    name: str
    released: tuple[int, ...]
    law: Law | None
    unit: Fraction = Fraction(1)

    def values(self) -> tuple[Fraction, ...]:
        """Return the released numbers in the unit of the question."""
        return tuple(number * self.unit for number in self.released)

    def width(self, confidence: Number) -> Fraction:
        """Return the half-width of an interval for one of the numbers; 0 if no noise was added."""
        return Fraction(0) if self.law is None else half_width(self.law, confidence) * self.unit

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object with exact numbers."""
        law = None
        if self.law is not None:
            numbers = {key: to_text(value) for key, value in vars(self.law).items()}
            law = {"name": type(self.law).__name__, **numbers}
        return {"name": self.name, "released": list(self.released), "law": law, "unit": to_text(self.unit)}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Measured:
        """Read what `to_json` wrote."""
        unit = from_text(record["unit"])
        assert isinstance(unit, Fraction)
        law = None
        if record["law"] is not None:
            numbers = dict(record["law"])
            law = _LAWS[numbers.pop("name")](**{key: from_text(value) for key, value in numbers.items()})
        return cls(record["name"], tuple(record["released"]), law, unit)


class Reader(Protocol):
    """A question, as far as an answer needs it: it turns measured integers into a value and an interval."""

    def value(self, parts: Sequence[Measured]) -> Any:
        """Return the value."""
        ...

    def interval(self, parts: Sequence[Measured], confidence: Fraction) -> Any:
        """Return what the value would be without noise, with at least this probability."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return the question as JSON."""
        ...


@dataclass(frozen=True)
class Answer:
    """A value with its error, its loss and what is left.

    `reused` says that the same question had been answered before and cost nothing again.
    """

    question: Reader
    parts: tuple[Measured, ...]
    loss: Loss
    event: Event
    remaining: Mapping[str, str] = field(default_factory=dict)
    reused: bool = False

    @property
    def value(self) -> Any:
        """The private value: a number, or a table for questions with keys."""
        return self.question.value(self.parts)

    def interval(self, confidence: Number = Fraction(95, 100)) -> Any:
        """Return an interval that covers the value without noise, at least this often.

        It covers the privacy noise, not sampling error.
        """
        return self.question.interval(self.parts, between_zero_and_one(confidence, "confidence"))

    @property
    def frame(self) -> Frame:
        """The answer as a table, one row for a single number."""
        value = self.value
        return value if isinstance(value, Frame) else Frame((), {"value": (value,)})

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON, exact numbers as text."""
        return {
            "question": self.question.to_json(),
            "parts": [part.to_json() for part in self.parts],
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

        plain = {name: [_plain(cell) for cell in column] for name, column in self.columns.items()}
        return pyarrow.table(plain)


def _plain(cell: Any) -> Any:
    if isinstance(cell, Fraction):
        return int(cell) if cell.denominator == 1 else float(cell)
    return cell
