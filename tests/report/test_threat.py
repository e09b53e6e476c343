from __future__ import annotations

import dataclasses
import json
import re
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sfumato import Approximate, Concentrated, Cost, Event, Loss, Pure
from sfumato.errors import ParameterError, SchemaError
from sfumato.exact.written import rounded
from sfumato.ledger import Budget, Ledger, Limit
from sfumato.ledger.wording import METER
from sfumato.privacy import Secrets
from sfumato.report import Level, ThreatReport, evidence, threats
from sfumato.report.account import Account
from sfumato.report.figures import metered
from sfumato.report.questionnaire import NAMES

GOOD = dict.fromkeys(NAMES, False) | {"heterogeneous": True}
SECRETS = Secrets(("age", "born", "race", "sex", "hours"), {"origin": ("race",)}, (("born", "age"),))


def spent(budget: Budget, *losses: Loss) -> Ledger:
    ledger = Ledger(None, budget)
    for number, loss in enumerate(losses):
        ledger.run(str(number), Event("Laplace", "QR-LAP"), loss, lambda: b"answer")
    return ledger


def pure(epsilon: str, *reads: str) -> Loss:
    return Loss.flat(Cost.pure(epsilon), reads=set(reads))


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    limits = {("race", "sex"): Pure("3/2")}
    budget = Budget(Pure(3), Pure(1), limits, {4: Pure(10)}, secrets=SECRETS)
    return spent(budget, pure("1/10", "age"), pure("1/5", "race", "sex"), pure("3/10", "hours", "sex"))


@pytest.fixture(scope="module")
def report(ledger: Ledger) -> ThreatReport:
    return threats(ledger, GOOD, sets=[("age", "sex")], sensitive={"looks": ("race", "sex")})


def test_guarantee_and_meter_are_those_of_the_ledger_word_for_word(ledger: Ledger, report: ThreatReport) -> None:
    assert report.person.guarantee_text == ledger.guarantee_text()
    assert report.person.spent_text == ledger.spent().text
    assert report.person.guaranteed == Pure(3)
    by_name = {row.subject: row for row in report.attributes}
    assert by_name["sex"].guarantee_text == ledger.guarantee_text("sex")
    assert by_name["sex"].used is not None
    assert (rounded(by_name["sex"].used.epsilon, up=True), by_name["sex"].percent) == ("0.5", 50)


def test_a_pure_limit_is_shown_without_a_delta_and_others_with_theirs() -> None:
    said = {
        bound: threats(spent(Budget(bound), pure("1/10", "age"))).person.promise
        for bound in (Pure(3), Concentrated("1/10"), Approximate(1, 1e-6))
    }
    assert said[Pure(3)].figure == "3"
    assert all(one.figure.endswith(" at delta 1e-6") for one in list(said.values())[1:])
    assert (said[Pure(3)].to_json()["epsilon"], said[Pure(3)].to_json()["delta"]) == ("3", "0")


def test_linked_columns_are_one_line(report: ThreatReport) -> None:
    assert [row.attributes for row in report.attributes] == [("age", "born"), ("race",), ("sex",), ("hours",)]


def test_sets_are_those_declared_limited_named_and_asked_for(report: ThreatReport) -> None:
    assert {row.subject: row.guaranteed for row in report.sets} == {
        "origin": Pure(1),
        "race + sex": Pure("3/2"),
        "looks": Pure("3/2"),
        "age + sex": Pure(2),
    }


def test_families_are_those_of_the_budget_or_those_asked_for(ledger: Ledger, report: ThreatReport) -> None:
    assert [(row.people, row.guaranteed, row.percent) for row in report.families] == [(4, Pure(10), 24)]
    assert [row.guaranteed for row in threats(ledger, families=[3, 2]).families] == [Pure(6), Pure(9)]


