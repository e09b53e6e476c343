"""At most so many periods of a person: who counts, what is kept, what is refused, and what it costs (PB-MEMORY)."""

from __future__ import annotations

from datetime import date
from itertools import pairwise, product

import numpy as np
import pytest

import sfumato as sf
from sfumato import Noise
from sfumato.ask.packing import unpack
from sfumato.errors import LedgerError, ParameterError, Unfinished
from sfumato.ledger import Ledger
from sfumato.ledger.stepping import Stepwise
from sfumato.publish.matrix import Factor
from sfumato.publish.memory import NAME_BYTES, CountingRule, Lists, names_of
from sfumato.publish.total import SALT
from tests.publish.sample import FILE, prepare, write_day

FEBRUARY = date(2026, 2, 1)
HEAD = FILE.split("[limits]")[0]
TABLE = """
[limits]
person = "Concentrated(1)"

[[table]]
name = "total"
running = "count by country"
periods_per_person = {most}
gap = {gap}
spend = "Concentrated(1)"
"""


def declared(home, most=1, gap=1, rows=(), days=range(1, 5), spend="Concentrated(1)"):
    text = HEAD + TABLE.format(most=most, gap=gap).replace("Concentrated(1)", spend)
    return prepare(home, rows=rows, text=text, days=days)


@pytest.fixture
def quiet(monkeypatch):
    monkeypatch.setattr(Noise, "draw", lambda self, law, size=None: np.zeros(size, np.int64))


@pytest.mark.parametrize(("most", "gap"), [(1, 1), (2, 1), (2, 2), (3, 1), (2, 3)])
def test_who_counts_moves_a_total_no_further_than_was_paid_for(most, gap):
    """All ways of being there in four periods, also as rows that come and go while it runs."""
    rule, periods = CountingRule(most, gap), 4
    factor = Factor(periods, periods, plain=most > 1, fineness=4)
    paid, furthest = factor.participations(most, gap), 0
    assert factor.shift(rule.pattern(periods)) == paid or most == 1
    for there in product((False, True), repeat=periods):
        listed: list = []
        counted = []
        for place, here in enumerate(there):
            chosen, names = Lists(b"k" * 32, listed).chosen(["p"] if here else [], rule)
            listed.append(names)
            counted += [place] if chosen else []
        assert len(counted) <= most and all(later - earlier >= gap for earlier, later in pairwise(counted))
        pattern = [int(place in counted) for place in range(periods)]
        furthest = max(furthest, factor.shift(pattern))
    assert furthest == paid or (most == 1 and furthest <= paid)


def test_people_do_not_decide_about_each_other():
    lists = Lists(b"k" * 32)
    alone, _ = lists.chosen(["p"], CountingRule(1))
    together, names = lists.chosen([7, "p", "q"], CountingRule(1))
    assert alone == ["p"] and set(together) == {7, "p", "q"}
    assert len(names) == 3 * NAME_BYTES and names_of(names) == sorted(names_of(names))
    assert lists.name(7) == lists.name("7") and lists.name(7) != Lists(b"l" * 32).name(7)
    later, _ = Lists(b"k" * 32, [names]).chosen(["7", "q", "r"], CountingRule(1))
    assert later == ["r"]


def test_a_person_counts_so_often_and_no_more(tmp_path, quiet):
    rows = [(person, day, "CH") for day in range(1, 5) for person in range(5) for _ in range(2)]
    publication = sf.Publication.load(declared(tmp_path, most=2, gap=2, rows=rows))
    publication.run(today=FEBRUARY)
    assert publication.series("total").totals().values[:, 0].tolist() == [10, 10, 20, 20]
    assert publication.verify()
    with Ledger(tmp_path / "visits.ledger") as book:
        assert book.verify().ok
    assert "at most 2 periods" in (tmp_path / "out/visits/registry.yaml").read_text()


@pytest.mark.parametrize("spend", ["Concentrated(1)", pytest.param("Pure(1)", marks=pytest.mark.audit)])
def test_rows_that_are_corrected_do_not_count_again(tmp_path, quiet, spend):
    """A row that is always in the newest period counts once; a person who was deleted stays listed."""
    publication = sf.Publication.load(declared(tmp_path, rows=[(1, 1, "CH")], spend=spend))
    for day in range(1, 5):
        for other in range(1, 5):
            write_day(tmp_path, other, [(1, other, "CH")] if other == day else [])
        publication.run(f"2026-01-0{day}", today=FEBRUARY)
    assert publication.series("total").totals().values[:, 0].tolist() == [1, 1, 1, 1]


def test_a_list_and_its_totals_are_one_frozen_input(tmp_path, quiet, monkeypatch):
    """Killed after the seal, with the source changed since: what counts is what was frozen, both of it."""
    publication = sf.Publication.load(declared(tmp_path, rows=[(1, 1, "CH")]))
    with monkeypatch.context() as patch:
        patch.setattr(Stepwise, "draw", lambda self, draw: (_ for _ in ()).throw(Unfinished("killed")))
        with pytest.raises(Unfinished):
            publication.run("2026-01-01", today=FEBRUARY)
    write_day(tmp_path, 1, [(2, 1, "CH"), (3, 1, "CH")])
    write_day(tmp_path, 2, [(1, 2, "CH"), (2, 2, "CH")])
    publication.run("2026-01-01", today=FEBRUARY)
    publication.run("2026-01-02", today=FEBRUARY)
    assert publication.series("total").totals().values[:, 0].tolist() == [1, 2]  # 1 was frozen, 2 and 3 never read


