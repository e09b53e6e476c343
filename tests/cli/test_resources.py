"""What a command may use of the machine: said in its help, and handed to the engine that it opens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sfumato.cli.hints import in_shell
from sfumato.table.resources import Resources
from tests.cli.conftest import Place
from tests.publish.sample import prepare

OPENING = {
    "query": "{data} {schema} count --ledger {ledger} --spend Pure(0.1)",
    "learn": "{data} {schema} sex --from age --ledger {ledger} --spend Pure(0.5)",
    "sql": "{data} {schema} SELECT_COUNT --ledger {ledger} --spend Pure(0.1)",
    "converse": "{data} {schema} age>50 --columns age,sex --prior even --ledger {ledger} --spend Approximate(1,1e-6)",
    "check": "{data} {schema}",
    "init": "{data} --look",
    "ledger preview": "{ledger} {data} {schema} count --spend Pure(0.1)",
}


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> list[Resources]:
    """Return a list of what engines were told."""
    told: list[Resources] = []
    apply = Resources.apply

    def listening(self: Resources, engine: Any) -> Any:
        closer = apply(self, engine)
        if self.memory_limit is None:
            return closer  # of rows that are made up
        told.append(self)
        asked = "SELECT current_setting('memory_limit'), current_setting('temp_directory')"
        memory, place = engine.con.execute(asked).fetchone()
        assert memory == "1.0 GiB" and Path(place).parent == self.temp_directory
        return closer

    monkeypatch.setattr(Resources, "apply", listening)
    return told


@pytest.mark.parametrize("command", OPENING)
def test_a_command_tells_the_engine_what_it_may_use(
    command: str, place: Place, tmp_path: Path, applied: list[Resources]
) -> None:
    fast = tmp_path / "fast"
    fast.mkdir()
    words = OPENING[command].format(data=place.data, schema=place.schema, ledger=place.ledger).split()
    words = ["SELECT COUNT(*) FROM data" if word == "SELECT_COUNT" else word for word in words]
    found = place.run(*command.split(), *words, "--memory-limit", "1GB", "--temp-directory", fast)
    assert applied and {one.memory for one in applied} == {2**30}, found.err
    assert list(fast.iterdir()) == []  # all is removed where the command ends
    helped = place.run(*command.split(), "--help").out
    assert "--memory-limit" in helped and "--temp-directory" in helped


def test_publishing_takes_them_too(place: Place, tmp_path: Path, applied: list[Resources]) -> None:
    fast = tmp_path / "fast"
    fast.mkdir()
    for command in ("run", "backfill"):
        helped = place.run("publish", command, "--help").out
        assert "--memory-limit" in helped and "--temp-directory" in helped and "--most-rows" in helped
    said = ["--memory-limit", "1GB", "--temp-directory", fast, "--most-rows", "1000", "--today", "2026-02-01"]
    found = place.run("publish", "run", prepare(tmp_path), *said)
    assert found.code == 0, found.err
    assert {(one.memory, one.most_rows) for one in applied if one.most_rows} == {(2**30, 1000)}


def test_what_is_wrong_is_said_in_the_words_of_the_shell(place: Place, tmp_path: Path) -> None:
    before = place.spent()
    found = place.query("count", "--most-rows", "0")
    assert found.code == 2 and "most_rows" in found.err.replace("--most-rows", "most_rows")
    found = place.query("count", "--temp-directory", str(tmp_path / "nowhere"))
    assert found.code == 2 and "--temp-directory" in found.err and "make it first" in found.err
    found = place.query("count", "--memory-limit", "much")
    assert found.code == 2 and "8GB" in found.err
    assert place.spent() == before
    assert in_shell("Set a larger memory_limit=, or raise memory_limit= here.").count("--memory-limit") == 2
