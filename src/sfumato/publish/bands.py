"""Intervals of tables that are asked anew that hold for all periods and all rows at once (PB-BAND).

Periods have noise of their own, and each interval misses at most so often; the sum of what all of them may miss is what
the whole may, whatever depends on what.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sfumato.answer import Answer, Frame
from sfumato.ask.asked import PLAIN
from sfumato.errors import ParameterError
from sfumato.publish.calendar import slots_between
from sfumato.publish.counted import USUAL, counted
from sfumato.publish.file import PublicationFile, TableSpec

ENDS = ("low", "high")


def looks(file: PublicationFile, spec: TableSpec) -> int:
    """Return how often a table is published in all periods that were declared, second looks included."""
    assert file.last is not None, "a band without an end is refused when the file is read"
    again = sum(spec.name in one.spend for one in file.revisions)
    return max(1, sum(1 for _ in slots_between(spec.every, file.first, file.last))) * (1 + again)


def require_banded(spec: TableSpec, kind: str) -> None:
    """Refuse a band around what has no interval for each number."""
    if spec.band and kind not in PLAIN:
        raise ParameterError(
            f"band is for counts, sums, means and histograms, whose numbers have intervals; leave it out of "
            f"{spec.name!r}."
        )


def with_band(frame: Frame, answer: Answer, times: int) -> Frame:
    """Return a table with the ends that hold in all its rows, each of so many times it is published, at once."""
    apart = max(1, answer.question.separate_intervals(answer.released))
    chance = 1 - (1 - USUAL) / (times * apart)
    found = counted(answer, chance)
    interval = answer.interval(chance) if found is None else None
    if isinstance(interval, tuple):
        ends: dict[str, tuple[object, ...]] = {"low": (interval[0],), "high": (interval[1],)}
    else:
        shown = interval if found is None else found
        assert isinstance(shown, Frame)
        own = {name for name in frame.columns if end_of(name, frame.columns, frame.keys)}
        ends = {name: cells for name, cells in shown.columns.items() if name in own}
    return replace(frame, columns={**frame.columns, **{_wider(name): cells for name, cells in ends.items()}})


def band_said(file: PublicationFile, spec: TableSpec) -> str:
    """Say for what the band of a table holds; nothing where it has none."""
    if not spec.band:
        return ""
    count = looks(file, spec)
    return f"Ends with 'all' hold for all rows of all {count} releases that were declared at once, 95 % of the time."


def end_of(name: str, columns: Collection[str], keys: Collection[str]) -> str:
    """Return which end of an interval a column holds, low or high: it is called so beside its value, and is no key.

    >>> columns = ("low", "mean of flow", "mean of flow, low", "mean of flow, all high")
    >>> [end_of(name, columns, ["low"]) for name in columns]
    ['', '', 'low', 'high']
    """
    value, comma, last = name.rpartition(", ")
    end = last.removeprefix("all ")
    there = value in columns if comma else len(columns) > len(keys) + 1
    return end if end in ENDS and name not in keys and there else ""


def _wider(name: str) -> str:
    """Return the name of an end of the band.

    >>> _wider("low"), _wider("count, high")
    ('all low', 'count, all high')
    """
    before, comma, end = name.rpartition(", ")
    return f"{before}{comma}all {end}"
