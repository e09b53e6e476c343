"""The curator's desk and the auditor's view: approvals, people, quotas; limits, verification, evidence."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import RedirectResponse, Response
from starlette.requests import Request

from sfumato.errors import SfumatoError
from sfumato.ledger.wording import cost_text
from sfumato.privacy import Loss
from sfumato.report.releases import asked_in_words
from sfumato.serve.api.people import add_person, lower_quota, settle
from sfumato.serve.desks import Desk
from sfumato.serve.doors import (
    WATCHERS,
    Door,
    desk_of,
    desks_of,
    fields,
    jobs_of,
    may_decide,
    people_of,
    talks_of,
)
from sfumato.serve.identity import ALL, ROLES, Identity
from sfumato.serve.jobs import WAITING, Job
from sfumato.serve.pages import render
from sfumato.serve.talks import loss_of, terms_of
from sfumato.serve.wire import told

router = APIRouter()
Curator = Annotated[Identity, Depends(Door("curator", page=True))]
Watcher = Annotated[Identity, Depends(Door(*WATCHERS, page=True))]
LISTED = 50


@router.get("/d/{dataset}/desk")
def desk_page(request: Request, who: Curator) -> Response:
    """Show what waits for approval, and everybody's quota."""
    desk = desk_of(request)
    waiting: list[tuple[Any, str]] = []
    for job in jobs_of(request).listed(desk.name, None, (WAITING,)):
        waiting.append((job, _cost(partial(_loss, desk, job))))
    for one in talks_of(request).openings.waiting(desk.name):
        terms = terms_of(one)
        asked = {"id": one.id, "name": one.name, "created": one.created, "form": terms}
        waiting.append((asked, _cost(partial(loss_of, desk, terms, one.name))))
    quotas = [one for one in desk.readings(None) if one.rule.analyst is not None and not one.rule.cap]
    return render(request, "desk.html", desk=desk, waiting=waiting, quotas=quotas)


def _loss(desk: Desk, job: Job) -> Loss:
    return desk.meant(job.form).loss(desk.front)


def _cost(loss: Callable[[], Loss]) -> str:
    """Return what something would cost; what cannot be planned any more must not hide what else waits."""
    try:
        return cost_text(loss())
    except SfumatoError as problem:
        return f"nothing, because it cannot be asked any more: {told(problem)}"


@router.post("/d/{dataset}/desk/{job}")
def decide(request: Request, who: Curator, job: str) -> Response:
    """Approve or decline a question or a conversation."""
    approve = fields(request).get("decision") == "approve"
    found = settle(request, who, job, approve)
    return RedirectResponse(f"/d/{found.dataset}/desk", 303)


@router.post("/d/{dataset}/quotas")
def lower(request: Request, who: Curator) -> Response:
    """Lower somebody's quota."""
    desk, given = desk_of(request), fields(request)
    lower_quota(request, desk, given.get("name", ""), given.get("bound", ""))
    return RedirectResponse(f"/d/{desk.name}/desk", 303)


@router.get("/people")
def people_page(request: Request, who: Curator) -> Response:
    """Show the accounts that one may decide about."""
    return _people(request, who)


def _people(request: Request, who: Identity, **facts: Any) -> Response:
    found = [one for one in people_of(request).all() if who.manages(one.datasets)]
    datasets = [desk.name for desk in desks_of(request) if who.sees(desk.name)]
    shown = {"name": "", "token": "", **facts}
    return render(request, "people.html", people=found, roles=ROLES, datasets=datasets, every=ALL, **shown)


@router.post("/people")
def add(request: Request, who: Curator) -> Response:
    """Make an account, and show its token this once."""
    given = fields(request)
    name, dataset = given.get("name", "").strip(), given.get("dataset", "")
    token = add_person(request, who, name, given.get("role", ""), [dataset])
    return _people(request, who, name=name, token=token)


@router.post("/people/{name}/tokens")
def new_token(request: Request, who: Curator, name: str) -> Response:
    """Give an account a new token, and make earlier ones worthless."""
    may_decide(request, who, name)
    people_of(request).revoke(name)
    return _people(request, who, name=name, token=people_of(request).token(name))


@router.post("/people/{name}/revoke")
def revoke(request: Request, who: Curator, name: str) -> Response:
    """Make all tokens of an account worthless, and end its sessions."""
    may_decide(request, who, name)
    people_of(request).revoke(name)
    return RedirectResponse("/people", 303)


@router.get("/d/{dataset}/audit")
def audit(request: Request, who: Watcher) -> Response:
    """Show limits, the guarantee, the newest requests, and where the evidence is."""
    return _audit(request)


def _audit(request: Request, **facts: Any) -> Response:
    desk = desk_of(request)
    book = desk.front.ledger
    entries = list(reversed(book.history()))
    shown = {"checked": None, **facts}
    return render(
        request,
        "audit.html",
        desk=desk,
        readings=book.readings(),
        guarantee=book.guarantee_text(),
        head=book.head,
        entries=entries[:LISTED],
        asked=asked_in_words,
        charged=len(entries),
        **shown,
    )


@router.post("/d/{dataset}/audit")
def verify(request: Request, who: Watcher) -> Response:
    """Work the ledger out again, and show what that found."""
    head = fields(request).get("head", "").strip() or None
    return _audit(request, checked=desk_of(request).front.ledger.verify(head))
