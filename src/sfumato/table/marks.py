"""In which ways the numbers of a column of text may be written, by whoever may look at its cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from sfumato.domain.figures import Figures

SURE = 0.95
"""The part of the cells that must read as a type."""

FEW_UNITS = 60
"""A word beside whole numbers, as in Q1 and Q2, makes categories of them where there are no more of them than this."""

_SIGN, _DIGITS = r"[^\w\s.,'’+()-]{1,4}", r"[+-]?\d[\d.,'’\s]*"
_BESIDE = re.compile(
    rf"\s*[(-]?\s*(?:({_SIGN}|EUR|USD|CHF|GBP)?\s*{_DIGITS}|{_DIGITS}\s*({_SIGN}|[^\W\d_]{{1,3}}))\s*\)?\s*"
)
_WAYS = [Figures(mark, group) for group in ("", ",", ".", " ", "'") for mark in ".," if mark != group]
"""The plainest first."""


def ways(words: Mapping[str, int], decimal: str | None = None) -> list[Figures]:
    """Return the ways of writing that read nearly all cells, of those that read them alike the plainest only.

    Several are left where a mark may stand before decimals or between thousands; `decimal` is the mark that the other
    columns of the file have before decimals, if one is known.

    >>> ways({"1.234,5": 3, "7,25": 4}), len(ways({"1.234": 3, "980": 4})), ways({"1.234": 3, "2.5": 4})
    ([Figures(decimal=',', thousands='.', unit='')], 2, [Figures(decimal='.', thousands='', unit='')])
    """
    unit = _unit(words)
    tried = dict(Counter(dict(words)).most_common(2000))
    enough = SURE * sum(tried.values())
    found: list[tuple[Figures, dict[str, float | None]]] = []
    for way in _WAYS:
        figures = Figures(way.decimal, way.thousands, unit)
        read = {word: figures.read(word) for word in tried}
        if sum(tried[word] for word, number in read.items() if number is not None) >= enough:
            found.append((figures, read))
    most = max((_count(tried, read) for _, read in found), default=0)
    kept: list[tuple[Figures, dict[str, float | None]]] = []
    for figures, read in found:
        if _count(tried, read) == most and read not in [other for _, other in kept]:
            kept.append((figures, read))
    if len(kept) > 1 and decimal is not None:
        return [figures for figures, _ in kept if figures.decimal == decimal][:1]
    return [figures for figures, _ in kept]


def _count(tried: Mapping[str, int], read: Mapping[str, float | None]) -> int:
    return sum(tried[word] for word, number in read.items() if number is not None)


def _unit(words: Mapping[str, int]) -> str:
    """Return what stands beside the numbers of nearly all cells; nothing where there is nothing."""
    beside: Counter[str] = Counter()
    for word, count in words.items():
        matched = _BESIDE.fullmatch(word)
        if matched is not None:
            beside[(matched[1] or matched[2] or "").strip()] += count
    (unit, count), *_ = beside.most_common(1) or [("", 0)]
    is_label = unit.isalpha() and len(words) <= FEW_UNITS
    return unit if count >= SURE * sum(words.values()) and not is_label else ""
