"""What questions and tables cost next to an earlier commit: CPU time of both, taken in turns, and their ratios.

    python -m bench.against COMMIT [--rows 10000000] [--turns 3] [--only questions|table]

The earlier commit is checked out beside this tree for as long as it takes, and each tree runs its own `bench.questions`
and `bench.table`, whose words may differ; what only one of them has is left out. Every turn is a process of its own,
and the best of all turns counts: the machine is shared, and luck must not pick a side.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
LARGEST = 1.10
"""A question should not cost more than so many times what it did."""

TOGETHER = "all together"

Found = dict[str, float]


def asked() -> Found:
    """Return the best CPU milliseconds of every question of `bench.questions`."""
    import sfumato as sf
    from bench import questions

    rows, best = questions.people(), dict[str, float]()
    with tempfile.TemporaryDirectory() as folder:
        budget = sf.Budget(sf.Approximate(50, 1e-3), each_attribute=sf.Approximate(30, 1e-3))
        for turn in range(questions.ROUNDS):
            given, place = None if turn else budget, Path(folder) / "people.ledger"
            with closing(sf.curate(rows, questions.SCHEMA, given, ledger=place, snapshot=f"{turn}")) as curator:
                for name, question, spend in questions.QUESTIONS:
                    _, cpu = questions.timed(lambda q=question, s=spend: curator.ask(q, s))  # type: ignore[misc]
                    best[name] = min(1000 * cpu, best.get(name, 1000 * cpu))
    return best


def read(large: str, small: str, name: str) -> Found:
    """Return the CPU milliseconds of one contestant of `bench.table`, after a small file has loaded the code."""
    from bench import table

    table.CONTESTANTS[name](small)
    start = table.cpu()
    table.CONTESTANTS[name](large)
    return {name: 1000 * (table.cpu() - start)}


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


def best_of(trees: list[Path], turns: int, *given: str) -> list[Found]:
    """Return the best that each tree has found, the trees in turns."""
    best: list[Found] = [{} for _ in trees]
    for _ in range(turns):
        for place, tree in enumerate(trees):
            for name, one in inside(tree, *given).items():
                best[place][name] = min(one, best[place].get(name, one))
    return best


def show(title: str, now: Found, before: Found) -> None:
    """Print both, the ratios, and the ratio of the sums."""
    both = [name for name in now if name in before]
    now[TOGETHER], before[TOGETHER] = sum(now[name] for name in both), sum(before[name] for name in both)
    print(f"\n| {title} | before, CPU ms | now | ratio | |\n|---|---|---|---|---|")
    for name in [*both, TOGETHER]:
        ratio = now[name] / before[name]
        verdict = "" if ratio <= LARGEST else f"above {LARGEST:.2f}"
        print(f"| {name} | {before[name]:.1f} | {now[name]:.1f} | {ratio:.2f} | {verdict} |", flush=True)


def compare(trees: list[Path], folder: Path, options: argparse.Namespace) -> None:
    """Measure this tree and the earlier one."""
    from bench.table import make_file

    if options.only != "table":
        show("question", *best_of(trees, options.turns, "questions"))
    if options.only != "questions":
        large, small = folder / "large.parquet", folder / "small.parquet"
        make_file(large, options.rows)
        make_file(small, 10**5)
        now, before = Found(), Found()
        for name in contestants():
            new, old = best_of(trees, options.turns, "table", str(large), str(small), name)
            now |= new
            before |= old
        show(f"count and sum by key, {options.rows:,} rows", now, before)


def main() -> None:
    """Print what a question and a reading cost, now and before."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit")
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", choices=["questions", "table"])
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
    print(json.dumps(asked() if sys.argv[1] == "questions" else read(*sys.argv[2:])))
