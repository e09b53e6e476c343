"""`sfumato local …` in plain words: what is refused says what is true and what to write, and nothing is said in vain."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato import Noise, Pure, domain, local
from sfumato.cli.decoding import DECODING, patience
from tests.cli.conftest import run

LISTED = local.plan(users=1000, spend=Pure(4), candidates=["dark", "light", ""], seed=bytes(32))
MEAN = local.plan(users=4, spend=Pure(8), numbers=domain.fixed(0, 60, step="0.5"), seed=bytes(32))
SEARCH = local.plan(users=20_000, spend=Pure(4), items=domain.text(max_bytes=2), method="prefix", seed=bytes(32))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    server = LISTED.server()
    server.ingest(LISTED.client().reports(["dark"] * 900 + [""] * 100, Noise(insecure_seed=1)))
    server.save(tmp_path / "a.sketch")
    MEAN.server().save(tmp_path / "mean.sketch")
    MEAN.save(tmp_path / "num.plan")
    (tmp_path / "some.txt").write_text("light\n")
    return tmp_path


def test_a_list_of_its_own_refuses_candidates_and_takes_estimate(place: Path) -> None:
    said = run("local", "decode", place / "a.sketch", "--candidates", place / "some.txt")
    assert said.code == 2 and "name some items of the plan's list with --estimate" in said.err
    found = run("local", "decode", place / "a.sketch", "--estimate", place / "some.txt", "--json")
    assert [item["value"] for item in found.json["items"]] == ["light"]
    for option in ("--candidates", "--estimate"):
        said = run("local", "decode", place / "mean.sketch", option, place / "some.txt")
        assert said.code == 2 and "asks for a mean, which has none; leave them out" in said.err


def test_a_plan_among_the_places_is_called_a_plan(place: Path) -> None:
    local.Collector(place / "coll", LISTED).close()
    for places in (["coll", "num.plan"], ["num.plan"], ["a.sketch", "num.plan"]):
        said = run("local", "decode", *(place / name for name in places))
        assert said.code == 2 and "'num.plan' is a plan, not a collection or a sketch" in said.err, places
    (place / "reports.jsonl").write_bytes(local.envelopes(LISTED.client().reports(["dark"])))
    said = run("local", "decode", place / "reports.jsonl")
    assert said.code == 2 and "holds reports that were not collected yet" in said.err


def test_only_a_search_is_said_to_take_long() -> None:
    assert patience(SEARCH) == DECODING and not patience(SEARCH, Path("some.txt"))
    assert not patience(LISTED) and not patience(MEAN)


def test_a_plan_that_no_device_answers_is_told_when_it_is_made(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("a\nb\n")
    asked = ("local", "plan", "--users", 1000, "--candidates", tmp_path / "list.txt")
    dear = run(*asked, "--spend", "Pure(12)").out
    assert "Warning: A device spends at most epsilon 8 on one plan, and this one takes 12" in dear
    assert "plan with at most Pure(8)" in dear and "100.0 %" not in dear
    assert "may be all but certain of it after" in dear and "at most 1 user." in dear
    fine = run(*asked, "--spend", "Pure(4)").out
    assert "Warning" not in fine and "is right at most 98.3 % of the time" in fine


def test_numbers_are_told_as_they_are_typed(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("a\nb\n")
    asked = ("local", "plan", "--spend", "Pure(4)", "--candidates", tmp_path / "list.txt")
    for typed, example in [("150,000", "150000"), ("150.000", "150000"), ("many", "150000"), ("1.5", "150000")]:
        said = run(*asked, "--users", typed)
        assert said.code == 2 and f"write --users {example}." in said.err, typed
    assert run(*asked, "--users", "150000", "--wanted", "5%").code == 0
    assert "0.5 % is wanted" in run(*asked, "--users", 20, "--wanted", "0.5%").out
    for typed in ("0.5 percent", "half", "0", "120%", "5%%"):
        said = run(*asked, "--users", "150000", "--wanted", typed)
        assert said.code == 2 and "write for example 0.005 or 0.5%" in said.err, typed


def test_a_file_of_no_known_ending_names_the_option(place: Path) -> None:
    (place / "a.bin").write_bytes(b"")
    LISTED.save(place / "a.plan")
    said = run("local", "collect", place / "c", place / "a.bin", "--plan", place / "a.plan")
    assert said.code == 2 and "--format" in said.err and "json, binary or reports" in said.err


def test_reports_of_another_plan_are_told_so(place: Path) -> None:
    (place / "b.jsonl").write_bytes(local.envelopes(SEARCH.client().reports(["a", "b"])))
    LISTED.save(place / "a.plan")
    said = run("local", "collect", place / "c", place / "b.jsonl", "--plan", place / "a.plan")
    assert "2 refused (length 2). What has another length or plan is perhaps of another plan." in said.out


def test_an_empty_item_has_a_name_to_read(place: Path) -> None:
    shown = run("local", "decode", place / "a.sketch")
    assert "(empty)" in shown.out
    assert run("local", "decode", place / "a.sketch", "--json").json["items"][2]["value"] == ""


def test_a_true_mean_has_its_digits(place: Path) -> None:
    (place / "nums.txt").write_text("12.5\n20\n30.5\n22\n")
    shown = run("local", "simulate", place / "num.plan", place / "nums.txt", "--seed", 1).out
    assert "the mean of the numbers that fit is 21.25:" in shown
