from __future__ import annotations

import pytest

from sfumato.table.repair import repaired
from sfumato.table.source import open_source
from tests.table.hostile import CELLS, UNSIGNED_CELLS, expected_codes, hostile_table


@pytest.mark.parametrize("cells", [*CELLS, *UNSIGNED_CELLS])
def test_duckdb_repairs_every_hostile_cell_as_python_does(cells: str) -> None:
    table, schema = hostile_table(cells)
    source = open_source(table)
    codes = repaired(source.table, schema).to_pyarrow().to_pydict()
    source.close()
    expected = expected_codes(table, schema)
    for name in schema.names:
        raw = table.column(schema.base(name)).to_pylist()
        wrong = [
            (cell, got, want) for cell, got, want in zip(raw, codes[name], expected[name], strict=True) if got != want
        ]
        assert not wrong, (name, wrong)
