"""Numbers for states of the data, on both databases, with a private directory and without."""

from __future__ import annotations

from sfumato import Pure
from sfumato.ledger import Budget, Ledger
from sfumato.ledger.sources import snapshot_of

BUDGET = Budget(Pure(1))


def test_files_are_recognised_with_a_private_directory(open_ledger, tmp_path):
    ledger = open_ledger(BUDGET, private=tmp_path / "private")
    head = ledger.head
    assert [snapshot_of(ledger, file) for file in ("a", "b", "a", None, "c")] == ["1", "2", "1", "3", "4"]
    again = open_ledger(private=tmp_path / "private")
    assert [snapshot_of(again, file) for file in ("c", "b", None)] == ["4", "2", "5"]
    assert again.head == head  # nothing of it is in the chain
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
