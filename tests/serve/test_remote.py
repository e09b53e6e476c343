"""The curator's methods over HTTP, beside the curator's own on the same ledger: the same answers, words and errors."""

from __future__ import annotations

import inspect
import sys
import time
from contextlib import contextmanager
from typing import Any

import pandas
import pytest

import sfumato as sf
from sfumato import Pure
from sfumato.curator import Curator
from sfumato.errors import AccuracyWarning, LedgerError, ParameterError, SfumatoError
from sfumato.learn import PrivateThreshold
from sfumato.learn.question import Learn
from sfumato.serve.jobs import Progress
from sfumato.serve.remote import Remote, _Line
from tests.serve.houses import Site

pytestmark = pytest.mark.filterwarnings(f"ignore::{AccuracyWarning.__module__}.{AccuracyWarning.__name__}")
STATEMENT = "SELECT sex, COUNT(*) AS n, AVG(age) FROM data GROUP BY sex"
ELSEWHERE = {"notes"}
"""What is said to whoever opens a file, which nobody does here."""


@pytest.fixture
def remote(site: Site, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Somebody's client, whose requests go to the application itself."""

    def of(who: str) -> Remote:
        return sf.connect("http://localhost", token=site.tokens[who], dataset="first")

    def send(line: _Line, method: str, path: str, body: Any, key: str | None) -> Any:
        headers = {"Authorization": f"Bearer {line._token}", **({"Idempotency-Key": key} if key else {})}
        reply = site.client.request(method, f"/api{path}", json=body, headers=headers)
        return reply.status_code, reply.headers, reply.content

    monkeypatch.setattr(_Line, "_send", send)
    return of


def front(site: Site) -> Curator:
    return site.client.app.state.desks["first"].front


def test_every_method_of_a_curator_is_had_or_refused_in_a_sentence(remote):
    missing = {name for name in dir(Curator) if not name.startswith("_")} - set(dir(remote("ana"))) - ELSEWHERE
    assert not missing


def test_what_is_left_out_means_the_same_here_and_there():
    for name, method in inspect.getmembers(Remote, inspect.isfunction):
        own = getattr(Curator, name, None)
        if own is None or name.startswith("_"):
            continue
        there = inspect.signature(own).parameters
        for word, given in inspect.signature(method).parameters.items():
            assert word not in there or there[word].default == given.default, (name, word)


def test_a_statement_is_explained_as_the_curator_explains_it(site, remote):
    ana = remote("ana")
    itself = STATEMENT.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.1)")
    for statement, spend in ((STATEMENT, Pure(0.1)), (itself, None)):
        wanted = front(site).explain(statement, spend, analyst="ana")
        assert ana.explain(statement, spend) == wanted == ana.sql(f"EXPLAIN {statement}", spend)
    with pytest.raises(ParameterError) as told:
        ana.explain(STATEMENT)
    with pytest.raises(ParameterError) as locally:
        front(site).explain(STATEMENT)
    assert str(told.value) == str(locally.value)
    with pytest.raises(SfumatoError, match="salary"):
        ana.explain("SELECT SUM(salary) FROM data", Pure(0.1))
    assert "is explained" in site.post("ana", "/api/datasets/first/explain", {"phrase": "count"}).json()["detail"]


def test_a_preview_says_how_wrong_an_answer_would_be(site, remote):
    ana, here = remote("ana"), front(site)
    for asked in (sf.Mean("age"), [sf.Count("age > 3"), sf.Histogram("sex")], sf.Quantiles("age", 0.5)):
        found, wanted = ana.preview(asked, Pure(0.01)), here.preview(asked, Pure(0.01), analyst="ana")
        assert (str(found), found.error, found.expected) == (str(wanted), wanted.error, wanted.expected)
        assert found.error and found.fits == wanted.fits


def test_a_poor_answer_is_warned_of_as_the_curator_warns(site, remote):
    asked, said = Learn("PrivateThreshold", "age", "sex"), []
    for curator, named in ((remote("ana"), {}), (front(site), {"analyst": "ana"})):
        with pytest.warns(AccuracyWarning) as told:
            curator.preview(asked, Pure(0.2), **named)
        said.append({str(one.message) for one in told})
    assert said[0] == said[1]


def test_a_learner_is_fitted_and_predicts(site, remote):
    learner = PrivateThreshold(spend=Pure(0.2))
    answer = remote("ana").learn(learner, features="age", target="sex")
    again = PrivateThreshold(spend=Pure(0.2))
    assert remote("ben").learn(again, features="age", target="sex").reused  # paid for once
    assert answer.loss == learner.loss_ and list(learner.classes_) == ["F", "M"]
    rows = pandas.DataFrame({"age": [20, 70]})
    assert (learner.predict(rows) == again.predict(rows)).all() and list(learner.feature_names_in_) == ["age"]
    with pytest.raises(ParameterError, match="leave domains= and noise= out"):
        remote("ana").learn(PrivateThreshold(spend=Pure(1), noise=sf.Noise()), features="age", target="sex")


