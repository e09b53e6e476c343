"""ULRC: a code that is recovered from short lists of symbols, one list a coordinate, with a graph woven into it.

Coordinate m of an item is a label and a symbol: (y, z). The label is a hash of the item; the symbol is one symbol of
a Reed–Solomon word, followed by the labels of the item at the neighbours of m. So entries of different lists that
belong to the same item name one another, and the items in the lists are the clusters of a graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.local.seed import words
from sfumato.papers.heavy_hitters.codes.clusters import component_clusters, spectral_clusters
from sfumato.papers.heavy_hitters.codes.entries import Cluster, Entry, Lists
from sfumato.papers.heavy_hitters.codes.graph import best_offsets
from sfumato.papers.heavy_hitters.codes.reed_solomon import ReedSolomon, field_of
from sfumato.papers.heavy_hitters.codes.votes import VoteDecoder
from sfumato.words import one_of

DECODERS = ("votes", "components", "spectral")
HASH_WORDS = 8
LABEL_WORDS = 7
"""The last word of a hash is left to the users of a code, for example for buckets."""


@dataclass(frozen=True)
class UniqueListCode:
    """A code for items of `message_bits` bits, as integers.

    `symbol_bits` is 4 or 8, `label_bits` the length of a label, `offsets` say which neighbours of a coordinate are
    named: m + o for each, and with `two_sided` also m - o, as in the paper, where an edge counts only if both of
    its ends name it. `key` is public and fixes the hashes.

    >>> code = UniqueListCode(message_bits=32, symbol_bits=8, coordinates=8, label_bits=4, key=bytes(16))
    >>> lists = [[one, other] for one, other in zip(code.encode(123456), code.encode(987654321))]
    >>> sorted(code.decode(lists))
    [123456, 987654321]
    """

    message_bits: int
    symbol_bits: int
    coordinates: int
    label_bits: int
    key: bytes
    offsets: tuple[int, ...] = ()
    two_sided: bool = False

    def __post_init__(self) -> None:
        if self.message_bits < 1 or not 1 <= self.label_bits <= 16 or self.coordinates < 3:
            raise ParameterError("message_bits is at least 1, label_bits lies between 1 and 16, coordinates above 2.")
        if not self.offsets:
            object.__setattr__(self, "offsets", best_offsets(self.coordinates, 2 if self.coordinates > 4 else 1))
        if any(not 0 < offset < self.coordinates for offset in self.offsets):
            raise ParameterError("offsets lie between 1 and the number of coordinates less one.")
        if self.outer.dimension > self.coordinates:
            raise ParameterError("There are fewer coordinates than symbols in an item; take about 1.75 times as many.")

    @cached_property
    def outer(self) -> ReedSolomon:
        """The Reed–Solomon code."""
        dimension = -(-self.message_bits // self.symbol_bits)
        return ReedSolomon(field_of(self.symbol_bits), self.coordinates, dimension)

    @cached_property
    def named(self) -> tuple[int, ...]:
        """The offsets of the neighbours that a symbol names."""
        back = tuple(-offset for offset in self.offsets) if self.two_sided else ()
        return (*self.offsets, *back)

    @property
    def word_bits(self) -> int:
        """The length of z."""
        return self.symbol_bits + len(self.named) * self.label_bits

    @property
    def row_bytes(self) -> int:
        """The bytes of an item as a row, filled from the left."""
        return -(-self.message_bits // 8)

    def encode(self, item: int) -> list[tuple[int, int]]:
        """Return (label, symbol with neighbours' labels) for every coordinate."""
        message, labels = self.message(item), self.labels(item)
        return [(labels[place], self._word(message, labels, place)) for place in range(self.coordinates)]

    def entry(self, item: int, place: int) -> tuple[int, int]:
        """Return one coordinate of the word."""
        return self.entry_and_word(item, place)[:2]

    def entry_and_word(self, item: int, place: int) -> tuple[int, int, int]:
        """Return one coordinate of the word, and the word of the item's hash that no label uses."""
        labels, free = self.labels_and_word(item)
        return labels[place], self._word(self.message(item), labels, place), free

    def entry_rows(self, rows: Any, place: int) -> tuple[Any, Any, Any]:
        """Return labels and symbols of many items at one coordinate, and the free word of their hashes."""
        from sfumato.local.kernels.hashing import digest_rows

        hashes = digest_rows(self._keys[0], rows, HASH_WORDS)
        tables = [hashes, *(digest_rows(key, rows, HASH_WORDS) for key in self._keys[1:])]
        symbols = self.outer.symbols(self._message_rows(rows), place).astype(np.int64)
        for offset in self.named:
            symbols = symbols << self.label_bits | self._label(tables, (place + offset) % self.coordinates)
        return self._label(tables, place), symbols, hashes[:, LABEL_WORDS]

    def message(self, item: int) -> tuple[int, ...]:
        """Return the item as symbols, filled from the left."""
        count, size = self.outer.dimension, self.symbol_bits
        padded = item << (count * size - self.message_bits)
        return tuple(padded >> (size * (count - 1 - place)) & ((1 << size) - 1) for place in range(count))

    def labels(self, item: int) -> list[int]:
        """Return the label of the item at every coordinate."""
        return self.labels_and_word(item)[0]

    def labels_and_word(self, item: int) -> tuple[list[int], int]:
        """Return the labels, and the word of the hash that no label uses."""
        row = (item << (8 * self.row_bytes - self.message_bits)).to_bytes(self.row_bytes, "big")
        tables = [words(key, row) for key in self._keys]
        mask = (1 << self.label_bits) - 1
        labels = [tables[table][word] >> shift & mask for table, word, shift in self._places]
        return labels, tables[0][LABEL_WORDS]

    def decode(self, lists: Sequence[Sequence[Sequence[float]]], method: str = "votes") -> list[int]:
        """Return the items whose words run through the lists, one list of (label, symbol) for each coordinate.

        An entry may carry a score, (label, symbol, score): the larger, the surer. A list names a label at most once.
        "votes" grows an item from each entry by mutual naming, in linear time; "components" takes the pieces of the
        graph; "spectral" cuts pieces that hold several items where they hang together least. Whatever is returned
        was encoded again and agrees with at least as many lists as an item has symbols.
        """
        one_of("method", method, DECODERS)
        entries = self.entries(lists)
        if method == "votes":
            return VoteDecoder(self, entries).run()
        clusters = component_clusters(self, entries) if method == "components" else spectral_clusters(self, entries)
        found = {item: None for cluster in clusters if (item := self.resolve(cluster, entries)) is not None}
        return list(found)

    def entries(self, lists: Sequence[Sequence[Sequence[float]]]) -> Lists:
        """Read lists, refusing a label that occurs twice in one."""
        if len(lists) != self.coordinates:
            raise ParameterError(f"There are {self.coordinates} coordinates, so give as many lists, not {len(lists)}.")
        read: Lists = []
        for listed in lists:
            layer: dict[int, Entry] = {}
            for label, symbol, *score in listed:
                if int(label) in layer:
                    raise ParameterError("A list names a label at most once; keep the likeliest entry of each label.")
                layer[int(label)] = self._entry(int(symbol), float(score[0]) if score else 0.0)
            read.append(layer)
        return read

    def resolve(self, cluster: Cluster, entries: Lists) -> int | None:
        """Return the item of a cluster, given as (coordinate, label), or None: twice in a coordinate is an erasure."""
        layers = [place for place, _ in cluster]
        received: list[int | None] = [None] * self.coordinates
        for place, label in cluster:
            if layers.count(place) == 1:
                received[place] = entries[place][label].symbol
        return self.confirmed(self.outer.decode(received), entries)

    def confirmed(self, message: Sequence[int] | None, entries: Lists) -> int | None:
        """Return the item of a message if its word agrees with enough lists."""
        if message is None:
            return None
        padded = 0
        for symbol in message:
            padded = padded << self.symbol_bits | symbol
        padding = self.outer.dimension * self.symbol_bits - self.message_bits
        if padded & ((1 << padding) - 1):
            return None
        item = padded >> padding
        word = self.encode(item)
        agreeing = sum(
            label in layer and layer[label].word == symbol for layer, (label, symbol) in zip(entries, word, strict=True)
        )
        return item if agreeing >= self.outer.dimension else None

    def _entry(self, word: int, score: float) -> Entry:
        mask, count = (1 << self.label_bits) - 1, len(self.named)
        named = tuple(word >> (self.label_bits * (count - 1 - place)) & mask for place in range(count))
        return Entry(word, word >> (self.label_bits * count), named, score)

    def _word(self, message: Sequence[int], labels: Sequence[int], place: int) -> int:
        word = self.outer.symbol(message, place)
        for offset in self.named:
            word = word << self.label_bits | labels[(place + offset) % self.coordinates]
        return word

    @cached_property
    def _keys(self) -> list[bytes]:
        count = -(-self.coordinates // (LABEL_WORDS * (32 // self.label_bits)))
        return [self.key + bytes([number]) for number in range(count)]

    @cached_property
    def _places(self) -> list[tuple[int, int, int]]:
        return [self._where(place) for place in range(self.coordinates)]

    def _where(self, place: int) -> tuple[int, int, int]:
        """Return in which hash, word and bits a label stands."""
        word, inside = divmod(place, 32 // self.label_bits)
        return *divmod(word, LABEL_WORDS), inside * self.label_bits

    def _label(self, tables: list[Any], place: int) -> Any:
        table, word, shift = self._places[place]
        return (tables[table][:, word].astype(np.int64) >> shift) & ((1 << self.label_bits) - 1)

    def _message_rows(self, rows: Any) -> Any:
        if self.symbol_bits == 8:
            return rows
        halves = np.stack([rows >> 4, rows & 15], axis=2).reshape(len(rows), -1)
        return halves[:, : self.outer.dimension]
