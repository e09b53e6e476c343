"""A decision tree over sets: every set of elements belongs to exactly one leaf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import between_zero_and_one

Sets = NDArray[np.bool_]
"""One set a row, one element a column."""

CHUNK = 1 << 16
"""So many sets are looked up at once."""


@dataclass(frozen=True)
class Leaf:
    """The sets that hold every element of `inside` and none of `outside`; all other elements are free."""

    inside: tuple[int, ...]
    outside: tuple[int, ...]


@dataclass(frozen=True)
class SetTree:
    """A partition of all subsets of `size` elements into leaves, small enough to be written down.

    Any tree that `grow` returns is a partition, whatever answers it was grown from: no set function need be
    submodular for that, and noise does no harm. `truncated` says that it stopped at the most leaves that it might have.

    >>> tree = SetTree(2, (Leaf((), (0,)), Leaf((0,), ())))
    >>> tree.find(np.array([[False, True], [True, True]]))
    array([0, 1])
    """

    size: int
    leaves: tuple[Leaf, ...]
    truncated: bool = False

    @cached_property
    def _signs(self) -> NDArray[np.float32]:
        signs = np.zeros((self.size, len(self.leaves)), dtype=np.float32)
        for place, leaf in enumerate(self.leaves):
            signs[list(leaf.inside), place] = 1
            signs[list(leaf.outside), place] = -1
        return signs

    @cached_property
    def _wanted(self) -> NDArray[np.float32]:
        return np.array([len(leaf.inside) for leaf in self.leaves], dtype=np.float32)

    def find(self, sets: Sets) -> NDArray[np.int64]:
        """Return the leaf of every set; time: one product of matrices, a second for a million sets of 200 elements."""
        asked = read_sets(sets, self.size)
        found = np.empty(len(asked), dtype=np.int64)
        for start in range(0, len(asked), CHUNK):
            part = asked[start : start + CHUNK].astype(np.float32)
            # |S ∩ inside| - |S ∩ outside| reaches |inside| in the one leaf that S belongs to; small integers are exact.
            found[start : start + CHUNK] = np.argmax(part @ self._signs - self._wanted, axis=1)
        return found

    def free(self, leaf: Leaf) -> NDArray[np.int64]:
        """Return the elements that a leaf says nothing about."""
        taken = np.zeros(self.size, dtype=bool)
        taken[list(leaf.inside)] = True
        taken[list(leaf.outside)] = True
        return np.flatnonzero(~taken)

    def reach(self, chances: Sequence[float]) -> NDArray[np.float64]:
        """Return how likely each leaf is for a set that holds every element independently with its own chance."""
        inside = np.asarray(chances, dtype=np.float64)
        return np.array(
            [np.prod(inside[list(leaf.inside)]) * np.prod(1 - inside[list(leaf.outside)]) for leaf in self.leaves]
        )

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back."""
        leaves = [[list(leaf.inside), list(leaf.outside)] for leaf in self.leaves]
        return {"size": self.size, "leaves": leaves, "truncated": self.truncated}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> SetTree:
        """Read what `to_json` wrote."""
        leaves = tuple(Leaf(tuple(inside), tuple(outside)) for inside, outside in record["leaves"])
        return cls(int(record["size"]), leaves, bool(record["truncated"]))


def read_sets(sets: Any, size: int) -> Sets:
    """Return sets as booleans, one a row; sets of another width are refused."""
    found = np.atleast_2d(np.asarray(sets))
    if found.ndim != 2 or found.shape[1] != size:
        raise ParameterError(
            f"Sets are rows of {size} zeros and ones, one for each element; write an array of that width."
        )
    return found.astype(bool)


def chances_of(given: Any, size: int) -> tuple[Fraction, ...]:
    """Return how likely a random set is to hold each element, from one chance for all or from one for each.

    >>> chances_of(0.5, 2)
    (Fraction(1, 2), Fraction(1, 2))
    """
    alone = isinstance(given, str) or not hasattr(given, "__iter__")
    listed = [given] * size if alone else list(given)
    if len(listed) != size:
        raise ParameterError(f"There are {len(listed)} chances for {size} elements; give one for each, or one for all.")
    plain = [chance.item() if isinstance(chance, np.generic) else chance for chance in listed]
    return tuple(between_zero_and_one(chance, "a chance") for chance in plain)
