"""A collector under attack: processes that are killed in the middle of posts, retries, rubbish, and reports of others."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from sfumato import Noise, local
from tests.local.collecting import OTHER, SMALL, batch, expected

pytest.importorskip("fastapi", reason="NO FASTAPI: the HTTP collector is not tested.")

from tests.serve.test_collector import BINARY, JSON, ended, started

TOKEN = "a token of the devices of November"
RUBBISH = (b"", b"{", b"[" * 5000, b"\x00" * 777, b'{"id":1}', b"\xff\xfe", b"\n" * 99, batch(0)[:-3][:16], b"1e999")


class Attack:
    """Senders that repeat every batch until it is answered, against servers of which one dies again and again."""

    def __init__(self, place: Path, kills: int, batches: int, seed: int) -> None:
        self.place, self.kills, self.batches = place, kills, batches
        self.noise, self.guard = Noise(insecure_seed=seed), threading.Lock()
        plan, tokens = SMALL.save(place.parent / "small.plan"), place.parent / "tokens"
        tokens.write_text(TOKEN + "\n")
        self.options = ("--plan", str(plan), "--lanes", "--tokens", str(tokens))
        self.servers = [started(place, *self.options) for _ in range(2)]
        self.failed = 0

    def below(self, bound: int) -> int:
        with self.guard:
            return int(self.noise.uniform(bound))

    def post(self, body: bytes, kind: dict[str, str], token: str = TOKEN) -> Any:
        _, address = self.servers[self.below(2)]
        headers = {**kind, "Authorization": f"Bearer {token}"}
        return httpx2.post(f"{address}/reports", content=body, headers=headers, timeout=60)

    def send(self, number: int) -> None:
        """Send a batch until it was answered, now and then once more, with rubbish in between."""
        while True:
            try:
                self.post(RUBBISH[self.below(len(RUBBISH))], (JSON, BINARY)[self.below(2)])
                self.post(local.envelope(OTHER.client().report(1)), JSON)
                assert self.post(batch(number), BINARY, "a token that nobody handed out").status_code == 401
                if self.post(batch(number), BINARY).status_code == 200 and self.below(4):
                    return
            except httpx2.TransportError:
                self.failed += 1
                time.sleep(0.02)

    def run(self) -> None:
        with ThreadPoolExecutor(6) as senders:
            sent = [senders.submit(self.send, number) for number in range(self.batches)]
            for _ in range(self.kills):
                time.sleep(0.2 + self.below(1000) / 1000)
                process, _ = self.servers[1]
                assert b"Traceback" not in ended(process, signal.SIGKILL)
                self.servers[1] = started(self.place, *self.options)
            for one in sent:
                one.result()
        for process, _ in self.servers:
            assert b"Traceback" not in ended(process, signal.SIGTERM)


@pytest.mark.audit
def test_killed_in_the_middle_of_posts_nothing_is_lost_and_nothing_counts_twice(tmp_path):
    attack = Attack(tmp_path / "c", kills=3, batches=80, seed=7)
    attack.run()
    found = local.read_collection(tmp_path / "c")
    assert found.intake.accepted == 50 * 80 and (found.server.counts == expected(range(80))).all()
    assert attack.failed > 0 and found.intake.duplicates > 0 and found.intake.envelope > 0
    assert found.intake.refused.plan + found.intake.refused.length > 0
    stored = b"".join(path.read_bytes() for path in (tmp_path / "c").rglob("*") if path.is_file())
    assert TOKEN.encode() not in stored
    with local.Collector(tmp_path / "c", SMALL, lanes=True) as collector:
        assert (collector.close_epoch().counts == expected(range(80))).all()
