"""Conversations over HTTP: paid once, the same replies as the curator's, each only its owner's, on after a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from threading import Event
from typing import Any

import pytest

import sfumato as sf
from sfumato import Approximate
from sfumato.curator.talking import parted
from sfumato.errors import AccuracyWarning, LedgerError, SchemaError, SfumatoError
from sfumato.model.base import model_from_json
from sfumato.questions.conversation import Conversation
from sfumato.questions.conversation.queries import Box, Weighted
from sfumato.serve import remote
from sfumato.serve.house import load_house
from sfumato.serve.talks import Talks
from tests.serve.houses import SCHEMA, Site, add_accounts, open_site, write_house

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


def test_the_error_is_foreseen_where_people_are_public_and_their_rows_are_not(tmp_path: Any) -> None:
    house = write_house(
        tmp_path, rows=3000, more=DATASET.replace("first.csv", "rows.csv").replace("schema.toml", "rows.toml")
    )
    (tmp_path / "rows.toml").write_text('person = "id"\nrows_per_person = 2\n' + SCHEMA)
    rows = [f"{number % 2500},{20 + number % 60},{'FM'[number % 2]}" for number in range(3000)]
    (tmp_path / "rows.csv").write_text("\n".join(["id,age,sex", *rows]) + "\n")
    client, site = open_site(load_house(house.folder / "house.toml"), add_accounts(house))
    with client:
        small = site.post("carla", f"{PLACE}/preview", {**TERMS, "spend": "Approximate(0.01, 1e-7)"}).json()
        assert small["expected_error"] == 1 and any("next to nothing" in said for said in small["cautions"])
        large = site.post("carla", f"{PLACE}/preview", {**TERMS, "spend": "Approximate(3, 1e-6)"}).json()
        opened = site.post("carla", PLACE, {**TERMS, "spend": "Approximate(3, 1e-6)"}, "rows").json()
        assert opened["counted"] == "rows" and 0 < opened["error"] < 1.3 * large["expected_error"] < 1.3


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
        {**TERMS, "prior": "public"},
        {**TERMS, "prior": {"sex": [0, 1]}},
        {**TERMS, "prior": {"sex": [1, 2, 3]}},
        {**TERMS, "prior": {"sex": "even"}},
        {**TERMS, "prior": {"model": "Factored"}},
        {**TERMS, "prior": {"model": "nothing", "space": {}}},
    ],
)
def test_what_cannot_be_opened_is_told_in_a_sentence_and_costs_nothing(site: Site, body: Any) -> None:
    for path in (PLACE, f"{PLACE}/preview"):
        reply = site.post("carla", path, body)
        assert reply.status_code == 422 and reply.json()["detail"].endswith((".", "optional."))
    assert used(site) == 0 and site.get("carla", PLACE).json() == []


def test_conditions_that_cannot_be_read_cost_nothing(site: Site) -> None:
    site.post("carla", PLACE, TERMS, "mine")
    box, weighted = {"columns": ["sex"], "lows": [0], "highs": [1]}, {"columns": ["sex"], "numbers": [0, 1]}
    wrong = (
        *(None, [], "sex = 'F'", [1], ["nothing = 1"], ["sex ="], ["sex = 'F'"] * 1001, [None], [[]]),
        *([{}], [{**box, "unit": 1}], [{**box, "highs": [3]}], [{**box, "lows": [True]}], [{**box, "columns": "sex"}]),
        *([{**box, "columns": ["age"]}], [{**box, "columns": ["sex", "sex"], "lows": [0, 0], "highs": [1, 1]}]),
        *([weighted], [{**weighted, "denominator": 0}], [{**weighted, "denominator": 1.5}]),
        [{"columns": ["sex", "sex"], "numbers": [1, 2, 3, 4], "denominator": 1}],
        [{**weighted, "denominator": 1, "numbers": [0, 2**40]}],
        [{**weighted, "denominator": 1, "numbers": [0, 1, 2]}],
        [{**weighted, "denominator": 1, "numbers": []}],
    )
    for conditions in wrong:
        for path in (f"{PLACE}/mine", f"{PLACE}/mine/learn"):
            assert site.post("carla", path, {"conditions": conditions}).status_code == 422, conditions
    assert site.post("carla", f"{PLACE}/mine", ASKED).json()["progress"]["asked"] == 2


@pytest.fixture
def days(site: Site, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The days as a curator connects to them; requests go to the application itself."""

    def send(line: Any, method: str, path: str, body: Any, key: str | None) -> Any:
        reply = site.call("carla", method, f"/api{path}", json=body, headers={"Idempotency-Key": key} if key else {})
        return reply.status_code, reply.headers, reply.content

    monkeypatch.setattr(remote._Line, "_send", send)
    return sf.connect("http://localhost", token="sfm_x", dataset="days")


