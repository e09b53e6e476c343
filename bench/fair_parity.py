"""Accuracy against the parity gap: fair decisions with parity beside them, and fairlearn's ExponentiatedGradient.

    python -m bench.fair_parity [--people 300]

People are Adult's, the groups women and men, the estimator a logistic regression that does not see sex. Decisions are
for people who were not in the fit: `fair_mapping` under the default metric's promise for all pairs of them with a
bound on the gap, the same without a metric, and ExponentiatedGradient, which is fitted with the bound beforehand.
Writes docs/pictures/fair-parity.svg and prints a table.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bench.environments import run as run_peer
from sfumato import fair

HOME = Path(__file__).resolve().parent
ADULT = HOME.parent / "examples" / "data" / "adult.parquet"
PICTURE = HOME.parent / "docs" / "pictures" / "fair-parity.svg"
NUMBERS = ["age", "education_num", "hours_per_week", "capital_gain", "capital_loss"]
WORDS = ["workclass", "marital_status", "occupation"]
BOUNDS = (0.2, 0.12, 0.08, 0.04, 0.0)


def point(chances: Any, label: Any, group: Any) -> tuple[float, float]:
    """Return the parity gap and the expected accuracy of randomized decisions."""
    gap = abs(chances[group == 1].mean() - chances[group == 0].mean())
    return float(gap), float(np.where(label == 1, chances, 1 - chances).mean())


def mapped(metric: Any, scores: Any, group: Any, bound: float | None) -> Any:
    """Return the probabilities of the decision that errs least by the estimator, with parity up to a bound."""
    parity = None if bound is None else fair.Parity(group == 0, group == 1, bound)
    return fair.fair_mapping(metric, np.stack([scores, 1 - scores], axis=1), parity=parity).probabilities[:, 1]


def frontiers(people: int) -> dict[str, list[tuple[float, float]]]:
    """Return gap and accuracy of every way at every bound, the free one first."""
    frame = pd.read_parquet(ADULT).dropna()
    frame = frame.sample(2000 + people, random_state=1)
    prepared = ColumnTransformer(
        [
            ("words", OneHotEncoder(handle_unknown="ignore", sparse_output=False), WORDS),
            ("numbers", StandardScaler(), NUMBERS),
        ]
    )
    train, test = frame.iloc[:2000], frame.iloc[2000:]
    x = prepared.fit_transform(train)
    y, truth = ((part["income"] == ">50K").to_numpy().astype(int) for part in (train, test))
    group, unseen = ((part["sex"] == "Male").to_numpy().astype(int) for part in (train, test))
    base = LogisticRegression(max_iter=500).fit(x, y)
    scores = base.predict_proba(prepared.transform(test))[:, 1]
    bound = fair.Metric.typical(test[[*NUMBERS, *WORDS]])
    nobody = fair.Metric.from_scores(np.arange(len(test), dtype=float))
    found: dict[str, list[tuple[float, float]]] = {"estimator": [point((scores >= 0.5).astype(float), truth, unseen)]}
    columns = [*NUMBERS, *WORDS]
    kept = fair.FairClassifier(make_pipeline(prepared, LogisticRegression(max_iter=500))).fit(train[columns], y)
    chances = kept.predict_proba(test[columns])[:, 1]
    found["FairClassifier, cut at one half"] = [point((chances >= 0.5).astype(float), truth, unseen)]
    found["FairClassifier, drawn"] = [point(chances, truth, unseen)]
    for name, metric in (("fair_mapping, similar people similarly", bound), ("fair_mapping, parity alone", nobody)):
        started = time.process_time()
        found[name] = [point(mapped(metric, scores, unseen, one), truth, unseen) for one in (None, *BOUNDS)]
        print(f"{name}: {time.process_time() - started:.1f} CPU s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "split.npz"
        np.savez(path, x=x, y=y, group=group, test_x=prepared.transform(test))
        script = HOME / "peers" / "fairlearn_parity.py"
        theirs = run_peer("fairlearn", ["fairlearn", "pandas", "pyarrow"], script, str(path), *map(str, BOUNDS))
    found["fairlearn, ExponentiatedGradient"] = [point(np.array(one), truth, unseen) for one in theirs["chances"]]
    print(f"fairlearn {theirs['version']}: {theirs['seconds']:.1f} CPU s", flush=True)
    return found


def draw(found: dict[str, list[tuple[float, float]]]) -> None:
    """Draw the frontiers."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for name, points in found.items():
        axes.plot(*zip(*sorted(points), strict=True), marker="o", label=name)
    axes.set(xlabel="parity gap among people who were not in the fit", ylabel="expected accuracy")
    axes.legend(fontsize=8)
    figure.savefig(PICTURE, metadata={"Date": None}, bbox_inches="tight")


def main() -> None:
    """Measure, draw, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=300)
    found = frontiers(parser.parse_args().people)
    draw(found)
    print("| decisions by | gap: expected accuracy |\n|---|---|")
    for name, points in found.items():
        print(f"| {name} | {', '.join(f'{gap:.3f}: {right:.3f}' for gap, right in points)} |")


if __name__ == "__main__":
    main()
