"""The HTTP collector: devices POST their reports, and are answered when these are safe on the disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from starlette.requests import ClientDisconnect

from sfumato.errors import ParameterError, SfumatoError
from sfumato.exact import positive_integer
from sfumato.local.collector import Collector, CollectorSet
from sfumato.local.collector.collection import is_collection
from sfumato.local.collector.collectors import PLANS
from sfumato.local.collector.ids import ID_BYTES, fresh
from sfumato.local.plan import Plan
from sfumato.local.wire import TAG_BYTES, Wire
from sfumato.serve.commits import Busy, Commits
from sfumato.serve.metrics import metrics_text
from sfumato.serve.senders import Authorize, Retry

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
    most_bytes: int = MOST_BYTES,
    origins: Sequence[str] = (),
    authorize: Authorize | None = None,
    metrics: Authorize | None = None,
) -> FastAPI:
    """Return the service that collects into a directory: POST /reports, GET /plan, GET /health, GET /metrics.

    With a list of plans each report goes to the one that its tag names, and `/plan` gives the newest. `lanes=True` lets
    several processes collect into the same directory. Bodies above `most_bytes` are refused. `origins` lists the web
    pages that may send from a browser. `authorize` is asked about the headers before a body is read, for example
    `senders.Tokens("tokens.txt")`; `metrics` is asked for GET /metrics, which is not there without it.

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
        with open_collector(place, plan, ids=ids, lanes=lanes) as collector:
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

    async def reports(request: Request) -> JSONResponse:
        """Take reports in their envelopes."""
        return _kept_out(request, authorize) or await _receive(request, limit, ids)

    # A plain route: the one that comes most often needs nothing of what FastAPI would work out for it.
    app.add_route("/reports", reports, methods=["POST"])

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

        @app.get("/metrics")
        async def shown_metrics(request: Request) -> Response:
            """Give numbers to whoever runs the collector."""
            commits = _commits(request)
            refused = _kept_out(request, metrics)
            if refused is not None:
                return refused
            kept_out = request.app.state.kept_out
            text = await asyncio.to_thread(metrics_text, commits.collector, commits.waiting, kept_out)
            return Response(text, media_type="text/plain; version=0.0.4")

    return app


def open_collector(
    place: str | Path, plan: Plan | Sequence[Plan] | None, *, ids: bool, lanes: bool
) -> Collector | CollectorSet:
    """Return what collects: for one plan, or for several."""
    if isinstance(plan, Plan) or (plan is None and is_collection(place)):
        return Collector(place, plan, ids=ids, lanes=lanes)
    if plan is None and not (Path(place) / PLANS).exists():
        raise ParameterError(f"{str(place)!r} is no collection yet; give the plan to make one.")
    return CollectorSet(place, plan or (), ids=ids, lanes=lanes)


def _prepare() -> None:
    """Compile what takes reports, which is done once on a machine: the first sender must not wait for it."""
    import numpy as np

    wire = Wire(bytes(TAG_BYTES), 2)
    rows = np.frombuffer(bytes(ID_BYTES + wire.report_bytes), dtype=np.uint8)[None, :]
    for reports in (rows[:, ID_BYTES:], np.frombuffer(wire.pack(1), dtype=np.uint8)[None, :]):
        wire.read_many(reports)
    before = np.zeros((1, ID_BYTES + wire.value_bytes), dtype=np.uint8)
    mapped = np.frombuffer(before.tobytes(), dtype=np.uint8).reshape(before.shape)
    fresh(np.zeros((1, ID_BYTES), dtype=np.uint8), np.zeros(1, dtype=np.int64), [before, mapped]).records(
        len(before[0])
    )


def _plans(request: Request) -> Sequence[Plan]:
    collector = _commits(request).collector
    return (collector.plan,) if isinstance(collector, Collector) else collector.plans


def _kept_out(request: Request, authorize: Authorize | None) -> JSONResponse | None:
    """Return the refusal of a request, or None if it is let in; its body is not read for that."""
    if authorize is None:
        return None
    said = authorize(request.headers)
    if isinstance(said, Retry):
        request.app.state.kept_out["rate"] += 1
        refusal = _error(429, "This token comes too often; send these again later.", retry=True)
        refusal.headers["Retry-After"] = str(said.seconds)
        return refusal
    if not said:
        request.app.state.kept_out["token"] += 1
        return _error(401, "Send with a header Authorization: Bearer and a token that is known here.")
    return None


def _commits(request: Request) -> Commits:
    found: Commits = request.app.state.commits
    return found


async def _receive(request: Request, limit: int, ids: bool) -> JSONResponse:
    """Read, open, count and answer one request; whatever is in it, only its own sender is told."""
    kind = KINDS.get(request.headers.get("content-type", "").split(";")[0].strip().lower())
    if kind is None:
        return _error(415, f"Send reports with a content type of {', '.join(KINDS)}.")
    name = request.headers.get(BATCH_HEADER)
    if name is not None and len(name) > LONGEST_NAME:
        return _error(400, f"The Idempotency-Key has at most {LONGEST_NAME} characters.")
    try:
        body = await _body(request, limit)
    except TooLarge:
        return _error(413, f"A request has at most {limit} bytes; send fewer reports at a time.")
    except ClientDisconnect:
        return _error(400, "The request ended before all of it came; send it again.")
    commits = _commits(request)
    format = "reports" if kind == "binary" and not ids else kind
    # Ids tell a request that came twice; names of batches would only fill the memory.
    batch = None if ids else name
    try:
        opened = commits.collector.batch
        # Opening a large body takes a while, and others must not wait for it; a small one takes less than a thread.
        small = len(body) <= SMALL_BODY
        parcel = opened(body, format, batch) if small else await asyncio.to_thread(opened, body, format, batch)
        said = await commits.add(parcel)
    except Busy:
        return _error(503, "Many reports are waiting to be written; send these again a little later.", retry=True)
    except (OSError, SfumatoError):
        return _error(503, "The reports could not be written; send these again later.", retry=True)
    return JSONResponse(said.to_json())


async def _body(request: Request, limit: int) -> bytes:
    """Return the body, and stop reading as soon as it is too large."""
    told = request.headers.get("content-length", "0")
    if told.isdecimal() and int(told) > limit:
        raise TooLarge
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise TooLarge
        parts.append(part)
    return b"".join(parts)


def _error(code: int, sentence: str, retry: bool = False) -> JSONResponse:
    headers: dict[str, Any] = {"Retry-After": "1"} if retry else {}
    return JSONResponse({"error": sentence}, code, headers=headers)
