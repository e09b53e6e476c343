"""Quantiles of an ordered column, several at once."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sfumato.answer import ErrorUnit, Frame, NoisyPart, Released, one_sided_width
from sfumato.ask.expected import Expected
from sfumato.ask.phrases import Phrase, after_of, leading_numbers, names
from sfumato.ask.prepared import Prepared
from sfumato.ask.question import Question, Where
from sfumato.domain import Categories, Domain, Text
from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.exact import Number, between_zero_and_one, exact
from sfumato.exact.rational import show
from sfumato.mechanism import Mechanism
from sfumato.noise import Priced
from sfumato.privacy import Bound
from sfumato.questions.quantiles.choice import (
    METHODS,
    Chosen,
    Method,
    QuantileFacts,
    choose_quantiles,
    joint_rank_error,
)
from sfumato.questions.quantiles.joint import JointQuantiles
from sfumato.questions.quantiles.measure import Measure
from sfumato.questions.quantiles.quantile_choice import QuantileChoice, rank_error
from sfumato.questions.quantiles.text_order import TextOrder
from sfumato.questions.quantiles.values import between, public_ends
from sfumato.table.gauge import Basis, Gauge
from sfumato.table.measure import Codes, Ordered
from sfumato.table.predicate import EVERY_ROW
from sfumato.table.schema import Schema
from sfumato.table.where import read_where
from sfumato.totals.rank_error import MeasuredCuts, divided, is_measured, measured, share_of_error, stated_error

LARGEST_DENOMINATOR = 10**6
USUAL = Fraction(95, 100)
MOST_ROWS = "public rows"
GAPS = "cells may be missing"
"""The fact that the schema lets cells of the column be missing: how many can be read is then known to nobody."""

_PER_CENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)%")


@dataclass(frozen=True, init=False)
class Quantiles(Question):
    """The values below which given parts of the rows lie, chosen from the column's public range.

    Duplicates, values at the ends of the range, a single row: there is always an answer. The error is one of rank. A
    small part of the spend measures how far off the quantiles are (MD-QBAR), where that says more than the bound for
    the worst data; `measured=False` spends all on the quantiles themselves. Missing cells are left out.
    """

    kind: ClassVar[str] = "Quantiles"
    typed: ClassVar[tuple[str, ...]] = ("median", "quantiles")
    error_unit: ClassVar[ErrorUnit] = "rank"
    later: ClassVar[Mapping[str, Any]] = {"measured": True}
    column: str
    probabilities: tuple[Fraction, ...]
    where: Where
    method: Method
    measured: bool

    def __init__(
        self,
        column: str,
        probabilities: Number | Sequence[Number] = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)),
        where: Where = None,
        method: Method = "auto",
        measured: bool = True,
    ) -> None:
        alone = isinstance(probabilities, str) or not isinstance(probabilities, Sequence)
        given: Sequence[Any] = [probabilities] if alone else probabilities  # type: ignore[assignment]
        chances = tuple(sorted({_probability(part) for part in given}))
        if not chances or any(part.denominator > LARGEST_DENOMINATOR for part in chances):
            raise ParameterError("Quantiles needs probabilities of at most six digits; write [0.25, 0.5, 0.75].")
        if method not in METHODS:
            raise ParameterError(f"There is no method {method!r}; write one of {', '.join(map(repr, METHODS))}.")
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "probabilities", chances)
        object.__setattr__(self, "where", where)
        object.__setattr__(self, "method", method)
        if not isinstance(measured, bool):
            raise ParameterError("measured= says whether the rank error is measured; write True or False.")
        object.__setattr__(self, "measured", measured)

    @classmethod
    def of_phrase(cls, phrase: Phrase, schema: Schema) -> Question:
        """Read the probabilities before the column; without any, the quartiles are meant."""
        phrase.only("with", "where")
        numbers, rest = leading_numbers(phrase.words[1:])
        if rest and (cent := _PER_CENT.fullmatch(rest[0])):
            part = f"{float(cent[1]) / 100:g}"
            raise ParameterError(f"Quantiles are of parts of the rows; write {part} in place of {rest[0]}.")
        chances = ["0.5"] if phrase.kind == "median" else numbers or ["0.25", "0.5", "0.75"]
        method: Any = phrase.method_alone()
        return cls(phrase.one(names(after_of(rest))), tuple(chances), phrase.where, method)

    def plan(self, basis: Basis, spend: Bound) -> Prepared:
        """Choose how to draw the quantiles from what is public."""
        order, gauge, chosen, mechanism = self._ready(basis, spend)
        if isinstance(chosen.mechanism, JointQuantiles):
            import sfumato.questions.quantiles.chain  # noqa: F401  numba is loaded before anything is reserved
        facts = _facts(chosen.mechanism)
        if gauge.people is not None:
            facts[MOST_ROWS] = Fraction(gauge.people * gauge.rows)
        if order.domain.may_be_missing:
            facts[GAPS] = Fraction(1)
        if isinstance(mechanism, MeasuredCuts):
            facts |= public_ends(order.domain, gauge)

        def finish(raw: Sequence[int]) -> Released:
            places = raw[: len(self.probabilities)]
            parts = (mechanism.part(raw),) if isinstance(mechanism, MeasuredCuts) else ()
            values = tuple(
                (chance, order.value(place)) for chance, place in zip(self.probabilities, places, strict=True)
            )
            codes = NoisyPart("code", tuple(order.first + place for place in places), None)
            made = {"method": chosen.method, "why": chosen.why}
            return Released((codes, *parts), ("probability", self.shown), values, facts, made)

        return Prepared(gauge, mechanism, finish, order.places)

    def expected(self, basis: Basis, spend: Bound, prepared: Prepared | None = None) -> Expected:
        """Return the rank error: what is expected of the method and of the noise that measures it, or the worst."""
        _, gauge, chosen, mechanism = self._ready(basis, spend)
        if isinstance(mechanism, MeasuredCuts):
            error = _foreseen(chosen.expected, len(self.probabilities), mechanism.error.law)
        else:
            error = worst_rank_error(_facts(chosen.mechanism), len(self.probabilities), USUAL)
        if gauge.people is None:
            return Expected(math.ceil(error), "rank")
        rows = gauge.people * gauge.rows
        return Expected(min(math.ceil(error), rows), "rank", rows=rows)

    def _ready(self, basis: Basis, spend: Bound) -> tuple[Order, Gauge, Chosen, Mechanism]:
        """Return the order of the values, what is read, how the quantiles are drawn, and what runs."""
        domain = basis.schema.domain(self.column)
        if isinstance(domain, Categories):
            domain.require_order(self.column, "median or quantiles")
        order = Order.of(domain)
        gauge = basis.gauge(Ordered(self.column, read_where(self.where, basis.schema)))
        public = QuantileFacts(
            size=order.size,
            first=order.first,
            probabilities=self.probabilities,
            units=None if gauge.people is None else gauge.people * gauge.weight,
            weight=gauge.weight,
            scale=gauge.rule.scale,
            relation=gauge.relation,
            reads=gauge.charged,
        )
        return order, gauge, *self._chosen(public, gauge, gauge.priced(spend))

    def _chosen(self, facts: QuantileFacts, gauge: Gauge, spend: Bound) -> tuple[Chosen, Mechanism]:
        """Return how the quantiles are drawn, and what runs: with their error measured, where that states less.

        For one quantile of a small domain the bound for the worst data is the smaller one, by public numbers, and then
        the quantile has the whole spend.
        """
        whole = choose_quantiles(facts, spend, self.method)
        if not self.measured or not gauge.basis.rank_errors:
            return whole, whole.mechanism
        rest, part = divided(spend, share_of_error(len(self.probabilities)))
        try:
            chosen = choose_quantiles(facts, rest, self.method)
            made = measured(chosen.mechanism, self.probabilities, part, gauge)
        except UnsupportedSpend:
            return whole, whole.mechanism  # what is left of the spend pays for no quantiles
        stated = chosen.expected + one_sided_width(made.error.law, USUAL)
        if worst_rank_error(_facts(whole.mechanism), len(self.probabilities), USUAL) <= stated:
            return whole, whole.mechanism
        return chosen, made

    @property
    def shown(self) -> str:
        """The name of the quantiles in a table."""
        return self.column if self.column != "probability" else "quantile"

    def value(self, released: Released) -> Any:
        """Return the probabilities and their quantiles."""
        return released.frame({})

    def interval(self, released: Released, confidence: Fraction) -> Any:
        """Return how many rows away from its rank each quantile is at most, all together.

        Where the number of rows is public and the error was measured, also between which values the true quantiles lie.
        """
        count, ends = len(released.cells), None
        if is_measured(released):
            error = stated_error(released, confidence)
            error = min(error, int(released.facts.get(MOST_ROWS, error)))
            ends = between([(cell[0], cell[1]) for cell in released.cells], released.facts, error)
        else:
            error = worst_rank_error(released.facts, count, confidence)
        chances = tuple(cell[0] for cell in released.cells)
        values = {} if ends is None else {f"{self.shown}, low": ends[0], f"{self.shown}, high": ends[1]}
        return Frame(("probability",), {"probability": chances, **values, "rank error": (error,) * count})

    def unknown(self, released: Released) -> Mapping[str, tuple[bool, ...]]:
        """Mark the values where their rank error is as large as half of all rows there can be."""
        most = released.facts.get(MOST_ROWS)
        if most is None or not released.cells:
            return {}
        nothing = 2 * self.interval(released, USUAL)["rank error"][0] >= most
        return {self.shown: (nothing,) * len(released.cells)}

    def doubts(self, released: Released) -> tuple[str, ...]:
        """Return a sentence where the rank error is as large as what it is an error of, as far as that is public."""
        if not released.cells:
            return ()
        (error, *_) = self.interval(released, USUAL)["rank error"]
        most = released.facts.get(MOST_ROWS)
        if most is not None and 2 * error >= most:
            return (
                f"The rank error of {error:,} rows is as large as half of the rows there can be ({int(most):,}), so "
                "the values tell nothing; spend more, ask for fewer quantiles, or narrow the column's range.",
            )
        if self.where in (None, EVERY_ROW):
            few = f"Where fewer than {2 * error:,} of these cells can be read, the values tell nothing."
            return (few,) if GAPS in released.facts else ()
        return (
            f"Where fewer than {2 * error:,} rows fulfil the condition, the values tell nothing: a rank error of "
            f"{error:,} rows reaches from the middle to both ends. Ask how many fulfil it, by a count; then spend "
            "more, or ask about fewer and larger groups.",
        )


def _foreseen(usual: float, count: int, law: Priced) -> float:
    """Return the rank error that an answer will usually state: that of its worst quantile, the noise, and its width.

    Of `count` errors of this usual size the largest is about 1 + 1/2 + … + 1/count times as large. Noise that makes the
    measured number smaller than the error takes at most all of it away, so on average it adds what its positive part
    does: less than 2/5 of its deviation for both laws.
    """
    largest = usual * sum(1 / place for place in range(1, count + 1))
    return largest + 2 / 5 * law.deviation() + one_sided_width(law, USUAL)


@dataclass(frozen=True)
class Order:
    """The places of a column's values in their order, and how they are read."""

    domain: Domain
    text: TextOrder | None

    @classmethod
    def of(cls, domain: Domain) -> Order:
        """Return the order of a domain; texts are ordered by their bytes."""
        return cls(domain, TextOrder(domain.max_bytes) if isinstance(domain, Text) else None)

    @property
    def first(self) -> int:
        """The code of place 0."""
        return self.domain.first if self.text is None else 0

    @property
    def size(self) -> int:
        """How many places there are."""
        if self.text is not None:
            return self.text.size
        assert self.domain.highest is not None
        return self.domain.highest - self.domain.first + 1

    def value(self, place: int) -> Any:
        """Return the value at a place."""
        return self.domain.decode(self.first + place) if self.text is None else self.text.text(place)

    def places(self, found: Codes) -> tuple[Any, Any]:
        """Return the places that occur, sorted, and their counts; missing cells have no place."""
        codes, counts = found
        if self.text is None:
            # A difference of codes of a domain of at most 2^63 fits; of a wider one it is a Python integer.
            return (codes - self.first if self.size <= 1 << 63 else codes.astype(object) - self.first), counts
        placed = {
            self.text.place(self.domain.decode(code)): n
            for code, n in zip(codes, counts.tolist(), strict=True)
            if not self.domain.is_missing(code)
        }
        places = sorted(placed)
        return np.array([*places, None], object)[:-1], np.array([placed[place] for place in places], np.int64)


