"""The exact law of the code that ships."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from sfumato.audit.branching import MOST_BRANCHES, ONE, BranchingNoise, BranchTable, PathEnds
from sfumato.audit.outcomes import freeze
from sfumato.errors import CertificationError, ParameterError
from sfumato.exact import Number, above_zero, at_least_zero, positive_integer
from sfumato.exact.rational import show
from sfumato.noise import Noise

MOST_PATHS = 2_000_000
"""A law with more paths than this is refused, unless `paths=` says otherwise."""

_REPEATED_AT_FIRST = 8
_REPEATED_LATER = 64

Run = Callable[[Any, Noise], Any]
"""Anything that turns exact numbers and noise into a value; every mechanism is one."""


class FiniteLaw(Mapping[Hashable, Fraction]):
    """The law of a value: for every outcome a mass that is proved from below, and the remainder.

    The remainder is exactly what the listed masses leave to 1. It may sit anywhere, on listed outcomes too,
    so the true mass of an outcome lies in `interval(outcome)`.

    `complete` says that every outcome is listed; the remainder is then rounding, at most 1e-300.

    >>> law = FiniteLaw.of({"yes": Fraction(3, 4), "no": Fraction(1, 4)})
    >>> law["yes"], law.remainder, law.complete
    (Fraction(3, 4), Fraction(0, 1), True)
    """

    def __init__(self, masses: Mapping[Hashable, int], complete: bool, paths: int = 0) -> None:
        self.units = dict(masses)
        """Lower bounds of the masses in units of 2^-1152."""
        self.complete = complete
        self.paths = paths
        """How many runs of the mechanism it took."""
        self.left_out = ONE - sum(self.units.values())
        """The remainder in the same units."""
        if self.left_out < 0 or any(mass < 0 for mass in self.units.values()):
            raise CertificationError("The masses of a law must be zero or more and add up to at most 1.")

    @classmethod
    def of(cls, masses: Mapping[Any, Number]) -> FiniteLaw:
        """Return the law with these masses; what they leave to 1 is its remainder.

        Masses that add up to 1 exactly make the law complete.
        """
        given = {freeze(outcome): at_least_zero(mass, "A mass") for outcome, mass in masses.items()}
        if not given or sum(given.values()) > 1:
            raise ParameterError("The masses of a law add up to at most 1 and at least one is listed.")
        floors = {outcome: int(mass * ONE) for outcome, mass in given.items() if mass > 0}
        return cls(floors, complete=sum(given.values()) == 1 and all(floors.values()))

    def __getitem__(self, outcome: Any) -> Fraction:
        return Fraction(self.units[freeze(outcome)], ONE)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.units)

    def __len__(self) -> int:
        return len(self.units)

    def __repr__(self) -> str:
        return f"FiniteLaw({len(self)} outcomes, remainder {float(self.remainder):.3g})"

    @property
    def remainder(self) -> Fraction:
        """The mass that is not attributed to any outcome."""
        return Fraction(self.left_out, ONE)

    def interval(self, outcome: Any) -> tuple[Fraction, Fraction]:
        """Return proved bounds on the mass of one outcome."""
        units = self.units.get(freeze(outcome), 0)
        return Fraction(units, ONE), Fraction(units + self.left_out, ONE)


def law(
    mechanism: Run,
    exact: Any,
    tail: Number = 1e-9,
    *,
    paths: int = MOST_PATHS,
    lightest: Number = 0,
    branches: int = MOST_BRANCHES,
) -> FiniteLaw:
    """Return the exact law of what `mechanism(exact, noise)` returns, by running it along every path of draws.

    A draw from an infinite law follows the outcomes of `law.window(tail)`; what lies outside is left in the
    remainder, as are paths of a mass of at most `lightest`. Time: one run of the mechanism a path.

    >>> def randomized_response(bit, noise):
    ...     return bit if noise.bernoulli("3/4") else 1 - bit
    >>> law(randomized_response, 1)[1]
    Fraction(3, 4)
    """
    return enumerate_paths(mechanism, exact, table(tail, branches), paths, lightest)


def table(tail: Number, branches: int = MOST_BRANCHES) -> BranchTable:
    """Return an empty table of draws; laws that share one compute the masses of each draw once."""
    mass = above_zero(tail, "tail")
    if mass >= 1:
        raise ParameterError(f"tail must lie below 1, and {show(mass)} does not; write for example 1e-9.")
    return BranchTable(mass, positive_integer(branches, "branches"))


def enumerate_paths(run: Run, data: Any, draws: BranchTable, paths: int, lightest: Number = 0) -> FiniteLaw:
    """Return the law of `run(data, noise)`, taking the masses of draws from `draws`."""
    limit = positive_integer(paths, "paths")
    threshold = int(at_least_zero(lightest, "lightest") * ONE)
    noise = BranchingNoise(draws, threshold)
    _takes_noise(run)
    masses: dict[Hashable, int] = {}
    for count in range(limit):
        try:
            outcome = freeze(run(data, noise))
        except PathEnds:
            pass
        else:
            noise.finish()
            if count < _REPEATED_AT_FIRST or count % _REPEATED_LATER == 0:
                _repeat(run, data, noise, outcome)
            masses[outcome] = masses.get(outcome, 0) + noise.mass
        if not noise.advance():
            return FiniteLaw(masses, noise.complete, paths=count + 1)
    raise ParameterError(
        f"The mechanism has more than {limit} paths of draws, the widest draw being {noise.widest()}; "
        "audit a smaller instance, widen tail=, give a lightest= path, or raise paths=."
    )


def _takes_noise(run: Run) -> None:
    """Refuse what cannot be called with an input and a noise, before a bare TypeError does."""
    try:
        inspect.signature(run).bind(None, None)
    except ValueError:  # written in C: it does not say what it takes
        return
    except TypeError:
        raise ParameterError(
            "A mechanism is a function of two arguments, the exact input and the noise that it draws from; write "
            "def mechanism(exact, noise): return …"
        ) from None


def _repeat(run: Run, data: Any, noise: BranchingNoise, outcome: Hashable) -> None:
    """Run along the same script again: a mechanism that draws elsewhere shows another value sooner or later."""
    noise.restart()
    again = freeze(run(data, noise))
    noise.finish()
    if again != outcome:
        raise CertificationError(
            "Run again with the same input and the same draws, the mechanism returned another value; "
            "it must be a function of its input and of its noise alone."
        )
