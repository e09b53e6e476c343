"""Units that are no days of a calendar: spans of days, shops, days in shops; and neighbours that are exchanged (PB-UNIT)."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import numpy as np
import pyarrow
import pytest

import sfumato as sf
from sfumato import ADD_REMOVE, REPLACE_ONE, Approximate, Concentrated, Cost, Loss, Pure
from sfumato.ask.asked import Asked
from sfumato.errors import BudgetExceeded, NotProvable, ParameterError, SchemaError
from sfumato.ledger import Ledger
from sfumato.ledger.running import Coins
from sfumato.ledger.slots import SlotCharge
from sfumato.privacy.parallel import times
from sfumato.publish.calendar import Slot
from sfumato.publish.charges import charges_of, of_person
from sfumato.publish.promised import Promised, values_of
from sfumato.publish.words import promise
from sfumato.report.evidence import evidence
from sfumato.table.bounding import SCALE
from sfumato.table.data import open_table
from sfumato.table.gauge import Basis
from sfumato.table.measure import Totals
from sfumato.table.periods import Span
from tests.publish.sample import FILE, SCHEMA, prepare
from tests.publish.test_units import Silence, ratios

FEBRUARY = date(2026, 2, 1)
SHORT = FILE.replace('licence = "CC-BY-4.0"', 'formats = ["csv"]')
SHOPS = (("shop", ("A", "B", "missing")), ("country", ("CH", "DE")))
ONE = (
    FILE.split("[[table]]")[0] + "[[table]]" + FILE.split("[[table]]")[1] + '[output]\nto = "out"\nformats = ["csv"]\n'
)
FORTNIGHT = "every 14 days from 2026-01-05"


@pytest.mark.parametrize(
    ("read", "limit", "within", "slots", "units", "whole"),
    [
        ("day", "month", "", 1, 1, True),
        ("month", "day", "", 31, 1, False),
        ("week", "month", "", 2, 1, False),  # the week of 30 March
        ("month", "week", "", 6, 1, False),
        ("day", "shop", "", 3, 1, False),
        ("day", "day, shop", "", 3, 1, False),
        ("month", "month, shop", "", 3, 1, False),
        ("day", "shop", "shop", 3, 1, True),
        ("day", "day, shop", "shop", 3, 1, True),
        ("month", "day, shop", "shop", 93, 1, False),
        ("day", "day", "shop", 1, 3, True),
        ("month", "day", "shop", 31, 3, False),
        ("day", "country", "shop", 2, 3, False),
        ("day", FORTNIGHT, "", 1, 1, True),
        (FORTNIGHT, "day", "", 14, 1, False),
        (FORTNIGHT, "week", "", 2, 1, False),
        ("week", FORTNIGHT, "", 1, 1, True),
        (FORTNIGHT, "year", "", 1, 1, True),
        (FORTNIGHT, FORTNIGHT, "", 1, 1, True),
    ],
)
def test_which_slots_a_release_meets_and_whether_as_a_whole(read, limit, within, slots, units, whole):
    """The table of examples of the specification, and what it says of other units."""
    day = date(2026, 3, 30) if read == "week" and limit == "month" else date(2026, 3, 10)
    names, share = Promised((limit,), SHOPS, within).met(limit, Slot.of(read, day))
    assert (len(names), share.units, share.whole) == (slots, units, whole)
    assert len(set(names)) == len(names)


def test_a_person_is_charged_for_every_share_and_an_exchange_twice():
    loss = Loss.flat(Cost.pure(1), relation=ADD_REMOVE)
    day = Slot.of("day", date(2026, 3, 10))

    def price(limit, within="", relation=ADD_REMOVE):
        (charge,) = charges_of(Promised((limit,), SHOPS, within, relation), day, [loss])
        assert charge.losses[0].relation is relation
        return charge.losses[0].person.epsilon

    assert [price("shop"), price("day"), price("shop", "shop"), price("day", "shop")] == [2, 1, 1, 3]
    assert [price("day", relation=REPLACE_ONE), price("day", "shop", REPLACE_ONE)] == [2, 6]
    (whole,) = of_person(Promised(("day",), SHOPS, "shop"), [loss])
    assert whole.person.epsilon == 3
    assert of_person(Promised(("day",)), [loss]) == (loss,)
    assert times(Cost.concentrated("1/10"), 3) == Cost.concentrated("9/10")
    assert times(Cost.leaking(Fraction(1), Fraction(1, 10**6)), 3).leak > 3 * Fraction(1, 10**6)


# What is read of neighbouring tables: person 1 is in shop A once and in shop B often.

TWO = """
person = "id"
[columns.at]
type = "date"
earliest = 2025-12-01
latest = 2030-12-31
[columns.shop]
type = "category"
values = ["A", "B"]
"""
MANY = 31
ROWS = [(1, "A")] + [(1, "B")] * MANY + [(2, "A"), (2, "x"), (3, "B")]


def totals(rows, within, schema=TWO):
    """Return the exact numbers by shop of a day, as a publication reads them, in rows."""
    read = sf.Schema.from_toml(schema)
    day = date(2026, 1, 5)
    table = pyarrow.table(
        {
            "id": [person for person, _ in rows],
            "at": pyarrow.array([day] * len(rows), pyarrow.date32()),
            "shop": [shop for _, shop in rows],
        }
    )
    gauge = Basis(read, None, ADD_REMOVE).gauge(Totals(("shop",)))
    with open_table(table, read, span=Span("at", day, day, within=within)) as opened:
        return np.asarray(gauge.read(opened)[0], float).ravel() / SCALE


@pytest.mark.parametrize("ids", [lambda person: person, lambda person: f"p{person}:1"])
def test_rows_that_are_cut_apart_move_their_own_shop_alone(ids):
    named = [(ids(person), shop) for person, shop in ROWS]
    neighbour = [row for row in named if row != (ids(1), "B")]
    whole, apart = (totals(named, within) - totals(neighbour, within) for within in ("", "shop"))
    assert np.abs(apart).sum() == pytest.approx(1, abs=1e-4) and np.count_nonzero(apart) == 1
    # Cut together, what was done in one shop decides how much the other counts: more than whoever leaves moves (the
    # mutant charges that), and less than what an exchange does.
    assert np.count_nonzero(whole) == 2 and 1.9 < np.abs(whole).sum() <= 2
    assert 1.8 < np.square(whole).sum() <= 4


def test_other_peoples_rows_are_never_counted_as_somebody_elses():
    rows = [("1:1", "A"), ("1", "B"), ("1", "A")]
    assert totals(rows, "shop").sum() == pytest.approx(3) and totals(rows, "").sum() == pytest.approx(2)


def test_rows_are_picked_in_each_shop_apart():
    """Whole rows, of which a person has few: what counts in shop A is the same whatever happened in shop B."""
    schema = sf.Schema.from_toml(TWO + '[columns.pay]\ntype = "integer"\nlow = 0\nhigh = 99\n')
    day = date(2026, 1, 5)
    pays = {"A": [3, 14, 15], "B": [92, 65, 35, 89]}

    def kept(rows):
        table = pyarrow.table(
            {
                "id": [7] * len(rows),
                "at": pyarrow.array([day] * len(rows), pyarrow.date32()),
                "shop": [shop for shop, _ in rows],
                "pay": [pay for _, pay in rows],
            }
        )
        with open_table(table, schema, order_key="key", span=Span("at", day, day, within="shop")) as opened:
            found = opened.run(opened.bounded(opened.rule(whole=True), schema.names)).to_pylist()
        return sorted((row["shop"], row["pay"]) for row in found)

    both = kept([(shop, pay) for shop, listed in pays.items() for pay in listed])
    assert [shop for shop, _ in both] == [0, 1]
    for place, (shop, listed) in enumerate(pays.items()):
        assert kept([(shop, pay) for pay in listed]) == [both[place]]


# Whole publications


def load(home, text=ONE, schema=None, **more):
    path = prepare(home, text=text, **more)
    if schema is not None:
        (home / "visits.schema.toml").write_text(schema)
    return sf.Publication.load(path)


def used(home, unit, slot):
    with Ledger(home / "visits.ledger") as book:
        return book.spent_in(unit, slot).percent


def test_spans_of_days_are_released_as_periods_and_limited(tmp_path):
    text = FILE.replace('licence = "CC-BY-4.0"', 'formats = ["csv", "json"]')
    text = text.replace('period = "day"', 'period = "every 2 days from 2025-12-30"').replace(
        'day = "Concentrated(1)"', '"every 2 days from 2025-12-30" = "Concentrated(1)"\nyear = "Concentrated(9)"'
    )
    publication = load(tmp_path, text)
    assert "each span of 2 days on its own" in publication.words()[0]
    assert publication.words()[-1] == "Spans of 2 days are counted from 2025-12-30."
    publication.run(today=FEBRUARY)
    names = ["2026-01-01--2026-01-02", "2026-01-03--2026-01-04"]
    assert [(one.name, one.state) for one in publication.status(FEBRUARY)] == [(name, "done") for name in names]
    assert publication.verify() and publication.run(today=FEBRUARY) == []
    assert publication.series("total").periods == tuple(names)
    out = tmp_path / "out" / "visits"
    assert (out / "period=2026-01-01--2026-01-02" / "countries.csv").is_file()
    assert (out / "latest" / "every-2-days-from-2025-12-30.json").is_file()
    record = (out / "registry.yaml").read_text()
    assert 'privacy_unit: "person-span of 2 days"' in record
    assert "A span of 2 days is read 0 days after its end" in record
    assert "All rows of one person whose at lies in one span of 2 days, whenever they arrive." in record
    assert used(tmp_path, "every 2 days from 2025-12-30", names[1]) == 100
    with Ledger(tmp_path / "visits.ledger") as book:
        assert "2 spans of 2 days were charged, 2026-01-01--2026-01-02 to" in str(book)
        assert book.guarantee(days=3) == Concentrated(4)


def test_a_table_of_several_periods_may_span_days(tmp_path):
    text = ONE.replace('question = "count by country"', f'question = "count by country"\nevery = "{FORTNIGHT}"')
    text = text.replace("2026-01-01", "2026-01-05").replace("2026-01-04", "2026-01-18")
    publication = load(tmp_path, text, days=range(5, 19))
    publication.run(today=FEBRUARY)
    assert [one.state for one in publication.status(FEBRUARY) if one.unit == FORTNIGHT] == ["done"]
    assert used(tmp_path, "day", "2026-01-18") == 100  # counts that are exchanged: twice the rho


def test_shops_and_days_in_shops_are_charged_and_refuse(tmp_path):
    text = ONE.replace('person = "none"', 'person = "none"\ncountry = "Concentrated(3)"\n"day, country" = "Pure(9)"')
    text = text.replace('"Pure(9)"', '"Concentrated(4)"')
    publication = load(tmp_path, text)
    assert "Over each day and country: " in publication.words()[2]
    assert "country CH" in publication.plan().refused and "2026-01-04" in publication.plan().refused
    with pytest.raises(BudgetExceeded, match="country CH"):
        publication.run(today=FEBRUARY)
    states = [one.state for one in publication.status(FEBRUARY)]
    assert states == ["done"] * 3 + ["due"] and publication.verify()
    assert used(tmp_path, "country", "missing") == 100 and used(tmp_path, "day, country", "2026-01-03, DE") == 25


def test_a_total_that_runs_on_is_charged_to_every_shop_as_to_somebody_who_is_there_every_day(tmp_path):
    text = FILE.replace(
        'day = "Concentrated(1)"\nperson = "none"', 'person = "Concentrated(1.5)"\ncountry = "Concentrated(5)"'
    )
    text = text.replace(
        'spend = "Concentrated(0.5)"\n\n[output]', 'spend = { country = "Concentrated(4)" }\n\n[output]'
    )
    publication = load(tmp_path, text)
    publication.run("2026-01-01", today=FEBRUARY)
    assert used(tmp_path, "country", "CH") == 100  # a day exchanged, and all days of the total
    with Ledger(tmp_path / "visits.ledger") as book:
        assert book.spent().percent == 100  # half of it for a day, and what a country costs is four times a person's


@pytest.mark.parametrize("relation", ["add remove", "replace one"])
def test_rows_cut_apart_cost_a_shop_once_and_a_day_for_every_shop(tmp_path, relation):
    text = ONE.replace("[limits]", f'[unit]\nis = "country"\nrows = 3\nrelation = "{relation}"\n\n[limits]')
    text = text.replace('day = "Concentrated(1)"', 'day = "Concentrated(8)"\ncountry = "Concentrated(2)"')
    publication = load(tmp_path, text)
    publication.run(today=FEBRUARY)
    values = len(values_of(publication.file.schema, "country"))
    assert publication.file.schema.rows_per_person == 3 and values == 4
    assert used(tmp_path, "country", "CH") == 100  # four days at a half each
    assert used(tmp_path, "day", "2026-01-02") == 100  # 4² · 1/2
    loss = publication.answers("2026-01-02")["countries"].loss
    assert loss.person.tau(Fraction(2)) == pytest.approx(2 * 8) and loss.relation is publication.file.relation
    assert loss.profile.names() == {"country"}
    with Ledger(tmp_path / "visits.ledger") as book:
        assert book.relation is (ADD_REMOVE if relation == "add remove" else REPLACE_ONE)


def test_leaving_out_a_country_moves_that_country_alone(tmp_path, monkeypatch):
    """Through all that runs: a person with many rows everywhere, and the same without one country, on all days."""
    monkeypatch.setattr(Coins, "noise", lambda self, part=0, step=0: Silence())
    rows = [(1, day, country) for day in (1, 2) for country in ("CH", *["DE"] * 20)]
    text = SHORT.replace("[limits]", '[unit]\nis = "country"\n[limits]').replace("2026-01-04", "2026-01-02")
    found = []
    for name, listed in (("here", rows), ("there", [row for row in rows if row[2] != "DE"])):
        (tmp_path / name).mkdir()
        publication = load(tmp_path / name, text.replace('"Concentrated(1)"', '"Concentrated(99)"'), rows=listed)
        publication.run(today=FEBRUARY)
        days = [publication.answers(f"2026-01-0{day}")["countries"].frame["count"] for day in (1, 2)]
        found.append((np.array(days), publication.series("total").segments[0].released))
    (days, running), (without, fewer) = found
    assert days.tolist() == [[1, 2, 0, 0]] * 2 and without.tolist() == [[1, 0, 0, 0]] * 2
    assert (running[:, 0] == fewer[:, 0]).all() and (running[:, 1] != fewer[:, 1]).all()


# Neighbours that are exchanged


def test_where_days_are_exchanged_noise_is_wider_and_the_spend_is_kept(tmp_path):
    (tmp_path / "left").mkdir()
    (tmp_path / "exchanged").mkdir()
    left = load(tmp_path / "left", SHORT)
    exchanged = load(tmp_path / "exchanged", SHORT.replace("[limits]", '[unit]\nrelation = "replace one"\n[limits]'))
    found = []
    for publication in (left, exchanged):
        publication.run(today=FEBRUARY)
        assert publication.verify() and used(publication.file.to.parent, "day", "2026-01-02") == 100
        interval = publication.answers("2026-01-01")["countries"].frame
        widths = np.array(interval["count, high"]) - np.array(interval["count, low"])
        found.append((widths.mean(), publication.series("total").totals().half.mean()))
    assert found[1][0] == pytest.approx(2**0.5 * found[0][0], abs=2)  # ends are whole rows
    assert found[1][1] == pytest.approx(2 * found[0][1], rel=0.02)
    words = exchanged.words()[0]
    assert "were left out or exchanged. Whoever guesses a fact about your day, 50:50 before" in words
    assert "left out or exchanged" not in left.words()[0]


@pytest.mark.parametrize("question", ["count", "count where country = 'CH'", "people", "mean of pay"])
def test_how_many_there_are_is_paid_where_days_are_exchanged(tmp_path, question):
    """The mutant takes an old certificate of exchanged people, whose number is public, for one of exchanged days."""
    text = ONE.replace("[limits]", '[unit]\nrelation = "replace one"\n[limits]').replace("count by country", question)
    schema = SCHEMA.replace("rows_per_person = 2", "") + '\n[columns.pay]\ntype = "integer"\nlow = 0\nhigh = 9\n'
    home = tmp_path
    path = prepare(home, text=text, days=[])
    (home / "visits.schema.toml").write_text(schema)
    publication = sf.Publication.load(path)
    with Ledger(None, publication.file.budget, relation=REPLACE_ONE) as book:
        asked = publication._tables.asked(book, publication.file.anew())
        losses = publication._tables.losses(asked, publication.file.anew())
        _, (charge,) = publication._charges(asked, publication._due(FEBRUARY)[0], losses)
    spent = charge.losses[0].person.tau(Fraction(2)) / 2
    assert not charge.losses[0].person.is_zero and 0.4 < float(spent) <= 0.5


A, B = "2026-01-01", "2026-01-02"


@pytest.mark.parametrize(
    ("worlds", "most"),
    [
        ([[{A: 3, B: 1}] * 2, [{A: 1, B: 1}] * 2], 2.0),  # exchanged for what moves it twice as far
        ([[{A: 3, B: 1}] * 2, [{A: 2, B: 1}] * 2], 1.0),  # left out
        ([[{A: 3, B: 1}, {A: 1, B: 1}], [{A: 1, B: 1}] * 2], 1.0),  # corrected after the first look
    ],
)
def test_transcripts_keep_the_limit_of_an_exchanged_day(worlds, most):
    loss = Loss.flat(times(Cost.pure("1/2"), 2))
    found = max(
        ratios(2, 2, worlds, lambda seen: A, loss),
        ratios(2, 2, worlds, lambda seen: A if not seen or seen[-1] > 1 else B, loss),
    )
    assert found == pytest.approx(most)


def test_the_price_of_a_day_that_is_left_out_does_not_keep_the_limit_of_an_exchanged_one():
    """The mutant: the add-remove certificate, four times under a limit of 2, where each costs 1."""
    worlds = [[{A: 3, B: 1}] * 4, [{A: 1, B: 1}] * 4]
    assert ratios(2, 3, worlds, lambda seen: A, Loss.flat(Cost.pure("1/2"))) == pytest.approx(3.0)


# Words and refusals


def test_words_of_units_that_are_no_days():
    units = {"shop": Concentrated("0.015"), "day, shop": Concentrated("0.001")}
    first, over, other, none, shift = promise(sf.Budget("none", units=units), "day", single=True)
    assert "for each day and shop on its own" in first and "(Concentrated(0.001))" in first
    # A release reads every shop, so costs do not just add up.
    assert over.startswith("Somebody in several pairs of day and shop: in 2 of them ")
    assert "(Concentrated(0.004))" in over and other == "Over each shop: at most 54.4 % (Concentrated(0.015))."
    assert "every further day and shop in which" in none and "another day and shop counts as two" in shift


def test_costs_of_days_do_not_just_add_up_where_a_release_reads_a_month(tmp_path):
    """Earlier versions said that they do: a month cost 31 times the rho of a day, and not 31² times."""
    text = ONE.replace('period = "day"', 'period = "month"').replace('last = "2026-01-04"', 'last = "2026-12-31"')
    monthly = load(tmp_path, text.replace('"Concentrated(1)"', '"Concentrated(0.001)"'), days=[])
    assert "after 30 of them at most 83.6 % (Concentrated(0.9))" in monthly.words()[1]
    daily = sf.Publication.load(prepare(tmp_path, text=ONE.replace('"Concentrated(1)"', '"Concentrated(0.001)"')))
    assert "after 30 of them at most 56.2 % (Concentrated(0.03))" in daily.words()[1]


@pytest.mark.parametrize(
    ("unit", "limits", "notes"),
    [
        ("", 'month = "Concentrated(9)"', []),
        (
            "",
            'country = "Concentrated(9)"',
            ["countries costs each country Concentrated(1), because a person's rows are cut over all of them together; "
             "write is = 'country' under [unit] to cut them apart."],
        ),
        (
            'is = "country"',
            'country = "Concentrated(9)"',
            ["countries costs each day Concentrated(8), because a person's rows are cut in each country apart; leave is "
             "= 'country' out of [unit] to cut them together."],
        ),
        (
            'relation = "replace one"',
            'country = "Concentrated(9)"',
            [],
        ),
    ],
)  # fmt: skip
def test_a_plan_says_which_limits_a_table_costs_more(tmp_path, unit, limits, notes):
    text = ONE.replace("[limits]", f"[unit]\n{unit}\n[limits]\n{limits}")
    plan = sf.Publication.load(prepare(tmp_path, text=text, days=[])).plan()
    assert list(plan.notes) == plan.to_json()["notes"] == notes
    assert all(note in str(plan) for note in notes)


def test_a_plan_says_what_a_part_of_a_month_costs(tmp_path):
    text = ONE.replace('question = "count by country"', 'question = "count by country"\nevery = "month"')
    plan = sf.Publication.load(prepare(tmp_path, text=text, days=[])).plan()
    (note,) = plan.notes
    assert note.endswith(
        "because they are parts of what the table reads; limit each month, if that is what you promise."
    )
    assert note.startswith("countries costs each day Concentrated(1), ")


def test_nobody_is_told_for_free_how_many_there_are_where_days_are_exchanged(tmp_path):
    """The mutant opens a curator of exchanged people there, who tells their number."""
    schema = sf.Schema.from_toml(SCHEMA)
    day = pyarrow.array([date(2026, 1, 1)], pyarrow.date32())
    rows = pyarrow.table({"id": [1], "at": day, "country": ["CH"]})
    with Ledger(None, sf.Budget("none", units={"day": Pure(1)}), relation=REPLACE_ONE) as book:
        with pytest.raises(ParameterError, match="the number of people is private"):
            sf.curate(rows, schema, ledger=book)
        assert "no number of people or rows is public" in evidence(book).html()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('person = "none"', 'person = "none"\ncountri = "Pure(1)"', "did you mean 'country'"),
        ('person = "none"', 'person = "none"\nat = "Pure(1)"', "whose values the schema lists"),
        ('person = "none"', 'person = "none"\nhours = "Pure(1)"', "nothing finer"),
        ('period = "day"', 'period = "every 3 days"', "every 14 days from 2026-01-01"),
        ("[limits]", '[unit]\nis = "shop"\n[limits]', "the schema has no column 'shop'"),
        ("[limits]", '[unit]\nis = "month"\n[limits]', "write period = 'month'"),
        ("[limits]", '[unit]\nis = "day, month"\n[limits]', "one of each"),
        ("[limits]", "[unit]\nrows = 0\n[limits]", "from 1 on"),
        ("[limits]", '[unit]\nrelation = "exchange"\n[limits]', "write 'add remove'"),
        ("[limits]", '[unit]\nas = "day"\n[limits]', "no 'as'"),
        ('question = "count by country"\nspend = "Concentrated(0.5)"',
         'running = "count by country"\nspend = { person = "Pure(1)" }', "a period or a shop"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_unit_is_said(tmp_path, old, new, said):
    assert old in ONE
    path = prepare(tmp_path, text=ONE.replace(old, new), days=[])
    with pytest.raises((ParameterError, SchemaError), match=said):
        sf.Publication.load(path).plan()


def test_whole_people_are_not_asked_about_where_their_rows_are_cut_apart(tmp_path):
    text = ONE.replace("[limits]", '[unit]\nis = "country"\n[limits]').replace("count by country", "people")
    with pytest.raises(ParameterError, match="asks about whole people"):
        sf.Publication.load(prepare(tmp_path, text=text, days=[])).plan()


@pytest.mark.parametrize("spend", [Approximate(1, "1e-6"), Approximate("0.3", "1e-8"), Pure(3), Concentrated("0.2")])
def test_what_an_exchange_costs_is_the_spend(spend):
    exchanged = Promised(relation=REPLACE_ONE)
    left, whole = Cost.of(exchanged.spent(spend)), Cost.of(spend)
    both = times(left, exchanged.changes(exchanged.person))
    assert both.epsilon == whole.epsilon and both.leak <= whole.leak and both.tau(Fraction(2)) <= whole.tau(Fraction(2))
    assert both.leak >= whole.leak * Fraction(999_999, 1_000_000)


def test_groups_that_are_found_are_released_where_days_are_exchanged(tmp_path):
    text = ONE.replace("[limits]", '[unit]\nrelation = "replace one"\n[limits]').replace("2026-01-04", "2026-01-01")
    text = text.replace("Concentrated(0.5)", "Approximate(1, 1e-6)").replace("Concentrated(1)", "Approximate(1, 2e-6)")
    schema = SCHEMA.replace('type = "category"\nvalues = ["CH", "DE"]', 'type = "text"\nmax_bytes = 4')
    publication = load(tmp_path, text.replace("by country", "by country found privately"), schema)
    publication.run(today=FEBRUARY)
    assert publication.verify() and used(tmp_path, "day", "2026-01-01") == 100


def test_of_alternatives_those_count_of_which_several_shares_have_a_known_price():
    day, shops = Slot.of("day", date(2026, 3, 10)), Promised(("shop",), SHOPS)
    curve = Cost.gaussian(Fraction(1, 10)) + Cost.approximate(0, Fraction(1, 10**6))
    unknown, known = (Loss.flat(cost, relation=ADD_REMOVE) for cost in (curve, Cost.approximate(1, Fraction(1, 10**6))))
    (charge,) = charges_of(shops, day, [unknown, known])
    assert [loss.person.epsilon for loss in charge.losses] == [2]
    with pytest.raises(NotProvable, match="no replace-one form"):
        charges_of(shops, day, [unknown])


def test_lists_of_people_go_with_no_unit_that_is_a_column(tmp_path):
    text = FILE.replace(
        'day = "Concentrated(1)"\nperson = "none"', 'country = "Concentrated(1)"\nperson = "Concentrated(1)"'
    )
    text = text.replace("windows = [2]\nspend", "periods_per_person = 2\nspend")
    with pytest.raises(ParameterError, match="what they did in one country decide about another"):
        sf.Publication.load(prepare(tmp_path, text=text, days=[]))


def test_charges_of_slots_are_those_of_the_limit():
    charge = SlotCharge("shop", ("A",), (Loss.flat(Cost.of(Pure(1)), relation=ADD_REMOVE),))
    assert SlotCharge.from_json(charge.to_json()) == charge


def test_a_period_that_an_earlier_version_began_is_completed_at_what_it_was_charged(tmp_path, monkeypatch):
    """It charged every exchange as two people; what the ledger holds of a request is never another request."""
    text = ONE.replace('question = "count by country"', 'question = "count by country"\nevery = "month"')
    text = text.replace('day = "Concentrated(1)"', 'day = "Concentrated(2)"').replace("2026-01-04", "2026-01-31")
    publication = load(tmp_path, text, days=range(1, 32))
    with monkeypatch.context() as patched:
        patched.setattr(type(publication._tables), "exchanged", lambda self, asked: ())
        patched.setattr(Asked, "draw", cut_short)
        with pytest.raises(KeyboardInterrupt):
            publication.run(today=FEBRUARY)
    assert used(tmp_path, "day", "2026-01-18") == 100
    publication.run(today=FEBRUARY)
    assert [one.state for one in publication.status(FEBRUARY) if one.unit == "month"] == ["done"]
    assert used(tmp_path, "day", "2026-01-18") == 100 and publication.verify()


def cut_short(self, content, coins):
    raise KeyboardInterrupt
