"""Group figures of a table of decisions by fairlearn or aif360, as JSON; runs in that peer's environment."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def by_fairlearn(frame):
    from fairlearn.metrics import MetricFrame, demographic_parity_difference, demographic_parity_ratio, selection_rate

    rates = MetricFrame(
        metrics=selection_rate, y_true=frame["truth"], y_pred=frame["decision"], sensitive_features=frame["group"]
    ).by_group
    given = {"y_pred": frame["decision"], "sensitive_features": frame["group"]}
    return {
        "rate_inside": float(rates[1]),
        "rate_outside": float(rates[0]),
        "gap": float(demographic_parity_difference(frame["truth"], **given)),
        "ratio": float(demographic_parity_ratio(frame["truth"], **given)),
    }


def by_aif360(frame):
    from aif360.sklearn.metrics import disparate_impact_ratio, statistical_parity_difference

    options = {"prot_attr": frame["group"].to_numpy(), "priv_group": 0, "pos_label": 1}
    truth, decided = frame["truth"].to_numpy(), frame["decision"].to_numpy()
    gap = statistical_parity_difference(truth, decided, **options)
    ratio = disparate_impact_ratio(truth, decided, **options)
    return {
        "rate_inside": float(decided[frame["group"] == 1].mean()),
        "rate_outside": float(decided[frame["group"] == 0].mean()),
        "gap": abs(float(gap)),
        "ratio": float(ratio),
    }


if __name__ == "__main__":
    import pandas as pd

    peer, path = sys.argv[1], Path(sys.argv[2])
    table = pd.read_parquet(path)
    start = time.process_time()
    figures = {"fairlearn": by_fairlearn, "aif360": by_aif360}[peer](table)
    print(json.dumps({**figures, "seconds": time.process_time() - start}))
