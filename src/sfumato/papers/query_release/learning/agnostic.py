"""Release by repeated agnostic learning: a private learner finds what a model gets wrong, and the model follows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.answer import NoisyPart, Released
from sfumato.ask.prepared import Prepared
from sfumato.errors import ParameterError
from sfumato.exact import Number, at_least_zero, between_zero_and_one, positive_integer
from sfumato.mechanism import Event, Mechanism
from sfumato.model.factored import Factored
from sfumato.noise import Noise, Priced
from sfumato.papers.enough_people import fewest, say_of_rounds
from sfumato.papers.query_release.weights.candidates import Candidates
from sfumato.papers.query_release.weights.meter import GRID, noise_cost
from sfumato.papers.query_release.weights.methods import options_of
from sfumato.papers.query_release.weights.planning import COUNT_SHARE, Amount, amounts, error_bound, people_for
from sfumato.papers.query_release.weights.predict import Predictor
from sfumato.papers.query_release.weights.rounds import law_json, rows_move, shown
from sfumato.privacy import REPLACE_ONE, Bound, Concentrated, Loss, Pure, Relation
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.questions.synthesis.methods import METHODS
from sfumato.select import exponential, permute_and_flip
from sfumato.select.fit import positive_spend, settle
from sfumato.table.gauge import Basis
from sfumato.table.measure import Rows
from sfumato.words import one_of
from sfumato.workload.records import Records
from sfumato.workload.space import Space
from sfumato.workload.workload import Workload

MOST_ROUNDS = 100
LEARNERS = ("exponential", "permute_and_flip")


@dataclass(frozen=True)
class Found:
    """What one learner call found: a query, the direction in which the model is off, and a noisy count."""

    query: int
    sign: int
    count: int


@dataclass(frozen=True)
class Learnt:
    """All that a run released: the noisy number of rows where it is not public, and two findings a round."""

    total: int | None
    rounds: tuple[tuple[Found, Found], ...]


@dataclass(frozen=True, kw_only=True)
class AgnosticRelease(Mechanism):
    """A distribution that no query of a class tells from the data, by calls of a private agnostic learner.

    A round asks `learner` twice, once for a query that the data fulfil more often than the model, once for one that
    they fulfil less often; each is counted with noise of `law`; the model moves along the query with the larger gap,
    towards the data. With a `gap` above 0 it stops when the gap is at most that less 2τ, τ the deviation of the noise:
    a stop that everybody sees and that saves nothing.

    The learner is a mechanism of the user, or one of `select`: from one whole number for each query, how much more
    often the data fulfil it, to the place of a query. Numbers are in `unit` parts of a person, so one person moves
    each by at most `unit`·rows: that is the sensitivity to give it. One that raises, or names no query, is
    taken to say the first.

    Promise, for `relation` neighbours: `rounds`·2 times the loss of the learner and of one noisy count, and the noisy
    number of rows (RL-AGNO, RL:C14). The thesis forgets the sign of the update (Figure 6.7): without it the model
    moves away from the data for every query that they fulfil less often.

    Input: `Records`. Output: `Learnt`; `model_of` gives the distribution. Time a round: all queries under the model.
    """

    spec: ClassVar[str] = "RL-AGNO"

    candidates: Candidates
    learner: Mechanism
    law: Priced
    rounds: int
    people: int | None = None
    count_law: Priced | None = None
    gap: Fraction = Fraction(0)
    rows: int = 1

    def __post_init__(self) -> None:
        positive_integer(self.rounds, "rounds")
        if (self.people is None) == (self.count_law is None):
            raise ParameterError("Give people= where their number is public, and count_law= where it is not.")
        if self.candidates.tables:
            raise ParameterError("A learner finds single queries; make Candidates(workload) without tables.")
        if not isinstance(self.learner, Mechanism):
            raise ParameterError(
                "learner is a mechanism that states its loss; write for example select.exponential(spend, unit)."
            )

    @property
    def unit(self) -> int:
        """In how many parts a person's share of a score is written."""
        return GRID * self.candidates.width

    def loss(self) -> Loss:
        """Return the sum over all rounds, whether they are used or not."""
        moves = self.candidates.moves(self.relation, self.rows)
        values = Loss.flat(noise_cost(self.law, moves), self.reads, self.relation)
        total = 2 * self.rounds * (self.learner.loss() + values)
        if self.count_law is None:
            return total
        return total + Loss.flat(noise_cost(self.count_law, rows_move(self.rows)), self.reads, self.relation)

    def run(self, exact: Records, noise: Noise) -> Learnt:
        """Run the rounds; data are seen by the learner and by noisy counts only."""
        answers = self.candidates.exact(exact)
        total = None if self.count_law is None else max(1, exact.total + noise.draw(self.count_law))
        model = self._model(total)
        done: list[tuple[Found, Found]] = []
        for _ in range(self.rounds):
            gaps = answers * GRID - np.rint(model.expected * GRID).astype(np.int64)
            more, less = (self._find(sign * gaps, sign, answers, noise) for sign in (1, -1))
            done.append((more, less))
            if not model.follow(done[-1]):
                break
        return Learnt(total, tuple(done))

    def _find(self, scores: NDArray[np.int64], sign: int, answers: NDArray[np.int64], noise: Noise) -> Found:
        chosen = self._asked(scores, noise)
        return Found(chosen, sign, int(answers[chosen]) + noise.draw(self.law))

    def _asked(self, scores: NDArray[np.int64], noise: Noise) -> int:
        """Ask the learner; what it may do wrong must not show anything but a query."""
        try:
            found = self.learner.run(scores, noise)
        except Exception:
            return 0
        named = isinstance(found, (int, np.integer)) and 0 <= int(found) < self.candidates.size
        return int(found) if named else 0

    def _model(self, total: int | None) -> Following:
        people = self.people if self.people is not None else max(1, total or 1)
        tolerance = math.sqrt(self.law.spread()) / (people * self.candidates.width)
        return Following(self.candidates, float(people), float(self.gap), tolerance)

    def model_of(self, found: Learnt) -> Factored:
        """Return the distribution that a run learned, from what it released alone."""
        model = self._model(found.total)
        for one in found.rounds:
            model.follow(one)
        return model.model

    def event(self) -> Event:
        """Return the public parameters, laws with their names."""
        return shown(super().event(), {"law": law_json(self.law), "count_law": law_json(self.count_law)})


