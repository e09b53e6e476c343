"""The question of a workload: one noise for all numbers, or tables added up from contrasts; then made to agree."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.answer import Frame, NoisyPart, Released
from sfumato.ask.phrases import Phrase, after_of, leading_numbers, names
from sfumato.ask.prepared import Prepared
from sfumato.ask.question import Question
from sfumato.errors import ParameterError, SchemaError, UnsupportedSpend
from sfumato.exact import Number, above_zero
from sfumato.noise import Law, Priced
from sfumato.privacy import Bound
from sfumato.questions.queries.contrasts import Contrasts
from sfumato.questions.queries.noisy import NoisyWorkload, noisy_workload
from sfumato.questions.queries.project import PROJECTIONS, Projected, chosen, project
from sfumato.questions.queries.residuals import better, contrasts_of
from sfumato.questions.queries.tables import Tables
from sfumato.table.gauge import Basis
from sfumato.table.measure import Rows
from sfumato.table.schema import Schema
from sfumato.words import one_of
from sfumato.workload.blocks import Marginal
from sfumato.workload.floors import CONFIDENCE, Beside, beside_tables
from sfumato.workload.records import tabled
from sfumato.workload.space import Space
from sfumato.workload.workload import Workload

MOST_ANSWERS = 2**23
"""More numbers than one answer carries."""

Finish = Callable[[Any], Released]


@dataclass(frozen=True, init=False)
class Queries(Question):
    """All answers to a workload, each with an error bar: noise that is calibrated to how far they move together.

    The value is `Tables`. Tables of counts with Gaussian noise are added up from contrasts, each measured once, so that
    they agree and errors are smaller (SY-RES); everything else has one noise for all.

    After the noise the answers are replaced by the nearest ones that some table of people could give, which costs
    nothing and is never further from the truth on average: `method="exact"` for small domains, `"frank-wolfe"` with a
    certified gap for domains up to 2^20 cells, `"local"` for tables of counts over any number of columns (they agree on
    what they share, none is negative), `"none"` for the bare noisy numbers; `"auto"` chooses from public facts.

    `weights` say how much each table counts, in the order of the workload; without them all count the same, whatever
    their size. Of the noise that contrasts share, tables of more weight get less.

    `notes` of the answer say what the luck of the draw does anyway (LB-SAMPLE), and what no pure mechanism can beat
    (QR:LB-HIST).

    Spec: SY-RES, PDP-GAUSS, PDP-PROJ, QR-LAP.

    >>> from sfumato import Concentrated, booleans, workloads
    >>> from sfumato.table.bounding import Bounding, Way
    >>> schema = Schema({"rain": booleans(), "wind": booleans()})
    >>> question = Queries(workloads.marginals(schema, width=2))
    >>> loss = question.prepare(Basis(schema, 100), Concentrated(0.5)).mechanism.loss()
    >>> round(float(loss.person.rho(2)), 3), round(float(loss.at("rain").rho(2)), 3)
    (0.5, 0.5)
    """

    kind: ClassVar[str] = "Queries"
    title: ClassVar[str] = "Answers to many queries"
    typed: ClassVar[tuple[str, ...]] = ("tables", "conjunctions", "parities", "prefixes", "ranges")
    stored: ClassVar[Mapping[str, str]] = {"Queries": "Answers", "method": "projection"}
    later: ClassVar[Mapping[str, Any]] = {"weights": ()}
    workload: Workload
    method: str
    weights: tuple[Fraction, ...]

    def __init__(self, workload: Workload, method: str = "auto", weights: Sequence[Number] = ()) -> None:
        if not isinstance(workload, Workload):
            raise ParameterError(
                "Queries needs a workload; write Queries(workloads.marginals(schema, width=2)) with the schema of the "
                "table."
            )
        one_of("method", method, PROJECTIONS)
        if workload.queries > MOST_ANSWERS:
            raise ParameterError(
                f"The workload asks for {workload.queries} numbers, more than {MOST_ANSWERS}; ask for fewer "
                "columns, or for a model by synthesize."
            )
        object.__setattr__(self, "workload", workload)
        object.__setattr__(self, "method", method)
        object.__setattr__(self, "weights", _weights(workload, weights))

    def canonical(self, schema: Schema) -> Self:
        """Refuse a workload that was made for another schema."""
        if Space.of(schema, self.workload.space.names) != self.workload.space:
            raise SchemaError(
                "The workload was made for a schema with other domains; make it from the schema of this table, "
                "curator.schema."
            )
        return self

    @classmethod
    def of_phrase(cls, phrase: Phrase, schema: Schema) -> Question:
        """Read which queries, over how many columns at a time."""
        phrase.only("with")
        return cls(_workload_of(phrase, schema), phrase.method_alone())

    def plan(self, basis: Basis, spend: Bound) -> Prepared:
        """Prepare one noise for all queries, or contrasts of all tables, and the projection as what happens then."""
        workload, space = self.workload, Space.of(basis.schema, self.workload.columns)
        gauge = basis.gauge(Rows(space.names))
        method = chosen(workload, self.method, gauge.total is not None)
        plain = noisy_workload(gauge, gauge.priced(spend), workload)
        stack = contrasts_of(gauge, spend, workload, self.weights) if basis.contrasts else None
        if stack is None and self.weights:
            raise UnsupportedSpend(
                "weights= share Gaussian noise between tables; here all of them have the same noise. Write a spend "
                "such as Concentrated(0.1) or Approximate(1, 1e-6), ask for fewer tables, or leave weights= out."
            )
        contrasts = None if stack is None else better(plain, stack, gauge.total, self.weights)
        counted, arrange = tabled(gauge, space, (block.columns for block in workload.blocks))
        if stack is None or contrasts is None:
            beside = beside_tables(workload, gauge, spend, plain.law, plain.error(CONFIDENCE))
            return Prepared(counted, plain, _one_noise(plain, method, gauge.total, beside), arrange)
        beside = beside_tables(workload, gauge, spend, None, contrasts.joint(CONFIDENCE))
        return Prepared(counted, stack, _added_up(contrasts, method, beside), arrange)

    def value(self, released: Released) -> Tables:
        """Return the tables of the answers."""
        if Contrasts.stored_in(released):
            contrasts = Contrasts.read(self.workload, released)
            law: Law | Contrasts = contrasts
            noisy = contrasts.tables([np.array(part.released) for part in released.parts])
            units = [1.0] * len(noisy)
        else:
            assert released.parts[0].law is not None
            law = released.parts[0].law
            noisy = tuple(np.array(part.released, dtype=np.float64) * float(part.unit) for part in released.parts)
            units = [float(part.unit) for part in released.parts]
        found = _projected(released, noisy, units)
        people = released.facts.get("people")
        return Tables(
            self.workload, found.answers, noisy, law, found.method, found.gap, None if people is None else int(people)
        )

    def interval(self, released: Released, confidence: Fraction) -> Frame:
        """Return low and high ends of every answer in one long table."""
        return self.value(released).interval(confidence)

    def separate_intervals(self, released: Released) -> int:
        """Every query has its own."""
        return self.workload.queries


def _weights(workload: Workload, weights: Sequence[Number]) -> tuple[Fraction, ...]:
    """Return the weights of all tables as exact numbers above 0; refuse what is no list of them."""
    if not isinstance(weights, Sequence) or isinstance(weights, str):
        raise ParameterError("weights= is a list, one number for each table of the workload; write weights=[2, 1, 1].")
    if not weights:
        return ()
    if not all(isinstance(block, Marginal) for block in workload.blocks):
        raise ParameterError(
            "weights= say how much each table counts, and not all of these queries are tables; leave it out."
        )
    tables = len(workload.blocks)
    if len(weights) != tables:
        raise ParameterError(
            f"The workload has {tables} tables and weights= has {len(weights)} numbers; write one for each table, in "
            "the order of workload.blocks."
        )
    return tuple(above_zero(weight, "weights") for weight in weights)


def _one_noise(mechanism: NoisyWorkload, method: str, people: int | None, beside: Beside) -> Finish:
    """Return what follows the noise of one law: numbers of every block, and their projection."""
    workload, law = mechanism.workload, mechanism.law

    def finish(raw: Any) -> Released:
        parts = tuple(
            NoisyPart(f"block {place}", tuple(answers.tolist()), law, Fraction(1, block.denominator))
            for place, (block, answers) in enumerate(zip(workload.blocks, raw, strict=True))
        )
        found = project(workload, raw, method, people, [_variance(law)] * len(raw))
        return Released(parts, facts=_facts(people), made={**_stored(found), **beside.made()})

    return finish


def _added_up(contrasts: Contrasts, method: str, beside: Beside) -> Finish:
    """Return what follows the noise of contrasts: their numbers, and a projection of the tables added up from them."""
    workload, people = contrasts.workload, contrasts.total

    def finish(raw: Any) -> Released:
        variances = [contrasts.variance(place) for place in range(len(workload.blocks))]
        found = project(workload, contrasts.tables(raw), method, people, variances)
        return Released(contrasts.released(raw), facts=_facts(people), made={**_stored(found), **beside.made()})

    return finish


def _facts(people: int | None) -> dict[str, Fraction]:
    return {} if people is None else {"people": Fraction(people)}


def _variance(law: Priced) -> float:
    """Return about the variance of a draw, from the width within which two thirds of them lie."""
    from sfumato.answer import half_width

    return max(float(half_width(law, Fraction(68, 100))), 0.5) ** 2


def _stored(found: Projected) -> dict[str, Any]:
    if found.method == "none":
        return {"projection": "none"}
    joined = np.concatenate(found.answers).astype("<f8")
    return {"projection": found.method, "gap": found.gap, "answers": base64.b64encode(joined.tobytes()).decode("ascii")}


def _projected(released: Released, noisy: tuple[Any, ...], units: list[float]) -> Projected:
    made = released.made
    if made.get("projection", "none") == "none":
        return Projected(noisy, "none")
    joined = np.frombuffer(base64.b64decode(made["answers"]), dtype="<f8").astype(np.float64)
    ends = np.cumsum([len(part) for part in noisy])[:-1]
    answers = tuple(part * unit for part, unit in zip(np.split(joined, ends), units, strict=True))
    gap = made.get("gap")
    return Projected(answers, str(made["projection"]), None if gap is None else float(gap))


def _workload_of(phrase: Phrase, schema: Schema) -> Workload:
    from sfumato.workload import builders

    widths, rest = leading_numbers(phrase.words[1:])
    columns = names(after_of(rest)) if after_of(rest) else None
    if phrase.kind in ("prefixes", "ranges"):
        if columns is None or widths:
            raise ParameterError(f"{phrase.kind} are of columns; write for example '{phrase.kind} of age'.")
        return builders.prefixes(schema, columns) if phrase.kind == "prefixes" else builders.ranges(schema, columns)
    if len(widths) != 1 or not widths[0].isdecimal():
        raise ParameterError(
            f"{phrase.kind} need to know how many columns at a time; write for example '{phrase.kind} 2 of age, sex'."
        )
    kinds = {"tables": builders.marginals, "conjunctions": builders.conjunctions, "parities": builders.parities}
    return kinds[phrase.kind](schema, int(widths[0]), columns)
