"""What a rule is learned from a table without: circles in the advice, and sentences that contradict each other."""

from __future__ import annotations

import re
import warnings
from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Concentrated, Noise, Pure, Schema, booleans, categories, curate, dates, fixed, integers, text
from sfumato.cli.hints import in_shell
from sfumato.curator.typed import read_question
from sfumato.domain import years
from sfumato.errors import AccuracyWarning, ParameterError, SchemaError, UnsupportedSpend
from sfumato.learn import Learn, PrivateLinearClassifier, PrivateLinearRegressor, PrivateThreshold
from sfumato.learn.linear_rows import Rows
from sfumato.learn.question import _label_codes
from sfumato.table.data import open_table
from sfumato.table.gauge import Basis

AGES = [place % 100 for place in range(6000)]
PEOPLE = pa.table({"age": AGES, "hours": AGES[::-1], "ill": [int(age >= 50) for age in AGES]})
SCHEMA = Schema({"age": integers(0, 120), "hours": integers(0, 99), "ill": booleans()})


@pytest.mark.parametrize("classes", [None, (0, 1), (False, True), ("no", "yes")])
def test_a_label_of_truth_values_has_two_classes_however_they_are_written(classes):
    with curate(PEOPLE, SCHEMA, Pure(5)) as curator:
        learner = PrivateLinearClassifier(Pure(5), classes=classes)
        answer = curator.learn(learner, features=["age", "hours"], target="ill", missing={"age": 40, "hours": 50})
    first, second = classes or (False, True)
    assert learner.predict(pa.table({"age": [3, 97], "hours": [96, 2]})).tolist() == [first, second]
    assert answer.value.predict_proba([[3, 96], [97, 2]]).shape == (2, 2)
    assert learner.expected_quality(6000).startswith("mostly within about one point"), "the schema's domains"
    assert learner.needed() == PrivateLinearClassifier(Pure(5), [integers(0, 99, missing=0)] * 2, (0, 1)).needed()
    said = str(answer)
    assert "Missing cells of 'age' count as 40, as the question says." in said and "value of their own" not in said
    assert f"A cell of 'ill' that is not {second!r} counts as {first!r}." in said and "95 % interval" not in said
    with pytest.raises(ParameterError, match="written down, never read from X"):
        learner.fit([[1]], [0])


@pytest.mark.parametrize(
    ("domain", "advice"),
    [
        (categories("poor", "fair", "good"), "('poor', 'fair')"),
        (integers(3, 9), "(3, 9)"),
        (text(max_bytes=9), "('no', 'yes')"),
    ],
)
def test_the_two_classes_that_are_suggested_can_be_written(domain, advice):
    schema = Schema({"age": integers(0, 99, missing=0), "label": domain})
    with pytest.raises(ParameterError, match="which two are meant") as refused:
        Learn("PrivateThreshold", "age", "label").canonical(schema)
    assert f"classes={advice}, say" in str(refused.value)
    Learn("PrivateThreshold", "age", "label", eval(advice)).canonical(schema)


def test_one_value_written_twice_is_refused():
    with pytest.raises(ParameterError, match="one value of the label's column"):
        Learn("PrivateThreshold", "age", "ill", ("no", "false"), missing={"age": 1}).canonical(SCHEMA)
    with pytest.raises(ParameterError, match="'ja' is no truth value"):
        Learn("PrivateThreshold", "age", "ill", ("no", "ja"), missing={"age": 1}).canonical(SCHEMA)


def test_all_columns_whose_cells_may_be_missing_are_named_in_one_line_to_copy():
    schema = Schema(
        {"age": integers(0, 120), "pay": fixed(0, 9, step="0.5"), "sex": categories("F", "M"), "x": booleans(),
         "born": dates("2000-01-01", "2000-01-31"), "ill": booleans()}
    )  # fmt: skip
    names = ["age", "pay", "sex", "x", "born"]
    with pytest.raises(ParameterError, match="counts as: missing=") as refused:
        Learn("PrivateThreshold", names, "ill").canonical(schema)
    line = str(refused.value).split("missing=")[1].split(" where")[0]
    assert line == "{'age': 60, 'pay': 4.5, 'sex': 'F', 'x': False, 'born': '2000-01-16'}"
    Learn("PrivateThreshold", names, "ill", missing=eval(line)).canonical(schema)
    assert "'missing age=60, pay=4.5, sex=F, x=False, born=2000-01-16' behind the question" in in_shell(
        str(refused.value)
    )


@pytest.mark.parametrize("word", ["linear", "logistic", "Linear", "PrivateLinearClassifier"])
def test_the_shell_has_the_linear_learner(word):
    asked = read_question(f"learn ill from age with {word} missing age=40", SCHEMA)
    assert asked == Learn("PrivateLinearClassifier", "age", "ill", missing={"age": 40}).canonical(SCHEMA)


