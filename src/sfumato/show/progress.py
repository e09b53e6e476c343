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
    written there once, after the same two seconds; one with {about} says how long the work takes, and is written where
    `part` tells that, and it is ten seconds or more.
    """
    if not sys.stderr.isatty():
        with _said_once(piped, part):
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
def _said_once(sentence: str, part: Part | None) -> Iterator[None]:
    if not sentence:
        yield
        return

    def say() -> None:
        if said := _with_time(sentence, part):
            print(said, file=sys.stderr, flush=True)

    timer = Timer(PATIENCE, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _with_time(sentence: str, part: Part | None) -> str:
    """Return a sentence with how long the work takes, if it says so; nothing where that is short or not known."""
    if "{about}" not in sentence:
        return sentence
    known = None
    with suppress(Exception):  # the work may just have ended, and what could tell is gone
        known = None if part is None else part()
    about = in_words(PATIENCE / known) if known else ""
    return sentence.format(about=about) if about else ""


def in_words(seconds: float) -> str:
    """Return about how long something takes; nothing of less than ten seconds.

    >>> in_words(9), in_words(44), in_words(100), in_words(20_000)
    ('', '40 seconds', '2 minutes', '6 hours')
    """
    if seconds < 10:
        return ""
    if seconds < 90:
        return f"{round(seconds, -1):.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5_400 else f"{seconds / 3_600:.0f} hours"


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
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    told = (BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), *told)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        _drawn.append(bar)
        try:
            yield bar
        finally:
            _drawn.remove(bar)
