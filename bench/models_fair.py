"""What FairClassifier keeps of an estimator's area under the curve for people who were not in the fit.

    python -m bench.models_fair DATA [--train 800] [--test 500] [--splits 1]

The default metric, three estimators, four tables; violations of the promise over all pairs of train and test.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import sfumato as sf
from bench.models_tables import Task, adult, compas, insurance, pensions
from sfumato import fair

ESTIMATORS = {
    "logistic": LogisticRegression(max_iter=500),
    "boosting": HistGradientBoostingClassifier(random_state=1),
    "forest": RandomForestClassifier(100, random_state=1),
}


def prepared(task: Task, model: Any) -> Any:
    """Return an estimator that takes the table by column name."""
    words = [name for name, one in task.domains.items() if isinstance(one, sf.domain.Categories)]
    rest = [name for name in task.features if name not in words]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(ColumnTransformer([("words", encoder, words), ("numbers", StandardScaler(), rest)]), model)


def violations(model: Any, people: Any) -> tuple[int, int]:
    """Return how many pairs differ by more than their distance, and how many pairs there are."""
    chance = model.predict_proba(people)[:, 1]
    distances = model.metric_.of(people).block()
    apart = np.abs(chance[:, None] - chance[None, :])
    bound = np.triu(np.ones_like(apart, bool), 1)
    return int(((apart > np.minimum(distances, 1)) & bound).sum()), int(bound.sum())


def main() -> None:
    """Print one table of Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--train", type=int, default=800)
    parser.add_argument("--test", type=int, default=500)
    parser.add_argument("--splits", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    head = ["table, estimator", "base", "FairClassifier", "lift kept", "far pairs", "violations", "CPU s"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    tasks = [adult(arguments.data), compas(arguments.data, "two_year_recid", (0, 1)), insurance(), pensions()]
    for task in tasks:
        for name, model in ESTIMATORS.items():
            for seed in range(arguments.splits):
                started = time.process_time()
                frame = task.frame.sample(arguments.train + arguments.test, random_state=seed)
                people, label = frame[task.features], (frame[task.target] == task.values[1]).astype(int)
                train, unseen = slice(arguments.train), slice(arguments.train, None)
                estimator = prepared(task, model)
                base = estimator.fit(people.iloc[train], label.iloc[train]).predict_proba(people.iloc[unseen])[:, 1]
                kept = fair.FairClassifier(estimator).fit(people.iloc[train], label.iloc[train])
                areas = [roc_auc_score(label.iloc[unseen], one)
                         for one in (base, kept.predict_proba(people.iloc[unseen])[:, 1])]  # fmt: skip
                broken, pairs = violations(kept, people)
                lift = (areas[1] - 0.5) / (areas[0] - 0.5)
                print(f"| {task.name}, {name} | {areas[0]:.3f} | {areas[1]:.3f} | {lift:.2f} | {kept.vacuous_:.2f} | "
                      f"{broken} of {pairs:,} | {time.process_time() - started:.0f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
