"""Ledgers in real SQLite files and on the real PostgreSQL server of the run."""

from __future__ import annotations

import itertools
import os

import pytest

from sfumato.ledger import Budget, Ledger
from sfumato.privacy import Secrets

_numbers = itertools.count()

SECRETS = Secrets(("age", "born", "race", "sex"), dependencies=(("born", "age"),))


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
