"""Which data a stored answer belongs to: files by number, frames by name, and never a word about sizes or times."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import sfumato as sf
from sfumato import Budget, Count, Histogram, Ledger, Pure, Schema
from sfumato.cli.hints import in_shell
from sfumato.domain import categories, integers
from sfumato.errors import LedgerError, PaidAgainWarning, ParameterError, SchemaError
from sfumato.ledger.sources import NAME_IT, snapshot_of
from sfumato.report.releases import releases_table
from sfumato.table.identity import Files, files_of

SCHEMA = Schema({"age": integers(0, 99), "sex": categories("Female", "Male")})
ASKED = Count("age > 30")


def rows(ages: list[int]) -> pyarrow.Table:
    return pyarrow.table({"age": ages, "sex": ["Male"] * len(ages)})


def written(path: Path, ages: list[int]) -> Path:
    pyarrow.parquet.write_table(rows(ages), path)
    return path


def touch(path: Path) -> None:
    """Change the time of a file and nothing else."""
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 1_000_000_000))


def ask(source, ledger, **more) -> tuple[str, bool]:
    with sf.curate(source, SCHEMA, ledger=ledger, **more) as curator:
        answer = curator.ask(ASKED, Pure("1/10"))
        assert answer.event.parameters["snapshot"] == curator.table.snapshot
        return curator.table.snapshot, answer.reused


@pytest.fixture
def place(tmp_path: Path) -> Path:
    Ledger(tmp_path / "people.ledger", Budget(Pure(3)).about(SCHEMA.secrets)).close()
    return tmp_path / "people.ledger"


def charges(place: Path) -> int:
    with Ledger(place) as ledger:
        assert ledger.verify().ok
        return len(ledger.history())


def test_two_files_under_one_ledger_are_two_answers_and_two_charges(place, tmp_path):
    first, second = written(tmp_path / "a.parquet", [34, 71]), written(tmp_path / "b.parquet", [34, 71, 80])
    assert ask(first, place) == ("1", False)
    assert ask(second, place) == ("2", False)
    assert ask(first, place) == ("1", True)
    assert ask(str(second), place) == ("2", True)
    assert charges(place) == 2


def test_a_file_that_was_touched_has_a_new_number(place, tmp_path):
    path = written(tmp_path / "a.parquet", [34, 71])
    assert ask(path, place) == ("1", False)
    touch(path)
    assert ask(path, place) == ("2", False)
    assert charges(place) == 2


def test_a_folder_is_all_of_its_files(place, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    written(folder / "1.parquet", [34])
    assert ask(folder, place) == ("1", False)
    assert ask(f"{folder}/*.parquet", place) == ("1", True)
    written(folder / "2.parquet", [71])
    assert ask(folder, place) == ("2", False)


def test_a_csv_file_and_a_database_file(place, tmp_path):
    import duckdb

    table = tmp_path / "people.csv"
    table.write_text("age,sex\n34,Male\n71,Female\n")
    assert ask(table, place) == ("1", False) and ask(table, place) == ("1", True)
    base = tmp_path / "people.duckdb"
    with duckdb.connect(str(base)) as connection:
        connection.execute("CREATE TABLE one AS SELECT 34 AS age, 'Male' AS sex")
    assert ask(base, place) == ("2", False) and ask(base, place, table="one") == ("2", True)
    with duckdb.connect(str(base)) as connection:
        connection.execute("CREATE TABLE two AS SELECT 71 AS age, 'Male' AS sex")
    assert ask(base, place, table="one")[0] == "3" and ask(base, place, table="two")[0] == "4"


def test_a_frame_is_new_at_every_opening_unless_it_has_a_name(place):
    frame = rows([34, 71])
    assert ask(frame, place) == ("1", False)  # nothing was paid before, so there is nothing to warn of
    with pytest.warns(PaidAgainWarning, match=r"the new snapshot '2', .* paid again\. Write snapshot='2026-03'"):
        assert ask(frame, place) == ("2", False)
    assert ask(frame, place, snapshot="2026-03") == ("2026-03", False)
    assert ask(rows([1]), place, snapshot="2026-03") == ("2026-03", True)  # the caller vouches for it
    assert charges(place) == 3


def test_a_name_belongs_to_one_file(place, tmp_path):
    first, second = written(tmp_path / "a.parquet", [34, 71]), written(tmp_path / "b.parquet", [34, 71, 80])
    assert ask(first, place, snapshot="march") == ("march", False)
    assert ask(first, place, snapshot="march") == ("march", True)
    with pytest.raises(LedgerError, match=r"'march' was used for another file.*same_data=True"):
        ask(second, place, snapshot="march")
    assert ask(second, place, snapshot="march", same_data=True) == ("march", True)
    assert ask(second, place, snapshot="march") == ("march", True)
    assert charges(place) == 1
    # The name belongs to the file, not to its path.
    touch(first)
    with pytest.raises(LedgerError, match="before it changed"):
        ask(first, place, snapshot="march")


def test_numbers_and_names_never_meet(place, tmp_path):
    first, second = written(tmp_path / "a.parquet", [34]), written(tmp_path / "b.parquet", [71])
    assert ask(first, place, snapshot="1") == ("1", False)
    assert ask(second, place) == ("2", False)
    with pytest.raises(LedgerError, match="another file"):
        ask(first, place, snapshot="2")
    assert ask(rows([1]), place) == ("3", False)


def test_data_that_change_while_they_are_open_are_refused(place, tmp_path):
    path = written(tmp_path / "a.parquet", [34, 71])
    with sf.curate(path, SCHEMA, ledger=place) as curator:
        curator.ask(ASKED, Pure("1/10"))
        touch(path)
        for question in (ASKED, Histogram("sex")):
            with pytest.raises(SchemaError, match="The data changed since they were opened; open them again"):
                curator.ask(question, Pure("1/10"))
        path.unlink()
        with pytest.raises(SchemaError, match="changed since they were opened"):
            curator.ask(ASKED, Pure("1/10"))
    assert charges(place) == 1


def test_neighbours_of_other_sizes_leave_equal_ledgers(tmp_path):
    """Nothing of a file's size or time is in the ledger: two worlds, one file larger, the same rows but for ids."""

    def world(name: str, ages: list[int]) -> list[tuple]:
        home = tmp_path / name
        home.mkdir()
        path = written(home / "people.parquet", ages)
        place = home / "people.ledger"
        for _ in range(2):
            with sf.curate(path, SCHEMA, Pure(3), ledger=place) as curator:
                curator.ask(ASKED, Pure("1/10"))
        with sqlite3.connect(place) as file:
            stored = file.execute("SELECT number, kind, body FROM sfumato_row ORDER BY number").fetchall()
        file.close()
        return [(number, kind, _masked(kind, body)) for number, kind, body in stored]

    assert world("one", [34, 71]) == world("two", [34, 99])  # the same number of people, other bytes
    assert (
        Files(str(tmp_path / "one/people.parquet")).identity() != Files(str(tmp_path / "two/people.parquet")).identity()
    )


