"""From what a search found, or somebody named, to items with shares from all reports (LO-ALL, LO-LIST)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.local.all_reports import AllReports, Readings, of_server, read_list, rows_of
from sfumato.local.check import item_tests
from sfumato.local.confirm import share_of_all
from sfumato.local.cutoffs import answer_cutoff, cell_cutoff
from sfumato.local.evidence import Bar, Evidence, Find, Law, drawn_bars
from sfumato.local.hadamard import HadamardReader
from sfumato.local.linear import PEELED_BY_CHANCE
from sfumato.local.popular import PopularItem

if TYPE_CHECKING:
    from sfumato.local.check import Test
    from sfumato.local.server import Server


def found_items(
    server: Server, finds: Sequence[Find], candidates: Sequence[int] = (), chance: float = 0.5
) -> tuple[list[PopularItem], list[Test]]:
    """Return all that was found, and the candidates that are popular by their own cut, with shares from all reports.

    `candidates` are different codes; one that nobody holds is listed with at most `chance`, all of them together. With
    each item comes whether all roles speak for it alike.
    """
    by_code = {find.code: find for find in finds}
    codes = list(dict.fromkeys([*candidates, *by_code]))
    if not codes or not server.accepted:
        return [], []
    tables = of_server(server)
    rows = rows_of(server, codes)
    popular = np.array([code in by_code for code in candidates], dtype=np.bool_)
    said = read_list(tables, rows, len(candidates), chance, popular)
    kept = [place for place, code in enumerate(codes) if said.accepted[place] or code in by_code]
    apart = _apart(tables, rows[kept], said.peeled[kept]) if len(tables.readers) > 1 else [None] * len(kept)
    items, counted = [], tables.influence(said.shared).tolist()
    for place, law, last in zip(kept, tables.laws(said, kept), apart, strict=True):
        share, error = float(said.shares[place]), float(law.error(said.shares[place]))
        find = by_code.get(codes[place])
        # Of an item that both show, the list's cut is the lower one.
        listed = bool(said.accepted[place]) and place < len(candidates)
        bars = _cut(tables, said, place) if listed or find is None else _passed(tables, said, place, find)
        score = share / float(law.error(0.0)) if find is None else find.score
        value = server.plan.items.value(codes[place])
        items.append(PopularItem(value, share, error, score, last, listed, counted[place], Evidence(law, bars)))
    return items, item_tests(tables, rows[kept], said.shared.alone[kept], said.shares[kept])


def _cut(tables: AllReports, said: Readings, place: int) -> Any:
    """Return the one bar that an accepted candidate passed, in the roles that speak of it alone."""
    alone = int(said.shared.alone[place])
    if said.shared.start[place] == alone:
        return np.array([said.cuts[place] / tables.counting[alone] - said.added[place]])
    return _drawn(tables, said, place, [Bar(alone, len(tables.sizes), float(said.cuts[place]))])


def _passed(tables: AllReports, said: Readings, place: int, find: Find) -> Any:
    """Return the bars that an item of the search passed."""
    return _drawn(tables, said, place, find.bars)


def _drawn(tables: AllReports, said: Readings, place: int, bars: Sequence[Bar]) -> Any:
    raw, start = float(said.shares[place] + said.added[place]), int(said.shared.start[place])
    return drawn_bars(tables.oracle, tables.sizes, start, raw, bars) - said.added[place]


def named_items(server: Server, codes: Sequence[int]) -> list[PopularItem]:
    """Return the shares of named items, different codes, without any selection; heavy ones are peeled from others."""
    values = [server.plan.items.value(code) for code in codes]
    if not server.accepted:
        return [PopularItem(value, 0.0, math.inf) for value in values]
    tables = of_server(server)
    said = read_list(tables, rows_of(server, codes), len(codes), PEELED_BY_CHANCE)
    counted = tables.influence(said.shared).tolist()
    told = zip(values, said.shares.tolist(), counted, tables.laws(said, slice(None)), strict=True)
    return [_named(value, share, most, Evidence(law)) for value, share, most, law in told]


def _named(value: Any, share: float, counted: float, known: Evidence) -> PopularItem:
    error, zero = float(known.law.error(share)), float(known.law.error(0.0))
    return PopularItem(value, share, error, share / zero, influence=counted, evidence=known)


def plain_items(server: Server, codes: Sequence[int], chance: float | None = None) -> list[PopularItem]:
    """Return the shares of candidates of a list that is not hashed; with a chance, of the popular ones only."""
    oracle, reports = server.plan.method.roles[0].oracle, server.accepted
    values = [server.plan.items.value(code) for code in codes]
    if not reports:
        return [] if chance is not None else [PopularItem(value, 0.0, math.inf) for value in values]
    reader, places = oracle.reader(server.tally(0)), np.array(codes, dtype=np.int64)
    counts = reader.counts(places)
    absent = reader.errors(places, np.zeros(len(places))) ** 2
    rise = (reader.errors(places, np.full(len(places), 1.0)) ** 2 - absent) / reports
    bars = np.full(len(places), -math.inf)
    if chance is not None:
        bars = _plain_cuts(reader, places, math.log(chance / max(1, len(places))))
    items = []
    for place in np.flatnonzero(counts >= bars).tolist():
        share, law = float(counts[place]) / reports, Law(float(absent[place]) / reports**2, float(rise[place]))
        known = Evidence(law, None if chance is None else np.array([bars[place] / reports]))
        made = _named(values[place], share, server.plan.influence, known)
        items.append(made if chance is None else replace(made, listed=True))
    return items


def _plain_cuts(reader: Any, places: Any, log_chance: float) -> Any:
    if isinstance(reader, HadamardReader):
        return np.array([cell_cutoff(reader.oracle, count, log_chance) for count in reader.inside(places).tolist()])
    return np.full(len(places), answer_cutoff(reader.oracle, reader.reports, log_chance))


def _apart(tables: AllReports, rows: Any, peeled: Any) -> list[tuple[float, float]]:
    """Return share and error by the last role alone, which no search has looked at."""
    last = len(tables.readers) - 1
    size = tables.sizes[last]
    points = tables.points(rows, last)
    # What is peeled of an item is put back before it is read.
    counts = tables.readers[last].counts(points) + peeled * size
    errors = tables.readers[last].errors(points, counts)
    everybody = tables.everybody
    return [share_of_all(float(c), float(e), int(size), everybody) for c, e in zip(counts, errors, strict=True)]
