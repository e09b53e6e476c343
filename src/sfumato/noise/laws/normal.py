"""The rounded normal law, for noise whose width is itself private."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sfumato.errors import ParameterError
from sfumato.exact import exact, rational_ball
from sfumato.exact.enclosure import Ball
from sfumato.noise.laws.base import Law

HALF = Fraction(1, 2)


class Rounded(Law):
    """The nearest integer to a normal number that an odd function has stretched."""

    symmetric: ClassVar[bool] = True

    def mass(self, j: int) -> Ball:
        """Enclose the probability that the real number rounds to `j`."""
        j = abs(j)
        if j == 0:
            return self._reach(HALF).erf()
        return (self._reach(j - HALF).erfc() - self._reach(j + HALF).erfc()) / 2

    def tail(self, j: int) -> Ball:
        """Enclose the probability of more than `j`."""
        if j < 0:
            return 1 - self.tail(-j - 1)
        return self._reach(j + HALF).erfc() / 2

    @abstractmethod
    def _reach(self, edge: Fraction) -> Ball:
        """Enclose what is stretched to `edge`, in units of sqrt(2) standard deviations."""


@dataclass(frozen=True)
class RoundedNormal(Rounded):
    """The nearest integer to a normal number of the variance.

    No table is kept for it, so that its variance may depend on data: every draw inverts the tail.

    >>> from sfumato.noise import Noise
    >>> Noise(insecure_seed=1).draw(RoundedNormal(100), 5)
    array([-21,   2, -17,  10,  -8])
    """

    variance: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", exact(self.variance, "variance"))
        if self.variance <= 0:
            raise ParameterError("variance must be above 0; write for example RoundedNormal(100).")

    def _reach(self, edge: Fraction) -> Ball:
        """Enclose edge / sqrt(2 variance)."""
        return rational_ball(edge) / rational_ball(2 * self.variance).sqrt()
