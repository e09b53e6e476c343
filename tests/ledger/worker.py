"""What runs in the processes that are killed: one spend with a kill at a named point, or many spends in a row."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato import Cost, Event, Loss
from sfumato.errors import BudgetExceeded, LedgerError
from sfumato.ledger import Ledger, frozen, lifecycle
from sfumato.ledger.frozen import Directory
from sfumato.ledger.request import request_of
from sfumato.ledger.running import Coins, Work
from sfumato.ledger.session import Session
from sfumato.ledger.store import Store

EVENT = Event("Laplace", "QR-LAP", {"scale": 10})
LOSS = Loss.flat(Cost.pure("1/100"))

# One clean process, with everything imported, is copied for every worker: a start takes milliseconds, not a second.
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["tests.ledger.worker"])


def die() -> None:
    """End this process as kill -9 does: no handler, no flush, no rollback."""
    os.kill(os.getpid(), signal.SIGKILL)


def arm(transaction: int, moment: str) -> None:
    """Kill this process at a writing transaction: before it, when all is written but not committed, after it."""
    original: Callable[..., Iterator[Session]] = Store.session
    seen = 0

    @contextmanager
    def session(self: Store, write: bool) -> Iterator[Session]:
        nonlocal seen
        seen += write
        now = write and seen == transaction
        if now and moment == "before":
            die()
        with original(self, write) as inner:  # type: ignore[attr-defined]
            yield inner
            if now and moment == "inside":
                inner.finish()
                die()
        if now and moment == "after":
            die()

    Store.session = session  # type: ignore[method-assign, assignment]


def write_line(path: Path, text: str) -> None:
    """Append one line in one system call, so that a kill leaves the whole line or none of it."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{text}\n".encode())
    os.close(file)


def read_lines(path: Path) -> list[list[str]]:
    """Read what `write_line` wrote, split at spaces."""
    return [line.split(" ") for line in path.read_text().splitlines()] if path.exists() else []


def ask(ledger: Ledger, request: str, draw: Callable[[], bytes], by_steps: bool) -> bytes | None:
    """Ask one thing in three transactions, or in the two of `run`."""
    if not by_steps:
        return ledger.run(request, EVENT, LOSS, draw).answer
    found = ledger.reserve(request, EVENT, LOSS)
    if found.state != "committed":
        ledger.start(request)
        found = ledger.commit(request, draw())
    return found.answer


def spend(place: str, folder: Path, request: str, by_steps: bool, kill: tuple[int, str] | str | None) -> None:
    """Ask one thing; note what was drawn and what was shown."""
    if isinstance(kill, tuple):
        arm(*kill)
    ledger = Ledger(place)

    def draw() -> bytes:
        value = f"{os.getpid()}-{time.monotonic_ns()}"
        write_line(folder / "drawn", f"{request} {value}")
        if kill == "drawn":
            die()
        return value.encode()

    try:
        answer = ask(ledger, request, draw, by_steps)
    except LedgerError:
        write_line(folder / "left", request)
    else:
        assert answer is not None
        write_line(folder / "shown", f"{request} {answer.decode()}")
        if kill == "shown":
            die()
    ledger.close()


def sealed_work(folder: Path, content: bytes, kill: object = None) -> Work:
    """Return a draw of eight numbers that notes what it read, which key it had and what it drew."""

    def read() -> bytes:
        if kill == "read":
            die()
        return content

    def draw(frozen: bytes, coins: Coins) -> bytes:
        assert frozen.startswith(b"private input"), "drawn from something else"
        write_line(folder / "keys", coins.key.hex())
        if kill == "key":
            die()
        value = frozen[-1:].hex() + "-" + "-".join(map(str, coins.noise().uniform(2**60, 8).tolist()))
        write_line(folder / "drawn", value)
        if kill == "drawn":
            die()
        return value.encode()

    return Work(read, draw)


