"""`make audit`: the long checks, and their table in docs/audit.md with the commit they ran at."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "out" / "audit.xml"
PAGE = ROOT / "docs" / "audit.md"


def commit() -> str:
    """Return the short name of the commit, with a plus sign if the tree has changed since."""
    return _git("rev-parse", "--short", "HEAD") + ("+" if _git("status", "--porcelain", "--", "src", "tests") else "")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, cwd=ROOT, check=False).stdout.strip()


def rows() -> list[tuple[str, str, str, float]]:
    """Return area, check, outcome and seconds of every long check."""
    found = []
    for case in ElementTree.parse(RESULTS).getroot().iter("testcase"):
        problem = case.find("failure") is not None or case.find("error") is not None
        outcome = "failed" if problem else "skipped" if case.find("skipped") is not None else "passed"
        area = (case.get("classname") or "").removeprefix("tests.")
        found.append((area, case.get("name") or "", outcome, float(case.get("time") or 0)))
    return sorted(found)


def main() -> int:
    """Run, write the table, and return pytest's exit code."""
    RESULTS.parent.mkdir(exist_ok=True)
    start = time.time()
    code = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "-vv", "-m", "audit", f"--junitxml={RESULTS}"],
        cwd=ROOT,
        check=False,
    ).returncode
    table = rows()
    passed = sum(outcome == "passed" for _, _, outcome, _ in table)
    lines = [
        "# The last audit",
        "",
        "What takes too long for the gate: fits of 10⁷ draws with their power twins, adversarial dynamic programmes,",
        "writers killed at random. Written by `make audit`.",
        "",
        f"Commit {commit()}: {passed} of {len(table)} checks passed in {(time.time() - start) / 60:.0f} minutes.",
        "",
        "| where | check | outcome | seconds |",
        "|---|---|---|---|",
        *(f"| {area} | {name} | {outcome} | {seconds:.1f} |" for area, name, outcome, seconds in table),
        "",
    ]
    PAGE.write_text("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
