"""Conversations from the outside: answers, sources, restarts, refusals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from sfumato import ADD_REMOVE, Approximate, Concentrated, Noise, Pure, Schema, errors
from sfumato.ledger import Budget, Ledger
from sfumato.model import Model
from sfumato.questions.conversation import ApproximateChecking, Box, Weighted, product_query
from sfumato.questions.conversation.tables import QuickSums
from sfumato.table.data import Table, open_table
from sfumato.table.gauge import Basis
from sfumato.table.view import View
from sfumato.workload import records
from sfumato.workload.builders import marginals
from sfumato.workload.records import Margins, Places, Records
from sfumato.workload.space import Space
from tests.imputed import integers, text
from tests.questions.conversation.people import COLUMNS, SPEND, ledger, opened, records_of, rows, talk


@pytest.fixture(scope="module")
def table() -> Any:
    with opened() as found:
        yield found


def boxes(count: int, seed: int = 5) -> list[Box]:
    """Return random ranges and conjunctions."""
    noise = Noise(insecure_seed=seed)
    found = []
    for _ in range(count):
        ends = {name: sorted((noise.uniform(size), noise.uniform(size))) for name, size in (("age", 64), ("hours", 16))}
        names = [("age",), ("hours",), ("age", "hours")][noise.uniform(3)]
        lows, highs = (tuple(ends[name][0] for name in names), tuple(ends[name][1] + 1 for name in names))
        if noise.uniform(2):
            code = noise.uniform(2)
            names, lows, highs = (*names, "income"), (*lows, code), (*highs, code + 1)
        found.append(Box(tuple(names), lows, highs))
    return found


def exact(table: Table, queries: list[Box]) -> Any:
    space = Space.of(table.schema)
    return QuickSums(space, records_of(table, space).table).of(queries) / table.people


def test_ask_sql_in_a_with_block(table: Table) -> None:
    with ledger() as book, talk(table, book, noise=Noise(insecure_seed=2)) as conversation:
        reply = conversation.ask("age > 40 AND income = '>50K'")
        assert reply.source in ("model", "data")
        assert reply.error is not None and 0 < reply.error < 1
        assert reply.count == reply.value * table.people
        truth = exact(table, [Box(("age", "income"), (41, 1), (64, 2))])[0]
        assert abs(reply.value - truth) <= reply.error
        assert conversation.progress.asked == 1
        assert conversation.ask("income = '>50K' AND NOT age <= 40") == reply
        assert conversation.progress.repeated == 1 and conversation.progress.asked == 1
        assert isinstance(conversation.model, Model)
        assert conversation.loss.within(SPEND)


@pytest.mark.parametrize(("few", "listed", "form"), [(0, 2**22, Margins), (0, 0, Places)])
def test_whatever_form_the_rows_have_the_same_is_drawn(
    table: Table, few: int, listed: int, form: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many rows the table of all cells is read, or each row as one number, before and after a restart."""
    queries, told = boxes(300), []
    for way in ("rows", "form"):
        if way == "form":
            monkeypatch.setattr(records, "FEW_ROWS", few)
            monkeypatch.setattr(records, "LISTED", listed)
            monkeypatch.setattr(View, "distinct", lambda *_: pytest.fail("Rows were read."))
        with ledger(tmp_path / way) as book:
            conversation = talk(table, book, noise=Noise(insecure_seed=3))
            held = conversation._keeper._held
            assert held is not None and isinstance(held.records, form if way == "form" else Records)
            first = [(reply.value, reply.source) for reply in conversation.ask_all(queries[:200])]
        with ledger(tmp_path / way) as book, talk(table, book, noise=Noise(insecure_seed=3)) as again:
            told.append(first + [(reply.value, reply.source) for reply in again.ask_all(queries[200:])])
    assert told[0] == told[1] and {source for _, source in told[0]} == {"model", "data"}


def test_all_errors_are_within_the_bound_and_most_answers_are_the_models(table: Table) -> None:
    queries = boxes(4000)
    with ledger() as book, talk(table, book, queries=4000, noise=Noise(insecure_seed=3)) as conversation:
        replies = conversation.ask_all(queries)
        missed = np.abs(np.array([reply.value for reply in replies]) - exact(table, queries))
        assert missed.max() <= conversation.plan.error
        progress = conversation.progress
        assert progress.corrected == sum(reply.source == "data" for reply in set(replies))
        assert 0 < progress.corrected < progress.left + progress.corrected == conversation.plan.updates
        assert progress.from_model > 0.97


