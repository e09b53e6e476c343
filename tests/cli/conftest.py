"""A small table, its schema and a fresh ledger for every test."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from sfumato import Pure
from sfumato.cli import app
from sfumato.domain import bins
from sfumato.ledger import Budget, Ledger
from sfumato.table.schema import Schema
from tests.imputed import categories, integers

SCHEMA = Schema(
    {
        "age": integers(0, 99),
        "decade": bins("age", step=10),
        "sex": categories("Female", "Male"),
        "hours": integers(0, 60),
    }
)


@dataclass(frozen=True)
class Result:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Place:
    """Paths of a table, its schema and its ledger, and how to run commands on them."""

    data: Path
    schema: Path
    ledger: Path
    run: Callable[..., Result]

    def query(self, question: str, *options: str, spend: str | None = "Pure(0.1)") -> Result:
        paid = [] if spend is None else ["--spend", spend]
        return self.run("query", self.data, self.schema, question, "--ledger", self.ledger, *paid, *options)

    def spent(self) -> list[str]:
        """Return what was asked and what every limit has used; a number for a file that is seen first costs nothing."""
        with Ledger(self.ledger) as ledger:
            return [*map(repr, ledger.history()), *map(str, ledger.readings())]


def run(*arguments: object) -> Result:
    found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return Result(found.exit_code, found.stdout, found.stderr)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    rows = {"age": [20 + row % 60 for row in range(300)], "sex": ["Female", "Male", "?"] * 100, "hours": [40, 99] * 150}
    pyarrow.parquet.write_table(pyarrow.table(rows), tmp_path / "people.parquet")
    (tmp_path / "people.toml").write_text(SCHEMA.to_toml())
    budget = Budget(Pure(2), Pure(1), secrets=SCHEMA.secrets)
    Ledger(tmp_path / "people.ledger", budget, schema=SCHEMA.fingerprint).close()
    return Place(tmp_path / "people.parquet", tmp_path / "people.toml", tmp_path / "people.ledger", run)
