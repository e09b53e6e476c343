"""What the service keeps beside the ledgers: people, tokens, sessions, jobs. SQLite by default, PostgreSQL for teams.

Nothing in here decides what may be spent: that is the ledger's alone. Losing it loses accounts, never a promise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from sfumato.errors import ParameterError
from sfumato.ledger.store import database_url

metadata = sa.MetaData()


def _texts(length: int | None, *names: str, **more: Any) -> list[sa.Column[Any]]:
    """Return columns of texts of at most so many characters, or of any length; none of them may be empty."""
    kind = sa.Text() if length is None else sa.String(length)
    return [sa.Column(name, kind, nullable=False, **more) for name in names]


def _times(*names: str) -> list[sa.Column[Any]]:
    """Return columns of moments, in seconds."""
    return [sa.Column(name, sa.Float, nullable=False) for name in names]


def _flag(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.Boolean, nullable=False)


def _table(name: str, *columns: Any) -> sa.Table:
    return sa.Table(f"house_{name}", metadata, *columns)


people = _table("people", *_texts(60, "name", primary_key=True), *_texts(20, "role"), *_times("created"))
grants = _table("grants", *_texts(60, "name", "dataset", primary_key=True))
tokens = _table(
    "tokens",
    *_texts(32, "id", primary_key=True),
    *_texts(60, "name", index=True),
    *_texts(64, "salt", "hash"),
    *_times("created", "expires"),
    _flag("revoked"),
)
sessions = _table(
    "sessions",
    *_texts(64, "hash", primary_key=True),
    *_texts(60, "name", index=True),
    *_texts(32, "token"),
    *_texts(64, "form"),
    *_times("created", "seen"),
)
attempts = _table("attempts", *_texts(64, "place", index=True), *_times("at"))
jobs = _table(
    "jobs",
    *_texts(32, "id", primary_key=True),
    *_texts(60, "dataset", "name", index=True),
    *_texts(100, "key"),
    *_texts(None, "form"),
    *_texts(20, "state"),
    *_texts(None, "said"),
    *_texts(40, "kind"),
    *_texts(200, "request"),
    _flag("reused"),
    *_texts(60, "decided"),
    *_times("created", "changed"),
    sa.UniqueConstraint("dataset", "name", "key"),
)
talks = _table(
    "talks",
    *_texts(60, "dataset", "name", primary_key=True),
    *_texts(100, "key", primary_key=True),
    *_texts(None, "form"),
    *_times("created"),
)

openings = _table(
    "openings",  # conversations above the threshold: a table of its own, so that houses from before need no change
    *_texts(32, "id", primary_key=True),
    *_texts(60, "dataset", "name", index=True),
    *_texts(100, "key"),
    *_texts(None, "form"),
    *_texts(20, "state"),
    *_texts(60, "decided"),
    *_times("created", "changed"),
    sa.UniqueConstraint("dataset", "name", "key"),
)

counted = _table(
    "counted",  # requests, added up over all processes and all starts
    *_texts(10, "method", primary_key=True),
    *_texts(200, "route", primary_key=True),
    sa.Column("status", sa.Integer, primary_key=True),
    sa.Column("requests", sa.BigInteger, nullable=False),
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

    def add_once(self, table: sa.Table, values: Mapping[str, Any]) -> None:
        """Add a row unless its key is there: where the same one came twice at once, whoever was first counts."""
        with suppress(sa.exc.IntegrityError):
            self.run(sa.insert(table), values)

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()


def _settings(connection: Any, _record: Any) -> None:
    for pragma in ("busy_timeout = 30000", "journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}").close()
