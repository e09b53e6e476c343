"""A source whose words are written by the test."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sfumato.noise.source import KeyStream, SeededSource, Words


class Scripted:
    """Hands out the given words, then those of a seeded stream."""

    def __init__(self, first: Iterable[int] = (), seed: int = 0) -> None:
        self._first = list(first)
        self._then: KeyStream = SeededSource(seed).stream()
        self.read = 0

    def fill(self, words: Words) -> None:
        scripted = self._first[: len(words)]
        self._first = self._first[len(words) :]
        words[: len(scripted)] = np.array(scripted, dtype=np.uint64)
        if len(scripted) < len(words):
            rest = np.empty(len(words) - len(scripted), dtype=np.uint64)
            self._then.fill(rest)
            words[len(scripted) :] = rest
        self.read += len(words)

    def next(self) -> int:
        word = np.empty(1, dtype=np.uint64)
        self.fill(word)
        return int(word[0])
