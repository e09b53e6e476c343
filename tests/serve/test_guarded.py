"""What somebody tries who is let in and wants more: others' names, others' data sets, exact times, everybody's CPU."""

from __future__ import annotations

import math
import time

import pytest

from sfumato.errors import LedgerError, ParameterError
from sfumato.exact.rational import exact, from_text
from sfumato.serve.desks import Desk
from sfumato.serve.house import load_house
from sfumato.serve.identity import Identity
from sfumato.serve.ticks import next_tick
from tests.serve.houses import add_accounts, open_site, write_house


@pytest.mark.parametrize("text", ["1e20000", "1E-20000", "1e2_0000"])
def test_a_number_that_would_take_for_ever_is_refused_at_once(text):
    with pytest.raises(ValueError):
        from_text(text)
    with pytest.raises(ParameterError):
        exact(text, "epsilon")


def test_a_spend_that_would_take_for_ever_is_refused_at_once(site):
    began = time.process_time()
    for spend in ({"bound": "Pure", "unit": "person", "epsilon": "1e99999999"}, "Pure(1e9_9999999)"):
        body = {"phrase": "count where age > 5", "spend": spend}
        assert site.post("ana", "/api/datasets/first/preview", body).status_code == 422
    assert time.process_time() - began < 5


def test_an_answer_that_is_free_does_not_tell_who_paid_for_it(site):
    site.ask("ana", "count where age > 61", "Pure(0.01)", "a-key-of-hers")
    found = site.ask("ben", "count where age > 61", "Pure(0.01)", "mine")
    assert found.json()["reused"] and found.json()["request"] == "first:ben:mine"
    job = found.json()["job"]
    page = site.browser("ben").page(f"/d/first/answers/{job}").text
    file = site.get("ben", f"/api/datasets/first/answers/{job}/file.json").text
    for text in (found.text, page, file):
        assert "a-key-of-hers" not in text and "first:ana" not in text
    assert "first:ana:a-key-of-hers" in site.get("cora", f"/api/datasets/first/answers/{job}").text


def test_what_watches_one_data_set_has_no_numbers_of_another(site):
    assert "first" in site.get("otto", "/metrics").text and 'dataset="second"' not in site.get("otto", "/metrics").text
    assert 'dataset="second"' in site.get("carla", "/metrics").text


def test_adding_somebody_does_not_tell_which_other_data_sets_there_are(site):
    body = {"name": "zoe", "role": "analyst"}
    real, made_up = [site.post("cora", "/api/people", {**body, "datasets": [name]}) for name in ("second", "nowhere")]
    assert real.status_code == made_up.status_code == 404 and real.json() == made_up.json()


def test_another_site_cannot_make_a_browser_change_anything(site):
    """Not with an empty header beside the cookie, and not through a proxy that adds the header by itself."""
    job = site.ask("ana", "count where age > 71", "Pure(1.5)").json()["job"]
    browser, place = site.browser("ana"), f"/api/datasets/first/jobs/{job}/cancel"
    for said in ("Bearer", "Bearer ", ""):
        assert browser.client.post(place, headers={"Authorization": said}).status_code == 403
    for other in ("cross-site", "same-site"):
        headers = {"Sec-Fetch-Site": other}
        assert site.call("ana", "POST", place, headers=headers).status_code == 403
        fields = {"form_token": browser.form_token(), "phrase": "count", "way": "phrase"}
        assert browser.client.post("/d/first/ask", data=fields, headers=headers).status_code == 403
        stranger = site.browser()
        token = {"form_token": stranger.form_token("/sign-in"), "token": site.tokens["ana"]}
        assert stranger.client.post("/sign-in", data=token, headers=headers).status_code == 403
    assert site.call("ana", "POST", place, headers={"Sec-Fetch-Site": "same-origin"}).json()["state"] == "cancelled"


def test_cookies_are_for_https_when_a_proxy_on_this_machine_speaks_it(site):
    plain, encrypted = (site.client.get(f"{scheme}://testserver/sign-in") for scheme in ("http", "https"))
    assert "Secure" not in plain.headers["set-cookie"] and "Secure" in encrypted.headers["set-cookie"]


