"""The faithful sanitizers say how many people they need, keep it, and refuse before they fill memory."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import Approximate, Noise, Pure, integers
from sfumato.errors import AccuracyWarning, DomainTooLarge, ParameterError
from sfumato.learn import PrivateBox
from sfumato.papers import private_learning
from sfumato.papers.private_learning import san_points, san_thresholds, small_quantiles

SPEND = Approximate(1, 1e-6)


def largest_count_error(counts: dict[int, int], found: dict[int, int]) -> int:
    return max(abs(counts.get(key, 0) - found.get(key, 0)) for key in {*counts, *found})


def test_points_keep_their_accuracy_from_the_number_on_that_they_ask_for() -> None:
    mechanism = san_points(SPEND, 0.1, people=40_000)
    people = mechanism.needed(0.1)
    assert people == 33_397
    # Keys just above the accuracy and just below it, and one person each for the rest.
    heavy = people // 9
    counts = dict.fromkeys(range(9), heavy) | {100 + key: 1 for key in range(people - 9 * heavy)}
    noise = Noise(insecure_seed=1)
    errors = [largest_count_error(counts, dict(mechanism(counts, noise))) for _ in range(5)]
    assert max(errors) <= people / 10


def test_points_miss_their_accuracy_with_a_tenth_of_the_people_and_say_so_before() -> None:
    with pytest.warns(AccuracyWarning, match="33,397 people on, and there are 3,339"):
        mechanism = san_points(SPEND, 0.1, people=3339)
    counts = dict.fromkeys(range(9), 371)
    errors = [largest_count_error(counts, dict(mechanism(counts, Noise(insecure_seed=seed)))) for seed in range(3)]
    assert min(errors) > 333


def test_thresholds_keep_their_accuracy_from_the_number_on_that_they_ask_for() -> None:
    people = 607_232
    mechanism = san_thresholds(Approximate(4, 1e-6), 0, 2**32 - 1, people=people, accuracy=0.5)
    assert mechanism.needed(0.5) == people
    codes = np.arange(1000, dtype=np.int64) * 1001
    counts = np.full(1000, people // 1000)
    cells = mechanism.run((codes, counts), Noise(insecure_seed=1))
    truth = np.cumsum(counts)
    about = [sum(count for _, end, count in cells if end <= code) for code in codes.tolist()]
    assert len(cells) > 3
    assert np.abs(np.array(about) - truth).max() <= people / 2


def test_thresholds_give_one_cell_to_few_people_and_say_so_before() -> None:
    with pytest.warns(AccuracyWarning, match="2,289,728 people on, and there are 10,000"):
        mechanism = san_thresholds(SPEND, 0, 2**32 - 1, people=10_000, accuracy=0.5)
    codes = np.arange(1000, dtype=np.int64) * 1001
    assert len(mechanism.run((codes, np.full(1000, 10)), Noise(insecure_seed=1))) == 1


def test_a_box_of_few_people_names_the_learner_that_needs_fewer() -> None:
    number = integers(0, 99, missing=0)
    learner = PrivateBox(Pure(1), [number, number], ("no", "yes"), noise=Noise(insecure_seed=1))
    with pytest.warns(AccuracyWarning, match=r"ask for less accuracy\. PrivateLinearClassifier, .* needs far fewer"):
        learner.fit([[1, 2], [50, 60]] * 50, ["no", "yes"] * 50)


def test_small_tables_are_refused_before_they_are_listed() -> None:
    with pytest.raises(DomainTooLarge, match="10\\^46 tables of 4 codes") as refused:
        small_quantiles(Pure(1), 2**40, people=1000, accuracy="1/4")
    assert refused.value.method == "Distribution(column)"
    with pytest.warns(AccuracyWarning, match="126 people on, and there are 125"):
        small_quantiles(Pure(1), 6, people=125, accuracy="1/4")
    small_quantiles(Pure(1), 6, people=126, accuracy="1/4")


def test_numbers_that_are_none_are_refused() -> None:
    for people in (0, -1):
        with pytest.raises(ParameterError, match="people"):
            san_points(SPEND, 0.5, people=people)
        with pytest.raises(ParameterError, match="people"):
            san_thresholds(SPEND, 0, 9, people=people, accuracy=0.5)
    with pytest.raises(ParameterError, match="rounds"):
        san_points(SPEND, 0.5, people=2000).needed(0.1)


def test_the_room_lists_what_it_has_and_loads_learners_late() -> None:
    assert private_learning.KearnsBox.__name__ == "KearnsBox"
    assert set(private_learning.HOMES) < set(dir(private_learning))
    with pytest.raises(AttributeError, match="Nobody"):
        private_learning.Nobody  # noqa: B018
