"""The gate's coins: each test has coins of its own, and the same in every run (`pytest -p tests.seeded`).

Thousands of tests ask a curator, whose noise is real, and a few of them hang on luck: once in a few hundred runs an
interval does not hold, as it should not. The gate is to say whether a change broke something, so it throws the same
coins for the same test. `make audit` and a plain `pytest` throw fresh ones.

Only the process of the test itself is seeded: a child that repeated its parent's coins would be another program.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest


class Coins:
    """Bytes that depend on a name and on how many were taken before."""

    def __init__(self) -> None:
        self._lock, self._home = threading.Lock(), os.getpid()
        self.begin("collection")

    def begin(self, name: str) -> None:
        """Start again, for a test of this name."""
        self._name, self._taken = name, 0

    def urandom(self, count: int) -> bytes:
        """Return the next bytes; in a forked child those of the operating system."""
        if os.getpid() != self._home:
            return os.urandom(count)  # noqa: TID251
        with self._lock:
            number, self._taken = self._taken, self._taken + 1
        return hashlib.shake_256(f"{self._name}\n{number}".encode()).digest(count)


coins = Coins()


def pytest_configure() -> None:
    """Put these coins where the operating system's are asked for."""
    from sfumato.noise import source

    source.os = SimpleNamespace(**{**vars(os), "urandom": coins.urandom})  # type: ignore[attr-defined, assignment]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Begin each test with coins of its own."""
    coins.begin(item.nodeid)
    return (yield)
