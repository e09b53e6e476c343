"""What an audit may release about private data: tables with stated noise, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import ADD_REMOVE, Concentrated, Noise, Pure, fair
from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.fair.audits.group_table import GroupTable, Released, group_table, in_steps, table_sensitivity
from sfumato.privacy import REPLACE_ONE

PEOPLE = 4000


def town() -> dict[str, np.ndarray]:
    """The north is refused and is where the group lives."""
    noise = Noise(insecure_seed=4)
    sex = np.where(noise.uniform(10, PEOPLE) < 3, "f", "m")
    north = noise.uniform(100, PEOPLE) < np.where(sex == "f", 60, 8)
    yes = noise.uniform(100, PEOPLE) < np.where(north, 5, 60)
    return {
        "sex": sex, "zip": np.where(north, "north", np.where(np.arange(PEOPLE) % 2, "south", "west")),
        "said": np.where(yes, "yes", "no"), "chance": np.where(north, 0.05, 0.6),
    }  # fmt: skip


def seen(spend: object = None, **changes: object) -> fair.PrivateAudit:
    table = town()
    options = {
        "decisions": table["said"], "protected": table["sex"], "group": "f", "outcomes": ["no", "yes"],
        "segments": table["zip"], "declared": ["north", "south"], "spend": Pure(1) if spend is None else spend,
        "noise": Noise(insecure_seed=7), **changes,
    }  # fmt: skip
    return fair.private_audit(options.pop("decisions"), options.pop("protected"), **options)


def test_the_figures_are_near_the_true_ones_and_the_loss_is_the_spend():
    table, found = town(), seen()
    inside, yes, north = table["sex"] == "f", table["said"] == "yes", table["zip"] == "north"
    true = yes[inside].mean(), yes[~inside].mean()
    for (rate, low, high), exact in zip(found.rates, true, strict=True):
        assert low <= exact <= high and abs(rate - exact) < 0.02
    assert found.gap_at_least <= abs(true[0] - true[1]) and abs(found.gap - abs(true[0] - true[1])) < 0.03
    first, second = found.segments
    assert abs(first.lift - inside[north].mean() / inside.mean()) < 0.15
    assert first.lift_at_least <= inside[north].mean() / inside.mean()
    assert first.raised and not second.raised and found.raised == ("E4",)
    assert found.loss.person.epsilon == 1 and found.loss.relation is REPLACE_ONE
    assert "RAISED" in str(found) and "at least" in str(found)


def test_each_table_gets_an_equal_part_and_without_segments_all():
    assert seen(segments=None, declared=()).loss.person.epsilon == 1
    added = seen(relation=ADD_REMOVE)
    assert added.loss.relation is ADD_REMOVE and added.loss.person.epsilon == 1
    assert group_table(Pure(1), 2).law.scale == 2
    assert group_table(Pure(1), 2, relation=ADD_REMOVE).law.scale == 1
    assert group_table(Pure(1), 5, steps=100).law.scale == 200
    assert seen(Concentrated(0.05)).loss.within(Concentrated(0.05))


def test_intervals_hold_as_often_as_stated():
    table = town()
    inside, yes = table["sex"] == "f", table["said"] == "yes"
    missed = 0
    for seed in range(60):
        found = seen(Pure(0.05), noise=Noise(insecure_seed=seed))
        rows = zip(found.rates, (yes[inside].mean(), yes[~inside].mean()), strict=True)
        north = inside[table["zip"] == "north"].mean() / inside.mean()
        missed += any(not low <= exact <= high for (_, low, high), exact in rows)
        missed += found.segments[0].lift_at_least > north
    assert missed <= 6


def test_probabilities_count_in_parts():
    chance = town()["chance"]
    found = seen(decisions=np.stack([1 - chance, chance], axis=1))
    inside = town()["sex"] == "f"
    assert abs(found.rates[0][0] - chance[inside].mean()) < 0.02 and found.loss.person.epsilon == 1


def test_one_person_moves_the_table_no_further_than_stated():
    draws = Noise(insecure_seed=2).uniform(1000, 60).reshape(20, 3) + 1.0
    rows = draws / draws.sum(axis=1, keepdims=True)
    units = in_steps(rows, 50)
    assert (units.sum(axis=1) == 50).all() and units.min() >= 0 and np.abs(units / 50 - rows).max() <= 0.02
    moves = table_sensitivity(3, 50, REPLACE_ONE)
    change = (units[:, None] - units[None]).reshape(-1, 3)
    assert np.abs(change).sum(axis=1).max() <= moves.l1 and (change**2).sum(axis=1).max() <= moves.l2_squared
    assert np.abs(change).max() <= moves.largest


def test_data_never_raises():
    odd = seen(
        decisions=np.array(["maybe", None, "yes", 3.0], dtype=object), protected=["f", None, "x", "m"],
        segments=["moon", None, "north", "south"],
    )  # fmt: skip
    assert odd.counts.shape == (2, 2) and all(np.isfinite(one.lift) for one in odd.segments)
    rows = np.array([[np.nan, 1.0], [-1.0, 2.0], [np.inf, 0.0], [0.2, 0.2]])
    assert in_steps(rows, 4).tolist() == [[4, 0]] * 4
    empty = seen(decisions=[], protected=[], segments=[], relation=ADD_REMOVE)
    assert np.isfinite(empty.gap) and not empty.raised
    exact = (np.array([True]), np.array([-3]), np.array([[0.0, 1.0]]))
    table = group_table(Pure(60), 2, segments=2)
    assert isinstance(table, GroupTable) and table(exact, Noise(insecure_seed=1))[1, 1, 1] == 1


def test_floats_and_whole_numbers_are_the_same_label():
    decisions = np.array([0.0, 1.0] * 500)
    found = seen(Pure(20), decisions=decisions, protected=["f"] * 1000, outcomes=[0, 1], segments=None, declared=())
    assert abs(found.rates[0][0] - 0.5) < 0.01


def test_shares_of_nobody_are_unknown():
    noisy = Released(np.zeros((2, 1, 2), dtype=np.int64), group_table(Pure(1), 2), 0.95)
    assert noisy.rate(0, 1).low == 0.0 and noisy.rate(0, 1).high == 1.0


@pytest.mark.parametrize("name", ["worst_pairs", "lipschitz", "bias", "repair", "findings", "parity"])
def test_what_reads_the_data_again_is_refused(name):
    with pytest.raises(UnsupportedSpend, match=f"has no {name}: .*must not be published"):
        getattr(seen(), name)


def test_unknown_names_are_no_attributes():
    assert not hasattr(seen(), "magic")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"spend": 0.5}, "Pure"),
        ({"outcomes": ["yes"]}, "at least 2"),
        ({"outcomes": ["yes", "yes"]}, "each once"),
        ({"favourable": "maybe"}, "No outcome"),
        ({"segments": None}, "segments="),
        ({"declared": ()}, "declared"),
        ({"protected": ["f"]}, "lengths differ"),
        ({"decisions": np.ones((PEOPLE, 3)) / 3}, "2 columns"),
        ({"decisions": np.full((PEOPLE, 2), "half")}, "holds numbers"),
        ({"protected": np.ones((PEOPLE, 2))}, "columns"),
        ({"confidence": 1.5}, "confidence"),
    ],
)
def test_bad_private_audits_are_refused(changes, words):
    with pytest.raises(ParameterError, match=words):
        seen(**changes)


def test_a_missing_decision_is_no_refusal():
    sex = np.array(["f", "m"] * 2000)
    said = np.where(np.arange(4000) // 2 % 2 == 0, "no", "yes").astype(object)
    said[::8] = None
    options = {"group": "f", "outcomes": ["no", "yes"], "spend": Pure(20), "noise": Noise(insecure_seed=1)}
    seen = fair.private_audit(said, sex, **options)
    assert abs(seen.rates[0][0] - 2 / 3) < 0.02 and abs(seen.rates[1][0] - 0.5) < 0.02
    assert seen.counts.shape == (2, 2) and abs(seen.counts[0].sum() - 1500) < 20
    assert seen.loss.person.epsilon == 20
    known = said.astype(str) != "None"
    chances = np.where(known[:, None], np.array([[0.25, 0.75]]), np.nan)
    assert abs(fair.private_audit(chances, sex, **options).rates[0][0] - 0.75) < 0.02
