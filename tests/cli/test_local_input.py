"""`sfumato local …`: reports of several files count once, lists are read as items are, nothing found is obeyed."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import Noise, Pure, domain, local
from sfumato.cli.decoding import Decoded
from sfumato.cli.items import counted_items, item_chunks, read_candidates
from sfumato.cli.simulating import Simulated
from sfumato.errors import ParameterError
from sfumato.local.popular import Popular, PopularItem
from tests.cli.conftest import Result, run

PLAN = local.plan(users=1000, spend=Pure(4), candidates=["red", "green", "blue"], seed=bytes(32))
REPORTS = PLAN.client().reports(["red"] * 60 + ["blue"] * 40, Noise(insecure_seed=1))


def parquet(path: Path, ids: Sequence[int], **options: Any) -> Path:
    """Write the reports of these devices."""
    columns = {"id": [bytes([number] * 16) for number in ids], "report": [REPORTS[number].tobytes() for number in ids]}
    names = options.get("names", ["id", "report"])
    pq.write_table(pa.table({name: columns[name] for name in names}), path)
    return path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    PLAN.save(tmp_path / "a.plan")
    return tmp_path


def decoded(place: Path, *places: Path | str) -> Result:
    return run("local", "decode", *places, "--plan", place / "a.plan", "--json")


def intake(result: Result) -> tuple[int, int]:
    assert result.code == 0, result.err
    return result.json["intake"]["accepted"], result.json["intake"]["duplicates"]


def test_an_id_counts_once_among_parquet_files(place: Path) -> None:
    first, second = parquet(place / "1.parquet", range(100)), parquet(place / "2.pq", range(50, 100))
    third = parquet(place / "3.parquet", range(20), names=["report", "id"])
    assert intake(decoded(place, first)) == (100, 0)
    together = decoded(place, first, second, third)
    assert intake(together) == (100, 70)
    assert together.json["items"] == decoded(place, first).json["items"]
    assert intake(decoded(place, place / "*.parquet")) == (100, 20)
    assert intake(decoded(place, place / "*.parquet", second)) == (100, 70)


def test_parquet_files_without_ids_add_up_and_none_is_lost(place: Path) -> None:
    first = parquet(place / "1.parquet", range(100), names=["report"])
    second = parquet(place / "2.parquet", range(30))
    assert intake(run("local", "decode", first, second, "--plan", place / "a.plan", "--no-ids", "--json")) == (130, 0)
    missing = decoded(place, first, second)
    assert missing.code == 2 and "'1.parquet' needs a column 'id'" in missing.err
    (place / "3.parquet").write_text("junk")
    assert "cannot be read as Parquet" in decoded(place, second, place / "3.parquet").err


def test_kinds_that_cannot_be_compared_are_not_mixed(place: Path) -> None:
    with local.Collector(place / "collected", PLAN) as collector:
        collector.add(local.envelopes(REPORTS, "binary"), "binary")
    sketch = local.read_collection(place / "collected").server.save(place / "a.sketch")
    table = parquet(place / "1.parquet", range(100))
    for mixed in ([place / "collected", sketch], [place / "collected", table], [sketch, table]):
        said = decoded(place, *mixed)
        assert said.code == 2 and "would count twice" in said.err and "--save" in said.err and not said.out
    other = PLAN.server()
    other.ingest(REPORTS[:10])
    assert intake(decoded(place, sketch, other.save(place / "b.sketch"))) == (110, 0)


def test_a_place_that_is_named_twice_is_refused(place: Path) -> None:
    server = PLAN.server()
    server.ingest(REPORTS)
    sketch, table = server.save(place / "a.sketch"), parquet(place / "1.parquet", range(9))
    local.Collector(place / "c", PLAN, ids=False).close()
    for twice in ([sketch, sketch], [table, place / "*.parquet"], [place / "c", place / "c" / ".." / "c"]):
        said = decoded(place, *twice)
        assert said.code == 2 and "named twice" in said.err
    assert "No file is named" in decoded(place, place / "*.pq").err


def test_lists_are_cut_at_line_ends_only(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes("red\r\na\u2028b\nc\x85d\ne\x0bf\nlast".encode())
    assert read_candidates(path) == ["red", "a\u2028b", "c\x85d", "e\x0bf", "last"]
    path.write_bytes(b"red\n\xff\xfe\n")
    said = run("local", "plan", "--users", 1000, "--spend", "Pure(4)", "--candidates", path)
    assert said.code == 2 and "Line 2 of 'list.txt' is no UTF-8 text" in said.err
    with pytest.raises(ParameterError, match="There is no file"):
        read_candidates(tmp_path / "none.txt")


MARK = b"\xef\xbb\xbf"


def test_a_byte_order_mark_is_no_part_of_the_first_line(place: Path) -> None:
    """Editors on Windows begin a file with it, and the first candidate was one that nobody has."""
    (place / "list.txt").write_bytes(MARK + b"red\r\ngreen\n")
    assert read_candidates(place / "list.txt") == ["red", "green"]
    with pytest.raises(ParameterError, match="holds no candidates"):
        (place / "list.txt").write_bytes(MARK)
        read_candidates(place / "list.txt")
    for kind, line, item in ((domain.text(max_bytes=4), b"red", "red"), (local.raw(max_bytes=4), b"red", b"red"),
                             (domain.integers(0, 99), b"30", 30)):  # fmt: skip
        assert [found for found, _ in item_chunks(io.BytesIO(MARK + line + b"\n" + line), kind)] == [[item, item]]
        assert [found for found, _ in item_chunks(io.BytesIO(b""), kind)] == []
    (place / "counted.txt").write_bytes(MARK + b"red\t7\nblue\t3\n")
    assert counted_items(str(place / "counted.txt"), PLAN.items.domain) == (["red", "blue"], [7, 3])
    (place / "a.plan").write_bytes(MARK + (place / "a.plan").read_bytes())
    assert local.read_plan(place / "a.plan") == PLAN
    (place / "items.txt").write_bytes(MARK + b"red\n" * 5)
    assert "5 items do not fit" not in run("local", "simulate", place / "a.plan", place / "items.txt").out


def test_lines_such_as_30_0_are_whole_numbers() -> None:
    (found,) = item_chunks(io.BytesIO(b"30\n30.0\n30.5\n\nnan\n"), domain.integers(0, 99))
    numbers = local.plan(users=1000, spend=Pure(4), numbers=domain.integers(0, 99), seed=bytes(32)).items
    assert [numbers.code(one) for one in found[0]] == [30, 30, None, None, None]


def test_options_without_effect_are_refused(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("red\ngreen\n")
    asked = ("local", "plan", "--users", 1000, "--spend", "Pure(4)", "--candidates", tmp_path / "list.txt", "--json")
    assert "leave it out" in run(*asked, "--method", "soft").err
    assert run(*asked, "--false-items", 0.2).json["plan"]["method"]["false_items"] == 0.2
    assert "false_items" not in run(*asked).json["plan"]["method"]


def test_what_is_found_is_shown_and_not_obeyed() -> None:
    evil = "a\x1b[31m\n\x9b2Jb\u202e"
    plan = local.plan(users=100_000, spend=Pure(4), items=domain.text(max_bytes=24))
    found = Decoded("popular", Popular((PopularItem(evil, 0.5, 0.01, 9.0),), 0.05, 10), local.Intake(10))
    from collections import Counter

    simulated = Simulated(plan, found, Counter({evil: 5, evil + "\x07": 5}), Counter({evil + "\x08": 2}))
    for text in (found.text(), simulated.text()):
        assert "a\ufffd[31m" in text and not set(text) & set("\x1b\x9b\u202e\x07\x08")
        assert text.count("\n") == text.replace(evil, "").count("\n")
    assert found.to_json()["items"][0]["value"] == evil


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "sfumato", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "local" in done.stdout


def test_files_that_are_missing_are_named(tmp_path: Path) -> None:
    said = run("local", "randomize", tmp_path / "none.plan", "-")
    assert said.code == 2 and "There is no file" in said.err and "write the path of a plan" in said.err
