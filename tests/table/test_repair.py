from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sfumato.table.repair import repaired
from sfumato.table.source import open_source
from tests.table.hostile import CELLS, UNSIGNED_CELLS, expected_codes, hostile_table

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
@pytest.mark.parametrize("cells", [*CELLS, *UNSIGNED_CELLS])
def test_duckdb_repairs_every_hostile_cell_as_python_does(cells: str, kind: str, tmp_path: Path) -> None:
    table, schema = hostile_table(cells)
    pq.write_table(table, tmp_path / "hostile.parquet")
    source = open_source(table if kind == "arrow" else tmp_path / "hostile.parquet")
    codes = repaired(source.table, schema).to_pyarrow().to_pydict()
    source.close()
    expected = expected_codes(table, schema)
    for name in schema.names:
        raw = table.column(schema.base(name)).to_pylist()
        pairs = zip(raw, codes[name], expected[name], strict=True)
        assert not [(cell, got, want) for cell, got, want in pairs if got != want], name


@pytest.mark.parametrize("cells", [*CELLS, *UNSIGNED_CELLS])
def test_a_cell_is_repaired_the_same_alone_and_in_company(cells: str, tmp_path: Path) -> None:
    """Engines plan from statistics of the whole file; the repair of one cell must not follow them."""
    table, schema = hostile_table(cells)
    expected = expected_codes(table, schema)
    for place in range(0, table.num_rows, 9):
        pq.write_table(table.slice(place, 1), tmp_path / "alone.parquet")
        source = open_source(tmp_path / "alone.parquet")
        codes = repaired(source.table, schema).to_pyarrow().to_pydict()
        source.close()
        assert {name: found[0] for name, found in codes.items()} == {
            name: all_[place] for name, all_ in expected.items()
        }
