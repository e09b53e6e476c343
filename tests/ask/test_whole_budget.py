"""A spend equal to the budget fits as the first question, whichever question it is (AC-FIRST)."""

from __future__ import annotations

import pyarrow
import pytest

from sfumato import Approximate, Schema, booleans, curate
from sfumato.curator.planning import planned
from sfumato.errors import ParameterError, SchemaError, UnsupportedSpend
from sfumato.ledger import Budget, Ledger
from sfumato.mechanism import Event
from sfumato.privacy.settlement import settled
from sfumato.table.gauge import Basis
from tests.replay.questions import every_question
from tests.replay.worlds import worlds

PEOPLE = 400
WORLD = worlds()[0]
QUESTIONS = every_question(WORLD.schema)
LIMIT = Approximate(1, "1e-6")


@pytest.fixture(scope="module")
def basis():
    return Basis(WORLD.schema, PEOPLE, gaussians="rounded")


def accepted(basis, name, limit):
    try:
        losses = planned(basis, QUESTIONS[name], limit).losses(limit)
    except (UnsupportedSpend, ParameterError, SchemaError) as refused:
        pytest.skip(f"not for this spend: {str(refused)[:60]}")
    costs = tuple(loss.person for loss in losses)
    if any(cost.is_zero for cost in costs):
        return True
    found = settled(limit, costs)
    return found is not None and any(found.gate.accepts(found.gate.zero(), cost) for cost in costs)


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_whole_budget_is_accepted(basis, name):
    assert accepted(basis, name, LIMIT)


@pytest.mark.audit
@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
@pytest.mark.parametrize("limit", [Approximate(3, "1e-6"), Approximate("1/2", "1e-5"), Approximate("1/100", "1e-3")])
@pytest.mark.parametrize("name", QUESTIONS)
def test_other_whole_budgets_are_accepted(basis, name, limit):
    assert accepted(basis, name, limit)


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
@pytest.mark.parametrize("limit", [LIMIT, Approximate(3, "1e-6"), Approximate("1/2", "1e-5")], ids=str)
@pytest.mark.parametrize("method", ["pure", "approximate"])
def test_a_conversation_may_take_the_whole_budget(limit, method):
    rows = pyarrow.table({"rain": [True, True, False] * 2000, "wind": [True, False, False] * 2000})
    schema = Schema({"rain": booleans(), "wind": booleans()})
    with curate(rows, schema, limit) as curator:
        with curator.converse(spend=limit, method=method) as conversation:
            conversation.ask("rain = true AND wind = true")
        assert curator.ledger.verify() and curator.ledger.spent().percent == 100


def test_lists_of_every_length_are_accepted(basis):
    asked = [QUESTIONS["Count(where)"], QUESTIONS["People(where)"]]
    for length in (2, 7, 40):
        losses = planned(basis, (asked * length)[:length], LIMIT).losses(LIMIT)
        with Ledger(None, Budget(LIMIT)) as ledger:
            ledger.reserve("list", Event("List", "PDP:C-7"), losses)
            assert ledger.verify()