def _masked(kind: str, body: str) -> dict:
    """Leave out what differs from run to run: the clock, marks, the seal of the coins and the digest of the draw."""
    kept = json.loads(body)
    return {name: kept[name] for name in kept if name not in ("at", "mark", "seal", "answer")}


def test_nothing_of_the_identity_is_in_the_ledger(place, tmp_path):
    path = written(tmp_path / "a.parquet", [34, 71])
    ask(path, place)
    identity = Files(str(path)).identity()
    stored = b"".join(found.read_bytes() for found in tmp_path.glob("people.ledger*") if found.is_file())
    assert identity.encode() not in stored and str(path).encode() not in stored
    kept = tmp_path / "people.ledger.private" / "sources"
    assert identity in kept.read_text() and kept.stat().st_mode & 0o077 == 0


def test_without_a_private_directory_each_opening_has_a_number(tmp_path):
    path = written(tmp_path / "a.parquet", [34, 71])
    with Ledger(None, Budget(Pure(3)).about(SCHEMA.secrets)) as ledger:
        assert snapshot_of(ledger, Files(str(path)).identity()) == "1"
        assert snapshot_of(ledger, Files(str(path)).identity()) == "2"
        assert snapshot_of(ledger, "x", "march") == snapshot_of(ledger, "y", "march") == "march"


def test_a_private_directory_that_was_lost_costs_and_never_confuses(place, tmp_path):
    path = written(tmp_path / "a.parquet", [34, 71])
    assert ask(path, place)[0] == "1"
    kept = tmp_path / "people.ledger.private" / "sources"
    kept.unlink()
    assert ask(path, place) == ("2", False) and ask(path, place) == ("2", True)
    kept.write_text('["2", "' + "0" * 30)  # a kill cut it short
    assert ask(path, place) == ("3", False) and ask(path, place) == ("3", True)


def test_a_hint_where_asking_again_will_be_paid_again(place, tmp_path):
    with sf.curate(rows([34]), SCHEMA, ledger=place) as curator:
        assert "paid again" in repr(curator) and "snapshot='2026-03'" in curator.notes[0]
    with sf.curate(rows([34]), SCHEMA, ledger=place, snapshot="may") as curator:
        assert curator.notes == () and "'may'" in repr(curator)
    with sf.curate(written(tmp_path / "a.parquet", [34]), SCHEMA, ledger=place) as curator:
        assert curator.notes == ()
    with sf.curate(rows([34]), SCHEMA, Pure(1)) as curator:
        assert curator.notes == ()  # a ledger in memory is not opened again


