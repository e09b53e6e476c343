"""A small plan and its reports, and a process that collects them until it is killed."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sfumato import Noise, Pure, domain, local

PLAN = local.plan(users=100_000, spend=Pure(4), items=domain.integers(0, 2**24 - 1), seed=bytes(range(32)))
OTHER = local.plan(users=100_000, spend=Pure(4), items=domain.integers(0, 2**24 - 1), seed=bytes(32))
COLOURS = local.plan(users=1000, spend=Pure(1), candidates=["red", "green", "blue"], seed=bytes(range(32)))
SMALL = local.plan(users=1000, spend=Pure(1), candidates=range(200), seed=bytes(range(32)))


def reports(count: int, seed: int = 1, plan: local.Plan = PLAN) -> Any:
    """Return reports in bulk."""
    items: Any = ["red", "blue"] * (count // 2) if plan is COLOURS else np.arange(count) % 7
    return plan.client().reports(items, Noise(insecure_seed=seed))


@cache
def batch(number: int) -> bytes:
    """Return batch number so-and-so of fifty reports of the small plan, always the same."""
    rows = reports(50, 1000 + number, SMALL)
    return local.envelopes(rows, "binary", noise=Noise(insecure_seed=number))


@cache
def counts_of_batch(number: int) -> Any:
    """Return the counts of a batch."""
    return counts_of(reports(50, 1000 + number, SMALL), SMALL)


def expected(numbers: Any) -> Any:
    """Return the counts of these batches together."""
    return sum((counts_of_batch(number) for number in numbers), np.zeros(SMALL.offsets[-1], dtype=np.int64))


def counts_of(rows: Any, plan: local.Plan = PLAN) -> Any:
    """Return the counts of reports by the plain server."""
    server = plan.server()
    server.ingest(rows)
    return server.counts


def warm(many: int) -> None:
    """Take and merge batches elsewhere first: compiling takes longer than a process has before it is killed."""
    with TemporaryDirectory() as elsewhere, local.Collector(Path(elsewhere) / "warm", SMALL) as collector:
        for number in range(many + 1):
            collector.add(batch(number), "binary", batch=str(number))


def main(place: str, first: int, many: int) -> None:
    """Add batch after batch, and say so after each."""
    from sfumato.local.collector import collector as module

    module.MANY = many
    warm(many)
    batch(first)
    with local.Collector(place, SMALL) as collector:
        print("ready", flush=True)
        for number in range(first, first + 100_000):
            collector.add(batch(number), "binary", batch=str(number))
            print(number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
