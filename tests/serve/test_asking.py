"""Asking over HTTP: the same answers as the curator's, paid once, within quotas, approvals and the person limit."""

from __future__ import annotations

import json
import logging
from concurrent.futures import Future
from fractions import Fraction

import pytest
from fastapi.testclient import TestClient

from sfumato.privacy import Pure, bound_from_json
from sfumato.serve.app import service_app
from sfumato.serve.house import load_house
from sfumato.serve.jobs import QUEUED, RUNNING, _Run
from sfumato.serve.started import LINES
from tests.serve.houses import Site, add_accounts, faster, open_site, write_house


def spent(site: Site, dataset: str = "first") -> Fraction:
    entries = site.get("carla", f"/api/datasets/{dataset}/ledger").json()["requests"]
    return sum((Fraction(entry["epsilon"]) for entry in entries), Fraction(0))


def test_a_question_in_three_languages_costs_once_each_and_a_retry_nothing(site):
    before = spent(site)
    bodies = [
        {"phrase": "histogram of sex", "spend": "Pure(0.1)"},
        {"sql": "SELECT sex, COUNT(*) AS n FROM data GROUP BY sex", "spend": "Pure(0.1)"},
        {"questions": [{"question": "Mean", "column": "age"}, {"question": "Count", "where": "age > 30"}], "spend": {
            "bound": "Pure", "unit": "person", "epsilon": "1/10"}},
    ]  # fmt: skip
    for number, body in enumerate(bodies):
        first = site.post("ana", "/api/datasets/first/ask", body, f"three-{number}")
        again = site.post("ana", "/api/datasets/first/ask", body, f"three-{number}")
        assert first.status_code == again.status_code == 200 and first.json() == again.json()
        assert first.json()["answers"] and first.json()["reused"] is False
    assert spent(site) == before + Fraction(3, 10)
    same = site.post("ben", "/api/datasets/first/ask", {"question": {"question": "Histogram", "columns": ["sex"]},
                                                         "spend": "Pure(0.1)"})  # fmt: skip
    assert same.json()["reused"] is True and "nothing" in same.json()["cost"]
    assert spent(site) == before + Fraction(3, 10)
    other = site.post("ana", "/api/datasets/first/ask", {**bodies[0], "spend": "Pure(0.2)"}, "three-0")
    assert other.status_code == 409 and "another question" in other.json()["detail"]


def test_what_is_free_costs_nothing_and_says_what_it_would_cost(site):
    before, body = spent(site), {"phrase": "count where age > 33", "spend": "Pure(0.1)"}
    seen = site.post("ana", "/api/datasets/first/preview?error=true", body).json()
    assert seen["fits"] and seen["expected_error"] == 30 and "epsilon 0.1" in seen["cost"]
    ranked = site.post("ana", "/api/datasets/first/preview?error=true", {**body, "phrase": "median of age"}).json()
    assert ranked["expected_error_unit"] == "rank" and 0 < ranked["expected_error"] <= 300
    halved = site.post("ana", "/api/datasets/first/curve", body).json()
    errors = [point["error"] for point in halved]
    assert len(errors) == 5 and errors == sorted(errors, reverse=True)
    assert site.post("ana", "/api/datasets/first/rehearse", body).json()["rehearsed"]
    stated = {"sql": "SELECT sex, COUNT(*) AS n FROM data GROUP BY sex", "spend": "Pure(0.1)"}
    assert site.post("ana", "/api/datasets/first/preview?error=true", stated).json()["median_noise"] == {"count": 14.0}
    large = site.post("ana", "/api/datasets/first/largest", {**body, "spend": "Pure(50)"}).json()["spend"]
    assert bound_from_json(large).epsilon <= 3  # ana's quota
    assert site.post("ana", "/api/datasets/first/ask", {"phrase": "count", "spend": None}).json()["table"] == {
        "value": [300], "low": [300], "high": [300]
    }  # fmt: skip
    assert spent(site) == before


