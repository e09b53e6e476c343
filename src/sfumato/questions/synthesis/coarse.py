"""Columns of many values in a model: public bins that all other columns are measured with, and what lies inside them.

Bins are chosen from the schema alone: the months or years of dates, bins of equal width elsewhere, of very many values
also bins that grow, and a bin of its own for missing cells. A tenth of the spend buys the one-way tables of the finer
bins, which say what lies inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.domain import Dates, Domain
from sfumato.exact.search import smallest_between
from sfumato.ledger.largest import scaled
from sfumato.model.base import Model
from sfumato.model.refined import ColumnBins, Refined
from sfumato.privacy import Approximate, Bound, Concentrated, Pure, Truncated
from sfumato.questions.synthesis.building import Groups, SynthesisFacts, stack_of
from sfumato.questions.synthesis.stack import TableStack
from sfumato.workload.space import Space

INSIDE = Fraction(1, 10)
"""The part of a spend that buys what lies inside the bins."""
FINEST = 2**14
"""So many finer bins a column has at most; values inside one of them are drawn alike."""
ENOUGH = 256
"""So many bins a column has at most: more of them take longer to fit than they are worth beside their noise."""
FEWEST = 8
"""So many bins every column keeps at least, if it has as many values."""


def bins_of(space: Space, most: int) -> dict[str, ColumnBins] | None:
    """Return the bins of columns that are too wide for `most` codes together; None if there are too many columns."""
    if sum(space.sizes) <= most:
        return {}
    room = min(_room(space.sizes, most), ENOUGH)
    if room < min(FEWEST, max(space.sizes)):
        return None
    found = {}
    for name, size, domain in zip(space.names, space.sizes, space.domains, strict=True):
        if size > room:
            finer = _starts(domain, size, min(size, FINEST), ())
            found[name] = ColumnBins(_starts(domain, size, room, finer), finer, size)
    return found


def _room(sizes: Sequence[int], most: int) -> int:
    """Return how many codes a column may have, so that all of them together have `most` at most."""
    return smallest_between(0, most + 1, lambda room: sum(min(size, room) for size in sizes) > most) - 1


def _starts(domain: Domain, size: int, most: int, finer: Sequence[int]) -> tuple[int, ...]:
    """Return where at most `most` bins of a column start, each at a start of `finer` where these are given."""
    apart = int(domain.may_be_missing)  # the last code, which has a bin of its own
    values, room = size - apart, most - apart
    found = _calendar(domain, values, room) if isinstance(domain, Dates) else None
    if found is None and finer and values > FINEST:
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
    """Return where months start, or years, if there are few enough; days themselves where all fit."""
    days = np.arange(domain.first, domain.first + values).astype("datetime64[D]")
    for unit in ("D", "M", "Y"):
        held = days.astype(f"datetime64[{unit}]").astype(np.int64)
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


def refined(model: Model, space: Space, bins: Mapping[str, ColumnBins], tables: Mapping[str, Any]) -> Refined:
    """Return the model with what noisy tables say of the inside of its bins; what is below zero counts as zero."""
    inside = {name: held.inside(np.maximum(np.asarray(tables[name], np.float64), 0.0)) for name, held in bins.items()}
    return Refined(space, model.total, model, bins, inside)


def finer_space(space: Space, bins: Mapping[str, ColumnBins]) -> Space:
    """Return a space in which wide columns stand in their finer bins."""
    pairs = zip(space.names, space.sizes, strict=True)
    sizes = tuple(len(bins[name].finer) if name in bins else size for name, size in pairs)
    return Space(space.names, sizes, space.attributes, space.domains)
