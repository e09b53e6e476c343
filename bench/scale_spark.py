"""Every kind of question on a Spark with a small driver: what is answered, and whether anything is charged and lost.

    python -m bench.scale_spark [--rows 1000000] [--master local[2]]

The driver has 600 MB and hands over 16 MB at most at once; `--master local-cluster[2,1,1024]` has executors apart.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from bench.scale import COLUMNS, NINE, make_file, schema


def session(master: str, place: str) -> Any:
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
    builder = SparkSession.builder.master(master).appName("sfumato-scale")
    for name, value in settings.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found


def questions(described: Any) -> dict[str, Any]:
    from sfumato import workloads
    from sfumato.questions import Count, GroupBy, Histogram, Mean, Quantiles, Queries, Synthesize

    names = [f"c{place}" for place in range(COLUMNS)]
    return {
        "count": Count("c1 > 2"),
        "group-by": GroupBy("c1", [Count(), Mean("cents")]),
        "quantiles": Quantiles("cents", NINE),
        "private keys": Histogram("key", keys="private"),
        "workload": Queries(workloads.marginals(described, width=2, columns=names)),
        "synthesize": Synthesize(columns=names),
    }


def main() -> None:
    """Ask everything, and count what was charged without an answer."""
    from sfumato import Approximate, curate
    from sfumato.errors import SfumatoError

    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--master", default="local[2]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "rows.parquet"
        make_file(path, options.rows)
        spark = session(options.master, place)
        print(f"{options.rows} rows on {options.master}, load {os.getloadavg()[0]:.1f}\n")
        print("| question | seconds | outcome |\n|---|---|---|")
        for person in (False, True):
            described = schema(person=person)
            start = time.perf_counter()
            with curate(
                spark.read.parquet(str(path)), described, Approximate(60, 1e-3), storage="DISK_ONLY"
            ) as curator:
                print(
                    f"| opening{', with people' if person else ''} | {time.perf_counter() - start:.1f} | |", flush=True
                )
                for name, question in questions(described).items():
                    start = time.perf_counter()
                    try:
                        curator.ask(question, Approximate(1, 1e-6))
                        outcome = "answered"
                    except SfumatoError as error:
                        outcome = f"{type(error).__name__}: {error}"
                    print(f"| {name} | {time.perf_counter() - start:.1f} | {outcome} |", flush=True)
                lost = [entry for entry in curator.ledger.history() if entry.state != "committed"]
                print(f"\nCharged and not answered: {len(lost)}\n", flush=True)
        spark.stop()


if __name__ == "__main__":
    main()
