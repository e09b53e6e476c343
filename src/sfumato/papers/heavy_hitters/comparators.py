"""Oracles to compare with: unary encoding and local hashing. Small lists only; plans do not use them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato.errors import ParameterError
from sfumato.exact import positive_integer
from sfumato.local.oracle import Counts, Oracle, Randomizer, Tally, support_deviation
from sfumato.local.seed import words
from sfumato.noise import Noise
from sfumato.privacy import Pure
from sfumato.privacy.coins import COIN, noise_weight, report_epsilon

PRIME = (1 << 31) - 1


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(Randomizer):
    """One bit for each cell: the item's own is a fair coin, every other one is 1 with chance c/2.

    Reports are numbers of `cells` bits, cell 0 the lowest. Promise: pure epsilon = log((1 - c/2)/(c/2)), which is
    log(1 + 2·(1-c)/c). The optimal unary encoding of the literature.
    """

    spec: ClassVar[str] = "BERN-EXACT"
    kind: ClassVar[str] = "unary"

    cells: int

    @property
    def outcomes(self) -> int:
        """All sets of cells."""
        return 1 << self.cells

    @property
    def spread(self) -> int:
        """As for one bit."""
        return 2

    def shape(self) -> dict[str, int]:
        """Return the number of cells."""
        return {"cells": self.cells}

    def run(self, exact: Any, noise: Noise) -> int:
        """Flip the coins of all cells; an item that does not fit has none of its own."""
        report = 0
        for cell in range(self.cells):
            chance = Fraction(1, 2) if cell == exact else self.chance / 2
            report |= int(noise.bernoulli(chance)) << cell
        return report

    def run_many(self, points: Any, noise: Noise) -> Any:
        """Return a table with one row a device and one column a cell."""
        cells = np.asarray(points, dtype=np.int64)
        # The coins of all others have half the chance of noise, so they are thrown at twice the resolution.
        bits = noise.uniform(COIN, len(cells) * self.cells).reshape(-1, self.cells) < self.weight
        fair = noise.uniform(2, len(cells) * self.cells).reshape(-1, self.cells) == 0
        table = bits & fair
        fits = np.flatnonzero((cells >= 0) & (cells < self.cells))
        table[fits, cells[fits]] = fair[fits, cells[fits]]
        return table

    def tally(self, reports: Any) -> Tally:
        """Return how often each cell was set, and last the number of reports."""
        if isinstance(reports, np.ndarray) and reports.ndim == 2:
            return np.append(reports.sum(axis=0, dtype=np.int64), len(reports))
        listed = [int(report) for report in reports]
        sums = [sum(report >> cell & 1 for report in listed) for cell in range(self.cells)]
        return np.array([*sums, len(listed)], dtype=np.int64)

    def reader(self, tally: Tally) -> SupportReader:
        """Return the counts with the expected noise taken away."""
        return SupportReader(self, np.asarray(tally)[:-1], int(tally[-1]), 0.5, float(self.chance) / 2)

    def deviation(self, reports: float, count: float = 0) -> float:
        """Return the exact standard error."""
        return support_deviation(reports, count, own=0.5, inside=float(self.chance) / 2)


@dataclass(frozen=True, kw_only=True)
class LocalHash(Oracle):
    """Draw one of `functions` public hash functions, and answer by randomized response about the item's symbol.

    A report is function · `symbols` + symbol. Promise: pure epsilon = log(1 + symbols·(1-c)/c). Decoding takes time
    cells · functions, which is why plans hash linearly instead.
    """

    spec: ClassVar[str] = "BERN-EXACT"
    kind: ClassVar[str] = "local hash"

    cells: int
    symbols: int
    functions: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cells >= PRIME:
            raise ParameterError("Local hashing compares small lists; use linear hashing for large ones.")

    @property
    def outcomes(self) -> int:
        """Functions times symbols."""
        return self.functions * self.symbols

    @property
    def spread(self) -> int:
        """The number of symbols."""
        return self.symbols

    def shape(self) -> dict[str, int]:
        """Return the sizes."""
        return {"cells": self.cells, "symbols": self.symbols, "functions": self.functions}

    @cached_property
    def _factors(self) -> Any:
        """A slope and an offset for every function."""
        pairs = [words(b"local hash", number.to_bytes(4, "big"))[:2] for number in range(self.functions)]
        return np.array(pairs, dtype=np.int64) % (PRIME - 1) + 1

    def symbols_of(self, functions: Any, cells: Any) -> Any:
        """Return the symbols of cells under functions."""
        slope, offset = self._factors[functions, 0], self._factors[functions, 1]
        return (slope * (np.asarray(cells) + 1) + offset) % PRIME % self.symbols

    def place(self, point: int, drawn: int) -> int:
        """Keep the function, say the symbol."""
        function = drawn // self.symbols
        return function * self.symbols + int(self.symbols_of(function, point))

    def place_many(self, points: Any, drawn: Tally) -> Tally:
        """Keep the functions, say the symbols."""
        function = drawn // self.symbols
        found: Tally = function * self.symbols + self.symbols_of(function, np.asarray(points))
        return found

    def reader(self, tally: Tally) -> SupportReader:
        """Count, for every cell, the reports that support it."""
        table = np.asarray(tally).reshape(self.functions, self.symbols)
        every = np.arange(self.functions)
        support = np.array([table[every, self.symbols_of(every, cell)].sum() for cell in range(self.cells)])
        inside = 1 / self.symbols
        own = inside + self.signal * (1 - inside)
        return SupportReader(self, support, int(table.sum()), own, inside)

    def deviation(self, reports: float, count: float = 0) -> float:
        """Return the standard error for independent hash functions."""
        inside = 1 / self.symbols
        return support_deviation(reports, count, own=inside + self.signal * (1 - inside), inside=inside)


@dataclass(frozen=True)
class SupportReader:
    """How many reports support each cell."""

    oracle: Randomizer
    support: Tally
    reports: int
    own: float
    inside: float

    def counts(self, points: Any = None) -> Counts:
        """Return the estimates of these cells, by default of all."""
        heard = self.support if points is None else self.support[np.asarray(points, dtype=np.int64)]
        return np.asarray((heard - self.reports * self.inside) / (self.own - self.inside), dtype=np.float64)

    def errors(self, points: Any, counts: Counts) -> Counts:
        """Return the standard errors."""
        held = np.clip(counts, 0, self.reports)
        return np.array([self.oracle.deviation(self.reports, count) for count in held.tolist()], dtype=np.float64)


def unary_encoding(spend: Pure, cells: int) -> UnaryEncoding:
    """Return unary encoding for a spend: reports of one bit a cell, best for short lists where bytes do not matter.

    >>> from sfumato import Noise, Pure
    >>> oracle = unary_encoding(Pure(2), cells=3)
    >>> reports = oracle.run_many(np.repeat([0, 2], [6_000, 4_000]), Noise(insecure_seed=1))
    >>> oracle.reader(oracle.tally(reports)).counts().round(-3) + 0.0
    array([6000.,    0., 4000.])
    """
    return UnaryEncoding(weight=noise_weight(report_epsilon(spend), 2), cells=positive_integer(cells, "cells"))


def local_hash(spend: Pure, cells: int, *, functions: int = 1 << 12) -> LocalHash:
    """Return local hashing for a spend, with about e^epsilon + 1 symbols.

    >>> from sfumato import Noise, Pure
    >>> oracle = local_hash(Pure(2), cells=3)
    >>> reports = oracle.run_many(np.repeat([0, 2], [6_000, 4_000]), Noise(insecure_seed=1))
    >>> oracle.reader(oracle.tally(reports)).counts().round(-3) + 0.0
    array([6000.,    0., 4000.])
    """
    epsilon = report_epsilon(spend)
    symbols = max(2, round(math.exp(float(epsilon)) + 1))
    weight = noise_weight(epsilon, symbols)
    many = positive_integer(functions, "functions")
    return LocalHash(weight=weight, cells=positive_integer(cells, "cells"), symbols=symbols, functions=many)
