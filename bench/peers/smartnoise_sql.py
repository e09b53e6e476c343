"""Sums over lines by SmartNoise SQL, the customer as the person; runs in an environment of its own.

python bench/peers/smartnoise_sql.py LINES.csv ROWS_PER_PERSON EPSILON
"""

import json
import sys
import time
import warnings
from importlib.metadata import version

warnings.filterwarnings("ignore")

import pandas as pd  # noqa: E402
import snsql  # noqa: E402

source, rows, epsilon = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
table = pd.read_csv(source, dtype={"flag": str, "status": str})
HIGHEST = {"quantity": 50, "price": 105_000, "saved": 10_500}
meta = {
    "": {
        "line": {
            "line": {
                "row_privacy": False,
                "max_ids": rows,
                "rows": len(table),
                "censor_dims": False,
                "clamp_counts": False,
                "custkey": {"type": "int", "private_id": True},
                "flag": {"type": "string"},
                "status": {"type": "string"},
                **{name: {"type": "float", "lower": 0, "upper": high} for name, high in HIGHEST.items()},
            }
        }
    }
}
ASKED = {
    "Q1": "SELECT flag, status, SUM(quantity) AS a, COUNT(*) AS b FROM line.line GROUP BY flag, status",
    "Q1, prices": "SELECT flag, status, SUM(price) AS a FROM line.line GROUP BY flag, status",
    "Q6": "SELECT SUM(saved) AS a FROM line.line",
}


def asked(spend, statement):
    """Return the rows of an answer, without their head; a spend there is for each column."""
    privacy = snsql.Privacy(epsilon=spend / statement.count(" AS "), delta=1e-9)
    reader = snsql.from_df(table, privacy=privacy, metadata=meta)
    return reader.execute(statement)[1:]


def errors(found, exact):
    """Return the median relative distance from the exact totals."""
    apart = []
    for row in found:
        keys = tuple(cell for cell in row if isinstance(cell, str))
        true = exact[keys]
        apart += [abs(float(cell) - one) / one for cell, one in zip(row[len(keys) :], true, strict=True)]
    return sorted(apart)[len(apart) // 2]


groups = list(table.groupby(["flag", "status"]))
exact = {
    "Q1": {key: (part["quantity"].sum(), len(part)) for key, part in groups},
    "Q1, prices": {key: (part["price"].sum(),) for key, part in groups},
    "Q6": {(): (table["saved"].sum(),)},
}
result = {"version": version("smartnoise-sql"), "lines": len(table)}
for name, statement in ASKED.items():
    try:
        begun = time.process_time()
        answer = asked(epsilon, statement)
        seconds = time.process_time() - begun
        result[name] = {
            "seconds": seconds,
            "relative error": sorted(
                [errors(answer, exact[name]), *(errors(asked(epsilon, statement), exact[name]) for _ in range(8))]
            )[4],
            "relative error at epsilon 10^6": errors(asked(1e6, statement), exact[name]),
        }
    except Exception as failure:  # what a peer cannot do is a result
        result[name] = {"failed": f"{type(failure).__name__}: {str(failure)[:200]}"}
print(json.dumps(result))
