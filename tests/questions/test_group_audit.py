"""A fairness audit of private rows: what it says, what it costs, what it refuses."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sfumato import ADD_REMOVE, Budget, Pure, Schema, booleans, categories, curate, integers
from sfumato.ask.phrases import read_phrase
from sfumato.errors import BudgetExceeded, DomainTooLarge, ParameterError, SchemaError
from sfumato.fair import group_report
from sfumato.fair.audits.group_counts import Group, GroupCounts, Tallied
from sfumato.fair.audits.group_report import GroupReport
from sfumato.fair.audits.rates import CellNoise, Share
from sfumato.noise import Noise
from sfumato.questions import GroupAudit
from sfumato.table.gauge import Basis

PEOPLE = 4000


def applicants() -> dict[str, np.ndarray]:
    noise = Noise(insecure_seed=2)
    sex = np.array(["f", "m"])[noise.uniform(2, PEOPLE)]
    race = np.array(["a", "a", "b"])[noise.uniform(3, PEOPLE)]
    good = noise.uniform(2, PEOPLE) == 1
    hired = noise.uniform(100, PEOPLE) < np.where(sex == "f", 28, 46)
    return {"sex": sex, "race": race, "good": good, "hired": hired}


def described(**options: object) -> Schema:
    columns = {
        "sex": categories("f", "m", other="f", missing="f"),
        "race": categories("a", "b", other="a", missing="a"),
        "good": booleans(missing=False),
        "hired": booleans(missing=False),
    }
    return Schema(columns, **options)


def test_figures_are_near_those_of_the_rows():
    rows = applicants()
    plain = group_report(rows["hired"], {"sex": rows["sex"], "race": rows["race"]}, label=rows["good"], favourable=True)
    with curate(pa.table(rows), described(), Pure(20)) as curator:
        report = curator.audit("hired", ["sex", "race"], "good", favourable=True, deserving=True, spend=Pure(10)).value
        again = curator.audit("hired", ["sex", "race"], "good", favourable="yes", deserving="yes", spend=Pure(10))
    assert again.reused, "a good value is the same question however it is written"
    assert [one.group for one in report.tallied.groups] == [one.group for one in plain.tallied.groups]
    for mine, truth in zip(report.tallied.groups, plain.tallied.groups, strict=True):
        assert abs(mine.people - truth.people) < 20
        for figure in ("chosen", "hits", "alarms", "right"):
            assert abs(getattr(mine, figure).value - getattr(truth, figure).value) < 0.03, (mine.group, figure)
    assert report.raised == plain.raised == ("FOUR-FIFTHS",)
    assert report.tallied.groups[0].chosen.cells == (4, 4), "two races, two labels"


@pytest.mark.parametrize(("relation", "person", "attribute"), [(None, 1, 1), (ADD_REMOVE, 1, 2)])
def test_what_it_costs(relation, person, attribute):
    options = {} if relation is None else {"relation": relation}
    with curate(pa.table(applicants()), described(), Pure(5), **options) as curator:
        answer = curator.audit("hired", "sex", favourable=True, spend=Pure(1))
    assert answer.loss.person.epsilon == Fraction(person)
    assert answer.loss.at("sex").epsilon == answer.loss.at("hired").epsilon == attribute
    assert answer.loss.at("race").is_zero


def test_a_limit_on_the_protected_column_is_charged_in_full():
    with curate(pa.table(applicants()), described(), Budget(Pure(5), each_attribute=Pure(1))) as curator:
        curator.audit("hired", "sex", favourable=True, spend=Pure(1))
        with pytest.raises(BudgetExceeded, match="sex"):
            curator.histogram("sex", spend=Pure("0.01"))


def test_tables_and_intervals():
    with curate(pa.table(applicants()), described(), Pure(5)) as curator:
        answer = curator.audit("hired", ["sex"], favourable=True, spend=Pure(1))
    narrow, wide = answer.interval(0.5), answer.interval(0.99)
    assert narrow.columns["rate, high"][0] < wide.columns["rate, high"][0]
    assert answer.to_pandas().shape[0] == len(answer.value.tallied.groups)
    assert "noise of privacy" in answer.value.model_card()


def test_people_with_several_rows_and_a_condition():
    rows = applicants()
    rows["id"] = np.arange(PEOPLE) // 2
    schema = described(person="id", rows_per_person=2)
    with curate(pa.table(rows), schema, Pure(10)) as curator:
        report = curator.audit("hired", "sex", favourable=True, where="race = 'a'", spend=Pure(5)).value
    truth = group_report(rows["hired"][rows["race"] == "a"], rows["sex"][rows["race"] == "a"], favourable=True)
    for mine, real in zip(report.tallied.groups, truth.tallied.groups, strict=True):
        assert abs(mine.chosen.value - real.chosen.value) < 0.05


def test_levels_of_missing_cells_are_the_unknown_group():
    rows = applicants()
    sex = rows["sex"].astype(object)
    sex[:400] = None
    schema = Schema({"sex": categories("f", "m"), "hired": booleans()})
    with curate(pa.table({"sex": pa.array(sex, pa.string()), "hired": rows["hired"]}), schema, Pure(9)) as curator:
        report = curator.audit("hired", "sex", favourable=True, spend=Pure(5)).value
    found = {one.group.name: one.people for one in report.tallied.groups}
    assert abs(found["unknown"] - 400) < 10
    assert all(not one.group.group.unknown for one in report.comparisons)


@pytest.mark.parametrize(
    ("question", "error", "words"),
    [
        (lambda: GroupAudit("hired", ()), ParameterError, "protected columns"),
        (lambda: GroupAudit("hired", ("hired",)), ParameterError, "each column once"),
        (lambda: GroupAudit("hired", "sex", intersections=9), ParameterError, "intersections"),
        (lambda: GroupAudit("hired", "sex", favourable="perhaps"), ParameterError, "no value 'perhaps'"),
        (lambda: GroupAudit("hired", "gender", favourable=True), SchemaError, "gender"),
        (lambda: GroupAudit("hired", "age", favourable=True), DomainTooLarge, "bins"),
    ],
)
def test_what_cannot_be_audited_says_what_to_write(question, error, words):
    schema = Schema({**dict(described().columns), "age": integers(0, 99_999)})
    rows = {**applicants(), "age": np.arange(PEOPLE)}
    with curate(pa.table(rows), schema, Pure(1)) as curator, pytest.raises(error, match=words):
        curator.ask(question(), Pure(1))


def lent(**options: object) -> tuple[pa.Table, Schema]:
    """A bank's decisions in words; nobody has another origin, unless it is listed."""
    rows = applicants()
    table = pa.table({
        "origin": np.where(rows["sex"] == "f", "eu", "home"),
        "decision": np.where(rows["hired"], "approved", "refused"),
        "repaid": np.where(rows["good"], "yes", "no"),
    })  # fmt: skip
    schema = Schema({
        "origin": categories("home", "eu", **options),
        "decision": categories("approved", "refused"),
        "repaid": categories("yes", "no"),
    })  # fmt: skip
    return table, schema


