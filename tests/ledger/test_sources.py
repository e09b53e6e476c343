"""Numbers for states of the data, on both databases, with a private directory and without."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from sfumato import Event, Pure
from sfumato.errors import LedgerError
from sfumato.ledger import Budget, Ledger
from sfumato.ledger.sources import snapshot_of

from .worker import LOSS

BUDGET = Budget(Pure(1))


def _said(ledger: Ledger) -> list[object]:
    """Return everything that the rows about snapshots say."""
    with ledger._journal.session(write=False) as session:
        return [part for row, _ in session.rows("snapshot") for part in json.loads(row.body).values()]


def test_files_are_recognised_with_a_private_directory(open_ledger, tmp_path):
    ledger = open_ledger(BUDGET, private=tmp_path / "private")
    assert [snapshot_of(ledger, file) for file in ("a", "b", "a", None, "c")] == ["1", "2", "1", "3", "4"]
    again = open_ledger(private=tmp_path / "private")
    assert [snapshot_of(again, file) for file in ("c", "b", None)] == ["4", "2", "5"]
    assert not {"a", "b", "c"} & set(_said(again)) and again.verify().ok  # which file it was is not in the chain
    assert [path.name for path in (tmp_path / "private").iterdir()] == ["sources"]


def test_without_one_every_opening_has_a_number_of_its_own(place, open_ledger):
    if not place.startswith("postgres"):
        return  # a SQLite file has its directory beside it
    ledger = open_ledger(BUDGET)
    assert [snapshot_of(ledger, "a"), snapshot_of(ledger, "a")] == ["1", "2"]
    assert snapshot_of(open_ledger(), "a") == "3" and ledger.verify().ok
    assert snapshot_of(ledger, "a", "march") == "march"


def test_a_name_that_is_a_number_is_not_handed_out(place, open_ledger, tmp_path):
    ledger = open_ledger(BUDGET)
    assert snapshot_of(ledger, None, "1") == "1" == snapshot_of(ledger, None, "1")
    assert [snapshot_of(ledger, None) for _ in range(2)] == ["2", "3"]
    with Ledger(None, BUDGET) as memory:
        assert [snapshot_of(memory, None, "1"), snapshot_of(memory, None), snapshot_of(memory, "a")] == ["1", "2", "3"]


def test_a_frame_does_not_take_the_number_of_a_file(open_ledger, tmp_path):
    ledger = open_ledger(BUDGET, private=tmp_path / "private")
    assert snapshot_of(ledger, "a file") == "1" and snapshot_of(ledger, None) == "2"
    with pytest.raises(LedgerError, match=r"'1' is the number that a file was given .* same_data=True"):
        snapshot_of(ledger, None, "1")
    assert snapshot_of(ledger, None, "1", same_data=True) == "1"
    assert snapshot_of(ledger, None, "2") == "2"  # of a frame: whoever names it says that it is the same


def test_two_machines_never_give_the_same_number(open_ledger, tmp_path):
    one, two = (open_ledger(BUDGET, private=tmp_path / name) for name in ("one", "two"))
    assert [snapshot_of(one, "a"), snapshot_of(two, "b"), snapshot_of(one, "c"), snapshot_of(two, None)] == list("1234")
    again = open_ledger(private=tmp_path / "two")
    assert [snapshot_of(again, "b"), snapshot_of(one, "a"), snapshot_of(one, "b")] == ["2", "1", "5"]
    with pytest.raises(LedgerError, match="was used for another file"):
        snapshot_of(two, "b", "1")
    assert snapshot_of(two, "b", "1", same_data=True) == "1"
    # A name that somebody chose is vouched for by whoever uses it.
    assert snapshot_of(one, "a", "march") == snapshot_of(two, "b", "march") == "march"
    assert one.verify().ok


def test_two_ledgers_in_one_directory_know_their_own_names_only(tmp_path):
    one, two = (Ledger(tmp_path / name, BUDGET, private=tmp_path / "private") for name in ("one", "two"))
    with one, two:
        assert [snapshot_of(one, "a"), snapshot_of(one, "b"), snapshot_of(one, "c", "march")] == ["1", "2", "march"]
        assert [snapshot_of(two, "b"), snapshot_of(two, "a", "march")] == ["1", "march"]
        assert snapshot_of(one, "b") == "2"


def test_what_a_restored_ledger_does_not_hold_is_nobodys(tmp_path):
    place, private = tmp_path / "l", tmp_path / "private"
    with Ledger(place, BUDGET, private=private) as ledger:
        assert snapshot_of(ledger, "a") == "1"
    shutil.copy(place, tmp_path / "copy")
    with Ledger(place, private=private) as ledger:
        assert snapshot_of(ledger, "b") == "2"
    with Ledger(tmp_path / "copy", private=private) as ledger:
        found = [snapshot_of(ledger, name) for name in ("c", "b", "a")]
        assert len(set(found)) == 3 and found[2] == "1" and found[0] != found[1]
        # The line that says that b is 2 was never about this ledger.
        assert snapshot_of(ledger, "b") == found[1]


def _earlier(ledger: Ledger, *names: str) -> None:
    """Make a ledger what an earlier version left, which had asked under some names."""
    for name in names:
        ledger.reserve(f"ask {name}", Event("Laplace", "QR-LAP", {"snapshot": name}), LOSS)
    with ledger._journal.store.connection(write=True) as connection:
        connection.exec_driver_sql("UPDATE sfumato_head SET format = 6")


def _kept(private: Path, *lines: list[str | None]) -> Path:
    """Write what an earlier version kept: no line says of which ledger it is."""
    private.mkdir()
    (private / "sources").write_text("\n".join(map(json.dumps, lines)))
    return private


def test_names_of_an_earlier_version_are_believed_beside_the_ledgers_own_file(tmp_path):
    place = tmp_path / "people.ledger"
    with Ledger(place, BUDGET) as ledger:
        _earlier(ledger, "1", "2", "march")
        _kept(ledger.private, ["1", "a"], ["march", "m"], ["3", None], ["7", "never asked"])
    for _ in range(2):
        with Ledger(place) as ledger:
            assert [snapshot_of(ledger, file) for file in ("a", "m", "d")] == ["1", "march", "4"]
            with pytest.raises(LedgerError, match="was used for another file"):
                snapshot_of(ledger, "e", "march")
            assert snapshot_of(ledger, "never asked") == "5" and ledger.verify().ok


def test_names_of_an_earlier_version_in_a_directory_of_several_are_vouched_for(place, open_ledger, tmp_path):
    """It kept names beside the data only, so that two machines could give the same one, and two ledgers share them."""
    _earlier(open_ledger(BUDGET), "1", "2")
    ours = _kept(tmp_path / "ours", ["1", "a"], ["2", "b"], ["4", "c"])
    one, two = open_ledger(private=ours), open_ledger(private=_kept(tmp_path / "other", ["1", "b"]))
    for ledger, file in ((one, "a"), (two, "b")):
        with pytest.raises(LedgerError, match="snapshot='1', and it keeps the number") as raised:
            snapshot_of(ledger, file)
        assert raised.value.__context__ is None
    assert snapshot_of(one, "a", "1") == "1" == snapshot_of(one, "a")
    # The number has its file now; what the other machine calls so is another one.
    assert snapshot_of(two, "b") == "3" == snapshot_of(two, "b")
    assert [snapshot_of(one, "b", "a new name"), snapshot_of(one, "b")] == ["a new name"] * 2
    # Nothing is stored under a number that was never asked about, so there is nothing to mix up.
    assert snapshot_of(one, "c") == "5" and one.verify().ok


def test_a_ledger_of_this_version_believes_no_line_without_its_mark(place, open_ledger, tmp_path):
    private = _kept(tmp_path / "private", ["2", "a"], ["march", "m"])
    ledger = open_ledger(BUDGET, private=private)
    assert [snapshot_of(ledger, None), snapshot_of(ledger, "b"), snapshot_of(ledger, "a")] == ["1", "3", "4"]
    assert snapshot_of(ledger, "other", "march") == "march"


def test_the_first_line_is_found_after_a_loss_of_power(tmp_path, monkeypatch):
    """A file is there for good when it and every directory that was made for it have reached the disk."""
    forced: list[Path] = []

    def fsync(file: int, real=os.fsync) -> None:
        forced.append(Path(f"/proc/self/fd/{file}").readlink())
        real(file)

    private = tmp_path / "side" / "private"
    with Ledger(tmp_path / "people.ledger", BUDGET, private=private) as ledger:
        monkeypatch.setattr(os, "fsync", fsync)
        snapshot_of(ledger, "a")
        assert set(forced) == {private / "sources", private, private.parent, tmp_path}
        assert {stat.S_IMODE(one.stat().st_mode) for one in (private, private.parent)} == {0o700}
        forced.clear()
        snapshot_of(ledger, "b")
        assert forced == [private / "sources"]
