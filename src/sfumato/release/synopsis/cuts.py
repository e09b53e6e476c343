"""From a spend to a synopsis of the cuts of a graph whose rows are edges (RL-CUT)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.answer import Released
from sfumato.errors import DomainTooLarge, ParameterError, SchemaError
from sfumato.exact import above_zero, between_zero_and_one
from sfumato.perturb import calibrate
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Bound
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.release.setting import Prepared, Setting
from sfumato.release.synopsis.cut_synopses import CutSynopsis, PairCutSynopsis
from sfumato.release.synopsis.deviation import deviation, predicted
from sfumato.release.synopsis.hubs import DEGREES, EDGES, Edges, HubEdges, Hubs, edge_moves
from sfumato.release.synopsis.methods import Columns, register
from sfumato.release.workload.moves import counted
from sfumato.release.workload.records import Records
from sfumato.release.workload.space import Space
from sfumato.table.bounding import Way

MOST_VERTICES = 2**20
"""More vertices than one synopsis holds."""

MOST_PAIRED = 2048
"""Up to so many vertices every pair of them is counted."""

OPTIONS = ("hub", "by", "expect")


def cuts(setting: Setting, spend: Bound, columns: Columns, options: Mapping[str, Any]) -> Prepared:
    """Prepare noisy degrees and edges of hubs, or noisy counts of all pairs, whichever promises less error."""
    space = _ends(setting, columns)
    way = options.get("by", "auto")
    if way not in ("auto", "hubs", "pairs"):
        raise ParameterError(f"Cuts are answered by 'auto', 'hubs' or 'pairs', and {way!r} is none of them.")
    if way == "auto":
        expected = options.get("expect")
        rows = float(setting.people) if setting.counted else float(above_zero(expected or 10**5, "expect"))
        way = _better(setting, spend, space.sizes[0], rows)
    if way == "pairs":
        return _pairs(setting, spend, space)
    hub = between_zero_and_one(options.get("hub", Fraction(1, 20)), "hub")
    return _hubs(setting, spend, space, above_zero(hub, "hub"))


def _ends(setting: Setting, columns: Columns) -> Space:
    if columns is None or len(columns) != 2:
        raise SchemaError(
            "Cuts are of edges, and an edge has two ends; name the two columns that hold them, as in "
            "columns=('caller', 'called')."
        )
    space = Space.of(setting.schema, columns)
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


def _better(setting: Setting, spend: Bound, vertices: int, rows: float) -> str:
    """Return which way has the smaller error over cuts by a coin, by formulas of public numbers."""
    if vertices > MOST_PAIRED:
        return "hubs"
    replaced = setting.relation is REPLACE_ONE
    by_pairs = predicted(spend, edge_moves(EDGES, replaced, setting.rule.rows)) * vertices / 2
    parallel = max(1.0, 2 * rows / max(1, vertices * (vertices - 1)))
    left_out = math.sqrt(rows * parallel) / 2
    noise = predicted(spend.split(2), edge_moves(EDGES, replaced, setting.rule.rows))
    return "pairs" if by_pairs < math.hypot(left_out, noise) else "hubs"


def _read(space: Space, view: Any) -> Edges:
    records = Records.read(view, space)
    return Edges.of(records.codes[:, 0], records.codes[:, 1], records.counts)


def _vertices(space: Space) -> tuple[str, ...]:
    return tuple(str(value) for value in space.values(space.names[0]))


def _noise(setting: Setting, spend: Bound, space: Space, classes: int, draws: int) -> Any:
    picked = setting.picking().rule.way is Way.PICK
    replaced = setting.relation is REPLACE_ONE
    reads = setting.reads(space.names)
    singles: dict[str, Sensitivity] = dict.fromkeys(sorted(reads), counted(2)) if replaced and not picked else {}
    return calibrate(
        spend,
        edge_moves(classes, replaced, setting.rule.rows),
        by_attribute=singles or None,
        draws=draws,
        relation=setting.relation,
        reads=reads or EVERYTHING,
    )


def _hubs(setting: Setting, spend: Bound, space: Space, share: Fraction) -> Prepared:
    part, most = spend.split(2), math.ceil(4 / share)
    degrees = _noise(setting, part, space, DEGREES, space.sizes[0])
    edges = _noise(setting, part, space, EDGES, most**2 // 2)
    mechanism = HubEdges(
        vertices=space.sizes[0],
        degree_law=degrees.law,
        edge_law=edges.law,
        share=share,
        most=most,
        people=setting.people if setting.counted else None,
        rows=setting.rule.rows,
        picked=setting.picking().rule.way is Way.PICK,
        relation=setting.relation,
        reads=degrees.reads,
    )

    def finish(raw: Hubs) -> Released:
        total = float(raw.between.sum()) + float(raw.outward.sum()) + raw.elsewhere
        made = CutSynopsis(
            _vertices(space),
            float(setting.people) if setting.counted else max(1.0, total),
            raw.degrees,
            raw.hubs,
            raw.between,
            raw.outward,
            raw.elsewhere,
            deviation(mechanism.degree_law),
            deviation(mechanism.edge_law),
        )
        return Released((), made={"synopsis": made.to_json(), "error": made.predicted()})

    return Prepared(
        frozenset(space.names), mechanism, lambda view: _read(space, view), finish, setting.picking().rule.way
    )


def _pairs(setting: Setting, spend: Bound, space: Space) -> Prepared:
    size = space.sizes[0]
    if size > MOST_PAIRED:
        raise DomainTooLarge(
            f"{size} vertices have {size * (size - 1) // 2} pairs, too many to count each; write by='hubs', or "
            f"derive at most {MOST_PAIRED} coarser vertices.",
            method="hubs",
        )
    if size < 2:
        raise SchemaError("A graph of one vertex has no edges; give the ends of edges a domain of at least two.")
    mechanism = _noise(setting, spend, space, EDGES, size * (size - 1) // 2)

    def read(view: Any) -> NDArray[np.int64]:
        edges = _read(space, view)
        found = np.zeros(size * (size - 1) // 2, np.int64)
        np.add.at(found, edges.second * (edges.second - 1) // 2 + edges.first, edges.counts)
        return found

    def finish(raw: Any) -> Released:
        people = float(setting.people) if setting.counted else max(1.0, float(np.sum(raw)))
        made = PairCutSynopsis(_vertices(space), people, np.asarray(raw, np.int64), deviation(mechanism.law))
        return Released((), made={"synopsis": made.to_json(), "error": made.predicted()})

    return Prepared(frozenset(space.names), mechanism, read, finish, setting.picking().rule.way)


register("cuts", cuts, OPTIONS)
