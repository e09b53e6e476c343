"""The question that asks for a synopsis: one small sketch that answers a whole class of queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Self

from sfumato.answer import Released
from sfumato.ask.phrases import Phrase
from sfumato.ask.prepared import Prepared
from sfumato.ask.question import Question
from sfumato.privacy import Bound
from sfumato.questions.synopsis.base import Synopsis, synopsis_from_json
from sfumato.questions.synopsis.methods import METHODS, method_of
from sfumato.questions.synopsis.plan import EXPLICIT
from sfumato.table.gauge import Basis
from sfumato.table.schema import Schema

SKETCHES = ("fourier", "marginals")
"""The methods that answer conjunctions by a sketch, however few columns there are."""


@dataclass(frozen=True, init=False)
class Synopsize(Question):
    """A synopsis: a sketch that answers all conjunctions, parities or cuts, `.answer(queries)`, `.stderr(queries)`.

    "fourier" answers conjunctions with the least error on average over queries (RL-FOUR); "marginals" every
    conjunction with a bound for the worst (RL-AIE); "auto" takes the latter, or the model of `Synthesize` where all
    rows can be listed and it promises less error, unless the former promises less than half of that. "parities"
    answers every parity (RL-PAR), "cuts" every cut of a graph whose rows are edges (RL-CUT). `columns` are binary:
    booleans, "job=clerk", "age>=65", or `one_hot(schema, …)`; for cuts they are the two ends of an edge.

    Options: `width`, how many columns queries name, `degree` or `order`, how many the released sets have, and
    `guarantee` ("average" or "worst") for conjunctions; `accuracy`, `bad_fraction`, `failure` and `chunk` for parities;
    `hub` and `by` for cuts. `expect` is about how many rows there are, where that is not public: it guides choices and
    moves no noise.
    """

    kind: ClassVar[str] = "Synopsize"
    title: ClassVar[str] = "Synopsis"
    typed: ClassVar[tuple[str, ...]] = ("synopsis",)
    shapes: ClassVar[Mapping[str, str]] = {"synopsis.Rows": "sfumato.questions.synopsis.binary"}
    tabular: ClassVar[bool] = False
    pictured: ClassVar[bool] = False
    method: str = "auto"
    columns: tuple[str, ...] | None = None
    options: tuple[tuple[str, Any], ...] = field(default=())

    def __init__(
        self,
        method: str = "auto",
        columns: Iterable[str] | None = None,
        options: Mapping[str, Any] | Sequence[Sequence[Any]] = (),
    ) -> None:
        METHODS.require(method)
        named = (columns,) if isinstance(columns, str) else columns
        given = options.items() if isinstance(options, Mapping) else options
        object.__setattr__(self, "method", method)
        object.__setattr__(self, "columns", None if named is None else tuple(named))
        object.__setattr__(self, "options", tuple(sorted((str(name), value) for name, value in given)))

    def canonical(self, schema: Schema) -> Self:
        """Refuse options that the method does not take; columns are checked when it is prepared."""
        method_of(self.method, dict(self.options))
        return self

    @classmethod
    def of_phrase(cls, phrase: Phrase, schema: Schema) -> Question:
        """Read the method with its options, and the columns."""
        phrase.only("with")
        return cls(phrase.method or "auto", phrase.columns or None, phrase.options)

    def named_columns(self) -> list[str]:
        """Return none: it is of yes-or-no facts, such as age>=65, which it reads itself."""
        return []

    def plan(self, basis: Basis, spend: Bound) -> Prepared:
        """Prepare the sums and their noise; the sketch is what happens afterwards."""
        options = dict(self.options)
        return method_of(self.method, options)(basis, spend, self.columns, options)

    def value(self, released: Released) -> Synopsis:
        """Return the synopsis; the same one however often it is read."""
        return synopsis_from_json(released.made["synopsis"])

    def doubts(self, released: Released) -> tuple[str, ...]:
        """Return what errors leave out, and that another question does better where all rows can be listed."""
        synopsis = self.value(released)
        unsaid, columns = synopsis.unsaid, len(synopsis.columns)
        if self.method not in SKETCHES or columns > EXPLICIT:
            return (unsaid,)
        return (
            unsaid,
            f"With {columns} binary columns all rows can be listed, and a model of them may answer conjunctions with "
            "less error for the same spend: method='auto' takes it where it promises to. This sketch is for more "
            "columns, and for a bound on the worst query.",
        )

    def interval(self, released: Released, confidence: Fraction) -> tuple[float, float]:
        """Return 0 and about the root mean squared error of a share that was predicted before anything was drawn.

        It is the same at every confidence; `synopsis.interval(queries)` covers the noise of each query.
        """
        return 0.0, float(released.made["error"])
