"""The answer itself: value, error, loss, what is left, and the ways to look at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, cast

from sfumato.answer.frame import Frame, number
from sfumato.answer.released import Released
from sfumato.exact import Number, between_zero_and_one
from sfumato.mechanism import Event
from sfumato.privacy import Cost, Loss

if TYPE_CHECKING:
    from sfumato.show import Drawing

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

    def doubts(self, released: Released) -> tuple[str, ...]:
        """Return what a reader should know of the numbers that were released, beside their intervals."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return the question as JSON."""
        ...


@dataclass(frozen=True)
class Error:
    """How far noise may have moved an answer: its unit, the confidence, and the interval or table of it."""

    unit: ErrorUnit
    confidence: Fraction
    between: Any


@dataclass(frozen=True)
class Answer:
    """A value with its error, its loss and what is left.

    `reused` says that the same question had been answered before, and that this cost nothing. `raw` is what the
    mechanism drew, before anything was fitted to it, and `request` the id under which the ledger keeps it; both are
    empty where an answer was read back from JSON.
    """

    question: Reader
    released: Released
    loss: Loss
    event: Event
    remaining: Mapping[str, str] = field(default_factory=dict)
    reused: bool = False
    raw: Any = field(default=None, repr=False, compare=False)
    request: str = field(default="", repr=False, compare=False)

    @property
    def value(self) -> Any:
        """The private value: a number, or a `Frame` for questions with keys."""
        return self.question.value(self.released)

    def __getattr__(self, name: str) -> Any:
        """Say that it is the value which has a name, where it has."""
        if not name.startswith("_") and "released" in vars(self):
            value = self.value
            if hasattr(value, name):
                raise AttributeError(
                    f"An answer has no {name!r}, its value ({type(value).__name__}) has; write .value.{name}."
                )
        raise AttributeError(f"An answer has no {name!r}; what was released is its .value.")

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
    def notes(self) -> tuple[str, ...]:
        """By which public rules people and cells were counted, and what is known of the error beside the interval."""
        rules, known = self.event.parameters.get("notes", ()), self.released.made.get("notes", ())
        return (*rules, *known, *self.question.doubts(self.released))

    @property
    def costs(self) -> dict[str, Cost]:
        """What it cost: for the whole person, and for each attribute that it depends on."""
        return {"person": self.loss.person, **{name: self.loss.at(name) for name in sorted(self.loss.profile.names())}}

    @property
    def frame(self) -> Frame:
        """The answer as a table with its 95 % interval, one row for a single number."""
        value = self.value
        if hasattr(value, "to_frame"):  # many tables in one, with their intervals
            return cast(Frame, value.to_frame())
        interval = self.interval()
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

        value = self.value
        if hasattr(value, "plot"):
            return cast("Drawing", value.plot(path=path))
        drawing = draw_answer(title_of(self.question.to_json()), self.frame.keys, self.frame.columns)
        if path is not None:
            drawing.save(path)
        return drawing

    def _repr_html_(self) -> str:
        from sfumato.show.answers import answer_html, title_of

        return answer_html(title_of(self.question.to_json()), self.frame.columns, self.notes)

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
