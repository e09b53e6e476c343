"""What the service tells of itself: requests added up over processes, and how far a question is, from public facts."""

from __future__ import annotations

import json
import re
import threading
import time
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from sfumato.serve.counts import Counts, _add
from sfumato.serve.desks import Desk
from sfumato.serve.jobs import Progress
from sfumato.serve.store import Store
from sfumato.show.progress import watched
from tests.ledger.conftest import schema_on
from tests.local.collecting import SMALL, batch
from tests.serve.houses import add_accounts, open_site, write_house

COLLECTION = """
[[collection]]
name = "words"
place = "collected"
plans = ["small.plan"]
"""


def counted(text: str, route: str) -> int:
    return sum(int(found) for found in re.findall(rf'route="{re.escape(route)}",status="\d+"}} (\d+)', text))


def test_requests_of_all_processes_are_added_up_and_so_are_reports(tmp_path):
    SMALL.save(tmp_path / "small.plan")
    house = write_house(tmp_path, more=COLLECTION)
    tokens = add_accounts(house)
    (first, one), (second, two) = open_site(house, tokens), open_site(house, tokens)
    with first, second:
        for site, number in ((one, 3), (two, 2)):
            for _ in range(number):
                site.get("ana", "/api/me")
        second.app.state.counted.write(second.app.state.store)  # as it does every few seconds
        assert counted(one.get("carla", "/metrics").text, "/api/me") == 5
        for client, number in ((first, 1), (second, 2), (second, 1)):  # the last one came to the other process before
            sent = client.post(
                "/collect/words/reports", content=batch(number), headers={"Content-Type": "application/octet-stream"}
            )
            assert sent.status_code == 200
        told = one.get("carla", "/collect/words/metrics").text
        assert 'result="accepted"} 100' in told and 'result="duplicate"} 50' in told
        assert re.search(r'waiting_requests\{worker="\d+"\} 0', told)
    client, again = open_site(house, tokens)
    with client:  # numbers only grow, also over a new start
        assert counted(again.get("carla", "/metrics").text, "/api/me") == 5


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_two_processes_that_count_the_same_at_once_wait_for_each_other(request, tmp_path, database):
    place = schema_on(request.getfixturevalue("postgres")) if database == "postgres" else str(tmp_path / "counts.db")
    first, second = Store(place), Store(place)
    mine, theirs = Counts(), Counts()
    for _ in range(3):
        theirs.add("GET", "/r", 200)
    theirs.add("POST", "/r", 409)
    writing = threading.Thread(target=theirs.write, args=(second,))
    with first.change() as connection:
        _add(connection, ("GET", "/r", 200), 2)  # new to both, and not there for the other one yet
        writing.start()
        if database == "postgres":
            waits = sa.text("SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))")
            until = time.monotonic() + 30
            while not connection.execute(waits).scalar():
                assert time.monotonic() < until, "The other one did not wait."
        else:
            writing.join(0.2)
            assert writing.is_alive()
    writing.join()
    mine.add("GET", "/r", 200)
    assert mine.total(first) == theirs.total(second) == {("GET", "/r", 200): 6, ("POST", "/r", 409): 1}
    for store in (first, second):
        store.close()


def test_only_known_methods_are_told_apart_and_what_cannot_be_written_is_kept(tmp_path, monkeypatch):
    store, counts = Store(str(tmp_path / "counts.db")), Counts()
    for method in ("GET", "BREW", "x" * 5000):
        counts.add(method, "/r", 200)

    def fail() -> Any:
        raise sa.exc.OperationalError("…", None, Exception())

    with monkeypatch.context() as patched:
        patched.setattr(store, "change", fail)
        counts.write(store)
    assert counts.total(store) == {("GET", "/r", 200): 1, ("other", "/r", 200): 2}
    store.close()


def test_a_question_says_how_far_it_is(site, monkeypatch):
    """Stages come from the queue and the ledger, and are looked at once in each second of a run."""
    jobs, asked, seen, clock = site.client.app.state.jobs, Desk.ask, [], [0.0]

    def slow(desk, meant, name, request):
        (job,) = [one for one in jobs.listed("first", name) if one.own_request == request]
        monkeypatch.setattr("sfumato.serve.jobs.now", lambda: job.changed + clock[0])
        behind = replace(job, state="queued", created=job.created + 1)
        seen.append(jobs.progress(behind).said)
        seen.append(jobs.progress(job).stage)
        found = asked(desk, meant, name, request)
        seen.append(jobs.progress(job).stage)  # still what was seen in this second
        clock[0] = 1.0
        seen.append(jobs.progress(job).stage)
        return found

    monkeypatch.setattr(Desk, "ask", slow)
    job = site.ask("ana", "count where age > 58", "Pure(0.01)").json()["job"]
    assert seen == ["It is queued behind 1 other question.", "drawing", "drawing", "finishing"]
    said = site.get("ana", f"/api/datasets/first/jobs/{job}/events").text
    record = json.loads(said.split("data: ")[1].splitlines()[0])
    assert record["ended"] and record["stage"] is None and record["said"] == "It is answered and stored."
    assert not jobs._looked


def test_a_fit_says_which_part_of_it_is_done(site, monkeypatch):
    jobs, asked, seen = site.client.app.state.jobs, Desk.ask, []

    def fitting(desk, meant, name, request):
        (job,) = [one for one in jobs.listed("first", name) if one.own_request == request]
        with watched("Fitting a model") as step:
            step(0.375)
        seen.append(jobs.progress(job).to_json())
        seen.append(site.browser("ben").page(f"/d/first/answers/{job.id}").text)
        return asked(desk, meant, name, request)

    monkeypatch.setattr(Desk, "ask", fitting)
    assert site.ask("ben", "count where age > 57", "Pure(0.01)").status_code == 200
    assert seen[0] == {"stage": "drawing", "before": None, "part": 0.38}
    assert '<progress id="part" max="1" aria-label="Part of the fit that is done" value="0.38">' in seen[1]
    assert "drawn. 38% of its fit is done." in seen[1] and not jobs._parts


@pytest.mark.parametrize(("before", "said"), [(0, "It is queued."), (2, "It is queued behind 2 other questions.")])
def test_a_place_in_the_queue_is_said_in_a_sentence(before, said):
    assert Progress("queued", before).said == said
