"""The question of which records are frequent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.answer import Frame, Released, half_width
from sfumato.ask.expected import USUAL, Expected
from sfumato.ask.phrases import Phrase
from sfumato.ask.prepared import Prepared
from sfumato.ask.question import Question, as_columns
from sfumato.errors import ParameterError, warn
from sfumato.exact import positive_integer
from sfumato.privacy import Approximate, Bound
from sfumato.questions.popular.value import SuccinctHistogram
from sfumato.table.gauge import Basis
from sfumato.table.predicate import EVERY_ROW
from sfumato.table.schema import Schema
from sfumato.totals.aggregates import Count
from sfumato.totals.column_tree.choice import CONFIDENCE, plan_cells, plan_pure, plan_tree, with_people
from sfumato.totals.column_tree.histogram import PopularCounts
from sfumato.totals.found_keys import FoundGroups, plan_found
from sfumato.totals.totals import table_between, table_of
from sfumato.words import one_of

METHODS = ("auto", "tree", "laplace", "stability")


@dataclass(frozen=True, init=False)
class Popular(Question):
    """The combinations of many columns that occur often, with noisy counts, out of a domain too large to list.

    The value is a `SuccinctHistogram`: a table that also answers counts, sums and shares for free. `method="tree"`
    searches along a tree of columns with a pure spend, best per attribute and for many columns (PDP-HH, PDP-HIST);
    `"laplace"` puts noise on every cell (PL-SAN-POINT-PURE); `"stability"` needs a delta and is the best where one is
    allowed (PL-SAN-POINT-STAB). `"auto"` takes stability for an Approximate spend, and otherwise the smaller error
    predicted from public facts. `smallest` asks a tree for shorter lists: records that occur so often are found.
    The order of columns matters to a tree: put those beside each other that say much about one another.
    """

    kind: ClassVar[str] = "Popular"
    title: ClassVar[str] = "Popular values"
    typed: ClassVar[tuple[str, ...]] = ("popular",)
    stored: ClassVar[Mapping[str, str]] = {"method": "engine"}
    columns: tuple[str, ...]
    smallest: int | None
    method: str

    def __init__(self, columns: str | Sequence[str], smallest: int | None = None, method: str = "auto") -> None:
        if not columns:
            raise ParameterError("Popular needs columns; write Popular(['town', 'job', 'car']).")
        one_of("method", method, METHODS)
        if smallest is not None:
            positive_integer(smallest, "smallest")
        object.__setattr__(self, "columns", as_columns(columns))
        object.__setattr__(self, "smallest", smallest)
        object.__setattr__(self, "method", method)

    @classmethod
    def of_phrase(cls, phrase: Phrase, schema: Schema) -> Question:
        """Read the columns, the method and how rare a record may be."""
        phrase.only("with")
        return cls(phrase.columns, phrase.options.get("smallest"), phrase.method_alone("smallest"))

    def plan(self, basis: Basis, spend: Bound) -> Prepared:
        """Prepare the method asked for, or the best one; warn if no record can be frequent enough."""
        prepared = self._chosen(basis, spend)
        if isinstance(prepared.mechanism, PopularCounts):
            found_from = prepared.mechanism.hitters.smallest_found(CONFIDENCE)
            people = basis.people or 0  # a tree is planned only where it is public
            if found_from > min(people, self.smallest or people):
                warn(
                    f"Records are found from a count of {found_from} on, which is more than is asked for or than there "
                    "are people; spend more, ask for fewer columns, or allow a delta by Approximate(epsilon, delta)."
                )
        return prepared

    def _chosen(self, basis: Basis, spend: Bound) -> Prepared:
        if self.method == "tree":
            return plan_tree(basis, spend, self.columns, self.smallest)
        if self.method == "stability" or (self.method == "auto" and isinstance(spend, Approximate)):
            return with_people(plan_found((Count(),), basis, spend, self.columns, EVERY_ROW))
        if self.method == "laplace":
            return plan_cells(basis, spend, self.columns)
        return plan_pure(basis, spend, self.columns, self.smallest)

    def expected(self, basis: Basis, spend: Bound, prepared: Prepared | None = None) -> Expected:
        """Return how far a count that is listed may be off, and from which count on a record is found."""
        ready = prepared or self.prepare(basis, spend)
        if isinstance(ready.mechanism, PopularCounts):
            smallest, off = ready.mechanism.hitters.smallest_found(CONFIDENCE), half_width(ready.mechanism.law, USUAL)
        else:
            # What is released when nothing is found says the noise and the threshold, which are public.
            nothing = ready.finish(((), ()) if isinstance(ready.mechanism, FoundGroups) else ())
            (part,) = nothing.parts
            assert part.law is not None
            smallest, off = self.value(nothing).smallest, math.ceil(half_width(part.law, USUAL) * part.unit)
        return Expected(off, told=_foreseen(smallest, off, ready.gauge.people if ready.gauge.rows == 1 else None))

    def value(self, released: Released) -> SuccinctHistogram:
        """Return the table of what was found."""
        (part,) = released.parts
        table = table_of(released, (Count(),))
        people = released.facts.get("people")
        smallest = released.facts.get("smallest")
        if smallest is None:
            assert part.law is not None and part.threshold is not None
            smallest = (part.threshold + half_width(part.law, 2 * CONFIDENCE - 1)) * part.unit
        return SuccinctHistogram(
            table.keys,
            table.columns,
            smallest=int(smallest),
            people=None if people is None else int(people),
            method=str(released.made.get("engine", "cells")),
            overflow=bool(released.made.get("overflow", False)),
        )

    def interval(self, released: Released, confidence: Fraction) -> Any:
        """Return low and high ends of every count that was published."""
        found: Frame = table_between(released, (Count(),), confidence)
        return found

    def separate_intervals(self, released: Released) -> int:
        """Every record that was published has its own."""
        return len(released.cells)


def _foreseen(smallest: int, off: int, people: int | None) -> str:
    """Say what will be found, and how far its count may be off."""
    what = "people have" if people is not None else "rows have"
    share = "" if people is None else f" ({100 * smallest / people:.2g} % of {people:,})"
    none = "; that is more than there are, so nothing may be found" if people is not None and smallest > people else ""
    counts = f"the noise moves its count by at most {off:,}, 95 % of the time"
    return f"What at least {smallest:,} {what} in common{share} is found 95 % of the time{none}; {counts}."
