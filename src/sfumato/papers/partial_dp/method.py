"""How `method="pdp-mwem"` is prepared: rounds per attribute, planned from public facts (PDP-MWEM)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeVar

from sfumato.ask.prepared import Prepared
from sfumato.errors import DomainTooLarge, NotProvable, ParameterError, UnsupportedSpend, warn
from sfumato.exact import Number, at_least_zero, between_zero_and_one, positive_integer
from sfumato.exact.search import smallest
from sfumato.papers.enough_people import fewest, people_from, say_of_rounds
from sfumato.papers.partial_dp.attribute_weights import AttributeWeights, bound_parts, error_bound
from sfumato.papers.query_release.weights.candidates import Candidates
from sfumato.papers.query_release.weights.choosers import MOST_STATES, states
from sfumato.papers.query_release.weights.evidence import Fitting
from sfumato.papers.query_release.weights.methods import options_of, prepared_rounds
from sfumato.papers.query_release.weights.planning import (
    ROUNDS_TRIED,
    Amount,
    amounts,
    largest_component,
    root_down,
)
from sfumato.privacy import Bound
from sfumato.questions.synthesis.methods import METHODS
from sfumato.table.gauge import Basis
from sfumato.table.measure import Rows
from sfumato.words import one_of
from sfumato.workload.workload import Workload

Given = TypeVar("Given")

MOST_ROUNDS = 300
"""How many rounds a plan looks at."""
MOST_PEOPLE = 1 << 50
REPLAYED = 4
"""With replay, so many queries an attribute: it uses every measurement up, so that more rounds add noise and time."""


@dataclass(frozen=True)
class PartialOptions:
    """How the rounds of `method='pdp-mwem'` are run.

    `together` is how many queries without a common attribute a round measures, or "auto": as many as fit. `selection`
    is "exact", "partition", or "auto": exact while its sums are few. `step` is "maxent" (damped replay), "safe" (the
    proved 4 over `together`) or "paper" (1/2). `weights` gives attributes shares of the budget between 0 and 1; queries
    that see an attribute of weight 0 are left out, and it is not read. `max_cells` is how large a component of the
    model may grow.

    >>> PartialOptions(together=2, weights={"age": 1, "sex": "1/2"}).fitting(together=2).passes
    10
    """

    rounds: int | Literal["auto"] = "auto"
    together: int | Literal["auto"] = "auto"
    selection: Literal["auto", "exact", "partition"] = "auto"
    step: Literal["maxent", "safe", "paper"] = "maxent"
    output: Literal["last", "average", "best_fit"] | None = None
    weights: Mapping[str, Any] | None = None
    max_cells: int | None = None

    def __post_init__(self) -> None:
        if self.max_cells is not None:
            positive_integer(self.max_cells, "max_cells")
        object.__setattr__(self, "weights", None if self.weights is None else dict(self.weights))
        one_of("selection", self.selection, ("auto", "exact", "partition"))
        one_of("step", self.step, ("maxent", "safe", "paper"))

    def rounds_or(self, best: int) -> int:
        """Return the number of rounds that is asked for, or the best one."""
        return best if self.rounds == "auto" else positive_integer(self.rounds, "rounds")

    def fitting(self, together: int) -> Fitting:
        """Return how the model follows; single steps are averaged, as their bound is about the average."""
        if self.step == "maxent":
            return Fitting(passes=10, slack=0.3, output=self.output or "last")
        return Fitting(step=0.5 if self.step == "paper" else 4.0 / together, output=self.output or "average")


def pdp_mwem(basis: Basis, spend: Bound, workload: Workload, options: Mapping[str, Any] | None = None) -> Prepared:
    """Prepare multiplicative weights for promises per attribute (PDP-MWEM)."""
    wanted = options_of(PartialOptions, options)
    gauge = basis.gauge(Rows(workload.columns))
    if gauge.total is None:
        raise UnsupportedSpend(
            "Rounds per attribute need one row a person and relation=REPLACE_ONE: an attribute of people who come or "
            "go is no fact that changes; write method='mwem'."
        )
    asked, bound = _asked(workload, wanted), gauge.priced(spend)
    mechanism = _partial(gauge.total, asked, bound, wanted)
    _say_what_is_proved(mechanism, asked, bound, wanted)
    measured = basis.gauge(Rows(mechanism.candidates.workload.columns))
    return prepared_rounds(measured, mechanism, mechanism.model_of)


def people_needed(workload: Workload, spend: Bound, accuracy: Number, options: Mapping[str, Any] | None = None) -> int:
    """Return from how many people on the theorem promises this error to `step="safe"` (PDP-MWEM, repaired bound).

    The error is that of shares: the mean over the queries of a round, for the worst set of queries without a common
    attribute, expected, of the averaged model. One row a person. Public arithmetic, nothing is read.

    >>> from sfumato import Concentrated, Schema, booleans, workloads
    >>> pairs = workloads.marginals(Schema({f"x{place}": booleans(missing=False) for place in range(8)}), width=2)
    >>> people_needed(pairs, Concentrated("1/8").per_attribute(), "1/4")
    1453
    """
    wanted = options_of(PartialOptions, {**(options or {}), "step": "safe"})
    most, asked = float(between_zero_and_one(accuracy, "accuracy")), _asked(workload, wanted)

    def proved(people: int) -> bool:
        error = _partial(people, asked, spend, wanted).proved_error()
        if error is None:
            raise NotProvable(
                "Nothing is proved with weights of attributes or a partition; leave weights= out, and write "
                "selection='exact'.",
                {"accuracy": accuracy},
            )
        return error <= most

    if not proved(MOST_PEOPLE):
        raise NotProvable(
            f"No number of people brings the proved error down to {most:g}: rounds bound it from below, whatever the "
            "noise; ask for a larger accuracy=, or for more rounds.",
            {"accuracy": accuracy},
        )
    return smallest(lambda people: people > 0 and proved(people), start=1)


def _say_what_is_proved(mechanism: AttributeWeights, asked: _Asked, spend: Bound, wanted: PartialOptions) -> None:
    """Warn, from public facts, where the theorem says nothing: about the steps that run, or none that could.

    By default the model follows by replay, which the theorem does not cover, so that it is read for the safe steps that
    the same spend buys; where even these are not covered, by weights or a partition, nothing is said of the default.
    """
    people, candidates = mechanism.people, asked.candidates
    if wanted.step == "maxent":
        if asked.covered:
            ways = [(way, wanted.rounds_or(way.best(people, candidates))) for way in asked.ways(spend)]
            say_of_rounds(
                min(way.error(rounds, people, candidates) for way, rounds in ways),
                lambda: fewest(way.needed(wanted, candidates) for way, _ in ways),
                people,
                "Write method='auto', or spend more.",
            )
        return
    error = mechanism.proved_error()
    if error is None:
        said = (
            "Nothing is proved about this error: the theorem needs one weight for all attributes, selection='exact', "
            "output='average', and a step of at most 4 over `together` (so the printed 1/2 for 8 queries at most)."
        )
    elif error >= 1:
        said = (
            f"The error that is proved, {error:.2g}, is above 1, so it says nothing about shares at "
            f"{mechanism.people} people and {mechanism.rounds} rounds; people_needed(workload, spend, accuracy) says "
            "how many people the theorem asks for."
        )
    else:
        return
    warn(said + " The promise holds all the same.")


@dataclass(frozen=True)
class _Asked:
    """What a workload and options ask for, whatever is spent on it: its queries, and how a round chooses.

    `shares` are the weights of the attributes, `together` how many queries without a common one a round measures, and
    `exact` says that they are chosen exactly, and not in the parts of a partition.
    """

    candidates: Candidates
    shares: Mapping[str, Fraction]
    together: int
    exact: bool

    @property
    def covered(self) -> bool:
        """Whether the theorem speaks of such rounds: exact choices, and one weight for all attributes."""
        return self.exact and len({share for share in self.shares.values() if share}) == 1

    def ways(self, spend: Bound) -> list[_Rates]:
        """Return what a spend buys in each currency it can be used as."""
        changed = 1 if spend.unit == "attribute" else self.together
        return [_Rates(amount, changed, self.exact) for amount in amounts(spend)]


def _asked(workload: Workload, wanted: PartialOptions) -> _Asked:
    shares = _shares(workload, wanted.weights)
    names = [name for name, share in shares.items() if share > 0]
    seen = _allowed(workload, frozenset(names))
    widest = max(len(seen.space.reads(block.columns)) for block in seen.blocks)
    together = _together(wanted, len(names), max(widest, 1))
    exact = wanted.selection == "exact" or (wanted.selection == "auto" and states(len(names), together) <= MOST_STATES)
    if wanted.selection == "exact" and states(len(names), together) > 16 * MOST_STATES:
        raise DomainTooLarge(
            f"Exact choice among {len(names)} attributes keeps {states(len(names), together)} sums; write "
            "selection='partition', which needs none.",
            method="selection='partition'",
        )
    return _Asked(Candidates(seen), shares, together, exact)


def _partial(people: int, asked: _Asked, spend: Bound, wanted: PartialOptions) -> AttributeWeights:
    candidates, together = asked.candidates, asked.together
    plans = []
    for rates in asked.ways(spend):
        count = wanted.rounds_or(rates.best(people, candidates))
        if wanted.rounds == "auto" and wanted.step == "maxent":
            measured = sum(share > 0 for share in asked.shares.values())
            count = min(count, -(-REPLAYED * measured // together))
        plan = AttributeWeights(
            candidates=candidates,
            people=people,
            rounds=count,
            rates=tuple(sorted((name, rates.of(count) * share) for name, share in asked.shares.items())),
            together=together,
            partition=not asked.exact,
            pure=rates.amount.pure,
            fitting=wanted.fitting(together),
            max_cells=largest_component(candidates, wanted.max_cells),
        )
        plans.append((rates.error(count, people, candidates), plan))
    return min(plans, key=lambda found: found[0])[1]


def _shares(workload: Workload, weights: Mapping[str, Any] | None) -> dict[str, Fraction]:
    shares = dict.fromkeys(sorted(workload.reads), Fraction(1))
    if not shares:
        raise ParameterError("No query of this workload reads a private attribute, so there is nothing to promise.")
    for name, weight in (weights or {}).items():
        if name not in shares:
            raise ParameterError(f"weights= names {name!r}, which no query reads; they read {', '.join(shares)}.")
        shares[name] = at_least_zero(weight, f"the weight of {name}")
        if shares[name] > 1:
            raise ParameterError("Weights of attributes lie between 0 and 1: they are shares of the spend.")
    if max(shares.values()) == 0:
        raise ParameterError("All weights are 0, so nothing may be measured; give some attribute weight 1.")
    return shares


def _allowed(workload: Workload, names: frozenset[str]) -> Workload:
    """Return the queries that may be measured: others would be read for nothing, and must not be."""
    space = workload.space
    kept = tuple(block for block in workload.blocks if frozenset() < space.reads(block.columns) <= names)
    if not kept:
        raise ParameterError(
            "Every query sees an attribute of weight 0, so nothing may be measured; give it some weight, or ask for "
            "queries about the others."
        )
    return Workload(space, kept)


def _together(wanted: PartialOptions, attributes: int, widest: int) -> int:
    if wanted.together != "auto":
        return positive_integer(wanted.together, "together")
    return max(1, attributes // widest)


@dataclass(frozen=True)
class _Rates:
    """The rate that an amount buys a round, when `changed` of the measured queries may move at once."""

    amount: Amount
    changed: int
    exact: bool

    def of(self, rounds: int) -> Fraction:
        """Return the rate of one of so many rounds."""
        c = self.changed
        if self.amount.pure:
            return self.amount.size / (3 * c * rounds)
        return root_down(2 * self.amount.size / ((c * c + c if self.exact else 2 * c) * rounds))

    def best(self, people: int, candidates: Candidates) -> int:
        """Return the number of rounds with the smallest proved error."""
        bounds = {n: self.error(n, people, candidates) for n in range(1, MOST_ROUNDS + 1)}
        return min(bounds, key=lambda n: bounds[n])

    def error(self, rounds: int, people: int, candidates: Candidates) -> float:
        """Return the proved error of so many rounds."""
        return error_bound(self.of(rounds), rounds, people, candidates, pure=self.amount.pure)

    def needed(self, wanted: PartialOptions, candidates: Candidates) -> int | None:
        """Return from how many people on the proved error of safe steps is below 1."""
        tried = ROUNDS_TRIED if wanted.rounds == "auto" else (wanted.rounds,)
        parts = (bound_parts(self.of(rounds), rounds, candidates, pure=self.amount.pure) for rounds in tried)
        return fewest(people_from(*found) for found in parts)


METHODS.add("pdp-mwem", pdp_mwem)
