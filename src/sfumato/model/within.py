"""Values inside declared bins: rows of a model whose bins have a base column show that column, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Derived, Domain
from sfumato.domain.derived import Bins
from sfumato.errors import ParameterError
from sfumato.noise import Noise
from sfumato.workload.space import Space

Values = Literal["within", "bins"]
"""What rows show of a column of bins: a value inside beside the bin, or the bin alone."""

PARTS = 2**30
"""A slope is rounded to one part in this many, so that every whole value has an exact chance."""

MOST_BINS = 2**22
"""Of more bins than this no table is written out, and so no slope is known."""

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def require_values(values: object) -> None:
    """Refuse a word that rows do not know."""
    if values not in get_args(Values):
        raise ParameterError(
            f"values= is 'within', which makes up a value inside each bin, or 'bins', which shows its lower end; "
            f"{values!r} is neither."
        )


def inner_columns(space: Space) -> dict[str, Derived]:
    """Return the columns of bins whose base can stand beside them, by name.

    It cannot if it was modelled itself, or if another column of the model follows from it: rows would contradict
    themselves.
    """
    pairs = list(zip(space.names, space.domains, strict=True))
    bases = Counter(domain.rule.of for _, domain in pairs if isinstance(domain, Derived))
    return {
        name: domain
        for name, domain in pairs
        if isinstance(domain, Derived)
        and isinstance(domain.rule, Bins)
        and bases[domain.rule.of] == 1
        and (domain.size or 0) <= MOST_BINS
        and domain.rule.of not in space.names
    }


@dataclass(frozen=True, eq=False)
class Inside:
    """Bins of base codes, and how the density leans inside each: -1 falls to zero at the upper end, 1 from zero.

    Over a bin of w codes the density is (1 + lean·(2x/w - 1))/w. It is a mixture, with the chance |lean|, of the
    larger (or the smaller) of two even draws and one even draw, so that every code gets its exact share.
    """

    lows: Codes
    lengths: Codes
    leans: Codes
    """In parts of `PARTS`."""
    missing: int | None

    def draw(self, bins: Codes, noise: Noise) -> Codes:
        """Return a base code for the bin of every row; the bin behind the last one is that of missing cells."""
        found = np.full(len(bins), 0 if self.missing is None else self.missing, np.int64)
        there = bins < len(self.lows)
        lengths = np.where(there, self.lengths[np.where(there, bins, 0)], 0)
        for length in np.unique(lengths[there]):
            members = np.flatnonzero(lengths == length)
            held = bins[members]
            drawn, again = (noise.uniform(int(length), len(members)) for _ in range(2))
            leans = self.leans[held]
            further = np.where(leans > 0, np.maximum(drawn, again), np.minimum(drawn, again))
            drawn = np.where(noise.uniform(PARTS, len(members)) < np.abs(leans), further, drawn)
            found[members] = self.lows[held] + drawn
        return found


def inside_of(domain: Derived, chances: Floats) -> Inside:
    """Return what lies inside the bins of a column by the chances of its codes; missing cells stay missing.

    The slope inside a bin is that between the densities of its neighbours, at the ends half of that to the only one,
    cut where the density would fall below zero.

    >>> from sfumato.domain import bins, integers
    >>> ages = bins("age", step=10).on(integers(0, 29))
    >>> (inside_of(ages, np.array([0.5, 0.3, 0.2, 0.0])).leans / PARTS).round(3).tolist()
    [-0.1, -0.25, -0.125]
    """
    lows, lengths = _ends(domain)
    masses = np.asarray(chances, np.float64)[: len(lows)]
    densities, middles = masses / lengths, lows + lengths / 2
    slopes = np.zeros(len(lows))
    if len(lows) > 1:
        steps = np.diff(densities) / np.diff(middles)
        slopes[1:-1] = (densities[2:] - densities[:-2]) / (middles[2:] - middles[:-2])
        slopes[0], slopes[-1] = steps[0] / 2, steps[-1] / 2
    tilts = np.divide(slopes * lengths, 2 * densities, out=np.zeros(len(lows)), where=densities > 0)
    leans = np.round(np.clip(tilts, -1, 1) * PARTS).astype(np.int64)
    return Inside(lows, lengths, leans, domain.base.missing_code if domain.may_be_missing else None)


def _ends(domain: Derived) -> tuple[Codes, Codes]:
    """Return the first base code of every bin and how many it holds: inside the base's range, and between the edges.

    Where a ledger of an earlier version has the bins clipped, cells beyond the edges count in the first and last bin;
    made-up values keep to the edges.
    """
    rule, base = domain.rule, domain.base
    assert isinstance(rule, Bins) and base.highest is not None
    if rule.edges is None:
        width = rule.width(base)
        starts = np.arange(domain.first, domain.highest + 2, dtype=np.int64) * width
        starts[0], starts[-1] = base.first, base.highest + 1
    else:
        inner = rule.edge_codes(base)
        least, most = rule.outer_codes(base)
        first = inner[0] - 1 if inner else base.highest
        last = inner[-1] if inner else base.first
        low, high = max(base.first, min(least, first)), min(base.highest, max(most, last))
        if low > high:  # one bin between two values of the base
            low, high = base.first, base.highest
        starts = np.array([low, *inner, high + 1])
    return starts[:-1].astype(np.int64), np.diff(starts).astype(np.int64)


def with_values(space: Space, codes: Codes, marginal: Callable[[str], Floats], noise: Noise) -> tuple[Space, Codes]:
    """Return rows with a base column before each column of bins that can have one, and the space of all of them."""
    held = inner_columns(space)
    if not held:
        return space, codes
    names: list[str] = []
    sizes: list[int] = []
    attributes: list[str | None] = []
    domains: list[Domain] = []
    columns: list[Codes] = []
    for at, name in enumerate(space.names):
        if name in held:
            base = held[name].base
            names.append(held[name].rule.of)
            sizes.append(base.size or 1)
            attributes.append(space.attributes[at])
            domains.append(base)
            columns.append(inside_of(held[name], marginal(name)).draw(codes[:, at], noise) - base.first)
        names.append(name)
        sizes.append(space.sizes[at])
        attributes.append(space.attributes[at])
        domains.append(space.domains[at])
        columns.append(codes[:, at])
    return Space(tuple(names), tuple(sizes), tuple(attributes), tuple(domains)), np.column_stack(columns)
