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


def test_it_is_its_owners_alone_and_within_threshold_and_limit(site: Site) -> None:
    assert site.post("carla", PLACE, TERMS, "mine").status_code == 200
    assert site.post("carla", PLACE, {**TERMS, "queries": 60}, "mine").status_code == 409
    assert site.get("carla", PLACE).json()[0]["conversation"] == "mine"
    for who, status in (("cora", 404), ("ana", 404), ("otto", 403)):  # they see the first data set
        assert site.post(who, f"{PLACE}/mine", ASKED).status_code == status
    one = Site(site.client, dict(site.tokens), site.house)
    one.tokens["abe"] = site.post(
        "carla", "/api/people", {"name": "abe", "role": "analyst", "datasets": ["days"]}
    ).json()["token"]
    assert one.post("abe", f"{PLACE}/mine", ASKED).status_code == 404 and one.get("abe", PLACE).json() == []
    assert "by a curator" in one.post("abe", PLACE, TERMS, "big").json()["detail"]
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
    with days.converse(["sex"], queries=50, spend=Approximate(1, "1e-6"), name="talk-1") as talk:
        replies = talk.ask_all(["sex = 'F'", "sex = 'M'"])
        assert talk.ask("sex = 'F'").value == replies[0].value and talk.progress.asked == 2
        assert talk.name == "talk-1" and replies[1].source in ("model", "data")
