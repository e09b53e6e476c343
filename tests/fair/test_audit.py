from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from sfumato import fair
from sfumato.errors import ParameterError, SchemaError
from sfumato.fair.audits.case import make_case
from sfumato.fair.audits.findings import NAMES
from sfumato.fair.audits.lipschitz import clopper_pearson_upper, lipschitz_audit
from sfumato.fair.audits.run import raise_findings, run_checks
from sfumato.fair.audits.significance import benjamini_hochberg
from tests.fair.generators import make
from tests.fair.support import metric_of, normal

QUICK, FULL = 6, 200


def raised(code: str, guilty: bool, seed: int) -> bool:
    return code in raise_findings(run_checks(make(code, guilty, seed).case()), 0.05)


@pytest.mark.parametrize(
    "code", ["E1", "E2", *(pytest.param(code, marks=pytest.mark.audit) for code in sorted(NAMES)[2:])]
)
def test_each_evil_is_seen_and_innocence_is_respected(code):
    assert sum(raised(code, True, seed) for seed in range(QUICK)) >= QUICK - 1
    assert sum(raised(code, False, seed) for seed in range(QUICK)) <= 1


@pytest.mark.audit
@pytest.mark.parametrize("code", sorted(NAMES))
def test_power_and_false_alarms(code):
    assert sum(raised(code, True, seed) for seed in range(FULL)) >= 0.9 * FULL
    assert sum(raised(code, False, 1000 + seed) for seed in range(FULL)) <= 0.05 * FULL


def frame(people: int = 400) -> pd.DataFrame:
    values = normal(1, people, 2)
    return pd.DataFrame(
        {"skill": values[:, 0], "hobby": values[:, 1], "sex": np.where(np.arange(people) % 3, "m", "f")}
    )


def report() -> fair.AuditReport:
    table = frame()
    model = LogisticRegression().fit(table[["skill", "hobby"]], table["skill"] + 0.3 * normal(2, 400, 1)[:, 0] > 0)
    metric = fair.Metric.from_features(table, {"skill": 0.3})
    return fair.audit(model, table, "sex", metric=metric, label="skill")


def test_the_whole_report(tmp_path):
    found = report()
    assert not found.ok and found.lipschitz is not None and found.lipschitz.coverage == "all pairs"
    assert found.groups == ("f", "m") and sum(found.sizes) == 400
    assert found.bias is not None and found.parity.value <= 1 and found.repair is not None
    text = str(found)
    assert all(code in text for code in NAMES)
    assert "the same for random groups" in text and "200 shuffles of 400 people" in text
    loaded = json.loads(found.save(tmp_path / "audit.json").read_text())
    assert loaded["bias"]["null"]["shuffles"] == 200 and loaded["bias"]["null"]["mean"] > 0
    assert loaded["lipschitz"]["worst"][0]["features"]["skill"] and loaded["ok"] is False
    assert found.save(tmp_path / "audit.txt").read_text() == text
    page = found.save(tmp_path / "audit.html").read_text()
    assert page.startswith("<!doctype html>") and page.count("<svg") == 2
    # One file that loads nothing from anywhere; XML namespaces and metadata are names, not links.
    assert not re.search(r'(src|href)="(https?:)?//', page) and "<script" not in page and "@import" not in page
    with pytest.raises(ParameterError, match="none of them"):
        found.save(tmp_path / "audit.pdf")
    with pytest.raises(ParameterError, match="There is no folder"):
        found.save(tmp_path / "nowhere" / "audit.html")


def test_reports_repeat_themselves():
    assert report().to_html() == report().to_html()


def test_names_on_the_page_are_escaped():
    table = frame().rename(columns={"hobby": "<b>hobby"})
    found = fair.audit(
        (table["skill"] > 0) * 0.9 + 0.05, table, "sex", metric=fair.Metric.from_features(table, {"skill": 0.1})
    )
    assert "<b>hobby" not in found.to_html() and "&lt;b&gt;hobby" in found.to_html()


def test_a_fair_mapping_passes_its_own_audit():
    table = frame()
    metric = fair.Metric.from_features(table, {"skill": 0.3})
    best = fair.fair_mapping(metric, np.stack([table["skill"], -table["skill"]], axis=1))
    found = lipschitz_audit(best.probabilities, metric, groups=table["sex"])
    assert found.ok and found.kappa <= 1.0 and set(found.by_group) == {"f × f", "f × m", "m × m"}


def test_models_functions_probabilities_and_decisions_are_all_audited():
    table = frame()
    metric = fair.Metric.from_features(table, {"skill": 0.3})
    chance = 1 / (1 + np.exp(-table["skill"].to_numpy()))
    by_function = fair.audit(lambda people: 1 / (1 + np.exp(-people["skill"])), table, "sex", metric=metric)
    by_vector = fair.audit(chance, table, "sex", metric=metric)
    assert by_function.to_json()["parity"] == by_vector.to_json()["parity"]
    decided = fair.audit(np.where(chance > 0.5, "yes", "no"), table, "sex", metric=metric, favourable="yes")
    assert decided.only_decisions and decided.to_json()["lipschitz"]["certificate"] is False
    assert "not a certificate" in decided.to_html()
    bare = fair.audit(chance, table, "sex")
    assert bare.lipschitz is None and "give metric=" in bare.verdict()