def test_worst_case_plan_and_pure_spends(table: Table) -> None:
    queries = boxes(400)
    limits: list[tuple[dict[str, Any], Any]] = [
        ({"practical": False}, Approximate(4, 1e-6)),
        ({"spend": Pure(1)}, Pure(2)),
        ({"spend": Concentrated(0.1)}, Concentrated(1)),
    ]
    for options, limit in limits:
        book = Ledger(None, Budget(person=limit))
        with talk(table, book, queries=400, noise=Noise(insecure_seed=3), **options) as conversation:
            replies = conversation.ask_all(queries)
            missed = np.abs(np.array([reply.value for reply in replies]) - exact(table, queries))
            assert missed.max() <= conversation.plan.error


def test_people_who_come_and_go_are_counted_with_noise(table: Table) -> None:
    with ledger(relation=ADD_REMOVE) as book:
        conversation = talk(table, book, ADD_REMOVE, noise=Noise(insecure_seed=3))
        assert conversation.plan.people != table.people
        assert abs(conversation.plan.people - table.people) < 1000
        assert conversation.loss.person.epsilon == 1 and conversation.loss.within(SPEND)
        queries = boxes(300)
        missed = np.abs(np.array([one.value for one in conversation.ask_all(queries)]) - exact(table, queries))
        assert missed.max() <= conversation.plan.error


def test_every_step_is_said_and_only_corrections_enter_the_chain(table: Table) -> None:
    corrected = 0
    with ledger() as book:
        conversation = talk(table, book, name="talk", queries=4000, noise=Noise(insecure_seed=2))
        before = book.head
        for query in dict.fromkeys(boxes(100)):
            conversation.ask(query)
            progress, stored = conversation.progress, book.load_state("talk")
            if progress.corrected > corrected:
                corrected += 1
                assert stored.last is not None
            else:
                assert book.head == before
            assert stored.step == 1 + corrected
            with book._journal.session(write=False) as session:
                assert session.last_step("talk") == progress.asked
            before = book.head
        conversation.close()
    assert corrected > 0


def test_what_was_shown_is_said_again_after_a_restart(table: Table, tmp_path: Path) -> None:
    queries = boxes(300)
    with ledger(tmp_path / "talk.ledger") as book:
        with talk(table, book, name="talk", noise=Noise(insecure_seed=2)) as conversation:
            shown = conversation.ask_all(queries)
        with talk(table, book, name="talk") as again:
            assert again.ask_all(queries) == shown and again.progress.asked == conversation.progress.asked


def test_learning_leaves_one_step_and_not_every_pass(table: Table) -> None:
    with ledger() as book, talk(table, book, name="talk", noise=Noise(insecure_seed=2)) as conversation:
        conversation.learn(marginals(table.schema, width=1))
        assert conversation.progress.asked > 82
        with book._journal.session(write=False) as session:
            assert len(session.asked_steps("talk")) == 1


def test_nothing_is_charged_after_opening(table: Table) -> None:
    with ledger() as book, talk(table, book, noise=Noise(insecure_seed=2)) as conversation:
        spent = book.remaining()
        conversation.ask_all(boxes(200))
        assert book.remaining() == spent


def test_after_the_last_correction_the_data_are_never_touched(table: Table) -> None:
    with ledger() as book, talk(table, book, surprise=1e-3, noise=Noise(insecure_seed=2)) as conversation:
        replies = conversation.ask_all(boxes(600))
        assert conversation.progress.left == 0 and conversation._exact is None
        last = max(place for place, reply in enumerate(replies) if reply.source == "data")
        assert all(reply.error is None and reply.source == "model" for reply in replies[last + 1 :])
        assert conversation.ask("age = 3").error is None


def test_restart_goes_on_where_it_was(table: Table, tmp_path: Path) -> None:
    place, queries = tmp_path / "talk.ledger", boxes(200)
    with ledger(place) as book, talk(table, book, name="talk", noise=Noise(insecure_seed=2)) as conversation:
        conversation.ask_all(queries)
        left, told = conversation.progress.left, conversation.model.marginal(["age"])
        spent = book.remaining()
    with ledger(place) as book, talk(table, book, name="talk") as conversation:
        assert conversation.progress.left == left
        np.testing.assert_allclose(conversation.model.marginal(["age"]), told, atol=1e-9)
        assert book.remaining() == spent


def test_secret_threshold_is_stored_once_and_kept(table: Table, tmp_path: Path) -> None:
    place = tmp_path / "talk.ledger"
    levels = []
    for seed in (2, 3):
        book = Ledger(place, Budget(person=Pure(3)))
        with book, talk(table, book, name="talk", spend=Pure(1), noise=Noise(insecure_seed=seed)) as conversation:
            conversation.ask_all(boxes(50, seed))
            levels.append(conversation._state["checking"]["level"])
    assert levels[0] == levels[1]


