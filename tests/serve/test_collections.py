"""Collectors under a service: every process of it collects into the same place, and strangers are warned of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sfumato import local
from sfumato.cli import serving
from sfumato.errors import ParameterError
from tests.local.collecting import SMALL, batch, expected, reports
from tests.serve.houses import add_accounts, open_site, write_house

COLLECTION = """
[[collection]]
name = "words"
place = "collected"
plans = ["small.plan"]
"""
BINARY = {"Content-Type": "application/octet-stream"}


def house_with_words(folder: Path) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    SMALL.save(folder / "small.plan")
    return write_house(folder, more=COLLECTION)


def send(client: Any, number: int) -> int:
    return int(client.post("/collect/words/reports", content=batch(number), headers=BINARY).json()["accepted"])


def test_two_processes_of_a_service_collect_into_one_place(tmp_path):
    house = house_with_words(tmp_path)
    with local.Collector(tmp_path / "collected", SMALL) as alone:  # from before there was a service
        alone.add(batch(0), "binary")
    tokens = add_accounts(house)
    (first, _), (second, _) = open_site(house, tokens), open_site(house, tokens)
    with first, second:
        assert send(first, 1) == send(second, 2) == 50
        send(second, 1)  # the same reports again, at another process
    assert (local.read_collection(tmp_path / "collected").server.counts == expected(range(3))).all()


def test_shuffled_batches_are_taken_by_one_process(tmp_path):
    SMALL.save(tmp_path / "small.plan")
    house = write_house(tmp_path, more=COLLECTION + "shuffled = 50\n")
    client, _ = open_site(house, add_accounts(house))
    body = reports(50, plan=SMALL).tobytes()
    with client:
        told = [client.post("/collect/words/reports", content=body, headers=BINARY).json() for _ in range(2)]
        assert (told[0]["accepted"], told[1]["accepted"], told[1]["repeated_batches"]) == (50, 0, 1)
        assert send(client, 1) == 0
    # Refused before the store is asked whether several processes can share it.
    with pytest.raises(ParameterError, match="leave --workers out"):
        serving._run(tmp_path / "house.toml", None, None, 2)


def test_a_collection_that_anybody_may_send_to_is_warned_of(tmp_path, monkeypatch, capsys):
    house_with_words(tmp_path)
    monkeypatch.setattr("sfumato.serve.listening.listen", lambda *given, **options: None)
    monkeypatch.setattr("sfumato.serve.started._Path.set", lambda *given: None)  # it would outlive the test
    for host, warned in (("0.0.0.0", True), ("127.0.0.1", False)):
        serving._run(tmp_path / "house.toml", host, None, 1)
        assert ("made-up reports to words" in capsys.readouterr().err) == warned
