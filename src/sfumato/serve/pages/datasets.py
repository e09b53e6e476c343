"""The data sets, and one of them: what is public, what is promised, how much is used."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import Response
from starlette.requests import Request

from sfumato.ledger.readings import Reading
from sfumato.serve.desks import Desk
from sfumato.serve.doors import Door, desk_of, desks_of, shelf_of
from sfumato.serve.identity import Identity
from sfumato.serve.pages import render

router = APIRouter()
Anybody = Annotated[Identity, Depends(Door(page=True))]


@router.get("/")
def listed(request: Request, who: Anybody) -> Response:
    """Show the data sets that somebody may see."""
    desks = [desk for desk in desks_of(request) if who.sees(desk.name)]
    shown = [(desk, desk.facts(), meters(desk, who)[:1]) for desk in desks]
    return render(request, "datasets.html", desks=shown, shelf=list(shelf_of(request)))


@router.get("/d/{dataset}")
def one(request: Request, who: Anybody) -> Response:
    """Show one data set."""
    desk = desk_of(request)
    schema: Any = desk.front.schema
    described = (
        {f"Columns of {name}": one for name, one in schema.private.items()} if desk.several else {"Columns": schema}
    )
    columns = [(caption, table) for caption, one in described.items() for table in one.view().tables[:1]]
    person = desk.front.ledger.budget.person
    explained = "" if person is None else person.explain()
    return render(
        request,
        "dataset.html",
        desk=desk,
        facts=desk.facts(),
        meters=meters(desk, who),
        columns=columns,
        explained=explained,
    )


def meters(desk: Desk, who: Identity) -> list[dict[str, Any]]:
    """Return the meters that somebody may see, for a page."""
    found = desk.readings(who.name if who.role == "analyst" else None)
    return [
        {
            "name": _named(one, who),
            "percent": min(100, one.percent),
            "brief": one.brief,
            "limit": str(one.rule.limit.bound),
        }
        for one in found
    ]


def _named(one: Reading, who: Identity) -> str:
    """Say whom a meter is about."""
    if one.name == "person":
        return "each person, by everybody's questions"
    if one.rule.analyst == who.name and one.rule.limit.name == "person":
        return "your quota"
    return one.name