KILLED = """
    import sys
    from tests.questions.conversation.people import ledger, opened, talk
    from tests.questions.conversation.test_session import boxes

    conversation = talk(opened(), ledger(sys.argv[1]), name="talk")
    left = conversation.progress.left
    for query in boxes(400):
        conversation.ask(query)
        if conversation.progress.left < left:
            left = conversation.progress.left
            print(left, flush=True)
"""


def test_a_killed_process_is_resumed_and_no_correction_is_lost(table: Table, tmp_path: Path) -> None:
    place, root = tmp_path / "talk.ledger", Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root, env=environment) as process:
        assert process.stdout is not None
        seen = [int(process.stdout.readline()) for _ in range(2)]
        os.kill(process.pid, signal.SIGKILL)
        seen += [int(line) for line in process.stdout]
    with ledger(place) as book, talk(table, book, name="talk") as conversation:
        stored = conversation.plan.updates - conversation.progress.corrected
        # A correction may have been stored, or said and drawn again here, and not been printed.
        assert stored in (seen[-1], seen[-1] - 1)
        assert conversation.progress.left == stored
        assert book.verify().ok


def test_an_interrupted_step_is_drawn_again_with_the_same_coins(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh coins for the same step would be a second draw."""
    with ledger() as book:
        first = talk(table, book, name="talk", noise=Noise(insecure_seed=2))
        checking = type(first.plan.checking)
        step, drawn = checking.step, []

        def interrupted(*arguments: Any) -> Any:
            drawn.append(step(*arguments)[1])
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(checking, "step", interrupted)
            first.ask("age > 40")
        left = first.progress.left
        reply = first.ask("age > 40")
        assert (reply.source == "data") == (drawn[0].answer is not None)
        second = talk(table, book, name="talk", noise=Noise(insecure_seed=3))
        assert second.progress.left == left - (reply.source == "data") and second.ask("age > 40") == reply


def test_who_was_replaced_can_show_nothing_more(table: Table) -> None:
    with ledger() as book:
        first = talk(table, book, name="talk", noise=Noise(insecure_seed=2))
        second = talk(table, book, name="talk", noise=Noise(insecure_seed=3))
        assert second.progress.left == first.progress.left
        with pytest.raises(errors.Overtaken, match="does not follow"):
            first.ask_all(boxes(500))
        assert first._exact is None
        with pytest.raises(errors.LedgerError, match="closed"):
            first.ask("age = 3")
        assert second.ask("age = 3").error is not None


def test_threads_share_one_conversation(table: Table) -> None:
    with ledger() as book, talk(table, book, noise=Noise(insecure_seed=2)) as conversation:
        threads = [threading.Thread(target=conversation.ask_all, args=(boxes(60, seed),)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        progress = conversation.progress
        assert progress.asked + progress.repeated == 240
        assert progress.left + progress.corrected == conversation.plan.updates


def test_kinds_of_queries_agree(table: Table) -> None:
    with ledger() as book, talk(table, book, noise=Noise(insecure_seed=2)) as conversation:
        box = conversation.ask(Box(("income",), (1,), (2,)))
        for same in ("income = '>50K'", Weighted.of(["income"], [0, 1]), product_query({"income": [0, 1]})):
            assert conversation.ask(same).value == pytest.approx(box.value, abs=2 * conversation.plan.error)
        signed = conversation.ask(Weighted.of(["income"], [-1, 1]))
        assert -1 <= signed.value <= 1 and signed.error == pytest.approx(2 * conversation.plan.error)
        constant = conversation.ask(Weighted.of(["income"], [3, 3], denominator=4))
        assert (constant.value, constant.error, constant.source) == (0.75, 0.0, "model")
        assert conversation.ask(Box()).value == pytest.approx(1)
        cells = conversation.ask_all(marginals(table.schema, sets=[["income", "hours"]]))
        assert len(cells) == 32
        assert conversation.ask("age < 10 OR hours > 12").source in ("model", "data")


def test_picture_of_the_progress(table: Table) -> None:
    with ledger() as book, talk(table, book, name="talk", noise=Noise(insecure_seed=2)) as conversation:
        assert "<svg" in conversation.picture().svg()
        conversation.ask_all(boxes(100))
        assert conversation.picture().svg() == conversation.picture().svg()


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("nothing = 3", errors.SchemaError),
        ("age >", errors.ParameterError),
        (Box(("age",), (5,), (99,)), errors.ParameterError),
        (Box(("age", "age"), (1, 2), (3, 4)), errors.ParameterError),
        (Weighted.of(["age"], [0, 1]), errors.ParameterError),
        (3.5, errors.ParameterError),
        (None, errors.ParameterError),
        (Box(("sex",), (0,), (1,)), errors.SchemaError),
    ],
)
def test_bad_queries_are_refused_from_public_facts(table: Table, query: Any, problem: type[Exception]) -> None:
    with ledger() as book, talk(table, book, noise=Noise(insecure_seed=2)) as conversation:
        with pytest.raises(problem):
            conversation.ask(query)
        assert conversation.progress.asked == 0


@pytest.mark.parametrize("numbers", [[0.5, float("nan")], [0, 2**30], []])
def test_bad_numbers_are_refused(numbers: Any) -> None:
    with pytest.raises(errors.ParameterError):
        Weighted.of(["income"], numbers)


def test_bad_openings_spend_nothing(table: Table) -> None:
    bad: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"queries": 0}, errors.ParameterError),
        ({"domain": ["nobody"]}, errors.SchemaError),
        ({"spend": Approximate(500, 1e-9)}, errors.BudgetExceeded),
        ({"spend": Pure(0)}, errors.UnsupportedSpend),
        ({"method": "magic"}, errors.ParameterError),
        ({"spend": Pure(1), "method": "approximate"}, errors.UnsupportedSpend),
        ({"failure": 2}, errors.ParameterError),
        ({"peak": 0.5}, errors.ParameterError),
    ]
    with ledger() as book:
        before = book.head
        for options, problem in bad:
            with pytest.raises(problem):
                talk(table, book, **options)
        assert book.head == before


def test_text_columns_are_refused() -> None:
    schema = Schema({"word": text(max_bytes=8), "age": integers(0, 9)})
    source = pyarrow.table({"word": ["a"], "age": [1]})
    with open_table(source, schema) as words, pytest.raises(errors.SchemaError, match="text"):
        talk(words, Ledger(None, Budget(person=Pure(1))))


def test_reopening_otherwise_is_refused(table: Table) -> None:
    with ledger() as book:
        talk(table, book, name="talk", noise=Noise(insecure_seed=2)).close()
        spent = book.remaining()
        for options in ({"domain": ["age"]}, {"queries": 7}, {"spend": Approximate("1/2", 1e-9)}):
            with pytest.raises(errors.LedgerError, match="another schema"):
                talk(table, book, name="talk", **options)
        other = Schema({**COLUMNS, "age": integers(0, 99)})
        with open_table(rows(50_000), other, snapshot="2026") as wider:
            setting = Basis(other, wider.people)
            assert setting.people == table.people
            with pytest.raises(errors.LedgerError, match="another schema"):
                talk(wider, book, name="talk")
        assert book.remaining() == spent


def test_several_rows_a_person_are_counted_with_noise() -> None:
    noise = Noise(insecure_seed=4)
    source = rows(20_000).append_column("id", pyarrow.array(noise.uniform(8000, 20_000)))
    schema = Schema(COLUMNS, person="id", rows_per_person=3)
    with open_table(source, schema) as visits:
        book = Ledger(None, Budget(person=Approximate(4, 1e-6)))
        with talk(visits, book, queries=200, noise=Noise(insecure_seed=3)) as conversation:
            assert conversation.plan.checking.sensitivity == 3
            assert 8000 < conversation.plan.people < 21_000
            assert 0 <= conversation.ask("income = '>50K'").value <= 1


def test_domain_too_large_to_list_is_sampled_or_factored() -> None:
    noise = Noise(insecure_seed=4)
    names = [f"c{place}" for place in range(8)]
    schema = Schema(dict.fromkeys(names, integers(0, 15)))
    source = pyarrow.table({name: noise.uniform(16, 20_000) for name in names})
    queries = [Box(("c0", "c5"), (low, 3), (low + 4, 9)) for low in range(12)]
    with open_table(source, schema) as wide:
        truth = QuickSums(Space.of(schema), records_of(wide, Space.of(schema)).table).of(queries) / 20_000
        for options in ({}, {"peak": 4, "accuracy": 0.05}):
            book = Ledger(None, Budget(person=Approximate(4, 1e-6)))
            with talk(wide, book, queries=100, noise=Noise(insecure_seed=3), **options) as conversation:
                replies = conversation.ask_all(queries)
                missed = np.abs(np.array([reply.value for reply in replies]) - truth)
                assert missed.max() <= conversation.plan.error
            again = talk(wide, book, queries=100, name=conversation.name, **options)
            np.testing.assert_allclose(again.model.marginal(["c0"]), conversation.model.marginal(["c0"]), atol=1e-9)


def test_a_finer_certificate_suits_books_of_renyi_losses(table: Table) -> None:
    with talk(table, ledger(), method="approximate", noise=Noise(insecure_seed=2)) as conversation:
        checking = conversation.plan.checking
        assert isinstance(checking, ApproximateChecking)
        assert checking.finer_loss().within(SPEND)
        assert checking.finer_loss().person.tau(8) < checking.loss().person.tau(8) / 2
