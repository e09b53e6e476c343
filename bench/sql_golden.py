"""Relative errors of statements over TPC-H itself, beside those that were foreseen for them: a bar against regressions.

`python -m bench.sql_golden [SCALE]` has `tpchgen-cli`, in an environment of its own, make the tables. The customer is
the person, with up to 200 lines, and everything is asked at epsilon 1 of a person who is replaced. The error of a
number is what its bounds cut and the median size of its noise, divided by the number; of a statement it is the median
over its cells and totals. No noise is drawn. The bounds were chosen with the data at hand, which nobody who asks can
do: they are the best that bounds can be, and no forecast.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np

import sfumato as sf
from bench import environments
from bench.sql import CONTAINERS, MODES, PART, PER, REVENUE, YEAR
from sfumato import Pure
from sfumato.domain import categories, dates, fixed, integers
from sfumato.sql.canonical import canonical
from sfumato.sql.plan import aggregates_of, scope_names
from sfumato.sql.select import Made
from sfumato.sql.statement import read_statement

INSTRUCTIONS = ("COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN")
TABLES = {
    "customer": "SELECT c_custkey AS custkey, c_mktsegment AS segment, c_nationkey AS nation FROM {customer}",
    "orders": "SELECT o_custkey AS custkey, o_orderkey AS orderkey, o_orderdate AS orderdate FROM {orders}",
    "lineitem": "SELECT o_custkey AS custkey, l_orderkey AS orderkey, l_partkey AS partkey, l_suppkey AS suppkey, "
    "CAST(l_quantity AS INTEGER) AS quantity, l_extendedprice AS extendedprice, l_discount AS discount, l_tax AS tax, "
    "l_returnflag AS returnflag, l_linestatus AS linestatus, l_shipdate AS shipdate, l_shipmode AS shipmode, "
    "l_shipinstruct AS shipinstruct FROM {lineitem} JOIN {orders} ON l_orderkey = o_orderkey",
    "part": "SELECT p_partkey AS partkey, p_brand AS brand, p_container AS container, p_size AS size, "
    "p_type LIKE 'PROMO%' AS promo FROM {part}",
    "supplier": "SELECT s_suppkey AS suppkey, s_nationkey AS nation FROM {supplier}",
    "nation": "SELECT n_nationkey AS nation, n_name AS name, r_name AS region FROM {nation} JOIN {region} "
    "ON n_regionkey = r_regionkey",
}
DATES = {"low": "1992-01-01", "high": "1998-12-31", "missing": "1992-01-01"}


def database() -> sf.Database:
    """Return what is public about the tables."""
    line = {
        "quantity": integers(0, 50, missing=0),
        "extendedprice": fixed(0, 105_000, step="0.01", missing=0),
        "discount": fixed(0, "0.1", step="0.01", missing=0),
        "tax": fixed(0, "0.08", step="0.01", missing=0),
        "returnflag": categories("A", "N", "R", missing="N"),
        "linestatus": categories("F", "O", missing="O"),
        "shipdate": dates(DATES["low"], DATES["high"], missing=DATES["missing"]),
        "shipmode": categories(*sorted({*MODES, "REG AIR"}), missing="AIR"),
        "shipinstruct": categories(*INSTRUCTIONS, missing="NONE"),
    }
    day = dates(DATES["low"], DATES["high"], missing=DATES["missing"])
    return sf.Database(
        {
            "customer": sf.Schema(
                {"segment": categories("BUILDING", missing="BUILDING")}, person="custkey", row_key=()
            ),
            "lineitem": sf.Schema(line, person="custkey", rows_per_person=200),
            "orders": sf.Schema({"orderdate": day}, person="custkey", rows_per_person=100, row_key="orderkey"),
            "part": sf.PublicTable("partkey"),
            "supplier": sf.PublicTable("suppkey"),
            "nation": sf.PublicTable("nation"),
        },
        population="customer",
        links=(
            sf.Link("customer.nation", "nation"),
            sf.Link("lineitem.orderkey", "orders"),
            sf.Link("lineitem.partkey", "part"),
            sf.Link("lineitem.suppkey", "supplier"),
            sf.Link("supplier.nation", "nation"),
        ),
    )


BOUNDS = "CONTRIBUTION_BOUNDS_PER_GROUP => (0, {})"
SMALL = ("CASE", "BOX", "PACK", "PKG")
PACKS = {"SM": SMALL, "MED": ("BAG", "BOX", "PKG", "PACK"), "LG": SMALL}
assert {f"{size} {pack}" for size, packs in PACKS.items() for pack in packs} <= set(CONTAINERS)
Q19 = " OR ".join(
    f"(part.brand = 'Brand#{brand}' AND part.size BETWEEN 1 AND {most} "
    f"AND lineitem.quantity BETWEEN {low} AND {low + 10} "
    f"AND part.container IN ({', '.join(repr(f'{size} {pack}') for pack in PACKS[size])}))"
    for brand, size, low, most in ((12, "SM", 1, 5), (23, "MED", 10, 10), (34, "LG", 20, 15))
)
SOLD = {
    "Q1": ("lineitem.quantity", "lineitem.extendedprice", REVENUE, f"{REVENUE} * (1 + lineitem.tax)",
           "lineitem.discount", "*"),
    "Q5": (REVENUE,),
    "Q6": ("lineitem.extendedprice * lineitem.discount",),
    "Q14": (f"CASE WHEN part.promo THEN {REVENUE} ELSE 0 END", REVENUE),
    "Q19": (REVENUE,),
}  # fmt: skip
"""What every statement adds up; `*` is rows."""
MOST = {"Q1": (50, 105_000, 105_000, 113_400, 0.1, 1), "Q5": (105_000,), "Q6": (7_350,), "Q14": (105_000,) * 2,
        "Q19": (105_000,)}  # fmt: skip
"""The most that a row adds, by what is public and WHERE."""
BEST = {"Q1": (2_500, *[3_600_000] * 3, 5, 100), "Q5": (250_000,), "Q6": (15_000,), "Q14": (400_000,) * 2,
        "Q19": (60_000,)}  # fmt: skip
WHERE = {
    "Q1": "lineitem.shipdate <= DATE '1998-09-02'",
    "Q5": "n1.name = n2.name AND n1.region = 'ASIA' AND orders.orderdate >= DATE '1994-01-01' "
    "AND orders.orderdate < DATE '1995-01-01'",
    "Q6": f"{YEAR} AND lineitem.discount BETWEEN 0.05 AND 0.07 AND lineitem.quantity < 24",
    "Q14": "lineitem.shipdate >= DATE '1995-09-01' AND lineitem.shipdate < DATE '1995-10-01'",
    "Q19": f"lineitem.shipmode IN ('AIR', 'AIR REG') AND lineitem.shipinstruct = 'DELIVER IN PERSON' AND ({Q19})",
}
JOINS = {
    "Q5": " JOIN customer ON lineitem.custkey = customer.custkey JOIN orders ON lineitem.custkey = orders.custkey "
    "AND lineitem.orderkey = orders.orderkey JOIN supplier ON lineitem.suppkey = supplier.suppkey "
    "JOIN nation AS n1 ON customer.nation = n1.nation JOIN nation AS n2 ON supplier.nation = n2.nation",
    "Q14": PART,
    "Q19": PART,
}
KEYS = {"Q1": "lineitem.returnflag, lineitem.linestatus", "Q5": "n1.name"}
FORESEEN = {
    1: {
        "Q1": {"weighed": 0.27, "best": 0.17, 0.25: 90, 0.5: 81, 1: 62, 2: 34, 4: 7.1, 8: 1.4},
        "Q5": {"weighed": 54, "best": 0.67, 0.25: 14, 0.5: 1.8, 1: 0.68, 2: 1.4, 4: 2.7, 8: 5.4},
        "Q6": {"weighed": 0.83, "best": 0.0084, 0.25: 5.2, 0.5: 0.15, 1: 0.010, 2: 0.021, 4: 0.041, 8: 0.083},
        "Q14": {"weighed": 3.7, "best": 0.08, 0.25: 21, 0.5: 4.8, 1: 0.32, 2: 0.09, 4: 0.19, 8: 0.37},
        "Q19": {"weighed": 470, "best": 1.35, 0.25: 1.5, 0.5: 3.0, 1: 5.9, 2: 12, 4: 24, 8: 47},
    },
    0.1: {"Q1": {"best": 1.7}, "Q5": {"best": 5.8}, "Q6": {"best": 0.088}, "Q14": {"best": 0.76}, "Q19": {"best": 25}},
}
"""In percent; a number is a factor of bounds of ten rows at a quarter of the most that a row adds."""


def statements(name: str) -> Iterator[tuple[Any, str]]:
    """Yield a statement with whole rows weighed, with the best bounds, and with bounds of some factors."""
    yield "weighed", _plain(name)
    yield "best", _bounded(name, BEST[name])
    for factor in (0.25, 0.5, 1, 2, 4, 8):
        # Bounds are whole steps of what is added up: of rows, and of hundredths.
        each = [factor * 10 * most / 4 for most in MOST[name]]
        whole = [of == "*" or end >= 1 for of, end in zip(SOLD[name], each, strict=True)]
        yield (
            factor,
            _bounded(name, [max(1, round(end)) if at else round(end, 2) for end, at in zip(each, whole, strict=True)]),
        )


def _plain(name: str) -> str:
    items = ", ".join("COUNT(*)" if of == "*" else f"SUM({of})" for of in SOLD[name])
    return _select(name, items)


def _bounded(name: str, most: Any) -> str:
    pairs = list(zip(SOLD[name], most, strict=True))
    if name in KEYS:
        items = (
            f"COUNT(*, {BOUNDS.format(end)})" if of == "*" else f"SUM({of}, {BOUNDS.format(end)})" for of, end in pairs
        )
        return _select(name, ", ".join(items))
    inside = ", ".join(f"LEAST(SUM({of}), {end}) AS s{place}" for place, (of, end) in enumerate(pairs))
    outer = ", ".join(f"SUM(per.s{place})" for place in range(len(pairs)))
    return PER.format(items=inside, join=JOINS.get(name, ""), where=WHERE[name], outer=outer)


def _select(name: str, items: str) -> str:
    keys = KEYS.get(name)
    shown, by = (f"{keys}, ", f" GROUP BY {keys}") if keys else ("", "")
    return f"SELECT {shown}{items} FROM lineitem{JOINS.get(name, '')} WHERE {WHERE[name]}{by}"


def run(scale: float, names: tuple[str, ...] = tuple(SOLD)) -> dict[str, Any]:
    """Return for every statement its errors in percent beside the foreseen ones, and what the engine says of Q6."""
    with TemporaryDirectory() as place:
        python = environments.python_of("tpchgen", ["tpchgen-cli==4.0.0"])
        command = [str(python.with_name("tpchgen-cli")), "parquet", "-s", str(scale), "-o", place]
        subprocess.run(command, check=True, capture_output=True)
        raw = duckdb.connect()
        named = {one: f"'{place}/{one}.parquet'" for one in (*TABLES, "region")}
        paths = {name: str(Path(place) / f"{name}_told.parquet") for name in TABLES}
        for name, query in TABLES.items():
            raw.execute(f"COPY ({query.format(**named)}) TO '{paths[name]}' (FORMAT parquet)")
            raw.execute(f"CREATE VIEW {name} AS SELECT * FROM '{paths[name]}'")
        found: dict[str, Any] = {"scale": scale, "Q6, exact": str(raw.execute(_plain("Q6")).fetchone()[0])}  # type: ignore[index]
        with sf.curate(paths, database(), Pure(1000)) as curator:
            for name in names:
                true = _told(
                    raw.execute(_plain(name)).fetchall(), len(KEYS.get(name, "").split(", ")) if name in KEYS else 0
                )
                found[name] = {str(how): _error(curator, text, true) for how, text in statements(name)}
                found[name]["foreseen"] = {str(how): one for how, one in FORESEEN.get(scale, {}).get(name, {}).items()}
    return found


def _told(rows: list[tuple[Any, ...]], keys: int) -> dict[tuple[Any, ...], tuple[float, ...]]:
    return {row[:keys]: tuple(float(one) for one in row[keys:]) for row in rows}


def _error(curator: sf.Curator, text: str, true: dict[tuple[Any, ...], tuple[float, ...]]) -> float:
    """Return the median relative error, in percent, of what bounds cut and of the median size of the noise."""
    statement = read_statement(text, curator.schema)
    select = statement.selects[0].canonical(curator.schema)
    made = Made.of(select.statement, curator.schema)
    prepared = select.prepare(curator.basis, Pure(1))
    prepared.check(curator.table)
    released = prepared.finish(prepared.exact(curator.table))
    columns = made.columns(released)
    # Canonical statements have their totals in an order of their own; the engine has them as they were written.
    written = [canonical(node, scope_names(statement.scope)) for node in aggregates_of(statement.private)]
    noise = curator.explain(text, spend=Pure(1)).noise
    errors = []
    for place, cell in enumerate(released.cells if made.keys else ((),)):
        for total, one in zip(written, true.get(tuple(cell), ()), strict=False):
            errors.append((abs(float(columns[total][place]) - one) + _noise_of(noise, total)) / one)
    return 100 * float(np.median(errors))


def _noise_of(noise: dict[str, float], total: str) -> float:
    """Return the noise of a total by its canonical text; EXPLAIN names it without brackets where no bounds stand."""
    if total in noise:
        return noise[total]
    inside = re.sub(r"^\w+\((.*)\)$", r"\1", total)
    (found,) = [size for name, size in noise.items() if (name == "count" if inside == "*" else name.endswith(inside))]
    return found


if __name__ == "__main__":
    print(json.dumps(run(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0), indent=1))
