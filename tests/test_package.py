"""What people install: the wheel and the source distribution, each tried in an environment of its own."""

from __future__ import annotations

import re
import subprocess
import tarfile
import tomllib
import venv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.audit
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_what_is_built_installs_and_answers(kind: str, tmp_path: Path) -> None:
    tools, clean = tmp_path / "tools", tmp_path / "clean"
    venv.create(tools, with_pip=True)
    run(tools / "bin" / "pip", "install", "--quiet", "build")
    run(tools / "bin" / "python", "-m", "build", f"--{kind}", "--outdir", tmp_path / "built", ROOT)
    (built,) = (tmp_path / "built").iterdir()
    if kind == "sdist":
        with tarfile.open(built) as archive:
            names = archive.getnames()
        assert any(name.endswith("docs/theory/README.md") for name in names), "the mathematics travels with the source"
    venv.create(clean, with_pip=True)
    run(clean / "bin" / "pip", "install", "--quiet", "--constraint", ROOT / "requirements.lock", built)
    said = run(clean / "bin" / "sfumato", "demo", "--out", tmp_path / "out", cwd=tmp_path)
    assert "refused" in said.lower()
    run(clean / "bin" / "python", "-c", "import sfumato, sfumato.papers.query_release", cwd=tmp_path)


def floors() -> list[str]:
    """Return what the project needs to run, each at the lowest version that it allows."""
    from packaging.requirements import Requirement

    lowest = []
    for text in project()["dependencies"]:
        requirement = Requirement(text)
        (floor,) = [part.version for part in requirement.specifier if part.operator == ">="]
        lowest.append(
            f"{requirement.name}{'[' + ','.join(requirement.extras) + ']' if requirement.extras else ''}=={floor}"
        )
    return lowest


@pytest.mark.audit
def test_the_lowest_versions_that_are_allowed_are_enough(tmp_path: Path) -> None:
    clean = tmp_path / "clean"
    venv.create(clean, with_pip=True)
    run(clean / "bin" / "pip", "install", "--quiet", *floors(), ROOT)
    said = run(clean / "bin" / "sfumato", "demo", "--out", tmp_path / "out", cwd=tmp_path)
    assert "refused" in said.lower()
    run(clean / "bin" / "pip", "install", "--quiet", "pytest", "pytest-xdist", "hypothesis", "pandas", "polars")
    few = [
        "tests/test_curator.py",
        "tests/noise/test_noise.py",
        "tests/ledger/test_requests.py",
        "tests/table/test_moments.py",
    ]
    run(clean / "bin" / "python", "-m", "pytest", "-q", *few, cwd=ROOT)


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def test_every_pinned_version_is_at_least_the_floor_of_the_project() -> None:
    """The lock follows the floors of pyproject.toml; `make lock` writes it anew."""
    from packaging.requirements import Requirement

    described = project()
    pins = dict(
        line.lower().replace("_", "-").split("==")
        for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
        if "==" in line
    )
    listed = [
        *described["dependencies"],
        *(one for extra in described["optional-dependencies"].values() for one in extra),
    ]
    for requirement in map(Requirement, listed):
        if requirement.name != "sfumato":
            pinned = pins[requirement.name.lower().replace("_", "-")]
            assert requirement.specifier.contains(pinned), requirement


IMPORTED = {"python-flint": "flint", "ibis-framework": "ibis", "pot": "ot", "scikit-learn": "sklearn"}
"""Packages that are imported under another word than that of their distribution."""

TAKEN_BY_UVICORN = {"httptools", "uvloop"}
"""Packages that nothing here imports: the server takes them where they are, and is twice as fast."""


def test_every_package_that_people_must_install_is_imported() -> None:
    from packaging.requirements import Requirement

    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    described = project()
    extras = (
        one
        for name, extra in described["optional-dependencies"].items()
        if name not in {"dev", "bench", "docs"}
        for one in extra
    )

    def unused(listed: Iterable[str]) -> set[str]:
        names = {Requirement(one).name.lower() for one in listed}
        return {name for name in names if not any(imports(text, IMPORTED.get(name, name)) for text in sources)}

    assert unused([*described["dependencies"], *extras]) == TAKEN_BY_UVICORN
    assert unused(["flask>=3"]) == {"flask"}


def imports(text: str, module: str) -> bool:
    """Tell whether a module is imported, required where it may be missing, or reached as an engine of Ibis."""
    ways = rf"^\s*(?:import|from) {module}\b", rf'\b_require\("{module}"\)', rf"\bibis\.{module}\.connect\("
    return re.search("|".join(ways), text, re.MULTILINE) is not None
