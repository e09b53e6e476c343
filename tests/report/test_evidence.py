"""The evidence package says what the ledger holds, leaves open what only people know, and notices a broken chain."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest
import yaml

from sfumato import ADD_REMOVE, Approximate, Budget, Concentrated, Pure, Truncated
from sfumato.errors import ParameterError
from sfumato.ledger import Ledger
from sfumato.report import evidence
from sfumato.report.evidence import ABOUT, KINDS, readable
from tests.cli.conftest import Place, place, run

__all__ = ["place"]  # a fixture of the command line's tests

WRITTEN = {"deployment.json", "deployment.yaml", "evidence.html", "report.html"}


@pytest.fixture
def asked(place: Place) -> Place:
    assert place.query("mean of hours by sex where age > 30", spend="Pure(0.2)").code == 0
    assert place.query("histogram of sex", spend="Pure(0.1)").code == 0
    return place


def test_the_package_is_written_from_the_ledger_alone(asked: Place, tmp_path: Path) -> None:
    about = tmp_path / "about.toml"
    about.write_text('organisation = "Town hospital"\npeople = 300\nretention = "two years"\n')
    asked.data.unlink()
    before = asked.spent()
    found = run("evidence", asked.ledger, "--out", tmp_path / "package", "--about", about, "--no", "membership")
    assert found.code == 0, found.err
    assert {path.name for path in (tmp_path / "package").iterdir()} == WRITTEN
    assert asked.spent() == before
    record = json.loads((tmp_path / "package" / "deployment.json").read_text())
    assert record["deployment"]["organisation"] == "Town hospital" and record["deployment"]["purpose"] is None
    assert record["guarantee"]["person"]["bound"] == "Pure(2)" and record["guarantee"]["relation"] == "replace_one"
    assert [release["name"].split()[0] for release in record["releases"]] == ["GroupBy", "Histogram"]
    laws = {mechanism["law"]["name"] for mechanism in record["mechanisms"]}
    assert laws == {"DiscreteLaplace"} and len(record["mechanisms"]) == 2
    with Ledger(asked.ledger) as ledger:
        sound = {"ok": True, "head": ledger.head, "problems": []}
    assert record["verification"] == {**record["verification"], **sound}
    assert "purpose" in record["open"] and "organisation" not in record["open"]
    assert record["data"]["attributes"] == ["age", "hours", "sex"] and record["data"]["rules"]


def test_yaml_and_json_say_the_same(asked: Place) -> None:
    with Ledger(asked.ledger) as ledger:
        found = evidence(ledger, {"name": 'a "name": with\nodd – signs # and - dashes', "people": 3})
    assert yaml.safe_load(found.yaml()) == readable(found.to_json())
    assert not re.search(r"[0-9]{9}/|/[0-9]{9}", found.yaml())


def test_what_is_printed_is_a_summary(asked: Place) -> None:
    with Ledger(asked.ledger) as ledger:
        printed = str(evidence(ledger, {"name": "hours"}))
    assert len(printed) < 1000 and "is ok" in printed and "To be filled in: organisation" in printed


def test_every_question_is_answered_or_open(asked: Place) -> None:
    with Ledger(asked.ledger) as ledger:
        nothing, all_said = evidence(ledger), evidence(ledger, dict.fromkeys(ABOUT, "said"))
    assert {one.by for one in nothing.questions} == {"ledger", "software", "you"}
    assert all((one.answer is None) is (one.by == "you") for one in nothing.questions)
    assert all(one.answer for one in all_said.questions) and not all_said.open
    assert "to be filled in" in nothing.html() and "to be filled in" not in all_said.html()
    assert "http" not in nothing.html().replace("http://www.w3.org", "")


def test_an_answer_that_blocks_figures_per_attribute_blocks_them_here(asked: Place) -> None:
    blocked = run("evidence", asked.ledger, "--yes", "membership", "--json").json
    assert blocked["guarantee"]["attributes"] == [] and blocked["guarantee"]["blocked_by"] == ["membership"]
    assert all("attributes" not in release for release in blocked["releases"])


def test_a_broken_chain_is_said_and_ends_with_3(asked: Place, tmp_path: Path) -> None:
    with sqlite3.connect(asked.ledger) as raw:
        raw.execute("UPDATE sfumato_row SET body = replace(body, '1/10', '1/99') WHERE kind = 'reserved'")
    raw.close()
    found = run("evidence", asked.ledger, "--out", tmp_path / "package")
    assert found.code == 3 and "broken" in found.out
    assert "does not verify" in (tmp_path / "package" / "evidence.html").read_text()


def test_mistakes(asked: Place, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("x")
    assert "not empty" in run("evidence", asked.ledger, "--out", tmp_path / "full").err
    (tmp_path / "about.toml").write_text('organization = "x"')
    assert "did you mean 'organisation'" in run("evidence", asked.ledger, "--about", tmp_path / "about.toml").err
    with Ledger(asked.ledger) as ledger, pytest.raises(ParameterError, match="no question"):
        evidence(ledger, answers={"nothing": True})


@pytest.mark.parametrize("bound", [Pure(1), Concentrated(1), Truncated(1, 20), Approximate(1, "1e-6")])
def test_every_kind_of_limit_is_named(bound: Pure) -> None:
    found = evidence(Ledger(None, Budget(person=bound), relation=ADD_REMOVE))
    assert found.kind == KINDS[type(bound)] and "added or removed" in json.dumps(found.to_json())


def test_tables_of_one_mechanism_are_listed_with_their_noise(asked: Place, tmp_path: Path) -> None:
    """Synthetic rows come from several tables, which are parts without a name."""
    assert asked.query("synthesize age, sex, hours", spend="Pure(0.5)").code == 0
    found = run("evidence", asked.ledger, "--out", tmp_path / "package")
    assert found.code == 0, found.err
    record = json.loads((tmp_path / "package" / "deployment.json").read_text())
    assert all(mechanism["name"] and mechanism["law"]["name"] for mechanism in record["mechanisms"])
    assert "rows are replaced by others" in (tmp_path / "package" / "evidence.html").read_text()
