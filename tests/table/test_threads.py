"""Many threads read one table: each reads what it would read alone (SM-STORE)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import ibis
import pyarrow
import pytest

import sfumato as sf
from sfumato.ask.asked import Asked
from sfumato.ask.packing import pack
from sfumato.curator.planning import planned
from sfumato.domain import categories, integers, text
from sfumato.sql.select import Select
from sfumato.table import Schema, open_table
from sfumato.table.database import Database, PublicTable
from sfumato.table.engine import Source, turn_of
from sfumato.table.own import open_database
from sfumato.table.public import read_public_tables

THREADS = 8
SCHEMA = Schema(
    {"age": integers(0, 99), "sex": categories("f", "m"), "town": text(max_bytes=8)},
    person="who",
    rows_per_person=2,
)


def _rows(count: int = 3000) -> pyarrow.Table:
    return pyarrow.table(
        {
            "who": [number % (count // 3) for number in range(count)],
            "age": [(number * 37) % 100 for number in range(count)],
            "sex": ["f" if number % 3 else "m" for number in range(count)],
            "town": [f"t{number % 7}" for number in range(count)],
        }
    )


KINDS = {
    "count": sf.Count(where="age > 30"),
    "histogram": sf.Histogram("sex"),
    "quantiles": sf.Quantiles("age", [0.5]),
    "synthesize": sf.Synthesize(columns=("age", "sex")),
    "private keys": sf.Histogram("town", keys="private"),
    "sql": Select("SELECT sex, COUNT(*) AS n FROM data GROUP BY sex"),
}
"""Small answers and large ones, streams, weighed and picked rows, keys that are found, the rows of a statement."""


def _reads(curator: sf.Curator) -> dict[str, Callable[[], bytes]]:
    """Return how each question is planned and read: the exact bytes that would be frozen."""

    def reads(question: Any, spend: Any) -> Callable[[], bytes]:
        asked = planned(curator.basis, question, spend)

        def read() -> bytes:
            for prepared in asked.prepared:
                prepared.check(curator.table)
            return pack(Asked.read(asked, curator.table))

        return read

    spends = {"private keys": sf.Approximate(1, 1e-6)}
    return {name: reads(question, spends.get(name, sf.Pure(1))) for name, question in KINDS.items()}


def _wrong(rounds: int) -> list[str]:
    """Return which readings differ from those of one thread, or fail."""
    with sf.curate(_rows(), SCHEMA, sf.Pure(1)) as alone:
        wanted = {name: read() for name, read in _reads(alone).items()}
    found: list[str] = []
    for _ in range(rounds):
        with sf.curate(_rows(), SCHEMA, sf.Pure(1)) as curator, ThreadPoolExecutor(THREADS) as pool:
            reads, together = list(_reads(curator).items()) * 3, threading.Barrier(THREADS)

            def one(place: int, reads: Any = reads, together: Any = together) -> None:
                if place < THREADS:
                    together.wait(30)
                name, read = reads[place]
                try:
                    if read() != wanted[name]:
                        found.append(name)
                except Exception as failure:
                    found.append(f"{name}: {type(failure).__name__}")

            list(pool.map(one, range(len(reads))))
    return found


def test_every_thread_reads_what_it_asked():
    assert _wrong(1) == []


@pytest.mark.audit
def test_without_turns_they_do_not(monkeypatch):
    """The test above can fail."""
    made = Source.__post_init__

    def unlocked(self: Source) -> None:
        made(self)
        object.__setattr__(self, "turn", nullcontext())

    monkeypatch.setattr(Source, "__post_init__", unlocked)
    assert any(_wrong(1) for _ in range(20))


def test_two_tables_of_one_connection_wait_for_the_same_turn():
    connection = ibis.duckdb.connect()
    connection.con.execute("CREATE TABLE people AS SELECT range AS age FROM range(30)")
    schema = Schema({"age": integers(0, 99)})
    with open_table(connection.table("people"), schema) as one, open_table(connection.table("people"), schema) as two:
        assert one.source.turn is two.source.turn
    with open_table(_rows(30), schema) as one, open_table(_rows(30), schema) as two:
        assert one.source.turn is not two.source.turn


class _Seen:
    """A connection that notes what it is asked by somebody who does not have the turn."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.out_of_turn: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name in ("execute", "sql", "register", "unregister", "cursor") and not turn_of(self.engine)._is_owned():
            self.out_of_turn.append(name)
        return getattr(self.connection, name)


def _shared() -> Any:
    connection = ibis.duckdb.connect()
    connection.con.register("given", _rows())
    connection.con.execute("CREATE TABLE people AS FROM given")
    connection.con.execute("CREATE TABLE towns AS SELECT DISTINCT town AS key, 1 AS size FROM people")
    return connection


def _opening(kind: str, connection: Any) -> Callable[[], int]:
    people, towns = connection.table("people"), connection.table("towns")
    many, known = Database({"people": SCHEMA}), Database({"people": SCHEMA, "towns": PublicTable("key")})

    def opening() -> int:
        if kind == "draft":
            return 1000 * str(sf.draft(people, look=True)).count("All 3,000 rows were looked at")
        if kind == "public":
            return 993 + len(read_public_tables({"people": people, "towns": towns}, known)["towns"].data)
        with open_database({"people": people}, many) if kind == "database" else open_table(people, SCHEMA) as opened:
            return opened.people

    return opening


@pytest.mark.parametrize("kind", ["table", "database", "public", "draft"])
def test_opening_asks_a_connection_in_its_turn_alone(kind):
    connection = _shared()
    opening = _opening(kind, connection)
    seen = connection.con = _Seen(connection.con)
    seen.engine = connection
    assert opening() == 1000 and seen.out_of_turn == []


def test_opening_waits_for_whoever_asks_the_same_connection():
    """Otherwise an answer is handed to somebody else, and the error of an opening quotes cells."""
    connection = _shared()
    opening, wanted = _opening("table", connection), [(f"t{number % 7}",) for number in range(3000)]
    with ThreadPoolExecutor(1) as pool:
        for _ in range(3):
            with turn_of(connection):
                asked = connection.con.execute("SELECT town FROM people")
                waiting = pool.submit(opening)
                time.sleep(0.05)
                assert asked.fetchall() == wanted
            assert waiting.result(30) == 1000


@pytest.mark.parametrize("failing", [False, True])
def test_a_stream_gives_the_connection_back(failing):
    with open_table(_rows(30), Schema({"age": integers(0, 99)})) as table:
        seen = []

        def take(batch: Any) -> None:
            assert _held_by_another(table.source.turn)
            seen.append(batch.num_rows)
            if failing:
                raise MemoryError

        if failing:
            with pytest.raises(Exception, match="memory"):
                table.each_batch(table.everybody(), take)
        else:
            table.each_batch(table.everybody(), take)
        assert seen == [30] and not _held_by_another(table.source.turn)


def _held_by_another(turn: Any) -> bool:
    def look() -> bool:
        if held := not turn.acquire(blocking=False):
            return held
        turn.release()
        return held

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(look).result(30)
