"""What fairness costs, next to HiGHS on all pairs, and next to fairlearn and aif360 where they measure the same.

    python -m bench.fair [--quick]

Every line is CPU time of this process, all threads, certificate on all pairs included. Peers run in environments of
their own, made on the first run.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.environments import run as run_peer
from sfumato import fair
from sfumato.fair.mapping.coin import decide

HOME = Path(__file__).resolve().parent
ADULT = HOME.parent / "examples" / "data" / "adult.parquet"
WEIGHTS = {
    "age": 1 / 60, "education_num": 1 / 8, "hours_per_week": 1 / 40, "capital_gain": 1 / 20_000,
    "capital_loss": 1 / 4_000, "occupation": 0.25, "workclass": 0.1,
}  # fmt: skip


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    start, cpu = time.perf_counter(), time.process_time()
    answer = work()
    return answer, time.process_time() - cpu, time.perf_counter() - start


def say(name: str, cpu: float, wall: float, words: str) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"| {name} | {cpu:.2f} | {wall:.2f} | {peak:.2f} | {words} |", flush=True)


def instance(people: int, outcomes: int) -> tuple[fair.Metric, np.ndarray]:
    draw = np.random.default_rng(0)
    points = draw.normal(size=(people, 5))
    loss = draw.random((people, outcomes)) + np.abs(points[:, :1] - np.linspace(-1, 1, outcomes)[None, :])
    return fair.Metric.from_features(points, [0.3] * 5, norm="euclidean"), loss


def highs_all_pairs(metric: fair.Metric, loss: np.ndarray) -> float:
    """The binary program with a row for every ordered pair nearer than 1, on HiGHS through scipy."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    apart = metric.block()
    first, second = np.nonzero((apart < 1) & ~np.eye(len(apart), dtype=bool))
    count = len(first)
    values = np.concatenate([np.ones(count), -np.ones(count)])
    rows = csr_matrix(
        (values, (np.tile(np.arange(count), 2), np.concatenate([first, second]))), shape=(count, len(loss))
    )
    slope = (loss[:, 1] - loss[:, 0]) / len(loss)
    answer = linprog(slope, A_ub=rows, b_ub=apart[first, second], bounds=(0, 1), method="highs")
    return float(answer.fun + loss[:, 0].mean())


def binary(quick: bool) -> None:
    fair.fair_mapping(*instance(50, 2))  # load POT and HiGHS, so that loading is not measured
    highs_all_pairs(*instance(50, 2))
    for people in (300, 1000) if quick else (1000, 4000, 10_000):
        metric, loss = instance(people, 2)
        best, cpu, wall = timed(lambda metric=metric, loss=loss: fair.fair_mapping(metric, loss))
        say(
            f"two outcomes, {people} people, transport",
            cpu,
            wall,
            f"objective {best.objective:.7f}, gap {best.gap:.1e}, {best.certificate}",
        )
        if people <= 1000:
            other, slow, wall = timed(lambda metric=metric, loss=loss: highs_all_pairs(metric, loss))
            difference = abs(other - best.objective)
            say(
                f"two outcomes, {people} people, HiGHS on all pairs",
                slow,
                wall,
                f"{slow / cpu:.0f} times slower, differs by {difference:.1e}",
            )


def many(quick: bool) -> None:
    for outcomes in (3, 10):
        people = 200 if quick else 1000
        metric, loss = instance(people, outcomes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fair.FairnessWarning)
            best, cpu, wall = timed(lambda m=metric, x=loss: fair.fair_mapping(m, x, time_limit=50))
        gap = best.gap / best.objective
        words = f"{best.method}, objective {best.objective:.6f}, gap {gap:.1e} of it, {best.certificate}"
        say(f"{outcomes} outcomes, {people} people", cpu, wall, words)


def repair(quick: bool) -> None:
    people = 10_000 if quick else 100_000
    draw = np.random.default_rng(1)
    points = draw.normal(size=(people, 5))
    metric = fair.Metric.from_features(points, [0.2] * 5)
    soft = 1 / (1 + np.exp(-3 * points[:, 0] - draw.normal(size=people)))
    fair.repair_scores(soft[:8000], metric.subset(np.arange(8000)))  # compile, so that compiling is not measured
    for name, scores in (("probabilities", soft), ("0/1 decisions", (soft > 0.5) * 1.0)):
        rows, cpu, wall = timed(lambda scores=scores: fair.repair_probabilities(scores, metric))
        part = np.arange(0, people, people // 5000)
        checks = [fair.certify(metric, rows, sample=10**6), fair.certify(metric.subset(part), rows[part])]
        say(f"repair of {people} {name}", cpu, wall, "; ".join(map(str, checks)))
    seen = np.arange(0, people, 20)
    best = fair.fair_mapping(metric.subset(seen), np.stack([soft, 1 - soft], axis=1)[seen])
    rows, cpu, wall = timed(lambda: best.rule().probabilities(metric))
    say(f"extension from {len(seen)} to {people} people", cpu, wall, str(fair.certify(metric, rows, sample=10**6)))


def adult(quick: bool) -> None:
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frame = pd.read_parquet(ADULT).iloc[: 5000 if quick else None]
    people = frame.drop(columns=["person", "income", "fnlwgt"]).fillna("missing")
    target = (frame["income"] == ">50K").astype(int)
    numbers = ["age", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
    words = [name for name in people.columns if name not in (*numbers, "sex")]
    columns = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), words))
    model = make_pipeline(columns, LogisticRegression(max_iter=300)).fit(people, target)
    metric = fair.Metric.from_features(people, WEIGHTS)
    options = {"metric": metric, "label": target.to_numpy(), "segments": "native_country"}
    report, cpu, wall = timed(lambda: fair.audit(model, people, "sex", **options))
    say(
        f"audit of {len(people)} people of Adult",
        cpu,
        wall,
        f"{report.lipschitz.pairs} pairs, raised {', '.join(report.raised)}",
    )
    peers(people, target.to_numpy(), decide(model.predict_proba(people), people, b"bench"))


def peers(people: Any, target: np.ndarray, decision: np.ndarray) -> None:
    """Compare the group figures that all three compute, on the same decisions."""
    import pandas as pd

    inside = (people["sex"] == "Female").to_numpy()
    gap, cpu, wall = timed(lambda: fair.parity_gap(decision.astype(float), inside, ~inside))
    ours = {"rate_inside": gap.first[1], "rate_outside": gap.second[1], "gap": gap.value, "ratio": gap.ratios[1]}
    say("group figures, sfumato", cpu, wall, ", ".join(f"{key} {value:.9f}" for key, value in ours.items()))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decisions.parquet"
        pd.DataFrame({"truth": target, "decision": decision, "group": inside.astype(int)}).to_parquet(path)
        for peer, packages in (
            ("fairlearn", ["fairlearn==0.15.0", "pyarrow"]),
            ("aif360", ["aif360==0.6.1", "pyarrow"]),
        ):
            theirs = run_peer(peer, packages, HOME / "peers" / "fair_groups.py", peer, str(path))
            worst = max(abs(theirs[key] - ours[key]) for key in ours)
            say(
                f"group figures, {peer}",
                theirs["seconds"],
                theirs["seconds"],
                f"largest difference from ours {worst:.1e}",
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
    parser.add_argument("parts", nargs="*", default=["binary", "many", "repair", "adult"])
    chosen = parser.parse_args()
    print("| what | CPU s | wall s | peak GiB | result |\n|---|---|---|---|---|")
    for part in chosen.parts:
        {"binary": binary, "many": many, "repair": repair, "adult": adult}[part](chosen.quick)


if __name__ == "__main__":
    main()
