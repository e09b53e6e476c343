"""Time and memory of clients and servers: one process a size, 64-bit items, epsilon 4.

python -m bench.local_speed --users 100000 1000000 10000000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.local_store import Clock, NotMeasured, peak_mib, seed_bytes, stored, table
from sfumato import Noise, Pure, domain, local

SEED = 940_000
EPSILON = 4
PART = 1_000_000


def run(users: int) -> dict[str, Any]:
    """Measure one size; the first calls compile, so they are made before the clocks start."""
    noise = Noise(insecure_seed=SEED)
    plan = local.plan(
        users=users, spend=Pure(EPSILON), items=domain.integers(0, 2**64 - 1), method="soft", seed=seed_bytes(noise)
    )
    client, server = plan.client(), plan.server()
    warm = plan.server()
    warm.ingest(client.reports(np.arange(1000, dtype=np.uint64), noise))
    warm.popular()
    single = min(seconds_of_reports(client) for _ in range(7))
    heavy = noise.uniform(1 << 63, 20).astype(np.uint64)
    simulate = ingest = 0.0
    for start in range(0, users, PART):
        count = min(PART, users - start)
        items = noise.uniform(1 << 63, count).astype(np.uint64)
        items[: count // 5] = np.resize(heavy, count // 5)
        with Clock() as part:
            reports = client.reports(items, noise)
        simulate += part.seconds
        with Clock() as part:
            server.ingest(reports)
        ingest += part.seconds
    before = peak_mib()
    with Clock() as decode:
        found = len(server.popular())
    return {
        "single": 1e6 * single,
        "simulate": 1e6 * simulate / users,
        "ingest": users / ingest / 1e6,
        "decode": decode.seconds,
        "found": found,
        "sketch": plan.sketch_bytes / 2**20,
        "before": before,
        "peak": peak_mib(),
    }


def seconds_of_reports(client: local.Client, count: int = 1000) -> float:
    """Return the CPU time of one report with cryptographic noise."""
    secure = Noise()
    with Clock() as clock:
        for item in range(count):
            client.report(item, secure)
    return clock.seconds / count


def apart(users: int) -> dict[str, Any]:
    """Measure in a process of its own, so that its memory is its own."""
    command = [sys.executable, "-m", "bench.local_speed", "--one", str(users)]
    made: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return made


def section(sizes: Sequence[int]) -> str:
    """Return the table, printing each line as it comes."""
    rows = []
    for users in sizes:
        try:
            one = stored(f"speed-{users}", lambda users=users: apart(users))
        except NotMeasured:
            continue
        rows.append([
            f"{users:.0e}".replace("e+0", "e"), f"{one['single']:.1f}", f"{one['simulate']:.2f}",
            f"{one['ingest']:.0f}", f"{one['decode']:.1f}", f"{one['sketch']:.0f}", one["before"], one["peak"],
        ])  # fmt: skip
        print(*rows[-1], sep=" | ", flush=True)
    head = (
        "users", "client µs a report, best of 7", "simulation µs a report", "ingest million/s", "decode s",
        "sketch MiB", "peak MiB before decoding", "peak MiB",
    )  # fmt: skip
    return table(head, rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--users", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    options.add_argument("--one", type=int)
    asked = options.parse_args()
    print(json.dumps(run(asked.one)) if asked.one else section(asked.users))


if __name__ == "__main__":
    main()
