"""The web pages: plain HTML from templates, useful without JavaScript; they translate, and decide nothing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.staticfiles import StaticFiles

from sfumato import __version__
from sfumato.noise import new_key
from sfumato.serve.doors import FORM, FORM_COOKIE, add_routes, session_of, set_cookie
from sfumato.serve.identity import Identity
from sfumato.show.views import readable

HERE = Path(__file__).parent


@cache
def templates() -> Environment:
    """Return the templates; whatever stands in them is escaped."""
    found = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["moment"] = lambda at: datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    found.filters["readable"] = readable
    found.globals.update(FORM=FORM, version=__version__)
    return found


def render(request: Request, template: str, status: int = 200, **facts: Any) -> HTMLResponse:
    """Return a page; every page knows who looks at it and which data set it is about."""
    session = session_of(request)
    who: Identity | None = request.app.state.identify(request) if session is None else session.identity
    token = request.cookies.get(FORM_COOKIE) or new_key().hex() if session is None else session.form
    known = {"who": who, "form_token": token, "desk": facts.pop("desk", None), "path": request.url.path}
    known["published"] = bool(list(request.app.state.shelf))
    response = HTMLResponse(templates().get_template(template).render(**known, **facts), status)
    if session is None:
        set_cookie(request, response, FORM_COOKIE, token)
    return response


def problem_page(request: Request, record: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """Return the page of an error: the same sentence as in the problem document."""
    facts = {"said": record["detail"], "status": record["status"]}
    try:
        response = render(request, "problem.html", record["status"], **facts)
    except Exception:  # the store itself may be what fails
        alone = {"who": None, "form_token": "", "desk": None, "path": "", "published": False}
        response = HTMLResponse(templates().get_template("problem.html").render(**alone, **facts), record["status"])
    response.headers.update(headers or {})
    return response


def add_to(app: FastAPI) -> None:
    """Add all pages to the service."""
    from sfumato.serve.pages import answers, asking, datasets, desk, interface, publications, signing, talks

    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    for module in (signing, datasets, asking, talks, answers, desk, publications, interface):
        add_routes(app, module.router, in_schema=False)
