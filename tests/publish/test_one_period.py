"""A curator of one period, where limits hold for each day, month or shop: what it reads, and what is charged where."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import numpy as np
import pyarrow
import pytest

import sfumato as sf
from sfumato import ADD_REMOVE, REPLACE_ONE, Budget, Concentrated, Noise, Pure
from sfumato.errors import BudgetExceeded, LedgerError, ParameterError, SchemaError
from sfumato.publish.calendar import Slot, slot_named
from sfumato.publish.charges import charges_of
from sfumato.publish.promised import Promised
from sfumato.table.data import open_table
from sfumato.table.gauge import Basis
from sfumato.table.measure import Totals
from sfumato.table.periods import Span

SHOPS = sf.categories("A", "B", missing="A", other="B")
SCHEMA = sf.Schema({"at": sf.dates("2025-12-01", "2027-12-31"), "shop": SHOPS}, person="id", rows_per_person=2)
ROWS = [(1, date(2026, 1, 31), "A"), (1, date(2026, 2, 1), "A"), (1, date(2026, 2, 2), "B"), (2, date(2026, 2, 2), "B")]
LIMITS = {"day": Concentrated(100), "month": Concentrated(100)}


def table(rows=ROWS):
    ids, days, shops = ([row[place] for row in rows] for place in range(3))
    return pyarrow.table(
        {"id": pyarrow.array(ids, pyarrow.int64()), "at": pyarrow.array(days, pyarrow.date32()), "shop": shops}
    )


def opened(rows=ROWS, units=LIMITS, person="none", ledger=None, schema=SCHEMA, **more):
    limits = Budget(person=person, units=units)
    return sf.curate(table(rows), schema, limits, ledger=ledger, snapshot="first", **{"relation": ADD_REMOVE, **more})


@pytest.fixture
def quiet(monkeypatch):
    monkeypatch.setattr(Noise, "draw", lambda self, law, size=None: 0 if size is None else np.zeros(size, np.int64))


def used(curator, unit, slot):
    """Return how much of the rho of a slot is used."""
    return 100 - curator.ledger.spent_in(unit, slot).left[1]


@pytest.mark.parametrize(
    ("period", "rows", "people"),
    [("2026-01", 1, 1), ("2026-02", 3, 2), ("2026-02-02", 2, 2), ("2026", 3, 2), ("2026-01-31--2026-02-01", 2, 1)],
)
def test_rows_of_the_period_and_no_others_are_read(quiet, period, rows, people):
    with opened() as curator:
        asked = curator.of(period, stamp="at")
        assert asked.slot.name == period
        assert round(asked.count(spend=Concentrated("1/10")).value) == rows
        assert round(asked.people(spend=Concentrated("1/10")).value) == people
        by_shop = asked.sql("SELECT shop, COUNT(*) AS n FROM data GROUP BY shop", Concentrated("1/10"))
        assert round(sum(by_shop.frame.columns["n"])) == rows


def test_a_period_is_charged_and_no_other(quiet):
    with opened() as curator:
        curator.of("2026-02", stamp="at").count(spend=Concentrated(2))
        assert used(curator, "month", "2026-02") == 2 and used(curator, "month", "2026-01") == 0
        # What somebody did on a day decides how much of their other days counts: it comes and goes in two steps.
        assert used(curator, "day", "2026-02-28") == 8 and used(curator, "day", "2026-03-01") == 0
        curator.of("2026-02-02", stamp="at").count(spend=Concentrated(2))
        assert used(curator, "month", "2026-02") == 4 and used(curator, "day", "2026-02-02") == 10
        assert curator.ledger.verify()


def test_shops_are_charged_what_an_exchange_costs(quiet):
    with opened(units={"day": Concentrated(100), "shop": Concentrated(100)}) as curator:
        curator.of("2026-02-02", stamp="at").count("shop = 'A'", spend=Concentrated(1))
        assert used(curator, "day", "2026-02-02") == 1
        assert [used(curator, "shop", name) for name in ("A", "B")] == [4, 4]


def test_the_same_again_is_free_and_another_period_is_another_question():
    with opened() as curator:
        first = curator.of("2026-02", stamp="at").count(spend=Concentrated(2))
        again = curator.of("2026-02", stamp="at")
        assert again.preview(sf.Count(), Concentrated(2)).free
        assert again.count(spend=Concentrated(2)).value == first.value
        assert curator.stored(first.request).value == first.value
        curator.of("2026-01", stamp="at").count(spend=Concentrated(2))
        assert used(curator, "month", "2026-02") == used(curator, "month", "2026-01") == 2


def test_what_does_not_fit_a_period_is_refused_and_the_largest_that_fits_is_said():
    with opened() as curator:
        month = curator.of("2026-02", stamp="at")
        with pytest.raises(BudgetExceeded, match=r"The largest that fits is Concentrated\(24\.9999\)\."):
            month.count(spend=Concentrated(26))
        assert not month.preview(sf.Count(), Concentrated(26)).fits and month.preview(sf.Count(), Concentrated(25)).fits
        assert month.largest(sf.Count(), Concentrated(100)).rho >= Fraction("24.999")
        month.count(spend=Concentrated(25))
        left = month.remaining()
        assert (left["day 2026-02-02"], left["month 2026-02"]) == ("Used so far 100 of 100.", "Used so far 25 of 100.")
        with pytest.raises(BudgetExceeded):
            curator.of("2026-02-02", stamp="at").count(spend=Concentrated("1/10"))
        curator.of("2026-01", stamp="at").count(spend=Concentrated(25))  # another month has its own


def test_a_person_limit_is_charged_for_every_period():
    with opened(person=Concentrated(3)) as curator:
        curator.of("2026-01", stamp="at").count(spend=Concentrated(2))
        with pytest.raises(BudgetExceeded, match="person"):
            curator.of("2026-02", stamp="at").count(spend=Concentrated(2))


def test_lists_conversations_and_models_are_charged_to_the_period():
    with opened() as curator:
        asked = curator.of("2026-02-02", stamp="at")
        asked.ask([sf.Count(), sf.Count("shop = 'A'")], Concentrated(2))
        assert used(curator, "day", "2026-02-02") == 2
        with pytest.warns(sf.errors.AccuracyWarning), asked.converse(spend=Concentrated(2), prior="even") as talk:
            talk.ask("shop = 'A'")
        asked.synthesize(spend=Concentrated(2))
        assert used(curator, "day", "2026-02-02") <= 6 and used(curator, "day", "2026-02-01") == 0
        assert curator.report().worst == () and curator.evidence().units and curator.ledger.verify()


def test_rules_that_changed_since_move_no_row_to_another_day(monkeypatch):
    from zoneinfo import ZoneInfo

    from sfumato.publish import zones

    with opened() as curator:
        slot, berlin = Slot.of("day", date(2026, 2, 1)), ZoneInfo("Europe/Berlin")
        first = zones.starts_of(curator.ledger, "visits", berlin, slot)
        monkeypatch.setattr(zones, "midnight", lambda zone, day: 0)
        assert zones.starts_of(curator.ledger, "of", berlin, slot) == first
        assert zones.disagreements(curator.ledger, "of")


@pytest.mark.parametrize("name", ["2026-13", "2026-W60", "2026-Q5", "26", "2026-02-30", "2026-01-01/late", "", "x--y"])
def test_what_is_the_name_of_no_period_is_refused(name):
    with pytest.raises(ParameterError, match="is the name of no period; write '2026-11-16'"):
        slot_named(name)


def test_refusals_say_what_to_write():
    with opened() as curator:
        with pytest.raises(ParameterError, match=r"write curator\.of\('2026-11', stamp='at'\)\.count"):
            curator.count(spend=Concentrated(1))
        with pytest.raises(SchemaError, match="declare it by dates"):
            curator.of("2026-01", stamp="shop")
        with pytest.raises(SchemaError, match="declare a range that begins before 2028-01-01"):
            curator.of("2028-01", stamp="at")
        month = curator.of("2026-01", stamp="at")
        with pytest.raises(ParameterError, match="ask the whole curator for another period"):
            month.of("2026-01-01", stamp="at")
        with pytest.raises(ParameterError, match=r"curator\.running"):
            month.running("count", periods=2, spend=Concentrated(1))
        with month:
            pass
        month.count(spend=Concentrated("1/10"))  # what closes is the whole curator
    with pytest.raises(ParameterError, match="This curator is closed"):
        month.count(spend=Concentrated("1/5"))
    with sf.curate(table(), SCHEMA, Pure(1)) as curator, pytest.raises(ParameterError, match="no limit on periods"):
        curator.of("2026-01", stamp="at")
    by_attribute = Budget(person=Pure(3), each_attribute=Pure(1), units={"day": Pure(1)})
    attributes = sf.curate(table(), SCHEMA, by_attribute, relation=ADD_REMOVE)
    with attributes, pytest.raises(ParameterError, match="limits attributes too"):
        attributes.of("2026-01", stamp="at")
    with pytest.raises(ParameterError, match="ask through a publication"):
        opened(relation=REPLACE_ONE)


def test_a_ledger_on_disk_has_the_answer_the_next_day(tmp_path):
    place = tmp_path / "days.ledger"
    with opened(ledger=place) as curator:
        first = curator.of("2026-02", stamp="at").count(spend=Concentrated(2))
    with opened(ledger=place) as curator:
        again = curator.of("2026-02", stamp="at").count(spend=Concentrated(2))
        assert again.reused and again.value == first.value
        with pytest.raises(LedgerError):
            curator.of("2026-02", stamp="at").stored("another")


@pytest.mark.parametrize("period", ["2026-02", "2026-02-01"])
def test_it_reads_what_a_publication_reads_whose_neighbours_are_enumerated(period):
    """Case B of `test_worlds` is of what a span of a table reads; this is the same reading, at the same charges."""
    rows = [(1, date(2026, 2, day), shop) for day in (1, 2) for shop in ("A", "B", "B")] + ROWS
    slot = slot_named(period)
    gauge = Basis(SCHEMA, None, ADD_REMOVE).gauge(Totals(("shop",)))
    span = Span("at", slot.first, slot.last)
    with opened(rows) as curator, open_table(table(rows), SCHEMA, span=span) as read:
        asked = curator.of(period, stamp="at")
        assert (np.asarray(gauge.read(asked.table)[0]) == np.asarray(gauge.read(read)[0])).all()
        answer = asked.count(by="shop", spend=Concentrated(1))
        (entry,) = [one for one in curator.ledger.history() if one.id == answer.request]
        assert asked.ledger.preview(answer.loss).fits
        for charge in charges_of(Promised(("day", "month")), slot, [answer.loss]):
            (rho,) = {loss.person.gauss.at(Fraction(0)) / 2 for loss in charge.losses}
            assert {used(curator, charge.unit, name) for name in charge.slots} == {rho}
        assert entry.person.gauss.at(Fraction(0)) / 2 == 1
