"""Every kind of question at every size on every engine: what is answered, refused, or charged and lost.

    python -m bench.scale_matrix [--rows 100000 1000000] [--engines duckdb spark]
        [--worlds alone people "come and go" wide] [--memory-limit 1GB] [--master local[2]] [--only quantiles …]

Beside the CPU seconds of a question, of this process and of Spark's, stands how often that is the raw query of the same
engine. DuckDB has `--memory-limit`; Spark has a driver of 600 MB that hands over 16 MB at most at once, and executors
apart with `--master local-cluster[2,1,1024]`. Questions are asked in a process of their own with a ledger on disk: what
a process takes with it that dies is seen there. The number of questions that were charged and have no answer must be 0;
otherwise this ends with 1. A wide table, of 500 columns, is asked up to 10^5 rows.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.scale import COLUMNS, HOME, NINE, make_file, peak, schema

NAMES = [f"c{place}" for place in range(COLUMNS)]
WORLDS = ("alone", "people", "come and go", "wide")
"""One row a person; several rows a person; these, where people come and go, so that their number is private; and
several rows a person of 500 columns, all declared."""
WIDE, WIDE_ROWS = 490, 10**5
"""How many columns more a wide table has, and up to how many rows it is asked: its file grows with their product."""
ENGINES = ("duckdb", "spark")
LIST = ", ".join(NAMES)


@dataclass(frozen=True)
class Case:
    """One kind of question, and the raw query that an engine would be asked instead."""

    ask: Callable[[Any, Any], Any]
    raw: str


def _asked(made: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda curator, spend: curator.ask(made(curator.schema), spend).value


def _conversed(curator: Any, spend: Any) -> Any:
    with curator.converse(["c6", "c7"], spend=spend, queries=100) as talk:
        return talk.ask("c6 > 3 AND c7 < 9").value


def _synopsis(described: Any) -> Any:
    from sfumato.questions.synopsis import Synopsize, one_hot

    return Synopsize(columns=one_hot(described, NAMES[:4]), options={"width": 2})


def cases() -> dict[str, Case]:
    """Return all questions by name."""
    from sfumato import workloads
    from sfumato.questions import Count, Distribution, GroupBy, Histogram, Mean, Quantiles, Queries, Synthesize

    def pairs(described: Any) -> Any:
        return Queries(workloads.marginals(described, width=2, columns=NAMES))

    every = f"SELECT {LIST}, count(*) FROM rows GROUP BY {LIST}"
    by_cents = "SELECT cents, count(*) FROM rows GROUP BY cents ORDER BY cents"
    return {
        "count": Case(_asked(lambda _: Count("c1 > 2")), "SELECT count(*) FROM rows WHERE c1 > 2"),
        "group-by": Case(
            _asked(lambda _: GroupBy("c1", [Count(), Mean("cents")])),
            "SELECT c1, count(*), sum(cents) FROM rows GROUP BY c1",
        ),
        "quantiles": Case(_asked(lambda _: Quantiles("cents", NINE)), by_cents),
        "distribution": Case(_asked(lambda _: Distribution("cents")), by_cents),
        "private keys": Case(
            _asked(lambda _: Histogram("key", keys="private")), "SELECT key, count(*) FROM rows GROUP BY key"
        ),
        "workload": Case(_asked(pairs), every),
        "synthesize": Case(_asked(lambda _: Synthesize(columns=NAMES)), every),
        "conversation": Case(_conversed, "SELECT c6, c7, count(*) FROM rows GROUP BY c6, c7"),
        "synopsis": Case(_asked(_synopsis), "SELECT c0, c1, c2, c3, count(*) FROM rows GROUP BY c0, c1, c2, c3"),
    }


# The process that asks


def session(master: str, place: str) -> Any:
    """Start a Spark with a small driver."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.memory": "600m",
        "spark.driver.maxResultSize": "16m",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": f"{place}/warehouse",
        "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
        "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    }
    if apart := re.fullmatch(r"local-cluster\[\d+,\d+,(\d+)\]", master):
        settings["spark.executor.memory"] = f"{apart[1]}m"
    builder = SparkSession.builder.master(master).appName("sfumato-scale")
    for name, value in settings.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def processor() -> float:
    """Return the CPU seconds of this process and of those below it, Spark's among them."""
    parents: dict[int, int] = {}
    times: dict[int, float] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it ended
        parents[int(folder.name)] = int(fields[1])
        times[int(folder.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    below = {os.getpid()}
    while more := {one for one, parent in parents.items() if parent in below} - below:
        below |= more
    return sum(times[one] for one in below)


@contextmanager
def engine(options: argparse.Namespace, place: str) -> Iterator[tuple[Any, Callable[[str], Any]]]:
    """Hand over what is opened, and what runs a raw query over it."""
    if options.engine == "duckdb":
        import duckdb

        with duckdb.connect() as connection:
            connection.sql(f"CREATE VIEW rows AS FROM '{options.file}'")
            yield options.file, lambda query: connection.sql(query).to_arrow_table()
        return
    spark = session(options.master, place)
    try:
        spark.read.parquet(options.file).createOrReplaceTempView("rows")
        # Counted there: handing rows over is what Spark forbids above 16 MB.
        yield spark.read.parquet(options.file), lambda query: spark.sql(f"SELECT count(*) FROM ({query})").collect()
    finally:
        spark.stop()


def run_questions(options: argparse.Namespace) -> None:
    """Ask the questions that are named one after the other, and say of each what became of it."""
    from sfumato import ADD_REMOVE, REPLACE_ONE, Approximate, curate
    from sfumato.errors import SfumatoError

    warnings.simplefilter("ignore")
    more = WIDE if options.world == "wide" else 0
    described, spend = schema(person=options.world != "alone", more=more), Approximate(1, 1e-6)
    relation = ADD_REMOVE if options.world == "come and go" else REPLACE_ONE
    how: dict[str, Any] = {"ledger": options.ledger, "relation": relation, "storage": "DISK_ONLY"}
    how |= {"memory_limit": options.memory_limit, "most_rows": int(Path(options.file).stem), "snapshot": "bench"}
    with tempfile.TemporaryDirectory() as place, engine(options, place) as (source, raw):
        start = processor()
        # Half of the leaks of a limit are kept for what is measured in other ways.
        with curate(source, described, Approximate(60, 1e-3), **how) as curator:
            _say("opening", processor() - start, None, "opened")
            for name, case in cases().items():
                if name not in options.questions:
                    continue
                before = len(curator.ledger.history())
                print(json.dumps({"begun": name}), flush=True)
                start = processor()
                try:
                    case.ask(curator, spend)
                    outcome = "answered"
                except SfumatoError as error:
                    lost = len(curator.ledger.history()) > before
                    outcome = f"{'lost' if lost else 'refused'}: {type(error).__name__}: {error}"
                used = processor() - start
                start = processor()
                raw(case.raw)
                _say(name, used, processor() - start, outcome)


def _say(name: str, used: float, raw: float | None, outcome: str) -> None:
    print(json.dumps({"name": name, "cpu": used, "raw": raw, "peak": peak(), "outcome": outcome}), flush=True)


# The process that counts


def matrix_of(file: Path, chosen: tuple[str, str], names: list[str], options: argparse.Namespace) -> Iterator[Any]:
    """Yield what became of each question on one engine in one world; who dies is replaced for the rest."""
    engine_name, world = chosen
    left = list(names)
    while left:
        with tempfile.TemporaryDirectory() as place:
            ledger = f"{place}/bench.ledger"
            command = [sys.executable, "-m", "bench.scale_matrix", "--file", str(file), "--engine", engine_name]
            command += ["--world", world, "--ledger", ledger, "--memory-limit", options.memory_limit]
            command += ["--master", options.master, "--questions", *left]
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HOME.parent)
            begun = None
            for line in map(json.loads, filter(lambda one: one.startswith("{"), done.stdout.splitlines())):
                if "begun" in line:
                    begun = line["begun"]
                    continue
                begun = None
                if line["name"] in left:
                    left.remove(line["name"])
                yield line
            if not done.returncode:
                return
            if begun is None:
                raise SystemExit(f"{engine_name}, {world} failed:\n{done.stderr[-2_000:]}")
            left.remove(begun)
            yield {"name": begun, "cpu": 0.0, "raw": None, "peak": 0.0, "outcome": _died(ledger, done.returncode)}


def _made(place: Path, rows: int, world: str) -> Path:
    """Return the file of a table, called by its rows; it is made once."""
    file = place / ("wide" if world == "wide" else "narrow") / f"{rows}.parquet"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        make_file(file, rows, WIDE if world == "wide" else 0)
    return file


def _died(ledger: str, code: int) -> str:
    """Say whether a question in whose middle the process died had been charged."""
    from sfumato.ledger import Ledger

    with Ledger(ledger) as book:
        charged = any(entry.state != "committed" for entry in book.history())
    return f"{'lost' if charged else 'died uncharged'}: the process ended with {code}"


def main() -> None:
    """Ask everything everywhere, and count what was charged without an answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**5, 10**6])
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--memory-limit", default="1GB")
    parser.add_argument("--master", default="local[2]")
    for hidden in ("--file", "--engine", "--world", "--ledger"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--questions", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        run_questions(options)
        return
    names = [name for name in cases() if options.only is None or any(part in name for part in options.only)]
    lost = asked = 0
    print(f"memory {options.memory_limit}, load {os.getloadavg()[0]:.1f}\n")
    print("| rows | engine | table | question | CPU s | times raw | peak MiB | outcome |\n" + "|---" * 8 + "|")
    with tempfile.TemporaryDirectory() as place:
        for rows in sorted(set(options.rows)):
            for chosen in [(one, world) for one in options.engines for world in options.worlds]:
                if chosen[1] == "wide" and rows > WIDE_ROWS:
                    continue
                file = _made(Path(place), rows, chosen[1])
                for found in matrix_of(file, chosen, names, options):
                    times = f"{found['cpu'] / found['raw']:.1f}" if found["raw"] else ""
                    cells = [f"{rows:,}", *chosen, found["name"], f"{found['cpu']:.2f}", times, f"{found['peak']:.0f}"]
                    print(f"| {' | '.join(cells)} | {found['outcome']} |", flush=True)
                    asked += found["name"] in names
                    lost += found["outcome"].startswith("lost")
            for file in Path(place).rglob("*.parquet"):
                file.unlink()
    print(f"\n{asked} questions asked, {lost} charged and lost.")
    raise SystemExit(1 if lost else 0)


if __name__ == "__main__":
    main()
