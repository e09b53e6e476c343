"""What large tables cost: every case against the raw query of the same engine, CPU and peak memory.

    python -m bench.scale [--rows 1000000] [--only quantiles keys …]

Every case runs in a process of its own, first on a small table, so that the loading of code is not measured; CPU time
is of all threads, memory is the peak of the process. Bars are those of tables of 10^7 rows; smaller sizes show where
they stand.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.table import cpu, peak

HOME = Path(__file__).resolve().parent
COLUMNS, NINE = 8, [tenth / 10 for tenth in range(1, 10)]
SMALL = 5_000


def make_file(path: Path, rows: int) -> None:
    """Write people with ten rows each, money in cents, a key that few people share, and eight small columns."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = np.random.default_rng(1)
    small = {f"c{place}": draw.integers(0, 4 + 2 * place, rows).astype(np.int16) for place in range(COLUMNS)}
    columns = {
        "person": draw.integers(0, max(rows // 10, 1), rows),
        "cents": np.minimum(draw.lognormal(11, 1.5, rows).astype(np.int64), 10**9),
        "key": draw.integers(0, 10**6, rows),
        **small,
    }
    pq.write_table(pa.table(columns), path)


def schema(*names: str, person: bool = False) -> Any:
    from sfumato.domain import integers
    from sfumato.table import Schema

    domains = {"cents": integers(0, 10**9, missing=0), "key": integers(0, 10**7, missing=0)}
    domains |= {f"c{place}": integers(0, 3 + 2 * place, missing=0) for place in range(COLUMNS)}
    chosen = {name: domains[name] for name in names or domains}
    return Schema(chosen, person="person", rows_per_person=10) if person else Schema(chosen)


def raw(path: str, query: str) -> Any:
    import duckdb

    with duckdb.connect() as connection:
        return connection.sql(query.format(path)).to_arrow_table()


def ask(path: str, question: Any, spend: Any, described: Any) -> Any:
    from sfumato import Approximate, curate

    # Half of the leaks of a limit are kept for what is measured in other ways.
    limit = Approximate(9, 1e-3) if isinstance(spend, Approximate) else spend
    with curate(path, described, limit) as curator:
        return curator.ask(question, spend)


def opened(path: str) -> None:
    from sfumato.table import open_table

    with open_table(path, schema(person=True)):
        pass


def nine_quantiles(path: str) -> Any:
    from sfumato import Pure
    from sfumato.questions import Quantiles

    return ask(path, Quantiles("cents", NINE), Pure(1), schema("cents")).value


def private_keys(path: str) -> Any:
    from sfumato import Approximate
    from sfumato.questions import Histogram

    return ask(path, Histogram("key", keys="private"), Approximate(1, 1e-6), schema("key")).value


def synthesize(path: str) -> Any:
    from sfumato import Concentrated
    from sfumato.questions import Synthesize

    names = [f"c{place}" for place in range(COLUMNS)]
    return ask(path, Synthesize(columns=names), Concentrated(0.5), schema(*names)).value


CELLS = 10**6


def cells(path: str, intervals: bool) -> Any:
    """Answer as many cells as there are rows, up to a million; then, or not, look at their intervals."""
    from sfumato import Pure
    from sfumato.domain import integers
    from sfumato.questions import Histogram
    from sfumato.table import Schema

    most = 100 if SMALL in path_rows(path) else CELLS
    answer = ask(path, Histogram("key"), Pure(1), Schema({"key": integers(0, most - 1, missing=0)}))
    return answer.interval() if intervals else answer.value


def path_rows(path: str) -> set[int]:
    return {int(Path(path).stem)}


CASES: dict[str, Callable[[str], Any]] = {
    "raw group-by person": lambda path: raw(path, "SELECT person, count(*) FROM '{}' GROUP BY person"),
    "opening": opened,
    "raw sort of cents": lambda path: raw(path, "SELECT cents FROM '{}' ORDER BY cents"),
    "nine quantiles of cents": nine_quantiles,
    "raw group-by key": lambda path: raw(path, "SELECT key, count(*) FROM '{}' GROUP BY key"),
    "private keys": private_keys,
    "synthesize eight columns": synthesize,
    "a million cells": lambda path: cells(path, False),
    "their intervals": lambda path: cells(path, True),
}
BARS = {
    "opening": ("raw group-by person", 4),
    "nine quantiles of cents": ("raw sort of cents", 3),
    "private keys": ("raw group-by key", 5),
    "their intervals": ("a million cells", 2),  # the answer, and as much again for its intervals
}
MOST_MIB = 1024


def run_one(name: str, path: str, small: str) -> None:
    warnings.simplefilter("ignore")
    CASES[name](small)
    start = cpu()
    CASES[name](path)
    print(json.dumps({"cpu": cpu() - start, "peak": peak()}))


def measured(name: str, path: Path, small: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.scale", "--one", name, str(path), str(small)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HOME.parent)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-2_000:]}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    """Measure the cases and print them beside their bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--one", nargs=3, default=None)
    options = parser.parse_args()
    if options.one:
        run_one(*options.one)
        return
    wanted = [name for name in CASES if options.only is None or any(part in name for part in options.only)]
    with tempfile.TemporaryDirectory() as place:
        files = {rows: Path(place) / f"{rows}.parquet" for rows in (SMALL, options.rows)}
        for rows, path in files.items():
            make_file(path, rows)
        print(f"{options.rows} rows, load {os.getloadavg()[0]:.1f}\n")
        print("| case | CPU s | peak MiB | times raw | at most |\n|---|---|---|---|---|")
        found: dict[str, dict[str, float]] = {}
        for name in wanted:
            found[name] = measured(name, files[options.rows], files[SMALL])
            against, most = BARS.get(name, (None, None))
            factor = f"{found[name]['cpu'] / found[against]['cpu']:.1f}" if against in found else ""
            print(
                f"| {name} | {found[name]['cpu']:.2f} | {found[name]['peak']:.0f} | {factor} | {most or ''} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