def test_which_word_is_good_is_never_guessed_and_nothing_is_charged():
    table, schema = lent()
    with curate(table, schema, Pure(1)) as curator:
        with pytest.raises(ParameterError, match=r"which decision is the favourable one: write favourable='approved'"):
            curator.audit("decision", ["origin"], spend=Pure(1))
        with pytest.raises(ParameterError, match=r"which label is that of the deserving: write deserving='yes'"):
            curator.audit("decision", ["origin"], "repaid", favourable="approved", spend=Pure(1))
        # The budget is that of one audit, so nothing was charged before.
        answer = curator.audit("decision", ["origin"], favourable="approved", spend=Pure(1))
    report = answer.value
    assert "The favourable decision is 'approved'." in str(answer)
    assert "The favourable decision is 'approved'." in str(report) and "'approved'" in report.model_card()
    assert report.to_json()["favourable"] == "approved"
    rates = {one.group.name: one.chosen.value for one in report.tallied.groups}
    assert rates["eu"] < rates["home"], "those of whom fewer are approved come out worse"


@pytest.mark.parametrize("name", ["hired", "approved", "loan_defaulted", "ended"])
@pytest.mark.parametrize("decision", [categories(0, 1), integers(0, 1), booleans()])
def test_what_one_and_true_mean_is_never_guessed_of_a_name(decision, name):
    rows = applicants()
    table = pa.table({"sex": rows["sex"], name: rows["hired"].astype(int), "good": rows["good"]})
    schema = Schema({"sex": categories("f", "m"), name: decision, "good": booleans()})
    bad, good = decision.decode(0), decision.decode(1)
    with curate(table, schema, Pure(10)) as curator:
        listed = rf"write favourable={bad!r}, if that is the good one; the values of '{name}' are {bad!r}, {good!r}"
        for ask in (curator.ask, curator.preview):
            with pytest.raises(ParameterError, match=listed):
                ask(GroupAudit(name, "sex"), Pure(5))
        with pytest.raises(ParameterError, match=r"which label is that of the deserving: write deserving=False"):
            curator.audit(name, "sex", "good", favourable=good, spend=Pure(5))
        # The budget is that of both audits, so nothing was charged before.
        found = [curator.audit(name, "sex", favourable=one, spend=Pure(5)).value for one in (good, bad)]
    rates = [{one.group.name: one.chosen.value for one in report.tallied.groups} for report in found]
    assert rates[0]["f"] < rates[0]["m"] and rates[1]["f"] > rates[1]["m"]
    assert [report.favourable for report in found] == [str(good), str(bad)]


