"""Columns of many values in a model: public bins that all other columns are measured with, and what lies inside them.

Bins are chosen from public facts: the months or years of dates, bins of equal width elsewhere, of many values also bins
that grow, and a bin of its own for missing cells. A part of the spend buys the one-way tables of the finer bins, which
say what lies inside. Where people are too few for pairs of so many bins, these tables also say where the bins are cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from sfumato.domain import Dates, Domain, FixedPoint, Integers, Times
from sfumato.exact.search import smallest_between
from sfumato.ledger.largest import scaled
from sfumato.model.base import Model
from sfumato.model.refined import ColumnBins, Refined, coarse_space
from sfumato.privacy import Approximate, Bound, Concentrated, Pure, Truncated
from sfumato.questions.synthesis.building import Groups, SynthesisFacts, stack_of
from sfumato.questions.synthesis.cuts import Cutting, occupied, sums_of
from sfumato.questions.synthesis.design import pair_noise
from sfumato.questions.synthesis.standing import cleaned
from sfumato.show.views import key_text
from sfumato.totals.tables.stack import TableStack
from sfumato.workload.space import Space

INSIDE = Fraction(1, 10)
"""The part of a spend that buys what lies inside the bins."""
FINEST = 2**14
"""So many finer bins a column has at most; values inside one of them are drawn alike."""
ENOUGH = 256
"""So many bins a column has at most: more of them take longer to fit than they are worth beside their noise."""
FEWEST = 8
"""So many bins every column keeps at least, if it has as many values."""
GRID = 48
"""The public bins of a column that is cut by released numbers; tables of three such columns can still be compared."""
CROWD = 0.15
"""Cells of a pair of cut columns for each unit of noise in the number of people: with more, noise holds a pair's table
back, with fewer, what lies inside a bin is lost. Set by looking at simulated money, skewed amounts and dates."""
LEAST, UNCOUNTED, MOST = 5, 10, 24
"""So many bins a cut column has at least, where the number of people is private, and at most."""
BEARABLE = 3
"""Where pairs of so few bins drown in noise nothing is cut: the one-way tables that say where to cut are noise there
too, and made-up tables of few people were further off with cuts than without."""
GROWING = 1000
"""Of columns with more values, half of the bins grow from the first value on: amounts have many magnitudes."""
FINE_CROWD, FINE_UNCOUNTED = 0.25, 256
"""Finer bins of a cut column, for each person that stands for a unit of noise, and where people are not counted."""
ORDERED = (Integers, FixedPoint, Dates, Times)
"""Columns whose neighbouring values are alike, so that bins of them mean something; bins of the schema stay."""


def bins_of(space: Space, most: int) -> dict[str, ColumnBins] | None:
    """Return the bins of columns that are too wide for `most` codes together; None if there are too many columns."""
    ordered = [size for size, domain in zip(space.sizes, space.domains, strict=True) if isinstance(domain, ORDERED)]
    if sum(space.sizes) <= most and max(ordered, default=0) <= min(ENOUGH, most):
        return {}
    room = min(_room(space.sizes, most), ENOUGH)
    if room < min(FEWEST, max(space.sizes)):
        return None
    return {
        name: _binned(domain, size, room, FINEST)
        for name, size, domain in zip(space.names, space.sizes, space.domains, strict=True)
        if size > room
    }


def _binned(domain: Domain, size: int, room: int, finest: int) -> ColumnBins:
    """Return bins of a column, and finer ones of one width inside them."""
    even = _starts(domain, size, min(size, FINEST), ())
    starts = _starts(domain, size, min(size, room), even)
    finer = even if finest >= FINEST else sorted({*_starts(domain, size, min(size, finest), even), *starts})
    return ColumnBins(starts, tuple(finer), size)


def cutting_of(
    facts: SynthesisFacts, whole: Space, bins: Mapping[str, ColumnBins], spends: tuple[Bound, Bound]
) -> Cutting | None:
    """Return the grids of wide columns, and in how many bins their pairs are measured; None where all bins serve."""
    room = max(len(held.starts) for held in bins.values())
    count = _count(facts, bins, spends[0]) if facts.pairs else room
    if count >= room:
        return None
    domains = dict(zip(whole.names, whole.domains, strict=True))
    sizes = dict(zip(whole.names, whole.sizes, strict=True))
    ordered = {name for name, domain in domains.items() if isinstance(domain, ORDERED)}
    # Beside wide columns, narrower ones are cut too, where that makes a difference: an age in years, say.
    wide = [name for name in whole.names if name in bins or (name in ordered and sizes[name] > 2 * count + 1)]
    finest = _finest(facts, whole, dict.fromkeys(wide), spends[1])
    grids = {
        name: _binned(domains[name], sizes[name], GRID, finest) if name in ordered else bins[name] for name in wide
    }
    counts = {name: len(grid.starts) for name, grid in grids.items()}
    for name in ordered & set(wide):
        counts[name] = min(counts[name], room, count + int(domains[name].may_be_missing))
    return Cutting(coarse_space(whole, grids), grids, counts)


def _count(facts: SynthesisFacts, bins: Mapping[str, ColumnBins], spend: Bound) -> int:
    """Return how many bins a cut column has, from public facts.

    A pair of k·k bins has noise k·k·sigma in all, sigma being that of a cell, which hardly depends on k: so many bins
    are taken that it stays well below the number of people. All of them where even the fewest would not.
    """
    people = _expected(facts)
    if people is None:
        return UNCOUNTED
    noise = pair_noise(replace(facts, space=_narrowed(facts.space, bins, UNCOUNTED)), spend)
    borne = int(sqrt(CROWD * people / noise))
    return ENOUGH if borne < BEARABLE else min(MOST, max(LEAST, borne))


def _expected(facts: SynthesisFacts) -> int | None:
    """Return about how many rows there are, one a person where they may have several; None if that is private."""
    return facts.gauge.people if facts.total is None else facts.total


def _narrowed(space: Space, wide: Mapping[str, Any], count: int) -> Space:
    """Return a space in which wide columns have at most so many codes."""
    pairs = zip(space.names, space.sizes, strict=True)
    sizes = tuple(min(size, count) if name in wide else size for name, size in pairs)
    return Space(space.names, sizes, space.attributes, space.domains)


def _finest(facts: SynthesisFacts, whole: Space, wide: Mapping[str, Any], spend: Bound) -> int:
    """Return how many finer bins a column has, so that their noise stays below the number of people."""
    people = _expected(facts)
    if people is None:
        return FINE_UNCOUNTED
    noise = sqrt(inside_tables(facts, _narrowed(whole, wide, GRID), wide, spend).parts[0].variance())
    return min(FINEST, max(GRID, int(FINE_CROWD * people / noise)))


def _room(sizes: Sequence[int], most: int) -> int:
    """Return how many codes a column may have, so that all of them together have `most` at most."""
    return smallest_between(0, most + 1, lambda room: sum(min(size, room) for size in sizes) > most) - 1


def _starts(domain: Domain, size: int, most: int, finer: Sequence[int]) -> tuple[int, ...]:
    """Return where at most `most` bins of a column start, each at a start of `finer` where these are given."""
    apart = int(domain.may_be_missing)  # the last code, which has a bin of its own
    values, room = size - apart, most - apart
    found = _calendar(domain, values, room) if isinstance(domain, Dates) else None
    if found is None and finer and values > GROWING:
        # Amounts have many magnitudes: half of the bins are of one width, half grow from the first value on.
        even = np.linspace(0, values, room // 2, endpoint=False)
        found = [
            0,
            *np.unique(np.floor([*even, *np.geomspace(1, values, room // 2 + 1)[:-1]])).astype(np.int64).tolist(),
        ]
    elif found is None:
        width = -(-values // room)
        found = list(range(0, values, width))
    if finer:
        # A bin starts where a finer one does: the last one that starts at or before it.
        listed = np.array(finer)
        found = sorted({int(listed[np.searchsorted(listed, start, side="right") - 1]) for start in found})
    return (*found, values) if apart else tuple(found)


def _calendar(domain: Dates, values: int, most: int) -> list[int] | None:
    """Return where months start, quarters or years, if there are few enough; days themselves where all fit."""
    days = np.arange(domain.first, domain.first + values).astype("datetime64[D]")
    for unit, many in (("D", 1), ("M", 1), ("M", 3), ("Y", 1)):
        held = days.astype(f"datetime64[{unit}]").astype(np.int64) // many
        starts = np.flatnonzero(np.diff(held, prepend=held[0] - 1))
        if len(starts) <= most:
            return [int(start) for start in starts]
    return None


def parted(spend: Bound) -> tuple[Bound, Bound]:
    """Return what the bins are measured with, and what lies inside them; together they are within the spend.

    Inside, an Approximate spend buys Laplace noise: a pure loss adds its epsilon to whatever the bins cost.
    """
    inside = scaled(spend, INSIDE)
    if isinstance(inside, Approximate):
        inside = Pure(inside.epsilon, unit=inside.unit)
    return scaled(spend, 1 - INSIDE), inside


def inside_tables(facts: SynthesisFacts, finer: Space, bins: Mapping[str, ColumnBins], spend: Bound) -> TableStack:
    """Return the one-way tables of the finer bins, with noise that the spend buys."""
    places = [place for place, name in enumerate(finer.names) if name in bins]
    ones: Groups = {"ones": [((place,), False) for place in places]}
    own = SynthesisFacts(finer, (), False, facts.gauge)
    match spend:
        case Pure():
            return stack_of(own, ones, {"ones": 1.0}, spend.epsilon, spend, pure=True)
        case Concentrated() | Truncated():
            return stack_of(own, ones, {"ones": 1.0}, spend.rho, spend)
    raise AssertionError("What lies inside is bought by a pure or a concentrated spend.")


def refined(
    model: Model,
    space: Space,
    bins: Mapping[str, ColumnBins],
    grids: Mapping[str, ColumnBins],
    tables: Mapping[str, tuple[Any, float]],
) -> Refined:
    """Return the model with what noisy tables, each with its variance, say of the inside of its bins."""
    missing = {name: domain.may_be_missing for name, domain in zip(space.names, space.domains, strict=True)}
    inside = {
        name: _inside(held, grids[name], *tables[name], len(grids[name].starts) - int(missing[name]))
        for name, held in bins.items()
    }
    return Refined(space, model.total, model, bins, inside)


def cut_off(space: Space, grids: Mapping[str, ColumnBins], tables: Mapping[str, tuple[Any, float]]) -> list[str]:
    """Say at which ends of which columns noise was all that was measured, so that made-up rows have hardly any."""
    found = []
    for name, (table, variance) in tables.items():
        grid, domain = grids[name], space.domains[space.places([name])[0]]
        counts, deviations = sums_of(grid, table, variance)
        values = len(grid.starts) - int(domain.may_be_missing)
        first, end = occupied(counts[:values], deviations)
        ends = [f"below {key_text(domain.decode(domain.first + grid.starts[first]))}"] if first else []
        ends += [f"from {key_text(domain.decode(domain.first + grid.starts[end]))} up"] if end < values else []
        if ends:
            found.append(
                f"Of {name!r} {' and '.join(ends)} noise is all that was measured: made-up rows have hardly any there, "
                "so a thin tail of the data is cut off, and the mean of the rows may lie on the near side of it."
            )
    return found


def _inside(held: ColumnBins, grid: ColumnBins, table: Any, variance: float, values: int) -> Any:
    """Return the chance of each finer bin inside its bin: that of its part of the grid, times that inside the part.

    Shares of the grid are the nearest probabilities to the noisy ones, and nothing at ends that only noise fills.
    Inside a part, counts are drawn to an even spread by as much as noise alone would explain (James and Stein).
    """
    counts, sums = np.asarray(table, np.float64).ravel(), np.array(sums_of(grid, table, variance)[0], np.float64)
    lengths = np.bincount(grid.owners, grid.lengths)
    even = np.maximum(sums, 0)[grid.owners] * grid.lengths / lengths[grid.owners]
    seen = np.bincount(grid.owners, (counts - even) ** 2)
    noise = variance * (np.bincount(grid.owners) - 1)
    kept = np.maximum(0, 1 - noise / np.maximum(seen, 1e-300))[grid.owners]
    within = grid.inside(np.maximum(even + kept * (counts - even), 0))
    return held.inside(within * _shares(held, grid, table, variance, values)[grid.owners])


def _shares(held: ColumnBins, grid: ColumnBins, table: Any, variance: float, values: int) -> Any:
    """Return the share of every part of the grid inside its bin."""
    counts, deviations = sums_of(grid, table, variance)
    first, end = occupied(counts[:values], deviations)
    parts = np.searchsorted(held.starts, grid.starts, side="right") - 1
    shares = np.zeros(len(counts))
    for one in range(len(held.starts)):
        places = np.flatnonzero(parts == one)
        inner = places[((places >= first) & (places < end)) | (places >= values)]
        if not len(inner):  # a bin that only noise fills: its few people are nearest to the others
            inner = places[:1] if places[0] >= end else places[-1:]
        own = np.array([counts[place] for place in inner], np.float64)
        shares[inner] = cleaned(own / own.sum()) if own.sum() > 0 else 1 / len(inner)
    return shares


def finer_space(space: Space, bins: Mapping[str, ColumnBins]) -> Space:
    """Return a space in which wide columns stand in their finer bins."""
    pairs = zip(space.names, space.sizes, strict=True)
    sizes = tuple(len(bins[name].finer) if name in bins else size for name, size in pairs)
    return Space(space.names, sizes, space.attributes, space.domains)
