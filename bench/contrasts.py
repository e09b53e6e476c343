"""Tables of a workload now and at an earlier commit: errors before and after the projection, and widths of intervals.

python -m bench.contrasts 78a8905        # the commit before contrasts
python -m bench.contrasts                # now alone

Both answer the same workloads about the same made-up people at the same spend, by the question itself; the earlier
commit runs this file with its own package. Errors are of a count, over all cells of all tables; the method of the
projection is the one that "auto" chooses.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sfumato import Concentrated, Noise, Queries, Schema, integers, workloads
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE, Relation
from sfumato.table.gauge import Basis
from sfumato.workload import Records

ROOT = Path(__file__).resolve().parent.parent
PEOPLE = 30_000
SPEND = Concentrated("0.01")
SIZES = {
    "10 bits": (2,) * 10,
    "sizes 5 3 2 8 4": (5, 3, 2, 8, 4),
    "14 columns like Adult's": (13, 9, 15, 16, 7, 15, 6, 5, 2, 15, 13, 15, 16, 2),
}
WIDTHS = (2, 3)
FEW, MANY = 3, 10
"""Trials of tables that take long to project, and of others."""
Numbers = dict[str, float]


def people(sizes: tuple[int, ...]) -> np.ndarray:
    """Return rows whose columns hang on one hidden number, each differently and unevenly."""
    draw = np.random.default_rng(1)
    hidden = draw.normal(size=PEOPLE)
    columns = []
    for place, size in enumerate(sizes):
        level = hidden * (0.5 + 0.1 * (place % 5)) + draw.normal(size=PEOPLE) + 0.7 * (place % 3 - 1)
        columns.append(np.minimum(size / (1 + np.exp(-level)), size - 1).astype(np.int64))
    return np.stack(columns, axis=1)


def measured(sizes: tuple[int, ...], width: int, relation: Relation) -> Numbers:
    """Return the errors and widths of one workload."""
    schema = Schema({f"c{place}": integers(0, size - 1, missing=0) for place, size in enumerate(sizes)})
    workload = workloads.marginals(schema, width=width)
    records = Records.from_rows(workload.space, people(sizes))
    exact = np.concatenate(workload.answers(records)).astype(np.float64)
    question, noise = Queries(workload), Noise(insecure_seed=3)
    started = time.process_time()
    prepared = question.prepare(Basis(schema, PEOPLE, relation), SPEND)
    planned = time.process_time() - started
    before, after = [], []
    trials = FEW if workload.queries > 10_000 else MANY
    started = time.process_time()
    for _ in range(trials):
        tables = question.value(prepared.finish(prepared.mechanism.run(records, noise)))
        before.append(np.mean((np.concatenate(tables.noisy) - exact) ** 2))
        after.append(np.mean(np.abs(np.concatenate(tables.values) - exact)))
    cells = [block.queries for block in workload.blocks]
    return {
        "rmse before": float(np.sqrt(np.mean(before))),
        "half-width": float(np.average([tables.width(place) for place in range(len(tables))], weights=cells)),
        "mae after": float(np.mean(after)),
        "plan s": planned,
        "answer s": (time.process_time() - started) / trials,
    }


def survey() -> dict[str, Numbers]:
    """Return all numbers of the package that is imported."""
    return {
        f"{name}, {relation.value} | {width}": measured(sizes, width, relation)
        for name, sizes in SIZES.items()
        for relation in (REPLACE_ONE, ADD_REMOVE)
        for width in WIDTHS
    }


def earlier(commit: str) -> dict[str, Numbers]:
    """Return the numbers of an earlier commit's package."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "earlier"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
        try:
            environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
            words = [sys.executable, str(Path(__file__).resolve()), "--json"]
            said = subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout
            return dict(json.loads(said))
        finally:
            subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def main(words: list[str]) -> None:
    """Print the numbers, beside those of another commit where one is named."""
    now = survey()
    if words == ["--json"]:
        print(json.dumps(now))
        return
    then = earlier(words[0]) if words else now
    print(f"{PEOPLE} people, rho = {float(SPEND.rho):g}; earlier / now\n")
    names = ("rmse before", "half-width", "mae after", "plan s", "answer s")
    print("| columns | tables of | " + " | ".join(names) + " |\n" + "|---" * (len(names) + 2) + "|")
    for case, numbers in now.items():
        print(f"| {case} | " + " | ".join(f"{then[case][name]:.3g} / {numbers[name]:.3g}" for name in names) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