def test_lists_leave_nobody_out_of_other_tables(tmp_path, quiet):
    """All that is asked of a period reads rows that were opened once, but for what leaves people out of them."""
    asked = '[[table]]\nname = "all"\nquestion = "count by country"\nspend = "Concentrated(0.1)"\n'
    running = '[[table]]\nname = "every"\nrunning = "count by country"\nspend = "Concentrated(0.1)"\n'
    text = HEAD + TABLE.format(most=1, gap=1).replace('"Concentrated(1)"', '"Concentrated(9)"', 1) + asked + running
    rows = [(person, day, "CH") for day in range(1, 5) for person in range(3)]
    publication = sf.Publication.load(prepare(tmp_path, rows, text))
    publication.run(today=FEBRUARY)
    assert [publication.answers(f"2026-01-0{day}")["all"].frame["count"][0] for day in (1, 4)] == [3, 3]
    assert publication.series("every").totals().values[:, 0].tolist() == [3, 6, 9, 12]
    assert publication.series("total").totals().values[:, 0].tolist() == [3, 3, 3, 3]


def test_a_lost_list_ends_it(tmp_path):
    publication = sf.Publication.load(declared(tmp_path, rows=[(1, 1, "CH")]))
    publication.run("2026-01-01", today=FEBRUARY)
    (kept,) = (tmp_path / "visits.ledger.private" / "read").iterdir()
    content = unpack(kept.read_bytes()[SALT:])
    assert len(content) == 3 and len(names_of(content[1])) == 1 and len(content[2]) == NAME_BYTES
    kept.write_bytes(b"another")
    with pytest.raises(LedgerError, match="it has ended"):
        publication.run("2026-01-02", today=FEBRUARY)
    assert publication.status(FEBRUARY)[1].state == "dead"


def test_what_it_costs_grows_with_the_periods_of_a_person_only(tmp_path):
    errors = []
    for most in (1, 2, 4):
        plan = sf.Publication.load(declared(tmp_path, most=most, days=[])).plan()
        assert plan.refused is None and plan.tables[0].spend == "person: Concentrated(1)"
        errors.append(float(plan.tables[0].error.split(" ")[0][1:]))
    assert errors[0] < errors[1] < errors[2]
    longer = declared(tmp_path, days=[]).read_text().replace("2026-01-04", "2026-03-31")
    (tmp_path / "visits.toml").write_text(longer)
    error = float(sf.Publication.load(tmp_path / "visits.toml").plan().tables[0].error.split(" ")[0][1:])
    assert error < 2 * errors[0]  # ninety days in place of four


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'person = "Concentrated(1)"',
            'day = "Concentrated(1)"\nperson = "none"',
            "makes one day decide about another",
        ),
        ('spend = "Concentrated(1)"', 'spend = { day = "Concentrated(1)" }', "paid for the whole person"),
        ('running = "count by country"', 'question = "count by country"', "totals that run on"),
        ("periods_per_person = 1\n", "", "goes with periods_per_person"),
        ("periods_per_person = 1", "periods_per_person = 0", "from 1 on"),
        ("periods_per_person", "periods_per_persn", "did you mean"),
        ('last = "2026-01-04"', 'last = "2027-01-04"\n', "makes one year decide"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, old, new, said):
    path = declared(tmp_path, days=[])
    text = path.read_text()
    if "year" in said:
        text = text.replace('person = "Concentrated(1)"', 'year = "Concentrated(1)"\nperson = "none"')
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(ParameterError, match=said):
        sf.Publication.load(path)


def test_nobody_can_be_remembered_where_rows_are_nobodys(tmp_path):
    path = declared(tmp_path, days=[])
    schema = (tmp_path / "visits.schema.toml").read_text().replace('person = "id"\nrows_per_person = 2\n', "")
    (tmp_path / "visits.schema.toml").write_text(schema)
    with pytest.raises(ParameterError, match="whose a row is"):
        sf.Publication.load(path)


def test_a_limit_whose_one_slot_is_the_whole_is_charged_as_the_person(tmp_path):
    path = declared(tmp_path, days=[])
    path.write_text(path.read_text().replace('person = "Concentrated(1)"', 'year = "Concentrated(1)"\nperson = "none"'))
    assert sf.Publication.load(path).plan().refused is None
    path.write_text(path.read_text().replace('year = "Concentrated(1)"', 'year = "Concentrated(0.9)"'))
    assert "year 2026" in sf.Publication.load(path).plan().refused


def test_a_preview_remembers_too(tmp_path):
    place = sf.Publication.load(declared(tmp_path, days=[])).preview()
    assert (place / "visits/total.csv").exists()
