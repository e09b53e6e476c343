"""Running totals that are asked through a curator: steps, kills, runners, charges, dates and refusals (PB-CONTINUAL)."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pyarrow
import pytest

import sfumato as sf
from sfumato import ADD_REMOVE, REPLACE_ONE, Approximate, Budget, Concentrated, Noise, Pure
from sfumato.errors import BudgetExceeded, LedgerError, ParameterError, SchemaError, Unfinished
from sfumato.ledger import Ledger
from sfumato.ledger.stepping import Stepwise
from sfumato.publish import curated
from sfumato.publish.memory import CountingRule
from sfumato.publish.tree import best_tree
from tests.ledger.conftest import schema_on

WHERE = sf.categories("a", "b", missing="a", other="b")
SITES = sf.Schema({"site": WHERE}, person="id")
VISITS = sf.Schema({"site": WHERE, "pay": sf.integers(0, 4), "at": sf.dates("2025-12-01", "2027-12-31")}, person="id")
PLENTY = Approximate(99, "1/1000")


def day(*sites):
    """One period: the first person is at the first site, and so on; nobody is where there is None."""
    there = [(place, site) for place, site in enumerate(sites) if site is not None]
    ids, cells = [one for one, _ in there], [site for _, site in there]
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "site": pyarrow.array(cells, pyarrow.string())})


DAYS = [day("a", "b", "a"), day("a", "a"), day(), day(None, "b", "b")]


@pytest.fixture
def quiet(monkeypatch):
    monkeypatch.setattr(Noise, "draw", lambda self, law, size=None: np.zeros(size, np.int64))


def held(place=None, schema=SITES, budget=PLENTY, **more):
    return sf.curate(DAYS[0], schema, budget, ledger=place, snapshot="first", **more)


def test_steps_windows_and_differences_are_those_of_the_tables(quiet):
    with held() as curator:
        visits = curator.running("count by site", periods=4, spend=Concentrated(1))
        assert visits.next == "1" and visits.keys == (("a",), ("b",))
        assert [visits.step(one) for one in DAYS] == ["1", "2", "3", "4"] == list(visits.periods)
        assert visits.next is None and "4 of 4 periods are released" in repr(visits)
        assert visits.series().values.tolist() == [[2, 1], [4, 1], [4, 1], [4, 3]]
        assert visits.series(window=2).values.tolist() == [[2, 1], [4, 1], [2, 0], [0, 2]]
        found, half = visits.between(1, 4)
        assert found.tolist() == [2, 2] and 0 < half < visits.series().half[-1] + visits.series().half[0]
        assert (np.diff(visits.monotone(), axis=0) >= 0).all()
        frame = visits.frame([2])
        assert frame["site"] == ("a", "b") * 4 and frame["last_2"][-1] == 2 and "total_all_low" in frame.columns
        assert "noise of privacy only" in visits.plot(window=2).svg() and "±" in visits.error
        with pytest.raises(ParameterError, match="All 4 periods"):
            visits.step(DAYS[0])
        assert visits.step(DAYS[0], 2) == "2"  # released before: nothing is read


@pytest.mark.parametrize("spend", [Concentrated(1), Pure(2)])
@pytest.mark.parametrize("most", [None, 2])
def test_the_whole_spend_is_reserved_when_it_is_opened_and_no_more(spend, most):
    """Under both relations; who comes every day is paid for, or in so many of them."""
    found = []
    for relation in (ADD_REMOVE, REPLACE_ONE):
        with held(budget=spend, relation=relation) as curator:
            visits = curator.running("count by site", periods=4, spend=spend, periods_per_person=most)
            charged = curator.ledger.spent().left[1]
            assert charged == 0 or 0 < charged < Fraction(1, 100)
            assert visits.loss.within(spend)
            variance = float(visits._first.totals.law.deviation()) ** 2
            found.append(float(variance))
            with pytest.raises(BudgetExceeded):
                curator.running("count", periods=4, spend=spend)
            visits.step(DAYS[0])
            assert curator.ledger.spent().left[1] == charged
    # One in place of another: twice the rho, or twice the epsilon, of one who comes or goes.
    assert found[1] / found[0] == pytest.approx(2 if isinstance(spend, Concentrated) else 4, rel=0.01)


def test_one_number_costs_no_more_where_people_are_exchanged_and_signed_sums_cost_most():
    def deviation(question, relation, most=None, schema=VISITS):
        table = pyarrow.table({"id": [1], "site": ["a"], "pay": [3], "at": [date(2026, 1, 1)]})
        with sf.curate(table, schema, PLENTY, relation=relation) as curator:
            total = curator.running(question, periods=3, spend=Concentrated(1), periods_per_person=most)
            return float(total._first.totals.law.deviation()) * total._first.grid

    def ratio(*asked, **more):
        return deviation(asked[0], REPLACE_ONE, *asked[1:], **more) / deviation(
            asked[0], ADD_REMOVE, *asked[1:], **more
        )

    assert ratio("count") == pytest.approx(1, rel=1e-6)
    assert ratio("sum of pay") == pytest.approx(1, rel=1e-6)
    assert ratio("count", 1) == pytest.approx(2**0.5, rel=1e-3)  # in another period than the other
    assert ratio("mean of pay") == pytest.approx(2, rel=1e-3)
    signed = sf.Schema({**VISITS.columns, "pay": sf.integers(-2, 2)}, person="id")
    assert ratio("sum of pay", schema=signed) == pytest.approx(2, rel=1e-3)


def test_a_script_that_names_its_periods_may_run_twice(tmp_path):
    """The mutant counts the table of the first day again, as a day of its own, when the script runs again."""
    shown = []
    for _ in range(2):
        with held(tmp_path / "visits.ledger") as curator:
            visits = curator.running("count by site", periods=4, spend=Concentrated(1))
            for number, one in enumerate(DAYS[:2], start=1):
                visits.step(one, number)
            shown.append(visits.series().values.tolist())
            spent = curator.ledger.spent().sums
    assert shown[0] == shown[1] and len(shown[0]) == 2
    with held(tmp_path / "visits.ledger") as curator:
        visits = curator.running("count by site", periods=4, spend=Concentrated(1))
        assert curator.ledger.spent().sums == spent
        with pytest.raises(LedgerError, match=r"2 periods .* write step\(table, '3'\)"):
            visits.step(DAYS[2])
        with pytest.raises(ParameterError, match="goes on with 3, not with 4"):
            visits.step(DAYS[2], 4)
        visits.step(DAYS[2], 3)
        assert visits.step(DAYS[3]) == "4"  # now it is certain which one is meant
        with pytest.raises(LedgerError, match="begun as another one"):
            curator.running("count by site", periods=5, spend=Concentrated(1))
        other = curator.running("count by site", periods=5, spend=Concentrated(1), name="other")
        assert other.name == "other" and other.periods == () and curator.ledger.verify().ok


@pytest.mark.parametrize("where", ["draw", "save", "release"])
def test_what_was_cut_short_is_completed_from_what_was_frozen(tmp_path, monkeypatch, where):
    """Whatever is handed over then: what counts is what was read, once, with the coins that were kept with it."""
    drawn = []
    true = Stepwise.draw

    def kept(self, draw):
        drawn.append(true(self, draw))
        return drawn[-1]

    def killed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Stepwise, "draw", kept)
    with held(tmp_path / "visits.ledger") as curator:
        visits = curator.running("count by site", periods=4, spend=Concentrated(1))
        with monkeypatch.context() as patch:
            patch.setattr(Stepwise, where, killed)
            with pytest.raises(KeyboardInterrupt):
                visits.step(DAYS[0])
        said = "cut short" if where != "release" else "1 periods"
        with pytest.raises(LedgerError, match=said):
            visits.step(DAYS[1])
    with held(tmp_path / "visits.ledger") as curator:
        visits = curator.running("count by site", periods=4, spend=Concentrated(1))
        visits.step(day("b", "b", "b", "b", "b"), 1)
        kept_read = tmp_path / "visits.ledger.private" / "read"
        assert len(list(kept_read.iterdir())) == 1 and visits.periods == ("1",)
        assert len(set(drawn)) == 1 and len(drawn) == (2 if where == "save" else 1)
        frozen = visits._first._totals_of(next(iter(kept_read.iterdir())).name)
        assert (frozen * visits._first.gauge.unit).tolist() == [2, 1]
        assert visits._first.open(curator.ledger).kept() == []


KILLED = """
import os, sys, signal
import sfumato as sf
from sfumato.ledger.stepping import Stepwise
from tests.publish.test_curated import DAYS, held
true, left = getattr(Stepwise, sys.argv[2]), [int(sys.argv[3])]
def dies(self, *given, **named):
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return true(self, *given, **named)
setattr(Stepwise, sys.argv[2], dies)
with held(sys.argv[1], private=sys.argv[4]) as curator:
    visits = curator.running("count by site", periods=4, spend=sf.Concentrated(1), periods_per_person=2)
    for number, one in enumerate(DAYS, start=1):
        visits.step(one, number)
    print(visits.series().values.tolist())
