"""The public matrix of a running total: whole numbers in, and what follows from it for privacy and for error.

A running total over T periods releases `C x + z`, where C is a lower triangular matrix of non-negative whole numbers
and z is noise. Estimates are linear in what was released. The matrix comes close to a square root of the matrix that
adds up, with columns made equally long, so that every period moves the release equally far (PB-CONTINUAL).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import isqrt
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FINENESS = 256
"""What the first coefficient is: the others are rounded to this fineness."""
MOST_PERIODS = 4096
EXACT = 2**62
"""Sums of products below this are exact in 64 bits."""


@dataclass(frozen=True)
class Factor:
    """The matrix for so many periods: `band` coefficients, columns equally long unless people come back (`plain`).

    >>> Factor(4, 4).matrix.tolist()
    [[256, 0, 0, 0], [128, 264, 0, 0], [96, 132, 279, 0], [80, 99, 140, 312]]
    """

    periods: int
    band: int
    plain: bool = False
    fineness: int = FINENESS

    def __post_init__(self) -> None:
        if not 1 <= self.periods <= MOST_PERIODS:
            raise ParameterError(
                f"A running total spans 1 to {MOST_PERIODS} periods, not {self.periods}; split it into several."
            )
        if not 1 <= self.band <= self.periods:
            raise ParameterError(f"A band has 1 to {self.periods} coefficients here, not {self.band}.")

    def to_json(self) -> dict[str, Any]:
        """Return what the matrix follows from, and its digest."""
        digest = hashlib.sha256(self.matrix.astype("<i8").tobytes()).hexdigest()
        return {"periods": self.periods, "band": self.band, "plain": self.plain, "matrix": digest}

    @cached_property
    def coefficients(self) -> list[int]:
        """The rounded coefficients of (1 - u)^(-1/2), as many as the band has."""
        found, exact = [], Fraction(1)
        for place in range(self.band):
            if place:
                exact *= Fraction(2 * place - 1, 2 * place)
            found.append(int((self.fineness * exact + Fraction(1, 2)).__floor__()))
        return found

    @cached_property
    def matrix(self) -> NDArray[np.int64]:
        """The matrix C, by period that is released and period that is read."""
        return _matrix(self.periods, tuple(self.coefficients), self.plain, self.fineness)

    @property
    def longest_row(self) -> int:
        """The largest sum of a row: what a total is multiplied by at most."""
        return int(self.matrix.sum(axis=1).max())

    def shift(self, counts: Sequence[int]) -> int:
        """Return `|C n|²`: how far whoever adds up to `n_t` in period t moves the release, squared.

        >>> Factor(4, 4).shift([1, 0, 0, 0]), Factor(3, 3, fineness=4).matrix.tolist()
        (97536, [[4, 0, 0], [2, 4, 0], [2, 2, 4]])
        """
        import numpy as np

        if max(counts, default=0) * self.longest_row >= EXACT:
            raise ParameterError("So many units in one period are more than whole numbers of 64 bits can follow.")
        moved = (self.matrix @ np.array(counts, np.int64)).tolist()
        return sum(part * part for part in moved)

    @cached_property
    def one_period(self) -> int:
        """The largest squared length of a column: how far one period alone moves the release."""
        import numpy as np

        return int(np.square(self.matrix).sum(axis=0).max())

    def participations(self, most: int, gap: int) -> int:
        """Return the squared shift of whoever counts in at most so many periods, `gap` or more apart (`plain` only)."""
        if not self.plain and most > 1:
            raise ParameterError("Columns of equal length have no formula for people who come back; take plain=True.")
        if most == 1:
            return self.one_period
        counts = [0] * self.periods
        for place in range(0, min(most * gap, self.periods), gap):
            counts[place] = 1
        return self.shift(counts)

    def decoder(self, window: int | None = None) -> NDArray[np.float64]:
        """Return B = A C⁻¹: estimates of totals since the start, or over a window, are B times what was released."""
        return _decoder(self, window)

    def spread(self, window: int | None = None) -> NDArray[np.float64]:
        """Return for each period the variance of its estimate, in units of the variance of the noise."""
        import numpy as np

        found: NDArray[np.float64] = np.square(self.decoder(window)).sum(axis=1)
        return found

    def error(self, window: int | None = None) -> float:
        """Return the mean variance of the estimates, if one period alone sets the noise: times l2²/(2 rho).

        >>> round(Factor(30, 30).error(), 4)
        3.6117
        """
        return float(self.spread(window).mean()) * self.one_period


@lru_cache(maxsize=32)
def _matrix(periods: int, coefficients: tuple[int, ...], plain: bool, fineness: int) -> NDArray[np.int64]:
    import numpy as np

    band = np.zeros(periods, np.int64)
    band[: len(coefficients)] = coefficients
    lengths = [fineness] * periods
    if not plain:
        sums = [0]
        for c in band.tolist():
            sums.append(sums[-1] + c * c)
        lengths = [isqrt(fineness**2 * sums[periods] // sums[periods - j]) for j in range(periods)]
    found = np.zeros((periods, periods), np.int64)
    for j, length in enumerate(lengths):
        found[j:, j] = (2 * length * band[: periods - j] + fineness) // (2 * fineness)
    found.setflags(write=False)
    return found


@lru_cache(maxsize=16)
def _decoder(factor: Factor, window: int | None) -> NDArray[np.float64]:
    import numpy as np
    from scipy.linalg import solve_triangular

    periods = factor.periods
    adds = np.tril(np.ones((periods, periods)))
    if window is not None:
        adds -= np.tril(np.ones((periods, periods)), -window)
    found: NDArray[np.float64] = solve_triangular(factor.matrix.astype(float), adds.T, trans="T", lower=True).T
    found.setflags(write=False)
    return found


def candidates(periods: int, window: int | None, gap: int = 1) -> list[int]:
    """Return the bands that are tried: powers of two, three times such, window and gap, and all periods."""
    powers = [2**i for i in range(13)]
    tried = {*powers, *(3 * one for one in powers), periods, gap, *([] if window is None else [window])}
    return sorted(band for band in tried if band <= periods)
