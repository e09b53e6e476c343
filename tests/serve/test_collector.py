"""The HTTP collector: what it answers, what it refuses, and that it answers only what is on the disk."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

import sfumato.serve
from sfumato import Noise, local
from sfumato.errors import ParameterError
from tests.local.collecting import OTHER, SMALL, batch, counts_of_batch, reports

testclient = pytest.importorskip("fastapi.testclient", reason="NO FASTAPI: the HTTP collector is not tested.")

from sfumato.serve import collector_app  # noqa: E402
from sfumato.serve.commits import Commits  # noqa: E402

LINES = local.envelopes(reports(100, plan=SMALL), noise=Noise(insecure_seed=1))
JSON = {"Content-Type": "application/x-ndjson"}
BINARY = {"Content-Type": "application/octet-stream"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "collected"


@pytest.fixture
def browser(place: Path) -> Iterator[Any]:
    with testclient.TestClient(collector_app(place, SMALL, most_bytes=20_000, origins=["https://a.org"])) as client:
        yield client


def test_reports_are_counted_and_durable_when_answered(browser: Any, place: Path) -> None:
    said = browser.post("/reports", content=LINES + LINES + b"junk", headers=JSON)
    assert said.status_code == 200
    assert said.json() == {
        "accepted": 100,
        "duplicates": 100,
        "repeated_batches": 0,
        "refused": {"envelope": 1, "length": 0, "version": 0, "plan": 0, "value": 0},
    }
    # Another process sees them while this one still runs.
    assert local.read_collection(place).intake.accepted == 100
    assert browser.post("/reports", content=batch(0), headers=BINARY).json()["accepted"] == 50
    assert (local.read_collection(place).server.counts.sum(), browser.get("/health").json()["accepted"]) == (150, 150)


def test_one_envelope_as_a_page_sends_it(browser: Any) -> None:
    line = local.envelope(SMALL.client().report(7))
    sent = {"Content-Type": "application/json; charset=utf-8", "Origin": "https://a.org"}
    said = browser.post("/reports", content=line, headers=sent)
    assert said.json()["accepted"] == 1 and said.headers["access-control-allow-origin"] == "https://a.org"
    other = browser.get("/health", headers={"Origin": "https://b.org"})
    assert "access-control-allow-origin" not in other.headers


def test_the_plan_and_the_health_are_public(browser: Any) -> None:
    assert local.Plan.from_json(browser.get("/plan").json()) == SMALL
    assert browser.get("/health").json()["status"] == "ok"
    assert browser.get("/docs").status_code == browser.get("/openapi.json").status_code == 404


def test_bad_requests_are_refused_with_a_sentence(browser: Any) -> None:
    def refused(code: int, **sent: Any) -> bool:
        said = browser.post("/reports", **sent)
        return bool(said.status_code == code and said.json()["error"].endswith("."))

    assert refused(415, content=LINES)
    assert refused(415, content=LINES, headers={"Content-Type": "text/html"})
    assert refused(413, content=b"x" * 20_001, headers=JSON)
    # A body of unknown length is cut off, too.
    assert refused(413, content=(b"x" * 1000 for _ in range(100)), headers=JSON)
    assert refused(400, content=LINES, headers={**JSON, "Idempotency-Key": "x" * 300})
    assert browser.get("/reports").status_code == 405
    assert browser.get("/health").json()["accepted"] == 0


def test_a_body_in_pieces_is_taken_and_one_that_stops_is_let_go(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = (LINES[at : at + 7] for at in range(0, len(LINES), 7))
    assert browser.post("/reports", content=pieces, headers=JSON).json()["accepted"] == 100
    monkeypatch.setattr("sfumato.serve.collector.SLOWEST", 0.05)
    given: list[Any] = [{"type": "http.request", "body": LINES[:9], "more_body": True}]
    sent: list[Any] = []

    async def receive() -> Any:
        return given.pop() if given else await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/reports", "root_path": "", "query_string": b"", "headers": [
        (b"content-type", b"application/x-ndjson")]}  # fmt: skip
    browser.portal.call(browser.app, scope, receive, send)
    assert sent[0]["status"] == 408


def test_what_is_no_report_harms_nobody(browser: Any) -> None:
    foreign = local.envelope(OTHER.client().report(1))
    for body in (b"", b"\x00" * 999, b"[" * 9999, foreign, b"\n" * 500, b'{"id": null, "report": {}}'):
        for kind in (JSON, BINARY):
            said = browser.post("/reports", content=body, headers=kind)
            assert said.status_code == 200 and said.json()["accepted"] == 0
    assert browser.post("/reports", content=batch(0), headers=BINARY).json()["accepted"] == 50


def test_a_batch_with_a_key_counts_once(tmp_path: Path) -> None:
    plain = reports(50, plan=SMALL).tobytes()
    with testclient.TestClient(collector_app(tmp_path / "c", SMALL, ids=False)) as client:
        key = {**BINARY, "Idempotency-Key": "monday"}
        assert client.post("/reports", content=plain, headers=key).json()["accepted"] == 50
        assert client.post("/reports", content=plain, headers=key).json()["repeated_batches"] == 1
        assert client.post("/reports", content=plain, headers=BINARY).json()["accepted"] == 50
        assert client.get("/health").json()["accepted"] == 100


@pytest.mark.parametrize("plans", [SMALL, [SMALL]])
def test_a_relay_sends_whole_batches_that_count_once(tmp_path: Path, plans: Any) -> None:
    plain = reports(50, plan=SMALL).tobytes()
    with testclient.TestClient(collector_app(tmp_path / "c", plans, shuffled=50)) as client:
        assert client.post("/reports", content=plain, headers=BINARY).json()["accepted"] == 50
        assert client.post("/reports", content=plain, headers=BINARY).json()["repeated_batches"] == 1
        few = reports(49, seed=2, plan=SMALL).tobytes()
        assert client.post("/reports", content=few, headers=BINARY).json()["accepted"] == 0
        assert client.post("/reports", content=batch(3), headers=BINARY).json()["accepted"] == 0
        assert client.get("/health").json()["accepted"] == 50


def test_a_full_disk_is_told_and_passes(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        said = browser.post("/reports", content=LINES, headers=JSON)
        assert said.status_code == 503 and said.headers["retry-after"] == "1" and "again" in said.json()["error"]
    assert browser.get("/health").json()["accepted"] == 0
    assert browser.post("/reports", content=LINES, headers=JSON).json()["accepted"] == 100


def test_too_many_waiting_requests_are_sent_away(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    from sfumato.serve import commits as module

    monkeypatch.setattr(module, "MOST_WAITING", 2)

    async def crowd() -> list[Any]:
        with local.Collector(place, SMALL) as collector:
            commits = Commits(collector)
            every = [commits.add(collector.batch(batch(number), "binary")) for number in range(6)]
            said = await asyncio.gather(*every, return_exceptions=True)
            await commits.close()
            return said

    said = asyncio.run(crowd())
    accepted = sum(isinstance(one, local.Intake) for one in said)
    assert 2 <= accepted < 6 and sum(isinstance(one, module.Busy) for one in said) == 6 - accepted
    assert local.read_collection(place).intake.accepted == 50 * accepted


def test_wrong_settings_are_refused(place: Path) -> None:
    with pytest.raises(ParameterError, match="most_bytes"):
        collector_app(place, SMALL, most_bytes=0)
    with pytest.raises(ParameterError, match="origins"):
        collector_app(place, SMALL, origins="https://a.org")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def started(place: Path, *options: str) -> tuple[subprocess.Popen[bytes], str]:
    port = free_port()
    command = [sys.executable, "-m", "sfumato.serve", str(place), "--port", str(port), *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    address = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            httpx2.get(f"{address}/health", timeout=1)
            return process, address
        except httpx2.TransportError:
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            time.sleep(0.05)
    raise AssertionError("The collector did not start.")


def ended(process: subprocess.Popen[bytes], how: signal.Signals) -> bytes:
    process.send_signal(how)
    said = process.communicate(timeout=30)[1]
    return bytes(said)


@pytest.mark.audit
def test_a_real_server_with_many_senders_that_is_killed(place: Path) -> None:
    plan = SMALL.save(place.parent / "small.plan")
    process, address = started(place, "--plan", str(plan))
    with ThreadPoolExecutor(8) as senders, httpx2.Client() as client:

        def send(number: int) -> Any:
            return client.post(f"{address}/reports", content=batch(number), headers=BINARY).json()["accepted"]

        assert list(senders.map(send, range(30))) == [50] * 30
    assert b"Traceback" not in ended(process, signal.SIGKILL)
    found = local.read_collection(place)
    assert (found.server.counts == sum(counts_of_batch(number) for number in range(30))).all()
    process, address = started(place)
    assert httpx2.post(f"{address}/reports", content=batch(3), headers=BINARY).json()["duplicates"] == 50
    assert b"Traceback" not in ended(process, signal.SIGTERM)
    assert process.returncode in (0, -signal.SIGTERM)


def test_a_mistake_is_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sfumato.serve", str(tmp_path / "none")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.startswith("Error: ") and done.stderr.count("\n") == 1


def test_missing_packages_are_named(tmp_path: Path) -> None:
    hide = "import sys; sys.modules['fastapi'] = sys.modules['uvicorn'] = None\n"
    code = f"{hide}import sfumato.serve\ntry:\n    sfumato.serve.collector_app\nexcept ImportError as missing:\n    print(missing)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "The HTTP collector needs more packages; run pip install 'sfumato[serve]'.\n"
    code = f"{hide}import runpy; sys.argv = ['serve', {str(tmp_path)!r}]; runpy.run_module('sfumato.serve', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr == f"Error: {sfumato.serve.MISSING}\n"
    with pytest.raises(AttributeError, match="collector_app"):
        sfumato.serve.nothing  # noqa: B018


def test_the_command_line_starts_it_too(tmp_path) -> None:
    from typer.testing import CliRunner

    from sfumato.cli.app import app

    done = CliRunner().invoke(app, ["local", "serve", str(tmp_path / "none")])
    assert done.exit_code == 2 and "plan" in done.output
