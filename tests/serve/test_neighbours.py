"""Two tables that differ in one person, with dirty cells: once the noisy values are the same, so is every byte."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from sfumato.ask.asked import Asked
from sfumato.errors import AccuracyWarning
from sfumato.serve import jobs
from tests.replay.frozen import differing, masked
from tests.serve.houses import add_accounts, open_site, write_house
from tests.serve.pairs import write_last
from tests.serve.test_fuzz import CELLS

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
    write_last(folder, last)
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


def test_what_would_tell_is_seen(tmp_path, monkeypatch):
    """Without the frozen draws answers differ: the comparison looks at them."""
    monkeypatch.setattr(jobs, "now", lambda: 1.5e9)
    one, other = (seen(tmp_path / name, CELLS[0], BODIES[2:3]) for name in ("0", "1"))
    assert one[0] != other[0] and one[-1] != other[-1]
