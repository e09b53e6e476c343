"""Every command in a shell block of the guide runs as it is printed, page by page, beside the files that it names."""

from __future__ import annotations

import base64
import datetime
import json
import re
import shlex
from pathlib import Path

import pandas
import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.cli import app

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if BLOCK.search(page.read_text(encoding="utf-8"))]
TALKING = ("start", "serve")
"""These wait for somebody, and have tests of their own; that their options exist is seen here."""

SCHEMA = """
[columns]
age = {type = "integer", low = 0, high = 120}
decade = {type = "bins", of = "age", step = 20}
sex = {type = "category", values = ["Female", "Male"]}
hours = {type = "integer", low = 0, high = 60}
ward = {type = "category", values = ["a", "b"]}
smokes = {type = "boolean"}
retired = {type = "category", values = ["no", "yes"]}
"""

DATED = """
person = "id"
[columns]
at = {type = "date", earliest = "2025-12-01", latest = "2030-12-31"}
country = {type = "category", values = ["CH", "DE"]}
"""

HOUSE = """
[[dataset]]
name = "adult"
source = "people.parquet"
schema = "people.toml"
ledger = "adult.ledger"
person = "Pure(4)"
"""


def commands(page: Path) -> list[list[str]]:
    """Return the commands of a page, word by word; comments and what comes through a pipe are left out."""
    text = "\n".join(BLOCK.findall(page.read_text(encoding="utf-8"))).replace("\\\n", " ")
    lines = [line.rpartition("| ")[2] for line in text.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.strip().startswith("sfumato ")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = range(600)
    people = pandas.DataFrame(
        {
            "age": [18 + row * 7 % 70 for row in rows],
            "sex": ["Female" if row % 2 else "Male" for row in rows],
            "hours": [row * 11 % 61 for row in rows],
            "ward": ["ab"[row % 2] for row in rows],
            "smokes": [row % 3 == 0 for row in rows],
            "retired": ["yes" if row * 7 % 70 > 47 else "no" for row in rows],
        }
    )
    people.to_csv(tmp_path / "people.csv", index=False)
    people.to_csv(tmp_path / "new-people.csv", index=False)
    people.to_parquet(tmp_path / "people.parquet")
    (tmp_path / "people.toml").write_text(SCHEMA)
    days = [datetime.date(2026, 1, 1 + row % 31) for row in rows]
    visits = pandas.DataFrame({"id": rows, "at": days, "country": [("CH", "DE")[row % 2] for row in rows]})
    visits.to_parquet(tmp_path / "visits.parquet")
    (tmp_path / "dated.toml").write_text(DATED)
    decided = pandas.DataFrame(
        {"sex": people["sex"], "experience": people["age"] - 18, "decision": [row % 2 for row in rows]}
    )
    decided["home"] = [("hill", "sea")[row // 2 % 2] for row in rows]
    decided.head(60).to_csv(tmp_path / "decisions.csv", index=False)
    (tmp_path / "metric.toml").write_text("cap = 1.0\n[weights]\nexperience = 0.1\n")
    (tmp_path / "about.toml").write_text('organisation = "Town hospital"\n')
    (tmp_path / "house.toml").write_text(HOUSE)
    words = [["sun", "moon", "star"][row % 3] for row in rows]
    (tmp_path / "items.txt").write_text("\n".join(words))
    (tmp_path / "known.txt").write_text("sun\nmoon\n")
    (tmp_path / "words.tsv").write_text("sun\t60000\nmoon\t40000\nstar\t100000\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(words: list[str], given: bytes | None = None) -> None:
    done = CliRunner().invoke(app, words, input=given)
    # An audit that raises something ends with 3, as its page says.
    assert done.exit_code == 0 or (words[0] == "fair" and done.exit_code == 3), (
        f"sfumato {shlex.join(words)}\n{done.output}{done.stderr}"
    )


def with_ledger(limit: str) -> None:
    run(["ledger", "create", "people.ledger", "--person", limit, "--schema", "people.toml"])


def collected(words: list[str]) -> None:
    """Collect something, where a page says that another process did, and copy it to files that somebody merges."""
    if not Path("collected").exists():
        run(["local", "randomize", "words.plan", "items.txt", "--out", "day1.jsonl"])
        run(["local", "collect", "collected", "day1.jsonl", "--plan", "words.plan"])
    reports = [json.loads(line) for line in Path("day1.jsonl").read_text().splitlines()]
    for name in words:
        if name.endswith(".parquet"):
            table = pandas.DataFrame(reports)
            table["report"], table["id"] = table["report"].map(base64.b64decode), table["id"].map(bytes.fromhex)
            table.to_parquet(name)


def _with_head(words: list[str]) -> list[str]:
    """Put the head of the ledger where a page says that somebody wrote one down."""
    if "HEAD" not in words:
        return words
    with sfumato.Ledger("people.ledger") as kept:
        return [str(kept.head) if word == "HEAD" else word for word in words]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_commands_of_a_page_run(page: Path, folder: Path) -> None:
    asked = commands(page)
    if any("people.ledger" in words for words in asked) and not any("create" in words for words in asked):
        with_ledger("Pure(3)")
    for words in asked:
        if set(words) & set(TALKING):
            shown = CliRunner().invoke(app, [*words[: 2 if words[0] == "local" else 1], "--help"]).output
            assert all(word in shown for word in words if word.startswith("--"))
            continue
        if words[0] == "init":
            (folder / "people.toml").unlink()
        if words[:2] == ["local", "decode"]:
            collected(words)
        run(_with_head(words), (folder / "day1.jsonl").read_bytes() if words[-1] == "-" else None)
        if words[0] == "init":
            (folder / "people.toml").write_text(SCHEMA)
