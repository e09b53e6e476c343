"""A server process at the socket: SIGTERM finishes what was begun, and senders who are slow hold nobody up."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import sqlalchemy as sa
import uvicorn

from sfumato import Ledger
from sfumato.serve.app import service_app
from sfumato.serve.identity import People
from sfumato.serve.store import Store
from sfumato.serve.store import jobs as table
from tests.ledger.conftest import schema_on
from tests.serve.houses import add_accounts, write_house
from tests.serve.test_kill import Service, free_port, write


def asked(port: int, token: str, key: str, phrase: str) -> Request:
    body = json.dumps({"phrase": phrase, "spend": "Pure(0.01)"}).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Idempotency-Key": key}
    return Request(f"http://127.0.0.1:{port}/api/datasets/people/ask", body, headers, method="POST")


def stopped(folder: Path, store: str, ledger: str, workers: int, questions: int) -> Service:
    """Stop a service in the middle of some questions, and say what became of them."""
    port = free_port()
    house = write(folder, port, "Pure(1)", store, ledger)
    text = (folder / "house.toml").read_text()
    (folder / "house.toml").write_text(text.replace("tick = 0.005", "tick = 0.7"))  # a question takes a tick at least
    kept = Store(house.service.store)
    token = People(kept, house.service).add("ana", "analyst", ["people"])
    service, found = Service(folder, port, workers), {}
    service.start()
    working = service.working() if workers > 1 else []

    def work(number: int) -> None:
        try:
            with urlopen(asked(port, token, f"k{number}", f"count where age > {number + 20}"), timeout=60) as response:
                found[number] = response.status, json.load(response)
        except OSError as problem:
            found[number] = 0, type(problem).__name__

    threads = [threading.Thread(target=work, args=(number,)) for number in range(questions)]
    for thread in threads:
        thread.start()
    states = sa.select(table.c.state)
    until = time.monotonic() + 60
    while not any(row.state == "running" for row in kept.rows(states)):  # one is being answered, others are queued
        assert time.monotonic() < until
        time.sleep(0.01)
    began = time.monotonic()
    service.kill(signal.SIGTERM)
    # Of several workers some may still be starting on a busy machine, which they finish before they stop.
    assert time.monotonic() - began < (30 if workers == 1 else 120) and service.process is not None
    assert service.process.returncode in (0, -signal.SIGTERM)
    assert not any(Path(f"/proc/{one}").exists() for one in working)  # none goes on by itself
    for thread in threads:
        thread.join()
    answered = [said for status, said in found.values() if status == 200]
    assert answered, found  # whoever was connected got the answer
    assert {row.state for row in kept.rows(states)} <= {"stored", "queued"}  # what is queued goes on at the next start
    kept.close()
    with Ledger(house.datasets[0].ledger, private=house.datasets[0].private) as book:
        assert book.verify().ok and all(entry.state == "committed" for entry in book.history())
        assert len(book.history()) >= len(answered)
    assert "Traceback" not in (folder / "log").read_text()
    return service


def test_a_stop_finishes_what_was_begun_and_keeps_the_rest(tmp_path):
    stopped(tmp_path, "house.db", "people.ledger", 1, 3)


@pytest.mark.audit
@pytest.mark.skipif(sys.platform != "linux", reason="the workers of a server are found in /proc")
def test_a_stop_of_several_workers_finishes_in_each_and_the_rest_is_asked_at_the_next_start(
    tmp_path, postgres, monkeypatch
):
    for name in ("HOUSE_STORE", "HOUSE_LEDGER"):
        monkeypatch.setenv(name, schema_on(postgres))
    service = stopped(tmp_path, "$HOUSE_STORE", "$HOUSE_LEDGER", 3, 9)
    kept = Store(os.environ["HOUSE_STORE"])
    begun = len(kept.rows(sa.select(table.c.id)))
    service.start()
    try:
        until = time.monotonic() + 60
        while {row.state for row in kept.rows(sa.select(table.c.state))} != {"stored"}:
            assert time.monotonic() < until
            time.sleep(0.1)
    finally:
        service.kill(signal.SIGTERM)
    kept.close()
    with Ledger(os.environ["HOUSE_LEDGER"], private=tmp_path / "private") as book:
        assert book.verify().ok and len(book.history()) == begun


@pytest.fixture
def listening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, dict[str, str]]]:
    """Run a service that lets go of bodies which do not come within half a second."""
    monkeypatch.setattr("sfumato.serve.ticks.Bodies.__init__.__defaults__", (0.5,))
    house = write_house(tmp_path)
    tokens = add_accounts(house)
    config = uvicorn.Config(service_app(house), port=0, log_level="error", access_log=False, timeout_keep_alive=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield server.servers[0].sockets[0].getsockname()[1], tokens
    server.should_exit = True
    thread.join()


def opened(port: int, head: str) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=20)
    made.sendall(head.replace("\n", "\r\n").encode())
    return made


def everything(one: socket.socket) -> bytes:
    found = b""
    while part := one.recv(65536):
        found += part
    return found


def test_slow_senders_are_let_go_and_hold_nobody_up(listening: Any) -> None:
    """Those who send a body drop by drop are answered with 408; those who send no whole head are left to the proxy."""
    port, tokens = listening
    place, who = (
        "/api/datasets/first/ask",
        f"Host: here\nAuthorization: Bearer {tokens['ana']}\nContent-Type: application/json",
    )
    drips = [opened(port, f"POST {place} HTTP/1.1\n{who}\nContent-Length: 500\n\n{{") for _ in range(20)]
    halves = [opened(port, "GET /health HTTP/1.1\nHost: he") for _ in range(20)]  # not even a whole head
    body = json.dumps({"phrase": "count where age > 33", "spend": "Pure(0.01)"})
    quick = opened(port, f"POST {place} HTTP/1.1\n{who}\nConnection: close\nContent-Length: {len(body)}\n\n{body}")
    began = time.monotonic()
    assert everything(quick).startswith(b"HTTP/1.1 200") and time.monotonic() - began < 10
    for one in drips:
        said = everything(one)  # it is ended, too
        assert said.startswith(b"HTTP/1.1 408") and b"did not come whole in time" in said
    gone = opened(port, f"POST {place} HTTP/1.1\n{who}\nContent-Length: 500\n\n{{")
    gone.close()  # somebody who goes away in the middle
    last = opened(port, "GET /health HTTP/1.1\nHost: here\nConnection: close\n\n")
    assert everything(last).startswith(b"HTTP/1.1 200")
    for one in (*drips, *halves, quick, last):
        one.close()
