"""The question of how a column is distributed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.answer import ErrorUnit, Released
from sfumato.ask.expected import Expected
from sfumato.ask.phrases import Phrase
from sfumato.ask.prepared import Prepared
from sfumato.ask.question import Question, Where
from sfumato.errors import ParameterError, warn
from sfumato.privacy import Bound
from sfumato.questions.distribution.choice import METHODS, choose_option
from sfumato.questions.distribution.facts import DistributionFacts
from sfumato.questions.distribution.value import DistributionEstimate
from sfumato.table.gauge import Basis
from sfumato.table.schema import Schema
from sfumato.table.where import read_where
from sfumato.words import one_of


@dataclass(frozen=True, init=False)
class Distribution(Question):
    """How the rows are spread over an ordered column: all ranges, all quantiles and made-up values from one release.

    The value is a `DistributionEstimate`. `method="medians"` cuts the range at medians of medians and counts between
    the cuts (PL-SAN-THRESH-RQ); `"tree"` counts along a tree over the values, `"histogram"` counts every value,
    `"windows"` finds values of given ranks (TCDP-CDF). `"auto"` takes the smallest error predicted from public facts,
    and the value says why.
    """

    kind: ClassVar[str] = "Distribution"
    typed: ClassVar[tuple[str, ...]] = ("distribution",)
    shapes: ClassVar[Mapping[str, str]] = {"distribution.Cells": "sfumato.questions.distribution.medians"}
    error_unit: ClassVar[ErrorUnit] = "rank"
    column: str
    where: Where
    method: str

    def __init__(self, column: str, where: Where = None, method: str = "auto") -> None:
        if not isinstance(column, str) or not column:
            raise ParameterError("Distribution is about one column; write Distribution('age').")
        one_of("method", method, METHODS)
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "where", where)
        object.__setattr__(self, "method", method)

    @classmethod
    def of_phrase(cls, phrase: Phrase, schema: Schema) -> Question:
        """Read the column and the method."""
        phrase.without_groups().only("with", "where")
        return cls(phrase.column, phrase.where, phrase.method_alone())

    def plan(self, basis: Basis, spend: Bound) -> Prepared:
        """Prepare the method with the smallest predicted error, or the one asked for."""
        where = read_where(self.where, basis.schema)
        facts = DistributionFacts.of(basis, self.column, where)
        option, why = choose_option(facts, facts.gauge.priced(spend), self.method)
        if option.predicted >= facts.rows:
            warn(
                f"With {facts.known}, nothing is promised about the curve: the noise may be worth "
                f"{option.predicted:.0f} of them. Spend more, or ask for a few quantiles; it is private all the same."
            )

        def finish(raw: Any) -> Released:
            return option.released(facts, raw, why)

        return Prepared(facts.gauge, option.mechanism, finish)

    def expected(self, basis: Basis, spend: Bound, prepared: Prepared | None = None) -> Expected:
        """Return the rank error that is predicted of the curve at its worst place."""
        facts = DistributionFacts.of(basis, self.column, read_where(self.where, basis.schema))
        option, _ = choose_option(facts, facts.gauge.priced(spend), self.method)
        return Expected(math.ceil(option.predicted), "rank", " at its worst place")

    def value(self, released: Released) -> DistributionEstimate:
        """Return the curve."""
        return DistributionEstimate(released)

    def interval(self, released: Released, confidence: Fraction) -> Any:
        """Return the band at the places that were measured; it holds everywhere at once."""
        return DistributionEstimate(released).to_frame(confidence)
