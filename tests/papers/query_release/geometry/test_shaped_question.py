"""Shaped noise through the curator: charged, stored, with intervals that cover."""

import numpy as np
import pyarrow
import pytest

import sfumato as sf
from sfumato import Concentrated, Pure, Schema, curate
from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.papers.query_release.geometry.question import Shaped
from tests.imputed import booleans

SCHEMA = Schema({name: booleans() for name in ("smokes", "drinks", "sleeps")})
PEOPLE = pyarrow.table(
    {name: [(row >> place) % 3 == 0 for row in range(200)] for place, name in enumerate(SCHEMA.names)}
)


def workload():
    return sf.workloads.conjunctions(SCHEMA, width=2)


def truth() -> np.ndarray:
    columns = {name: np.array(PEOPLE[name].to_pylist()) for name in SCHEMA.names}
    pairs = [block.columns for block in workload().blocks]
    return np.array([np.sum(columns[one] & columns[other]) for one, other in pairs])


def test_it_is_charged_once_and_then_free() -> None:
    with curate(PEOPLE, SCHEMA, Pure(2)) as curator:
        first = curator.ask(Shaped(workload()), Pure(1))
        again = curator.ask(Shaped(workload()), Pure(1))
        assert first.loss.person.epsilon <= 1
        assert again.reused
        assert again.value.columns == first.value.columns
        assert len(first.value) == 3


@pytest.mark.audit
def test_intervals_cover_at_their_rate() -> None:
    exact, inside, runs = truth(), 0, 60
    with curate(PEOPLE, SCHEMA, Pure(runs + 1)) as curator:
        for run in range(runs):
            answer = curator.ask(Shaped(workload()), Pure(1 - 0.001 * run))
            ends = answer.interval(0.9)
            inside += int(np.sum((np.array(ends["low"]) <= exact) & (exact <= np.array(ends["high"]))))
    assert inside >= 0.8 * 3 * runs  # 0.9 is promised; 0.8 is missed once in a million


def test_it_beats_plain_noise() -> None:
    with curate(PEOPLE, SCHEMA, Pure(2)) as curator:
        shaped = curator.ask(Shaped(workload()), Pure(1)).interval(0.9)
        plain = curator.ask(Shaped(workload(), method="laplace"), Pure(1)).interval(0.9)
    assert sum(shaped["high"]) - sum(shaped["low"]) < sum(plain["high"]) - sum(plain["low"])


def test_what_cannot_be_served_is_refused() -> None:
    with curate(PEOPLE, SCHEMA, Pure(2)) as curator:
        with pytest.raises(UnsupportedSpend, match="Pure"):
            curator.ask(Shaped(workload()), Concentrated(1))
        with pytest.raises(ParameterError, match="method is one of"):
            Shaped(workload(), method="sphere")
        answer = curator.ask(Shaped(workload()), Pure(1))
        with pytest.raises(ParameterError, match=r"0\.998"):
            answer.interval(0.9999)


def test_the_recursive_engine_is_kept_in_fixed_point() -> None:
    with curate(PEOPLE, SCHEMA, Pure(2)) as curator:
        answer = curator.ask(Shaped(workload(), method="recursive"), Pure(1))
        ends = answer.interval(0.95)
    assert all(
        low < value < high for low, value, high in zip(ends["low"], answer.value["value"], ends["high"], strict=True)
    )


@pytest.mark.parametrize(
    "question, spend",
    [
        (Shaped(workload(), "box"), Pure(1000)),
        (Shaped(workload(), "box"), Pure("1e-12")),
        (sf.questions.Synopsize("tree"), Pure("1e-9")),
        (sf.questions.Synopsize("tree"), Concentrated("1e-19")),
    ],
)
def test_a_spend_whose_noise_cannot_be_drawn_is_refused_before_it_is_paid(question, spend) -> None:
    """They were charged, and died in the draw."""
    with curate(PEOPLE, SCHEMA, type(spend)(10**6)) as curator:
        with pytest.raises(ParameterError, match="must lie between"):
            curator.ask(question, spend)
        assert not list(curator.ledger.history())
