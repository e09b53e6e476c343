"""Signing in with a token, and out again."""

from __future__ import annotations

import hmac
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import RedirectResponse, Response
from starlette.requests import Request

from sfumato.serve.doors import (
    FORM,
    FORM_COOKIE,
    STALE,
    Door,
    Open,
    fields_of,
    people_of,
    refuse_other_sites,
    session_of,
    set_cookie,
)
from sfumato.serve.identity import COOKIE, Identity
from sfumato.serve.pages import render
from sfumato.serve.problems import Denied

router = APIRouter()


@router.get("/sign-in", dependencies=[Depends(Open())])
def form(request: Request) -> Response:
    """Show the form; its token is tied to a cookie, because nobody is signed in yet."""
    if session_of(request) is not None:
        return RedirectResponse("/", 303)
    return render(request, "sign-in.html", said="")


async def _read(request: Request) -> dict[str, str]:
    return await fields_of(request)


@router.post("/sign-in", dependencies=[Depends(Open())])
def sign_in(request: Request, given: Annotated[dict[str, str], Depends(_read)]) -> Response:
    """Start a session for a token; too many attempts from one place have to wait."""
    refuse_other_sites(request)
    token = request.cookies.get(FORM_COOKIE, "")
    if not token or not hmac.compare_digest(token.encode(), given.get(FORM, "").encode()):
        raise Denied(403, STALE)
    people, place = people_of(request), request.client.host if request.client else ""
    wait = people.throttled(place)
    if wait:
        said = f"Too many attempts from here; try again in {-(-wait // 60)} minutes."
        response: Response = render(request, "sign-in.html", 429, said=said)
        response.headers["Retry-After"] = str(wait)
        return response
    cookie = people.sign_in(given.get("token", ""), place)
    if cookie is None:
        said = "Nobody here has this token, or it is over; ask a curator for a new one."
        return render(request, "sign-in.html", 401, said=said)
    response = RedirectResponse("/", 303)
    set_cookie(request, response, COOKIE, cookie)
    response.delete_cookie(FORM_COOKIE, path="/")
    return response


@router.post("/sign-out")
def sign_out(request: Request, who: Annotated[Identity, Depends(Door(page=True))]) -> Response:
    """End the session; its cookie is worth nothing from then on."""
    people_of(request).sign_out(request.cookies.get(COOKIE, ""))
    response = RedirectResponse("/sign-in", 303)
    response.delete_cookie(COOKIE, path="/")
    return response
