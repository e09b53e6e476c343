"""What people install: the wheel and the source distribution, each tried in an environment of its own."""

from __future__ import annotations

import subprocess
import tarfile
import venv
from pathlib import Path

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


def test_every_pinned_version_is_at_least_the_floor_of_the_project() -> None:
    """The lock follows the floors of pyproject.toml; `make lock` writes it anew."""
    import tomllib

    from packaging.requirements import Requirement

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = dict(
        line.lower().replace("_", "-").split("==")
        for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
        if "==" in line
    )
    listed = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    for requirement in map(Requirement, listed):
        if requirement.name != "sfumato":
            pinned = pins[requirement.name.lower().replace("_", "-")]
            assert requirement.specifier.contains(pinned), requirement
