"""`make audit`: the long checks, and their table in docs/audit.md, which is also where the next run goes on.

A result holds as long as no file of `src` and `tests` changes, nor what is installed; then a run that was cut short, here
or on another machine, asks only what the page does not have. What a run finds is kept as it comes
(`out/audit-CONTENT.jsonl`); `make audit-page` writes the page from it without running anything.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.kept_results import VARIABLE, Results, kept

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "audit.md"
DECIDING = ("src", "tests", "pyproject.toml", "requirements.lock")
"""What results depend on, but for what keeps them."""
KEEPING = ("tests/run_audit.py", "tests/kept_results.py", "tests/test_run_audit.py")
NO_TESTS = 5
"""Pytest's word for a run that had nothing left to do."""
ROW = re.compile(r"\| (\S+) \| (.+) \| (passed|skipped|failed) \| ([0-9.]+) \|")


def content() -> str:
    """Return a name for all that decides results; with a plus sign if it differs from what is committed."""
    listed = [line for line in _git("ls-tree", "-r", "HEAD", "--", *DECIDING) if line.split("\t")[1] not in KEEPING]
    changed = any(line[3:] not in KEEPING for line in _git("status", "--porcelain", "--", *DECIDING))
    return hashlib.sha256("\n".join(listed).encode()).hexdigest()[:12] + ("+" if changed else "")


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], capture_output=True, text=True, cwd=ROOT, check=True)
    return done.stdout.splitlines()


def on_page(text: str, name: str) -> Results:
    """Return the results of a page, nothing if they are of other files."""
    if f"Files {name}," not in text:
        return {}
    rows = [found.groups() for found in map(ROW.fullmatch, text.splitlines()) if found]
    return {
        f"tests/{area}::{check.replace(chr(92) + '|', '|')}": (outcome, float(seconds))
        for area, check, outcome, seconds in rows
    }


def page(results: Results, name: str, whole: bool) -> str:
    """Return the table of what was seen."""
    passed, failed = (sum(outcome == word for outcome, _ in results.values()) for word in ("passed", "failed"))
    minutes = sum(seconds for _, seconds in results.values()) / 60
    state = "complete" if whole else "**cut short: run `make audit` to go on**"
    rows = [(*check.removeprefix("tests/").split("::", 1), *found) for check, found in sorted(results.items())]
    return "\n".join(
        [
            "# The last audit",
            "",
            "What takes too long for the gate: fits of 10⁷ draws with their power twins, adversarial dynamic programmes,",
            "writers killed at random. Written by `make audit`.",
            "",
            f"Files {name}, {state}: {passed} of {len(results)} checks passed, {failed} failed, the others are skipped or",
            f"expected to fail; {minutes:.0f} minutes of one core.",
            "",
            "| where | check | outcome | seconds |",
            "|---|---|---|---|",
            *(
                f"| {area} | {check.replace('|', chr(92) + '|')} | {word} | {time:.1f} |"
                for area, check, word, time in rows
            ),
            "",
        ]
    )


def main(run: bool) -> int:
    """Run what is left, write the table, and return pytest's exit code."""
    name = content()
    results = ROOT / "out" / f"audit-{name}.jsonl"
    results.parent.mkdir(exist_ok=True)
    if name.endswith("+"):
        results.unlink(missing_ok=True)
    known = {**on_page(PAGE.read_text(encoding="utf-8"), name), **kept(results)}
    results.write_text("".join(f"{json.dumps([check, *found])}\n" for check, found in known.items()), encoding="utf-8")
    code = _asked(results) if run else NO_TESTS
    found = kept(results)
    whole = run and code in (0, NO_TESTS) and bool(found)
    PAGE.write_text(page(found, name, whole), encoding="utf-8")
    return 0 if whole or not run else code


def _asked(results: Path) -> int:
    words = ["pytest", "-n", "2", "-vv", "-m", "audit", "-p", "tests.kept_results", "--durations=30"]
    environment = {**os.environ, VARIABLE: str(results)}
    return subprocess.run([sys.executable, "-m", *words], cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(run="--page" not in sys.argv))
