"""What a conversation tells before and while it is held: advice, refusals, widths of errors, floors."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from sfumato import ADD_REMOVE, Approximate, Concentrated, Noise, Pure, errors
from sfumato.bounds import random_queries_error, sampling_error
from sfumato.questions.conversation import Box, Weighted, open_conversation, plan_conversation
from sfumato.table.data import Table
from sfumato.table.gauge import Basis
from sfumato.workload.builders import marginals
from tests.questions.conversation.people import SPEND, ledger, opened, talk


@pytest.fixture(scope="module")
def table() -> Any:
    with opened() as found:
        yield found


def test_a_query_about_nothing_or_about_another_column_says_what_to_write(table: Table) -> None:
    with ledger() as book, talk(table, book, domain=["age", "hours"], noise=Noise(insecure_seed=2)) as conversation:
        with pytest.raises(errors.ParameterError, match=r'write ask\("age > 40"\)'):
            conversation.ask(None)
        outside = ["income = '>50K'", Box(("income",), (0,), (1,)), Weighted.of(["income"], [0, 1])]
        for query in [*outside, marginals(table.schema, sets=[["income"]]).blocks[0]]:
            with pytest.raises(errors.SchemaError, match=r"open it with domain=\['age', 'hours', 'income'\]"):
                conversation.ask(query)
        with pytest.raises(errors.SchemaError, match="open it with domain="):
            conversation.ask_all(marginals(table.schema, width=2))
        assert conversation.progress.asked == 0


def test_no_error_is_wider_than_the_range_of_its_query(table: Table) -> None:
    tiny = Approximate("1/1000", 1e-9)
    with ledger() as book, talk(table, book, spend=tiny, noise=Noise(insecure_seed=2)) as conversation:
        assert conversation.plan.error > 1
        assert conversation.ask("age > 40").error == 1
        assert conversation.ask(Weighted.of(["income"], [-1, 1])).error == 2
        assert conversation.ask(Weighted.of(["income"], [0, 1], denominator=4)).error == 0.25
        assert "may err by 1," in conversation.plan.advice


def test_what_would_serve_better_is_said_before_anything_is_reserved(table: Table) -> None:
    setting = Basis(table.schema, table.people)
    with ledger() as book:
        before = book.head
        with pytest.raises(errors.AccuracyWarning, match=r"curator\.answer"):
            open_conversation(table, book, setting, queries=1000, spend=SPEND)
        assert book.head == before
        with pytest.warns(errors.AccuracyWarning, match=r"curator\.answer"):
            open_conversation(table, book, setting, queries=1000, spend=SPEND, name="talk").close()
        open_conversation(table, book, setting, queries=1000, spend=SPEND, name="talk").close()  # it was said
        open_conversation(table, book, setting, queries=1_000_000, spend=SPEND).close()  # nothing to say


def test_a_private_number_of_people_is_judged_after_it_was_paid_for(table: Table) -> None:
    setting = Basis(table.schema, table.people, ADD_REMOVE)
    with ledger(relation=ADD_REMOVE) as book:
        options: dict[str, Any] = {"queries": 1000, "spend": Approximate("1/1000", 1e-12), "name": "talk"}
        with pytest.warns(errors.AccuracyWarning, match="rows and this spend") as caught:
            conversation = open_conversation(table, book, setting, noise=Noise(insecure_seed=3), **options)
        assert conversation.plan.people != table.people
        assert f"With {conversation.plan.people} rows" in str(caught[0].message)
        conversation.close()
        open_conversation(table, book, setting, **options).close()


def test_the_advice_names_the_luck_of_the_draw() -> None:
    plan = plan_conversation(Approximate(1, 1e-6), 10**6, 2**16, 10**7, practical=True)
    assert plan.verdict == "converse"
    assert plan.sampling == sampling_error(10**6, 10**7, Fraction(1, 20))
    assert f"moves the answers by {plan.sampling:.3g} anyway" in plan.advice
    assert "nearly free" in plan_conversation(Approximate(100, 1e-6), 1000, 4, 3).advice


def test_a_floor_is_named_where_it_is_proved_and_nowhere_else() -> None:
    facts: Any = {"people": 1000, "cells": 10**6, "queries": 10**5}
    plan = plan_conversation(Pure("1/10"), **facts)
    epsilon = plan.checking.loss().person.epsilon
    assert isinstance(epsilon, Fraction)
    assert plan.floor == random_queries_error(1000, 10**6, 10**5, epsilon).value > 0.09
    assert "no pure mechanism" in plan.advice and "within 10.0 of the best" in plan.advice
    practical = plan_conversation(Pure("1/10"), practical=True, **facts)
    assert practical.floor > 0 and "within" not in practical.advice.split("no pure mechanism answers within")[1]
    others = [
        plan_conversation(Approximate("1/10", 1e-6), **facts),
        plan_conversation(Concentrated("1/200"), **facts),
        plan_conversation(Pure("1/10"), relation=ADD_REMOVE, **facts),
        plan_conversation(Pure("1/10"), sensitivity=2, **facts),
    ]
    assert all(plan.floor == 0 and "no pure mechanism" not in plan.advice for plan in others)


HOPELESS: list[tuple[dict[str, Any], str]] = [
    ({"method": "approximate", "spend": Pure(1)}, "needs Approximate"),
    ({"method": "exact"}, "method is 'auto'"),
    ({"surprise": -1.0}, "nats, zero or more"),
    ({"surprise": 1e7}, "surprise is 1e[+]07 nats"),
    ({"failure": 2}, "failure"),
    ({"spend": Approximate("1/1000000", 1e-12)}, "No rho could be certified"),
]


@pytest.mark.parametrize(("options", "said"), HOPELESS)
def test_what_has_no_plan_for_any_number_of_people_is_refused_before_they_are_counted(
    table: Table, options, said
) -> None:
    """The plan waited for the count, so that the whole spend was reserved and the first step died."""
    setting = Basis(table.schema, table.people, ADD_REMOVE)
    with ledger(relation=ADD_REMOVE) as book:
        with pytest.raises(errors.SfumatoError, match=said):
            open_conversation(
                table, book, setting, name="talk", **{"queries": 1000, "spend": Approximate(1, 1e-9), **options}
            )
        assert not book.history()


@pytest.mark.parametrize("spend", [Pure("1/1000000"), Approximate("1/100000", 1e-9)])
def test_so_many_people_that_the_best_plan_could_not_be_drawn_have_another_plan(spend) -> None:
    for people in (1, 10**6, 10**12, 10**15):
        plan = plan_conversation(spend, people, 16, 1000, practical=True)
        assert plan.people == people and plan.checking.loss().within(spend)
