"""Whole distributions: `python -m bench.distribution` prints the error of the curve by method and data, and its time.

Every row is one run of this program: the same tables and the same seeds for all methods.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
import warnings

import numpy as np

from sfumato import Approximate, Concentrated, Distribution, Noise, Pure, Schema, integers
from sfumato.ask.prepared import Prepared
from sfumato.errors import AccuracyWarning
from sfumato.privacy import Bound
from sfumato.questions.distribution import DistributionEstimate
from sfumato.table.gauge import Basis

METHODS = ("medians", "tree", "histogram", "windows")
Table = tuple[np.ndarray, np.ndarray]


def tables(people: int, bits: int) -> dict[str, np.ndarray]:
    """Return codes below 2^bits in four shapes."""
    noise, last = Noise(insecure_seed=11), 2**bits - 1
    spread = noise.uniform(last + 1, people).astype(np.int64)
    normal = noise.discrete_gaussian(10**6, people) / 1000
    centres = noise.uniform(last - last // 64, 5).astype(np.int64)
    near = noise.uniform(max(2, min(2**16, last // 64)), people).astype(np.int64)
    return {
        "uniform": spread,
        "log-normal": np.minimum(np.exp(math.log(last) / 2 + 1.5 * normal), last).astype(np.int64),
        "clustered": centres[noise.uniform(5, people)] + near,
        "7 of 10 equal": np.where(noise.uniform(10, people) < 7, last // 3, spread),
    }


def largest_error(curve: DistributionEstimate, ordered: np.ndarray) -> float:
    """Return how far the curve is off anywhere, as a share of the rows: looked at below and at 2 x 400 values."""
    some = ordered[np.linspace(0, len(ordered) - 1, 400).astype(int)].tolist()
    places = [place for value in some for place in (value - 1, value)]
    truth = np.searchsorted(ordered, places, side="right") / len(ordered)
    return float(np.abs([curve.cdf(place) for place in places] - truth).max())


def band_width(curve: DistributionEstimate) -> float:
    """Return the mean height of the 95 % band over the deciles."""
    heights = [np.subtract(*curve.band(curve.quantile(f"0.{part}"))[::-1]) for part in range(1, 10)]
    return float(np.mean(heights))


def runs(prepared: Prepared, table: Table, ordered: np.ndarray, seeds: int) -> tuple[float, float, float]:
    """Return the mean largest error, the mean height of the band, and CPU seconds of one run."""
    errors, heights, start = [], [], 0.0
    for seed in range(seeds):
        begun = time.process_time()
        curve = DistributionEstimate(prepared.finish(prepared.mechanism.run(table, Noise(insecure_seed=seed))))
        curve.cdf(0)
        start += time.process_time() - begun
        errors.append(largest_error(curve, ordered))
        heights.append(band_width(curve))
    return statistics.mean(errors), statistics.mean(heights), start / seeds


def compare(people: int, bits: int, spend: Bound, seeds: int) -> None:
    """Print one line for each shape: the error and the band of every method that serves, and which one is chosen."""
    schema = Schema({"x": integers(0, 2**bits - 1, missing=0)})
    setting = Basis(schema, people)
    ready: dict[str, Prepared] = {}
    for method in METHODS:
        if (method == "windows" and isinstance(spend, Pure)) or (method == "histogram" and bits > 12):
            continue
        ready[method] = Distribution("x", method=method).prepare(setting, spend)
    chosen = Distribution("x").prepare(setting, spend).mechanism
    for shape, values in tables(people, bits).items():
        table = np.unique(values, return_counts=True)
        ordered = np.sort(values)
        shown = []
        for method in METHODS:
            if method not in ready:
                shown.append("")
                continue
            error, height, _ = runs(ready[method], table, ordered, seeds)
            mark = "**" if ready[method].mechanism == chosen else ""
            shown.append(f"{mark}{error:.4f}{mark} ({height:.3f})")
        print(f"| {people} | {bits} | {spend!r} | {shape} | {' | '.join(shown)} |", flush=True)


def timed(people: int) -> None:
    """Print CPU seconds of one distribution of many different values of 62 bits."""
    values = Noise(insecure_seed=1).uniform(2**62, people).astype(np.int64)
    schema = Schema({"x": integers(0, 2**62 - 1, missing=0)})
    table = np.unique(values, return_counts=True)
    for method, spend in (("medians", Pure(1)), ("tree", Concentrated("0.1"))):
        begun = time.process_time()
        prepared = Distribution("x", method=method).prepare(Basis(schema, people), spend)
        planned = time.process_time() - begun
        _, _, drawn = runs(prepared, table, np.sort(values), 1)
        print(f"| {people} | {method} | {planned:.2f} | {drawn:.2f} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one size, two seeds")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore", AccuracyWarning)
    print("Largest error of the curve as a share of the rows, mean over seeds; in brackets the mean height of the")
    print("95 % band at the deciles; bold is what method='auto' takes.\n")
    print(f"| people | bits | spend | data | {' | '.join(METHODS)} |\n{'|---' * (4 + len(METHODS))}|")
    spends = (Pure(1), Concentrated("0.1"), Approximate(1, "1e-6"))
    for people in (20_000,) if quick else (1_000, 20_000):
        for bits in (10, 32, 62):
            for spend in spends[:1] if quick else spends:
                compare(people, bits, spend, 2 if quick else 5)
    print("\n| different values | method | CPU s to plan | CPU s to draw and read |\n|---|---|---|---|")
    for people in (10**5,) if quick else (10**4, 10**5, 10**6):
        timed(people)


if __name__ == "__main__":
    main()
