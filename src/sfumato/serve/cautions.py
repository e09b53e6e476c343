"""Warnings that an answer will be poor, told to who asks: each thread hears its own, and none goes to the log."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sfumato.errors import AccuracyWarning

_mine = threading.local()


def listen() -> None:
    """Have this process keep such warnings for the thread in which they are given; once, when it starts."""
    shown = warnings.showwarning
    warnings.filterwarnings("always", category=AccuracyWarning)

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, AccuracyWarning):
            shown(message, category, *place, **more)
            return
        said: list[str] | None = getattr(_mine, "said", None)
        if said is not None and str(message) not in said:
            said.append(str(message))

    warnings.showwarning = show


@contextmanager
def heard() -> Iterator[list[str]]:
    """Collect what is warned of in this thread; from public facts only, as every such warning."""
    said: list[str] = []
    _mine.said = said
    try:
        yield said
    finally:
        _mine.said = None
