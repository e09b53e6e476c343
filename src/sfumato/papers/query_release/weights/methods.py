"""The papers' synthesizers by name: `synthesize(workload, method="mwem")`, `"pdp-mwem"`, `"barak"`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from sfumato.answer import NoisyPart, Released
from sfumato.ask.prepared import Prepared
from sfumato.errors import ParameterError
from sfumato.model.factored import Factored
from sfumato.noise import Priced
from sfumato.papers.query_release.weights.barak import Barak
from sfumato.papers.query_release.weights.candidates import Candidates
from sfumato.papers.query_release.weights.evidence import Fitting
from sfumato.papers.query_release.weights.planning import (
    Options,
    plan_rounds,
)
from sfumato.papers.query_release.weights.rounds import Transcript
from sfumato.privacy import Bound
from sfumato.table.gauge import Basis, Gauge
from sfumato.table.measure import Rows
from sfumato.table.schema import Schema
from sfumato.workload.blocks import Marginal
from sfumato.workload.records import Records
from sfumato.workload.space import Space
from sfumato.workload.workload import Workload

Given = TypeVar("Given")


def mwem(basis: Basis, spend: Bound, workload: Workload, options: Mapping[str, Any] | None = None) -> Prepared:
    """Prepare multiplicative weights for one person's promise (QR-MWEM, QR-MWEMF)."""
    wanted = options_of(Options, options)
    # A histogram to start from is one of all cells, so that it reads every column; rounds read those of their queries.
    columns = workload.space.names if wanted.start == "histogram" else workload.columns
    tables = wanted.candidates == "tables" or (
        wanted.candidates == "auto" and all(isinstance(block, Marginal) for block in workload.blocks)
    )
    gauge = basis.gauge(Rows(tuple(columns)))
    mechanism = plan_rounds(
        Candidates(workload, tables),
        gauge.priced(spend),
        people=gauge.people,
        counted=gauge.total is not None,
        relation=gauge.relation,
        rows=gauge.rows,
        reads=gauge.charged,
        options=wanted,
    )
    return prepared_rounds(gauge, mechanism, mechanism.model_of)


def barak(basis: Basis, spend: Bound, workload: Workload, options: Mapping[str, Any] | None = None) -> Prepared:
    """Prepare the Fourier baseline, fitted by multiplicative updates (QR-BARAK)."""
    fitting = options_of(Fitting, options) if options else None
    gauge = basis.gauge(Rows(workload.columns))
    plan = Barak(workload, gauge.relation, gauge.total, gauge.rows)
    mechanism = plan.mechanism(gauge.priced(spend), gauge.charged, gauge.gaussians)
    plan.say_of_few(mechanism)

    def finish(noisy: Any) -> Released:
        model = plan.model(noisy, mechanism, fitting) if fitting else plan.model(noisy, mechanism)
        return released_model(basis.schema, model, tuple(noisy.tolist()), mechanism.law)

    space = Space.of(basis.schema, workload.columns)
    return Prepared(gauge, mechanism, finish, lambda found: plan.read(Records.of(space, found)))


METHODS: dict[str, Callable[[Basis, Bound, Workload, Mapping[str, Any] | None], Prepared]] = {
    "mwem": mwem,
    "barak": barak,
}


def options_of(kind: type[Given], given: Mapping[str, Any] | None) -> Given:
    """Return options by name, refusing what a method does not have."""
    known = {part.name for part in fields(kind)}  # type: ignore[arg-type]
    for name in given or {}:
        if name not in known:
            raise ParameterError(f"This method has no option {name!r}; it has {', '.join(sorted(known))}.")
    return kind(**(given or {}))


def prepared_rounds(gauge: Gauge, mechanism: Any, model_of: Callable[[Transcript], Factored]) -> Prepared:
    """Return what runs for a mechanism of rounds, and the model that is made of its transcript."""
    assert isinstance(gauge.measure, Rows)
    space = Space.of(gauge.schema, gauge.measure.names)

    def finish(transcript: Transcript) -> Released:
        numbers = [number for one in transcript.rounds for values in one.values for number in values]
        return released_model(gauge.schema, model_of(transcript), tuple(numbers), None)

    return Prepared(gauge, mechanism, finish, lambda found: Records.of(space, found))


def released_model(schema: Schema, model: Factored, numbers: tuple[int, ...], law: Priced | None) -> Released:
    """Return what was measured, and the model made from it alone."""
    made = {"schema": schema.to_json(), "model": model.to_json()}
    return Released((NoisyPart("measured", numbers, law),), made=made)
