"""Late rows in files of arrivals, through what a user calls, on neighbouring tables whose files overlap (PB-UNIT)."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import sfumato as sf
from sfumato.ledger import Ledger
from sfumato.ledger.running import Coins
from sfumato.publish.file import PublicationFile
from sfumato.publish.matrix import Factor
from tests.publish.sample import FILE, prepare
from tests.publish.test_units import Silence

DAYS = (1, 2, 3)
TEXT = FILE.replace("2026-01-04", "2026-01-03").replace("Concentrated(1)", "Concentrated(2)")
TEXT = TEXT.replace('stamp = "at"', 'stamp = "at"\nwait = "9 days"\nlateness = "2 days"')
TEXT += '\n[revision.late]\nafter = "15 days"\ntables = ["countries"]\nspend = { countries = "Concentrated(0.1)" }\n'

ROWS = [
    (person, day, "CH" if (person + day + late) % 2 else "DE", day + late)
    for person in (1, 2, 3)
    for day in DAYS
    for late in (0, 1, 2, 4)
    if (person * day + late) % 3
]
"""Whose row it is, when it happened, where, and when it arrived; some arrive later than was declared."""


def released(home, rows):
    """Return what is read of each day, first and again, what is read for the total, and what each day was charged."""
    home.mkdir()
    path = prepare(home, text=TEXT, days=[])
    for arrived in range(1, 20):
        own = [row for row in rows if row[3] == arrived]
        columns = {
            "id": pyarrow.array([row[0] for row in own], pyarrow.int64()),
            "at": pyarrow.array([date(2026, 1, row[1]) for row in own], pyarrow.date32()),
            "country": pyarrow.array([row[2] for row in own], pyarrow.string()),
        }
        parquet.write_table(pyarrow.table(columns), home / "in" / f"2026-01-{arrived:02}.parquet")
    publication = sf.Publication.load(path)
    publication.run(today=date(2026, 3, 1))
    names = [f"2026-01-0{day}{look}" for day in DAYS for look in ("", "/late")]
    days = {name: np.array(publication.answers(name)["countries"].frame["count"], float) for name in names}
    with Ledger(home / "visits.ledger") as book:
        charged = [book.spent_in("day", f"2026-01-0{day}").numbers for day in DAYS]
    return days, publication.series("total").segments[0].released, charged


def neighbours():
    """Yield what is changed of a person's day, whenever it arrived, and the rows afterwards."""
    for person, day in ((1, 2), (3, 3)):
        rest = [row for row in ROWS if row[:2] != (person, day)]
        yield day, rest
        yield day, [*rest, *[(person, day, "DE", day + late) for late in (0, 1, 1, 2)]]


@pytest.fixture
def silent(monkeypatch):
    monkeypatch.setattr(Coins, "noise", lambda self, part=0, step=0: Silence())


def differences(home):
    """Return by neighbour which days were moved how far, and how far the total was."""
    base = released(home / "base", ROWS)
    for number, (day, rows) in enumerate(neighbours()):
        other = released(home / str(number), rows)
        moved = {name: float(np.square(base[0][name] - other[0][name]).sum()) for name in base[0]}
        yield day, moved, int(np.square(base[1] - other[1]).sum()), base[2] == other[2]


@pytest.mark.usefixtures("silent")
def test_a_day_that_changes_moves_its_own_releases_only_in_whichever_files_it_lies(tmp_path):
    """Both looks at the day move by two rows at most, or by what replaces them; other days by nothing at all."""
    reached = 0.0
    for day, moved, total, same_charges in differences(tmp_path):
        own = {name: far for name, far in moved.items() if name.startswith(f"2026-01-0{day}")}
        assert {far for name, far in moved.items() if name not in own} == {0.0}
        assert all(far <= 8 for far in own.values()) and any(own.values())
        assert total <= 2 * Factor(3, 3).one_period * (2 * 4096) ** 2 and same_charges
        reached = max(reached, *own.values())
    assert reached == 8  # two rows of one country for two of the other


@pytest.mark.audit
@pytest.mark.usefixtures("silent")
def test_a_person_all_of_whose_days_change_moves_each_of_them_as_one_and_the_total_as_all_together(tmp_path):
    """Late rows of every day at once: the price of a month is that of its days for tables, and more for a total."""
    base = released(tmp_path / "base", ROWS)
    rest = [row for row in ROWS if row[0] != 1]
    elsewhere = [(1, day, "DE", day + late) for day in DAYS for late in (0, 1, 2)]
    always = [(1, day, "CH", day + late) for day in DAYS for late in (0, 2)]
    far = {}
    for name, rows in (("gone", rest), ("elsewhere", [*rest, *elsewhere]), ("always", [*rest, *always])):
        other = released(tmp_path / name, rows)
        moved = [float(np.square(base[0][day] - other[0][day]).sum()) for day in base[0]]
        assert all(one <= 8 for one in moved) and base[2] == other[2]
        far[name] = int(np.square(base[1] - other[1]).sum())
    alone, one_day = released(tmp_path / "alone", rest), (2 * 4096) ** 2 * Factor(3, 3).one_period
    with_her = released(tmp_path / "with her", [*rest, *always])
    whole = int(np.square(alone[1] - with_her[1]).sum())
    assert whole == (2 * 4096) ** 2 * Factor(3, 3).shift([1, 1, 1]) > 3 * one_day  # the mutant: days that add up
    assert max(far.values()) <= 2 * whole


@pytest.mark.usefixtures("silent")
def test_a_day_that_counts_what_arrived_for_its_neighbours_is_caught(tmp_path, monkeypatch):
    """The mutant reads all rows of the files in which its own may lie, and charges its own day only."""
    true = PublicationFile.span

    def wide(self, slot, starts=()):
        found = true(self, slot, starts)
        return replace(found, first=found.first - timedelta(days=2), last=found.last + timedelta(days=2))

    monkeypatch.setattr(PublicationFile, "span", wide)
    others = [
        far
        for day, moved, _, _ in differences(tmp_path)
        for name, far in moved.items()
        if not name.startswith(f"2026-01-0{day}")
    ]
    assert max(others) > 0
