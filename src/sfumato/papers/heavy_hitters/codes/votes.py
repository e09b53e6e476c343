"""The practical decoder: from one entry, gather those that name it or are named by it, until nothing changes.

It stands in for the spectral clusters of the paper, in time linear in the number of entries.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sfumato.papers.heavy_hitters.codes.entries import Cluster, Lists, Vertex

if TYPE_CHECKING:
    from sfumato.papers.heavy_hitters.codes.unique_list import UniqueListCode

ROUNDS = 5
SCORE_WEIGHT = 0.8
"""What one standard error of an entry's score is worth, in votes."""
MOST_SEEDS = 16
"""Each item of a list is grown from one of its surest entries; so many for each label are tried at most."""


class VoteDecoder:
    """One decoding of lists."""

    def __init__(self, code: UniqueListCode, entries: Lists, seed_score: float | None = None) -> None:
        self.code = code
        self.entries = entries
        self.spoken = {
            (place, label): self._speaks_for(place, label) for place, layer in enumerate(entries) for label in layer
        }
        scores = [entry.score for layer in entries for entry in layer.values()]
        self.base = min(scores, default=0.0)
        self.seed_score = self.base if seed_score is None else seed_score

    def run(self) -> list[int]:
        """Return all items found."""
        found: dict[int, None] = {}
        explained: set[Vertex] = set()
        seeds = [
            (entry.score, (place, label))
            for place, layer in enumerate(self.entries)
            for label, entry in layer.items()
            if entry.score >= self.seed_score
        ]
        left = MOST_SEEDS * max((len(layer) for layer in self.entries), default=0)
        for _, seed in sorted(seeds, reverse=True):
            if seed in explained:
                continue
            if not left:
                break
            left -= 1
            item = self.resolve(self.grow(seed))
            if item is not None:
                found[item] = None
                explained.update(enumerate(self.code.labels(item)))
        return list(found)

    def grow(self, seed: Vertex) -> list[tuple[float, Vertex]]:
        """Return the entries that hang together with a seed, the surest first."""
        included = {seed[0]: seed[1]}
        gains: dict[int, float] = {seed[0]: 0.0}
        for _ in range(ROUNDS):
            votes = Counter(vertex for place, label in included.items() for vertex in self.spoken[place, label])
            chosen: dict[int, int] = {}
            gains = {}
            for (place, label), spoken in self.spoken.items():
                # An entry does not vote for itself.
                support = -len(spoken) if included.get(place) == label else 0
                for vertex in spoken:
                    support += votes.get(vertex, 0)
                if support < 1:
                    continue
                gain = support + SCORE_WEIGHT * (self.entries[place][label].score - self.base)
                if gain > gains.get(place, -1.0):
                    chosen[place], gains[place] = label, gain
            if chosen == included:
                break
            included = chosen
        return sorted(((gains[place], (place, label)) for place, label in included.items()), reverse=True)

    def _speaks_for(self, place: int, label: int) -> Cluster:
        """Return a vertex and those that it names."""
        count = self.code.coordinates
        named = self.entries[place][label].named
        neighbours = [((place + offset) % count, one) for offset, one in zip(self.code.named, named, strict=True)]
        return [(place, label), *neighbours]

    def resolve(self, ordered: list[tuple[float, Vertex]]) -> int | None:
        """Decode, dropping the weakest entries two by two until a word agrees; two entries buy one error more."""
        least = self.code.outer.dimension
        for count in range(len(ordered) - (len(ordered) - least) % 2, least - 1, -2):
            item = self.code.resolve([vertex for _, vertex in ordered[:count]], self.entries)
            if item is not None:
                return item
        return None