class Following:
    """The model and how it follows findings; a function of what was released."""

    def __init__(self, candidates: Candidates, people: float, gap: float, tolerance: float) -> None:
        self.candidates, self.people, self.gap, self.tolerance = candidates, people, gap, tolerance
        self.model = Factored.uniform(candidates.workload.space, people)
        self._predict = Predictor(candidates)
        self.expected = self._predict(self.model) * people

    def follow(self, pair: tuple[Found, Found]) -> bool:
        """Move along the query with the larger gap; False if it is as small as was asked for."""
        best = max(pair, key=self._gap)
        size = self._gap(best)
        if self.gap > 0 and size <= self.gap - 2 * self.tolerance:
            return False
        if size <= 0:  # nothing but noise was found; rounds that are paid for go on looking
            return True
        columns, query = self.candidates.query(best.query)
        # Four times a lower bound of the gap makes the relative entropy fall most (RL:C13).
        step = 4 * max(size - self.tolerance, size / 4)
        self.model = self.model.tilt(columns, self._direction(best.sign) * step * query)
        self.expected = self._predict(self.model) * self.people
        return True

    def _direction(self, sign: int) -> int:
        """Return the way to move: towards the data."""
        return sign

    def _gap(self, found: Found) -> float:
        """Return how much more (or less) often the data fulfil a query than the model does, as a share."""
        off = found.count - self.expected[found.query]
        return float(found.sign * off / (self.people * self.candidates.width))


@dataclass(frozen=True)
class AgnosticOptions:
    """How `synthesize(method="agnostic")` runs: how many rounds, which learner, and the gap at which it stops."""

    rounds: int | Literal["auto"] = "auto"
    learner: str = "exponential"
    gap: Number = 0
    split: Number = Fraction(1, 2)

    def __post_init__(self) -> None:
        if self.rounds != "auto":
            positive_integer(self.rounds, "rounds")
        one_of("learner", self.learner, LEARNERS)
        object.__setattr__(self, "gap", at_least_zero(self.gap, "gap"))
        object.__setattr__(self, "split", between_zero_and_one(self.split, "split"))


