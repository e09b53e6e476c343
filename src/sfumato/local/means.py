"""How sure a mean is: limits that hold for every population, from how many reports said 1 (LO-MEAN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from sfumato.errors import ParameterError
from sfumato.exact import Number, between_zero_and_one
from sfumato.local.popular import MeanEstimate
from sfumato.local.response import MeanResponse

if TYPE_CHECKING:
    from sfumato.local.plan import Plan
    from sfumato.local.server import Server


@dataclass(frozen=True)
class Ones:
    """How many of the reports said 1, and what that says about the mean of numbers from `low` to `high`.

    A device says 1 with a chance of its own: its number is rounded to an end at random, and the response may replace
    that. Whatever these chances are, the ones lie no further from their sum than a binomial count of the mean chance
    does (Hoeffding 1956), so the exact binomial limits hold.
    """

    ones: int
    reports: int
    oracle: MeanResponse
    low: float
    high: float

    @property
    def _inside(self) -> float:
        """The chance of a 1 where everybody holds the lower end; with the upper end it is that of a 0."""
        return float(self.oracle.chance) / 2

    def interval(self, confidence: Number) -> tuple[float, float]:
        """Return limits for the mean, within the range of the numbers.

        Fewer ones than the noise alone makes are read as that many, and likewise zeros: the interval only grows by it,
        and is never empty.
        """
        from scipy.special import betaincinv

        part = float(1 - between_zero_and_one(confidence, "confidence")) / 2
        count = self.reports
        said = min(max(float(self.ones), count * self._inside), count * (1 - self._inside))
        lowest = float(betaincinv(said, count - said + 1, part))
        highest = float(betaincinv(said + 1, count - said, 1 - part))
        return self._mean(lowest), self._mean(highest)

    def _mean(self, chance: float) -> float:
        """Return the mean of the numbers at a chance of a 1."""
        return self.low + (self.high - self.low) * min(max((chance - self._inside) / self.oracle.signal, 0.0), 1.0)


def ends(plan: Plan) -> tuple[float, float]:
    """Return the smallest and the largest number of a plan."""
    oracle = mean_oracle(plan)
    return float(plan.items.value(0)), float(plan.items.value(oracle.steps))


def mean_oracle(plan: Plan) -> MeanResponse:
    """Return what a plan for a mean asks its devices."""
    return cast(MeanResponse, plan.method.roles[0].oracle)


def expected_error(plan: Plan) -> float:
    """Return the largest standard error that the mean can have if all users report, in units of the numbers."""
    low, high = ends(plan)
    return (high - low) * mean_oracle(plan).worst_error(plan.users * plan.reports)


def read_mean(server: Server) -> MeanEstimate:
    """Return the mean that the reports of a server say."""
    reports, oracle, (low, high) = server.accepted, mean_oracle(server.plan), ends(server.plan)
    if not reports:
        raise ParameterError("There are no reports, so there is no mean; ingest some first.")
    tally = server.tally(0)
    ones = float(oracle.reader(tally).counts([1])[0])
    error = oracle.deviation(reports, ones) / reports
    known = Ones(int(tally[1]), reports, oracle, low, high)
    return MeanEstimate(low + (high - low) * ones / reports, (high - low) * error, known)