def test_intervals_say_what_they_cover_and_nobody_is_too_few():
    table, schema = lent()
    with curate(table, schema, Pure(20)) as curator:  # so much that noise makes nobody look like somebody
        answer = curator.audit("decision", ["origin"], favourable="approved", spend=Pure(20))
    said = str(answer)
    assert "95 % interval (privacy noise and the luck of who is in the table), for each row on its own" in said
    assert not any(word in said for word in ("nan", "missing to missing", "-1", "0.0 to 1.0")), said
    (empty,) = (line for line in said.splitlines() if line.strip().startswith("other "))
    assert "too few to say" in empty
    frame = answer.frame
    place = frame["group"].index("other")
    assert frame["rate"][place] is None and frame["ratio"][place] is None and frame["people"][place] >= 0
    alone, together = answer.interval(0.95), answer.interval(0.95, together=True)
    assert together["rate, high"][0] > alone["rate, high"][0] and together["rate, low"][0] < alone["rate, low"][0]


def test_a_listed_category_called_other_is_said_to_hold_the_unlisted_ones():
    table, _ = lent()
    words = {"decision": categories("approved", "refused")}
    for listed, options, joined in ((("home", "eu", "other"), {}, True), (("home", "eu"), {}, False),
                                    (("home", "eu", "other", "unlisted"), {"other": "unlisted"}, False)):  # fmt: skip
        with curate(table, Schema({"origin": categories(*listed, **options), **words}), Pure(1)) as curator:
            notes = curator.audit("decision", "origin", favourable="approved", spend=Pure(1)).notes
        assert any("together with the listed category of that name" in note for note in notes) is joined


def test_an_audit_is_drawn_and_every_ratio_stands_beside_its_own_group(tmp_path: Path) -> None:
    rows = {"group": ["a", "b"] * 300, "given": [True, False, True, True] * 150}
    schema = Schema({"group": categories("a", "b"), "given": booleans()})
    with curate(pa.table(rows), schema, Pure(5)) as curator:
        answer = curator.audit("given", "group", favourable=True, spend=Pure(2))
    drawing = answer.plot(tmp_path / "audit.svg")
    assert "<svg" in (tmp_path / "audit.svg").read_text() and "nan" not in str(answer)
    rate, ratio = drawing.rows
    assert [dot.name for dot in rate.dots] == [dot.name for dot in ratio.dots]
    shown = {dot.name.split(", ")[1]: dot.value for dot in ratio.dots}
    assert [group for group, value in shown.items() if value is not None] == ["b"]
    assert "interval" in rate.axis


