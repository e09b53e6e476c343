"""`make audit`: the long checks, and their table in docs/audit.md with the commit they ran at.

What was seen is kept as it comes (`out/audit-COMMIT.jsonl`), so that a run that was cut short goes on where it stopped.
A tree that has changed since its commit begins anew.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.kept_results import VARIABLE, kept

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "audit.md"
NO_TESTS = 5
"""Pytest's word for a run that had nothing left to do."""


def commit() -> str:
    """Return the short name of the commit, with a plus sign if the tree has changed since."""
    return _git("rev-parse", "--short", "HEAD") + ("+" if _git("status", "--porcelain", "--", "src", "tests") else "")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, cwd=ROOT, check=False).stdout.strip()


def main() -> int:
    """Run what is left, write the table, and return pytest's exit code."""
    name = commit()
    results = ROOT / "out" / f"audit-{name}.jsonl"
    results.parent.mkdir(exist_ok=True)
    if name.endswith("+"):
        results.unlink(missing_ok=True)
    code = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "-vv", "-m", "audit", "-p", "tests.kept_results", "--durations=30"],
        cwd=ROOT,
        env={**os.environ, VARIABLE: str(results)},
        check=False,
    ).returncode
    table = kept(results)
    passed = sum(outcome == "passed" for outcome, _ in table.values())
    minutes = sum(seconds for _, seconds in table.values()) / 60
    rows = [(*name.removeprefix("tests/").split("::", 1), *found) for name, found in sorted(table.items())]
    lines = [
        "# The last audit",
        "",
        "What takes too long for the gate: fits of 10⁷ draws with their power twins, adversarial dynamic programmes,",
        "writers killed at random. Written by `make audit`.",
        "",
        f"Commit {name}: {passed} of {len(table)} checks passed, in {minutes:.0f} minutes of one core.",
        "",
        "| where | check | outcome | seconds |",
        "|---|---|---|---|",
        *(f"| {area} | {check} | {outcome} | {seconds:.1f} |" for area, check, outcome, seconds in rows),
        "",
    ]
    PAGE.write_text("\n".join(lines), encoding="utf-8")
    return 0 if code == NO_TESTS and table else code


if __name__ == "__main__":
    sys.exit(main())
