"""A private graph in few numbers: the degree of every vertex, and the edges among hubs, from hubs, and elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanism import Event, Mechanism
from sfumato.noise import Noise, Priced
from sfumato.perturb import AdditiveNoise
from sfumato.perturb.additive import saturating_sum
from sfumato.privacy import REPLACE_ONE, Loss
from sfumato.privacy.attributes import Everything
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.workload.moves import counted, repeated

Integers = NDArray[np.int64]

DEGREES, EDGES = 2, 1
"""How many degrees an edge counts in, and how many classes of edges."""


@dataclass(frozen=True, eq=False)
class Edges:
    """Exact edges: two different ends each, the smaller one first, and how many rows say so."""

    first: Integers
    second: Integers
    counts: Integers

    @classmethod
    def of(
        cls, first: Sequence[int] | Integers, second: Sequence[int] | Integers, counts: Integers | None = None
    ) -> Edges:
        """Return edges in any order; a row whose ends are equal is no edge and is left out."""
        one, two = np.asarray(first, np.int64), np.asarray(second, np.int64)
        many = np.ones(len(one), np.int64) if counts is None else np.asarray(counts, np.int64)
        real = one != two
        return cls(np.minimum(one, two)[real], np.maximum(one, two)[real], many[real])


@dataclass(frozen=True, eq=False)
class Hubs:
    """What was released: noisy degrees, which vertices are hubs, and noisy numbers of edges.

    `between` has one entry for each pair of hubs, in the order of the lower triangle; `outward` one for each hub: its
    edges to other vertices; `elsewhere` is the number of edges between vertices that are no hubs.
    """

    degrees: Integers
    hubs: Integers
    between: Integers
    outward: Integers
    elsewhere: int


@dataclass(frozen=True, kw_only=True)
class HubEdges(Mechanism):
    """Noisy degrees of all `vertices`; then noisy numbers of edges among the hubs, from each of them, and elsewhere.

    Hubs are the vertices whose noisy degree is at least `share` of the edges, the largest `most` of them; the number of
    edges is `people` if it is public, and half of the sum of the noisy degrees otherwise.

    Promise, for one edge: it counts in two degrees and, whatever the hubs are, in exactly one class. An edge that comes
    or goes moves 2 degrees and 1 class by one each, one that is replaced 4 and 2, one end of it 2 and 2. Both noises
    add up: one is chosen after the other has been released. People are edges here: nothing is promised to a vertex.

    Input: `Edges`. Output: `Hubs`. Spec: RL-CUT. Time: one pass over the edges, one draw a vertex.
    """

    spec: ClassVar[str] = "RL-CUT"

    vertices: int
    degree_law: Priced
    edge_law: Priced
    share: Fraction
    most: int
    people: int | None = None
    rows: int = 1

    def run(self, exact: Edges, noise: Noise) -> Hubs:
        """Draw the degrees, choose the hubs, count the classes."""
        true = np.zeros(self.vertices, np.int64)
        np.add.at(true, exact.first, exact.counts)
        np.add.at(true, exact.second, exact.counts)
        degrees = saturating_sum(true, np.asarray(noise.draw(self.degree_law, self.vertices), np.int64))
        hubs = self.chosen(degrees)
        counts = _classes(exact, hubs, self.vertices)
        noisy = saturating_sum(counts, np.asarray(noise.draw(self.edge_law, len(counts)), np.int64))
        pairs = len(hubs) * (len(hubs) - 1) // 2
        return Hubs(degrees, hubs, noisy[:pairs], noisy[pairs:-1], int(noisy[-1]))

    def chosen(self, degrees: Integers) -> Integers:
        """Return the hubs, from noisy degrees alone."""
        edges = self.people if self.people is not None else int(degrees.sum()) // 2
        large = np.flatnonzero(degrees >= max(1, int(self.share * max(edges, 1))))
        if len(large) > self.most:
            large = np.sort(large[np.argsort(-degrees[large], kind="stable")[: self.most]])
        return large

    def loss(self) -> Loss:
        """Return the sum of what degrees and classes cost."""
        return self._part(self.degree_law, DEGREES) + self._part(self.edge_law, EDGES)

    def _part(self, law: Priced, classes: int) -> Loss:
        singles: dict[str, Sensitivity] = {}
        if self.relation is REPLACE_ONE and not isinstance(self.reads, Everything):
            singles = dict.fromkeys(sorted(self.reads), repeated(counted(2), self.rows))
        return AdditiveNoise(
            law=law,
            sensitivity=edge_moves(classes, self.relation is REPLACE_ONE, self.rows),
            by_attribute=tuple(singles.items()),
            relation=self.relation,
            reads=self.reads,
        ).loss()

    def event(self) -> Event:
        """Return both laws with their parameters, how hubs are chosen, and who may learn what."""
        parameters = {
            "degree_law": self.degree_law.described(),
            "edge_law": self.edge_law.described(),
            "vertices": self.vertices,
            "share": self.share,
            "most": self.most,
            "people": self.people,
            "rows": self.rows,
            "relation": self.relation,
            "reads": self.reads,
        }
        return Event(type(self).__name__, self.spec, parameters, self.version)


def edge_moves(classes: int, replaced: bool, rows: int) -> Sensitivity:
    """Return how far counts move in which an edge stands `classes` times, with one person of so many edges."""
    return repeated(counted(classes * (2 if replaced else 1)), rows)


def _classes(edges: Edges, hubs: Integers, vertices: int) -> Integers:
    """Return the exact numbers of edges: pairs of hubs, then each hub to others, then all the rest."""
    places = np.full(vertices, -1, np.int64)
    places[hubs] = np.arange(len(hubs))
    one, two = places[edges.first], places[edges.second]
    pairs = len(hubs) * (len(hubs) - 1) // 2
    high, low = np.maximum(one, two), np.minimum(one, two)
    number = np.where(low >= 0, high * (high - 1) // 2 + low, np.where(high >= 0, pairs + high, pairs + len(hubs)))
    found = np.zeros(pairs + len(hubs) + 1, np.int64)
    np.add.at(found, number, edges.counts)
    return found