"""


@pytest.mark.audit
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
@pytest.mark.parametrize("where", ["freeze", "draw", "save", "release"])
def test_real_kills_leave_one_draw_of_every_period(tmp_path, where, database, request):
    place = tmp_path / "visits.ledger"
    if database == "postgres":
        place = schema_on(request.getfixturevalue("postgres"))
    private = str(tmp_path / "visits.ledger.private")

    def run(many):
        return [sys.executable, "-c", KILLED, str(place), where, many, private]

    for step in range(4):
        assert subprocess.run(run(str(int(step > 0))), check=False).returncode == -9
    done = subprocess.run(run("99"), check=True, capture_output=True)
    with held(place, private=private) as curator:
        visits = curator.running("count by site", periods=4, spend=Concentrated(1), periods_per_person=2)
        assert str(visits.series().values.tolist()) in done.stdout.decode()
        assert curator.ledger.verify().ok and visits._first.open(curator.ledger).kept() == []
        assert len([one for one in curator.ledger.history() if one.id.startswith("running/")]) == 1
    assert len(list((tmp_path / "visits.ledger.private" / "released").iterdir())) == 4


def stepped(server, name, rows):
    """Put the rows of a period into a table of the server, in place of what was there."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE IF NOT EXISTS {name} (id bigint, site text)")
        connection.execute(f"TRUNCATE {name}")
        for row in rows.to_pylist():
            connection.execute(f"INSERT INTO {name} VALUES (%s, %s)", [row["id"], row["site"]])


