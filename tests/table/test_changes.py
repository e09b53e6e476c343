"""What is read is what was opened: the same files, the same lines, the same cells, whatever happens meanwhile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.errors import SchemaError, Unfinished
from sfumato.table import Schema, csv_files, open_table
from sfumato.table.identity import listed
from sfumato.table.measure import Rows, Totals
from tests.imputed import integers

SCHEMA = Schema({"age": integers(0, 99)}, person="id", row_key=())


def codes(table: Any) -> list[int]:
    return table.view(["age"], table.rule(whole=True)).sorted_codes("age").tolist()


def read(path: Any, schema: Schema = SCHEMA) -> tuple[int, list[int]]:
    with open_table(path, schema) as table:
        return table.people, codes(table)


def test_a_quoted_record_of_many_short_lines_is_a_row_like_any_other(tmp_path: Path) -> None:
    for note in (b"x", b'"' + b"short line\n" * 300_000 + b'"'):
        (tmp_path / "a.csv").write_bytes(b"id,age,note\n1,5,a\n2,6," + note + b"\n3,7,c\n")
        assert read(tmp_path / "a.csv") == (3, [5, 6, 7])


def test_a_last_line_at_the_start_of_a_buffer_is_no_line_less(tmp_path: Path, monkeypatch: Any) -> None:
    """The reader drops one with too few cells there, so it depends on the cells of others; here in buffers of 64 bytes."""
    monkeypatch.setitem(csv_files._OPTIONS, "buffer_size", 64)
    monkeypatch.setattr(csv_files, "_LONGEST", 16)
    outcomes = {}
    for length in range(14, 18):
        (tmp_path / "a.csv").write_bytes(b"a,b\n" + b"1,2\n" * length + b"10")
        try:
            with open_table(tmp_path / "a.csv", Schema({"a": integers(0, 99)})) as table:
                assert len(table.view(["a"], table.rule(whole=True)).sorted_codes("a")) == length + 1
            outcomes[length] = "read"
        except SchemaError as refused:
            assert "one row for each line" in str(refused)
            outcomes[length] = "refused"
    # A reader that drops none any more would leave nothing here that could fail.
    assert outcomes == {14: "read", 15: "refused", 16: "read", 17: "read"}


def test_where_chunks_of_a_file_end_makes_no_difference(tmp_path: Path, monkeypatch: Any) -> None:
    """A file is looked through in parts, and what follows a quote or a return may be in the next one."""
    good = [b'id,age,note\r\n1,5,"a ""b"", c\r\n\r\nd"\r\n2,6,\r\n\r\n3,7,"\xc3\xa4"\r\n', b'id,age\n1,5\n"2","6"\n3,7']
    bad = {b'id,age\n1,5\n2,"6"x\n3,7\n': "a quote inside", b'id,age\n1,5\n2,6"\n3,7\n': "a quote inside"}
    bad |= {b"id,age\n1,5\r2,6\n3,7\n": "carriage return", b'id,age\n1,5\n2,"6\n3,7\n': "never closed"}
    for size in range(1, 60):
        monkeypatch.setattr(csv_files, "_CHUNK", size)
        for content in (*good, *bad):
            (tmp_path / "a.csv").write_bytes(content)
            if content in bad:
                with pytest.raises(SchemaError, match=bad[content]):
                    csv_files.look_through("a.csv", [str(tmp_path / "a.csv")])
            else:
                assert csv_files.look_through("a.csv", [str(tmp_path / "a.csv")]).rows == 3, size


def test_files_of_a_pattern_have_the_same_first_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,age\n1,5\n")
    (tmp_path / "b.csv").write_bytes(b"\xef\xbb\xbfid,age\n2,6")
    assert read(str(tmp_path / "*.csv")) == (2, [5, 6])
    for other in (b"age,id\n6,2\n", b"id;age\n2;6\n", b"id,age,note\n2,6,x\n"):
        (tmp_path / "b.csv").write_bytes(other)
        with pytest.raises(SchemaError, match="different first lines"):
            read(str(tmp_path / "*.csv"))


def test_all_files_that_are_read_are_watched(tmp_path: Path) -> None:
    folder = tmp_path / "d[1]"
    folder.mkdir()
    for name, person in (("a[1].parquet", 1), ("a1.parquet", 2), (".b.parquet", 3)):
        pq.write_table(pa.table({"id": [person], "age": [person]}), folder / name)
    assert read(folder / "a[1].parquet") == (1, [1])
    assert read(folder) == (3, [1, 2, 3])
    for name, person in (("c*.csv", 1), ("c?.csv", 2), ("cd.csv", 3)):
        (tmp_path / name).write_bytes(b"id,age\n%d,%d\n" % (person, person))
        pq.write_table(pa.table({"id": [person], "age": [person]}), tmp_path / f"{name}.pq")
    for name, person in (("c*.csv", 1), ("c?.csv", 2)):
        assert read(tmp_path / name) == read(tmp_path / f"{name}.pq") == (1, [person])
    (tmp_path / "link").symlink_to(folder)
    assert len(listed(str(tmp_path / "**" / "*.parquet"))) == 3
    for source in (str(folder), str(tmp_path / "d*" / "*.parquet")):
        with open_table(source, SCHEMA) as table:
            table.require_unchanged()
            pq.write_table(pa.table({"id": [3, 4], "age": [3, 4]}), folder / ".b.parquet")
            with pytest.raises(SchemaError, match="changed since they were opened"):
                table.require_unchanged()


def test_a_file_that_changes_while_it_is_read_gives_no_answer(tmp_path: Path, monkeypatch: Any) -> None:
    place = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [1, 2], "age": [5, 6]}), place)
    with sf.curate(place, SCHEMA, sf.Pure(1)) as curator:
        asked = Rows.query

        def changed(measure: Rows, view: Any) -> Any:
            pq.write_table(pa.table({"id": [1, 1, 1], "age": [5, 6, 7]}), place)
            return asked(measure, view)

        monkeypatch.setattr(Rows, "query", changed)
        gauge = curator.basis.gauge(Rows(("age",)))
        with pytest.raises(SchemaError, match="changed since they were opened"):
            gauge.read(curator.table)


def test_a_question_whose_file_changes_while_it_is_read_is_free_only_of_the_same_file(
    tmp_path: Path, monkeypatch: Any
) -> None:
    place, ledger, question = tmp_path / "a.parquet", tmp_path / "ledger", sf.Count()
    pq.write_table(pa.table({"id": [1, 2], "age": [5, 6]}), place)
    before, seen = place.read_bytes(), place.stat()
    asked = Totals.query

    def changed(measure: Totals, view: Any) -> Any:
        pq.write_table(pa.table({"id": [1, 2, 3], "age": [5, 6, 7]}), place)
        return asked(measure, view)

    monkeypatch.setattr(Totals, "query", changed)
    told = pytest.raises(Unfinished, match="The data changed while they were read, so nothing was drawn; open them")
    with sf.curate(place, SCHEMA, sf.Pure(1), ledger=ledger) as curator, told:
        curator.ask(question, sf.Pure("1/4"))
    monkeypatch.undo()
    place.write_bytes(before)
    os.utime(place, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    with sf.curate(place, SCHEMA, ledger=ledger) as curator:
        curator.ask(question, sf.Pure("1/4"))
        assert len(curator.ledger.history()) == 1


def test_a_file_in_the_place_of_another_of_the_same_size_and_time_is_noticed(tmp_path: Path) -> None:
    place = tmp_path / "a.csv"
    place.write_bytes(b"id,age\n1,5\n")
    with open_table(place, SCHEMA) as table:
        before = place.stat()
        (tmp_path / "new").write_bytes(b"id,age\n1,6\n")
        os.utime(tmp_path / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
        (tmp_path / "new").replace(place)
        with pytest.raises(SchemaError, match="changed since they were opened"):
            table.require_unchanged()


def test_a_frame_or_a_live_table_that_changes_answers_as_it_was_opened() -> None:
    ids, ages = np.array([1, 2, 3]), np.array([5, 6, 7])
    frames = [
        pd.DataFrame({"id": ids, "age": ages}, copy=False),
        pa.table({"id": pa.array(ids), "age": pa.array(ages)}),
    ]
    for frame in frames:
        ids[:], ages[:] = [1, 2, 3], [5, 6, 7]
        with open_table(frame, SCHEMA) as table:
            ids[:], ages[:] = [1, 1, 1], [90, 91, 92]
            assert (table.people, codes(table)) == (3, [5, 6, 7])
    connection = ibis.duckdb.connect()
    connection.con.execute("CREATE TABLE people AS SELECT * FROM (VALUES (1, 5), (2, 6), (3, 7)) AS t(id, age)")
    with open_table(connection.table("people"), SCHEMA) as table:
        connection.con.execute("INSERT INTO people VALUES (1, 90), (4, 91)")
        connection.con.execute("DELETE FROM people WHERE id = 3")
        assert (table.people, codes(table)) == (3, [5, 6, 7])
    assert connection.con.execute("SELECT count(*) FROM people").fetchall() == [(4,)]
    assert connection.con.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(1,)]
