"""Readers beside a writer, and ten million reports in little memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from sfumato import Pure, domain, local
from sfumato.local.collector import collector as module
from tests.local.collecting import SMALL, batch, counts_of_batch

PLAN = local.plan(users=10**7, spend=Pure(4), items=domain.integers(0, 2**64 - 1), seed=bytes(32))
SENT = """
import sys
from pathlib import Path
import numpy as np
from sfumato import Noise, local

place, size = Path(sys.argv[1]), int(sys.argv[2])
plan, noise = local.read_plan(place / "plan"), Noise(insecure_seed=1)
for number in range(20):
    items = noise.uniform(2**62, size).astype(np.uint64)
    items[: size // 100] = 2**63 + 12345
    sent = local.envelopes(plan.client().reports(items, noise), "binary", noise=noise)
    Path(place, f"{number}.bin").write_bytes(sent)
print("{}")
"""
PEAK = """
import json, sys
from pathlib import Path
from sfumato import local

place = Path(sys.argv[1])

def peak():
    return 1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""
COLLECT = f"""{PEAK}
with local.Collector(place / "c", local.read_plan(place / "plan")) as collector:
    for number in range(20):
        collector.add((place / f"{{number}}.bin").read_bytes(), "binary")
    print(json.dumps({{"accepted": collector.intake.accepted, "peak": peak()}}))
"""
READ = f"""{PEAK}
found = local.read_collection(place / "c")
read = peak()
items = [item.value for item in found.server.popular()]
print(json.dumps({{"accepted": found.intake.accepted, "items": items, "read": read, "peak": peak()}}))
"""


def alone(script: str, place: Path, *words: str) -> Any:
    """Run a script in a process of its own, which imports what a user's would, and nothing of the tests."""
    command = [sys.executable, "-c", script, str(place), *words]
    root = Path(__file__).resolve().parents[2]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout)


def test_readers_see_a_whole_number_of_batches_while_shards_are_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MANY", 3)
    prefixes = [np.zeros(SMALL.offsets[-1], dtype=np.int64)]
    for number in range(60):
        prefixes.append(prefixes[-1] + counts_of_batch(number))
        batch(number)
    collector = local.Collector(tmp_path / "c", SMALL)
    writer = Thread(target=lambda: [collector.add(batch(number), "binary") for number in range(60)])
    writer.start()
    seen = 0
    while writer.is_alive():
        found = local.read_collection(tmp_path / "c").server
        assert found.accepted >= 50 * seen and found.accepted % 50 == 0
        seen = found.accepted // 50
        assert (found.counts == prefixes[seen]).all()
    writer.join()
    collector.close()
    assert (local.read_collection(tmp_path / "c").server.counts == prefixes[60]).all()


@pytest.mark.audit
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Peak memory is read from /proc.")
def test_the_memory_of_a_collector_does_not_grow_with_ten_million_ids(tmp_path):
    """Some 235 to 255 MiB are the libraries and the sketch, the rest one batch of half a million reports.

    A first, small round compiles what is compiled once on a machine; the compiler takes memory of its own. How much of
    the libraries a system keeps in memory is its own choice, so what ids and batches add to them is told apart.
    """
    taken = []
    for name, size in (("compiled", 1000), ("small", 1000), ("whole", PLAN.users // 20)):
        place = tmp_path / name
        place.mkdir()
        PLAN.save(place / "plan")
        alone(SENT, place, str(size))
        collected, decoded = alone(COLLECT, place), alone(READ, place)
        assert collected["accepted"] == decoded["accepted"] == 20 * size
        taken.append(collected["peak"])
    assert decoded["items"] == [2**63 + 12345]
    assert taken[2] - taken[1] < 64 * 2**20
    assert collected["peak"] < 300 * 2**20 and decoded["read"] < 300 * 2**20
    assert decoded["peak"] < 2**29
