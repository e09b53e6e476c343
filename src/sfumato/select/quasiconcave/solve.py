"""Which method for a quasi-concave score: decided from public facts only, and said why."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.errors import ParameterError, UnsupportedSpend, warn
from sfumato.exact import Number, above_zero, between_zero_and_one, exact, positive_integer
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.privacy import (
    EVERYTHING,
    REPLACE_ONE,
    Approximate,
    Bound,
    Concentrated,
    Everything,
    Loss,
    Relation,
    Truncated,
)
from sfumato.select.candidates import normalise
from sfumato.select.exponential_choice import exponential
from sfumato.select.fit import positive_spend
from sfumato.select.quasiconcave.interior_point import interior_point
from sfumato.select.quasiconcave.requirement import covering_requirement
from sfumato.select.quasiconcave.shifted_windows import shifted_windows
from sfumato.select.quasiconcave.tree import inside
from sfumato.select.quasiconcave.two_covers import SMALL, two_covers
from sfumato.select.scores import StepFunction
from sfumato.words import one_of

METHODS = ("auto", "exponential", "shifted-windows", "two-covers", "interior-point")


@dataclass(frozen=True)
class Solver:
    """A mechanism that was chosen, and why.

    `shortfall` is how far below the promise the answer may lie, except with the probability `failure`. All of it is
    public: nothing here was decided by data.
    """

    mechanism: Mechanism
    method: str
    shortfall: float
    failure: Fraction
    size: int
    why: str
    of_values: bool = False

    def loss(self) -> Loss:
        """Return the loss of the mechanism."""
        return self.mechanism.loss()

    def prepare(self, exact: Any) -> Any:
        """Return what the mechanism reads: the score, or for values their depth unless it reads them itself."""
        if not self.of_values:
            found = normalise(exact).scores
            if found.size != self.size:
                raise ParameterError(
                    f"This solver was made for {self.size} candidates, and the score is over {found.size}; "
                    "write solve_quasiconcave with the size of the public domain."
                )
            return found
        return list(exact) if self.method == "interior-point" else depth(exact, self.size)

    def __call__(self, exact: Any, noise: Noise | None = None) -> int:
        """Draw an answer, by default with noise that the operating system keys."""
        answer: int = self.mechanism(self.prepare(exact), noise)
        return answer


def depth(values: Sequence[int], size: int) -> StepFunction:
    """Return min(#{x <= z}, #{x >= z}) for every z of [0, size): quasi-concave, above 0 just inside the data.

    Values outside of the domain are moved into it. One changed value moves it by at most one.

    >>> score = depth([3, 3, 8], size=2**64)
    >>> [score(z) for z in (2, 3, 5, 8, 9)]
    [0, 2, 1, 1, 0]
    """
    ordered = inside(values, size - 1)
    edges = sorted({0, *ordered, *(value + 1 for value in ordered if value + 1 < size)})
    count = len(ordered)
    heights = [min(bisect_right(ordered, edge), count - bisect_left(ordered, edge)) for edge in edges]
    return StepFunction(edges, heights, size)


def solve_quasiconcave(
    spend: Bound,
    size: int,
    *,
    promise: Number | None = None,
    people: int | None = None,
    failure: Number = 0.05,
    allowed: Number | None = None,
    method: str = "auto",
    sensitivity: int = 1,
    relation: Relation = REPLACE_ONE,
    reads: Iterable[str] | str | Everything = EVERYTHING,
) -> Solver:
    """Return the method that loses least, by its proved bound, for a score that rises and then falls.

    With `promise` the solver takes a score over `size` candidates of which the best reaches the promise. With `people`
    it takes that many values of [0, size) and looks for one inside of them. `allowed` is the loss that does no harm.
    Private for any score; the prediction needs it to be quasi-concave, except for the exponential mechanism.

    >>> from sfumato import Approximate, Truncated
    >>> solve_quasiconcave(Approximate(1, 1e-6), 2**64, promise=1000).method
    'exponential'
    >>> solve_quasiconcave(Approximate(1, 1e-6), 2**256, promise=1000).method
    'shifted-windows'
    >>> solve_quasiconcave(Truncated("0.1", "2.24"), 2**256, people=400).method
    'interior-point'
    """
    one_of("method", method, METHODS)
    if people is not None and relation is not REPLACE_ONE:
        raise ParameterError("The number of people is public only when people are replaced; write promise= instead.")
    peak = _promise(promise, people)
    facts = _SolverFacts(
        bound=positive_spend(spend, "solve_quasiconcave"),
        size=positive_integer(size, "size"),
        peak=peak,
        people=people,
        failure=between_zero_and_one(failure, "failure"),
        room=_room(allowed, peak, people),
        sensitivity=sensitivity,
        names={"relation": relation, "reads": reads},
    )
    found = _plain(facts) | _windows(facts) | _covers(facts) | _interior(facts)
    chosen = _pick(method, found, facts.bound)
    mechanism, loss = found[chosen]
    if chosen == "shifted-windows" and facts.room is not None:
        loss = max(loss, facts.room)  # the crossing was placed for this room, so that all of it may be used
    why = _reason(chosen, method, found, facts)
    solver = Solver(mechanism, chosen, loss, facts.failure, facts.size, why, people is not None)
    _warn(solver, float(peak) if facts.room is None else facts.room)
    return solver


Found = dict[str, tuple[Mechanism, float]]


@dataclass(frozen=True)
class _SolverFacts:
    """The public facts from which everything is decided."""

    bound: Bound
    size: int
    peak: Fraction
    people: int | None
    failure: Fraction
    room: float | None
    sensitivity: int
    names: dict[str, Any]


def _plain(facts: _SolverFacts) -> Found:
    pick = exponential(facts.bound, facts.sensitivity, **facts.names)
    return {"exponential": (pick, pick.error(1 - facts.failure, facts.size))}


def _leaky(facts: _SolverFacts) -> Approximate | None:
    bound = facts.bound
    return bound if isinstance(bound, Approximate) and 2 * bound.delta < 1 else None


def _windows(facts: _SolverFacts) -> Found:
    bound = _leaky(facts)
    if bound is None:
        return {}
    pick = shifted_windows(
        bound,
        facts.size,
        promise=facts.peak,
        failure=facts.failure,
        allowed=facts.room,
        sensitivity=facts.sensitivity,
        **facts.names,
    )
    return {"shifted-windows": (pick, pick.error(1 - facts.failure, facts.size))}


def _covers(facts: _SolverFacts) -> Found:
    bound = _leaky(facts)
    if bound is None or facts.size <= SMALL + 1 or facts.peak <= 0:
        return {}
    each = float(bound.epsilon) / 4 / facts.sensitivity
    loss = covering_requirement(facts.size, each, bound.delta / 2, float(facts.failure), 2)
    alpha = min(Fraction(1, 2), Fraction(math.ceil(loss)) / facts.peak)
    pick = two_covers(bound, facts.size, promise=facts.peak, alpha=alpha, sensitivity=facts.sensitivity, **facts.names)
    # Beyond half of the promise the recursion proves nothing.
    return {"two-covers": (pick, loss if 2 * loss <= facts.peak else math.inf)}


def _interior(facts: _SolverFacts) -> Found:
    bound = facts.bound
    if facts.people is None or facts.size < 2 or not isinstance(bound, (Concentrated, Truncated)):
        return {}
    pick = interior_point(
        bound, (facts.size - 1).bit_length(), facts.people, failure=facts.failure, reads=facts.names["reads"]
    )
    # Said in units of depth, like the others: half of the people that are needed.
    return {"interior-point": (pick, pick.needed(facts.failure) / 2)}


def _room(allowed: Number | None, peak: Fraction, people: int | None) -> float | None:
    """Return the loss that does no harm: what was said, or for values all depth but one."""
    if allowed is not None:
        return float(above_zero(allowed, "allowed"))
    return None if people is None else float(max(peak - 1, Fraction(1)))


def _promise(promise: Number | None, people: int | None) -> Fraction:
    if (promise is None) == (people is None):
        raise ParameterError("Write promise= for a score, or people= for values, and not both.")
    if people is not None:
        return Fraction(-(-positive_integer(people, "people") // 2))
    assert promise is not None
    return exact(promise, "promise")


def _pick(method: str, found: Found, bound: Bound) -> str:
    if method == "auto":
        return min(found, key=lambda name: found[name][1])
    if method not in found:
        raise UnsupportedSpend(
            f"{method} does not serve {bound!r} here; shifted-windows and two-covers need Approximate(epsilon, delta) "
            "with a delta below one half, interior-point needs Concentrated or Truncated and people=."
        )
    return method


def _reason(chosen: str, method: str, found: Found, facts: _SolverFacts) -> str:
    asked = "was asked for" if method != "auto" else "loses least"
    others = [f"{name} {loss:.0f}" for name, (_, loss) in found.items() if name != chosen]
    beside = f" (beside it: {', '.join(others)})" if others else ""
    return (
        f"{chosen} {asked}: at most {found[chosen][1]:.0f} units of the score over about 2^{math.log2(facts.size):.0f} "
        f"candidates, except with probability {float(facts.failure):g}{beside}. "
        "Decided by the number of candidates, the spend and the failure; no data were read."
    )


def _warn(solver: Solver, room: float) -> None:
    if solver.shortfall > room:
        warn(
            f"The answer may lie {solver.shortfall:.0f} below the promise, and {room:.0f} is what there is; "
            "it is private, but it need not be good. Spend more, or ask more people."
        )
