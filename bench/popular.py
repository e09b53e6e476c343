"""Frequent records of many columns: `python -m bench.popular`.

The smallest count that is found with probability 0.95, for records of d bits with 20 000 people, out of epsilon 1 for
each attribute: a tree of columns with the 3/4 that finding takes (1/4 is left to count), noise on each cell with all of
it, which finds and counts at once, and stability at 3/4 where a delta is allowed. Noise on every cell lists hardly ever
a record that nobody has; the tree lists up to as many as could be frequent. Then what the tree finds of 20 planted
records, how much it lists, and its CPU time; and the thresholds of point histograms over 2^62 cells.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction

import numpy as np

from sfumato import Approximate, Noise, Pure, Schema, Truncated, booleans, integers
from sfumato.release import Popular
from sfumato.release.popular import plan_hitters, pure_points, smallest_published
from sfumato.release.private_keys import stable_histogram
from sfumato.release.setting import Setting
from sfumato.release.workload import Records, Space
from sfumato.select.heavy_cell import choosing
from sfumato.table.bounding import bounding_of

PEOPLE = 20_000
PLANTED = 20
EPSILON = Fraction(3, 4)


def planted(space: Space, count: int, seed: int) -> tuple[Records, set[tuple[int, ...]]]:
    """Return uniform bits with twenty records that occur `count` times each."""
    noise, columns = Noise(insecure_seed=seed), len(space.names)
    rows = noise.uniform(2, PEOPLE * columns).reshape(PEOPLE, columns)
    special = noise.uniform(2, PLANTED * columns).reshape(PLANTED, columns)
    rows[: PLANTED * count] = np.repeat(special, count, axis=0)
    codes, counts = np.unique(rows, axis=0, return_counts=True)
    return Records(space, np.asfortranarray(codes), counts), {tuple(row) for row in special.tolist()}


def columns_table(sizes: tuple[int, ...], seeds: int) -> None:
    print("| d | tree | noise on all cells | stability, delta 1e-8 | tree / cells | recall | listed | plan s | run s |")
    print("|---|---|---|---|---|---|---|---|---|")
    stable = stable_histogram(Approximate(EPSILON, "1e-8")).smallest_published()
    for columns in sizes:
        space = Space.of(Schema({f"q{place}": booleans() for place in range(columns)}))
        start = time.process_time()
        search = plan_hitters(space, Pure(EPSILON).per_attribute(), PEOPLE)
        planned, count = time.process_time() - start, search.smallest_found()
        cells = smallest_published(pure_points(Pure(1), space.cells))
        hits, listed, spent = 0, 0, 0.0
        for seed in range(seeds):
            records, special = planted(space, count, seed)
            start = time.process_time()
            found = set(search.run(records, Noise(insecure_seed=seed)).records)
            spent += time.process_time() - start
            hits, listed = hits + len(found & special), listed + len(found)
        recall = hits / (PLANTED * seeds)
        print(
            f"| {columns} | {count} | {cells} | {stable} | {count / cells:.2f} | {recall:.3f} | {listed / seeds:.0f} "
            f"| {planned:.2f} | {spent / seeds:.2f} |",
            flush=True,
        )


def points_table() -> None:
    schema = Schema({"key": integers(0, 2**62)})
    facts = Setting(schema, PEOPLE, bounding_of(schema))
    print("\n| method | spend | published from | found with 0.95 from |\n|---|---|---|---|")
    pure = pure_points(Pure(1), 2**62)
    print(f"| noise on all cells | Pure(1) | {pure.threshold + 1} | {smallest_published(pure)} |")
    stable = stable_histogram(Approximate(1, "1e-6"))
    print(f"| stability | Approximate(1, 1e-6) | {stable.threshold} | {stable.smallest_published()} |")
    pick = choosing(Approximate(1, "1e-6"))
    print(f"| choosing, one key only | Approximate(1, 1e-6) | {pick.threshold} | {pick.required(0.95)} |")
    spend = Truncated("1/20", 10)
    prepared = Popular("key", engine="laplace").prepare(facts, spend)
    found = Popular("key").value(prepared.finish(()))
    law = type(prepared.mechanism.noise.law).__name__
    print(f"| {law} on all cells | {spend!r} | {prepared.mechanism.threshold + 1} | {found.smallest} |")


def main(seeds: int = 3) -> None:
    columns_table((16, 32, 64, 128, 256), seeds)
    points_table()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
