"""Every faithful algorithm says from how many people on its theorem promises something, and warns below."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sfumato import Concentrated, Noise, Pure, Schema, Truncated, booleans, workloads
from sfumato.errors import AccuracyWarning
from sfumato.papers.private_learning import smooth_median
from sfumato.papers.query_release.geometry.small_databases import small_databases
from sfumato.questions import Synopsize, Synthesize
from sfumato.questions.distribution.codes import Coded
from sfumato.table.gauge import Basis

BITS = Schema({f"x{place}": booleans(missing=False) for place in range(6)})
PAIRS = workloads.marginals(BITS, width=2)
EACH = Concentrated("1/8").per_attribute()


def planned(question: Any, spend: Any) -> Callable[[int], Any]:
    return lambda people: question.prepare(Basis(BITS, people), spend)


WARN: dict[str, Callable[[int], Any]] = {
    "mwem": planned(Synthesize(PAIRS, method="mwem"), Pure(1)),
    "mwem of single steps": planned(
        Synthesize(PAIRS, method="mwem", options={"replay": "none", "output": "average"}), Concentrated("1/8")
    ),
    "barak": planned(Synthesize(PAIRS, method="barak"), Pure(1)),
    "agnostic": planned(Synthesize(PAIRS, method="agnostic"), Pure(1)),
    "pdp-mwem": planned(Synthesize(PAIRS, method="pdp-mwem"), EACH),
    "tree": planned(Synopsize("tree", options={"most_leaves": 4}), Pure(1)),
    "labels": planned(Synopsize("labels", options={"queries": 10}), Pure(1)),
    "small_databases": lambda people: small_databases([[1, 1, 0, 0], [1, 0, 1, 0]], Pure(1), people=people),
    "smooth_median": lambda people: smooth_median(Truncated("0.1", 4), 0, 10**6, people=people),
}


@pytest.mark.parametrize("name", WARN)
def test_it_warns_below_the_number_that_it_names_and_not_from_there_on(name: str) -> None:
    with pytest.warns(AccuracyWarning) as said:
        WARN[name](20)
    (found,) = [
        match for one in said if (match := re.search(r"from ([\d,]+) people on, and there are 20", str(one.message)))
    ]
    needed = int(found[1].replace(",", ""))
    assert 20 < needed < 200_000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WARN[name](needed)
    # The number of rounds is looked at in steps, so that what is named may be a few in a hundred too many.
    with pytest.warns(AccuracyWarning, match="people on, and there are"):
        WARN[name](int(needed * 0.9))


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (planned(Synthesize(PAIRS, method="mwem", options={"rounds": 1}), Pure(1)), "for no number of people.*rounds="),
        (
            planned(Synthesize(PAIRS, method="pdp-mwem", options={"rounds": 1}), EACH),
            "for no number of people.*rounds=",
        ),
        (
            planned(Synopsize("tree", options={"steepness": "1/5"}), Pure(1)),
            "for no number of people.*steepness= below",
        ),
        (lambda people: small_databases([[1, 0]], Pure(1), people=people, size=1), "1 records promise 1.2"),
    ],
)
def test_a_promise_that_says_nothing_for_any_number_of_people_is_said_to(plan: Callable[[int], Any], said: str) -> None:
    with pytest.warns(AccuracyWarning, match=said):
        plan(10**6)


def test_noise_of_a_smooth_median_is_as_wide_as_its_warning_says_whatever_the_data() -> None:
    with pytest.warns(AccuracyWarning, match="deviation is at least"):
        median = smooth_median(Truncated("0.1", 4), 0, 10**6, people=51)
    spread = Noise(insecure_seed=1).uniform(10**6 + 1, 51)
    tables = [spread, np.full(51, 500_000), np.full(51, 0), np.arange(51) + 499_975]
    for table in tables:
        around = median.neighbourhood(Coded.of(*np.unique(table, return_counts=True)))
        assert float(median.variance) ** 0.5 * float(median.width(around)) >= median.narrowest * (1 - 1e-9)
    assert median.narrowest > 100 * float(median.variance) ** 0.5
