"""What a page POSTs, made by Node, reaches the HTTP collector and counts once."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sfumato import local
from sfumato.local.browser import copy_client
from tests.local.collecting import COLOURS

testclient = pytest.importorskip("fastapi.testclient", reason="NO FASTAPI: what pages send is not tested.")

from sfumato.serve import collector_app  # noqa: E402

HERE = Path(__file__).parent / "browser"
AS_JSON = {"Content-Type": "application/json"}
ID = bytes(range(16))


def made_by_node(site: Path, plan: str, items: list[str]) -> Any:
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed; apt-get install nodejs")
    for name in ("check.mjs", "run.mjs"):
        shutil.copyfile(HERE / name, site / name)
    copy_client(site / "client")
    given = json.dumps({"plan": plan, "items": items, "id": ID.hex()})
    command = [program, str(site / "run.mjs"), "envelopes"]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_a_page_sends_is_counted_once_however_often_it_is_sent(tmp_path: Path) -> None:
    with testclient.TestClient(collector_app(tmp_path / "collected", COLOURS)) as collector:
        made = made_by_node(tmp_path, collector.get("/plan").text, ["red", "green", "no colour"])
        for line in made["lines"]:
            said = collector.post("/reports", content=line, headers=AS_JSON)
            assert said.status_code == 200 and said.json()["accepted"] == 1
        again = collector.post("/reports", content="".join(made["lines"]), headers=AS_JSON).json()
        assert (again["accepted"], again["duplicates"], sum(again["refused"].values())) == (0, 3, 0)
        counted = local.read_collection(tmp_path / "collected")
        assert (counted.intake.accepted, int(counted.server.counts.sum())) == (3, 3)
    assert len({json.loads(line)["id"] for line in made["lines"]}) == 3


def test_the_page_writes_the_line_that_python_writes(tmp_path: Path) -> None:
    plan = COLOURS.save(tmp_path / "a.plan").read_text()
    made = made_by_node(tmp_path, plan, ["red"])
    assert made["sent"]["line"].encode() == local.envelope(bytes.fromhex(made["sent"]["report"]), id=ID)
    report, short, text = made["refused"]
    assert "as client.report(item) returned it" in report
    assert all("16 bytes; leave it out" in told for told in (short, text))


def test_the_guide_sends_what_the_collector_reads() -> None:
    """The page shows an envelope with its type; a bare report is answered 415."""
    page = (Path(__file__).parents[2] / "docs" / "local-browser.md").read_text()
    sent = page.split('await fetch("/reports"')[1].split("});")[0]
    assert '"Content-Type": "application/json"' in sent and "body: line" in sent
