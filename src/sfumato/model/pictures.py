"""Pictures of a model: its one-way tables as bars, and tables of two columns as heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.model.base import MOST_CELLS, Floats, Model
from sfumato.model.refined import Refined
from sfumato.show.drawing import Drawing
from sfumato.show.grids import SmallBars, SmallHeat, grid
from sfumato.show.views import key_text
from sfumato.workload.space import column_names

MOST_COLUMNS = 24
"""So many one-way tables stand on one picture unless columns are chosen."""
CHOSEN = 6
"""So many pairs are drawn if none are named: those that go together most."""
SEARCHED = 20
"""Up to so many columns all pairs are looked at for that."""
BARS, SIDE = 40, 24
"""Columns of more values are drawn in runs of neighbours."""


@dataclass(frozen=True, repr=False)
class ModelPicture(Drawing):
    """The tables of a model, computed when they are drawn."""

    title: str
    model: Model
    columns: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...] | None
    caption: str = ""

    def figure(self) -> Any:
        """Return the matplotlib figure."""
        pairs = strongest(self.model, self.columns) if self.pairs is None else self.pairs
        charts: list[SmallBars | SmallHeat] = [_bars(self.model, name) for name in self.columns]
        charts += [_heat(self.model, pair) for pair in pairs]
        return grid(self.title, charts, self.caption).figure()


def model_picture(
    model: Model,
    columns: Sequence[str] | None = None,
    pairs: Sequence[Sequence[str]] | None = None,
    notes: Sequence[str] = (),
) -> ModelPicture:
    """Return a picture of some columns, by default all, and of some pairs, by default those that go together most.

    `notes` stand below it: how far the tables were off the data when that was measured, and what is not kept.
    """
    names = model.space.names if columns is None else column_names(columns, "columns")
    model.space.places(names, "this model")
    chosen = None if pairs is None else tuple(_pair(model, one) for one in pairs)
    shown = names if columns is not None else names[:MOST_COLUMNS]
    left = f"{len(names) - len(shown)} further columns: plot(columns=[…])." if len(shown) < len(names) else ""
    title = f"Model of about {model.total:,.0f} rows"
    return ModelPicture(title, model, shown, chosen, "\n".join(part for part in (left, *notes) if part))


def strongest(model: Model, columns: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the pairs that go together most in the model, by the mean square contingency of what is drawn of them."""
    if len(columns) > SEARCHED:
        return ()
    pairs = [pair for pair in combinations(columns, 2) if _listable(model, pair)]
    strength = {pair: _contingency(np.array(_heat(model, pair).values)) for pair in pairs}
    return tuple(sorted(pairs, key=lambda pair: -strength[pair])[:CHOSEN])


def _pair(model: Model, given: Sequence[str]) -> tuple[str, str]:
    names = column_names(given, "pairs")
    if len(names) != 2 or len(set(names)) != 2:
        raise ParameterError("pairs= names two columns each; write pairs=[('age', 'sex')].")
    model.space.places(names, "this model")
    return names[0], names[1]


def _contingency(table: Floats) -> float:
    whole = table / max(float(table.sum()), 1e-300)
    alone = np.outer(whole.sum(axis=1), whole.sum(axis=0))
    return float(np.divide((whole - alone) ** 2, alone, out=np.zeros_like(alone), where=alone > 0).sum())


def _bars(model: Model, name: str) -> SmallBars:
    (size,) = model.space.shape((name,))
    if isinstance(model, Refined) and name in model.bins and size > BARS:
        return _even_runs(model, name, size)
    labels, merged = _merged(model, name, model.marginal((name,)), range(size), axis=0, most=BARS)
    return SmallBars(name, labels, tuple((merged * model.total).tolist()))


def _even_runs(model: Refined, name: str, size: int) -> SmallBars:
    """Return a column of many values in runs of equal width, from what is known inside of its bins."""
    (place,) = model.space.places((name,))
    domain, held = model.space.domains[place], model.bins[name]
    masses = model.coarse.marginal((name,))[held.owners] * model.inside[name]
    below = np.concatenate(([0.0], np.cumsum(masses)))
    present = size - domain.may_be_missing
    cuts = [round(one * present / BARS) for one in range(BARS)]
    ends = [*cuts, present, *([size] if domain.may_be_missing else [])]
    values = np.diff(np.interp(ends, [*held.finer, size], below))
    labels = tuple(key_text(domain.decode(domain.first + end)) for end in ends[:-1])
    return SmallBars(name, labels, tuple((values * model.total).tolist()))


def _heat(model: Model, pair: tuple[str, str]) -> SmallHeat:
    table, starts = _table(model, pair)
    labels = []
    for axis, name in enumerate(pair):
        own, table = _merged(model, name, table, starts[axis], axis=axis, most=SIDE)
        labels.append(own)
    cells = tuple(tuple(row) for row in (table * model.total).tolist())
    return SmallHeat(pair, (labels[0], labels[1]), cells)


def _listable(model: Model, names: Sequence[str]) -> bool:
    sizes = model.coarse.space.shape(names) if isinstance(model, Refined) else model.space.shape(names)
    return prod(sizes) <= MOST_CELLS


def _table(model: Model, names: tuple[str, ...]) -> tuple[Floats, list[Sequence[int]]]:
    """Return a table and at which code of each column its places start; columns in bins are read by their bins."""
    sizes = model.space.shape(names)
    whole: list[Sequence[int]] = [range(size) for size in sizes]
    if not isinstance(model, Refined):
        return model.marginal(names), whole
    starts = [model.bins[name].starts if name in model.bins else one for name, one in zip(names, whole, strict=True)]
    return model.coarse.marginal(names), starts


def _merged(
    model: Model, name: str, table: Floats, starts: Sequence[int], *, axis: int, most: int
) -> tuple[tuple[str, ...], Floats]:
    """Return what is written at an axis, and the table with runs of neighbours added up where there are too many."""
    (place,) = model.space.places((name,))
    domain, size = model.space.domains[place], model.space.sizes[place]
    missing = domain.may_be_missing and starts[-1] == size - 1 and len(starts) > 1
    present = len(starts) - missing
    cuts = [round(one * present / most) for one in range(most)] if present > most else list(range(present))
    cuts = [*cuts, *([present] if missing else [])]
    values = [domain.decode(domain.first + starts[cut]) for cut in cuts]
    labels = tuple(key_text(value) for value in values)
    return labels, table if len(cuts) == len(starts) else np.add.reduceat(table, cuts, axis=axis)
