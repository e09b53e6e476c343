"""One period of a table at the shell, where a ledger limits what a person did in each day or month."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from sfumato.ledger import Ledger
from tests.cli.conftest import Result, run

SCHEMA = """person = "id"
rows_per_person = 2
[columns.at]
type = "date"
earliest = 2025-12-01
latest = 2027-12-31
[columns.shop]
type = "category"
values = ["A", "B"]
missing = "A"
"""
PERIOD = ("--of", "2026-11", "--stamp", "at")


@dataclass(frozen=True)
class Dated:
    """A table of dated rows, its schema, and a ledger that limits days and months."""

    data: Path
    schema: Path
    ledger: Path

    def ask(self, command: str, *words: object, spend: str = "Concentrated(1)") -> Result:
        return run(command, self.data, self.schema, *words, "--ledger", self.ledger, "--spend", spend)

    def used(self, unit: str, slot: str) -> str:
        with Ledger(self.ledger) as book:
            return str(book.spent_in(unit, slot).brief)


@pytest.fixture
def dated(tmp_path: Path) -> Dated:
    days = ("2026-10-31", "2026-11-01", "2026-11-02", "2026-12-01")
    rows = [f"{person},{day},{shop}" for person in range(50) for day, shop in zip(days, "ABBA", strict=True)]
    (tmp_path / "visits.csv").write_text("\n".join(["id,at,shop", *rows]) + "\n")
    (tmp_path / "visits.toml").write_text(SCHEMA)
    found = Dated(tmp_path / "visits.csv", tmp_path / "visits.toml", tmp_path / "visits.ledger")
    units = ("--units", "day=Concentrated(20)", "--units", "month=Concentrated(20)")
    made = run("ledger", "create", found.ledger, "--person", "none", *units, "--schema", found.schema)
    assert made.code == 0 and "no bound over a lifetime" in made.out, made.err
    return found


def test_a_question_about_a_month_is_charged_to_it_and_to_its_days(dated: Dated) -> None:
    told = run("ledger", "preview", dated.ledger, dated.data, dated.schema, "count", *PERIOD, "--spend",
               "Concentrated(1)")  # fmt: skip
    assert told.code == 0 and dated.used("month", "2026-11") == "Used so far 0 of 20.", told.err
    found = dated.ask("query", "count", *PERIOD, "--json")
    assert found.code == 0 and abs(found.json["table"]["value"][0] - 100) < 30, found.err
    assert dated.used("month", "2026-11") == "Used so far 1 of 20."
    assert dated.used("day", "2026-11-30") == "Used so far 4 of 20."
    assert dated.used("month", "2026-12") == "Used so far 0 of 20."
    again = dated.ask("query", "count", *PERIOD, "--json")
    assert again.json["table"] == found.json["table"] and again.json["reused"]
    assert dated.used("month", "2026-11") == "Used so far 1 of 20."


def test_statements_and_conversations_are_about_the_period_too(dated: Dated) -> None:
    counted = dated.ask("sql", "SELECT COUNT(*) AS n FROM data", *PERIOD, "--json")
    assert counted.code == 0 and abs(counted.json["table"]["n"][0] - 100) < 30, counted.err
    assert dated.used("month", "2026-11") == "Used so far 1 of 20."
    talk = dated.ask("converse", "shop = 'B'", "--prior", "even", "--columns", "shop", "--queries", "10", *PERIOD)
    assert talk.code == 0 and dated.used("month", "2026-11") == "Used so far 2 of 20.", talk.err


def test_mistakes_are_told_in_the_words_of_the_shell(dated: Dated) -> None:
    whole = dated.ask("query", "count")
    assert whole.code == 2 and "write --of 2026-11 --stamp at, with the column" in whole.err
    for words in (("--of", "2026-11"), ("--stamp", "at")):
        assert "write both, --of 2026-11 --stamp at, or neither" in dated.ask("query", "count", *words).err
    assert "is the name of no period" in dated.ask("query", "count", "--of", "2026-13", "--stamp", "at").err
    assert "declare it by dates" in dated.ask("query", "count", "--of", "2026-11", "--stamp", "shop").err
    late = dated.ask("query", "count", *PERIOD, spend="Concentrated(6)")
    assert late.code == 1 and "the limit on day 2026-11-01, 24 asked, 20 left" in late.err  # four times a month's
    assert dated.used("month", "2026-11") == "Used so far 0 of 20."
    other = dated.ledger.with_name("other.ledger")
    wrong = run("ledger", "create", other, "--person", "none")
    assert wrong.code == 2 and '--person none --units "day=Pure(1)"' in wrong.err and not other.exists()
    plain = run("ledger", "create", other, "--person", "Pure(1)", "--json")
    assert json.loads(plain.out)["limits"]
    found = run("query", dated.data, dated.schema, "count", "--ledger", other, "--spend", "Pure(1)", *PERIOD)
    assert found.code == 2 and "This ledger has no limit on periods" in found.err and "where at >=" in found.err
