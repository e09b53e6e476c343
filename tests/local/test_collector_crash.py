"""A collector that dies at any moment: what it acknowledged is there, and everything counts once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sfumato import Noise, local
from sfumato.errors import SketchError
from sfumato.local.collector import collector as module
from sfumato.local.collector.shards import shard_paths
from tests.local.collecting import SMALL, batch, expected


class Dead(BaseException):
    """The process ended here."""


class DiesAt:
    """Lets so many file operations pass, and is dead from the next one on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, passes: int, error: type[BaseException] = Dead) -> None:
        self.left, self.error, self.dead = passes, error, False
        for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "unlink"), (Path, "open")):
            monkeypatch.setattr(owner, name, self.guard(getattr(owner, name)))

    def guard(self, real: Any) -> Any:
        def run(*arguments: Any, **options: Any) -> Any:
            if self.dead or self.left == 0:
                self.dead = True
                raise self.error("no space left")
            self.left -= 1
            return real(*arguments, **options)

        return run


def test_whenever_it_dies_what_was_acknowledged_is_there_and_the_rest_is_there_or_not(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MANY", 3)
    ends = 0
    for passes in range(200):
        place = tmp_path / str(passes)
        local.Collector(place, SMALL).close()
        acknowledged = 0
        with monkeypatch.context() as patched:
            collector = local.Collector(place, SMALL)
            DiesAt(patched, passes)
            try:
                for number in range(7):
                    collector.add(batch(number), "binary", batch=str(number))
                    acknowledged += 1
            except Dead:
                pass
            collector.close()
        found = local.read_collection(place).server
        survived = found.accepted // 50
        assert acknowledged <= survived <= acknowledged + 1
        assert (found.counts == expected(range(survived))).all()
        # Its senders did not hear from it, and send everything again.
        with local.Collector(place, SMALL) as collector:
            for number in range(7):
                collector.add(batch(number), "binary", batch=str(number))
            assert (collector.server().counts == expected(range(7))).all()
            assert collector.intake.accepted == 350 and collector.intake.duplicates == 0
        ends += acknowledged == 7
        if ends == 2:
            return
    raise AssertionError("It never came to its end.")


def test_a_full_disk_is_told_and_nothing_is_half_counted(tmp_path, monkeypatch):
    collector = local.Collector(tmp_path / "c", SMALL)
    collector.add(batch(0), "binary")
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="No space"):
            collector.add(batch(1), "binary")
    assert collector.intake.accepted == 50 and (collector.server().counts == expected([0])).all()
    assert collector.add(batch(1), "binary").accepted == 50
    collector.close()
    assert (local.read_collection(tmp_path / "c").server.counts == expected([0, 1])).all()


def test_a_collector_that_lost_its_disk_closes(tmp_path, monkeypatch):
    collector = local.Collector(tmp_path / "c", SMALL)
    with monkeypatch.context() as patched:
        DiesAt(patched, 0, OSError)
        patched.setattr(module, "live_shards", lambda collection: (_ for _ in ()).throw(OSError("gone")))
        with pytest.raises(OSError, match="gone"):
            collector.add(batch(1), "binary")
    assert not collector.is_open
    with pytest.raises(SketchError, match="closed"):
        collector.add(batch(1), "binary")


def test_a_new_directory_is_forced_to_the_disk_with_all_above_it(tmp_path, monkeypatch):
    synced = []
    real = os.open

    def opened(path: Any, *rest: Any, **options: Any) -> int:
        synced.append(Path(path))
        return real(path, *rest, **options)

    monkeypatch.setattr(os, "open", opened)
    local.Collector(tmp_path / "a" / "b" / "c", SMALL).close()
    assert {tmp_path, tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c"} <= set(synced)


def killed_runs(place: Path, kills: int, seed: int) -> None:
    """Start a collector, kill it after a while, and check; again and again in the same directory."""
    noise = Noise(insecure_seed=seed)
    first, known = 0, 0
    for _ in range(kills):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.local.collecting", str(place), str(first), "4"],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).resolve().parents[2],
        )
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(0.05 + noise.uniform(400) / 1000)
        process.send_signal(signal.SIGKILL)
        said = process.stdout.read().split("\n")[:-1]
        process.wait()
        process.stdout.close()
        acknowledged = first + len(said)
        found = local.read_collection(place).server
        survived, rest = divmod(found.accepted, 50)
        assert rest == 0 and max(known, acknowledged) <= survived <= acknowledged + 1
        assert (found.counts == expected(range(survived))).all()
        # The next process sends the last batch that was acknowledged once more.
        known, first = survived, max(0, survived - 1)
    assert known > kills
    assert len(shard_paths(place)) < 40


@pytest.mark.audit
def test_killed_processes_lose_nothing_and_count_nothing_twice(tmp_path):
    killed_runs(tmp_path / "c", kills=3, seed=1)


@pytest.mark.audit
def test_many_killed_processes_lose_nothing_and_count_nothing_twice(tmp_path):
    killed_runs(tmp_path / "c", kills=15, seed=2)
