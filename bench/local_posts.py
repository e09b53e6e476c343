"""Single reports by HTTP: how many posts one process takes, each answered when its one report is on the disk.

The sender keeps so many connections busy; posts are counted against the CPU seconds of the collector's process, which
is what one core gives, whoever else uses the machine, and against the clock. `python -m bench.local_posts`.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.local_store import stored, table
from sfumato import Noise, Pure, domain, local

POSTS = 12_000
WARM = 1_000
CONNECTIONS = 200
TICKS = os.sysconf("SC_CLK_TCK")


class Sender(asyncio.Protocol):
    """One connection: sends the next request as soon as it has the answer to the last."""

    def __init__(self, waiting: list[bytes], done: asyncio.Future[None]) -> None:
        self.waiting, self.done = waiting, done
        self.accepted = 0

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        self.transport = transport
        self.send()

    def send(self) -> None:
        """Send the next request, or end."""
        if self.waiting:
            self.transport.write(self.waiting.pop())
        elif not self.done.done():
            self.done.set_result(None)
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Count an answer; its head may come by itself, its body is small enough to come whole."""
        if b'"accepted"' in data:
            self.accepted += data.count(b'"accepted":1')
            self.send()

    def connection_lost(self, error: Exception | None) -> None:
        """End."""
        if not self.done.done():
            self.done.set_result(None)


def request_of(line: bytes, kind: str) -> bytes:
    """Return a whole request with one report."""
    head = f"POST /reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(line)}\r\n\r\n"
    return head.encode() + line


async def send_all(port: int, requests: list[bytes]) -> int:
    """Send all requests over a few connections, and return how many reports were accepted."""
    loop = asyncio.get_running_loop()
    waiting = list(requests)
    senders = [Sender(waiting, loop.create_future()) for _ in range(CONNECTIONS)]
    for sender in senders:
        await loop.create_connection(lambda sender=sender: sender, "127.0.0.1", port)
    await asyncio.gather(*(sender.done for sender in senders))
    return sum(sender.accepted for sender in senders)


def cpu_of(process: int) -> float:
    """Return the CPU seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def posts(kind: str) -> dict[str, float]:
    """Start a collector, send single reports, and return posts a CPU second and a second."""
    plan = local.plan(users=10**6, spend=Pure(4), items=domain.text(max_bytes=8), seed=bytes(range(32)))
    lines = plan.client().reports(["a word"] * (POSTS + WARM), Noise())
    bodies = [local.envelopes(lines[at : at + 1], "json" if kind == "application/json" else "binary") for at in
              range(len(lines))]  # fmt: skip
    requests = [request_of(body, kind) for body in bodies]
    with tempfile.TemporaryDirectory() as folder:
        plan.save(Path(folder) / "words.plan")
        port = free_port()
        command = ["-m", "sfumato.serve", f"{folder}/collected", "--plan", f"{folder}/words.plan", "--port", str(port)]
        with subprocess.Popen([sys.executable, *command], stderr=subprocess.DEVNULL) as collector:
            try:
                await_port(port)
                asyncio.run(send_all(port, requests[:WARM]))
                cpu, began = cpu_of(collector.pid), time.perf_counter()
                accepted = asyncio.run(send_all(port, requests[WARM:]))
                used, passed = cpu_of(collector.pid) - cpu, time.perf_counter() - began
            finally:
                collector.terminate()
        found = local.read_collection(f"{folder}/collected").server
    assert accepted == POSTS and found.accepted == POSTS + WARM, (accepted, found.accepted)
    return {"cpu": POSTS / used, "wall": POSTS / passed}


def await_port(port: int) -> None:
    """Wait until somebody listens."""
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("The collector did not start.")


def section() -> str:
    """Return the table of the page."""
    rows = []
    for kind in ("application/json", "application/octet-stream"):
        one = stored(f"posts-{kind.rpartition('/')[2]}", lambda kind=kind: posts(kind))
        rows.append([kind, f"{one['cpu']:,.0f}", f"{one['wall']:,.0f}"])
    return table(["single reports as", "posts a CPU second", "posts a second"], rows)


if __name__ == "__main__":
    for one in ("application/json", "application/octet-stream"):
        print(one, {name: round(value) for name, value in posts(one).items()}, flush=True)
