"""Private linear models: how far each reading moves, what it costs, and how well it predicts."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from sfumato import Approximate, Budget, Concentrated, Noise, Pure, Schema, curate
from sfumato.ask.question import fits
from sfumato.errors import AccuracyWarning, BudgetExceeded, DomainTooLarge, ParameterError, UnsupportedSpend
from sfumato.learn import PrivateLinearClassifier, rule_from_json
from sfumato.learn.facts import LearningFacts, Sample
from sfumato.learn.linear_rows import Grid, clipped, coordinates_of
from sfumato.learn.linear_shares import attribute_gain, noise_ratio, table_noise
from sfumato.learn.linear_steps import linear_steps
from tests.imputed import booleans, categories, fixed, integers, text
from tests.learn.linear_paths import (
    CODES,
    FACTS,
    NAMES,
    pairs,
    parts_of,
    path_loss,
    readings,
    rows_of,
    sample,
    tiny,
)

AIMS = ("two", "three", "number")


@pytest.mark.parametrize(
    ("aim", "steps"),
    [("two", 1), ("three", 1), ("number", 1), *(pytest.param(aim, 3, marks=pytest.mark.audit) for aim in AIMS)],
)
def test_no_pair_of_people_moves_the_readings_further_than_is_charged(aim, steps):
    plan = tiny(aim, 3, steps)
    claim = plan.loss()
    worst = {"person": Fraction(0), "number": Fraction(0), "kind": Fraction(0), "y": Fraction(0)}
    low, high = CODES[aim]
    others = [((8, 1, 0), high), ((0, 0, 2), low)]
    for one, two in pairs(aim):
        loss = max(path_loss(plan, sample(one, *others), sample(two, *others), far)[0] for far in (0, -1))
        changed = {
            name for name, a, b in zip((*NAMES, "y"), (*one[0], one[1]), (*two[0], two[1]), strict=True) if a != b
        }
        assert loss <= claim.person.epsilon
        assert loss <= claim.at(changed).epsilon, changed
        worst["person"] = max(worst["person"], loss)
        if len(changed) == 1 and (name := changed.pop()) in worst:
            worst[name] = max(worst[name], loss)
    assert worst["person"] >= claim.person.epsilon * Fraction(7, 10), "the claim is far from what is reached"
    assert worst["y"] > claim.at("y").epsilon / 2


@pytest.mark.parametrize("aim", AIMS)
def test_parts_reach_what_each_of_them_claims(aim):
    plan = tiny(aim, 2)
    claims = [part.loss().person.epsilon for part in parts_of(plan)]
    best = [Fraction(0)] * len(claims)
    other = rows_of(aim)[0]
    for one, two in pairs(aim):
        for far in (0, -1):
            _, parts = path_loss(plan, sample(one, other), sample(two, other), far)
            best = [max(a, b) for a, b in zip(best, parts, strict=True)]
    reach = [float(a / b) for a, b in zip(best, claims, strict=True)]
    assert all(part <= 1 for part in reach) and reach[0] > 0.9 and reach[1] > 0.8 and reach[-1] > 0.8, reach


MUTANTS = {
    "twice the clip": lambda plan: replace(plan, clip=2 * plan.clip),
    "half the noise of the scale": lambda plan: replace(plan, scale=_narrow(plan.scale)),
    "half the noise of a step": lambda plan: replace(plan, step=_narrow(plan.step)),
    "half the noise of the table": lambda plan: replace(plan, table=_narrow(plan.table)),
    "noise of two labels for three": lambda plan: replace(plan, scale=_without_label(plan)),
    "a number's square for nothing": lambda plan: replace(plan, scale=_without_label(plan)),
}
EXTRA = {"noise of two labels for three": ("three",), "a number's square for nothing": ("number",)}


@pytest.mark.parametrize(
    ("aim", "name"),
    [
        (aim, name)
        for name in MUTANTS
        for aim in EXTRA.get(name, AIMS)
        if (aim, name) != ("three", "half the noise of the table")
    ],
)
def test_mutants_are_seen(aim, name):
    plan = tiny(aim, 2)
    mutant = MUTANTS[name](plan)
    claims = [part.loss().person.epsilon for part in parts_of(plan)]
    other = rows_of(aim)[0]
    assert any(
        part > claim
        for one, two in pairs(aim)
        for far in (0, -1)
        for part, claim in zip(path_loss(mutant, sample(one, other), sample(two, other), far)[1], claims, strict=True)
    ), name


def _narrow(part):
    return replace(part, law=type(part.law)(part.law.scale / 2))


def _without_label(plan):
    """Return the scale reading with noise that was made without what is read of the label."""
    charged = plan.scale.sensitivity.l1
    label = plan.aim.moves.sum * plan.grid.cell**2
    return replace(plan.scale, law=type(plan.scale.law)(plan.scale.law.scale * (charged - label) / charged))


def test_a_clip_by_the_bare_root_is_too_long():
    gradients = np.array([[3, 3], [7, 1], [5, 5]])
    squares = (gradients**2).sum(axis=1)
    bare = gradients * 4 // np.sqrt(squares).astype(int)[:, None]
    assert (bare**2).sum(axis=1).max() > 16 >= (clipped(gradients, 4, 2) ** 2).sum(axis=1).max()


@pytest.mark.parametrize("norm", [1, 2])
def test_gradients_are_clipped_in_whole_numbers(norm):
    noise = Noise(insecure_seed=3)
    gradients = noise.uniform(2001, 40 * 5).reshape(40, 5) - 1000
    found = clipped(gradients, 777, norm)
    size = np.abs(found).sum(axis=1) if norm == 1 else (found**2).sum(axis=1)
    assert size.max() <= (777 if norm == 1 else 777**2)
    short = np.abs(gradients).sum(axis=1) <= 777
    assert np.array_equal(found[short], gradients[short])


@pytest.mark.parametrize("aim", AIMS)
@pytest.mark.parametrize("spend", [Pure(1), Approximate(1, "1e-6")])
def test_a_row_is_the_same_whoever_else_is_there(aim, spend):
    facts = FACTS[aim]
    plan = linear_steps(coordinates_of(facts), 500, spend, facts, steps=2)
    noise = Noise(insecure_seed=5)
    people = rows_of(aim)
    rows = [people[place] for place in noise.uniform(len(people), 400)]
    whole = readings(plan, sample(*rows, people[3]), [])
    without = readings(plan, sample(*rows), whole)
    alone = readings(plan, sample(people[3]), whole)
    for all_of_them, others, one in zip(whole, without, alone, strict=True):
        assert np.array_equal(all_of_them, others + one)


@pytest.mark.parametrize("aim", AIMS)
def test_rows_together_with_their_number_are_the_same(aim):
    facts, rows = FACTS[aim], rows_of(aim)
    plan = linear_steps(coordinates_of(facts), 5, Pure(1), facts)
    listed = plan.run(sample(rows[0], rows[0], rows[5]), Noise(insecure_seed=2))
    counted = plan.run(Sample.of([rows[0][0], rows[5][0]], [rows[0][1], rows[5][1]], [2, 1]), Noise(insecure_seed=2))
    assert listed == counted


def test_golden_numbers():
    facts = LearningFacts(
        tuple(f"x{place}" for place in range(8)), (integers(0, 99),) * 8, booleans(), "y", frozenset({"y"})
    )
    coordinates = coordinates_of(facts)
    pure = linear_steps(coordinates, 8000, Pure(1), facts)
    square = Grid().cell ** 2
    assert math.isclose(pure.scale.law.scale / square, 20 / 0.3, rel_tol=1e-9)
    assert pure.steps == 8 and pure.clip == 4.5 * Grid().both
    assert math.isclose(pure.step.law.scale / Grid().both, 120, rel_tol=1e-9) and pure.table.law.scale == 20
    gaussian = linear_steps(coordinates, 8000, Approximate(1, "1e-6"), facts)
    assert gaussian.steps == 16 and abs(gaussian.clip / Grid().both - 3) < 1e-5
    assert math.isclose(math.sqrt(gaussian.scale.law.variance) / square, 46.28, rel_tol=1e-3)
    assert math.isclose(math.sqrt(gaussian.step.law.variance) / Grid().both, 130.9, rel_tol=1e-3)
    assert round(noise_ratio(9, 8000, Approximate(1, "1e-6")), 5) == 0.00614
    assert pure.loss().at("y").epsilon == Fraction(3, 10) * Fraction(2, 20) + Fraction(7, 10)


def test_a_spend_per_attribute_buys_less_noise_for_scale_and_steps():
    names = tuple(f"x{place}" for place in range(8))
    facts = LearningFacts(names, (integers(0, 99),) * 8, booleans(), "y", frozenset({*names, "y"}))
    coordinates = coordinates_of(facts)
    whole, single = (linear_steps(coordinates, 8000, spend, facts) for spend in (Pure(1), Pure(1).per_attribute()))
    gain = Fraction(9, 10) / (Fraction(3, 10) * Fraction(9, 4) / 20 + Fraction(6, 10))
    assert attribute_gain(coordinates, Pure(1).per_attribute(), facts) == gain and attribute_gain(
        coordinates, Pure(1), facts) == 1  # fmt: skip
    assert whole.scale.law.scale / single.scale.law.scale == gain and whole.table == single.table
    assert single.loss().at("x3").epsilon == 1 and 0.99 < single.loss().at("y").epsilon < 1
    assert single.loss().person.epsilon == gain * Fraction(9, 10) + Fraction(1, 10)
    assert single.loss().at("another").is_zero


@pytest.mark.parametrize("aim", AIMS)
@pytest.mark.parametrize("spend", [Pure(1), Concentrated(1)])
def test_a_spend_per_attribute_is_kept_and_reached_at_every_attribute(aim, spend):
    facts = FACTS[aim]
    asked = spend.per_attribute()
    plan = linear_steps(coordinates_of(facts), 400, asked, facts, steps=3)
    losses = [plan.loss().at(name) for name in (*facts.features, facts.attribute)]
    assert fits(plan.loss(), asked)
    largest = max(one.epsilon if isinstance(spend, Pure) else one.rho() for one in losses)
    assert largest == 1 or 0.9999 < largest <= 1


@pytest.mark.parametrize("pure", [True, False])
def test_less_noise_buys_more_steps_and_a_longer_clip_at_the_same_loss(pure):
    facts = FACTS["three"]
    plans = []
    for amount in ("0.1", 1, 100, 10000):
        spend = Pure(amount) if pure else Concentrated(amount)
        plans.append(plan := linear_steps(coordinates_of(facts), 400, spend, facts))
        assert plan.loss().within(spend) and plan.event().version == 2
    assert [plan.steps for plan in plans] == sorted(plan.steps for plan in plans)
    assert [plan.clip for plan in plans] == sorted(plan.clip for plan in plans)
    assert not plans[0].hurried and plans[-1].hurried and plans[-1].reach == 3


def test_a_draw_of_the_first_version_is_read_as_it_was_drawn():
    rows, y = _two_groups((0, 1))
    learner = PrivateLinearClassifier(Pure(50), integers(0, 99), (0, 1))
    facts = learner.facts(1)
    drawn = learner.mechanism(4000, 1).run(Sample.of(rows, y), Noise(insecure_seed=1))
    assert learner.rule(facts, drawn).reach == 3 and learner.rule(facts, drawn[:-1]).reach == 2
    three = PrivateLinearClassifier(Pure(50), integers(0, 99), (0, 1, 2))
    drawn = three.mechanism(4000, 1).run(Sample.of(rows, y), Noise(insecure_seed=1))
    assert three.rule(facts, drawn).people_by_label and not three.rule(facts, drawn[:-2]).people_by_label


@pytest.mark.parametrize("spend", [Pure(1), Approximate(1, "1e-6"), Concentrated("0.05")])
def test_it_predicts_nearly_as_well_as_without_privacy(spend):
    X, y = make_classification(9000, 8, n_informative=5, class_sep=0.8, random_state=2)
    cells = fixed(-8, 8, step=0.01)
    plain = LogisticRegression().fit(X[:6000], y[:6000]).predict_proba(X[6000:])[:, 1]
    learner = PrivateLinearClassifier(spend, cells, (0, 1), noise=Noise(insecure_seed=4)).fit(X[:6000], y[:6000])
    chance = learner.predict_proba(X[6000:])[:, 1]
    assert roc_auc_score(y[6000:], chance) > roc_auc_score(y[6000:], plain) - 0.03
    assert log_loss(y[6000:], chance) < log_loss(y[6000:], plain) + 0.05
    assert abs(learner.auc_ - roc_auc_score(y[:6000], learner.predict_proba(X[:6000])[:, 1])) < 0.03
    assert learner.loss_.within(spend)
    assert np.array_equal(learner.predict(X[:50]), (learner.decision_function(X[:50]) >= 0).astype(int))


def test_coefficients_are_in_the_units_of_the_features():
    noise = Noise(insecure_seed=1)
    age = noise.uniform(60, 6000) + 20
    sex = np.array(["f", "m"])[noise.uniform(2, 6000)]
    chance = 1 / (1 + np.exp(-(0.08 * (age - 50) + 1.0 * (sex == "m"))))
    y = noise.uniform(1 << 30, 6000) / 2.0**30 < chance
    rows = [[int(a), s] for a, s in zip(age, sex, strict=True)]
    domains = [integers(0, 120), categories("f", "m")]
    learner = PrivateLinearClassifier(Pure(20), domains, (False, True), noise=Noise(insecure_seed=1)).fit(rows, y)
    assert learner.coordinate_names_ == ["x0", "x1"]
    assert abs(learner.coef_[0][0] - 0.08) < 0.02 and abs(learner.coef_[0][1] - 1.0) < 0.3
    middle = learner.decision_function([[50, "f"]])[0]
    assert abs(middle - (learner.coef_[0][0] * 50 + learner.intercept_[0])) < 0.05


def test_a_limit_for_each_attribute_pays_a_model_in_full():
    rows = pa.table({"a": np.arange(3000) % 50, "b": np.arange(3000) % 7, "ill": np.arange(3000) % 50 > 25})
    schema = Schema({"a": integers(0, 49), "b": integers(0, 6), "ill": booleans()})
    with curate(rows, schema, Budget(Pure(5), each_attribute=Pure(2))) as curator:
        learner = PrivateLinearClassifier(spend=Pure(2).per_attribute())
        answer = curator.learn(learner, features=["a", "b"], target="ill")
        assert max(answer.loss.at(name).epsilon for name in ("a", "b", "ill")) == 2 < answer.loss.person.epsilon
        with pytest.raises(BudgetExceeded):
            curator.histogram("a", spend=Pure("0.01"))


def test_it_goes_through_a_ledger_and_back():
    X, y = make_classification(3000, 3, n_informative=3, n_redundant=0, random_state=1)
    rows = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "ill": y == 1})
    cells = fixed(-6, 6, step=0.01)
    schema = Schema({"a": cells, "b": cells, "c": cells, "ill": booleans()})
    with curate(rows, schema, Pure(2)) as curator:
        learner = PrivateLinearClassifier(spend=Pure(2))
        answer = curator.learn(learner, features=["a", "b", "c"], target="ill")
    assert answer.loss.person.epsilon == 2
    again = rule_from_json(answer.value.to_json())
    people = rows.drop_columns(["ill"]).to_pandas()
    assert np.array_equal(again.probabilities(X[:20]), learner.predict_proba(people[:20]))
    assert roc_auc_score(y, learner.predict_proba(people)[:, 1]) > 0.75
    assert pickle.loads(pickle.dumps(learner)).auc_ == learner.auc_


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_odd_people_are_an_answer():
    number = integers(0, 9)
    for rows, labels in ([[[3]], ["yes"]], [[[3]] * 50, ["no"] * 50], [[[3], [None], ["x"]], ["yes", "no", "?"]]):
        learner = PrivateLinearClassifier(Pure(1), number, ("no", "yes"), noise=Noise(insecure_seed=1))
        assert np.isfinite(learner.fit(rows, labels).predict_proba([[0], [9]])).all()
    constant = PrivateLinearClassifier(Pure(1), integers(4, 4), ("no", "yes"), noise=Noise(insecure_seed=1))
    assert len(constant.fit([[4]] * 30, ["yes", "no"] * 15).predict([[4]])) == 1


def test_it_says_what_to_expect_and_what_it_cannot_do():
    learner = PrivateLinearClassifier(Pure(1), integers(0, 9), ("no", "yes"))
    assert learner.expected_quality(100_000, features=1).startswith(
        "mostly within about one point of area under the curve"
    )
    assert learner.expected_quality(5, features=1).startswith("not known; it may be no better than a guess")
    few = pytest.warns(AccuracyWarning, match="do not show that anybody has the label")
    with few, pytest.warns(AccuracyWarning, match="much noise"):
        learner.fit([[1]] * 10, ["yes"] * 10)
    with pytest.raises(ParameterError, match="list of categories"):
        PrivateLinearClassifier(Pure(1), text(max_bytes=10), ("no", "yes")).fit([["a"]], ["yes"])
    many = categories(*(f"c{place}" for place in range(70)))
    with pytest.raises(DomainTooLarge, match="fewer, or bins"):
        PrivateLinearClassifier(Pure(1), many, ("no", "yes")).fit([["c1"]], ["yes"])
    with pytest.raises(DomainTooLarge, match="coordinates"):
        PrivateLinearClassifier(Pure(1), integers(0, 9), ("no", "yes")).fit([[1] * 600] * 3, ["yes"] * 3)
    with pytest.raises((UnsupportedSpend, ParameterError)):
        PrivateLinearClassifier(Pure(0), integers(0, 9), ("no", "yes")).fit([[1]], ["yes"])


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
def test_much_noise_is_drawn_on_coarser_cells():
    facts = LearningFacts(tuple("abcdef"), (integers(0, 9),) * 6, booleans(), "y", frozenset({"y"}))
    for spend in (Pure("0.003"), Approximate("0.003", "1e-9")):
        plan = linear_steps(coordinates_of(facts), 1000, spend, facts)
        assert plan.loss().within(spend)
    assert linear_steps(coordinates_of(facts), 1000, Pure("0.003"), facts).grid.cell < Grid().cell
    with pytest.raises(UnsupportedSpend, match="too small"):
        linear_steps(coordinates_of(facts), 1000, Pure("1e-9"), facts)


def _two_groups(labels):
    """Return 4000 people of one feature whose upper half has the second label, and a learner for them."""
    rows = [[place % 100] for place in range(4000)]
    return rows, [labels[row[0] >= 50] for row in rows]


@pytest.mark.parametrize(
    ("classes", "labels", "words"),
    [((0, 1), ("no", "yes"), "classes are numbers and y is declared as text"),
     (("no", "yes"), (0, 1), "classes are text and y is declared as numbers")],
)  # fmt: skip
@pytest.mark.parametrize("held", [np.array, pa.array, lambda cells: pytest.importorskip("pandas").Series(cells)])
def test_labels_of_another_type_are_refused_before_anything_is_drawn(classes, labels, words, held):
    rows, y = _two_groups(labels)
    learner = PrivateLinearClassifier(Pure(1), integers(0, 99), classes)
    with pytest.raises(ParameterError, match=words):
        learner.fit(rows, held(y))
    assert not hasattr(learner, "loss_")
    truth = PrivateLinearClassifier(Pure(1), integers(0, 99), (False, True), noise=Noise(insecure_seed=1))
    assert truth.fit(rows, held(y)).auc_ > 0.9, "truth values are read from words and from numbers"


def test_labels_that_no_type_tells_about_are_seen_in_what_is_released():
    rows, y = _two_groups(("no", "yes"))
    learner = PrivateLinearClassifier(Pure(1), integers(0, 99), (0, 1), noise=Noise(insecure_seed=1))
    with pytest.warns(AccuracyWarning, match=r"anybody has the label 1.*none of classes=\(0, 1\), and what is neither"):
        learner.fit(rows, y)  # a list has no type of its own
    assert math.isnan(learner.auc_) and all(map(math.isnan, learner.auc_interval_))
    odd = ["?", *y[1:]]
    fine = PrivateLinearClassifier(Pure(1), integers(0, 99), ("no", "yes"), noise=Noise(insecure_seed=1)).fit(rows, odd)
    assert fine.auc_ > 0.9, "a single odd label is repaired, and nothing tells of it"


def test_the_interval_of_the_area_covers_that_of_the_exact_table():
    rows, y = _two_groups((0, 1))
    y = [label if place % 3 else 1 - label for place, label in enumerate(y)]
    learner = PrivateLinearClassifier(Pure("0.5"), integers(0, 99), (0, 1), noise=Noise(insecure_seed=1)).fit(rows, y)
    rule = learner.rule_
    assert rule.deviation_of_count == 57, "a scale of 40"
    counts = 1000 * np.array([[3, 1]] * 8 + [[1, 3]] * 8)
    truth = replace(rule, table=tuple(counts.ravel().tolist())).area
    hits, widths = 0, []
    for seed in range(200):
        drawn = table_noise(Pure("0.5"), learner.facts(1)).run(counts, Noise(insecure_seed=seed))
        low, high = replace(rule, table=tuple(drawn.ravel().tolist())).area_interval
        hits, widths = hits + (low <= truth <= high), [*widths, high - low]
    assert 180 <= hits <= 199 and max(widths) < 0.02
    assert learner.auc_interval_[0] < learner.auc_ < learner.auc_interval_[1]
    assert np.array_equal(rule.predict_proba(rows[:9]), rule.probabilities(rows[:9]))
    older = {name: value for name, value in rule.to_json().items() if name != "deviation_of_count"}
    assert rule_from_json(older).area == rule.area
