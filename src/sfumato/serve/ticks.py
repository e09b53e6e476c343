"""Responses leave at public times: the next tick after they are ready, so that latency tells which tick and no more."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]

SLOWEST = 30.0
"""So many seconds a body may take to come."""

FREE = ("/static/", "/health", "/ready", "/collect/")
"""What depends on no question of anybody leaves when it is ready."""


def next_tick(elapsed: float, tick: float) -> float:
    """Return when something leaves that was ready after so many seconds: a whole tick, a longer job a whole second.

    >>> next_tick(0.1, 0.25), next_tick(0.26, 0.25), next_tick(1.1, 0.25)
    (0.25, 0.5, 2.0)
    """
    if elapsed <= 1:
        return tick * max(1, math.ceil(elapsed / tick))
    step = max(1.0, tick)
    return step * math.ceil(elapsed / step)


class Ticks:
    """Holds every response back until the next tick after its request began."""

    def __init__(self, app: App, tick: float) -> None:
        self.app = app
        self.tick = tick

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer a request at a tick; streams of events keep to ticks themselves."""
        if scope["type"] != "http" or scope["path"].startswith(FREE):
            await self.app(scope, receive, send)
            return
        began = time.monotonic()
        held: list[Message] = []
        streams = False

        async def hold(message: Message) -> None:
            nonlocal streams
            if message["type"] == "http.response.start":
                kinds = [value for name, value in message["headers"] if name.lower() == b"content-type"]
                streams = bool(kinds) and kinds[0].startswith(b"text/event-stream")
            if streams:
                await send(message)
            else:
                held.append(message)

        await self.app(scope, receive, hold)
        elapsed = time.monotonic() - began
        if held:
            await asyncio.sleep(next_tick(elapsed, self.tick) - elapsed)
        for message in held:
            await send(message)


class Bodies:
    """Refuses bodies above a limit, as soon as they are known to be, those that come too slowly, and zero bytes."""

    def __init__(self, app: App, largest: int, seconds: float = SLOWEST) -> None:
        self.app = app
        self.largest = largest
        self.seconds = seconds

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Read the body up to the limit, and hand it on whole."""
        if scope["type"] != "http" or scope["path"].startswith("/collect/"):
            await self.app(scope, receive, send)
            return
        if "\x00" in scope["path"] or b"%00" in scope.get("query_string", b""):
            # PostgreSQL fails at one, and what fails is no sentence.
            await self._refuse(400, "An address holds no zero byte.", scope, receive, send)
            return
        if scope["method"] in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        told = dict(scope["headers"]).get(b"content-length", b"0")
        body, more, until = bytearray(), True, time.monotonic() + self.seconds
        too_large = told.isdigit() and int(told) > self.largest
        while more and not too_large:
            try:
                message = await asyncio.wait_for(receive(), until - time.monotonic())
            except TimeoutError:
                await self._refuse(408, "The request did not come whole in time; send it again.", scope, receive, send)
                return
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            too_large = len(body) > self.largest
        if too_large:
            said = f"A request has at most {self.largest} bytes; send less at a time."
            await self._refuse(413, said, scope, receive, send)
            return
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": bytes(body), "more_body": False}

        await self.app(scope, replay, send)

    @staticmethod
    async def _refuse(status: int, said: str, scope: Any, receive: Receive, send: Send) -> None:
        from sfumato.serve.problems import respond
        from sfumato.serve.wire import problem

        await respond(problem(status, said), {"Connection": "close"})(scope, receive, send)