def test_bad_input(place, tmp_path):
    with pytest.raises(ParameterError, match="your own name"):
        ask(rows([34]), place, snapshot="x" * 201)
    assert files_of("postgresql://u@h/d", None) is None and files_of(rows([1]), None) is None
    blocked = tmp_path / "blocked"
    blocked.write_text("no directory")
    path = written(tmp_path / "a.parquet", [34])
    with pytest.raises(LedgerError, match="private"):
        ask(path, place, private=blocked)


def test_a_stored_draw_is_read_with_the_people_it_was_drawn_of(tmp_path: Path) -> None:
    """Another state of the data has other people: what was drawn of the first is not made to agree with these."""
    few, many = ({"age": [20] * half + [80] * half, "sex": ["Female", "Male"] * half} for half in (500, 2000))
    tables = sf.workloads.marginals(SCHEMA, width=1, columns=["sex"])
    with sf.curate(pyarrow.table(few), SCHEMA, Pure(9), ledger=tmp_path / "l", snapshot="january") as curator:
        first = [curator.answer(tables, spend=Pure(1)), curator.distribution("age", spend=Pure(1))]
    with sf.curate(pyarrow.table(many), SCHEMA, ledger=tmp_path / "l", snapshot="february") as curator:
        read = [(curator.refit(one.request), curator.stored(one.request)) for one in first]
    with sf.curate(pyarrow.table(few), SCHEMA, ledger=tmp_path / "l", snapshot="january") as curator:
        again = [curator.answer(tables, spend=Pure(1)), curator.distribution("age", spend=Pure(1))]
    for one, both, last in zip(first, read, again, strict=True):
        assert last.reused and {str(found.value) for found in (*both, last)} == {str(one.value)}
    assert all(one.event.parameters["people"] == 1000 for one in first)


def test_a_stored_draw_is_not_read_with_other_derived_columns(tmp_path: Path) -> None:
    data = pyarrow.table({"age": [25] * 300, "sex": ["Male"] * 300})
    narrow, wide = (SCHEMA.with_columns(group=sf.bins("age", step=step)) for step in (25, 26))
    sf.curate(data, SCHEMA, Pure(9), ledger=tmp_path / "l", snapshot="a").close()  # bins come later, and may differ
    with sf.curate(data, narrow, ledger=tmp_path / "l", snapshot="a") as curator:
        asked = curator.ask(Histogram("group"), Pure(1)).request
        assert curator.stored(asked).value["count"][1] > 200
    with sf.curate(data, wide, ledger=tmp_path / "l", snapshot="a") as curator:
        for read in (curator.stored, curator.refit):
            with pytest.raises(LedgerError, match="other public facts held"):
                read(asked)


def test_a_ledger_of_periods_opens_a_frame_without_a_name(tmp_path: Path) -> None:
    days = Schema({"age": integers(0, 99), "day": sf.dates("2024-01-01", "2024-12-31")})
    frame = pyarrow.table({"age": [1, 2], "day": ["2024-01-01", "2024-01-02"]})
    limits = Budget(person="none", units={"day": Pure(1)})
    for _ in range(2):
        with sf.curate(frame, days, limits, ledger=tmp_path / "l", relation=sf.ADD_REMOVE) as curator:
            assert not curator.ledger.history()
        limits = None


def test_a_new_file_says_that_the_same_was_answered_of_another_and_the_ledger_tells_them_apart(place, tmp_path):
    first, copy = written(tmp_path / "a.parquet", [34, 71]), written(tmp_path / "b.parquet", [34, 71])
    with sf.curate(first, SCHEMA, ledger=place) as curator:
        assert not any("new to the ledger" in note for note in curator.ask(ASKED, Pure("1/10")).notes)
    with Ledger(place) as book:
        assert "of state" not in releases_table(book.history()).text(200)
    with sf.curate(copy, SCHEMA, ledger=place) as curator:
        said = "is the state '2' of the data. The same was answered of the state '1', and is paid again here"
        assert said in curator.preview(ASKED, Pure("1/10")).text
        answer = curator.ask(ASKED, Pure("1/10"))
        assert any(said in note for note in answer.notes) and not answer.reused
        (note,) = [in_shell(note) for note in answer.notes if said in note]
        assert note.endswith("if both hold the same, open this one with --snapshot 1 --same-data.")
        assert not any("new to" in note for note in curator.count("age > 40", spend=Pure("1/10")).notes)
        assert not any("new to" in note for note in curator.ask(ASKED, Pure("1/10")).notes), "it is free now"
    with Ledger(place) as book:
        listed = releases_table(book.history()).text(200)
        assert all(f"count where age is 31 or more, of state {one}" in listed for one in (1, 2))


def test_the_same_data_as_which_must_be_said(place, tmp_path):
    first = written(tmp_path / "a.parquet", [34, 71])
    with pytest.raises(ParameterError, match="write its number or name, snapshot='1', same_data=True"):
        ask(first, place, same_data=True)
    assert charges(place) == 0
    assert in_shell(NAME_IT).count("--snapshot 1 --same-data") == 1
