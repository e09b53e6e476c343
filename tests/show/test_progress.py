"""A bar stands on a terminal, after a while, and nowhere else."""

import sys
import time

import pytest

from sfumato.show import progress


@pytest.fixture
def watching(monkeypatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    monkeypatch.setattr(progress, "_LOOK_EVERY", 0.01)


def bar() -> object:
    for _ in range(500):
        if progress._drawn and progress._drawn[-1].tasks:
            return progress._drawn[-1]
        time.sleep(0.01)
    raise AssertionError("No bar was drawn.")


def test_nothing_is_drawn_where_nobody_watches() -> None:
    with progress.watched("Working") as step:
        step(0.5)
        time.sleep(0.01)
        assert not progress._drawn


def test_short_work_draws_nothing(watching, monkeypatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    with progress.watched("Working") as step:
        step(0.5)
    assert not progress._drawn


def test_a_bar_shows_the_part_done_and_goes_away(watching) -> None:
    with progress.watched("Working") as step:
        step(0.25)
        shown = bar()
        for _ in range(500):
            if shown.tasks[0].completed == 0.25:
                break
            time.sleep(0.01)
        assert shown.tasks[0].completed == 0.25
    assert not progress._drawn


def test_work_inside_work_adds_a_line(watching) -> None:
    with progress.watched("Asking"):
        shown = bar()
        with progress.watched("Reading", lambda: 0.5):
            for _ in range(500):
                if len(shown.tasks) == 2 and shown.tasks[1].completed == 0.5:
                    break
                time.sleep(0.01)
            assert [task.description for task in shown.tasks] == ["Asking", "Reading"]
        assert [task.description for task in shown.tasks] == ["Asking"]


def test_things_are_passed_on(watching) -> None:
    assert list(progress.tracked(range(5), "Counting", 5)) == [0, 1, 2, 3, 4]


def test_duckdb_says_how_far_it_is() -> None:
    from sfumato.table.engine import duckdb_engine

    engine = duckdb_engine()
    assert engine.con.execute("SELECT current_setting('enable_progress_bar')").fetchone() == (True,)
    assert engine.con.execute("SELECT current_setting('enable_progress_bar_print')").fetchone() == (False,)


def test_long_work_says_one_line_where_it_is_piped(monkeypatch, capsys) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    with progress.watched("Working", piped="It works on it."):
        time.sleep(0.2)
    assert capsys.readouterr().err == "It works on it.\n" and not progress._drawn
    with progress.watched("Working"):
        time.sleep(0.05)
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    with progress.watched("Working", piped="It works on it."):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (lambda: 0.0001, "It takes about 2 minutes.\n"),
        (lambda: 0.5, ""),  # nearly done
        (lambda: 0.0, ""),
        (lambda: None, ""),
        (None, ""),
        (lambda: 1 / 0, ""),
    ],
)
def test_how_long_it_takes_is_said_beforehand_where_it_is_long(part, said, monkeypatch, capsys) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    with progress.watched("Opening", part, piped="It takes about {about}."):
        time.sleep(0.2)
    assert capsys.readouterr().err == said


def test_a_listener_hears_what_the_work_says_and_not_how_far_a_reading_is() -> None:
    found: list[float] = []
    with progress.heard(found.append), progress.watched("Fitting") as step:
        step(0.5)
        with progress.watched("Reading", lambda: 0.75):
            pass
    with progress.watched("Fitting") as step:
        step(0.9)
    assert found == [0.5]
