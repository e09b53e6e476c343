"""A spend equal to the budget fits as the first question, whichever question it is (AC-FIRST)."""

from __future__ import annotations

import pytest

from sfumato import Approximate
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


@pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_whole_budget_is_accepted(basis, name):
    try:
        losses = planned(basis, QUESTIONS[name], LIMIT).losses(LIMIT)
    except (UnsupportedSpend, ParameterError, SchemaError) as refused:
        pytest.skip(f"not for this spend: {str(refused)[:60]}")
    costs = tuple(loss.person for loss in losses)
    if any(cost.is_zero for cost in costs):
        return
    found = settled(LIMIT, costs)
    assert found is not None and any(found.gate.accepts(found.gate.zero(), cost) for cost in costs)


def test_lists_of_every_length_are_accepted(basis):
    asked = [QUESTIONS["Count(where)"], QUESTIONS["People(where)"]]
    for length in (2, 7, 40):
        losses = planned(basis, (asked * length)[:length], LIMIT).losses(LIMIT)
        with Ledger(None, Budget(LIMIT)) as ledger:
            ledger.reserve("list", Event("List", "PDP:C-7"), losses)
            assert ledger.verify()
