"""The curator's desk: approvals, people and quotas."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends
from starlette.requests import Request

from sfumato.errors import ParameterError
from sfumato.ledger.typed import read_bound
from sfumato.privacy import EVERYTHING
from sfumato.serve.desks import Desk
from sfumato.serve.doors import Door, desk_of, desks_of, job_of, jobs_of, may_decide, people_of, talks_of
from sfumato.serve.identity import ALL, Identity
from sfumato.serve.jobs import WAITING, Job
from sfumato.serve.openings import SAID, Opening
from sfumato.serve.problems import NOWHERE, Denied
from sfumato.serve.talks import terms_of

router = APIRouter(tags=["people"])
Curator = Annotated[Identity, Depends(Door("curator"))]


@router.get("/datasets/{dataset}/approvals")
def approvals(request: Request, who: Curator) -> list[dict[str, Any]]:
    """List the questions and conversations that wait for a curator."""
    dataset = request.path_params["dataset"]
    found = jobs_of(request).listed(dataset, None, (WAITING,))
    talks = talks_of(request).openings.waiting(dataset)
    return [*(job.to_json() for job in found), *(opening_json(one) for one in talks)]


def opening_json(opening: Opening) -> dict[str, Any]:
    """Return what a curator sees of a conversation, in the shape of a question that waits."""
    return {
        "job": opening.id,
        "dataset": opening.dataset,
        "name": opening.name,
        "asked": {"conversation": terms_of(opening).to_json()},
        "state": opening.state,
        "said": SAID[opening.state],
        "decided_by": opening.decided or None,
        "created": opening.created,
        "changed": opening.changed,
    }


@router.post("/datasets/{dataset}/approvals/{job}")
def decide(request: Request, who: Curator, job: str, approve: Annotated[bool, Body(embed=True)]) -> dict[str, Any]:
    """Approve or decline a question, or a conversation."""
    found = settle(request, who, job, approve)
    return opening_json(found) if isinstance(found, Opening) else found.to_json()


def settle(request: Request, who: Identity, job: str, approve: bool) -> Job | Opening:
    """Decide about what waits under an id: a question, which is then asked, or a conversation, which may be opened."""
    openings = talks_of(request).openings
    found = openings.get(request.path_params["dataset"], job)
    if found is not None:
        return openings.decide(found, who, approve)
    return jobs_of(request).decide(job_of(request, who, job), who, approve)


@router.get("/people")
def everybody(request: Request, who: Curator) -> list[dict[str, Any]]:
    """List the accounts that you may decide about."""
    found = [one for one in people_of(request).all() if who.manages(one.datasets)]
    return [{"name": one.name, "role": one.role, "datasets": sorted(one.datasets)} for one in found]


@router.post("/people")
def add(
    request: Request,
    who: Curator,
    name: Annotated[str, Body()],
    role: Annotated[str, Body()],
    datasets: Annotated[list[str], Body()],
) -> dict[str, Any]:
    """Make an account; its token is in the response and nowhere else."""
    return {"name": name, "token": add_person(request, who, name, role, datasets)}


def add_person(request: Request, who: Identity, name: str, role: str, datasets: list[str]) -> str:
    """Make an account for data sets that its maker decides about, and return its token."""
    if not datasets or not who.manages(frozenset(datasets)):
        raise Denied(404, NOWHERE)  # first, so that it does not tell which other data sets there are
    known = [desk.name for desk in desks_of(request)]
    for dataset in datasets:
        if dataset != ALL and dataset not in known:
            raise ParameterError(f"There is no data set {dataset!r}; name those that you see.")
    return people_of(request).add(name, role, datasets)


@router.post("/people/{name}/tokens")
def new_token(request: Request, who: Curator, name: str) -> dict[str, Any]:
    """Make earlier tokens of an account worthless, and give it a new one."""
    may_decide(request, who, name)
    people_of(request).revoke(name)
    return {"name": name, "token": people_of(request).token(name)}


@router.post("/people/{name}/revoke")
def revoke(request: Request, who: Curator, name: str) -> dict[str, Any]:
    """Make all tokens of an account worthless, and end its sessions."""
    may_decide(request, who, name)
    return {"name": name, "revoked": people_of(request).revoke(name)}


@router.post("/datasets/{dataset}/quotas/{name}")
def lower(request: Request, who: Curator, name: str, bound: Annotated[str, Body(embed=True)]) -> dict[str, Any]:
    """Lower somebody's quota; no limit is ever raised."""
    desk = desk_of(request)
    lower_quota(request, desk, name, bound)
    return {"name": name, "quota": desk.front.ledger.spent(analyst=name).to_json()}


def lower_quota(request: Request, desk: Desk, name: str, bound: str) -> None:
    """Lower the quota of somebody who has one, or gets one now; a misspelt name gets none."""
    account = people_of(request).find(name)
    if name not in desk.front.ledger.analysts and (account is None or not account.sees(desk.name)):
        raise Denied(404, "Nobody of this name may see this data set; the curator's desk lists who does.")
    desk.admit(name)
    desk.curator.ledger.lower(EVERYTHING, read_bound(bound, "bound"), analyst=name)
