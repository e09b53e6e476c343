"""Figures by group of one made-up table by fairlearn or aif360, as JSON; `tests/fair/peer_figures.json` holds them.

python bench/peers/fair_audit.py fairlearn     (or aif360), in that peer's environment
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version

import numpy as np


def table():
    """Return groups, decisions and labels of 997 people, by whole numbers alone."""
    place = np.arange(997)
    group = np.array(["a", "b", "c"])[(place * place + place // 5) % 3 * (place % 11 > 1)]
    label = ((place * 7 + place // 13) % 5 < 2).astype(int)
    decision = ((place * 3 + place // 7 + 2 * label + (group == "b")) % 7 < 3).astype(int)
    return group, decision, label


def by_fairlearn(group, decision, label):
    from fairlearn.metrics import (
        MetricFrame,
        demographic_parity_difference,
        demographic_parity_ratio,
        equalized_odds_difference,
        false_positive_rate,
        selection_rate,
        true_positive_rate,
    )
    from sklearn.metrics import precision_score

    asked = {
        "selection rate": selection_rate,
        "true positive rate": true_positive_rate,
        "false positive rate": false_positive_rate,
        "precision": precision_score,
    }
    frame = MetricFrame(metrics=asked, y_true=label, y_pred=decision, sensitive_features=group)
    given = {"y_pred": decision, "sensitive_features": group}
    return {
        "groups": {name: {key: float(frame.by_group[key][name]) for key in asked} for name in "abc"},
        "largest difference": float(demographic_parity_difference(label, **given)),
        "smallest ratio": float(demographic_parity_ratio(label, **given)),
        "equalized odds": float(equalized_odds_difference(label, **given)),
    }


def by_aif360(group, decision, label):
    from aif360.sklearn.metrics import (
        disparate_impact_ratio,
        equal_opportunity_difference,
        statistical_parity_difference,
    )

    found = {}
    for name in "bc":
        kept = (group == "a") | (group == name)
        given = {"prot_attr": group[kept], "priv_group": "a", "pos_label": 1}
        truth, decided = label[kept], decision[kept]
        found[name] = {
            "ratio": float(disparate_impact_ratio(truth, decided, **given)),
            "difference": float(statistical_parity_difference(truth, decided, **given)),
            "difference of true positive rates": float(equal_opportunity_difference(truth, decided, **given)),
        }
    return {"to a": found}


if __name__ == "__main__":
    peer = sys.argv[1]
    figures = {"fairlearn": by_fairlearn, "aif360": by_aif360}[peer](*table())
    print(json.dumps({"version": version(peer), **figures}))
