"""Private and fair at once: a fair rule learned from one private answer, within a ledger's budget.

    python examples/fair_private.py

The curator answers one histogram of education, decade and income for Pure(1). Everything after it reads that answer
only, so it costs nothing more: the fair program is post-processing. The rule is fair towards people under the metric
and private towards those it was learned from; the two promises are different and both are stated.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import sfumato as sf
from sfumato import Pure, fair

HERE = Path(__file__).resolve().parent


def noisy_counts() -> tuple[np.ndarray, np.ndarray, str]:  # type: ignore[type-arg]
    """Return the cells (education, decade) and their noisy numbers of people with low and high income."""
    with sf.curate(HERE / "data" / "adult.parquet", HERE / "data" / "adult.toml", Pure(1)) as curator:
        answer = curator.ask(sf.Histogram(("education_num", "decade", "income")), Pure(1))
        frame = answer.value
        spent = str(answer.loss.person.epsilon)
    education, decade = np.array(frame["education_num"], float), np.array(frame["decade"], float)
    high = np.array([income == ">50K" for income in frame["income"]])
    count = np.maximum(np.array(frame["count"], float), 0.0)
    cells, place = np.unique(np.stack([education, decade], axis=1), axis=0, return_inverse=True)
    table = np.zeros((len(cells), 2))
    np.add.at(table, (place.ravel(), high.astype(int)), count)
    return cells, table, spent


def main() -> None:
    """Learn from noise, solve, certify."""
    cells, table, spent = noisy_counts()
    people = table.sum(axis=1) + 1.0
    chance = (table[:, 1] + 0.24) / people
    metric = fair.Metric.from_features(cells, [1 / 8, 1 / 60])
    mapping = fair.fair_mapping(metric, np.stack([chance, 1 - chance], axis=1), weights=people)
    print(f"Privacy: epsilon {spent} for each person, whatever is done with the rule.")
    print(f"Fairness: {mapping.certificate}")
    alternatives = f"one decision for all {mapping.constant:.4f}; no fairness {mapping.unconstrained:.4f}"
    print(f"Expected error {mapping.objective:.4f}; {alternatives}.")
    for first, second, _ in mapping.active_pairs(3):
        one, two = (f"education {cell[0]:g} in the decade {cell[1]:g}" for cell in (cells[first], cells[second]))
        print(f"  a similarity that costs much: {one}, {two}")


if __name__ == "__main__":
    main()
