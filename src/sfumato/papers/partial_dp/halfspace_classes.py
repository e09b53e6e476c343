"""Public lists of halfspaces to choose from: whole-number weights and a whole-number offset for each."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.exact import Number, above_zero, positive_integer

Weights = NDArray[np.int64]

MOST_CANDIDATES = 200_000
LARGEST_SUM = 1 << 40
"""Weights of one candidate add up to at most this, so that all sums are exact."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Halfspaces w·x + b >= 0 over features that are +1 or -1: one row of weights and one offset for each.

    They are public: from knowledge, from public data, or from no data at all, never from the people to learn from.
    """

    weights: Weights
    offsets: Weights
    recipe: tuple[Any, ...]
    """The name of the function that made the list, and its arguments, as JSON."""

    @property
    def name(self) -> str:
        """The list in words."""
        kind, *arguments = self.recipe
        return f"{kind}({', '.join(map(str, arguments))})" if kind != "listed" else "listed"

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def features(self) -> int:
        """How many features there are."""
        return int(self.weights.shape[1])

    @cached_property
    def plain(self) -> bool:
        """Whether all weights are -1, 0 or 1; distances to the boundary are then read off the sum."""
        return bool((np.abs(self.weights) <= 1).all())

    @cached_property
    def digest(self) -> str:
        """What names this list in a ledger."""
        table = np.concatenate([self.weights, self.offsets[:, None]], axis=1).astype("<i8")
        return hashlib.sha256(table.tobytes() + str(table.shape).encode()).hexdigest()

    def __repr__(self) -> str:
        return f"Candidates({self.name!r}, {len(self)} halfspaces over {self.features} features)"


def listed(weights: Any, offsets: Any = 0) -> Candidates:
    """Return halfspaces that were written down, one row of weights for each; floating point is refused.

    Rounding would let the distance to the boundary jump by two when one feature flips, and cost twice what is said.

    >>> len(listed([[1, 1, 0], [1, -1, 2]]))
    2
    """
    return _made(weights, offsets, None)


def made_again(recipe: Sequence[Any]) -> Candidates:
    """Return the list that a recipe describes.

    >>> made_again(sparse(5, 2, (0, 1)).recipe).digest == sparse(5, 2, (0, 1)).digest
    True
    """
    makers: dict[str, Callable[..., Candidates]] = {"listed": listed, "sparse": sparse, "drawn": drawn, "net": net}
    kind, *arguments = recipe
    if kind not in makers:
        raise ParameterError(f"{kind!r} makes no halfspaces; {', '.join(makers)} do.")
    return makers[kind](*arguments)


def _made(weights: Any, offsets: Any, recipe: tuple[Any, ...] | None) -> Candidates:
    table = np.asarray(weights)
    given = np.asarray(offsets)
    if table.ndim != 2 or table.dtype.kind not in "iu" or given.dtype.kind not in "iu" or 0 in table.shape:
        raise ParameterError(
            "Weights are whole numbers, one row for each halfspace and one column for each feature; scale and round "
            "them first, for example np.rint(100 * weights).astype(int)."
        )
    both = np.broadcast_to(given, (len(table),)).astype(np.int64)
    if len(table) > MOST_CANDIDATES:
        raise DomainTooLarge(f"There are {len(table)} halfspaces, and {MOST_CANDIDATES} are the most that are tried.")
    if (np.abs(table).astype(object).sum(axis=1) + np.abs(both)).max() > LARGEST_SUM:
        raise ParameterError(f"The weights of a halfspace may add up to {LARGEST_SUM}, and these are larger.")
    found = table.astype(np.int64)
    return Candidates(found, both, recipe or ("listed", found.tolist(), both.tolist()))


def sparse(features: int, nonzero: int, offsets: Sequence[int] = (0,)) -> Candidates:
    """Return all halfspaces with up to `nonzero` weights of +1 or -1, at each of the offsets.

    >>> len(sparse(40, 2))
    3200
    """
    many, most = positive_integer(features, "features"), min(positive_integer(nonzero, "nonzero"), features)
    count = sum(math.comb(many, used) * 2**used for used in range(1, most + 1)) * len(offsets)
    _check(count, "fewer nonzero weights")
    rows = np.zeros((count // len(offsets), many), dtype=np.int64)
    place = 0
    for used in range(1, most + 1):
        signs = np.array(list(product((1, -1), repeat=used)), dtype=np.int64)
        for chosen in combinations(range(many), used):
            rows[place : place + len(signs), chosen] = signs
            place += len(signs)
    shifted = np.repeat(np.array(list(offsets), dtype=np.int64), len(rows))
    recipe = ("sparse", many, most, list(map(int, offsets)))
    return _made(np.tile(rows, (len(offsets), 1)), shifted, recipe)


def ternary(features: int, offsets: Sequence[int] = (0,)) -> Candidates:
    """Return all 3^features - 1 halfspaces with weights -1, 0 and 1; for up to about ten features.

    >>> len(ternary(4))
    80
    """
    return sparse(features, features, offsets)


def drawn(features: int, count: int, seed: int = 0, largest: int = 1) -> Candidates:
    """Return `count` halfspaces with weights from -largest to largest, spread by a public hash of a public seed.

    >>> drawn(5, 3).weights.shape
    (3, 5)
    """
    many, rows = positive_integer(features, "features"), positive_integer(count, "count")
    _check(rows, "fewer candidates")
    width = 2 * positive_integer(largest, "largest") + 1
    stream = _hashed(f"halfspaces {seed} {many} {largest}", many * rows)
    weights = (np.array(stream, dtype=np.uint64) % np.uint64(width)).astype(np.int64).reshape(rows, many) - largest
    return _made(weights, 0, ("drawn", many, rows, seed, largest))


def net(features: int, fineness: Number) -> Candidates:
    """Return a net of all halfspaces: every weight vector is within `fineness` of one, in the sum of differences.

    Whole numbers of sum at most N = ceil(features/(2·fineness)), shares of N: rounding to the nearest loses at most
    half a unit in each place (PDP-HALF, Lemma 23). About (1 + 2/fineness)^features of them, so for few features only.

    >>> len(net(2, 0.25))
    40
    """
    many, step = positive_integer(features, "features"), above_zero(fineness, "fineness")
    total = math.ceil(many / (2 * step))
    count = sum(2**used * math.comb(many, used) * math.comb(total, used) for used in range(1, min(many, total) + 1))
    _check(count, "a larger fineness or fewer features")
    rows = [row for row in _within(many, total) if any(row)]
    return _made(np.array(rows, dtype=np.int64), 0, ("net", many, str(step)))


def _within(places: int, total: int) -> Iterator[tuple[int, ...]]:
    """Yield all vectors of whole numbers whose absolute values add up to at most `total`."""
    if places == 0:
        yield ()
        return
    for weight in range(-total, total + 1):
        for rest in _within(places - 1, total - abs(weight)):
            yield (weight, *rest)


def _hashed(text: str, count: int) -> list[int]:
    words: list[int] = []
    for block in range(-(-count // 4)):
        digest = hashlib.sha256(f"{text} {block}".encode()).digest()
        words += [int.from_bytes(digest[start : start + 8], "little") for start in range(0, 32, 8)]
    return words[:count]


def _check(count: int, instead: str) -> None:
    if count > MOST_CANDIDATES:
        raise DomainTooLarge(
            f"That are {count} halfspaces, and {MOST_CANDIDATES} are the most that are tried; take {instead}, or "
            "halfspaces.drawn(features, count).",
            method="halfspaces.drawn",
        )
