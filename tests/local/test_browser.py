"""The JavaScript client: the shared vectors in Node and in Chromium, bad plans, and its reports read in Python."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

from sfumato import Pure, domain, local
from sfumato.local.browser import FOLDER, MODULES, copy_client
from sfumato.local.plan import METHODS
from sfumato.local.vectors import SHIPPED, _plan_vector
from sfumato.papers.heavy_hitters.expander import expander_method

HERE = Path(__file__).parent / "browser"
FALSE_ALARM = 1e-7


class Quiet(SimpleHTTPRequestHandler):
    def guess_type(self, path):
        return "text/javascript" if str(path).endswith(".mjs") else super().guess_type(path)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    for name in ("check.mjs", "run.mjs", "page.html"):
        shutil.copyfile(HERE / name, folder / name)
    shutil.copyfile(SHIPPED, folder / "vectors.json")
    copy_client(folder / "client")
    return folder


@pytest.fixture(scope="module")
def node(site):
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed; apt-get install nodejs")

    def run(task, given):
        text = given if isinstance(given, str) else json.dumps(given)
        command = [program, str(site / "run.mjs"), task]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def saved(plan, tmp_path):
    return plan.save(tmp_path / "a.plan").read_text()


def check_answer(answer):
    vectors = json.loads(SHIPPED.read_text())
    assert answer["wrong"] == answer["items"] == []
    assert answer["plans"] == len(vectors["plans"])
    assert answer["reports"] == sum(len(one["reports"]) for one in vectors["plans"])


def test_the_vectors_in_node(node):
    check_answer(node("vectors", SHIPPED.read_text()))


def test_a_wrong_vector_is_seen(node):
    vectors = json.loads(SHIPPED.read_text())
    for one in vectors["plans"]:
        speaking = next(report for report in one["reports"] if report["coin"] != "0")
        speaking["report"] = speaking["report"][:-1] + ("1" if speaking["report"][-1] != "1" else "2")
    assert len(node("vectors", vectors)["wrong"]) == len(vectors["plans"])


def test_the_vectors_cover_every_method_and_kind_of_item():
    plans = [one["plan"] for one in json.loads(SHIPPED.read_text())["plans"]]
    assert {plan["method"]["kind"] for plan in plans} == set(METHODS)
    assert {plan["method"]["search"] for plan in plans if plan["method"]["kind"] == "tree"} == {
        "soft",
        "prefix",
        "treehist",
    }
    kinds = {"integer", "fixed", "category", "boolean", "date", "text", "bytes"}
    assert {plan["items"]["type"] for plan in plans} == kinds


@pytest.mark.audit
def test_the_vectors_in_chromium(site):
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("chromium is not installed; apt-get install chromium")

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=60000", "--dump-dom"]
            address = f"http://127.0.0.1:{server.server_address[1]}/page.html"
            done = subprocess.run([browser, *flags, address], capture_output=True, text=True, timeout=180, check=True)
        finally:
            server.shutdown()
            thread.join()
    found = re.search(r'<pre id="answer">(.*?)</pre>', done.stdout, re.DOTALL)
    answer = json.loads(html.unescape(found[1]))
    assert "HeadlessChrome" in answer["agent"]
    check_answer(answer)


def test_the_client_draws_from_the_cryptographic_source_only():
    text = "".join((FOLDER / name).read_text() for name in MODULES)
    assert text.count("getRandomValues(bytes)") == 1 and "Math.random" not in text
    outside = [name for name in re.findall(r'^import .* from "(.*)"', text, re.MULTILINE) if not name.startswith("./")]
    assert outside == [] and "require(" not in text


@pytest.mark.parametrize("bound", [1, 2, 7, 200, 257, 1000])
def test_uniform_draws_are_uniform(node, bound):
    counts = np.array(node("uniform", {"bound": bound, "draws": 40_000}))
    expected = counts.sum() / bound
    assert ((counts - expected) ** 2 / expected).sum() <= chi2.isf(FALSE_ALARM, max(1, bound - 1))


def test_the_law_of_the_reports(node, tmp_path):
    """Half of the noise would shift a third of the reports: far beyond this test's bound."""
    plan = local.plan(users=1000, spend=Pure(1), candidates=["red", "green", "blue"])
    for item, place in (("green", 1), ("pink", None)):
        made = node("reports", {"plan": saved(plan, tmp_path), "items": [[item, 20_000]]})
        server = plan.server()
        assert server.ingest(table(plan, made["reports"])) == 20_000
        chance = float(plan.method.oracle.chance)
        law = np.full(3, chance / 3) if place is not None else np.full(3, 1 / 3)
        if place is not None:
            law[place] += 1 - chance
        expected = 20_000 * law
        assert ((server.counts - expected) ** 2 / expected).sum() <= chi2.isf(FALSE_ALARM, 2)