def test_the_worst_sets_are_found_by_looking_at_all(report: ThreatReport) -> None:
    single, pair, *_, whole = report.worst
    assert (single.guaranteed, single.used_for) == (Pure(1), ("sex",))
    assert single.used is not None and rounded(single.used.epsilon, up=True) == "0.5"
    # Every pair but race and sex may lose 2; the most used one is touched by every release.
    assert pair.guaranteed == Pure(2)
    assert pair.used_for == ("age", "born", "sex")
    assert (whole.size, whole.guaranteed) == (4, Pure(3))


def test_with_many_attributes_the_worst_is_a_bound_that_holds_for_all() -> None:
    names = tuple(f"a{place:02}" for place in range(60))
    losses = [pure("1/2", "a00", "a01"), *(pure("1/10", name) for name in names[10:20])]
    ledger = spent(Budget(Pure(5), Pure(1), secrets=Secrets(names)), *losses)
    account = Account(ledger, Fraction(1, 10**6))
    found = account.worst(3)
    assert (found.guaranteed, len(found.promised_for)) == (Pure(3), 3), "34 220 sets are looked at"
    assert (
        found.used is not None and rounded(found.used.epsilon, up=True) == "0.7" and found.used_for[0] in ("a00", "a01")
    )
    worst = account.worst(4)
    assert (worst.guaranteed, worst.promised_for, worst.used_for) == (Pure(4), (), ()), "487 635 are not"
    assert worst.used is not None and rounded(worst.used.epsilon, up=True) == "1.5", "the person, below four times 0.5"
    assert account.worst(2).used_for == ("a00", "a10")
    assert worst.cells()[-1] == "a bound on all sets" and worst.to_json()["spent"]["bound_on_all_sets"]
    assert not found.to_json()["spent"]["bound_on_all_sets"]
    assert account.worst(7).guaranteed == Pure(5)
    with pytest.raises(ParameterError, match="no set of 61"):
        account.worst(61)


def test_no_report_without_the_figure_per_person(report: ThreatReport) -> None:
    for wrong in (None, report.attributes[0], report.families[0], dataclasses.replace(report.person, promise=None)):
        with pytest.raises(ParameterError, match="whole person"):
            dataclasses.replace(report, person=wrong)
    with pytest.raises(TypeError):
        ThreatReport(attributes=report.attributes)  # type: ignore[call-arg]
    with pytest.raises(ParameterError, match="must name them"):
        dataclasses.replace(report, attributes=(report.person,))


@pytest.mark.parametrize("name", ["membership", "ignorance"])
def test_a_block_takes_every_figure_per_attribute_away(ledger: Ledger, name: str) -> None:
    blocked = threats(ledger, GOOD | {name: True})
    assert blocked.blocked_by == (name,)
    assert blocked.headline == (blocked.person,)
    record = blocked.to_json()
    assert (record["attributes"], record["sets"], record["worst"]) == ([], [], [])
    assert len(record["headline"]) == 1
    for shown in (blocked.text(), blocked.html()):
        assert f"No figure per attribute is shown, because of the answer to: {name}." in " ".join(shown.split())
        assert "hours" not in shown
        assert "95.3 %" in shown


def test_the_headline_names_the_worst_attribute(report: ThreatReport) -> None:
    assert [row.subject for row in report.headline] == ["a person", "sex"]


def test_a_ledger_without_attributes_has_the_person_only() -> None:
    report = threats(spent(Budget(Pure(1)), Loss.flat(Cost.pure("1/4"))), GOOD)
    assert (report.attributes, report.worst, len(report.headline)) == ((), (), 1)
    assert [row.guaranteed for row in report.families] == [Pure(4)]
    report.html()


def test_what_a_guarantee_means(report: ThreatReport) -> None:
    promise = report.person.promise
    assert promise is not None
    assert float(promise.guess) == pytest.approx(0.952574, abs=1e-6)  # e^3/(1 + e^3), PDP:C-17
    assert float(promise.belief or 0) == pytest.approx(0.905148, abs=1e-6)  # tanh(3/2), PDP:C-15
    assert float(promise.bits) == pytest.approx(float(promise.nats) / 0.6931472, rel=1e-6)
    assert promise.nats <= Fraction(9, 2)  # rho <= epsilon²/2, PDP:C-16


