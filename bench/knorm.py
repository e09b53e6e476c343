"""K-norm against Laplace and the floor on random ±1 workloads: `python -m bench.knorm`.

Prints, in units of 1/epsilon, the mean length of the error at epsilon = 1/20 under add-remove neighbours, averaged over
workloads drawn with five seeds; and for the largest workload what each exact method reaches.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction

import numpy as np

from sfumato import ADD_REMOVE, Noise, Pure
from sfumato.papers.query_release.geometry import choose_additive

SIZES = ((1, 2), (2, 8), (3, 50), (4, 100), (5, 200), (6, 200), (7, 200), (12, 200))
EPSILON = Fraction(1, 20)


def workload(queries: int, cells: int, seed: int) -> np.ndarray:
    return 2 * Noise(insecure_seed=seed).uniform(2, queries * cells).reshape(queries, cells) - 1


def measure(queries: int, cells: int, seeds: range) -> dict[str, float]:
    rows = []
    for seed in seeds:
        start = time.process_time()
        choice = choose_additive(workload(queries, cells, seed), Pure(EPSILON), relation=ADD_REMOVE)
        planned = time.process_time() - start
        start = time.process_time()
        choice.mechanism(np.zeros(queries, dtype=np.int64), Noise(insecure_seed=seed))
        row = {candidate.method: candidate.predicted.mean * float(EPSILON) for candidate in choice.candidates}
        row |= {"floor": choice.floor.smooth * float(EPSILON), "plan_s": planned}
        row |= {"draw_ms": 1000 * (time.process_time() - start), "best": choice.best.predicted.mean * float(EPSILON)}
        rows.append(row)
    names = [name for name in rows[0] if all(name in row for row in rows)]
    return {name: float(np.mean([row[name] for row in rows])) for name in names}


def main(seeds: int = 5) -> None:
    head = (
        "d",
        "N",
        "knorm",
        "box",
        "ellipsoid",
        "laplace",
        "floor",
        "best/floor",
        "laplace/best",
        "plan s",
        "draw ms",
    )
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for queries, cells in SIZES:
        found = measure(queries, cells, range(1, seeds + 1))
        shown = [found.get(name) for name in ("knorm", "box", "ellipsoid", "laplace", "floor")]
        ratios = [found["best"] / found["floor"], found["laplace"] / found["best"]]
        cells_text = ["–" if value is None else f"{value:.2f}" for value in [*shown, *ratios]]
        times = [f"{found['plan_s']:.2f}", f"{found['draw_ms']:.1f}"]
        print("| " + " | ".join([str(queries), str(cells), *cells_text, *times]) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
