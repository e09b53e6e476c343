"""The pages, as a browser without JavaScript sees them: sessions, forms, and nothing from elsewhere."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urlencode

import pytest

from sfumato.errors import ParameterError
from sfumato.serve.identity import COOKIE, MOST_ATTEMPTS
from sfumato.serve.pages.ways import in_all_ways
from tests.serve.houses import SCHEMA, add_accounts, open_site, write_house


def test_signing_in_and_out(site):
    browser = site.browser()
    assert browser.page("/").headers["location"] == "/sign-in"
    assert browser.client.post("/sign-in", data={"token": site.tokens["ana"]}).status_code == 403  # no field
    assert browser.sign_in("sfm_00_00").status_code == 401
    entered = browser.sign_in(site.tokens["ana"])
    cookie = next(value for value in entered.headers.get_list("set-cookie") if value.startswith(COOKIE))
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and site.tokens["ana"] not in cookie
    assert "ana" in browser.page("/").text and browser.page("/sign-in").headers["location"] == "/"
    kept = browser.client.cookies[COOKIE]
    assert browser.send("/sign-out", {}).headers["location"] == "/sign-in"
    stolen = site.browser()
    stolen.client.cookies.set(COOKIE, kept)
    assert stolen.page("/").headers["location"] == "/sign-in"  # a copy of the cookie is worth nothing


def test_sessions_end_with_their_token_and_with_time(tmp_path):
    house = write_house(tmp_path)
    client, site = open_site(house, add_accounts(house))
    with client:
        people = client.app.state.people
        browser, other = site.browser("ana"), site.browser("ben")
        people.revoke("ana")
        assert browser.page("/").status_code == 303 and other.page("/").status_code == 200
        assert site.get("ana", "/api/me").status_code == 401
        real = people.clock
        people.clock = lambda: real() + house.service.idle_minutes * 60 + 1
        assert other.page("/").status_code == 303
        people.clock = lambda: real() + house.service.token_days * 86400 + 1
        assert site.get("ben", "/api/me").status_code == 401


def test_too_many_attempts_have_to_wait(tmp_path):
    house = write_house(tmp_path)
    client, site = open_site(house, add_accounts(house))
    with client:
        browser = site.browser()
        found = [browser.sign_in(f"sfm_{number}_x").status_code for number in range(MOST_ATTEMPTS + 1)]
        assert found == [401] * MOST_ATTEMPTS + [429]
        assert browser.sign_in(site.tokens["ana"]).status_code == 429  # not even with the right one
        people = client.app.state.people
        real = people.clock
        people.clock = lambda: real() + 301
        assert browser.sign_in(site.tokens["ana"]).status_code == 303


def test_an_analyst_asks_and_finds_the_answer_again(site):
    browser = site.browser("ana")
    page = browser.page("/d/first").text
    assert "What is promised to each person" in page and "Pure(4)" in page
    asked = "/d/first/ask?way=build&what=mean&column=age&by=sex&where=age+>+20&spend=Pure(0.1)"
    looked = browser.page(asked).text
    assert "Before you pay" in looked and "epsilon 0.1" in looked and 'class="curve"' in looked
    assert "mean of age by sex where age &gt; 20" in looked
    assert "Nobody" not in browser.page("/d/first/ask/rehearse" + asked[len("/d/first/ask") :]).text
    fields = {"way": "build", "what": "mean", "column": "age", "by": "sex", "spend": "Pure(0.1)", "key": "once"}
    sent = [browser.send("/d/first/ask", fields, "/d/first/ask").headers["location"] for _ in "12"]
    went = browser.send("/d/first/ask/look", fields, "/d/first/ask").headers["location"]
    assert went.startswith("/d/first/ask?way=build&what=mean") and "token" not in went and "key" not in went
    assert "Before you pay" in browser.send("/d/first/ask/foreseen", fields, "/d/first/ask").text
    played = browser.send("/d/first/ask/look", {**fields, "then": "rehearse"}, "/d/first/ask").headers["location"]
    assert "On made-up rows" in browser.page(played).text
    assert sent[0] == sent[1]  # pressed twice, asked once
    answer = browser.page(sent[0]).text
    assert "95 % interval" in answer and "How to cite it" in answer and "adult" not in answer
    assert sent[0] in browser.page("/d/first/history").text
    picture = re.search(r'<img src="([^"]+)"', answer)
    assert picture and browser.page(picture[1]).status_code == 200


def test_an_answer_in_sql_is_headed_by_its_statement(site):
    browser = site.browser("ana")
    fields = {"way": "sql", "sql": "SELECT sex,\n  COUNT(*) AS n\nFROM data GROUP BY sex", "spend": "Pure(0.05)"}
    looked = browser.page(f"/d/first/ask?{urlencode(fields)}").text
    assert "error of count<" in looked and looked.count('class="point') == 5 and "Half of the time" in looked
    stated = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.05) COUNT(*) AS n FROM data WHERE age > 9"
    itself = browser.page(f"/d/first/ask?{urlencode({'way': 'sql', 'sql': stated})}&spend=").text
    assert "Before you pay" in itself and 'class="curve"' not in itself  # it says itself what it spends
    place = browser.send("/d/first/ask", {**fields, "key": "headed"}, "/d/first/ask").headers["location"]
    page = browser.page(place).text
    assert "<h1>SELECT sex, COUNT(*) AS n FROM data GROUP BY sex</h1>" in page
    assert "Statement in SQL" not in page and "SELECT sex, COUNT(*)" in page.split("How to cite it")[1]


def test_a_refusal_and_a_mistake_are_the_same_sentence_on_a_page(site):
    browser = site.browser("ana")
    wrong = browser.page("/d/first/ask?way=phrase&phrase=mean+of+salary&spend=Pure(0.1)")
    assert wrong.status_code == 200 and "There is no column" in wrong.text
    fields = {"way": "phrase", "phrase": "mean of salary", "spend": "Pure(0.1)", "key": "bad"}
    sent = browser.send("/d/first/ask", fields, "/d/first/ask")
    assert sent.status_code == 422 and "There is no column" in sent.text and "<html" in sent.text
    missing = browser.page("/d/second")
    assert missing.status_code == 404 and "<html" in missing.text


def test_a_curator_approves_adds_people_and_lowers_quotas(site):
    ana, cora = site.browser("ana"), site.browser("cora")
    fields = {"way": "phrase", "phrase": "count where age > 61", "spend": "Pure(1.5)", "key": "large"}
    place = ana.send("/d/first/ask", fields, "/d/first/ask").headers["location"]
    waiting = ana.page(place)
    assert "waiting" in waiting.text and '<noscript><meta http-equiv="refresh" content="3">' in waiting.text
    assert f"/api/datasets/first/jobs/{place.rpartition('/')[2]}/events" in waiting.text
    desk = cora.page("/d/first/desk").text
    job = place.rpartition("/")[2]
    assert job in desk and "epsilon 1.5" in desk
    assert cora.send(f"/d/first/desk/{job}", {"decision": "approve"}).status_code == 303
    site.ask("ana", "count where age > 5", "Pure(0.01)")  # waits behind it
    assert "95 % interval" in ana.page(place).text
    added = cora.send("/people", {"name": "nina", "role": "analyst", "dataset": "first"}, "/people")
    token = re.search(r'class="token">([^<]+)<', added.text)[1]
    assert site.browser().sign_in(token).status_code == 303
    assert token not in cora.page("/people").text
    assert cora.send("/people/nina/revoke", {}, "/people").status_code == 303
    assert site.browser().sign_in(token).status_code == 401
    assert cora.send("/d/first/quotas", {"name": "ben", "bound": "Pure(0.5)"}, "/d/first/desk").status_code == 303
    assert "lowered to Pure(0.5)" in cora.page("/d/first/desk").text


def test_a_question_that_cannot_be_asked_any_more_does_not_shut_the_desk(site, monkeypatch):
    job = site.ask("ana", "count where age > 62", "Pure(1.25)").json()["job"]
    desk = site.client.app.state.desks["first"]

    def gone(form):
        raise ParameterError("There is no column 'age'.")

    monkeypatch.setattr(desk, "meant", gone)
    page = site.browser("cora").page("/d/first/desk")
    assert page.status_code == 200 and "cannot be asked any more: There is no column" in page.text and job in page.text
    monkeypatch.undo()
    assert site.post("cora", f"/api/datasets/first/approvals/{job}", {"approve": False}).status_code == 200


def test_an_auditor_verifies_and_takes_the_evidence(site):
    browser = site.browser("otto")
    page = browser.page("/d/first/audit").text
    assert "What is guaranteed" in page
    checked = browser.send("/d/first/audit", {"head": ""}, "/d/first/audit").text
    assert "Everything was worked out again and agrees" in checked
    wrong = browser.send("/d/first/audit", {"head": "3:" + "0" * 64}, "/d/first/audit").text
    assert 'class="wrong"' in wrong
    assert browser.page("/api/datasets/first/evidence.zip").content[:2] == b"PK"
    assert browser.page("/api/datasets/first/report.html").status_code == 200
    assert browser.page("/d/first/ask").status_code == 403


def test_synthetic_data_from_the_page(site):
    browser = site.browser("ben")
    page = browser.page("/d/first/synthetic?columns=age&columns=sex&spend=Pure(0.4)").text
    phrase = re.search(r'name="phrase" value="([^"]+)"', page)[1].replace("&#34;", '"')
    fields = {"way": "phrase", "phrase": phrase, "spend": "Pure(0.4)", "key": "synth"}
    place = browser.send("/d/first/ask", fields).headers["location"]
    site.ask("ben", "count where age > 2", "Pure(0.01)")  # waits behind it
    assert "A few made-up rows" in browser.page(place).text


def test_nothing_is_loaded_from_elsewhere_and_scripts_are_files(site):
    browser = site.browser("carla")
    for path in ("/", "/d/first", "/d/first/ask?what=count&where=age+>+3&spend=Pure(0.1)", "/d/first/history",
                 "/d/first/synthetic", "/d/first/desk", "/d/first/audit", "/people", "/api"):  # fmt: skip
        found = browser.page(path)
        assert found.status_code == 200, path
        policy = found.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        for address in re.findall(r'(?:src|href|action|formaction)="([^"]+)"', found.text):
            assert address.startswith(("/", "?", "#")) and not address.startswith("//"), address
        assert not re.search(r"<script(?! src=)|<style| style=| on[a-z]+=", found.text), path
    assert browser.page("/static/htmx.min.js").status_code == 200
    assert "Permission to use" in browser.page("/static/htmx-LICENSE.txt").text


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>'])
def test_what_people_type_is_shown_as_text(site, text):
    browser = site.browser("ana")
    for path in (f"/d/first/ask?way=phrase&phrase={text}&spend=Pure(0.1)", f"/d/first/ask?what=count&where={text}"):
        found = browser.page(path).text
        assert "<script>alert" not in found and "<img src=x" not in found


def test_names_of_a_schema_are_shown_as_text(tmp_path):
    house = write_house(tmp_path)
    evil = '<img src=x onerror="alert(1)">'
    (tmp_path / "schema.toml").write_text(
        f'[columns]\nage = {{type = "integer", low = 0, high = 99, missing = 0}}\n'
        f'sex = {{type = "category", values = [\'{evil}\', "M"], missing = "M"}}\n'
    )
    client, site = open_site(house, add_accounts(house))
    with client:
        browser = site.browser("ana")
        job = site.ask("ana", "histogram of sex", "Pure(0.1)").json()["job"]
        for path in ("/d/first", "/d/first/ask", f"/d/first/answers/{job}"):
            found = browser.page(path)
            assert found.status_code == 200 and "<img src=x" not in found.text
        assert "<img src=x" not in browser.page(f"/api/datasets/first/answers/{job}/file.svg").text


def test_no_redirect_goes_elsewhere(site):
    browser = site.browser("ana")
    for path in ("//evil.example", "/sign-in?next=https://evil.example", "/d/first/ask?next=//evil.example"):
        assert "evil.example" not in browser.page(path).headers.get("location", "")


SAME = (
    ({"way": "build", "what": "mean", "column": "age", "by": "sex", "where": "age > 20"},
     "mean of age by sex where age > 20", "SELECT sex, AVG(age) FROM data WHERE age > 20 GROUP BY sex"),
    ({"way": "build", "what": "count"}, "count", "SELECT COUNT(*) FROM data"),
    ({"way": "build", "what": "median", "column": "age"}, "median of age", "SELECT MEDIAN(age) FROM data"),
    ({"way": "build", "what": "variance", "column": "age"}, "variance of age", "SELECT VAR_POP(age) FROM data"),
    ({"way": "build", "what": "quantiles", "column": "age"}, "quantiles of age",
     "SELECT QUANTILE_CONT(age, 0.25), QUANTILE_CONT(age, 0.5), QUANTILE_CONT(age, 0.75) FROM data"),
)  # fmt: skip


@pytest.mark.parametrize(("fields", "phrase", "sql"), SAME, ids=lambda one: one if isinstance(one, str) else "")
def test_builder_phrase_and_sql_say_the_same(site, fields, phrase, sql):
    desk = site.client.app.state.desks["first"]
    parts = {name: value for name, value in fields.items() if name != "way"}
    for given in (fields, {"way": "phrase", "phrase": phrase}, {"way": "sql", "sql": sql}):
        said = in_all_ways(desk, given)
        assert said == {"build": parts, "phrase": {"phrase": phrase}, "sql": {"sql": sql}}


@pytest.mark.parametrize(
    ("way", "text", "sayable"),
    [
        ("phrase", "histogram of sex", {"build", "phrase", "sql"}),
        ("phrase", "distribution of age", {"build", "phrase"}),
        ("phrase", "quantiles 0.1 of age", {"phrase"}),
        ("phrase", "count, mean of age by sex", {"phrase"}),
        ("phrase", "synthesize age, sex", {"phrase"}),
        ("phrase", "mean of salary", {"phrase"}),
        ("phrase", '{"question": "Count"}', {"phrase"}),
        ("phrase", "", {"phrase"}),
        ("sql", "SELECT COUNT(*), AVG(age) FROM data", {"sql"}),
        ("sql", "SELECT sex, COUNT(*) AS n FROM data GROUP BY sex HAVING n > 5", {"sql"}),
        ("sql", "SELECT COUNT(*) FROM data GROUP BY sex", {"build", "phrase", "sql"}),
        ("sql", "SELECT COUNT(age) FROM data", {"sql"}),
        ("sql", "SELECT SUM(age, contribution_bounds_per_group => (0, 9)) FROM data", {"sql"}),
        ("sql", "SELEKT", {"sql"}),
    ],
)
def test_what_cannot_be_said_in_another_way_is_left_out_there(site, way, text, sayable):
    assert set(in_all_ways(site.client.app.state.desks["first"], {"way": way, way: text})) == sayable


def test_going_to_another_way_takes_the_question_along(site):
    browser, place = site.browser("ana"), "/d/first/ask"
    fields = {"way": "phrase", "phrase": "mean of age by sex", "spend": "Pure(0.2)"}
    looked = browser.page(f"{place}?{urlencode(fields)}").text
    assert "The mean of age by sex" in looked and "SELECT sex, AVG(age) FROM data GROUP BY sex" in looked
    went = browser.send(f"{place}/look", {**fields, "go": "build"}, place).headers["location"]
    page = browser.page(went).text
    assert '<option value="mean" selected>' in page and "<option selected>age</option>" in page
    assert "Before you pay" in page and 'value="Pure(0.2)"' in page
    nowhere = {**fields, "phrase": "synthesize age", "go": "sql"}
    page = browser.page(browser.send(f"{place}/look", nowhere, place).headers["location"]).text
    assert "What the phrase says cannot be said here" in page and "Before you pay" not in page
    live = browser.send(
        f"{place}/foreseen", {"way": "sql", "sql": "SELECT SUM(age) FROM data", "spend": "Pure(1)"}, place
    )
    assert "sum of age" in live.text and "The sum of age" in live.text


def test_the_spend_slides_along_the_curve(site):
    browser, place = site.browser("ana"), "/d/first/ask"
    fields = {"way": "phrase", "phrase": "count where age > 40", "spend": "Pure(0.1)"}
    page = browser.page(f"{place}?{urlencode(fields)}").text
    assert (
        '<label for="slide">' in page
        and 'aria-valuetext="Pure(0.1)"' in page
        and 'name="base" value="Pure(0.1)"' in page
    )
    moved = {**fields, "base": "Pure(0.1)", "shown": "8", "slide": "12"}
    went = browser.send(f"{place}/look", moved, place).headers["location"]  # without JavaScript
    page = browser.page(went).text
    assert 'value="Pure(0.2)"' in page and 'name="shown" value="12"' in page and "epsilon 0.2" in page
    typed = browser.send(f"{place}/look", {**moved, "spend": "Pure(0.7)"}, place).headers["location"]
    assert "Pure%280.7%29" in typed  # what was typed counts
    held = browser.send(f"{place}/foreseen", {**moved, "spend": "Pure(0.2)"}, place).text
    assert "epsilon 0.2" in held and 'class="here"' in held and 'id="slide"' not in held  # nobody takes it from a hand
    anew = browser.send(f"{place}/foreseen", {**moved, "spend": "Pure(0.7)"}, place).text
    assert 'name="base" value="Pure(0.7)"' in anew and 'name="shown" value="8"' in anew
    for wrong in ({"slide": "99"}, {"slide": "x"}, {"base": "Pure"}, {"base": "Pure(1e999999)"}, {"shown": "-1"}):
        assert "Pure%280.1%29" in browser.send(f"{place}/look", {**moved, **wrong}, place).headers["location"]
        assert browser.send(f"{place}/foreseen", {**moved, **wrong}, place).status_code == 200


def test_the_navigation_leads_to_conversations_and_to_publications_where_there_are_some(site):
    page = site.browser("ana").page("/d/first/conversations").text
    assert '<a href="/d/first/conversations" aria-current="page">Conversations</a>' in page
    assert 'href="/publications"' not in page
    assert "conversations" not in site.browser("otto").page("/d/first").text


def test_the_examples_of_the_page_can_be_asked_also_of_names_with_blanks(tmp_path):
    house = write_house(tmp_path)
    (tmp_path / "schema.toml").write_text(SCHEMA.replace("sex = ", '" Sex" = ').replace("age = ", '"Age " = '))
    for name in ("first", "second"):
        table = tmp_path / f"{name}.csv"
        table.write_text(table.read_text().replace("age,sex", "Age , Sex"))
    client, site = open_site(house, add_accounts(house))
    with client:
        browser = site.browser("ana")
        condition = unescape(browser.page("/d/first/ask").text.split("as in ")[1].split(")</small>")[0])
        phrase = unescape(browser.page("/d/first/ask?way=phrase").text.split("(for example: ")[1].split(")</small>")[0])
        assert condition == '"Age " > 50' and phrase == 'mean of "Age " by " Sex"'
        for asked in (f"count where {condition}", phrase):
            found = site.post("ana", "/api/datasets/first/preview", {"phrase": asked, "spend": "Pure(0.1)"})
            assert found.status_code == 200, found.text