def test_entropy_caps_what_is_revealed(ledger: Ledger) -> None:
    report = threats(ledger, GOOD, values={"sex": 2, "race": 5})
    by_name = {row.subject: row for row in report.attributes}
    assert by_name["sex"].promise is not None and by_name["sex"].used is not None
    large = threats(spent(Budget(Pure(9), Pure(9), secrets=Secrets(("sex",)))), GOOD, values={"sex": 2})
    assert large.attributes[0].promise is not None
    assert float(large.attributes[0].promise.nats) == pytest.approx(0.6931472, abs=1e-6)


def test_concentrated_and_approximate_limits_are_read_at_their_delta() -> None:
    bounded = threats(spent(Budget(Approximate(2, "1/1000"))), GOOD)
    assert (bounded.delta, bounded.person.promise.epsilon) == (Fraction(1, 1000), 2)  # type: ignore[union-attr]
    assert bounded.person.promise is not None and bounded.person.promise.belief is None
    used = spent(Budget(Approximate(2, 1e-6)), Loss.flat(Cost.concentrated("1/50")))
    cost = metered(used.spent())
    exact = Cost.concentrated("1/50").epsilon_at(1e-6)
    # A meter at one order says less than the curve, and never less than the truth.
    assert exact <= cost.epsilon_at(1e-6) <= 2
    late = threats(spent(Budget(Concentrated("1/10"))), GOOD, delta="1e-9")
    assert late.person.promise is not None
    assert late.person.promise.epsilon >= Cost.concentrated("1/10").epsilon_at(1e-9)


def test_a_leak_is_part_of_what_was_used() -> None:
    ledger = spent(Budget(Approximate(2, 1e-6)), Loss.flat(Cost.approximate("1/2", 1e-7)))
    cost = metered(ledger.spent())
    assert (cost.epsilon, cost.leak) == (Fraction(1, 2), Fraction(1, 10**7))
    report = threats(ledger, GOOD)
    assert report.odometer is None


def test_a_large_figure_per_person_warns() -> None:
    found = threats(spent(Budget(Pure(21))), GOOD).findings
    assert [one.about for one in found if one.level is Level.WARN] == ["size"]


def test_unknown_attributes_are_answered_with_the_nearest(ledger: Ledger) -> None:
    with pytest.raises(SchemaError, match="agee"):
        threats(ledger, GOOD, sets=[("agee", "sex")])


def test_json_is_json_and_keeps_guarantee_and_spent_apart(report: ThreatReport) -> None:
    record = json.loads(json.dumps(report.to_json()))
    assert record["person"]["guarantee"]["bound"]["epsilon"] == "3"
    assert record["person"]["spent"]["text"].endswith(METER)
    assert rounded(Fraction(record["person"]["spent"]["means"]["epsilon"]), up=True) == "0.6"
    assert "spent" in record["worst"][0] and "guarantee" in record["worst"][0]


def test_the_text_tells_guarantee_and_meter_apart(report: ThreatReport) -> None:
    text = report.text(100)
    assert max(map(len, text.splitlines())) <= 100
    guaranteed, used = text.index("Guaranteed: the limits"), text.index("Used so far: no guarantee of its own")
    assert text.index("a person") < guaranteed < used
    flat = " ".join(text.split())
    assert report.person.guarantee_text in flat and METER in flat
    assert "restricted in four ways" in flat
    assert str(report) == report.text()


