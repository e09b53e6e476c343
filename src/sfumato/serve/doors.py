"""Who may do what: every route has a door, and a service with a route that has none does not start."""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount

from sfumato.serve.command import LOOPBACK
from sfumato.serve.desks import Desk, Desks
from sfumato.serve.identity import COOKIE, ROLES, Identity, People, Role, Session
from sfumato.serve.jobs import Job, Jobs
from sfumato.serve.problems import NOWHERE, UNKNOWN, WRONG_TOKEN, Denied, busy, other_role
from sfumato.serve.publications import Shelf, ShownPublication
from sfumato.serve.talks import Talks

FORM = "form_token"
"""The hidden field of every form."""
FORM_COOKIE = "sfumato_form"
"""What the hidden field is compared with where there is no session."""
ASKERS: tuple[Role, ...] = ("curator", "analyst")
WATCHERS: tuple[Role, ...] = ("curator", "auditor")
TOKEN_ONLY = "A request that changes something is sent with a token as Authorization: Bearer …, not with a cookie."
STALE = "This form is out of date, or did not come from this site; go back, load the page again and send it once more."


class SignIn(Exception):
    """Somebody who is not signed in asks for a page."""


class Crowd:
    """How many requests of each person are answered at once: what is free takes threads too, and may be slow."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.inside: Counter[str] = Counter()

    def enter(self, name: str) -> bool:
        """Let one more request of somebody in, if there is room."""
        if self.inside[name] >= self.most:
            return False
        self.inside[name] += 1
        return True

    def leave(self, name: str) -> None:
        """Make room again."""
        self.inside[name] -= 1
        if not self.inside[name]:
            del self.inside[name]


class Door:
    """Lets in whoever has one of these roles and sees the data set that the path names."""

    def __init__(self, *roles: Role, page: bool = False) -> None:
        self.roles: tuple[Role, ...] = roles or ROLES
        self.page = page

    async def __call__(self, request: Request) -> Identity:
        """Return who comes in, or refuse."""
        found = await run_in_threadpool(request.app.state.identify, request)
        if found is None:
            if self.page:
                raise SignIn
            given = request.headers.get("authorization", "").strip()
            raise Denied(401, WRONG_TOKEN if given else UNKNOWN, {"WWW-Authenticate": "Bearer"})
        dataset = request.path_params.get("dataset")
        if found.role not in self.roles:
            raise other_role(self.roles, of_data_set=dataset is not None)
        if dataset is not None and (dataset not in desks_of(request) or not found.sees(dataset)):
            raise Denied(404, NOWHERE)
        if request.method not in ("GET", "HEAD"):
            await self._check_origin(request)
        if not request.app.state.crowd.enter(found.name):
            raise busy()
        request.state.who = found.name  # whoever sees that they came in lets them out again
        return found  # type: ignore[no-any-return]

    async def _check_origin(self, request: Request) -> None:
        """Refuse what another site made a browser send: interfaces take tokens only, forms carry a field."""
        refuse_other_sites(request)
        if not self.page:
            # The header without a token would leave it to the cookie who this is.
            if not request.headers.get("authorization", "").partition(" ")[2].strip():
                raise Denied(403, TOKEN_ONLY)
            return
        session = await run_in_threadpool(session_of, request)
        # Who is known otherwise, by a proxy say, has no session here: a cookie that no other site can read or set.
        kept = request.cookies.get(FORM_COOKIE, "") if session is None else session.form
        given = (await fields_of(request)).get(FORM, "")
        if not kept or not hmac.compare_digest(kept.encode(), given.encode()):
            raise Denied(403, STALE)


def refuse_other_sites(request: Request) -> None:
    """Refuse what a browser says another site made it send: a proxy may add the header that says who somebody is."""
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise Denied(403, STALE)


class Open:
    """Marks a route that anybody may use; it knows nothing about anybody."""

    async def __call__(self, request: Request) -> None:
        """Let everybody in."""


def add_routes(app: FastAPI, router: APIRouter, prefix: str = "", in_schema: bool = True) -> None:
    """Put the routes of a module into the service one by one, so that each is seen with its door."""
    for route in router.routes:
        assert isinstance(route, APIRoute)
        app.add_api_route(
            prefix + route.path,
            route.endpoint,
            methods=sorted(route.methods or ()),
            tags=list(router.tags),
            dependencies=list(route.dependencies),
            include_in_schema=in_schema,
            response_model=None,
        )


def every_route(app: FastAPI) -> Iterator[tuple[APIRoute, Door | Open]]:
    """Return all routes with their doors, or refuse to go on: what has no door stays shut."""
    for route in app.routes:
        if isinstance(route, Mount) and route.path.startswith(("/static", "/collect/")):
            continue  # files that anybody may read, and collectors, which know their senders themselves
        if not isinstance(route, APIRoute):
            raise RuntimeError(f"{type(route).__name__} is no route with a door; add it by add_routes.")
        doors = [part.call for part in route.dependant.dependencies if isinstance(part.call, (Door, Open))]
        if len(doors) != 1:
            raise RuntimeError(f"The route {route.path} has {len(doors)} doors; give it one.")
        yield route, doors[0]


async def fields_of(request: Request) -> dict[str, str]:
    """Return the fields of a form."""
    if not hasattr(request.state, "fields"):
        body = (await request.body()).decode("utf-8", "replace")
        if "%00" in body or "\x00" in body:
            raise Denied(422, "A field holds no zero byte; leave it out.")
        try:
            listed = parse_qsl(body, keep_blank_values=True, max_num_fields=100)
            request.state.fields, request.state.listed = dict(listed), listed
        except ValueError:
            raise Denied(422, "A form has at most 100 fields; send fewer.") from None
    found: dict[str, str] = request.state.fields
    return found


def desks_of(request: Request) -> Desks:
    """Return the data sets."""
    found: Desks = request.app.state.desks
    return found


def desk_of(request: Request) -> Desk:
    """Return the data set that the path names."""
    return desks_of(request)[request.path_params["dataset"]]


def jobs_of(request: Request) -> Jobs:
    """Return the questions on their way."""
    found: Jobs = request.app.state.jobs
    return found


def talks_of(request: Request) -> Talks:
    """Return the conversations."""
    found: Talks = request.app.state.talks
    return found


def shelf_of(request: Request) -> Shelf:
    """Return the publications."""
    found: Shelf = request.app.state.shelf
    return found


def publication_of(request: Request) -> ShownPublication:
    """Return the publication that the path names."""
    found = shelf_of(request).get(request.path_params["publication"])
    if found is None:
        raise Denied(404, NOWHERE)
    return found


def people_of(request: Request) -> People:
    """Return the accounts."""
    found: People = request.app.state.people
    return found


def secure(request: Request) -> bool:
    """Tell whether cookies are for encrypted connections only; on this machine, with no proxy, they need not be."""
    service = request.app.state.house.service
    if service.secure_cookies is not None:
        return bool(service.secure_cookies)
    return service.host not in LOOPBACK or request.url.scheme == "https"


def set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    """Set a cookie that scripts do not read and other sites do not send."""
    response.set_cookie(name, value, httponly=True, samesite="strict", secure=secure(request), path="/")


def session_of(request: Request) -> Session | None:
    """Return the session of a browser."""
    return people_of(request).session(request.cookies.get(COOKIE))


def job_of(request: Request, who: Identity, job: str) -> Job:
    """Return a job that somebody may see: their own, or everybody's for a curator."""
    try:
        found = jobs_of(request).get(job)
    except KeyError:
        raise Denied(404, NOWHERE) from None
    mine = found.name == who.name or who.role == "curator"
    if found.dataset != request.path_params["dataset"] or not mine:
        raise Denied(404, NOWHERE)
    return found


def may_decide(request: Request, who: Identity, name: str) -> Identity:
    """Return an account that a curator may decide about."""
    found = people_of(request).find(name)
    if found is None or not who.manages(found.datasets):
        raise Denied(404, NOWHERE)
    return found


def lists_of(request: Request, name: str) -> list[str]:
    """Return all values of a field that a form may have several times."""
    listed: list[tuple[str, str]] = getattr(request.state, "listed", [])
    return [value for key, value in listed if key == name]


def fields(request: Request) -> dict[str, Any]:
    """Return the fields of a form that its door has read."""
    found: dict[str, Any] = getattr(request.state, "fields", {})
    return found