def _probability(part: Number) -> Fraction:
    """Return a part of the rows exactly; what looks like a percentage is refused with the part to write."""
    number = exact(part, "a probability")
    if 1 < number < 100:
        raise ParameterError(
            f"a probability lies between 0 and 1, and {show(number)} looks like per cent; write {show(number / 100)}."
        )
    return between_zero_and_one(number, "a probability")


def worst_rank_error(facts: Mapping[str, Fraction], count: int, confidence: Fraction) -> int:
    """Return the rank error that holds for any data without a measurement, from public facts alone."""
    possible, steepness = int(facts["possible values"]), facts["steepness"]
    if "levels" not in facts:
        return rank_error(possible, steepness, count, confidence)
    fans = [int(facts[f"level {level}"]) for level in range(int(facts["levels"]))]
    draws = 1 if len(fans) == 1 else count
    return joint_rank_error(possible, steepness, int(facts["most rows"]), fans, confidence, draws=draws)


def _facts(mechanism: QuantileChoice | JointQuantiles) -> dict[str, Fraction]:
    """Return the public numbers that the rank error is computed from."""
    possible = Measure(mechanism.size, mechanism.zero).weight_between(0, mechanism.size)
    facts = {"possible values": Fraction(possible), "steepness": mechanism.steepness()}
    if isinstance(mechanism, JointQuantiles):
        fans = [max(len(mechanism.pivots(node)) for node in nodes) for nodes in mechanism.levels()]
        facts |= {f"level {level}": Fraction(fan) for level, fan in enumerate(fans)}
        facts |= {"levels": Fraction(len(fans)), "most rows": Fraction(mechanism.capacity // mechanism.scale)}
    return facts
