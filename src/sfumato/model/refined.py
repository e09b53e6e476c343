"""A model of columns in public bins, and what lies inside the bins: for columns of many values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato.model.base import Codes, Floats, Model, packed, read_model, unpacked
from sfumato.model.rows import shuffled, systematic
from sfumato.noise import Noise
from sfumato.workload.space import Space


@dataclass(frozen=True, eq=False)
class ColumnBins:
    """Public bins of a column, and finer ones inside: where each starts, in codes from 0 on.

    Every bin starts where a finer one does. Codes inside one of the finer bins are all alike.

    >>> ColumnBins((0, 4), (0, 2, 4), 7).coarse_of(np.array([1, 3, 4, 6])).tolist()
    [0, 0, 1, 1]
    """

    starts: tuple[int, ...]
    finer: tuple[int, ...]
    size: int

    def coarse_of(self, codes: Codes) -> Codes:
        """Return the bins of some codes."""
        return np.searchsorted(np.array(self.starts), codes, side="right") - 1

    @cached_property
    def owners(self) -> Codes:
        """The bin of every finer one."""
        return self.coarse_of(np.array(self.finer))

    @cached_property
    def lengths(self) -> Codes:
        """How many codes every finer bin holds."""
        return np.diff([*self.finer, self.size])

    def inside(self, shares: Floats) -> Floats:
        """Return the chance of every finer bin inside its bin, from shares of zero or more; even where all are zero."""
        shares = np.where(np.bincount(self.owners, shares)[self.owners] > 0, shares, self.lengths)
        return np.asarray(shares / np.bincount(self.owners, shares)[self.owners])

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return {"starts": list(self.starts), "finer": list(self.finer), "size": self.size}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ColumnBins:
        """Read what `to_json` wrote."""
        return cls(tuple(record["starts"]), tuple(record["finer"]), int(record["size"]))


@dataclass(frozen=True, eq=False, repr=False)
class Refined(Model):
    """A model in which some columns stand in bins, and the chances of what lies inside each bin.

    Inside a bin a column says nothing more about the others: P(x) = P(bins of x) · Π P(code | bin). `inside` holds one
    chance for every finer bin of a column, which add up to 1 in each bin.
    """

    kind: ClassVar[str] = "refined"

    space: Space
    total: float
    coarse: Model
    bins: Mapping[str, ColumnBins]
    inside: Mapping[str, Floats]

    def _marginal(self, names: tuple[str, ...]) -> Floats:
        table = self.coarse.marginal(names)
        for axis, name in enumerate(names):
            if name not in self.bins:
                continue
            held = self.bins[name]
            chances = np.repeat(self.inside[name] / held.lengths, held.lengths)
            shape = [-1 if place == axis else 1 for place in range(len(names))]
            table = np.take(table, np.repeat(held.owners, held.lengths), axis=axis) * chances.reshape(shape)
        return table

    def codes(self, rows: int, noise: Noise) -> Codes:
        """Return rows of the bins, then a code inside each: finer bins as evenly as whole rows allow."""
        found = self.coarse.codes(rows, noise)
        for at, name in enumerate(self.space.names):
            if name in self.bins:
                found[:, at] = self._inside(name, found[:, at], noise)
        return found

    def _inside(self, name: str, held: Codes, noise: Noise) -> Codes:
        own, chances = self.bins[name], self.inside[name]
        finer = np.empty(len(held), np.int64)
        for one in np.unique(held):
            members, options = np.flatnonzero(held == one), np.flatnonzero(own.owners == one)
            counts = systematic(chances[options], len(members), noise)
            finer[members[shuffled(len(members), noise)]] = np.repeat(options, counts)
        found = np.array(own.finer, np.int64)[finer]
        lengths = own.lengths[finer]
        for length in np.unique(lengths[lengths > 1]):
            members = np.flatnonzero(lengths == length)
            found[members] += noise.uniform(int(length), len(members))
        return found

    def _record(self) -> dict[str, Any]:
        return {
            "coarse": self.coarse.to_json(),
            "bins": {name: held.to_json() for name, held in self.bins.items()},
            "inside": {name: packed(chances) for name, chances in self.inside.items()},
        }

    @classmethod
    def _read(cls, space: Space, total: float, record: Mapping[str, Any]) -> Refined:
        bins = {name: ColumnBins.from_json(held) for name, held in record["bins"].items()}
        inside = {name: bins[name].inside(unpacked(chances)) for name, chances in record["inside"].items()}
        return cls(space, total, read_model(record["coarse"], coarse_space(space, bins)), bins, inside)


def coarse_space(space: Space, bins: Mapping[str, ColumnBins]) -> Space:
    """Return a space in which some columns stand in bins; its codes are those of the bins."""
    sizes = tuple(
        len(bins[name].starts) if name in bins else size for name, size in zip(space.names, space.sizes, strict=True)
    )
    return Space(space.names, sizes, space.attributes, space.domains)
