"""The mechanism that adds independent noise to exact integers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one, positive_integer, rational_ball
from sfumato.exact.enclosure import precision
from sfumato.exact.search import smallest
from sfumato.mechanism import Event, Mechanism
from sfumato.noise import Noise, Priced, require_priced
from sfumato.privacy import REPLACE_ONE, Everything, Loss, PerAttribute, attributes
from sfumato.privacy.sensitivity import Sensitivity, sensitivity

Integers = NDArray[np.int64] | NDArray[np.object_]
AttributeMoves = tuple[tuple[str, Sensitivity], ...]

LOWEST, HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(frozen=True, kw_only=True)
class AdditiveNoise(Mechanism):
    """The exact integers plus independent noise of a public law: unbiased, with a known error.

    Promise, for neighbours under `relation` whose exact vectors differ as `sensitivity` says: discrete Laplace noise is
    (l1/scale)-private; rounded Gaussian noise is exactly as private as Gaussians at distance l2/deviation; discrete
    Gaussian noise has D_a <= a·l2²/(2·variance) at every order a; rounded sinh-normal noise has
    D_a <= copies·tau(a; variance, bend, largest). Where `by_attribute` bounds how far each attribute alone moves the
    vector, the same holds with those bounds, and sets of attributes by the union bound.
    With `reads=()` no attribute moves it, only whole people do, and no attribute is charged.

    Input: an int, or an array of ints of any shape; the shape is public. Output: the same shape, as int, as
    int64, or as Python ints where the input holds Python ints or uint64. A sum outside int64 stays at the end of
    the range, after the noise. A cell of an object array that is no int counts as 0.

    Spec: QR-LAP, AC-GAUSS, PDP:C-13, PDP:C-14, TCDP-SINH, TCDP-SAMPLER. Time: one draw a number, 10 to 50 ns each in
    bulk.

    >>> from sfumato.noise import DiscreteLaplace
    >>> count = AdditiveNoise(law=DiscreteLaplace(2), sensitivity=1)
    >>> count(1234, Noise(insecure_seed=3)), count.loss().person.epsilon, count.error(0.95)
    (1237, Fraction(1, 2), 6)
    """

    spec: ClassVar[str] = "QR-LAP"
    weighed: ClassVar[bool] = True

    law: Priced
    sensitivity: Sensitivity
    by_attribute: AttributeMoves = ()
    grid: int = 1
    """How many units of a reading one integer is worth: what is read is rounded to this grid before it gets noise."""

    def __post_init__(self) -> None:
        require_priced(self.law)
        object.__setattr__(self, "sensitivity", as_sensitivity(self.sensitivity))
        object.__setattr__(self, "reads", attributes(self.reads))
        object.__setattr__(self, "by_attribute", _by_attribute(self.by_attribute))
        if self.by_attribute:
            self._check_attributes()

    def run(self, exact: Any, noise: Noise) -> Any:
        """Add one independent draw to each number."""
        if isinstance(exact, np.ndarray):
            return self._add(exact, noise)
        if isinstance(exact, (int, np.integer)) and not isinstance(exact, bool):
            return int(exact) + noise.draw(self.law)
        raise ParameterError(
            f"Exact values are integers or arrays of integers, not {type(exact).__name__}; hold real numbers in fixed "
            "point: multiply by the number of steps in one unit, round each record by floor(x + 1/2), and sum the ints."
        )

    def loss(self) -> Loss:
        """Return the promise: the person's cost, and the attributes' where they are known."""
        return self._loss

    @cached_property
    def _loss(self) -> Loss:
        person = self.law.cost(self.sensitivity)
        if not self.reads:
            # No attribute moves the numbers: only a person who comes, goes or has another number of rows does.
            return Loss.stated(person, {}, self.relation)
        if not self.by_attribute:
            return Loss.flat(person, self.reads, self.relation)
        moved = self._attribute_moves()
        prices = {self.sensitivity: person}  # attributes that move alike cost alike, and most move as the person does
        for moves in moved.values():
            if moves not in prices:
                prices[moves] = self.law.cost(moves)
        singles = {name: prices[moves] for name, moves in moved.items()}
        if self.relation is not REPLACE_ONE:
            return Loss.stated(person, singles, self.relation)
        return Loss(PerAttribute(tuple(singles.items()), person), self.relation)

    def on_grid(self, grid: int) -> AdditiveNoise:
        """Return the same noise for readings that are rounded to a grid first; its price is the same."""
        if grid == self.grid:
            return self
        made = replace(self, grid=grid)
        made.__dict__["_loss"] = self._loss
        return made

    def made_for(self) -> Iterator[tuple[Sensitivity, int]]:
        """Yield how far its numbers may move, and how many units each one is worth."""
        yield self.sensitivity, self.grid

    def event(self) -> Event:
        """Return the law with its parameters, the sensitivities, and who may learn what."""
        parameters = {
            "law": self.law.described(),
            "sensitivity": self.sensitivity,
            "by_attribute": dict(self.by_attribute),
            "relation": self.relation,
            "reads": self.reads,
        }
        return Event(type(self).__name__, self.law.spec, parameters, self.version)

    def quantile(self, probability: Number) -> int:
        """Return the smallest integer that the noise exceeds with probability at most 1 - `probability`.

        >>> from sfumato.noise import DiscreteGaussian, DiscreteLaplace
        >>> AdditiveNoise(law=DiscreteLaplace(2), sensitivity=1).quantile(0.975)
        6
        """
        above = 1 - between_zero_and_one(probability, "probability")
        with precision(128):
            return smallest(lambda j: bool(self.law.tail(j) <= rational_ball(above)))

    def error(self, confidence: Number = 0.95, coordinates: int = 1) -> int:
        """Return the half-width within which `coordinates` noisy numbers all lie with this confidence.

        It is exact for the law, up to rounding to the next integer; `coordinates` may be of any size. It covers
        the noise of privacy, not the error of sampling people. Time: a logarithmic number of tails of the law.

        >>> from sfumato.noise import DiscreteGaussian, DiscreteLaplace
        >>> AdditiveNoise(law=DiscreteGaussian(100), sensitivity=1).error(0.95, coordinates=2**20)
        55
        """
        wanted = between_zero_and_one(confidence, "confidence")
        count = positive_integer(coordinates, "coordinates")
        with precision(128 + 2 * count.bit_length()):
            level = rational_ball(wanted).log()

            def holds(half: int) -> bool:
                return half >= 0 and bool(count * (-2 * self.law.tail(half)).log1p() >= level)

            return smallest(holds)

    def _attribute_moves(self) -> dict[str, Sensitivity]:
        """Return the bounds of every attribute read; one that has none of its own moves as a replaced person does.

        Where people are added and removed that is one who leaves and one who enters, and an attribute that has bounds
        of its own may move the numbers further than a person who comes or goes.
        """
        assert not isinstance(self.reads, Everything)
        known = dict(self.by_attribute)
        replaced = self.sensitivity if self.relation is REPLACE_ONE else self.sensitivity.times(2)
        return {name: known.get(name, replaced).narrow(replaced) for name in sorted(self.reads)}

    def _check_attributes(self) -> None:
        named = frozenset(name for name, _ in self.by_attribute)
        if isinstance(self.reads, Everything):
            object.__setattr__(self, "reads", named)
        elif not named <= self.reads:
            raise ParameterError(
                f"by_attribute= names {', '.join(sorted(named - self.reads))}, which reads= does not; add it to reads=."
            )

    def _add(self, exact: NDArray[Any], noise: Noise) -> Integers:
        kind, wide = exact.dtype.kind, exact.dtype == np.uint64
        if kind not in "iuO":
            raise ParameterError(
                f"Exact values are integers, and an array of {exact.dtype} is none; hold real numbers in fixed point: "
                "multiply by the number of steps in one unit, round each record by floor(x + 1/2), and sum the ints."
            )
        drawn = noise.draw(self.law, exact.size)
        if kind == "O" or wide:
            total = [_whole(value) + draw for value, draw in zip(exact.ravel().tolist(), drawn.tolist(), strict=True)]
            summed = np.empty(exact.size, dtype=np.object_)
            summed[:] = total
            return summed.reshape(exact.shape)
        return saturating_sum(exact.ravel().astype(np.int64), drawn).reshape(exact.shape)


def saturating_sum(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add int64 arrays; a sum outside the range stays at its end, as clamping the exact sum would leave it.

    >>> saturating_sum(np.array([HIGHEST, 5, LOWEST]), np.array([1, -7, -1])).tolist() == [HIGHEST, -2, LOWEST]
    True
    """
    total = first + second
    outside = ((first ^ total) & (second ^ total)) < 0
    return np.where(outside, np.where(first < 0, LOWEST, HIGHEST), total)


def as_sensitivity(value: Sensitivity | Number) -> Sensitivity:
    """Return the bounds themselves, or those of one number that moves this far."""
    return value if isinstance(value, Sensitivity) else sensitivity(value)


def _whole(value: Any) -> int:
    return int(value) if isinstance(value, (int, np.integer)) else 0


def _by_attribute(given: Mapping[str, Sensitivity | Number] | AttributeMoves) -> AttributeMoves:
    pairs = given.items() if isinstance(given, Mapping) else given
    return tuple(sorted((name, as_sensitivity(moves)) for name, moves in pairs))
