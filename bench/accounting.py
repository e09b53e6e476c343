"""What a fixed list of releases costs, beside the exact value where one is known and beside dp_accounting.

    python -m bench.accounting [--write docs/benchmarks.md]

The peer runs in its own environment with its pessimistic connect-the-dots distributions at an interval of 1e-4. All
numbers are of CPU time of one process, first time, with nothing kept from before. The exact values are floats, right to
about nine digits. A mixture holds so many sampled releases, a tenth of that of RR(0.05), and of noise of deviation 20.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from bench import environments
from sfumato.privacy import ADD_REMOVE, Approximate, Cost, Loss, fixed_list, loss_distribution, subsample_loss
from sfumato.privacy.filters import filter_of
from sfumato.privacy.fixed_list import FixedList
from sfumato.privacy.pairs import GaussPair, Pair, SampledGauss, TwoPoint

PEER = Path(__file__).parent / "peers" / "dp_accounting_lists.py"
PACKAGES = ["dp-accounting==0.6.0"]
COUNTS = (1, 10, 100, 1000)
TITLE = "## Lists of releases (`bench.accounting`)"


@dataclass(frozen=True)
class Row:
    """One list: a release, how often, at which delta."""

    kind: str
    parameter: float
    count: int
    delta: str = "1e-6"
    rate: str = "1"

    @property
    def parts(self) -> list[tuple[int, Pair]]:
        """What the list holds; for a mixture a tenth of pure releases and of Gaussian ones beside its samples."""
        if self.kind == "mixture":
            tenth = self.count // 10
            return [
                (self.count, SampledGauss(1 / Fraction(str(self.parameter)) ** 2, Fraction(self.rate), ADD_REMOVE)),
                (tenth, TwoPoint(Fraction("0.05"))),
                (tenth, GaussPair(Fraction(1, 400))),
            ]
        return [(self.count, self.pair)]

    @property
    def pair(self) -> Pair:
        """What dominates the release; noise of deviation `parameter`, pure releases of that epsilon."""
        number = Fraction(str(self.parameter))
        match self.kind:
            case "gaussian":
                return GaussPair(1 / number**2)
            case "sampled":
                return SampledGauss(1 / number**2, Fraction(self.rate), ADD_REMOVE)
            case "fixed size":
                return SampledGauss(1 / number**2, Fraction(self.rate))
        return TwoPoint(number)

    @property
    def asked(self) -> list[object]:
        """The row as the peer takes it; randomized response by the probability of a uniform answer."""
        parameter = self.parameter
        if self.kind == "randomized response":
            parameter = 2 / (1 + math.exp(self.parameter))
        return [self.kind, parameter, float(Fraction(self.rate)), self.count, float(self.delta)]

    def exact(self) -> float | None:
        """Return the true epsilon where a formula is known."""
        delta = float(self.delta)
        if self.kind == "gaussian":
            return _solve(lambda e: _gaussian(self.count / self.parameter**2, e), delta)
        if self.kind in ("randomized response", "discrete laplace"):
            return _solve(lambda e: _responses(self.parameter, self.count, e), delta)
        return None


def _gaussian(m: float, epsilon: float) -> float:
    mu = math.sqrt(m)
    near, far = (epsilon / mu - mu / 2) / math.sqrt(2), (epsilon / mu + mu / 2) / math.sqrt(2)
    return math.erfc(near) / 2 - math.exp(epsilon) * math.erfc(far) / 2


def _responses(loss: float, count: int, epsilon: float) -> float:
    total = 0.0
    for yes in range(count + 1):
        at = loss * (2 * yes - count)
        if at > epsilon:
            chance = math.lgamma(count + 1) - math.lgamma(yes + 1) - math.lgamma(count - yes + 1)
            chance -= yes * math.log1p(math.exp(-loss)) + (count - yes) * math.log1p(math.exp(loss))
            total -= math.exp(chance) * math.expm1(epsilon - at)
    return total


def _solve(delta_at: object, delta: float) -> float:
    assert callable(delta_at)
    low, high = 0.0, 1.0
    while delta_at(high) > delta:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
    return high


ROWS = [
    *(Row("gaussian", 10, count) for count in COUNTS),
    *(Row("randomized response", 0.1, count) for count in COUNTS),
    *(Row("discrete laplace", 0.05, count) for count in COUNTS),
    *(Row("sampled", 4, count, rate="1/10") for count in COUNTS),
    *(Row("sampled", 1, count, rate="1/100") for count in COUNTS),
    Row("sampled", 0.8, 1000, "1e-9", "4/1000"),
    *(Row("mixture", 1, count, rate="1/100") for count in COUNTS[1:]),
    Row("fixed size", 4, 100, rate="1/10"),
    Row("fixed size", 1, 1000, rate="1/100"),
]


def ours(row: Row) -> tuple[float, float]:
    """Return epsilon and the seconds that it took."""
    fixed_list._composed.cache_clear()
    loss_distribution._halves.cache_clear()
    start = time.process_time()
    epsilon = float(FixedList.of(row.parts).epsilon(Fraction(row.delta)))
    return epsilon, time.process_time() - start


def table() -> str:
    """Return the comparison as Markdown."""
    both = [row for row in ROWS if row.kind != "fixed size"]
    peer = environments.run("dp_accounting", PACKAGES, PEER, json.dumps([row.asked for row in both]))
    theirs = dict(zip(both, peer["rows"], strict=True))
    lines = [
        f"dp_accounting {peer['version']}, connect-the-dots, interval 1e-4, its pessimistic value; CPU seconds.",
        "",
        "| release | times | delta | exact | sfumato | over exact | dp_accounting | over it | seconds | theirs |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in ROWS:
        epsilon, seconds = ours(row)
        exact, other = row.exact(), theirs.get(row)
        rate = "" if row.rate == "1" else f", rate {row.rate}"
        lines.append(
            f"| {row.kind} {row.parameter:g}{rate} | {row.count} | {row.delta} | "
            + (f"{exact:.6f}" if exact else "–")
            + f" | {epsilon:.6f} | "
            + (f"{round(100 * (epsilon / exact - 1), 4) + 0.0:+.4f} %" if exact else "–")
            + (f" | {other['epsilon']:.6f} | {100 * (epsilon / other['epsilon'] - 1):+.3f} %" if other else " | – | –")
            + f" | {seconds:.2f} | "
            + (f"{other['seconds']:.2f} |" if other else "– |")
        )
    return "\n".join(lines)


def steps() -> str:
    """Return how many sampled steps fit one by one, at the order that carries most of them."""
    lines = ["", "Sampled steps of a fixed size that fit (3, 1e-6) one by one, by the best order:", ""]
    for m, population in (("1", 100), ("1/16", 10)):
        cost = subsample_loss(Loss.flat(Cost.gaussian(m)), population, 1, "without_replacement").person
        best = max(_fitting(cost, order) for order in range(2, 33))
        lines.append(f"- (distance/deviation)² = {m}, rate 1/{population}: {best[0]} at order {best[1]}")
    return "\n".join(lines)


def _fitting(cost: Cost, order: int) -> tuple[int, int]:
    gate = filter_of(Approximate(3, "1e-6", leaks="5e-8", routes=[(order, 1)]))
    meters = [meter for meter in gate.routes if meter.kind == "tau"]
    return (int(meters[0].ceiling // cost.tau(order)) if meters else 0), order


def main() -> None:
    """Print the tables, and write them where the results are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    place = parser.parse_args().write
    text = table() + "\n" + steps()
    print(text)
    if place is not None:
        write(place, TITLE, text)


def write(place: Path, title: str, text: str) -> None:
    """Put a section where the results are kept, in place of the last one of its title."""
    whole = place.read_text(encoding="utf-8")
    before, _, after = whole.partition(title)
    rest = after.partition("\n## ")[2]
    place.write_text(f"{before.rstrip()}\n\n{title}\n\n{text}\n" + (f"\n## {rest}" if rest else ""), encoding="utf-8")


if __name__ == "__main__":
    main()
