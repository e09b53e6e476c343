"""What neighbours must not see beside the answers: numbers of people, digests, states, and what is hidden (PB-UNIT)."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

import sfumato as sf
from sfumato import Noise
from sfumato.ledger import Ledger
from sfumato.publish.layout import published_frame
from tests.publish.sample import FILE, ROWS, prepare

FEBRUARY = date(2026, 2, 1)
SHORT = FILE.replace("2026-01-04", "2026-01-02").replace('licence = "CC-BY-4.0"', 'formats = ["csv"]')
ONE = FILE.split("[[table]]")[0].replace("2026-01-04", "2026-01-02") + "[[table]]" + FILE.split("[[table]]")[1]


@pytest.mark.parametrize("question", ["count", "people", "mean of pay", "count where country = 'CH'"])
def test_how_many_there_are_is_never_free(tmp_path, question):
    """The mutant takes the number of rows or people of a period for public, as a ledger of exchanged people may."""
    path = prepare(tmp_path, text=ONE.replace("count by country", question), days=[])
    schema = tmp_path / "visits.schema.toml"
    schema.write_text(schema.read_text() + '\n[columns.pay]\ntype = "integer"\nlow = 0\nhigh = 9\n')
    publication = sf.Publication.load(path)
    with Ledger(None, publication.file.budget, relation=sf.ADD_REMOVE) as book:
        asked = publication._tables.asked(book, publication.file.anew())
        losses = publication._tables.losses(asked, publication.file.anew())
        assert not losses[0].person.is_zero
        person, (charge,) = publication._charges(asked, publication._due(FEBRUARY)[0], losses)
    assert charge.slots == ("2026-01-01",)
    assert not person[0].person.is_zero and not charge.losses[0].person.is_zero


def test_states_and_files_are_the_same_whether_anybody_was_there(tmp_path):
    """The mutant skips a day without rows, or one whose only person left."""
    seen = []
    for name, rows in (("some", ROWS), ("nobody", [])):
        home = tmp_path / name
        home.mkdir()
        publication = sf.Publication.load(prepare(home, rows=rows, text=SHORT, days=[1, 2]))
        publication.run(today=FEBRUARY)
        states = [(one.name, one.state) for one in publication.status(FEBRUARY)]
        with Ledger(home / "visits.ledger") as book:
            history = [(entry.id, entry.state) for entry in book.history()]
            spent = [book.spent_in("day", f"2026-01-0{day}").percent for day in (1, 2)]
        files = sorted(str(path.relative_to(home)) for path in (home / "out").rglob("*") if path.is_file())
        kept = {kind: len(list((home / "visits.ledger.private" / kind).iterdir())) for kind in ("read", "released")}
        seen.append((states, history, spent, files, kept))
    assert seen[0] == seen[1]


def test_what_the_ledger_names_says_nothing_of_what_was_read(tmp_path):
    """The mutant names a reading by its bare digest, from which small numbers can be guessed."""
    names = []
    for name in ("one", "other"):
        home = tmp_path / name
        home.mkdir()
        sf.Publication.load(prepare(home, text=SHORT, days=[1])).run("2026-01-01", today=FEBRUARY)
        names.append({path.name for path in (home / "visits.ledger.private" / "read").iterdir()})
    assert not names[0] & names[1] and len(names[0]) == 1


def test_a_day_with_the_same_rows_is_another_request(tmp_path, monkeypatch):
    """The mutant gives Tuesday the answer of Monday, because the question is the same."""
    drawn = []
    true = Noise.draw

    def draw(self, law, size=None):
        drawn.append(law)
        return true(self, law, size)

    rows = [(person, day, "CH") for day in (1, 2) for person in range(9)]
    publication = sf.Publication.load(prepare(tmp_path, rows=rows, text=ONE, days=[1, 2]))
    publication.run("2026-01-01", today=FEBRUARY)
    monkeypatch.setattr(Noise, "draw", draw)
    publication.run("2026-01-02", today=FEBRUARY)
    assert drawn
    with Ledger(tmp_path / "visits.ledger") as book:
        assert [book.spent_in("day", f"2026-01-0{day}").percent for day in (1, 2)] == [50, 50]


def test_small_values_are_hidden_by_what_was_released_and_not_by_what_is_true(tmp_path, monkeypatch):
    """The mutant hides what is truly small: whether a cell is empty would then be a release of its own."""
    rows = [(person, day, "CH") for day in (1, 2) for person in range(3)]
    text = ONE.replace('spend = "Concentrated(0.5)"', 'spend = "Concentrated(0.5)"\nhide_below = 20')
    monkeypatch.setattr(Noise, "draw", lambda self, law, size=None: np.full(size, 30 << 20, np.int64))
    publication = sf.Publication.load(prepare(tmp_path, rows=rows, text=text, days=[1, 2]))
    publication.run("2026-01-01", today=FEBRUARY)
    answer, (spec,) = publication.answers("2026-01-01")["countries"], publication.file.tables
    assert None not in published_frame(answer, spec)["count"]
    monkeypatch.setattr(Noise, "draw", lambda self, law, size=None: np.full(size, -30 << 20, np.int64))
    publication.run("2026-01-02", today=FEBRUARY)
    assert set(published_frame(publication.answers("2026-01-02")["countries"], spec)["count"]) == {None}