@pytest.mark.parametrize(
    "body",
    [
        {"phrase": "count where age > 21", "spend": "Pure(0.01)"},
        {"phrase": "median of age by sex", "spend": "Pure(0.03)"},
        {"sql": "SELECT sex, COUNT(*) AS n FROM data WHERE age > 22 GROUP BY sex", "spend": "Pure(0.01)"},
    ],
)
def test_a_preview_of_what_was_answered_is_free(site, body):
    seen = site.post("ana", "/api/datasets/first/preview", body).json()
    assert not seen["free"] and "epsilon" in seen["cost"]
    assert site.post("ana", "/api/datasets/first/ask", body).json()["reused"] is False
    again = site.post("ben", "/api/datasets/first/preview", body).json()
    assert again["free"] and again["fits"] and again["cost"] == "nothing" and "stored answer" in again["text"]
    assert again["loss"] == seen["loss"], "what the answer tells is as it was"
    assert site.post("ben", "/api/datasets/first/ask", body).json()["reused"] is True


def test_mistakes_are_sentences_with_our_classes(site):
    wrong = {
        "ParameterError": [{"phrase": "men of age", "spend": "Pure(0.1)"}, {"phrase": "count where age > 5"},
                           {"sql": "DROP TABLE data", "spend": "Pure(1)"}, {"question": {}, "spend": "Pure(1)"}, {},
                           {"phrase": "count", "spend": "lots"}, {"phrase": 3}, {"question": {"question": "Mean"}},
                           {"phrase": "count", "sql": "SELECT 1"}, {"question": {"question": "Count", "where": 3}}],
        "SchemaError": [{"phrase": "mean of salary", "spend": "Pure(0.1)"}],
    }  # fmt: skip
    for kind, bodies in wrong.items():
        for body in bodies:
            found = site.post("ana", "/api/datasets/first/ask", body)
            assert found.status_code == 422, (body, found.text)
            assert found.headers["content-type"] == "application/problem+json"
            assert found.json()["type"] == f"urn:sfumato:error:{kind}", (body, found.json())
            assert found.json()["detail"].endswith(".")
    assert site.call("ana", "POST", "/api/datasets/first/ask", content=b"{nonsense").status_code == 422
    assert site.post("ana", "/api/datasets/first/ask", {"phrase": "count"}, "no blanks").status_code == 422


def test_all_analysts_together_stay_within_the_person_limit(tmp_path):
    house = write_house(tmp_path)
    client, site = open_site(house, add_accounts(house))
    with client:
        asked = dict.fromkeys(("ana", "ben", "cora", "carla"), 0)
        refusals = []
        for number in range(8):
            for name in asked:
                found = site.ask(name, f"count where age > {number * 4 + len(name)}", "Pure(1/2)", f"c{number}")
                asked[name] += found.status_code == 200
                if found.status_code == 409:
                    refusals.append(found.json())
        assert spent(site) == 4  # the person limit, whoever asked
        assert asked["ana"] <= 6 and asked["ben"] <= 4  # quotas of 3 and 2
        assert refusals and all(one["type"].endswith("BudgetExceeded") for one in refusals)
        assert site.post("otto", "/api/datasets/first/verify").json()["ok"]


def test_a_quota_refuses_before_the_person_limit_does_and_may_be_lowered(tmp_path):
    house = write_house(tmp_path)
    client, site = open_site(house, add_accounts(house))
    with client:
        for number in range(4):
            assert site.ask("ben", f"count where age > {number}", "Pure(1/2)").status_code == 200
        over = site.ask("ben", "count where age > 9", "Pure(1/2)")
        assert over.status_code == 409 and "ben's limit on a person" in over.json()["detail"]
        assert site.post("cora", "/api/datasets/first/quotas/ana", {"bound": "Pure(0.2)"}).status_code == 200
        assert "ana's limit on a person" in site.ask("ana", "count where age > 9", "Pure(1/2)").json()["detail"]
        assert site.post("cora", "/api/datasets/first/quotas/ana", {"bound": "Pure(5)"}).status_code == 422


