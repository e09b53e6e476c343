"""Round ranges around what was found in a column, bins of them, and how a draft tells of these."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence

from sfumato.table.toml import write_toml

BINS = "For a histogram take the marks off these lines, which add bins:"
BINS_LINES = 4


def with_bins_in_python(notes: Sequence[str]) -> list[str]:
    """Return notes with the lines of a schema file that add bins replaced by the call that does."""
    if BINS not in notes:
        return list(notes)
    start = list(notes).index(BINS)
    end = start + 1 + BINS_LINES
    columns = tomllib.loads("\n".join(notes[start + 1 : end]))["columns"]
    named = ", ".join(f"{name}={record}" if name.isidentifier() else f"**{{{name!r}: {record}}}"
                      for name, record in columns.items())  # fmt: skip
    return [*notes[:start], f"For a histogram add bins: draft.fill({named}).", *notes[end:]]


def with_bins_later(notes: Sequence[str]) -> list[str]:
    """Return notes with the lines of a schema file that add bins replaced by a sentence that says so."""
    if BINS not in notes:
        return list(notes)
    start = list(notes).index(BINS)
    end = start + 1 + BINS_LINES
    head, *lines = notes[start + 1 : end]
    said = f"For a histogram add bins to the schema later: {head} with the lines {', '.join(lines)}."
    return [*notes[:start], said, *notes[end:]]


def bins_toml(name: str, step: int) -> list[str]:
    """Return the lines of a schema that derive bins from a column.

    >>> bins_toml("größe", 10)
    ['[columns."größe_bins"]', 'type = "bins"', 'of = "größe"', 'step = 10']
    """
    return write_toml({"type": "bins", "of": name, "step": step}, ("columns", f"{name}_bins")).splitlines()


def outward(low: float, high: float) -> tuple[int, int]:
    """Return round whole numbers around a range: from zero where that is near.

    >>> outward(17, 88), outward(90.5, 789.5), outward(-3.2, 4.4), outward(1962, 2018), outward(5, 5)
    ((0, 90), (0, 800), (-4, 5), (1960, 2020), (0, 6))
    """
    span = max(high - low, 1)
    unit = 10 ** max(0, math.floor(math.log10(span)))
    least, most = (
        math.floor(low / unit) * unit,
        (math.ceil(high / unit) if high > low else math.floor(high / unit) + 1) * unit,
    )
    if 0 <= least <= most - least or (low >= 0 and high == low):
        least = 0
    return least, max(most, least + 1)


def bin_step(low: int, high: int) -> int:
    """Return a round width for about ten bins of a range.

    >>> bin_step(0, 90), bin_step(0, 120), bin_step(0, 8)
    (10, 20, 1)
    """
    wide = (high - low) / 10
    if wide <= 1:
        return 1
    unit = 10 ** math.floor(math.log10(wide))
    return int(next(step * unit for step in (1, 2, 5, 10) if step * unit >= wide))
