"""Where a ledger lives: a SQLite file, memory, or a PostgreSQL schema; every change is one durable transaction.

Only this module and `session` need SQLAlchemy; they are imported when a ledger is opened.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from sfumato.errors import DamagedLedger, LedgerError, ParameterError
from sfumato.ledger.chain import FIRST, Head
from sfumato.ledger.session import FORMAT, PAID, Session, head_table, metadata, sums_table

APPLICATION = 0x73667564
"""What marks a SQLite file as a ledger."""

CREATION_LOCK = 0x5F0A70
"""PostgreSQL's advisory lock under which tables are made, so that two openers do not collide."""

_QUOTED = re.compile(r"(['\"]).*\1")
"""What stands between quotation marks in a database's error, from the first to the last."""

_READ_HEAD = sa.select(head_table).where(head_table.c.id == 1)
_LOCK_HEAD = _READ_HEAD.with_for_update()


class Store:
    """A database with one ledger in it."""

    def __init__(self, place: str | Path | None) -> None:
        self.url = database_url(place)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.memory = self.sqlite and self.url.database in (None, "", ":memory:")
        self.name = "memory" if self.memory else self.url.render_as_string(hide_password=True)
        if self.sqlite and not self.memory:
            self.name = str(Path(str(self.url.database)).resolve())
        self._engine = self._connect()
        self._process = os.getpid()

    def _connect(self) -> sa.Engine:
        self._compiled: dict[Any, Any] = {}  # statements are a fixed few, so none of them need be forgotten
        options: dict[str, Any] = {"pool_pre_ping": not self.sqlite, "hide_parameters": True}
        options["execution_options"] = {"compiled_cache": self._compiled}
        if self.memory:
            options |= {"poolclass": StaticPool, "connect_args": {"check_same_thread": False}}
        elif self.sqlite:
            options |= {"connect_args": {"check_same_thread": False}}
        try:
            engine = sa.create_engine(self.url, **options)
        except ModuleNotFoundError as missing:
            raise LedgerError(
                f"A PostgreSQL ledger needs the package {missing.name}; run pip install 'sfumato[postgres]'."
            ) from None
        sa.event.listen(engine, "connect", _sqlite_settings if self.sqlite else _postgres_settings)
        return engine

    def missing(self) -> bool:
        """Tell whether there is nothing at this place yet, without making anything there."""
        if self.memory:
            return True
        if self.sqlite and not Path(self.name).exists():
            return True
        with self.connection(write=False) as connection:
            if not self.sqlite and connection.exec_driver_sql("SHOW fsync").scalar() == "off":
                raise LedgerError(
                    f"The server of {self.name} runs with fsync off, so it may forget what was spent; switch fsync on."
                )
            tables = sa.inspect(connection).get_table_names()
        return not tables if self.sqlite else head_table.name not in tables

    def create(self, connection: sa.Connection, sums: str) -> bool:
        """Make the tables inside a transaction; False if somebody else just did."""
        if not self.sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(CREATION_LOCK)))
        tables = sa.inspect(connection).get_table_names()
        if head_table.name in tables:
            return False
        if tables and self.sqlite:
            raise LedgerError(
                f"{self.name} is a database with other tables ({', '.join(tables[:3])}), not a ledger; "
                "give the path of a ledger, or of a file that does not exist yet."
            )
        if self.sqlite:
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION}")
        metadata.create_all(connection)
        connection.execute(sa.insert(head_table).values(id=1, format=FORMAT, length=0, seal=FIRST, rules=0))
        connection.execute(sa.insert(sums_table).values(id=1, sums=sums))
        return True

    def prepare(self) -> None:
        """Compile what a paid question runs, once the database is known: nothing is sent, nothing is locked."""
        statements: list[tuple[Any, Mapping[str, Any]]] = [(_READ_HEAD, {}), (_LOCK_HEAD, {}), *PAID]
        dialect = self._engine.dialect
        linting = dialect.compiler_linting | sa.sql.compiler.WARN_LINTING
        # SQLAlchemy has no public way to fill its cache; if this one goes, the first question compiles as before.
        with suppress(AttributeError, TypeError):
            for statement, given in statements:
                statement._compile_w_cache(
                    dialect=dialect, compiled_cache=self._compiled, column_keys=sorted(given), linting=linting
                )

    @contextmanager
    def connection(self, write: bool) -> Iterator[sa.Connection]:
        """Open one transaction; writers wait for each other, readers see one moment."""
        if os.getpid() != self._process:
            # Connections must not be shared with the process that forked this one.
            self._engine.dispose(close=False)
            self._engine, self._process = self._connect(), os.getpid()
        with self._guarded(), self._engine.connect() as connection:
            if not self.sqlite:
                connection.execution_options(isolation_level="READ COMMITTED" if write else "REPEATABLE READ")
            with connection.begin():
                if self.sqlite:
                    # By hand: a listener would be asked at every statement. A deferred transaction would read first
                    # and could find at its first write that it is too late.
                    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
                yield connection

    @contextmanager
    def session(self, write: bool) -> Iterator[Session]:
        """Open one transaction on an existing ledger; writers hold its one row until they are done."""
        with self.connection(write) as connection:
            line = connection.execute(_LOCK_HEAD if write else _READ_HEAD).first()
            if line is None or not all(isinstance(part, int) for part in (line.format, line.length, line.rules)):
                raise LedgerError(f"{self.name} holds no ledger that can be read; restore it from its newest copy.")
            if line.format > FORMAT:
                raise LedgerError(
                    f"The ledger at {self.name} was written by a newer version of sfumato (format {line.format}, this "
                    f"version reads {FORMAT}); run pip install --upgrade sfumato."
                )
            session = Session(connection, Head(line.length, line.seal), line.rules, line.format)
            yield session
            session.finish()

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turn the database's errors into sentences; a failed transaction has written nothing.

        A database quotes cells that it cannot read, and cells hold raw draws and the states of conversations: what it
        quotes is left out, and nothing of its own error travels with the sentence.
        """
        try:
            yield
        except (sa.exc.DBAPIError, sqlite3.Error) as problem:
            cause = problem.orig if isinstance(problem, sa.exc.DBAPIError) else problem
            reason = _QUOTED.sub("…", (str(cause).splitlines() or [type(cause).__name__])[0])
            told = self._explained(reason)
            try:
                raise told from None
            finally:
                told.__context__ = None

    def _explained(self, reason: str) -> LedgerError:
        if "malformed" in reason or "Could not decode" in reason:
            return DamagedLedger(
                f"The ledger at {self.name} was damaged, or changed by something else ({reason}); restore it from its "
                "newest copy, and compare that with an end of the chain that was kept elsewhere."
            )
        if "not a database" in reason or "no such" in reason or "does not exist" in reason:
            return LedgerError(
                f"{self.name} is not a ledger that can be read ({reason}); give the path of a ledger, "
                "or of a file that does not exist yet."
            )
        return LedgerError(
            f"The ledger at {self.name} could not be read or written ({reason}); check that it can be reached and "
            "written, then ask again with the same request id: what happened is known to the ledger."
        )

    def renew(self) -> None:
        """Open connections afresh, so that the settings of a new file take hold."""
        if not self.memory:
            self._engine.dispose()

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()


def database_url(place: str | Path | None) -> sa.URL:
    """Return the address of a database: a path is SQLite, nothing is memory."""
    if place is None:
        return sa.make_url("sqlite://")
    if isinstance(place, Path) or "://" not in str(place):
        return sa.URL.create("sqlite", database=str(place))
    try:
        url = sa.make_url(str(place))
    except (sa.exc.ArgumentError, ValueError):
        raise ParameterError("This is no database URL; write postgresql://user@host/database, or a path.") from None
    if url.drivername in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise ParameterError(
            f"A ledger lives in SQLite or PostgreSQL, not in {url.get_backend_name()}; "
            "give a path, or write postgresql://user@host/database."
        )
    return url


def _sqlite_settings(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions are opened by `Store.connection`, never by the driver
    connection.execute("PRAGMA busy_timeout = 30000").close()
    connection.execute("PRAGMA synchronous = FULL").close()
    # Only a ledger's own file is switched to WAL: the switch stays in the file, and others' files are not ours.
    if connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION:
        # If somebody is writing now, the file keeps its older journal, just as durable, until the next connection.
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL").close()


def _postgres_settings(connection: Any, _record: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = on")
    connection.commit()
