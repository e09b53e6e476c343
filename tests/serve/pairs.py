"""Two services whose tables differ in one person, asked the same: with the same draws, what they say is the same."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from sfumato.ask.asked import Asked
from sfumato.questions.conversation.guesses import Checking
from sfumato.serve import jobs
from sfumato.serve.app import service_app
from tests.replay.frozen import masked
from tests.serve.houses import add_accounts, write_house

_CLOCK = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)? UTC")
FIRST_ID = 1 << 60
"""The ids of jobs count from here, so that a request can name one."""


def write_last(folder: Path, last: tuple[str, str], names: tuple[str, ...] = ("first", "second")) -> None:
    """Put somebody else in the place of the last person of a house's tables."""
    for name in names:
        lines = (folder / f"{name}.csv").read_text().splitlines()
        (folder / f"{name}.csv").write_text("\n".join([*lines[:-1], ",".join(f'"{cell}"' for cell in last)]) + "\n")


def id_of(number: int) -> str:
    """Return the id of a job, in the order in which ids were given."""
    return (FIRST_ID + number).to_bytes(32, "little")[:16].hex()


class Shared:
    """What the first service draws is kept for the second one, which draws nothing; so are its clock and its ids."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kept: deque[Any] = deque()
        self.ids = [count(FIRST_ID), count(FIRST_ID)]
        self.turn = 0
        self.draws = 0
        monkeypatch.setattr(Asked, "draw", self._once(Asked.draw))
        monkeypatch.setattr(Checking, "step", self._once(Checking.step))
        monkeypatch.setattr(jobs, "now", lambda: 1.5e9)
        monkeypatch.setattr(jobs, "new_key", lambda: next(self.ids[self.turn]).to_bytes(32, "little"))

    def _once(self, real: Any) -> Any:
        def draw(*given: Any) -> Any:
            if self.turn == 1:
                return self.kept.popleft()
            self.draws += 1
            self.kept.append(real(*given))
            return self.kept[-1]

        return draw


@dataclass(frozen=True)
class Sent:
    """A request, by whom."""

    who: str
    method: str
    path: str
    headers: Mapping[str, str]
    content: bytes = b""


@dataclass(frozen=True)
class Said:
    """A response: all of it but what the operating system draws."""

    status: int
    text: str


class Pair:
    """Both services, with the same accounts."""

    def __init__(self, folder: Path, shared: Shared, last: tuple[tuple[str, str], tuple[str, str]]) -> None:
        self.shared, self.apps, self.tokens = shared, [], []
        self.places = folder / "0", folder / "1"
        for place, cells in zip(self.places, last, strict=True):
            # Which question is not done in time is decided by the load of the machine, and says 202.
            house = write_house(place, service="patience = 600")
            write_last(place, cells)
            self.tokens.append(add_accounts(house))
            self.apps.append(service_app(house))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Pair]:
        """Run both in this loop, where a request costs little beside the work on it."""
        first, second = self.apps
        async with first.router.lifespan_context(first), second.router.lifespan_context(second):
            yield self

    async def ask(self, sent: Sent) -> tuple[Said, Said]:
        """Return what both say to a request."""
        found = []
        for turn in (0, 1):
            self.shared.turn = turn
            found.append(await self._said(turn, sent))
        assert not self.shared.kept, "The second one did not draw what the first one drew."
        return found[0], found[1]

    async def _said(self, turn: int, sent: Sent) -> Said:
        told: list[Any] = []
        place, _, query = sent.path.partition("?")
        headers = {**sent.headers, "authorization": f"Bearer {self.tokens[turn][sent.who]}"}
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": "",
            "method": sent.method, "path": place, "raw_path": place.encode(), "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
            "client": ("here", 1), "server": ("here", 80),
        }  # fmt: skip

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": sent.content, "more_body": False}

        async def send(message: Any) -> None:
            told.append(message)

        await self.apps[turn](scope, receive, send)
        body = b"".join(part.get("body", b"") for part in told[1:]).decode("utf-8", "replace")
        text = f"{sorted(told[0]['headers'])} {body}".replace(str(self.places[turn]), "HOUSE")
        return Said(told[0]["status"], _CLOCK.sub("TIME", masked(text)))
