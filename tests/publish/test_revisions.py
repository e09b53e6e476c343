"""Second looks at closed periods: when, at which price, and how readers see them (PB-PUBLISH)."""

from __future__ import annotations

import json
from datetime import date

import pytest

import sfumato as sf
from sfumato.errors import BudgetExceeded, ParameterError
from sfumato.ledger import Ledger
from tests.publish.sample import FILE, prepare, write_day

LATE = """
[revision.late]
after = "10 days"
tables = ["countries"]
spend = { countries = "Concentrated(0.25)" }
"""
ALONE = "[[table]]".join(FILE.split("[[table]]")[:2]).replace("Concentrated(0.5)", "Concentrated(0.75)")
OUT = "out/visits/period=2026-01-01"


def states(publication, today):
    return [(one.name, one.state) for one in publication.status(today) if one.state != "not due"]


def test_a_revision_is_a_release_of_its_own_beside_the_first(tmp_path):
    publication = sf.Publication.load(prepare(tmp_path, text=ALONE + LATE))
    publication.run(today=date(2026, 1, 8))
    first = (tmp_path / OUT / "countries.csv").read_bytes()
    assert states(publication, date(2026, 1, 11)) == [(f"2026-01-0{day}", "done") for day in range(1, 5)]
    write_day(tmp_path, 1, [(person, 1, "DE") for person in range(500)])
    today = date(2026, 1, 12)
    assert ("2026-01-01/late", "due") in states(publication, today)
    assert [one.name for one in publication.run(today=today)] == ["2026-01-01/late"]
    assert publication.run(today=today) == [] and publication.verify()
    assert (tmp_path / OUT / "countries.csv").read_bytes() == first
    assert (tmp_path / OUT / "revision=late/countries.csv").exists()
    record = json.loads((tmp_path / OUT / "revision=late/answer.json").read_text())
    assert record["revision"] == "late" and record["period"] == "2026-01-01"
    late = publication.answers("2026-01-01/late")["countries"].frame.columns
    assert abs(dict(zip(late["country"], late["count"], strict=True))["DE"] - 500) < 40
    with Ledger(tmp_path / "visits.ledger") as book:
        assert book.spent_in("day", "2026-01-01").percent == 100 and book.spent_in("day", "2026-01-02").percent == 75
    page = (tmp_path / "out/visits/index.html").read_text()
    assert "countries, 2026-01-01, revised (late)" in page and "revisions only" in page
    assert (tmp_path / "out/visits/latest/countries.csv").read_bytes() == (
        tmp_path / "out/visits/period=2026-01-04/countries.csv"
    ).read_bytes()
    package = json.loads((tmp_path / "out/visits/datapackage.json").read_text())
    assert "period=2026-01-01/revision=late/countries.csv" in {one["path"] for one in package["resources"]}
    assert "and again" in (tmp_path / "out/visits/registry.yaml").read_text()
    lost = tmp_path / OUT / "revision=late/countries.csv"
    kept = lost.read_bytes()
    lost.unlink()
    assert "not there" in publication.verify().problems[0]
    publication.run(today=today)
    assert lost.read_bytes() == kept


def test_the_plan_adds_revisions_up_and_a_limit_refuses_them(tmp_path):
    text = (ALONE + LATE).replace("Concentrated(0.25)", "Concentrated(0.26)")
    publication = sf.Publication.load(prepare(tmp_path, text=text))
    plan = publication.plan()
    assert plan.refused is not None and plan.refused.startswith("2026-01-01/late")
    assert plan.tables[1].name == "countries (late)"
    with pytest.raises(BudgetExceeded, match="day 2026-01-01"):
        publication.run(today=date(2026, 2, 1))
    assert sf.Publication.load(prepare(tmp_path, text=ALONE + LATE)).plan().refused is None


def test_rules_that_are_added_later_leave_first_releases_as_they_are(tmp_path):
    path = prepare(tmp_path, text=ALONE)
    sf.Publication.load(path).run(today=date(2026, 2, 1))
    path.write_text(ALONE + LATE)
    publication = sf.Publication.load(path)
    assert states(publication, date(2026, 2, 1))[:2] == [("2026-01-01", "done"), ("2026-01-01/late", "due")]
    publication.run("2026-01-01/late", today=date(2026, 2, 1))
    assert publication.verify() or "index.html" in str(publication.verify().problems)
    path.write_text(ALONE + LATE.replace("10 days", "11 days"))  # no period is revised twice under two rules
    assert ("2026-01-01/late", "other edition") in states(sf.Publication.load(path), date(2026, 2, 1))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('tables = ["countries"]', 'tables = ["total"]', "cannot be revised"),
        ('after = "10 days"', 'after = "0 days"', "write a later day"),
        ('after = "10 days"', 'after = "soon"', "no number of days"),
        ("spend = { countries", "spend = { country", "has a spend for each of its tables"),
        ('after = "10 days"', 'afterwards = "10 days"', "did you mean 'after'"),
        ("[revision.late]", "[revision]", "write \\[revision.late\\]"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, old, new, said):
    path = prepare(tmp_path, text=(FILE + LATE).replace(old, new), days=[])
    with pytest.raises(ParameterError, match=said):
        sf.Publication.load(path)