@pytest.mark.parametrize("rule", [{}, {"periods_per_person": 1}])
def test_a_total_runs_on_a_ledger_and_a_source_in_postgres(tmp_path, postgres, quiet, rule):
    """As with files: read once, opened again where it was, lists of people too, which lie next to this process."""
    ledger, private = schema_on(postgres), tmp_path / "private"
    found = []
    for period, rows in enumerate(DAYS, start=1):
        stepped(postgres, "site_visits", rows)
        how = {"ledger": ledger, "private": private, "table": "site_visits", "snapshot": f"day {period}"}
        with sf.curate(postgres, SITES, PLENTY, **how) as curator:
            visits = curator.running("count by site", periods=4, spend=Concentrated(1), name="visits", **rule)
            assert visits.step(postgres, period, table="site_visits") == str(period)
            if period > 1:  # what is released is not read again, whatever the table holds by now
                assert visits.step(postgres, period - 1, table="site_visits") == str(period - 1)
            found = visits.series().values.tolist()
    with held(private=tmp_path / "other", place=tmp_path / "visits.ledger") as curator:
        near = curator.running("count by site", periods=4, spend=Concentrated(1), **rule)
        for period, rows in enumerate(DAYS, start=1):
            near.step(rows, period)
        assert found == near.series().values.tolist()
    with Ledger(ledger) as book:
        assert book.verify().ok and len([one for one in book.history() if one.id.startswith("running/")]) == 1
    assert not list((private / "now").glob("*/*"))


