"""OpenDP-Polars on one Parquet file; runs in the peer's own environment and prints one line of JSON.

python bench/table_opendp.py FILE rows|people SMALL-FILE
"""

import json
import resource
import sys
from pathlib import Path

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")


def seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def release(path: str, kind: str) -> pl.DataFrame:
    unit = dp.unit_of(contributions=1) if kind == "rows" else dp.unit_of(contributions=10, identifier=pl.col("person"))
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=unit,
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[
            dp.polars.Margin(by=[], max_length=10**8),
            dp.polars.Margin(by=["key"], max_length=10**8, max_groups=100),
        ],
    )
    query = context.query()
    if kind == "people":
        query = query.truncate_per_group(10)
    total = pl.col("value").cast(int).fill_null(0).dp.sum((0, 1000))
    keys = pl.LazyFrame({"key": range(100)}, schema={"key": pl.Int32})
    return query.group_by("key").agg(dp.len(signed=True), total).with_keys(keys).release().collect()


if __name__ == "__main__":
    release(sys.argv[3], sys.argv[2])  # once on a small file, so that what is measured is not the loading of code
    start = seconds()
    answer = release(sys.argv[1], sys.argv[2])
    print(
        json.dumps(
            {
                "cpu": seconds() - start,
                "peak": int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024,
                "groups": answer.height,
            }
        )
    )
