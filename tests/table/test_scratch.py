"""Temporary files are there for one process alone, and do not outlive it for long."""

from __future__ import annotations

import errno
import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato.domain import integers
from sfumato.table import Schema, open_table, scratch
from sfumato.table.resources import Resources
from sfumato.table.scratch import LOCK, Scratch, sweep

SCHEMA = Schema({"age": integers(0, 99)})
ROWS = pa.table({"age": [1, 2, 3]})
OPENING = """
import sys, time, pyarrow
from sfumato.domain import integers
from sfumato.table import Schema, open_table
from sfumato.table.resources import Resources
table = open_table(pyarrow.table({"age": [1]}), Schema({"age": integers(0, 99)}), resources=Resources(None, sys.argv[1]))
print("open", flush=True)
if sys.argv[2] == "stay":
    time.sleep(600)
"""


def started(place: Path, how: str) -> subprocess.Popen[str]:
    """Start a process that opens a table, and wait until it has."""
    command = [sys.executable, "-c", OPENING, str(place), how]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "open\n"
    return process


def spilled(place: Path) -> set[str]:
    return {one.name for one in place.iterdir()}


def test_what_a_killed_process_left_is_removed_by_the_next_opening_and_what_is_in_use_is_not(tmp_path: Path) -> None:
    killed, alive = started(tmp_path, "stay"), started(tmp_path, "stay")
    try:
        both = spilled(tmp_path)
        assert len(both) == 2
        for one in both:
            (tmp_path / one / "duckdb_temp_storage-0.tmp").write_bytes(b"coded rows")
        assert sweep(tmp_path) == 0 and spilled(tmp_path) == both
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        assert spilled(tmp_path) == both  # nobody could remove it
        with open_table(ROWS, SCHEMA, resources=Resources(None, tmp_path)):
            left = spilled(tmp_path)
        assert len(left & both) == 1 and len(left) == 2
        (kept,) = left & both
        assert (tmp_path / kept / "duckdb_temp_storage-0.tmp").read_bytes() == b"coded rows"
        assert spilled(tmp_path) == {kept}
    finally:
        for one in (killed, alive):
            one.kill()
            one.wait()
            assert one.stdout is not None
            one.stdout.close()
    assert sweep(tmp_path) == 1 and spilled(tmp_path) == set()


def test_a_program_that_ends_without_closing_leaves_nothing(tmp_path: Path) -> None:
    process = started(tmp_path, "end")
    assert process.wait(60) == 0 and spilled(tmp_path) == set()
    assert process.stdout is not None
    process.stdout.close()


def left_by(place: Path) -> Scratch:
    """Return a directory as a process that died leaves it: there, and locked by nobody."""
    made = Scratch(place)
    found = made._ended.detach()
    assert found is not None
    (held,) = [one for one in found[2] if hasattr(one, "close")]
    held.close()
    return made


def test_what_is_in_doubt_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = left_by(tmp_path)
    (elsewhere.path / LOCK).write_text("boot_id:another machine-id:machine")
    unlocked = left_by(tmp_path)
    (unlocked.path / LOCK).unlink()
    open_to_all = left_by(tmp_path)
    open_to_all.path.chmod(0o755)
    target = tmp_path / "target"
    target.mkdir(0o700)
    (target / "precious").write_text("x")
    (tmp_path / "sfumato-spill-link").symlink_to(target)
    linked = left_by(tmp_path)  # a link instead of a lock is not followed
    (linked.path / LOCK).unlink()
    (linked.path / LOCK).symlink_to(target / "precious")
    (tmp_path / "sfumato-spill-file").write_text("x")
    before = spilled(tmp_path)
    assert sweep(tmp_path) == 0 and spilled(tmp_path) == before
    # The same of somebody else: their number is all that tells them apart.
    gone = left_by(tmp_path)
    own = os.getuid()
    with monkeypatch.context() as other:
        other.setattr(scratch.os, "getuid", lambda: own + 1)
        assert sweep(tmp_path) == 0
    assert gone.path.exists() and sweep(tmp_path) == 1 and not gone.path.exists()
    assert (target / "precious").read_text() == "x"


def test_links_in_what_is_removed_are_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "precious").write_text("x")
    gone = left_by(tmp_path)
    (gone.path / "inside").symlink_to(target)
    (gone.path / "below").mkdir()
    (gone.path / "below" / "again").symlink_to(target)
    assert sweep(tmp_path) == 1 and (target / "precious").read_text() == "x"


def test_a_removal_that_was_cut_short_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = left_by(tmp_path)
    for place in range(3):
        (gone.path / f"{place}.tmp").write_bytes(b"coded rows")

    def cut(path: Any, *_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as ending:
        ending.setattr(scratch.os, "unlink", cut)
        with pytest.raises(KeyboardInterrupt):
            sweep(tmp_path)
    assert (gone.path / LOCK).exists()
    assert sweep(tmp_path) == 1 and spilled(tmp_path) == set()


def test_a_split_off_process_removes_nothing_of_its_parent(tmp_path: Path) -> None:
    made = Scratch(tmp_path)
    child = os.fork()
    if child == 0:
        made.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert made.path.exists() and sweep(tmp_path) == 0
    made.close()
    assert spilled(tmp_path) == set()


def test_a_place_that_cannot_be_listed_is_not_swept(tmp_path: Path) -> None:
    assert sweep(tmp_path / "nowhere") == 0


def test_the_time_of_a_sweep_is_nothing_beside_an_opening(tmp_path: Path) -> None:
    for place in range(2000):
        (tmp_path / f"other-{place}").touch()
    start = time.process_time()
    sweep(tmp_path)
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize("step", ["rename", "open", "write"])
def test_of_a_directory_that_cannot_be_made_nothing_is_left(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unclosed lock would end this test: warnings are errors here."""

    def full(*_: object, **__: object) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    real = os.open

    def refused(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        return full() if flags & os.O_CREAT else real(path, flags, *rest, **more)

    if step == "rename":
        monkeypatch.setattr(Path, "rename", full)
    elif step == "open":
        monkeypatch.setattr(os, "open", refused)
    else:
        monkeypatch.setattr(scratch, "_machine", full)
    with pytest.raises(OSError, match="No space left"):
        Scratch(tmp_path)
    gc.collect()
    assert not list(tmp_path.iterdir())