def test_only_learners_are_listed():
    for ask in (lambda: read_question("learn ill from age with forest", SCHEMA), lambda: Learn("forest", "age", "ill")):
        with pytest.raises(ParameterError, match="There is no learner 'forest'") as refused:
            ask()
        assert not {"Boxes", "FittedRule", "IntervalRule", "ConditionRule"} & set(str(refused.value).split("'"))
    with pytest.raises(ParameterError, match="did you mean 'linear'"):
        read_question("learn ill from age with linar", SCHEMA)


def test_synthetic_rows_have_no_target():
    with curate(PEOPLE, SCHEMA, Pure(1)) as curator:
        with pytest.raises(ParameterError, match="synthetic rows have no target"):
            curator.synthesize(target="ill", spend=Pure(1))
        with pytest.raises(ParameterError, match=r"Synthetic rows have no target.*when you train"):
            curator.synthesize(options={"target": "ill"}, spend=Pure(1))


# A label that is derived from an attribute

BORN = Schema(
    {
        "born": dates("2020-01-01", "2021-12-31", missing="2020-01-01"),
        "x": integers(0, 1, missing=0),
        "year": years("born"),
    }
)


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
@pytest.mark.parametrize("learner", ["PrivateBox", "PrivateThreshold", "RobustHalfspace", "SanitizeThenLearn"])
def test_a_derived_label_is_charged_to_the_attribute_behind_it(learner):
    loss = Learn(learner, "x", "year").canonical(BORN).prepare(Basis(BORN, 100_000), Pure(1)).loss()
    assert loss.at("born").epsilon == loss.person.epsilon == 1


@pytest.mark.parametrize("spend", [Pure(1), Concentrated("1/10")])
def test_a_feature_that_the_label_is_derived_from_moves_both(spend):
    prepared = Learn("PrivateLinearClassifier", ["born", "x"], "year").canonical(BORN).prepare(Basis(BORN, 9999), spend)
    plan = prepared.mechanism
    read = []
    for day in (date(2020, 7, 1), date(2021, 12, 31)):
        with open_table(pa.table({"born": [day], "x": [1]}), BORN) as table:
            rows = Rows.of(prepared.exact(table), plan.coordinates, plan.grid)
        read.append([*rows.scale_totals(plan.coordinates).tolist(), *plan.aim.totals(rows)])
    moved = [abs(one - other) for one, other in zip(*read, strict=True)]
    claim = dict(plan.scale.by_attribute)["born"]
    assert sum(moved) <= claim.l1 < sum(moved) + 2 and sum(one**2 for one in moved) <= claim.l2_squared


# A label whose cells may be missing

GRADES = Schema({"age": integers(0, 99), "grade": categories("A", "B", "C")})


def test_a_label_of_categories_is_among_the_columns_that_need_missing():
    with pytest.raises(ParameterError, match="counts as: missing=") as refused:
        Learn("PrivateLinearClassifier", "age", "grade").canonical(GRADES)
    said = str(refused.value)
    assert "missing={'age': 49, 'grade': …} where it is learned" in said, "no label is proposed for those without one"
    assert "counts as what you write for 'grade', one of 'A', 'B', 'C'; keep such rows out of the data" in said
    assert '--missing "age=49, grade=…"' in in_shell(said, "learn")
    Learn("PrivateLinearClassifier", "age", "grade", missing={"age": 49, "grade": "B"}).canonical(GRADES)


@pytest.mark.parametrize(
    ("label", "missing", "classes"),
    [
        (categories("A", "B", "C"), "B", None),
        (categories("A", "B", "C"), "B", ("A", "B")),
        (booleans(), True, None),
        (booleans(), True, ("no", "yes")),
    ],
)
def test_missing_labels_count_as_the_question_says(label, missing, classes):
    schema = Schema({"age": integers(0, 99, missing=0), "label": label})
    asked = Learn("PrivateLinearClassifier", "age", "label", classes, missing={"label": missing})
    facts = asked.facts(schema)
    found = _label_codes(np.array([0, 1, label.missing_code]), label, facts.labels)
    assert found.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("label", "missing", "classes"),
    [
        (categories("no", "yes"), "yes", ("no", "yes")),
        (categories("no", "yes"), "other", ("no", "yes", "other")),
        (categories("no", "yes", missing="other"), None, ("no", "yes", "other")),
        (categories("no", "yes", other="yes"), "no", ("no", "yes")),
    ],
)
def test_the_labels_are_those_that_the_schema_lists(label, missing, classes):
    schema = Schema({"age": integers(0, 99, missing=0), "label": label})
    fill = {} if missing is None else {"label": missing}
    facts = Learn("PrivateLinearClassifier", "age", "label", missing=fill).facts(schema)
    assert facts.classes == classes
    unlisted = _label_codes(np.array([label.encode("perhaps"), label.encode(None)]), label, facts.labels).tolist()
    first = 0 if "other" not in classes and label.other is None else facts.labels.encode(label.other or "other")
    assert unlisted == [first, classes.index(missing or "other")]


