"""What stated rank errors are worth, and what measuring them costs: python -m bench.quantile_errors

Six made-up tables of 1,000 rows, deciles, pure differential privacy: the mean rank error with the whole spend and with
the measured share taken off, the 95th percentile of the largest error, the median of what is stated at 95 %, how often
it holds, and the bound for the worst data that was stated before. A bar (MD-QBAR): the statement is at most the larger
of three times that percentile and t + 15, where t is what the noise of the measurement adds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato import Noise, Pure, Schema, domain
from sfumato.answer import one_sided_width
from sfumato.questions import Quantiles
from sfumato.table.gauge import Basis
from sfumato.totals.rank_error import MeasuredCuts

DECILES = tuple(Fraction(tenth, 10) for tenth in range(1, 10))
ROWS = 1000
LEVEL = Fraction(95, 100)


def tables() -> Iterator[tuple[str, int, Any]]:
    """Yield a name, the largest value and the sorted values of each table."""
    draw = np.random.default_rng(7)
    yield "timestamps of 2^62", 2**62 - 1, np.sort(draw.integers(2**60, 2**60 + 2**45, ROWS))
    salaries = np.exp(draw.normal(10.4, 0.5, ROWS)).astype(np.int64)
    yield "salaries, spikes", 10**9, np.sort(np.where(draw.random(ROWS) < 0.6, salaries // 5000 * 5000, salaries))
    yield "limits, spiky", 10**6, np.sort(draw.choice([10, 20, 30, 50, 80, 100, 200, 500], ROWS) * 1000)
    yield "bills", 10**8, np.sort(np.exp(draw.normal(9, 1.2, ROWS)).astype(np.int64))
    yield "all equal", 10**9, np.full(ROWS, 4_242)
    yield "two ends", 10**9, np.sort(np.repeat([0, 10**9], ROWS // 2))


@dataclass(frozen=True)
class Row:
    """What was seen of one table at one epsilon."""

    name: str
    epsilon: str
    before: float
    now: float
    largest: float
    stated: float
    covered: float
    worst_case: int
    margin: int

    @property
    def bar(self) -> float:
        """The most that may be stated."""
        return max(3 * self.largest, self.margin + 15)


def off(values: Any, cuts: Any) -> list[float]:
    """Return how many rows each cut is off its rank."""
    below, upto = np.searchsorted(values, cuts, "left"), np.searchsorted(values, cuts, "right")
    return [
        max(0.0, low - float(p) * ROWS, float(p) * ROWS - high)
        for low, high, p in zip(below, upto, DECILES, strict=True)
    ]


def seen(name: str, top: int, values: Any, epsilon: str, runs: int) -> Row:
    """Draw often with and without a measurement."""
    basis = Basis(Schema({"x": domain.integers(0, top)}), ROWS)
    exact = np.unique(values, return_counts=True)
    errors, stated, held, largest = {True: [], False: []}, [], 0, []
    margin = 0
    for measured in (False, True):
        question = Quantiles("x", DECILES, measured=measured)
        prepared = question.prepare(basis, Pure(epsilon))
        noise = Noise(insecure_seed=11)
        for _ in range(runs):
            released = prepared.finish(prepared.mechanism.run(exact, noise))
            each = off(values, released.part("code").released)
            errors[measured].append(np.mean(each))
            (said,) = set(question.interval(released, LEVEL)["rank error"])
            if measured:
                stated.append(said)
                largest.append(max(each))
                held += max(each) <= said
            else:
                worst = said
        if isinstance(prepared.mechanism, MeasuredCuts):
            margin = one_sided_width(prepared.mechanism.error.law, LEVEL)
    return Row(
        name,
        epsilon,
        float(np.mean(errors[False])),
        float(np.mean(errors[True])),
        float(np.quantile(largest, 0.95)),
        float(np.median(stated)),
        held / runs,
        worst,
        margin,
    )


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=400)
    options.add_argument("--epsilon", nargs="*", default=["1", "0.3", "0.1"])
    given = options.parse_args()
    titles = ("table", "epsilon", "mean error, whole spend → measured", "ratio", "95 % of the largest", "stated", "bar")
    print(f"| {' | '.join(titles)} | held | stated before |")
    print("|---|---|---|---|---|---|---|---|---|")
    for epsilon in given.epsilon:
        for name, top, values in tables():
            row = seen(name, top, values, epsilon, given.runs)
            ratio = row.now / row.before if row.before else 1.0
            print(
                f"| {name} | {epsilon} | {row.before:.2f} → {row.now:.2f} | {ratio:.2f} | {row.largest:.0f} | "
                f"{row.stated:.0f} | {row.bar:.0f} | {row.covered:.3f} | {row.worst_case} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
