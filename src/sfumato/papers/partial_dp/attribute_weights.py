"""Multiplicative weights for promises per attribute: each round measures queries that share no attribute."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from sfumato.errors import ParameterError
from sfumato.mechanism import Event, Mechanism
from sfumato.model.base import MOST_CELLS
from sfumato.model.factored import Factored
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Noise, Priced
from sfumato.papers.query_release.weights.candidates import Candidates
from sfumato.papers.query_release.weights.choosers import Disjoint, Partition, range_cost, require_possible, top_sum
from sfumato.papers.query_release.weights.evidence import Fitting
from sfumato.papers.query_release.weights.learner import Learner, require_fitting, require_whole
from sfumato.papers.query_release.weights.meter import GRID, Metered, noise_cost
from sfumato.papers.query_release.weights.rounds import Transcript, checked_rounds, fixed_rounds, shown
from sfumato.privacy import REPLACE_ONE, ByCount, Cost, Cover, Flat, Loss, Minimum, PerAttribute, Profile, Sum
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.workload.records import Records

Rates = tuple[tuple[str, Fraction], ...]

SAFE_PACE = 4.0
"""The largest step times `together` for which the potential is proved to fall."""


@dataclass(frozen=True, kw_only=True)
class AttributeWeights(Mechanism):
    """A distribution learned in rounds, each of which measures `together` queries without a common attribute.

    Promise, for people who change some attributes: with one rate r for all, Gaussian noise of variance 1/r² and c the
    smaller of `together` and the number of changed attributes, rho = rounds·(c² + c)·r²/2: with r² = eps0²/(2·rounds)
    that is (c² + c)·eps0²/4, so eps0²/2 for one attribute. Laplace noise of scale 1/r costs epsilon = rounds·3·c·r.
    With `partition` the choices are independent and rho = rounds·c·r². Rates of its own for each attribute: a query
    gets the smallest rate of what it sees, and s² + s₂ takes the place of c² + c, the squared sum and the sum of
    squares of the largest rates that change. Attributes of rate 0 are not touched at all.

    Queries have values from 0 to 1; one row a person; neighbours replace. Spec: PDP-MWEM. Greedy choices one after the
    other would cost `together` times more and are not offered.
    """

    spec: ClassVar[str] = "PDP-MWEM"

    candidates: Candidates
    people: int
    rounds: int
    rates: Rates
    together: int
    partition: bool = False
    pure: bool = False
    fitting: Fitting = field(default_factory=Fitting)
    max_cells: int = MOST_CELLS

    def __post_init__(self) -> None:
        checked_rounds(self.rounds)
        if self.relation is not REPLACE_ONE:
            raise ParameterError(
                "A promise per attribute speaks of people who change, not of people who come or go; use "
                "relation=REPLACE_ONE, or method='mwem'."
            )
        if self.candidates.tables:
            raise ParameterError("Rounds per attribute measure single queries; write candidates='queries'.")
        positive = frozenset(name for name, rate in self.rates if rate > 0)
        object.__setattr__(self, "reads", frozenset().union(*(s for s in self._seen if s <= positive)))
        require_possible(self.chooser)
        require_fitting(self.candidates, self.max_cells)
        require_whole(self.candidates, self.max_cells, needed=self.fitting.output == "average")

    @cached_property
    def _seen(self) -> tuple[frozenset[str], ...]:
        """The attributes that each block sees."""
        space = self.candidates.workload.space
        return tuple(space.reads(block.columns) for block in self.candidates.blocks)

    @cached_property
    def query_rates(self) -> tuple[Fraction, ...]:
        """The rate of each query: the smallest of its attributes; 0 if it sees none, or one that is not to be seen."""
        rates = dict(self.rates)
        blocks = [min((rates.get(name, Fraction(0)) for name in seen), default=Fraction(0)) for seen in self._seen]
        return tuple(
            rate for rate, block in zip(blocks, self.candidates.blocks, strict=True) for _ in range(block.queries)
        )

    @cached_property
    def chooser(self) -> Disjoint | Partition:
        """The choice of a round."""
        bit = {name: 1 << place for place, (name, _) in enumerate(self.rates)}
        masks = tuple(
            sum(bit.get(name, 0) for name in seen)
            for seen, block in zip(self._seen, self.candidates.blocks, strict=True)
            for _ in range(block.queries)
        )
        kind = Partition if self.partition else Disjoint
        return kind(self.query_rates, masks, self.together, GRID * self.candidates.width)

    @cached_property
    def moves(self) -> Sensitivity:
        """How far one query moves."""
        return self.candidates.moves(self.relation, 1)

    def law(self, candidate: int) -> Priced:
        """Return the noise of a query: of the size of one over its rate, in persons times width."""
        return self._law(self.query_rates[candidate])

    def measuring(self) -> Cost:
        """Return what the measurements of a round cost a person: one for each of the largest rates."""
        return self._measured(self.chooser.by_attribute()[: self.together])

    def charges(self) -> Counter[Cost]:
        """Return what a person pays."""
        found: Counter[Cost] = Counter()
        for cost in (self.chooser.cost(), self.measuring()):
            found[cost] += self.rounds
        return found

    def loss(self) -> Loss:
        """Return the loss for every set of attributes."""
        found = {rate for name, rate in self.rates if name in self._named}
        if len(found) == 1:
            rate = found.pop()
            counts = range(1, self.together + 1)
            costs = tuple(self.rounds * (self._chosen([rate] * c) + self._measured([rate] * c)) for c in counts)
            return Loss(ByCount(costs, frozenset(self._named)), self.relation)
        return Loss(self._uneven(), self.relation)

    def proved_error(self) -> float | None:
        """Return the error of a share that the theorem promises, expected, or None where it says nothing.

        It is about the average of the models after single steps of at most 4 over `together`, chosen exactly, with one
        rate for all attributes: for the worst set of queries without a common attribute, their mean error. Fitting by
        replay, the default, has no bound of its own. A number of 1 and more is no news about a share.
        """
        rates = {rate for name, rate in self.rates if name in self._named}
        pace = self.fitting.step * self.together
        single = self.fitting.passes == 0 and self.fitting.output == "average"
        if self.partition or len(rates) != 1 or not single or pace > SAFE_PACE * (1 + 1e-9):
            return None
        return error_bound(rates.pop(), self.rounds, self.people, self.candidates, pure=self.pure, pace=pace)

    def run(self, exact: Records, noise: Noise) -> Transcript:
        """Run the rounds; the meter must show what was stated."""
        metered = Metered(self.candidates, exact, noise)
        learner = self._learner()
        rounds = fixed_rounds(metered, learner, self, self.rounds)
        metered.require(self.charges())
        return Transcript(None, (), rounds).with_model(learner.result())

    def model_of(self, transcript: Transcript) -> Factored:
        """Return the distribution that a run learned, from what it released alone."""
        known = transcript.__dict__.get("model")
        if isinstance(known, Factored):
            return known
        learner = self._learner()
        for one in transcript.rounds:
            if self.fitting.output == "best_fit":
                learner.predicted()
            learner.learn(one, tuple(map(self.law, one.chosen)))
        return learner.result()

    def event(self) -> Event:
        """Return the public parameters."""
        return shown(super().event(), {"rates": dict(self.rates), "fitting": vars(self.fitting)})

    @property
    def _named(self) -> frozenset[str]:
        assert isinstance(self.reads, frozenset)
        return self.reads

    def _learner(self) -> Learner:
        return Learner(self.candidates, float(max(self.people, 1)), self.fitting, self.max_cells)

    def _law(self, rate: Fraction) -> Priced:
        width = self.candidates.width
        return DiscreteLaplace(width / rate) if self.pure else DiscreteGaussian((width / rate) ** 2)

    def _chosen(self, rates: list[Fraction]) -> Cost:
        """Return what a round's choice costs when attributes of these rates change."""
        if not self.partition:
            return range_cost(2 * top_sum(rates, self.together))
        return _added(range_cost(2 * rate) for rate in rates)

    def _measured(self, rates: list[Fraction]) -> Cost:
        """Return what a round's measurements cost when attributes of these rates change."""
        return _added(noise_cost(self._law(rate), self.moves) for rate in rates)

    def _uneven(self) -> Profile:
        """Return the profile of attributes with rates of their own."""
        singles = [(name, rate) for name, rate in self.rates if name in self._named]
        top = self.chooser.by_attribute()[: self.together]
        measured = tuple((frozenset((name,)), self.rounds * self._measured([rate])) for name, rate in singles)
        chosen = tuple((name, self.rounds * self._chosen([rate])) for name, rate in singles)
        if self.partition:
            both = tuple((seen, cost + dict(chosen)[next(iter(seen))]) for seen, cost in measured)
            whole = self.rounds * (self._chosen(top) + self._measured(top))
            return Minimum((Cover(both), Flat(whole, self._named)))
        capped = Minimum((Cover(measured), Flat(self.rounds * self._measured(top), self._named)))
        return Sum(((1, capped), (1, PerAttribute(chosen, self.rounds * self._chosen(top)))))


def error_bound(
    rate: Fraction, rounds: int, people: int, candidates: Candidates, *, pure: bool, pace: float = SAFE_PACE
) -> float:
    """Return the proved error of the averaged model; `pace` is step times `together` (PDP-MWEM, repaired bound)."""
    learned, variance, shortfall = bound_parts(rate, rounds, candidates, pure=pure, pace=pace)
    size = max(people, 1)
    return math.sqrt(variance / size**2 + learned) + shortfall / size


def bound_parts(
    rate: Fraction, rounds: int, candidates: Candidates, *, pure: bool, pace: float = SAFE_PACE
) -> tuple[float, float, float]:
    """Return what so many rounds learn, the variance of a measurement and what a choice misses, in counts."""
    learned = 2 * math.log(max(candidates.workload.space.cells, 2)) / (pace * rounds)
    return learned, (2 if pure else 1) / float(rate) ** 2, math.log(max(candidates.size, 2)) / float(rate)


def _added(costs: Any) -> Cost:
    amount = Cost.zero()
    for cost in costs:
        amount = amount + cost
    return amount
