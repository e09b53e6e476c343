"""What releases that repeat cost, and how exact running totals are.

    python -m bench.publish [--rows 1000000] [--days 3] [--keys 100000] [--kills 0] [--postgres]

CPU seconds of this process and its children, best of the turns; running totals are compared with the square-root
factorisation and with a binary tree by formula. `--kills` runs a publication of 365 days by two runners under so many
kill -9 on SQLite, or with `--postgres` on a PostgreSQL server of its own; with `--only-kills` nothing else is measured.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import tempfile
import time
from collections.abc import Callable
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

FIRST = date(2026, 1, 1)
COUNTRIES, PAGES = 50, 200
MOST = 5

SCHEMA = f"""
person = "id"
rows_per_person = {MOST}
[columns.at]
type = "date"
earliest = 2025-01-01
latest = 2030-12-31
[columns.country]
type = "integer"
low = 0
high = {COUNTRIES - 1}
[columns.page]
type = "integer"
low = 0
high = {PAGES - 1}
"""

FILE = """
[publication]
name = "visits"
schema = "schema.toml"
source = "in/{{date}}.parquet"
stamp = "at"
first = "2026-01-01"
last = "{last}"
[limits]
day = "Concentrated(1)"
person = "none"
[[table]]
name = "pages"
question = "count by country, page"
spend = "Concentrated(0.5)"
[output]
formats = ["parquet"]
"""

BARE = """
WITH people AS (SELECT id, count(*) AS n FROM '{file}' GROUP BY id)
SELECT country, page, sum(CASE WHEN n > {most} THEN {most} * 1048576 // n ELSE 1048576 END)
FROM '{file}' JOIN people USING (id) GROUP BY country, page
"""


def cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def timed(work: Callable[[], Any], turns: int = 3) -> float:
    """Return the CPU seconds of the best turn."""
    found = []
    for _ in range(turns):
        before = cpu()
        work()
        found.append(cpu() - before)
    return min(found)


def write_day(path: Path, day: date, rows: int) -> None:
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    draw = np.random.default_rng(day.toordinal())
    people = draw.integers(0, max(rows // 3, 1), rows)
    columns = {
        "id": people,
        "at": pa.array(np.full(rows, np.datetime64(day)), pa.date32()),
        "country": draw.integers(0, COUNTRIES, rows).astype(np.int32),
        "page": draw.integers(0, PAGES, rows).astype(np.int32),
    }
    parquet.write_table(pa.table(columns), path)


def declare(home: Path, days: int) -> Path:
    (home / "in").mkdir(exist_ok=True)
    (home / "schema.toml").write_text(SCHEMA)
    path = home / "visits.toml"
    path.write_text(FILE.format(last=FIRST + timedelta(days=days - 1)))
    return path


def daily(home: Path, rows: int, days: int) -> None:
    """Compare a day of a publication with the bare query that weighs and groups."""
    import duckdb

    from sfumato import Publication

    path = declare(home, days)
    for place in range(days):
        day = FIRST + timedelta(days=place)
        write_day(home / "in" / f"{day}.parquet", day, rows)
    publication = Publication.load(path)
    publication.run(FIRST.isoformat(), today=date(2027, 1, 1))  # loads the code
    ours = []
    for place in range(1, days):
        before = cpu()
        publication.run((FIRST + timedelta(days=place)).isoformat(), today=date(2027, 1, 1))
        ours.append(cpu() - before)
    reading = timed(lambda: read_day(publication))
    query = BARE.format(file=home / "in" / f"{FIRST}.parquet", most=MOST)
    bare = timed(lambda: duckdb.sql(query).fetchall())
    print(f"a day of {rows:,} rows, {COUNTRIES * PAGES:,} cells: reading {reading:.2f} CPU s, the weighed query "
          f"{bare:.2f} ({reading / bare:.2f} times), 10^7 rows by CPU a row {reading * 1e7 / rows:.1f}; a run with its "
          f"files {min(ours):.2f} ({min(ours) / bare:.2f} times)")  # fmt: skip


def read_day(publication: Any) -> None:
    """Open, plan and read the exact integers of the first day, as a run does."""
    from sfumato import ADD_REMOVE, Ledger
    from sfumato.publish.calendar import Slot

    slot, listed = Slot.of("day", FIRST), publication.file.anew("day")
    with Ledger(None, publication.file.budget, relation=ADD_REMOVE) as book:
        asked, source = publication._tables.asked(book, listed), publication._source(book, slot)
    with publication._open(source, slot) as table:
        publication._check(asked, table)
        asked.read(table)


def errors() -> None:
    """Compare running totals with the square root and with a binary tree, by their formulas."""
    import numpy as np

    from sfumato.publish.matrix import Factor

    for periods in (30, 365, 1024):
        a = np.cumprod([1, *[(2 * i - 1) / (2 * i) for i in range(1, periods)]])
        squares = np.cumsum(a**2)
        root = float(squares[-1] * squares.mean())
        levels = periods.bit_length()
        tree = levels * np.mean([bin(t).count("1") for t in range(1, periods + 1)])
        ours = Factor(periods, periods).error()
        print(f"T = {periods}: {ours:.3f}, square root {root:.3f} ({ours / root:.3f} of it), binary tree {tree:.1f} "
              f"({ours / tree:.3f})")  # fmt: skip


def step(keys: int) -> None:
    """Time one step of a running total late in a year, and freezing what it read."""
    import numpy as np

    from sfumato import ADD_REMOVE, Noise
    from sfumato.ask.packing import pack, unpack
    from sfumato.ledger.frozen import Directory
    from sfumato.noise import new_key
    from sfumato.perturb import sensitivity
    from sfumato.publish.matrix import Factor
    from sfumato.publish.running import RunningTotals
    from sfumato.publish.total import _Readings

    draw = np.random.default_rng(1)
    totals = RunningTotals(relation=ADD_REMOVE, factor=Factor(365, 365), variance=10**7, moves=sensitivity(Fraction(1)))
    read = [draw.integers(0, 1000, keys).astype(np.int16) for _ in range(365)]
    totals.entry(read[:1], Noise())
    with tempfile.TemporaryDirectory() as place:
        for number, one in enumerate(read):
            (Path(place) / str(number)).write_bytes(pack((one,)))

        def load(name: str) -> Any:
            """Read what a step kept, as a publication does: compared with its digest."""
            content = (Path(place) / name).read_bytes()
            assert len(hashlib.sha256(content).digest()) == 32
            return unpack(content)[0]

        def step_from_files() -> None:
            totals.entry(_Readings(load, [str(number) for number in range(364)], read[-1]), Noise())

        print(f"a step at t = 365 with {keys:,} keys: {timed(lambda: totals.entry(read, Noise())):.3f} CPU s, with "
              f"what it reads of earlier ones {timed(step_from_files):.3f}")  # fmt: skip
    with tempfile.TemporaryDirectory() as place:
        kept = Directory(place, lambda: "bench")
        whole = pack((draw.integers(0, 1000, keys),))
        print(f"freezing {keys:,} integers: {timed(lambda: kept.write('one', whole, new_key())):.3f} CPU s")
        rows = pack(tuple(draw.integers(0, 100, 10**7).astype(np.int16) for _ in range(4)))
        print(f"freezing 10^7 rows of four columns: {timed(lambda: kept.write('rows', rows, new_key()), 1):.2f} CPU s")


def ledger(slots: int) -> None:
    """Time a request that touches one of many slots, under four limits."""
    from sfumato import ADD_REMOVE, Budget, Concentrated, Cost, Event, Ledger, Loss
    from sfumato.ledger.slots import SlotCharge
    from sfumato.publish.calendar import Slot
    from sfumato.publish.charges import charges_of

    units = ("day", "week", "month", "year")
    loss = Loss.flat(Cost.concentrated("1/1000"), relation=ADD_REMOVE)
    with tempfile.TemporaryDirectory() as place:
        budget = Budget("none", units={unit: Concentrated(10**6) for unit in units})
        with Ledger(Path(place) / "many.ledger", budget, relation=ADD_REMOVE) as book:
            days = [Slot.of("day", FIRST + timedelta(days=place)) for place in range(slots)]
            for start in range(0, slots, 1000):
                part = days[start : start + 1000]
                named = [
                    SlotCharge(unit, tuple(dict.fromkeys(Slot.of(unit, one.first).name for one in part)), (loss,))
                    for unit in units
                ]
                book.reserve(f"all/{start}", Event("Many", "PB-UNIT"), loss, slots=named)
            numbers = iter(range(10**6))

            def one() -> None:
                number = next(numbers)
                event = Event("One", "PB-UNIT", {"number": number})
                book.reserve(f"one/{number}", event, loss, slots=charges_of(units, days[number * 7 % slots], [loss]))

            spent = timed(lambda: [one() for _ in range(20)]) / 20
            print(f"a request with {slots:,} slots under four limits: {spent * 1000:.2f} ms of CPU")


def kills(home: Path, count: int, ledger: str = "visits.ledger") -> None:
    """Run 365 days by two runners under kill -9, and check what is left."""
    from tests.publish import test_kills

    path = test_kills.declared(home, 365, ledger)
    start = time.monotonic()
    found = test_kills.killed(path, home, 365, count, seed=3, longest=6.0)
    test_kills.check(path, home, 365)
    print(f"365 days, two runners, {found} kills, {'PostgreSQL' if '://' in ledger else 'SQLite'}: 365 answers, 366 "
          f"charges, none dead, no key left ({time.monotonic() - start:.0f} s)")  # fmt: skip


def kills_in_postgres(home: Path, count: int) -> None:
    """The same with the ledger in a server that lives as long as this takes; as root it runs as another user."""
    import pgserver
    from tests.ledger.conftest import schema_on

    place = home / "server"
    place.mkdir()
    for folder in (home, place):
        folder.chmod(0o777)
    server = pgserver.get_server(place / "data", cleanup_mode="delete")
    try:
        kills(home, count, schema_on(server.get_uri()))
    finally:
        server.cleanup()


def main() -> None:
    """Measure everything, or what the options say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--days", type=int, default=3)
    parser.add_argument("--keys", type=int, default=10**5)
    parser.add_argument("--slots", type=int, default=10**4)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--only-kills", action="store_true")
    asked = parser.parse_args()
    print(f"{os.cpu_count()} processors")
    if not asked.only_kills:
        errors()
        step(asked.keys)
        ledger(asked.slots)
        with tempfile.TemporaryDirectory() as place:
            daily(Path(place), asked.rows, asked.days)
    if asked.kills:
        with tempfile.TemporaryDirectory() as place:
            (kills_in_postgres if asked.postgres else kills)(Path(place), asked.kills)


if __name__ == "__main__":
    main()
