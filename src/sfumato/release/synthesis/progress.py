"""A bar for fits that take longer than two seconds, where somebody watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 2.0


def quiet(_: float) -> None:
    """Show nothing."""


@contextmanager
def watched(words: str) -> Iterator[Callable[[float], None]]:
    """Yield a function that takes the part done; after two seconds it draws a bar on a terminal's error stream."""
    if not sys.stderr.isatty():
        yield quiet
        return
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(words, total=1.0)
    begun, shown = time.monotonic(), False

    def step(done: float) -> None:
        nonlocal shown
        if not shown and time.monotonic() - begun > PATIENCE:
            bar.start()
            shown = True
        if shown:
            bar.update(task, completed=min(1.0, done))

    try:
        yield step
    finally:
        if shown:
            bar.stop()