class Page(HTMLParser):
    """Collects what a page opens, closes and refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.figures: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.links += [value or "" for name, value in attrs if name in ("src", "href") and tag not in ("use", "a")]
        if tag == "svg":
            self.figures.append(known.get("aria-label"))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_stands_alone(report: ThreatReport) -> None:
    source = report.html()
    page = Page()
    page.feed(source)
    assert page.open == [] and page.links == []
    assert page.figures == ["How much of each limit is used", "The worst k attributes"]
    assert '<html lang="en">' in source and "<script" not in source
    assert not re.search(r"url\((?!#)|@import", source)
    assert report._repr_html_() in source


def test_the_page_escapes_names() -> None:
    secrets = Secrets(("<script>alert(1)</script>", "b"))
    source = threats(spent(Budget(Pure(1), Pure(1), secrets=secrets)), GOOD).html()
    assert "<script" not in source


def test_reports_are_saved_by_suffix(report: ThreatReport, tmp_path: Path) -> None:
    assert report.save(tmp_path / "r.html").read_text().startswith("<!DOCTYPE html>")
    assert json.loads(report.save(tmp_path / "r.JSON").read_text())["delta"] == "1/1000000"
    assert report.save(str(tmp_path / "r.txt")).read_text().startswith("Privacy report")
    with pytest.raises(ParameterError, match=r"\.html, \.json or \.txt"):
        report.save(tmp_path / "r.pdf")
    with pytest.raises(ParameterError, match="There is no folder"):
        report.save(tmp_path / "misspelled" / "r.html")


def test_the_part_that_is_used_is_that_of_the_limit_with_least_room() -> None:
    budget = Budget(Pure(8), Pure(4), {"sex": Pure(1), "race": Pure(6)}, secrets=SECRETS)
    found = threats(spent(budget, pure("1/2", "sex"), pure("1", "race")), GOOD)
    lines = {row.subject: row for row in found.attributes}
    assert [lines[name].percent for name in ("sex", "race", "hours")] == [50, 25, 0]
    assert [lines[name].limit for name in ("sex", "race", "hours")] == [Pure(1), Pure(4), Pure(4)]
    assert [lines[name].guaranteed for name in ("sex", "race", "hours")] == [Pure(1), Pure(4), Pure(4)]
    assert lines["sex"].used is not None and rounded(lines["sex"].used.epsilon, up=True) == "0.5"
    assert "50 % of Pure(1)" in found.html() and lines["sex"].to_json()["spent"]["percent"] == 50
    assert "0.5 of 1" in (lines["sex"].spent_text or "")


def test_a_limit_that_was_set_later_and_binds_is_named_beside_its_part() -> None:
    ledger = spent(Budget(Pure(8), Pure(4), secrets=SECRETS), pure("1/2", "sex"))
    ledger.add_limit(Limit({"sex"}, Pure(1)))
    line = next(row for row in threats(ledger, GOOD).attributes if row.subject == "sex")
    assert (line.percent, line.limit, line.guaranteed) == (50, Pure(1), Pure(4))


@pytest.mark.parametrize("suffix", [".txt", ".html", ".json"])
def test_a_report_on_an_edited_ledger_says_so_at_its_head_and_shows_no_end(tmp_path: Path, suffix: str) -> None:
    import sqlite3

    place, sound, false = tmp_path / "a.ledger", tmp_path / f"sound{suffix}", tmp_path / f"false{suffix}"
    with Ledger(place, Budget(person=Pure(3))) as ledger:
        ledger.run("ask-1", Event("Laplace", "QR-LAP"), Loss.flat(Cost.pure(0.2)), lambda: b"[12, 40]")
        threats(ledger).save(sound)
        end = ledger.head
    with sqlite3.connect(place) as raw:
        raw.execute("UPDATE sfumato_row SET body = replace(body, '1/5', '1/50') WHERE kind = 'reserved'")
    raw.close()
    with Ledger(place) as ledger:
        report = threats(ledger)
        report.save(false)
        packed = evidence(ledger)
    before, after = sound.read_text("utf-8"), false.read_text("utf-8")
    assert "hash chain is broken" in report.problems[0]
    assert "hash chain is broken" not in before and "hash chain is broken" in after
    assert end not in after and (suffix == ".txt" or end in before), "the good one's end passed for this one's"
    if suffix != ".json":
        assert "changed outside of it" not in before
        assert after.index("changed outside of it") < after.index("at most"), (
            "what is claimed stands before the warning"
        )
    page = packed.html()
    assert page.index("changed outside of it") < page.index("at most") and end not in page
    assert not packed.verification.ok and end not in packed.report.text()
