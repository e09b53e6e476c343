"""What a model does not keep of its columns, said in words from released and public numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from sfumato.model.base import Model
from sfumato.questions.synthesis.evidence import Columns, Evidence
from sfumato.questions.synthesis.standing import FALSE_LINKS, Judged, judged
from sfumato.totals.tables.contrasts import Floats

HIDDEN = 0.15
"""Where noise could hide that a table is farther than this from unrelated columns, nothing is known of it."""
HELD = 0.1
"""Columns that go together by this much in the model are not said to be lost."""
MOSTLY = 0.25
"""A one-way table that noise moves by more than this in total variation says little."""
NAMED, MANY, MOST = 60, 16, 5000
"""Pairs that are named, columns of more codes than this are worth bins, and pairs that are looked at at all."""


def not_kept(model: Model, evidence: Evidence, pairs: Sequence[Columns]) -> list[str]:
    """Say which pairs of columns drowned in noise or were not measured, and which single columns are mostly noise."""
    found = judged(evidence)
    asked = list(pairs)[:MOST]
    hidden = {columns: _hidden(found, columns) for columns in asked if columns in found.tables}
    drowned = [columns for columns, most in hidden.items() if most > HIDDEN and _unheld(model, columns)]
    dropped = [
        columns
        for columns, most in hidden.items()
        if most <= HIDDEN and found.tables[columns].doubt < FALSE_LINKS and _alone(model, columns)
    ]
    unmeasured = [columns for columns in asked if columns not in found.tables and _unheld(model, columns)]
    return [
        *_drowned(model, evidence, drowned),
        *_unmeasured(model, unmeasured, len(asked)),
        *_dropped(model, dropped),
        *_noisy(model, evidence),
    ]


def _hidden(found: Judged, columns: Columns) -> float:
    """Return about the total variation from unrelated columns that the noise of a table could hide.

    What stands out has a residual whose squared length exceeds two deviations of that of noise. A residual of that
    length in k cells has a total variation of at most half its length times √k (Cauchy and Schwarz), and not less where
    it is spread over all of them. It says nothing of correlations: far cells of few people can hold nearly all of one.
    """
    one = found.tables[columns]
    return sqrt(2 * sqrt(2 / one.freedom) * one.noise * one.residual.size) / 2


def together(table: Floats) -> float:
    """Return how far two columns go together, by the mean square contingency of their table; 0 if independent."""
    alone = np.outer(table.sum(axis=1), table.sum(axis=0))
    parts = np.divide((table - alone) ** 2, alone, out=np.zeros_like(alone), where=alone > 0)
    return sqrt(float(parts.sum()))


def _unheld(model: Model, columns: Columns) -> bool:
    return together(_table(model, columns)) < HELD


def _alone(model: Model, columns: Columns) -> bool:
    return together(_table(model, columns)) < HELD / 10


def _table(model: Model, columns: Columns) -> Floats:
    return model.marginal([model.space.names[place] for place in columns])


def _drowned(model: Model, evidence: Evidence, pairs: Sequence[Columns]) -> list[str]:
    if not pairs:
        return []
    wide = any(evidence.sizes[place] > MANY for columns in pairs for place in columns)
    advice = "derive about ten bins of wide columns and ask again" if wide else "spend more, or ask for fewer columns"
    return [
        f"Not kept: {_named(model, pairs)}. Their tables drowned in noise, so nothing is known of it: the made-up rows "
        "treat these columns as unrelated, or nearly so, however strongly they are related in the data. To keep it, "
        f"{advice}."
    ]


def _unmeasured(model: Model, pairs: Sequence[Columns], asked: int) -> list[str]:
    if not pairs:
        return []
    if len(pairs) == asked:
        return [
            f"Not kept: {_named(model, pairs)}. People are too few for tables of two columns at this spend, so each "
            "column was measured alone; spend more, or ask for fewer columns or coarser bins."
        ]
    return [
        f"Not measured: {_named(model, pairs)}. The spend went to other pairs; that these seem unrelated in the rows "
        "says nothing about people."
    ]


def _dropped(model: Model, pairs: Sequence[Columns]) -> list[str]:
    if not pairs:
        return []
    return [
        f"Not kept: {_named(model, pairs)}. Compared with the data, columns on their own came out nearer than a model "
        "of both."
    ]


def _noisy(model: Model, evidence: Evidence) -> list[str]:
    """Name single columns whose one-way tables noise moves far."""
    precisions = zip(model.space.names, evidence.sizes, evidence.one_precisions, strict=True)
    faint = [name for name, size, precision in precisions if size > 1 and one_way_noise(size, precision) > MOSTLY]
    if not faint:
        return []
    return [
        f"Mostly noise: the values of {', '.join(map(repr, faint))}, each on its own; spend more, ask for "
        "fewer columns, or derive coarser bins."
    ]


def one_way_noise(size: int, precision: float) -> float:
    """Return about the total variation that noise brings to a one-way table."""
    return 1.0 if precision <= 0 else 0.4 * size / sqrt(precision)


def _named(model: Model, pairs: Sequence[Columns]) -> str:
    """Name pairs by their first column, so that all of them find room."""
    names = model.space.names
    beside: dict[str, list[str]] = {}
    for first, second in pairs[:NAMED]:
        beside.setdefault(names[first], []).append(repr(names[second]))
    listed = "; ".join(f"{first!r} with {', '.join(others)}" for first, others in beside.items())
    return f"how columns go together ({listed}{f'; and {len(pairs) - NAMED} more pairs' if len(pairs) > NAMED else ''})"