def test_yes_and_no_are_understood_of_truth_values():
    with curate(pa.table(applicants()), described(), Pure(20)) as curator:
        first = curator.audit("hired", "sex", "good", favourable="yes", deserving="Yes", spend=Pure(1))
        assert curator.audit("hired", "sex", "good", favourable=True, deserving=True, spend=Pure(1)).reused
        refused = GroupAudit("hired", "sex", favourable="no").canonical(curator.schema)
        with pytest.raises(ParameterError, match="no value 'yes'"):
            curator.audit("race", "sex", favourable="yes", spend=Pure(1))
    assert first.question.favourable is True and refused.favourable is False


def test_the_headline_is_about_a_group_of_which_something_is_known():
    noise = CellNoise(8.0, heavy=True)
    shares = {"f": Share(450, 550), "m": Share(460, 540), "other": Share(1, 6)}
    groups = tuple(GroupCounts(Group(("sex",), (name,)), one.total, one) for name, one in shares.items())
    report = GroupReport(Tallied(groups, 2007, noise), (), 0.95, private="counts carry the noise of privacy")
    assert not {one.group.group.name: one for one in report.comparisons}["other"].known
    assert "of f " in report.headline() and "other" not in report.headline()
    few = GroupReport(Tallied(groups[1:], 1007, noise), (), 0.95, private="counts carry the noise of privacy")
    assert few.headline() == "There are too few people for this spend to compare any two groups."


def test_a_missing_label_is_left_out_of_error_rates_of_a_private_audit_too():
    rows = applicants()
    known = np.arange(PEOPLE) % 4 > 0
    labels = pa.array(rows["good"], mask=~known)
    plain = group_report(rows["hired"][known], rows["sex"][known], label=rows["good"][known], favourable=True)
    columns = {
        "sex": categories("f", "m", other="f", missing="f"),
        "good": booleans(),
        "hired": booleans(missing=False),
    }
    table = pa.table({"sex": rows["sex"], "good": labels, "hired": rows["hired"]})
    with curate(table, Schema(columns), Pure(20)) as curator:
        report = curator.audit("hired", "sex", "good", favourable=True, deserving=True, spend=Pure(10)).value
    for mine, truth in zip(report.tallied.groups, plain.tallied.groups, strict=True):
        assert abs(mine.alarms.total - truth.alarms.total) < 20 and abs(mine.right.value - truth.right.value) < 0.03
        assert mine.people > truth.people + 400
    assert "Error rates and precision leave out people whose label is missing." in str(report)


def test_a_missing_decision_is_no_refusal_of_a_private_audit():
    rows = applicants()
    known = (np.arange(PEOPLE) % 3 > 0) | (rows["sex"] == "m")
    plain = group_report(rows["hired"][known], {"sex": rows["sex"][known]}, label=rows["good"][known], favourable=True)
    columns = {"sex": categories("f", "m"), "good": booleans(), "hired": booleans()}
    table = pa.table({"sex": rows["sex"], "good": rows["good"], "hired": pa.array(rows["hired"], mask=~known)})
    with curate(table, Schema(columns), Pure(20)) as curator:
        answer = curator.audit("hired", "sex", "good", favourable=True, deserving=True, spend=Pure(10))
    report = answer.value
    assert answer.loss.person.epsilon == 10, "one table, whatever is read from it"
    for truth in plain.tallied.groups:
        mine = next(one for one in report.tallied.groups if one.group == truth.group)
        assert abs(mine.people - truth.people) < 20
        for figure in ("chosen", "hits", "alarms", "right"):
            assert abs(getattr(mine, figure).value - getattr(truth, figure).value) < 0.03, (mine.group, figure)
    assert "Rates leave out people whose decision is missing." in str(answer) and "no decision (" not in str(answer)
    assert report.to_json()["without_decision"] is None and report.to_json()["groups"][0]["undecided"] is None


