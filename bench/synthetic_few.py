"""Synthetic data of small tables, where pairs may drown in noise: `python -m bench.synthetic_few [seeds]`.

Mean total variation of all 3-way tables of our model and, after the semicolon, of the product of one-way tables at the
same spend; bold where ours is worse by more than a fiftieth. Under ADD_REMOVE the number of people is private. The
thesis's three small tables come with the tests, the others are simulated.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from tests.papers.query_release.weights.published import published

from bench.synthetic_tables import Truth
from sfumato import ADD_REMOVE, REPLACE_ONE, Approximate, Noise, Pure, Schema
from sfumato.domain import integers
from sfumato.errors import AccuracyWarning
from sfumato.privacy import Bound, Relation
from sfumato.questions.synthesis import Synthesize
from sfumato.table.gauge import Basis
from sfumato.workload import Records, Space
from sfumato.workload.builders import marginals

OUT = Path("out/bench-synthetic-few.md")
SPENDS = (Approximate(1, 1e-9), Approximate("0.1", 1e-9), Pure(1), Pure("0.1"))
FIRST_SEED = 40


def classes(people: int, columns: int, size: int, seed: int) -> Any:
    """Four hidden groups, each with its own chances in every column."""
    random = np.random.default_rng(seed)
    group, chances = random.integers(0, 4, people), random.dirichlet(np.ones(size), (4, columns))
    limits = chances.cumsum(axis=2)[group]
    return np.minimum((random.random((people, columns, 1)) > limits).sum(axis=2), size - 1)


def tables() -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Return rows and sizes of every table by its name."""
    found = {}
    for name in ("czech", "rochdale", "mildew"):
        records = published(name).records
        found[name] = np.repeat(records.codes, records.counts, axis=0), records.space.sizes
    for people, columns, size in ((3000, 5, 6), (20_000, 6, 4), (4000, 8, 2), (30_000, 10, 2)):
        name = "bits of hidden classes" if size == 2 else f"hidden classes, {size} values"
        found[f"{name}, {columns} columns"] = classes(people, columns, size, people), (size,) * columns
    return found


def distance(question: Synthesize, records: Records, setting: Basis, spend: Bound, seeds: int) -> float:
    """Return the mean error of a question over the seeds."""
    truth, found = Truth(records), []
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        prepared = question.prepare(setting, spend)
        model = question.value(prepared.finish(prepared.mechanism.run(records, Noise(insecure_seed=seed))))
        found.append(truth.distance(model.marginal)[0])
    return float(np.mean(found))


def row(name: str, rows: Any, sizes: tuple[int, ...], relation: Relation, seeds: int) -> str:
    """Return one line of the table."""
    schema = Schema({f"c{place}": integers(0, size - 1, missing=0) for place, size in enumerate(sizes)})
    records = Records.from_rows(Space.of(schema), rows.tolist())
    setting = Basis(schema, len(rows), relation)
    cells = []
    for spend in SPENDS:
        ours = distance(Synthesize(), records, setting, spend, seeds)
        ones = distance(Synthesize(marginals(schema, width=1)), records, setting, spend, seeds)
        words = f"{ours:.4f}; {ones:.4f}"
        cells.append(f"**{words}**" if ours > 1.02 * ones else words)
    return f"| {name} ({len(rows):,}, {len(sizes)}) | {relation.name} | " + " | ".join(cells) + " |"


def main(seeds: int = 5) -> None:
    """Print the table, row by row, and write it."""
    warnings.simplefilter("ignore", AccuracyWarning)
    lines = [
        "| table (people, columns) | relation | Approximate(1) | Approximate(0.1) | Pure(1) | Pure(0.1) |",
        "|---|---|---|---|---|---|",
    ]
    print("\n".join(lines))
    for relation in (REPLACE_ONE, ADD_REMOVE):
        for name, (rows, sizes) in tables().items():
            lines.append(row(name, rows, sizes, relation, seeds))
            print(lines[-1], flush=True)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