def test_above_the_threshold_a_curator_decides(site):
    before = spent(site)
    first = site.ask("ana", "count where age > 71", "Pure(1.25)", "big")
    assert first.status_code == 202 and first.json()["state"] == "waiting" and spent(site) == before
    job = first.json()["job"]
    assert [one["job"] for one in site.get("cora", "/api/datasets/first/approvals").json()] == [job]
    assert site.post("ana", f"/api/datasets/first/approvals/{job}", {"approve": True}).status_code == 403
    assert site.post("cora", f"/api/datasets/first/approvals/{job}", {"approve": True}).json()["decided_by"] == "cora"
    assert site.post("carla", f"/api/datasets/first/approvals/{job}", {"approve": False}).status_code == 409
    assert site.ask("ana", "count where age > 71", "Pure(1.25)", "big").status_code == 200
    assert spent(site) == before + Fraction(5, 4)
    free = site.ask("ben", "count where age > 71", "Pure(1.25)")  # answered before, so nobody need decide
    assert free.status_code == 200 and free.json()["reused"]
    declined = site.ask("ana", "count where age > 72", "Pure(1.25)").json()["job"]
    site.post("cora", f"/api/datasets/first/approvals/{declined}", {"approve": False})
    assert site.get("ana", f"/api/datasets/first/jobs/{declined}").json()["state"] == "declined"
    cancelled = site.ask("ana", "count where age > 73", "Pure(1.25)").json()["job"]
    assert site.post("ana", f"/api/datasets/first/jobs/{cancelled}/cancel").json()["state"] == "cancelled"
    assert spent(site) == before + Fraction(5, 4)
    events = site.get("ana", f"/api/datasets/first/jobs/{job}/events").text
    assert json.loads(events.split("data: ")[1].splitlines()[0])["state"] == "stored"


def test_files_of_an_answer(site):
    job = site.ask("ana", "count by sex", "Pure(0.1)").json()["job"]
    place = f"/api/datasets/first/answers/{job}/file"
    assert site.get("ana", f"{place}.csv").text.splitlines()[0] == '"sex","count","count, low","count, high"'
    assert site.get("ana", f"{place}.parquet").content[:4] == b"PAR1"
    picture = site.get("ana", f"{place}.svg")
    assert "<svg" in picture.text and picture.headers["content-security-policy"].startswith("default-src 'none'")
    assert site.get("ana", f"{place}.json").json()["table"]["sex"] == ["F", "M"]
    assert site.get("ana", f"{place}.exe").status_code == 422


def test_synthetic_rows(site):
    found = site.ask("ana", "synthesize age, sex", "Pure(0.5)")
    assert found.status_code == 200, found.text
    place = f"/api/datasets/first/answers/{found.json()['job']}/file"
    assert len(site.get("ana", f"{place}.csv?rows=7").text.splitlines()) == 8
    assert "<svg" in site.get("ana", f"{place}.svg").text


def test_a_store_that_stopped_in_the_middle_goes_on(tmp_path):
    """Whatever state a job was left in, the next start completes it, and it is charged once."""
    house = write_house(tmp_path)
    client, site = open_site(house, add_accounts(house))
    with client:
        jobs = client.app.state.jobs
        who, desk = client.app.state.people.find("ana"), client.app.state.desks["first"]
        from sfumato.serve.asked import read_form

        form = read_form({"phrase": "count where age > 44", "spend": "Pure(0.25)"})
        for key, state in (("q", QUEUED), ("r", RUNNING)):
            jobs._insert(who, desk, form, key, state)
    client, site = open_site(load_house(tmp_path / "house.toml"), site.tokens)
    with client:
        found = [site.ask("ana", "count where age > 44", "Pure(0.25)", key) for key in ("q", "r")]
        assert [one.status_code for one in found] == [200, 200]
        assert spent(site) == Fraction(1, 4)  # the same question: paid once


