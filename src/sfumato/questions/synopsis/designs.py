"""How finely sums over sets of columns are counted: integer weights, and the noise that they lead to."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from math import comb

from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.privacy import Bound, Pure
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.questions.synopsis.deviation import WIDEST, predicted
from sfumato.questions.synopsis.fourier import TYPICAL_TAIL
from sfumato.questions.synopsis.fourier_weights import FINEST, fourier_weights, left_out, noise_steps, tail
from sfumato.questions.synopsis.inclusion import Prior, inclusion
from sfumato.questions.synopsis.sums import sets_up_to
from sfumato.questions.synopsis.weighted import Table, person_moves

MOST_SETS = 5 * 10**6
"""More sums than one synopsis holds: 40 megabytes, and as many again while it is read."""

QUICK_SETS = 10**5
"""Up to so many sums are added up within a minute for a hundred thousand rows; more have to be asked for."""

NOMINAL = 10_000.0
"""So many rows are taken where nobody may know their number: choices are made for them, no noise is."""

FINE = 64
"""The width that deserves the least noise is counted in so many steps a row."""


@dataclass(frozen=True)
class SynopsisFacts:
    """What a design depends on, all public: columns, possible zeros in a row, what a person may do, rows if public."""

    size: int
    zeros: tuple[int, int]
    replaced: bool
    rows: int
    people: float | None

    def flagged(self, ones: bool) -> tuple[int, int]:
        """Return the least and the largest number of zeros in a row, or of ones."""
        return (self.size - self.zeros[1], self.size - self.zeros[0]) if ones else self.zeros

    @property
    def counted(self) -> bool:
        """Whether the number of rows is public, so that it needs no noise."""
        return self.replaced and self.rows == 1


@dataclass(frozen=True)
class Design:
    """Integer weights by the zeros of a row, the steps of the count, and what they lead to.

    `units` says what a step of each width is worth in rows; `noise` is about the noise in a share, `bias` about what is
    left out, both in root mean square over queries as they are meant; `worst` bounds the bias for any table.
    """

    table: Table
    units: tuple[float, ...]
    count: int
    moves: Sensitivity
    noise: float
    bias: float
    worst: float
    ones: bool = False

    @property
    def degree(self) -> int:
        """How many columns the largest sets have."""
        return len(self.units) - 1

    @property
    def error(self) -> float:
        """About the root mean squared error of a share."""
        return math.hypot(self.noise, self.bias)


def check_degree(size: int, degree: int, name: str) -> None:
    """Refuse a degree that is none, or that needs more memory than is allowed, and say which one fits."""
    if not isinstance(degree, int) or isinstance(degree, bool) or not 1 <= degree <= size:
        raise ParameterError(f"{name} is a whole number from 1 to {size}, the number of columns, and not {degree!r}.")
    if sets_up_to(size, degree) > MOST_SETS:
        fits = largest_degree(size)
        raise DomainTooLarge(
            f"{name}={degree} needs {sets_up_to(size, degree)} numbers for {size} columns, more than {MOST_SETS}; the "
            f"largest that fits is {name}={fits}.",
            method=f"{name}={fits}",
        )


def largest_degree(size: int, most: int = MOST_SETS) -> int:
    """Return the largest degree with at most so many sums, by default as many as fit into memory.

    >>> largest_degree(200), largest_degree(32), largest_degree(200, QUICK_SETS)
    (3, 7, 2)
    """
    degree = 1
    while degree < size and sets_up_to(size, degree + 1) <= most:
        degree += 1
    return degree


@lru_cache(maxsize=256)
def fourier_design(facts: SynopsisFacts, spend: Bound, degree: int, width: float) -> Design:
    """Return the weights of Fourier coefficients for queries that name `width` columns on average (RL-FOUR)."""
    probability = query_probability(facts.size, width)
    bits = FINEST
    while True:
        found = fourier_weights(
            facts.size, degree, probability, facts.zeros, squared=not isinstance(spend, Pure), bits=bits
        )
        count, moves = _counted(facts, found.table, spend)
        steps = predicted(spend, moves)
        if steps <= WIDEST or bits <= 2:
            break
        bits = max(2, bits - math.ceil(math.log2(steps / WIDEST)))
    numbers = [comb(facts.size, chosen) for chosen in range(degree + 1)]
    total = sum(number * unit**2 for number, unit in zip(numbers, found.units, strict=True))
    worst = tail(facts.size, degree, probability, facts.zeros)
    noise = steps * math.sqrt(total) / (facts.people or NOMINAL)
    return Design(found.table, found.units, count, moves, noise, math.sqrt(TYPICAL_TAIL * worst), math.sqrt(worst))


def with_negations(facts: SynopsisFacts, spend: Bound, design: Design, width: float) -> Design:
    """Return a design of Fourier coefficients with the error of conjunctions that may have negations, where it is more.

    Coefficients are made for conjunctions without any. Here each of `width` columns is negated as often as not, and of
    the columns is known what sets of few columns go by; with more negations than the degree the answer is 0, and all
    of the share is left out (RL-PLAN).
    """
    size, asked, prior = facts.size, max(1, round(width)), Prior()
    probability = query_probability(size, width)
    step = predicted(spend, design.moves) / (facts.people or NOMINAL)
    noise = bias = 0.0
    for negated in range(asked + 1):
        plain, chance = asked - negated, comb(asked, negated) / 2**asked
        noise += chance * (step * noise_steps(size, probability, design.units, plain, negated)) ** 2
        out = left_out(size, design.degree, probability, (plain, negated), prior)
        bias += chance * out**2
    found = replace(design, noise=math.sqrt(noise), bias=math.sqrt(bias))
    return max(design, found, key=lambda one: one.error)


def query_probability(size: int, width: float) -> float:
    """Return how likely a column stands in a query that names so many on average; at most one half."""
    if not 0 < width <= size:
        raise ParameterError(f"width is how many columns a query names, more than 0 and at most {size}, not {width!r}.")
    return min(0.5, float(width) / size)


def _counted(facts: SynopsisFacts, table: Table, spend: Bound, ones: bool = False) -> tuple[int, Sensitivity]:
    """Return the steps that the count of rows deserves, if it is private, and how far everything then moves.

    A sixteenth of what a row adds up to, or a quarter of its length: the rest loses about 6 % or 3 % by it.
    """

    def moves(count: int) -> Sensitivity:
        return person_moves(
            facts.flagged(ones), facts.size, table, count=count, replaced=facts.replaced, rows=facts.rows
        )

    if facts.counted:
        return 0, moves(0)
    alone = moves(0)
    share = float(alone.l1) / 16 if isinstance(spend, Pure) else math.sqrt(alone.l2_squared) / 4
    count = max(1, math.ceil(share / facts.rows))
    return count, moves(count)


@lru_cache(maxsize=256)
def marginal_design(facts: SynopsisFacts, spend: Bound, order: int, width: int, worst: bool = False) -> Design:
    """Return the steps of each number of columns for conjunctions of up to `width` columns (RL-AIE).

    Wide sets are many and narrow ones weigh more in an answer, so that narrow ones are counted in more steps:
    minimises the noise of an answer of this width for what a row moves. Sets of ones say the same as sets of zeros;
    the better ones are taken: one-hot columns have few ones, so that a row moves little.
    """
    prior = None if worst else Prior()
    found = [_marginals(facts, spend, order, width, ones=ones, prior=prior) for ones in (False, True)]
    return min(found, key=lambda design: design.error)


def _marginals(
    facts: SynopsisFacts, spend: Bound, order: int, width: int, *, ones: bool, prior: Prior | None
) -> Design:
    steps = _steps(facts, spend, order, width, ones=ones, prior=prior)
    while True:
        # The same for every row: it counts in each of its sets, and nothing for the empty set.
        table = ((0, *steps[1:]),) * (facts.size + 1)
        count, moves = _counted(facts, table, spend, ones)
        if predicted(spend, moves) <= WIDEST or max(steps) == 1:
            break
        steps = [max(1, step // 2) for step in steps]
    noise = predicted(spend, moves) / (facts.people or NOMINAL)
    final = inclusion(width, 0, order, (0.0, *(noise / step for step in steps[1:])), ones=ones, prior=prior)
    units = tuple(1 / step for step in steps)
    return Design(table, units, count, moves, final.noise, final.typical, final.bias, ones)


def _steps(facts: SynopsisFacts, spend: Bound, order: int, width: int, *, ones: bool, prior: Prior | None) -> list[int]:
    """Return how many steps a row counts in sets of each width, for conjunctions of 1 … `width` columns alike.

    The factors are those that noise would not move.
    """
    power = 1 / 3 if isinstance(spend, Pure) else 1 / 4
    weights = [0.0] * (order + 1)
    for asked in range(1, width + 1):
        factors = inclusion(asked, 0, order, (0.0,) * (order + 1), ones=ones, prior=prior).factors[:, 0]
        for chosen, factor in enumerate(factors.tolist()):
            weights[chosen] += factor**2 * comb(asked, chosen)
    most = facts.flagged(ones)[1]
    loads = [(weights[chosen] / max(1, comb(most, chosen))) ** power for chosen in range(1, order + 1)]
    return [1, *(max(1, round(FINE * load / (max(loads) or 1.0))) for load in loads)]
