"""Any set function of private data, with a sensitivity that its owner declares."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import above_zero, exact, positive_integer
from sfumato.noise import Noise
from sfumato.papers.query_release.learning.trees.grow import largest_set, least_set, neighbouring_sets
from sfumato.papers.query_release.learning.trees.tree import Leaf, SetTree, chances_of
from sfumato.privacy import Relation

PrivateFunction = Callable[[Any, NDArray[np.bool_]], Any]
"""Takes the private data and sets, one a row of booleans; returns one number for each set."""

SAMPLED = 2000
"""The mean over a leaf is the mean over so many of its sets, drawn publicly."""
BITS = 53

DUST = Fraction(1, 1024)
"""What floats may add to a difference of two values, in parts: values stay far below 2^40 parts."""


@dataclass(frozen=True)
class Declared:
    """A set function f(data, sets) from `low` to `high`; one person moves no value by more than `sensitivity`.

    The declaration is the promise: nothing here can check it. It must hold for the function as it is used: a value
    outside the range is clipped, and where the function raises, or returns something that is no number, the value is
    `low`; neither is ever shown. `marginal_sensitivity` bounds how far a person moves f(S + x) - f(S), at most twice
    the sensitivity. A function that may also fall when elements are added has `monotone=False`.

    Numbers are kept in `steps` parts of one. The mean over a leaf has the sensitivity of a single value, however many
    sets it is taken over, because the sets are drawn without a look at the data. Spec: RL-TREE-RELEASE.
    """

    function: PrivateFunction = field(repr=False)
    size: int
    sensitivity: Fraction
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    marginal_sensitivity: Fraction | None = None
    monotone_function: bool = True
    chances: Any = Fraction(1, 2)
    steps: int = 1 << 12
    samples: int = SAMPLED
    seed: int = 0

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ParameterError("function takes the data and sets, and returns numbers; write a Python function.")
        positive_integer(self.size, "size")
        positive_integer(self.steps, "steps")
        positive_integer(self.samples, "samples")
        object.__setattr__(self, "sensitivity", above_zero(self.sensitivity, "sensitivity"))
        if self.marginal_sensitivity is not None:
            given = above_zero(self.marginal_sensitivity, "marginal_sensitivity")
            object.__setattr__(self, "marginal_sensitivity", given)
        object.__setattr__(self, "low", exact(self.low, "low"))
        object.__setattr__(self, "high", exact(self.high, "high"))
        if self.low >= self.high:
            raise ParameterError("low must be below high; write for example low=0, high=1.")
        object.__setattr__(self, "chances", chances_of(self.chances, self.size))

    @property
    def value_step(self) -> int:
        """How many parts make one."""
        return self.steps

    @property
    def value_move(self) -> int:
        """How far a person moves a value, in parts: rounding adds one at most, and floats much less than DUST."""
        return math.floor(self.sensitivity * self.steps + DUST) + 1

    @property
    def marginal_move(self) -> int:
        """How far a person moves a marginal, in parts; each of the four roundings adds half a part at most."""
        twice = 2 * self.value_move
        if self.marginal_sensitivity is None:
            return twice
        return min(twice, math.floor(self.marginal_sensitivity * self.steps + DUST) + 2)

    @property
    def marginal_step(self) -> int:
        """How many parts make one, in marginals too."""
        return self.steps

    @property
    def second_stage(self) -> bool:
        """Whether elements may lower the function."""
        return not self.monotone_function

    def monotone(self, relation: Relation) -> bool:
        """Nothing is known about the direction in which a person moves marginals."""
        return False

    def reach(self, tree: SetTree) -> NDArray[np.float64]:
        """Return how likely a random set is to fall into each leaf."""
        return tree.reach([float(chance) for chance in self.chances])

    def bind(self, data: Any) -> BoundDeclared:
        """Return the answers about some data."""
        return BoundDeclared(self, data)

    def sampled(self, leaf: Leaf, free: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return public random sets of a leaf, always the same ones."""
        sets = np.repeat(least_set(leaf, self.size)[None, :], self.samples, axis=0)
        if len(free):
            drawn = Noise(insecure_seed=self.seed).uniform(1 << BITS, self.samples * len(free))
            limits = np.array([int(self.chances[element] * (1 << BITS)) for element in free.tolist()], dtype=np.int64)
            sets[:, free] = drawn.reshape(self.samples, len(free)) < limits
        return sets

    def to_json(self) -> dict[str, Any]:
        """Return the public facts; of the function its name."""
        return {
            "function": getattr(self.function, "__qualname__", type(self.function).__name__),
            "size": self.size,
            "sensitivity": str(self.sensitivity),
            "marginal_sensitivity": None if self.marginal_sensitivity is None else str(self.marginal_sensitivity),
            "low": str(self.low),
            "high": str(self.high),
            "monotone": self.monotone_function,
            "chances": [str(chance) for chance in self.chances],
            "steps": self.steps,
            "samples": self.samples,
            "seed": self.seed,
        }


@dataclass(frozen=True, eq=False)
class BoundDeclared:
    """The repaired values of a set function on private data, as whole parts."""

    about: Declared
    data: Any

    @property
    def total(self) -> int:
        """Nothing is divided by the number of rows."""
        return 1

    def values(self, sets: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the values of sets in parts, from `low` on; what fails is worth nothing."""
        about = self.about
        span = math.floor((about.high - about.low) * about.steps + Fraction(1, 2))
        # The function is the owner's and sees private data: whatever it raises, or warns of, must not be seen.
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                found = np.asarray(about.function(self.data, sets), dtype=np.float64).reshape(len(sets))
        except Exception:
            return np.zeros(len(sets), dtype=np.int64)
        parts = np.floor((found - float(about.low)) * about.steps + 0.5)
        whole = np.clip(np.nan_to_num(parts, nan=0.0, posinf=span, neginf=0.0), 0, span)
        return np.asarray(whole, dtype=np.int64)

    def rises(self, leaf: Leaf) -> NDArray[np.int64]:
        """Return what adding each element to the least set of a leaf adds."""
        values = self.values(neighbouring_sets(least_set(leaf, self.about.size), added=True))
        return np.asarray(values[:-1] - values[-1])

    def falls(self, leaf: Leaf) -> NDArray[np.int64]:
        """Return what removing each element from the largest set of a leaf adds."""
        values = self.values(neighbouring_sets(largest_set(leaf, self.about.size), added=False))
        return np.asarray(values[:-1] - values[-1])

    def mean(self, leaf: Leaf, free: NDArray[np.int64]) -> int:
        """Return the mean over the public sets of a leaf, in parts."""
        sets = self.about.sampled(leaf, free)
        return (2 * int(self.values(sets).sum()) + len(sets)) // (2 * len(sets))
