"""How many spends a second a ledger can take, and what a reservation costs under thousands of limits.

    python -m bench.ledger [--seconds 5] [--writers [1 4 16]]

A spend is two durable transactions: reserve and start, then commit. Rates are of the clock on the wall and depend on
the disk and on what else runs, so the load average stands beside them. A reservation is measured in milliseconds of the
processor, in a process of its own that opens a ledger of a hundred attributes: its first one, and the median and the
slowest of those that follow.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from fractions import Fraction
from itertools import combinations
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median

from sfumato import EVERYTHING, Approximate, Concentrated, Cost, Event, Loss, Pure
from sfumato.ledger import Budget, Ledger
from sfumato.privacy import Bound, Secrets

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


COLUMNS = tuple(f"c{number}" for number in range(100))
BOUNDS = (Pure(100), Approximate(100, 1e-6), Concentrated(100))
ROUNDS = 60


def reserve(place: str, done: multiprocessing.Queue) -> None:
    """Open a ledger and report the processor's milliseconds of each reservation, by what is asked."""
    found: dict[str, list[float]] = {}
    with Ledger(place) as ledger:
        for number in range(ROUNDS):
            for name, reads in _questions(number):
                # Costs differ, so that the sums of limits do.
                loss = Loss.flat(Cost.pure(Fraction(1 + number % 40, 10_000)), reads=reads)
                worked = time.process_time()
                ledger.reserve(f"{name}-{number}", EVENT, loss)
                found.setdefault(name, []).append((time.process_time() - worked) * 1000)
    done.put(found)


def _questions(number: int) -> list[tuple[str, object]]:
    one, other = COLUMNS[number % 100], COLUMNS[(7 * number + 1) % 100]
    return [("everything", EVERYTHING), ("one column", {one}), ("two columns", {one, other})]


def reservation_times(place: str, bound: Bound, sets: Iterable[tuple[str, ...]]) -> None:
    """Print what reservations cost under a limit for a person and for each of these sets of columns."""
    with Ledger(place, Budget(bound, attributes=dict.fromkeys(sets, bound), secrets=Secrets(COLUMNS))) as ledger:
        limits = len(ledger.limits)
    done = CONTEXT.Queue()
    process = CONTEXT.Process(target=reserve, args=(place, done))
    process.start()
    found = done.get()
    process.join()
    first = found["everything"].pop(0)
    print(f"  {type(bound).__name__:<12} {limits:>5} limits, first of a process {first:6.1f} ms")
    for name, took in found.items():
        print(f"    {name:<12} median {median(took):5.1f} ms, slowest {max(took):5.1f} ms")


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=5)
    options.add_argument("--writers", type=int, nargs="*", default=[1, 4, 16], help="none: reservations only")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as name:
        folder = Path(name)
        if chosen.writers:
            print("Spends a second (two durable transactions each), by number of writing processes:")
        for writers in chosen.writers:
            found = rate(str(folder / f"{writers}.ledger"), writers, chosen.seconds)
            print(f"  SQLite      {writers:>3} writers  {found:7.0f} a second   load {os.getloadavg()[0]:.1f}")
        with postgres(folder) if chosen.writers else nullcontext("") as server:
            for writers in chosen.writers:
                found = rate(schema(server, f"w{writers}"), writers, chosen.seconds)
                print(f"  PostgreSQL  {writers:>3} writers  {found:7.0f} a second   load {os.getloadavg()[0]:.1f}")
        print(f"One reservation with 100 attributes, milliseconds of the processor, load {os.getloadavg()[0]:.1f}:")
        for size in (1, 2):
            for bound in BOUNDS:
                place = folder / f"{size}-{type(bound).__name__}.ledger"
                reservation_times(str(place), bound, combinations(COLUMNS, size))


if __name__ == "__main__":
    main()
