"""Single questions now and at an earlier commit, in turns: CPU time of each as a ratio.

python -m bench.earlier c1d3db3        # the commit before measures and gauges

Both run `bench.questions` as their own commit has it, with the packages of this environment.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TURNS = 5
LINE = re.compile(r"(.{36}) +[0-9.]+ +([0-9.]+) +[0-9.]+  (?:yes|NO)")
"""A line of `bench.questions`: its name, and the milliseconds of CPU."""

Times = dict[str, list[float]]


def measured(folder: Path, times: Times) -> None:
    """Run the questions of one checkout and add what they took."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    words = [sys.executable, "-m", "bench.questions"]
    said = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout
    for found in map(LINE.fullmatch, said.splitlines()):
        if found:
            times[found[1].strip()].append(float(found[2]))


def main(commit: str) -> None:
    """Print the table, and the ratio of the sums."""
    now: Times = defaultdict(list)
    then: Times = defaultdict(list)
    with tempfile.TemporaryDirectory() as place:
        earlier = Path(place) / "earlier"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(earlier), commit], check=True)
        try:
            for _ in range(TURNS):
                measured(earlier, then)
                measured(ROOT, now)
        finally:
            subprocess.run([*git, "remove", "--force", str(earlier)], check=True)
    print(f"CPU ms, the least of {TURNS} turns: what else runs on the machine only adds\n")
    print(f"{'question':36s} {commit[:8]:>9s} {'now':>9s} {'ratio':>7s}")
    sums = [0.0, 0.0]
    for name in then:
        before, after = min(then[name]), min(now[name])
        sums = [sums[0] + before, sums[1] + after]
        print(f"{name:36s} {before:9.1f} {after:9.1f} {after / before:7.2f}")
    print(f"{'together':36s} {sums[0]:9.1f} {sums[1]:9.1f} {sums[1] / sums[0]:7.2f}")


if __name__ == "__main__":
    main(sys.argv[1])
