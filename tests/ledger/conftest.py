"""Real SQLite files, and one real PostgreSQL server that all workers of a run share."""

from __future__ import annotations

import itertools
import os
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import pytest

from sfumato.ledger import Budget, Ledger
from sfumato.privacy import Secrets

_numbers = itertools.count()

SECRETS = Secrets(("age", "born", "race", "sex"), dependencies=(("born", "age"),))


@pytest.fixture(scope="session")
def postgres(testrun_uid: str):
    """The URL of a server that the wheel `pgserver` carries; the last worker stops it and removes its files."""
    with warnings.catch_warnings():
        # The wheel's own imports warn about the place of its lock file; that is not ours to fix.
        warnings.simplefilter("ignore")
        try:
            import pgserver
        except ImportError as problem:
            pytest.skip(f"NO POSTGRESQL: the wheel pgserver is not installed ({problem}); PostgreSQL is not tested.")
        # Not below pytest's own directory: as root the server runs as another user, who may not look in there.
        place = Path(tempfile.gettempdir()) / f"sfumato-pg-{testrun_uid[:8]}"
        place.mkdir(exist_ok=True)
        place.chmod(0o777)
        server = pgserver.get_server(place / "data", cleanup_mode="delete")
        yield server.get_uri()
        server.cleanup()
        with suppress(OSError):  # another worker may still use it
            place.rmdir()


def schema_on(server: str) -> str:
    """Make an empty schema on the server and return the URL of a ledger in it."""
    import psycopg

    name = f"ledger_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{server}&options=-csearch_path%3D{name}"


@pytest.fixture(autouse=True)
def no_populations(monkeypatch):
    """Forget which populations had ledgers in other tests of this process."""
    monkeypatch.setattr("sfumato.ledger.journal._populations", {})


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """A place where a ledger can be made, on both databases."""
    if request.param == "sqlite":
        return str(tmp_path / "people.ledger")
    return schema_on(request.getfixturevalue("postgres"))


@pytest.fixture
def open_ledger(place):
    """Open ledgers at the place and close them after the test."""
    opened = []

    def make(budget: Budget | None = None, **more) -> Ledger:
        opened.append(Ledger(place, budget, **more))
        return opened[-1]

    yield make
    for ledger in opened:
        ledger.close()
