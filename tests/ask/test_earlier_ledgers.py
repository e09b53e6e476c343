"""Ledgers of earlier versions keep their rules: their questions draw the Gaussian noise that they drew there (AC-GAUSS)."""

from __future__ import annotations

import json

import pyarrow
import pytest

from sfumato import Approximate, Concentrated, Schema, Truncated, curate
from sfumato.curator.planning import planned
from sfumato.domain import categories, integers
from sfumato.errors import DomainTooLarge, NotProvable, ParameterError, SchemaError, UnsupportedSpend
from sfumato.learn import SanitizeThenLearn
from sfumato.noise import RoundedNormal
from sfumato.questions import Histogram
from sfumato.select import top
from sfumato.table.gauge import Basis
from tests.ledger.test_first import as_made_before
from tests.replay.questions import every_question
from tests.replay.worlds import worlds

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.errors.AccuracyWarning")

WORLD = worlds()[0]
QUESTIONS = every_question(WORLD.schema)
NEWER = {name for name in QUESTIONS if name.startswith("Learn PrivateLinear")}
"""Questions that came with the rounded noise: no earlier ledger holds one."""
SPENDS = [Approximate(1, "1e-6"), Approximate("1/100", "1e-3"), Concentrated("1/100"), Truncated("1/100", 20)]
ROUNDED = RoundedNormal.__name__


def drawn(basis: Basis, name: str, spend: object) -> str:
    """Return the public record of what would be drawn, with all its laws."""
    return json.dumps(planned(basis, QUESTIONS[name], spend).event("now").to_json())


@pytest.mark.parametrize("name", sorted(set(QUESTIONS) - NEWER))
def test_no_question_rounds_where_nothing_was_rounded_before(name: str) -> None:
    earlier = Basis(WORLD.schema, 400, gaussians="discrete")
    for spend in SPENDS:
        try:
            record = drawn(earlier, name, spend)
        except (UnsupportedSpend, ParameterError, SchemaError, DomainTooLarge, NotProvable):
            continue
        assert ROUNDED not in record, spend


def test_the_test_would_see_a_rounded_law() -> None:
    newer = Basis(WORLD.schema, 400, gaussians="rounded")
    found = [
        name for name in ("Count(where)", "Learn SanitizeThenLearn cells") if ROUNDED in drawn(newer, name, SPENDS[2])
    ]
    assert found == ["Count(where)", "Learn SanitizeThenLearn cells"]


def test_a_curator_of_an_earlier_ledger_draws_as_before(tmp_path) -> None:
    """The file is of the earlier format: without the word about Gaussians, its delta divided when it was made."""
    place, limit = tmp_path / "ledger.db", Approximate(1, "1e-6", leaks="5e-7")
    rows = pyarrow.table({"age": [20, 30, 40, 50] * 200, "ill": ["no", "yes"] * 400})
    schema = Schema({"age": integers(0, 99, missing=0), "ill": categories("no", "yes", missing="no")})
    with curate(rows, schema, limit, ledger=place) as made:
        made.ask(Histogram("age"), Concentrated("1/1000"))
    as_made_before(place)
    with curate(rows, schema, Approximate(1, "1e-6"), ledger=place) as opened:
        assert opened.basis.gaussians == "discrete"
        opened.ask(Histogram("ill"), Concentrated("1/1000"))
        learner = SanitizeThenLearn(method="cells", spend=Concentrated("1/1000"), classes=("no", "yes"))
        opened.learn(learner, features=["age"], target="ill")
        laws = [json.dumps(dict(entry.event)) for entry in opened.ledger.history()][1:]
        assert len(laws) == 2 and all("DiscreteGaussian" in law and ROUNDED not in law for law in laws)
        lists = [opened.loss([Histogram("ill")] * 20, SPENDS[0]) for _ in range(2)]
        assert opened.ledger.verify() and lists[0].person.epsilon <= 20 * SPENDS[0].split(20).epsilon


def test_choices_of_the_best_few_know_the_rule() -> None:
    laws = [type(top(Concentrated("1/100"), count=2, gaussians=kind).law).__name__ for kind in ("discrete", "rounded")]
    assert laws == ["DiscreteGaussian", ROUNDED]