def test_what_was_answered_is_found_by_its_request_by_its_owner(site, remote):
    ana, ben, cora = remote("ana"), remote("ben"), remote("cora")
    first = ana.ask(sf.Count("age > 41"), Pure(0.01), request="mine")
    several = ana.ask([sf.Count("age > 42"), sf.Mean("age")], Pure(0.02), request="two")
    shared = ben.ask(sf.Count("age > 41"), Pure(0.01), request="his")
    for found, wanted in ((ana.stored(first.request), first), (cora.stored(first.request), first)):
        assert found.reused and found.value == wanted.value and found.event == wanted.event
    assert [one.value for one in ana.stored("first:ana:two")] == [one.value for one in several]
    assert ana.stored(first.request).to_json()["released"] == front(site).stored(first.request).to_json()["released"]
    assert shared.reused and ben.stored("first:ben:his").value == first.value
    for request in ("first:ana:mine", "first:ana:none", "second:ben:his", "mine", "", 7):
        with pytest.raises(LedgerError, match="holds no answer"):
            ben.stored(request)  # whose answer his own shares is not told, either
    with pytest.raises(ParameterError, match="same request="):
        ana.refit(first.request)
    assert ana.answer_from_json(first.to_json()).value == first.value


def test_a_reviewers_package_is_fetched_whole(site, remote, tmp_path):
    otto = remote("otto")
    package, wanted = otto.evidence(), front(site).evidence()
    assert package.to_json()["guarantee"] == wanted.to_json()["guarantee"] and package.to_json()["verification"]["ok"]
    wanted.save(tmp_path / "wanted")
    package.save(tmp_path / "found")
    assert {one.name for one in (tmp_path / "found").iterdir()} == {one.name for one in (tmp_path / "wanted").iterdir()}
    with pytest.raises(ParameterError, match="exists already"):
        package.save(tmp_path / "found")
    with pytest.raises(ParameterError, match="what only you know"):
        otto.evidence({"purpose": "a test"})
    with pytest.raises(SfumatoError, match="Your role"):
        remote("ana").evidence()


def test_whoever_watches_a_terminal_sees_how_far_a_question_is(site, remote, monkeypatch):
    seen, jobs = [], site.client.app.state.jobs
    ana, send = remote("ana"), _Line._send

    def watching(*given):
        reply = send(*given)
        seen.append((given[2], reply[0], part[0]()))
        return reply

    part = []

    @contextmanager
    def watched(words, known):
        part.append(known)
        yield

    monkeypatch.setattr(_Line, "_send", watching)
    monkeypatch.setattr("sfumato.serve.remote.watched", watched)
    monkeypatch.setattr("sfumato.serve.remote.PATIENCE", 0.0)
    monkeypatch.setattr(jobs, "progress", lambda job: Progress("drawing", part=0.25))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(jobs.desks["first"], "ask", slowly(jobs.desks["first"].ask))
    assert ana.ask(sf.Count("age > 77"), Pure(0.01)).loss.person.epsilon <= 0.01
    (asked, status, _), *later = seen
    assert asked.endswith("/ask?patience=0") and status == 202 and later[-1][1:] == (200, 0.25)
    early = site.post("ana", "/api/datasets/first/ask?patience=-1", {"phrase": "count"})
    assert early.status_code == 422


def slowly(ask):
    def run(*given):
        time.sleep(0.3)
        return ask(*given)

    return run


def test_what_is_left_is_shared_as_the_curator_shares_it(site, remote):
    ana, here = remote("ana"), front(site)
    for part in (0.1, "1/3", 1):
        assert ana.share(part) == here.share(part)
    for part in (0, 2, "much", -1):
        with pytest.raises(SfumatoError) as told:
            ana.share(part)
        with pytest.raises(type(told.value)) as locally:
            here.share(part)
        assert str(told.value) == str(locally.value)


def test_a_report_reads_as_the_curators(site, remote):
    otto, here = remote("otto"), front(site)
    report, wanted = otto.report(), here.report()
    assert str(report) == wanted.text() and report.to_json() == wanted.to_json()
    assert report.html().lower().startswith("<!doctype html>") and report._repr_html_() == report.html()
    with pytest.raises(ParameterError, match="without answers"):
        otto.report({"membership": True})
    with pytest.raises(SfumatoError, match="Your role"):
        remote("ana").report()
