"""Folders that name a column: what one of them is called changes nobody else's cells."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow
import pyarrow.parquet

import sfumato as sf
from sfumato import Pure
from sfumato.table.postgres import _split


def test_the_name_of_a_folder_decides_about_its_own_rows_alone(tmp_path: Path) -> None:
    def days(*names: str) -> list[int]:
        place = tmp_path / str(len(names))
        for name in names:
            (place / f"day={name}").mkdir(parents=True)
            pyarrow.parquet.write_table(pyarrow.table({"x": [1] * 5}), place / f"day={name}" / "a.parquet")
        schema = sf.Schema({"day": sf.integers(1, 3), "x": sf.integers(0, 1)})
        with sf.curate(str(place / "**" / "*.parquet"), schema, Pure(10**6)) as curator:
            return [round(value) for value in curator.histogram("day", spend=Pure(10**5)).value["count"]]

    assert days("1", "2")[:3] == days("1", "2", "unknown")[:3] == [5, 5, 0]


def test_a_byte_order_mark_stays_in_the_cell_that_has_it() -> None:
    mark = "\ufeffa".encode()
    first = _split(mark + b"\t1\nb\t2\n", 2)[0].to_pylist()
    later = _split(b"b\t2\n" + mark + b"\t1\n", 2)[0].to_pylist()
    assert first == later[::-1] == [mark, b"b"]
    assert _split(b"\n" + mark + b"\n", 1)[0].to_pylist() == [b"", mark]


def test_threads_of_one_curator_get_their_own_answers() -> None:
    rows = pyarrow.table({"x": list(range(100)) * 20, "y": [7] * 2000})
    schema = sf.Schema({"x": sf.integers(0, 99), "y": sf.integers(0, 9)})
    wrong: list[object] = []
    with sf.curate(rows, schema, Pure(10**9)) as curator:

        def ask(start: int) -> None:
            for number in range(start, start + 12):
                found = curator.count(f"x >= {number}", spend=Pure(10**5)).value
                if found != 20 * (100 - number):
                    wrong.append((number, found))

        threads = [threading.Thread(target=ask, args=(start,)) for start in (0, 20, 40)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert not wrong
