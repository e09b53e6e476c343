"""The demo tells its story to the end, on real data."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ADULT = Path(__file__).resolve().parents[2] / "examples" / "adult.py"


def test_the_demo_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    story = runpy.run_path(str(ADULT))
    main = story["main"]
    main.__globals__["OUT"] = tmp_path / "out"
    main()
    told = capsys.readouterr().out
    assert "Refused before the data were touched" in told and "reused, free: True" in told and "0 problems" in told
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"report.html", "adult.ledger", "decades.svg", "groups.svg"} <= written
