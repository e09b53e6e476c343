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
from typing import Any

import numpy as np

from sfumato import Approximate, Noise, Pure, Schema, Truncated, booleans, integers
from sfumato.questions import Popular
from sfumato.questions.popular import plan_hitters, pure_points, smallest_published
from sfumato.select.heavy_cell import choosing
from sfumato.table.gauge import Basis
from sfumato.totals.private_keys import stable_histogram
from sfumato.workload import Records, Space

PEOPLE = 20_000
PLANTED = 20
EPSILON = Fraction(3, 4)
KEY = 2**61 + 12345


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
        space = Space.of(Schema({f"q{place}": booleans(missing=False) for place in range(columns)}))
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
    """Print where a key of a huge domain is published, and how often one is that is predicted to be found with 0.95."""
    schema = Schema({"key": integers(0, 2**62, missing=0)})
    facts = Basis(schema, PEOPLE)
    print("\n| method | spend | published from | found with 0.95 from | found there, of 2000 | one less than needed |")
    print("|---|---|---|---|---|---|")
    pure = pure_points(Pure(1), 2**62)
    _point("noise on all cells", Pure(1), pure, (pure.threshold + 1, smallest_published(pure)), KEY)
    stable = stable_histogram(Approximate(1, "1e-6"))
    _point("stability", Approximate(1, "1e-6"), stable, (stable.threshold, stable.smallest_published()), (KEY,))
    pick = choosing(Approximate(1, "1e-6"))
    _point("choosing, one key only", Approximate(1, "1e-6"), pick, (pick.threshold, pick.required(0.95)), KEY)
    spend = Truncated("1/20", 10)
    prepared = Popular("key", method="laplace").prepare(facts, spend)
    sparse: Any = prepared.mechanism
    found = Popular("key").value(prepared.finish(()))
    law = type(sparse.noise.law).__name__
    _point(f"{law} on all cells", spend, sparse, (sparse.threshold + 1, found.smallest), KEY)


def _point(name: str, spend: Any, mechanism: Any, numbers: tuple[int, int], key: Any) -> None:
    least, needed = numbers
    shares = []
    for count in (needed, needed - 1):
        noise = Noise(insecure_seed=count)
        shares.append(sum(_named(mechanism.run({key: count}, noise), key) for _ in range(2000)) / 2000)
    print(f"| {name} | {spend!r} | {least} | {needed} | {shares[0]:.3f} | {shares[1]:.3f} |", flush=True)


def _named(released: Any, key: Any) -> bool:
    """Tell whether a release names the key: alone, or among others with their counts."""
    return bool(released == key or (isinstance(released, tuple) and any(one[0] == key for one in released)))


def main(seeds: int = 3) -> None:
    columns_table((16, 32, 64, 128, 256), seeds)
    points_table()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
