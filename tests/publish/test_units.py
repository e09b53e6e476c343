"""A person for a period, through what a user calls: neighbouring tables, prices, transcripts, words (PB-UNIT)."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import sfumato as sf
from sfumato import ADD_REMOVE, Approximate, Budget, Concentrated, Cost, Loss, Pure
from sfumato.ledger.running import Coins
from sfumato.ledger.slots import SlotBook, SlotCharge
from sfumato.perturb import sensitivity
from sfumato.privacy.spoken import said
from sfumato.publish.calendar import Slot
from sfumato.publish.charges import charges_of, running_charges, running_claims
from sfumato.publish.matrix import Factor
from sfumato.publish.promised import Promised
from sfumato.publish.running import RunningTotals, least_noise
from sfumato.publish.words import Reach, promise
from sfumato.table.data import open_table
from sfumato.table.engine import Source
from sfumato.table.gauge import Basis
from sfumato.table.measure import Totals
from sfumato.table.periods import Span
from sfumato.table.where import read_where
from tests.publish.sample import FILE, SCHEMA, prepare

ONE_FILE = FILE.replace('source = "in/{date}.parquet"', 'source = "all.parquet"').replace("2026-01-04", "2026-01-03")

# Whose row it is, its stamp, and where; person 1 has more rows than count, on both days.
BASE = [(1, "2026-01-01", "CH")] * 3 + [(1, "2026-01-02", "DE")] * 2 + [(1, "2026-01-02", "CH")] * 2
OTHERS = [(2, "2026-01-01", "CH"), (2, "2026-01-03", "DE"), (3, None, "CH"), (3, "1999-01-01", "DE"), (3, "x", "CH")]
ROWS = [*BASE, *OTHERS]


class Silence:
    """Noise that adds nothing: what is released is then exactly what was read."""

    def draw(self, law, size=None):
        return 0 if size is None else np.zeros(size, np.int64)


def write(home, rows):
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("id", "at", "country"))}
    columns["id"] = pyarrow.array(columns["id"], pyarrow.int64())
    columns["at"] = pyarrow.array(columns["at"], pyarrow.string())
    columns["country"] = pyarrow.array(columns["country"], pyarrow.string())
    parquet.write_table(pyarrow.table(columns), home / "all.parquet")


def released(home, rows):
    """Return what a publication reads of each day, by table, and the integers of its running total."""
    home.mkdir()
    path = prepare(home, text=ONE_FILE, days=[])
    write(home, rows)
    publication = sf.Publication.load(path)
    publication.run(today=date(2026, 2, 1))
    days = {
        f"2026-01-0{day}": np.array(publication.answers(f"2026-01-0{day}")["countries"].frame["count"], float)
        for day in (1, 2, 3)
    }
    return days, publication.series("total").segments[0].released


@pytest.fixture
def silent(monkeypatch):
    monkeypatch.setattr(Coins, "noise", lambda self, part=0, step=0: Silence())


def without(person, day):
    return [row for row in ROWS if row[:2] != (person, day)]


def moved(home, person, day):
    here, there = released(home / "here", ROWS), released(home / "there", without(person, day))
    days = {name: float(np.square(here[0][name] - there[0][name]).sum()) for name in here[0]}
    return days, int(np.square(here[1] - there[1]).sum())


@pytest.mark.usefixtures("silent")
def test_leaving_out_a_day_moves_that_day_alone_and_no_further_than_claimed(tmp_path):
    days, running = moved(tmp_path, 1, "2026-01-02")
    assert days["2026-01-01"] == days["2026-01-03"] == 0
    assert 0 < days["2026-01-02"] <= 4  # at most two rows of a person count in a day
    assert 0 < running <= Factor(3, 3).one_period * (2 * 4096) ** 2


@pytest.mark.usefixtures("silent")
def test_rows_without_a_day_are_read_by_nobody(tmp_path):
    found, _ = released(tmp_path / "all", ROWS)
    assert sum(values.sum() for values in found.values()) == 2 + 2 + 1 + 1


@pytest.mark.usefixtures("silent")
def test_a_span_that_reads_the_next_day_too_is_caught(tmp_path, monkeypatch):
    """The mutant: days that overlap, so that one day of a person is in two releases."""
    true = Span.rows
    monkeypatch.setattr(
        Span, "rows", lambda self, coded: true(replace(self, last=self.last + timedelta(days=1)), coded)
    )
    days, _ = moved(tmp_path, 1, "2026-01-02")
    assert days["2026-01-01"] > 0


def test_bounding_over_several_days_lets_one_day_decide_about_another(tmp_path):
    """The mutant: a day read from a table that is bounded by the month."""
    (tmp_path / "s.toml").write_text(SCHEMA)
    schema = sf.Schema.load(tmp_path / "s.toml")
    found = []
    for rows in (ROWS, without(1, "2026-01-01")):
        write(tmp_path, rows)
        second = Totals(("country",), where=read_where("at = DATE '2026-01-02'", schema))
        month = Span("at", date(2026, 1, 1), date(2026, 1, 31))
        with open_table(str(tmp_path / "all.parquet"), schema, span=month) as table:
            found.append(Basis(schema, None, ADD_REMOVE).gauge(second).read(table)[0])
    assert (found[0] != found[1]).any()


def test_what_a_release_costs_under_each_limit():
    loss = Loss.flat(Cost.concentrated("1/10"), relation=ADD_REMOVE)

    def price(unit, read):
        (charge,) = charges_of(Promised((unit,)), read, [loss])
        return len(charge.slots), round(float(charge.losses[0].person.tau(Fraction(2)) * 5), 9)

    day, month, week = (Slot.of(unit, date(2026, 3, 10)) for unit in ("day", "month", "week"))
    assert price("day", day) == price("month", day) == price("year", day) == (1, 1)
    assert price("day", month) == (31, 4)
    assert price("week", month) == (6, 4)
    assert price("month", week) == (1, 1)
    assert price("month", Slot.of("week", date(2026, 3, 31))) == (2, 4)
    assert price("quarter", month) == (1, 1)


def test_a_part_of_a_period_is_exchanged_and_not_left_out():
    """The mutant: the price of somebody who leaves, where a day of a month is left out and rows are weighed anew."""
    n, full = 31, 1.0
    before, after = np.array([full, 0]), np.array([full / (n + 1), n * full / (n + 1)])
    assert np.abs(before - after).sum() > 1.9 * full and np.square(before - after).sum() > 1.8 * full
    assert np.square(before - after).sum() <= 4 * full


def test_a_running_total_is_charged_what_a_month_of_it_moves():
    periods = [Slot.of("day", date(2026, 1, day)) for day in range(30, 32)]
    periods += [Slot.of("day", date(2026, 2, 1))]
    factor, variance = least_noise(3, running_claims(Promised(), {"day": Fraction(1, 10)}, periods, sensitivity(1)))
    totals = RunningTotals(relation=ADD_REMOVE, factor=factor, variance=variance, moves=sensitivity(1))
    found = {
        (charge.unit, slot): float(charge.losses[0].person.tau(Fraction(2)) / 2)
        for charge in running_charges(Promised(("day", "week", "month")), periods, totals)
        for slot in charge.slots
    }
    assert found["day", "2026-01-30"] == found["day", "2026-02-01"] == pytest.approx(0.1)
    assert found["month", "2026-01"] == pytest.approx(float(factor.shift([1, 1, 0]) / (2 * variance)))
    assert found["month", "2026-01"] > 2 * found["day", "2026-01-30"]  # not the sum of its days
    assert found["week", "2026-W05"] > found["month", "2026-01"]
    both = running_claims(Promised(), {"day": Fraction(1, 10), "month": Fraction(1, 10)}, periods, sensitivity(1))
    assert least_noise(3, both)[1] > variance


def ratios(limit, releases, worlds, choose, cost=None):
    """Return the largest log ratio of transcripts of adaptive releases over two days, in both directions.

    A release is a count with discrete Laplace noise of epsilon 1/2, cut to a few outcomes; the ledger's own filters say
    whether it runs, at `cost`.
    """
    decay, outcomes = math.exp(-0.5), range(-3, 6)
    book = SlotBook((("day", Pure(limit)),))
    loss = (cost or Loss.flat(Cost.pure("1/2"), relation=ADD_REMOVE),)
    worst = 0.0
    for path in product(outcomes, repeat=releases):
        sums: dict[str, str] = {}
        ratio, seen = 0.0, []
        for number, value in enumerate(path):
            day = choose(seen)
            verdict = book.weigh([SlotCharge("day", (day,), loss)], lambda *_, held=sums: held)
            if verdict.fits:
                sums = dict(verdict.buckets["day", "2026"])
                here, there = (world[number][day] for world in worlds)
                ratio += (abs(value - there) - abs(value - here)) * -math.log(decay)
            seen.append(value)
        worst = max(worst, abs(ratio))
    return worst


A, B = "2026-01-01", "2026-01-02"


@pytest.mark.parametrize(
    ("worlds", "most"),
    [
        ([[{A: 2, B: 1}] * 3, [{A: 1, B: 1}] * 3], 1.0),  # left out
        ([[{A: 1, B: 1}, {A: 2, B: 1}, {A: 2, B: 1}], [{A: 1, B: 1}] * 3], 0.5),  # arrived after the first look
        ([[{A: 2, B: 1}, {A: 1, B: 1}, {A: 1, B: 1}], [{A: 1, B: 1}] * 3], 0.5),  # deleted after the first look
        ([[{A: 2, B: 1}] * 3, [{A: 1, B: 2}] * 3], 1.5),  # moved to the next day: two units
    ],
)
def test_transcripts_keep_the_limit_of_every_day(worlds, most):
    found = max(
        ratios(1, 3, worlds, lambda seen: A),
        ratios(1, 3, worlds, lambda seen: A if not seen or seen[-1] > 1 else B),
    )
    assert found == pytest.approx(most)


def test_the_words_give_odds_first():
    assert said(Concentrated("0.015")) == "at most 54.4 % (Concentrated(0.015))"
    assert said(Approximate(30, "1e-6")) == "not hidden (Approximate(30, 1e-6))"
    budget = Budget("none", units={"day": Concentrated("0.015"), "year": Concentrated("0.365")})
    first, over, year, none, shift = promise(budget, "day", single=True)
    assert "is right at most 54.4 % (Concentrated(0.015)) of the time after" in first
    assert "after 30 of them at most 73.8 % (Concentrated(0.45))" in over and "after 365 not hidden" in over
    assert year == "Over each year: at most 71.4 % (Concentrated(0.365))."
    assert none.startswith("There is no bound over a lifetime") and "counts as two" in shift
    assert "after 30 of them not hidden (Concentrated(13.5))" in promise(budget, "day", single=False)[1]
    wide = promise(Budget("none", units={"day": Concentrated(3)}), "day", single=True)
    assert wide[0].endswith("whether you were there in a given day is not hidden (Concentrated(3)).")
    assert not any(word in sentence for sentence in wide for word in ("protected", "is right", "data is hidden"))


@pytest.mark.parametrize(
    ("reach", "words"),
    [
        (Reach(10, ends=True), "day: after all 10 at most 63.7 % (Concentrated(0.15))."),
        (Reach(10, ends=False), "day: after the 10 of the declared horizon at most 63.7 % (Concentrated(0.15))."),
        (Reach(40, ends=True), "day: after 30 of them at most 73.8 % (Concentrated(0.45)); after all 40 at most"),
        (Reach(500, ends=True), "(Concentrated(0.45)); after 365 not hidden"),
        (Reach(1, ends=True), ""),
        (None, "after 365 not hidden"),
    ],
)
def test_the_words_speak_of_as_many_periods_as_are_declared(reach, words):
    budget = Budget("none", units={"day": Concentrated("0.015")})
    assert words in promise(budget, "day", True, lambda unit: reach)[1]
    assert (promise(budget, "day", True, lambda unit: reach)[1] == "") is (words == "")


def test_a_period_is_read_once_and_counts_what_its_rows_alone_would(monkeypatch):
    """Ids come with the rows and nothing is copied inside the engine; the integers are those of the rows alone."""
    schema = sf.Schema.from_toml(SCHEMA)
    rows = [(person % 7, date(2026, 1, 1 + person % 3), "CH" if person % 2 else "DE") for person in range(90)]

    def table(listed):
        ids, days, countries = (list(column) for column in zip(*listed, strict=True))
        return pyarrow.table({"id": ids, "at": pyarrow.array(days, pyarrow.date32()), "country": countries})

    gauge = Basis(schema, None, ADD_REMOVE).gauge(Totals(("country",)))
    day = date(2026, 1, 2)
    with open_table(table([row for row in rows if row[1] == day]), schema) as alone:
        wanted = gauge.read(alone)[0].tolist()
    fetched, fetch = [], Source.fetched

    def noted(self, query, most=None):
        fetched.append(query)
        return fetch(self, query, most)

    monkeypatch.setattr(Source, "fetched", noted)
    with open_table(table(rows), schema, span=Span("at", day, day)) as opened:
        monkeypatch.setattr(Source, "stored", lambda *_: pytest.fail("copied"))
        assert gauge.read(opened)[0].tolist() == wanted
    assert sum("sfumato_person" in query.columns for query in fetched) == 1
