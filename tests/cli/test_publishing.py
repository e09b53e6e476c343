"""`sfumato publish`: what each command prints, and how it ends."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app
from sfumato.ledger import Ledger
from tests.publish.sample import FILE, prepare

ALONE = FILE.split("[[table]]")[0] + "[[table]]" + FILE.split("[[table]]")[1]


@pytest.fixture
def shell(tmp_path):
    path = prepare(tmp_path, text=ALONE)

    def run(*arguments):
        return CliRunner().invoke(app, ["publish", arguments[0], str(path), *arguments[1:]])

    return run


def test_a_publication_from_plan_to_verification(shell, tmp_path):
    assert "Each person is protected for each day" in shell("plan").stdout
    assert "Nothing is due." in shell("run", "--today", "2026-01-01").stdout
    done = shell("run", "--today", "2026-02-01", "--period", "2026-01-02", "--json")
    assert json.loads(done.stdout) == [{"unit": "day", "period": "2026-01-02", "state": "done"}]
    filled = shell("backfill", "--from", "2026-01-01", "--to", "2026-01-03", "--today", "2026-02-01")
    assert filled.stdout.splitlines() == ["day 2026-01-01: done", "day 2026-01-03: done"]
    assert shell("status", "--today", "2026-02-01").stdout.splitlines()[3] == "day 2026-01-04: due"
    assert "3 periods" in shell("verify").stdout
    (tmp_path / "out/visits/period=2026-01-02/countries.csv").write_text("")
    found = shell("verify")
    assert found.exit_code == 3 and "not what was stored" in found.stdout


def test_a_ledger_shows_what_periods_are_promised_and_how_many_have_spent_what(shell, tmp_path):
    shell("run", "--today", "2026-02-01", "--period", "2026-01-02")
    place = str(tmp_path / "visits.ledger")
    shown = CliRunner().invoke(app, ["ledger", "show", place]).stdout
    assert "Each day of each person on its own" in shown and "There is no bound over a lifetime" in shown
    assert "1 day was charged, 2026-01-02: 0.5 of 1 is used (50 % of the limit)." in shown
    assert "No limit of this ledger" not in shown and "Limits\n" not in shown
    told = json.loads(CliRunner().invoke(app, ["ledger", "show", place, "--json"]).stdout)
    assert told["periods"][0]["periods"] == {"2026-01-02": 50} and "Each day" in told["units"][0]


def test_a_ledger_that_was_put_back_or_lost_publishes_nothing_twice(shell, tmp_path):
    """What was spent is missing there: another draw of the same day would not be paid for."""
    ledger = tmp_path / "visits.ledger"
    shell("run", "--today", "2026-01-02")
    older = ledger.read_bytes()
    shell("run", "--today", "2026-01-03")
    newest, there = ledger.read_bytes(), (tmp_path / "out/visits/period=2026-01-02/countries.csv").read_bytes()
    for place in (lambda: ledger.write_bytes(older), ledger.unlink):
        place()
        refused, checked = shell("run", "--today", "2026-01-04"), shell("verify")
        assert refused.exit_code != 0 and "knows nothing of it: it is an older copy" in refused.stderr
        assert checked.exit_code == 3 and "put the newest back" in checked.stdout
        with Ledger(ledger) as book:
            assert all(entry.id != "pub/visits/2026-01-02" for entry in book.history())
    ledger.write_bytes(newest)
    assert shell("run", "--today", "2026-01-04").stdout == "day 2026-01-03: done\n" and shell("verify").exit_code == 0
    assert (tmp_path / "out/visits/period=2026-01-02/countries.csv").read_bytes() == there


def test_what_makes_no_sense_is_said(shell):
    assert shell("verify").stdout == "Nothing was published yet, and the ledger is as it was written.\n"
    shell("run", "--today", "2026-01-02")
    for arguments, said in (
        (["backfill", "--from", "soon", "--to", "2026-01-02"], "write from = '2026-01-01'"),
        (["backfill", "--from", "2026-01-02", "--to", "2026-01-01"], "write the earlier day first"),
        (["run", "--give-up", "soon"], "no period that was begun"),
        (["run", "--give-up", "2026-01-01"], "no period that waits to be finished"),
        (["run", "--again", "2026-01-01", "--period", "2026-01-01"], "write one of them"),
    ):
        found = shell(*arguments)
        assert found.exit_code == 2 and said in found.stderr


def test_how_commands_end(shell, tmp_path):
    bad = shell("run", "--today", "soon")
    assert bad.exit_code == 2 and "no day" in bad.stderr
    assert shell("run", "--period", "2026-01-09", "--today", "2026-02-01").exit_code == 2
    path = tmp_path / "visits.toml"
    (tmp_path / "visits.ledger").unlink()
    path.write_text(path.read_text().replace("Concentrated(1)", "Concentrated(0.1)"))
    refused = shell("run", "--today", "2026-02-01")
    assert refused.exit_code == 1 and "day 2026-01-01" in refused.stderr
    path.write_text(path.read_text().replace("stamp =", "stmap ="))
    assert "did you mean 'stamp'" in shell("plan").stderr
