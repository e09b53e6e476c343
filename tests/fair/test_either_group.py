"""Harm is seen whichever of two groups it is done to, and nobody has to say which one to look at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato import fair
from sfumato.fair.audits.findings import Finding, either
from sfumato.fair.audits.run import raise_findings, run_checks
from tests.fair.generators import make
from tests.fair.nulls import DESIGNS, Draws
from tests.fair.test_false_alarms import ALPHA, FULL, QUICK

DIRECTED = ("E3", "E4", "E4 by two cuts", "E5", "E6")


def redlined(larger: str = "f") -> dict[str, np.ndarray]:
    """People of whom 56 % are women, and a zip code of one group mostly, where hardly anybody is approved."""
    draws = Draws(7, 2400)
    sex = np.where(draws.uniform() < 0.56, larger, "m" if larger == "f" else "f")
    there = draws.uniform() < np.where(sex == larger, 0.2, 0.04)
    zip_code = np.where(there, "Z", np.array(["A", "B", "C"])[draws.noise.uniform(3, 2400)])
    decision = draws.coin(np.where(there, 0.1, 0.7)).astype(int)
    return {"sex": sex, "zip": zip_code, "income": 50 + 10 * draws.normal(), "decision": decision}


def audited(table: dict[str, np.ndarray], **options: object) -> fair.AuditReport:
    people = {name: values for name, values in table.items() if name != "decision"}
    metric = fair.Metric.from_features(people, {"income": 0.02})
    return fair.audit(
        table["decision"], people, "sex", metric=metric, segments="zip", favourable=1, **options
    )  # fmt: skip


@pytest.mark.parametrize("larger", ["f", "m"])
def test_the_larger_group_is_looked_at_too(larger):
    report = audited(redlined(larger))
    assert "E4" in report.raised and f"Against {larger}: " in report.headline()
    cut_off = report.findings[3]
    assert cut_off.group == larger and f"{larger} is 1." in cut_off.sentence
    record = report.to_json()
    assert record["asked_about"] == sorted(["f", "m"], key=lambda name: name == larger)
    assert "Every check looks for harm to" in str(report) and "protected group" not in str(report)
    assert report.findings[0].group == larger and f"more often than {larger}" in report.findings[0].sentence


def test_a_named_group_is_the_only_one_asked_about_and_the_report_says_so():
    report = audited(redlined(), group="m")
    assert "E4" not in report.raised
    assert "E4, E5 and E6 look for harm to m alone; leave group= out" in str(report)
    assert "harm to m alone" in report.to_html()


@pytest.mark.parametrize("share", [0.35, 0.6])
@pytest.mark.parametrize("code", DIRECTED)
def test_planted_harm_is_raised_against_either_group(code, share):
    found = []
    for seed in range(4):
        findings = run_checks(replace(make(code, True, seed, share).case(), both=True))
        harmed = {one.code: one.group for one in findings}
        found.append(code[:2] in raise_findings(findings, ALPHA) and harmed[code[:2]] == "True")
    assert sum(found) >= 3


def alarms(design: str, tables: int, start: int) -> int:
    cases = [replace(DESIGNS[design](Draws(seed)), both=True) for seed in range(start, start + tables)]
    return sum(bool(raise_findings(run_checks(case), ALPHA)) for case in cases)


@pytest.mark.parametrize("design", DESIGNS)
def test_two_groups_raise_no_more_false_alarms_than_one(design):
    assert alarms(design, QUICK, 50_000) <= 3


@pytest.mark.audit
@pytest.mark.parametrize("design", DESIGNS)
def test_false_alarms_of_two_groups_stay_below_the_stated_level(design):
    most = FULL * ALPHA + 3 * np.sqrt(FULL * ALPHA * (1 - ALPHA))
    assert alarms(design, FULL, 90_000) <= most


def test_the_surer_of_two_findings_pays_for_both():
    sure, unsure = Finding("E4", "f.", "lift", 1.5, 1.25, 0.02), Finding("E4", "m.", "lift", 0.5, 1.25, 0.6)
    assert either(sure, unsure) == either(unsure, sure) == replace(sure, p_value=0.04)
    lacks = Finding("E6", "Not run: too few.", group="m")
    ran = Finding("E6", "Seen.", "more", 0.0, 0.01, 0.7, group="f")
    assert either(lacks, ran).sentence == "Seen. For m: Not run: too few." and either(lacks, ran).p_value == 1.0
    assert either(lacks, replace(lacks, group="f")) == lacks


def test_whose_group_is_not_known_is_in_no_group():
    table = redlined()
    table["sex"][:300] = ""
    report = audited(table)
    assert report.unknown == 300 and sum(report.sizes) == report.people == 2100
    assert report.groups == ("m", "f") and "leave out 300 people whose group is not known" in str(report)
    rest = {name: values[300:] for name, values in table.items()}
    assert str(report.summary()) == str(audited(rest).summary()) and report.parity == audited(rest).parity
    assert all(pair["first"] >= 300 <= pair["second"] for pair in report.worst_pairs), "rows of the whole table"
    third = np.where(np.arange(2400) % 5 == 4, "d", table["sex"])
    named = audited({**table, "sex": np.where(table["sex"] == "", "", third)}, group="m")
    assert named.groups == ("m", "not m") and sum(named.sizes) == 2100
    assert "than the others" in named.findings[0].sentence


def test_a_report_of_decisions_does_not_contradict_itself(monkeypatch):
    from sfumato.fair.audits import run

    monkeypatch.setattr(run, "BIAS_PEOPLE", 600)
    report = audited(redlined())
    text = str(report)
    assert "Lipschitz constant (" not in text and "inf" not in text.split()
    assert "there is no Lipschitz constant, and pairs raise nothing" in text
    assert any("no finding" in row[0] for row in report.figures().rows)
    assert "segment zip = Z" in text and "segment segment" not in text
    assert report.worst_pairs and all(set(pair["chances"]) == {0.0, 1.0} for pair in report.worst_pairs)
    draws = Draws(3, 900)
    fair_table = {
        **{name: values[:900] for name, values in redlined().items()},
        "decision": draws.coin(0.5).astype(int),
    }
    sampled = audited(fair_table)
    assert sampled.bias_people == 600
    assert "allows (600 people: of a larger group an even sample of 300, because it takes long)" in " ".join(
        row[0] for row in sampled.figures().rows
    )
    if f"The gap {sampled.bias_gap:.3g} is consistent" in sampled.verdict():
        assert f"the gap of all 900 is {sampled.parity.value:.3g}." in sampled.verdict()
