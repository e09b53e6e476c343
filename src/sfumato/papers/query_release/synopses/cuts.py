"""From a spend to a synopsis of the cuts of a graph whose rows are edges (RL-CUT)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.answer import Released
from sfumato.ask.prepared import Prepared
from sfumato.errors import DomainTooLarge, ParameterError, SchemaError
from sfumato.exact import above_zero, between_zero_and_one
from sfumato.papers.query_release.synopses.cut_synopses import CutSynopsis, PairCutSynopsis, beside_constant
from sfumato.papers.query_release.synopses.hubs import DEGREES, EDGES, Edges, HubEdges, Hubs, edge_moves
from sfumato.perturb import calibrate
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Bound
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.questions.synopsis.deviation import predicted
from sfumato.questions.synopsis.methods import Columns, register
from sfumato.table.gauge import Basis, Gauge
from sfumato.table.measure import Distinct, Rows
from sfumato.table.schema import Schema
from sfumato.workload.moves import counted, repeated
from sfumato.workload.records import Records
from sfumato.workload.space import Space

MOST_VERTICES = 2**20
"""More vertices than one synopsis holds."""

MOST_PAIRED = 2048
"""Up to so many vertices every pair of them is counted."""

OPTIONS = ("hub", "by", "expect")


def cuts(basis: Basis, spend: Bound, columns: Columns, options: Mapping[str, Any]) -> Prepared:
    """Prepare noisy degrees and edges of hubs, or noisy counts of all pairs, whichever promises less error."""
    space = _ends(basis.schema, columns)
    gauge = basis.gauge(Rows(space.names))
    bound = gauge.priced(spend)
    way = options.get("by", "auto")
    if way not in ("auto", "hubs", "pairs"):
        raise ParameterError(f"Cuts are answered by 'auto', 'hubs' or 'pairs', and {way!r} is none of them.")
    if way == "auto":
        expected = options.get("expect")
        rows = float(above_zero(expected or 10**5, "expect") if gauge.total is None else gauge.total)
        way = _better(gauge, bound, space.sizes[0], rows)
    if way == "pairs":
        return _pairs(gauge, bound, space)
    hub = between_zero_and_one(options.get("hub", Fraction(1, 20)), "hub")
    return _hubs(gauge, bound, space, above_zero(hub, "hub"))


def _ends(schema: Schema, columns: Columns) -> Space:
    if columns is None or len(columns) != 2:
        raise SchemaError(
            "Cuts are of edges, and an edge has two ends; name the two columns that hold them, as in "
            "columns=('caller', 'called')."
        )
    space = Space.of(schema, columns)
    one, two = space.domains
    if (one.first, one.last) != (two.first, two.last) or [one.decode(one.first), one.decode(one.highest or 0)] != [
        two.decode(two.first),
        two.decode(two.highest or 0),
    ]:
        raise SchemaError("Both ends of an edge are vertices of one public list; give both columns the same domain.")
    if space.sizes[0] > MOST_VERTICES:
        raise DomainTooLarge(
            f"There are {space.sizes[0]} vertices, more than {MOST_VERTICES}; derive coarser vertices in the schema.",
            method="bins",
        )
    return space


def _better(gauge: Gauge, spend: Bound, vertices: int, rows: float) -> str:
    """Return which way has the smaller error over cuts by a coin, by formulas of public numbers."""
    if vertices > MOST_PAIRED:
        return "hubs"
    replaced = gauge.relation is REPLACE_ONE
    by_pairs = predicted(spend, edge_moves(EDGES, replaced, gauge.rows)) * vertices / 2
    parallel = max(1.0, 2 * rows / max(1, vertices * (vertices - 1)))
    left_out = math.sqrt(rows * parallel) / 2
    noise = predicted(spend.split(2), edge_moves(EDGES, replaced, gauge.rows))
    return "pairs" if by_pairs < math.hypot(left_out, noise) else "hubs"


def _read(space: Space, found: Distinct) -> Edges:
    records = Records.of(space, found)
    return Edges.of(records.codes[:, 0], records.codes[:, 1], records.counts)


def _vertices(space: Space) -> tuple[str, ...]:
    return tuple(str(value) for value in space.values(space.names[0]))


def _noise(gauge: Gauge, spend: Bound, space: Space, classes: int, draws: int) -> Any:
    replaced = gauge.relation is REPLACE_ONE
    reads, edge = gauge.attributes, repeated(counted(2), gauge.rows)
    singles: dict[str, Sensitivity] = dict.fromkeys(sorted(reads), edge) if replaced else {}
    return calibrate(
        spend,
        edge_moves(classes, replaced, gauge.rows),
        by_attribute=singles or None,
        draws=draws,
        relation=gauge.relation,
        reads=reads or EVERYTHING,
        gaussians=gauge.gaussians,
    )


def _released(made: CutSynopsis | PairCutSynopsis) -> Released:
    notes = beside_constant(made)
    shown: dict[str, Any] = {"synopsis": made.to_json(), "error": made.predicted()}
    return Released((), made={**shown, "notes": list(notes)} if notes else shown)


def _hubs(gauge: Gauge, spend: Bound, space: Space, share: Fraction) -> Prepared:
    part, most = spend.split(2), math.ceil(4 / share)
    degrees = _noise(gauge, part, space, DEGREES, space.sizes[0])
    edges = _noise(gauge, part, space, EDGES, most**2 // 2)
    mechanism = HubEdges(
        vertices=space.sizes[0],
        degree_law=degrees.law,
        edge_law=edges.law,
        share=share,
        most=most,
        people=gauge.total,
        rows=gauge.rows,
        relation=gauge.relation,
        reads=degrees.reads,
    )

    def finish(raw: Hubs) -> Released:
        total = float(raw.between.sum()) + float(raw.outward.sum()) + raw.elsewhere
        made = CutSynopsis(
            _vertices(space),
            max(1.0, total) if gauge.total is None else float(gauge.total),
            raw.degrees,
            raw.hubs,
            raw.between,
            raw.outward,
            raw.elsewhere,
            mechanism.degree_law.deviation(),
            mechanism.edge_law.deviation(),
        )
        return _released(made)

    return Prepared(gauge, mechanism, finish, lambda found: _read(space, found))


def _pairs(gauge: Gauge, spend: Bound, space: Space) -> Prepared:
    size = space.sizes[0]
    if size > MOST_PAIRED:
        raise DomainTooLarge(
            f"{size} vertices have {size * (size - 1) // 2} pairs, too many to count each; write by='hubs', or "
            f"derive at most {MOST_PAIRED} coarser vertices.",
            method="hubs",
        )
    if size < 2:
        raise SchemaError("A graph of one vertex has no edges; give the ends of edges a domain of at least two.")
    mechanism = _noise(gauge, spend, space, EDGES, size * (size - 1) // 2)

    def arrange(found: Distinct) -> NDArray[np.int64]:
        edges = _read(space, found)
        pairs = np.zeros(size * (size - 1) // 2, np.int64)
        np.add.at(pairs, edges.second * (edges.second - 1) // 2 + edges.first, edges.counts)
        return pairs

    def finish(raw: Any) -> Released:
        people = max(1.0, float(np.sum(raw))) if gauge.total is None else float(gauge.total)
        made = PairCutSynopsis(_vertices(space), people, np.asarray(raw, np.int64), mechanism.law.deviation())
        return _released(made)

    return Prepared(gauge, mechanism, finish, arrange)


register("cuts", cuts, OPTIONS)
