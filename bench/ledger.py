"""How many spends a second a ledger can take, and what a reservation costs under thousands of limits.

    python -m bench.ledger [--seconds 5] [--writers 1 4 16]

A spend is two durable transactions: reserve and start, then commit. Rates are of the clock on the wall and depend on
the disk and on what else runs, so the load average stands beside them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from multiprocessing.synchronize import Barrier
from pathlib import Path

from sfumato import EVERYTHING, Approximate, Cost, Event, Loss, Pure
from sfumato.ledger import Budget, Ledger
from sfumato.privacy import Secrets

EVENT = Event("Laplace", "QR-LAP", {"scale": 10})
CONTEXT = multiprocessing.get_context("spawn")


def spend(place: str, writer: int, seconds: float, gate: Barrier, done: multiprocessing.Queue) -> None:
    """Wait until all are there, spend for a while, report how many spends were finished."""
    ledger = Ledger(place)
    loss = Loss.flat(Cost.pure("1/1000000"))
    gate.wait()
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        ledger.run(f"{writer}-{count}", EVENT, loss, lambda: b"42")
        count += 1
    ledger.close()
    done.put(count)


def rate(place: str, writers: int, seconds: float) -> float:
    """Return spends a second of so many processes on one ledger."""
    Ledger(place, Budget(Pure(10**6))).close()
    done, gate = CONTEXT.Queue(), CONTEXT.Barrier(writers)
    processes = [CONTEXT.Process(target=spend, args=(place, number, seconds, gate, done)) for number in range(writers)]
    for process in processes:
        process.start()
    counts = [done.get() for _ in processes]
    for process in processes:
        process.join()
    return sum(counts) / seconds


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """Run the server that the wheel pgserver carries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pgserver

        folder.chmod(0o777)
        server = pgserver.get_server(folder / "data", cleanup_mode="delete")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


def schema(server: str, name: str) -> str:
    """Make an empty schema and return the URL of a ledger in it."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{server}&options=-csearch_path%3D{name}"


def reservation_times(place: str, bound: Pure | Approximate) -> None:
    """Print what a reservation costs under all pairs of 100 columns."""
    columns = tuple(f"c{number}" for number in range(100))
    pairs = dict.fromkeys(combinations(columns, 2), bound)
    ledger = Ledger(place, Budget(person=bound, attributes=pairs, secrets=Secrets(columns)))
    mixed = [(f"mixed sums, {name}", reads, cost) for name, reads, cost in _questions()]
    for label, reads, cost in [*_questions(), ("", None, ""), *mixed]:
        if reads is None:
            for number, column in enumerate(columns):
                ledger.reserve(f"mix-{number}", EVENT, Loss.flat(Cost.pure(f"{1 + number % 40}/1000"), reads={column}))
            continue
        wall, cpu = [], []
        for number in range(12):
            begun, worked = time.perf_counter(), time.process_time()
            ledger.reserve(f"{label}-{number}", EVENT, Loss.flat(Cost.pure(cost), reads=reads))
            wall.append(time.perf_counter() - begun)
            cpu.append(time.process_time() - worked)
        wall, cpu = sorted(wall), sorted(cpu)
        print(
            f"  {type(bound).__name__:<12} {label:<28} median {wall[6] * 1000:6.1f} ms, "
            f"fastest {wall[0] * 1000:6.1f} ms, processor {cpu[6] * 1000:6.1f} ms"
        )
    ledger.close()


def _questions() -> list[tuple[str, object, str]]:
    return [
        ("one column", {"c1"}, "1/1000"),
        ("two columns", {"c1", "c2"}, "1/1000"),
        ("everything", EVERYTHING, "1/1000"),
    ]


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=5)
    options.add_argument("--writers", type=int, nargs="+", default=[1, 4, 16])
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as name:
        folder = Path(name)
        print("Spends a second (two durable transactions each), by number of writing processes:")
        for writers in chosen.writers:
            found = rate(str(folder / f"{writers}.ledger"), writers, chosen.seconds)
            print(f"  SQLite      {writers:>3} writers  {found:7.0f} a second   load {os.getloadavg()[0]:.1f}")
        with postgres(folder) as server:
            for writers in chosen.writers:
                found = rate(schema(server, f"w{writers}"), writers, chosen.seconds)
                print(f"  PostgreSQL  {writers:>3} writers  {found:7.0f} a second   load {os.getloadavg()[0]:.1f}")
        print(f"One reservation under 4951 limits, SQLite, load {os.getloadavg()[0]:.1f}:")
        for bound in (Pure(100), Approximate(100, 1e-6)):
            reservation_times(str(folder / f"pairs-{type(bound).__name__}.ledger"), bound)


if __name__ == "__main__":
    main()