def test_a_model_that_reads_the_protected_column_is_flipped():
    table = frame()
    found = fair.audit(lambda people: 0.5 + 0.2 * (people["sex"] == "m"), table, "sex")
    assert "E1" in found.raised and np.isclose(found.findings[0].effect, 0.2)


def test_decisions_from_a_file(tmp_path):
    table = frame().assign(decision=(frame()["skill"] > 0).astype(int))
    table.to_csv(tmp_path / "decisions.csv", index=False)
    (tmp_path / "metric.toml").write_text("[weights]\nskill = 0.3\n")
    found = fair.audit_file(tmp_path / "decisions.csv", "sex", metric=tmp_path / "metric.toml", favourable=1)
    assert found.only_decisions and found.people == 400


def test_large_audits_are_sampled_and_say_so(monkeypatch):
    from sfumato.fair.audits import lipschitz

    monkeypatch.setattr(lipschitz, "ALL_PAIRS_PEOPLE", 100)
    metric, rows = metric_of(1, 300, 2, 0.3), (normal(2, 300, 1)[:, 0] > 0) * 0.8
    found = lipschitz_audit(rows, metric)
    assert found.coverage == "sampled, lower bound" and found.violating <= found.violating_at_most
    monkeypatch.setattr(lipschitz, "ALL_PAIRS_PEOPLE", 1000)
    assert found.kappa <= lipschitz_audit(rows, metric).kappa


def test_confidence_bounds_and_control_of_tests():
    assert np.isclose(clopper_pearson_upper(0, 100), 1 - 0.05 ** (1 / 100))
    assert benjamini_hochberg([0.04, 0.03, 0.02, 0.01], 0.05) == [True] * 4
    assert benjamini_hochberg([], 0.05) == []


def test_self_fulfilling_prophecy_of_parity_alone():
    """Remark 3's mapping may choose the worst of one group; FA-AFF on the same people does not."""
    score = np.concatenate([np.linspace(0, 1, 40), np.linspace(0, 1, 60)])
    first, second = np.arange(40), np.arange(40, 100)
    metric = fair.Metric.from_scores(score)
    # A vendor who wants the worst of the first group and the best of the second.
    wish = np.where(np.arange(100) < 40, -score, score) - 0.2
    loss = np.stack([np.zeros(100), -wish], axis=1)
    loose = fair.parity_without_cross(metric, loss, first, second)
    tied = fair.affirmative_mapping(metric, loss, first, second, method="fast")
    assert np.corrcoef(loose[:40, 1], score[:40])[0, 1] < -0.5
    assert np.corrcoef(tied.first_probabilities[:, 1], score[:40])[0, 1] > -0.1


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"protected": "gender"}, SchemaError, "protected column 'gender'"),
        ({"protected": "sex", "group": "x"}, ParameterError, "at least 2 people"),
        ({"protected": np.arange(400)}, ParameterError, "group="),
        ({"protected": ["f"]}, ParameterError, "one a person"),
        ({"protected": "sex", "label": np.full(400, np.nan)}, ParameterError, "label"),
        ({"protected": "sex", "segments": "county"}, SchemaError, "county"),
        ({"protected": "sex", "alpha": 2}, ParameterError, "alpha"),
    ],
)
def test_bad_audits_are_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        fair.audit(np.full(400, 0.5) + 0.001, frame(), **arguments)


def test_bad_outcomes_are_refused():
    table = frame()
    with pytest.raises(ParameterError, match="favourable"):
        fair.audit(np.array(["yes", "no"] * 200), table, "sex")
    with pytest.raises(ParameterError, match="sum to one"):
        fair.audit(np.full((400, 2), 0.7), table, "sex")
    with pytest.raises(ParameterError, match="rows"):
        fair.audit(np.full((4, 2), 0.5), table, "sex")


def test_a_metric_that_reads_the_protected_column_is_warned_about():
    table = frame()
    with pytest.warns(fair.FairnessWarning, match="protected column 'sex'"):
        fair.audit(
            np.full(400, 0.51), table, "sex", metric=fair.Metric.from_features(table, {"skill": 0.3, "sex": 0.5})
        )


def test_a_name_that_everybody_has_alone_makes_no_column_for_each():
    from sfumato.fair.people import MOST_CATEGORIES, as_numbers

    town = ["common"] * 20 + [f"t{place}" for place in range(180)]
    found = as_numbers({"name": [f"p{place}" for place in range(200)], "town": town, "age": list(range(200))})
    assert found.shape == (200, 2 * MOST_CATEGORIES + 1)
    assert 20 in found.sum(axis=0), "the most common category is kept"


def test_people_whose_group_nobody_noted_are_no_third_group():
    people = {"sex": ["f", "m", "m", "m", ""] * 40, "skill": list(range(200))}
    case = make_case([0, 1, 1, 1, 0] * 40, people, "sex", metric=None, label=None, segments=None, group=None,
                     favourable=1)  # fmt: skip
    assert case.inside.sum() == 40 and set(np.asarray(people["sex"])[case.inside]) == {"f"}, "the smaller noted one"
    with pytest.raises(ParameterError, match=r"values \['d', 'f', 'm'\]; say whom to protect"):
        fair.audit([0, 1] * 40, {"sex": ["f", "m", "d", ""] * 20}, "sex", favourable=1)
