"""Results point by point in out/bench-local/, so that a bench which was stopped goes on where it was."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sfumato import Noise

OUT = Path(__file__).resolve().parent.parent / "out"
POINTS = OUT / "bench-local"
SECTION = OUT / "bench-local.md"


class NotMeasured(Exception):
    """A point that is not in the folder, when only those are asked for."""


class Mode:
    """Whether missing points are measured, or left out."""

    measure = True


def stored(name: str, make: Callable[[], Any]) -> Any:
    """Return the result of a name, made once; it stands in a file from the moment it is whole."""
    path = POINTS / f"{name}.json"
    if path.exists():
        return json.loads(path.read_text())
    if not Mode.measure:
        raise NotMeasured(name)
    POINTS.mkdir(parents=True, exist_ok=True)
    result = make()
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps(result))
    partial.replace(path)
    return result


def stored_all(names: Iterable[tuple[str, Callable[[], Any]]]) -> list[Any]:
    """Return the results of many names; if missing ones are left out, those that there are, but at least one."""
    results = []
    for name, make in names:
        try:
            results.append(stored(name, make))
        except NotMeasured:
            break
    if not results:
        raise NotMeasured
    return results


def seed_bytes(noise: Noise) -> bytes:
    """Return a public seed for a plan."""
    return int(noise.uniform(1 << 256)).to_bytes(32, "big")


class Clock:
    """CPU seconds of a part of the work."""

    def __enter__(self) -> Clock:
        self._start = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.process_time() - self._start


def peak_mib() -> int:
    """Return the largest memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table for the page."""
    names = list(head)
    lines = [names, ["---"] * len(names), *([str(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
