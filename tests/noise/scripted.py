"""A source whose words are written by the test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from sfumato.noise.source import SeededSource, Words, words


class Scripted:
    """Hands out the given words, then those of a seeded stream."""

    def __init__(self, first: Iterable[int] = (), seed: int = 0) -> None:
        self._words = self._endless(list(first), seed)
        self.read = 0

    def fill(self, words: Words) -> None:
        words[:] = np.fromiter(islice(self._words, len(words)), dtype=np.uint64, count=len(words))
        self.read += len(words)

    def next(self) -> int:
        self.read += 1
        return next(self._words)

    @staticmethod
    def _endless(first: list[int], seed: int) -> Iterator[int]:
        yield from first
        stream = SeededSource(seed).stream()
        while True:
            yield from words(stream, 4096).tolist()
