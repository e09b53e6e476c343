"""kill -9 at every point of the state table in docs/ledger.md, on both databases."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato import Pure
from sfumato.errors import LedgerError
from sfumato.ledger import Budget

from .worker import EVENT, LOSS, read_lines, run_process, spend, talk

HUNDREDTH = Fraction(1, 100)

# by steps or by run, point: (state found, hundredths spent, draws, shown before the retry)
STEPS = {
    (1, "before"): (None, 0, 0, 0),
    (1, "inside"): (None, 0, 0, 0),
    (1, "after"): ("reserved", 1, 0, 0),
    (2, "before"): ("reserved", 1, 0, 0),
    (2, "inside"): ("reserved", 1, 0, 0),
    (2, "after"): ("started", 1, 0, 0),
    "drawn": ("started", 1, 1, 0),
    (3, "before"): ("started", 1, 1, 0),
    (3, "inside"): ("started", 1, 1, 0),
    (3, "after"): ("committed", 1, 1, 0),
    "shown": ("committed", 1, 1, 1),
}

RUN = {
    (1, "before"): (None, 0, 0, 0),
    (1, "inside"): (None, 0, 0, 0),
    (1, "after"): ("started", 1, 0, 0),
    "drawn": ("started", 1, 1, 0),
    (2, "inside"): ("started", 1, 1, 0),
    (2, "after"): ("committed", 1, 1, 0),
    "shown": ("committed", 1, 1, 1),
}
POINTS = [(True, point, found) for point, found in STEPS.items()]
POINTS += [(False, point, found) for point, found in RUN.items()]


@pytest.mark.parametrize("case", POINTS, ids=str)
def test_a_killed_spend(case, place, open_ledger, tmp_path):
    by_steps, point, (state, spent, draws, shown) = case
    ledger = open_ledger(Budget(Pure(1)))
    assert run_process(spend, place, tmp_path, "ask", by_steps, point) == -9

    assert ledger.spent().sums[1] == spent * HUNDREDTH
    assert ledger.verify().ok
    assert len(read_lines(tmp_path / "drawn")) == draws
    assert len(read_lines(tmp_path / "shown")) == shown
    with ledger._journal.session(write=False) as session:
        stored = session.reservation("ask")
        assert (None if stored is None else stored.state) == state

    assert run_process(spend, place, tmp_path, "ask", by_steps, None) == 0  # the same request again
    answers = {value for _, value in read_lines(tmp_path / "shown")}
    drawn = [value for _, value in read_lines(tmp_path / "drawn")]
    assert ledger.spent().sums[1] == HUNDREDTH
    assert len(drawn) <= 1
    if state == "started":
        assert not answers and read_lines(tmp_path / "left")
        assert ledger.fail("ask").state == "dead"
        with pytest.raises(LedgerError, match="ended without an answer"):
            ledger.run("ask", EVENT, LOSS, lambda: b"again")
        assert ledger.run("anew", EVENT, LOSS, lambda: b"new").answer == b"new"
        assert ledger.spent().sums[1] == 2 * HUNDREDTH
    else:
        assert answers == set(drawn) and len(answers) == 1
    assert ledger.verify().ok


# transactions of a conversation: 1 reserve, 2 start, 3 first state, 4 load, 5-7 answers
@pytest.mark.parametrize(
    ("point", "ends"),
    [
        ((2, "after"), "dead"),
        ((3, "inside"), "dead"),
        ((3, "after"), "goes on"),
        ((5, "inside"), "goes on"),
        ((6, "before"), "goes on"),
        ((6, "inside"), "goes on"),
        ((6, "after"), "goes on"),
        ("drawn", "goes on"),
    ],
    ids=str,
)
def test_a_killed_conversation(point, ends, place, open_ledger, tmp_path):
    ledger = open_ledger(Budget(Pure(1)))
    assert run_process(talk, place, tmp_path, point) == -9
    assert ledger.spent().sums[1] == HUNDREDTH  # whole, from the opening on
    assert ledger.verify().ok
    assert run_process(talk, place, tmp_path, None) == 0
    shown = read_lines(tmp_path / "shown")
    if ends == "dead":
        assert not shown and read_lines(tmp_path / "left")
        with pytest.raises(LedgerError, match="ended without an answer"):
            ledger.load_state("talk")
    else:
        answers: dict[str, set[str]] = {}
        for step, value in shown:
            answers.setdefault(step, set()).add(value)
        assert set(answers) == {"2", "3", "4"}
        assert all(len(values) == 1 for values in answers.values())  # never two answers to one step
    assert ledger.spent().sums[1] == HUNDREDTH
    assert ledger.verify().ok
