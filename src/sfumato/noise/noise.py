"""The one object that draws."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import Number, at_least_zero, exact, positive_integer, rational_ball
from sfumato.noise import choice, order
from sfumato.noise.laws import (
    Between,
    Binomial,
    DiscreteGaussian,
    DiscreteLaplace,
    Geometric,
    Law,
    Maximum,
    SinhNormal,
    Smooth,
    Top,
)
from sfumato.noise.samplers import SAMPLERS, Tally
from sfumato.noise.source import KeyedSource, SeededSource, SystemSource, integer
from sfumato.noise.table import Table
from sfumato.noise.uniform import Uniform
from sfumato.words import Understood

Integers = NDArray[np.int64]

NEGLIGIBLE = Fraction(1, 1 << 64)


class Noise(metaclass=Understood):
    """Exact random draws, keyed by the operating system anew for every call.

    Every probability is exactly right given uniform bits: no floating point takes part in a decision,
    and no support is cut. The bits are those of AES-256 in counter mode. Copies, pickles, threads and
    forked processes never share a key. With `insecure_seed` (for tests) call number i always draws the
    same; a copy or a forked child of a seeded Noise repeats its parent's draws.

    With a secret `key` of 32 bytes call number i draws the same in every process, whatever was drawn there before:
    a draw that was cut short can be finished as it would have been. `names` (a request, a part, a step) keep apart
    what is drawn with one key. It draws in one thread, and copies are refused.

    >>> noise = Noise(insecure_seed=7)
    >>> noise.discrete_laplace(10, size=5)
    array([-10,   1, -10, -28,  -1])
    """

    def __init__(
        self, *, key: bytes | None = None, names: Sequence[str | int] = (), insecure_seed: int | None = None
    ) -> None:
        self._source: SystemSource | KeyedSource | SeededSource
        self._own: Tally | None = None
        if key is not None:
            if insecure_seed is not None:
                raise ParameterError("A seed is for tests and a key for real draws; leave insecure_seed= out.")
            self._source, self._own = KeyedSource(key, names), Tally()
        else:
            self._source = SystemSource() if insecure_seed is None else SeededSource(insecure_seed)

    # The seven primitives. Whoever overrides these (audit does) controls every draw of the house.

    @overload
    def uniform(self, bound: int, size: None = None) -> int: ...
    @overload
    def uniform(self, bound: int, size: int) -> NDArray[Any]: ...
    def uniform(self, bound: int, size: int | None = None) -> int | NDArray[Any]:
        """Draw integers of [0, bound), all equally likely, for a bound of any size.

        A `size` gives an int64 array, or an array of Python ints if the bound is above 2^63.

        >>> Noise(insecure_seed=7).uniform(6, size=5)
        array([1, 5, 1, 1, 0])
        """
        bound = positive_integer(bound, "bound")
        count = _size(size)
        stream = self._source.stream()
        return integer(stream, bound) if count is None else order.uniform_array(stream, bound, count)

    def bernoulli(self, probability: Number) -> bool:
        """Draw True with a rational probability.

        >>> Noise(insecure_seed=7).bernoulli("1/3")
        False
        """
        # What is exact already is let through at once: a device draws one coin a report.
        number = probability if type(probability) is Fraction else exact(probability, "probability")
        if not 0 <= number.numerator <= number.denominator:
            raise ParameterError("probability must lie between 0 and 1; write for example '1/3'.")
        return integer(self._source.stream(), number.denominator) < number.numerator

    def bernoulli_exp(self, exponent: Number) -> bool:
        """Draw True with probability exp(-exponent).

        >>> Noise(insecure_seed=7).bernoulli_exp("1/3")
        True
        """
        number = -at_least_zero(exponent, "exponent")
        return Uniform(self._source.stream()).below(lambda: rational_ball(number).exp())

    @overload
    def draw(self, law: Law, size: None = None) -> int: ...
    @overload
    def draw(self, law: Law, size: int) -> Integers: ...
    def draw(self, law: Law, size: int | None = None) -> int | Integers:
        """Draw from a law: one int, or an int64 array of `size` independent ones.

        The law's parameters must be public: its tables are kept for the next call. A value outside int64
        raises OverflowError instead of being clipped; no law that an array is drawn from does that with a
        probability above 2^-64, and discrete Laplace at the largest scale not above 2^-10^10.

        >>> Noise(insecure_seed=7).draw(DiscreteGaussian(100), 3)
        array([-9, -1, -9])
        """
        if not isinstance(law, Law):
            raise ParameterError(
                f"law must be a law of sfumato.noise, not {type(law).__name__}; write for example DiscreteLaplace(10)."
            )
        count = _size(size)
        tally = SAMPLERS.process if isinstance(self._source, SystemSource) else self._own
        sampler = SAMPLERS.of(law, count or 1, tally)
        stream = self._source.stream()
        if count is None:
            return sampler.one(stream)
        out = np.empty(count, dtype=np.int64)
        if isinstance(sampler, Table):
            sampler.fill(stream, out)
        else:
            if not isinstance(law, Smooth):
                _require_int64(law)
            for slot in range(count):
                out[slot] = sampler.one(stream)
        return out

    def choose(self, scores: choice.Scores, rate: Number, lengths: choice.Lengths | None = None) -> int:
        """Draw an index i with probability proportional to lengths[i] · exp(rate · scores[i]).

        Scores and lengths are integers of any size; without lengths all are 1. Every index with a
        positive length can be drawn.

        >>> Noise(insecure_seed=7).choose([3, 9, 4], rate=1)
        1
        >>> Noise(insecure_seed=7).choose([3, 9, 4], rate=1, lengths=[2**64, 1, 0])
        0
        """
        number = exact(rate, "rate")
        return choice.choose(self._source.stream(), scores, number, lengths)

    def permutation(self, n: int) -> list[int]:
        """Draw an order of 0 … n - 1, all equally likely.

        >>> Noise(insecure_seed=7).permutation(5)
        [1, 4, 0, 2, 3]
        """
        return order.permutation(self._source.stream(), _count(n, "n"))

    def subset(self, population: int, size: int) -> list[int]:
        """Draw `size` distinct integers of [0, population), sorted; all such sets are equally likely.

        >>> Noise(insecure_seed=7).subset(2**64, 2)
        [1660861315075595615, 11848752693683180803]
        """
        population, size = _count(population, "population"), _count(size, "size")
        if size > population:
            raise ParameterError(f"size must not exceed the population, and {size} exceeds {population}.")
        return order.subset(self._source.stream(), population, size)

    # Sugar, written on the primitives only.

    @overload
    def discrete_laplace(self, scale: Number, size: None = None) -> int: ...
    @overload
    def discrete_laplace(self, scale: Number, size: int) -> Integers: ...
    def discrete_laplace(self, scale: Number, size: int | None = None) -> int | Integers:
        """Draw integers with probability proportional to exp(-|j| / scale)."""
        return self.draw(DiscreteLaplace(exact(scale, "scale")), size)

    @overload
    def discrete_gaussian(self, variance: Number, size: None = None) -> int: ...
    @overload
    def discrete_gaussian(self, variance: Number, size: int) -> Integers: ...
    def discrete_gaussian(self, variance: Number, size: int | None = None) -> int | Integers:
        """Draw integers with probability proportional to exp(-j² / (2 variance))."""
        return self.draw(DiscreteGaussian(exact(variance, "variance")), size)

    @overload
    def sinh_normal(self, variance: Number, bend: Number, size: None = None) -> int: ...
    @overload
    def sinh_normal(self, variance: Number, bend: Number, size: int) -> Integers: ...
    def sinh_normal(self, variance: Number, bend: Number, size: int | None = None) -> int | Integers:
        """Draw the nearest integer to bend · arsinh(N / bend), where N is normal with the variance."""
        return self.draw(SinhNormal(exact(variance, "variance"), exact(bend, "bend")), size)

    @overload
    def geometric(self, scale: Number, size: None = None) -> int: ...
    @overload
    def geometric(self, scale: Number, size: int) -> Integers: ...
    def geometric(self, scale: Number, size: int | None = None) -> int | Integers:
        """Draw integers j >= 0 with probability proportional to exp(-j / scale)."""
        return self.draw(Geometric(exact(scale, "scale")), size)

    def largest(self, law: Law, count: int, top: int) -> list[tuple[int, int]]:
        """Draw the `top` largest of `count` independent draws, as (value, multiplicity) pairs, falling.

        Pairs end with the first one at which the multiplicities reach `top`; that one counts all draws
        tied there, so the sum may exceed `top`. Time grows with the number of pairs, not with `count`.

        >>> Noise(insecure_seed=7).largest(DiscreteLaplace(2), count=2**100, top=3)
        [(137, 1), (136, 1), (135, 4)]
        """
        left, wanted = positive_integer(count, "count"), positive_integer(top, "top")
        wanted = min(left, wanted)
        pairs: list[tuple[int, int]] = []
        rest = law
        while wanted > 0:
            value = self.draw(Maximum(rest, left))
            # Given the maximum, the others are independent draws of at most that value.
            ties = self.draw(Binomial(left, Top(law, value), least=1))
            pairs.append((value, ties))
            left, wanted, rest = left - ties, wanted - ties, Between(law, most=value - 1)
        return pairs


def _require_int64(law: Law) -> None:
    window = law.window(NEGLIGIBLE)
    if window.start < -(2**63) or window.stop > 2**63:
        raise ParameterError("This law may leave int64; leave out size and draw its values one by one.")


def _size(size: int | None) -> int | None:
    return None if size is None else _count(size, "size")


def _count(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ParameterError(f"{name} must be a whole number, not {type(value).__name__}; write for example 10.")
    if value < 0:
        raise ParameterError(f"{name} must be zero or more, and {value} is not.")
    return int(value)