@pytest.mark.parametrize("share", [36, 38, 40])
def test_verdicts_are_the_same_whichever_intervals_are_shown(share):
    rows = applicants()
    rows["hired"] = Noise(insecure_seed=5).uniform(100, PEOPLE) < np.where(rows["sex"] == "f", share, 48)
    with curate(pa.table(rows), described(), Pure(20)) as curator:
        answer = curator.audit("hired", ["sex", "race"], "good", favourable=True, deserving=True, spend=Pure(1))

    def verdicts(text: str) -> list[str]:
        return re.findall(r"\) (raised|watch|clear|cannot say)(, differs)?", text)

    alone, together = str(answer.view()), str(answer.view(together=True))
    assert verdicts(alone) == verdicts(together) and len(verdicts(alone)) >= 4
    assert alone != together, "intervals are wider"
    rule = "Verdicts hold for all impact ratios together at 95 %, whichever intervals are shown."
    assert rule in alone and rule in together
    assert answer.value.headline() in together


def test_the_preview_says_which_decision_is_taken_for_the_good_one():
    rows = pa.table({"sex": ["f", "m"] * 50, "given": [True, False] * 50})
    with curate(rows, Schema({"sex": categories("f", "m"), "given": booleans()}), Pure(1)) as curator:
        said = str(curator.preview(GroupAudit("given", "sex", favourable=True), Pure(1)))
        answer = str(curator.audit("given", "sex", favourable=True, spend=Pure(1)))
    assert "The favourable decision is True of 'given'." in said and "The favourable decision is True." in answer


def test_noisy_numbers_of_people_are_shown_with_an_interval():
    rows = applicants()
    covered = []
    for seed in range(40):
        noise = CellNoise(8.0, heavy=True)
        drawn = Noise(insecure_seed=seed).uniform(1 << 40, 4) / 2.0**40 - 0.5
        laplace = -2 * np.sign(drawn) * np.log1p(-2 * np.abs(drawn))
        low, high = noise.around(30 + float(laplace.sum()), 4)
        covered.append(low <= 30 <= high)
    assert sum(covered) >= 36
    with curate(pa.table(rows), described(), Pure(20)) as curator:
        answer = curator.audit("hired", "sex", favourable=True, spend=Pure(0.1))
        report = answer.value
    women = int((rows["sex"] == "f").sum())
    found = re.search(r"f +about ([\d,]+) \(([\d,]+) to ([\d,]+)\)", str(answer))
    assert found is not None
    about, low, high = (int(part.replace(",", "")) for part in found.groups())
    assert low < about < high and abs(about - women) < 300
    assert "about" in report.ll144()[0].rows[0][1] and "about" in report.ll144()[0].rows[0][2]
    assert "about" not in str(group_report(rows["hired"], rows["sex"], favourable=True))


ROWS = 4
ALIKE = 0.3
"""The rate of both groups of a fair table."""


