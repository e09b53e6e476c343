"""`house.toml`, the shell's commands, tokens, and the client."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest
import uvicorn
from typer.testing import CliRunner

import sfumato as sf
from sfumato import Pure
from sfumato.cli import app
from sfumato.errors import BudgetExceeded, ParameterError, SchemaError, SfumatoError
from sfumato.serve.app import service_app
from sfumato.serve.demo import make_demo
from sfumato.serve.desks import Desk
from sfumato.serve.house import load_house, read_house
from sfumato.serve.remote import Waiting
from sfumato.serve.ticks import next_tick
from tests.serve.houses import add_accounts, open_site, write_house

DATA = {"name": "a", "source": "a.csv", "schema": "a.toml", "ledger": "a.ledger"}


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({}, "holds no data set"),
        ({"dataset": [{**DATA, "name": "A b"}]}, "cannot stand in an address"),
        ({"dataset": [{**DATA, "sorce": "x"}]}, "has no 'sorce'"),
        ({"dataset": [{"name": "a"}]}, "needs schema"),
        ({"dataset": DATA}, "two brackets"),
        ({"dataset": [DATA, {**DATA, "ledger": "b"}]}, "same name"),
        ({"dataset": [DATA, {**DATA, "name": "b"}]}, "same ledger"),
        ({"dataset": [{**DATA, "person": "4"}]}, r"write Pure\(4\)"),
        ({"dataset": [{**DATA, "each_attribute": "Pure(1)"}]}, "write person ="),
        ({"dataset": [{**DATA, "person": "Pure(1)", "quotas": {"ana": "Pure(1)"}}]}, "everyone"),
        ({"dataset": [{**DATA, "relation": "other"}]}, "add remove"),
        ({"dataset": [DATA], "service": {"tick": 0}}, "0.001 to 60"),
        ({"dataset": [DATA], "service": {"waiting": 0}}, "at least 1"),
        ({"dataset": [DATA], "service": {"patience": 0}}, "at most 600"),
        ({"dataset": [DATA], "service": {"store": "postgresql://u:secret@h/d"}}, r"\$SFUMATO_STORE"),
        ({"dataset": [DATA], "service": {"store": "postgresql://h/d?password=secret"}}, "before the host"),
        ({"dataset": [{**DATA, "ledger": "$SECRET_PLACE"}]}, "before the host"),
        ({"dataset": [DATA], "service": {"store": "$NOT_SET_HERE"}}, "NOT_SET_HERE is not set"),
        ({"dataset": [DATA], "service": {"store": "file:none"}}, "cannot be read"),
        ({"dataset": [DATA], "servce": {}}, "has no 'servce'"),
        ({"collection": [{"name": "a"}]}, "needs place"),
    ],
)
def test_a_mistake_in_a_house_is_a_sentence_without_secrets(record, said, tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_PLACE", "postgresql://u@h/d?sslPassword=secret")
    with pytest.raises(ParameterError, match=said) as refused:
        read_house(record, tmp_path)
    assert "secret" not in str(refused.value)


def test_a_data_set_says_what_may_be_used_of_the_machine(tmp_path):
    (tmp_path / "fast").mkdir()
    write_house(tmp_path)
    house = tmp_path / "house.toml"
    lines = 'memory_limit = "1GB"\ntemp_directory = "fast"\nmost_rows = 1_000_000\n'
    text = house.read_text()
    house.write_text(text.replace("[[dataset]]\n", "[[dataset]]\n" + lines, 1))
    terms = load_house(house).datasets[0]
    assert terms.temp_directory == tmp_path / "fast"
    desk = Desk(terms)
    try:
        told = desk.curator.table.source.resources
        assert (told.memory, told.temp_directory, told.most_rows) == (2**30, tmp_path / "fast", 10**6)
        assert len(list((tmp_path / "fast").iterdir())) == 1
    finally:
        desk.curator.table.close()
        desk.curator.ledger.close()
        desk.front.ledger.close()


def test_a_ledger_of_periods_is_none_for_a_service(tmp_path):
    write_house(tmp_path)
    terms = load_house(tmp_path / "house.toml").datasets[0]
    limits = sf.Budget(person=Pure(3), units={"day": Pure(1)})
    sf.Ledger(terms.ledger, limits, relation=sf.ADD_REMOVE).close()
    with pytest.raises(ParameterError, match=r"limits what a person did in each day, .* --of 2026-11"):
        Desk(replace(terms, relation=sf.ADD_REMOVE, person=None, quotas={}))


def test_secrets_come_from_the_environment_or_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("HERE", "postgresql://u:p@h/d")
    (tmp_path / "kept").write_text("postgresql://u:q@h/d\n")
    for text, found in (("$HERE", "postgresql://u:p@h/d"), ("file:kept", "postgresql://u:q@h/d")):
        assert read_house({"dataset": [DATA], "service": {"store": text}}, tmp_path).service.store == found


def test_accounts_from_the_shell(tmp_path, monkeypatch):
    write_house(tmp_path)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> str:
        done = CliRunner().invoke(app, ["user", *words])
        return done.output + done.stderr

    token = run("add", "ana", "--role", "analyst", "--dataset", "first").split()[-1]
    assert token.startswith("sfm_") and token.split("_")[2] not in (tmp_path / "house.db").read_bytes().hex()
    assert token.encode() not in (tmp_path / "house.db").read_bytes()
    assert "is or was somebody" in run("add", "ana", "--role", "analyst", "--dataset", "first")
    assert "There is no data set" in run("add", "ben", "--role", "analyst", "--dataset", "frist")
    assert "no role" in run("add", "ben", "--role", "king", "--dataset", "first")
    assert "--dataset" in run("add", "ben", "--role", "auditor")
    assert json.loads(run("list", "--json")) == [{"name": "ana", "role": "analyst", "datasets": ["first"]}]
    second = run("token", "ana").split()[-1]
    assert second != token
    client, site = open_site(load_house("house.toml"), {"old": token, "new": second})
    with client:
        assert [site.get(who, "/api/me").status_code for who in ("old", "new")] == [401, 200]
        run("remove", "ana")
        assert site.get("new", "/api/me").status_code == 401
    assert "is or was somebody" in run("add", "ana", "--role", "analyst", "--dataset", "first")
    assert "nobody called" in run("token", "zoe")


def test_serve_needs_a_house_or_the_demo():
    assert "--demo" in CliRunner().invoke(app, ["serve"]).stderr
    done = CliRunner().invoke(app, ["serve", "nowhere.toml"])
    assert done.exit_code == 2 and "There is no house" in done.stderr


def test_the_demo_has_three_accounts_and_can_be_started_again(tmp_path):
    first, second = make_demo(tmp_path), make_demo(tmp_path)
    assert set(first.tokens) == {"carla", "ana", "otto"} and first.tokens["ana"] != second.tokens["ana"]
    client, site = open_site(second.house, dict(second.tokens))
    with client:
        assert site.get("ana", "/api/datasets").json()[0]["people"] == 48842


def test_ticks_are_whole():
    assert [next_tick(elapsed, 0.25) for elapsed in (0, 0.2, 0.25, 0.3, 1, 1.01, 2.5)] == [
        0.25,
        0.25,
        0.25,
        0.5,
        1,
        2,
        3,
    ]


def test_responses_leave_at_ticks(tmp_path):
    house = write_house(tmp_path, service="").service
    assert house.tick == 0.002
    (tmp_path / "house.toml").write_text((tmp_path / "house.toml").read_text().replace("tick = 0.002", "tick = 0.2"))
    found = load_house(tmp_path / "house.toml")
    client, site = open_site(found, add_accounts(found))
    with client:
        for call in (lambda: site.get(None, "/api/me"), lambda: site.get("ana", "/api/me")):
            began = time.monotonic()
            call()
            late = (time.monotonic() - began) % 0.2
            assert late < 0.19  # at a tick, give or take the loop
            assert time.monotonic() - began >= 0.2
        began = time.monotonic()
        site.get(None, "/health")
        assert time.monotonic() - began < 0.2


@contextmanager
def listening(site_house, tokens):
    """A service on a port of this machine, for clients that speak HTTP themselves."""
    server = uvicorn.Server(uvicorn.Config(service_app(site_house), port=0, log_level="error", access_log=False))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}", tokens
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    house = write_house(tmp_path_factory.mktemp("remote"))
    with listening(house, add_accounts(house)) as found:
        yield found


def test_connect_has_the_curators_methods_answers_and_errors(address):
    place, tokens = address
    with sf.connect(place, token=tokens["ana"]) as people:
        assert people.dataset == "first" and people.schema.names == ("age", "sex")
        assert people.count().value == 300
        answer = people.mean("age", by="sex", spend=Pure(0.25))
        assert list(answer.frame["sex"]) == ["F", "M"] and answer.loss.person.epsilon == sf.Pure(0.25).epsilon
        assert people.mean("age", by="sex", spend=Pure(0.25)).reused
        again = people.ask(sf.Mean("age"), Pure(0.1), request="mine")
        assert people.ask(sf.Mean("age"), Pure(0.1), request="mine").value == again.value
        one, two = people.ask([sf.Count("age > 30"), sf.Histogram("sex")], Pure(0.2))
        assert isinstance(one.value, int) and sum(two.frame["count"]) > 0
        rows = people.sql("SELECT sex, COUNT(*) AS n FROM data GROUP BY sex", epsilon=0.1)
        assert list(rows.frame.columns)[:2] == ["sex", "n"] and "n, low" in rows.interval().columns
        assert people.preview(sf.Count("age > 3"), Pure(0.1)).fits and people.preview(sf.Mean("age"), Pure(0.1)).free
        assert people.loss(sf.Count("age > 3"), Pure(0.1)).person.epsilon == sf.Pure(0.1).epsilon
        assert people.largest(sf.Count("age > 3"), Pure(0.1)) == Pure(0.1)
        assert people.rehearse(sf.Count("age > 3"), Pure(0.1)).value is not None
        assert people.guarantee() == Pure(4) and people.guarantee("age") == Pure(4)
        with pytest.raises(ParameterError, match="limits no periods"):
            people.guarantee(days=3)
        assert "ana: person" in people.remaining() and "Pure(4)" in str(people)
        model = people.synthesize(spend=Pure(0.4)).value
        assert model.sample(5).num_rows == 5
        with pytest.raises(BudgetExceeded, match="ana's limit on a person") as refused:
            people.median("age", spend=Pure(0.99), where="age > 1")
            people.median("age", spend=Pure(0.99), where="age > 2")
        assert str(refused.value).startswith("Refused before the data were touched")
        with pytest.raises(SchemaError, match="There is no column 'salary'"):
            people.sum("salary", spend=Pure(0.1))
        assert 0 < people.share(0.1).epsilon <= Pure(0.4).epsilon
        with pytest.raises(ParameterError, match="leave analyst= out"):
            people.count("age > 1", spend=Pure(0.1), analyst="ben")
        with pytest.raises(SfumatoError, match="Your role"):
            people.verify()


def test_connect_waits_for_approval_and_watchers_verify(address):
    place, tokens = address
    with sf.connect(place, token=tokens["ben"], dataset="first") as people, pytest.raises(Waiting) as waits:
        people.count("age > 70", spend=Pure(1.5))
    line = sf.connect(place, token=tokens["cora"])._line
    line("POST", f"/datasets/first/approvals/{waits.value.job}", {"approve": True})
    people = sf.connect(place, token=tokens["ben"])
    for _ in range(50):
        try:
            assert people.answered(waits.value.job).loss.person.epsilon == Pure(1.5).epsilon
            break
        except Waiting:
            time.sleep(0.1)
    watcher = sf.connect(place, token=tokens["otto"])
    assert watcher.verify().ok and "person" in str(watcher.report())


@pytest.mark.parametrize(
    ("place", "token", "said"),
    [
        ("data.example.org", "sfm_1_2", "https://"),
        ("http://data.example.org", "sfm_1_2", "only sent encrypted"),
        ("https://data.example.org", " ", "Give the token"),
    ],
)
def test_connect_refuses_what_would_leak_a_token(place, token, said):
    with pytest.raises(ParameterError, match=said):
        sf.connect(place, token=token)


def test_connect_says_who_is_not_there(address):
    place, tokens = address
    with pytest.raises(SfumatoError, match="Nobody here has this token"):
        sf.connect(place, token="sfm_1_2")
    with pytest.raises(ParameterError, match="first, second"):
        sf.connect(place, token=tokens["carla"])
    with pytest.raises(SfumatoError, match="cannot be reached"):
        sf.connect("http://127.0.0.1:9", token="sfm_1_2")


def test_a_collector_runs_under_the_same_service(tmp_path):
    from sfumato import local

    colours = local.plan(users=1000, spend=Pure(1), candidates=["red", "green", "blue"])
    colours.save(tmp_path / "colours.plan")
    sizes = local.plan(users=1000, spend=Pure(1), candidates=["small", "large"])
    sizes.save(tmp_path / "sizes.plan")
    (tmp_path / "senders").write_text("a-token-of-sixteen-or-more\n")
    (tmp_path / "operators").write_text("another-token-of-sixteen\n")
    more = '[[collection]]\nname = "colours"\nplace = "collected"\nplans = ["colours.plan", "sizes.plan"]\n'
    more += 'tokens = "senders"\nmetrics = "operators"\n'
    house = write_house(tmp_path, more=more)
    client, site = open_site(house, add_accounts(house))
    with client:
        line = local.envelope(colours.client().report("red"))
        sent = {"Content-Type": "application/json", "Authorization": "Bearer a-token-of-sixteen-or-more"}
        found = client.post("/collect/colours/reports", content=line, headers=sent)
        assert found.status_code == 200 and found.json()["accepted"] == 1
        assert client.post("/collect/colours/reports", content=line).status_code == 401
        other = local.envelope(sizes.client().report("small"))
        assert client.post("/collect/colours/reports", content=other, headers=sent).json()["accepted"] == 1
        assert client.get("/collect/colours/plan").status_code == 200
        assert client.get("/collect/colours/metrics", headers=sent).status_code == 401  # a sender runs nothing
        watching = {"Authorization": "Bearer another-token-of-sixteen"}
        for found in (
            client.get("/collect/colours/metrics", headers=watching),
            site.get("carla", "/collect/colours/metrics"),
        ):
            for plan in (colours, sizes):
                assert f'sfumato_reports_total{{plan="{plan.digest.hex()}",result="accepted"}} 1' in found.text
        for who in ("cora", "otto", "ana"):  # of one data set, or an analyst
            assert site.get(who, "/collect/colours/metrics").status_code == 401
        assert site.get("ana", "/api/me").status_code == 200
