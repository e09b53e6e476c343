"""The answer itself: value, error, loss, what is left, and the ways to look at it."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Protocol, cast

from sfumato.answer.exports import Exports, noted, notes_path, write_notes
from sfumato.answer.frame import Frame, number
from sfumato.answer.released import Released
from sfumato.durable import require_new
from sfumato.errors import ParameterError, UnknownName
from sfumato.exact import Number, between_zero_and_one
from sfumato.mechanism import Event
from sfumato.privacy import Cost, Loss
from sfumato.show.views import View, Viewed, first_sentence
from sfumato.words import guide, understood, unknown

if TYPE_CHECKING:
    from sfumato.show import Drawing

ErrorUnit = Literal["value", "rank", "total variation"]
"""What an error is measured in: the unit of the value, how many rows it is off its rank, or a distance of laws."""


USED = "Used so far"
USUAL = Fraction(95, 100)
REHEARSED = "ON MADE-UP ROWS: the value means nothing."
"""The first words of an answer that nobody paid for and that tells nothing about the data."""

_INSTEAD = guide(
    {
        # names that people guess: what is written here
        "result values answer estimate number data": "write answer.value",
        "ci conf_int confidence_interval error_bars bounds": "write answer.interval(0.95)",
        "std stderr sigma noise variance": "answer.interval(0.95) says how far the noise may have moved it",
        "epsilon cost spent privacy_loss spend": "answer.loss.person.epsilon is what it cost, print(answer) says it",
        "budget left": "answer.remaining says what is left",
        "to_dict to_list tolist": "write answer.to_json(), or answer.frame.rows()",
        "df dataframe": "write answer.to_pandas()",
        "save write to_file to_xlsx": "write answer.to_csv('answer.csv'), .to_parquet or .to_excel",
        "head tail rows shape columns iloc loc describe info": "print(answer) shows it, answer.to_pandas() is a data "
        "frame of it",
        "show display draw hist": "write answer.plot('answer.svg')",
    }
)


NOISE_ONLY = "privacy noise only"
"""What the intervals of almost all questions allow for."""


class Reader(Protocol):
    """A question, as far as an answer needs it: it turns what was released into a value and an interval."""

    error_unit: ClassVar[ErrorUnit]
    covers: ClassVar[str]

    def value(self, released: Released) -> Any:
        """Return the value."""
        ...

    def interval(self, released: Released, confidence: Fraction) -> Any:
        """Return what the value would be without noise, with at least this probability."""
        ...

    def separate_intervals(self, released: Released) -> int:
        """Return how many intervals there are that hold each on its own."""
        ...

    def doubts(self, released: Released) -> tuple[str, ...]:
        """Return what a reader should know of the numbers that were released, beside their intervals."""
        ...

    def unknown(self, released: Released) -> Mapping[str, tuple[bool, ...]]:
        """Return of which cells of the table nothing is known, by the name of their column."""
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


@dataclass(frozen=True, repr=False)
class Answer(Exports, Viewed):
    """A value with its error, its loss and what is left.

    `reused` says that the same question had been answered before, and that this cost nothing. `raw` is what the
    mechanism drew, before anything was fitted to it, and `request` the id under which the ledger keeps it; both are
    empty where an answer was read back from JSON. `rehearsed` says that it was computed from made-up rows and cost
    nothing; `remarks` are what the ledger knows of the question, such as that it was paid for before, and `labels`
    what people read in place of a key, by column.
    """

    question: Reader
    released: Released
    loss: Loss
    event: Event
    remaining: Mapping[str, str] = field(default_factory=dict)
    reused: bool = False
    raw: Any = field(default=None, repr=False, compare=False)
    request: str = field(default="", repr=False, compare=False)
    rehearsed: bool = field(default=False, kw_only=True)
    remarks: tuple[str, ...] = field(default=(), kw_only=True, compare=False)
    labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict, kw_only=True, repr=False, compare=False)

    @property
    def value(self) -> Any:
        """The private value: a number, or a `Frame` for questions with keys, which knows where nothing is known."""
        found = self.question.value(self.released)
        if not isinstance(found, Frame) or found.unknown:
            return found
        found = replace(found, labels=self.labels)
        marks = {name: cells for name, cells in self.question.unknown(self.released).items() if name in found.columns}
        return replace(found, unknown=marks, vouched=self.question.error_unit != "rank")

    if not TYPE_CHECKING:  # or every name would pass a type checker

        def __getattr__(self, name: str) -> Any:
            """Say that it is the value which has a name, where it has, or what to write instead."""
            if name.startswith("_") or "released" not in vars(self):
                raise AttributeError(name)
            value = self.value
            if hasattr(value, name):
                kind = type(value).__name__
                raise UnknownName(f"An answer has no {name!r}, its value ({kind}) has; write .value.{name}.")
            raise unknown("An answer", repr(name), dir(type(self)), {repr(one): said for one, said in _INSTEAD.items()})

    def __getitem__(self, name: str) -> tuple[Any, ...]:
        return self.frame[name]

    def __iter__(self) -> Iterator[Any]:
        raise ParameterError(
            "An answer is a value with its error and its cost, so it is not gone through; write answer.to_pandas() for "
            "a data frame, or answer.frame.rows() for its rows."
        )

    def __len__(self) -> int:
        value = self.value
        if hasattr(value, "__len__"):
            return len(value)
        raise ParameterError("This answer is no table, so it has no length; answer.value is what was released.")

    def __bool__(self) -> bool:
        return True

    def __float__(self) -> float:
        return float(self._single("float"))

    def __int__(self) -> int:
        return int(self._single("int"))

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._single("round"), digits)

    def __add__(self, other: object) -> NoReturn:
        raise ParameterError(
            "An answer is a number with its error and its cost, so it is not computed with or compared; write "
            "answer.value, and keep answer.interval(0.95) beside it."
        )

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __add__
    __lt__ = __le__ = __gt__ = __ge__ = __add__

    def __format__(self, form: str) -> str:
        return format(self._single("a format"), form) if form else str(self)

    def _single(self, wanted: str) -> Any:
        value = self.value
        if isinstance(value, (int, float, Fraction)):
            return number(value)
        raise ParameterError(f"This answer is no single number for {wanted}; answer.value is what was released.")

    def interval(self, confidence: Number = USUAL, *, together: bool = False) -> Any:
        """Return an interval that covers the value without noise at least this often: a pair, or a `Frame`.

        It covers the privacy noise, not sampling error; an audit of groups covers both. For a table it holds for each
        row on its own; `together=True` widens all of them so that they hold at once: of k intervals each may fail with
        a k-th of the chance, and some one fails no more often than their chances together say, whatever depends on
        what.
        """
        return self.question.interval(self.released, self._chance(confidence, together))

    def _chance(self, confidence: Number, together: bool) -> Fraction:
        """Return the confidence of each interval, so that it is kept by each or by all of them."""
        chance = between_zero_and_one(confidence, "confidence")
        apart = self.question.separate_intervals(self.released) if together else 1
        return 1 - (1 - chance) / max(1, apart)

    def error(self, confidence: Number = USUAL) -> Error:
        """Return the interval with its unit: a quantile has an error of rank, not one of value."""
        chance = between_zero_and_one(confidence, "confidence")
        return Error(self.question.error_unit, chance, self.interval(chance))

    @property
    def notes(self) -> tuple[str, ...]:
        """By which public rules people and cells were counted, and what is known of the error beside the interval."""
        rules, known = self.event.parameters.get("notes", ()), self.released.made.get("notes", ())
        return (*rules, *known, *self.question.doubts(self.released), *self.remarks)

    @property
    def costs(self) -> dict[str, Cost]:
        """What it cost: for the whole person, and for each attribute that it depends on."""
        return {"person": self.loss.person, **{name: self.loss.at(name) for name in sorted(self.loss.profile.names())}}

    @property
    def frame(self) -> Frame:
        """The answer as a table with its 95 % interval, one row for a single number; its `notes` go with it.

        What was drawn for a group of which nothing is known stays in it, and `unknown` marks it: print and pictures
        say so in place of the number.
        """
        return self.framed()

    def framed(self, together: bool = False) -> Frame:
        """Return the answer as a table with its 95 % interval: each row on its own, or all of them `together`."""
        frame = self._framed(together)
        told = tuple(note for note in (self._covers(frame, together), *self.notes) if note)
        vouched = self.question.error_unit != "rank"
        unknown = self.question.unknown(self.released)
        return replace(frame, unknown=unknown, labels=self.labels, vouched=vouched, notes=told)

    def _framed(self, together: bool) -> Frame:
        value = self.value
        if hasattr(value, "to_frame"):  # many tables in one, with their intervals
            between = "confidence" in signature(value.to_frame).parameters
            return cast(Frame, value.to_frame(self._chance(USUAL, together)) if between else value.to_frame())
        interval = self.interval(together=together)
        if not isinstance(value, Frame):
            return Frame((), {"value": (number(value),), "low": (interval[0],), "high": (interval[1],)})
        extra = {name: column for name, column in interval.columns.items() if name not in value.columns}
        return Frame(value.keys, {**value.columns, **extra})

    @understood
    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON, exact numbers as text."""
        return {
            "question": self.question.to_json(),
            "released": self.released.to_json(),
            "loss": self.loss.to_json(),
            "event": self.event.to_json(),
            "remaining": dict(self.remaining),
            "reused": self.reused,
            **({"rehearsed": True} if self.rehearsed else {}),
            **({"remarks": list(self.remarks)} if self.remarks else {}),
        }

    @understood
    def plot(
        self,
        path: str | Path | None = None,
        *,
        overwrite: bool = False,
        columns: Sequence[str] | None = None,
        pairs: Sequence[Sequence[str]] | None = None,
    ) -> Drawing:
        """Return the picture of the answer with what the noise may have moved; with a path, also write it there.

        Of a model it is the one-way tables, and `pairs` as heat maps, with the stated error below; `columns` chooses.
        """
        from sfumato.show.answers import draw_answer

        if path is not None:
            require_new(path, overwrite=overwrite, in_folder=True)
        value = self.value
        chosen = {name: given for name, given in (("columns", columns), ("pairs", pairs)) if given is not None}
        if hasattr(value, "plot"):
            takes = signature(value.plot).parameters
            self._require_choice(chosen, takes)
            told = {"notes": self._below()} if "notes" in takes else {}
            again = {"overwrite": overwrite} if "overwrite" in takes else {}
            return cast("Drawing", value.plot(path=path, **chosen, **told, **again))
        self._require_choice(chosen, ())
        title = f"{REHEARSED} {self._title()}" if self.rehearsed else self._title()
        frame = self.frame
        drawing = draw_answer(
            title, frame.keys, frame.columns, unknown=frame.unknown, notes=frame.notes, labels=frame.labels
        )
        if path is not None:
            drawing.save(path)
        return drawing

    def _require_choice(self, chosen: Mapping[str, Any], takes: Container[str]) -> None:
        wrong = next((name for name in chosen if name not in takes), None)
        if wrong is not None:
            raise ParameterError(
                f"The picture of this answer has no {wrong}= to choose; write answer.plot('answer.svg')."
            )

    def _below(self) -> tuple[str, ...]:
        """Return what stands below a picture: what is known of its error, in short, without the rules of counting."""
        known = (*self.released.made.get("notes", ()), *self.question.doubts(self.released))
        told = tuple(first_sentence(note) for note in known)
        return (REHEARSED, *told) if self.rehearsed else told

    def view(self, together: bool = False) -> View:
        """Return the answer for people: the table, what its interval covers, what it cost and what is left."""
        value = self.value
        tabled = isinstance(value, (Frame, int, float, Fraction)) or hasattr(value, "to_frame")
        frame = self.framed(together) if tabled else Frame((), {})
        shown, more = frame.shown()
        tables = (shown.table(),) if tabled else ()
        said = () if tabled else (str(value),)
        pictures = value.pictures() if hasattr(value, "pictures") else ()
        if hasattr(value, "displayed"):  # a report knows itself of whom there are too few to say
            said, tables = value.displayed(self._chance(USUAL, together))
            more = ""
        covers = self._covers(frame, together) if tabled else ""
        title, after = self._title(), (more, covers, *self.notes, *self._paid())
        if self.rehearsed:
            price = f"Nothing was spent; it would cost {self._price()}."
            return View(f"{REHEARSED} {price}", tables, (title, *said), after, pictures)
        return View(title, tables, said, after, pictures)

    def _title(self) -> str:
        from sfumato.show.titles import title_of

        return title_of(self.question.to_json(), notes=self.notes)

    def _covers(self, frame: Frame, together: bool) -> str:
        """Say what the 95 % interval covers, and whether rows hold one by one or all at once."""
        if self.loss.person.is_zero:
            return "This is public: no noise was added."
        apart = self.question.separate_intervals(self.released) > 1 and not together
        if "rank error" in frame.columns and apart:
            return (
                "Rank errors hold for each group on its own, 95 % of the time (privacy noise only); interval(0.95, "
                "together=True) holds for all groups at once."
            )
        if "rank error" in frame.columns:
            return "Rank errors hold for all rows at once, 95 % of the time (privacy noise only)."
        if apart:
            return (
                f"95 % interval ({self.question.covers}), for each row on its own; interval(0.95, together=True) holds "
                "for all rows at once."
            )
        if self.interval() == (None, None) or not _has_ends(frame):
            return ""  # a rule, say, has none, and a sketch has one for each query
        every = ", for all rows at once" if len(frame) > 1 else ""
        return f"95 % interval ({self.question.covers}){every}."

    def _paid(self) -> tuple[str, ...]:
        if self.rehearsed:
            return ()
        cost = "nothing: the same question was answered before" if self.reused else self._price()
        reads = self.loss.profile.names()
        touched = {name: said for name, said in self.remaining.items() if name == "person" or reads & {*name.split()}}
        used = "; ".join(f"{name} {said.removeprefix(USED).strip(': .')}" for name, said in touched.items())
        return (f"It cost {cost}.", f"{USED}: {used}." if used else "")

    def _price(self) -> str:
        if self.loss.person.is_zero:
            return "nothing"
        reads = ", ".join(sorted(self.loss.profile.names()))
        return f"a person {self.loss.person}" + (f"; it reads {reads}" if reads else "")

    def __repr__(self) -> str:
        return str(self)

    def to_arrow(self) -> Any:
        """Return the answer as an Arrow table; of a model made-up rows, as many as it speaks of."""
        value = self.value
        return noted(value.sample(), self.notes) if hasattr(value, "sample") else self.frame.to_arrow()

    @understood
    def to_csv(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the answer as a CSV file, of a model made-up rows; what to know of them goes to `….notes.txt`."""
        value = self.value
        if isinstance(value, Frame) or not hasattr(value, "to_csv"):
            return self.frame.to_csv(path, overwrite=overwrite)
        require_new(path, overwrite=overwrite, in_folder=True)
        require_new(notes_path(path), overwrite=overwrite)
        value.to_csv(path, overwrite=overwrite)
        write_notes(path, self.notes)
        return Path(path)

    @understood
    def to_parquet(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the answer as a Parquet file, with its notes in the metadata; of a model, made-up rows."""
        value = self.value
        if isinstance(value, Frame) or not hasattr(value, "to_parquet"):
            return self.frame.to_parquet(path, overwrite=overwrite)
        value.to_parquet(path, overwrite=overwrite, notes=self.notes)
        return Path(path)


def _has_ends(frame: Frame) -> bool:
    """Tell whether a table shows the ends of an interval."""
    return any(name == "low" or name.endswith(", low") for name in frame.columns)
