"""What large tables cost: every case against the raw query of the same engine, CPU and peak memory, by rows.

    python -m bench.scale [--rows 100000 1000000 10000000] [--only quantiles keys …]

Every case runs in a process of its own, first on a small table, so that the loading of code is not measured; CPU time
is of all threads, memory is the peak of the process. The exponent is the slope of the CPU time over the rows, both as
logarithms, without the smallest of three sizes or more: what an answer costs whatever the rows are lowers it. Bars are
those of 10^7 rows, and `--rows 100000 1000000 10000000 50000000` goes further. What is charged and lost is counted by
`python -m bench.scale_matrix`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.table import cpu, peak

HOME = Path(__file__).resolve().parent
COLUMNS, NINE = 8, [tenth / 10 for tenth in range(1, 10)]
SMALL = 5_000


def make_file(path: Path, rows: int, more: int = 0) -> None:
    """Write people with ten rows each, money in cents, a key that few people share, eight small columns, and more."""
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
        **{name: draw.integers(0, 10, rows).astype(np.int8) for name in added(more)},
    }
    pq.write_table(pa.table(columns), path)


def added(more: int) -> list[str]:
    """Return the names of so many further columns, of ten values each."""
    return [f"w{place}" for place in range(more)]


def schema(*names: str, person: bool = False, more: int = 0) -> Any:
    from sfumato.domain import integers
    from sfumato.table import Schema

    domains = {"cents": integers(0, 10**9, missing=0), "key": integers(0, 10**7, missing=0)}
    domains |= {f"c{place}": integers(0, 3 + 2 * place, missing=0) for place in range(COLUMNS)}
    domains |= {name: integers(0, 9, missing=0) for name in added(more)}
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


def exponent(seconds: Mapping[int, float]) -> float | None:
    """Return the slope of CPU time over rows on a doubly logarithmic scale; None of one size alone.

    >>> exponent({10: 1.0, 100: 10.0})
    1.0
    """
    import numpy as np

    sizes = sorted(seconds)
    if len(sizes) < 2:
        return None
    used = sizes[1:] if len(sizes) > 2 else sizes
    slope = np.polyfit(np.log10(used), np.log10([seconds[size] for size in used]), 1)[0]
    return round(float(slope), 2)


def line_of(name: str, found: Mapping[str, Mapping[int, Mapping[str, float]]]) -> str:
    """Return the line of a case in the table: CPU and times raw for every size, peak memory, exponent and bars."""
    sizes = sorted(found[name])
    against, most = BARS.get(name, (None, None))
    cells = [name]
    for size in sizes:
        now = found[name][size]
        times = f" ({now['cpu'] / found[against][size]['cpu']:.1f} x)" if against in found else ""
        cells.append(f"{now['cpu']:.2f}{times}")
    slope = exponent({size: found[name][size]["cpu"] for size in sizes})
    cells += [f"{found[name][sizes[-1]]['peak']:.0f}", "" if slope is None else f"{slope:.2f}", str(most or "")]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure the cases at every size and print them beside their bars."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--one", nargs=3, default=None)
    options = parser.parse_args()
    if options.one:
        run_one(*options.one)
        return
    wanted = [name for name in CASES if options.only is None or any(part in name for part in options.only)]
    wanted = [name for name in CASES if name in wanted or name in {BARS.get(one, ("",))[0] for one in wanted}]
    sizes = sorted(set(options.rows))
    with tempfile.TemporaryDirectory() as place:
        files = {rows: Path(place) / f"{rows}.parquet" for rows in (SMALL, *sizes)}
        for rows, path in files.items():
            make_file(path, rows)
        print(f"CPU seconds, load {os.getloadavg()[0]:.1f}; in brackets times the raw query, at most the bar\n")
        print(f"| case | {' | '.join(f'{size:,} rows' for size in sizes)} | peak MiB | exponent | at most |")
        print("|---" * (len(sizes) + 4) + "|")
        found: dict[str, dict[int, dict[str, float]]] = {}
        for name in wanted:
            found[name] = {size: measured(name, files[size], files[SMALL]) for size in sizes}
            print(line_of(name, found), flush=True)


if __name__ == "__main__":
    main()