def test_every_state_survives_a_restart(tmp_path):
    """What ended stays as it ended, what waits for a curator still waits, and can be decided after it."""
    house = write_house(tmp_path)
    client, site = open_site(house, add_accounts(house))
    with client:
        jobs = client.app.state.jobs
        who, desk = client.app.state.people.find("ana"), client.app.state.desks["first"]
        from sfumato.serve.asked import read_form

        form = read_form({"phrase": "count where age > 43", "spend": "Pure(1.25)"})
        ended = ("refused", "failed", "cancelled", "declined")
        kept = {state: jobs._insert(who, desk, form, state, state).id for state in (*ended, "waiting")}
        stored = site.ask("ana", "count where age > 41", "Pure(0.25)").json()
    client, site = open_site(load_house(tmp_path / "house.toml"), site.tokens)
    with client:
        listed = {one["job"]: one["state"] for one in site.get("ana", "/api/datasets/first/answers").json()}
        assert all(listed[job] == state for state, job in kept.items()) and listed[stored["job"]] == "stored"
        again = site.get("ana", f"/api/datasets/first/answers/{stored['job']}").json()
        assert again["answers"][0]["released"] == stored["answers"][0]["released"]
        assert site.post("ana", f"/api/datasets/first/jobs/{kept['cancelled']}/cancel").json()["state"] == "cancelled"
        approved = site.post("cora", f"/api/datasets/first/approvals/{kept['waiting']}", {"approve": True})
        assert approved.status_code == 200 and spent(site) in (Fraction(1, 4), Fraction(3, 2))  # charged once it runs
        assert site.ask("ana", "count where age > 40", "Pure(0.25)").status_code == 200  # waits behind it
        assert spent(site) == Fraction(7, 4)


def test_too_many_at_once_are_asked_to_come_again(tmp_path):
    house = faster(write_house(tmp_path), waiting=1)
    client, site = open_site(house, add_accounts(house))
    with client:
        client.app.state.jobs._running["busy"] = _Run("ben", Future())
        found = site.ask("ana", "count where age > 44", "Pure(0.25)")
        assert found.status_code == 503 and found.headers["retry-after"] == "2"
        assert site.get(None, "/ready").status_code == 503
        client.app.state.jobs._running.clear()
        assert site.get(None, "/ready").status_code == 200


def test_large_bodies_are_refused(site):
    large = b" " * (site.house.service.largest_body + 1)
    assert site.call("ana", "POST", "/api/datasets/first/ask", content=large).status_code == 413


def test_metrics_logs_and_errors_hold_public_numbers_only(site, caplog):
    caplog.set_level("INFO", logger="sfumato.serve")
    site.ask("ana", "count where age > 44", "Pure(0.01)", "logged")
    lines = [record.getMessage() for record in caplog.records if record.name == "sfumato.serve"]
    assert json.loads(lines[-1])["route"] == "/api/datasets/{dataset}/ask" and json.loads(lines[-1])["who"] == "ana"
    assert not any("age" in line or "logged" in line or "sfm_" in line for line in lines)
    text = site.get("otto", "/metrics").text
    assert 'sfumato_questions{dataset="first",state="stored"}' in text and "ana" not in text


def test_a_line_of_the_log_tells_whole_seconds():
    line = json.loads(LINES.format(logging.makeLogRecord({"msg": "{}", "created": 1.9})))
    assert line["at"].endswith(":01") and line["said"] == {}


def test_a_failure_that_should_not_be_tells_its_kind_only(site, monkeypatch):
    def broken(*_: object) -> None:
        raise ValueError("cell 4711 of somebody")

    monkeypatch.setattr("sfumato.serve.desks.Desk.facts", broken)
    found = site.get("ana", "/api/datasets")
    assert found.status_code == 500 and "ValueError" in found.text and "4711" not in found.text


def test_what_failed_is_tried_again_under_the_same_key(site, monkeypatch):
    from sfumato.errors import LedgerError
    from sfumato.serve.desks import Desk

    def locked(*_: object) -> None:
        raise LedgerError("The ledger could not be written; ask again with the same request id.")

    with monkeypatch.context() as broken:
        broken.setattr(Desk, "ask", locked)
        first = site.ask("ana", "count where age > 46", "Pure(0.01)", "again")
        assert first.status_code == 409 and first.json()["type"].endswith("LedgerError")
    assert site.ask("ana", "count where age > 46", "Pure(0.01)", "again").status_code == 200


def test_a_form_with_too_many_fields_is_refused(site):
    browser = site.browser("ana")
    sent = browser.client.post("/d/first/ask", content="&".join(f"a{n}=1" for n in range(200)))
    assert sent.status_code == 422


