"""What everybody may know before a distribution is asked for, and the knots that come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from sfumato.answer import NoisyPart, Released
from sfumato.domain.base import Domain
from sfumato.domain.derived import Derived
from sfumato.domain.labels import Categories
from sfumato.errors import SchemaError, UnsupportedSpend
from sfumato.mechanism import Mechanism
from sfumato.noise import Priced
from sfumato.privacy import Approximate, Bound, Concentrated, Pure, Truncated
from sfumato.privacy.calibrate import concentrated_within
from sfumato.privacy.gaussian import gaussian_m
from sfumato.table.gauge import Basis, Gauge
from sfumato.table.measure import Ordered
from sfumato.table.predicate import Predicate, every, is_present
from sfumato.totals.noisy import Moves

FAILURE = Fraction(1, 20)
"""Errors are predicted, and methods compared, for 95 %."""
ASSUMED_ROWS = 10_000
"""What a plan is made for where the number of rows is private; only how good the answer is depends on it."""
MOST_ROWS = 2**40
"""No table has more rows; where their number is private, bands count with this."""


@dataclass(frozen=True)
class DistributionFacts:
    """The public facts of one question: column, condition, domain, who moves what, how many rows there may be.

    The condition says of a column with missing cells that they are left out.
    """

    gauge: Gauge
    column: str
    domain: Domain
    moves: Moves

    @classmethod
    def of(cls, basis: Basis, column: str, where: Predicate) -> DistributionFacts:
        """Read them off the gauge, and refuse what has no order or costs nothing."""
        domain = basis.schema.domain(column)
        if isinstance(domain, Categories):
            domain.require_order(column, "distribution to read up to a value")
        if domain.size is None:
            raise SchemaError(f"{column!r} holds text, which has no order here; ask for a histogram.")
        if domain.highest == domain.first:
            raise UnsupportedSpend(f"{column!r} has one value only, so nobody moves it; ask for Count().")
        # Missing cells have no place in the order: how many rows are left is then as private as behind a filter.
        gauge = basis.gauge(Ordered(column, every([where, is_present(basis.schema, column)], basis.schema)))
        return cls(gauge, column, domain, Moves.of(gauge))

    @property
    def size(self) -> int:
        """How many codes cells that are there can have."""
        assert self.domain.highest is not None
        return self.domain.highest - self.domain.first + 1

    @property
    def last(self) -> int:
        """The largest code."""
        return self.domain.first + self.size - 1

    @property
    def public_rows(self) -> int | None:
        """The number of rows, where everybody knows it: not where rows are weighed, which may add up to less."""
        return self.gauge.total

    @property
    def rows(self) -> int:
        """How many rows to plan for: as many as there can be, or a guess where even that is private."""
        people = self.gauge.people
        return ASSUMED_ROWS if people is None else max(1, people * self.gauge.rows)

    @property
    def known(self) -> str:
        """How many rows are planned for, in words that say where this is a guess."""
        private = self.gauge.people is None
        return f"{self.rows} rows, a guess because their number is private" if private else f"{self.rows} rows"

    @property
    def most_rows(self) -> int:
        """More rows than there can be."""
        return MOST_ROWS if self.gauge.people is None else self.rows

    @property
    def weight(self) -> int:
        """How many units one person counts at most."""
        return self.gauge.weight


def gaussian_route(facts: DistributionFacts, spend: Bound) -> tuple[DistributionFacts, Bound] | None:
    """Return the bound that Gaussian noise alone may share out of an Approximate spend, exactly (AC-GAUSS).

    Choices cost Rényi divergences, which are converted together with the noise: for them there is `routes`.
    """
    if not isinstance(spend, Approximate) or facts.moves.gaussians == "discrete" or not spend.epsilon:
        return None
    exact = replace(facts, moves=replace(facts.moves, gaussians="rounded"))
    return exact, Concentrated(gaussian_m(spend.epsilon, spend.delta) / 2)


def routes(spend: Bound) -> tuple[Bound, ...]:
    """Return the bounds, each within the spend, that can be shared out: an Approximate one is used in two ways.

    A Truncated spend is used as a Concentrated one: for the few draws of a curve Gaussian noise is as good as any.
    """
    match spend:
        case Approximate():
            return Pure(spend.epsilon), Concentrated(concentrated_within(spend.epsilon, spend.delta))
        case Truncated():
            return (Concentrated(spend.rho, unit=spend.unit),)
    return (spend,)


def share_of(bound: Bound, share: Fraction) -> Bound:
    """Return this share of a bound; shares that add up to 1 add up to the bound."""
    match bound:
        case Pure():
            return Pure(bound.epsilon * share, unit=bound.unit)
        case Concentrated():
            return Concentrated(bound.rho * share, unit=bound.unit)
    raise AssertionError("A spend is shared out by one of its routes.")


class Knot(NamedTuple):
    """A place in the order of codes: the noisy number of units below `edge`, and how many draws are in it."""

    edge: int
    below: int
    draws: int


@dataclass(frozen=True)
class Option:
    """A method made ready: what runs, how what comes out is read, and the error predicted for it, in rows."""

    method: str
    mechanism: Mechanism
    predicted: float
    knots: Callable[[Any], Sequence[Knot]]
    facts: dict[str, Fraction]
    law: Priced | None = None
    beside: Callable[[Any], tuple[NoisyPart, ...]] = lambda raw: ()
    """What was measured beside the knots."""

    def released(self, facts: DistributionFacts, raw: Any, why: str) -> Released:
        """Return what leaves: the knots, from the first code to beyond the last one."""
        knots = self.knots(raw)
        edges, below, draws = zip(*knots, strict=True)
        rows = facts.public_rows
        public = dict(self.facts) if rows is None else {**self.facts, "rows": Fraction(rows)}
        parts = (
            NoisyPart("edge", tuple(edges), None),
            NoisyPart("below", tuple(below), self.law, facts.moves.unit),
            NoisyPart("draws", tuple(draws), None),
            *self.beside(raw),
        )
        made = {"method": self.method, "why": why, "domain": facts.domain.to_json(), "column": facts.column}
        if isinstance(facts.domain, Derived):
            made["base"] = facts.domain.base.to_json()
        return Released(parts, (), ((),), public, made)