def table(plan, reports):
    return np.frombuffer(bytes.fromhex(reports), dtype=np.uint8).reshape(-1, plan.report_bytes)


EXPANDER = expander_method(Pure(6), 30, 12_000, max_cells=1 << 17)


@pytest.mark.parametrize(
    ("method", "users"),
    [("prefix", 2400), *(pytest.param(one, 12_000, marks=pytest.mark.audit) for one in ("soft", EXPANDER))],
    ids=["prefix", "soft", "expander"],
)
def test_reports_of_the_browser_are_read_by_the_server(node, tmp_path, method, users):
    plan = local.plan(users=users, spend=Pure(6), items=domain.integers(0, 2**30 - 1), method=method)
    held = {123_456_789: users // 3, 2**30 - 1: users * 7 // 24}
    others = users * 7 // 24
    items = [*held.items(), *((1000 + 7919 * one, 1) for one in range(others)), ("no number", users // 12)]
    made = node("reports", {"plan": saved(plan, tmp_path), "items": items})
    server = plan.server()
    assert server.ingest(table(plan, made["reports"])) == users
    found = {item.value: item for item in server.popular()}
    # The draws are fresh in every run, and a plan lists an item that nobody holds one time in twenty.
    assert set(held) <= set(found) and len(found) <= len(held) + 4
    for value, count in held.items():
        assert abs(found[value].share - count / users) < 6 * found[value].error


def test_a_mean_of_the_browser_is_read_by_the_server(node, tmp_path):
    plan = local.plan(users=20_000, spend=Pure(2), numbers=domain.fixed(0, 60, step="0.5"))
    made = node("reports", {"plan": saved(plan, tmp_path), "items": [[12.5, 10_000], [30, 10_000]]})
    server = plan.server()
    server.ingest(table(plan, made["reports"]))
    assert abs(server.mean().value - 21.25) < 6 * server.mean().error


@pytest.mark.parametrize(
    "asked", [{"numbers": domain.integers(0, 99)}, {"items": domain.integers(0, 2**60)}, {"candidates": [10, 20, 30]}]
)
def test_a_float_that_is_a_whole_number_is_that_number_in_both(node, asked):
    """A column of whole numbers with gaps holds 30.0, which JavaScript cannot tell from 30."""
    plan = local.plan(users=60_000, spend=Pure(2), seed=bytes(32), **asked)
    floats = [30.0, -0.0, 10.0, 30.5, -1.0, 2.0**53 - 1, 2.0**53, 1e300]
    vector = _plan_vector(plan, floats)
    assert vector["codes"][0]["code"] == str(plan.items.code(30)) and vector["codes"][3]["code"] is None
    answer = node("vectors", {"plans": [vector]})
    assert answer["wrong"] == answer["items"] == [] and answer["reports"] == len(vector["reports"])


def test_damaged_plans_are_refused_with_a_sentence(node, tmp_path):
    plan = local.plan(users=60_000, spend=Pure(2), items=domain.text(max_bytes=4), seed=bytes(32))
    good = json.loads(saved(plan, tmp_path))

    def changed(**parts):
        return json.dumps({**{name: value for name, value in good.items() if name != "tag"}, **parts})

    oracle = good["method"]["oracle"]

    def weighing(weight):
        return changed(method={**good["method"], "oracle": {**oracle, "weight": weight}})

    cases = [
        (json.dumps(good), None),
        (changed(), None),
        (json.dumps({**good, "users": 61_000}), "changed after it was saved"),
        (weighing(str(int(oracle["weight"]) // 2)), "more than its spend"),
        (weighing("0"), "weight lies between"),
        (weighing(str(2**63)), "weight lies between"),
        (weighing(None), "weight lies between"),
        (changed(format=3), "format 3"),
        (changed(format=2), "says when it is valid"),
        (changed(epoch="may"), "says when it is valid"),
        (changed(format=2, not_after="2026-13-01"), "no days"),
        (changed(seed="00"), "seed is not 32 bytes"),
        (changed(method={"kind": "constructor"}), "constructor is unknown"),
        (changed(items={"type": "picture"}), "picture is unknown"),
        (changed(method={**good["method"], "oracle": {**oracle, "kind": "toString"}}), "unknown oracle"),
        (changed(method={**good["method"], "shares": [0] * len(good["method"]["shares"])}), "above zero"),
        (changed(items={"type": "text", "max_bytes": 10**9}), "at most 1024 bits"),
        (changed(items={"type": "text", "max_bytes": 5}), "levels grow"),
        (changed(method={**good["method"], "shares": good["method"]["shares"][:-1]}), "levels grow"),
        (changed(method={**good["method"], "oracle": {**oracle, "symbol_bits": 9}}), "symbol_bits lies"),
        (changed(method={**good["method"], "oracle": {**oracle, "table_bits": 60}}), "outcomes"),
        (changed(method={**good["method"], "oracle": {**oracle, "table_bits": "16"}}), "outcomes"),
        (changed(reports=2), "more than its spend"),
        (changed(reports=0), "above zero"),
        (changed(spend={**good["spend"], "epsilon": "many"}), "more than its spend"),
        ("", "no plan"),
        ("[]", "format"),
        ("null", "no plan"),
        ("{", "no plan"),
        (None, "as text"),
        (good, "as text"),
    ]
    answers = node("refusals", {"texts": [text for text, _ in cases], "options": {}})
    for (_, wanted), answer in zip(cases, answers, strict=True):
        assert (answer is None) if wanted is None else (wanted in answer and "Error" not in answer)
    listed = json.loads(saved(local.plan(users=1000, spend=Pure(1), candidates=["red", "green", "blue"]), tmp_path))
    del listed["tag"]
    listed["items"]["values"] += ["grey", "pink"]
    assert "a report that no other item has" in node("refusals", {"texts": [json.dumps(listed)], "options": {}})[0]
    few = node("refusals", {"texts": [json.dumps(good)] * 1, "options": {"mostEpsilon": 1.9}})
    assert "more than the 1.9" in few[0]
    assert node("refusals", {"texts": [json.dumps(good)], "options": {"mostEpsilon": 2}}) == [None]


def test_every_digest_is_that_of_python(node, tmp_path):
    """Names beyond ASCII, floats that JavaScript writes another way, and numbers that it cannot hold."""
    plans = [
        local.plan(users=1000, spend=Pure(1), candidates=["naïve", 'a"b\\', "\x7f\n", "😀"]),
        local.plan(users=10**6, spend=Pure("1/3"), items=domain.integers(-(2**80), 2**80), false_items=1e-7),
        local.plan(users=10**6, spend=Pure(4), items=domain.integers(0, 2**64 - 1), method="prefix", reports=2),
    ]
    texts = [saved(plan, tmp_path) for plan in plans]
    assert node("refusals", {"texts": texts, "options": {}}) == [None] * 3


def test_a_device_that_remembers_answers_each_plan_as_often_as_it_says(node, tmp_path):
    def plan(epsilon, reports, seed):
        items = domain.text(max_bytes=2)
        return local.plan(users=10**6, spend=Pure(epsilon), items=items, reports=reports, seed=bytes([seed] * 32))

    plans = [plan(4, 2, 1), plan(2, 1, 2), plan(4, 1, 3), plan(1, 1, 4), plan(1, 1, 5)]
    texts = [saved(one, tmp_path) for one in plans]
    size = plans[0].report_bytes
    answer = node("device", {"plans": [texts[0], *texts], "lifetime": 8})
    enough, empty = "all {} reports of this plan", "lifetime of this device is used up"
    wanted = [2, size, size, enough.format(2), 0, enough.format(2), 1, size, enough.format(1), 0, empty]
    wanted += [1, size, enough.format(1), 1, size, enough.format(1)]
    assert len(answer["told"]) == len(wanted)
    for told, want in zip(answer["told"], wanted, strict=True):
        assert told == want if isinstance(want, int) else want in told
    assert np.allclose(answer["spent"], [4, 2, 1, 1])


def test_a_damaged_memory_sends_nothing(node, tmp_path):
    text = saved(local.plan(users=1000, spend=Pure(1), candidates=["a", "b"]), tmp_path)
    wrong = ["", "{", "null", "[]", '{"format": 1}', '{"format": 1, "lifetime": 4, "plans": {"x": {"reports": -1}}}']
    for damage in wrong:
        told = node("device", {"plans": [text], "lifetime": 4, "damage": damage})["told"]
        assert len(told) == 1 and "damaged" in told[0]
    other = json.dumps({"format": 1, "lifetime": 5, "plans": {}})
    assert "fixed when" in node("device", {"plans": [text], "lifetime": 4, "damage": other})["told"][0]
