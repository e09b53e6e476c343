"""Frequency oracles: root mean square error over the formula that they state, and the time of a decode.

    python -m bench.local_oracles

Zipf data over d cells. Each error is divided by the standard error that the oracle states for that cell; the root mean
square of these ratios is 1 if the formula is right. Several runs where cells are few.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.local_store import NotMeasured, stored, table
from sfumato import Noise, Pure
from sfumato.exact.transform import walsh_hadamard
from sfumato.local.linear import LinearReader
from sfumato.local.listed import ListEncoder, list_method

FIRST_SEED = 930_000
ORACLES = ("linear", "hadamard", "response")
CELLS = (1 << 10, 1 << 15, 1 << 20)
EPSILONS = (0.5, 1, 2, 3, 4, 5)
WANTED_CELLS = 1 << 14
"""The ratio of the root mean squares has a standard error of about 1/sqrt(2 · cells): half a per cent."""


def run(kind: str, cells: int, epsilon: float, users: int, seed: int) -> tuple[float, float]:
    """Return the sum of squared ratios over all cells, and how many there were."""
    noise = Noise(insecure_seed=seed)
    falling = np.arange(1, cells + 1) ** -1.2
    limits = np.cumsum(falling / falling.sum())
    held = np.minimum(np.searchsorted(limits, noise.uniform(1 << 53, users) / 2.0**53), cells - 1)
    oracle = list_method(Pure(epsilon), cells, kind).oracle
    encoder = ListEncoder(oracle, int(noise.uniform(1 << 128)).to_bytes(16, "big"), 20)
    reader = oracle.reader(oracle.tally(oracle.run_many(encoder.places(held), noise)))
    points = encoder.places(np.arange(cells))
    counts = reader.together(points) if isinstance(reader, LinearReader) else reader.counts(points)
    true = np.bincount(held, minlength=cells)
    # The stated error of a cell with so many devices; equal counts are computed once.
    values, places = np.unique(true, return_inverse=True)
    if kind == "hadamard":
        stated = reader.errors(points, true.astype(np.float64))
    else:
        stated = np.array([oracle.deviation(users, float(value)) for value in values])[places]
    return float((((counts - true) / stated) ** 2).sum()), float(cells)


def point(kind: str, cells: int, epsilon: float, users: int) -> dict[str, Any]:
    """Return the ratio over enough cells."""
    runs = max(1, WANTED_CELLS // cells)
    parts = [run(kind, cells, epsilon, users, FIRST_SEED + number) for number in range(runs)]
    return {"ratio": float(np.sqrt(sum(part[0] for part in parts) / sum(part[1] for part in parts))), "runs": runs}


def transform_milliseconds(bits: int = 20) -> float:
    """Return the CPU time of the fastest of five decodes of 2^bits cells."""
    tally = Noise(insecure_seed=1).uniform(3, 1 << bits)
    walsh_hadamard(tally)
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        walsh_hadamard(tally)
        best = min(best, time.process_time() - start)
    return 1000 * best


def section(sizes: Sequence[int], epsilons: Sequence[float], users: int) -> str:
    """Return the table, printing each line as it comes."""
    rows = []
    for kind in ORACLES:
        for cells in sizes:
            if kind == "response" and cells > 1 << 10:
                continue
            ratios = []
            for epsilon in epsilons:
                name = f"oracle-{kind}-{cells}-{epsilon:g}-{users}"
                try:
                    made = stored(
                        name, lambda kind=kind, cells=cells, epsilon=epsilon: point(kind, cells, epsilon, users)
                    )
                except NotMeasured:
                    ratios.append("-")
                    continue
                ratios.append(f"{made['ratio']:.3f}")
            rows.append([kind, f"2^{cells.bit_length() - 1}", *ratios])
            print(*rows[-1], sep=" | ", flush=True)
    line = f"\nA Hadamard decode of 2^20 cells takes {transform_milliseconds():.0f} ms.\n"
    return table(("oracle", "cells", *(f"ε = {epsilon:g}" for epsilon in epsilons)), rows) + line


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--users", type=int, default=200_000)
    options.add_argument("--cells", type=int, nargs="+", default=list(CELLS))
    options.add_argument("--epsilon", type=float, nargs="+", default=list(EPSILONS))
    asked = options.parse_args()
    print(section(asked.cells, asked.epsilon, asked.users))


if __name__ == "__main__":
    main()
