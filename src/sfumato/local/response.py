"""Randomized response over a short list of answers, and over a bounded number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sfumato.exact import positive_integer
from sfumato.local.oracle import Counts, Oracle, Tally, TallyReader, support_deviation
from sfumato.noise import Noise
from sfumato.privacy import Pure
from sfumato.privacy.coins import noise_weight, report_epsilon


@dataclass(frozen=True, kw_only=True)
class Response(Oracle):
    """Randomized response: say your own answer, or with the chance of noise any of the `answers` at random.

    Promise: pure epsilon = log(1 + answers·(1-c)/c). Binary randomized response is `answers=2`. Best for lists of
    fewer than about 3·e^epsilon + 2 answers. Spec: BERN-EXACT (randomized response).
    """

    spec: ClassVar[str] = "BERN-EXACT"
    kind: ClassVar[str] = "response"

    answers: int

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_integer(self.answers, "answers")

    @property
    def outcomes(self) -> int:
        """One for each answer."""
        return self.answers

    @property
    def spread(self) -> int:
        """One answer speaks for each item."""
        return self.answers

    def shape(self) -> dict[str, int]:
        """Return the number of answers."""
        return {"answers": self.answers}

    def place(self, point: int, drawn: int) -> int:
        """Say the answer."""
        return int(point)

    def place_many(self, points: Any, drawn: Tally) -> Tally:
        """Say the answers."""
        return np.asarray(points, dtype=np.int64)

    def reader(self, tally: Tally) -> ResponseReader:
        """Return the counts with the expected noise taken away."""
        return ResponseReader(self, np.asarray(tally))

    def deviation(self, reports: float, count: float = 0) -> float:
        """Return the exact standard error."""
        inside = float(self.chance) / self.answers
        return support_deviation(reports, count, own=inside + self.signal, inside=inside)


@dataclass(frozen=True)
class ResponseReader(TallyReader):
    """The counts of a randomized response."""

    oracle: Response

    def counts(self, points: Any = None) -> Counts:
        """Return the estimates of these answers, by default of all."""
        heard = self.tally if points is None else self.tally[np.asarray(points, dtype=np.int64)]
        noise = self.reports * float(self.oracle.chance) / self.oracle.answers
        return np.asarray((heard - noise) / self.oracle.signal, dtype=np.float64)

    def errors(self, points: Any, counts: Counts) -> Counts:
        """Return the standard errors."""
        held = np.clip(counts, 0, self.reports)
        return np.array([self.oracle.deviation(self.reports, count) for count in held.tolist()], dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class MeanResponse(Response):
    """One bit about a bounded number: it is rounded to one of its ends at random, then randomized response follows.

    A point is a whole number from 0 to `steps`. The chance of a 1 is c/2 + (1-c)·point/steps, so the reports of the
    two ends differ most, by the ratio e^epsilon of binary randomized response. Unbiased for every number.
    """

    kind: ClassVar[str] = "mean"

    answers: int = 2
    steps: int

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_integer(self.steps, "steps")

    def shape(self) -> dict[str, int]:
        """Return the number of steps."""
        return {"steps": self.steps}

    def deviation(self, reports: float, count: float = 0) -> float:
        """Return the largest standard error, over all populations, of a sum of numbers that is `count` whole ranges.

        Rounding and response are both drawn by the device. For one chance of a 1 in the mean, the ones vary most where
        every device has that chance.
        """
        share = min(max(count / reports, 0.0), 1.0)
        chance = float(self.chance) / 2 + self.signal * share
        return math.sqrt(reports * chance * (1 - chance)) / self.signal

    def worst_error(self, reports: float) -> float:
        """Return the largest standard error of a mean, as a part of the range: that of numbers in its middle."""
        return self.deviation(reports, reports / 2) / reports

    def mix(self, point: Any, drawn: int, noise: Noise) -> int:
        """Round at random before the response."""
        up = noise.bernoulli(Fraction(0 if point is None else int(point), self.steps))
        return super().mix(None if point is None else int(up), drawn, noise)

    def mix_many(self, points: Any, fits: Any, drawn: Tally, noise: Noise) -> Tally:
        """Round many at random before the response."""
        numbers = points(np.arange(len(drawn))) if callable(points) else np.asarray(points)
        rounded = (noise.uniform(self.steps, len(drawn)) < numbers).astype(np.int64)
        return super().mix_many(rounded, fits, drawn, noise)


def response(spend: Pure, answers: int = 2) -> Response:
    """Return randomized response for a spend; two answers make the classical one.

    >>> from sfumato import Pure
    >>> float(response(Pure(1), 2).odds) <= 2.718281828459046
    True
    """
    count = positive_integer(answers, "answers")
    return Response(weight=noise_weight(report_epsilon(spend), count), answers=count)


def mean_response(spend: Pure, steps: int) -> MeanResponse:
    """Return the response for a number on a grid of `steps` steps.

    >>> from sfumato import Noise, Pure
    >>> oracle = mean_response(Pure(2), steps=10)
    >>> reports = oracle.run_many(np.full(10_000, 7), Noise(insecure_seed=1))
    >>> ones = oracle.reader(oracle.tally(reports)).counts([1])
    >>> f"{10 * ones[0] / 10_000:.1f}"
    '7.0'
    """
    return MeanResponse(weight=noise_weight(report_epsilon(spend), 2), steps=positive_integer(steps, "steps"))
