"""Linear algebra in one thread: sums are then added in one order, whatever the machine has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

_lock = Lock()
_inside = 0
_limits = ExitStack()


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the block, and whatever other threads do meanwhile, with linear algebra in one thread.

    A draw that is made again and a fit that is repeated must give the same bytes, and floating-point sums depend on
    how many threads share them.
    """
    global _inside  # noqa: PLW0603  the libraries' setting belongs to the whole process, and so does its count
    with _lock:
        if not _inside:
            _limits.enter_context(_limited())
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _limits.close()


@contextmanager
def _limited() -> Iterator[None]:
    import numpy  # noqa: F401  what is loaded later could not be limited
    import scipy.linalg  # noqa: F401

    with _libraries(len(sys.modules)).limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    """Look for the libraries of linear algebra; again only if so many modules were not loaded yet."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
