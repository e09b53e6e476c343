"""Growing a tree in whose leaves a set function hardly moves, from any answers about its marginals."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import positive_integer
from sfumato.papers.query_release.learning.trees.tree import Leaf, SetTree

Marginals = Callable[[Leaf], NDArray[Any]]
"""For a leaf, how much each element would add to the set function at its least set, or removing it at its largest."""
Test = Callable[[Any, Any], bool]
"""Whether a marginal is above a level; with noise where it is private."""

SetFunction = Callable[[NDArray[np.bool_]], Any]
"""One number for each set, one set a row."""


def grow(
    size: int,
    rises: Marginals,
    falls: Marginals | None,
    above: Test,
    *,
    most_leaves: int,
    levels: Sequence[Any] = (0,),
) -> SetTree:
    """Return the tree: branch on every element whose marginal is above a level, each element once in a fixed order.

    `rises(leaf)` are the marginals of all elements at the least set of a leaf. With `falls` a second stage runs in
    every leaf, for functions that also go down: what removing each element adds at the largest set of the leaf. With
    several falling `levels` steep elements are branched on first, so that a tree which must stop at `most_leaves` has
    the branches that matter; the last level is the one that the leaves keep (RL-TREE, Algorithms 6.1, 6.2 and 6.4).
    """
    left = most_leaves - 1
    found = 0

    def positive(value: Any, level: Any) -> bool:
        nonlocal found
        if found >= left or not above(value, level):
            return False
        found += 1
        return True

    leaves = [Leaf((), ())]
    stages = [
        (_remembered(rises, "inside"), True),
        *([] if falls is None else [(_remembered(falls, "outside"), False)]),
    ]
    for level in levels:
        for marginals, inwards in stages:
            test = partial(_at_level, positive, level)
            leaves = [one for leaf in leaves for one in _branches(leaf, size, marginals, test, inwards=inwards)]
    return SetTree(size, tuple(leaves), truncated=found >= left)


def _at_level(positive: Test, level: Any, value: Any) -> bool:
    return positive(value, level)


def _remembered(marginals: Marginals, side: str) -> Marginals:
    """Keep what was computed: marginals depend on the least set of a leaf alone, or on its largest."""
    known: dict[tuple[int, ...], NDArray[Any]] = {}

    def of(leaf: Leaf) -> NDArray[Any]:
        key = getattr(leaf, side)
        if key not in known:
            known[key] = marginals(leaf)
        return known[key]

    return of


def _branches(
    root: Leaf, size: int, marginals: Marginals, positive: Callable[[Any], bool], *, inwards: bool
) -> Iterator[Leaf]:
    """Branch within one leaf; a branch takes its element in (or out), and what is left behind has it out (or in)."""
    elements = _free(root, size)
    queue = deque([(root, 0)])
    while queue:
        leaf, start = queue.popleft()
        values = marginals(leaf)
        rest = leaf
        for place in range(start, len(elements)):
            element = elements[place]
            if positive(values[element]):
                queue.append((_with(rest, element, inside=inwards), place + 1))
                rest = _with(rest, element, inside=not inwards)
        yield rest


def _with(leaf: Leaf, element: int, *, inside: bool) -> Leaf:
    if inside:
        return Leaf((*leaf.inside, element), leaf.outside)
    return Leaf(leaf.inside, (*leaf.outside, element))


def _free(leaf: Leaf, size: int) -> list[int]:
    taken = {*leaf.inside, *leaf.outside}
    return [element for element in range(size) if element not in taken]


def least_set(leaf: Leaf, size: int) -> NDArray[np.bool_]:
    """Return the smallest set of a leaf."""
    found = np.zeros(size, dtype=bool)
    found[list(leaf.inside)] = True
    return found


def largest_set(leaf: Leaf, size: int) -> NDArray[np.bool_]:
    """Return the largest set of a leaf."""
    found = np.ones(size, dtype=bool)
    found[list(leaf.outside)] = False
    return found


def decompose(
    function: SetFunction, size: int, steepness: float, *, monotone: bool = True, most_leaves: int = 4096
) -> SetTree:
    """Return a small tree in whose leaves no element moves a submodular function by more than `steepness`.

    For functions that everybody may know: nothing here is private. `function` takes sets, one a row of booleans, and
    returns one number for each. A monotone function from 0 to 1 gives leaves with fewer than 1/steepness elements
    inside each (RL-TREE). With `monotone=False` elements may also lower the function. A tree that would have more
    than `most_leaves` says `truncated`.

    >>> tree = decompose(lambda sets: sets[:, :2].any(axis=1), size=4, steepness=0.5)
    >>> [(leaf.inside, leaf.outside) for leaf in tree.leaves]
    [((), (0, 1)), ((0,), ()), ((1,), (0,))]
    """
    positive_integer(size, "size")
    positive_integer(most_leaves, "most_leaves")
    if not steepness > 0:
        raise ParameterError("steepness must be above zero; write for example 0.1.")

    def rises(leaf: Leaf) -> NDArray[Any]:
        return _differences(function, least_set(leaf, size), added=True)

    def falls(leaf: Leaf) -> NDArray[Any]:
        return _differences(function, largest_set(leaf, size), added=False)

    levels = ladder(steepness, 1.0)
    down = None if monotone else falls
    return grow(size, rises, down, lambda value, level: bool(value > level), most_leaves=most_leaves, levels=levels)


def ladder(steepness: Any, top: Any) -> list[Any]:
    """Return falling levels from below `top` to the steepness, each three quarters of the one before.

    >>> ladder(0.5, 1.0)
    [0.75, 0.5625, 0.5]
    """
    levels = []
    level = top * 3 / 4
    while level > steepness:
        levels.append(level)
        level = level * 3 / 4
    return [*levels, steepness]


def _differences(function: SetFunction, base: NDArray[np.bool_], *, added: bool) -> NDArray[Any]:
    """Return how much the function changes when each element alone is added to the set, or removed from it."""
    values = np.asarray(function(neighbouring_sets(base, added=added)), dtype=np.float64)
    return np.asarray(values[:-1] - values[-1])


def neighbouring_sets(base: NDArray[np.bool_], *, added: bool) -> NDArray[np.bool_]:
    """Return the set with each element added (or removed), one a row, and the set itself as the last row."""
    sets = np.repeat(base[None, :], len(base) + 1, axis=0)
    np.fill_diagonal(sets, added)
    sets[-1] = base
    return sets
