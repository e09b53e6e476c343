"""Peers conflict with each other, so each one lives in a virtual environment of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parent / ".environments"


def python_of(name: str, packages: list[str]) -> Path:
    """Return the interpreter of a peer's environment, made on first use with pip."""
    python = HOME / name / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(HOME / name)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
    return python


def run(name: str, packages: list[str], script: Path, *arguments: str) -> Any:
    """Run a script in a peer's environment and return the JSON that it prints."""
    command = [str(python_of(name, packages)), str(script), *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
