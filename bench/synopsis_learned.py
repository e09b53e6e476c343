"""Release by learning: `python -m bench.synopsis_learned [--quick]`.

Random conjunctions of 16 columns at Pure(1): the root mean squared error of a tree (RL-TREE-RELEASE), of ridge
regression, boosting and a classifier trained on noisy shares (RL-PRIVLEARN), beside the sketches made for conjunctions
and the best constant, which knows the truth. Then queries that no sketch answers, "at least two of four"; the rounds of
agnostic learning against the gap (RL-AGNO, with a bound), and leaves against steepness (RL-TREE). Everything is seeded;
errors are means over seeds, seconds are CPU time of one process.
"""

from __future__ import annotations

import argparse
import math
import time
from fractions import Fraction
from typing import Any

import numpy as np

from bench.synopsis import Case, bits_schema, mixture, synopsis
from sfumato import Noise, Pure
from sfumato.noise import DiscreteLaplace
from sfumato.papers.query_release.learning.agnostic import AgnosticRelease
from sfumato.papers.query_release.learning.labels import BinaryQueries
from sfumato.papers.query_release.learning.trees import decompose
from sfumato.papers.query_release.weights.candidates import Candidates
from sfumato.questions.synopsis import Conjunctions
from sfumato.questions.synopsis.binary import Rows
from sfumato.select import Exponential
from sfumato.workload.builders import conjunctions
from sfumato.workload.records import Records

SIZE = 16
QUERIES = 500


def case_of(bits: Any) -> Case:
    ones, counts = np.unique(bits, axis=0, return_counts=True)
    return Case(bits_schema(bits.shape[1]), None, Rows(ones, counts.astype(np.int64)), len(bits))


def learners() -> dict[str, Any]:
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.tree import DecisionTreeClassifier

    return {
        "labels, boosting": GradientBoostingRegressor(n_estimators=100, random_state=0),
        "labels, tree classifier": DecisionTreeClassifier(max_depth=6, random_state=0),
    }


def answers(case: Case, seed: int, asked: Conjunctions, width: int, sketches: bool, **options: Any) -> dict[str, Any]:
    """Return what every way answers, each from one release of its own; the learners share theirs."""
    spend = Pure(1)
    labels, _ = synopsis("labels", case, spend, seed, width=width, **options)
    found = {"labels, ridge": labels.answer(asked)}
    for name, learner in learners().items():
        found[name] = labels.fit(learner, folds=2).answer(asked)
    if sketches:
        found["tree"] = synopsis("tree", case, spend, seed, width=width)[0].answer(asked)
        found["sketch (auto)"] = synopsis("auto", case, spend, seed, width=width)[0].answer(asked)
    return found


def errors(peoples: tuple[int, ...], seeds: int, width: int, predicate: str) -> None:
    sketches = predicate == "conjunction"
    options = {} if sketches else {"predicate": predicate, "least": 2}
    rows: dict[str, list[str]] = {}
    start = time.process_time()
    for people in peoples:
        collected: dict[str, list[float]] = {}
        for seed in range(seeds):
            case = case_of(mixture(people, SIZE, seed))
            asked = Conjunctions.random(SIZE, width, QUERIES, noise=Noise(insecure_seed=1000 + seed))
            truth = BinaryQueries(*asked.dense(), predicate, 2).counts(case.exact) / people
            found = answers(case, seed, asked, width, sketches, **options)
            found["best constant"] = np.full(QUERIES, truth.mean())
            for name, shares in found.items():
                collected.setdefault(name, []).append(float(np.sqrt(np.mean((shares - truth) ** 2))))
        for name, values in collected.items():
            rows.setdefault(name, []).append(f"{np.mean(values):.4f}")
    title = f"conjunctions of {width}" if sketches else f"at least two of {width}"
    print(f"\n### Random {title} of {SIZE} columns, Pure(1), {seeds} seeds: root mean squared error\n")
    print("| way | " + " | ".join(f"{people} people" for people in peoples) + " |")
    print("|---|" + "---|" * len(peoples))
    for name, shown in sorted(rows.items(), key=lambda row: row[1][-1]):
        print(f"| {name} | " + " | ".join(shown) + " |")
    print(f"\n{time.process_time() - start:.0f} CPU seconds.", flush=True)


def rounds() -> None:
    workload = conjunctions(bits_schema(8), width=3)
    records = Records.from_rows(workload.space, mixture(4000, 8, 0).astype(int))
    sure = Exponential(rate=Fraction(10), sensitivity=64, reads=workload.reads)
    print("\n### Rounds of agnostic learning until no conjunction of 3 of 8 columns is off by more, without noise\n")
    print("| gap | rounds | bound 2·ln(cells)/gap² |\n|---|---|---|")
    for gap in (Fraction(1, 5), Fraction(1, 10), Fraction(1, 20), Fraction(1, 40)):
        release = AgnosticRelease(
            candidates=Candidates(workload),
            learner=sure,
            law=DiscreteLaplace("1/10"),
            rounds=500,
            people=4000,
            gap=gap,
            reads=workload.reads,
        )
        done = len(release(records, Noise(insecure_seed=1)).rounds)
        print(f"| {float(gap)} | {done} | {2 * math.log(workload.space.cells) / gap**2:.0f} |")


def leaves() -> None:
    bits = mixture(2000, 10, 0)
    print("\n### Leaves of the tree of all disjunctions of 10 columns\n")
    print("| steepness | leaves |\n|---|---|")
    for steepness in (0.4, 0.2, 0.1, 0.05):
        reached = lambda sets: np.array([bits[:, one].any(axis=1).mean() for one in sets])  # noqa: E731
        print(f"| {steepness} | {len(decompose(reached, 10, steepness).leaves)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer people and seeds")
    quick = parser.parse_args().quick
    peoples, seeds = ((2000, 20_000), 1) if quick else ((2000, 20_000, 100_000), 3)
    for width in (2, 4):
        errors(peoples, seeds, width, "conjunction")
    errors(peoples, seeds, 4, "at least")
    rounds()
    leaves()


if __name__ == "__main__":
    main()
