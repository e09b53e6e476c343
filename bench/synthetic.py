"""Synthetic data: our models and rows beside smartnoise MWEM and MST and the product of one-way tables.

    python -m bench.synthetic DATA [--seeds 5] [--quick] [--tables adult nltcs compas latent-30 …] [--budgets …]
                              [--peers] [--peer-seeds 1]

DATA is a directory with adult.parquet, compas.parquet and, if you have it, nltcs.csv (no licence is known for it, so
that it is not shipped). Error is the total variation of the 3-way tables, mean over all of them and largest, for the
model and for as many sampled rows as there are people; "stated" is the error that the answer measured of itself. CPU
time is of the whole way from exact counts to the model, memory is the peak of the process; each method runs in a
process of its own. Peers live in their own environment, made on the first run, and promise ADD_REMOVE.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.environments import python_of
from bench.synthetic_tables import (
    Case,
    Truth,
    adult,
    chain,
    compas,
    copula,
    few,
    latent,
    nltcs,
    planted,
    rule,
    scores,
    tree,
)

HOME = Path(__file__).resolve().parent
PEER_PACKAGES = ["smartnoise-synth==1.0.8"]
PEERS = ("MWEM", "MST")
DELTA = "1e-9"
BUDGETS = ("approximate 1", "approximate 0.1", "pure 1")
TABLES = (
    *("adult", "nltcs", "compas", "latent-5", "latent-30", "tree-30", "latent-60", "tree-60"),
    *("scores-22000", "scores-1000000", "rule-13000", "copula-15000", "chain-20000", "planted-20000", "few-1000"),
)
"""Real tables; simulated ones by their columns; others, also simulated, by their people."""
QUICK = ("latent-5", "scores-22000", "rule-13000", "copula-15000", "chain-20000", "planted-20000", "few-1000")


def case_of(name: str, data: Path) -> Case | None:
    """Return a table by name; None if its file is not there."""
    kind, _, size = name.partition("-")
    if kind in ("latent", "tree"):
        make = latent if kind == "latent" else tree
        return make(int(size), 50_000)
    made = {"scores": scores, "rule": rule, "copula": copula, "chain": chain, "planted": planted, "few": few}
    if kind in made:
        return made[kind](int(size))
    path = data / ("nltcs.csv" if kind == "nltcs" else f"{kind}.parquet")
    return {"adult": adult, "compas": compas, "nltcs": nltcs}[kind](data) if path.exists() else None


def spend_of(budget: str) -> Any:
    from sfumato import Approximate, Pure

    kind, epsilon = budget.split()
    return Pure(epsilon) if kind == "pure" else Approximate(epsilon, DELTA)


def records_of(table: Any, space: Any) -> Any:
    """Return the exact rows of a table."""
    from sfumato.table.gauge import Basis
    from sfumato.table.measure import Rows
    from sfumato.workload import Records

    return Records.of(space, Basis(table.schema, table.people).gauge(Rows(space.names)).read(table))


def peak() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def ours(name: str, data: Path, budget: str, relation: str, seeds: int) -> dict[str, Any]:
    """Run our method on one table; in a process of its own."""
    from sfumato import ADD_REMOVE, REPLACE_ONE, Noise
    from sfumato.questions.synthesis import Synthesize
    from sfumato.table.data import open_table
    from sfumato.table.gauge import Basis
    from sfumato.workload import Space

    case = case_of(name, data)
    assert case is not None
    question, space = Synthesize(columns=case.columns), Space.of(case.schema, case.columns)
    with open_table(case.rows, case.schema) as table:
        records = records_of(table, space)
        setting = Basis(case.schema, table.people, ADD_REMOVE if relation == "ADD_REMOVE" else REPLACE_ONE)
    truth, single = Truth(records), Truth(records, 1)
    models, rows, seconds, stated, ones, checks = [], [], [], [], [], []
    for seed in range(1, seeds + 1):
        begun = time.process_time()
        prepared = question.prepare(setting, spend_of(budget))
        released = prepared.finish(prepared.mechanism.run(records, Noise(insecure_seed=seed)))
        model = question.value(released)
        seconds.append(time.process_time() - begun)
        stated.append(released.made["error"])
        models.append(truth.distance(model.marginal))
        ones.append(single.distance(model.marginal)[0])
        check = released.made.get("check")
        if check is not None:
            listed = [[space.names[place] for place in one] for one in prepared.mechanism.lists[-1]]  # type: ignore[attr-defined]
            apart = [np.abs(model.marginal(one) - records.table(one) / records.total).sum() / 2 for one in listed]
            deviation = float(np.hypot(check["deviation"], check["rows"] / 2))
            checks.append((released.made["error"], float(np.mean(apart)), deviation))
        rows.append(truth.distance_of_codes(model.codes(records.total, Noise(insecure_seed=1000 + seed))))
    return {
        "method": f"sfumato, {relation}",
        "model": np.mean(models, axis=0).tolist(),
        "rows": np.mean(rows, axis=0).tolist(),
        "spread": float(np.std([mean for mean, _ in models])),
        "single": float(np.mean(ones)),
        "checks": checks,
        "stated": float(np.mean(stated)),
        "seconds": float(np.mean(seconds)),
        "memory": peak(),
        "seeds": seeds,
    }


def one_ways(name: str, data: Path, budget: str, seeds: int) -> dict[str, Any]:
    """Run the baseline: noisy one-way tables, each column on its own."""
    from sfumato import ADD_REMOVE, Noise
    from sfumato.questions.synthesis import Synthesize
    from sfumato.table.data import open_table
    from sfumato.table.gauge import Basis
    from sfumato.workload import Space
    from sfumato.workload.builders import marginals

    case = case_of(name, data)
    assert case is not None
    space = Space.of(case.schema, case.columns)
    with open_table(case.rows, case.schema) as table:
        records = records_of(table, space)
        setting = Basis(case.schema, table.people, ADD_REMOVE)
    question = Synthesize(marginals(case.schema, width=1, columns=case.columns))
    truth, single = Truth(records), Truth(records, 1)
    found, ones, seconds = [], [], []
    for seed in range(1, seeds + 1):
        begun = time.process_time()
        prepared = question.prepare(setting, spend_of(budget))
        model = question.value(prepared.finish(prepared.mechanism.run(records, Noise(insecure_seed=seed))))
        seconds.append(time.process_time() - begun)
        found.append(truth.distance(model.marginal))
        ones.append(single.distance(model.marginal)[0])
    mean = np.mean(found, axis=0).tolist()
    taken, spread = float(np.mean(seconds)), float(np.std([one for one, _ in found]))
    shown = {"model": mean, "rows": mean, "spread": spread, "stated": None, "seconds": taken, "memory": peak()}
    return {"method": "product of one-way tables, ADD_REMOVE", **shown, "single": float(np.mean(ones)), "seeds": seeds}


def peer(name: str, data: Path, budget: str, method: str, seeds: int) -> dict[str, Any]:
    """Run a peer on the codes of a table, in its own environment, and score the rows that it returns."""
    from sfumato.table.data import open_table
    from sfumato.workload import Space

    case = case_of(name, data)
    assert case is not None
    space = Space.of(case.schema, case.columns)
    with open_table(case.rows, case.schema) as table:
        records = records_of(table, space)
    truth = Truth(records)
    _, epsilon = budget.split()
    found, seconds, memory = [], [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npy", Path(folder) / "out.npy"
        np.save(source, np.repeat(records.codes, records.counts, axis=0))
        python = python_of("smartnoise", PEER_PACKAGES)
        for _ in range(seeds):
            arguments = [str(python), str(HOME / "peers" / "smartnoise_synth.py"), method, epsilon, DELTA]
            done = subprocess.run(
                [*arguments, str(source), str(target)], check=True, capture_output=True, text=True, timeout=1800
            )
            facts = json.loads(done.stdout.strip().splitlines()[-1])
            codes = np.clip(np.load(target), 0, np.array(space.sizes) - 1)
            found.append(truth.distance_of_codes(codes))
            seconds.append(facts["seconds"])
            memory = max(memory, facts["memory"])
    mean = np.mean(found, axis=0).tolist()
    return {
        "method": f"smartnoise {method} {facts['version']}",
        "model": None,
        "rows": mean,
        "spread": float(np.std([one for one, _ in found])),
        "stated": None,
        "seconds": float(np.mean(seconds)),
        "memory": memory,
        "seeds": seeds,
    }


def apart(*arguments: str) -> dict[str, Any]:
    """Run one method in a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "bench.synthetic", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def shown(found: dict[str, Any]) -> str:
    def pair(value: Any) -> str:
        return "-" if value is None else f"{value[0]:.4f} ({value[1]:.3f})"

    stated = "-" if found["stated"] is None else f"{found['stated']:.4f}"
    columns = (
        found["method"],
        pair(found["model"]),
        f"{found['spread']:.4f}",
        pair(found["rows"]),
        stated,
        f"{found['seconds']:.1f}",
        f"{found['memory']:.0f}",
        str(found["seeds"]),
    )
    return "| " + " | ".join(columns) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--budgets", nargs="*", default=list(BUDGETS), help="such as 'approximate 3'")
    parser.add_argument("--quick", action="store_true", help="two seeds, and made-up tables of few rows alone")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--peer-seeds", type=int, default=1)
    parser.add_argument("--run", nargs=4, metavar=("METHOD", "TABLE", "BUDGET", "RELATION"))
    given = parser.parse_args()
    if given.run:
        method, name, budget, relation = given.run
        if method == "ours":
            found = ours(name, given.data, budget, relation, given.seeds)
        elif method == "one-ways":
            found = one_ways(name, given.data, budget, given.seeds)
        else:
            found = peer(name, given.data, budget, method, given.seeds)
        print(json.dumps(found))
        return
    if given.quick:
        given.seeds, given.tables = 2, [name for name in given.tables if name in QUICK]
    for name in given.tables:
        case = case_of(name, given.data)
        if case is None:
            print(f"\nSKIPPED: {name} is not in {given.data}.", flush=True)
            continue
        for budget in given.budgets:
            print(f"\n{name}, {case.rows.num_rows} people, {len(case.columns)} columns, {budget}, delta {DELTA}\n")
            print("| method | model: mean TV (largest) | ± | rows: mean TV (largest) | stated | CPU s | MiB | seeds |")
            print("|---|---|---|---|---|---|---|---|")
            runs = [("ours", "ADD_REMOVE"), ("ours", "REPLACE_ONE"), ("one-ways", "ADD_REMOVE")]
            for method, relation in runs:
                print(
                    shown(apart(str(given.data), "--seeds", str(given.seeds), "--run", method, name, budget, relation))
                )
                sys.stdout.flush()
            # MWEM promises a pure loss, which is more than the approximate one; MST knows the approximate alone.
            peers = [method for method in PEERS if method == "MWEM" or not budget.startswith("pure")]
            for method in peers if given.peers and (budget.startswith("pure") or name in ("adult", "nltcs")) else ():
                try:
                    found = apart(
                        str(given.data), "--seeds", str(given.peer_seeds), "--run", method, name, budget, "ADD_REMOVE"
                    )
                    print(shown(found), flush=True)
                except subprocess.CalledProcessError as error:
                    print(f"| smartnoise {method} failed: {error.stderr.strip().splitlines()[-1][:100]} |", flush=True)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
