"""Release by agnostic learning: it converges as proved, the printed update does not, and learners may fail."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pyarrow
import pytest

import sfumato as sf
from sfumato import ADD_REMOVE, Approximate, Concentrated, Noise, Pure, Truncated
from sfumato.errors import ParameterError
from sfumato.mechanism import Mechanism
from sfumato.noise import DiscreteLaplace
from sfumato.papers.query_release.learning.agnostic import AgnosticOptions, AgnosticRelease, plan_agnostic
from sfumato.papers.query_release.weights.candidates import Candidates
from sfumato.papers.query_release.weights.predict import Predictor
from sfumato.privacy import Cost, Loss
from sfumato.select import Exponential
from sfumato.workload.builders import conjunctions, marginals
from sfumato.workload.records import Records
from tests import imputed
from tests.papers.query_release.learning.test_trees import table
from tests.promises.printed.synopsis_learned import PrintedRounds

SCHEMA = sf.Schema({name: imputed.booleans() for name in "abcdef"})
WORKLOAD = conjunctions(SCHEMA, width=3)
CANDIDATES = Candidates(WORKLOAD)
PEOPLE = 4000
RECORDS = Records.from_rows(WORKLOAD.space, table(PEOPLE, 6, 5).astype(int))
TRUTH = CANDIDATES.exact(RECORDS) / PEOPLE

SURE = Exponential(rate=Fraction(10), sensitivity=64, reads=WORKLOAD.reads)
"""A learner that nearly always finds the best query."""


def rounds(kind: type[AgnosticRelease] = AgnosticRelease, count: int = 60, **options: Any) -> AgnosticRelease:
    settings = {"learner": SURE, "law": DiscreteLaplace("1/10"), "people": PEOPLE, "reads": WORKLOAD.reads, **options}
    return kind(candidates=CANDIDATES, rounds=count, **settings)


def answers(mechanism: AgnosticRelease, seed: int = 1) -> Any:
    return Predictor(CANDIDATES)(mechanism.model_of(mechanism(RECORDS, Noise(insecure_seed=seed))))


def entropy(model: Any) -> float:
    """Return the relative entropy of the data from a model."""
    cells = RECORDS.table(WORKLOAD.space.names) / PEOPLE
    expected = model.components[0].probabilities
    return float((cells[cells > 0] * np.log(cells[cells > 0] / expected[cells > 0])).sum())


def test_the_entropy_falls_in_every_round_by_what_the_lemma_says() -> None:
    found = rounds(count=25)(RECORDS, Noise(insecure_seed=1))
    mechanism, last = rounds(), math.inf
    for length in range(len(found.rounds) + 1):
        following = mechanism._model(None)
        gaps = [
            abs(following._gap(max(one, key=following._gap))) for one in found.rounds[:length] if following.follow(one)
        ]
        now = entropy(following.model)
        assert now <= last + 1e-9
        last = now
        assert len(gaps) == length


def test_all_queries_are_met_and_the_printed_update_meets_none() -> None:
    assert np.abs(answers(rounds()) - TRUTH).max() < 0.02
    printed = np.abs(answers(rounds(PrintedRounds)) - TRUTH).max()
    assert printed > 0.2


def test_it_stops_at_the_gap_that_was_asked_for() -> None:
    lengths = []
    for gap in (Fraction(1, 5), Fraction(1, 10), Fraction(1, 20)):
        lengths.append(len(rounds(count=200, gap=gap)(RECORDS, Noise(insecure_seed=1)).rounds))
        assert lengths[-1] <= 2 * math.log(WORKLOAD.space.cells) / gap**2 + 1  # a round lowers the entropy by 2·gap²
    assert lengths == sorted(lengths) and lengths[-1] < 200
    assert np.abs(answers(rounds(count=200, gap=Fraction(1, 20))) - TRUTH).max() <= 0.05 + 1e-3
    assert rounds(count=200, gap=Fraction(1, 20)).loss().person.epsilon == rounds(count=200).loss().person.epsilon


@pytest.mark.parametrize("learner", ["exponential", "permute_and_flip"])
def test_a_spend_buys_an_error_far_below_that_of_knowing_nothing(learner: str) -> None:
    options = AgnosticOptions(learner=learner)
    mechanism = plan_agnostic(CANDIDATES, Concentrated("0.2"), people=PEOPLE, reads=WORKLOAD.reads, options=options)
    error = np.sqrt(np.mean((answers(mechanism) - TRUTH) ** 2))
    assert error < 0.5 * np.sqrt(np.mean((TRUTH - 1 / 8) ** 2))


@dataclass(frozen=True, kw_only=True)
class Broken(Mechanism):
    spec: ClassVar[str] = "none"
    way: str = "raise"

    def loss(self) -> Loss:
        return Loss.flat(Cost.pure(1), self.reads, self.relation)

    def run(self, exact: Any, noise: Noise) -> Any:
        if self.way == "raise":
            raise ValueError(f"secret {exact}")
        return {"far": 10**9, "nan": float("nan"), "text": "a"}[self.way]


@pytest.mark.parametrize("way", ["raise", "far", "nan", "text"])
def test_a_learner_that_fails_names_the_first_query(way: str) -> None:
    mechanism = rounds(count=2, learner=Broken(way=way, reads=WORKLOAD.reads))
    found = mechanism(RECORDS, Noise(insecure_seed=1))
    assert {one.query for pair in found.rounds for one in pair} == {0}
    # Two calls a round of one epsilon each, and two counts of ten.
    assert mechanism.loss().person.epsilon == 4 * (1 + 10)


@pytest.mark.parametrize("spend", [Pure(1), Concentrated("0.1"), Truncated("0.1", 20), Approximate(1, 1e-6)])
@pytest.mark.parametrize("people", [500, None])
def test_every_spend_and_relation_fits(spend: Any, people: int | None) -> None:
    relation = sf.REPLACE_ONE if people else ADD_REMOVE
    mechanism = plan_agnostic(CANDIDATES, spend, people=people, relation=relation, reads=WORKLOAD.reads)
    assert mechanism.loss().within(spend)
    json.dumps(mechanism.event().to_json())


def test_it_is_a_method_of_synthesize() -> None:
    bits = table(2000, 3, 5)
    data = pyarrow.table({name: bits[:, place].tolist() for place, name in enumerate("abc")})
    with sf.curate(data, sf.Schema({name: imputed.booleans() for name in "abc"}), Pure(10)) as curator:
        workload = marginals(curator.schema, width=2)
        model = curator.synthesize(workload, method="agnostic", spend=Pure(3)).value
        assert model.marginal(["a"])[1] == pytest.approx(bits[:, 0].mean(), abs=0.1)
        with pytest.raises(ParameterError, match="no option"):
            curator.synthesize(workload, method="agnostic", options={"speed": 1}, spend=Pure(1))


def test_bad_input_is_refused_with_a_sentence() -> None:
    with pytest.raises(ParameterError, match="rounds"):
        rounds(count=0)
    with pytest.raises(ParameterError, match="people"):
        rounds(people=None)
    with pytest.raises(ParameterError, match="mechanism"):
        rounds(learner=lambda scores, noise: 0)
    with pytest.raises(ParameterError, match="tables"):
        AgnosticRelease(
            candidates=Candidates(WORKLOAD, tables=True), learner=SURE, law=DiscreteLaplace(1), rounds=1, people=1
        )
    with pytest.raises(ParameterError, match="learner"):
        AgnosticOptions(learner="best")
