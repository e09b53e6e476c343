"""Synopses of the cuts of a graph whose edges are private: by hubs and degrees, or by all pairs of vertices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.answer import Frame
from sfumato.questions.synopsis.base import INTEGERS, REAL, WHOLE, Floats, Form, Synopsis
from sfumato.questions.synopsis.queries import Cuts, read_queries

FLAGS = 2**25
"""So many flags of vertices are looked at a time."""
BETTER = 0.9
"""A sketch that is off by more than this part of what the constant 1/2 is off says so."""


@dataclass(frozen=True, eq=False, repr=False)
class CutSynopsis(Synopsis):
    """Answers every cut of a graph: which share of the edges has exactly one end among some vertices.

    Edges between hubs are counted pair by pair. Of the other vertices only noisy degrees are known: an edge that ends
    at one of them is taken to end inside with the part of their degrees that lies inside. On average over cuts drawn at
    random what this leaves out is `left_out()`; a cut that was made to fit the edges, such as a community, is not
    promised any accuracy.
    """

    kind: ClassVar[str] = "cuts"
    parts: ClassVar[Mapping[str, Form]] = {
        **dict.fromkeys(("degrees", "hubs", "between", "outward"), INTEGERS),
        "elsewhere": WHOLE,
        "degree_deviation": REAL,
        "edge_deviation": REAL,
    }

    columns: tuple[str, ...]
    people: float
    degrees: NDArray[np.int64]
    hubs: NDArray[np.int64]
    between: NDArray[np.int64]
    outward: NDArray[np.int64]
    elsewhere: int
    degree_deviation: float
    edge_deviation: float

    @cached_property
    def _kept(self) -> float:
        """Which part of the spread of the noisy degrees is not noise."""
        others = np.delete(self.degrees, self.hubs).astype(np.float64)
        spread = float(others.var()) if len(others) else 0.0
        return max(0.0, 1 - self.degree_deviation**2 / spread) if spread > 0 else 0.0

    @cached_property
    def _sizes(self) -> Floats:
        """Degrees of vertices that are no hubs, drawn towards their mean as much as noise has spread them; hubs 0."""
        others = np.ones(len(self.degrees), np.bool_)
        others[self.hubs] = False
        mine = self.degrees[others].astype(np.float64)
        found = np.zeros(len(self.degrees))
        if len(mine):
            mean = max(float(mine.mean()), 1e-9)
            found[others] = mean + self._kept * (mine - mean)
        return found

    @cached_property
    def _pairs(self) -> Floats:
        matrix = np.zeros((len(self.hubs), len(self.hubs)))
        matrix[np.tril_indices(len(self.hubs), -1)] = self.between
        return matrix + matrix.T

    def _parts(self, queries: Any) -> Iterator[tuple[slice, Floats, Floats, NDArray[np.bool_]]]:
        """Yield some of the queries: which hubs are inside, and which part of the other ends is."""
        asked = self.queries(queries)
        total = max(float(self._sizes.sum()), 1e-9)
        for part in _slices(len(asked), asked.size):
            flags = asked.flags(part.start, part.stop)
            yield part, flags[:, self.hubs].astype(np.float64), np.clip(flags @ self._sizes / total, 0.0, 1.0), flags

    def _shares(self, queries: Any) -> Floats:
        found = np.empty(len(self.queries(queries)))
        for part, inside, share, _ in self._parts(queries):
            split = ((inside @ self._pairs) * (1 - inside)).sum(axis=1)
            leaving = (inside * self.outward).sum(axis=1) * (1 - share) + ((1 - inside) * self.outward).sum(
                axis=1
            ) * share
            found[part] = split + leaving + 2 * share * (1 - share) * self.elsewhere
        return found / max(self.people, 1.0)

    def stderr(self, queries: Any) -> Floats:
        """Return the standard deviation of the noise in each answer, from counts of edges and from degrees."""
        found = np.empty(len(self.queries(queries)))
        others = self._sizes != 0
        total = max(float(self._sizes.sum()), 1e-9)
        for part, inside, share, flags in self._parts(queries):
            members = inside.sum(axis=1)
            counts = members * (len(self.hubs) - members) + members * (1 - share) ** 2
            counts += (len(self.hubs) - members) * share**2 + (2 * share * (1 - share)) ** 2
            slope = ((1 - 2 * inside) * self.outward).sum(axis=1) + 2 * (1 - 2 * share) * self.elsewhere
            vertices = (flags & others).sum(axis=1)
            moved = vertices * (1 - share) ** 2 + (others.sum() - vertices) * share**2
            by_degrees = moved * (self._kept * self.degree_deviation * slope / total) ** 2
            found[part] = np.sqrt(counts * self.edge_deviation**2 + by_degrees)
        return found / max(self.people, 1.0)

    def left_out(self) -> float:
        """Return about the root mean squared error, over cuts that each vertex joins by a coin, without noise.

        Each edge that is not between hubs is cut by a coin of its own: they are independent two by two.
        """
        edges = max(0.0, float(self.elsewhere) + float(self.outward.sum()))
        return math.sqrt(edges) / 2 / max(self.people, 1.0)

    def predicted(self) -> float:
        """Return about the root mean squared error over cuts that each vertex joins by a coin."""
        half = Cuts.make((np.arange(len(self.columns)) % 2 == 0)[None, :])
        return math.hypot(float(self.stderr(half)[0]), self.left_out())

    def constant(self) -> float:
        """Return about the root mean squared error of the answer 1/2 to every cut that vertices join by a coin.

        Edges between the same two vertices are cut together, so it grows with the squares of their numbers; edges that
        are not between hubs are taken to be spread evenly over the other vertices.
        """
        others = max(1, len(self.degrees) - len(self.hubs))
        outward, elsewhere = np.maximum(self.outward, 0).astype(np.float64), max(0.0, float(self.elsewhere))
        between = float((self.between.astype(np.float64) ** 2).sum()) - len(self.between) * self.edge_deviation**2
        spread = float((outward * (1 + outward / others)).sum()) + elsewhere * (1 + 2 * elsewhere / others**2)
        return math.sqrt(max(0.0, between) + spread) / 2 / max(self.people, 1.0)

    def queries(self, queries: Any) -> Cuts:
        """Read queries: `Cuts`, or lists of vertices."""
        return as_cuts(queries, self.columns)

    def to_frame(self) -> Frame:
        """Return the hubs with their noisy degrees, the largest first."""
        order = self.hubs[np.argsort(-self.degrees[self.hubs], kind="stable")]
        names = tuple(self.columns[place] for place in order.tolist())
        return Frame(("hub",), {"hub": names, "degree": tuple(self.degrees[order].tolist())})


@dataclass(frozen=True, eq=False, repr=False)
class PairCutSynopsis(Synopsis):
    """Answers every cut from a noisy count of every pair of vertices: no cut is left out, and every one has its noise.

    It is the better one for graphs of few vertices and many edges.
    """

    kind: ClassVar[str] = "pair cuts"
    parts: ClassVar[Mapping[str, Form]] = {"pairs": INTEGERS, "deviation": REAL}

    columns: tuple[str, ...]
    people: float
    pairs: NDArray[np.int64]
    deviation: float

    @cached_property
    def _matrix(self) -> Floats:
        size = len(self.columns)
        matrix = np.zeros((size, size))
        matrix[np.tril_indices(size, -1)] = self.pairs
        return matrix + matrix.T

    def _shares(self, queries: Any) -> Floats:
        asked = self.queries(queries)
        found = np.empty(len(asked))
        for part in _slices(len(asked), asked.size):
            inside = asked.flags(part.start, part.stop).astype(np.float64)
            found[part] = ((inside @ self._matrix) * (1 - inside)).sum(axis=1)
        return found / max(self.people, 1.0)

    def stderr(self, queries: Any) -> Floats:
        """Return the standard deviation of the noise in each answer: that of the pairs which the cut parts."""
        asked = self.queries(queries)
        members = np.bitwise_count(asked.words).sum(axis=1).astype(np.float64)
        noise = self.deviation / max(self.people, 1.0)
        return np.asarray(noise * np.sqrt(members * (asked.size - members)), dtype=np.float64)

    def predicted(self) -> float:
        """Return about the root mean squared error over cuts that each vertex joins by a coin."""
        return self.deviation * len(self.columns) / 2 / max(self.people, 1.0)

    def constant(self) -> float:
        """Return about the root mean squared error of the answer 1/2 to every cut that vertices join by a coin.

        Edges between the same two vertices are cut together, so it grows with the squares of the pairs' counts.
        """
        squares = float((self.pairs.astype(np.float64) ** 2).sum()) - len(self.pairs) * self.deviation**2
        return math.sqrt(max(squares, self.people, 1.0)) / 2 / max(self.people, 1.0)

    def queries(self, queries: Any) -> Cuts:
        """Read queries: `Cuts`, or lists of vertices."""
        return as_cuts(queries, self.columns)

    def to_frame(self) -> Frame:
        """Return the noisy degree of every vertex."""
        degrees = self._matrix.sum(axis=1)
        return Frame(("vertex",), {"vertex": self.columns, "degree": tuple(degrees.astype(int).tolist())})


def beside_constant(made: CutSynopsis | PairCutSynopsis) -> tuple[str, ...]:
    """Say where, over random cuts, a sketch knows nothing that the constant 1/2 does not; from what was released."""
    if made.predicted() < BETTER * made.constant():
        return ()
    return (
        f"Over cuts that each vertex joins by a coin, these answers are off by about {made.predicted():.2g}, and the "
        f"constant 1/2 by about {made.constant():.2g}: for such cuts the sketch says hardly more than no data. It "
        "helps for cuts that part vertices with many edges; spend more, or derive fewer vertices, for others.",
    )


def as_cuts(queries: Any, columns: tuple[str, ...]) -> Cuts:
    """Read cuts of these vertices: as words, or as lists of names."""
    return read_queries(Cuts, queries, columns, "vertices", "('3', '17')")


def _slices(queries: int, size: int) -> Iterator[slice]:
    step = max(1, FLAGS // max(size, 1))
    for start in range(0, queries, step):
        yield slice(start, min(start + step, queries))
