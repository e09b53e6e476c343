"""Laws made from others: a part of one, and the largest of many draws."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.errors import ParameterError
from sfumato.exact import positive_integer, rational_ball
from sfumato.exact.enclosure import Ball
from sfumato.noise.laws.base import Law


@dataclass(frozen=True)
class Between(Law):
    """A law, given that the value lies between `least` and `most`, both included; None means no end.

    >>> from sfumato.noise import DiscreteLaplace, Noise
    >>> Noise(insecure_seed=1).draw(Between(DiscreteLaplace(1), least=30))
    30
    """

    law: Law
    least: int | None = None
    most: int | None = None

    def __post_init__(self) -> None:
        _require_law(self.law)
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ParameterError(f"least must not exceed most, and {self.least} exceeds {self.most}.")

    def mass(self, j: int) -> Ball:
        """Enclose the probability of exactly `j`, given the range."""
        if self._before(j) or self._after(j):
            return rational_ball(0)
        return self.law.mass(j) / self._range()

    def tail(self, j: int) -> Ball:
        """Enclose the probability of more than `j`, given the range."""
        if self._before(j + 1):
            return rational_ball(1)
        if self._after(j + 1):
            return rational_ball(0)
        return self.law.between(j + 1, self.most) / self._range()

    def head(self, j: int) -> Ball:
        """Enclose the probability of less than `j`, given the range."""
        if self._before(j - 1):
            return rational_ball(0)
        if self._after(j - 1):
            return rational_ball(1)
        return self.law.between(self.least, j - 1) / self._range()

    def _range(self) -> Ball:
        return self.law.between(self.least, self.most)

    def _before(self, j: int) -> bool:
        return self.least is not None and j < self.least

    def _after(self, j: int) -> bool:
        return self.most is not None and j > self.most


@dataclass(frozen=True)
class Maximum(Law):
    """The largest of `count` independent draws from a law, for a count of any size.

    >>> from sfumato.noise import DiscreteLaplace, Noise
    >>> Noise(insecure_seed=1).draw(Maximum(DiscreteLaplace(1), 2**256))
    175
    """

    law: Law
    count: int

    def __post_init__(self) -> None:
        _require_law(self.law)
        object.__setattr__(self, "count", positive_integer(self.count, "count"))

    def mass(self, j: int) -> Ball:
        """Enclose the probability of exactly `j`."""
        at_most = self.head(j + 1)
        # Subtract on the side where both terms are small, so that little cancels.
        if at_most < rational_ball(1) / 2:
            return at_most - self.head(j)
        return self.tail(j - 1) - self.tail(j)

    def tail(self, j: int) -> Ball:
        """Enclose the probability that some draw is more than `j`."""
        above = self.law.tail(j)
        if above < rational_ball(1) / 2:
            return -(self.count * (-above).log1p()).expm1()
        return 1 - self.head(j + 1)

    def head(self, j: int) -> Ball:
        """Enclose the probability that all draws are less than `j`."""
        reaching = self.law.tail(j - 1)
        if reaching < rational_ball(1) / 2:
            return (self.count * (-reaching).log1p()).exp()
        below = self.law.head(j)
        if below > 0:
            return (self.count * below.log()).exp()
        # Exactly zero, or too small to be told from zero at the precision in force.
        half = _non_negative_power(below.upper(), self.count) / 2
        return half.union(-half) + half


def _non_negative_power(base: Ball, count: int) -> Ball:
    return (count * base.log()).exp().upper() if base > 0 else rational_ball(0)


def _require_law(law: object) -> None:
    if not isinstance(law, Law):
        raise ParameterError(
            f"law must be a law of sfumato.noise, not {type(law).__name__}; write for example DiscreteLaplace(10)."
        )
