"""A house to look at: UCI Adult, three accounts, a quota and a threshold; everything in one folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import ParameterError
from sfumato.serve.house import House, load_house
from sfumato.serve.identity import People
from sfumato.serve.store import Store

PLACES = (Path(__file__).parent / "data", Path(__file__).parents[3] / "examples" / "data")
"""Where Adult is: in the package, or in a clone of the project."""
ACCOUNTS = {"carla": "curator", "ana": "analyst", "otto": "auditor"}
HOUSE = """\
[service]
host = "{host}"
port = {port}

[[dataset]]
name = "adult"
title = "Adult: a census of 1994"
about = "What 48,842 people in the United States earned, worked and had learned."
source = "adult.parquet"
schema = "adult.toml"
ledger = "adult.ledger"
snapshot = "1994"
person = "Pure(4)"              # everything, about one person
each_attribute = "Pure(2)"      # everything, about one attribute of one person
approve_above = "Pure(1)"       # a single question above this waits for a curator

[dataset.quotas]
everyone = "Pure(2)"            # so much of it for one analyst
"""


@dataclass(frozen=True)
class Demo:
    """A house that is ready, and the tokens of its accounts."""

    house: House
    tokens: Mapping[str, str]


def make_demo(folder: Path, host: str = "127.0.0.1", port: int = 8000) -> Demo:
    """Make a house in a folder, or open the one that is there; its accounts get new tokens."""
    source = next((place for place in PLACES if (place / "adult.parquet").exists()), None)
    if source is None:
        raise ParameterError("The demo's data are not here; run it from a clone of sfumato, or write a house.toml.")
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("adult.parquet", "adult.toml"):
        if not (folder / name).exists():
            shutil.copyfile(source / name, folder / name)
    (folder / "house.toml").write_text(HOUSE.format(host=host, port=port), encoding="utf-8")
    house = load_house(folder / "house.toml")
    store = Store(house.service.store)
    people = People(store, house.service)
    tokens = {}
    for name, role in ACCOUNTS.items():
        if people.find(name) is None:
            tokens[name] = people.add(name, role, ["adult"])
        else:
            people.revoke(name)
            tokens[name] = people.token(name)
    store.close()
    return Demo(house, tokens)
