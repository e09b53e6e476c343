"""Conversations over HTTP: paid once, the same replies as the curator's, each only its owner's, on after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

import sfumato as sf
from sfumato import Approximate
from sfumato.errors import AccuracyWarning
from tests.serve.houses import Site, add_accounts, open_site, write_house

pytestmark = pytest.mark.filterwarnings(f"ignore::{AccuracyWarning.__module__}.{AccuracyWarning.__name__}")
DATASET = """
[[dataset]]
name = "days"
source = "first.csv"
schema = "schema.toml"
ledger = "days.ledger"
private = "days.private"
snapshot = "1"
person = "Approximate(4, 1e-5)"
approve_above = "Approximate(1, 1e-6)"
quotas = {everyone = "Approximate(3, 1e-5)"}
"""
PLACE = "/api/datasets/days/conversations"
TERMS = {"columns": ["sex"], "queries": 50, "spend": "Approximate(2, 1e-6)"}
ASKED = {"conditions": ["sex = 'F'", "sex = 'M'", "sex = 'F'"]}


@pytest.fixture
def site(tmp_path: Any) -> Iterator[Site]:
    house = write_house(tmp_path, rows=3000, more=DATASET)
    client, made = open_site(house, add_accounts(house))
    with client:
        yield made


def used(site: Site) -> Fraction:
    entries = site.get("carla", "/api/datasets/days/ledger").json()["requests"]
    return sum((Fraction(entry["epsilon"]) for entry in entries), Fraction(0))


def test_it_is_paid_once_and_goes_on_after_a_restart(site: Site) -> None:
    foreseen = site.post("carla", f"{PLACE}/preview", TERMS).json()
    assert foreseen["fits"] and 0 < foreseen["expected_error"] <= 1 and used(site) == 0
    opened = site.post("carla", PLACE, TERMS, "mine").json()
    paid = used(site)
    assert opened["conversation"] == "mine" and 0 < paid <= 2
    first = site.post("carla", f"{PLACE}/mine", ASKED).json()
    assert first["replies"][0]["value"] == first["replies"][2]["value"]
    assert all(abs(one["value"] - 0.5) <= one["error"] + 0.01 for one in first["replies"])
    assert site.post("carla", PLACE, TERMS, "mine").json()["progress"]["asked"] == 2
    client, again = open_site(site.house, site.tokens)
    with client:  # another process
        second = again.post("carla", f"{PLACE}/mine", ASKED).json()
        assert [one["value"] for one in second["replies"]] == [one["value"] for one in first["replies"]]
    third = site.post("carla", f"{PLACE}/mine", ASKED).json()  # and the first one takes it back
    assert [one["value"] for one in third["replies"]] == [one["value"] for one in first["replies"]]
    assert used(site) == paid and site.post("carla", "/api/datasets/days/verify").json()["ok"]


def with_abe(site: Site) -> Site:
    """Add an analyst of the data set."""
    body = {"name": "abe", "role": "analyst", "datasets": ["days"]}
    token = site.post("carla", "/api/people", body).json()["token"]
    return Site(site.client, {**site.tokens, "abe": token}, site.house)


def test_above_the_threshold_a_curator_decides_and_the_asker_opens(site: Site) -> None:
    one, approvals = with_abe(site), "/api/datasets/days/approvals"
    assert site.post("carla", f"{PLACE}/preview", TERMS).json()["needs_approval"]
    waits = one.post("abe", PLACE, TERMS, "big")
    assert (
        waits.status_code == 202
        and waits.json()["state"] == "waiting"
        and "waits for a curator" in waits.json()["said"]
    )
    assert one.post("abe", f"{PLACE}/big", ASKED).status_code == 404 and used(site) == 0
    assert one.post("abe", PLACE, {**TERMS, "queries": 60}, "big").status_code == 409  # other terms are another one
    (listed,) = site.get("carla", approvals).json()
    assert listed["name"] == "abe" and listed["asked"]["conversation"]["columns"] == ["sex"]
    assert one.post("abe", f"{approvals}/{listed['job']}", {"approve": True}).status_code == 403
    assert site.post("carla", f"{approvals}/{listed['job']}", {"approve": True}).json()["state"] == "approved"
    assert site.post("carla", f"{approvals}/{listed['job']}", {"approve": False}).status_code == 409
    assert used(site) == 0 and one.get("abe", f"{PLACE}/big").json()["state"] == "approved"
    larger = {**TERMS, "spend": "Approximate(2.5, 1e-6)"}
    assert one.post("abe", PLACE, larger, "big").status_code == 409  # what was approved are these terms and no others
    assert one.post("abe", PLACE, TERMS, "big").status_code == 200 and 0 < used(site) <= 2
    assert len(one.post("abe", f"{PLACE}/big", ASKED).json()["replies"]) == 3
    assert [talk["state"] for talk in one.get("abe", PLACE).json()] == ["open"] and not site.get(
        "carla", approvals
    ).json()
    beyond = one.post("abe", PLACE, {**TERMS, "spend": "Approximate(2.9, 1e-6)"}, "more")  # no approval could help
    assert beyond.status_code == 409 and beyond.json()["type"].endswith("BudgetExceeded")


def test_what_is_declined_or_taken_back_is_not_opened(site: Site) -> None:
    one, approvals = with_abe(site), "/api/datasets/days/approvals"
    terms = [{**TERMS, "queries": 50 + turn} for turn in range(11)]
    assert [one.post("abe", PLACE, body, f"k{turn}").status_code for turn, body in enumerate(terms)] == [202] * 10 + [
        409
    ]
    jobs = {one["asked"]["conversation"]["queries"]: one["job"] for one in site.get("carla", approvals).json()}
    site.post("carla", f"{approvals}/{jobs[50]}", {"approve": False})
    assert "declined" in one.post("abe", PLACE, terms[0], "k0").json()["detail"]
    assert one.post("abe", f"{PLACE}/k0/cancel").status_code == 409
    assert one.post("abe", f"{PLACE}/k1/cancel").json()["state"] == "cancelled"
    assert one.get("abe", f"{PLACE}/k1").status_code == one.post("abe", f"{PLACE}/k1/cancel").status_code == 404
    assert site.post("carla", f"{approvals}/{jobs[51]}", {"approve": True}).status_code == 404
    assert used(site) == 0


def test_on_pages_from_the_cost_to_the_replies(site: Site) -> None:
    place = "/d/days/conversations"
    abe, carla = with_abe(site).browser("abe"), site.browser("carla")
    assert place in abe.page("/d/days").text and place not in site.browser("otto").page("/d/first").text
    asked = f"{place}?columns=sex&queries=50&spend=Approximate(2,+1e-6)"
    looked = abe.page(asked).text
    assert "Before you pay" in looked and "waits for a curator" in looked and "off by at most" in looked
    assert 'class="wrong"' in abe.page(f"{place}?columns=sex&spend=Pure(-1)").text
    fields = {"key": "talk", "columns": "sex", "queries": "50", "spend": "Approximate(2, 1e-6)"}
    assert abe.send(place, fields, place).headers["location"] == f"{place}/talk"
    waiting = abe.page(f"{place}/talk")
    assert (
        "waits for a curator" in waiting.text and waiting.headers["refresh"] == "5" and "Take it back" in waiting.text
    )
    desk = carla.page("/d/days/desk").text
    assert "a conversation about sex, 50 conditions expected" in desk
    job = desk.split('action="/d/days/desk/')[1].split('"')[0]
    assert carla.send(f"/d/days/desk/{job}", {"decision": "approve"}).status_code == 303
    assert "Nothing waits" in carla.page("/d/days/desk").text and "Open it and pay" in abe.page(f"{place}/talk").text
    assert used(site) == 0
    assert abe.send(f"{place}/talk/open", {}).status_code == 303 and used(site) > 0
    paid = used(site)
    sent = {"conditions": "sex = 'F'\n\n sex = 'M'"}
    first, again = (abe.send(f"{place}/talk", sent, f"{place}/talk").text for _ in "12")
    assert "the model" in first and "2 conditions asked so far" in first and "±" in first
    assert first == again  # a page that is sent twice
    wrong = abe.send(f"{place}/talk", {"conditions": "sex = 'F'\nnothing > 1"}, f"{place}/talk")
    assert wrong.status_code == 422 and "nothing &gt; 1</textarea>" in wrong.text and 'class="wrong"' in wrong.text
    assert used(site) == paid and carla.page(f"{place}/talk").status_code == 404
    assert f"{place}/talk" in abe.page(place).text


def test_it_is_its_owners_alone_and_within_threshold_and_limit(site: Site) -> None:
    assert site.post("carla", PLACE, TERMS, "mine").status_code == 200
    assert site.post("carla", PLACE, {**TERMS, "queries": 60}, "mine").status_code == 409
    assert site.get("carla", PLACE).json()[0]["conversation"] == "mine"
    for who, status in (("cora", 404), ("ana", 404), ("otto", 403)):  # they see the first data set
        assert site.post(who, f"{PLACE}/mine", ASKED).status_code == status
    one = with_abe(site)
    assert one.post("abe", f"{PLACE}/mine", ASKED).status_code == 404 and one.get("abe", PLACE).json() == []
    assert one.post("abe", PLACE, {**TERMS, "spend": "Approximate(0.5, 1e-7)"}, "small").status_code == 200
    refused = site.post("carla", PLACE, {**TERMS, "spend": "Approximate(3.5, 1e-6)"}, "more")
    assert refused.status_code == 409 and refused.json()["type"].endswith("BudgetExceeded")
    assert site.post("carla", f"{PLACE}/more", ASKED).status_code == 404 and len(site.get("carla", PLACE).json()) == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"columns": "sex", "spend": "Pure(1)"},
        {**TERMS, "queries": 0},
        {**TERMS, "queries": True},
        {**TERMS, "columns": ["nothing"]},
        {**TERMS, "spend": "Pure(-1)"},
        {**TERMS, "spend": None},
        {**TERMS, "prior": 1},
    ],
)
def test_what_cannot_be_opened_is_told_in_a_sentence_and_costs_nothing(site: Site, body: Any) -> None:
    for path in (PLACE, f"{PLACE}/preview"):
        reply = site.post("carla", path, body)
        assert reply.status_code == 422 and reply.json()["detail"].endswith((".", "optional."))
    assert used(site) == 0 and site.get("carla", PLACE).json() == []


def test_conditions_that_cannot_be_read_cost_nothing(site: Site) -> None:
    site.post("carla", PLACE, TERMS, "mine")
    for conditions in (None, [], "sex = 'F'", [1], ["nothing = 1"], ["sex ="], ["sex = 'F'"] * 1001):
        assert site.post("carla", f"{PLACE}/mine", {"conditions": conditions}).status_code == 422
    assert site.post("carla", f"{PLACE}/mine", ASKED).json()["progress"]["asked"] == 2


def test_the_curators_own_method_over_http(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.serve import remote

    def send(line: Any, method: str, path: str, body: Any, key: str | None) -> Any:
        reply = site.call("carla", method, f"/api{path}", json=body, headers={"Idempotency-Key": key} if key else {})
        return reply.status_code, reply.headers, reply.content

    monkeypatch.setattr(remote._Line, "_send", send)
    days = sf.connect("http://localhost", token="sfm_x", dataset="days")
    monkeypatch.setattr(remote.Remote, "_post", lambda *given: (202, {"said": "It waits."}))
    with pytest.raises(remote.Waiting, match="name='late'"):
        days.converse(["sex"], spend=Approximate(1, "1e-6"), name="late")
    monkeypatch.undo()
    monkeypatch.setattr(remote._Line, "_send", send)
    with days.converse(["sex"], queries=50, spend=Approximate(1, "1e-6"), name="talk-1") as talk:
        replies = talk.ask_all(["sex = 'F'", "sex = 'M'"])
        assert talk.ask("sex = 'F'").value == replies[0].value and talk.progress.asked == 2
        assert talk.name == "talk-1" and replies[1].source in ("model", "data")