def plan_agnostic(
    candidates: Candidates,
    spend: Bound,
    *,
    people: int | None,
    expected: int = 1000,
    rows: int = 1,
    relation: Relation = REPLACE_ONE,
    reads: Any,
    options: AgnosticOptions | None = None,
) -> AgnosticRelease:
    """Return the rounds that a spend buys; `expected` guides their number where that of the people is private.

    Where the proved error is no news about a share, an `AccuracyWarning` says from how many people on it is.
    """
    bound, wanted = positive_spend(spend, "agnostic"), options or AgnosticOptions()
    share = 1 - COUNT_SHARE if people is None else Fraction(1)
    moves = candidates.moves(relation, rows)
    tried = range(1, MOST_ROUNDS + 1) if wanted.rounds == "auto" else (wanted.rounds,)
    plans = []
    for amount in amounts(bound):
        each = _Rounds(amount.part(share), Fraction(wanted.split), moves, rows)
        error, rounds = min(
            (error_bound(candidates, people or expected, rounds, *each.priced(rounds)), rounds) for rounds in tried
        )
        plans.append((error, rounds, amount, each))
    error, rounds, amount, each = min(plans, key=lambda plan: plan[0])
    if people is not None:
        say_of_rounds(
            error,
            lambda: fewest(people_for(candidates, tried, plan[-1].priced) for plan in plans),
            people,
            "Write method='auto', or spend more.",
        )
    choice, law = each.parts(rounds)
    part: Bound = Pure(choice.size) if choice.pure else Concentrated(choice.size)
    make = exponential if wanted.learner == "exponential" else permute_and_flip
    mechanism = AgnosticRelease(
        candidates=candidates,
        learner=make(part, GRID * candidates.width * rows, relation=relation, reads=reads),
        law=law,
        rounds=rounds,
        people=people,
        count_law=None if people is not None else amount.part(COUNT_SHARE).law(rows_move(rows)),
        gap=Fraction(wanted.gap),
        rows=rows,
        relation=relation,
        reads=reads,
    )
    return settle(mechanism, bound)


@dataclass(frozen=True)
class _Rounds:
    """What one of so many rounds is bought: two choices and two counts, of which the choices get `split`."""

    budget: Amount
    split: Fraction
    moves: Sensitivity
    rows: int

    def parts(self, rounds: int) -> tuple[Amount, Priced]:
        """Return what one choice gets, and the noise of one count."""
        each = self.budget.part(Fraction(1, 2 * rounds))
        return each.part(self.split), each.part(1 - self.split).law(self.moves)

    def priced(self, rounds: int) -> tuple[Fraction, Priced]:
        """Return the rate of the choice, and the noise of one count."""
        choice, law = self.parts(rounds)
        return choice.window() / (2 * self.rows), law


def agnostic(basis: Basis, spend: Bound, workload: Workload, options: Mapping[str, Any] | None = None) -> Prepared:
    """Prepare release by agnostic learning (RL-AGNO); all bounds, both relations."""
    wanted = options_of(AgnosticOptions, options)
    space = Space.of(basis.schema, workload.columns)
    gauge = basis.gauge(Rows(space.names))
    mechanism = plan_agnostic(
        Candidates(workload),
        gauge.priced(spend),
        people=gauge.total,
        rows=gauge.rows,
        relation=gauge.relation,
        reads=gauge.charged,
        options=wanted,
    )

    def finish(found: Learnt) -> Released:
        counts = tuple(one.count for pair in found.rounds for one in pair)
        made = {"schema": basis.schema.to_json(), "model": mechanism.model_of(found).to_json()}
        return Released((NoisyPart("measured", counts, mechanism.law),), made=made)

    return Prepared(gauge, mechanism, finish, lambda found: Records.of(space, found))


METHODS.add("agnostic", agnostic)