def test_a_ledger_in_postgres_needs_a_place_for_what_was_read(postgres):
    with held(schema_on(postgres)) as curator, pytest.raises(ParameterError, match="private="):
        curator.running("count", periods=2, spend=Concentrated(1))


def test_two_who_run_it_release_every_period_once(tmp_path):
    with held(tmp_path / "visits.ledger") as one, held(tmp_path / "visits.ledger") as two:
        asked = [
            curator.running("count by site", periods=4, spend=Concentrated(1), name="both") for curator in (one, two)
        ]
        asked[0].step(DAYS[0])
        with pytest.raises(LedgerError, match="does not say of which period"):
            asked[1].step(DAYS[0])  # which it would take for the first
        asked[1].step(DAYS[0], 1)
        asked[1].step(DAYS[1])
        assert asked[0].series().values.tolist() == asked[1].series().values.tolist()
        assert asked[0].periods == ("1", "2")


def test_a_ledger_in_memory_keeps_nothing_on_disk_and_goes_on(tmp_path, monkeypatch, quiet):
    monkeypatch.chdir(tmp_path)
    with held() as curator:
        curator.running("count by site", periods=4, spend=Concentrated(1)).step(DAYS[0])
        again = curator.running("count by site", periods=4, spend=Concentrated(1))
        again.step(DAYS[3], 2)
        assert again.series().values.tolist() == [[2, 1], [2, 3]]
    assert list(tmp_path.iterdir()) == []


def test_what_is_kept_is_secret_and_its_names_say_nothing(tmp_path):
    names = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        with held(tmp_path / name / "visits.ledger") as curator:
            curator.running("count by site", periods=4, spend=Concentrated(1)).step(DAYS[0])
            private = curator.ledger.private
            assert private.stat().st_mode & 0o077 == 0
            names.append({one.name for one in (private / "read").iterdir()})
    assert not names[0] & names[1] and len(names[0]) == 1


def test_a_lost_reading_ends_it(tmp_path):
    with held(tmp_path / "visits.ledger") as curator:
        visits = curator.running("count by site", periods=4, spend=Concentrated(1))
        visits.step(DAYS[0])
        (kept,) = (curator.ledger.private / "read").iterdir()
        content = kept.read_bytes()
        kept.unlink()
        with pytest.raises(Unfinished, match="mount it or put it back"):  # an empty place is one that is not mounted
            visits.step(DAYS[1])
        kept.write_bytes(content[:-1])
        with pytest.raises(LedgerError, match="it has ended"):
            visits.step(DAYS[1])
        for again in (visits.series, lambda: visits.step(DAYS[1])):
            with pytest.raises(LedgerError, match="ended before its time"):
                again()
        with pytest.raises(LedgerError, match="ended before its time"):
            curator.running("count by site", periods=4, spend=Concentrated(1))


def test_a_person_counts_in_so_many_periods(quiet):
    with held() as curator:
        visits = curator.running("count", periods=4, spend=Concentrated(1), periods_per_person=2, gap=2)
        for _ in range(4):
            visits.step(day("a", "b"))
        assert visits.series().values[:, 0].tolist() == [2, 2, 4, 4]
        assert visits._first.spec.rule == CountingRule(2, 2)


def test_if_the_end_is_not_known_the_next_horizon_is_twice_as_long_and_charged_anew(quiet):
    with held() as curator:
        visits = curator.running("count by site", horizon=2, spend=Concentrated(1))
        charged = [curator.ledger.spent().sums]
        for number in range(1, 4):
            assert visits.step(DAYS[0]) == str(number)
            charged.append(curator.ledger.spent().sums)
        assert charged[0] == charged[1] == charged[2] != charged[3]
        assert visits.series().values.tolist() == [[2, 1], [4, 2], [6, 3]] and visits.next == "4"
        assert len(visits.periods) == 3 and "3 periods are released" in repr(visits)
        half = visits.series().half
        assert half[2] > half[1]


