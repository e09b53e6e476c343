"""What a draw needs is loaded before anything is reserved: a package that is missing costs nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import sys
import pyarrow, sfumato as sf
rows = pyarrow.table({"age": list(range(100)) * 20, "ill": [True, False] * 1000})
schema = sf.Schema({"age": sf.integers(0, 99), "ill": sf.booleans()})
with sf.curate(rows, schema, sf.Pure(9)) as curator:
    sys.modules[MISSING] = None
    try:
        ASK
    except ImportError as missing:
        print(missing.name.partition(".")[0], len(list(curator.ledger.history())))
"""


@pytest.mark.parametrize(
    ("missing", "asked"),
    [
        ("cryptography", "curator.count(where='ill = true', spend=sf.Pure(1))"),
        ("cryptography", "curator.converse(['ill'], queries=10, spend=sf.Pure(1))"),
        ("threadpoolctl", "curator.synthesize(spend=sf.Pure(1))"),
    ],
)
def test_a_package_that_a_draw_needs_is_missed_before_anything_is_reserved(missing: str, asked: str) -> None:
    code = CODE.replace("MISSING", repr(missing)).replace("ASK", asked)
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == [missing, "0"]
