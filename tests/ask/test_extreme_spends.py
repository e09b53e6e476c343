"""Spends that nobody should write: each is refused before it is paid, or answered; no paid draw is lost."""

from __future__ import annotations

import pytest

from sfumato import Approximate, Concentrated, Pure, curate
from sfumato.errors import LedgerError, SfumatoError, Unfinished
from sfumato.noise import Noise
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE, Bound, Relation
from sfumato.table.data import Table
from sfumato.table.gauge import Basis
from tests.questions.every_question import PEOPLE, QUESTIONS, SCHEMA, rows, table

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")

SPENDS: list[Bound] = [
    Pure("1e-9"),
    Pure(150),
    Pure(100_000),
    Concentrated("1e-15"),
    Concentrated(10_000),
    Approximate("1e-9", "1e-12"),
    Approximate(500, "1e-9"),
    Approximate(100_000, "1e-9"),
    Approximate(1, "1e-1300"),
]


@pytest.fixture(scope="module")
def opened():
    with table() as found:
        yield found


def lost(opened: Table, name: str, spend: Bound, relation: Relation) -> str | None:
    """Say what a question that was accepted ended with, None if it was refused or answered."""
    try:
        prepared = QUESTIONS[name].prepare(Basis(SCHEMA, PEOPLE, relation), spend)
        prepared.loss().to_json()  # the ledger writes it before it charges
        prepared.check(opened)
    except SfumatoError:
        return None
    try:
        prepared.mechanism.run(prepared.exact(opened), Noise(insecure_seed=1))
    except Exception as error:
        return f"{name}, {spend!r}, {relation.value}: {type(error).__name__} {error}"
    return None


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE], ids=lambda relation: relation.value)
def test_a_conversation_is_refused_before_it_is_paid_or_begins(relation: Relation) -> None:
    opened = 0
    for spend in SPENDS[:-1]:  # at such a delta planning takes minutes, and nothing else
        with curate(rows(), SCHEMA, Approximate(10**6, "1e-3"), relation=relation) as curator:
            try:
                curator.converse(domain=["ill", "job"], spend=spend).ask("ill = true")
                opened += 1
            except (LedgerError, Unfinished):
                raise
            except SfumatoError:
                assert curator.ledger.history() == []
    assert opened > 1


FEW = ("Count(where)", "Mean", "Histogram private text", "GroupBy private", "Quantiles of one", "Popular stability")


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name in FEW])
def test_a_few_questions_lose_no_paid_draw(opened: Table, name: str) -> None:
    assert [lost(opened, name, spend, ADD_REMOVE) for spend in SPENDS] == [None] * len(SPENDS)


@pytest.mark.audit
@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE], ids=lambda relation: relation.value)
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_question_loses_a_paid_draw(opened: Table, name: str, relation: Relation) -> None:
    assert [lost(opened, name, spend, relation) for spend in SPENDS] == [None] * len(SPENDS)
