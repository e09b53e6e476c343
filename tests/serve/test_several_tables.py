"""A data set of several tables: asked in SQL over HTTP, on pages and by sf.connect, within the same promise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato import Pure
from sfumato.errors import ParameterError
from sfumato.serve.house import load_house
from tests.serve.houses import Site, add_accounts, open_site, write_house

CLINIC = """
population = "patients"
[tables.patients]
source = "patients.csv"
person = "patient"
row_key = []
columns.sex = {type = "category", values = ["f", "m"], missing = "f"}
[tables.visits]
person = "patient"
rows_per_person = 3
columns.cost = {type = "integer", low = 0, high = 100, missing = 0}
"""
DATASET = """
[[dataset]]
name = "clinic"
schema = "clinic.toml"
ledger = "clinic.ledger"
snapshot = "1"
person = "Pure(4)"
approve_above = "Pure(2)"
quotas = {everyone = "Pure(3)"}
[dataset.source]
visits = "visits.csv"
"""
JOINED = "SELECT sex, COUNT(*) AS n FROM visits JOIN patients ON visits.patient = patients.patient GROUP BY sex"
ASK = "/api/datasets/clinic/ask"


def write_clinic(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "clinic.toml").write_text(CLINIC)
    rows = "\n".join(f"{number},{'fm'[number % 2]}" for number in range(200))
    (folder / "patients.csv").write_text(f"patient,sex\n{rows}\n")
    visits = "\n".join(f"{number % 200},{number % 90}" for number in range(400))
    (folder / "visits.csv").write_text(f"patient,cost\n{visits}\n")


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("clinic")
    write_clinic(folder)
    house = write_house(folder, more=DATASET)
    client, made = open_site(house, add_accounts(house))
    with client:
        yield made


def test_a_join_is_answered_once_and_the_same_is_free(clinic: Site) -> None:
    first = clinic.post("carla", ASK, {"sql": JOINED, "spend": "Pure(1)"}, "one").json()
    counts = dict(zip(first["table"]["sex"], first["table"]["n"], strict=True))
    assert set(counts) == {"f", "m"} and all(150 < count < 250 for count in counts.values())
    again = clinic.post("carla", ASK, {"sql": JOINED, "spend": "Pure(1)"}, "two").json()
    assert again["reused"] and again["table"] == first["table"]
    assert clinic.post("carla", "/api/datasets/clinic/verify").json()["ok"]


def test_what_it_would_cost_is_said_before(clinic: Site) -> None:
    found = clinic.post(
        "carla", "/api/datasets/clinic/preview?error=true", {"sql": JOINED, "spend": "Pure(0.25)"}
    ).json()
    assert found["fits"] and found["median_noise"]


def test_other_ways_are_told_to_write_sql(clinic: Site) -> None:
    for body in ({"phrase": "count"}, {"question": {"question": "Count"}}, {"questions": [{"question": "Count"}]}):
        reply = clinic.post("carla", ASK, {**body, "spend": "Pure(0.1)"})
        assert reply.status_code == 422 and "SQL" in reply.json()["detail"]


def test_the_pages_list_the_tables_and_ask_in_sql(clinic: Site) -> None:
    browser = clinic.browser("carla")
    page = browser.page("/d/clinic").text
    assert "Columns of patients" in page and "Columns of visits" in page and "synthetic" not in page.lower()
    asking = browser.page("/d/clinic/ask").text
    assert 'name="sql"' in asking and "FROM patients" in asking and "Builder" not in asking
    sent = {"way": "sql", "sql": JOINED, "spend": "Pure(0.125)", "key": "page-1"}
    answer = browser.send("/d/clinic/ask", sent, "/d/clinic/ask")
    assert answer.status_code == 303 and "<table" in browser.page(answer.headers["location"]).text


def test_a_service_of_several_tables_is_connected_to(clinic: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.serve import remote

    def send(line: Any, method: str, path: str, body: Any, key: str | None) -> Any:
        reply = clinic.call("carla", method, f"/api{path}", json=body, headers={"Idempotency-Key": key} if key else {})
        return reply.status_code, reply.headers, reply.content

    monkeypatch.setattr(remote._Line, "_send", send)
    tables = sf.connect("http://localhost", token="sfm_x", dataset="clinic")
    assert tables.sql(JOINED, Pure(1)).value is not None
    found = tables.sql(JOINED, Pure(1))
    assert found.reused and set(found.value["sex"]) == {"f", "m"}
    assert isinstance(tables.schema, sf.Database) and "sfm_x" not in str(tables)


def test_one_table_needs_a_source(tmp_path: Path) -> None:
    write_house(tmp_path)
    text = (tmp_path / "house.toml").read_text().replace('source = "first.csv"', "")
    (tmp_path / "house.toml").write_text(text)
    with pytest.raises(ParameterError, match="needs source"):
        load_house(tmp_path / "house.toml")