def repeated(design: str, tables: int, people: int, seed: int) -> np.ndarray:
    """Return rows of fair tables, by group and decision, in which nobody has more than four of them.

    "alike": the rows of a person are equal. "many": everybody has one to four, all of them equal. "both": a person has
    two in either group, and whoever is refused in the one is chosen in the other where that is possible.
    """
    noise = Noise(insecure_seed=seed)
    chance = noise.uniform(1 << 30, tables * people * 2).reshape(2, tables, people) / 2.0**30
    number = noise.uniform(ROWS, tables * people * 2).reshape(2, tables, people) + 1
    chosen = chance < ALIKE
    counted = {"alike": np.full_like(number, ROWS), "many": number, "both": np.full_like(number, ROWS // 2)}[design]
    if design == "both":
        chosen[1] = chance[0] > 1 - ALIKE
    return np.stack([(counted * ~chosen).sum(2), (counted * chosen).sum(2)], axis=2).transpose(1, 0, 2)


def held(design: str, tables: int, people: int, seed: int, spend: Pure) -> tuple[float, float, float]:
    """Return how often the interval of a rate and that of the ratio hold, and how often a fair table "differs"."""
    columns = {"sex": categories("f", "m", other="f", missing="f"), "hired": booleans(missing=False)}
    audit = GroupAudit("hired", "sex", favourable=True)
    basis = Basis(Schema(columns, person="id", rows_per_person=ROWS), people * (1 if design == "both" else 2))
    prepared = audit.prepare(basis, spend)
    noise, rates, ratios, differs = Noise(insecure_seed=seed + 1), [], [], []
    for cells in repeated(design, tables, people, seed):
        raw = prepared.mechanism.run(prepared.arrange([cells * prepared.gauge.rule.scale]), noise)
        report = audit.value(prepared.finish(raw))
        (compared,) = report.comparisons
        for one in report.tallied.groups:
            low, high = one.chosen.interval(0.95, report.tallied.noise)
            rates.append(low <= ALIKE <= high)
        ratios.append(compared.ratio_interval.low <= 1 <= compared.ratio_interval.high)
        differs.append(compared.differs)
    return float(np.mean(rates)), float(np.mean(ratios)), float(np.mean(differs))


@pytest.mark.parametrize("design", ["alike", "both"])
def test_intervals_and_verdicts_hold_where_rows_of_a_person_are_alike(design):
    rates, ratios, differs = held(design, 400, 300, 71, Pure(2))
    assert rates >= 0.94 and ratios >= 0.94 and differs <= 0.05, (rates, ratios, differs)


@pytest.mark.audit
@pytest.mark.parametrize("design", ["alike", "many", "both"])
@pytest.mark.parametrize(("people", "spend"), [(50, Pure(4)), (300, Pure(1)), (300, Pure(8)), (3000, Pure(1))])
def test_intervals_and_verdicts_hold_of_many_tables_with_several_rows_a_person(design, people, spend):
    rates, ratios, differs = held(design, 4000, people, 1000 + people, spend)
    assert rates >= 0.94 and ratios >= 0.94 and differs <= 0.05, (rates, ratios, differs)


def test_rows_are_called_rows_and_the_note_says_how_everybody_counts_once():
    rows = applicants()
    rows["id"] = np.arange(PEOPLE) // 4
    asked = {"favourable": True, "deserving": True, "spend": Pure(5)}
    with curate(pa.table(rows), described(person="id", rows_per_person=4), Pure(30)) as curator:
        answer = curator.audit("hired", "sex", "good", **asked)
        seen = curator.preview(GroupAudit("hired", "sex", favourable=True), Pure(5)).error
        assert curator.audit("hired", "sex", "good", **asked).value.tallied.noise.rows == 4, "also of a stored draw"
    report = answer.value
    assert "rows" in answer.frame.columns and "people" not in answer.frame.columns
    assert [table.columns[1] for table in (*report.tables(), *report.ll144())] == ["rows"] * 3
    assert report.to_json()["rows"] > 3900 and "rows" in report.to_json()["groups"][0]
    assert "group of 100 rows" in seen and "people" not in seen.split("who is in the table")[0]
    said = "a person may have 4"
    assert str(answer).count(said) == str(report).count(said) == report.model_card().count(said) == 1
    assert any(said in note and "write rows_per_person = 1 in the schema" in note for note in answer.notes)
    assert answer.loss.person.epsilon == 5 and answer.event.name, "what is read and charged is as it was"


@pytest.mark.parametrize("options", [{}, {"person": "id"}, {"person": "id", "row_key": ()}])
def test_whoever_counts_once_is_a_person_however_many_rows_there_are(options):
    rows = applicants()
    rows["id"] = np.arange(PEOPLE) // (4 if "row_key" not in options else 1)
    with curate(pa.table(rows), described(**options), Pure(30)) as curator:
        answer = curator.audit("hired", "sex", favourable=True, spend=Pure(5))
    assert answer.value.tallied.noise.rows == 1 and "people" in answer.frame.columns
    assert not any("may all be alike" in note for note in answer.notes)


def test_an_answer_of_an_earlier_version_says_that_its_intervals_may_be_too_narrow():
    rows = applicants()
    rows["id"] = np.arange(PEOPLE) // 4
    with curate(pa.table(rows), described(person="id", rows_per_person=4), Pure(30)) as curator:
        answer = curator.audit("hired", "sex", favourable=True, spend=Pure(5))
    earlier = replace(answer, released=replace(answer.released, facts={}))
    assert any("An earlier version wrote this answer" in note for note in earlier.notes)
    assert not any("An earlier version" in note for note in answer.notes)


def scored(people: int = 8000, off: int = 30) -> tuple[pa.Table, Schema]:
    """Return people with a score in tenths, a label that holds as often as the score says, and less often for f."""
    noise = Noise(insecure_seed=6)
    sex = np.array(["f", "m"])[noise.uniform(2, people)]
    points = noise.uniform(10, people)
    paid = noise.uniform(100, people) < 10 * points + 5 - np.where(sex == "f", off * (points > 4), 0)
    rows = {"sex": sex, "points": points, "paid": paid, "lent": points > np.where(sex == "f", 5, 4)}
    columns = {"sex": categories("f", "m", other="f", missing="f"), "points": integers(0, 9, missing=0)}
    return pa.table(rows), Schema(columns | {"paid": booleans(missing=False), "lent": booleans(missing=False)})


GOOD = {"favourable": True, "deserving": True}


def test_calibration_and_scoring_rates_of_private_rows_are_near_those_of_the_rows():
    rows, schema = scored()
    plain = group_report(
        rows["lent"].to_numpy(False), rows["sex"].to_numpy(False), label=rows["paid"].to_numpy(False), favourable=True,
        scores=(rows["points"].to_numpy() + 0.5) / 10,
    )  # fmt: skip
    with curate(rows, schema, Pure(9)) as curator:
        answer = curator.audit("lent", "sex", "paid", **GOOD, score="points", spend=Pure(4))
        phrase = read_phrase("audit of lent by sex with label=paid, favourable=yes, deserving=yes, score=points")
        reused = curator.ask(GroupAudit.of_phrase(phrase, schema), Pure(4))
    assert reused.reused and answer.loss.person.epsilon == answer.loss.at("points").epsilon == 4
    report = answer.value
    for mine, truth in zip(report.tallied.groups, plain.tallied.groups, strict=True):
        assert abs(mine.chosen.value - truth.chosen.value) < 0.03 and mine.chosen.cells == (20, 20)
        for noisy, exact in zip(mine.bins, truth.bins, strict=True):
            assert abs(noisy.value - exact.value) < 0.1 and noisy.cells == (2, 2)
        assert mine.high.cells[0] + mine.high.cells[1] == 40 and 0.4 < mine.high.value < 0.6
    verdict = report.calibration_verdict
    assert verdict.verdict == plain.calibration_verdict.verdict == "differs"
    assert "at a score of" in verdict.sentence() and verdict.sentence() in str(answer)
    assert "Scoring rates count scores above 4 of 'points'" in str(answer)
    assert "Calibration" in report.model_card() and report.to_json()["calibration"]["verdict"] == "differs"
    assert [one.title for one in report.ll144()] == ["selection rate by sex", "scoring rate by sex"]


def test_noise_alone_makes_no_calibration_differ_and_few_people_say_nothing():
    rows, schema = scored(off=0)
    found = []
    with curate(rows, schema, Pure(40)) as curator:
        for spend in range(1, 7):
            answer = curator.audit("lent", "sex", "paid", **GOOD, score="points", spend=Pure(f"{spend}/10"))
            found.append(answer.value.calibration_verdict.verdict)
            assert len(answer.value.calibration_verdict.compared) == 20, "with noise nobody is left out"
    assert found.count("differs") <= 1
    few, schema = scored(people=40)
    with curate(few, schema, Pure(1)) as curator:
        report = curator.audit("lent", "sex", "paid", **GOOD, score="points", spend=Pure("0.1")).value
    assert "too few to say" in str(report.calibration().text()) and report.ok


def test_a_missing_score_is_in_no_figure_of_scores_and_a_score_may_stand_without_a_label():
    schema = Schema({"sex": categories("f", "m", other="f", missing="f"), "points": integers(0, 3), "lent": booleans()})
    rows = pa.table(
        {"sex": ["f", "m"] * 600, "points": [0, 1, 2, 3, None, None] * 200, "lent": [True, False, None] * 400}
    )
    with curate(rows, schema, Pure(9)) as curator:
        answer = curator.audit("lent", "sex", favourable=True, score="points", spend=Pure(4))
    first = answer.value.tallied.groups[0]
    assert first.bins == () and answer.value.calibration() is None
    assert abs(first.high.total - 400) < 30 and "in no scoring rate" in str(answer)


@pytest.mark.parametrize(
    ("score", "error", "words"),
    [
        ("sex", ParameterError, "each column once"),
        ("one", ParameterError, "a score needs two"),
        ("wide", DomainTooLarge, "derive coarser bins"),
        ("nothing", SchemaError, "nothing"),
    ],
)
def test_what_is_no_score_is_refused_before_anything_is_charged(score, error, words):
    schema = Schema({
        "sex": categories("f", "m", other="f", missing="f"), "lent": booleans(missing=False),
        "one": integers(1, 1, missing=1), "wide": integers(0, 10**6, missing=0),
    })  # fmt: skip
    rows = pa.table({"sex": ["f", "m"], "lent": [True, False], "one": [1, 1], "wide": [0, 1]})
    with curate(rows, schema, Pure(1)) as curator:
        with pytest.raises(error, match=words):
            curator.audit("lent", "sex", favourable=True, score=score, spend=Pure(1))
        assert curator.preview(GroupAudit("lent", "sex", favourable=True), Pure(1)).fits


def test_scores_without_a_decision_are_sums_of_fewer_cells():
    rows, schema = scored()
    plain = group_report(
        None, rows["sex"].to_numpy(False), label=rows["paid"].to_numpy(False),
        scores=(rows["points"].to_numpy() + 0.5) / 10,
    )  # fmt: skip
    with curate(rows, schema, Pure(9)) as curator:
        answer = curator.audit(None, "sex", "paid", deserving=True, score="points", spend=Pure(4))
        phrase = read_phrase("audit by sex with label=paid, deserving=yes, score=points")
        assert curator.ask(GroupAudit.of_phrase(phrase, schema), Pure(4)).reused
        foreseen = curator.preview(GroupAudit(None, "sex", score="points"), Pure(1)).error
    assert answer.loss.person.epsilon == answer.loss.at("paid").epsilon == 4 and answer.loss.at("lent").is_zero
    report = answer.value
    for mine, truth in zip(report.tallied.groups, plain.tallied.groups, strict=True):
        assert mine.chosen is mine.hits is None and abs(mine.people - truth.people) < 30
        assert sum(mine.high.cells) == 20 and 0.4 < mine.high.value < 0.6
        for noisy, exact in zip(mine.bins, truth.bins, strict=True):
            assert abs(noisy.value - exact.value) < 0.1 and noisy.cells == (1, 1)
    assert report.calibration_verdict.verdict == plain.calibration_verdict.verdict == "differs"
    said = f"{answer} {report} {report.model_card()}"
    assert "Fairness audit of points by sex" in said and "None" not in said
    assert "favourable" not in said and "election rate" not in said and "nan" not in said
    assert "scoring rate of a group of 100 people" in foreseen
    assert [one.title for one in report.ll144()] == ["scoring rate by sex"]


def test_a_missing_score_or_label_is_left_out_of_an_audit_of_scores_alone():
    columns = {"sex": categories("f", "m", other="f", missing="f"), "points": integers(0, 3), "paid": booleans()}
    rows = pa.table(
        {"sex": ["f", "m"] * 600, "points": [0, 1, 2, 3, None, None] * 200, "paid": [True, False, None] * 400}
    )
    with curate(rows, Schema(columns), Pure(9)) as curator:
        answer = curator.audit(None, "sex", "paid", deserving=True, score="points", spend=Pure(4))
    women = answer.value.tallied.groups[0]
    assert abs(women.people - 400) < 30 and women.people == women.high.total
    assert abs(sum(share.total for share in women.bins) - 200) < 30
    assert "Calibration leaves out people whose label is missing." in str(answer.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "for scores alone"),
        ({"label": "paid", "deserving": True}, "for scores alone"),
        ({"score": "points", "favourable": True}, "this audit has none"),
        ({"score": "points", "label": "paid"}, "which label is that of the deserving"),
    ],
)
def test_an_audit_without_a_decision_says_what_it_needs(options, words):
    rows, schema = scored(people=20)
    with curate(rows, schema, Pure(1)) as curator:
        with pytest.raises(ParameterError, match=words):
            curator.audit(protected="sex", spend=Pure(1), **options)
        assert curator.preview(GroupAudit(None, "sex", score="points"), Pure(1)).fits