def test_a_name_that_ends_as_a_later_horizon_does_ends_nobody_elses_total(quiet):
    """The second horizon of 'x' was the request of 'x/2', so that 'x' took no further step."""
    with held() as curator:
        first = curator.running("count by site", horizon=1, spend=Concentrated(1), name="x")
        second = curator.running("count", periods=1, spend=Concentrated(1), name="x/2")
        assert [first.step(DAYS[0]) for _ in range(3)] == ["1", "2", "3"] and second.step(DAYS[1]) == "1"
        assert first.series().values.tolist() == [[2, 1], [4, 2], [6, 3]] and second.series().values.tolist() == [[2]]


LIMITS = Budget(person="none", units={"day": Concentrated(1), "month": Concentrated(9)})


def test_limits_on_days_are_charged_for_the_days_that_rows_name(quiet):
    rows = pyarrow.table(
        {
            "id": [1, 2, 3, 1],
            "site": ["a", "b", "a", "b"],
            "pay": [1, 2, 3, 4],
            "at": [date(2026, 1, 1), date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 2)],
        }
    )
    with sf.curate(rows, VISITS, LIMITS, relation=ADD_REMOVE) as curator:
        asked = {"stamp": "at", "first": "2026-01-01", "periods": 3}
        with pytest.raises(ParameterError, match="limit for each day"):
            curator.running("count", periods=3, spend=Concentrated(1))
        with pytest.raises(ParameterError, match=r"spend=\{'day': Concentrated\(0.01\)\}"):
            curator.running("count", spend=Concentrated(1), **asked)
        with pytest.raises(ParameterError, match="one day decide about another"):
            curator.running("count", spend={"person": Concentrated(1)}, periods_per_person=1, **asked)
        visits = curator.running("count by site", spend={"day": Concentrated(1)}, **asked)
        assert visits.step(rows) == "2026-01-01" and visits.next == "2026-01-02"
        assert visits.step(rows, date(2026, 1, 2)) == "2026-01-02"
        assert visits.series().values.tolist() == [[1, 1], [2, 2]]
        book = curator.ledger
        assert [round(float(book.spent_in("day", f"2026-01-0{one}").percent)) for one in (1, 2, 3)] == [100] * 3
        # Somebody who comes every day costs a month more than three days one by one, and less than nine.
        assert 300 / 9 < book.spent_in("month", "2026-01").percent < 100
        with pytest.raises(BudgetExceeded):
            curator.running("count", spend={"day": Concentrated(1)}, **asked)


def test_the_column_that_says_when_a_row_happened_is_charged_too():
    """The mutant charges the columns of the question alone: a changed day then moves two periods for nothing."""
    rows = pyarrow.table({"id": [1], "site": ["a"], "pay": [1], "at": [date(2026, 1, 1)]})
    with sf.curate(rows, VISITS, Budget(person=Concentrated(2), each_attribute=Concentrated(1))) as curator:
        dated = curator.running(
            "count by site", periods=2, stamp="at", first="2026-01-01", spend=Concentrated("1/2"), name="dated"
        )
        assert dated.loss.at("at").tau(2) == dated.loss.at("site").tau(2) > 0 == dated.loss.at("pay").tau(2)
        numbered = curator.running("count by site", periods=2, spend=Concentrated("1/2"))
        assert numbered.loss.at("at").tau(2) == 0


