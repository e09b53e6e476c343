"""What exact, bounded statistics cost next to raw DuckDB, a windowed query and OpenDP-Polars.

    python -m bench.table [--rows 10000000] [--keep DIRECTORY]

Count and sum by one of 100 keys, about ten rows a person. Every contestant runs in a process of its own, first once
on a small file, so that the loading of code is not measured, then on the large one; CPU time is of all threads and
children, memory is the peak of the process. OpenDP lives in its own environment, made on the first run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.environments import python_of

HOME = Path(__file__).resolve().parent
PEER_PACKAGES = ["opendp[polars,numpy]==0.16.0"]
KEYS, LARGEST, MOST = 100, 1_000, 10
TURNS = 3


def make_file(path: Path, rows: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = np.random.default_rng(1)
    columns = {
        "person": draw.integers(0, max(rows // MOST, 1), rows),
        "key": draw.integers(0, KEYS, rows).astype(np.int32),
        "value": draw.integers(0, LARGEST + 1, rows).astype(np.int32),
    }
    pq.write_table(pa.table(columns), path)


def cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def peak() -> float:
    """Return the peak memory of this process in MiB; the kernel's other figure begins with the parent's."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


# The contestants: each takes a file and answers count and sum by key


def raw(path: str) -> Any:
    import duckdb

    with duckdb.connect() as connection:
        query = f"SELECT key, count(*), sum(value) FROM '{path}' GROUP BY key"
        return connection.sql(query).to_arrow_table()


def window(path: str) -> Any:
    import duckdb

    with duckdb.connect() as connection:
        numbered = (
            f"SELECT *, row_number() OVER (PARTITION BY person ORDER BY hash(person, key, value)) AS n FROM '{path}'"
        )
        query = f"SELECT key, count(*), sum(value) FROM ({numbered}) WHERE n <= {MOST} GROUP BY key"
        return connection.sql(query).to_arrow_table()


def ours(path: str, way: str) -> Any:
    from sfumato.domain import integers
    from sfumato.table import COUNT, Part, Power, Schema, open_table

    columns = {"key": integers(0, KEYS - 1, missing=0), "value": integers(0, LARGEST, missing=0)}
    bound = {} if way == "rows" else {"person": "person", "rows_per_person": MOST}
    if way == "groups":
        bound["groups_per_person"] = 3
    with open_table(path, Schema(columns, **bound)) as table:
        view = table.view(columns, table.rule(whole=way == "pick"))
        return view.totals(["key"], [COUNT, Part(Power.SUM, "value")])


CONTESTANTS: dict[str, Callable[[str], Any]] = {
    "raw DuckDB": raw,
    "sfumato, row level": lambda path: ours(path, "rows"),
    "DuckDB, window, 10 rows a person": window,
    "sfumato, weigh 10 rows a person": lambda path: ours(path, "weigh"),
    "sfumato, pick 10 rows a person": lambda path: ours(path, "pick"),
    "sfumato, weigh 10 rows, pick 3 keys": lambda path: ours(path, "groups"),
}


def run_one(name: str, path: str, small: str) -> None:
    warnings.simplefilter("ignore")
    CONTESTANTS[name](small)
    start = cpu()
    CONTESTANTS[name](path)
    print(json.dumps({"cpu": cpu() - start, "peak": peak()}))


def measure(command: list[str], times: int) -> dict[str, float]:
    """Run a contestant and return its best CPU seconds and its largest peak in MiB."""
    found = []
    for _ in range(times):
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HOME.parent)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2_000:]}")
        found.append(json.loads(done.stdout.strip().splitlines()[-1]))
    return {"cpu": min(one["cpu"] for one in found), "peak": max(one["peak"] for one in found)}


def own(name: str, path: Path, small: Path, times: int) -> dict[str, float]:
    return measure([sys.executable, "-m", "bench.table", "--one", name, str(path), str(small)], times)


