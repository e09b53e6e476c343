"""The picture of an answer: bars for counts of values, dots with intervals for everything else."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from numbers import Real
from types import MappingProxyType
from typing import Any

from sfumato.errors import ParameterError
from sfumato.show.bars import Bar, bars
from sfumato.show.drawing import Drawing
from sfumato.show.intervals import Dot, IntervalLine, intervals
from sfumato.show.views import first_sentence, key_text

MOST = 400
"""So many bars or lines can still be told apart."""

HOLLOW = "Hollow: the value is not known there, only that it lies within the bar."
COVER = "95 % interval"


def draw_answer(
    title: str,
    keys: Sequence[str],
    columns: Mapping[str, Sequence[Any]],
    *,
    unknown: Mapping[str, Sequence[bool]] = MappingProxyType({}),
    notes: Sequence[str] = (),
    labels: Mapping[str, Mapping[Any, str]] = MappingProxyType({}),
) -> Drawing:
    """Return the picture of a released table: its keys, its measures, and `low` and `high` of each measure.

    A number that is marked in `unknown` is a hollow bar over its whole interval; `notes` stand below, in short;
    `labels` are what is read in place of a key, by column.

    >>> columns = {"sex": ("Female", "Male"), "count": (10, 20), "count, low": (7, 17), "count, high": (13, 23)}
    >>> type(draw_answer("Histogram of sex", ["sex"], columns)).__name__
    'BarChart'
    """
    length = len(next(iter(columns.values()), ()))
    if length == 0:
        raise ParameterError("This answer has no rows, so there is nothing to draw; look at its frame.")
    if length > MOST:
        raise ParameterError(f"This answer has {length} rows, too many to tell apart; ask about coarser bins.")
    hollow = HOLLOW if any(map(any, unknown.values())) else ""
    caption = " ".join(first_sentence(note) for note in (hollow, *notes) if note)
    said = {key: [labels.get(key, {}).get(cell, key_text(cell)) for cell in columns[key]] for key in keys}
    names = [", ".join(said[key][place] for key in keys) for place in range(length)]
    if "probability" in keys:
        return _quantiles(title, columns, unknown, caption)
    measures = [name for name in columns if name not in keys and not _is_end(name) and _has_ends(name, columns)]
    if keys and measures == ["count"]:
        ordered = len(keys) == 1 and all(value is None or _is_number(value) for value in columns[keys[0]])
        counted = [Bar(name, *ends) for name, ends in zip(names, _ends("count", columns), strict=True) if ends]
        return bars(title, f"rows, and {COVER}", counted, ordered, caption)
    measured = {measure: _ends(measure, columns) for measure in measures}
    # The charts share their names, so that a place of which only one of them says something stays in all of them.
    places = [place for place in range(length) if any(ends[place] for ends in measured.values())]
    if not places:
        raise ParameterError("This answer says nothing of any group, so there is nothing to draw; look at its frame.")
    rows = [
        IntervalLine(f"{measure}, and {COVER}", tuple(_dots(names, ends, places, unknown.get(measure))))
        for measure, ends in measured.items()
        if any(ends)
    ]
    return intervals(title, rows, caption)


def _dots(names: Sequence[str], ends: Sequence[Any], places: Sequence[int], unknown: Any) -> Iterator[Dot]:
    for place in places:
        value, low, high = ends[place] or (None, None, None)
        yield Dot(names[place], value, low, high, unknown is not None and bool(unknown[place]))


def _ends(measure: str, columns: Mapping[str, Sequence[Any]]) -> list[tuple[float, float, float] | None]:
    """Return value, lower and upper end by place; None where too few people are to say anything."""
    single = "low" in columns
    low, high = (columns[end if single else f"{measure}, {end}"] for end in ("low", "high"))
    found = zip(columns[measure], low, high, strict=True)
    return [(float(a), float(b), float(c)) if all(map(_known, (a, b, c))) else None for a, b, c in found]


def _has_ends(measure: str, columns: Mapping[str, Sequence[Any]]) -> bool:
    return "low" in columns or f"{measure}, low" in columns


def _known(cell: Any) -> bool:
    return cell is not None and not (isinstance(cell, float) and math.isnan(cell))


def _quantiles(title: str, columns: Mapping[str, Sequence[Any]], unknown: Mapping[str, Any], caption: str) -> Drawing:
    """Quantiles have an error of rank, so they are dots without intervals."""
    column = next(name for name in columns if name not in ("probability", "rank error"))
    hollow = unknown.get(column, (False,) * len(columns[column]))
    dots = [
        Dot(f"{100 * float(part):g} %", _plain(value), unknown=bool(nothing))
        for part, value, nothing in zip(columns["probability"], columns[column], hollow, strict=True)
    ]
    error = columns["rank error"][0] if "rank error" in columns else None
    said = column if error is None else f"{column} (each within {error} rows of its rank, 95 %)"
    return intervals(title, [IntervalLine(said, tuple(dots))], caption)


def draw_groups(title: str, by: Sequence[str], column: str, frame: Any) -> Drawing:
    """Return the picture of quantiles by group: a line of dots for each group, whose ranks have errors of their own.

    `frame` is the table of all groups, with its notes, its labels and the marks of what is not known.
    """
    length = len(frame)
    if length > MOST:
        raise ParameterError(f"This answer has {length} rows, too many to tell apart; ask about fewer groups.")
    columns = frame.labelled()
    nothing = frame.unknown.get(column, (False,) * length)
    chances = columns["probability"]
    dots = []
    for place in range(length):
        group = ", ".join(key_text(columns[name][place]) for name in by)
        part = f", {100 * float(chances[place]):g} %" if len(set(chances)) > 1 else ""
        if nothing[place]:
            dots.append(Dot(f"{group}{part} (not known)", None))
        else:
            dots.append(Dot(f"{group}{part}", _plain(columns[column][place])))
    caption = " ".join(first_sentence(note) for note in frame.notes if note)
    return intervals(title, [IntervalLine(f"{column}, by rank; rank errors are in the table", tuple(dots))], caption)


def _is_end(name: str) -> bool:
    return name in ("low", "high", "rank error") or name.endswith((", low", ", high"))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value
