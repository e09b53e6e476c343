"""A dozen small questions on 10^5 rows, each with its durable commit: wall and CPU time, median of several snapshots.

python -m bench.questions
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow

import sfumato as sf
from sfumato import Approximate, Concentrated, Count, GroupBy, Histogram, Mean, Pure, Quantiles, Sum, Variance
from sfumato.privacy import Bound
from sfumato.questions import Question

ROWS = 100_000
ROUNDS = 5
BAR = 0.050

SCHEMA = sf.Schema(
    {
        "age": sf.integers(17, 90, missing=17),
        "sex": sf.categories("Female", "Male", missing="Female"),
        "hours": sf.integers(1, 99, missing=1),
        "gain": sf.fixed(0, 100_000, step="0.01", missing=0),
        "country": sf.categories(*(f"country {place}" for place in range(40)), missing="country 0"),
        "city": sf.text(max_bytes=20, missing=""),
    }
)

QUESTIONS: list[tuple[str, Question, Bound]] = [
    ("count", Count("age > 40"), Pure("0.01")),
    ("count of two conditions", Count("age > 40 AND sex = 'Female'"), Concentrated("0.001")),
    ("sum", Sum("gain"), Pure("0.05")),
    ("mean", Mean("hours"), Pure("0.02")),
    ("mean under a filter", Mean("hours", "sex = 'Female'"), Pure("0.04")),
    ("mean under a filter, (eps, delta)", Mean("hours", "sex = 'Male'"), Approximate("0.04", 1e-7)),
    ("variance", Variance("age"), Pure("0.04")),
    ("histogram of 74 ages", Histogram("age"), Pure("0.02")),
    ("histogram of 80 cells", Histogram(["sex", "country"]), Concentrated("0.001")),
    ("cities found in the data", Histogram("city", keys="private"), Approximate("0.1", 1e-7)),
    ("quartiles", Quantiles("age"), Pure("0.03")),
    ("means by country", GroupBy("country", [Count(), Mean("hours")]), Pure("0.05")),
]


def people(seed: int = 1) -> pyarrow.Table:
    draw = np.random.default_rng(seed)
    return pyarrow.table(
        {
            "age": draw.integers(17, 91, ROWS),
            "sex": np.array(["Female", "Male"])[draw.integers(0, 2, ROWS)],
            "hours": draw.integers(1, 100, ROWS),
            "gain": np.round(draw.exponential(1_000, ROWS), 2),
            "country": np.array([f"country {place}" for place in range(40)])[draw.integers(0, 40, ROWS)],
            "city": np.array([f"city {place}" for place in range(500)])[draw.integers(0, 500, ROWS)],
        }
    )


def timed(work: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    rows = people()
    walls: dict[str, list[float]] = {name: [] for name, _, _ in QUESTIONS}
    processor: dict[str, list[float]] = {name: [] for name, _, _ in QUESTIONS}
    with tempfile.TemporaryDirectory() as folder:
        budget = sf.Budget(Approximate(50, 1e-3), each_attribute=Approximate(30, 1e-3))
        for turn in range(ROUNDS):
            with sf.curate(
                rows, SCHEMA, budget if not turn else None, ledger=Path(folder) / "people.ledger", snapshot=f"{turn}"
            ) as curator:
                for name, question, spend in QUESTIONS:
                    wall, cpu = timed(lambda q=question, s=spend: curator.ask(q, s))  # type: ignore[misc]
                    walls[name].append(wall)
                    processor[name].append(cpu)
    print(f"{ROWS:,} rows, SQLite on disk, {ROUNDS} rounds; the first one builds tables of noise\n")
    print(f"{'question':36s} {'median ms':>10s} {'cpu ms':>8s} {'first ms':>9s}  under {BAR * 1000:.0f} ms")
    for name, taken in walls.items():
        median = statistics.median(taken)
        cpu = statistics.median(processor[name])
        verdict = "yes" if median < BAR else "NO"
        print(f"{name:36s} {median * 1000:10.1f} {cpu * 1000:8.1f} {taken[0] * 1000:9.1f}  {verdict}")


if __name__ == "__main__":
    main()
