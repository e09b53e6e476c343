"""Private multiplicative weights against noise on every query, at the same spend: `python -m bench.conversation`.

    python -m bench.conversation [queries] [seeds]

Simulated people over 2^16 cells, 100,000 random ranges and conjunctions. Both sides answer the same queries in one
run: the conversation, and discrete Gaussian (or, for a pure spend, Laplace) noise calibrated to all queries at once.
Each seed draws people, queries and noise anew; "largest" is the largest error over all seeds, the rest are means.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow

from sfumato import Approximate, Budget, Ledger, Noise, Pure, Schema
from sfumato.domain import integers
from sfumato.perturb import calibrate
from sfumato.privacy import Bound
from sfumato.questions.conversation import Box, open_conversation
from sfumato.questions.conversation.tables import QuickSums
from sfumato.table.data import open_table
from sfumato.table.gauge import Basis
from sfumato.table.measure import Rows
from sfumato.workload.records import Records

OUT = Path("out/bench-conversation.md")
HEAD = (
    "| domain | people | spend | answered by the model | corrections of paid | bound | largest error | mean error "
    "| noise on each: largest | CPU µs a query | opening, CPU s | seeds |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def grid(people: int, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two numbers of 256 values, in four groups of people."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 4, people)
    first = np.clip(random.normal(60 + 45 * group, 12), 0, 255).astype(int)
    second = np.clip(random.gamma(2, 20, people) + 15 * group, 0, 255).astype(int)
    return {"a": first, "b": second}, {"a": integers(0, 255, missing=0), "b": integers(0, 255, missing=0)}


def four(people: int, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Four columns of 16 values that depend on a hidden group."""
    random = np.random.default_rng(seed)
    group, centres = random.integers(0, 5, people), random.uniform(2, 13, (5, 4))
    columns = {f"c{place}": np.clip(random.normal(centres[group, place], 2.5), 0, 15).astype(int) for place in range(4)}
    return columns, dict.fromkeys(columns, integers(0, 15, missing=0))


def bits(people: int, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Sixteen bits that depend on a hidden group; ranges of one to three of them are mostly conjunctions."""
    random = np.random.default_rng(seed)
    group, chances = random.integers(0, 4, people), random.uniform(0.1, 0.9, (4, 16))
    columns = {f"b{place}": (random.random(people) < chances[group, place]).astype(int) for place in range(16)}
    return columns, dict.fromkeys(columns, integers(0, 1, missing=0))


DOMAINS = {"256 × 256": grid, "16^4": four, "2^16": bits}


def boxes(sizes: dict[str, int], count: int, seed: int) -> list[Box]:
    """Random ranges of one to three columns; a third of the ranges are single values."""
    random = np.random.default_rng(seed)
    names = list(sizes)
    found = []
    for _ in range(count):
        chosen = sorted(random.choice(len(names), random.integers(1, min(3, len(names)) + 1), replace=False))
        columns = tuple(names[place] for place in chosen)
        ends = [sorted(random.integers(0, sizes[name], 2).tolist()) for name in columns]
        ends = [[low, low] if random.random() < 1 / 3 else [low, high] for low, high in ends]
        found.append(Box(columns, tuple(low for low, _ in ends), tuple(high + 1 for _, high in ends)))
    return found


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of both sides showed."""

    from_model: float
    corrected: int
    updates: int
    bound: float
    largest: float
    mean: float
    noise: float
    microseconds: float
    opening: float


def measure(kind: str, people: int, count: int, spend: Bound, seed: int) -> Run:
    """Run both sides once."""
    columns, domains = DOMAINS[kind](people, seed)
    schema = Schema(domains)
    queries = boxes({name: domain.size for name, domain in domains.items()}, count, seed)
    with open_table(pyarrow.table(columns), schema) as table:
        setting = Basis(schema, table.people)
        # A ledger keeps a part of its delta for composing, so its limit is above the one spend.
        limit = Approximate(2 * spend.epsilon, 4 * spend.delta) if isinstance(spend, Approximate) else spend
        start = time.process_time()
        talk = open_conversation(table, Ledger(None, Budget(person=limit)), setting, queries=count, spend=spend)
        opened = time.process_time()
        replies = talk.ask_all(queries)
        ended = time.process_time()
        records = Records.of(talk._space, Rows(talk._space.names).query(table.view(talk._space.names)))
    exact = QuickSums(talk._space, records.table).of(queries)
    missed = np.abs(np.array([reply.value for reply in replies]) - exact / people)
    direct = calibrate(spend, l1=count, l2_squared=count, largest=1, draws=count)
    noisy = np.abs(direct(exact, Noise()) - exact).max() / people
    progress, plan = talk.progress, talk.plan
    return Run(
        progress.from_model,
        progress.corrected,
        plan.updates,
        plan.error,
        float(missed.max()),
        float(missed.mean()),
        float(noisy),
        (ended - opened) / count * 1e6,
        opened - start,
    )


def row(kind: str, people: int, spend: Bound, runs: list[Run]) -> str:
    """Show the runs of one setting as a row of the table."""

    def mean(name: str) -> float:
        return float(np.mean([getattr(run, name) for run in runs]))

    return (
        f"| {kind} | {people:,} | {spend!r} | {mean('from_model'):.2%} | {mean('corrected'):.0f} of {runs[0].updates} "
        f"| {runs[0].bound:.4f} | {max(run.largest for run in runs):.4f} | {mean('mean'):.4f} "
        f"| {max(run.noise for run in runs):.4f} | {mean('microseconds'):.0f} | {mean('opening'):.1f} | {len(runs)} |"
    )


def main(count: int = 100_000, seeds: int = 5) -> None:
    """Print the table, row by row, and write it."""
    rows = [HEAD]
    print(HEAD)
    for kind in DOMAINS:
        for people in (100_000, 1_000_000):
            for spend in (Approximate(1, 1e-9), Pure(1)):
                rows.append(
                    row(kind, people, spend, [measure(kind, people, count, spend, 7 + k) for k in range(seeds)])
                )
                print(rows[-1], flush=True)
    OUT.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
