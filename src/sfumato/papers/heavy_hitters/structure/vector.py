"""Randomized response for a whole vector of bits, pure, at the rate of advanced composition (RRK).

Every bit is flipped with the same small chance. If the number of flips falls outside a shell of usual numbers, the
report is drawn anew, uniformly among the vectors outside the shell. Vectors far from the usual distance are what
makes k bits cost k times epsilon; here they are all equally likely, whatever the input.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import enclose_up, positive_integer, rational_ball
from sfumato.exact.enclosure import Ball
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.privacy import Cost, Loss
from sfumato.privacy.coins import COIN, LOSS_BITS

MOST_BITS = 4096
Reports = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class VectorResponse(Mechanism):
    """Report `bits` bits at once; the whole vector is protected.

    Each bit flips with chance `flip` / 2^63, at most a half; the shell are the numbers of flips from `least` to `most`.
    Promise: a report at distance d of its input has the chance q(d) = f^d·(1-f)^(k-d) inside the shell and the same
    chance q outside; every pair of distances occurs, so epsilon = log of the largest q over the smallest, exactly.
    Input that is no vector of `bits` bits sends a uniform vector, which is one more legal input. Spec: RRK.

    >>> response = VectorResponse(bits=4, flip=COIN // 4, least=0, most=2)
    >>> f"{float(response.loss().person.epsilon):.3f}", f"{response.signal:.3f}"
    ('3.439', '0.497')
    >>> response.run([1, 0, 0, 1], Noise(insecure_seed=1)).shape
    (4,)
    """

    spec: ClassVar[str] = "RRK"

    bits: int
    flip: int
    least: int
    most: int

    def __post_init__(self) -> None:
        if positive_integer(self.bits, "bits") > MOST_BITS:
            raise ParameterError(f"bits must be at most {MOST_BITS}, and {self.bits} is above.")
        if isinstance(self.flip, bool) or not isinstance(self.flip, int) or not 0 < self.flip <= COIN // 2:
            raise ParameterError("flip must be a whole number from 1 to 2^62; take it from vector_response().")
        if not 0 <= self.least <= self.most <= self.bits:
            raise ParameterError("The shell must be 0 <= least <= most <= bits; write least=0, most=bits for no shell.")

    @cached_property
    def chance(self) -> Fraction:
        """The chance that one bit flips, before the shell is looked at."""
        return Fraction(self.flip, COIN)

    @cached_property
    def outside(self) -> list[int]:
        """The numbers of flips outside the shell."""
        return [*range(self.least), *range(self.most + 1, self.bits + 1)]

    @cached_property
    def _ways(self) -> list[int]:
        ways = all_ways(self.bits)
        return [ways[count] for count in self.outside]

    @cached_property
    def _steps(self) -> list[int]:
        """How many vectors lie outside the shell with at most so many flips: integer weights, none rounded away."""
        return list(accumulate(self._ways))

    def loss(self) -> Loss:
        """Return the exact worst ratio of two chances, as a logarithm rounded up."""
        epsilon = enclose_up(self._ratio, LOSS_BITS)
        assert epsilon is not None
        return Loss.flat(Cost.pure(max(epsilon, Fraction(0))), self.reads, self.relation)

    def _ratio(self) -> Ball:
        flip, keep = rational_ball(self.chance).log(), rational_ball(1 - self.chance).log()
        levels = [count * flip + (self.bits - count) * keep for count in (self.least, self.most)]
        if self.outside:
            levels.append((self._stray() / self._steps[-1]).log())
        return _highest(levels) - _lowest(levels)

    def _stray(self) -> Ball:
        """Return the chance of falling outside the shell."""
        flip, keep = rational_ball(self.chance), rational_ball(1 - self.chance)
        odds, total = flip / keep, rational_ball(0)
        term, before = keep**self.bits, 0
        for ways, count in zip(self._ways, self.outside, strict=True):
            term, before = term * odds ** (count - before), count
            total = total + rational_ball(ways) * term
        return total

    @cached_property
    def stray(self) -> Fraction:
        """How often a report falls outside the shell: the largest distance to independent flips, rounded up."""
        found = enclose_up(self._stray, LOSS_BITS) if self.outside else Fraction(0)
        assert found is not None
        return found

    def run(self, exact: Any, noise: Noise) -> Reports:
        """Return the report of one device; what is no vector of bits gives a uniform one."""
        given = self._vector(exact)
        if given is None:
            drawn = noise.uniform(1 << self.bits)
            return np.array([drawn >> place & 1 for place in range(self.bits)], dtype=np.uint8)
        flips = [place for place in range(self.bits) if noise.bernoulli(self.chance)]
        return self._flipped(given, flips, noise)

    def run_many(self, vectors: Any, noise: Noise) -> Reports:
        """Return the reports of many devices, a row each; a row that is no vector of bits gives a uniform one."""
        legal, table = self._table(vectors)
        count, out = len(table), table.copy()
        flips = noise.uniform(COIN, count * self.bits).reshape(count, self.bits) < self.flip
        number = flips.sum(axis=1)
        out ^= flips
        strays = np.flatnonzero(legal & ((number < self.least) | (number > self.most)))
        for row in strays.tolist():
            out[row] = self._flipped(table[row], np.flatnonzero(flips[row]).tolist(), noise)
        broken = np.flatnonzero(~legal)
        out[broken] = noise.uniform(2, len(broken) * self.bits).reshape(-1, self.bits)
        return out

    def check(self, vector: Any) -> None:
        """For developers: say why a vector does not fit; a device never raises but sends a uniform report."""
        if self._vector(vector) is None:
            raise ParameterError(f"A vector is {self.bits} numbers, each 0 or 1; others send pure noise.")

    def _vector(self, exact: Any) -> Reports | None:
        try:
            given = np.asarray(exact)
            legal = given.shape == (self.bits,) and bool(((given == 0) | (given == 1)).all())
            return given.astype(np.uint8) if legal else None
        except (TypeError, ValueError):
            return None

    def _table(self, vectors: Any) -> tuple[NDArray[np.bool_], Reports]:
        """Return which rows are vectors of bits, and the rows, with zeros in the others."""
        if isinstance(vectors, np.ndarray) and vectors.dtype.kind in "biuf" and vectors.shape[1:] == (self.bits,):
            legal = ((vectors == 0) | (vectors == 1)).all(axis=1)
            return legal, np.where(legal[:, None], vectors, 0).astype(np.uint8)
        rows = [self._vector(row) for row in vectors]
        table = np.zeros((len(rows), self.bits), dtype=np.uint8)
        for place, row in enumerate(rows):
            if row is not None:
                table[place] = row
        return np.array([row is not None for row in rows], dtype=np.bool_), table

    def _flipped(self, given: Reports, flips: list[int], noise: Noise) -> Reports:
        if not self.least <= len(flips) <= self.most:
            drawn = noise.uniform(self._steps[-1])
            flips = noise.subset(self.bits, self.outside[bisect_right(self._steps, drawn)])
        report = given.copy()
        report[flips] ^= 1
        return report

    @cached_property
    def moments(self) -> tuple[float, float]:
        """The chance that a bit of a report is wrong, and the chance that two given bits both are."""
        return shell_moments(self.bits, float(self.chance), self.least, self.most)

    @property
    def signal(self) -> float:
        """How strongly a report follows a bit: 1 minus twice the chance that it is wrong."""
        return 1 - 2 * self.moments[0]

    @property
    def pair_signal(self) -> float:
        """How strongly a report follows the parity of two bits."""
        wrong, both = self.moments
        return 1 - 4 * (wrong - both)


def _highest(levels: list[Ball]) -> Ball:
    found = levels[0]
    for level in levels[1:]:
        found = found.max(level)
    return found


def _lowest(levels: list[Ball]) -> Ball:
    return -_highest([-level for level in levels])


def shell_moments(bits: int, chance: float, least: int, most: int) -> tuple[float, float]:
    """Return E[d]/k and E[d(d-1)]/(k(k-1)) for the number d of wrong bits in a report."""
    count = np.arange(bits + 1)
    inside = (count >= least) & (count <= most)
    own, even = masses(bits, chance), masses(bits, 0.5)
    out = even * ~inside
    law = own * inside
    if not inside.all():
        law = law + out * (own[~inside].sum() / out.sum())
    pairs = float(law @ (count * (count - 1.0))) / (bits * (bits - 1)) if bits > 1 else 0.0
    return float(law @ count) / bits, pairs


def masses(bits: int, chance: float) -> NDArray[np.float64]:
    """Return the binomial law of the number of flips as floats."""
    count = np.arange(bits)
    ways = np.concatenate([[0.0], np.cumsum(np.log((bits - count) / (count + 1)))])
    flips = np.arange(bits + 1)
    return np.asarray(np.exp(ways + flips * math.log(chance) + (bits - flips) * math.log1p(-chance)))


@lru_cache(maxsize=8)
def all_ways(bits: int) -> tuple[int, ...]:
    """Return the binomial coefficients."""
    return tuple(math.comb(bits, count) for count in range(bits + 1))