def test_a_failed_draw_tells_its_kind_only(site, monkeypatch):
    def broken(*_: object) -> None:
        raise ValueError("cell 4711 of somebody")

    monkeypatch.setattr("sfumato.serve.desks.Desk.ask", broken)
    found = site.ask("ana", "count where age > 45", "Pure(0.01)")
    assert found.status_code == 500 and "ValueError" in found.text and "4711" not in found.text


def test_someone_elses_identity_can_be_plugged_in(tmp_path):
    from sfumato.serve.identity import Identity

    house = write_house(tmp_path)

    def by_proxy(request):
        name = request.headers.get("x-user")
        return None if name is None else Identity(name, "analyst", frozenset({"first"}))

    with TestClient(service_app(house, identify=by_proxy)) as client:
        assert client.get("/api/me").status_code == 401
        assert client.get("/api/me", headers={"X-User": "zoe"}).json()["name"] == "zoe"


def test_bounds_of_the_guarantee(site):
    found = site.get("ana", "/api/datasets/first/guarantee?attribute=age&people=1").json()
    assert bound_from_json(found["bound"]) == Pure(4)


@pytest.mark.parametrize("spend", ["Pure(0.1)", "Concentrated(0.01)", "Approximate(0.5, 1e-6)"])
def test_spends_of_every_kind_are_read(site, spend):
    found = site.post("ana", "/api/datasets/first/preview", {"phrase": "count where age > 3", "spend": spend})
    assert found.status_code == 200, found.text


def test_a_poor_answer_is_said_before_it_is_paid(monkeypatch):
    """Each thread hears its own warnings, and others go where they went."""
    import warnings
    from threading import Thread

    from sfumato.errors import AccuracyWarning
    from sfumato.serve.cautions import heard, listen

    others = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_, **__: others.append(str(message)))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        listen()

        def elsewhere() -> None:
            warnings.warn("theirs", AccuracyWarning, stacklevel=1)

        with heard() as said:
            thread = Thread(target=elsewhere)
            thread.start()
            thread.join()
            warnings.warn("mine", AccuracyWarning, stacklevel=1)
            warnings.warn("another", UserWarning, stacklevel=1)
    assert said == ["mine"] and others == ["another"]


def test_a_body_that_comes_too_slowly_is_refused():
    import asyncio

    from sfumato.serve.ticks import Bodies

    sent = []

    async def slow():
        await asyncio.sleep(5)

    async def keep(message):
        sent.append(message)

    async def never(*_):
        raise AssertionError

    scope = {"type": "http", "method": "POST", "path": "/api/x", "headers": []}
    asyncio.run(Bodies(never, 100, seconds=0.05)(scope, slow, keep))
    assert sent[0]["status"] == 408


def test_the_store_lives_in_postgresql_too(tmp_path, postgres, monkeypatch):
    from tests.ledger.conftest import schema_on

    for name in ("STORE_URL", "FIRST_URL"):
        monkeypatch.setenv(name, schema_on(postgres))
    write_house(tmp_path, store="$STORE_URL")
    text = (
        (tmp_path / "house.toml").read_text().replace('ledger = "first.ledger"', 'ledger = "$FIRST_URL"\nprivate = "p"')
    )
    (tmp_path / "house.toml").write_text(text)
    house = load_house(tmp_path / "house.toml")
    tokens = add_accounts(house)
    client, site = open_site(house, tokens)
    other, second = open_site(house, tokens)  # a second worker on the same store and ledger
    with client, other:
        first = site.ask("ana", "count where age > 44", "Pure(0.25)", "shared")
        again = second.ask("ana", "count where age > 44", "Pure(0.25)", "shared")
        assert first.status_code == 200 and first.json() == again.json()
        assert second.ask("ben", "count where age > 45", "Pure(0.25)").status_code == 200
        assert spent(site) == Fraction(1, 2)
        waiting = site.ask("ana", "count where age > 46", "Pure(1.5)").json()["job"]
        assert second.post("cora", f"/api/datasets/first/approvals/{waiting}", {"approve": True}).status_code == 200
        assert site.browser("ana").page("/").status_code == 200
