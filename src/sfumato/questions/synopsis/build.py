"""From a spend to noisy sums over sets of columns, and from these to a synopsis of conjunctions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.answer import Released
from sfumato.ask.prepared import Prepared
from sfumato.ask.question import QUESTIONS
from sfumato.errors import ParameterError, UnsupportedSpend, warn
from sfumato.exact import above_zero
from sfumato.model.base import MOST_CELLS
from sfumato.privacy import REPLACE_ONE, Bound
from sfumato.questions.synopsis.binary import Bits
from sfumato.questions.synopsis.designs import (
    NOMINAL,
    QUICK_SETS,
    Design,
    SynopsisFacts,
    check_degree,
    fourier_design,
    largest_degree,
    marginal_design,
    query_probability,
    with_negations,
)
from sfumato.questions.synopsis.fourier import FourierSynopsis
from sfumato.questions.synopsis.marginals import MarginalSynopsis
from sfumato.questions.synopsis.methods import Columns, register
from sfumato.questions.synopsis.modelled import ModelSynopsis, share_bias, share_noise
from sfumato.questions.synopsis.weighted import SubsetSums, attribute_moves
from sfumato.table.gauge import Basis, Gauge
from sfumato.workload.moves import fitted_noise

TYPICAL_WIDTH = 3
"""How many columns a query names, unless told otherwise."""

DEEPEST = 6
"""Beyond so many columns in a set, noise is always worse than what is left out."""

POOR = 0.25
"""A share that is off by so much says nothing."""


@dataclass(frozen=True)
class Asked:
    """Binary columns, public facts and options, read once."""

    bits: Bits
    gauge: Gauge
    facts: SynopsisFacts
    width: float
    spend: Bound
    worst: bool

    @classmethod
    def read(cls, basis: Basis, spend: Bound, columns: Columns, options: Mapping[str, Any]) -> Asked:
        """Read columns and options against the schema."""
        bits = Bits.of(basis.schema, columns)
        gauge = basis.gauge(bits.measure)
        width = float(above_zero(options.get("width", min(TYPICAL_WIDTH, len(bits))), "width"))
        query_probability(len(bits), width)
        expected = options.get("expect")
        people = float(above_zero(expected, "expect")) if expected is not None else None
        if gauge.total is not None:
            people = float(gauge.total)
        replaced = gauge.relation is REPLACE_ONE
        facts = SynopsisFacts(len(bits), bits.zeros, replaced, gauge.rows, people)
        return cls(bits, gauge, facts, width, gauge.priced(spend), _worst(options))

    def fourier(self, degree: int) -> Design:
        """Return the design of Fourier coefficients of this degree."""
        return fourier_design(self.facts, self.spend, degree, self.width)

    def marginals(self, order: int) -> Design:
        """Return the design of sets of so many columns."""
        return marginal_design(self.facts, self.spend, order, max(1, round(self.width)), self.worst)

    def best(self, name: str, given: Any) -> Design:
        """Return the design of the degree that was given, or of the one with the smallest predicted error."""
        make = self.fourier if name == "degree" else self.marginals
        if given != "auto":
            check_degree(len(self.bits), given, name)
            return make(given)
        deepest = min(DEEPEST, largest_degree(len(self.bits), QUICK_SETS))
        if self.facts.people is None:
            return make(min(2, deepest))
        found = make(1)
        for degree in range(2, deepest + 1):
            other = make(degree)
            if other.error > 4 * found.error:  # noise grows from here on
                break
            found = min(found, other, key=lambda design: design.error)
        return found


def _worst(options: Mapping[str, Any]) -> bool:
    guarantee = options.get("guarantee", "average")
    if guarantee not in ("average", "worst"):
        raise ParameterError(f"guarantee is 'average' over queries or for the 'worst' one, and not {guarantee!r}.")
    return bool(guarantee == "worst")


def fourier(basis: Basis, spend: Bound, columns: Columns, options: Mapping[str, Any]) -> Prepared:
    """Prepare noisy Fourier coefficients (RL-FOUR)."""
    asked = Asked.read(basis, spend, columns, options)
    return _prepared(asked, asked.best("degree", options.get("degree", "auto")), "RL-FOUR")


def marginals(basis: Basis, spend: Bound, columns: Columns, options: Mapping[str, Any]) -> Prepared:
    """Prepare noisy counts of sets of few columns (RL-AIE)."""
    asked = Asked.read(basis, spend, columns, options)
    return _prepared(asked, asked.best("order", options.get("order", "auto")), "RL-AIE")


def auto(basis: Basis, spend: Bound, columns: Columns, options: Mapping[str, Any]) -> Prepared:
    """Prepare sets of few columns, or a model where it promises less error, or Fourier coefficients.

    Sets and models answer queries of every width and with negations well, Fourier coefficients only those for which
    they were made, so that these are taken where they promise less than half of the error, of negations too.
    """
    asked = Asked.read(basis, spend, columns, options)
    sets, coefficients = asked.best("order", "auto"), asked.best("degree", "auto")
    promised = with_negations(asked.facts, asked.spend, coefficients, asked.width).error
    model = Modelled.of(asked, basis, spend)
    modelled = math.inf if model is None else model.error(asked.width)
    if 2 * promised < min(sets.error, modelled):
        return _prepared(asked, coefficients, "RL-FOUR")
    if model is not None and modelled < sets.error:
        return model.prepared()
    return _prepared(asked, sets, "RL-AIE")


@dataclass(frozen=True)
class Modelled:
    """A model of columns whose rows can all be listed, in place of a sketch: that of `Synthesize` (RL-PLAN).

    `question` is known by its name alone, since questions do not import each other.
    """

    asked: Asked
    basis: Basis
    spend: Bound
    question: Any
    pair: float
    """The noise in a cell of a table of two columns, in rows, from public facts."""

    @classmethod
    def of(cls, asked: Asked, basis: Basis, spend: Bound) -> Modelled | None:
        """Return the model of these columns; None where there are too many rows, or its error is not foreseen.

        A bit of several values, such as age>=65, adds up the noise of many cells, and nothing foresees that.
        """
        space = asked.bits.space
        if math.prod(space.sizes) > MOST_CELLS or any(len(codes) != 1 for codes in asked.bits.codes):
            return None
        synthesize: Any = QUESTIONS["Synthesize"]
        question = synthesize(columns=space.names)
        try:
            pair = question.pair_noise(basis, spend)
        except UnsupportedSpend:
            return None
        return None if pair is None else cls(asked, basis, spend, question, pair)

    def error(self, width: float) -> float:
        """Return about the root mean squared error of conjunctions of so many columns."""
        chosen, people = max(1, round(width)), self.asked.facts.people or NOMINAL
        return math.hypot(share_noise(chosen, self.pair / people), share_bias(chosen))

    def prepared(self) -> Prepared:
        """Prepare what the model is made from; its synopsis is made of the model."""
        prepared: Prepared = self.question.plan(self.basis, self.spend)

        def finish(raw: Any) -> Released:
            found = prepared.finish(raw)
            fitted, schema = found.made["model"], found.made["schema"]
            made = ModelSynopsis(self.asked.bits.names, float(fitted["total"]), schema, fitted, self.pair)
            return replace(found, made={"synopsis": made.to_json(), "error": made.typical(self.asked.width)})

        return replace(prepared, finish=finish)


def _prepared(asked: Asked, design: Design, method: str) -> Prepared:
    bits, people = asked.bits, asked.facts.people
    if people is not None and design.noise > POOR:
        warn(
            f"Noise will move a share by about {design.noise:.2g}, which leaves nothing to see; spend more, name fewer "
            "columns, or ask for a smaller degree= or order=."
        )
    mechanism = subset_sums_mechanism(asked.gauge, asked.spend, bits, design, method)

    def finish(raw: Any) -> Released:
        made = _synopsis(asked, design, mechanism, np.asarray(raw), method)
        return Released((), made={"synopsis": made.to_json(), "error": made.typical(asked.width)})

    return Prepared(asked.gauge, mechanism, finish, bits.read, holds=bits.holds)


def _synopsis(
    asked: Asked, design: Design, mechanism: SubsetSums, raw: Any, method: str
) -> FourierSynopsis | MarginalSynopsis:
    names, people = asked.bits.names, asked.facts.people
    if design.count:
        people, raw = max(1.0, float(raw[-1]) / design.count), raw[:-1]
    assert people is not None
    noise = mechanism.law.deviation()
    if method == "RL-AIE":
        steps = tuple(round(1 / unit) for unit in design.units[1:])
        return MarginalSynopsis(names, people, design.degree, raw, steps, noise, design.ones, asked.worst)
    probability = query_probability(len(names), asked.width)
    return FourierSynopsis(names, people, design.degree, probability, raw, design.units, noise, design.worst)


def subset_sums_mechanism(gauge: Gauge, spend: Bound, bits: Bits, design: Design, method: str) -> SubsetSums:
    """Return the sums with the noise that fits a spend, for the person or for each attribute."""
    if not design.moves.l1:
        raise ParameterError("Every binary column has one value only, so that there is nothing to learn; name others.")
    singles = {}
    if gauge.relation is REPLACE_ONE:
        found = attribute_moves(bits, design.table, design.ones, gauge.rows)
        singles = {name: moves for name, moves in found.items() if moves.l1}
    law, reads = fitted_noise(gauge, spend, design.moves, singles, sum(len(row) for row in design.table))
    return SubsetSums(
        bits=bits,
        weights=design.table,
        law=law,
        count=design.count,
        rows=gauge.rows,
        ones=design.ones,
        method=method,
        relation=gauge.relation,
        reads=reads,
    )


register("auto", auto, ("width", "expect"))
register("fourier", fourier, ("degree", "width", "expect"))
register("marginals", marginals, ("order", "width", "guarantee", "expect"))
