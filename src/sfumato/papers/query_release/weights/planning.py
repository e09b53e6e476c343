"""From a spend to rounds: how much each may cost, and how many there should be; public facts alone decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.model.base import MOST_CELLS
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Priced
from sfumato.noise.laws.base import SMALLEST_SCALE
from sfumato.papers.enough_people import fewest, people_from, say_of_rounds
from sfumato.papers.query_release.weights.candidates import Candidates
from sfumato.papers.query_release.weights.evidence import Fitting
from sfumato.papers.query_release.weights.mwem import MultiplicativeWeights
from sfumato.papers.query_release.weights.rounds import rows_move
from sfumato.privacy import Approximate, Bound, Concentrated, Pure, Relation, Truncated
from sfumato.privacy.calibrate import concentrated_within
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.words import one_of

MOST_ROUNDS = 1000
"""More rounds than this are never planned."""

REPLAYED = Fraction(3, 4)
"""With replay, which uses every measurement many times, this part of the rounds that the bound asks for is enough."""

COUNT_SHARE = Fraction(1, 20)
"""What the noisy number of rows gets of the budget, where it is not public."""

START_SHARE = Fraction(1, 5)
"""What a noisy histogram to start from gets of the budget."""

WIDE_CELLS = 2**12
"""Components of wide tables grow to so many cells by default: time, not memory, is what larger ones would cost."""

ROUNDS_TRIED = tuple(sorted({math.ceil(1.15**power) for power in range(50)}))
"""The numbers of rounds that are looked at to tell how many people the proved error asks for."""

EXPECTED = 100_000
"""So many rows are planned for where people come and go, so that their number is private, unless told otherwise."""


@dataclass(frozen=True)
class Amount:
    """A budget in one currency: epsilon (Laplace noise) or rho (Gaussian noise)."""

    pure: bool
    size: Fraction

    def part(self, share: Fraction) -> Amount:
        """Return a share of it."""
        return Amount(self.pure, self.size * share)

    def law(self, moves: Sensitivity) -> Priced:
        """Return the noise that all of it buys for numbers that move so far."""
        if self.pure:
            return DiscreteLaplace(max(moves.l1 / self.size, SMALLEST_SCALE))
        return DiscreteGaussian(max(moves.l2_squared / (2 * self.size), SMALLEST_SCALE**2))

    def window(self) -> Fraction:
        """Return the width of log-ratios of a choice that all of it buys: epsilon, or the root of 8·rho."""
        return self.size if self.pure else root_down(8 * self.size)


def root_down(square: Fraction) -> Fraction:
    """Return the root, rounded down to about 40 significant bits."""
    shift = 40 + max(0, square.denominator.bit_length() - square.numerator.bit_length())
    return Fraction(math.isqrt(int(square * 4**shift)), 1 << shift)


def amounts(spend: Bound) -> list[Amount]:
    """Return the budgets that a spend can be used as; an approximate one as epsilon or as rho."""
    match spend:
        case Pure():
            found = [Amount(True, spend.epsilon)]
        case Concentrated() | Truncated():
            found = [Amount(False, spend.rho)]
        case Approximate():
            rho = concentrated_within(spend.epsilon, spend.delta) if spend.epsilon else Fraction(0)
            found = [Amount(True, spend.epsilon), Amount(False, rho)]
        case _:
            raise UnsupportedSpend(f"{spend!r} is not one of the four bounds.")
    if found[0].size == 0:
        raise UnsupportedSpend(f"{spend!r} pays for nothing; write a spend above zero, such as Pure(0.1).")
    return found


@dataclass(frozen=True)
class Options:
    """How the rounds of `method='mwem'` are run.

    `rounds` is a number or "auto". `split` is the share of a round that its choice gets. `candidates` are single
    "queries", whole "tables", or "auto": tables where the workload asks for tables. `start` is "uniform" or
    "histogram". `schedule` is "fixed", or "doubling" for rounds that grow while nothing is found. `replay` is "damped"
    (maximum entropy with slack), "plain", or "none"; see `Fitting` for `step`, `passes` and `output`. `max_cells` is
    how large a component of the model may grow. `expect` is about how many rows there are, where that is not public:
    100,000 if people come and go, otherwise one a person. It decides how many rounds share the budget, never what is
    promised.

    >>> Options(rounds=10, split=0.5).split, Options(replay="none").fitting().passes
    (Fraction(1, 2), 0)
    """

    rounds: int | Literal["auto"] = "auto"
    split: Fraction = Fraction(11, 20)
    candidates: Literal["auto", "queries", "tables"] = "auto"
    start: Literal["uniform", "histogram"] = "uniform"
    schedule: Literal["fixed", "doubling"] = "fixed"
    replay: Literal["damped", "plain", "none"] = "damped"
    step: float = 4.0
    passes: int = 30
    slack: float = 0.3
    output: Literal["last", "average", "best_fit"] = "last"
    max_cells: int | None = None
    expect: int | None = None

    def __post_init__(self) -> None:
        from sfumato.exact import between_zero_and_one, positive_integer

        object.__setattr__(self, "split", between_zero_and_one(self.split, "split"))
        one_of("candidates", self.candidates, ("auto", "queries", "tables"))
        one_of("start", self.start, ("uniform", "histogram"))
        one_of("schedule", self.schedule, ("fixed", "doubling"))
        one_of("replay", self.replay, ("damped", "plain", "none"))
        if self.rounds != "auto" and (isinstance(self.rounds, bool) or not isinstance(self.rounds, int)):
            raise ParameterError("rounds must be a whole number, or 'auto'.")
        if self.rounds != "auto" and self.rounds < 1:
            raise ParameterError("rounds must be at least 1: without a round nothing is learned; or write 'auto'.")
        for name in ("max_cells", "expect"):
            if getattr(self, name) is not None:
                positive_integer(getattr(self, name), name)

    def fitting(self) -> Fitting:
        """Return how the model follows."""
        match self.replay:
            case "damped":
                return Fitting(self.step, self.passes, slack=self.slack, output=self.output)
            case "plain":
                return Fitting(self.step, self.passes, stop_at_noise=True, output=self.output)
            case _:
                return Fitting(self.step, output=self.output)


def plan_rounds(
    candidates: Candidates,
    spend: Bound,
    *,
    people: int | None,
    counted: bool,
    relation: Relation,
    rows: int = 1,
    reads: Any,
    options: Options | None = None,
) -> MultiplicativeWeights:
    """Return the mechanism that a spend buys; of two currencies the one whose proved error is smaller.

    `people` is the number of people, None where it is private; `counted` says that it is the public number of rows,
    which is bought with a twentieth of the budget otherwise. Where the proved error is no news about a share, an
    `AccuracyWarning` says from how many people on it is.
    """
    facts = _RoundFacts(candidates, people, counted, relation, rows, reads, options or Options())
    plans = []
    for amount in amounts(spend):
        plan = facts.plan(amount)
        plans.append((error_bound(candidates, facts.expected, plan.rounds, plan.rate, plan.law), plan))
    if people is not None or facts.options.expect is not None:
        say_of_rounds(
            min(facts.error(amount) for amount in amounts(spend)),
            lambda: fewest(facts.needed(amount) for amount in amounts(spend)),
            facts.expected,
            "Write method='auto', or spend more.",
        )
    return min(plans, key=lambda found: found[0])[1]


@dataclass(frozen=True)
class _RoundFacts:
    """What a plan is made from; all of it is public."""

    candidates: Candidates
    people: int | None
    counted: bool
    relation: Relation
    rows: int
    reads: Any
    options: Options

    @property
    def expected(self) -> int:
        """About how many rows there are, from public facts alone: the plan is public before anything is drawn."""
        if self.counted and self.people is not None:
            return self.people
        if self.options.expect is not None:
            return self.options.expect
        return EXPECTED if self.people is None else self.people

    def plan(self, amount: Amount) -> MultiplicativeWeights:
        """Return the mechanism that an amount buys."""
        budget, extras = self._beside(amount)
        rounds = self._rounds(budget)
        if self.options.schedule == "doubling":
            # A first stage costs a quarter of an even share of every round.
            extras["limit"] = amount.size
            extras.update(self._priced(budget, 4 * rounds))
        else:
            extras.update(self._priced(budget, rounds))
        return MultiplicativeWeights(
            candidates=self.candidates,
            people=self.people if self.counted else None,
            rounds=rounds,
            rows=self.rows,
            relation=self.relation,
            reads=self.reads,
            fitting=self.options.fitting(),
            **extras,
        )

    def _beside(self, amount: Amount) -> tuple[Amount, dict[str, Any]]:
        """Return what the rounds share, and what is bought beside them."""
        left = Fraction(1)
        extras: dict[str, Any] = {}
        if not self.counted:
            extras["count_law"] = amount.part(COUNT_SHARE).law(rows_move(self.rows))
            left -= COUNT_SHARE
        if self.options.start == "histogram":
            cells = Candidates(self.candidates.workload, tables=True).moves(self.relation, self.rows)
            extras["start_law"] = amount.part(START_SHARE).law(cells)
            left -= START_SHARE
        extras["max_cells"] = largest_component(self.candidates, self.options.max_cells)
        return amount.part(left), extras

    def _priced(self, budget: Amount, rounds: int) -> dict[str, Any]:
        """Return the rate of the choice and the noise of the measurement of one of so many rounds."""
        moves = self.candidates.moves(self.relation, self.rows)
        each, split = budget.part(Fraction(1, rounds)), self.options.split
        rate = each.part(split).window() / (2 * moves.l1 / self.candidates.width)
        return {"rate": rate, "law": each.part(1 - split).law(moves)}

    def error(self, amount: Amount) -> float:
        """Return what is proved of single steps, by the best number of rounds unless one is given."""
        budget, _ = self._beside(amount)
        rounds = self._best(budget)
        return error_bound(self.candidates, self.expected, rounds, **self._priced(budget, rounds))

    def needed(self, amount: Amount) -> int | None:
        """Return from how many people on that is below 1."""
        budget, _ = self._beside(amount)
        tried = ROUNDS_TRIED if self.options.rounds == "auto" else (self.options.rounds,)

        def priced(rounds: int) -> tuple[Fraction, Priced]:
            bought = self._priced(budget, rounds)
            return bought["rate"], bought["law"]

        return people_for(self.candidates, tried, priced)

    def _rounds(self, budget: Amount) -> int:
        best = self._best(budget)
        if self.options.rounds != "auto" or self.options.replay == "none":
            return best
        # Replay remembers every measurement: more rounds than candidates, or than two tables a column, add little.
        tables, columns = self.candidates.tables, len(self.candidates.workload.columns)
        return min(math.ceil(best * REPLAYED), 2 * columns if tables else self.candidates.size)

    def _best(self, budget: Amount) -> int:
        """Return the number of rounds that was asked for, or the one with the smallest proved error."""
        if self.options.rounds != "auto":
            return self.options.rounds
        best, least = 1, math.inf
        for rounds in range(1, MOST_ROUNDS + 1):
            found = error_bound(self.candidates, self.expected, rounds, **self._priced(budget, rounds))
            if found < least:
                best, least = rounds, found
            elif rounds > 2 * best + 8:
                break
        return best


def largest_component(candidates: Candidates, wanted: int | None) -> int:
    """Return how many cells a component of the model may have: as wanted, or all of a table that is not wide."""
    if wanted is not None:
        return wanted
    return WIDE_CELLS if candidates.workload.space.cells > MOST_CELLS else MOST_CELLS


def error_bound(candidates: Candidates, people: int, rounds: int, rate: Fraction, law: Priced) -> float:
    """Return the proved mean error of the averaged model with step 4, as a share of the people (QR-MWEM, QR:C-15).

    √(ln N/(2·rounds) + variance/n²) + (ln k + 1)/(rate·n), for N cells and k candidates: at a half-half split of
    epsilon this is √(ln N/(2T) + 8/(ε₀n)²) + 4(ln k + 1)/(ε₀n); the thesis has half of the last term (QR:D2).
    """
    size = max(people, 1)
    learned, variance, shortfall = _bound_parts(candidates, rounds, rate, law)
    return math.sqrt(learned + variance / size**2) + shortfall / size


def people_for(
    candidates: Candidates, tried: Iterable[int], priced: Callable[[int], tuple[Fraction, Priced]]
) -> int | None:
    """Return from how many people on `error_bound` is below 1 for one of the tried numbers of rounds.

    `priced` says what rate of the choice and what noise one of so many rounds is bought.
    """
    return fewest(people_from(*_bound_parts(candidates, rounds, *priced(rounds))) for rounds in tried)


def _bound_parts(candidates: Candidates, rounds: int, rate: Fraction, law: Priced) -> tuple[float, float, float]:
    """Return what so many rounds learn, the variance of a measurement and what a choice misses, in counts."""
    learned = math.log(max(candidates.workload.space.cells, 2)) / (2 * rounds)
    return learned, law.spread() / candidates.width**2, (math.log(candidates.size) + 1) / float(rate)
