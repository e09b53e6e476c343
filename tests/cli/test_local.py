"""`sfumato local …`, from the plan to the list."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import local
from sfumato.cli.items import item_reader, read_domain
from sfumato.errors import ParameterError
from sfumato.local.collector.envelope import open_line
from tests.cli.conftest import Result, run


@pytest.fixture
def words(tmp_path: Path) -> Path:
    # Prefixes are decoded in no time.
    options = ["--items", "text(4)", "--method", "prefix", "--out", tmp_path / "words.plan"]
    made = run("local", "plan", "--users", 20000, "--spend", "Pure(6)", *options)
    assert made.code == 0, made.err
    lines = ["the"] * 6000 + ["of"] * 4000 + [f"w{place % 997}" for place in range(9000)] + ["far too long"] * 1000
    (tmp_path / "items.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


def listed(result: Result) -> list[str]:
    assert result.code == 0, result.err
    return [item["value"] for item in result.json["items"]]


def test_plan_says_what_will_be_found_and_why(tmp_path: Path) -> None:
    path = tmp_path / "a.plan"
    asked = ("local", "plan", "--users", 100000, "--spend", "Pure(4)", "--items", "integers(0, 65535)")
    shown = run(*asked, "--out", path)
    assert shown.code == 0 and "found with probability 90%" in shown.out and "No protocol can find" in shown.out
    assert 'Method "soft", chosen automatically' in shown.out
    assert json.loads(path.read_text())["why"] == local.read_plan(path).why != ""
    again = run(*asked, "--out", path)
    assert again.code == 2 and "not overwritten" in again.err
    record = run(*asked, "--wanted", "0.0001", "--json").json
    assert 0 < record["floor"] < record["detectable"] < 0.02 and record["plan"]["users"] == 100000
    assert (
        "no protocol can find a share below" in record["warnings"][0] and "plan for at least" in record["warnings"][0]
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--spend", "4", "--items", "text(8)"], "must be a bound"),
        (["--spend", "4", "--items", "text(8)"], "write for example Pure(4)."),
        (["--spend", "Pure(4)"], "Write one of --items, --candidates and --numbers"),
        (["--spend", "Pure(4)", "--items", "text(8)", "--numbers", "integers(0, 9)"], "Write one of --items"),
        (["--items", "text(8)"], "Write --spend"),
        (["--items", "text(8)", "--honest", "900", "--spend", "Pure(4)"], "--honest goes with --central"),
        (["--items", "text(8)", "--delta", "1e-8", "--spend", "Pure(4)"], "--delta goes with --honest"),
        (["--items", "text(8)", "--delta", "a", "--honest", "900", "--spend", "Pure(8)"], "'a' is none"),
        (["--items", "text(8)", "--central", "Pure(1)", "--honest", "900"], "Approximate(1, 1e-8)"),
        (["--spend", "Pure(4)", "--items", "words"], "must be a domain"),
        (["--spend", "Pure(4)", "--items", "text(x)"], "whole numbers"),
        (["--spend", "Pure(4)", "--items", "integers(3)"], "must be a domain"),
        (["--spend", "Pure(4)", "--items", "text(8)", "--method", "guess"], "method is one of"),
        (["--spend", "Pure(0.1)", "--items", "text(24)"], "plan for at least"),
        (["--spend", "Pure(1)", "--numbers", "fixed(0, 60, 0.5)", "--wanted", "0.1"], "a mean has none"),
        (["--spend", "Pure(1)", "--candidates", "none.txt"], "none.txt"),
    ],
)
def test_plan_refuses_with_one_sentence(wrong: list[str], said: str) -> None:
    found = run("local", "plan", "--users", "1000", *wrong)
    assert found.code == 2 and said in found.err and found.err.count("\n") == 1, found.err


@pytest.mark.audit
def test_items_go_all_the_way_to_the_list(words: Path) -> None:
    reports, collected = words / "day1.jsonl", words / "collected"
    assert run("local", "randomize", words / "words.plan", words / "items.txt", "--out", reports).code == 0
    assert len(reports.read_bytes().splitlines()) == 20000
    added = run("local", "collect", collected, reports, "--plan", words / "words.plan", "--json").json
    assert added["added"]["accepted"] == added["total"]["accepted"] == 20000
    again = run("local", "collect", collected, reports)
    assert again.code == 0 and "1 batch had been counted before" in again.out and "20000 reports accepted" in again.out
    picture, page, sketch = words / "a.svg", words / "a.html", words / "a.sketch"
    found = run("local", "decode", collected, "--plot", picture, "--html", page, "--save", sketch, "--json")
    assert listed(found) == ["the", "of"]
    item = found.json["items"][0]
    width = item["high"] - item["low"]  # three times an interval of 95 %, which is missed once in 20 runs
    assert item["low"] - width < 0.3 < item["high"] + width and found.json["intake"]["accepted"] == 20000
    assert (
        "<svg" in picture.read_text() and "the" in page.read_text() and "http" not in page.read_text().split("<svg")[0]
    )
    text = run("local", "decode", sketch)
    assert text.code == 0 and "Popular items" in text.out and "20000 reports accepted" in text.out
    # Two collections with a common file: its reports count once. Sketches hold no ids: they are not mixed with others.
    other = words / "other"
    assert run("local", "collect", other, reports, "--plan", words / "words.plan").code == 0
    assert run("local", "decode", collected, other, "--json").json["intake"]["accepted"] == 20000
    assert "would count twice" in run("local", "decode", collected, sketch, "--json").err
    pairs = [open_line(line) for line in reports.read_bytes().splitlines()]
    table = {"id": [pair[0] for pair in pairs if pair], "report": [pair[1] for pair in pairs if pair]}
    pq.write_table(pa.table(table), words / "a.parquet")
    stored = run("local", "decode", words / "a.parquet", "--plan", words / "words.plan", "--json")
    assert stored.json["items"] == found.json["items"]
    assert "add --plan" in run("local", "decode", words / "a.parquet").err


@pytest.mark.audit
def test_a_public_list_is_read_from_the_same_reports(words: Path) -> None:
    reports, sketch = words / "day1.bin", words / "a.sketch"
    options = ["--format", "reports", "--out", reports]
    assert run("local", "randomize", words / "words.plan", words / "items.txt", *options).code == 0
    plan = local.read_plan(words / "words.plan")
    server = plan.server()
    data = reports.read_bytes()
    assert (
        server.ingest(data[place : place + plan.report_bytes] for place in range(0, len(data), plan.report_bytes))
        == 20000
    )
    server.save(sketch)
    (words / "list.txt").write_text("of\nno\n")
    found = run("local", "decode", sketch, "--estimate", words / "list.txt", "--json")
    assert listed(found) == ["of", "no"] and found.json["items"][0]["low"] < 0.2 < found.json["items"][0]["high"]
    (words / "long.txt").write_text("of\nfar too long\n")
    popular = run("local", "decode", sketch, "--candidates", words / "long.txt")
    assert popular.code == 0 and "the" in popular.out and "1 of the candidates fit no report" in popular.out
    refused = run("local", "decode", sketch, "--estimate", words / "long.txt")
    assert refused.code == 2 and "Line 2 of 'long.txt'" in refused.err
    both = run("local", "decode", sketch, "--estimate", words / "list.txt", "--candidates", words / "list.txt")
    assert both.code == 2 and "write one of them" in both.err


def test_a_plan_for_long_items_says_that_it_may_be_too_hopeful() -> None:
    asked = ("local", "plan", "--users", 100000, "--spend", "Pure(4)", "--items")
    long, short = run(*asked, "text(24)").out, run(*asked, "text(12)").out
    assert "too hopeful" in long and "too hopeful" not in short
    assert "among rivals" in short and "among rivals" not in long
    assert "no theorem" in long and "guarantees" not in long + short


def test_a_plan_says_what_a_public_list_finds(tmp_path: Path) -> None:
    asked = ("local", "plan", "--users", 100000, "--spend", "Pure(4)", "--items", "integers(0, 65535)")
    record = run(*asked, "--json").json
    assert 0 < record["detectable_listed"]["share"] < record["detectable"]
    assert f"a public list of 1000 that is given at reading, one of {record['detectable_listed']['share']:.3%}" in run(
        *asked
    ).out.replace("\n", " ")
    (tmp_path / "list.txt").write_text("red\ngreen\n")
    options = ("local", "plan", "--users", 1000, "--spend", "Pure(4)", "--candidates", tmp_path / "list.txt")
    assert "public list" not in run(*options).out and run(*options, "--json").json["detectable_listed"] is None


def test_streams_in_other_formats(words: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def piped(data: bytes, *arguments: object) -> bytes:
        command = [sys.executable, "-m", "sfumato.cli", "local", *map(str, arguments)]
        done = subprocess.run(command, input=data, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    reports = piped(b"the\n" * 500, "randomize", words / "words.plan", "--format", "binary")
    said = json.loads(
        piped(
            reports + b"x", "collect", words / "c", "-", "--plan", words / "words.plan", "--format", "binary", "--json"
        )
    )
    assert said["added"]["accepted"] == 500 and said["added"]["refused"]["envelope"] == 1

    def fed(data: bytes, *options: str) -> int:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        from sfumato.local.collector import files

        assert not files._is_waiting_stream(sys.stdin.buffer)
        from sfumato.cli.local import collect

        collect(words / "d", ["-"], plan=words / "words.plan", format="reports", ids=False, batch=options[0])
        return local.read_collection(words / "d").intake.accepted

    plain = b"".join(reports[place + 16 : place + 16 + 8] for place in range(0, len(reports), 24))
    assert (fed(plain, "monday"), fed(plain, "monday"), fed(plain, "tuesday")) == (500, 500, 1000)


@pytest.mark.audit
def test_simulate_compares_with_the_truth(words: Path) -> None:
    found = run("local", "simulate", words / "words.plan", words / "items.txt", "--seed", 3, "--json").json
    assert [(item["value"], item["truth"]) for item in found["items"]] == [("the", 0.3), ("of", 0.2)]
    assert found["devices"] == 20000 and found["missed"][0]["truth"] < found["detectable"]
    (words / "counts.tsv").write_text("the\t6000\nof\t4000\nrare\t10000\n")
    shown = run("local", "simulate", words / "words.plan", words / "counts.tsv", "--counted", "--seed", 3)
    assert shown.code == 0 and "rare" in shown.out and "0 items of" in shown.out
    wrong = run("local", "simulate", words / "words.plan", words / "items.txt", "--counted")
    assert wrong.code == 2 and "Line 1 is no item" in wrong.err
    (words / "empty.txt").write_text("")
    assert "no items" in run("local", "simulate", words / "words.plan", words / "empty.txt").err
    assert "no file" in run("local", "simulate", words / "words.plan", words / "missing.txt").err


def test_lists_and_means(tmp_path: Path) -> None:
    (tmp_path / "colours.txt").write_text("red\ngreen\nblue\n")
    (tmp_path / "items.txt").write_text("red\n" * 3000 + "blue\n" * 2000)
    plan = tmp_path / "a.plan"
    assert (
        run(
            "local",
            "plan",
            "--users",
            5000,
            "--spend",
            "Pure(3)",
            "--candidates",
            tmp_path / "colours.txt",
            "--out",
            plan,
        ).code
        == 0
    )
    shares = run("local", "simulate", plan, tmp_path / "items.txt", "--seed", 1, "--json").json
    assert [item["value"] for item in shares["items"]] == ["red", "green", "blue"] and shares["kind"] == "shares"
    assert shares["unfit"] == 0
    shown = run("local", "simulate", plan, tmp_path / "items.txt", "--seed", 1).out
    assert "low" in shown and "of 3 intervals, of 95 % each, hold the truth" in shown
    (tmp_path / "odd.txt").write_text("red\n" * 3000 + "https://a.org\n" * 1000)
    odd = run("local", "simulate", plan, tmp_path / "odd.txt", "--seed", 1)
    assert (
        "1000 devices (25.000%) hold what is not on the plan's list" in odd.out and "https://a.org (25.000%)" in odd.out
    )
    assert 'add a candidate "other"' in odd.out and "horten" not in odd.out
    (tmp_path / "numbers.txt").write_text("12.5\n" * 3000 + "x\n")
    plan = tmp_path / "b.plan"
    assert (
        run(
            "local", "plan", "--users", 3000, "--spend", "Pure(3)", "--numbers", "fixed(0, 60, 0.5)", "--out", plan
        ).code
        == 0
    )
    shown = run("local", "simulate", plan, tmp_path / "numbers.txt", "--seed", 1).out
    assert "In truth the mean of the numbers that fit is 12.5" in shown and "the interval holds it" in shown
    assert "1 device (0.033%) holds what does not fit the plan and sent noise, which counts as 30" in shown
    record = run("local", "simulate", plan, tmp_path / "numbers.txt", "--seed", 1, "--json").json
    assert record["truth"] == 12.5 and record["unfit"] == 1 and record["low"] < 12.5 < record["high"]
    (tmp_path / "texts.txt").write_text("a\nb\n")
    assert "No number fits the plan" in run("local", "simulate", plan, tmp_path / "texts.txt").out
    run("local", "randomize", plan, tmp_path / "numbers.txt", "--out", tmp_path / "r.jsonl")
    run("local", "collect", tmp_path / "c", tmp_path / "r.jsonl", "--plan", plan)
    mean = run("local", "decode", tmp_path / "c", "--json").json
    assert mean["kind"] == "mean" and mean["low"] - 3 < 12.5 < mean["high"] + 3
    assert "The mean is" in run("local", "decode", tmp_path / "c").out
    assert "one number" in run("local", "decode", tmp_path / "c", "--plot", tmp_path / "a.svg").err


def test_decode_refuses_what_it_cannot_read(words: Path) -> None:
    (words / "junk").write_text("junk")
    assert "no sketch" in run("local", "decode", words / "junk").err
    assert "no collection, sketch" in run("local", "decode", words / "nothing").err
    assert "does not end in" in run("local", "decode", words / "junk", "--plot", words / "a.gif").err
    assert "give the plan" in run("local", "collect", words / "new", words / "items.txt").err
    assert (
        "json, binary, reports"
        in run("local", "randomize", words / "words.plan", words / "items.txt", "--format", "xml").err
    )
    empty = words / "empty"
    local.Collector(empty, local.read_plan(words / "words.plan")).close()
    assert "No report was accepted yet" in run("local", "decode", empty).out
    assert "between 0 and 1" in run("local", "decode", empty, "--false-items", 2).err


def test_domains_and_items_are_read_without_evaluating() -> None:
    assert read_domain("bytes(3)", "--items").to_json()["max_bytes"] == 3
    assert len(read_domain("dates(2020-01-01, 2020-01-31)", "--items").present or ()) == 31
    for wrong in ("text", "text()", "text(1, 2)", "open('x')", "integers(1.5, 3)"):
        with pytest.raises(ParameterError):
            read_domain(wrong, "--items")
    assert item_reader(read_domain("integers(0, 9)", "--items"))("7") == 7
    assert item_reader(read_domain("bytes(3)", "--items"))("é") == "é".encode()
    assert item_reader(read_domain("fixed(0, 1, 0.5)", "--items"))("0.5") == 0.5
    assert item_reader(read_domain("integers(0, 9)", "--items"))("seven") == "seven"


def test_serve_says_where_it_listens_once_it_does(tmp_path: Path) -> None:
    made = run("local", "plan", "--users", 1000, "--spend", "Pure(4)", "--items", "text(2)", "--out", tmp_path / "plan")
    assert made.code == 0, made.err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        asked = [sys.executable, "-m", "sfumato.cli", "local", "serve", str(tmp_path / "collected")]
        asked += ["--plan", str(tmp_path / "plan"), "--port", str(port)]
        # A port that is taken is announced by nobody.
        taken.listen()
        refused = subprocess.run(asked, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        assert refused.returncode != 0 and "Listening" not in refused.stderr
    with subprocess.Popen(asked, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            assert process.stderr.readline().startswith(f"Listening at http://127.0.0.1:{port} for reports")
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        finally:
            process.terminate()


def test_a_plan_is_made_for_a_central_bound(tmp_path: Path) -> None:
    asked = ("local", "plan", "--users", 100000, "--items", "integers(0, 65535)", "--honest", 80000)
    made = run(*asked, "--central", "Approximate(1, 1e-8)")
    assert made.code == 0 and "shuffled among 80000 honest devices" in made.out.replace("\n", " "), made.err
    assert "collect them with --shuffled 80000" in made.out and "at delta 1e-8" in made.out
    both = run(*asked, "--central", "Approximate(1, 1e-8)", "--delta", "1e-8")
    assert both.code == 2 and "says its own delta" in both.err


def test_what_a_relay_adds_is_said_and_its_batches_are_collected(tmp_path: Path) -> None:
    asked = ("local", "plan", "--users", 1000, "--spend", "Pure(1)", "--candidates", tmp_path / "colours.txt")
    (tmp_path / "colours.txt").write_text("red\ngreen\n")
    plan = tmp_path / "a.plan"
    said = run(*asked, "--honest", 900, "--delta", "1e-6", "--out", plan, "--json").json["shuffled"]
    stated = local.read_plan(plan).shuffled(900, "1e-6")
    assert said == {"honest": 900, **stated.to_json()} and stated.epsilon < 0.3
    reports = local.read_plan(plan).client().reports(["red"] * 950)
    (tmp_path / "day.bin").write_bytes(reports.tobytes())
    collect = ("local", "collect", tmp_path / "c", tmp_path / "day.bin", "--format", "reports", "--shuffled", 900)
    assert run(*collect, "--plan", plan, "--json").json["added"]["accepted"] == 950
    assert run(*collect, "--json").json["added"]["accepted"] == 0
    assert "write the same" in run(*collect[:-2]).err


def test_a_collection_that_refuses_everything_ends_with_3_and_says_why(tmp_path: Path) -> None:
    def plan(name: str, *, users: int) -> Path:
        path = tmp_path / f"{name}.plan"
        made = run("local", "plan", "--users", users, "--spend", "Pure(1)", "--candidates", listed_at, "--out", path)
        assert made.code == 0, made.err
        return path

    (listed_at := tmp_path / "colours.txt").write_text("red\ngreen\n")
    (tmp_path / "held.txt").write_text("red\n" * 500)
    mine, other = plan("mine", users=1000), plan("other", users=9999)
    files = {kind: tmp_path / f"day.{kind}" for kind in ("json", "reports", "strange")}
    for kind, made in (("json", mine), ("reports", mine), ("strange", other)):
        form = "reports" if kind == "strange" else kind
        assert run("local", "randomize", made, tmp_path / "held.txt", "--out", files[kind], "--format", form).code == 0
    (tmp_path / "bare.jsonl").write_text('{"report":"AAAA"}\n' * 5)
    cases = [
        (files["json"], ["--shuffled", 400], "A shuffled batch has no ids: write it with `sfumato local randomize"),
        (tmp_path / "bare.jsonl", ["--shuffled", 4], "A shuffled batch has no ids"),
        (files["reports"], ["--shuffled", 800], "This batch holds 500 reports; --shuffled asks for 800."),
        (files["strange"], ["--shuffled", 400, "--format", "reports"], "Of the 500 reports of this batch fewer than"),
        (files["reports"], [], "These reports have no ids"),
        (files["strange"], ["--no-ids", "--format", "reports"], "No report is of the plan of this collection"),
        (tmp_path / "bare.jsonl", [], "Nothing in it is an envelope"),
    ]
    for number, (file, options, said) in enumerate(cases):
        found = run("local", "collect", tmp_path / str(number), file, "--plan", mine, *options)
        assert found.code == 3 and "No report was accepted. " + said in found.err, (said, found.err)
        assert "0 reports accepted" in found.out
    # What was counted before, and a day without reports, are nothing wrong.
    whole = ("local", "collect", tmp_path / "whole", files["reports"], "--plan", mine, "--shuffled", 400)
    assert run(*whole).code == run(*whole).code == 0
    (tmp_path / "none.jsonl").write_text("")
    assert run("local", "collect", tmp_path / "empty", tmp_path / "none.jsonl", "--plan", mine).code == 0


def test_lists_and_places_that_are_wrong_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "twice.txt").write_text("red\ngreen\nred\n")
    asked = ("local", "plan", "--users", 1000, "--spend", "Pure(4)", "--candidates")
    assert "'empty.txt' holds no candidates; write one a line" in run(*asked, tmp_path / "empty.txt").err
    assert "'red' is listed twice, at place 1 and at place 3" in run(*asked, tmp_path / "twice.txt").err
    (tmp_path / "a.plan").write_text("{}")
    wrong = run("local", "decode", tmp_path / "a.plan")
    assert wrong.code == 2 and "sfumato local collect" in wrong.err and "Server.save" not in wrong.err


def test_help_names_what_there_is() -> None:
    assert "python -m" not in run("local", "collect", "--help").out
    said = " ".join(run("local", "plan", "--help").out.split())
    assert "fixed(" in said and "dates(" in said


@pytest.mark.audit
def test_a_long_decoding_says_so_where_it_is_piped(words: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.show.progress.PATIENCE", 0.0)
    shown = run("local", "simulate", words / "words.plan", words / "items.txt", "--seed", 1, "--json")
    assert shown.err.startswith("Decoding; a search") and shown.err.count("\n") == 1 and shown.json["items"]