def test_the_curators_own_method_over_http(days: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(remote.Remote, "_post", lambda *given: (202, {"said": "It waits.", "state": "waiting"}))
        with pytest.raises(remote.Waiting, match="name='late'"):
            days.converse(["sex"], spend=Approximate(1, "1e-6"), name="late")
    with days.converse(["sex"], queries=50, spend=Approximate(1, "1e-6"), name="talk-1") as talk:
        replies = talk.ask_all(["sex = 'F'", "sex = 'M'"])
        assert talk.ask("sex = 'F'").value == replies[0].value and talk.progress.asked == 2
        assert talk.name == "talk-1" and replies[1].source in ("model", "data")
    with pytest.raises(LedgerError, match="is closed; open it again"):
        talk.ask("sex = 'F'")


def test_a_conversation_over_http_has_what_a_curators_has(site: Site, days: Any) -> None:
    spend = Approximate(1, "1e-6")
    talk = days.converse(["age", "sex"], queries=50, spend=spend, prior="even", name="all")
    assert not {name for name in dir(Conversation) if not name.startswith("_")} - set(dir(talk))
    own = site.client.app.state.talks._open["days:carla/all"]
    assert talk.plan == own.plan and talk.loss == own.loss and talk.plan.advice == own.plan.advice
    asked = [
        "age > 40 AND sex = 'F'",
        "age IN (20, 30)",
        Box(("age",), (20,), (40,)),
        Weighted.of(["sex"], [-1, 3], denominator=4),
        sf.workloads.OneCell(("sex",), (2,), (1,)),
    ]
    replies = [talk.ask(one) for one in asked]
    assert replies == [own.ask(one) for one in asked] and talk.ask_all(asked) == replies
    assert talk.ask_all(sf.workloads.marginals(days.schema, width=1)) == own.ask_all(
        sf.workloads.marginals(days.schema, width=1)
    )
    with pytest.raises(SfumatoError) as here:
        talk.ask("salary > 1")
    with pytest.raises(SfumatoError) as there:
        own.ask("salary > 1")
    assert str(here.value) == str(there.value) and type(here.value) is type(there.value)
    model = talk.learn(["sex = 'F'", "sex = 'M'"])
    assert model.sample(7).num_rows == 7 and model.space.names == ("age", "sex")
    kept = model_from_json(own.model.to_json(), own._schema)  # numbers in single precision
    assert (talk.model.marginal(["age"]) == kept.marginal(["age"])).all()
    assert talk.history == own.history and talk.picture().svg() == site.get("carla", f"{PLACE}/all/file.svg").text
    assert str(talk).splitlines()[0] == "Conversation" and "corrections left" in str(talk)
    assert used(site) == talk.loss.person.epsilon


def test_a_long_list_goes_in_parts(days: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = days.converse(["age"], queries=5000, spend=Approximate(1, "1e-6"), prior="even")
    sent: list[int] = []
    post = remote.Remote._post
    monkeypatch.setattr(
        remote.Remote,
        "_post",
        lambda one, path, body, key=None: sent.append(len(body["conditions"])) or post(one, path, body, key),
    )
    asked = [f"age >= {low} AND age < {high}" for low in range(50) for high in range(low + 1, low + 31)]
    replies = talk.ask_all(asked)
    assert sum(sent) == len(replies) == 1500 and max(sent) <= 1000 and len(sent) > 1
    assert replies[:3] == talk.ask_all(asked[:3])


def test_a_conversation_begins_from_a_model_that_is_bought_once(site: Site, days: Any) -> None:
    spend = Approximate(2, "1e-6")
    one = with_abe(site)
    terms = {**TERMS, "columns": ["age", "sex"], "prior": "model"}
    foreseen = one.post("abe", f"{PLACE}/preview", terms).json()
    assert foreseen["fits"] and foreseen["needs_approval"] and used(site) == 0  # both are weighed, not the rest alone
    assert one.post("abe", PLACE, {**terms, "spend": "Approximate(1.2, 1e-6)"}, "big").status_code == 202
    refused = one.post("abe", PLACE, {**terms, "spend": "Approximate(3.3, 1e-6)"}, "more")
    assert refused.status_code == 409 and refused.json()["type"].endswith("BudgetExceeded") and used(site) == 0
    assert "from a model that is bought first" in site.browser("carla").page("/d/days/desk").text
    talk = days.converse(["age", "sex"], queries=50, spend=spend, prior="model", name="both")
    paid = used(site)
    assert 0 < paid <= 2 and talk.loss.person.epsilon < paid
    assert len(site.get("carla", "/api/datasets/days/ledger").json()["requests"]) == 2
    first = talk.ask_all(["sex = 'F'", "age > 40"])
    client, again = open_site(site.house, site.tokens)
    with client:  # another process finds the model and the conversation
        found = again.post("carla", f"{PLACE}/both", {"conditions": ["sex = 'F'", "age > 40"]}).json()
        assert [one["value"] for one in found["replies"]] == [one.value for one in first]
    same = days.converse(["age", "sex"], queries=50, spend=spend, prior="model", name="both")
    assert same.ask("age > 40") == first[1] and used(site) == paid
    for other in (None, {"sex": [3, 1]}):
        with pytest.raises(SfumatoError, match="another conversation"):
            days.converse(["age", "sex"], queries=50, spend=spend, prior=other, name="both")
    changed = replace(site.house, datasets=tuple(replace(one, snapshot="2") for one in site.house.datasets))
    client, later = open_site(changed, site.tokens)
    with client:  # another state of the data: it is not asked any more, and no other model is bought for it
        for path, body in ((f"{PLACE}/both", ASKED), (PLACE, {**TERMS, "columns": ["age", "sex"], "prior": "model"})):
            refused = later.post("carla", path, body, "both")
            assert refused.status_code == 409 and "state of the data" in refused.json()["detail"]
    assert used(site) == paid
    bought = days.synthesize(columns=["age", "sex"], spend=parted(spend)[0])
    assert bought.reused and used(site) == paid


def test_a_conversation_begins_from_what_is_public(site: Site, days: Any) -> None:
    spend = Approximate("1/4", "1e-7")
    laws = days.converse(["sex"], queries=50, spend=spend, prior={"sex": [3, 1]}, name="laws")
    assert laws.ask("sex = 'F'").value > 0
    public = laws.model
    from_model = days.converse(["sex"], queries=50, spend=spend, prior=public, name="model")
    own = site.client.app.state.talks._open["days:carla/model"]
    assert (own.model.marginal(["sex"]) > 0).all() and from_model.plan == own.plan
    nothing = days.converse(["sex"], queries=50, spend=spend, name="none")
    with pytest.raises(SchemaError):
        days.converse(["age"], queries=50, spend=spend, prior=public)
    for extra in ("NaN", '"\\ud800"'):  # what no response could repeat
        body = {"columns": ["sex"], "queries": 50, "spend": str(spend), "prior": {**public.to_json(), "extra": "more"}}
        text, token = json.dumps(body).replace('"more"', extra), f"Bearer {site.tokens['carla']}"
        headers = {"Authorization": token, "Content-Type": "application/json"}
        assert site.client.post(PLACE, content=text, headers=headers).status_code == 422
    assert len(site.get("carla", PLACE).json()) == 3
    even = site.post("carla", PLACE, {**TERMS, "spend": str(spend), "prior": "even"}, "none").json()  # means the same
    assert even["conversation"] == nothing.name == "none"


def test_what_was_learned_is_taken_along_by_its_owner_alone(site: Site) -> None:
    one = with_abe(site)
    assert one.post("abe", PLACE, {**TERMS, "spend": "Approximate(0.5, 1e-7)"}, "mine").status_code == 200
    one.post("abe", f"{PLACE}/mine", ASKED)
    rows = one.get("abe", f"{PLACE}/mine/file.csv?rows=9").text.splitlines()
    assert (
        len(rows) == 10
        and rows[0] == '"sex"'
        and len(one.get("abe", f"{PLACE}/mine/file.csv").text.splitlines()) == 3001
    )
    assert one.get("abe", f"{PLACE}/mine/file.parquet").content[:4] == b"PAR1"
    assert one.get("abe", f"{PLACE}/mine/file.svg").text.count("<svg") == 1
    assert one.get("abe", f"{PLACE}/mine/file.exe").status_code == 422
    assert one.get("abe", f"{PLACE}/mine/file.csv?rows=9999999").status_code == 422
    place = "/d/days/conversations/mine"
    assert "What it has learned" in one.browser("abe").page(place).text
    for kind in ("csv", "json", "svg"):
        assert site.get("carla", f"{PLACE}/mine/file.{kind}").status_code == 404
    assert site.post("carla", f"{PLACE}/mine/learn", ASKED).status_code == 404


def test_an_opening_that_takes_long_is_told_and_found(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    talks, began, go_on = site.client.app.state.talks, Event(), Event()
    opened = Talks._opened

    def slowly(*given: Any) -> Any:
        began.set()
        assert go_on.wait(30)
        return opened(*given)

    monkeypatch.setattr(Talks, "_opened", slowly)
    monkeypatch.setattr(talks, "service", replace(talks.service, patience=0.05))
    early = site.post("carla", PLACE, TERMS, "late")
    assert early.status_code == 202 and early.json()["state"] == "opening" and began.wait(5) and used(site) == 0
    assert site.post("carla", f"{PLACE}/late", ASKED).status_code == 409
    page = site.browser("carla").page("/d/days/conversations/late")
    assert "It is being opened" in page.text and page.headers["refresh"] == "5"
    go_on.set()
    monkeypatch.setattr(talks, "service", replace(talks.service, patience=20))
    assert site.post("carla", PLACE, TERMS, "late").status_code == 200 and used(site) > 0
    assert len(site.post("carla", f"{PLACE}/late", ASKED).json()["replies"]) == 3


def test_one_that_was_not_opened_to_its_end_is_opened_once_more(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Talks, "_opened", lambda *given: 1 / 0)
        assert site.post("carla", PLACE, TERMS, "cut").status_code == 500
    carla, place = site.browser("carla"), "/d/days/conversations/cut"
    assert site.get("carla", f"{PLACE}/cut").json()["state"] == "begun" and "Open it and pay" in carla.page(place).text
    assert carla.send(f"{place}/open", {}).status_code == 303 and used(site) > 0
    assert site.get("carla", f"{PLACE}/cut").json()["state"] == "open"
