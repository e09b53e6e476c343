"""Noise that takes every way: the mechanism is run again along each path of draws.

A path is a script of choices, one for each elementary draw. A run first repeats the script, which must ask
for the same draws as before (otherwise the mechanism is no function of its input and of its draws), and then
extends it by the first outcome of every further draw. After the run the last choice that has another outcome
is changed, depth first.

Masses are integers in units of 2^-1152 and never above the truth: a product of lower bounds, rounded down,
is a lower bound. Whatever they leave out belongs to the remainder of the law, which is the exact complement,
so no error is counted twice and masses down to 1e-300 keep more than 100 correct bits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.errors import CertificationError, ParameterError
from sfumato.exact import Number, at_least_zero, exact, positive_integer, rational_ball
from sfumato.exact.enclosure import Ball, precision
from sfumato.noise import Law, Noise

SCALE = 1152
"""Masses are counted in units of 2^-SCALE."""
ONE = 1 << SCALE
MOST_BRANCHES = 100_000
"""A single draw with more outcomes than this is refused."""

_GUARD_BITS = 64
_PATIENCE = 1 << (SCALE - 100)
"""How far the masses of a law may miss their promised total: enclosures are at least this sharp."""

Question = tuple[Any, ...]
"""The name of a primitive and its public arguments."""


class PathEnds(BaseException):
    """A path became too light to follow; not an `Exception`, so that no mechanism catches it."""


@dataclass(frozen=True, slots=True)
class Branches:
    """The outcomes of one draw with lower bounds of their masses; `complete` if no outcome is missing."""

    values: Sequence[Any]
    masses: Sequence[int]
    complete: bool = True


def units(ball: Ball) -> int:
    """Return the largest number of units proved to be at most the value of the ball."""
    mantissa, exponent = ball.lower().man_exp()
    shift = int(exponent) + SCALE
    whole = int(mantissa)
    return max(0, whole << shift if shift >= 0 else whole >> -shift)


class BranchTable:
    """The branches of every draw met so far; shared by laws that are compared, to compute each draw once."""

    def __init__(self, tail: Fraction, most: int = MOST_BRANCHES) -> None:
        self.tail = tail
        self.most = most
        self._known: dict[Question, Branches] = {}
        self._makers: dict[str, Callable[..., Branches]] = {
            "uniform": self._uniform,
            "bernoulli": self._bernoulli,
            "bernoulli_exp": self._bernoulli_exp,
            "draw": self._draw,
            "choose": self._choose,
            "permutation": self._permutation,
            "subset": self._subset,
        }

    def of(self, question: Question) -> Branches:
        """Return the outcomes of one draw."""
        found = self._known.get(question)
        if found is None:
            found = self._known[question] = self._makers[question[0]](*question[1:])
        return found

    def _equal(self, values: Iterable[Any], count: int, question: str) -> Branches:
        self._refuse_wide(count, question)
        return Branches(list(values), [ONE // count] * count)

    def _uniform(self, bound: int) -> Branches:
        return self._equal(range(bound), bound, f"uniform({bound})")

    def _permutation(self, count: int) -> Branches:
        orders = itertools.permutations(range(count))
        return self._equal(orders, math.factorial(count), f"permutation({count})")

    def _subset(self, population: int, size: int) -> Branches:
        if not 0 <= size <= population:
            raise ParameterError(f"size must not exceed the population, and {size} exceeds {population}.")
        count, question = math.comb(population, size), f"subset({population}, {size})"
        self._refuse_wide(count, question)  # before a population of any size is listed
        return self._equal(itertools.combinations(range(population), size), count, question)

    def _bernoulli(self, probability: Fraction) -> Branches:
        if not 0 <= probability <= 1:
            raise ParameterError("probability must lie between 0 and 1; write for example '1/3'.")
        yes = (probability.numerator << SCALE) // probability.denominator
        no = 1 - probability
        masses = [yes, (no.numerator << SCALE) // no.denominator]
        return _heavy([True, False], masses, complete=all(masses) or probability in (0, 1))

    def _bernoulli_exp(self, exponent: Fraction) -> Branches:
        at_least_zero(exponent, "exponent")
        with precision(SCALE + _GUARD_BITS):
            power = -rational_ball(exponent)
            masses = [units(power.exp()), units(-power.expm1())]
        return _heavy([True, False], masses, complete=all(masses) or exponent == 0)

    def _draw(self, law: Law) -> Branches:
        with precision(SCALE + _GUARD_BITS):
            window = law.window(self.tail)
            self._refuse_wide(len(window), f"draw({law!r})")
            masses = [units(law.mass(value)) for value in window]
        left_out = ONE - sum(masses)
        if not -_PATIENCE <= left_out <= ONE * self.tail + _PATIENCE:
            raise CertificationError(
                f"The masses of {law!r} over its own window add up to {float(Fraction(ONE - left_out, ONE))!r}, "
                f"which is not within the tail of {float(self.tail)!r} below 1; its mass() or window() is wrong."
            )
        return _heavy(window, masses, complete=False)

    def _choose(self, scores: Sequence[Any], rate: Fraction, lengths: Sequence[int] | None) -> Branches:
        self._refuse_wide(len(scores), f"choose() among {len(scores)} scores")
        open_ = [score for place, score in enumerate(scores) if lengths is None or lengths[place] > 0]
        if not open_:
            raise ParameterError("There is nothing to choose from; write at least one score with a positive length.")
        top = max(open_)
        with precision(SCALE + _GUARD_BITS):
            powers = {score: rational_ball(Fraction(rate * (score - top))).exp() for score in set(scores)}
            weights = [powers[score] * (1 if lengths is None else lengths[i]) for i, score in enumerate(scores)]
            total = sum(weights[1:], weights[0])
            masses = [units(weight / total) for weight in weights]
        lost = [mass == 0 and (lengths is None or lengths[i] > 0) for i, mass in enumerate(masses)]
        return _heavy(range(len(scores)), masses, complete=not any(lost))

    def _refuse_wide(self, count: int, question: str) -> None:
        if count > self.most:
            raise ParameterError(
                f"The draw {question} has {count} outcomes, more than the {self.most} that audit.law follows; "
                "audit a smaller instance, or use audit.attack, which needs samples only."
            )


def _heavy(values: Sequence[Any], masses: Sequence[int], complete: bool) -> Branches:
    """Keep what has mass; a mass below one unit goes to the remainder of the law."""
    kept = [place for place, mass in enumerate(masses) if mass > 0]
    return Branches([values[place] for place in kept], [masses[place] for place in kept], complete)


class BranchingNoise(Noise):
    """A `Noise` whose draws follow a script; it overrides the seven primitives and owns no key at all.

    Without a key, a draw that went around the primitives would fail instead of being missed.
    """

    def __init__(self, table: BranchTable, lightest: int = 0) -> None:
        self._table = table
        self._lightest = lightest
        self._questions: list[Question] = []
        self._branches: list[Branches] = []
        self._places: list[int] = []
        self._masses: list[int] = [ONE]
        self._depth = 0
        self._widest: tuple[int, Question] = (0, ("none",))
        self.complete = True
        """Whether every outcome of every draw was followed so far."""

    @property
    def mass(self) -> int:
        """The mass of the path that was run last, from below."""
        return self._masses[-1]

    def widest(self) -> str:
        """Say which draw has the most outcomes."""
        return f"{_show(self._widest[1])} with {self._widest[0]} outcomes"

    def restart(self) -> None:
        """Go back to the start of the script, for another run along it."""
        self._depth = 0

    def finish(self) -> None:
        """Check that the run asked for every draw of its script."""
        if self._depth < len(self._questions):
            raise _unsteady(self._questions[self._depth], None)

    def advance(self) -> bool:
        """Move to the next path, or return False after the last one."""
        self._depth = 0
        while self._places:
            if self._settle(len(self._places) - 1, self._places[-1] + 1):
                return True
            self._questions.pop()
            self._branches.pop()
            self._places.pop()
            self._masses.pop()
        return False

    def _settle(self, depth: int, place: int) -> bool:
        """Take the first outcome from `place` on that is heavy enough."""
        masses = self._branches[depth].masses
        before = self._masses[depth]
        for choice in range(place, len(masses)):
            mass = before * masses[choice] >> SCALE
            if mass > self._lightest:
                self._places[depth] = choice
                self._masses[depth + 1] = mass
                return True
            self.complete = False
        return False

    def _next(self, question: Question) -> Any:
        depth = self._depth
        if depth == len(self._questions):
            self._extend(question, depth)
        elif self._questions[depth] != question:
            raise _unsteady(self._questions[depth], question)
        self._depth = depth + 1
        return self._branches[depth].values[self._places[depth]]

    def _extend(self, question: Question, depth: int) -> None:
        branches = self._table.of(question)
        self.complete = self.complete and branches.complete
        self._widest = max(self._widest, (len(branches.values), question), key=lambda pair: pair[0])
        self._questions.append(question)
        self._branches.append(branches)
        self._places.append(0)
        self._masses.append(0)
        if not self._settle(depth, 0):
            self._depth = depth + 1
            raise PathEnds

    def uniform(self, bound: int, size: int | None = None) -> Any:
        """Branch over the integers below `bound`."""
        return self._many(("uniform", positive_integer(bound, "bound")), size)

    def bernoulli(self, probability: Any) -> bool:
        """Branch over True and False."""
        return bool(self._next(("bernoulli", _rational(probability, "probability"))))

    def bernoulli_exp(self, exponent: Any) -> bool:
        """Branch over True, of probability `exp(-exponent)`, and False."""
        return bool(self._next(("bernoulli_exp", _rational(exponent, "exponent"))))

    def draw(self, law: Law, size: int | None = None) -> Any:
        """Branch over the window of `law`."""
        return self._many(("draw", law), size)

    def choose(self, scores: Any, rate: Any, lengths: Any = None) -> int:
        """Branch over the indices of `scores`."""
        plain = tuple(np.asarray(scores).tolist())
        counts = None if lengths is None else tuple(int(length) for length in lengths)
        return int(self._next(("choose", plain, _rational(rate, "rate"), counts)))

    def permutation(self, n: int) -> list[int]:
        """Branch over the orders of `n` things."""
        return list(self._next(("permutation", int(n))))

    def subset(self, population: int, size: int) -> list[int]:
        """Branch over the sets of `size` out of `population`."""
        return list(self._next(("subset", int(population), int(size))))

    def _many(self, question: Question, size: int | None) -> Any:
        if size is None:
            return self._next(question)
        drawn = [self._next(question) for _ in range(size)]
        fits = not drawn or (min(drawn) >= -(2**63) and max(drawn) < 2**63)
        return np.array(drawn, dtype=np.int64 if fits else object)


def _rational(value: Number, name: str) -> Fraction:
    """Return the number exactly; what is exact already, on every path again, is let through at once."""
    return value if type(value) is Fraction else exact(value, name)


def _unsteady(before: Question, now: Question | None) -> CertificationError:
    asked = "asked for no further draw" if now is None else f"asked for {_show(now)}"
    return CertificationError(
        f"Run again with the same input and the same draws, the mechanism {asked} where it had asked for "
        f"{_show(before)}; it must be a function of its input and of its noise alone."
    )


def _show(question: Question) -> str:
    return f"{question[0]}({', '.join(str(part) for part in question[1:])})"
