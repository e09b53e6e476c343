"""The HTTP collector: devices POST their reports, and are answered when these are safe on the disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.routing import Route

from sfumato.errors import ParameterError, SfumatoError
from sfumato.exact import positive_integer
from sfumato.local.collector import Collector, CollectorSet, Intake
from sfumato.local.collector.collection import is_collection
from sfumato.local.collector.collectors import PLANS
from sfumato.local.collector.ids import ID_BYTES, Sorted, fresh
from sfumato.local.plan import Plan
from sfumato.local.wire import TAG_BYTES, Wire
from sfumato.serve.commits import Busy, Commits
from sfumato.serve.metrics import Together, metrics_text
from sfumato.serve.senders import Authorize, Retry
from sfumato.serve.ticks import SLOWEST, Receive, Send

MOST_BYTES = 1 << 22
"""The largest body of a request."""
SMALL_BODY = 1 << 13
"""A body of so many bytes is opened where it is read."""
LONGEST_NAME = 200
KINDS = {
    "application/json": "json",
    "application/x-ndjson": "json",
    "application/jsonl": "json",
    "application/octet-stream": "binary",
}
BATCH_HEADER = "idempotency-key"


class TooLarge(Exception):
    """The body of a request is larger than allowed."""


def collector_app(
    place: str | Path,
    plan: Plan | Sequence[Plan] | None = None,
    *,
    ids: bool = True,
    lanes: bool = False,
    shuffled: int | None = None,
    most_bytes: int = MOST_BYTES,
    origins: Sequence[str] = (),
    authorize: Authorize | None = None,
    metrics: Authorize | None = None,
) -> FastAPI:
    """Return the service that collects into a directory: POST /reports, GET /plan, GET /health, GET /metrics.

    With a list of plans each report goes to the one that its tag names, and `/plan` gives the newest. `lanes=True` lets
    several processes collect into the same directory. With `shuffled=80_000` each body is one batch of a relay: binary,
    without ids, of at least so many reports, and it counts once. Bodies above `most_bytes` are refused. `origins` lists
    the web pages that may send from a browser. `authorize` is asked about the headers before a body is read, for
    example `senders.Tokens("tokens.txt")`; `metrics` is asked for GET /metrics, which is not there without it.

    >>> import tempfile
    >>> from fastapi.testclient import TestClient
    >>> from sfumato import Pure, local
    >>> colours = local.plan(users=1000, spend=Pure(1), candidates=["red", "green", "blue"])
    >>> line = local.envelope(colours.client().report("red"))
    >>> with TestClient(collector_app(f"{tempfile.mkdtemp()}/collected", colours)) as browser:
    ...     sent = [browser.post("/reports", content=line, headers={"Content-Type": "application/json"}) for _ in "12"]
    >>> [answer.json()["accepted"] for answer in sent]
    [1, 0]
    """
    limit = positive_integer(most_bytes, "most_bytes")
    if isinstance(origins, str):
        raise ParameterError("origins is a list of addresses; write for example origins=['https://example.org'].")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with open_collector(place, plan, ids=ids, lanes=lanes, shuffled=shuffled) as collector:
            _prepare()
            app.state.commits = commits = Commits(collector)
            app.state.kept_out = {"token": 0, "rate": 0}
            yield
            await commits.close()

    # The pages that FastAPI makes by itself load scripts from elsewhere, so they are left out.
    app = FastAPI(title="sfumato collector", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    if origins:
        from fastapi.middleware.cors import CORSMiddleware

        app.add_middleware(
            CORSMiddleware, allow_origins=list(origins), allow_methods=["GET", "POST"], allow_headers=["*"]
        )

    # No function but an ASGI application: what comes most often needs nothing of what is worked out for other requests.
    app.router.routes.append(Route("/reports", Posts(app, limit, ids and not shuffled, authorize), methods=["POST"]))

    @app.get("/plan")
    async def shown_plan(request: Request) -> JSONResponse:
        """Give the public plan to a device, the newest if there are several."""
        return JSONResponse(_plans(request)[-1].to_record())

    @app.get("/plan/{digest}")
    async def one_plan(request: Request, digest: str) -> JSONResponse:
        """Give the public plan of a digest."""
        found = [one for one in _plans(request) if one.digest.hex() == digest]
        return JSONResponse(found[0].to_record()) if found else _error(404, "No plan here has this digest.")

    @app.get("/health")
    async def health(request: Request) -> JSONResponse:
        """Say that the collector lives, and what came in so far."""
        collector = _commits(request).collector
        status = "ok" if collector.is_open else "closed"
        return JSONResponse({"status": status, **collector.intake.to_json()}, 200 if collector.is_open else 503)

    if metrics is not None:
        together = Together() if lanes else None  # a lane by itself would tell a part, and not which

        @app.get("/metrics")
        async def shown_metrics(request: Request) -> Response:
            """Give numbers to whoever runs the collector."""
            commits = _commits(request)
            refused = _kept_out(request.app, request.headers, metrics)
            if refused is not None:
                return refused
            kept_out = request.app.state.kept_out
            text = await asyncio.to_thread(metrics_text, commits.collector, commits.waiting, kept_out, together)
            return Response(text, media_type="text/plain; version=0.0.4")

    return app


def open_collector(
    place: str | Path, plan: Plan | Sequence[Plan] | None, *, ids: bool, lanes: bool, shuffled: int | None = None
) -> Collector | CollectorSet:
    """Return what collects: for one plan, or for several."""
    if isinstance(plan, Plan) or (plan is None and is_collection(place)):
        return Collector(place, plan, ids=ids, lanes=lanes, shuffled=shuffled)
    if plan is None and not (Path(place) / PLANS).exists():
        raise ParameterError(f"{str(place)!r} is no collection yet; give the plan to make one.")
    return CollectorSet(place, plan or (), ids=ids, lanes=lanes, shuffled=shuffled)


def _prepare() -> None:
    """Compile what takes reports, which is done once on a machine: the first sender must not wait for it."""
    import numpy as np

    wire = Wire(bytes(TAG_BYTES), 2)
    rows = np.frombuffer(bytes(ID_BYTES + wire.report_bytes), dtype=np.uint8)[None, :]
    for reports in (rows[:, ID_BYTES:], np.frombuffer(wire.pack(1), dtype=np.uint8)[None, :]):
        wire.read_many(reports)
    before = np.zeros((1, ID_BYTES + wire.value_bytes), dtype=np.uint8)
    mapped = np.frombuffer(before.tobytes(), dtype=np.uint8).reshape(before.shape)
    files = [Sorted(before), Sorted(mapped)]
    found = fresh(np.zeros((1, ID_BYTES), dtype=np.uint8), np.zeros(1, dtype=np.int64), files)
    list(found.records(len(before[0])))


def _plans(request: Request) -> Sequence[Plan]:
    collector = _commits(request).collector
    return (collector.plan,) if isinstance(collector, Collector) else collector.plans


def _kept_out(app: FastAPI, headers: Headers, authorize: Authorize | None) -> JSONResponse | None:
    """Return the refusal of a request, or None if it is let in; its body is not read for that."""
    if authorize is None:
        return None
    said = authorize(headers)
    if isinstance(said, Retry):
        app.state.kept_out["rate"] += 1
        refusal = _error(429, "This token comes too often; send these again later.", retry=True)
        refusal.headers["Retry-After"] = str(said.seconds)
        return refusal
    if not said:
        app.state.kept_out["token"] += 1
        return _error(401, "Send with a header Authorization: Bearer and a token that is known here.")
    return None


def _commits(request: Request) -> Commits:
    found: Commits = request.app.state.commits
    return found


class Posts:
    """Takes reports in their envelopes: reads, opens, counts and answers one request, and tells only its own sender."""

    def __init__(self, app: FastAPI, limit: int, ids: bool, authorize: Authorize | None) -> None:
        self.app, self.limit, self.ids, self.authorize = app, limit, ids, authorize

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer when the reports are safe on the disk."""
        said = await self._said(Headers(scope=scope), receive)
        await (_taken(said) if isinstance(said, Intake) else said)(scope, receive, send)

    async def _said(self, headers: Headers, receive: Receive) -> Intake | Response:
        refused = _kept_out(self.app, headers, self.authorize)
        if refused is not None:
            return refused
        kind = KINDS.get(headers.get("content-type", "").split(";")[0].strip().lower())
        if kind is None:
            return _error(415, f"Send reports with a content type of {', '.join(KINDS)}.")
        name = headers.get(BATCH_HEADER)
        if name is not None and len(name) > LONGEST_NAME:
            return _error(400, f"The Idempotency-Key has at most {LONGEST_NAME} characters.")
        try:
            body = await _body(headers, receive, self.limit)
        except TooLarge:
            return _error(413, f"A request has at most {self.limit} bytes; send fewer reports at a time.")
        except TimeoutError:
            return _error(408, "The request did not come whole in time; send it again.", retry=True)
        except ClientDisconnect:
            return _error(400, "The request ended before all of it came; send it again.")
        return await self._written(body, kind, name)

    async def _written(self, body: bytes, kind: str, name: str | None) -> Intake | Response:
        commits: Commits = self.app.state.commits
        format = "reports" if kind == "binary" and not self.ids else kind
        # Ids tell a request that came twice; names of batches would only fill the memory.
        batch = None if self.ids else name
        try:
            opened = commits.collector.batch
            # Opening a large body takes a while, and others must not wait for it; a small one takes less than a thread.
            small = len(body) <= SMALL_BODY
            parcel = opened(body, format, batch) if small else await asyncio.to_thread(opened, body, format, batch)
            return await commits.add(parcel)
        except Busy:
            return _error(503, "Many reports are waiting to be written; send these again a little later.", retry=True)
        except (OSError, SfumatoError):
            return _error(503, "The reports could not be written; send these again later.", retry=True)


@lru_cache(maxsize=64)
def _taken(said: Intake) -> Response:
    """Return the answer to reports; single ones nearly always get the same."""
    return JSONResponse(said.to_json())


async def _body(headers: Headers, receive: Receive, limit: int) -> bytes:
    """Return the body, and stop reading as soon as it is too large, or does not come."""
    told = headers.get("content-length", "0")
    if told.isdecimal() and int(told) > limit:
        raise TooLarge
    body, more = bytearray(), True
    async with asyncio.timeout(SLOWEST):
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > limit:
                raise TooLarge
    return bytes(body)


def _error(code: int, sentence: str, retry: bool = False) -> JSONResponse:
    headers: dict[str, Any] = {"Retry-After": "1"} if retry else {}
    return JSONResponse({"error": sentence}, code, headers=headers)
