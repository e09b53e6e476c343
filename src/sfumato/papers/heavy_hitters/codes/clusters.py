"""The decoders of the paper: clusters of the graph whose vertices are the entries of all lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.papers.heavy_hitters.codes.entries import Cluster, Lists, Vertex

if TYPE_CHECKING:
    from sfumato.papers.heavy_hitters.codes.unique_list import UniqueListCode

HANGS_TOGETHER = 0.3
"""A piece whose best cut has a conductance above this is not cut."""

Graph = dict[Vertex, set[Vertex]]


def neighbour_graph(code: UniqueListCode, entries: Lists) -> Graph:
    """Return who is joined with whom: the named entry exists, and in a two-sided code it names back."""
    graph: Graph = {(place, label): set() for place, layer in enumerate(entries) for label in layer}
    proposed: set[tuple[Vertex, Vertex]] = set()
    for vertex in graph:
        place, label = vertex
        for offset, named in zip(code.named, entries[place][label].named, strict=True):
            other = ((place + offset) % code.coordinates, named)
            if other in graph:
                proposed.add((vertex, other))
    for one, other in proposed:
        if not code.two_sided or (other, one) in proposed:
            graph[one].add(other)
            graph[other].add(one)
    return graph


def components(graph: Graph) -> list[Cluster]:
    """Return the pieces of a graph."""
    pieces, seen = [], set()
    for start in graph:
        if start in seen:
            continue
        piece, waiting = [], [start]
        seen.add(start)
        while waiting:
            vertex = waiting.pop()
            piece.append(vertex)
            new = graph[vertex] - seen
            seen |= new
            waiting.extend(new)
        pieces.append(piece)
    return pieces


def component_clusters(code: UniqueListCode, entries: Lists) -> list[Cluster]:
    """Return the pieces, without vertices that hang on by too few edges."""
    graph = neighbour_graph(code, entries)
    return [_well_joined(code, graph, piece) for piece in components(graph)]


def spectral_clusters(code: UniqueListCode, entries: Lists) -> list[Cluster]:
    """Return the pieces, those with several entries in one coordinate cut again and again where they are thinnest."""
    graph = neighbour_graph(code, entries)
    clusters, waiting = [], components(graph)
    while waiting:
        piece = waiting.pop()
        parts = _cut(graph, piece) if len({place for place, _ in piece}) < len(piece) else None
        if parts is None:
            clusters.append(_well_joined(code, graph, piece))
            continue
        kept = set(parts[0])
        for vertex in piece:
            graph[vertex] = {other for other in graph[vertex] if (other in kept) == (vertex in kept)}
        waiting.extend(parts)
    return clusters


def _well_joined(code: UniqueListCode, graph: Graph, piece: Cluster) -> Cluster:
    """Drop vertices with less than half of the edges that an undisturbed item has.

    The paper drops those with exactly half of them, too; at degrees as small as these they are mostly true ones.
    """
    degree = 2 * len(code.offsets)
    return [vertex for vertex in piece if 2 * len(graph[vertex]) >= degree]


def _cut(graph: Graph, piece: Cluster) -> tuple[Cluster, Cluster] | None:
    """Return the two sides of the best sweep cut by the second eigenvector, or None if the piece hangs together."""
    places = {vertex: at for at, vertex in enumerate(piece)}
    joined = np.zeros((len(piece), len(piece)))
    for vertex, at in places.items():
        for other in graph[vertex]:
            joined[at, places[other]] = 1.0
    degrees = joined.sum(axis=1)
    if len(piece) < 3 or not degrees.all():
        return None
    order = _sweep(joined, degrees)
    volume = np.cumsum(degrees[order])
    ranked = joined[np.ix_(order, order)]
    # Moving a vertex over the cut adds its edges to the far side and takes away those to the near side.
    crossing = np.cumsum(degrees[order] - 2 * np.tril(ranked, -1).sum(axis=1))
    conductance = crossing[:-1] / np.minimum(volume[:-1], volume[-1] - volume[:-1])
    best = int(np.argmin(conductance))
    if conductance[best] > HANGS_TOGETHER:
        return None
    ordered = [piece[at] for at in order]
    return ordered[: best + 1], ordered[best + 1 :]


def _sweep(joined: Any, degrees: Any) -> Any:
    """Return the vertices in the order of the second eigenvector of the normalised Laplacian."""
    root = 1 / np.sqrt(degrees)
    laplacian = np.eye(len(degrees)) - root[:, None] * joined * root[None, :]
    return np.argsort(np.linalg.eigh(laplacian)[1][:, 1] * root, kind="stable")