def test_what_became_of_a_job_is_seen_after_whole_ticks(site, monkeypatch):
    """Whoever looks at a job all the time, or at its times, would learn more than its response tells."""
    jobs, asked, tick = site.client.app.state.jobs, Desk.ask, site.house.service.tick
    clock, held = [0.0], []

    def slow(*given):
        clock[0] += 1.3 * tick
        return asked(*given)

    def hold(seconds):
        held.append((seconds / tick, jobs.listed("first", "ana")[0].state))

    monkeypatch.setattr(Desk, "ask", slow)
    monkeypatch.setattr("sfumato.serve.jobs.monotonic", lambda: clock[0])
    monkeypatch.setattr("sfumato.serve.jobs.sleep", hold)
    assert site.ask("ana", "count where age > 64", "Pure(0.01)").json()["state"] == "stored"
    assert held == [(pytest.approx(0.7), "running")]


def test_a_job_that_ends_just_behind_a_tick_ends(site, monkeypatch):
    """Rounding puts the next tick a little before now, and nobody sleeps for less than nothing."""
    tick, asked, clock = site.house.service.tick, Desk.ask, [0.0]
    ends = (math.nextafter(number * tick, 9) for number in range(1, 400))
    end = next(one for one in ends if next_tick(one, tick) < one)

    def slow(*given):
        clock[0] = end
        return asked(*given)

    monkeypatch.setattr(Desk, "ask", slow)
    monkeypatch.setattr("sfumato.serve.jobs.monotonic", lambda: clock[0])
    assert site.ask("ana", "count where age > 65", "Pure(0.01)").json()["state"] == "stored"


def test_names_from_elsewhere_with_colons_are_different_people(site):
    jobs, desk = site.client.app.state.jobs, site.client.app.state.desks["first"]
    from sfumato.serve.asked import read_form

    form = read_form({"phrase": "count where age > 62", "spend": "Pure(0.01)"})
    one, other = (
        jobs.submit(Identity(name, "analyst", frozenset({"first"})), desk, form, key)
        for name, key in (("org", "x:k"), ("org:x", "k"))
    )
    for job in (one, other):
        jobs.wait(job, 20)
    assert one.own_request != other.own_request


def test_what_was_stored_is_shown_though_another_process_gave_up_on_it(site, monkeypatch):
    jobs, asked = site.client.app.state.jobs, Desk.ask

    def overtaken(desk, meant, name, request):
        found = asked(desk, meant, name, request)
        (job,) = [one for one in jobs.listed("first", name) if one.own_request == request]
        assert jobs._change(job.id, "failed", ("running",), said="The request is in use.", kind=LedgerError.__name__)
        return found

    monkeypatch.setattr(Desk, "ask", overtaken)
    found = site.ask("ana", "count where age > 63", "Pure(0.01)", "overtaken")
    assert found.status_code == 200 and found.json()["said"] == "It is answered and stored."


def test_who_has_no_quota_is_not_told_who_has_one(tmp_path):
    house = write_house(tmp_path)
    client, site = open_site(house, add_accounts(house))
    with client:
        assert site.ask("ana", "count where age > 5", "Pure(0.1)").status_code == 200
    text = (tmp_path / "house.toml").read_text()
    for line in ('everyone = "Pure(2)"\n', 'person = "Pure(4)"\n'):  # limits are the ledger's, which is there
        text = text.replace(line, "")
    (tmp_path / "house.toml").write_text(text)
    client, site = open_site(load_house(tmp_path / "house.toml"), site.tokens)
    with client:
        terms = {"columns": ["sex"], "spend": "Pure(0.1)"}
        phrase = {"phrase": "count where age > 5", "spend": "Pure(0.1)"}
        for way, body in (("ask", phrase), ("preview", phrase), ("conversations", terms)):
            refused = site.post("ben", f"/api/datasets/first/{way}", body)
            assert (
                refused.status_code == 422 and "'ben' has no quota here" in refused.text and "ana" not in refused.text
            )
