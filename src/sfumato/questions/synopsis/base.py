"""What every synopsis offers, whatever it is made of: answers to a whole class of queries, their error, a file."""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.answer import Frame
from sfumato.exact import Number, between_zero_and_one
from sfumato.registry import Registry

Floats = NDArray[np.float64]
Form = tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""How a part of a synopsis is written as JSON, and read."""

_SYNOPSES: Registry[type[Synopsis]] = Registry(
    "synopsis",
    "synopses",
    {
        "fourier": "sfumato.questions.synopsis.fourier",
        "marginals": "sfumato.questions.synopsis.marginals",
        "model": "sfumato.questions.synopsis.modelled",
        "parities": "sfumato.papers.query_release.synopses.parities",
        "cuts": "sfumato.papers.query_release.synopses.cut_synopses",
        "pair cuts": "sfumato.papers.query_release.synopses.cut_synopses",
        "labels": "sfumato.papers.query_release.learning.labelled",
        "tree": "sfumato.papers.query_release.learning.trees",
    },
)


class Synopsis(ABC):
    """A small sketch of a table that answers every query of a class as a share of its rows.

    It was computed from released numbers alone, so that whatever is read from it costs nothing more. `columns` are the
    names that queries speak of, `people` is the number of rows that shares are of: the public one, or a noisy one that
    was paid for. A subclass is a frozen dataclass that begins with these two fields, with a `kind`, the other `parts`,
    each with the form in which it is written and read, and the three methods below.
    """

    kind: ClassVar[str]
    parts: ClassVar[Mapping[str, Form]] = {}
    unsaid: ClassVar[str] = "stderr and interval cover the noise of a query, not what the sketch leaves out of it."
    """What a reader of its errors should know, in one sentence."""
    columns: tuple[str, ...]
    people: float

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _SYNOPSES.add_kind(cls)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.columns)} columns, about {self.people:.0f} rows)"

    def answer(self, queries: Any) -> Floats:
        """Return the share of the rows that each query is true for, between 0 and 1."""
        return np.clip(self._shares(queries), 0.0, 1.0)

    @abstractmethod
    def _shares(self, queries: Any) -> Floats:
        """Return the shares as they come out, which noise may have moved outside 0 … 1."""

    @abstractmethod
    def stderr(self, queries: Any) -> Floats:
        """Return the standard deviation of each share that privacy noise causes; what a sketch leaves out comes on top.

        It follows from public numbers alone.
        """

    def counts(self, queries: Any) -> Floats:
        """Return about how many rows each query is true for."""
        return self.answer(queries) * max(self.people, 0.0)

    def interval(self, queries: Any, confidence: Number = Fraction(95, 100)) -> tuple[Floats, Floats]:
        """Return ends between which what the sketch says without noise lies with about this confidence, query by query.

        The truth may lie outside: what the sketch leaves out is not in them, see `unsaid`.
        """
        chance = between_zero_and_one(confidence, "confidence")
        reach = NormalDist().inv_cdf(float((1 + chance) / 2)) * self.stderr(queries)
        shares = self._shares(queries)
        return np.clip(shares - reach, 0.0, 1.0), np.clip(shares + reach, 0.0, 1.0)

    @abstractmethod
    def to_frame(self) -> Frame:
        """Return a short table to look at, such as the share of every column."""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `synopsis_from_json` reads back."""
        return {"synopsis": self.kind, "columns": list(self.columns), "people": self.people, **self._record()}

    def _record(self) -> dict[str, Any]:
        """Return what the synopsis is made of, as JSON."""
        return {_key(name): write(getattr(self, name)) for name, (write, _) in self.parts.items()}

    @classmethod
    def _read(cls, columns: tuple[str, ...], people: float, record: Mapping[str, Any]) -> Synopsis:
        """Read what `_record` wrote."""
        parts: dict[str, Any] = {name: read(record[_key(name)]) for name, (_, read) in cls.parts.items()}
        made: Callable[..., Synopsis] = cls
        return made(columns, people, **parts)


def _key(name: str) -> str:
    return name.replace("_", " ")


def synopsis_from_json(record: Mapping[str, Any]) -> Synopsis:
    """Read what `Synopsis.to_json` wrote."""
    return _SYNOPSES[record.get("synopsis")]._read(tuple(record["columns"]), float(record["people"]), record)


def packed_integers(numbers: NDArray[np.int64]) -> str:
    """Return released integers as text, eight bytes each.

    >>> unpacked_integers(packed_integers(np.array([3, -1])))
    array([ 3, -1])
    """
    return base64.b64encode(np.ascontiguousarray(numbers, dtype="<i8").tobytes()).decode("ascii")


def unpacked_integers(text: str) -> NDArray[np.int64]:
    """Read what `packed_integers` wrote."""
    return np.frombuffer(base64.b64decode(text), dtype="<i8").astype(np.int64)


def packed_floats(numbers: NDArray[Any]) -> str:
    """Return computed numbers as text, eight bytes each."""
    return base64.b64encode(np.ascontiguousarray(numbers, dtype="<f8").tobytes()).decode("ascii")


def unpacked_floats(text: str) -> Floats:
    """Read what `packed_floats` wrote."""
    return np.frombuffer(base64.b64decode(text), dtype="<f8").astype(np.float64)


WHOLE: Form = (int, int)
REAL: Form = (float, float)
YES: Form = (bool, bool)
INTEGERS: Form = (packed_integers, unpacked_integers)