def small_questions(path: str) -> list[tuple[float, float]]:
    """A dozen questions on one open table, asked once to warm up; for each its best milliseconds, wall and CPU."""
    from sfumato.domain import bins, integers
    from sfumato.table import Schema, open_table

    columns = {
        "key": integers(0, KEYS - 1, missing=0),
        "value": integers(0, LARGEST, missing=0),
        "band": bins("value", step=100),
    }
    with open_table(path, Schema(columns, person="person", rows_per_person=MOST)) as table:
        view = table.view(columns)
        asks: list[Callable[[], Any]] = [
            lambda: view.count(),
            lambda: view.count("key > 40"),
            lambda: view.counts(["key"]),
            lambda: view.counts(["band"]),
            lambda: view.counts(["key", "band"]),
            lambda: view.counts(["band"], "key < 10 OR key > 90"),
            lambda: view.sums("value"),
            lambda: view.sums("value", ["key"]),
            lambda: view.sums("value", ["band"], "key BETWEEN 10 AND 20", center=500),
            lambda: view.squares("value", ["key"], center=500),
            lambda: view.distribution("value"),
            lambda: view.sparse_counts(["key", "band"], "value > 900"),
        ]
        best = []
        for ask in asks:
            ask()
            turns = []
            for _ in range(9):
                start = time.perf_counter(), cpu()
                ask()
                turns.append(((time.perf_counter() - start[0]) * 1_000, (cpu() - start[1]) * 1_000))
            best.append((min(wall for wall, _ in turns), min(used for _, used in turns)))
        return best


def report(files: dict[int, Path], rows: int) -> dict[str, Any]:
    small, large = files[min(files)], files[rows]
    # The same number of turns for everybody, best of them: the machine is shared, and luck must not pick a side.
    found = {name: own(name, large, small, TURNS) for name in CONTESTANTS}
    for kind, name in (("rows", "OpenDP-Polars, row level"), ("people", "OpenDP-Polars, truncate to 10 rows")):
        peer = [str(python_of("opendp", PEER_PACKAGES)), str(HOME / "table_opendp.py"), str(large), kind, str(small)]
        found[name] = measure(peer, TURNS)
    print(f"\n{rows} rows, {rows // MOST} people, {KEYS} keys, load {os.getloadavg()[0]:.1f}\n")
    print("| count and sum by key | CPU s | peak MiB |\n|---|---|---|")
    for name, one in found.items():
        print(f"| {name} | {one['cpu']:.2f} | {one['peak']:.0f} |")
    seconds = {name: one["cpu"] for name, one in found.items()}
    row_level, weigh = seconds["sfumato, row level"], seconds["sfumato, weigh 10 rows a person"]
    growth = {
        name: {size: own(name, path, small, TURNS)["cpu"] for size, path in files.items()}
        for name in ("sfumato, row level", "sfumato, weigh 10 rows a person")
    }
    milliseconds = small_questions(str(small))
    bars = [
        ("row level / raw DuckDB", row_level / seconds["raw DuckDB"], 1.5),
        ("row level / OpenDP-Polars", row_level / seconds["OpenDP-Polars, row level"], 1 / 10),
        ("10 rows a person / OpenDP-Polars truncate", weigh / seconds["OpenDP-Polars, truncate to 10 rows"], 1 / 3),
        ("10 rows a person / windowed DuckDB", weigh / seconds["DuckDB, window, 10 rows a person"], 1 / 3),
        ("largest peak of ours, GiB", max(one["peak"] for name, one in found.items() if "sfumato" in name) / 1024, 2),
        ("slowest of a dozen small questions, ms on the wall", max(wall for wall, _ in milliseconds), 15),
        ("slowest of a dozen small questions, ms of CPU", max(used for _, used in milliseconds), 15),
    ]
    print("\n| bar | measured | at most | |\n|---|---|---|---|")
    for name, value, most in bars:
        print(f"| {name} | {value:.3g} | {most:.3g} | {'met' if value <= most else 'MISSED'} |")
    print("\n| CPU s by rows | " + " | ".join(str(size) for size in files) + " |\n|---|" + "---|" * len(files))
    for name, sizes in growth.items():
        print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in sizes.values()) + " |")
    print("\nSmall questions, ms wall/CPU: " + " ".join(f"{wall:.1f}/{used:.1f}" for wall, used in milliseconds))
    return {"contestants": found, "bars": bars, "growth": growth, "small_questions_ms": milliseconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--keep", type=Path, help="a directory for the files, so that they are made once")
    parser.add_argument("--one", nargs=3, metavar=("NAME", "FILE", "SMALL"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        run_one(*given.one)
        return
    with tempfile.TemporaryDirectory() as scratch:
        place = given.keep or Path(scratch)
        place.mkdir(parents=True, exist_ok=True)
        files = {}
        for size in sorted({10**5, 10**6, given.rows}):
            files[size] = place / f"{size}.parquet"
            if not files[size].exists():
                make_file(files[size], size)
        found = report(files, given.rows)
    target = HOME.parent / "out" / "bench-table.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