def test_a_list_of_two_labels_is_learned_as_two_and_the_answer_says_what_others_count_as():
    schema = Schema({"age": integers(0, 99, missing=0), "label": categories("no", "yes")})
    rows = pa.table({"age": AGES, "label": ["yes" if age >= 50 else "no" for age in AGES]})
    with curate(rows, schema, Pure(5)) as curator:
        learner = PrivateLinearClassifier(Pure(5))
        answer = curator.learn(learner, features="age", target="label", missing={"label": "yes"})
    assert learner.classes_.tolist() == ["no", "yes"] and learner.auc_ > 0.9
    assert "Values of 'label' that are none of 'no', 'yes' count as 'no'." in str(answer)
    assert "count as 'other'" not in str(answer), "one sentence, and the true one"
    Learn("PrivateThreshold", "age", "label", missing={"label": "no"}).canonical(schema)


def test_a_number_is_sent_to_the_regression():
    with pytest.raises(ParameterError, match="for a number take PrivateLinearRegressor, or say which are"):
        Learn("PrivateLinearClassifier", "age", "hours", missing={"age": 1, "hours": 1}).canonical(SCHEMA)


def test_a_mistyped_feature_is_told_before_what_its_missing_cells_count_as():
    with pytest.raises(SchemaError, match=r"'agee'.*did you mean 'age'"):
        Learn("PrivateLinearClassifier", "agee", "ill", missing={"age": 1}).canonical(SCHEMA)
    with pytest.raises(
        ParameterError, match=r"speaks of 'hours', which is neither the target 'ill' nor .*'age'; name it"
    ):
        Learn("PrivateLinearClassifier", "age", "ill", missing={"age": 1, "hours": 1}).canonical(SCHEMA)


def test_a_schema_with_several_rows_is_refused_together_with_what_is_missing():
    several = Schema({"age": integers(0, 99), "ill": booleans()}, person="id", rows_per_person=2)
    with pytest.raises(ParameterError, match=r"missing=\{'age': 49\}.*write rows_per_person = 1 there.*another ledger"):
        Learn("PrivateThreshold", "age", "ill").canonical(several)
    with pytest.raises(
        UnsupportedSpend,
        match=r"the schema says rows_per_person = 2; take a linear model, .*or write rows_per_person = 1",
    ):
        Learn("PrivateThreshold", "age", "ill", missing={"age": 40}).canonical(several)


# How good a model is, where it is printed

NUMBERS = {"age": integers(0, 99, missing=0), "hours": integers(0, 99, missing=0), "ill": booleans(missing=False)}


def learned(target, learner, values=None, **columns):
    rows = PEOPLE if values is None else PEOPLE.set_column(2, "ill", pa.array(values))
    with curate(rows, Schema({**NUMBERS, **columns}), Pure(5)) as curator:
        return curator.learn(learner, features=["age"], target=target)


def test_a_printed_classifier_says_its_area_and_warns_where_it_is_a_guess():
    good = str(learned("ill", PrivateLinearClassifier(Pure(5))))
    assert re.search(r"\(AUC\) among the people of the fit: (0\.9\d|1\.00), without noise between 0\.\d\d and", good)
    assert "Warning" not in good
    luck = Noise(insecure_seed=3).uniform(2, 6000).tolist()
    assert "Warning: by this the model may be no better than a guess" in str(
        learned("ill", PrivateLinearClassifier(Pure(5)), luck)
    )
    with pytest.warns(AccuracyWarning, match="do not show that anybody"):
        nobody = str(learned("ill", PrivateLinearClassifier(Pure(5)), [0] * 6000))
    assert "does not show that anybody has the label True. Warning" in nobody


def test_a_printed_regression_says_what_it_explains():
    target = {"hours": integers(0, 99, missing=0)}
    good = str(learned("hours", PrivateLinearRegressor(Pure(5)), **target))
    assert re.search(r"Explained share \(R²\) among the people of the fit: \d", good) and "Warning" not in good
    wide = {"hours": integers(0, 10**6, missing=0)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)  # luck decides whether the fit warns too
        noisy = str(learned("hours", PrivateLinearRegressor(Pure("0.01")), **wide))
    assert "R²): not known" in noisy


def test_a_model_without_a_figure_says_that_nothing_measured_it():
    assert "Nothing measured how good this model is" in str(learned("ill", PrivateThreshold(Pure(1))))
