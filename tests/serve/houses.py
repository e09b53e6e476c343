"""Small houses for tests: two data sets of made-up people, one account of each role for each of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from sfumato.serve.app import service_app
from sfumato.serve.house import House, load_house
from sfumato.serve.identity import People
from sfumato.serve.store import Store

SCHEMA = """
[columns]
age = {type = "integer", low = 0, high = 99, missing = 0}
sex = {type = "category", values = ["F", "M"], missing = "F"}
"""
DATASET = """
[[dataset]]
name = "{name}"
source = "{name}.csv"
schema = "schema.toml"
ledger = "{name}.ledger"
snapshot = "1"
person = "Pure(4)"
approve_above = "Pure(1)"
[dataset.quotas]
everyone = "Pure(2)"
ana = "Pure(3)"
"""
ACCOUNTS = {
    "carla": ("curator", ["*"]),
    "cora": ("curator", ["first"]),
    "ana": ("analyst", ["first"]),
    "ben": ("analyst", ["first"]),
    "bea": ("analyst", ["second"]),
    "otto": ("auditor", ["first"]),
    "oda": ("auditor", ["second"]),
}


def write_house(folder: Path, rows: int = 300, more: str = "", service: str = "", store: str = "house.db") -> House:
    """Write a house and return it; `more` is put behind its data sets."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schema.toml").write_text(SCHEMA)
    people = [f"{20 + k * 7 % 60},{'FM'[k % 2]}" for k in range(rows)]
    for name in ("first", "second"):
        (folder / f"{name}.csv").write_text("\n".join(["age,sex", *people]) + "\n")
    head = f'[service]\nstore = "{store}"\ntick = 0.002\n{service}\n'
    body = head + "".join(DATASET.format(name=name) for name in ("first", "second")) + more
    (folder / "house.toml").write_text(body)
    return load_house(folder / "house.toml")


def add_accounts(house: House) -> dict[str, str]:
    """Make the accounts and return their tokens."""
    store = Store(house.service.store)
    people = People(store, house.service)
    tokens = {name: people.add(name, role, datasets) for name, (role, datasets) in ACCOUNTS.items()}
    store.close()
    return tokens


@dataclass
class Site:
    """A running service with tokens for everybody."""

    client: TestClient
    tokens: dict[str, str]
    house: House

    def call(self, who: str | None, method: str, path: str, **options: Any) -> Any:
        headers = dict(options.pop("headers", {}))
        if who is not None:
            headers["Authorization"] = f"Bearer {self.tokens[who]}"
        return self.client.request(method, path, headers=headers, **options)

    def get(self, who: str | None, path: str, **options: Any) -> Any:
        return self.call(who, "GET", path, **options)

    def post(self, who: str | None, path: str, body: Any = None, key: str | None = None, **options: Any) -> Any:
        headers = {} if key is None else {"Idempotency-Key": key}
        return self.call(who, "POST", path, json=body, headers=headers, **options)

    def ask(self, who: str, phrase: str, spend: str, key: str | None = None, dataset: str = "first") -> Any:
        return self.post(who, f"/api/datasets/{dataset}/ask", {"phrase": phrase, "spend": spend}, key)

    def browser(self, who: str | None = None) -> Browser:
        made = Browser(TestClient(self.client.app, headers={"Accept": "text/html"}, follow_redirects=False))
        if who is not None:
            assert made.sign_in(self.tokens[who]).status_code == 303
        return made


@dataclass
class Browser:
    """A person at a browser without JavaScript."""

    client: TestClient

    def page(self, path: str) -> Any:
        return self.client.get(path)

    def form_token(self, path: str = "/") -> str:
        return self.page(path).text.split('name="form_token" value="')[1].split('"')[0]

    def send(self, path: str, fields: dict[str, str], page: str = "/") -> Any:
        return self.client.post(path, data={"form_token": self.form_token(page), **fields})

    def sign_in(self, token: str) -> Any:
        return self.send("/sign-in", {"token": token}, "/sign-in")


def faster(house: House, **service: Any) -> House:
    return replace(house, service=replace(house.service, **service))


def open_site(house: House, tokens: dict[str, str]) -> Any:
    client = TestClient(service_app(house))
    return client, Site(client, tokens, house)
