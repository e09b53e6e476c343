"""Every line of the grammar and of what is refused, with its sentence: `accepted.txt` and `refused.txt`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sfumato.errors import SfumatoError
from sfumato.sql.select import Select, compiled
from sfumato.sql.statement import read_statement
from tests.sql.test_statements import DATABASE, open_database, tables

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def database() -> Any:
    with open_database(tables(), DATABASE) as opened:
        return opened.database


def listed(name: str) -> Iterator[tuple[str, str, str]]:
    """Yield heading, statement and, where there is one, the sentence below it."""
    heading, lines = "", (HERE / name).read_text(encoding="utf-8").splitlines()
    for place, line in enumerate(lines):
        after = lines[place + 1] if place + 1 < len(lines) else ""
        if line.startswith("# "):
            heading = line
        elif not line.startswith("  "):
            yield heading, line, after.strip() if after.startswith("  ") else ""


def _each_twice(found: list[tuple[str, str, str]]) -> bool:
    headings = [heading for heading, _, _ in found]
    return min(headings.count(one) for one in set(headings)) >= 2 and len(set(found)) == len(found)


def test_every_line_of_the_grammar_is_understood_and_its_canonical_form_means_itself(database: Any) -> None:
    found = list(listed("accepted.txt"))
    assert len(found) >= 120 and _each_twice(found)
    for _, text, _ in found:
        statement = read_statement(text, database)
        statement.spend(None)
        assert compiled(statement.sql, database).text() == statement.sql, text
        for select in statement.selects:
            assert select.canonical(database) == select, text


def test_everything_else_is_refused_with_its_sentence(database: Any) -> None:
    found = list(listed("refused.txt"))
    assert len(found) >= 250 and _each_twice(found)
    for _, text, said in found:
        with pytest.raises(SfumatoError) as refused:
            read_statement(text, database).spend(None)
        assert str(refused.value) == said, text


@pytest.mark.parametrize(
    "more",
    ["HAVING n > 3", "ORDER BY n", "LIMIT 3"],
)
def test_a_question_alone_drops_no_word(database: Any, more: str) -> None:
    plain = "SELECT kind, COUNT(*) AS n FROM visits GROUP BY kind"
    assert Select(plain).canonical(database).statement.startswith("SELECT visits.kind, COUNT(*)")
    for text in (
        f"{plain} {more}",
        f"EXPLAIN {plain}",
        f"SELECT n FROM ({plain}) AS t",
        plain.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1)"),
        plain.replace("COUNT(*) AS n", "COUNT(*) + 1 AS n"),
    ):
        with pytest.raises(SfumatoError, match=r"curator\.sql"):
            Select(text).canonical(database)


def test_bad_text_is_refused_once(database: Any) -> None:
    deep = "SELECT SUM(" + "(" * 60 + "cost" + ")" * 60 + ") FROM visits"
    for text in ("", " ", ";", "SELECT COUNT(*) FROM visits\x00", "SELECT COUNT(*) FROM visits " + " " * 20_000, deep):
        with pytest.raises(SfumatoError):
            read_statement(text, database)
    for text in (None, 3, b"SELECT COUNT(*) FROM visits", ["SELECT"]):
        with pytest.raises(SfumatoError):
            read_statement(text, database)  # type: ignore[arg-type]
