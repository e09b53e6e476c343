"""Workers are killed with kill -9 while many ask: nothing is overspent, lost, or answered twice."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from sfumato import Ledger
from sfumato.serve.house import House, load_house
from sfumato.serve.identity import People
from sfumato.serve.store import Store
from tests.ledger.conftest import schema_on
from tests.serve.houses import SCHEMA

SPEND = Fraction(1, 100)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def write(folder: Path, port: int, limit: str, store: str, ledger: str) -> House:
    (folder / "schema.toml").write_text(SCHEMA)
    rows = "\n".join(["age,sex", *(f"{20 + k * 7 % 60},{'FM'[k % 2]}" for k in range(500))])
    (folder / "people.csv").write_text(rows + "\n")
    (folder / "house.toml").write_text(
        f'[service]\nport = {port}\ntick = 0.005\nwaiting = 200\nstore = "{store}"\n'
        f'[[dataset]]\nname = "people"\nsource = "people.csv"\nschema = "schema.toml"\nledger = "{ledger}"\n'
        f'snapshot = "1"\nperson = "{limit}"\nprivate = "private"\n'
    )
    return load_house(folder / "house.toml")


class Service:
    """A server process that is killed and started again; of several workers one is killed, and the others go on."""

    def __init__(self, folder: Path, port: int, workers: int = 1) -> None:
        self.folder, self.port, self.workers = folder, port, workers
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        words = [sys.executable, "-m", "sfumato", "serve", str(self.folder / "house.toml")]
        words += ["--workers", str(self.workers)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, env=dict(os.environ))
        until = time.monotonic() + 120
        while time.monotonic() < until:
            try:
                with urlopen(f"http://127.0.0.1:{self.port}/ready", timeout=5) as response:
                    if response.status == 200:
                        return
            except OSError:
                assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
                time.sleep(0.1)
        raise AssertionError("It did not start.")

    def kill(self, how: int = signal.SIGKILL) -> None:
        assert self.process is not None
        self.process.send_signal(how)
        self.process.wait()

    def interrupt(self, turn: int) -> None:
        """Kill what answers, and have it answer again: one process by a new start, a worker by its supervisor."""
        if self.workers == 1:
            self.kill()
            self.start()
            return
        until = time.monotonic() + 120
        while len(found := self.working()) < self.workers:
            assert time.monotonic() < until, "A killed worker was not replaced."
            time.sleep(0.2)
        os.kill(found[turn % len(found)], signal.SIGKILL)

    def working(self) -> list[int]:
        """Return the ids of the worker processes."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(one) for one in children if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


def ask(port: int, token: str, key: str, phrase: str, give_up: float) -> dict[str, object]:
    """Ask until there is an answer or a refusal, always under the same key."""
    body = json.dumps({"phrase": phrase, "spend": f"Pure({SPEND})"}).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Idempotency-Key": key}
    while time.monotonic() < give_up:
        asked = Request(f"http://127.0.0.1:{port}/api/datasets/people/ask", body, headers, method="POST")
        try:
            with urlopen(asked, timeout=60) as response:
                if response.status == 200:
                    return dict(json.load(response))
        except HTTPError as refused:
            with refused:
                if refused.code == 409:
                    return {"refused": json.load(refused)["detail"]}
        except OSError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"{key} got no answer")


def story(
    folder: Path, analysts: int, questions: int, kills: int, limit: str, store: str, ledger: str, workers: int = 1
) -> None:
    port = free_port()
    house = write(folder, port, limit, store, ledger)
    kept = Store(house.service.store)
    people = People(kept, house.service)
    tokens = {f"a{n}": people.add(f"a{n}", "analyst", ["people"]) for n in range(analysts)}
    kept.close()
    service = Service(folder, port, workers)
    service.start()
    found: dict[str, list[dict[str, object]]] = {}
    give_up = time.monotonic() + 3000

    def work(name: str, number: int) -> None:
        for turn in range(questions):
            # All ask a part of the same questions, so that some are free.
            phrase = f"count where age > {(number * questions + turn) % 97}"
            phrase += f" and age < {100 + (number * questions + turn) // 97}"
            key = f"k{turn}"
            found[f"{name}:{key}"] = [ask(port, tokens[name], key, phrase, give_up)]

    threads = [threading.Thread(target=work, args=(name, n)) for n, name in enumerate(tokens)]
    for thread in threads:
        thread.start()
    for turn in range(kills):
        while len(found) < (turn + 1) * analysts * questions // (kills + 1):
            time.sleep(0.01)
        service.interrupt(turn)
    for thread in threads:
        thread.join()
    for name, token in tokens.items():  # a retry of everything gives the same, and costs nothing
        for turn in range(0, questions, max(1, questions // 5)):
            (first,) = found[f"{name}:k{turn}"]
            if "answers" in first:
                phrase = first["asked"]["phrase"]  # type: ignore[index]
                again = ask(port, token, f"k{turn}", phrase, give_up)
                assert again["answers"][0]["released"] == first["answers"][0]["released"]  # type: ignore[index]
    service.kill(signal.SIGTERM)
    assert len(found) == analysts * questions
    with Ledger(house.datasets[0].ledger, private=house.datasets[0].private) as book:
        assert book.verify().ok
        entries = book.history()
        total = sum((entry.person.epsilon for entry in entries), Fraction(0))
        assert all(entry.state == "committed" for entry in entries)
        asked = [json.dumps(entry.event["parameters"]["question"], sort_keys=True) for entry in entries]
        assert len(set(asked)) == len(asked)  # none drawn twice
        assert total == SPEND * len(entries) <= book.budget.person.epsilon  # type: ignore[attr-defined]
        answered = sum("answers" in one for (one,) in found.values())
        refused = sum("refused" in one for (one,) in found.values())
        assert answered + refused == analysts * questions and answered >= len(entries)


def test_a_kill_in_the_middle_loses_nothing(tmp_path):
    story(tmp_path, 3, 6, 1, "Pure(1/10)", "house.db", "people.ledger")


@pytest.mark.audit
def test_sixteen_analysts_and_many_kills_on_sqlite(tmp_path):
    story(tmp_path, 16, 250, 6, "Pure(20)", "house.db", "people.ledger")


@pytest.mark.audit
def test_sixteen_analysts_and_many_kills_on_postgres(tmp_path, postgres, monkeypatch):
    for name in ("HOUSE_STORE", "HOUSE_LEDGER"):
        monkeypatch.setenv(name, schema_on(postgres))
    story(tmp_path, 16, 250, 6, "Pure(20)", "$HOUSE_STORE", "$HOUSE_LEDGER")


@pytest.mark.audit
@pytest.mark.skipif(sys.platform != "linux", reason="the workers of a server are found in /proc")
def test_sixteen_analysts_and_killed_workers_on_postgres(tmp_path, postgres, monkeypatch):
    for name in ("HOUSE_STORE", "HOUSE_LEDGER"):
        monkeypatch.setenv(name, schema_on(postgres))
    story(tmp_path, 16, 250, 12, "Pure(20)", "$HOUSE_STORE", "$HOUSE_LEDGER", workers=3)
