"""The lists that a code is recovered from."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One entry of a list: the whole word z, its Reed–Solomon symbol, the labels it names, and how sure it is."""

    word: int
    symbol: int
    named: tuple[int, ...]
    score: float


Lists = list[dict[int, Entry]]
"""For every coordinate, the entry of each label."""
Vertex = tuple[int, int]
"""A coordinate and a label."""
Cluster = list[Vertex]
