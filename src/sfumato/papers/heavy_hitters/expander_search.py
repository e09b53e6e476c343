"""The search of the expander sketch: lists of entries from the counts, items from the lists. It costs no privacy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.local.confirm import confirm
from sfumato.local.cutoffs import cell_cutoff
from sfumato.local.evidence import Find
from sfumato.papers.heavy_hitters.codes.votes import VoteDecoder
from sfumato.papers.heavy_hitters.expander import ENTRY, SEED, ExpanderEncoder, ExpanderMethod

if TYPE_CHECKING:
    from sfumato.local.server import Server

CLUSTER_ENTRY = 0.13
"""Decoders that look at the whole graph need sparser lists, or all items are one piece: four standard errors."""


class Entries:
    """The likeliest word of every label and bucket of one coordinate."""

    def __init__(self, method: ExpanderMethod, tally: Any) -> None:
        words = 1 << method.word_bits
        oracle = method.cells
        estimates = oracle.reader(tally).counts()
        # The last row of cells has none of its own.
        blocks = 1 << oracle.block_bits
        table = np.concatenate([estimates, estimates[-blocks:]]).reshape(words, -1)
        self.words = np.argmax(table, axis=0)
        best = np.take_along_axis(table, self.words[None, :], axis=0)[0]
        inside = tally.reshape(blocks, -1).sum(axis=1)
        of_column = np.arange(table.shape[1]) & (blocks - 1)
        error = np.sqrt(np.maximum(inside, 1)) / oracle.signal
        entry = ENTRY if method.method == "votes" else CLUSTER_ENTRY
        cuts = {chance: _cuts(method, inside, chance / words)[of_column] for chance in (entry, SEED)}
        self.scores = best / error[of_column]
        self.listed = best >= cuts[entry]
        self.seeds = best >= cuts[SEED]


def _cuts(method: ExpanderMethod, inside: Any, chance: float) -> Any:
    return np.array([cell_cutoff(method.cells, count, math.log(chance)) for count in inside.tolist()])


def candidates(server: Server, method: ExpanderMethod) -> list[int]:
    """Return the whitened items that the coordinates show, of all buckets."""
    encoder = server.plan.encoder
    assert isinstance(encoder, ExpanderEncoder)
    layers = [Entries(method, server.tally(place)) for place in range(method.coordinates)]
    found: list[int] = []
    buckets = 1 << method.bucket_bits
    for bucket in range(buckets):
        columns = [label * buckets + bucket for label in range(1 << method.label_bits)]
        lists = [
            [
                (label, int(layer.words[column]), float(layer.scores[column]))
                for label, column in enumerate(columns)
                if layer.listed[column]
            ]
            for layer in layers
        ]
        seeds = [layer.scores[column] for layer in layers for column in columns if layer.seeds[column]]
        if not seeds:
            continue
        if method.method == "votes":
            items = VoteDecoder(encoder.code, encoder.code.entries(lists), float(min(seeds))).run()
        else:
            items = encoder.code.decode(lists, method.method)
        found.extend(item for item in items if encoder.bucket(item) == bucket)
    return found


def search(server: Server, method: ExpanderMethod, false_items: float) -> list[Find]:
    """Return the popular items that a sketch shows."""
    encoder = server.plan.encoder
    assert isinstance(encoder, ExpanderEncoder)
    codes = [encoder.white.invert(item) for item in candidates(server, method)] if server.accepted else []
    return confirm(server, encoder.whole, method.whole, codes, false_items)
