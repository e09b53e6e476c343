"""Rank errors of nine quantiles against diffprivlib and OpenDP at the same total epsilon: python -m bench.quantiles

Every side answers the deciles of the same tables, one row exchanged, pure differential privacy. The rank error of a
value is how many rows lie between it and the wanted rank; a value that the wanted rank lies in has none. Also the
CPU time of nine quantiles of a million rows, and errors against the number of quantiles.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.environments import run
from sfumato import Noise, Pure
from sfumato.questions.quantiles import QuantileFacts, choose_quantiles

PEERS = Path(__file__).parent / "peers"
DECILES = tuple(Fraction(tenth, 10) for tenth in range(1, 10))


@dataclass(frozen=True)
class Job:
    """One table and one epsilon."""

    shape: str
    bits: int
    rows: int
    epsilon: float
    runs: int

    @property
    def size(self) -> int:
        return 1 << self.bits

    def values(self) -> Any:
        """Return the table, sorted."""
        draw = np.random.default_rng([self.bits, self.rows, len(self.shape)])
        top, n = self.size, self.rows
        if self.shape == "log-normal":
            found = np.exp(draw.normal(np.log(2) * self.bits / 3, 1.5, n)).astype(np.uint64)
        else:
            found = draw.integers(0, top, n, dtype=np.uint64, endpoint=False)
        if self.shape == "clustered":
            centres = draw.integers(0, top - (top >> 8), 10, dtype=np.uint64)
            found = draw.choice(centres, n) + draw.integers(0, 1 << (self.bits // 4), n, dtype=np.uint64)
        if self.shape == "heavy duplicate":
            found[: 7 * n // 10] = found[0]
        return np.sort(np.minimum(found, np.uint64(top - 1)))


def rank_errors(values: Any, found: list[float], probabilities: tuple[Fraction, ...] = DECILES) -> list[float]:
    """Return how many rows each value is off its rank."""
    if any(isinstance(value, float) for value in found):
        values = values.astype(float)
    else:
        found = np.array(found, np.uint64)  # type: ignore[assignment]
    below, up_to = np.searchsorted(values, found, "left"), np.searchsorted(values, found, "right")
    wanted = [float(chance) * len(values) for chance in probabilities]
    return [max(low - rank, rank - high, 0.0) for low, high, rank in zip(below, up_to, wanted, strict=True)]


def ours(job: Job, values: Any) -> dict[str, Any]:
    chosen = choose_quantiles(
        QuantileFacts(size=job.size, probabilities=DECILES, units=job.rows), Pure(str(job.epsilon))
    )
    start = time.process_time()
    table = np.unique(values, return_counts=True)
    found = [list(chosen.mechanism.run(table, Noise(insecure_seed=seed))) for seed in range(job.runs)]
    return {"values": found, "seconds": (time.process_time() - start) / job.runs}


def compare(jobs: list[Job]) -> list[str]:
    """Return the lines of the table: mean rank error over nine quantiles and all runs, and the largest of the nine."""
    tables = [job.values() for job in jobs]
    ours(Job("uniform", 32, 600, 1, 1), np.arange(600, dtype=np.uint64))  # compiled before anything is timed
    sides = {"sfumato": [ours(job, values) for job, values in zip(jobs, tables, strict=True)]}
    versions = {}
    with TemporaryDirectory() as folder:
        asked = []
        for place, (job, values) in enumerate(zip(jobs, tables, strict=True)):
            path = Path(folder) / f"{place}.bin"
            path.write_bytes(values.astype(np.uint64).tobytes())
            asked.append(
                {**vars(job), "size": job.size, "path": str(path), "probabilities": [float(p) for p in DECILES]}
            )
        listed = Path(folder) / "jobs.json"
        listed.write_text(json.dumps(asked))
        for name, packages in (
            ("diffprivlib", ["diffprivlib==0.6.6", "scikit-learn<1.6"]),
            ("opendp", ["opendp==0.16.0"]),
        ):
            answer = run(name, packages, PEERS / f"quantiles_{name}.py", str(listed))
            versions[name], sides[name] = answer["version"], answer["answers"]
    head = " | ".join(f"{name} {versions.get(name, '')}".strip() for name in sides)
    lines = [f"| data | bits | rows | epsilon | {head} | best peer / sfumato |", "|---" * (len(sides) + 5) + "|"]
    for place, (job, values) in enumerate(zip(jobs, tables, strict=True)):
        cells, means = [], []
        for answers in sides.values():
            if "refused" in answers[place]:
                cells.append("refused")
                means.append(float("inf"))
                continue
            errors = np.array([rank_errors(values, nine) for nine in answers[place]["values"]])
            means.append(float(errors.mean()))
            cells.append(f"{errors.mean():.1f} ({errors.max(axis=1).mean():.1f}), {answers[place]['seconds']:.2f} s")
        ratio = min(means[1:]) / max(means[0], 0.05)
        lines.append(f"| {job.shape} | {job.bits} | {job.rows} | {job.epsilon} | {' | '.join(cells)} | {ratio:.1f} |")
    return lines


def many(rows: int, runs: int) -> list[str]:
    """Return rank errors against the number of quantiles, all at epsilon 1, by every method."""
    values = Job("uniform", 32, rows, 1, 1).values()
    table = np.unique(values, return_counts=True)
    lines = ["| quantiles | joint | halving | split | auto takes |", "|---|---|---|---|---|"]
    for count in (1, 3, 9, 31, 99):
        parts = tuple(Fraction(part, count + 1) for part in range(1, count + 1))
        facts = QuantileFacts(size=1 << 32, probabilities=parts, units=rows)
        cells = []
        for method in ("joint", "halving", "split"):
            mechanism = choose_quantiles(facts, Pure(1), method).mechanism
            turns = max(1, runs // 4) if method == "split" and count > 9 else runs  # many choices one by one take long
            drawn = [list(mechanism.run(table, Noise(insecure_seed=seed))) for seed in range(turns)]
            cells.append(f"{np.mean([rank_errors(values, one, parts) for one in drawn]):.1f}")
        chosen = choose_quantiles(facts, Pure(1))
        lines.append(f"| {count} | {' | '.join(cells)} | {chosen.method}, {chosen.expected:.1f} expected |")
    return lines


def million() -> str:
    """Return the CPU time of nine quantiles of a million distinct values."""
    job = Job("uniform", 64, 1_000_000, 1, 3)
    return f"Nine quantiles of {job.rows:,} values of 64 bits: {ours(job, job.values())['seconds']:.2f} s of CPU."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a thousand rows only, few runs")
    quick = parser.parse_args().quick
    sizes = [(1000, 5)] if quick else [(1000, 20), (100_000, 4)]
    jobs = [
        Job(shape, bits, rows, epsilon, runs)
        for rows, runs in sizes
        for shape in ("uniform", "log-normal", "clustered", "heavy duplicate")
        for bits in (32, 64)
        for epsilon in (0.1, 1)
    ]
    print("Mean rank error of nine quantiles (in brackets: of the worst of the nine), and CPU seconds for the nine.\n")
    print("\n".join(compare(jobs)), flush=True)
    print("\nMean rank error against the number of quantiles, epsilon 1.\n")
    print("\n".join(many(1000 if quick else 4000, 3 if quick else 8)), flush=True)
    print("\n" + million())


if __name__ == "__main__":
    main()
