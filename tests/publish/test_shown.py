"""Tables as they are published: which columns are ends of intervals, and what columns are called (PB-PUBLISH)."""

from __future__ import annotations

from datetime import date

import pyarrow
import pytest
from pyarrow import parquet

import sfumato as sf
from sfumato import Noise
from sfumato.publish.layout import _written
from sfumato.publish.shown import published_frame, rounded
from tests.publish.sample import FILE, SCHEMA, prepare

FEBRUARY = date(2026, 2, 1)
ONE = FILE.split("[[table]]")[0].replace("2026-01-04", "2026-01-01") + "[[table]]" + FILE.split("[[table]]")[1]
ENDS = ("_low", "_high", "_all_low", "_all_high")
NAMED = ONE.replace("count by country", "sum of flow by low") + 'round_to = 5\nband = "all periods"\n'


@pytest.fixture
def publication(tmp_path, monkeypatch):
    """A sum of a column that is called flow, by a column that is called low, which come to 13 and 8."""
    path = prepare(tmp_path, text=NAMED, days=[])
    described = SCHEMA.replace("[columns.country]", "[columns.low]")
    (tmp_path / "visits.schema.toml").write_text(f'{described}\n[columns.flow]\ntype = "integer"\nlow = 0\nhigh = 9\n')
    rows = {"id": [1, 2, 3, 4], "at": [date(2026, 1, 1)] * 4, "low": ["CH", "CH", "DE", "DE"], "flow": [9, 4, 7, 1]}
    parquet.write_table(pyarrow.table(rows), tmp_path / "in" / "2026-01-01.parquet")
    true = Noise.draw
    monkeypatch.setattr(Noise, "draw", lambda self, law, size=None: true(self, law, size) * 0)
    found = sf.Publication.load(path)
    found.run(today=FEBRUARY)
    return found


def test_a_column_whose_name_ends_like_an_end_is_a_value_and_a_key_is_called_what_it_is(publication, tmp_path):
    """The mutant told ends by their last letters: it rounded a sum of flow down, and renamed a key called low."""
    (spec,) = publication.file.tables
    answer = publication.answers("2026-01-01")["countries"]
    frame = published_frame(answer, spec, 1)
    assert frame["low"][:2] == ("CH", "DE") and frame["sum_of_flow"][:2] == (15, 10)
    assert all(one <= 13 and one % 5 == 0 for one in frame["sum_of_flow_low"][:1])
    assert set(frame.columns) == {"low", "sum_of_flow", *(f"sum_of_flow{one}" for one in ENDS)}
    before = published_frame(answer, spec, 1, by_letters=True)
    assert before["value_low"][:2] == ("CH", "DE") and before["sum_of_flow"][:2] == (10, 5)
    assert (tmp_path / "out/visits/period=2026-01-01/countries.csv").read_text().startswith("low,sum_of_flow,")
    assert "±" in publication.plan().tables[0].error


def test_files_of_earlier_versions_stand_as_they_were_written(publication, tmp_path):
    """Verified as what they were then; anything else in their place is found."""
    place, (spec,) = tmp_path / "out/visits/period=2026-01-01/countries.csv", publication.file.tables
    answer = publication.answers("2026-01-01")["countries"]
    place.write_bytes(_written(published_frame(answer, spec, 1, by_letters=True), ["csv"])["csv"])
    assert b"value_low,sum_of_flow" in place.read_bytes()

    def wrong():
        said = "countries.csv is not what was stored"
        return [one for one in publication.verify().problems if one.startswith("period=") and said in one]

    assert not wrong()
    place.write_bytes(place.read_bytes().replace(b"CH", b"DE"))
    assert wrong()


def test_ends_are_rounded_outward_and_values_to_the_nearest():
    assert [rounded(-7.4, 5, end) for end in ("", "low", "high")] == [-5, -10, -5]
    assert rounded(None, 5) is None and rounded(True, 5) is True and rounded("7", 5, "low") == "7"
