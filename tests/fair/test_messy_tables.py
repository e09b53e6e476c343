"""Tables as people have them: who waits counts as refused, Windows-1252, capitals, rows of one person, stray words."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

from sfumato import Noise, Pure, Schema, categories, curate, fair, questions
from sfumato.errors import ParameterError, SchemaError
from sfumato.fair.people import typed
from sfumato.table import csv_files
from tests.cli.conftest import run

ROWS = [("f", "invited"), ("f", "pending"), ("f", "pending"), ("m", "invited"), ("m", "rejected")] * 40
PEOPLE = {"sex": [sex for sex, _ in ROWS]}
SAID = [decision for _, decision in ROWS]
COUNTED = "'pending', 'rejected' count as not favourable; leave cells empty where nothing was decided yet."


def test_who_waits_is_not_refused_in_silence(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("sex,decision\n" + "".join(f"{sex},{said}\n" for sex, said in ROWS))
    options = ("--protected", "sex", "--favourable", "invited")
    page = tmp_path / "page.html"
    assert COUNTED in run("fair", "audit", path, *options, "--html", page).out
    assert "count as not favourable" in page.read_text()
    found = json.loads(run("fair", "audit", path, *options, "--json").out)
    assert found["by_group"]["not_favourable"] == ["pending", "rejected"]
    assert COUNTED in str(fair.audit(SAID, PEOPLE, "sex", favourable="invited"))
    report = fair.group_report(SAID, PEOPLE["sex"], favourable="invited")
    assert COUNTED in str(report) and COUNTED in report.model_card()
    two = [said.replace("pending", "rejected") for said in SAID]
    assert "not favourable" not in str(fair.group_report(two, PEOPLE["sex"], favourable="invited"))


def test_a_private_audit_says_it_from_the_schema_alone():
    schema = Schema({"sex": categories("f", "m"), "decision": categories("invited", "on hold", "rejected")})
    with curate(pyarrow.table({**PEOPLE, "decision": SAID}), schema, Pure(2)) as curator:
        asked = questions.GroupAudit("decision", "sex", favourable="invited")
        before = str(curator.preview(asked, Pure(1)))
        answer = curator.audit("decision", "sex", favourable="invited", spend=Pure(1))
    for said in (before, str(answer), str(answer.value)):
        assert "'on hold', 'rejected', 'other' count as not favourable; leave cells empty" in said
        assert "pending" not in said, "what only the data know is not said"
    seen = fair.private_audit(
        SAID, PEOPLE["sex"], group="f", outcomes=["rejected", "pending", "invited"], spend=Pure(1),
        noise=Noise(insecure_seed=1),
    )  # fmt: skip
    assert "'rejected', 'pending' count as not favourable" in str(seen)


def test_where_an_empty_cell_counts_as_a_decision_nobody_is_told_to_leave_it_empty():
    decision = categories("invited", "pending", "rejected", missing="rejected")
    with curate(pyarrow.table({**PEOPLE, "decision": SAID}), Schema({"sex": categories("f", "m"), "decision": decision}),
                Pure(2)) as curator:  # fmt: skip
        said = str(curator.audit("decision", "sex", favourable="invited", spend=Pure(1)))
    assert "count as not favourable." in said and "leave cells empty" not in said


def test_a_file_that_is_no_utf_8_is_refused_as_everywhere(tmp_path):
    path, rule = tmp_path / "w.csv", tmp_path / "rule.toml"
    path.write_bytes(b"name;sex;decision\n" + b"x;M\xe4nner;1\nx;Frauen;0\nx;Frauen;1\n" * 20)
    with pytest.raises(SchemaError, match=r"no UTF-8.*iconv -f WINDOWS-1252") as ours:
        fair.audit_file(path, "sex", favourable=1)
    with pytest.raises(SchemaError) as theirs:
        csv_files.look_through(str(path), [str(path)])
    assert str(ours.value) == str(theirs.value)
    rule.write_bytes(b"[weights]\n'M\xe4nner' = 0.1\n")
    with pytest.raises(SchemaError, match="no UTF-8"):
        fair.Metric.from_toml(rule, PEOPLE)
    path.write_bytes("sex,decision\nf,1\nm,0\n".encode("utf-16"))
    with pytest.raises(SchemaError, match="UTF-16"):
        fair.audit_file(path, "sex", favourable=1)


def test_words_that_parquet_holds_as_bytes_are_words(tmp_path):
    path = tmp_path / "p.parquet"
    sex = pyarrow.array([sex.encode() for sex in PEOPLE["sex"]], pyarrow.binary())
    pyarrow.parquet.write_table(pyarrow.table({"sex": sex, "decision": SAID}), path)
    assert set(fair.audit_file(path, "sex", favourable="invited").groups) == {"f", "m"}
    pyarrow.parquet.write_table(pyarrow.table({"sex": [b"\xe4", b"m"] * 100, "decision": SAID}), path)
    with pytest.raises(SchemaError, match="no UTF-8"):
        fair.audit_file(path, "sex", favourable="invited")


def test_words_in_place_of_losses_say_what_to_write():
    metric, wished = fair.Metric.from_scores([0.0, 0.5, 1.0]), pd.Series(["yes", "no", "yes"])
    with pytest.raises(ParameterError, match=r"loss must be numbers.*numpy\.column_stack"):
        fair.fair_mapping(metric, wished)
    assert fair.fair_mapping(metric, np.column_stack([wished == "yes", wished != "yes"])).certificate.ok


def test_groups_of_fewer_than_five_have_no_verdict():
    sex, said = ["f"] * 100 + ["m"] * 100 + ["d"] * 3, [1, 0] * 100 + [0, 0, 1]
    report = fair.group_report(said, sex, favourable=1)
    (row,) = [line for line in str(report).splitlines() if line.split()[:1] == ["d"]]
    assert "too few for a verdict" in row and not any(word in row for word in ("watch", "cannot say", "clear"))
    (small,) = [one for one in report.to_json()["comparisons"] if one["group"] == ["d"]]
    assert small["verdict"] is None and small["differs"] is None


def test_capitals_and_blanks_are_warned_about():
    sex = ["f", "F", "m", "m"] * 50
    report = fair.audit([1, 0] * 100, {"sex": sex}, "sex", group="f", favourable=1)
    said = "Some values of 'sex' differ only in capitals or blanks, and count apart ('F' and 'f')"
    assert said in str(report) and "count apart" in report.to_html()
    assert any(said in one for one in report.to_json()["warnings"])
    assert said in str(fair.group_report([1, 0] * 100, {"sex": sex}, favourable=1))
    words = fair.group_report(["yes", "Yes", "no", "no"] * 50, ["f", "m"] * 100, favourable="yes")
    assert "Some values of the decision differ only in capitals" in str(words)


def test_several_rows_of_a_person_are_warned_about():
    people = {"applicant_id": [f"B{row // 2}" for row in range(200)], "visit": list(range(200)), **PEOPLE}
    (said,) = fair.audit(SAID, people, "sex", favourable="invited").by_group.cautions
    assert "'applicant_id' holds 100 different values in 200 rows" in said and "assume one row a person" in said
    people["applicant_id"] = [f"B{row}" for row in range(200)]
    (said,) = fair.audit(SAID, people, "sex", favourable="invited").by_group.cautions
    assert said.startswith("'applicant_id' is a key by name")


def test_a_key_whose_values_all_differ_is_no_feature():
    rows = 400
    people = {
        "customer_id": list(range(rows)), "sex": ["f"] * 200 + ["m"] * 200, "age": [row % 40 for row in range(rows)],
        "no": [row % 7 for row in range(rows)], "mass_index": [20.5 + row / 64 for row in range(rows)],
    }  # fmt: skip
    people["mass_index"].sort(key=lambda index: index * 64 % 5)

    def audited(**options):
        options = {"metric": {"age": 0.01}, **options}
        report = fair.audit([row // 2 % 2 for row in range(rows)], people, "sex", favourable=1, **options)
        (encoding,) = [one for one in report.findings if one.code == "E2"]
        return str(report), encoding.sentence

    # The rows stand by sex, so that the number of a row would guess it.
    said, proxies = audited()
    assert "'customer_id' is a key by name, and all values differ, so it is no feature here" in said
    assert "'no'" not in said and "'mass_index'" not in said and "AUC 1.00" not in proxies
    named, guessed = audited(features=["customer_id", "age"])
    assert "is a key by name" not in named and "AUC 1.00" in guessed
    _, read = audited(metric={"customer_id": 0.01})
    assert "AUC 1.00" in read


def test_words_in_a_column_of_numbers_are_said_and_make_no_categories(tmp_path):
    age = ["k.A." if row % 20 == 0 else str(20 + row % 40) for row in range(200)]
    frame = pd.DataFrame({"age": age, **PEOPLE})
    path = tmp_path / "p.csv"
    frame.assign(decision=SAID).to_csv(path, index=False)
    said = (
        "'age' has 10 cells that are no numbers ('k.A.'); most are, so it is taken as numbers and the others as missing"
    )
    for report in (
        fair.audit(SAID, frame, "sex", favourable="invited"), fair.audit_file(path, "sex", favourable="invited"),
    ):  # fmt: skip
        assert said in str(report) and "age = " not in str(report)
    refused = r"'age' is one of numbers.* and 10 of its 200 cells are none, that of row 1 is the first"
    with pytest.raises(ParameterError, match=refused):
        fair.Metric.from_features(frame, {"age": 0.1})
    rule = tmp_path / "rule.toml"
    rule.write_text("[weights]\nage = 0.1\n")
    with pytest.raises(ParameterError, match=refused):
        fair.audit_file(path, "sex", favourable="invited", metric=rule)


def test_codes_stay_codes():
    codes = np.array(["10115", "20095", "x"])
    assert (
        typed(codes, "zip") is codes
        and typed(codes[:2]) is not None
        and typed(codes[:2]).tolist() == ["10115", "20095"]
    )
    assert typed(codes, "age").tolist() == [10115.0, 20095.0, "x"]
    thousands = np.array(["1,200", "900", "800"])
    assert typed(thousands).tolist() == ["1,200", 900.0, 800.0], "a comma that may divide thousands is not read"


def test_what_is_advised_names_no_column_that_the_table_lacks():
    said = str(fair.audit(SAID, PEOPLE, "sex", favourable="invited"))
    assert "label='COLUMN'" in said and "segments='COLUMN'" in said and "paid" not in said


def test_a_size_of_households_is_not_called_people_with_several_rows() -> None:
    rows = 400
    table = {"sex": ["f", "m"] * (rows // 2), "household": [row % 4 + 1 for row in range(rows)]}
    said = " ".join(fair.audit([row // 2 % 2 for row in range(rows)], table, "sex", favourable=1).by_group.cautions)
    assert "If it is a size or a kind, all is well" in said and "seem to have several" not in said
