"""What the service keeps beside the ledgers: people, tokens, sessions, jobs. SQLite by default, PostgreSQL for teams.

Nothing in here decides what may be spent: that is the ledger's alone. Losing it loses accounts, never a promise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from sfumato.errors import ParameterError
from sfumato.ledger.store import database_url

metadata = sa.MetaData()

people = sa.Table(
    "house_people",
    metadata,
    sa.Column("name", sa.String(60), primary_key=True),
    sa.Column("role", sa.String(20), nullable=False),
    sa.Column("created", sa.Float, nullable=False),
)
grants = sa.Table(
    "house_grants",
    metadata,
    sa.Column("name", sa.String(60), primary_key=True),
    sa.Column("dataset", sa.String(60), primary_key=True),
)
tokens = sa.Table(
    "house_tokens",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("name", sa.String(60), nullable=False, index=True),
    sa.Column("salt", sa.String(64), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("expires", sa.Float, nullable=False),
    sa.Column("revoked", sa.Boolean, nullable=False),
)
sessions = sa.Table(
    "house_sessions",
    metadata,
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("name", sa.String(60), nullable=False, index=True),
    sa.Column("token", sa.String(32), nullable=False),
    sa.Column("form", sa.String(64), nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("seen", sa.Float, nullable=False),
)
attempts = sa.Table(
    "house_attempts",
    metadata,
    sa.Column("place", sa.String(64), nullable=False, index=True),
    sa.Column("at", sa.Float, nullable=False),
)
jobs = sa.Table(
    "house_jobs",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("dataset", sa.String(60), nullable=False, index=True),
    sa.Column("name", sa.String(60), nullable=False, index=True),
    sa.Column("key", sa.String(100), nullable=False),
    sa.Column("form", sa.Text, nullable=False),
    sa.Column("state", sa.String(20), nullable=False),
    sa.Column("said", sa.Text, nullable=False),
    sa.Column("kind", sa.String(40), nullable=False),
    sa.Column("request", sa.String(200), nullable=False),
    sa.Column("reused", sa.Boolean, nullable=False),
    sa.Column("decided", sa.String(60), nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("changed", sa.Float, nullable=False),
    sa.UniqueConstraint("dataset", "name", "key"),
)

talks = sa.Table(
    "house_talks",
    metadata,
    sa.Column("dataset", sa.String(60), primary_key=True),
    sa.Column("name", sa.String(60), primary_key=True),
    sa.Column("key", sa.String(100), primary_key=True),
    sa.Column("form", sa.Text, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
)

LOCK = 0x5F0A71
"""PostgreSQL's advisory lock under which tables are made, so that two workers do not collide."""


def now() -> float:
    """Return the time, in seconds."""
    return datetime.now(UTC).timestamp()


class Store:
    """The database of a house."""

    def __init__(self, place: str) -> None:
        url = database_url(place)
        self.sqlite = url.get_backend_name() == "sqlite"
        options: dict[str, Any] = {"connect_args": {"check_same_thread": False}} if self.sqlite else {}
        try:
            self._engine = sa.create_engine(url, pool_pre_ping=not self.sqlite, **options)
        except ModuleNotFoundError as missing:
            raise ParameterError(
                f"A store in PostgreSQL needs the package {missing.name}; run pip install 'sfumato[postgres]'."
            ) from None
        if self.sqlite:
            sa.event.listen(self._engine, "connect", _settings)
        try:
            with self._engine.begin() as connection:
                if not self.sqlite:
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
                metadata.create_all(connection)
        except sa.exc.DBAPIError as problem:
            shown = url.render_as_string(hide_password=True)
            kind = type(problem.orig).__name__
            raise ParameterError(
                f"The store at {shown} cannot be opened ({kind}); check that it can be written."
            ) from None

    @contextmanager
    def change(self) -> Iterator[sa.Connection]:
        """Open one transaction."""
        with self._engine.begin() as connection:
            yield connection

    def rows(self, query: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        """Return what a query finds."""
        with self._engine.connect() as connection:
            return connection.execute(query).all()

    def row(self, query: sa.Select[Any]) -> sa.Row[Any] | None:
        """Return the first row that a query finds."""
        with self._engine.connect() as connection:
            return connection.execute(query).first()

    def run(self, statement: sa.Executable, values: Mapping[str, Any] | None = None) -> int:
        """Run one statement in a transaction of its own, and return how many rows it changed."""
        with self._engine.begin() as connection:
            return int(connection.execute(statement, dict(values) if values else None).rowcount)

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()


def _settings(connection: Any, _record: Any) -> None:
    for pragma in ("busy_timeout = 30000", "journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}").close()
