"""Figures 5.2 and 5.3 of the thesis again: relative entropy against epsilon, multiplicative weights and the baseline.

python -m bench.mwem_figures [runs]

Writes docs/pictures/mwem-small.svg and, if SFUMATO_NLTCS names the table, docs/pictures/mwem-nltcs.svg; prints a table.
nltcs, whose domain is a thousand times larger, gets a quarter of the runs, at least five.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tests.papers.query_release.weights.published import Published, nltcs, published

from sfumato import REPLACE_ONE, Noise, Pure
from sfumato.model.base import Model
from sfumato.papers.query_release.weights import Barak, Candidates, Options, plan_rounds
from sfumato.show.pictures import Line, Panel, picture

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
SMALL = {"mildew": (0.5, 1, 2, 5), "rochdale": (0.1, 0.2, 0.5, 1, 2), "czech": (0.1, 0.2, 0.5, 1, 2)}
WIDE = {2: (0.02, 0.05, 0.1, 0.5, 1), 3: (0.1, 0.5, 1, 2)}
Way = Callable[[Noise], Model]


def baseline(table: Published, epsilon: float) -> Way:
    plan = Barak(table.workload, REPLACE_ONE, table.people)
    noisy = plan.mechanism(Pure(epsilon), table.workload.reads)
    exact = plan.read(table.records)
    return lambda noise: plan.model(noisy(exact, noise), noisy)


def rounds(table: Published, epsilon: float, options: Options) -> Way:
    mechanism = plan_rounds(
        Candidates(table.workload),
        Pure(epsilon),
        people=table.people,
        counted=True,
        relation=REPLACE_ONE,
        reads=table.workload.reads,
        options=options,
    )
    return lambda noise: mechanism.model_of(mechanism(table.records, noise))


def ways(table: Published, epsilon: float, wide: bool) -> dict[str, Way]:
    plain = Options(rounds=10, replay="none", split="1/2", output="average", step=0.5)  # type: ignore[arg-type]
    found = {"Barak": baseline(table, epsilon)}
    if wide:
        fixed = Options(rounds=30, replay="none", split="1/2")  # type: ignore[arg-type]
        found["MWEM, 30 rounds"] = rounds(table, epsilon, fixed)
    else:
        found["MWEM, repaired"] = rounds(table, epsilon, plain)
    return {**found, "improved": rounds(table, epsilon, Options())}


def measured(table: Published, epsilon: float, runs: int, wide: bool) -> dict[str, float]:
    seeds = range(runs)
    return {
        name: float(np.mean([table.relative_entropy(way(Noise(insecure_seed=seed))) for seed in seeds]))
        for name, way in ways(table, epsilon, wide).items()
    }


def panel(title: str, table: Published, epsilons: tuple[float, ...], runs: int, wide: bool = False) -> Panel:
    rows = [measured(table, epsilon, runs, wide) for epsilon in epsilons]
    for epsilon, row in zip(epsilons, rows, strict=True):
        print(f"| {title} | {epsilon:g} | " + " | ".join(f"{name} {value:.3f}" for name, value in row.items()) + " |")
    sys.stdout.flush()
    lines = tuple(
        Line(name, list(epsilons), [row[name] for row in rows], style)
        for name, style in zip(rows[0], ("claim", "other", "measure"), strict=True)
    )
    return Panel(f"epsilon ({title})", "relative entropy (nats)", lines, log_x=True, log_y=True)


def main(runs: int = 20) -> None:
    panels = [panel(name, published(name), epsilons, runs) for name, epsilons in SMALL.items()]
    picture("Relative entropy of three small tables against epsilon", panels).save(PICTURES / "mwem-small.svg")
    tables = {degree: nltcs(degree) for degree in WIDE}
    if any(table is None for table in tables.values()):
        print("nltcs was skipped: set SFUMATO_NLTCS to the file that holds it.")
        return
    panels = [
        panel(f"nltcs, parities of degree {degree}", table, WIDE[degree], max(5, runs // 4), wide=True)
        for degree, table in tables.items()
        if table is not None
    ]
    picture("Relative entropy of nltcs against epsilon", panels).save(PICTURES / "mwem-nltcs.svg")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
