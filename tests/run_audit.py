"""`make audit`: the long checks, and their table in docs/audit.md, which is also where the next run goes on.

A result holds as long as no file that its check can reach changes (`tests.reach`), nor what is installed; so a run that
was cut short, here or on another machine, and one after a change asks only what the page does not have. What a run finds
is kept as it comes (`out/audit-CONTENT.jsonl`); `make audit-page` writes the page from it without running anything.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from tests.kept_results import VARIABLE, Results, kept
from tests.reach import PACKAGE, House

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "audit.md"
KEEPING = (
    "tests/run_audit.py",
    "tests/kept_results.py",
    "tests/reach.py",
    "tests/test_run_audit.py",
    "tests/seeded.py",
    "docs/audit.md",
)
"""Files that keep results, or serve the gate alone, and do not decide them."""
NO_TESTS = 5
"""Pytest's word for a run that had nothing left to do."""
ROW = re.compile(r"\| (\S+) \| (.+) \| (passed|skipped|failed) \| ([0-9.]+) \| ([0-9a-f]+) \|")

State = Callable[[str], str]
"""A name for the content of all files that decide the checks of a test file."""


def states(house: House) -> State:
    """Return how to name what decides a test file: what it reaches, and what all tests share."""
    texts = cache(lambda path: hashlib.sha256(path.read_bytes()).hexdigest())
    shared, rooms = frozenset(_shared(house.root)), frozenset(_beside(house.root))
    fixtures = frozenset(house.root.glob("tests/**/conftest.py"))

    contents = cache(lambda path: path.read_text(encoding="utf-8"))

    @cache
    def state(file: str) -> str:
        reached = house.reached(file)
        beside = {path for path in rooms if any(_reads(one, path, contents) for one in reached)}
        # Pytest hands the fixtures of a folder to the tests in it and below, and to no others.
        above = {path for path in fixtures if path.parent in (house.root / file).parents}
        handed = above.union(*(house.reached(path.relative_to(house.root).as_posix()) for path in above))
        deciding = {path.relative_to(house.root).as_posix(): path for path in reached | shared | beside | handed}
        lines = [f"{name} {texts(path)}" for name, path in sorted(deciding.items()) if name not in KEEPING]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]

    return state


def _reads(code: Path, data: Path, content_of: Callable[[Path], str]) -> bool:
    """Tell whether code may read a file beside it: it names the file, or its folder's files are not named anywhere."""
    if code.parent != data.parent:
        return False
    return data.name in content_of(code) or not any(data.name in content_of(one) for one in code.parent.glob("*.py"))


def _shared(root: Path) -> Iterator[Path]:
    """Yield what every check may depend on: the set-up, and data that belong to no room."""
    yield from (root / "pyproject.toml", root / "requirements.lock")
    yield from (path for path in _data(root) if not any(path.parent.glob("*.py")))


def _beside(root: Path) -> Iterator[Path]:
    """Yield data that lie beside code: they decide the checks that reach code which reads them."""
    return (path for path in _data(root) if any(path.parent.glob("*.py")))


def _data(root: Path) -> Iterator[Path]:
    for folder in ("src", "tests"):
        for path in (root / folder).rglob("*"):
            made = {"__pycache__", f"{PACKAGE}.egg-info"} & set(path.parts)
            if path.is_file() and path.suffix != ".py" and not made:
                yield path


def content(house: House) -> str:
    """Return a name for all files that decide anything."""
    lines = [
        f"{path.relative_to(house.root)} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in sorted({*house.modules.values(), *_shared(house.root), *_beside(house.root)})
        if path.relative_to(house.root).as_posix() not in KEEPING
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def on_page(text: str, state: State | None) -> Results:
    """Return the results of a page that still hold; without a state all of them."""
    rows = [found.groups() for found in map(ROW.fullmatch, text.splitlines()) if found]
    return {
        f"tests/{area}::{check.replace(chr(92) + '|', '|')}": (outcome, float(seconds))
        for area, check, outcome, seconds, of in rows
        if state is None or state(f"tests/{area}") == of
    }


def page(results: Results, state: State, whole: bool) -> str:
    """Return the table of what was seen."""
    passed, failed = (sum(outcome == word for outcome, _ in results.values()) for word in ("passed", "failed"))
    minutes = sum(seconds for _, seconds in results.values()) / 60
    said = "complete" if whole else "**cut short: run `make audit` to go on**"
    return "\n".join(
        [
            "# The last audit",
            "",
            "What takes too long for the gate: fits of 10⁷ draws with their power twins, adversarial dynamic programmes,",
            "writers killed at random. Written by `make audit`. The last column names the content of all files that the",
            "check can reach: as long as that is the same, the result holds, and is not asked again.",
            "",
            f"Audit {said}: {passed} of {len(results)} checks passed, {failed} failed, the others are skipped or expected",
            f"to fail; {minutes:.0f} minutes of one core.",
            "",
            "| where | check | outcome | seconds | of |",
            "|---|---|---|---|---|",
            *_rows(results, state),
            "",
        ]
    )


def _rows(results: Results, state: State) -> Iterable[str]:
    for name, (outcome, seconds) in sorted(results.items()):
        area, check = name.removeprefix("tests/").split("::", 1)
        shown = check.replace("|", chr(92) + "|")
        yield f"| {area} | {shown} | {outcome} | {seconds:.1f} | {state(f'tests/{area}')} |"


def main(run: bool) -> int:
    """Run what is left, write the table, and return pytest's exit code."""
    house = House(ROOT)
    state, name = states(house), content(house)
    results = ROOT / "out" / f"audit-{name}.jsonl"
    results.parent.mkdir(exist_ok=True)
    last = PAGE.read_text(encoding="utf-8")
    # What the last audit took is remembered on any machine, so that the longest checks begin first.
    _keep(results.parent / "page.jsonl", on_page(last, None))
    _keep(results, {**on_page(last, state), **kept(results)})
    for check in _files():
        state(check)  # as the files are now, whatever is edited while checks run
    code = _asked(results) if run else NO_TESTS
    found = kept(results)
    whole = run and code in (0, NO_TESTS) and bool(found)
    PAGE.write_text(page(found, state, whole), encoding="utf-8")
    return 0 if whole or not run else code


def _keep(path: Path, results: Results) -> None:
    path.write_text("".join(f"{json.dumps([check, *found])}\n" for check, found in results.items()), encoding="utf-8")


def _files() -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/**/test_*.py")]


def _asked(results: Path) -> int:
    # Whoever is done takes from what the other has left: the longest were handed out first, to one of them.
    words = [
        "pytest",
        "-n",
        "2",
        "--dist",
        "worksteal",
        "-vv",
        "-m",
        "audit",
        "-p",
        "tests.kept_results",
        "--durations=30",
    ]
    environment = {**os.environ, VARIABLE: str(results)}
    return subprocess.run([sys.executable, "-m", *words], cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(run="--page" not in sys.argv))
