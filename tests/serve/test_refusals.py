"""What is refused, and in which words: a sentence says what to write instead, and nothing waits that cannot be answered."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from itertools import islice

import pytest

from sfumato.serve.desks import FREE_PLACES
from sfumato.serve.jobs import MOST_WAITING, _Run
from tests.serve.houses import add_accounts, faster, open_site, write_house

ASK = "/api/datasets/first/ask"


def detail(reply, status):
    assert reply.status_code == status, reply.text
    return reply.json()["detail"]


@pytest.mark.parametrize("way", ["ask", "preview", "largest", "rehearse"])
def test_a_missing_spend_is_asked_for_in_the_words_of_the_interface(site, way):
    said = detail(site.post("ana", f"/api/datasets/first/{way}", {"phrase": "mean of age"}), 422)
    assert '"spend": "Pure(0.1)"' in said and "curator" not in said


def test_what_is_public_needs_no_spend_and_costs_nothing(site):
    found = site.post("ana", ASK, {"phrase": "count"}).json()
    assert found["cost"] == "nothing: it depends on nobody"


def test_bodies_that_are_no_questions_are_told_what_is_wrong(site):
    assert "'epsilon'" in detail(site.post("ana", ASK, {"phrase": "mean of age", "epsilon": 1}), 422)
    headers = {"Content-Type": "application/json"}
    assert "is no JSON" in detail(site.call("ana", "POST", ASK, content=b"{bad", headers=headers), 422)
    for content in (b"\xff\xfe\x00", b"[" * 20_000):  # no text, and nested deeper than can be read
        assert "is no JSON" in detail(site.call("ana", "POST", ASK, content=content, headers=headers), 400)
    for content in (b"[]", b"", b"7"):
        assert "JSON object" in detail(site.call("ana", "POST", ASK, content=content, headers=headers), 422)


def test_a_wrong_token_is_called_wrong_and_a_missing_one_missing(site):
    wrong = {"Authorization": "Bearer sfm_0000000000000000_00"}
    assert "Nobody here has this token" in detail(site.call(None, "GET", "/api/me", headers=wrong), 401)
    assert "Say who you are" in detail(site.call(None, "GET", "/api/me"), 401)


def test_what_cannot_fit_is_refused_and_does_not_wait(tmp_path):
    house = write_house(tmp_path)
    client, site = open_site(house, add_accounts(house))
    with client:
        found = site.ask("ana", "mean of age", "Pure(3.5)")
        assert "largest that fits is Pure(3)" in detail(found, 409)
        assert found.json()["type"].endswith("BudgetExceeded") and found.json()["largest"]["epsilon"] == "3"
        assert site.get("carla", "/api/datasets/first/approvals").json() == []
        assert site.ask("ana", "mean of age", "Pure(2.5)").status_code == 202
        assert site.get("carla", "/api/datasets/first/limits").json()["meters"][0]["percent"] == 0


def test_a_refusal_below_the_threshold_says_what_would_fit(tmp_path):
    house = write_house(tmp_path)
    client, site = open_site(house, add_accounts(house))
    with client:
        for age in (40, 41):
            assert site.ask("ben", f"count where age > {age}", "Pure(0.75)").status_code == 200
        refused = site.ask("ben", "count where age > 42", "Pure(0.75)")
        assert "0.5" in detail(refused, 409) and refused.json()["largest"]["epsilon"] == "1/2"


def test_nobody_lets_more_than_a_few_questions_wait(tmp_path):
    house = write_house(tmp_path)
    client, site = open_site(house, add_accounts(house))
    with client:
        jobs = [site.ask("ana", f"count where age > {age}", "Pure(1.5)").json()["job"] for age in range(MOST_WAITING)]
        assert "wait for a curator" in detail(site.ask("ana", "count where age > 70", "Pure(1.5)"), 409)
        assert site.ask("ben", "count where age > 70", "Pure(1.5)").status_code == 202
        assert site.post("ana", f"/api/datasets/first/jobs/{jobs[0]}/cancel").status_code == 200
        assert site.ask("ana", "count where age > 71", "Pure(1.5)").status_code == 202


def test_nobody_takes_all_places_of_the_queue(tmp_path):
    house = faster(write_house(tmp_path), waiting=4)
    client, site = open_site(house, add_accounts(house))
    with client:
        running = client.app.state.jobs._running
        running.update({str(number): _Run("ana", Future()) for number in range(2)})
        assert site.ask("ana", "count where age > 44", "Pure(0.1)").status_code == 503
        assert site.ask("ben", "count where age > 44", "Pure(0.1)").status_code == 200
        running.clear()


def test_a_misspelt_name_gets_no_quota(site):
    for name in ("anaa", "bea"):  # bea sees another data set
        assert "Nobody of this name" in detail(
            site.post("carla", f"/api/datasets/first/quotas/{name}", {"bound": "Pure(0.5)"}), 404
        )
        assert name not in site.client.app.state.desks["first"].front.ledger.analysts
    page = site.browser("carla").send("/d/first/quotas", {"name": "anaa", "bound": "Pure(0.5)"})
    assert page.status_code == 404 and "Nobody of this name" in page.text


def test_an_answer_that_somebody_had_before_is_cited_by_its_row(site):
    first = site.ask("ana", "count where age > 33", "Pure(0.125)", "mine-1").json()
    again = site.ask("ben", "count where age > 33", "Pure(0.125)", "other-1").json()
    assert again["reused"]
    entry = site.client.app.state.desks["first"].front.ledger.entry(first["request"])
    cited = site.browser("ben").page(f"/d/first/answers/{again['job']}").text
    assert f"row {entry.number} of the ledger" in cited and "mine-1" not in cited and "other-1;" not in cited
    assert "request first:ana:mine-1" in site.browser("ana").page(f"/d/first/answers/{first['job']}").text


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/datasets/first/jobs/%00"),
        ("GET", "/api/datasets/first/answers?state=%00"),
        ("POST", "/api/people/ana%00/revoke"),
        ("GET", "/d/first/answers/%00"),
    ],
)
def test_zero_bytes_are_stopped_before_any_database_sees_them(site, method, path):
    assert "no zero byte" in site.call("carla", method, path).text
    browser = site.browser()
    assert browser.sign_in("sfm_\0_x").status_code == 422


def test_what_is_free_and_takes_long_has_few_places(site):
    desk = site.client.app.state.desks["first"]
    body = {"phrase": "mean of age", "spend": "Pure(0.1)"}
    with ExitStack() as taken:
        for _ in range(FREE_PLACES):
            taken.enter_context(desk.working())
        assert site.post("ana", "/api/datasets/first/rehearse", body).status_code == 503
        assert site.post("ana", "/api/datasets/first/preview", body).status_code == 200
    assert site.post("ana", "/api/datasets/first/rehearse", body).status_code == 200


def test_the_same_question_sent_many_times_holds_few_threads(tmp_path):
    house = faster(write_house(tmp_path), waiting=4, patience=60)
    client, site = open_site(house, add_accounts(house))
    with client, ThreadPoolExecutor(6) as senders:
        reading = client.app.state.desks["first"].reading()
        reading.acquire()  # the question runs as long as this is held
        asked = [senders.submit(site.ask, "ana", "count where age > 44", "Pure(0.1)", "same") for _ in range(6)]
        early = [one.result().status_code for one in islice(as_completed(asked, timeout=50), 4)]
        reading.release()
        assert early == [202] * 4
        assert sorted(one.result().status_code for one in asked) == [200, 200, 202, 202, 202, 202]


def test_what_failed_is_tried_again_within_the_same_room(tmp_path, monkeypatch):
    house = faster(write_house(tmp_path), waiting=2)
    client, site = open_site(house, add_accounts(house))
    with client:
        desk, jobs = client.app.state.desks["first"], client.app.state.jobs
        with monkeypatch.context() as patched:
            patched.setattr(desk, "ask", lambda *given: 1 / 0)
            assert site.ask("ana", "count where age > 44", "Pure(0.1)", "same").status_code == 500
        jobs._running["other"] = _Run("ana", Future())
        assert site.ask("ana", "count where age > 44", "Pure(0.1)", "same").status_code == 503
        jobs._running.clear()
        assert site.ask("ana", "count where age > 44", "Pure(0.1)", "same").status_code == 200


def test_nobody_holds_all_threads_with_what_is_free(tmp_path):
    house = faster(write_house(tmp_path), waiting=4)
    client, site = open_site(house, add_accounts(house))
    body = {"phrase": "mean of age", "spend": "Pure(0.1)"}
    preview, me = "/api/datasets/first/preview", "/api/me"
    with client, ThreadPoolExecutor(30) as senders:
        crowd, begun, over = client.app.state.crowd, threading.Semaphore(0), threading.Event()
        desk, real = client.app.state.desks["first"], client.app.state.desks["first"].meant

        def slow(form):
            begun.release()
            over.wait(30)
            return real(form)

        desk.meant = slow
        sent = [senders.submit(site.post, "ana", preview, body) for _ in range(crowd.most)]
        for _ in sent:
            assert begun.acquire(timeout=30)
        assert site.get("ana", me).status_code == 503 and site.get("ben", me).status_code == 200
        over.set()
        assert {one.result().status_code for one in sent} == {200}
        assert site.get("ana", me).status_code == 200 and site.get("ana", "/api/datasets/second").status_code == 404
        assert not crowd.inside  # whoever was let in is let out, also after a refusal
