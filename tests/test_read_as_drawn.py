"""A stored answer is read by the plan that drew it, whatever would be planned for the same question now."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from sfumato import Approximate, Concentrated, Count, Pure, Queries, Schema, categories, curate, integers, workloads
from sfumato.errors import LedgerError

SCHEMA = Schema({"age": integers(0, 99), "sex": categories("f", "m")})
SPEND = Approximate(1, "1e-6")
DIVIDED = Approximate(1, "1e-6", leaks="5e-7")
LIST = [Count(f"age > {age}") for age in range(10, 40)]


def _rows(people: int = 100) -> pyarrow.Table:
    return pyarrow.table({"age": [place % 100 for place in range(people)], "sex": ["f", "m"] * (people // 2)})


def _opened(place: Path | None, people: int = 100) -> Any:
    limit = None if place is not None and place.exists() else Approximate(9, "1e-4")
    return curate(_rows(people), SCHEMA, limit, ledger=place, snapshot="x")


def _laws(answers: list[Any]) -> list[Any]:
    return [answer.released.parts[0].law for answer in answers]


@pytest.mark.parametrize(("first", "second"), [(SPEND, DIVIDED), (DIVIDED, SPEND)])
def test_a_spend_that_divides_its_delta_reads_what_the_other_drew(first: Approximate, second: Approximate) -> None:
    with _opened(None) as curator:
        drawn, again = curator.ask(LIST, first), curator.ask(LIST, second)
        assert all(answer.reused for answer in again)
        assert _laws(drawn) == _laws(again)
        assert [answer.loss for answer in drawn] == [answer.loss for answer in again]
        assert [answer.interval() for answer in drawn] == [answer.interval() for answer in again]
        other = curator.loss(LIST, second)
        assert other != curator.loss(LIST, first)  # or nothing could have been read wrongly


def _drawn_without_contrasts(place: Path, question: Queries) -> Any:
    with _opened(place) as curator:
        curator.basis = replace(curator.basis, contrasts=False)
        return curator.ask(question, Concentrated("1/10"))


def test_tables_of_an_earlier_version_are_read_as_they_were_drawn(tmp_path: Path) -> None:
    question, place = Queries(workloads.marginals(SCHEMA, width=1)), tmp_path / "people.ledger"
    drawn = _drawn_without_contrasts(place, question)
    with sqlite3.connect(place) as connection:
        connection.execute("delete from sfumato_finished")  # as if its process had died before it was shown
    with _opened(place) as curator:
        again = curator.ask(question, Concentrated("1/10"))
        assert curator.loss(question, Concentrated("1/10")) != drawn.loss
        assert again.reused
        assert (again.event.name, again.loss) == (drawn.event.name, drawn.loss)
        assert [list(part.released) for part in again.released.parts] == [
            list(part.released) for part in drawn.released.parts
        ]
        assert curator.refit(drawn.request).loss == drawn.loss


def test_what_cannot_be_planned_any_more_is_shown_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    question, place = Queries(workloads.marginals(SCHEMA, width=1)), tmp_path / "people.ledger"
    with _opened(place) as curator:
        drawn = curator.ask(question, Concentrated("1/10"))
    monkeypatch.setattr("sfumato.curator.finishing.same_event", lambda *_: False)  # another version
    with _opened(place) as curator:
        again = curator.ask(question, Concentrated("1/10"))
        assert again.reused
        assert (again.loss, again.event) == (drawn.loss, drawn.event)
        assert again.released.made == drawn.released.made
        assert "earlier version" in str(again)
        curator.ask(LIST, SPEND)
        with pytest.raises(LedgerError, match="another version"):
            curator.ask(LIST, SPEND)  # of a list nothing was kept that tells its parts apart


def test_what_was_kept_and_cannot_be_read_is_computed_again(tmp_path: Path) -> None:
    question, place = Queries(workloads.marginals(SCHEMA, width=1)), tmp_path / "people.ledger"
    with _opened(place) as curator:
        drawn = curator.ask(question, Concentrated("1/10"))
    with sqlite3.connect(place) as connection:
        connection.execute("update sfumato_finished set content = x'00ff'")
    with _opened(place) as curator:
        assert curator.ask(question, Concentrated("1/10")).released.made == drawn.released.made


def test_a_frame_of_other_people_under_the_same_name_keeps_the_facts_of_the_draw(tmp_path: Path) -> None:
    place = tmp_path / "people.ledger"
    with _opened(place) as curator:
        drawn = curator.distribution("age", spend=Pure(1))
    with _opened(place, people=200) as curator:
        again = curator.distribution("age", spend=Pure(1))
        assert again.reused
        assert (again.loss, again.event) == (drawn.loss, drawn.event)
