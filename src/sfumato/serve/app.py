"""The service, wired: what it opens, who is let in, what is written down, and when responses leave."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio.to_thread
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request

from sfumato.errors import SfumatoError
from sfumato.serve.api import asking, books, datasets, people, publications, status, talks
from sfumato.serve.cautions import listen
from sfumato.serve.counts import Counts
from sfumato.serve.desks import Desks
from sfumato.serve.doors import WATCHERS, Crowd, SignIn, add_routes, every_route
from sfumato.serve.house import Collection, House
from sfumato.serve.identity import ALL, Identify, People
from sfumato.serve.jobs import Jobs
from sfumato.serve.problems import Denied, respond
from sfumato.serve.publications import Shelf
from sfumato.serve.store import Store
from sfumato.serve.talks import Talks
from sfumato.serve.ticks import App, Bodies, Message, Receive, Send, Ticks, next_tick
from sfumato.serve.wire import problem, problem_of

_log = logging.getLogger("sfumato.serve")

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
PICTURE = "default-src 'none'; style-src 'unsafe-inline'"
"""What an SVG may do that is looked at by itself."""
NO_JSON = 'The body is no JSON; send {"phrase": "mean of age", "spend": "Pure(0.1)"}, say.'
THREADS = 36
"""So many threads beside those in which somebody waits for an answer."""


def service_app(house: House, *, identify: Identify | None = None) -> FastAPI:
    """Return the service of a house; `identify` says who sends a request, by default by tokens and sessions."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = house.service.waiting + THREADS
        async with AsyncExitStack() as stack:
            for mounted in collectors.values():
                await stack.enter_async_context(mounted.router.lifespan_context(mounted))
            await run_in_threadpool(_open, app, house, identify)
            try:
                yield
            finally:
                await run_in_threadpool(_close, app)

    app = FastAPI(
        title="sfumato",
        description="Learn from data about people without exposing any of them.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,  # FastAPI's own pages load scripts from elsewhere; pages/ has one that does not
    )
    app.state.house, app.state.counted, app.state.streams = house, Counts(), 0
    app.state.crowd = Crowd((house.service.waiting + THREADS) // 2)
    for module in (datasets, asking, talks, books, people, publications):
        add_routes(app, module.router, "/api")
    add_routes(app, status.router)
    _add_pages(app)
    collectors = {one.name: _collector(one, app) for one in house.collections}
    for name, mounted in collectors.items():
        app.mount(f"/collect/{name}", mounted)
    list(every_route(app))  # a route without a door ends the start here
    _add_errors(app)
    app.add_middleware(WrittenDown)
    app.add_middleware(Bodies, largest=house.service.largest_body)
    app.add_middleware(Ticks, tick=house.service.tick)
    return app


def _open(app: FastAPI, house: House, identify: Identify | None) -> None:
    listen()
    state = app.state
    state.store = Store(house.service.store)
    state.people = People(state.store, house.service)
    state.identify = identify or state.people
    state.desks = Desks(house.datasets)
    state.jobs = Jobs(state.store, state.desks, house.service)
    state.talks = Talks(state.store, house.service)
    state.shelf = Shelf(house.publications)
    state.jobs.resume()
    state.counted.begin(state.store)


def _close(app: FastAPI) -> None:
    app.state.jobs.close()
    app.state.talks.close()
    app.state.desks.close()
    app.state.counted.end(app.state.store)
    app.state.store.close()


def _add_pages(app: FastAPI) -> None:
    from sfumato.serve import pages

    pages.add_to(app)


def _collector(terms: Collection, service: FastAPI) -> FastAPI:
    from sfumato.local import read_plan
    from sfumato.serve.collector import collector_app
    from sfumato.serve.senders import Retry, Tokens

    plans = [read_plan(path) for path in terms.plans]
    made: Any = None if not plans else plans[0] if len(plans) == 1 else plans
    keeper = None if terms.tokens is None else Tokens(terms.tokens, terms.rate)
    operators = None if terms.metrics is None else Tokens(terms.metrics)

    def watches(headers: Mapping[str, str]) -> bool | Retry:
        """Let those read the numbers who watch the whole house, and whoever the collection names; never its senders."""
        kind, _, token = headers.get("authorization", "").partition(" ")
        held = service.state.people.holder(token.strip()) if kind.lower() == "bearer" else None
        if held is not None:
            return held[0].role in WATCHERS and ALL in held[0].datasets
        return operators is not None and operators(headers)

    # Every worker process of the service collects, so each has a lane; shuffled batches are taken by one.
    lanes, shuffled = terms.shuffled is None, terms.shuffled
    options: Any = {"ids": terms.ids, "lanes": lanes, "shuffled": shuffled, "authorize": keeper, "metrics": watches}
    return collector_app(terms.place, made, **options)


def _add_errors(app: FastAPI) -> None:
    """Every error is a problem document for programs, and the same sentence on a page for people."""

    @app.exception_handler(SignIn)
    async def sign_in(request: Request, _: Exception) -> Response:
        return RedirectResponse("/sign-in", 303)

    @app.exception_handler(Denied)
    async def denied(request: Request, error: Exception) -> Response:
        assert isinstance(error, Denied)
        return _said(request, problem(error.status, str(error)), error.headers)

    @app.exception_handler(SfumatoError)
    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, SfumatoError)
        return _said(request, problem_of(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return _said(request, problem(422, _unfit(error), "ParameterError"))

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        said = {
            400: NO_JSON,
            404: "There is nothing here; /api lists what there is.",
            405: "This is not done with this method.",
        }
        return _said(request, problem(error.status_code, said.get(error.status_code, "This cannot be served.")))


def _unfit(error: RequestValidationError) -> str:
    """Say what is wrong with a request without what it held."""
    found = error.errors()
    if any(one["type"] == "json_invalid" for one in found):
        return NO_JSON
    places = sorted({".".join(map(str, one["loc"])) for one in found})
    if places == ["body"]:
        return 'The body is a JSON object; send {"phrase": "mean of age", "spend": "Pure(0.1)"}, say.'
    return f"The request does not fit at {', '.join(places)}; /api says what goes there."


def _said(request: Request, record: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    for_people = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/")
    if not for_people:
        return respond(record, headers)
    from sfumato.serve.pages import problem_page

    return problem_page(request, record, headers)


def _route(request: Request) -> str:
    """Return the pattern of a request's path: the path itself could hold anything."""
    return str(getattr(request.scope.get("route"), "path", "other"))


class WrittenDown:
    """Counts and logs requests without what they held, and sends every response with the same headers."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer a request; a failure that should not be becomes a sentence that tells its kind alone."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request, began, status = Request(scope), time.monotonic(), 0
        owner = scope["app"].state  # a collector below puts itself in its place

        async def dressed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _dress(request, MutableHeaders(scope=message))
            await send(message)

        try:
            await self.app(scope, receive, dressed)
        except Exception as bug:
            # What an engine says can quote a cell, so only the kind of a failure is shown and logged.
            _log.error(json.dumps({"failed": type(bug).__name__, "route": _route(request)}))
            if status == 0:
                said = f"Something failed that should not have ({type(bug).__name__}); tell who runs the service."
                await _said(request, problem(500, said))(scope, receive, dressed)
        finally:
            if (who := getattr(request.state, "who", None)) is not None:
                owner.crowd.leave(who)
        _write_line(request, owner, status, time.monotonic() - began)


def _dress(request: Request, headers: MutableHeaders) -> None:
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    if headers.get("content-type", "").startswith("image/svg"):
        headers["Content-Security-Policy"] = PICTURE
    if request.url.path.startswith("/static/"):
        headers["Cache-Control"] = "public, max-age=3600"


def _write_line(request: Request, state: Any, status: int, elapsed: float) -> None:
    route = _route(request)
    state.counted.add(request.method, route, status)
    record = {
        "method": request.method,
        "route": route,
        "status": status,
        "who": getattr(request.state, "who", None),
        "seconds": round(next_tick(elapsed, state.house.service.tick), 3),
    }
    _log.info(json.dumps(record))
