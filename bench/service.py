"""How long a count takes through the service, how many people it holds, and what its latency tells of one person.

    python -m bench.service [--rows 1000000] [--users 50]
    python -m bench.service --first [--picture answer.png]

The second one clones this checkout, installs it into a new environment, starts the demo, and asks a first question as
an analyst in Chromium; it needs what `make audit` needs, and a package index.

CPU time where that is meant: others may work on the machine. Latencies are compared for two tables that differ in one
person, with ticks and without; the Kolmogorov-Smirnov distance of two halves of the same table says what chance gives.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pyarrow
from fastapi.testclient import TestClient
from pyarrow import parquet
from scipy.stats import ks_2samp

from sfumato.serve.app import service_app
from sfumato.serve.house import House, load_house
from sfumato.serve.identity import People
from sfumato.serve.store import Store

SCHEMA = """
[columns]
age = {type = "integer", low = 0, high = 99, missing = 0}
sex = {type = "category", values = ["F", "M"], missing = "F"}
"""
TURNS = 3
HOUSE = """
[service]
tick = {tick}
[[dataset]]
name = "people"
source = "people.parquet"
schema = "schema.toml"
ledger = "people.ledger"
snapshot = "1"
person = "Pure(100000)"
"""


def house(folder: Path, rows: int, last: int, tick: float, users: int = 1) -> tuple[House, list[str]]:
    """Write a house whose last person has the age `last`, and return it with the tokens of its analysts."""
    folder.mkdir(parents=True)
    ages = np.arange(rows) * 7 % 100
    ages[-1] = last
    sexes = np.where(np.arange(rows) % 2 == 0, "F", "M")
    parquet.write_table(pyarrow.table({"age": ages, "sex": sexes}), folder / "people.parquet")
    (folder / "schema.toml").write_text(SCHEMA)
    (folder / "house.toml").write_text(HOUSE.format(tick=tick))
    found = load_house(folder / "house.toml")
    store = Store(found.service.store)
    people = People(store, found.service)
    tokens = [people.add(f"analyst-{number}", "analyst", ["people"]) for number in range(users)]
    store.close()
    return found, tokens


class Asker:
    """Somebody who asks one count after the other."""

    def __init__(self, client: TestClient, token: str) -> None:
        self.client = client
        self.headers = {"Authorization": f"Bearer {token}"}
        self.asked = 0

    def count(self, number: int | None = None) -> tuple[float, int]:
        """Ask a new question and return how long it took, and its status."""
        self.asked += 1
        place = self.asked if number is None else number
        body = {"phrase": f"count where age > {place % 90} and age < {100 + place // 90}", "spend": "Pure(0.01)"}
        began = time.perf_counter()
        found = self.client.post("/api/datasets/people/ask", json=body, headers=self.headers)
        return time.perf_counter() - began, found.status_code


def work(folder: Path, rows: int, repeats: int) -> None:
    """Say how much CPU a count takes beyond the tick."""
    found, tokens = house(folder / "work", rows, 3, 0.001)
    with TestClient(service_app(found)) as client:
        asker = Asker(client, tokens[0])
        asker.count()
        taken = []
        for _ in range(repeats):
            began = time.process_time()
            asker.count()
            taken.append(time.process_time() - began)
    print(f"CPU of a count of {rows:,} rows: median {np.median(taken) * 1000:.0f} ms, p95 "
          f"{np.quantile(taken, 0.95) * 1000:.0f} ms")  # fmt: skip


def crowd(folder: Path, rows: int, users: int) -> None:
    """Say whether so many people at once are all answered, each of whom asks three times in a row."""
    found, tokens = house(folder / "crowd", rows, 3, 0.25, users)
    with TestClient(service_app(found)) as client:
        statuses: list[int] = []
        lasted: list[float] = []

        def ask(number: int) -> None:
            for turn in range(TURNS):
                seconds, status = Asker(client, tokens[number]).count(1000 + TURNS * number + turn)
                statuses.append(status)
                lasted.append(seconds)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(users)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    answered = statuses.count(200)
    print(f"{users} people at once, {TURNS} questions each: {answered} of {len(statuses)} answered at the first "
          f"attempt, after {np.median(lasted):.1f} s (median), the slowest after {max(lasted):.1f} s")  # fmt: skip


def latency(folder: Path, rows: int, repeats: int) -> None:
    """Say what latency tells of one person, with ticks and without."""
    for name, tick in (("without ticks", 0.001), ("with ticks of 250 ms", 0.25)):
        taken = []
        for number, last in enumerate((3, 99)):
            found, tokens = house(folder / f"{tick}-{number}", rows, last, tick)
            found = replace(found, service=replace(found.service, tick=tick))
            with TestClient(service_app(found)) as client:
                asker = Asker(client, tokens[0])
                asker.count()
                taken.append([asker.count()[0] for _ in range(repeats)])
        ticks = sorted({round(seconds / tick) for seconds in (*taken[0], *taken[1])})
        chance = ks_2samp(taken[0][::2], taken[0][1::2]).statistic
        distance = ks_2samp(*taken).statistic
        widths = ", ".join(f"{np.std(times) * 1000:.1f}" for times in taken)
        more = f"; ticks seen: {ticks}" if tick > 0.1 else ""
        print(
            f"{name}: distance between neighbours {distance:.2f}, within one table {chance:.2f}; deviations {widths} ms"
            f"{more}"
        )


def first_answer(folder: Path, picture: Path | None) -> None:
    """Say how long it takes from a clone to an analyst's first answer in a browser, and take a picture of that."""
    began, last = time.monotonic(), time.monotonic()

    def step(said: str) -> None:
        nonlocal last
        moment = time.monotonic()
        print(f"{said}: {moment - last:.0f} s", flush=True)
        last = moment

    clone, here = folder / "sfumato", Path(__file__).resolve().parent.parent
    run = partial(subprocess.run, check=True, stdout=subprocess.DEVNULL)
    run(["git", "clone", "--quiet", str(here), str(clone)])
    step("clone")
    run([sys.executable, "-m", "venv", str(folder / "venv")])
    python = str(folder / "venv" / "bin" / "python")
    packages = ["--constraint", str(clone / "requirements.lock"), f"{clone}[serve]"]
    # Without the path of this process, which leads to another sfumato.
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run([python, "-m", "pip", "install", "--quiet", *packages], env=alone)
    step("install")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = int(found.getsockname()[1])
    words = [python, "-m", "sfumato", "serve", "--demo", "--folder", str(folder / "demo"), "--port", str(port)]
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(words, cwd=folder, env=alone, text=True, **quiet)  # type: ignore[call-overload]
    try:
        assert server.stdout is not None
        token = next(line.split()[1] for line in server.stdout if line.strip().startswith("ana "))
        place = f"http://127.0.0.1:{port}"
        while not _listens(f"{place}/ready"):
            assert server.poll() is None, "The demo did not start."
            time.sleep(0.2)
        step("start of the demo")
        _ask_in_browser(place, token, picture)
        step("sign in and a first answer in Chromium")
    finally:
        server.terminate()
        server.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    lasted, worked = time.monotonic() - began, used.ru_utime + used.ru_stime
    print(f"from clone to a first answer: {lasted:.0f} s, {worked:.0f} s of CPU")


