from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow
import pyarrow.parquet as pq
import pytest

from sfumato import Budget, Pure, curate
from sfumato.cli.checking import check_table
from sfumato.domain import categories, integers
from sfumato.table import Schema, open_table
from sfumato.table.cells import FEW_LABELS
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


@pytest.mark.parametrize("step", [45, pytest.param(9, marks=pytest.mark.audit)])
@pytest.mark.parametrize("cells", [*CELLS, *UNSIGNED_CELLS])
def test_a_cell_is_repaired_the_same_alone_and_in_company(cells: str, step: int, tmp_path: Path) -> None:
    """Engines plan from statistics of the whole file; the repair of one cell must not follow them."""
    table, schema = hostile_table(cells)
    expected = expected_codes(table, schema)
    for place in range(0, table.num_rows, step):
        pq.write_table(table.slice(place, 1), tmp_path / "alone.parquet")
        source = open_source(tmp_path / "alone.parquet")
        codes = repaired(source.table, schema).to_pyarrow().to_pydict()
        source.close()
        assert {name: found[0] for name, found in codes.items()} == {
            name: all_[place] for name, all_ in expected.items()
        }


LABELS = ("ä", "b'\\x", "", "\\xC3", "'; --")
"""Labels that a careless spelling of bytes would mix up."""


@pytest.mark.parametrize("count", [1, FEW_LABELS, FEW_LABELS + 1])
@pytest.mark.parametrize("missing", [None, LABELS[0]])
def test_categories_in_memory_are_compared_byte_by_byte_and_read_as_in_a_file(
    count: int, missing: str | None, tmp_path: Path
) -> None:
    """Few labels are compared with the bytes as they come, more are looked up as text: the codes are the same."""
    schema = Schema({"label": categories(*LABELS[:count], missing=missing)})
    domain = schema.domain("label")
    texts = [*LABELS, "Ä", "b", " ", "\0", "ä\0", "A\u0308", None]
    no_texts = [b"\xff", b"\xc3", b"\xc3\x28"]
    cells = [None if text is None else text.encode() for text in texts] + no_texts
    table = pyarrow.table({"label": pyarrow.array(cells, pyarrow.binary())})
    pq.write_table(table, tmp_path / "labels.parquet")
    wanted = Counter([*map(domain.encode, texts), *(domain.encode("no such label") for _ in no_texts)])
    for source in (table, tmp_path / "labels.parquet"):
        with open_table(source, schema) as opened:
            counts = opened.view(["label"]).counts(["label"])
        assert dict(enumerate(counts.tolist())) == {code: wanted[code] for code in range(len(counts))}
        (found,) = check_table(source, schema).columns
        assert (found.missing, found.outside) == (1, len(cells) - 1 - count)


@pytest.mark.parametrize("more", [{}, {"person": "id"}, {"person": "id", "rows_per_person": 2}])
def test_columns_may_have_the_names_that_functions_give_their_arguments(more):
    rows = pyarrow.table({"id": list(range(40)), "self": ["no", "yes"] * 20, "table": list(range(40))})
    schema = Schema({"self": categories("no", "yes", missing="no"), "table": integers(0, 50, missing=0)}, **more)
    with curate(rows, schema, Budget(person=Pure(4))) as curator:
        assert len(curator.histogram("self", spend=Pure(1)).value["count"]) == 2
        assert len(curator.mean("table", by="self", spend=Pure(1)).value["self"]) == 2
        assert curator.median("table", "self = 'yes'", spend=Pure(1)).loss
