"""Two tables that differ in one person, with dirty cells: once the noisy values are the same, so is every byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from sfumato.ask.asked import Asked
from sfumato.errors import AccuracyWarning
from sfumato.serve import jobs
from tests.replay.frozen import differing, masked
from tests.serve.houses import add_accounts, open_site, write_house
from tests.serve.test_fuzz import Source, made, phrase

pytestmark = pytest.mark.filterwarnings(f"ignore::{AccuracyWarning.__module__}.{AccuracyWarning.__name__}")
BODIES = [
    {"phrase": "count where age > 40", "spend": "Pure(0.1)"},
    {"phrase": "mean of age by sex", "spend": "Pure(0.1)"},
    {"phrase": "histogram of age", "spend": "Pure(0.1)"},
    {"phrase": "median of age", "spend": "Pure(0.1)"},
    {"phrase": "quantiles of age by sex", "spend": "Pure(0.2)"},
    {"sql": "SELECT sex, COUNT(*) AS n, AVG(age) AS a FROM data GROUP BY sex", "spend": "Pure(0.2)"},
    {"questions": [{"question": "Sum", "column": "age"}, {"question": "People", "where": "sex = 'F'"}],
     "spend": "Pure(0.1)"},
    {"phrase": "count where age > 40", "spend": "Pure(9)"},
    {"phrase": "mean of nothing", "spend": "Pure(0.1)"},
    {"phrase": "distribution of age", "spend": "Pure(0.1)"},
]  # fmt: skip
CELLS = [
    ("41", "F"),
    ("", ""),
    ("1e400", "X"),
    ("-5", "'; DROP TABLE data"),
    ("99999999999999999999", "M"),
    ("4.5", "f"),
]


class Draws:
    """What was drawn the first time, to be drawn again on every other table; with it the clock and the ids of jobs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kept: list[bytes] = []
        real = Asked.draw

        def draw(plan: Asked, content: bytes, coins: Any) -> bytes:
            turn = next(self.turn)
            if turn == len(self.kept):
                self.kept.append(real(plan, content, coins))
            return self.kept[turn]

        monkeypatch.setattr(Asked, "draw", draw)
        monkeypatch.setattr(jobs, "now", lambda: 1.5e9)
        monkeypatch.setattr(jobs, "new_key", lambda: next(self.ids).to_bytes(32, "little"))
        self.again()

    def again(self) -> None:
        self.turn, self.ids = count(), count(1 << 60)


def seen(folder: Path, last: tuple[str, str], bodies: list[dict[str, Any]] = BODIES, who: str = "carla") -> list[str]:
    """Return everything that somebody gets to see of a house whose last person is this one."""
    # Which question is not done in time is decided by the load of the machine, and says 202.
    house = write_house(folder, service="patience = 600")
    for name in ("first", "second"):
        lines = (folder / f"{name}.csv").read_text().splitlines()
        (folder / f"{name}.csv").write_text("\n".join([*lines[:-1], ",".join(f'"{cell}"' for cell in last)]) + "\n")
    client, site = open_site(house, add_accounts(house))
    with client:
        replies = [site.post(who, "/api/datasets/first/ask", body, f"n{number}") for number, body in enumerate(bodies)]
        for path in ("", "/limits", "/answers", "/guarantee", "/schema"):
            replies.append(site.get(who, f"/api/datasets/first{path}"))
        jobs_seen = [one["job"] for one in site.get(who, "/api/datasets/first/answers").json()]
        for job in jobs_seen:
            for kind in ("csv", "json", "svg"):
                replies.append(site.get(who, f"/api/datasets/first/answers/{job}/file.{kind}"))
        page = site.browser(who)
        foreseen = "/conversations?columns=sex&queries=50&spend=Pure(1)"
        replies += [page.page(f"/d/first{path}") for path in ("", "/ask", "/history", foreseen)]
        replies += [page.page(f"/d/first/answers/{job}") for job in jobs_seen]
    return [masked(f"{one.request.url} {one.status_code} {sorted(one.headers.items())} {one.text}") for one in replies]


@pytest.mark.parametrize("cells", [CELLS[:2], pytest.param(CELLS, marks=pytest.mark.audit)], ids=["two", "all"])
def test_neighbours_look_alike(tmp_path, monkeypatch, cells):
    draws = Draws(monkeypatch)
    first = seen(tmp_path / "0", cells[0])
    assert len(draws.kept) == 8  # all but the refusals
    for number, cell in enumerate(cells[1:], 1):
        draws.again()
        for one, other in zip(first, seen(tmp_path / str(number), cell), strict=True):
            assert one == other, differing(one, other)


def nonsense(folder: Path, last: tuple[str, str], seed: int, requests: int) -> Iterator[str]:
    """Yield what is answered to requests of all kinds that mean little, by a house whose last person is this one."""
    house, source = write_house(folder, service="patience = 600"), Source(seed)
    people = (folder / "first.csv").read_text().splitlines()
    (folder / "first.csv").write_text("\n".join([*people[:-1], ",".join(f'"{cell}"' for cell in last)]) + "\n")
    client, site = open_site(house, add_accounts(house))
    with client:
        for number in range(requests):
            kind, headers, content = made(source)
            if number % 3 == 0:  # most nonsense is refused: these are often answered
                words = " ".join(phrase(source))
                body = {"sql" if "SELECT" in words else "phrase": words, "spend": "Pure(0.01)"}
                kind, content = "ask", json.dumps(body).encode()
            if kind in ("conversations", "conversations/k-1"):
                continue  # their draws are made step by step, and are not those that are frozen here
            found = site.call("ana", "POST", f"/api/datasets/first/{kind}", content=content, headers=headers)
            said = f"{sorted(found.headers.items())} {found.text}"
            # A rehearsal draws on made-up rows, anew every time.
            yield masked(f"{kind} {found.status_code} {content!r} {said if kind != 'rehearse' else ''}")


@pytest.mark.parametrize(
    ("seed", "requests"), [(1, 45), *(pytest.param(seed, 1500, marks=pytest.mark.audit) for seed in (2, 3))]
)
def test_nonsense_is_answered_alike_on_neighbours(tmp_path, monkeypatch, seed, requests):
    draws = Draws(monkeypatch)
    first = nonsense(tmp_path / "0", CELLS[0], seed, requests)
    kept = list(first)
    assert len(kept) > requests / 2 and any(" 200 " in one for one in kept)
    draws.again()
    for one, other in zip(kept, nonsense(tmp_path / "1", CELLS[3], seed, requests), strict=True):
        assert one == other, differing(one, other)


def test_what_would_tell_is_seen(tmp_path, monkeypatch):
    """Without the frozen draws answers differ: the comparison looks at them."""
    monkeypatch.setattr(jobs, "now", lambda: 1.5e9)
    one, other = (seen(tmp_path / name, CELLS[0], BODIES[2:3]) for name in ("0", "1"))
    assert one[0] != other[0] and one[-1] != other[-1]