def test_months_moments_with_a_zone_and_pure_sums(quiet):
    rows = pyarrow.table({"id": [1, 2, 3], "site": ["a"] * 3, "pay": [1, 2, 4], "at": [date(2026, 1, 1)] * 3})
    moments = [datetime(2026, 1, 31, hour, 30, tzinfo=UTC) for hour in (23, 12)] + [datetime(2026, 2, 1, tzinfo=UTC)]
    table = rows.set_column(3, "at", pyarrow.array(moments, pyarrow.timestamp("s", "UTC")))
    with sf.curate(rows, VISITS, PLENTY) as curator:
        months = curator.running(
            "sum of pay", periods=2, stamp="at", first="2026-01-01", period="month", zone="Europe/Berlin", spend=Pure(1)
        )
        assert [months.step(table) for _ in range(2)] == ["2026-01", "2026-02"]
        assert months.series().values[:, 0].tolist() == [2, 7]
        assert months._first.totals.tree == best_tree(2)


def test_quotas_of_analysts_are_charged(tmp_path):
    with held(analysts={"ann": Budget(person=Concentrated(1))}, budget=Concentrated(5)) as curator:
        with pytest.raises(BudgetExceeded):
            curator.running("count by site", periods=2, spend=Concentrated(2), analyst="ann")
        curator.running("count by site", periods=2, spend=Concentrated("1/2"), analyst="ann").step(DAYS[0])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "known number of periods"),
        ({"periods": 3, "horizon": 3}, "known number of periods"),
        ({"periods": 0}, "from 1 on"),
        ({"periods": 3, "horizn": 3}, "did you mean horizon="),
        ({"periods": 3, "name": "half a \ud800"}, "halves of characters"),
        ({"periods": 5000}, "1 to 4096 periods"),
        ({"periods": 3, "spend": Approximate(1, "1e-6")}, "Concentrated, or by Pure"),
        ({"periods": 3, "spend": Pure(1).per_attribute()}, "whole people"),
        ({"periods": 3, "spend": {"day": Pure(1)}}, "by person, not by"),
        ({"periods": 3, "spend": 0.5}, "must be a bound"),
        ({"periods": 3, "stamp": "at"}, "stamp='at', first="),
        ({"periods": 3, "period": "week"}, "no length"),
        ({"periods": 3, "gap": 0, "periods_per_person": 1}, "gap"),
        ({"periods": 3, "target": 0}, "target"),
        ({"periods": 3, "question": "median of pay"}, "counts rows or adds up one column"),
        ({"periods": 3, "question": "count by site found privately"}, "keys = 'pages'"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_charged(asked, said):
    rows = pyarrow.table({"id": [1], "site": ["a"], "pay": [1], "at": [date(2026, 1, 1)]})
    with sf.curate(rows, VISITS, PLENTY) as curator:
        question, spend = asked.pop("question", "count by site"), asked.pop("spend", Concentrated(1))
        with pytest.raises(ParameterError, match=said):
            curator.running(question, spend=spend, **asked)
        assert curator.ledger.history() == []


def test_a_table_that_cannot_be_read_is_refused_for_nothing_and_a_closed_curator_steps_no_more(quiet):
    with held() as curator:
        visits = curator.running(sf.Count(), periods=2, spend=Concentrated(1))
        assert visits.name == "Count"
        with pytest.raises(SchemaError, match="site"):
            visits.step(pyarrow.table({"id": [1]}))
        assert visits.step(DAYS[0]) == "1"  # it was not taken for a period
    with pytest.raises(ParameterError, match="closed"):
        visits.step(DAYS[1])


def test_a_ledger_without_a_directory_has_no_place_for_readings(monkeypatch):
    monkeypatch.setattr(Ledger, "place", "postgresql://house/visits")
    with held() as curator, pytest.raises(ParameterError, match="private="):
        curator.running("count", periods=2, spend=Concentrated(1))


def test_lists_of_people_need_data_next_to_this_process(monkeypatch):
    far = SimpleNamespace(source=SimpleNamespace(is_duckdb=False), close=lambda: None)
    monkeypatch.setattr(curated, "open_table", lambda *_, **__: far)
    with held() as curator:
        visits = curator.running("count", periods=2, spend=Concentrated(1), periods_per_person=1)
        with pytest.raises(ParameterError, match="Lists of people"):
            visits.step(DAYS[0])
