"""Priors, synthetic data from a fixed list of queries, and what a restart keeps."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato import ADD_REMOVE, Approximate, Noise, Pure, errors
from sfumato.ledger import Budget, Ledger
from sfumato.model import Factored, Mixture, Model
from sfumato.questions.conversation import Box, plan_conversation
from sfumato.questions.conversation.priors import start_of
from sfumato.table.data import Table
from sfumato.workload.builders import marginals
from sfumato.workload.space import Space
from tests.questions.conversation.people import ledger, opened, records_of, talk


@pytest.fixture(scope="module")
def table() -> Any:
    with opened() as found:
        yield found


def exact(table: Table, names: list[str]) -> np.ndarray:
    space = Space.of(table.schema)
    return records_of(table, space).table(names) / table.people


def test_large_delta_is_warned_of(table: Table) -> None:
    leaky = Approximate(1, 1e-3)
    for relation in ("replace-one", ADD_REMOVE):
        options = {} if relation != ADD_REMOVE else {"relation": ADD_REMOVE}
        with ledger(limit=Approximate(4, "1/10"), **options) as book, pytest.warns(errors.AccuracyWarning, match="row"):
            talk(table, book, spend=leaky, method="approximate", **options).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ledger() as book:
            talk(table, book).close()


def test_synthetic_data_from_a_fixed_workload(table: Table) -> None:
    workload = marginals(table.schema, sets=[["income", "hours"], ["income"]])
    with ledger() as book, talk(table, book, queries=5000, noise=Noise(insecure_seed=2)) as conversation:
        model = conversation.learn(workload)
        assert isinstance(model, Model) and model is conversation.model
        progress = conversation.progress
        assert progress.corrected > 0 and progress.left > 0
        assert progress.asked >= 2 * 34, "the last pass has no correction"
        missed = np.abs(model.marginal(["income", "hours"]) - exact(table, ["income", "hours"])).max()
        assert missed <= conversation.plan.error
        rows = model.sample(1000, Noise(insecure_seed=1))
        assert rows.num_rows == 1000 and set(rows.column_names) == {"age", "income", "hours"}
        assert conversation.learn(["income = '>50K'"]).total == table.people


def test_learning_ends_with_the_last_correction(table: Table) -> None:
    with ledger() as book, talk(table, book, surprise=1e-3, noise=Noise(insecure_seed=2)) as conversation:
        conversation.learn(marginals(table.schema, sets=[["income", "hours"], ["age"]]))
        assert conversation.progress.left == 0 and conversation._exact is None
        asked = conversation.progress.asked
        conversation.learn(["age < 9"])
        assert conversation.progress.asked == asked
    with pytest.raises(errors.LedgerError, match="closed"):
        conversation.learn(["age < 9"])


def test_good_priors_save_corrections(table: Table) -> None:
    laws = {name: exact(table, [name]) + 1e-4 for name in ("age", "income", "hours")}
    queries = [Box((name,), (low,), (low + width,)) for name, width in (("age", 8), ("hours", 2)) for low in range(8)]
    corrected = []
    for prior in (None, laws):
        with ledger() as book, talk(table, book, prior=prior, noise=Noise(insecure_seed=2)) as conversation:
            conversation.ask_all(queries)
            corrected.append(conversation.progress.corrected)
    assert corrected[0] > 0 == corrected[1]


def test_models_are_priors_and_the_conversation_knows_them_again(table: Table) -> None:
    space = Space.of(table.schema)
    joint = exact(table, list(space.names)) + 1e-5
    dense = Factored.uniform(space, 1.0).tilt(space.names, np.log(joint))
    with ledger() as book:
        first = talk(table, book, name="talk", prior=dense, noise=Noise(insecure_seed=2))
        np.testing.assert_allclose(first.model.marginal(space.names), joint / joint.sum(), atol=1e-12)
        first.close()
        with pytest.raises(errors.LedgerError, match="another"):
            talk(table, book, name="talk")
        again = talk(table, book, name="talk", prior=dense)
        np.testing.assert_allclose(again.model.marginal(["age"]), first.model.marginal(["age"]))


def test_the_planner_takes_the_rarest_cell_of_a_prior(table: Table) -> None:
    space = Space.of(table.schema)
    start = start_of(space, {"income": [9, 1]})
    assert start.surprise == pytest.approx(np.log(64 * 16 * 10))
    flat, rare = (
        plan_conversation(Approximate(1, 1e-6), 10**6, space.cells, 10**5, worst=worst)
        for worst in (None, start.surprise)
    )
    assert rare.error > flat.error
    assert start_of(space, None).surprise == pytest.approx(np.log(space.cells))
    mixture = Mixture(
        space, 1.0, np.array([0.5, 0.5]), np.repeat([[1 / 64, 1 / 2, 1 / 16]], [64, 2, 16], axis=1).repeat(2, 0)
    )
    assert start_of(space, mixture).surprise == pytest.approx(np.log(space.cells), abs=1e-5)
    with pytest.raises(errors.SchemaError):
        start_of(Space.of(table.schema, ["age"]), Factored.uniform(Space.of(table.schema, ["hours"]), 1.0))


def test_priors_and_sampled_supports_go_together(table: Table) -> None:
    options: dict[str, Any] = {"peak": 1, "accuracy": 0.2, "queries": 20}
    with ledger() as book:
        uneven = {"income": [9, 1]}
        with talk(table, book, prior=uneven, noise=Noise(insecure_seed=2), **options) as conversation:
            assert conversation.model.marginal(["income"])[0] == pytest.approx(0.9, abs=0.1)
        joint = Factored.uniform(Space.of(table.schema), 1.0)
        with pytest.raises(errors.ParameterError, match="one law for each column"):
            talk(table, book, prior=joint, **options)


@pytest.mark.parametrize(
    ("prior", "problem"),
    [
        ({"income": [1, 0]}, errors.ParameterError),
        ({"income": [1, float("nan")]}, errors.ParameterError),
        ({"income": [1, 2, 3]}, errors.ParameterError),
        ({"nobody": [1, 2]}, errors.SchemaError),
        ([1, 2], errors.ParameterError),
    ],
)
def test_bad_priors_spend_nothing(table: Table, prior: Any, problem: type[Exception]) -> None:
    with ledger() as book:
        before = book.head
        with pytest.raises(problem):
            talk(table, book, prior=prior)
        assert book.head == before


def test_corrected_answers_are_the_same_after_a_restart(table: Table, tmp_path: Path) -> None:
    place = tmp_path / "talk.ledger"
    queries = [f"age = {age}" for age in range(20)] + ["income = '>50K'"]
    with ledger(place) as book, talk(table, book, name="talk", noise=Noise(insecure_seed=2)) as conversation:
        told = {query: conversation.ask(query) for query in queries}
        asked = conversation.progress.asked
    paid = {query: reply.value for query, reply in told.items() if reply.source == "data"}
    assert paid
    with ledger(place) as book, talk(table, book, name="talk") as conversation:
        assert {query: conversation.ask(query).value for query in paid} == paid
        assert conversation.progress.asked == asked and conversation.progress.repeated == len(paid)


def test_the_number_of_queries_never_falls(table: Table) -> None:
    with Ledger(None, Budget(person=Pure(2))) as book:
        first = talk(table, book, name="talk", spend=Pure(1), queries=200, noise=Noise(insecure_seed=2))
        seen = 0
        for place in range(64):
            first.ask(f"age = {place}")
            seen = first.progress.asked
        # Not closed: the most that may have been asked is taken for what was.
        second = talk(table, book, name="talk", spend=Pure(1), queries=200)
        assert seen <= second.progress.asked <= seen + 200 // 20 + 1
