"""The story of each role in a real browser: Chromium, axe-core, one by keyboard alone, one on a phone's width.

`SFUMATO_PICTURES=docs/pictures` also writes the pictures of docs/service.md.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from sfumato.errors import AccuracyWarning
from sfumato.publish import Publication
from sfumato.serve.app import service_app
from sfumato.serve.demo import make_demo
from sfumato.serve.house import Published
from tests.publish.sample import prepare

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
AXE = Path(__file__).parent / "assets" / "axe.min.js"
PICTURES = os.environ.get("SFUMATO_PICTURES")
pytestmark = [
    pytest.mark.audit,
    # The service tells these to who asks; here they would end its requests.
    pytest.mark.filterwarnings(f"ignore::{AccuracyWarning.__module__}.{AccuracyWarning.__name__}"),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed; apt-get install chromium"),
]


@dataclass
class Tab:
    """A page of the browser, with what it asked for and complained of."""

    page: Any
    place: str
    asked: list[str]
    complained: list[str]

    def go(self, path: str) -> None:
        self.page.goto(self.place + path)
        self.check()

    def check(self) -> None:
        """No serious finding of axe-core, nothing from elsewhere, nothing wider than the window."""
        found = self.findings()
        serious = [
            (one["id"], [node["html"] for node in one["nodes"]])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert not serious, (self.page.url, serious)
        assert all(url.startswith((self.place, "data:")) for url in self.asked), self.asked
        assert not self.complained, self.complained
        assert self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1"), self.page.url

    def findings(self) -> Any:
        """Let axe-core look; a page that looks again by itself may do so meanwhile, on a slow machine."""
        from playwright.sync_api import Error

        for _ in range(5):
            try:
                self.page.wait_for_load_state("networkidle")
                self.page.evaluate(AXE.read_text())  # the page's own policy lets no foreign script in
                return self.page.evaluate("() => axe.run()")
            except Error as problem:
                if "context was destroyed" not in str(problem):
                    raise
        raise AssertionError(f"{self.page.url} does not stand still")

    def picture(self, name: str) -> None:
        if PICTURES:
            self.page.screenshot(path=str(Path(PICTURES) / f"service-{name}.png"), full_page=True)

    def sign_in(self, token: str) -> None:
        self.go("/sign-in")
        self.page.fill("#token", token)
        self.page.click("text=Sign in >> nth=-1")
        self.page.wait_for_url(self.place + "/")
        self.check()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    made = make_demo(tmp_path_factory.mktemp("demo"))
    file = prepare(tmp_path_factory.mktemp("published"))
    Publication.load(file).run(today=date(2026, 2, 1))
    house = replace(made.house, publications=(Published("visits", file, "Visits by country"),))
    server = uvicorn.Server(uvicorn.Config(service_app(house), port=0, log_level="error", access_log=False))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", dict(made.tokens)
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


def tab(browser: Any, place: str, **options: Any) -> Tab:
    context = browser.new_context(**{"viewport": {"width": 1100, "height": 800}, **options})
    context.set_default_timeout(60_000)
    made = Tab(context.new_page(), place, [], [])
    made.page.on("request", lambda request: made.asked.append(request.url))
    made.page.on("console", lambda said: made.complained.append(said.text) if said.type == "error" else None)
    made.page.on("pageerror", lambda error: made.complained.append(str(error)))
    return made


def test_the_analyst_asks_sees_the_cost_first_and_takes_the_answer(demo, browser):
    place, tokens = demo
    here = tab(browser, place)
    here.sign_in(tokens["ana"])
    here.page.click("text=Adult: a census of 1994")
    here.check()
    here.page.click("text=Ask a question")
    here.page.select_option("#what", "mean")
    here.page.select_option("#column", "hours_per_week")
    here.page.select_option("#by", "sex")
    here.page.wait_for_selector(".foreseen")  # by htmx, before anything is paid
    assert "epsilon 0.1" in here.page.inner_text(".foreseen")
    here.page.wait_for_selector(".foreseen code:has-text('by sex')")
    here.page.wait_for_selector(".foreseen code:has-text('SELECT sex, AVG(hours_per_week) FROM data GROUP BY sex')")
    here.page.wait_for_selector("#slide")
    here.check()
    here.picture("ask")
    here.page.click("text=Ask and pay")
    here.page.wait_for_selector("text=How to cite it")
    here.check()
    here.picture("answer")
    with here.page.expect_download() as taken:
        here.page.click("text=CSV")
    assert "hours_per_week" in Path(taken.value.path()).read_text()
    here.go("/d/adult/ask?way=sql&sql=SELECT+education%2C+COUNT(*)+AS+n+FROM+data+GROUP+BY+education&spend=Pure(0.2)")
    here.page.click("text=Ask and pay")
    here.page.wait_for_selector("text=How to cite it")
    here.check()
    for path in ("/d/adult", "/d/adult/history", "/d/adult/synthetic?columns=age&columns=sex&spend=Pure(0.5)", "/api"):
        here.go(path)
    here.go("/d/adult")
    here.picture("dataset")


def test_the_spend_is_slid_by_keyboard_and_the_question_said_in_another_way(demo, browser):
    place, tokens = demo
    here = tab(browser, place)
    here.sign_in(tokens["ana"])
    here.go("/d/adult/ask?way=phrase&phrase=mean+of+age&spend=Pure(0.1)")
    page = here.page
    page.focus("#slide")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector(".foreseen dd:has-text('epsilon 0.2')")
    assert page.input_value("#spend") == page.get_attribute("#slide", "aria-valuetext") == "Pure(0.2)"
    assert page.evaluate("document.activeElement.id") == "slide"  # it is not taken away while it is held
    here.check()
    page.fill("#spend", "Pure(0.3)")
    page.wait_for_selector("#slide[aria-valuetext='Pure(0.3)']")
    page.press("#phrase", "Enter")  # looks, and goes to no other way
    page.wait_for_url("**way=phrase**")
    page.click("main >> button:has-text('SQL')")
    assert page.input_value("#sql") == "SELECT AVG(age) FROM data" and page.input_value("#spend") == "Pure(0.3)"
    here.check()
    page.click("main >> button:has-text('Builder')")
    assert page.input_value("#what") == "mean" and page.input_value("#column") == "age"
    here.check()


def test_an_analyst_on_a_phone_without_javascript(demo, browser):
    place, tokens = demo
    here = tab(browser, place, viewport={"width": 390, "height": 800}, java_script_enabled=False)
    page = here.page
    page.goto(place + "/sign-in")
    page.fill("#token", tokens["ana"])
    page.click("button:has-text('Sign in')")
    page.goto(place + "/d/adult/ask?way=phrase&phrase=count+where+age+%3E+64&spend=Pure(0.05)")
    assert "Before you pay" in page.inner_text("main")
    page.fill("#slide", "12")
    page.click("text=Take what the slider says")
    assert page.input_value("#spend") == "Pure(0.1)" and "token" not in page.url
    page.click("main >> button:has-text('Builder')")
    assert page.input_value("#where") == "age > 64"
    page.click("text=What would it cost? >> visible=true")
    page.click("text=Ask and pay")
    page.wait_for_selector("text=How to cite it")


def test_a_phones_width_in_the_dark(demo, browser):
    place, tokens = demo
    here = tab(browser, place, viewport={"width": 390, "height": 800}, color_scheme="dark")
    here.sign_in(tokens["ana"])
    for path in ("/d/adult", "/d/adult/ask?what=mean&column=age&spend=Pure(0.1)", "/d/adult/history"):
        here.go(path)
    here.go("/d/adult/ask?what=mean&column=age&spend=Pure(0.1)")
    here.picture("phone")


def test_the_curator_approves_and_adds_somebody(demo, browser):
    place, tokens = demo
    ana, carla = tab(browser, place), tab(browser, place)
    ana.sign_in(tokens["ana"])
    ana.go("/d/adult/ask?way=phrase&phrase=count+where+age+%3E+70&spend=Pure(1.2)")
    assert "waits for a curator" in ana.page.inner_text(".foreseen")
    ana.page.click("text=Ask and pay")
    ana.page.wait_for_selector("text=Your question is waiting")
    ana.check()
    carla.sign_in(tokens["carla"])
    carla.go("/d/adult/desk")
    carla.picture("desk")
    carla.page.click("text=Approve >> nth=-1")
    carla.page.wait_for_selector("text=Nothing waits")
    ana.page.wait_for_selector("text=How to cite it")  # the page looks again by itself
    carla.go("/people")
    carla.page.fill("#name", "nina")
    carla.page.click("text=Add and show the token")
    token = carla.page.inner_text("code.token")
    carla.check()
    other = tab(browser, place)
    other.sign_in(token)


def test_a_conversation_from_its_cost_to_its_replies(demo, browser):
    place, tokens = demo
    tom, carla = tab(browser, place), tab(browser, place)
    carla.sign_in(tokens["carla"])
    carla.go("/people")
    carla.page.fill("#name", "tom")
    carla.page.click("text=Add and show the token")
    tom.sign_in(carla.page.inner_text("code.token"))
    tom.go("/d/adult")
    tom.page.click("main >> text=Conversations")
    for name in ("race", "sex"):
        tom.page.check(f"input[value={name}]")
    tom.page.fill("#spend", "Pure(1.2)")
    tom.page.click("text=What would it cost? >> visible=true")
    assert "waits for a curator" in tom.page.inner_text(".foreseen")
    tom.check()
    tom.page.click("text=Ask a curator for it")
    tom.page.wait_for_selector("text=Take it back")
    tom.check()
    carla.go("/d/adult/desk")
    assert "a conversation about race, sex" in carla.page.inner_text("main")
    carla.page.click("text=Approve >> nth=-1")
    carla.page.wait_for_selector("text=Nothing waits")
    tom.page.wait_for_selector("text=Open it and pay")  # the page looks again by itself
    tom.page.click("text=Open it and pay")
    tom.page.fill("#conditions", "sex = 'Female'\nsex = 'Female' AND race = 'Black'")
    tom.page.click("main >> button:has-text('Ask')")
    tom.page.wait_for_selector("text=2 conditions asked so far")
    tom.check()
    tom.picture("conversation")


def test_the_auditor_by_keyboard_alone(demo, browser):
    place, tokens = demo
    here = tab(browser, place)
    page = here.page
    page.goto(place + "/sign-in")  # the field has the focus already
    page.keyboard.type(tokens["otto"])
    page.keyboard.press("Enter")
    page.wait_for_url(place + "/")

    def tab_to(text: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.innerText || ''").strip().startswith(text):
                return
        raise AssertionError(f"{text} is not reached by the keyboard")

    tab_to("Adult")
    page.keyboard.press("Enter")
    page.wait_for_url("**/d/adult")
    tab_to("Audit")
    page.keyboard.press("Enter")
    page.wait_for_url("**/audit")
    tab_to("Work it out again")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Everything was worked out again and agrees")
    here.check()
    here.picture("audit")


def test_a_publication_is_looked_at_and_verified(demo, browser):
    place, tokens = demo
    here = tab(browser, place)
    here.sign_in(tokens["otto"])
    here.page.click("text=Visits by country")
    here.page.wait_for_selector("text=What is promised")
    here.check()
    here.page.click("text=Work it out again")
    here.page.wait_for_selector("text=Everything was worked out again and agrees: 4 periods")
    here.check()
    here.picture("publication")
    here.page.click("text=All of it on one page")
    here.page.wait_for_selector("svg")
    here.check()


def test_signing_out_ends_a_stolen_cookie(demo, browser):
    place, tokens = demo
    here = tab(browser, place)
    here.sign_in(tokens["otto"])
    stolen = here.page.context.cookies()
    assert all(cookie["httpOnly"] and cookie["sameSite"] == "Strict" for cookie in stolen)
    here.page.click("text=Sign out")
    here.page.wait_for_url("**/sign-in")
    thief = tab(browser, place)
    thief.page.context.add_cookies(stolen)
    thief.page.goto(place + "/d/adult")
    assert thief.page.url.endswith("/sign-in")
