"""What sfumato needs from a machine, tried out one by one."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("numpy", "scipy", "python-flint", "cryptography", "duckdb", "ibis-framework", "pyarrow", "sqlalchemy")
OPTIONAL = ("pyspark", "psycopg", "pandas", "polars")
DRAWS = 20_000


@dataclass(frozen=True)
class Test:
    """One thing that was tried: whether it is fine, whether sfumato works without it, and details."""

    name: str
    ok: bool
    said: str
    optional: bool = False


def examine() -> list[Test]:
    """Try everything; nothing here raises."""
    from sfumato import __version__

    tests = [Test("sfumato", True, __version__)]
    tests += [Test("Python", sys.version_info >= (3, 11), f"{platform.python_version()} on {platform.system()}")]
    tests += [_package(name, False) for name in PACKAGES]
    tests += [_package(name, True) for name in OPTIONAL]
    tests += [_java(), _tried("write access", _write), _tried("ledger", _ledger), _tried("noise", _noise)]
    return [*tests, _tried("promise", _promise)]


def _package(name: str, optional: bool) -> Test:
    try:
        return Test(name, True, version(name), optional)
    except PackageNotFoundError:
        return Test(name, False, f"not installed; run pip install {name}", optional)


def _java() -> Test:
    found = shutil.which("java")
    if found is None:
        return Test("Java", False, "not found; only Spark needs it, Java 17 or newer", optional=True)
    said = subprocess.run([found, "-version"], capture_output=True, text=True, check=False)
    return Test("Java", said.returncode == 0, (said.stderr or said.stdout).strip().splitlines()[0], optional=True)


def _tried(name: str, test: Callable[[], str]) -> Test:
    try:
        return Test(name, True, test())
    except Exception as problem:
        return Test(name, False, f"{type(problem).__name__}: {problem}")


def _write() -> str:
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "test").write_text("test", encoding="utf-8")
    with tempfile.NamedTemporaryFile(dir=Path.cwd()):
        return f"the temporary directory and {Path.cwd()} can be written"


def _ledger() -> str:
    from sfumato import Cost, Event, Loss, Pure
    from sfumato.ledger import Budget, Ledger

    with tempfile.TemporaryDirectory() as place, Ledger(Path(place) / "test", Budget(person=Pure(1))) as book:
        book.run("test", Event("Test", "doctor"), Loss.flat(Cost.pure("1/2")), lambda: b"answer")
        if not book.verify():
            raise RuntimeError("a new ledger does not verify")
    return "a charge was written, read back and verified"


def _noise() -> str:
    """Draw, and compare with what the law says: seven standard deviations, so a false alarm is not to be expected."""
    from sfumato import Noise

    drawn = Noise().discrete_laplace(10, DRAWS)
    spread = float(drawn.std())
    mean = abs(float(drawn.mean()))
    # The standard deviation of the law is 14.1; its mean over so many draws is within 7 · 14.1/sqrt(n) of 0.
    if mean > 0.7 or not 13 < spread < 15.3:
        raise RuntimeError(f"{DRAWS} draws of scale 10 have mean {mean:.2f} and spread {spread:.2f}, not 0 and 14.1")
    return f"{DRAWS} draws of scale 10 spread by {spread:.2f}, expected 14.1"


def _promise() -> str:
    from sfumato import Pure, audit, perturb

    report = audit.check(perturb.calibrate(Pure(0.5), sensitivity=1), [(5, 6)])
    if not report.ok:
        raise RuntimeError(report.title)
    return "the law of a noisy count was enumerated and keeps its promise"