def spend_sealed(
    place: str, folder: Path, request: str, kill: object, attempt: int, question: str = "question"
) -> None:
    """Ask one thing that is frozen before it is drawn; every attempt reads another state of the source."""
    if isinstance(kill, tuple):
        arm(*kill)
    if kill == "written":
        written = Directory.write

        def write_and_die(self: Directory, *rest: object) -> str:
            written(self, *rest)  # type: ignore[arg-type]
            die()
            return ""

        Directory.write = write_and_die  # type: ignore[method-assign]
    if kill in ("writing", "erasing"):
        name = "_write" if kill == "writing" else "_overwrite"
        original = getattr(frozen, name)

        def half(path: Path, *rest: object) -> None:
            original(path, *rest)
            if kill == "writing":
                os.truncate(path, path.stat().st_size // 2)
            die()

        setattr(frozen, name, half)
    ledger = Ledger(place, private=folder / "private")
    work = sealed_work(folder, b"private input %d" % attempt, kill)
    answer = ledger.run_sealed(request, EVENT, LOSS, work, question_key=question).answer
    assert answer is not None
    write_line(folder / "shown", answer.decode())
    if kill == "shown":
        die()
    ledger.close()


def spend_by_number(folder: Path, at: int) -> None:
    """Give a file its number and ask about it; die at a durable step, at none if it is 0."""
    from sfumato.ledger.sources import snapshot_of

    from .faults import Disk, full

    with full(Disk(at, "killed")):
        with Ledger(folder / "people.ledger", keep_head=folder / "head") as ledger:
            number = snapshot_of(ledger, "a file")
            work = sealed_work(folder, b"private input 1")
            found = ledger.run_sealed(str(os.getpid()), EVENT, LOSS, work, question_key=f"question {number}")
        assert found.answer is not None
        noted = f"{number} {found.answer.decode()}"
    write_line(folder / "shown", noted)


def talk(place: str, folder: Path, kill: tuple[int, str] | str | None) -> None:
    """Hold a conversation of three answers, from wherever it stands."""
    if isinstance(kill, tuple):
        arm(*kill)
    ledger = Ledger(place)
    try:
        if ledger.reserve("talk", EVENT, LOSS).state == "reserved":
            ledger.start("talk")
            ledger.save_state("talk", 0, b"0")
        found = ledger.load_state("talk")
    except LedgerError:
        write_line(folder / "left", "talk")
        return
    step = found.step
    if found.last is not None:
        write_line(folder / "shown", f"{step} {found.last.decode()}")
    while step < 4:
        answer = f"{os.getpid()}-{time.monotonic_ns()}"
        if kill == "drawn" and step == 2:
            die()
        step = ledger.save_state("talk", step, str(step).encode(), answer.encode())
        write_line(folder / "shown", f"{step} {answer}")
    ledger.close()


def write_many(place: str, folder: Path, writer: int, count: int) -> None:
    """Spend again and again; after a restart go on with the first request that has not been settled."""
    ledger = Ledger(place)
    own = folder / str(writer)
    own.mkdir(exist_ok=True)
    settled = {line[0] for name in ("shown", "refused", "left") for line in read_lines(own / name)}
    for number in range(count):
        request = f"{writer}-{number}"
        if request not in settled:
            spend_again(ledger, own, request)
    ledger.close()


def spend_again(ledger: Ledger, folder: Path, request: str) -> None:
    """Ask one thing with a ledger that is open."""

    def draw() -> bytes:
        value = f"{os.getpid()}-{time.monotonic_ns()}"
        write_line(folder / "drawn", f"{request} {value}")
        return value.encode()

    try:
        answer = ledger.run(request, EVENT, LOSS, draw).answer
    except BudgetExceeded:
        write_line(folder / "refused", request)
    except LedgerError as problem:
        assert "one charge buys one draw" in str(problem), problem
        write_line(folder / "left", request)
    else:
        assert answer is not None
        write_line(folder / "shown", f"{request} {answer.decode()}")


class Naive(Ledger):
    """Checks in one transaction and writes in another: what the row lock and BEGIN IMMEDIATE are there against."""

    def reserve(self, request_id, event, loss, *rest, **more):  # type: ignore[no-untyped-def]
        request = request_of(self._journal.terms, request_id, event, loss, question=None, analyst=None)
        with self._journal.session(write=False) as session:
            verdict = self._journal.book.weigh(self._journal.sums(session), request.losses, None)
        if verdict.breaks:
            raise BudgetExceeded("naive")
        time.sleep(0.5)
        with self._journal.session(write=True) as session:
            return lifecycle.write(session, request, verdict)


def race_naively(place: str, folder: Path, name: str, gate: float) -> None:
    """Reserve at the same time as others, without a lock."""
    ledger = Naive(place)
    while time.monotonic() < gate:
        pass
    try:
        ledger.reserve(name, EVENT, LOSS)
        write_line(folder / "won", name)
    except BudgetExceeded:
        write_line(folder / "lost", name)
    ledger.close()


def race(place: str, folder: Path, name: str, gate: float, started: str | None) -> None:
    """Wait for a common moment, then reserve (or start) at the same time as others."""
    ledger = Ledger(place)
    ledger.spent()
    while time.monotonic() < gate:
        pass
    try:
        if started is None:
            ledger.reserve(name, EVENT, LOSS)
        else:
            ledger.start(started)
        write_line(folder / "won", name)
    except (BudgetExceeded, LedgerError):
        write_line(folder / "lost", name)
    ledger.close()


def make(place: str, folder: Path, name: str, gate: float) -> None:
    """Make a ledger at the same time as others do."""
    from sfumato import Pure
    from sfumato.ledger import Budget

    while time.monotonic() < gate:
        pass
    ledger = Ledger(place, Budget(Pure(1)))
    ledger.reserve(name, EVENT, LOSS)
    write_line(folder / "won", name)
    ledger.close()


def run_process(target: Callable[..., None], *arguments: object) -> int:
    """Run a function in a process of its own and return its exit code: -9 if it was killed."""
    process = context.Process(target=target, args=arguments)
    process.start()
    process.join(60)
    code = process.exitcode
    process.close()
    assert code is not None, "the process hangs"
    return code
