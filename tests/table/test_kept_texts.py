"""A query is written in SQL once for rows of the same types, and answers about the rows that it is asked of."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sfumato import Histogram, Pure, Schema, categories, curate, integers, text
from sfumato.table import engine
from sfumato.table.engine import Source

SCHEMA = Schema({"age": integers(0, 99), "job": categories("a", "b")})


def table_of(*ages: int) -> pa.Table:
    return pa.table({"age": list(ages), "job": ["a", "b"] * (len(ages) // 2)})


def test_the_same_question_of_other_rows_is_written_once_and_answered_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    engine._texts.clear()
    compiled: list[str] = []
    text_of = Source._text

    def noted(source: Source, query: object) -> object:
        known = len(engine._texts)
        found = text_of(source, query)  # type: ignore[arg-type]
        compiled.extend(["written"] if len(engine._texts) > known else [])
        return found

    monkeypatch.setattr(Source, "_text", noted)
    found = []
    for ages in ((20, 50, 70, 71), (20, 30, 35, 36), (60, 61, 62, 63)):
        with curate(table_of(*ages), SCHEMA, Pure(10**6)) as curator:
            found.append(round(curator.count("age > 40", spend=Pure(10**5)).value))
    assert found == [3, 0, 4]
    assert compiled == ["written"]
    with curate(table_of(1, 2, 3, 4), SCHEMA, Pure(10**6)) as curator:
        assert round(curator.count("age > 41", spend=Pure(10**5)).value) == 0  # another condition is another text
    assert compiled == ["written"] * 2


def test_a_condition_that_holds_the_name_of_rows_stays_as_it_is() -> None:
    """Its text is not kept, so that no other name is put into it."""
    schema, seen = Schema({"word": text(max_bytes=40)}), 0
    for _ in range(3):
        first = int(engine.fresh_name().removeprefix("sfumato_"))
        names = [f"sfumato_{number}" for number in range(first, first + 40)]
        words = [word for name in names for word in (name, f'"{name}"')]
        with curate(pa.table({"word": words}), schema, Pure(10**9)) as curator:
            coded = curator.table._coded.get_name()
            for word in (coded, f'"{coded}"'):
                seen += word in words
                assert round(curator.count(f"word = '{word}'", spend=Pure(10**5)).value) == 1
    assert seen == 6


def test_texts_of_other_types_are_others() -> None:
    """The same question of a column that another table holds as other types is compiled for itself."""
    rows = {"numbers": pa.array([1, 5, 7, 9], pa.int64()), "texts": pa.array(["1", "5", "7", "9"])}
    plain = Schema({"age": integers(0, 9, missing=0)})
    for kind in ("numbers", "texts", "numbers"):
        with curate(pa.table({"age": rows[kind]}), plain, Pure(10**6)) as curator:
            counts = curator.ask(Histogram("age"), Pure(10**5)).value
            assert [round(count) for count in counts["count"]] == [0, 1, 0, 0, 0, 1, 0, 1, 0, 1]
