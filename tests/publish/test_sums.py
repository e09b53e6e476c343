"""Running sums and means of a column: units, grids, intervals, and how far a person moves them (PB-CONTINUAL, PB-TREE)."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import sfumato as sf
from sfumato import Noise
from sfumato.errors import ParameterError
from sfumato.ledger import Ledger
from sfumato.publish.file import load_file
from sfumato.publish.total import RunningTable
from sfumato.table.data import open_table
from tests.publish.sample import FILE, SCHEMA, prepare

FEBRUARY = date(2026, 2, 1)
PAY = '\n[columns.pay]\ntype = "fixed"\nlow = 0\nhigh = 2000\nstep = "0.5"\n'
ONLY = FILE.split("[[table]]")[0].replace("Concentrated(1)", "{limit}")
RUNNING = '[[table]]\nname = "total"\nrunning = "{what}"\nwindows = [2]\nspend = "{spend}"\n'


def declared(home, what, spend="Concentrated(0.5)", schema=SCHEMA + PAY, rows=()):
    text = ONLY.replace("{limit}", spend) + RUNNING.format(what=what, spend=spend)
    path = prepare(home, text=text, days=[])
    (home / "visits.schema.toml").write_text(schema)
    for day in range(1, 5):
        own = [row for row in rows if row[1] == day]
        table = {
            "id": pyarrow.array([row[0] for row in own], pyarrow.int64()),
            "at": pyarrow.array([date(2026, 1, day)] * len(own), pyarrow.date32()),
            "country": pyarrow.array([row[2] for row in own], pyarrow.string()),
            "pay": pyarrow.array([row[3] for row in own], pyarrow.float64()),
        }
        parquet.write_table(pyarrow.table(table), home / "in" / f"2026-01-{day:02}.parquet")
    return path


ROWS = [
    (person, day, "CH" if person % 3 else "DE", 100.0 * person + 0.5 * day)
    for day in range(1, 5)
    for person in range(12)
]


@pytest.mark.parametrize("spend", ["Concentrated(0.5)", pytest.param("Pure(1)", marks=pytest.mark.audit)])
@pytest.mark.parametrize("what", ["sum of pay by country", "mean of pay by country", "mean of pay", "sum of pay"])
def test_without_noise_estimates_are_those_of_the_rows(tmp_path, monkeypatch, what, spend):
    monkeypatch.setattr(Noise, "draw", lambda self, law, size=None: np.zeros(size, np.int64))
    path = declared(tmp_path, what, spend, rows=ROWS)
    publication = sf.Publication.load(path)
    publication.run(today=FEBRUARY)
    series = publication.series("total")
    found, window = series.totals(), series.window(2)
    for number, cell in enumerate(series.keys):
        for day in range(1, 5):
            own = [row for row in ROWS if row[1] <= day and cell in ((), (row[2],))]
            late = [row for row in own if row[1] > day - 2]
            for shown, part in ((found, own), (window, late)) if own else ():
                true = sum(row[3] for row in part) / (len(part) if "mean" in what and part else 1)
                assert abs(shown.values[day - 1, number] - true) <= 0.01
                assert shown.low[day - 1, number] <= true <= shown.high[day - 1, number]
                assert shown.all_low[day - 1, number] <= shown.low[day - 1, number]
    with Ledger(tmp_path / "visits.ledger") as book:
        assert book.spent_in("day", "2026-01-02").percent == 100
    assert publication.verify()
    text = (tmp_path / "out/visits/total.csv").read_text().splitlines()
    name = "mean" if "mean" in what else "total"
    assert f"{name},{name}_low,{name}_high,{name}_all_low,{name}_all_high" in text[0]
    assert "<svg" in (tmp_path / "out/visits/index.html").read_text()
    value, ends = series.between("2026-01-01", "2026-01-03")
    assert len(value) == len(series.keys) and np.all(np.asarray(ends) >= 0)


@pytest.mark.parametrize("most", [2, pytest.param(3, marks=pytest.mark.audit)])
def test_noise_is_for_as_far_as_a_person_moves_a_period(tmp_path, most):
    """Every share of one person in one period, against nobody: never further than the mechanism was made for."""
    schema = (
        SCHEMA.replace("rows_per_person = 2", "rows_per_person = 2")
        + '\n[columns.pay]\ntype = "fixed"\nlow = -1\nhigh = 3\nstep = "0.5"\n'
    )
    for what in ("sum of pay by country", "mean of pay by country", "mean of pay"):
        table = RunningTable(
            load_file(declared(tmp_path, what, schema=schema)), load_file(tmp_path / "visits.toml").tables[0]
        )
        furthest = Fraction(0)
        rows, nobody = list(product(("CH", "DE"), (-1.0, 3.0))), read(table, ())
        for count in range(1, most + 1):
            for own in combinations_with_replacement(rows, count):
                moved = read(table, own) - nobody
                square, size = int((moved.astype(object) ** 2).sum()), int(np.abs(moved.astype(object)).sum())
                assert square <= table.totals.moves.l2_squared and size <= table.totals.moves.l1
                furthest = max(furthest, square / table.totals.moves.l2_squared)
        assert furthest > 0.99  # the mutant: noise a hundredth smaller is too little


def read(table, rows):
    source = pyarrow.table(
        {
            "id": pyarrow.array([1] * len(rows), pyarrow.int64()),
            "at": pyarrow.array([date(2026, 1, 2)] * len(rows), pyarrow.date32()),
            "country": pyarrow.array([row[0] for row in rows], pyarrow.string()),
            "pay": pyarrow.array([row[1] for row in rows], pyarrow.float64()),
        }
    )
    with open_table(source, table.file.schema, span=table.file.span(table.periods[1])) as opened:
        return table.measured.exact(table.gauge.read(opened), table.grid)


@pytest.mark.parametrize("spend", ["Concentrated(0.001)", "Pure(0.01)"])
def test_a_wide_column_is_rounded_to_a_grid_that_intervals_know_of(tmp_path, spend):
    schema = SCHEMA + '\n[columns.pay]\ntype = "integer"\nlow = 0\nhigh = 100000000\n'
    path = declared(tmp_path, "sum of pay", spend, schema=schema)
    table = RunningTable(load_file(path), load_file(path).tables[0])
    assert table.grid > 1 and table.totals.loss().person.epsilon is not None
    wide = table.gauge.sensitivity(table.measured.measure.parts[0])
    assert table.totals.moves.l2_squared * table.grid**2 >= wide.l2_squared  # rounding moves it further, never less
    assert table.totals.moves.l2_squared * table.grid**2 < wide.l2_squared * Fraction(101, 100)
    exact = table.measured.exact([5 * table.grid + table.grid // 2], table.grid)
    assert exact.tolist() == [6]  # halves go up: to even, 5.5 and 6.5 would be one step apart or none


@pytest.mark.parametrize("what", ["median of pay", "count, sum of pay by country", "variance of pay"])
def test_what_does_not_add_up_is_refused(tmp_path, what):
    with pytest.raises((ParameterError, sf.errors.SfumatoError), match=r"adds up one column|sum of pay by country"):
        sf.Publication.load(declared(tmp_path, what)).plan()


def test_only_a_count_has_a_curve_that_never_falls(tmp_path):
    path = declared(tmp_path, "sum of pay by country")
    path.write_text(path.read_text().replace("windows = [2]", "monotone = true"))
    with pytest.raises(ParameterError, match="Only a count of rows surely never falls"):
        sf.Publication.load(path).plan()


def test_the_plan_says_how_far_off_sums_and_means_are(tmp_path):
    said = sf.Publication.load(declared(tmp_path, "sum of pay by country")).plan().tables[0].error
    assert "±" in said
    mean = sf.Publication.load(declared(tmp_path, "mean of pay by country")).plan().tables[0].error
    assert "sum" in mean and "count" in mean


LONG = 'spend = {{ day = "{day}", year = "{year}" }}'


def without_end(home, day, year, high=10**8, rows=()):
    """Declare a sum without a known end, at two spends, over a column so wide that it is rounded."""
    schema = SCHEMA + f'\n[columns.pay]\ntype = "integer"\nlow = 0\nhigh = {high}\n'
    path = declared(home, "sum of pay", day, schema=schema, rows=rows)
    text = path.read_text().replace(f'spend = "{day}"', LONG.format(day=day, year=year))
    text = text.replace(f'day = "{day}"\n', f'day = "{day}"\nyear = "{year}"\n', 1)
    path.write_text(text.replace('last = "2026-01-04"', "horizon = 2").replace("windows = [2]\n", ""))
    return path


@pytest.mark.parametrize("spends", [("Concentrated(0.001)", "Concentrated(50)"), ("Pure(0.01)", "Pure(50)")])
def test_all_horizons_read_in_one_unit_and_on_one_grid(tmp_path, spends):
    path = without_end(tmp_path, *spends)
    file = load_file(path)
    tables = [RunningTable(file, file.tables[0], number) for number in range(5)]
    assert [len(table.periods) for table in tables] == [2, 4, 8, 16, 32]
    assert len({(table.grid, table.gauge.unit) for table in tables}) == 1 and tables[0].grid > 1


@pytest.mark.audit
def test_a_sum_goes_on_in_the_next_horizon_on_the_grid_of_the_first(tmp_path, monkeypatch):
    monkeypatch.setattr(Noise, "draw", lambda self, law, size=None: np.zeros(size, np.int64))
    rows = [(person, day, "CH", 2.0**26) for day in range(1, 5) for person in range(5)]  # on the grid
    publication = sf.Publication.load(without_end(tmp_path, "Concentrated(0.001)", "Concentrated(50)", rows=rows))
    publication.run(today=date(2026, 1, 5))
    found = publication.series("total")
    assert [segment.periods for segment in found.segments] == [2, 4]
    assert found.totals().values[:, 0].tolist() == [5 * day * 2**26 for day in range(1, 5)]
