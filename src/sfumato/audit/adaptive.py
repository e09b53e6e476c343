"""The best that adaptive analysts can do against a budget rule, by dynamic programming (docs/theory/ledger.md).

A budget rule says which releases are accepted after which. Here it is a predicate on counts: how many releases
of each kind of a public menu have been answered. The analysts choose every next release after seeing all
answers, and stop when they like. What they have seen is summed up by the counts and by the privacy loss so
far, L = log(P/Q). With the value divided by e^L (expectations under the first world, so that every number
lies between 0 and 1) the programme is

    W(counts, L) = max( (1 - e^(epsilon - L))_+ ,  max over accepted releases of E_P W(counts + 1, L + loss) ),

a release that leaks d, and is otherwise silent, being worth d + (1 - d) W. W(0, 0) is the largest delta at
epsilon over all strategies: E_Q (P/Q - e^epsilon)_+ .
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import Number, above_zero, at_least_zero, between_zero_and_one, exact

Array = NDArray[np.float64]
Counts = tuple[int, ...]
Fits = Callable[[Counts], bool]
"""Tells whether the releases answered so far, so many of each kind, are within the budget."""

MOST_STATES = 2_000_000
_WIDEST = 1 << 14


@dataclass(frozen=True)
class ReleaseKind:
    """One kind of release: its privacy losses with their probabilities in the first world, and its leak."""

    losses: Mapping[Fraction, float] = field(default_factory=lambda: {Fraction(0): 1.0})
    leak: float = 0.0

    def __post_init__(self) -> None:
        total = math.fsum(self.losses.values())
        if not math.isclose(total, 1, abs_tol=1e-12) or min(self.losses.values()) < 0:
            raise ParameterError("The probabilities of the losses of a release must be at least 0 and add up to 1.")

    @classmethod
    def randomized_response(cls, epsilon: Number) -> ReleaseKind:
        """Return randomized response, the worst of all epsilon-private releases."""
        loss = above_zero(epsilon, "epsilon")
        truth = 1 / (1 + math.exp(-float(loss)))
        return cls({loss: truth, -loss: 1 - truth})

    @classmethod
    def lattice_gaussian(cls, variance: Number, step: Number, cut: Number) -> ReleaseKind:
        """Return a release whose loss is a Gaussian of this variance around half of it, on a lattice, cut off."""
        spread, width = float(above_zero(variance, "variance")), above_zero(step, "step")
        most = exact(cut, "cut") // width
        losses = [j * width for j in range(-most, most + 1)]
        weights = [math.exp(-(float(loss) ** 2) / (2 * spread) + float(loss) / 2) for loss in losses]
        total = math.fsum(weights)
        return cls({loss: weight / total for loss, weight in zip(losses, weights, strict=True)})

    @classmethod
    def leaking(cls, delta: Number) -> ReleaseKind:
        """Return a release that says which world it is with probability delta, and nothing otherwise."""
        return cls(leak=float(between_zero_and_one(delta, "delta")))


def worst_adaptive(fits: Fits, menu: Sequence[ReleaseKind], epsilon: Number, states: int = MOST_STATES) -> float:
    """Return the largest delta at `epsilon` that any adaptive choice from `menu` within `fits` reaches.

    `fits(counts)` must accept every smaller vector of counts too. The value is exact on the lattice that the
    losses span, up to floating point; where the lattice is cut it only becomes smaller.

    >>> three = worst_adaptive(lambda counts: counts[0] <= 3, [ReleaseKind.randomized_response(0.5)], epsilon=1)
    >>> round(three, 4)
    0.0949
    """
    threshold = float(at_least_zero(epsilon, "epsilon"))
    if not menu:
        raise ParameterError("The menu is empty; list one release or more, such as ReleaseKind.randomized_response(1).")
    region = _region(fits, len(menu), states)
    lattice = _Lattice(menu, region)
    stop = np.maximum(0.0, -np.expm1(threshold - lattice.losses))
    values: dict[Counts, Array] = {}
    for counts in sorted(region, reverse=True):
        best = stop
        for kind, release in enumerate(menu):
            following = values.get(_more(counts, kind))
            if following is not None:
                best = np.maximum(best, lattice.expect(release, following))
        values[counts] = best
        if not any(counts[1:]):
            _forget(values, counts[0] + 1)
    return float(values[(0,) * len(menu)][lattice.zero])


def _more(counts: Counts, kind: int) -> Counts:
    return (*counts[:kind], counts[kind] + 1, *counts[kind + 1 :])


def _forget(values: dict[Counts, Array], first: int) -> None:
    """Drop what no smaller vector of counts can lead to any more."""
    for counts in [counts for counts in values if counts[0] >= first]:
        del values[counts]


def _region(fits: Fits, kinds: int, most: int) -> set[Counts]:
    """Return every vector of counts that can be reached by accepted releases."""
    start = (0,) * kinds
    found, open_ = {start}, [start]
    while open_:
        counts = open_.pop()
        for kind in range(kinds):
            following = _more(counts, kind)
            if following not in found and fits(following):
                found.add(following)
                open_.append(following)
        if len(found) > most:
            raise ParameterError(
                f"The rule accepts more than {most} different vectors of counts; shorten the menu, raise its "
                "costs, or raise states=."
            )
    return found


class _Lattice:
    """The multiples of the largest step that all losses share, as far as the region can reach."""

    def __init__(self, menu: Sequence[ReleaseKind], region: set[Counts]) -> None:
        every = [loss for release in menu for loss in release.losses if loss]
        self.step = _common_step(every) if every else Fraction(1)
        steepest = [max(abs(loss) for loss in release.losses) / self.step for release in menu]
        reach = max(sum(int(step) * count for step, count in zip(steepest, counts, strict=True)) for counts in region)
        self.zero = min(reach, _WIDEST)
        self.losses = float(self.step) * np.arange(-self.zero, self.zero + 1)

    def expect(self, release: ReleaseKind, following: Array) -> Array:
        """Return E_P of the following values after this release, from every loss so far."""
        total = np.zeros_like(following)
        for loss, probability in release.losses.items():
            total += probability * _shifted(following, int(loss / self.step))
        return release.leak + (1 - release.leak) * total


def _common_step(losses: Sequence[Fraction]) -> Fraction:
    denominator = math.lcm(*(loss.denominator for loss in losses))
    return Fraction(math.gcd(*(int(loss * denominator) for loss in losses)), denominator)


def _shifted(values: Array, steps: int) -> Array:
    """Return values[i + steps]; beyond the upper end the last value and below the lower end 0, both too low.

    Values grow with the loss, so neither can be more than the truth.
    """
    if steps == 0:
        return values
    moved = np.empty_like(values)
    if steps > 0:
        moved[:-steps] = values[steps:]
        moved[-steps:] = values[-1]
    else:
        moved[-steps:] = values[:steps]
        moved[:-steps] = 0.0
    return moved
