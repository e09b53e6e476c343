"""How many requests there were by route and status, added up over all processes of a house."""

from __future__ import annotations

import json
import logging
from collections import Counter
from threading import Event, Lock, Thread

import sqlalchemy as sa

from sfumato.serve.store import Store
from sfumato.serve.store import counted as table

_log = logging.getLogger("sfumato.serve")

Counted = tuple[str, str, int]
METHODS = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")
WRITE_EVERY = 5.0
"""A process adds its numbers to those of all once in so many seconds; kill -9 loses those of the last ones."""


class Counts:
    """Counts the requests of this process, and adds them to what all processes have counted."""

    def __init__(self) -> None:
        self._new: Counter[Counted] = Counter()
        self._lock = Lock()
        self._ended = Event()
        self._thread: Thread | None = None

    def add(self, method: str, route: str, status: int) -> None:
        """Count a request; a method may be any word of its sender, and only known ones are told apart."""
        with self._lock:
            self._new[(method if method in METHODS else "other", route[:200], status)] += 1

    def begin(self, store: Store) -> None:
        """Write now and then."""
        self._ended.clear()
        self._thread = Thread(target=self._run, args=(store,), name="counts", daemon=True)
        self._thread.start()

    def _run(self, store: Store) -> None:
        while not self._ended.wait(WRITE_EVERY):
            self.write(store)

    def end(self, store: Store) -> None:
        """Write what is left."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self.write(store)

    def write(self, store: Store) -> None:
        """Add what is new to the numbers of all; what cannot be written is kept for the next time."""
        with self._lock:
            new, self._new = self._new, Counter()
        if not new:
            return
        try:
            with store.change() as connection:
                for place, count in sorted(
                    new.items()
                ):  # in one order, so that two processes never wait for each other
                    _add(connection, place, count)
        except sa.exc.SQLAlchemyError as problem:
            _log.error(json.dumps({"failed": type(problem).__name__}))
            with self._lock:
                self._new.update(new)

    def total(self, store: Store) -> dict[Counted, int]:
        """Return the numbers of all processes; of the others those of a few seconds ago."""
        self.write(store)
        return {(row.method, row.route, row.status): int(row.requests) for row in store.rows(sa.select(table))}


def _add(connection: sa.Connection, place: Counted, count: int) -> None:
    method, route, status = place
    here = sa.and_(table.c.method == method, table.c.route == route, table.c.status == status)
    added = sa.update(table).where(here).values(requests=table.c.requests + count)
    if connection.execute(added).rowcount:
        return
    try:
        with connection.begin_nested():
            connection.execute(sa.insert(table).values(method=method, route=route, status=status, requests=count))
    except sa.exc.IntegrityError:  # another process was first
        connection.execute(added)
