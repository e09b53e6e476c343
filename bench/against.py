"""What questions, tables and decoding cost next to an earlier commit: CPU times of both, in turns, and their ratios.

    python -m bench.against COMMIT [--rows 10000000] [--turns 3] [--only questions|table|local]

The earlier commit is checked out beside this tree for as long as it takes, and each tree runs its own `bench.questions`
and `bench.table`, whose words may differ; what only one of them has is left out. Every turn is a process of its own;
the best of all times counts, and the ratio of the medians beside it says how far a shared machine can be believed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
LARGEST = 1.10
"""A question should not cost more than so many times what it did."""

Found = dict[str, list[float]]
"""CPU milliseconds, all of them, by what took them."""


def asked() -> Found:
    """Return what every question of `bench.questions` takes, after a round that builds tables of noise."""
    import sfumato as sf
    from bench import questions

    rows, found = questions.people(), defaultdict[str, list[float]](list)
    with tempfile.TemporaryDirectory() as folder:
        budget = sf.Budget(sf.Approximate(50, 1e-3), each_attribute=sf.Approximate(30, 1e-3))
        for turn in range(questions.ROUNDS):
            given, place = None if turn else budget, Path(folder) / "people.ledger"
            with closing(sf.curate(rows, questions.SCHEMA, given, ledger=place, snapshot=f"{turn}")) as curator:
                for name, question, spend in questions.QUESTIONS:
                    _, cpu = questions.timed(lambda q=question, s=spend: curator.ask(q, s))  # type: ignore[misc]
                    found[name] += [1000 * cpu] if turn else []
    return found


def read(large: str, small: str, name: str) -> Found:
    """Return the CPU milliseconds of one contestant of `bench.table`, after a small file has loaded the code."""
    from bench import table

    table.CONTESTANTS[name](small)
    start = table.cpu()
    table.CONTESTANTS[name](large)
    return {name: [1000 * (table.cpu() - start)]}


def decoded() -> Found:
    """Return what it takes to find the popular items of a sketch: 64 bits, a fifth of the users with 20 items."""
    import numpy as np

    from sfumato import Noise, Pure, domain, local

    found: Found = {}
    for users in (10**5, 10**6):
        for epsilon in (2, 4):
            noise = Noise(insecure_seed=users + epsilon)
            plan = local.plan(
                users=users, spend=Pure(epsilon), items=domain.integers(0, 2**64 - 1), method="soft", seed=bytes(32)
            )
            items = noise.uniform(1 << 63, users).astype(np.uint64)
            items[: users // 5] = np.resize(items[:20], users // 5)
            server = plan.server()
            server.ingest(plan.client().reports(items, noise))
            times = []
            for _ in range(4):
                start = time.process_time()
                server.popular()
                times.append(1000 * (time.process_time() - start))
            found[f"{users:,} users, epsilon {epsilon}"] = times[1:]  # the first one compiles
    return found


def contestants() -> list[str]:
    """Return our own contestants of `bench.table`."""
    from bench import table

    return [name for name in table.CONTESTANTS if name.startswith("sfumato")]


def inside(tree: Path, *given: str) -> Found:
    """Return what a function of this file finds with the code of a tree."""
    start = f"import sys; sys.path[:0] = [{str(tree)!r}, {str(tree / 'src')!r}]; sys.argv[0] = {__file__!r}; "
    code = (
        start + f"import runpy, warnings; warnings.simplefilter('ignore'); runpy.run_path({__file__!r}, None, 'within')"
    )
    done = subprocess.run([sys.executable, "-c", code, *given], capture_output=True, text=True, check=False, cwd=tree)
    if done.returncode:
        raise SystemExit(f"{given} failed in {tree}:\n{done.stderr[-2_000:]}")
    found: Found = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def in_turns(trees: list[Path], turns: int, *given: str) -> list[Found]:
    """Return what each tree takes, the trees in turns."""
    found: list[Found] = [defaultdict(list) for _ in trees]
    for turn in range(turns):
        for place in sorted(range(len(trees)), reverse=bool(turn % 2)):  # nobody is always the first
            for name, times in inside(trees[place], *given).items():
                found[place][name] += times
    return found


def show(title: str, now: Found, before: Found) -> None:
    """Print the best of both, the ratios of the best and of the medians, and the same of all together."""
    rows = [(name, _sizes([before[name]]), _sizes([now[name]])) for name in now if name in before]
    both = [[found[name] for name, _, _ in rows] for found in (before, now)]
    print(f"\n| {title} | before, CPU ms | now | ratio | of medians | |\n|---|---|---|---|---|---|")
    for name, (old, usual), (new, usually) in [*rows, ("all together", _sizes(both[0]), _sizes(both[1]))]:
        verdict = "" if new <= LARGEST * old else f"above {LARGEST:.2f}"
        print(f"| {name} | {old:.1f} | {new:.1f} | {new / old:.2f} | {usually / usual:.2f} | {verdict} |", flush=True)


def _sizes(listed: list[list[float]]) -> tuple[float, float]:
    """Return the sums of the best times and of the medians."""
    return sum(map(min, listed)), sum(map(statistics.median, listed))


def compare(trees: list[Path], folder: Path, options: argparse.Namespace) -> None:
    """Measure this tree and the earlier one."""
    from bench.table import make_file

    if options.only in {None, "questions"}:
        show("question", *in_turns(trees, options.turns, "questions"))
    if options.only in {None, "local"}:
        show("decode a sketch of", *in_turns(trees, options.turns, "local"))
    if options.only in {None, "table"}:
        large, small = folder / "large.parquet", folder / "small.parquet"
        make_file(large, options.rows)
        make_file(small, 10**5)
        now, before = Found(), Found()
        for name in contestants():
            new, old = in_turns(trees, options.turns, "table", str(large), str(small), name)
            now |= new
            before |= old
        show(f"count and sum by key, {options.rows:,} rows", now, before)


def main() -> None:
    """Print what a question and a reading cost, now and before."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit")
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", choices=["questions", "table", "local"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "--detach", "--quiet", tree, options.commit], check=True, cwd=HOME)
        try:
            compare([HOME, tree], Path(folder), options)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], check=True, cwd=HOME)


if __name__ == "__main__":
    main()
elif __name__ == "within":
    alone = {"questions": asked, "local": decoded}
    print(json.dumps(alone[sys.argv[1]]() if sys.argv[1] in alone else read(*sys.argv[2:])))