def _listens(address: str) -> bool:
    try:
        with urlopen(address, timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def _ask_in_browser(place: str, token: str, picture: Path | None) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto(f"{place}/sign-in")
        page.fill("#token", token)
        page.click("text=Sign in >> nth=-1")
        page.click("text=Adult: a census of 1994")
        page.click("text=Ask a question")
        page.select_option("#what", "mean")
        page.select_option("#column", "hours_per_week")
        page.wait_for_selector(".foreseen")
        page.click("text=Ask and pay")
        page.wait_for_selector("text=How to cite it")
        if picture is not None:
            page.wait_for_load_state("networkidle")
            page.screenshot(path=str(picture), full_page=True)
        browser.close()


def main() -> None:
    """Measure."""
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--users", type=int, default=50)
    options.add_argument("--repeats", type=int, default=40)
    options.add_argument("--first", action="store_true", help="From a clone to a first answer in Chromium.")
    options.add_argument("--picture", type=Path, help="Where a picture of that answer goes.")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.first:
            first_answer(Path(folder), given.picture)
            return
        work(Path(folder), given.rows, given.repeats)
        crowd(Path(folder), given.rows, given.users)
        latency(Path(folder), min(given.rows, 100_000), given.repeats)


if __name__ == "__main__":
    main()
