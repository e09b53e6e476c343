"""Multiplicative weights and the exponential mechanism: a private distribution that keeps a list of queries."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.errors import ParameterError
from sfumato.mechanism import Event, Mechanism
from sfumato.model.base import MOST_CELLS
from sfumato.model.factored import Factored
from sfumato.noise import Noise, Priced
from sfumato.papers.query_release.weights.candidates import Candidates
from sfumato.papers.query_release.weights.choosers import OneOfAll
from sfumato.papers.query_release.weights.evidence import Fitting
from sfumato.papers.query_release.weights.learner import Learner, require_fitting, require_whole
from sfumato.papers.query_release.weights.meter import GRID, Metered, noise_cost, total_cost
from sfumato.papers.query_release.weights.rounds import (
    OneLaw,
    Transcript,
    checked_rounds,
    doubling_rounds,
    fixed_rounds,
    law_json,
    rows_move,
    shown,
)
from sfumato.privacy import REPLACE_ONE, Cost, Loss
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.workload.records import Records


@dataclass(frozen=True, kw_only=True)
class MultiplicativeWeights(Mechanism):
    """A distribution over all columns, learned in rounds: choose the query that it gets most wrong, measure, follow.

    Promise, for `relation` neighbours of at most `rows` rows a person and queries with values from 0 to 1: a round's
    choice has log-ratios in a window of width 2·rate·move, where `move` is `rows` for queries and the L1 distance for
    whole tables; its measurement costs what its noise does; `rounds` rounds add up, with the noisy number of rows
    (`count_law`) where that is not public and the noisy histogram (`start_law`) where one is measured. With a `limit`,
    in epsilon or rho, rounds double their spend instead (`rate` and `law` are those of the first stage), and the limit
    is what is promised. The thesis prints twice the rate for the same claim (QR:D1, D2): here it is repaired.

    Input: `Records`. Output: a `Transcript`; `model_of` gives the distribution, a function of it alone.
    Spec: QR-MWEM, QR-MWEMF. Time a round: all queries under the model, and one pass over the largest component, of at
    most `max_cells` cells; candidates whose columns would need more are left out, by what was released before.
    """

    spec: ClassVar[str] = "QR-MWEM"

    candidates: Candidates
    people: int | None
    rounds: int
    rate: Fraction
    law: Priced
    rows: int = 1
    count_law: Priced | None = None
    start_law: Priced | None = None
    limit: Fraction | None = None
    fitting: Fitting = field(default_factory=Fitting)
    max_cells: int = MOST_CELLS
    dense: bool | None = None

    def __post_init__(self) -> None:
        checked_rounds(self.rounds)
        if (self.people is None) == (self.count_law is None):
            raise ParameterError("Give people= where their number is public, and count_law= where it is not.")
        require_fitting(self.candidates, self.max_cells)
        dense = self.start_law is not None or bool(self.dense) or self.fitting.output == "average"
        require_whole(self.candidates, self.max_cells, needed=dense)

    @property
    def pure(self) -> bool:
        """Whether the loss is counted in epsilon; in rho otherwise."""
        return self.law.pure

    def stage(self, number: int = 0) -> OneLaw:
        """Return how a round looks at the data after so many doublings."""
        moves = self.candidates.moves(self.relation, self.rows)
        move = moves.l1 / self.candidates.width
        # The rho of a choice grows with the square of its rate: 140/99 is just below the root of two.
        more = 2**number if self.pure else 2 ** (number // 2) * (Fraction(140, 99) if number % 2 else 1)
        chooser = OneOfAll(self.rate * more, move, GRID * self.candidates.width)
        return OneLaw(chooser, self.law.quieter(2**number), moves)

    def charges(self) -> Counter[Cost]:
        """Return how often each cost is paid by a run of fixed rounds."""
        found: Counter[Cost] = Counter()
        stage = self.stage()
        for cost in (stage.chooser.cost(), stage.measuring()):
            found[cost] += self.rounds
        if self.count_law is not None:
            found[noise_cost(self.count_law, rows_move(self.rows))] += 1
        if self.start_law is not None:
            found[noise_cost(self.start_law, self._cell_moves())] += 1
        return found

    def loss(self) -> Loss:
        """Return the sum over the rounds, or the limit; a choice depends on everything that some query reads."""
        if self.limit is None:
            cost = total_cost(self.charges())
        else:
            cost = Cost.pure(self.limit) if self.pure else Cost.concentrated(self.limit)
        return Loss.flat(cost, self.reads, self.relation)

    def run(self, exact: Records, noise: Noise) -> Transcript:
        """Run the rounds; the meter must show what was stated."""
        metered = Metered(self.candidates, exact, noise, self.limit, self.pure)
        total = None if self.count_law is None else metered.count(self.count_law, rows_move(self.rows))
        start: tuple[int, ...] = ()
        if self.start_law is not None:
            names = self.candidates.workload.space.names
            start = tuple(metered.histogram(names, self.start_law, self._cell_moves()).ravel().tolist())
        learner = self._learner(total, start)
        if self.limit is None:
            rounds = fixed_rounds(metered, learner, self.stage(), self.rounds)
        else:
            rounds = doubling_rounds(metered, learner, self.stage, self.rounds)
        metered.require(self.charges())
        return Transcript(total, start, rounds).with_model(learner.result())

    def model_of(self, transcript: Transcript) -> Factored:
        """Return the distribution that a run learned, from what it released alone."""
        known = transcript.__dict__.get("model")
        if isinstance(known, Factored):
            return known
        learner = self._learner(transcript.total, transcript.start)
        for one in transcript.rounds:
            if self.fitting.output == "best_fit":
                learner.predicted()
            learner.learn(one, (self.stage(one.stage).noise,))
        return learner.result()

    def event(self) -> Event:
        """Return the public parameters, laws with their names."""
        laws = {name: law_json(getattr(self, name)) for name in ("law", "count_law", "start_law")}
        return shown(super().event(), {**laws, "fitting": vars(self.fitting)})

    def _learner(self, total: int | None, start: tuple[int, ...]) -> Learner:
        people = self.people if self.people is not None else total
        assert people is not None
        dense = True if self.start_law is not None else self.dense
        learner = Learner(self.candidates, float(max(people, 1)), self.fitting, self.max_cells, dense=dense)
        if start:
            assert self.start_law is not None
            shape = self.candidates.workload.space.sizes
            width = self.start_law.size() if self.start_law.pure else self.start_law.spread() ** 0.5
            learner.start_from(np.array(start, dtype=np.int64).reshape(shape), width)
        return learner

    def _cell_moves(self) -> Sensitivity:
        """Return how far the histogram of all cells moves: as any table does."""
        cells = 2 if self.relation is REPLACE_ONE or self.rows > 1 else 1
        count = cells * self.rows
        return Sensitivity(Fraction(count), Fraction(cells * self.rows**2), Fraction(self.rows), count)
