"""Statements over tables like those of TPC-H, with the customer as the person: CPU beside the raw engine, and errors.

`python -m bench.sql [SCALE]` makes the tables (scale 1: six million lines), opens them, and asks statements in the
manner of Q1, Q5, Q6, Q14 and Q19 at epsilon 1. CPU times are of the process, all threads together. Then SmartNoise SQL,
in an environment of its own, is asked what it can be asked of fewer lines: it has no joins and no expressions, so that
what is summed stands in columns of its table.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import sfumato as sf
from bench import environments
from sfumato import Pure
from sfumato.domain import categories, dates, fixed, integers
from sfumato.noise import Noise
from sfumato.sql.select import Made
from sfumato.sql.statement import read_statement

FIRST_DAY = np.datetime64("1992-01-02")
BRANDS = [f"Brand#{one}{two}" for one in range(1, 6) for two in range(1, 6)]
SIZES = ["SM", "MED", "LG", "JUMBO", "WRAP"]
PACKS = ["CASE", "BOX", "PACK", "PKG", "BAG", "JAR", "CAN", "DRUM"]
CONTAINERS = [f"{size} {pack}" for size in SIZES for pack in PACKS]
MODES = ["AIR", "AIR REG", "FOB", "MAIL", "RAIL", "SHIP", "TRUCK"]
NATIONS = [f"NATION {one}" for one in range(25)]
REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]


def made(scale: float) -> dict[str, pa.Table]:
    """Return tables with the shapes and ranges of TPC-H; the owner stands in every line."""
    draw = np.random.default_rng(7)
    customers, parts, suppliers, orders = (int(one * scale) for one in (150_000, 200_000, 10_000, 1_500_000))
    owners = draw.integers(0, customers * 2 // 3, orders)
    lines = draw.integers(1, 8, orders)
    owner = np.repeat(owners, lines)
    rows = len(owner)
    quantity = draw.integers(1, 51, rows)
    part = draw.integers(0, parts, rows)
    cents = quantity * (90_000 + part // 10 % 20_001 + part % 1_000 * 100)
    line = {
        "custkey": owner,
        "orderkey": np.repeat(np.arange(orders), lines),
        "partkey": part,
        "suppkey": draw.integers(0, suppliers, rows),
        "quantity": quantity,
        "extendedprice": cents / 100,
        "discount": draw.integers(0, 11, rows) / 100,
        "tax": draw.integers(0, 9, rows) / 100,
        "returnflag": pa.array(np.array(["A", "N", "R"])[draw.integers(0, 3, rows)]),
        "linestatus": pa.array(np.array(["F", "O"])[draw.integers(0, 2, rows)]),
        "shipdate": FIRST_DAY + draw.integers(0, 2526, rows).astype("timedelta64[D]"),
        "shipmode": pa.array(np.array(MODES)[draw.integers(0, 7, rows)]),
    }
    types = [
        f"{kind} {two}" for kind in ("PROMO", "ECONOMY", "SMALL", "STANDARD", "LARGE", "MEDIUM") for two in range(25)
    ]
    part_rows = {
        "partkey": np.arange(parts),
        "brand": pa.array(np.array(BRANDS)[draw.integers(0, 25, parts)]),
        "container": pa.array(np.array(CONTAINERS)[draw.integers(0, 40, parts)]),
        "promo": pa.array(np.array(types)[draw.integers(0, 150, parts)]).to_numpy(zero_copy_only=False).astype(str),
        "size": draw.integers(1, 51, parts),
    }
    part_rows["promo"] = np.char.startswith(part_rows["promo"], "PROMO")
    found = {
        "customer": pa.table({"custkey": np.arange(customers), "segment": draw.integers(0, 5, customers)}),
        "lineitem": pa.table(line),
        "part": pa.table(part_rows),
        "supplier": pa.table({"suppkey": np.arange(suppliers), "nation": draw.integers(0, 25, suppliers)}),
        "nation": pa.table(
            {"nation": np.arange(25), "name": NATIONS, "region": [REGIONS[one % 5] for one in range(25)]}
        ),
    }
    ordered = FIRST_DAY + draw.integers(0, 2406, orders).astype("timedelta64[D]")
    return {
        **found,
        "orders": pa.table({"custkey": owners, "orderkey": np.arange(orders), "orderdate": ordered}),
    }


def database() -> sf.Database:
    """Return what is public about the tables."""
    line = {
        "quantity": integers(0, 50, missing=0),
        "extendedprice": fixed(0, 105_000, step="0.01", missing=0),
        "discount": fixed(0, "0.1", step="0.01", missing=0),
        "tax": fixed(0, "0.08", step="0.01", missing=0),
        "returnflag": categories("A", "N", "R", missing="N"),
        "linestatus": categories("F", "O", missing="O"),
        "shipdate": dates("1992-01-01", "1998-12-31", missing="1992-01-01"),
        "shipmode": categories(*MODES, missing="AIR"),
    }
    return sf.Database(
        {
            "customer": sf.Schema({"segment": integers(0, 4, missing=0)}, person="custkey", row_key=()),
            "lineitem": sf.Schema(line, person="custkey", rows_per_person=200),
            "orders": sf.Schema(
                {"orderdate": dates("1992-01-01", "1998-12-31", missing="1992-01-01")},
                person="custkey",
                rows_per_person=100,
                row_key="orderkey",
            ),
            "part": sf.PublicTable("partkey"),
            "supplier": sf.PublicTable("suppkey"),
            "nation": sf.PublicTable("nation"),
        },
        population="customer",
        links=(
            sf.Link("lineitem.orderkey", "orders"),
            sf.Link("lineitem.partkey", "part"),
            sf.Link("lineitem.suppkey", "supplier"),
            sf.Link("supplier.nation", "nation"),
        ),
    )


DRAWS = 9
"""Answers whose errors are compared by their median."""
REVENUE = "lineitem.extendedprice * (1 - lineitem.discount)"
YEAR = "lineitem.shipdate >= DATE '1994-01-01' AND lineitem.shipdate < DATE '1995-01-01'"
ORDERED = "orders.orderdate >= DATE '1994-01-01' AND orders.orderdate < DATE '1995-01-01'"
PER = (
    "WITH per AS (SELECT lineitem.custkey AS custkey, {items} FROM lineitem{join} WHERE {where} "
    "GROUP BY lineitem.custkey) SELECT {outer} FROM per"
)
PART = " JOIN part ON lineitem.partkey = part.partkey"
Q19 = " OR ".join(
    f"(part.brand = 'Brand#{brand}' AND part.container IN ('{size} CASE', '{size} BOX', '{size} PACK', '{size} PKG') "
    f"AND lineitem.quantity BETWEEN {low} AND {low + 10} AND part.size BETWEEN 1 AND {most})"
    for brand, size, low, most in ((12, "SM", 1, 5), (23, "MED", 10, 10), (34, "LG", 20, 15))
)
STATEMENTS = {
    "Q1": f"SELECT lineitem.returnflag, lineitem.linestatus, SUM(lineitem.quantity), SUM(lineitem.extendedprice), "
    f"SUM({REVENUE}), SUM({REVENUE} * (1 + lineitem.tax)), SUM(lineitem.discount), COUNT(*) FROM lineitem "
    "WHERE lineitem.shipdate <= DATE '1998-09-02' GROUP BY lineitem.returnflag, lineitem.linestatus",
    "Q5": f"SELECT nation.name, SUM({REVENUE}) FROM lineitem JOIN supplier ON lineitem.suppkey = supplier.suppkey "
    f"JOIN nation ON supplier.nation = nation.nation WHERE nation.region = 'ASIA' AND {YEAR} GROUP BY nation.name",
    "Q5, clamped": f"SELECT nation.name, SUM({REVENUE}, CONTRIBUTION_BOUNDS_PER_GROUP => (0, 250000)) FROM lineitem "
    "JOIN supplier ON lineitem.suppkey = supplier.suppkey JOIN nation ON supplier.nation = nation.nation "
    f"WHERE nation.region = 'ASIA' AND {YEAR} GROUP BY nation.name",
    "Q5, clamped, by order": f"SELECT nation.name, SUM({REVENUE}, CONTRIBUTION_BOUNDS_PER_GROUP => (0, 250000)) "
    "FROM lineitem JOIN orders ON lineitem.custkey = orders.custkey AND lineitem.orderkey = orders.orderkey "
    "JOIN supplier ON lineitem.suppkey = supplier.suppkey JOIN nation ON supplier.nation = nation.nation "
    f"WHERE nation.region = 'ASIA' AND {ORDERED} GROUP BY nation.name",
    "Q6": PER.format(
        items="LEAST(SUM(lineitem.extendedprice * lineitem.discount), 15000) AS s",
        join="",
        where=f"{YEAR} AND lineitem.discount BETWEEN 0.05 AND 0.07 AND lineitem.quantity < 24",
        outer="SUM(per.s)",
    ),
    "Q14": PER.format(
        items=f"LEAST(SUM(CASE WHEN part.promo THEN {REVENUE} ELSE 0 END), 400000) AS promo, "
        f"LEAST(SUM({REVENUE}), 400000) AS whole",
        join=PART,
        where="lineitem.shipdate >= DATE '1995-09-01' AND lineitem.shipdate < DATE '1995-10-01'",
        outer="SUM(per.promo), SUM(per.whole)",
    ),
    "Q19": PER.format(
        items=f"LEAST(SUM({REVENUE}), 60000) AS s",
        join=PART,
        where=f"lineitem.shipmode IN ('AIR', 'AIR REG') AND ({Q19})",
        outer="SUM(per.s)",
    ),
}


def cpu(work: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    """Return the least CPU time of a few runs, and what came out."""
    best, found = float("inf"), None
    for _ in range(times):
        start = time.process_time()
        found = work()
        best = min(best, time.process_time() - start)
    return best, found


def run(scale: float) -> dict[str, Any]:
    """Return opening times, and for each statement CPU beside the raw engine, the exact totals and their errors."""
    tables = made(scale)
    raw = duckdb.connect()
    for name, table in tables.items():
        raw.register(f"raw_{name}", table)
        raw.execute(f"CREATE TABLE {name} AS SELECT * FROM raw_{name}")
        raw.unregister(f"raw_{name}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    curator = sf.curate(tables, database(), Pure(1000))
    found: dict[str, Any] = {
        "scale": scale,
        "lines": tables["lineitem"].num_rows,
        "opening": time.process_time() - start,
    }
    found["opening GiB"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 2**20
    for name, statement in STATEMENTS.items():
        plain = statement.replace(", CONTRIBUTION_BOUNDS_PER_GROUP => (0, 250000)", "")
        engine, rows = cpu(lambda plain=plain: raw.execute(plain).fetchall())
        explain, told = cpu(lambda statement=statement: curator.explain(statement, spend=Pure(1)))
        select = read_statement(statement, curator.schema).selects[0]
        prepared = select.canonical(curator.schema).prepare(curator.basis, Pure(1))
        prepared.check(curator.table)
        own, exact = cpu(lambda prepared=prepared: prepared.exact(curator.table))
        asked, answer = cpu(lambda statement=statement: curator.sql(statement, spend=Pure(1)), times=1)
        found[name] = {
            "raw": engine,
            "read": own,
            "asked": asked,
            "ratio": own / engine,
            "explain ms": 1000 * explain,
            "relative error": _error(rows, answer),
            "covered": _covered(prepared, exact, Made.of(select.canonical(curator.schema).statement, curator.schema)),
            "median noise": {key: round(value, 2) for key, value in told.noise.items()},
        }
    ratios = [found[name] for name in STATEMENTS]
    found["overall ratio"] = sum(one["read"] for one in ratios) / sum(one["raw"] for one in ratios)
    return found


def _covered(prepared: Any, exact: Any, made: Made, draws: int = 100) -> float:
    """Return how often intervals of 95 % hold what would have been released without noise, over cells and totals."""
    true = made.columns(prepared.finish(exact))
    held = []
    for seed in range(draws):
        released = prepared.finish(prepared.mechanism.run(exact, Noise(insecure_seed=seed)))
        for name, (low, high) in made.ends(released, Fraction(95, 100)).items():
            held += [a <= one <= b for a, one, b in zip(low, true[name], high, strict=True)]
    return float(np.mean(held))


def beside(scale: float) -> dict[str, Any]:
    """Return what SmartNoise SQL and we say of the same lines at epsilon 1: sums of weighed rows, and of clamped."""
    tables = made(scale)
    line = tables["lineitem"].to_pandas()
    ours = {}
    days = line["shipdate"].astype("datetime64[ns]")
    passes = days.between("1994-01-01", "1994-12-31") & line["discount"].between(0.05, 0.07) & (line["quantity"] < 24)
    with TemporaryDirectory() as place:
        told = line[["custkey", "quantity"]].assign(
            flag=line["returnflag"],
            status=line["linestatus"],
            price=line["extendedprice"],
            saved=(line["extendedprice"] * line["discount"]).where(passes, 0.0),
        )
        path = Path(place) / "lines.csv"
        told.to_csv(path, index=False)
        script = Path(__file__).parent / "peers" / "smartnoise_sql.py"
        theirs = environments.run("smartnoise-sql", ["smartnoise-sql==1.0.10"], script, str(path), "200", "1")
    raw = duckdb.connect()
    for name, table in tables.items():
        raw.register(name, table)
    # Theirs is a promise about a person who is there or not; ours is asked for the same here.
    curator = sf.curate(tables, database(), Pure(1000), relation=sf.ADD_REMOVE)
    group = "FROM lineitem GROUP BY lineitem.returnflag, lineitem.linestatus"
    keys = "lineitem.returnflag, lineitem.linestatus"
    where = f"FROM lineitem WHERE {YEAR} AND lineitem.discount BETWEEN 0.05 AND 0.07 AND lineitem.quantity < 24"
    for name, statement in {
        "Q1": f"SELECT {keys}, SUM(lineitem.quantity), COUNT(*) {group}",
        "Q1, prices": f"SELECT {keys}, SUM(lineitem.extendedprice) {group}",
        "Q6": f"SELECT SUM(lineitem.extendedprice * lineitem.discount) {where}",
        "Q6, clamped": STATEMENTS["Q6"],
    }.items():
        rows = raw.execute(statement).fetchall()
        found = []
        for place in range(DRAWS):
            # A spend that differs a little is a new question, with noise of its own.
            spend = Pure(1 - Fraction(place, 10**6))
            asked, answer = cpu(lambda statement=statement, spend=spend: curator.sql(statement, spend=spend), times=1)
            found.append(_error(rows, answer))
        ours[name] = {"seconds": asked, "relative error": float(np.median(found))}
    return {"lines": len(line), "SmartNoise SQL": theirs, "ours": ours}


def _error(rows: list[tuple[Any, ...]], answer: Any) -> float:
    """Return the median relative distance of what was released from what the engine says."""
    keys = len(answer.frame.keys)
    exact = {tuple(row[:keys]): row[keys:] for row in rows}
    apart = [
        abs(float(noisy) - float(true)) / max(1e-9, abs(float(true)))
        for row in answer.frame.rows()
        for noisy, true in zip(row[keys:], exact.get(tuple(row[:keys]), ()), strict=False)
        if true
    ]
    return float(np.median(apart))


if __name__ == "__main__":
    whole = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    print(json.dumps({**run(whole), "beside": beside(whole / 20)}, indent=1))
