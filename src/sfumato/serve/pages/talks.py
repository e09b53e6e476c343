"""Conversations on pages: what one would cost, opening it, and asking it condition by condition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import RedirectResponse, Response
from starlette.requests import Request

from sfumato.errors import SfumatoError
from sfumato.noise import new_key
from sfumato.serve.desks import Desk
from sfumato.serve.doors import ASKERS, Door, desk_of, fields, lists_of, talks_of
from sfumato.serve.identity import Identity
from sfumato.serve.jobs import read_key
from sfumato.serve.pages import render
from sfumato.serve.pages.asking import usual_spend
from sfumato.serve.pages.ways import example_condition
from sfumato.serve.talks import OPENING, Terms, read_terms
from sfumato.serve.wire import status_of, told
from sfumato.show.views import readable

router = APIRouter()
Asker = Annotated[Identity, Depends(Door(*ASKERS, page=True))]
QUERIES = 1000
MODEL = {True: "the data, which corrected the model", False: "the model"}
UNKNOWN = "not known any more"


def _terms(columns: list[str], given: Mapping[str, str]) -> Terms:
    queries = given.get("queries", "").strip()
    number = int(queries) if queries.isdecimal() and len(queries) < 10 else queries
    prior = given.get("prior") or None
    return read_terms({"columns": columns, "queries": number, "spend": given.get("spend", "").strip(), "prior": prior})


@router.get("/d/{dataset}/conversations")
def listed(request: Request, who: Asker) -> Response:
    """Show one's conversations, and what another one would cost."""
    desk, query = desk_of(request), request.query_params
    names = list(desk.front.schema.names)
    chosen = [name for name in query.getlist("columns") if name in names]
    given = {"queries": query.get("queries") or str(QUERIES), "spend": query.get("spend") or _usual(desk)}
    given["prior"] = query.get("prior", "")
    foreseen, wrong = None, ""
    if chosen:
        try:
            foreseen = talks_of(request).foresee(desk, who, _terms(chosen, given))
        except SfumatoError as problem:
            wrong = told(problem)
    return render(
        request,
        "talks.html",
        desk=desk,
        names=names,
        chosen=chosen,
        given=given,
        key=new_key()[:16].hex(),
        foreseen=foreseen,
        error="" if foreseen is None else _error_text(foreseen["expected_error"]),
        wrong=wrong,
        talks=talks_of(request).listed(desk, who),
    )


def _usual(desk: Desk) -> str:
    return usual_spend(desk).replace("0.1", "1")


def _error_text(error: float | None) -> str:
    if error is None:
        return "It is not known beforehand: how many people there are is private."
    off = readable(100 * error, 100 * error)
    return f"A reply is the part of the people that fulfil a condition, off by at most {off} % of all."


@router.post("/d/{dataset}/conversations")
def start(request: Request, who: Asker) -> Response:
    """Open a conversation, or let it wait for a curator: the same form sent twice is one conversation."""
    desk, given = desk_of(request), fields(request)
    key = read_key(given.get("key"))
    talks_of(request).start(desk, who, _terms(lists_of(request, "columns"), given), key)
    return RedirectResponse(f"/d/{desk.name}/conversations/{key}", 303)


@router.get("/d/{dataset}/conversations/{key}")
def one(request: Request, who: Asker, key: str) -> Response:
    """Show a conversation: what it is about, and the form to ask it; nothing is read for that."""
    response = _page(request, who, key)
    if talks_of(request).standing(desk_of(request), who, key)["state"] in ("waiting", OPENING):
        response.headers["Refresh"] = "5"
    return response


def _page(request: Request, who: Identity, key: str, status: int = 200, **facts: Any) -> Response:
    desk = desk_of(request)
    talk = talks_of(request).standing(desk, who, key)
    terms = read_terms({name: talk.get(name) for name in ("columns", "queries", "spend", "prior")})
    example = example_condition(desk, (terms.columns or tuple(desk.front.schema.names))[0])
    shown = {"asked": "", "rows": [], "progress": None, "wrong": "", "cautions": [], **facts}
    facts = {"about": terms.text, "spend": str(terms.spend), "example": example, **shown}
    return render(request, "talk.html", status, desk=desk, talk=talk, **facts)


@router.post("/d/{dataset}/conversations/{key}")
def ask(request: Request, who: Asker, key: str) -> Response:
    """Answer the conditions, one a line; asked again, each gets the same reply for nothing."""
    desk, asked = desk_of(request), fields(request).get("conditions", "")
    conditions = [line.strip() for line in asked.splitlines() if line.strip()]
    try:
        found = talks_of(request).ask(desk, who, key, conditions)
    except SfumatoError as problem:
        return _page(request, who, key, status_of(problem), asked=asked, wrong=told(problem))
    rows = [_row(condition, reply) for condition, reply in zip(conditions, found["replies"], strict=True)]
    more = {"rows": rows, "progress": found["progress"], "cautions": found["cautions"]}
    return _page(request, who, key, asked="\n".join(conditions), **more)


def _row(condition: str, reply: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a reply as a line of a table."""
    error = reply["error"]
    off = UNKNOWN if error is None else f"±\u00a0{readable(100 * error, 100 * error)}\u00a0%"
    part = f"{readable(100 * reply['value'], 100 * error) if error else readable(100 * reply['value'])}\u00a0%"
    number = f"about {readable(round(reply['count']))} {reply['counted']}"
    return condition, part, off, number, MODEL[reply["source"] == "data"]


@router.post("/d/{dataset}/conversations/{key}/open")
def begin(request: Request, who: Asker, key: str) -> Response:
    """Open a conversation that a curator has approved, under the terms that were approved."""
    desk = desk_of(request)
    talk = talks_of(request).standing(desk, who, key)
    terms = read_terms({name: talk.get(name) for name in ("columns", "queries", "spend", "prior")})
    talks_of(request).start(desk, who, terms, key)
    return RedirectResponse(f"/d/{desk.name}/conversations/{key}", 303)


@router.post("/d/{dataset}/conversations/{key}/cancel")
def cancel(request: Request, who: Asker, key: str) -> Response:
    """Take back a conversation that waits for a curator."""
    desk = desk_of(request)
    talks_of(request).withdraw(desk, who, key)
    return RedirectResponse(f"/d/{desk.name}/conversations", 303)
