"""A bar for work that takes longer than two seconds, where somebody watches: the one way to show progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Event, Thread, Timer
from typing import Any, TypeVar

PATIENCE = 2.0
"""Nothing is shown for so many seconds."""

_LOOK_EVERY = 0.2

_drawn: list[Any] = []
"""The bars on the terminal: a second one would tear the first, so that what is inside adds a line to it."""

Heard = Callable[[float], None]
_listener: ContextVar[Heard | None] = ContextVar("listener", default=None)
"""Who is told of the part done instead of a terminal: the service, of the question that it answers in this thread."""

Part = Callable[[], float | None]
Thing = TypeVar("Thing")


def quiet(_: float) -> None:
    """Show nothing."""


@contextmanager
def heard(listener: Heard) -> Iterator[None]:
    """Tell a listener how far the work in this context is; only what the work itself says, never how far a reading is.

    What calls it must know the part from public facts or from what is released: fits of noisy numbers do.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def watched(words: str, part: Part | None = None, *, piped: str = "") -> Iterator[Callable[[float], None]]:
    """Yield a function that takes the part done; after two seconds a bar stands on a terminal's error stream.

    Work that cannot call it hands in `part`, which is asked now and then how far the work is; where neither is known
    the bar pulses beside the seconds. Where the error stream is no terminal the sentence `piped`, if there is one, is
    written there once, after the same two seconds.
    """
    if not sys.stderr.isatty():
        with _said_once(piped):
            yield _listener.get() or quiet
        return
    done: list[float] = []
    ended = Event()
    thread = Thread(target=_draw, args=(words, part, done, ended), daemon=True)
    thread.start()
    try:
        yield lambda fraction: done.__setitem__(slice(None), [fraction])
    finally:
        ended.set()
        thread.join()


def tracked(things: Iterable[Thing], words: str, total: int) -> Iterator[Thing]:
    """Pass things on, with a bar that knows how many there are."""
    with watched(words) as step:
        for number, thing in enumerate(things):
            yield thing
            step((number + 1) / total)


@contextmanager
def _said_once(sentence: str) -> Iterator[None]:
    if not sentence:
        yield
        return
    timer = Timer(PATIENCE, lambda: print(sentence, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _draw(words: str, part: Part | None, done: list[float], ended: Event) -> None:
    if ended.wait(PATIENCE):
        return
    with _bar() as bar:
        task = bar.add_task(words, total=None)
        while not ended.wait(_LOOK_EVERY):
            known = part() if part is not None else done[-1] if done else None
            if known is not None:
                bar.update(task, total=1.0, completed=min(1.0, known))
        with suppress(KeyError):
            bar.remove_task(task)


@contextmanager
def _bar() -> Iterator[Any]:
    if _drawn:
        yield _drawn[-1]
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        _drawn.append(bar)
        try:
            yield bar
        finally:
            _drawn.remove(bar)
